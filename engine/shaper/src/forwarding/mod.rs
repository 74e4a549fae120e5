// SPDX-License-Identifier: Apache-2.0
//! The filtering database. Twin of `pen_fdb`: sets of two entries chosen by CRC-32, with learning.
//!
//! A learning that goes out in cycle t reads its set in t + 2 and writes it in t + 6, so that it is seen by lookups that
//! go out from t + 5 on: those read in cycle t' + 2.
mod sweep;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use crate::egress::Tick;
use crate::identification::crc;
use crate::turns::CYCLE_NS;
use sweep::{Sweep, SETTLED, STEP};

const ADDRESS_BITS: u64 = (1 << 60) - 1;
const AGE_LSB: u32 = 60;
const STATIC: u64 = 1 << 62;
const VALID: u64 = 1 << 63;
const NEW_AGE: u64 = 3;
/// From a learning to the first lookup or learning that sees it.
const LEARN_SEEN: Tick = 5;
/// From a learning to its writing the memory.
const LEARN_WRITES: Tick = 6;

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

    fn is_learnt(&self) -> bool {
        self.is_valid() && !self.is_static()
    }

    /// As a sweep leaves it.
    fn older(self) -> Self {
        if !self.is_learnt() {
            return self;
        }
        let age = self.age().wrapping_sub(1) & 3;
        let word = self.word & !(3 << AGE_LSB | VALID) | age << AGE_LSB;
        Self { word: if age == 0 || age == 3 { word } else { word | VALID }, ..self }
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
    /// The port is a member of the VLAN; else the set is read and no more.
    allowed: bool,
}

/// An entry that is seen like that of a learning of tick `at`.
#[derive(Clone, Copy, Debug)]
struct Write {
    at: Tick,
    set: u32,
    way: u8,
    entry: Entry,
    swept: bool,
}

/// With static forwarding alone there may be no lookup that would settle them.
const LEARNINGS_KEPT: usize = 64;

#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Fdb {
    /// Counts the changes of entries, from one.
    version: u64,
    /// Ticks are the hardware's cycles; else a sweep takes no time.
    in_cycles: bool,
    /// There are neither learnings nor writes; false until that is found out.
    is_settled: bool,
    sweep: Sweep,
    /// Learnings that have not read their set yet, and writes that cannot be seen yet; both in order of time.
    learnings: VecDeque<Learning>,
    writes: VecDeque<Write>,
    /// Of the last learning that was allowed, and the one before it.
    learnt: [Tick; 2],
    sets: Vec<[Entry; 2]>,
}

/// Operations that go out this long before a sweep do not concern it.
const FAR_FROM_SWEEP: Tick = 64;

impl Fdb {
    /// A power of two of sets. Ticks are cycles of the hardware, or picoseconds.
    pub fn new(sets: usize, aging_period_ms: u32, in_cycles: bool) -> Self {
        let tick_ns = if in_cycles { (CYCLE_NS, 1) } else { (1, 1_000) };
        Self {
            sets: vec![[Entry::default(); 2]; sets],
            learnings: VecDeque::new(),
            writes: VecDeque::new(),
            learnt: [0; 2],
            sweep: Sweep::new(tick_ns, aging_period_ms),
            in_cycles,
            is_settled: true,
            version: 1,
        }
    }

    /// What was found in the database holds as long as this stays the same; none while something may change by itself.
    #[inline]
    pub fn version(&self, now: Tick) -> Option<u64> {
        (self.is_settled && now.saturating_add(FAR_FROM_SWEEP) < self.sweep.from).then_some(self.version)
    }

    /// Whether a learning would change nothing.
    pub fn knows(&self, set: u32, address: u64, port: u16) -> bool {
        let entries = &self.sets[set as usize];
        way_for(entries, address).is_none_or(|way| entries[usize::from(way)] == learnt_entry(address, port))
    }

    pub fn set_aging_period_ms(&mut self, at: Tick, period_ms: u32) {
        self.settle(at.saturating_sub(READ));
        self.sweep.set_period_ms(at, period_ms);
    }

    pub fn set_of(&self, address: u64) -> u32 {
        crc(&address.to_le_bytes()) & (self.sets.len() as u32 - 1)
    }

    /// Writes an entry that is seen by what reads from cycle `at` on.
    pub fn write_at(&mut self, at: Tick, way: usize, set: usize, entry: Entry) {
        if self.in_cycles {
            self.settle(at.saturating_sub(READ));
            // A sweep that has read the entry shortly before takes it again.
            if let Some(read) = self.sweep.read_of(2 * set + (way & 1)).filter(|read| read + STEP >= at) {
                let seen_as = read + STEP - LEARN_WRITES;
                self.writes.retain(|w| !w.swept || w.at != seen_as);
                self.sweep.take_again(read + STEP);
            }
        }
        self.write(way, set, entry);
    }

    /// Whether a sweep is about to write in cycle `at`, which keeps others from it.
    pub fn is_swept(&mut self, at: Tick) -> bool {
        self.settle(at.saturating_sub(READ));
        self.sweep.read.is_some_and(|read| read + READ == at)
    }

