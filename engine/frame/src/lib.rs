// SPDX-License-Identifier: Apache-2.0
//! Ethernet frames, captures, the units of time, rate and length, and what a percentile is.
//!
//! A frame's *length* is from destination address to FCS. Its *wire length* adds preamble, delimiter and gap.
#![forbid(unsafe_code)]

mod build;
mod capture;
mod correction;
mod edit;
mod header;
mod link;
mod media;
mod percentile;
mod ptp;
mod units;

pub use build::{BuildError, FrameSpec, Ipv4Udp, Payload, IPV4_UDP_BYTES};
pub use capture::{append_frame, pcapng_header, read_capture, write_pcapng};
pub use capture::{Capture, CaptureError, CaptureFault, CapturedFrame, FrameToWrite};
pub use correction::add_residence;
pub use edit::{Edit, RTagAction, TagAction};
pub use header::{Header, HostWay, Ipv4Fields};
pub use link::{append_link_header, link_header_bytes, MacAddress, Tag};
pub use link::{
    ADDRESSES_BYTES, IPV4_ETHERTYPE, PTP_ETHERTYPE, R_TAG_BYTES, R_TAG_ETHERTYPE, TAG_BYTES, VLAN_ETHERTYPE,
};
pub use media::{Avtp, AvtpFormat, Rtp};
pub use percentile::Percentile;
pub use ptp::StampTag;
pub use units::{BitsPerSecond, Bytes, Picoseconds};

/// Preamble and start-of-frame delimiter.
pub const PREAMBLE_BYTES: u32 = 8;
/// Shortest gap between two frames.
pub const GAP_BYTES: u32 = 12;
/// Frame check sequence.
pub const FCS_BYTES: u32 = 4;
/// Shortest frame, FCS included.
pub const MIN_FRAME_BYTES: u32 = 64;

/// Time of one frame on the wire in bytes: preamble, frame and gap.
pub fn wire_length(frame: Bytes) -> Bytes {
    Bytes(frame.0 + u64::from(PREAMBLE_BYTES + GAP_BYTES))
}

/// Pads a frame without FCS to the shortest length and appends the FCS.
pub fn finish(mut frame: Vec<u8>) -> Vec<u8> {
    let shortest = (MIN_FRAME_BYTES - FCS_BYTES) as usize;
    if frame.len() < shortest {
        frame.resize(shortest, 0);
    }
    append_fcs(&mut frame);
    frame
}

fn append_fcs(frame: &mut Vec<u8>) {
    let fcs = crc32fast::hash(frame);
    frame.extend_from_slice(&fcs.to_le_bytes());
}

/// Whether the last four bytes are the FCS of those before.
pub fn fcs_is_good(frame: &[u8]) -> bool {
    match frame.split_last_chunk::<4>() {
        Some((body, fcs)) => crc32fast::hash(body).to_le_bytes() == *fcs,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_frame_is_padded_and_checked() {
        let frame = finish(vec![1, 2, 3]);
        assert_eq!(frame.len(), 64);
        assert!(fcs_is_good(&frame));
        let mut bad = frame.clone();
        bad[10] ^= 1;
        assert!(!fcs_is_good(&bad));
        assert!(!fcs_is_good(&[0, 1]));
        assert_eq!(wire_length(Bytes(64)), Bytes(84));
    }
}
