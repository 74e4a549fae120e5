// SPDX-License-Identifier: Apache-2.0
//! Reception in both cards: frames that are damaged, filtered, steered, too long for a buffer or for all of them, and rings
//! that no driver should have.
use std::sync::Arc;

use penstock_frame::{FCS_BYTES, PREAMBLE_BYTES};
use penstock_rtl::card::Stop;
use rand::{Rng, RngExt};

use super::{put, Both, INDIRECT, NEXT, OUTSIDE, RECEPTION, WRITE};
use crate::card::{ring_of, Card};
use crate::memory::Memory;
use crate::ring::Layout;

/// From the last byte of a frame to the cycle in which it is decided where it goes.
const LAST_TO_STEERED: u64 = 17;
const GAP: u64 = 12;
/// By then the slowest memory has taken a frame, if there is room for it.
const MOST_CYCLES: u64 = 200_000;
const LOOK_CYCLES: u64 = 500;
const AREA: u64 = 0x1_0000;
const RINGS: u64 = 0x1000;
const BUFFER: u64 = 2048;
const BUFFERS: u64 = (AREA - RINGS) / BUFFER;
const ADDRESSES: [u64; 4] = [0x0200_0000_0001, 0x0200_0000_0002, 0x0100_5E00_0001, 0xFFFF_FFFF_FFFF];
const COUNTERS: [u16; 2] = [0x1000, 0x100C];
const RECEIVED: u16 = 0x1040;
const TOO_SLOW: u16 = 0x1010;

/// A receive ring, and what its driver has offered.
struct Receiver {
    pair: usize,
    layout: Layout,
    first: u16,
    next: u16,
    /// The next descriptor, and the last buffer.
    descriptor: u16,
    buffer: u64,
    /// What is not the port's.
    outside: u64,
    is_broken: bool,
}

impl Receiver {
    fn draw(pair: usize, base: u64, outside: u64, rng: &mut impl Rng) -> Self {
        let size = 1 << rng.random_range(3..=5);
        let first = if rng.random_bool(0.5) { 0 } else { 65_536_u32.wrapping_sub(rng.random_range(1..20)) as u16 };
        let layout = Layout { size, descriptors: base, available: base + 0x400, used: base + 0x800 };
        Self { pair, layout, first, next: first, descriptor: 0, buffer: 0, outside, is_broken: false }
    }

    fn ring(&self) -> usize {
        ring_of(self.pair, false)
    }

    fn describe(&mut self, memories: &[&Memory; 2], address: u64, bytes: u32, flags: u16, next: u16) {
        let at = self.layout.descriptors + 16 * u64::from(self.descriptor);
        let words = [&address.to_le_bytes()[..], &bytes.to_le_bytes(), &flags.to_le_bytes(), &next.to_le_bytes()];
        memories.iter().for_each(|memory| put(memory, at, &words.concat()));
        self.descriptor = next;
    }

    fn publish(&mut self, memories: &[&Memory; 2], head: u16, ahead: u16) {
        let entry = self.layout.available + 4 + 2 * u64::from(self.next % self.layout.size);
        self.next = self.next.wrapping_add(ahead);
        for memory in memories {
            put(memory, entry, &head.to_le_bytes());
            put(memory, self.layout.available + 2, &self.next.to_le_bytes());
        }
    }

    fn address(&mut self, rng: &mut impl Rng) -> u64 {
        self.buffer = (self.buffer + 1) % BUFFERS;
        self.layout.descriptors + RINGS + self.buffer * BUFFER + rng.random_range(0..16)
    }

    /// Chains that have not come back.
    fn waiting(&self, memories: &[&Memory; 2]) -> u16 {
        self.next.wrapping_sub(memories[1].load(self.layout.used + 2).unwrap_or(self.next))
    }

