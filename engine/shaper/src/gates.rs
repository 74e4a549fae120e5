// SPDX-License-Identifier: Apache-2.0
//! Enhancements for scheduled traffic: transmission gates (802.1Q 8.6.8.4) and the cycle timer, list execute and list
//! config state machines (8.6.9). Twin of `pen_gates` and `pen_gate_config`.
//!
//! Gate time is counted in *units*: nanoseconds in hardware, picoseconds in bridges of other makers. Between two changes
//! (a commit, a clock step) the state at any later time follows from that time alone, so nothing has to be done at a gate
//! edge. At one instant gates change first: a state holds from its time on, up to the next one's.
use std::sync::Arc;

use thiserror::Error;

use crate::admission::CLASSES;

/// Farther away than anything is compared with.
pub const HORIZON: u64 = u64::MAX / 4;
/// What the hardware promises; also the shortest cycle.
pub const LEAST_INTERVAL_NS: u64 = 64;
pub const MOST_ENTRIES: usize = 1024;
/// Set-Gate-States, Set-And-Hold-MAC, Set-And-Release-MAC (Table 8-7). Without preemption they do the same.
pub const OPERATIONS: u8 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub operation: u8,
    /// Bit k: the gate of class k is open.
    pub states: u8,
    pub interval: u64,
}

/// The administrative parameters of a port (8.6.9.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminList {
    pub entries: Vec<Entry>,
    pub base_time: u64,
    pub cycle_time: u64,
    pub cycle_time_extension: u64,
}

/// What a list may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    pub entries: usize,
    /// Of an interval, and of the cycle.
    pub least_interval: u64,
    /// The first base time that is beyond the clock.
    pub time_end: u64,
    /// More than any frame takes. So long before a last cycle that is shorter than this, nothing is promised beyond the
    /// end of an entry.
    pub horizon: u64,
}

impl Capacity {
    /// Of the hardware, in nanoseconds.
    pub const HARDWARE: Self = Self {
        entries: MOST_ENTRIES,
        least_interval: LEAST_INTERVAL_NS,
        time_end: crate::ptp_clock::TIME_END_NS,
        horizon: 1 << 15,
    };
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ListError {
    #[error("the gate control list has no entries; 1 to {most} are allowed")]
    Empty { most: usize },
    #[error("the gate control list has {entries} entries; 1 to {most} are allowed")]
    TooMany { entries: usize, most: usize },
    #[error("entry {entry} has an interval of {interval}; {least} or more is allowed")]
    Interval { entry: usize, interval: u64, least: u64 },
    #[error("the cycle time is {cycle_time}; {least} or more is allowed")]
    Cycle { cycle_time: u64, least: u64 },
    #[error("the base time is {base_time}; times before {end} are allowed")]
    BaseTime { base_time: u64, end: u64 },
    #[error("entry {entry} has operation {operation}; 0 to {most} are allowed", most = OPERATIONS - 1)]
    Operation { entry: usize, operation: u8 },
}

/// A time in which a gate is open, from the cycle's start; neighbours that are both open are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    from: u64,
    to: u64,
}

/// A list that can run: its entries fill the cycle exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    base_time: u64,
    cycle_time: u64,
    extension: u64,
    least: u64,
    horizon: u64,
    /// (start in the cycle, states).
    entries: Vec<(u64, u8)>,
    windows: [Vec<Window>; CLASSES],
    initial: [u64; CLASSES],
    largest: [u64; CLASSES],
}

