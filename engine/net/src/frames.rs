// SPDX-License-Identifier: Apache-2.0
//! The frames that are on their way. Nobody else holds a frame: all others name its slot.
use crate::header::HeaderId;
use crate::trace::Reason;

/// No slot.
pub const NONE: u32 = u32::MAX;

/// One line of a cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Frame {
    /// Unique in the run.
    pub id: u64,
    /// When it was created; once the talker has sent it, when its first bit after the delimiter left.
    pub since: u64,
    /// Of the first listeners of its stream, those that it reached.
    pub reached: u64,
    /// Which frame of its stream it is.
    pub number: u64,
    pub stream: u32,
    pub header: HeaderId,
    /// In station queues, on wires and in bridges.
    pub copies: u32,
    /// Listeners that it has neither reached nor missed.
    pub open: u32,
    /// The frame after it in a station's queue.
    pub next: u32,
    /// Where in its stream's route it is expected next.
    pub hop: u32,
    pub bytes: u16,
    /// Of the first listener that it missed.
    pub reason: Reason,
}

#[derive(Default)]
pub struct Frames {
    slots: Vec<Frame>,
    free: Vec<u32>,
    live: u64,
}

impl Frames {
    #[inline]
    pub fn insert(&mut self, frame: Frame) -> u32 {
        self.live += 1;
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = frame;
            return slot;
        }
        self.slots.push(frame);
        (self.slots.len() - 1) as u32
    }

    #[inline]
    pub fn get(&self, slot: u32) -> &Frame {
        &self.slots[slot as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut Frame {
        &mut self.slots[slot as usize]
    }

    /// The slot may be taken by another frame from then on.
    #[inline]
    pub fn remove(&mut self, slot: u32) {
        self.live -= 1;
        self.slots[slot as usize].copies = 0;
        self.free.push(slot);
    }

    /// Frames that are somewhere.
    pub fn live(&self) -> impl Iterator<Item = &Frame> {
        self.slots.iter().filter(|frame| frame.copies > 0)
    }
}

const _: () = assert!(size_of::<Frame>() == 64);
