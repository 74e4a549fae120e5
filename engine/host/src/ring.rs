// SPDX-License-Identifier: Apache-2.0
//! The device's side of a split virtqueue (virtio 1.2, section 2.7), which trusts the driver in nothing: what is wrong stops
//! the ring, and is said.
use thiserror::Error;

use crate::memory::Memory;

pub const MOST_SIZE: u16 = 32768;
/// Of a chain, whatever the frame may be.
pub const MOST_BYTES: u64 = 1 << 16;
/// Before each frame (struct virtio_net_hdr_v1).
pub const HEADER_BYTES: usize = 12;
const DESCRIPTOR_BYTES: u64 = 16;
const USED_ENTRY_BYTES: u64 = 8;
const FLAG_NEXT: u16 = 1;
const FLAG_WRITE: u16 = 2;
const FLAG_INDIRECT: u16 = 4;
/// VIRTQ_AVAIL_F_NO_INTERRUPT
const NO_INTERRUPT: u16 = 1;

/// Where a ring is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub size: u16,
    pub descriptors: u64,
    pub available: u64,
    pub used: u64,
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RingError {
    #[error("a ring of {size} descriptors; powers of two from 2 to {most} are allowed", most = MOST_SIZE)]
    Size { size: u16 },
    #[error("the {part} at {address:#x}; multiples of {allowed} are allowed")]
    Alignment { part: &'static str, address: u64, allowed: u64 },
    #[error("{bytes} bytes at {address:#x} are not all the guest's; addresses of its memory are allowed")]
    Outside { address: u64, bytes: u64 },
    #[error("the available index went from {from} to {to} in a ring of {size}; steps of up to its size are allowed")]
    Jump { from: u16, to: u16, size: u16 },
    #[error("descriptor {number} in a ring of {size}; 0 to one less are allowed")]
    Number { number: u16, size: u16 },
    #[error("a chain of more descriptors than the ring's {size}, so that it has a loop; chains that end are allowed")]
    Loop { size: u16 },
    #[error("descriptor {number} is an indirect one, which was not offered; direct ones are allowed")]
    Indirect { number: u16 },
    #[error("descriptor {number} has no bytes; 1 or more are allowed")]
    Empty { number: u16 },
    #[error(
        "descriptor {number} has the wrong direction; those to read come first, and only a receive queue has others"
    )]
    Direction { number: u16 },
    #[error("a chain of more than {most} bytes; up to so many are allowed", most = MOST_BYTES)]
    TooLong,
    #[error("a chain of {bytes} bytes to receive into; {least} or more are allowed", least = HEADER_BYTES)]
    TooShort { bytes: u64 },
}

impl RingError {
    /// The number by which the card's register says it; 0 is none.
    pub fn code(self) -> u32 {
        match self {
            Self::Size { .. } | Self::Alignment { .. } => 1,
            Self::Jump { .. } => 2,
            Self::Number { .. } => 3,
            Self::Loop { .. } => 4,
            Self::Empty { .. } => 5,
            Self::TooLong => 6,
            Self::Indirect { .. } | Self::Direction { .. } => 7,
            Self::Outside { .. } => 8,
            Self::TooShort { .. } => 9,
        }
    }
}

/// What a card that knows no more than the number says of it.
pub fn error_of(code: u32) -> &'static str {
    match code {
        1 => "a ring of a size, or at a place, that cannot be",
        2 => "the available index went further than the ring has descriptors",
        3 => "a descriptor that the ring has not",
        4 => "a chain of more descriptors than the ring has, so that it has a loop",
        5 => "a descriptor without bytes",
        6 => "a chain of more than 65536 bytes",
        7 => "an indirect descriptor, or one of the wrong direction",
        8 => "an access outside of the guest's memory",
        9 => "a chain to receive into that is shorter than the header",
        _ => "an error of an unknown number",
    }
}

/// Who writes what a chain points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The card reads it: transmission.
    Read,
    /// The card writes it: reception.
    Write,
}

/// A chain of descriptors that are all in the guest's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    pub head: u16,
    /// Address and bytes of each part.
    pub parts: Vec<(u64, u32)>,
    pub bytes: u64,
}

impl Chain {
    /// All that it points to.
    pub fn read(&self, memory: &Memory) -> Option<Vec<u8>> {
        let mut found = vec![0; usize::try_from(self.bytes).ok()?];
        let mut at = 0;
        for &(address, bytes) in &self.parts {
            let end = at + bytes as usize;
            if !memory.read(address, &mut found[at..end]) {
                return None;
            }
            at = end;
        }
        Some(found)
    }

    /// Fills it from its begin on; gives how many bytes went in.
    pub fn write(&self, memory: &Memory, bytes: &[u8]) -> usize {
        let mut at = 0;
        for &(address, room) in &self.parts {
            let end = (at + room as usize).min(bytes.len());
            if at == end || !memory.write(address, &bytes[at..end]) {
                break;
            }
            at = end;
        }
        at
    }
}

#[derive(Clone, Debug)]
pub struct Ring {
    layout: Layout,
    direction: Direction,
    next_available: u16,
    next_used: u16,
    /// Interrupts were asked for since the driver was last told.
    owes_interrupt: bool,
}

