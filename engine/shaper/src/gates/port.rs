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
#[derive(Clone, Copy)]
enum Now<'a> {
    Initial(u8),
    Running(Cycle<'a>),
    Holding { list: &'a Arc<List>, states: u8, start: u64 },
}

/// What holds at an instant, and the change that is still to come: what is due has acted.
#[derive(Clone, Copy)]
struct View<'a> {
    now: Now<'a>,
    change: Option<&'a Pending>,
}

/// A cycle of a list that runs.
#[derive(Clone, Copy)]
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

    /// When its last entry begins, which holds until its end.
    fn last_entry(&self) -> u64 {
        let length = self.end - self.start;
        self.list.entries[self.list.entry(length, length)].0
    }

    /// Where the entry ends that holds now.
    fn edge(&self, now: u64) -> u64 {
        self.start + self.list.entry_end(self.entry(now), self.end - self.start)
    }
}

/// What the gates do until something changes.
#[derive(Clone, Copy)]
pub(super) enum Pattern<'a> {
    States(u8),
    /// Cycles of a list, one of which begins then.
    Cycles {
        list: &'a Arc<List>,
        start: u64,
    },
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
        self.act(last);
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

    /// ConfigPending at `now`: the list that waits, and its ConfigChangeTime.
    pub fn pending(&self, now: u64) -> Option<(&Arc<List>, u64)> {
        self.pending_at(now).map(|pending| (&pending.list, pending.change_time))
    }

    fn pending_at(&self, now: u64) -> Option<&Pending> {
        self.pending.as_ref().filter(|pending| now < pending.change_time)
    }

    /// The list that runs at `now`.
    pub fn list(&self, now: u64) -> Option<&Arc<List>> {
        match self.view(now).now {
            Now::Initial(_) => None,
            Now::Running(Cycle { list, .. }) | Now::Holding { list, .. } => Some(list),
        }
    }

    /// When the gates act next after `now`: the end of an entry, or the first list's start.
    pub fn next_edge(&self, now: u64) -> Option<u64> {
        self.view(now).next_edge(now)
    }

    /// When the cycle began that runs at `now`; none before the first one.
    pub fn cycle_start(&self, now: u64) -> Option<u64> {
        match self.view(now).now {
            Now::Running(cycle) => Some(cycle.start),
            Now::Initial(_) | Now::Holding { .. } => None,
        }
    }

    /// Whether the cycle that runs at `now` is the last one before the pending list takes over.
    pub fn is_last_cycle(&self, now: u64) -> bool {
        matches!(self.view(now).now, Now::Running(Cycle { is_last: true, .. }))
    }

    /// When the states that a step left give way. A cycle that the change would cut too short does not begin.
    fn hold_end(&self) -> Option<u64> {
        let Phase::Holding { list, start, .. } = &self.phase else { return None };
        let change_time = self.pending.as_ref().map(|pending| pending.change_time);
        Some(change_time.filter(|change_time| *change_time < start.saturating_add(list.least)).unwrap_or(*start))
    }

    fn view(&self, now: u64) -> View<'_> {
        if let Some(due) = self.pending.as_ref().filter(|pending| pending.change_time <= now) {
            return View { now: Now::Running(whole_cycle(&due.list, due.change_time, now)), change: None };
        }
        let change = self.pending.as_ref();
        let now = match (&self.phase, self.hold_end()) {
            (Phase::Initial, _) => Now::Initial(self.initial_states),
            (Phase::Running { list, start }, _) => Now::Running(cycle(list, *start, now, change)),
            (Phase::Holding { list, .. }, Some(start)) if start <= now => Now::Running(cycle(list, start, now, change)),
            (Phase::Holding { list, states, start }, end) => {
                Now::Holding { list, states: *states, start: end.unwrap_or(*start) }
            }
        };
        View { now, change }
    }

    /// What the gates do from `now` on, and until when; none: for ever.
    pub(super) fn pattern(&self, now: u64) -> (Pattern<'_>, Option<u64>) {
        if !self.enabled {
            return (Pattern::States(0xFF), None);
        }
        let view = self.view(now);
        match view.now {
            Now::Initial(states) => (Pattern::States(states), view.next_edge(now)),
            Now::Holding { states, start, .. } => (Pattern::States(states), Some(start)),
            Now::Running(Cycle { list, start, is_last: false, .. }) => {
                (Pattern::Cycles { list, start }, view.change.map(|change| last_cycle(list, start, change).0))
            }
            Now::Running(cycle) => match cycle.start + cycle.last_entry() {
                last if now < last => (Pattern::Cycles { list: cycle.list, start: cycle.start }, Some(last)),
                _ => (Pattern::States(cycle.states(now)), Some(cycle.end)),
            },
        }
    }

    /// Gate states as the list says, GateEnabled or not.
    pub fn list_states(&self, now: u64) -> u8 {
        match self.view(now).now {
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
        if !self.enabled {
            return Some(now.saturating_add(HORIZON));
        }
        self.view(now).close(now, class)
    }

    /// Whether a frame of a class that takes so long on the wire, its gap counted, may start at `now`.
    #[inline]
    pub fn fits(&self, now: u64, class: usize, wire: u64) -> bool {
        !self.enabled || self.view(now).fits(now, class, wire)
    }

    /// The first time from `now` on at which such a frame may start, if nothing is changed; none: never.
    pub fn fits_from(&self, now: u64, class: usize, wire: u64) -> Option<u64> {
        let mut at = now;
        while !self.fits(at, class, wire) {
            at = self.view(at).next_place(at, class, wire)?;
        }
        Some(at)
    }
}

