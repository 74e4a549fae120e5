// SPDX-License-Identifier: Apache-2.0
//! The port against a list of frames that is looked at tick by tick, with all selections at once, in both timings.
use std::collections::BTreeMap;
use std::sync::Arc;

use penstock_frame::Edit;
use proptest::prelude::*;

use super::*;
use crate::admission::Pool;
use crate::credit::{Bounds, Inputs};
use crate::gates::{AdminList, Capacity, Entry};
use crate::ptp_clock::{PtpClock, NOMINAL_INCREMENT};

const RECEPTIONS: u16 = 3;
const TICKS: Tick = 300;
/// The tick in which a run begins: as long ago as delays reach back.
const START: Tick = 1_000;
/// Units of credit that a port sends in a tick.
const RATE: u64 = 64;

/// A line with so many units of gate time in a tick, in which a byte takes a tick.
#[derive(Clone, Debug)]
struct Line {
    gate_time: GateTime,
    units: u64,
    rules: Rules,
}

/// What a port may count otherwise.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// The gap spends credit.
    count_gap: bool,
    /// The gap has to fit before the gate closes.
    gap_in_window: bool,
    /// Credit stays as it is while the first frame waits for another window.
    frozen: bool,
}

const USUAL: Rules = Rules { count_gap: true, gap_in_window: true, frozen: false };

fn rules() -> impl Strategy<Value = Rules> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(count_gap, gap_in_window, frozen)| Rules {
        count_gap,
        gap_in_window,
        frozen,
    })
}

const AHEAD: u64 = 2;
const GAP: u64 = 3;

impl LineTime for Line {
    fn gate_time(&self) -> &GateTime {
        &self.gate_time
    }

    fn wire(&self, bytes: u16) -> u64 {
        self.units * (AHEAD + u64::from(bytes) + if self.rules.gap_in_window { GAP } else { 0 })
    }

    fn credit_guard(&self, bytes: u16) -> u64 {
        if self.rules.frozen {
            self.wire(bytes) + 1
        } else {
            0
        }
    }

    fn next_selection(&self, selection: Tick, bytes: u16) -> Tick {
        selection + AHEAD + u64::from(bytes) + GAP
    }

    fn spent(&self, selection: Tick, bytes: u16) -> Tick {
        selection + AHEAD + u64::from(bytes) + if self.rules.count_gap { GAP } else { 0 }
    }
}

fn line(hardware: bool, rules: Rules) -> Line {
    let (gate_time, units) = if hardware {
        let delays = GateDelays { lead: 56, states: 3, windows: 4 };
        (GateTime::new(PtpClock::new(START, 100_000), delays), 8)
    } else {
        (GateTime::of_picoseconds(START, 100_000, NOMINAL_INCREMENT), 1)
    };
    Line { gate_time, units, rules }
}

#[derive(Clone, Debug)]
enum Step {
    Enqueue {
        ahead: Tick,
        bytes: u16,
        reception: u16,
        class: u8,
        shaped: bool,
    },
    /// The first frame of a class is dropped, and the next one looked for during so many ticks.
    Drop(usize, Tick),
    /// A frame comes that is not queued if the port would select it at once.
    Pass(u16, u8),
    /// A frame comes of which only the header is known, and that is not longer than this.
    Cut(u16, u8, u16),
    /// Nothing is selected for so long; the link is down for so long.
    Hold(Tick),
    Interrupt(Tick),
    RoundRobin(u8),
    Credit(usize, Option<u64>),
    Gates(bool),
    MaxBytes(usize, u16),
}

/// What is known of the port without any closed form.
#[derive(Clone)]
struct Reference {
    /// In the order in which they came.
    copies: Vec<Queued>,
    credit: [Option<Credit>; CLASSES],
    gates: Gates,
    windows: Option<Windows>,
    members: u8,
    last: usize,
    free: Tick,
    sending: (usize, Tick),
    /// Per class, until when its next frame is looked for.
    searching: [Tick; CLASSES],
    max_bytes: [u16; CLASSES],
}

/// Which frames fit into some window of a list, looked for at each time of its cycle.
#[derive(Clone)]
struct Windows {
    list: Arc<List>,
    change_time: u64,
    /// The list alone.
    gates: Gates,
    known: BTreeMap<(usize, u64), bool>,
}

impl Windows {
    fn new(list: Arc<List>, change_time: u64) -> Self {
        let mut gates = Gates::default();
        gates.set_enabled(true);
        gates.propose(change_time, Arc::clone(&list), change_time);
        Self { list, change_time, gates, known: BTreeMap::new() }
    }

