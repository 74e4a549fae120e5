// SPDX-License-Identifier: Apache-2.0
//! The database against a reference that goes from cycle to cycle.
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const PORTS: u16 = 4;
const ADDRESSES: u64 = 6;
const CYCLES_PER_MS: Tick = 125_000;
const FOREVER: Tick = 1 << 60;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Plain {
    valid: bool,
    is_static: bool,
    age: u8,
    address: u64,
    ports: u64,
}

impl Plain {
    fn learnt(address: u64, port: u16) -> Self {
        Self { valid: true, is_static: false, age: 3, address, ports: 1 << port }
    }

    fn entry(self) -> Entry {
        Entry::new(self.valid, self.is_static, self.age, self.ports, (self.address >> 48) as u16, self.address)
    }

    fn holds(self, address: u64) -> bool {
        self.valid && self.address == address
    }

    /// The third sweep after an address was heard takes it away.
    fn older(self) -> Self {
        if !self.valid || self.is_static {
            return self;
        }
        match self.age {
            2 | 3 => Self { age: self.age - 1, ..self },
            _ => Self { age: self.age.wrapping_sub(1) & 3, valid: false, ..self },
        }
    }
}

/// Of a set: its own entry, else a free one, else the one that was not heard for longest; static ones stay.
fn way_of(set: [Plain; 2], address: u64) -> Option<usize> {
    if let Some(way) = set.iter().position(|entry| entry.holds(address)) {
        return set.iter().all(|entry| !entry.holds(address) || !entry.is_static).then_some(way);
    }
    let free = set.iter().position(|entry| !entry.valid);
    free.or_else(|| (0..2).filter(|&way| !set[way].is_static).min_by_key(|&way| set[way].age))
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    cycle: Tick,
    set: usize,
    way: usize,
    entry: Plain,
}

/// The entry that a sweep has read and may write three cycles later.
#[derive(Clone, Copy, Debug)]
struct Taken {
    read: Tick,
    old: Plain,
    /// Somebody has written it meanwhile.
    again: bool,
}

/// What an operation does in the cycle in which it reads.
#[derive(Clone, Copy, Debug)]
enum Operation {
    None,
    Find { address: u64, set: usize },
    Learn { address: u64, set: usize, port: u16, allowed: bool },
    Write { set: usize, way: usize, entry: Plain },
}

struct Reference {
    now: Tick,
    memory: Vec<[Plain; 2]>,
    writes: Vec<Pending>,
    /// Cycles in which a learning has the memory to write, whether or not there is room for it.
    learns: Vec<Tick>,
    /// [`FOREVER`]: none.
    period: Tick,
    /// A sweep begins behind this cycle, in which the unit knows the period.
    known: Tick,
    begun: Tick,
    next_read: Tick,
    /// While a sweep runs: twice the set, and the way.
    entry: Option<usize>,
    taken: Option<Taken>,
    /// The last cycle in which a sweep had the memory to write, whether or not it wrote.
    swept: Option<Tick>,
}

impl Reference {
    fn new(sets: usize, period: Tick) -> Self {
        Self {
            now: 0,
            memory: vec![[Plain::default(); 2]; sets],
            writes: vec![],
            learns: vec![],
            period,
            known: 0,
            begun: 0,
            next_read: period + 1,
            entry: None,
            taken: None,
            swept: None,
        }
    }

    /// Where nothing happens before cycle `until`.
    fn leap(&mut self, until: Tick) {
        if self.writes.is_empty() && self.entry.is_none() {
            self.now = self.now.max(until.min(self.next_read));
        }
    }

    /// Whether the memory was free in the last cycle, in which software writes what is there in this one: it has one port
    /// to write, and a learning keeps its set for itself.
    fn takes(&self, set: usize, heard: &[(Tick, usize, bool)]) -> bool {
        let is_learnt = |&(at, of, allowed): &(Tick, usize, bool)| match self.now - at {
            3 => true,
            4 | 5 => of == set,
            6 => allowed && of == set,
            7 => allowed,
            _ => false,
        };
        !self.is_swept() && !heard.iter().any(is_learnt)
    }