impl List {
    /// Checks a list and fits it to its cycle (8.6.9.1.2): what goes beyond is cut off, and the last entry of a shorter list
    /// holds until the cycle ends. An entry that the cut leaves shorter than the least interval is given to the one before.
    pub fn compile(admin: &AdminList, capacity: &Capacity) -> Result<Self, ListError> {
        let least = capacity.least_interval;
        match admin.entries.len() {
            0 => return Err(ListError::Empty { most: capacity.entries }),
            entries if entries > capacity.entries => {
                return Err(ListError::TooMany { entries, most: capacity.entries });
            }
            _ => {}
        }
        if admin.cycle_time < least {
            return Err(ListError::Cycle { cycle_time: admin.cycle_time, least });
        }
        if admin.base_time >= capacity.time_end {
            return Err(ListError::BaseTime { base_time: admin.base_time, end: capacity.time_end });
        }
        for (entry, &Entry { operation, interval, .. }) in admin.entries.iter().enumerate() {
            if interval < least {
                return Err(ListError::Interval { entry, interval, least });
            }
            if operation >= OPERATIONS {
                return Err(ListError::Operation { entry, operation });
            }
        }
        let cycle = admin.cycle_time;
        let mut entries: Vec<(u64, u8)> = Vec::with_capacity(admin.entries.len());
        let mut start = 0_u64;
        for &Entry { states, interval, .. } in &admin.entries {
            if start >= cycle || (!entries.is_empty() && cycle - start < least) {
                break;
            }
            entries.push((start, states));
            start = start.saturating_add(interval);
        }
        let windows = std::array::from_fn(|class| windows(&entries, cycle, class));
        let initial = std::array::from_fn(|class| match windows[class].first() {
            Some(&Window { from: 0, to }) if to == cycle => HORIZON,
            Some(&Window { from: 0, to }) => to,
            _ => 0,
        });
        let largest = std::array::from_fn(|class| {
            let of = |window: &Window| {
                let joined: u64 = if window.to == cycle { initial[class] } else { 0 };
                (window.to - window.from).saturating_add(joined).min(HORIZON)
            };
            windows[class].iter().map(of).max().unwrap_or(0)
        });
        Ok(Self {
            base_time: admin.base_time,
            cycle_time: cycle,
            // A cycle that a change would cut shorter than the least interval does not begin.
            extension: admin.cycle_time_extension.clamp(least.saturating_sub(1), cycle - 1),
            least,
            horizon: capacity.horizon,
            entries,
            windows,
            initial,
            largest,
        })
    }

    pub fn base_time(&self) -> u64 {
        self.base_time
    }

    pub fn cycle_time(&self) -> u64 {
        self.cycle_time
    }

    /// (start, states, interval) of what runs in a cycle.
    pub fn entries(&self) -> impl Iterator<Item = (u64, u8, u64)> + '_ {
        let ends = self.entries.iter().skip(1).map(|&(start, _)| start).chain([self.cycle_time]);
        self.entries.iter().zip(ends).map(|(&(start, states), end)| (start, states, end - start))
    }

    /// How long a class stays open from the cycle's start on; [`HORIZON`] when it never closes.
    pub fn initial_window(&self, class: usize) -> u64 {
        self.initial[class]
    }

    /// The longest that a class is open without a break, also across the cycle's end; [`HORIZON`] when it never closes.
    pub fn largest_window(&self, class: usize) -> u64 {
        self.largest[class]
    }

    /// How long a class is open in each cycle.
    pub fn open_time(&self, class: usize) -> u64 {
        self.windows[class].iter().map(|window| window.to - window.from).sum()
    }

    /// ConfigChangeTime or CycleStartTime (8.6.9.1.1, 8.6.9.3.1): the base time, or the first later start of a cycle
    /// counted from it, that is not before `earliest`.
    pub fn start_from(&self, earliest: u64) -> u64 {
        let past = earliest.saturating_sub(self.base_time);
        self.base_time.saturating_add(past.div_ceil(self.cycle_time).saturating_mul(self.cycle_time))
    }

    /// The entry that holds at an offset in a cycle of this length: one that the end would leave shorter than the least
    /// interval does not begin.
    fn entry(&self, offset: u64, length: u64) -> usize {
        let begun = |&(start, _): &(u64, u8)| start <= offset && (start == 0 || start + self.least <= length);
        self.entries.partition_point(begun) - 1
    }

    /// How long a class stays open from an entry's end on, in a whole cycle; the end itself when it is closed then.
    fn open_until(&self, class: usize, offset: u64) -> u64 {
        let windows = &self.windows[class];
        let next = windows.get(windows.partition_point(|window| window.to <= offset));
        next.filter(|window| window.from <= offset).map_or(offset, |window| window.to)
    }

    /// The end of an entry, in a cycle of this length.
    fn entry_end(&self, entry: usize, length: u64) -> u64 {
        match self.entries.get(entry + 1) {
            Some(&(start, _)) if start + self.least <= length => start,
            _ => length,
        }
    }
}