    /// Writes an entry at once; a set beyond the table does not exist.
    pub fn write(&mut self, way: usize, set: usize, entry: Entry) {
        if let Some(entries) = self.sets.get_mut(set) {
            entries[way & 1] = entry;
            self.version += 1;
        }
    }

    /// The ports that lead to an address, for a lookup that goes out at `now`; these are in order.
    pub fn find(&mut self, now: Tick, set: u32, address: u64) -> Option<u64> {
        if !self.is_settled || now + READ >= self.sweep.from {
            self.settle(now);
            self.read(now);
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
    pub fn learn(&mut self, at: Tick, set: u32, address: u64, port: u16, allowed: bool) {
        if self.learnings.len() >= LEARNINGS_KEPT {
            self.settle(at);
        }
        self.learnings.push_back(Learning { at, address, port, set, allowed });
        self.is_settled = false;
    }

    /// Does all that happens before an operation that goes out at `now`.
    fn settle(&mut self, now: Tick) {
        while let Some(learning) = self.learnings.front().copied().filter(|l| l.at < now) {
            self.learnings.pop_front();
            self.read(learning.at);
            self.store(learning.at);
            if !learning.allowed {
                continue;
            }
            self.learnt = [learning.at, self.learnt[0]];
            let set = learning.set;
            if let Some(way) = way_for(&self.sets[set as usize], learning.address) {
                let entry = learnt_entry(learning.address, learning.port);
                self.writes.push_back(Write { at: learning.at, set, way, entry, swept: false });
            }
        }
        if now + READ > self.sweep.from {
            self.sweep_before(now + READ);
        }
        self.store(now);
    }

    /// An operation that goes out at `at` reads: the sweep makes way.
    fn read(&mut self, at: Tick) {
        if at + READ >= self.sweep.from {
            self.sweep_before(at + READ);
            self.sweep.reads.push_back(at + READ);
        }
    }

    /// Reads all entries of sweeps whose turn comes before cycle `until`.
    fn sweep_before(&mut self, until: Tick) {
        let entries = 2 * self.sets.len();
        while self.sweep.from < until {
            if !self.sweep.running {
                let length = if self.in_cycles { STEP * (entries as Tick - 1) } else { 0 };
                let is_over = self.sweep.from.saturating_add(length + SETTLED) < until;
                if is_over && self.leaves_memory_from(self.sweep.from) || !self.in_cycles {
                    self.sweep_at_once(until, length);
                    continue;
                }
                self.sweep.start();
            }
            let at = self.sweep.from;
            while self.sweep.reads.front().is_some_and(|&read| read < at) {
                self.sweep.reads.pop_front();
            }
            if self.sweep.reads.front() == Some(&at) {
                self.sweep.from += 1;
                continue;
            }
            self.sweep.from += STEP;
            self.sweep.read = Some(at);
            self.sweep_entry(at);
            if self.sweep.entry == entries {
                self.sweep.finish(at);
            }
        }
    }

    /// Whether nothing that is known reads or writes from a cycle on.
    fn leaves_memory_from(&self, at: Tick) -> bool {
        self.sweep.reads.back() != Some(&at) && self.learnt[0] + LEARN_WRITES < at
    }

    fn sweep_entry(&mut self, at: Tick) {
        let (set, way) = (self.sweep.entry / 2, self.sweep.entry & 1);
        self.store(at - READ);
        let is_written = self.writes.iter().any(|w| {
            (at..at + STEP).contains(&(w.at + LEARN_WRITES)) && w.set as usize == set && usize::from(w.way) == way
        });
        // A learning that is about to write goes first.
        if is_written || self.learnt.contains(&(at + STEP - LEARN_WRITES)) {
            return;
        }
        self.sweep.take(at);
        let entry = self.sets[set][way];
        if entry.is_learnt() {
            let seen_as = at + STEP - LEARN_WRITES;
            let older = entry.older();
            self.writes.push_back(Write { at: seen_as, set: set as u32, way: way as u8, entry: older, swept: true });
            self.is_settled = false;
        }
    }

    /// A whole sweep with nothing in its way, of such a time from the first entry to the last, and all that follow it and
    /// find nothing.
    fn sweep_at_once(&mut self, until: Tick, length: Tick) {
        self.store(Tick::MAX);
        self.sweep.start();
        let mut any = false;
        for entry in self.sets.iter_mut().flatten() {
            *entry = entry.older();
            any |= entry.is_learnt();
        }
        self.version += 1;
        self.sweep.finish(self.sweep.from + length);
        if !any {
            self.sweep.leave_out(until, length);
        }
    }

    /// Stores what an operation at `now` can see.
    fn store(&mut self, now: Tick) {
        while let Some(write) = self.writes.front().filter(|w| w.at.saturating_add(LEARN_SEEN) <= now) {
            let entry = &mut self.sets[write.set as usize][usize::from(write.way)];
            if *entry != write.entry {
                *entry = write.entry;
                self.version += 1;
            }
            self.writes.pop_front();
        }
        self.is_settled = self.learnings.is_empty() && self.writes.is_empty();
    }
}

fn learnt_entry(address: u64, port: u16) -> Entry {
    Entry { word: VALID | NEW_AGE << AGE_LSB | address, ports: 1 << port }
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