    /// A chain of one to three buffers, as long as there are descriptors for it.
    fn offer(&mut self, memories: &[&Memory; 2], rng: &mut impl Rng) {
        if self.is_broken || 6 * (self.waiting(memories) + 1) > self.layout.size {
            return;
        }
        let (head, parts) = (self.descriptor, rng.random_range(1..=3_u16));
        for part in 0..parts {
            // Short ones, such as a frame has many of, and such as hold any.
            let most = [40, 700, 700, 2000][rng.random_range(0..4)];
            let bytes = rng.random_range(if part == 0 { 12 } else { 1 }..most);
            let following = (self.descriptor + 1) % self.layout.size;
            let address = self.address(rng);
            let flags = WRITE | if part + 1 == parts { 0 } else { NEXT };
            self.describe(memories, address, bytes, flags, following);
        }
        self.publish(memories, head, 1);
    }

    fn break_it(&mut self, memories: &[&Memory; 2], rng: &mut impl Rng) {
        let (size, head) = (self.layout.size, self.descriptor);
        let address = self.address(rng);
        let (address, bytes, flags, next) = match rng.random_range(0..8) {
            0 => (address, 0, WRITE, 0),
            1 => (address, 65_537, WRITE, 0),
            2 => (address, 100, 0, 0),
            3 => (address, 100, WRITE | INDIRECT, 0),
            // Hardware notices it by writing there, also for a frame that does not fit after all.
            4 => (self.outside, rng.random_range(12..2000), WRITE, 0),
            5 => (address, 20, WRITE | NEXT, size),
            6 => (address, 20, WRITE | NEXT, head),
            _ => (address, 11, WRITE, 0),
        };
        // An index is looked at again when all chains before it have been taken.
        let jump = if self.waiting(memories) == 0 && rng.random_bool(0.3) { size + 1 + head % 7 } else { 1 };
        self.describe(memories, address, bytes, flags, next);
        self.publish(memories, head, jump);
        self.is_broken = true;
    }
}

/// The wire and the receive rings of a port of both cards.
#[derive(Default)]
pub(super) struct Reception {
    rings: Vec<Receiver>,
    /// The first cycle in which another frame may begin.
    free: u64,
    pub frames: u64,
    pub damaged: u64,
}

impl Reception {
    pub fn draw(both: &mut Both, pairs: usize, area: u64, rng: &mut impl Rng) -> Result<Self, String> {
        let running: Vec<usize> = (0..pairs).filter(|_| rng.random_bool(0.7)).collect();
        let outside = area + OUTSIDE;
        let mut rings: Vec<_> = (area + RECEPTION..)
            .step_by(AREA as usize)
            .zip(running)
            .map(|(base, pair)| Receiver::draw(pair, base, outside, rng))
            .collect();
        for ring in &mut rings {
            for memory in &both.memories {
                for index in [ring.layout.available + 2, ring.layout.used + 2] {
                    put(memory, index, &ring.first.to_le_bytes());
                }
            }
            for card in both.cards() {
                card.start(ring.ring(), ring.layout, ring.first).map_err(|error| error.to_string())?;
            }
        }
        for (address, value) in steering(rng) {
            for card in both.cards() {
                card.write(address, value).map_err(|error| error.to_string())?;
            }
        }
        Ok(Self { rings, free: 0, frames: 0, damaged: 0 })
    }

    /// Some frames come one after the other, after buffers were offered; both cards have taken or lost them in the end.
    pub fn come(&mut self, both: &mut Both, rng: &mut impl Rng) -> Result<(), String> {
        let memories = both.memories.each_ref().map(|memory| &**memory);
        for ring in &mut self.rings {
            for _ in 0..rng.random_range(0..4) {
                ring.offer(&memories, rng);
            }
            if !ring.is_broken && rng.random_bool(0.05) {
                ring.break_it(&memories, rng);
            }
        }
        let mut wanted = Vec::new();
        // A ring that stops does so some time after the frame, which the next one's way depends on.
        let most = if self.rings.iter().any(|ring| ring.is_broken) { 1 } else { 4 };
        for _ in 0..rng.random_range(1..=most) {
            let start = (both.hardware.card.cycle() + 4).max(self.free) + rng.random_range(0..200);
            let mut bytes = frame(rng);
            let last = start + u64::from(PREAMBLE_BYTES) + bytes.len() as u64 - 1;
            self.free = last + 1 + GAP;
            if rng.random_bool(0.1) {
                self.damaged += 1;
                let at = rng.random_range(0..bytes.len());
                bytes[at] ^= 1 << rng.random_range(0..8);
                both.hardware.card.push(&bytes, start);
                continue;
            }
            self.frames += 1;
            both.hardware.card.push(&bytes, start);
            bytes.truncate(bytes.len() - FCS_BYTES as usize);
            let pair = both.model.steered(&bytes);
            both.model.receive(&bytes);
            wanted.push((last + LAST_TO_STEERED, pair));
        }
        self.wait(both)?;
        for (cycle, pair) in wanted {
            let seen = both.hardware.card.take_steered().ok_or("a received frame was not steered")?;
            let queue = seen.is_accepted().then_some(usize::from(seen.queue));
            if (seen.cycle, queue) != (cycle, pair) {
                let seen = (seen.cycle, queue);
                return Err(format!(
                    "a received frame is steered at (cycle, pair) {seen:?}, by the model {:?}",
                    (cycle, pair)
                ));
            }
        }
        Ok(())
    }

