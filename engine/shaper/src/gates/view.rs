// SPDX-License-Identifier: Apache-2.0
//! What the gates of a port do at an instant and after it: the cycle that runs, and the change that is still to come.
use std::sync::Arc;

use super::list::{List, HORIZON};
use super::port::Pending;
use crate::Time;

/// What holds at an instant.
#[derive(Clone, Copy)]
pub(super) enum Now<'a> {
    Initial(u8),
    Running(Cycle<'a>),
    Holding { list: &'a Arc<List>, states: u8, start: Time },
}

/// What holds at an instant, and the change that is still to come: what is due has acted.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub now: Now<'a>,
    pub change: Option<&'a Pending>,
}

/// A cycle of a list that runs.
#[derive(Clone, Copy)]
pub(super) struct Cycle<'a> {
    pub list: &'a Arc<List>,
    pub start: Time,
    pub end: Time,
    /// The pending list takes over at its end.
    pub is_last: bool,
}

impl Cycle<'_> {
    fn entry(&self, now: Time) -> usize {
        self.list.entry(now - self.start, self.end - self.start)
    }

    pub fn states(&self, now: Time) -> u8 {
        self.list.entries[self.entry(now)].1
    }

    /// When its last entry begins, which holds until its end.
    pub fn last_entry(&self) -> Time {
        let length = self.end - self.start;
        self.list.entries[self.list.entry(length, length)].0
    }

    /// Where the entry ends that holds now.
    fn edge(&self, now: Time) -> Time {
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
        start: Time,
    },
}

impl View<'_> {
    pub fn next_edge(&self, now: Time) -> Option<Time> {
        match self.now {
            Now::Initial(_) => self.change.map(|change| change.change_time),
            Now::Holding { start, .. } => Some(start),
            Now::Running(cycle) => Some(cycle.edge(now)),
        }
    }

    pub fn fits(&self, now: Time, class: usize, wire: Time) -> bool {
        self.close(now, class).is_some_and(|close| now.saturating_add(wire) <= close)
    }

    pub fn close(&self, now: Time, class: usize) -> Option<Time> {
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
    fn close_of(&self, cycle: &Cycle, now: Time, class: usize) -> Time {
        let (list, edge) = (cycle.list, cycle.edge(now));
        if !cycle.is_last && self.is_cut_off(list, cycle.start, edge) {
            return edge;
        }
        let length = cycle.end - cycle.start;
        let to = if edge == cycle.end { length } else { list.windows(class).open_until(edge - cycle.start) };
        if cycle.is_last {
            let is_open_to_the_end = edge == cycle.end || to > cycle.last_entry();
            return if is_open_to_the_end { Time::MAX } else { cycle.start + to };
        }
        match to < list.cycle_time {
            true => cycle.start + to,
            false => cycle.end.saturating_add(list.initial_window(class)),
        }
    }

    /// What the list says about the time beyond the end of an entry is not what will be: a short last cycle follows.
    fn is_cut_off(&self, list: &List, start: Time, end: Time) -> bool {
        self.cut_off_from(list, start).is_some_and(|(from, last)| (from..=last).contains(&end))
    }

    /// The first and the last end of an entry that are before a short last cycle.
    fn cut_off_from(&self, list: &List, start: Time) -> Option<(Time, Time)> {
        let (last, change) = last_cycle(list, start, self.change?);
        (change - last < list.horizon).then_some((last.saturating_sub(list.horizon), last))
    }

    /// The next time at which a frame may start that may not now; it is to be asked again.
    pub fn next_place(&self, now: Time, class: usize, wire: Time) -> Option<Time> {
        let Now::Running(Cycle { list, start, end, is_last }) = self.now else { return self.next_edge(now) };
        let windows = list.windows(class);
        if is_last {
            let last = Cycle { list, start, end, is_last }.last_entry();
            return Some(windows.opens_before(wire, now - start, last).map_or(end, |opens| start + opens));
        }
        let change = self.change?;
        let opens = windows.opens_for(wire, now - start).map(|opens| start.saturating_add(opens));
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
pub(super) fn whole_cycle(list: &Arc<List>, start: Time, now: Time) -> Cycle<'_> {
    let start = start + now.saturating_sub(start) / list.cycle_time * list.cycle_time;
    Cycle { list, start, end: start.saturating_add(list.cycle_time), is_last: false }
}

/// The cycle at `now` of a list that runs from `start` on; the last one before a change ends with it.
pub(super) fn cycle<'a>(list: &'a Arc<List>, start: Time, now: Time, change: Option<&Pending>) -> Cycle<'a> {
    match change.map(|change| last_cycle(list, start, change)) {
        Some((start, end)) if now >= start => Cycle { list, start, end, is_last: true },
        _ => whole_cycle(list, start, now),
    }
}

/// The last cycle before a change, of a list that runs from `start` on: its start and end.
pub(super) fn last_cycle(list: &List, start: Time, change: &Pending) -> (Time, Time) {
    let end = change.change_time;
    let rest = end.saturating_sub(start) % list.cycle_time;
    let border = end - rest;
    // CycleTimeExtension reaches from the border to the change, and it is known in time: 8.6.9.1.1 c.
    let is_prolonged = rest <= list.extension && border > start && border >= change.since;
    (if is_prolonged { border - list.cycle_time } else { border }, end)
}