    fn fits(&mut self, class: usize, wire: u64) -> bool {
        let Self { list, change_time, gates, known } = self;
        let mut cycle = *change_time..*change_time + list.cycle_time();
        *known.entry((class, wire)).or_insert_with(|| cycle.any(|at| gates.fits(at, class, wire)))
    }
}

impl Reference {
    /// A frame is longer than its class may have, or than all windows of the list that counts then.
    fn is_too_long(&mut self, line: &Line, now: Tick, class: usize, bytes: u16) -> bool {
        let gate_time = line.gate_time.of_windows(now);
        let windows =
            self.windows.as_mut().filter(|windows| self.gates.is_enabled() && gate_time >= windows.change_time);
        bytes > self.max_bytes[class] || windows.is_some_and(|windows| !windows.fits(class, line.wire(bytes)))
    }

    /// Of a class the first tick from `from` on in which its first frame is eligible, and too long for all windows of the
    /// list that runs, as it is known then.
    fn never_fits_from(&mut self, line: &Line, from: Tick, class: usize) -> Option<Tick> {
        let copy = self.copies[self.head(class)?];
        let windows = self.windows.as_mut().filter(|_| self.gates.is_enabled())?;
        let change_time = windows.change_time;
        let first = (from.max(copy.visible)..).find(|&tick| line.gate_time.of_windows(tick) >= change_time);
        first.filter(|_| !windows.fits(class, line.wire(copy.bytes)))
    }

    /// Of a class the frame that goes first: of the heads of its queues the one that is eligible first.
    fn head(&self, class: usize) -> Option<usize> {
        let of = |copy: &Queued| (copy.traffic_class, copy.reception, copy.shaped);
        let is_head = |&at: &usize| !self.copies[..at].iter().any(|other| of(other) == of(&self.copies[at]));
        let of_class = (0..self.copies.len()).filter(|&at| usize::from(self.copies[at].traffic_class) == class);
        of_class.filter(is_head).min_by_key(|&at| {
            let copy = &self.copies[at];
            (copy.visible, copy.reception, copy.shaped)
        })
    }

    fn waits(&self, now: Tick, class: usize) -> bool {
        now < self.searching[class] || self.head(class).is_some_and(|at| self.copies[at].visible <= now)
    }

    /// Of the classes that have frames, the one that goes first.
    fn first(&self, may: impl FnMut(&usize) -> bool) -> Option<usize> {
        // How many steps down from the one that was served last.
        let turn = |class: usize| (self.last + CLASSES - 1 - class) % CLASSES;
        (0..CLASSES).filter(may).max_by_key(|&class| (self.rank(class), CLASSES - turn(class)))
    }

    /// The frame that comes is selected in this tick, if all of it were here or as long as this.
    fn passes(&mut self, line: &Line, now: Tick, copy: Queued, longest: u16) -> bool {
        let mut whole = self.clone();
        whole.copies.push(Queued { bytes: longest, ..copy });
        if whole.select(line, now).is_none_or(|selected| selected.frame != copy.frame) {
            return false;
        }
        *self = Self {
            free: line.next_selection(now, copy.bytes),
            sending: (usize::from(copy.traffic_class), line.spent(now, copy.bytes)),
            ..whole
        };
        true
    }

    fn rank(&self, class: usize) -> usize {
        if self.members >> class & 1 == 0 {
            return class;
        }
        (0..CLASSES).rfind(|&member| self.members >> member & 1 == 1).unwrap_or(class)
    }

    fn select(&mut self, line: &Line, now: Tick) -> Option<Queued> {
        if now < self.free {
            return None;
        }
        let may = |class: &usize| {
            let is_found = now >= self.searching[*class];
            let Some(at) = self.head(*class).filter(|_| is_found && self.waits(now, *class)) else { return false };
            let credit = self.credit[*class].is_none_or(|credit| credit.credit() >= 0);
            credit && self.gates.fits(line.gate_time.at(now), *class, line.wire(self.copies[at].bytes))
        };
        let class = self.first(may)?;
        if self.members >> class & 1 == 1 {
            self.last = class;
        }
        let copy = self.copies.remove(self.head(class)?);
        self.free = line.next_selection(now, copy.bytes);
        self.sending = (class, line.spent(now, copy.bytes));
        Some(copy)
    }