    /// Until hardware has told of as many frames as the model.
    fn wait(&self, both: &mut Both) -> Result<(), String> {
        let until = self.free + MOST_CYCLES;
        while told(both.hardware)? != told(both.model)? {
            let now = both.hardware.card.cycle();
            if now > until {
                let (hard, soft) = (told(both.hardware)?, told(both.model)?);
                return Err(format!("{hard:?} frames received, without buffer and filtered, by the model {soft:?}"));
            }
            both.hardware.card.run(now + LOOK_CYCLES, Stop::default());
        }
        // A damaged one may come last.
        both.hardware.card.run(self.free + 100, Stop::default());
        match both.hardware.read(TOO_SLOW) {
            Ok(0) => Ok(()),
            lost => Err(format!("frames were lost as the memory was too slow: {lost:?}")),
        }
    }

    /// What the hosts see in the end; gives how many rings have stopped.
    pub fn compare(&self, both: &mut Both) -> Result<u64, String> {
        let mut errors = 0;
        for ring in &self.rings {
            let [hard, soft] = both.memories.each_ref().map(|memory| given(memory, ring));
            if hard != soft {
                return Err(format!("receive queue {} was given back otherwise", ring.pair));
            }
            let mut states = [0_u32; 2];
            for (state, card) in states.iter_mut().zip(both.cards()) {
                let read = card.write(0x40, ring.ring() as u32).and_then(|()| card.read(0x68));
                *state = read.map_err(|error| error.to_string())? >> 16;
            }
            if states[0] != states[1] {
                let [hard, soft] = states;
                return Err(format!("receive queue {} has state {hard:#x}, by the model {soft:#x}", ring.pair));
            }
            errors += u64::from(states[0] >> 4 != 0);
        }
        Ok(errors)
    }
}

/// Of each pair how many frames it got, then those without a buffer and those that nobody wants.
fn told(card: &mut dyn Card) -> Result<Vec<u32>, String> {
    let pairs = (0..card.pairs() as u16).map(|pair| RECEIVED + 4 * pair);
    let all: Vec<u16> = pairs.chain(COUNTERS).collect();
    all.into_iter().map(|address| card.read(address).map_err(|error| error.to_string())).collect()
}

