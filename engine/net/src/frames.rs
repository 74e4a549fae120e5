// SPDX-License-Identifier: Apache-2.0
//! The frames of a kernel: in stations, on wires and in models of bridges a frame stays where it is, and is named by the
//! number of its place.
use std::ops::{Deref, DerefMut};

use crate::frame::Frame;

/// One line of a cache.
#[derive(Debug)]
#[repr(align(64))]
pub struct Held {
    frame: Frame,
    /// That are in this place, all of one node; none: nothing is held here.
    pub copies: u32,
}

#[cfg(not(feature = "wide"))]
const _: () = assert!(size_of::<Held>() == 64);

impl Deref for Held {
    type Target = Frame;

    #[inline]
    fn deref(&self) -> &Frame {
        &self.frame
    }
}

impl DerefMut for Held {
    #[inline]
    fn deref_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }
}

/// As many places as there were ever frames at once.
#[derive(Debug, Default)]
pub struct Frames {
    slots: Vec<Held>,
    free: Vec<u32>,
}

impl Frames {
    /// A frame of which there is one copy here.
    #[inline(always)]
    pub fn insert(&mut self, frame: Frame) -> u32 {
        let held = Held { frame, copies: 1 };
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = held;
            return slot;
        }
        self.slots.push(held);
        (self.slots.len() - 1) as u32
    }

    #[inline]
    pub fn get(&self, slot: u32) -> &Held {
        &self.slots[slot as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut Held {
        &mut self.slots[slot as usize]
    }

    /// One copy goes on by itself: gives its place, which is the same unless other copies stay.
    #[inline(always)]
    pub fn part(&mut self, slot: u32) -> u32 {
        if self.slots[slot as usize].copies <= 1 {
            return slot;
        }
        self.part_one(slot)
    }

    #[inline(never)]
    fn part_one(&mut self, slot: u32) -> u32 {
        let held = &mut self.slots[slot as usize];
        held.copies -= 1;
        let frame = held.copy();
        self.insert(frame)
    }

    /// Gives one copy away; with the last one, the slot may be taken by another frame.
    #[inline]
    pub fn remove(&mut self, slot: u32) -> Frame {
        let held = &mut self.slots[slot as usize];
        held.copies = held.copies.saturating_sub(1);
        if held.copies > 0 {
            return held.copy();
        }
        self.free.push(slot);
        held.take()
    }

    /// Places that there are.
    pub fn places(&self) -> usize {
        self.slots.len()
    }

    /// What is here.
    pub fn iter(&self) -> impl Iterator<Item = &Held> {
        self.slots.iter().filter(|held| held.copies > 0)
    }
}