impl Ring {
    /// A ring that goes on at an index.
    ///
    /// # Errors
    /// A ring that is not one, or not in the guest's memory.
    pub fn new(memory: &Memory, layout: Layout, direction: Direction, next: u16) -> Result<Self, RingError> {
        let size = layout.size;
        if !size.is_power_of_two() || !(2..=MOST_SIZE).contains(&size) {
            return Err(RingError::Size { size });
        }
        let bytes = u64::from(size);
        let parts = [
            ("descriptors", layout.descriptors, 16, DESCRIPTOR_BYTES * bytes),
            ("available ring", layout.available, 2, 4 + 2 * bytes),
            ("used ring", layout.used, 4, 4 + USED_ENTRY_BYTES * bytes),
        ];
        for (part, address, allowed, bytes) in parts {
            if !address.is_multiple_of(allowed) {
                return Err(RingError::Alignment { part, address, allowed });
            }
            if !memory.has(address, bytes) {
                return Err(RingError::Outside { address, bytes });
            }
        }
        let used = layout.used + 2;
        let next_used = memory.load(used).ok_or(RingError::Outside { address: used, bytes: 2 })?;
        Ok(Self { layout, direction, next_available: next, next_used, owes_interrupt: false })
    }

    /// The index of the next chain that the driver makes available.
    pub fn next_available(&self) -> u16 {
        self.next_available
    }

    /// The index of the next chain that is given back.
    pub fn next_used(&self) -> u16 {
        self.next_used
    }

    /// The chains from an index on are taken once more: the card had no use for them.
    pub fn take_again_from(&mut self, next_available: u16) {
        self.next_available = next_available;
    }

    /// The next chain, if the driver has made one available.
    ///
    /// # Errors
    /// Whatever the driver got wrong; the ring is where it was.
    pub fn take(&mut self, memory: &Memory) -> Result<Option<Chain>, RingError> {
        let Layout { size, available, .. } = self.layout;
        let index = available + 2;
        let to = memory.load(index).ok_or(RingError::Outside { address: index, bytes: 2 })?;
        let from = self.next_available;
        let waiting = to.wrapping_sub(from);
        if waiting == 0 {
            return Ok(None);
        }
        if waiting > size {
            return Err(RingError::Jump { from, to, size });
        }
        let entry = available + 4 + 2 * u64::from(from % size);
        let head = memory.load(entry).ok_or(RingError::Outside { address: entry, bytes: 2 })?;
        let chain = self.follow(memory, head)?;
        self.next_available = from.wrapping_add(1);
        Ok(Some(chain))
    }

    fn follow(&self, memory: &Memory, head: u16) -> Result<Chain, RingError> {
        let size = self.layout.size;
        let mut chain = Chain { head, parts: Vec::new(), bytes: 0 };
        let mut number = head;
        loop {
            if number >= size {
                return Err(RingError::Number { number, size });
            }
            if chain.parts.len() >= usize::from(size) {
                return Err(RingError::Loop { size });
            }
            let at = self.layout.descriptors + DESCRIPTOR_BYTES * u64::from(number);
            let mut words = [0; DESCRIPTOR_BYTES as usize];
            if !memory.read(at, &mut words) {
                return Err(RingError::Outside { address: at, bytes: DESCRIPTOR_BYTES });
            }
            let [a0, a1, a2, a3, a4, a5, a6, a7, l0, l1, l2, l3, f0, f1, n0, n1] = words;
            let address = u64::from_le_bytes([a0, a1, a2, a3, a4, a5, a6, a7]);
            let bytes = u32::from_le_bytes([l0, l1, l2, l3]);
            let (flags, next) = (u16::from_le_bytes([f0, f1]), u16::from_le_bytes([n0, n1]));
            if flags & FLAG_INDIRECT != 0 {
                return Err(RingError::Indirect { number });
            }
            if (flags & FLAG_WRITE != 0) != (self.direction == Direction::Write) {
                return Err(RingError::Direction { number });
            }
            if bytes == 0 {
                return Err(RingError::Empty { number });
            }
            if !memory.has(address, bytes.into()) {
                return Err(RingError::Outside { address, bytes: bytes.into() });
            }
            chain.parts.push((address, bytes));
            chain.bytes += u64::from(bytes);
            if chain.bytes > MOST_BYTES {
                return Err(RingError::TooLong);
            }
            if flags & FLAG_NEXT == 0 {
                break;
            }
            number = next;
        }
        Ok(chain)
    }

    /// Gives a chain back, into which so many bytes were written.
    ///
    /// # Errors
    /// The used ring is not the guest's any more.
    pub fn give_back(&mut self, memory: &Memory, head: u16, written: u32) -> Result<(), RingError> {
        let Layout { size, used, .. } = self.layout;
        let address = used + 4 + USED_ENTRY_BYTES * u64::from(self.next_used % size);
        let mut entry = [0; USED_ENTRY_BYTES as usize];
        entry[..4].copy_from_slice(&u32::from(head).to_le_bytes());
        entry[4..].copy_from_slice(&written.to_le_bytes());
        if !memory.write(address, &entry) {
            return Err(RingError::Outside { address, bytes: USED_ENTRY_BYTES });
        }
        self.next_used = self.next_used.wrapping_add(1);
        self.owes_interrupt = true;
        if !memory.store(used + 2, self.next_used) {
            return Err(RingError::Outside { address: used + 2, bytes: 2 });
        }
        Ok(())
    }

    /// Whether the driver is to be told of what was given back since it was told last.
    pub fn take_interrupt(&mut self, memory: &Memory) -> bool {
        std::mem::take(&mut self.owes_interrupt)
            && memory.load(self.layout.available).is_some_and(|flags| flags & NO_INTERRUPT == 0)
    }
}

#[cfg(test)]
mod tests;