    /// Whether a sweep had the memory to write when software would for this cycle.
    fn is_swept(&self) -> bool {
        self.swept.is_some_and(|swept| swept + 1 == self.now)
    }

    /// One cycle: what was written before is there; operations read first, and a sweep where they leave the memory alone.
    fn cycle(&mut self, operation: Operation) -> Option<u64> {
        let now = self.now;
        self.writes.retain(|write| {
            if write.cycle < now {
                self.memory[write.set][write.way] = write.entry;
            }
            write.cycle >= now
        });
        let mut found = None;
        match operation {
            Operation::None => {}
            Operation::Find { address, set } => {
                let [a, b] = self.memory[set];
                let b_counts = b.holds(address) && (!a.holds(address) || b.is_static);
                found = if b_counts { Some(b.ports) } else { a.holds(address).then_some(a.ports) };
            }
            Operation::Learn { address, set, port, allowed } => {
                if allowed {
                    self.learns.push(now + 4);
                    if let Some(way) = way_of(self.memory[set], address) {
                        self.writes.push(Pending { cycle: now + 4, set, way, entry: Plain::learnt(address, port) });
                    }
                }
            }
            Operation::Write { set, way, entry } => {
                self.memory[set][way] = entry;
                self.meet(set, way);
            }
        }
        self.sweep(matches!(operation, Operation::None | Operation::Write { .. }));
        self.now += 1;
        found
    }

    /// Another period is told in a cycle, which the unit knows some cycles later.
    fn set_period(&mut self, period: Tick) {
        if period == self.period {
            return;
        }
        (self.period, self.known) = (period, self.now + 9);
        if self.entry.is_none() {
            self.plan(0);
        }
    }

    /// When the next sweep reads first, which may not be before this cycle is over.
    fn plan(&mut self, over: Tick) {
        self.next_read = (self.begun + self.period).max(self.known).max(over) + 1;
    }

    /// Somebody writes an entry.
    fn meet(&mut self, set: usize, way: usize) {
        if let Some(taken) = self.taken.as_mut().filter(|_| self.entry == Some(2 * set + way)) {
            taken.again = true;
        }
    }