fn windows(entries: &[(u64, u8)], cycle: u64, class: usize) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    for (index, &(from, states)) in entries.iter().enumerate() {
        let to = entries.get(index + 1).map_or(cycle, |&(start, _)| start);
        match windows.last_mut() {
            _ if states >> class & 1 == 0 => {}
            Some(last) if last.to == from => last.to = to,
            _ => windows.push(Window { from, to }),
        }
    }
    windows
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// No list has acted yet.
    Initial,
    Running {
        list: Arc<List>,
        /// Of some cycle; the others follow.
        start: u64,
    },
    /// The clock was stepped: the states stay until the first cycle that begins by the new time.
    Holding { list: Arc<List>, states: u8, start: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pending {
    list: Arc<List>,
    change_time: u64,
    /// Ends of cycles from here on are decided knowing it.
    since: u64,
}

/// What holds at an instant.
enum Now<'a> {
    Initial(u8),
    Running(Cycle<'a>),
    Holding { list: &'a Arc<List>, states: u8, start: u64 },
}

/// A cycle of a list that runs.
struct Cycle<'a> {
    list: &'a Arc<List>,
    start: u64,
    end: u64,
    /// The pending list takes over at its end.
    is_last: bool,
}

impl Cycle<'_> {
    fn entry(&self, now: u64) -> usize {
        self.list.entry(now - self.start, self.end - self.start)
    }

    fn states(&self, now: u64) -> u8 {
        self.list.entries[self.entry(now)].1
    }

    /// Where the entry ends that holds now.
    fn edge(&self, now: u64) -> u64 {
        self.start + self.list.entry_end(self.entry(now), self.end - self.start)
    }
}

/// The gates of one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gates {
    enabled: bool,
    initial_states: u8,
    phase: Phase,
    pending: Option<Pending>,
}

impl Default for Gates {
    fn default() -> Self {
        Self { enabled: false, initial_states: 0xFF, phase: Phase::Initial, pending: None }
    }
}

impl Gates {
    /// GateEnabled. Disabled, all gates are open and nothing is guarded; the state machines run on behind them.
    pub fn set_enabled(&mut self, enabled: bool) {
        self.enabled = enabled;
    }

    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// AdminGateStates: they hold until a list acts.
    pub fn set_initial_states(&mut self, states: u8) {
        self.initial_states = states;
    }

    /// A checked list waits for its time. What is due at `since` or later is decided knowing it; in cycles, that is what
    /// comes after the gate time of the last cycle that did not know it. It replaces what is pending then.
    pub fn propose(&mut self, since: u64, list: Arc<List>, change_time: u64) {
        self.act(since.saturating_sub(1));
        self.pending = Some(Pending { list, change_time, since });
    }

    /// Gives up what is pending, unless it was due before `since`.
    pub fn withdraw(&mut self, since: u64) {
        self.act(since.saturating_sub(1));
        self.pending = None;
    }

    /// Checks a list and lets it take over at its time, which is not before `earliest`; gives the ConfigChangeTime.
    pub fn commit(
        &mut self,
        now: u64,
        earliest: u64,
        admin: &AdminList,
        capacity: &Capacity,
    ) -> Result<u64, ListError> {
        let list = Arc::new(List::compile(admin, capacity)?);
        let change_time = list.start_from(earliest);
        self.propose(now, list, change_time);
        Ok(change_time)
    }

    /// The clock was stepped: `last` was the last gate time before. The states stay up to the first cycle of the list's
    /// pattern that begins at `earliest` or later (8.6.9.1.1 b). Gives back what was pending and its time.
    pub fn stepped(&mut self, last: u64, earliest: u64) -> Option<(Arc<List>, u64)> {
        self.advance(last);
        let states = self.list_states(last);
        if let Phase::Running { list, .. } | Phase::Holding { list, .. } = &self.phase {
            self.phase = Phase::Holding { list: Arc::clone(list), states, start: list.start_from(earliest) };
        }
        self.pending.take().map(|pending| (pending.list, pending.change_time))
    }

