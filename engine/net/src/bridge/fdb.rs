// SPDX-License-Identifier: Apache-2.0
//! The filtering database. Twin of `pen_fdb`: sets of two entries chosen by CRC-32, with learning.
//!
//! A learning that goes out in cycle t reads its set in t + 2 and writes it in t + 6, so that it is seen by lookups that
//! go out from t + 5 on: those read in cycle t' + 2.
use std::collections::VecDeque;

use super::identify::crc;
use super::Tick;

const ADDRESS_BITS: u64 = (1 << 60) - 1;
const AGE_LSB: u32 = 60;
const STATIC: u64 = 1 << 62;
const VALID: u64 = 1 << 63;
const NEW_AGE: u64 = 3;
/// From a learning to the first lookup or learning that sees it.
const LEARN_SEEN: Tick = 5;

/// From an operation to its reading the memory.
const READ: Tick = 2;

/// {valid, static, age[1:0], VLAN[11:0], address[47:0]}, and the ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    word: u64,
    ports: u64,
}

impl Entry {
    pub fn new(valid: bool, is_static: bool, age: u8, ports: u64, vlan: u16, address: u64) -> Self {
        let flags = if valid { VALID } else { 0 } | if is_static { STATIC } else { 0 };
        Self { word: flags | u64::from(age & 3) << AGE_LSB | address_of(vlan, address), ports }
    }

    fn is(&self, address: u64) -> bool {
        self.word & (VALID | ADDRESS_BITS) == VALID | address
    }

    fn is_static(&self) -> bool {
        self.word & STATIC != 0
    }

    fn is_valid(&self) -> bool {
        self.word & VALID != 0
    }

    fn age(&self) -> u64 {
        self.word >> AGE_LSB & 3
    }
}

/// {VLAN, address}, by which entries are found.
pub fn address_of(vlan: u16, address: u64) -> u64 {
    u64::from(vlan & 0xFFF) << 48 | address & 0xFFFF_FFFF_FFFF
}

#[derive(Clone, Copy, Debug)]
struct Learning {
    at: Tick,
    address: u64,
    port: u16,
    set: u32,
}

#[derive(Clone, Copy, Debug)]
struct Write {
    at: Tick,
    set: u32,
    way: u8,
    entry: Entry,
}

#[derive(Clone, Debug)]
pub struct Fdb {
    sets: Vec<[Entry; 2]>,
    /// Learnings that have not read their set yet, and writes that cannot be seen yet; both in order of time.
    learnings: VecDeque<Learning>,
    writes: VecDeque<Write>,
}

impl Fdb {
    /// A power of two of sets.
    pub fn new(sets: usize) -> Self {
        Self { sets: vec![[Entry::default(); 2]; sets], learnings: VecDeque::new(), writes: VecDeque::new() }
    }

    pub fn set_of(&self, address: u64) -> u32 {
        crc(&address.to_le_bytes()) & (self.sets.len() as u32 - 1)
    }

    /// Writes an entry at once; a set beyond the table does not exist.
    pub fn write(&mut self, way: usize, set: usize, entry: Entry) {
        if let Some(entries) = self.sets.get_mut(set) {
            entries[way & 1] = entry;
        }
    }

    /// The ports that lead to an address, for a lookup that goes out at `now`; these are in order.
    pub fn find(&mut self, now: Tick, set: u32, address: u64) -> Option<u64> {
        if !self.learnings.is_empty() || !self.writes.is_empty() {
            self.settle(now);
        }
        let [a, b] = &self.sets[set as usize];
        // Software may have added a static entry for an address that was learnt into the other way: it counts.
        match (a.is(address), b.is(address)) {
            (hit, true) if !hit || b.is_static() => Some(b.ports),
            (true, _) => Some(a.ports),
            _ => None,
        }
    }

    /// A source address was heard; learnings are given in order of time, ahead of the lookups that come after them.
    pub fn learn(&mut self, at: Tick, set: u32, address: u64, port: u16) {
        self.learnings.push_back(Learning { at, address, port, set });
    }

    /// Does all that reads or writes the memory before cycle `at`.
    pub fn read_before(&mut self, at: Tick) {
        self.settle(at.saturating_sub(READ));
    }

    /// Does all that happens before an operation that goes out at `now`.
    fn settle(&mut self, now: Tick) {
        while let Some(learning) = self.learnings.front().copied().filter(|l| l.at < now) {
            self.learnings.pop_front();
            self.store(learning.at);
            let entries = &self.sets[learning.set as usize];
            if let Some(way) = way_for(entries, learning.address) {
                let entry = Entry { word: VALID | NEW_AGE << AGE_LSB | learning.address, ports: 1 << learning.port };
                self.writes.push_back(Write { at: learning.at, set: learning.set, way, entry });
            }
        }
        self.store(now);
    }

    /// Stores what an operation at `now` can see.
    fn store(&mut self, now: Tick) {
        while let Some(write) = self.writes.front().filter(|w| w.at + LEARN_SEEN <= now) {
            self.sets[write.set as usize][usize::from(write.way)] = write.entry;
            self.writes.pop_front();
        }
    }
}

/// Which way a learnt address goes to; none if static entries leave no room.
fn way_for([a, b]: &[Entry; 2], address: u64) -> Option<u8> {
    match (a.is(address), b.is(address)) {
        (false, false) => {}
        (hit_a, hit_b) => {
            let is_static = hit_a && a.is_static() || hit_b && b.is_static();
            return (!is_static).then_some(u8::from(!hit_a));
        }
    }
    match (a.is_valid(), b.is_valid(), a.is_static(), b.is_static()) {
        (false, ..) => Some(0),
        (_, false, ..) => Some(1),
        (_, _, false, false) => Some(u8::from(b.age() < a.age())),
        (_, _, true, true) => None,
        (_, _, a_static, _) => Some(u8::from(a_static)),
    }
}