    fn sweep(&mut self, is_free: bool) {
        let now = self.now;
        let written: Vec<_> = self.writes.iter().filter(|w| w.cycle == now).map(|w| (w.set, w.way)).collect();
        if let (Some(entry), Some(taken)) = (self.entry, self.taken.filter(|taken| taken.read + 3 == now)) {
            (self.taken, self.swept) = (None, Some(now));
            if !taken.again && !self.learns.contains(&now) {
                let (set, way) = (entry / 2, entry % 2);
                if taken.old.valid && !taken.old.is_static {
                    self.writes.push(Pending { cycle: now, set, way, entry: taken.old.older() });
                }
                self.entry = (entry + 1 < 2 * self.memory.len()).then_some(entry + 1);
                if self.entry.is_none() {
                    self.plan(now);
                }
            }
        }
        self.learns.retain(|&cycle| cycle > now);
        if now == self.next_read {
            let entry = *self.entry.get_or_insert_with(|| {
                self.begun = now - 1;
                0
            });
            if is_free {
                self.taken = Some(Taken { read: now, old: self.memory[entry / 2][entry % 2], again: false });
                self.next_read += 3;
            } else {
                self.next_read += 1;
            }
        }
        for (set, way) in written {
            self.meet(set, way);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Find,
    Learn { port: u16, allowed: bool },
    Write { way: usize, entry: Plain },
    Period { ms: u32 },
}

/// Cycles from the operation before, or from this long before the next sweep.
#[derive(Clone, Copy, Debug)]
enum When {
    After(Tick),
    BySweep(Tick),
}

fn steps() -> impl Strategy<Value = Vec<(When, u64, Step)>> {
    let when = prop_oneof![
        12 => (1_u64..9).prop_map(When::After),
        1 => (9_u64..60).prop_map(When::After),
        2 => (1_u64..40).prop_map(When::BySweep),
        2 => (1_u64..6).prop_map(When::BySweep),
        1 => (1_u64..1_000).prop_map(When::After)
    ];
    let entry = (any::<bool>(), any::<bool>(), 0_u8..4, 0_u64..1 << PORTS)
        .prop_map(|(valid, is_static, age, ports)| Plain { valid, is_static, age, address: 0, ports });
    let step = prop_oneof![
        4 => Just(Step::Find),
        4 => (0..PORTS, prop::bool::weighted(0.9)).prop_map(|(port, allowed)| Step::Learn { port, allowed }),
        2 => (0_usize..2, entry).prop_map(|(way, entry)| Step::Write { way, entry }),
        1 => (0_u32..3).prop_map(|ms| Step::Period { ms })
    ];
    prop::collection::vec((when, 0..ADDRESSES, step), 1..150)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn as_from_cycle_to_cycle(
        sets in prop_oneof![Just(1_usize), Just(2), Just(4)],
        // A sweep takes longer than a short period.
        cycles_per_ms in prop_oneof![Just(CYCLES_PER_MS), Just(20), Just(50), Just(100)],
        period_ms in 0_u32..3,
        steps in steps(),
    ) {
        let mut fdb = Fdb::new(sets, period_ms, true);
        fdb.sweep = Sweep::new((1_000_000 / cycles_per_ms, 1), period_ms);
        let period = |ms: u32| if ms == 0 { FOREVER } else { u64::from(ms) * cycles_per_ms };
        let mut reference = Reference::new(sets, period(period_ms));
        // What was found, as long as the database says that it holds.
        let mut held: BTreeMap<(u64, u64), Option<u64>> = BTreeMap::new();
        let mut heard = vec![];
        let mut at = 0;
        for (when, address, step) in steps {
            at = match when {
                When::After(cycles) => at + cycles,
                When::BySweep(before) if reference.next_read < FOREVER => (at + 1).max(reference.next_read.saturating_sub(before)),
                When::BySweep(before) => at + before,
            };
            let address = address_of(1, address);
            let set = fdb.set_of(address);
            let read = at + READ;
            while reference.now < read {
                reference.leap(read);
                if reference.now < read {
                    reference.cycle(Operation::None);
                }
            }
            let index = set as usize;
            match step {
                Step::Find => {
                    let found = fdb.find(at, set, address);
                    prop_assert_eq!(found, reference.cycle(Operation::Find { address, set: index }), "in {}", at);
                    if let Some(version) = fdb.version(at) {
                        prop_assert_eq!(*held.entry((version, address)).or_insert(found), found);
                    }
                }
                Step::Learn { port, allowed } => {
                    if fdb.version(at).is_some() {
                        let way = way_of(reference.memory[index], address);
                        let known = way.is_none_or(|way| reference.memory[index][way] == Plain::learnt(address, port));
                        prop_assert_eq!(fdb.knows(set, address, port), known);
                    }
                    fdb.learn(at, set, address, port, allowed);
                    heard.push((at, index, allowed));
                    reference.cycle(Operation::Learn { address, set: index, port, allowed });
                }
                Step::Write { way, entry } => {
                    prop_assert_eq!(fdb.is_swept(at), reference.is_swept(), "in {}", at);
                    if !reference.takes(index, &heard) {
                        continue;
                    }
                    let entry = Plain { address, ..entry };
                    fdb.write_at(read, way, index, entry.entry());
                    reference.cycle(Operation::Write { set: index, way, entry });
                }
                Step::Period { ms } => {
                    fdb.set_aging_period_ms(read, ms);
                    reference.set_period(period(ms));
                    reference.cycle(Operation::None);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn an_address_is_one_of_its_vlan(vlan in any::<u16>(), address in any::<u64>(), sets in 0_u32..15) {
        let found = address_of(vlan, address);
        prop_assert_eq!((found >> 48, found % (1 << 48)), (u64::from(vlan % (1 << 12)), address % (1 << 48)));
        let fdb = Fdb::new(1 << sets, 0, true);
        prop_assert_eq!(fdb.set_of(found), crc(&found.to_le_bytes()) % (1 << sets));
    }
}

/// What was found holds while nothing changes and no sweep is near.
#[test]
fn a_version_is_of_what_stays() {
    let mut fdb = Fdb::new(4, 1, true);
    let address = address_of(1, 7);
    let set = fdb.set_of(address);
    let empty = fdb.version(0);
    assert!(empty.is_some());
    fdb.learn(100, set, address, 3, true);
    assert_eq!(fdb.version(110), None, "it may be written by then");
    assert_eq!(fdb.find(110, set, address), Some(1 << 3));
    let learnt = fdb.version(110);
    assert!(learnt.is_some() && learnt != empty);
    assert_eq!((fdb.find(120, set, address), fdb.version(120)), (Some(1 << 3), learnt));
    fdb.learn(130, set, address, 3, true);
    assert_eq!((fdb.find(140, set, address), fdb.version(140)), (Some(1 << 3), learnt), "learnt anew, it is the same");
    let far = CYCLES_PER_MS - FAR_FROM_SWEEP;
    assert_eq!([far - 1, far + 1].map(|at| fdb.version(at).is_some()), [true, false]);
    fdb.write(0, set as usize, Entry::default());
    assert_ne!(fdb.version(140), learnt);
}

/// Eight entries, one every three cycles from cycle 21 on; a period of 20 is over by then, so that the next sweep follows four
/// cycles behind the last entry. A lookup that reads in cycle 21 holds all of them up by one cycle, and a learning that
/// writes the first entry then by three.
#[test]
fn what_holds_up_a_long_sweep_holds_up_all_that_follow() {
    let swept = |operation: fn(&mut Fdb, u64)| {
        let mut fdb = Fdb::new(4, 1, true);
        fdb.sweep = Sweep::new((1_000_000 / 20, 1), 1);
        let address = (0..).map(|n| address_of(1, n)).find(|&address| fdb.set_of(address) == 0).unwrap();
        operation(&mut fdb, address);
        // Long after three sweeps: the first cycles of ten in which one writes.
        (100..110).filter(|&at| fdb.is_swept(at)).collect::<Vec<_>>()
    };
    // Begun in 96, 97 and 99.
    assert_eq!(swept(|_, _| {}), [101, 104, 107]);
    let find = |fdb: &mut Fdb, address| assert_eq!(fdb.find(19, 0, address), None);
    assert_eq!(swept(find), [102, 105, 108]);
    assert_eq!(swept(|fdb, address| fdb.learn(14, 0, address, 1, true)), [101, 104, 107]);
    let held_up = |fdb: &mut Fdb, address| fdb.learn(15, 0, address, 1, true);
    assert_eq!(swept(held_up), [101, 104, 107]);
    let mut fdb = Fdb::new(4, 1, true);
    fdb.sweep = Sweep::new((1_000_000 / 20, 1), 1);
    let address = (0..).map(|n| address_of(1, n)).find(|&address| fdb.set_of(address) == 0).unwrap();
    held_up(&mut fdb, address);
    assert!(fdb.is_swept(97), "the last entry of the third sweep, that began in 74");
}

/// An entry that is learnt is swept twice before it goes, however long nobody asks.
#[test]
fn an_address_is_forgotten_by_the_third_sweep() {
    for in_cycles in [true, false] {
        let ms = if in_cycles { CYCLES_PER_MS } else { 1_000_000_000 };
        let mut fdb = Fdb::new(4, 10, in_cycles);
        let address = address_of(1, 7);
        let set = fdb.set_of(address);
        fdb.learn(100, set, address, 3, true);
        assert_eq!(fdb.find(29 * ms, set, address), Some(1 << 3));
        assert_eq!(fdb.find(31 * ms, set, address), None);
        fdb.learn(1_000 * ms + 100, set, address, 2, true);
        assert_eq!(fdb.find(1_029 * ms, set, address), Some(1 << 2));
        fdb.set_aging_period_ms(1_029 * ms + 1, 0);
        assert_eq!(fdb.find(9_000 * ms, set, address), Some(1 << 2), "never, without a period");
    }
}