    /// To the next tick, after all that happens in this one.
    fn tick(&mut self, line: &Line, now: Tick) {
        let gate_time = line.gate_time.at(now);
        let states = self.gates.states(gate_time);
        let guarded: [bool; CLASSES] = std::array::from_fn(|class| {
            let first = self.head(class).map(|at| &self.copies[at]).filter(|first| first.visible <= now);
            let left = || self.gates.close(gate_time, class).map_or(0, |close| close - gate_time);
            line.rules.frozen && first.is_some_and(|first| left() <= line.wire(first.bytes))
        });
        for (class, guarded) in guarded.into_iter().enumerate() {
            let transmitting = self.sending.0 == class && now < self.sending.1;
            let gate_open = states >> class & 1 == 1 && !guarded;
            let inputs = Inputs { transmitting, gate_open, waiting: self.waits(now, class) };
            if let Some(credit) = &mut self.credit[class] {
                credit.step(inputs);
            }
        }
    }
}

fn credit(idle: u64) -> Credit {
    Credit::new(idle, RATE, Bounds::NONE).unwrap()
}

fn steps() -> impl Strategy<Value = Vec<(Tick, Step)>> {
    let class = || prop_oneof![0..CLASSES, 3..6_usize];
    // Frames of one length are not told apart by it.
    let bytes = || prop_oneof![1..40_u16, Just(20)];
    let enqueue = (0..60_u64, bytes(), 0..RECEPTIONS, class(), any::<bool>()).prop_map(
        |(ahead, bytes, reception, class, shaped)| Step::Enqueue {
            ahead,
            bytes,
            reception,
            class: class as u8,
            shaped,
        },
    );
    let step = prop_oneof![
        30 => enqueue,
        2 => (class(), 0..12_u64).prop_map(|(class, search)| Step::Drop(class, search)),
        8 => (bytes(), class()).prop_map(|(bytes, class)| Step::Pass(bytes, class as u8)),
        4 => (1..40_u16, class(), 0..40_u16).prop_map(|(bytes, class, more)| Step::Cut(bytes, class as u8, bytes + more)),
        1 => (0..60_u64).prop_map(Step::Hold),
        1 => (0..60_u64).prop_map(Step::Interrupt),
        1 => any::<u8>().prop_map(Step::RoundRobin),
        1 => (class(), prop::option::of(1..=RATE)).prop_map(|(class, idle)| Step::Credit(class, idle)),
        1 => any::<bool>().prop_map(Step::Gates),
        1 => (class(), 0..60_u16).prop_map(|(class, bytes)| Step::MaxBytes(class, bytes)),
    ];
    // Of few, most meet a port that has nothing else to send.
    (prop_oneof![1..10_usize, 1..50_usize])
        .prop_flat_map(move |most| prop::collection::vec((0..TICKS, step.clone()), 1..=most))
}

fn begins() -> impl Strategy<Value = Option<Tick>> {
    prop::option::of(prop_oneof![Just(1), 0..TICKS])
}

fn list(units: u64) -> impl Strategy<Value = Option<Arc<List>>> {
    // Windows begin and end between ticks too.
    let entry = (any::<u8>(), 8 * units..90 * units).prop_map(move |(states, interval)| Entry {
        operation: 0,
        states,
        interval,
    });
    let lists = (prop::collection::vec(entry, 1..6), 0..200 * units, 8 * units..300 * units);
    prop::option::of(lists.prop_map(move |(entries, base, cycle_time)| {
        let admin = AdminList { entries, base_time: 100_000 + base, cycle_time, cycle_time_extension: 0 };
        let capacity = Capacity { least_interval: 8 * units, ..Capacity::HARDWARE };
        Arc::new(List::compile(&admin, &capacity).unwrap())
    }))
}