    /// Does what has come due.
    fn act(&mut self, now: u64) {
        if let Some(pending) = self.pending.take_if(|pending| pending.change_time <= now) {
            self.phase = Phase::Running { list: pending.list, start: pending.change_time };
        }
        match self.hold_end() {
            Some(start) if start <= now => {
                if let Phase::Holding { list, .. } = &self.phase {
                    self.phase = Phase::Running { list: Arc::clone(list), start };
                }
            }
            _ => {}
        }
    }

    /// Does what has come due, and makes later answers come sooner; no answer from `now` on depends on it.
    pub fn advance(&mut self, now: u64) {
        self.act(now);
        if let Phase::Running { list, start } = &mut self.phase {
            // Short of a pending change, any cycle's start stands for all.
            if self.pending.is_none() && *start < now {
                *start += (now - *start) / list.cycle_time * list.cycle_time;
            }
        }
    }

    /// ConfigPending at `now`: the list that waits, and its ConfigChangeTime.
    pub fn pending(&self, now: u64) -> Option<(&Arc<List>, u64)> {
        self.pending_at(now).map(|pending| (&pending.list, pending.change_time))
    }

    fn pending_at(&self, now: u64) -> Option<&Pending> {
        self.pending.as_ref().filter(|pending| now < pending.change_time)
    }

    /// The list that runs at `now`.
    pub fn list(&self, now: u64) -> Option<&Arc<List>> {
        match self.now(now) {
            Now::Initial(_) => None,
            Now::Running(Cycle { list, .. }) | Now::Holding { list, .. } => Some(list),
        }
    }

    /// When the gates act next after `now`: the end of an entry, or the first list's start.
    pub fn next_edge(&self, now: u64) -> Option<u64> {
        match self.now(now) {
            Now::Initial(_) => self.pending_at(now).map(|pending| pending.change_time),
            Now::Holding { start, .. } => Some(start),
            Now::Running(cycle) => Some(cycle.edge(now)),
        }
    }

    /// Whether the cycle that runs at `now` is the last one before the pending list takes over.
    pub fn is_last_cycle(&self, now: u64) -> bool {
        matches!(self.now(now), Now::Running(Cycle { is_last: true, .. }))
    }

    /// When the states that a step left give way. A cycle that the change would cut too short does not begin.
    fn hold_end(&self) -> Option<u64> {
        let Phase::Holding { list, start, .. } = &self.phase else { return None };
        let change_time = self.pending.as_ref().map(|pending| pending.change_time);
        Some(change_time.filter(|change_time| *change_time < start.saturating_add(list.least)).unwrap_or(*start))
    }

