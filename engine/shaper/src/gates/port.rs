// SPDX-License-Identifier: Apache-2.0
//! The gates of one port: which list acts, when another takes its place, and what may still be sent before a gate closes.
//! Twin of `pen_gates`.
use std::sync::Arc;

use super::list::{AdminList, Capacity, List, ListError, HORIZON};

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
                    false => start.saturating_add(list.initial_window(class)),
                }
            }),
            Now::Running(cycle) => is_open(cycle.states(now)).map(|()| self.close_of(&cycle, now, class)),
        }?;
        Some(match self.pending_at(now) {
            Some(pending) if close >= pending.change_time => {
                pending.change_time.saturating_add(pending.list.initial_window(class))
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
            false => cycle.end.saturating_add(list.initial_window(class)),
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
                    if list.largest_window(class) < wire.max(1) {
                        // No cycle has a place for it, but the last ones before a change may.
                        let last = list.cycle_time.saturating_mul(3).saturating_add(list.horizon);
                        let cycles = (pending?.change_time - at).saturating_sub(last) / list.cycle_time;
                        at += cycles * list.cycle_time;
                        if at >= end {
                            continue;
                        }
                    }
                    let next = list.opens_after(class, at - start).map_or(end, |opens| start + opens);
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