/// The used ring, and the bytes of all chains that came back.
fn given(memory: &Arc<Memory>, ring: &Receiver) -> Vec<Vec<u8>> {
    let Layout { size, descriptors, used, .. } = ring.layout;
    let mut entries = vec![0; 4 + 8 * usize::from(size)];
    let _ = memory.read(used, &mut entries);
    let count = u16::from_le_bytes([entries[2], entries[3]]).wrapping_sub(ring.first);
    let mut found = vec![entries[..4].to_vec()];
    // Entries of chains that were undone may stand beyond the index.
    for index in (0..count.min(size / 2)).map(|n| count - 1 - n) {
        let at = 4 + 8 * usize::from(ring.first.wrapping_add(index) % size);
        found.push(entries[at..at + 8].to_vec());
    }
    // Descriptors and buffers of those before have been used again.
    for index in (0..count.min(size / 8)).map(|n| count - 1 - n) {
        let at = 4 + 8 * usize::from(ring.first.wrapping_add(index) % size);
        let word = |at: usize| u32::from_le_bytes([entries[at], entries[at + 1], entries[at + 2], entries[at + 3]]);
        let (mut number, mut left) = (u64::from(word(at)), word(at + 4) as usize);
        while left > 0 {
            let mut descriptor = [0; 16];
            let _ = memory.read(descriptors + 16 * number, &mut descriptor);
            let address = u64::from_le_bytes(descriptor[..8].try_into().unwrap_or_default());
            let bytes = u32::from_le_bytes(descriptor[8..12].try_into().unwrap_or_default()) as usize;
            let mut part = vec![0; bytes.min(left)];
            let _ = memory.read(address, &mut part);
            left -= part.len().max(1).min(left);
            found.push(part);
            number = u64::from(u16::from_le_bytes([descriptor[14], descriptor[15]]));
        }
    }
    found
}

/// A frame with FCS, of which about half is IPv4 and half is tagged.
fn frame(rng: &mut impl Rng) -> Vec<u8> {
    let mut bytes = vec![0; rng.random_range(60..=1518)];
    rng.fill_bytes(&mut bytes);
    let destination = ADDRESSES[rng.random_range(0..ADDRESSES.len())];
    bytes[..6].copy_from_slice(&destination.to_be_bytes()[2..]);
    let mut at = 12;
    if rng.random_bool(0.5) {
        bytes[12..14].copy_from_slice(&[0x81, 0]);
        bytes[14] = rng.random_range(0..8) << 5;
        bytes[15] = rng.random_range(0..4);
        at = 16;
    }
    if rng.random_bool(0.6) {
        bytes[at..at + 2].copy_from_slice(&[8, 0]);
        bytes[at + 2] = 0x45;
        bytes[at + 8..at + 10].copy_from_slice(&[rng.random_range(0..2), 0]);
        bytes[at + 11] = if rng.random_bool(0.7) { 17 } else { rng.random_range(0..20) };
        // Few flows, so that rules fit.
        bytes[at + 14..at + 24].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2, 0, rng.random_range(0..3)]);
    } else {
        bytes[at..at + 2].copy_from_slice(&[0x88, rng.random_range(0xB5..0xB8)]);
    }
    let fcs = crc32fast::hash(&bytes);
    bytes.extend(fcs.to_le_bytes());
    bytes
}

/// Filter, ways and rules, as registers are written.
fn steering(rng: &mut impl Rng) -> Vec<(u16, u32)> {
    let mut writes = vec![(0x480, rng.random_range(0..4)), (0x484, rng.random_range(0..4))];
    writes.extend([(0x488, rng.random::<u32>() & 0x3737_3737), (0x48C, 1), (0x490, 0x0200)]);
    for number in 0..8 {
        if rng.random_bool(0.6) {
            continue;
        }
        let is_ipv4 = rng.random_bool(0.5);
        let fields: u128 = if is_ipv4 {
            0x0A00_0001 << 72 | 0x0A00_0002 << 40 | 17 << 32 | u128::from(rng.random_range(0..3_u32)) << 16
        } else {
            let destination = ADDRESSES[rng.random_range(0..ADDRESSES.len())];
            u128::from(rng.random_range(0x88B5..0x88B8_u32)) << 60
                | u128::from(rng.random_range(0..4_u32)) << 48
                | u128::from(destination)
        };
        let parts = if is_ipv4 { [0, 16, 24, 30][rng.random_range(0..4)] } else { rng.random_range(0..8_u128) };
        let head = u128::from(rng.random_bool(0.9)) << 11 | u128::from(rng.random_bool(0.3)) << 10;
        let rule = (head | rng.random_range(0..5_u128) << 6 | u128::from(is_ipv4) << 5 | parts) << 104 | fields;
        writes.extend((0x200..).step_by(4).zip((0..4).map(|word| (rule >> (32 * word)) as u32)));
        writes.extend([(0x210, number), (0x214, 9)]);
    }
    writes
}