impl View<'_> {
    fn next_edge(&self, now: u64) -> Option<u64> {
        match self.now {
            Now::Initial(_) => self.change.map(|change| change.change_time),
            Now::Holding { start, .. } => Some(start),
            Now::Running(cycle) => Some(cycle.edge(now)),
        }
    }

    fn fits(&self, now: u64, class: usize, wire: u64) -> bool {
        self.close(now, class).is_some_and(|close| now.saturating_add(wire) <= close)
    }

    fn close(&self, now: u64, class: usize) -> Option<u64> {
        if let View { now: Now::Running(Cycle { list, start, .. }), change: None } = *self {
            return list.windows(class).closes(now - start).map(|closes| start.saturating_add(closes));
        }
        let is_open = |states: u8| (states >> class & 1 == 1).then_some(());
        let close = match self.now {
            Now::Initial(states) => is_open(states).map(|()| now.saturating_add(HORIZON)),
            Now::Holding { list, states, start } => is_open(states).map(|()| {
                let is_followed = self.change.is_none_or(|change| change.change_time > start);
                match is_followed && self.is_cut_off(list, start, start) {
                    true => start,
                    false => start.saturating_add(list.initial_window(class)),
                }
            }),
            Now::Running(cycle) => is_open(cycle.states(now)).map(|()| self.close_of(&cycle, now, class)),
        }?;
        Some(match self.change {
            Some(change) if close >= change.change_time => {
                change.change_time.saturating_add(change.list.initial_window(class))
            }
            _ => close,
        })
    }

    /// When the gate of a class closes that is open now; short of the change, anything beyond it stands for it.
    fn close_of(&self, cycle: &Cycle, now: u64, class: usize) -> u64 {
        let (list, edge) = (cycle.list, cycle.edge(now));
        if !cycle.is_last && self.is_cut_off(list, cycle.start, edge) {
            return edge;
        }
        let length = cycle.end - cycle.start;
        let to = if edge == cycle.end { length } else { list.windows(class).open_until(edge - cycle.start) };
        if cycle.is_last {
            let is_open_to_the_end = edge == cycle.end || to > cycle.last_entry();
            return if is_open_to_the_end { u64::MAX } else { cycle.start + to };
        }
        match to < list.cycle_time {
            true => cycle.start + to,
            false => cycle.end.saturating_add(list.initial_window(class)),
        }
    }

    /// What the list says about the time beyond the end of an entry is not what will be: a short last cycle follows.
    fn is_cut_off(&self, list: &List, start: u64, end: u64) -> bool {
        self.cut_off_from(list, start).is_some_and(|(from, last)| (from..=last).contains(&end))
    }

    /// The first and the last end of an entry that are before a short last cycle.
    fn cut_off_from(&self, list: &List, start: u64) -> Option<(u64, u64)> {
        let (last, change) = last_cycle(list, start, self.change?);
        (change - last < list.horizon).then_some((last.saturating_sub(list.horizon), last))
    }

    /// The next time at which a frame may start that may not now; it is to be asked again.
    fn next_place(&self, now: u64, class: usize, wire: u64) -> Option<u64> {
        let Now::Running(Cycle { list, start, end, is_last }) = self.now else { return self.next_edge(now) };
        let windows = list.windows(class);
        if is_last {
            let last = Cycle { list, start, end, is_last }.last_entry();
            return Some(windows.opens_before(wire, now - start, last).map_or(end, |opens| start + opens));
        }
        let opens = windows.opens_for(wire, now - start).map(|opens| start.saturating_add(opens));
        let Some(change) = self.change else { return opens };
        // Before a short last cycle, what fits moves with the ends of entries; in any last one, with the change.
        let moves_from = self.cut_off_from(list, start).map_or(last_cycle(list, start, change).0, |(from, _)| from);
        match opens.filter(|&opens| opens < moves_from) {
            Some(opens) => Some(opens),
            None => {
                let at = now.max(moves_from.saturating_sub(1));
                Some(cycle(list, start, at, Some(change)).edge(at))
            }
        }
    }
}

/// The cycle at `now` of a list that runs from `start` on, unless something changes.
fn whole_cycle(list: &Arc<List>, start: u64, now: u64) -> Cycle<'_> {
    let start = start + now.saturating_sub(start) / list.cycle_time * list.cycle_time;
    Cycle { list, start, end: start.saturating_add(list.cycle_time), is_last: false }
}

/// The cycle at `now` of a list that runs from `start` on; the last one before a change ends with it.
fn cycle<'a>(list: &'a Arc<List>, start: u64, now: u64, change: Option<&Pending>) -> Cycle<'a> {
    match change.map(|change| last_cycle(list, start, change)) {
        Some((start, end)) if now >= start => Cycle { list, start, end, is_last: true },
        _ => whole_cycle(list, start, now),
    }
}

/// The last cycle before a change, of a list that runs from `start` on: its start and end.
fn last_cycle(list: &List, start: u64, change: &Pending) -> (u64, u64) {
    let end = change.change_time;
    let rest = end.saturating_sub(start) % list.cycle_time;
    let border = end - rest;
    // CycleTimeExtension reaches from the border to the change, and it is known in time: 8.6.9.1.1 c.
    let is_prolonged = rest <= list.extension && border > start && border >= change.since;
    (if is_prolonged { border - list.cycle_time } else { border }, end)
}
