// SPDX-License-Identifier: Apache-2.0
//! The room of a station's queue: what more it may hold.
use crate::describe::QueueLimit;

/// Of one traffic class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    frames: u64,
    bytes: u64,
    /// What is first gives way to what comes.
    pub drops_oldest: bool,
}

impl Room {
    /// Frames of a queue that nothing is said of, so that a source which is faster than its link for long does not take
    /// all the memory of the machine.
    pub const MOST_FRAMES: u64 = 100_000;

    pub fn of(limit: &QueueLimit) -> Self {
        Self {
            frames: limit.frames.unwrap_or(Self::MOST_FRAMES),
            bytes: limit.bytes.unwrap_or(u64::MAX),
            drops_oldest: limit.drop_oldest,
        }
    }

    /// Whether there is room for a frame.
    #[inline]
    pub fn has(&self, bytes: u16) -> bool {
        self.frames > 0 && self.bytes >= u64::from(bytes)
    }

    /// Whether a frame has room, which it then takes.
    #[inline]
    pub fn take(&mut self, bytes: u16) -> bool {
        if !self.has(bytes) {
            return false;
        }
        self.frames -= 1;
        self.bytes -= u64::from(bytes);
        true
    }

    /// A frame has left.
    #[inline]
    pub fn give(&mut self, bytes: u16) {
        self.frames += 1;
        self.bytes += u64::from(bytes);
    }
}

impl Default for Room {
    fn default() -> Self {
        Self { frames: Self::MOST_FRAMES, bytes: u64::MAX, drops_oldest: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_takes_room_until_it_leaves() {
        let mut frames = Room::of(&QueueLimit { class: 0, frames: Some(2), bytes: None, drop_oldest: false });
        assert_eq!([1000, 1000, 64].map(|bytes| frames.take(bytes)), [true, true, false]);
        frames.give(1000);
        assert!(frames.take(2000));
        let mut bytes = Room::of(&QueueLimit { class: 0, frames: None, bytes: Some(1064), drop_oldest: false });
        assert_eq!([1000, 65, 64, 64].map(|length| bytes.take(length)), [true, false, true, false]);
        bytes.give(1000);
        assert!(bytes.take(1000));
    }
}