fn contract(
    line: &Line,
    list: Option<Arc<List>>,
    slopes: [Option<u64>; CLASSES],
    members: u8,
    begins: Option<Tick>,
    mut steps: Vec<(Tick, Step)>,
) -> Result<(), TestCaseError> {
    let mut port = EgressPort::new(usize::from(RECEPTIONS));
    let mut gates = Gates::default();
    let is_gated = list.is_some();
    let mut windows = None;
    let mut has_changed = is_gated;
    let mut may_be_shaped = is_gated || slopes.iter().any(Option::is_some);
    if let Some(list) = list {
        gates.set_enabled(true);
        let (since, change_time) = (line.gate_time.at(START), list.base_time().max(line.gate_time.at(START) + 1));
        windows = Some(Windows::new(Arc::clone(&list), change_time));
        gates.propose(since, list, change_time);
        *port.change_gates(line, START) = gates.clone();
    }
    for (class, idle) in slopes.iter().enumerate() {
        if let Some(idle) = idle {
            port.set_credit(line, START, class, Some(credit(*idle)));
        }
    }
    port.set_round_robin(members);
    let mut reference = Reference {
        copies: Vec::new(),
        credit: slopes.map(|idle| idle.map(credit)),
        gates,
        windows,
        members,
        last: 0,
        free: 0,
        sending: (0, 0),
        searching: [0; CLASSES],
        max_bytes: [u16::MAX; CLASSES],
    };
    steps.sort_by_key(|(at, _)| *at);
    // Nothing was received before the port begins.
    steps.retain(|(at, _)| begins.is_none_or(|begins| begins <= *at));
    let mut steps = steps.into_iter().enumerate().peekable();
    let mut due = NEVER;
    for now in START..START + TICKS + 200 {
        if begins.is_some_and(|begins| START + begins == now) {
            port.begin(line, now);
            has_changed = is_gated && reference.gates.pending(line.gate_time.of_windows(now)).is_some();
        }
        while let Some((number, (_, step))) = steps.next_if(|(_, (at, _))| START + at <= now) {
            match step {
                Step::Enqueue { ahead, bytes, reception, class, shaped } => {
                    // Of one queue, none is eligible before the one that came before it.
                    let queued = copy(number, now + ahead, bytes, class);
                    let copy = Queued { reception, shaped, ..queued };
                    let displaces = port.head(usize::from(class)).is_some();
                    let before = due;
                    let told = match port.enqueue(copy) {
                        true => port.next_selection_with(line, now, &copy, due),
                        false => due,
                    };
                    due = port.next_selection(line, now);
                    let displaces = displaces && port.head(usize::from(class)) == Some(&copy);
                    // Where a longer frame goes before one that was first of its class, the port looks in vain, or where it
                    // was to ask again, as windows lie between ticks.
                    let is_in_vain = told < due && (displaces || told == before);
                    prop_assert!(told == due || is_in_vain, "{} with the copy, {} with all", told, due);
                    reference.copies.push(copy);
                }
                Step::Drop(class, search) => {
                    let expected = reference.head(class).map(|at| reference.copies.remove(at));
                    let of = |copy: &Queued| (copy.traffic_class, copy.reception, copy.shaped);
                    let dropped = port.drop_head(line, now, class);
                    prop_assert_eq!(dropped, expected);
                    let Some(dropped) = dropped else { continue };
                    prop_assert_eq!(
                        port.was_last(&dropped),
                        !reference.copies.iter().any(|copy| of(copy) == of(&dropped))
                    );
                    // One class at a time.
                    if search > 0 && reference.searching.iter().all(|&until| until <= now) {
                        port.search(class, now + search);
                        reference.searching[class] = now + search;
                        may_be_shaped = true;
                    }
                }
                Step::Pass(bytes, class) => {
                    let copy = copy(number, now, bytes, class);
                    if now < reference.free {
                        continue;
                    }
                    let would = port.would_select(line, now, &copy);
                    let mut after = reference.clone();
                    let expected = reference.copies.is_empty() && after.passes(line, now, copy, bytes);
                    // Behind gates that have changed it may be queued though it could go.
                    prop_assert!(would == expected || has_changed && expected, "{} for {:?}", would, copy);
                    if would {
                        port.pass(line, now, &copy);
                        reference = after;
                    }
                }
                Step::Cut(bytes, class, longest) => {
                    let copy = copy(number, now, bytes, class);
                    let head = reference.head(usize::from(class));
                    let is_due = head.is_some_and(|at| reference.copies[at].visible <= now);
                    let longest_of_class = longest.min(reference.max_bytes[usize::from(class)]);
                    let expected = !is_due && reference.passes(line, now, copy, longest_of_class);
                    prop_assert_eq!(port.pass_if_idle(line, now, &copy, longest), expected);
                }
                Step::Hold(ticks) => {
                    port.hold(now + ticks);
                    reference.free = reference.free.max(now + ticks);
                }
                Step::Interrupt(ticks) => {
                    port.interrupt(line, now, now + ticks);
                    (reference.free, reference.sending.1) = (now + ticks, reference.sending.1.min(now));
                }
                Step::RoundRobin(members) => {
                    port.set_round_robin(members);
                    reference.members = members;
                }
                Step::Credit(class, idle) => {
                    may_be_shaped = true;
                    port.set_credit(line, now, class, idle.map(credit));
                    reference.credit[class] = idle.map(credit);
                }
                Step::Gates(enabled) => {
                    (may_be_shaped, has_changed) = (true, true);
                    port.change_gates(line, now).set_enabled(enabled);
                    reference.gates.set_enabled(enabled);
                }
                Step::MaxBytes(class, bytes) => {
                    may_be_shaped = true;
                    port.set_max_bytes(class, bytes);
                    reference.max_bytes[class] = bytes;
                }
            }
            due = port.next_selection(line, now);
        }
        let expected = reference.select(line, now);
        prop_assert!(expected.is_none() || due == now, "{:?} in {}, told was {}", expected, now, due);
        if due == now {
            prop_assert_eq!(port.select(line, now), expected);
            prop_assert!(expected.is_some(), "nothing is selected in {}, as was told", now);
            due = port.next_selection(line, now + 1);
        }
        let heads = (0..CLASSES).filter_map(|class| Some(reference.copies[reference.head(class)?].visible));
        prop_assert_eq!((port.len(), port.is_empty()), (reference.copies.len(), reference.copies.is_empty()));
        prop_assert!(port.is_shaped() || !is_gated);
        prop_assert!(!port.is_shaped() || may_be_shaped);
        prop_assert_eq!(port.first_eligible(), heads.min());
        prop_assert_eq!(port.first_waiting(), reference.first(|&class| reference.head(class).is_some()));
        prop_assert_eq!((port.free(), port.sending_until()), (reference.free, reference.sending.1));
        prop_assert_eq!(port.round_robin(), reference.members);
        prop_assert!(port.may_be_too_long() == (has_changed && reference.gates.is_enabled()), "in {}", now);
        prop_assert_eq!(port.is_gated(), reference.gates.is_enabled());
        prop_assert!(port.gates().is_some() == port.is_shaped());
        let gate_time = line.gate_time.at(now);
        prop_assert_eq!(port.gate_list(gate_time), reference.gates.list(gate_time));
        for class in 0..CLASSES {
            let bytes = 1 + (now % 60) as u16;
            let is_too_long = reference.is_too_long(line, now, class, bytes);
            prop_assert_eq!(port.is_too_long(line, now, class, bytes), is_too_long, "{} bytes of {}", bytes, class);
            let credit = |class: usize| reference.credit[class].map_or(0, |credit| credit.idle_slope());
            let beside = (0..CLASSES).filter(|&other| other != class).map(credit).sum::<i128>();
            prop_assert_eq!(port.idle_slopes_beside(class), beside);
            let first = reference.head(class).map(|at| &reference.copies[at]);
            prop_assert_eq!(port.head(class), first);
            prop_assert_eq!(port.eligible(class), first.map(|first| first.visible));
            let of_class = reference.copies.iter().filter(|copy| usize::from(copy.traffic_class) == class);
            prop_assert_eq!(port.of_class(class).count(), of_class.count());
            let long = reference.never_fits_from(line, now, class);
            prop_assert_eq!(port.never_fits_from(line, now, class), long);
            prop_assert_eq!(port.never_fits(line, now, class), long == Some(now));
        }
        reference.tick(line, now);
    }
    Ok(())
}