    fn now(&self, now: u64) -> Now<'_> {
        if let Some(pending) = self.pending.as_ref().filter(|pending| pending.change_time <= now) {
            return Now::Running(whole_cycle(&pending.list, pending.change_time, now));
        }
        match (&self.phase, self.hold_end()) {
            (Phase::Initial, _) => Now::Initial(self.initial_states),
            (Phase::Running { list, start }, _) => Now::Running(self.cycle(list, *start, now)),
            (Phase::Holding { list, .. }, Some(start)) if start <= now => Now::Running(self.cycle(list, start, now)),
            (Phase::Holding { list, states, start }, end) => {
                Now::Holding { list, states: *states, start: end.unwrap_or(*start) }
            }
        }
    }

    /// The last cycle before the pending change, of a list that runs from `start` on: its start and end.
    fn last_cycle(&self, list: &List, start: u64) -> Option<(u64, u64)> {
        let pending = self.pending.as_ref()?;
        let end = pending.change_time;
        let rest = end.saturating_sub(start) % list.cycle_time;
        let border = end - rest;
        // CycleTimeExtension reaches from the border to the change, and it is known in time: 8.6.9.1.1 c.
        let is_prolonged = rest <= list.extension && border > start && border >= pending.since;
        Some((if is_prolonged { border - list.cycle_time } else { border }, end))
    }

    /// The cycle at `now` of a list that runs from `start` on; the last one before a change ends with it.
    fn cycle<'a>(&self, list: &'a Arc<List>, start: u64, now: u64) -> Cycle<'a> {
        match self.last_cycle(list, start) {
            Some((start, end)) if now >= start => Cycle { list, start, end, is_last: true },
            _ => whole_cycle(list, start, now),
        }
    }

    /// What the list says about the time beyond the end of an entry is not what will be: a short last cycle follows.
    fn is_cut_off(&self, list: &List, start: u64, end: u64) -> bool {
        self.last_cycle(list, start).is_some_and(|(last, change)| {
            change - last < list.horizon && (last.saturating_sub(list.horizon)..=last).contains(&end)
        })
    }

    /// Gate states as the list says, GateEnabled or not.
    pub fn list_states(&self, now: u64) -> u8 {
        match self.now(now) {
            Now::Initial(states) | Now::Holding { states, .. } => states,
            Now::Running(cycle) => cycle.states(now),
        }
    }

    /// Bit k: the gate of class k is open at `now`.
    pub fn states(&self, now: u64) -> u8 {
        if self.enabled {
            self.list_states(now)
        } else {
            0xFF
        }
    }

    /// When the gate of a class closes that is open at `now`; more than `HORIZON / 2` later when it stays open. None:
    /// it is closed. Never later than the gate does close.
    pub fn close(&self, now: u64, class: usize) -> Option<u64> {
        let is_open = |states: u8| (states >> class & 1 == 1).then_some(());
        if !self.enabled {
            return Some(now.saturating_add(HORIZON));
        }
        let close = match self.now(now) {
            Now::Initial(states) => is_open(states).map(|()| now.saturating_add(HORIZON)),
            Now::Holding { list, states, start } => is_open(states).map(|()| {
                let is_followed = self.pending_at(now).is_none_or(|pending| pending.change_time > start);
                match is_followed && self.is_cut_off(list, start, start) {
                    true => start,
                    false => start.saturating_add(list.initial[class]),
                }
            }),
            Now::Running(cycle) => is_open(cycle.states(now)).map(|()| self.close_of(&cycle, now, class)),
        }?;
        Some(match self.pending_at(now) {
            Some(pending) if close >= pending.change_time => {
                pending.change_time.saturating_add(pending.list.initial[class])
            }
            _ => close,
        })
    }

    /// When the gate of a class closes that is open now; short of the change, anything beyond it stands for it.
    fn close_of(&self, cycle: &Cycle, now: u64, class: usize) -> u64 {
        let (list, edge) = (cycle.list, cycle.edge(now));
        let length = cycle.end - cycle.start;
        if !cycle.is_last && self.is_cut_off(list, cycle.start, edge) {
            return edge;
        }
        let to = if edge == cycle.end { length } else { list.open_until(class, edge - cycle.start) };
        if cycle.is_last {
            // The last entry that begins holds until the change.
            let last = list.entries[list.entry(length, length)].0;
            return if to > last || edge == cycle.end { u64::MAX } else { cycle.start + to };
        }
        match to < list.cycle_time {
            true => cycle.start + to,
            false => cycle.end.saturating_add(list.initial[class]),
        }
    }

    /// Whether a frame of a class that takes so long on the wire, its gap counted, may start at `now`.
    #[inline]
    pub fn fits(&self, now: u64, class: usize, wire: u64) -> bool {
        !self.enabled || self.close(now, class).is_some_and(|close| now.saturating_add(wire) <= close)
    }

    /// The first time from `now` on at which such a frame may start, if nothing is changed; none: never.
    pub fn fits_from(&self, now: u64, class: usize, wire: u64) -> Option<u64> {
        let mut at = now;
        while !self.fits(at, class, wire) {
            let pending = self.pending_at(at);
            at = match self.now(at) {
                Now::Running(Cycle { list, start, end, is_last: false }) => {
                    // A gate that never opens has no place for what takes no time either.
                    if list.largest[class] < wire.max(1) {
                        // No cycle has a place for it, but the last ones before a change may.
                        let last = list.cycle_time.saturating_mul(3).saturating_add(list.horizon);
                        let cycles = (pending?.change_time - at).saturating_sub(last) / list.cycle_time;
                        at += cycles * list.cycle_time;
                        if at >= end {
                            continue;
                        }
                    }
                    let windows = &list.windows[class];
                    let next = windows.partition_point(|window| window.from <= at - start);
                    let next = windows.get(next).map_or(end, |window| start + window.from);
                    let last = self.last_cycle(list, start).map_or(u64::MAX, |(last, _)| last);
                    // Near the last cycle, what fits moves with the ends of entries.
                    if next.saturating_add(list.horizon) >= last {
                        self.next_edge(at)?
                    } else {
                        next
                    }
                }
                _ => self.next_edge(at)?,
            };
        }
        Some(at)
    }
}

