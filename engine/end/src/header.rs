// SPDX-License-Identifier: Apache-2.0
//! The header at the begin of each frame's payload, from which a listener computes everything.
//!
//! ```text
//!  0  magic              "PNSK"
//!  4  version            1
//!  5  flags              see `flags`
//!  6  stream id          u16
//!  8  run                u16, another number for each start of a talker
//! 10  sequence number    u32, from 0, wraps
//! 14  construction time  u64, ns of CLOCK_TAI, when the talker built the frame
//! 22  due time           u64, ns of CLOCK_TAI, when the frame is to leave
//! 30  clock identity     u64, equal numbers mean one clock
//! 38  CRC-32             u32, of bytes 0 to 37
//! ```
//! All numbers in network byte order. 42 bytes, so that it fits the smallest frame that has an 802.1Q tag.
use thiserror::Error;

/// Length of the header.
pub const HEADER_BYTES: usize = 42;
const MAGIC: [u8; 4] = *b"PNSK";
const VERSION: u8 = 1;
const CRC_AT: usize = HEADER_BYTES - 4;

/// What a frame's flags say.
pub mod flags {
    /// The kernel was given the due time as launch time (SO_TXTIME).
    pub const LAUNCH_TIME: u8 = 1;
    /// No frame of this stream and run has a higher sequence number.
    pub const LAST: u8 = 2;
    /// The clock identity is that of a PTP grandmaster to which synchronization was shown; else that of the boot.
    pub const SYNCHRONIZED: u8 = 4;
}

/// The payload header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub flags: u8,
    pub stream: u16,
    pub run: u16,
    pub sequence: u32,
    pub construction_tai_ns: u64,
    pub due_tai_ns: u64,
    pub clock: u64,
}

/// Why bytes are no header.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum HeaderError {
    #[error("the payload is shorter than a header")]
    Truncated,
    #[error("the payload does not begin with the magic number")]
    NotOurs,
    #[error("version {0} of the header is not known")]
    Version(u8),
    #[error("the checksum is wrong")]
    Damaged,
}

impl Header {
    /// Whether a flag is set.
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The header as it stands in a frame.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..4].copy_from_slice(&MAGIC);
        bytes[4] = VERSION;
        bytes[5] = self.flags;
        bytes[6..8].copy_from_slice(&self.stream.to_be_bytes());
        bytes[8..10].copy_from_slice(&self.run.to_be_bytes());
        bytes[10..14].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[14..22].copy_from_slice(&self.construction_tai_ns.to_be_bytes());
        bytes[22..30].copy_from_slice(&self.due_tai_ns.to_be_bytes());
        bytes[30..38].copy_from_slice(&self.clock.to_be_bytes());
        let crc = crc32fast::hash(&bytes[..CRC_AT]);
        bytes[CRC_AT..].copy_from_slice(&crc.to_be_bytes());
        bytes
    }

    /// Reads the header at the begin of a payload; what follows it does not matter.
    pub fn decode(payload: &[u8]) -> Result<Header, HeaderError> {
        let shown = payload.len().min(MAGIC.len());
        if payload[..shown] != MAGIC[..shown] {
            return Err(HeaderError::NotOurs);
        }
        let Some(bytes) = payload.first_chunk::<HEADER_BYTES>() else { return Err(HeaderError::Truncated) };
        if bytes[4] != VERSION {
            return Err(HeaderError::Version(bytes[4]));
        }
        if crc32fast::hash(&bytes[..CRC_AT]).to_be_bytes() != bytes[CRC_AT..] {
            return Err(HeaderError::Damaged);
        }
        Ok(Header {
            flags: bytes[5],
            stream: u16::from_be_bytes(part(bytes, 6)),
            run: u16::from_be_bytes(part(bytes, 8)),
            sequence: u32::from_be_bytes(part(bytes, 10)),
            construction_tai_ns: u64::from_be_bytes(part(bytes, 14)),
            due_tai_ns: u64::from_be_bytes(part(bytes, 22)),
            clock: u64::from_be_bytes(part(bytes, 30)),
        })
    }
}

fn part<const N: usize>(bytes: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    std::array::from_fn(|n| bytes[at + n])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Header {
        Header {
            flags: flags::LAUNCH_TIME,
            stream: 0x0102,
            run: 0x0304,
            sequence: 0x0506_0708,
            construction_tai_ns: 0x1112_1314_1516_1718,
            due_tai_ns: 0x2122_2324_2526_2728,
            clock: 0x3132_3334_3536_3738,
        }
    }

    #[test]
    fn numbers_stand_in_network_byte_order() {
        let bytes = example().encode();
        assert_eq!(&bytes[..14], b"PNSK\x01\x01\x01\x02\x03\x04\x05\x06\x07\x08");
        assert_eq!(&bytes[14..22], &[0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18]);
        assert_eq!(&bytes[30..38], &[0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38]);
    }

    #[test]
    fn what_was_written_is_read() {
        let mut bytes = example().encode().to_vec();
        bytes.extend([9; 30]);
        assert_eq!(Header::decode(&bytes), Ok(example()));
    }

    #[test]
    fn each_fault_has_its_name() {
        let bytes = example().encode();
        assert_eq!(Header::decode(&bytes[..41]), Err(HeaderError::Truncated));
        assert_eq!(Header::decode(b"PN"), Err(HeaderError::Truncated));
        assert_eq!(Header::decode(b"XN"), Err(HeaderError::NotOurs));
        let mut other = bytes;
        other[4] = 2;
        assert_eq!(Header::decode(&other), Err(HeaderError::Version(2)));
        for at in 5..HEADER_BYTES {
            let mut damaged = bytes;
            damaged[at] ^= 0x10;
            assert_eq!(Header::decode(&damaged), Err(HeaderError::Damaged), "byte {at}");
        }
    }
}