/// One that comes at the first reception port, and is not shaped.
fn copy(number: usize, visible: Tick, bytes: u16, traffic_class: u8) -> Queued {
    Queued {
        visible,
        frame: number as u32,
        bytes,
        reception: 0,
        edit: Edit::NONE,
        traffic_class,
        pool: Pool::Queue,
        shaped: false,
    }
}

fn slopes() -> impl Strategy<Value = [Option<u64>; CLASSES]> {
    prop::array::uniform8(prop::option::weighted(0.4, 1..=RATE))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn as_a_list_in_cycles(
        list in list(8), slopes in slopes(), members in any::<u8>(), rules in rules(), begins in begins(),
        steps in steps(),
    ) {
        contract(&line(true, rules), list, slopes, members, begins, steps)?;
    }

    #[test]
    fn as_a_list_in_picoseconds(
        list in list(1), slopes in slopes(), members in any::<u8>(), rules in rules(), begins in begins(),
        steps in steps(),
    ) {
        contract(&line(false, rules), list, slopes, members, begins, steps)?;
    }

    /// Neither gates nor credit: the way of most frames.
    #[test]
    fn as_a_list_unshaped(members in prop_oneof![Just(0), any::<u8>()], steps in steps()) {
        let steps = steps.into_iter().filter(|(_, step)| !matches!(step, Step::Credit(..) | Step::Gates(_)));
        contract(&line(false, USUAL), None, [None; CLASSES], members, None, steps.collect())?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A window whose last start lies between two ticks is none, however few or many of them follow one another.
    #[test]
    fn a_frame_starts_in_the_first_tick_that_falls_into_a_window(
        spare in 0..12_u64, before in 8..40_u64, behind in 8..40_u64, drift in prop_oneof![Just(0), 0..NOMINAL_INCREMENT / 8],
    ) {
        let class = 3;
        let clock = PtpClock::new(START, 100_000).with_increment(NOMINAL_INCREMENT + drift);
        let line = Line { gate_time: GateTime::new(clock, GateDelays::default()), units: 8, rules: USUAL };
        let window = line.wire(20) + spare;
        let entry = |states, interval| Entry { operation: 0, states, interval };
        let admin = AdminList {
            entries: vec![entry(0, before), entry(1 << class, window), entry(0, behind)],
            base_time: 100_000,
            cycle_time: before + window + behind,
            cycle_time_extension: 0,
        };
        let mut port = EgressPort::new(usize::from(RECEPTIONS));
        let gates = port.change_gates(&line, START);
        gates.set_enabled(true);
        gates.commit(99_999, 100_000, &admin, &Capacity { least_interval: 1, ..Capacity::HARDWARE }).unwrap();
        let fits = |gates: &Gates, tick| gates.fits(line.gate_time.at(tick), class, line.wire(20));
        let ticks = START..START + 4_000;
        let expected = ticks.clone().find(|&tick| fits(port.gates().unwrap(), tick));
        port.enqueue(copy(0, START, 20, class as u8));
        let mut due = port.next_selection(&line, START);
        while ticks.contains(&due) && port.select(&line, due).is_none() {
            due = port.next_selection(&line, due + 1);
        }
        prop_assert_eq!(Some(due).filter(|due| ticks.contains(due)), expected);
        prop_assert_eq!(port.is_empty(), expected.is_some());
    }
}

/// A frame of 20 bytes takes 25 ticks with its gap, whose credit a class with half the rate has again 25 ticks later.
#[test]
fn a_frame_that_comes_without_credit_does_not_pass() {
    let line = line(false, USUAL);
    let mut port = EgressPort::new(usize::from(RECEPTIONS));
    port.set_credit(&line, START, 3, Some(credit(RATE / 2)));
    let passes = |port: &mut EgressPort, at| port.would_select(&line, at, &copy(1, at, 20, 3));
    assert!(passes(&mut port, START));
    port.pass(&line, START, &copy(0, START, 20, 3));
    assert_eq!(port.free(), START + 25);
    assert_eq!([25, 49, 50].map(|ticks| passes(&mut port, START + ticks)), [false, false, true]);
}

/// What is kept of the windows of a list that stays is as long as its largest, and is forgotten when gates change.
#[test]
fn the_longest_frame_is_that_of_the_gates_that_run() {
    let line = line(false, USUAL);
    let class = 3;
    let window = line.wire(20);
    let open_for = |interval| Entry { operation: 0, states: 1 << class, interval };
    let closed = Entry { operation: 0, states: 0, interval: 100 };
    let admin = AdminList {
        entries: vec![open_for(window), closed],
        base_time: 100_000,
        cycle_time: window + 100,
        cycle_time_extension: 0,
    };
    let list = List::compile(&admin, &Capacity { least_interval: 1, ..Capacity::HARDWARE }).unwrap();
    let mut port = EgressPort::new(usize::from(RECEPTIONS));
    let gates = port.change_gates(&line, START);
    gates.set_enabled(true);
    gates.propose(99_999, Arc::new(list), 100_000);
    port.begin(&line, START + 1);
    let too_long = |port: &EgressPort, bytes| port.is_too_long(&line, START + 1, class, bytes);
    assert_eq!([20, 21].map(|bytes| too_long(&port, bytes)), [false, true]);
    port.set_max_bytes(class, 10);
    assert_eq!([10, 11].map(|bytes| too_long(&port, bytes)), [false, true]);
    port.begin(&line, START + 1);
    assert_eq!([10, 11].map(|bytes| too_long(&port, bytes)), [false, true]);
    port.set_max_bytes(class, u16::MAX);
    port.begin(&line, START + 1);
    port.change_gates(&line, START + 1).set_enabled(false);
    assert_eq!([20, 21, u16::MAX].map(|bytes| too_long(&port, bytes)), [false; 3]);
}
