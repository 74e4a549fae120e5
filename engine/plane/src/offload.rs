// SPDX-License-Identifier: Apache-2.0
//! What a sender has left to its device (struct virtio_net_hdr): a checksum, or the cutting of a long segment.
//!
//! Frames that come from the same machine, by a veth, have no checksum yet; one that is sent on has to have it.
use penstock_frame::VLAN_ETHERTYPE;
use penstock_sys::VIRTUAL_HEADER_BYTES;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86DD;
const TCP: u8 = 6;
const UDP: u8 = 17;
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

/// A checksum of UDP or TCP that its sender has left to the device, where no header says so: in its place stands the sum of the
/// pseudo header, and the whole does not add up.
pub fn left_open(frame: &[u8]) -> Option<Checksum> {
    let word = |at: usize| frame.get(at..at + 2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    let (network, ethertype) = match word(12)? {
        VLAN_ETHERTYPE => (18, word(16)?),
        other => (14, other),
    };
    let packet = frame.get(network..)?;
    let (protocol, header, addresses, length) = match ethertype {
        IPV4 => {
            let header = usize::from(packet.first()? & 0xF) * 4;
            // A fragment has the checksum of the whole.
            let is_fragment = word(network + 6)? & 0x3FFF != 0;
            let length = usize::from(word(network + 2)?).checked_sub(header).filter(|_| !is_fragment)?;
            (*packet.get(9)?, header, packet.get(12..20)?, length)
        }
        IPV6 => (*packet.get(6)?, 40, packet.get(8..40)?, usize::from(word(network + 4)?)),
        _ => return None,
    };
    let offset = match protocol {
        TCP => 16,
        UDP => 6,
        _ => return None,
    };
    let start = network + header;
    let pseudo = sum_of(addresses) + u64::from(protocol) + length as u64;
    if word(start + offset)? != folded(pseudo) {
        return None;
    }
    let whole = folded(pseudo + sum_of(frame.get(start..start + length)?));
    (whole != 0xFFFF).then_some(Checksum { start, offset })
}

/// Words, the first byte the higher, as RFC 1071 adds them.
fn sum_of(bytes: &[u8]) -> u64 {
    bytes.chunks(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0))).sum()
}

fn folded(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
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
        let sum = folded(sum_of(covered));
        // Of UDP, zero says that there is none.
        let checksum = if sum == 0xFFFF { 0xFFFF } else { !sum };
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

    /// A frame of UDP whose checksum is `checksum` of the sum of its pseudo header, tagged or not, by IPv4 or IPv6.
    fn datagram(is_tagged: bool, is_ipv6: bool, payload: &[u8], checksum: fn(&[u8], &[u8]) -> u16) -> Vec<u8> {
        let length = (8 + payload.len()) as u16;
        let mut frame = vec![2; 12];
        if is_tagged {
            frame.extend([0x81, 0, 0, 1]);
        }
        let addresses = vec![7; if is_ipv6 { 32 } else { 8 }];
        if is_ipv6 {
            frame.extend([0x86, 0xDD, 0x60, 0, 0, 0, 0, length as u8, 17, 64]);
        } else {
            frame.extend([8, 0, 0x45, 0, 0, 20 + length as u8, 0, 0, 0x40, 0, 64, 17, 0, 0]);
        }
        frame.extend(&addresses);
        let pseudo = [&addresses[..], &[0, 17], &length.to_be_bytes()].concat();
        let mut udp = [&[0x13, 0x88, 0x13, 0x89][..], &length.to_be_bytes(), &[0, 0], payload].concat();
        let checksum = checksum(&pseudo, &udp);
        udp[6..8].copy_from_slice(&checksum.to_be_bytes());
        frame.extend(udp);
        frame
    }

    #[test]
    fn an_open_checksum_is_known_by_itself() {
        let open = |pseudo: &[u8], _: &[u8]| sum(pseudo) as u16;
        let made = |pseudo: &[u8], udp: &[u8]| !(sum(&[pseudo, udp].concat()) as u16);
        for (is_tagged, is_ipv6) in [(false, false), (true, false), (false, true), (true, true)] {
            for payload in [&b"abc"[..], b"", b"data"] {
                let frame = datagram(is_tagged, is_ipv6, payload, open);
                let mut completed = frame.clone();
                let checksum = left_open(&frame).unwrap();
                assert!(checksum.complete(&mut completed, 0));
                assert_eq!(completed, datagram(is_tagged, is_ipv6, payload, made));
                assert_eq!(left_open(&completed), None);
                assert!((0..frame.len() - payload.len()).all(|length| left_open(&frame[..length]).is_none()));
            }
        }
        // Words that make a right checksum equal to the pseudo header's sum: nothing is to be made.
        let frame = (0..=u16::MAX).map(|word| datagram(false, false, &word.to_be_bytes(), made));
        let same = frame.filter(|frame| datagram(false, false, &frame[42..], open) == *frame).collect::<Vec<_>>();
        assert!(!same.is_empty() && same.iter().all(|frame| left_open(frame).is_none()));
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
