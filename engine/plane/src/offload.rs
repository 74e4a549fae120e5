// SPDX-License-Identifier: Apache-2.0
//! What a sender has left to its device (struct virtio_net_hdr): a checksum, or the cutting of a long segment.
//!
//! Frames that come from the same machine, by a veth, have no checksum yet; one that is sent on has to have it.
use penstock_sys::VIRTUAL_HEADER_BYTES;

const NEEDS_CHECKSUM: u8 = 1;
const SEGMENT_NONE: u8 = 0;
/// Of the checksum in the header of SCTP, which is none of the Internet's.
const SCTP_OFFSET: usize = 8;

/// Where a checksum is to stand, counted in the frame without its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum {
    start: usize,
    offset: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    pub checksum: Option<Checksum>,
    /// It is more than one frame, or has a checksum that is not ours to make.
    pub is_foreign: bool,
}

/// Takes the header off what a socket gave; None: it is shorter.
pub fn split(bytes: &[u8]) -> Option<(Offload, &[u8])> {
    let (header, frame) = bytes.split_first_chunk::<VIRTUAL_HEADER_BYTES>()?;
    let number = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
    let wanted = header[0] & NEEDS_CHECKSUM != 0;
    let checksum = wanted.then(|| Checksum { start: number(6), offset: number(8) });
    let is_sctp = checksum.is_some_and(|checksum| checksum.offset == SCTP_OFFSET);
    Some((Offload { checksum, is_foreign: header[1] != SEGMENT_NONE || is_sctp }, frame))
}

impl Checksum {
    /// Writes the checksum (RFC 1071) of all from `start` on; what stands there is that of the pseudo header. `tag_bytes` were put
    /// ahead. False: it would stand outside of the frame.
    pub fn complete(self, frame: &mut [u8], tag_bytes: usize) -> bool {
        let start = self.start + tag_bytes;
        let Some(covered) = frame.get(start..) else { return false };
        if self.offset + 2 > covered.len() {
            return false;
        }
        let pairs =
            covered.chunks(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0)));
        let mut sum: u64 = pairs.sum();
        while sum >> 16 != 0 {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        // Of UDP, zero says that there is none.
        let checksum = if sum == 0xFFFF { 0xFFFF } else { !(sum as u16) };
        frame[start + self.offset..][..2].copy_from_slice(&checksum.to_be_bytes());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(bytes: &[u8]) -> u32 {
        let mut sum: u32 = bytes.chunks(2).map(|p| u32::from(p[0]) << 8 | u32::from(*p.get(1).unwrap_or(&0))).sum();
        while sum >> 16 != 0 {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        sum
    }

    #[test]
    fn a_completed_checksum_makes_the_sum_all_ones() {
        // Pseudo header of UDP from 10.0.0.1 to 10.0.0.2, 12 bytes long.
        let pseudo = [10, 0, 0, 1, 10, 0, 0, 2, 0, 17, 0, 12];
        let mut frame = vec![0; 34];
        frame.extend([0x13, 0x88, 0x13, 0x88, 0, 12]);
        frame.extend((sum(&pseudo) as u16).to_be_bytes());
        frame.extend([1, 2, 3, 4]);
        let mut raw = vec![1, 0, 0, 0, 0, 0];
        raw.extend(34_u16.to_ne_bytes());
        raw.extend(6_u16.to_ne_bytes());
        raw.extend(&frame);
        let (offload, found) = split(&raw).unwrap();
        assert_eq!((found, offload.is_foreign), (&frame[..], false));
        let mut tagged = frame.clone();
        tagged.splice(12..12, [0x81, 0, 0, 1]);
        for (bytes, tag) in [(&mut frame, 0), (&mut tagged, 4)] {
            assert!(offload.checksum.unwrap().complete(bytes, tag));
            assert_eq!(sum(&[&pseudo, &bytes[34 + tag..]].concat()), 0xFFFF);
        }
    }

    #[test]
    fn nothing_is_written_outside_and_nothing_is_too_short() {
        let raw = [1, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3];
        let (offload, frame) = split(&raw).unwrap();
        assert!(!offload.checksum.unwrap().complete(&mut frame.to_vec(), 4));
        assert!((0..10).all(|length| split(&raw[..length]).is_none()));
        assert!(split(&[0, 4, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap().0.is_foreign, "a segment of TCP");
    }
}
