// SPDX-License-Identifier: Apache-2.0
//! Messages of vhost-user: a header of three words, and what follows it.
use thiserror::Error;

pub const HEADER_BYTES: usize = 12;
/// More than any message that is known here.
pub const MOST_PAYLOAD_BYTES: usize = 4096;
/// File descriptors that come with a message: one for each region of the memory.
pub const MOST_FILES: usize = 32;

const VERSION: u32 = 1;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;

pub const GET_FEATURES: u32 = 1;
pub const SET_FEATURES: u32 = 2;
pub const SET_OWNER: u32 = 3;
pub const RESET_OWNER: u32 = 4;
pub const SET_MEM_TABLE: u32 = 5;
pub const SET_VRING_NUM: u32 = 8;
pub const SET_VRING_ADDR: u32 = 9;
pub const SET_VRING_BASE: u32 = 10;
pub const GET_VRING_BASE: u32 = 11;
pub const SET_VRING_KICK: u32 = 12;
pub const SET_VRING_CALL: u32 = 13;
pub const SET_VRING_ERR: u32 = 14;
pub const GET_PROTOCOL_FEATURES: u32 = 15;
pub const SET_PROTOCOL_FEATURES: u32 = 16;
pub const GET_QUEUE_NUM: u32 = 17;
pub const SET_VRING_ENABLE: u32 = 18;
pub const RESET_DEVICE: u32 = 34;

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum MessageError {
    #[error("a message of version {version}; 1 is allowed")]
    Version { version: u32 },
    #[error("a message of {bytes} bytes; up to {most} are allowed", most = MOST_PAYLOAD_BYTES)]
    Bytes { bytes: u32 },
}

/// A request, or the answer to one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    pub request: u32,
    /// The other side waits for an answer, whatever the request is.
    pub needs_reply: bool,
    pub payload: Vec<u8>,
}

impl Message {
    /// Of a header, with how many bytes follow.
    pub fn of_header(header: &[u8; HEADER_BYTES]) -> Result<(Self, usize), MessageError> {
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|n| header[at + n]));
        let (request, flags, bytes) = (word(0), word(4), word(8));
        let version = flags & 3;
        if version != VERSION {
            return Err(MessageError::Version { version });
        }
        if bytes as usize > MOST_PAYLOAD_BYTES {
            return Err(MessageError::Bytes { bytes });
        }
        Ok((Self { request, needs_reply: flags & NEED_REPLY != 0, payload: Vec::new() }, bytes as usize))
    }

    /// The answer to it, as it goes out.
    pub fn reply(&self, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
        for word in [self.request, VERSION | REPLY, payload.len() as u32] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(payload);
        bytes
    }

    /// A word of the payload; what is not there is none.
    pub fn u32_at(&self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(self.payload.get(at..at + 4)?.try_into().ok()?))
    }

    pub fn u64_at(&self, at: usize) -> Option<u64> {
        Some(u64::from_le_bytes(self.payload.get(at..at + 8)?.try_into().ok()?))
    }
}