/// The cycle at `now` of a list that runs from `start` on, unless something changes.
fn whole_cycle(list: &Arc<List>, start: u64, now: u64) -> Cycle<'_> {
    let start = start + now.saturating_sub(start) / list.cycle_time * list.cycle_time;
    Cycle { list, start, end: start.saturating_add(list.cycle_time), is_last: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CAPACITY: Capacity = Capacity { entries: 16, least_interval: 4, time_end: 1 << 40, horizon: 64 };

    /// Moves by one unit at a time and decides at each what the rules say, looking at nothing but what is known then.
    #[derive(Clone, Debug)]
    struct Walk {
        now: u64,
        states: u8,
        /// The list, the start of its cycle, the entry that holds.
        oper: Option<(AdminList, u64, usize)>,
        pending: Option<(AdminList, u64)>,
    }

    impl Walk {
        fn tick(&mut self) {
            let least = CAPACITY.least_interval;
            if let Some((admin, _)) = self.pending.take_if(|pending| pending.1 == self.now) {
                self.oper = Some((admin, self.now, 0));
            }
            let change = self.pending.as_ref().map(|pending| pending.1);
            if let Some((admin, start, entry)) = &mut self.oper {
                let extension = admin.cycle_time_extension.clamp(least - 1, admin.cycle_time - 1);
                if self.now == *start + admin.cycle_time && change.is_none_or(|at| at > self.now + extension) {
                    (*start, *entry) = (self.now, 0);
                }
                let offset = self.now - *start;
                let end = change.filter(|&at| at <= *start + admin.cycle_time + extension);
                let end = end.unwrap_or(*start + admin.cycle_time);
                let mut begins = 0;
                for (index, candidate) in admin.entries.iter().enumerate() {
                    if begins == offset && self.now + least <= end && offset + least <= admin.cycle_time {
                        *entry = index;
                    }
                    begins += candidate.interval;
                }
                self.states = admin.entries[*entry].states;
            }
            self.now += 1;
        }
    }

    fn lists() -> impl Strategy<Value = AdminList> {
        let entry = (0..OPERATIONS, prop_oneof![any::<u8>(), Just(0), Just(0xFF), Just(1)], 4_u64..40)
            .prop_map(|(operation, states, interval)| Entry { operation, states, interval });
        (prop::collection::vec(entry, 1..8), 0_u64..1_500, 4_u64..160, prop_oneof![Just(0), 0_u64..200]).prop_map(
            |(entries, base_time, cycle_time, cycle_time_extension)| AdminList {
                entries,
                base_time,
                cycle_time,
                cycle_time_extension,
            },
        )
    }

    /// States of each unit up to `until`.
    fn walk(walk: &Walk, until: u64) -> Vec<u8> {
        let mut walk = walk.clone();
        let mut states = Vec::new();
        while walk.now < until {
            walk.tick();
            states.push(walk.states);
        }
        states
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// Lists that replace each other, against all units one after the other.
        #[test]
        fn lists_against_a_walk(
            initial_states in any::<u8>(),
            commits in prop::collection::vec((lists(), 1_u64..600, 8_u64..50), 1..5),
            wires in prop::collection::vec(1_u64..60, 8),
        ) {
            let mut gates = Gates::default();
            gates.set_enabled(true);
            gates.set_initial_states(initial_states);
            let mut reference = Walk { now: 0, states: initial_states, oper: None, pending: None };
            for (admin, units, ahead) in commits {
                let now = reference.now;
                if now > 0 && gates.is_last_cycle(now - 1) {
                    for _ in 0..units {
                        reference.tick();
                    }
                    continue;
                }
                let change_time = gates.commit(now, now + ahead, &admin, &CAPACITY).unwrap();
                let past = (0..).map(|n| admin.base_time + n * admin.cycle_time).find(|&time| time >= now + ahead);
                prop_assert_eq!(Some(change_time), past);
                reference.pending = Some((admin, change_time));
                // From here on a short last cycle may be near.
                let near = gates.list(now).map_or(u64::MAX, |list| {
                    change_time.saturating_sub(2 * list.cycle_time() + list.extension + 2 * CAPACITY.horizon)
                });
                let states = walk(&reference, now + 2_500);
                let open = |at: u64, class: usize, wire: u64| {
                    states[(at - now) as usize..][..wire as usize].iter().all(|states| states >> class & 1 == 1)
                };
                for at in now..now + units {
                    prop_assert_eq!(gates.list_states(at), states[(at - now) as usize], "at {}", at);
                    let edge = gates.next_edge(at).unwrap_or(u64::MAX);
                    prop_assert!(edge > at);
                    let quiet = edge.min(now + 2_400);
                    prop_assert!(states[(at - now) as usize..(quiet - now) as usize].windows(2).all(|w| w[0] == w[1]));
                    for (class, &wire) in wires.iter().enumerate() {
                        let fits = gates.fits(at, class, wire);
                        prop_assert!(!fits || open(at, class, wire), "{} at {}: goes on behind its gate", class, at);
                        if at < near || at >= change_time || gates.is_last_cycle(at) {
                            prop_assert_eq!(fits, open(at, class, wire), "{} at {}", class, at);
                        }
                    }
                }
                for (class, &wire) in wires.iter().enumerate() {
                    for at in (now..now + units).step_by(17) {
                        let first = (at..now + 2_400).find(|&at| gates.fits(at, class, wire));
                        let found = gates.fits_from(at, class, wire);
                        prop_assert_eq!(found.filter(|&at| at < now + 2_400), first, "{} at {}", class, at);
                        let mut later = gates.clone();
                        later.advance(at);
                        prop_assert_eq!(later.fits_from(at, class, wire), found);
                    }
                }
                let list = Arc::clone(gates.list(now + 2_400).unwrap());
                // What never fits is known from the list alone.
                for (class, &wire) in wires.iter().enumerate() {
                    let ever = (now + 2_400..).take(2 * list.cycle_time() as usize).any(|at| gates.fits(at, class, wire));
                    prop_assert_eq!(ever, wire <= list.largest_window(class));
                }
                for _ in 0..units {
                    reference.tick();
                }
            }
        }

        #[test]
        fn a_step_holds_the_states_until_a_cycle_begins(
            admin in lists(), change in prop::option::of(lists()), before in 1_500_u64..4_000, to in 0_u64..6_000,
        ) {
            let mut gates = Gates::default();
            gates.set_enabled(true);
            gates.commit(0, 0, &admin, &CAPACITY).unwrap();
            let change = change.map(|change| {
                let at = gates.commit(before, before + 1, &change, &CAPACITY).unwrap();
                (change, at)
            });
            let held = gates.list_states(before);
            let pending = gates.stepped(before, to + 50);
            prop_assert_eq!(pending.as_ref().map(|pending| pending.1), change.as_ref().map(|change| change.1));
            let next = |admin: &AdminList, earliest: u64| {
                (0..).map(|n| admin.base_time + n * admin.cycle_time).find(|&time| time >= earliest).unwrap()
            };
            let start = next(&admin, to + 50);
            let change_at = pending.map(|(list, at)| {
                let at = if at >= to + 200 { at } else { list.start_from(to + 200) };
                gates.propose(to + 1, list, at);
                at
            });
            let until = match change_at {
                Some(at) if at < start + CAPACITY.least_interval => at,
                _ => start,
            };
            for at in (to..until).step_by(7) {
                prop_assert_eq!(gates.list_states(at), held);
            }
            prop_assert_eq!(gates.next_edge(to), Some(until));
            let acts = if Some(until) == change_at { &change.as_ref().unwrap().0 } else { &admin };
            prop_assert_eq!(gates.list_states(until), acts.entries[0].states);
            for class in 0..CLASSES {
                let open = (until..until + 200).take_while(|&at| gates.list_states(at) >> class & 1 == 1).count() as u64;
                let is_open = held >> class & 1 == 1;
                for ahead in [1, 2, 30] {
                    prop_assert_eq!(gates.fits(until - ahead, class, ahead), is_open);
                    prop_assert!(!gates.fits(until - ahead, class, ahead + open + 1) || open == 200);
                    if change_at.is_none() {
                        prop_assert_eq!(gates.fits(until - ahead, class, ahead + open), is_open);
                    }
                }
            }
        }
    }

    fn list(cycle_time: u64, entries: &[(u8, u64)]) -> AdminList {
        let entries = entries.iter().map(|&(states, interval)| Entry { operation: 0, states, interval }).collect();
        AdminList { entries, base_time: 0, cycle_time, cycle_time_extension: 0 }
    }

    fn refused(admin: &AdminList) -> ListError {
        List::compile(admin, &Capacity::HARDWARE).unwrap_err()
    }

    #[test]
    fn what_is_refused() {
        assert_eq!(refused(&list(1_000, &[])), ListError::Empty { most: 1024 });
        assert_eq!(refused(&list(1_000, &[(1, 100); 1025])), ListError::TooMany { entries: 1025, most: 1024 });
        assert_eq!(refused(&list(0, &[(1, 100)])), ListError::Cycle { cycle_time: 0, least: 64 });
        let interval = ListError::Interval { entry: 1, interval: 63, least: 64 };
        assert_eq!(refused(&list(1_000, &[(1, 64), (2, 63)])), interval);
        let mut late = list(1_000, &[(1, 64)]);
        late.base_time = 1 << 63;
        assert!(matches!(refused(&late), ListError::BaseTime { .. }));
        let mut odd = list(1_000, &[(1, 64)]);
        odd.entries[0].operation = 3;
        assert_eq!(refused(&odd), ListError::Operation { entry: 0, operation: 3 });
        let message = "entry 1 has an interval of 63; 64 or more is allowed";
        assert_eq!(refused(&list(1_000, &[(1, 64), (2, 63)])).to_string(), message);
    }

    #[test]
    fn a_list_is_fitted_to_its_cycle() {
        let entries = |cycle, entries: &[(u8, u64)]| -> Vec<(u64, u8, u64)> {
            List::compile(&list(cycle, entries), &Capacity::HARDWARE).unwrap().entries().collect()
        };
        assert_eq!(entries(1_000, &[(1, 400), (2, 400)]), [(0, 1, 400), (400, 2, 600)], "prolonged");
        assert_eq!(entries(1_000, &[(1, 400), (2, 700), (4, 100)]), [(0, 1, 400), (400, 2, 600)], "cut");
        assert_eq!(entries(1_000, &[(1, 936), (2, 700)]), [(0, 1, 936), (936, 2, 64)]);
        assert_eq!(entries(1_000, &[(1, 937), (2, 700)]), [(0, 1, 1_000)], "63 ns go to the entry before");
    }

    #[test]
    fn a_redundant_reopening_makes_no_guard_band() {
        let mut gates = Gates::default();
        gates.set_enabled(true);
        gates.commit(0, 0, &list(1_000, &[(1, 300), (3, 300), (2, 400)]), &Capacity::HARDWARE).unwrap();
        assert_eq!(gates.close(100, 0), Some(600));
        assert!(gates.fits(100, 0, 500) && !gates.fits(100, 0, 501));
        assert_eq!(gates.close(700, 1), Some(1_000), "the next cycle begins with its gate closed");
        assert_eq!(gates.fits_from(100, 0, 501), Some(1_000));
        assert_eq!(gates.fits_from(100, 0, 601), None);
        assert_eq!((gates.fits_from(100, 5, 1), gates.fits_from(100, 5, 0)), (None, None));
        gates.set_enabled(false);
        assert_eq!((gates.states(700), gates.fits_from(100, 5, 10_000)), (0xFF, Some(100)));
    }
}
