// SPDX-License-Identifier: Apache-2.0
//! The gates of one port: which list acts, when another takes its place, and what may still be sent before a gate closes.
//! Twin of `pen_gates`.
use std::sync::Arc;

use super::list::{AdminList, Capacity, List, ListError, HORIZON};
use super::view::{cycle, last_cycle, whole_cycle, Cycle, Now, Pattern, View};
use crate::Time;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// No list has acted yet.
    Initial,
    Running {
        list: Arc<List>,
        /// Of some cycle; the others follow.
        start: Time,
    },
    /// The clock was stepped: the states stay until the first cycle that begins by the new time.
    Holding { list: Arc<List>, states: u8, start: Time },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pending {
    pub list: Arc<List>,
    pub change_time: Time,
    /// Ends of cycles from here on are decided knowing it.
    pub since: Time,
}

/// Times at which a frame may start: all from the first to the last one, and maybe more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Starts {
    pub first: Time,
    pub last: Time,
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
    pub fn propose(&mut self, since: Time, list: Arc<List>, change_time: Time) {
        // Nothing else acts before its time: a port may be told early.
        if self.pending.as_ref().is_some_and(|pending| pending.change_time < since) {
            self.act(since.saturating_sub(1));
        }
        self.pending = Some(Pending { list, change_time, since });
    }

    /// Gives up what is pending, unless it was due before `since`.
    pub fn withdraw(&mut self, since: Time) {
        self.act(since.saturating_sub(1));
        self.pending = None;
    }

    /// Checks a list and lets it take over at its time, which is not before `earliest`; gives the ConfigChangeTime.
    pub fn commit(
        &mut self,
        now: Time,
        earliest: Time,
        admin: &AdminList,
        capacity: &Capacity,
    ) -> Result<Time, ListError> {
        let list = Arc::new(List::compile(admin, capacity)?);
        let change_time = list.start_from(earliest);
        self.propose(now, list, change_time);
        Ok(change_time)
    }

    /// The clock was stepped: `last` was the last gate time before. The states stay up to the first cycle of the list's
    /// pattern that begins at `earliest` or later (8.6.9.1.1 b). Gives back what was pending and its time.
    pub fn stepped(&mut self, last: Time, earliest: Time) -> Option<(Arc<List>, Time)> {
        self.act(last);
        let states = self.list_states(last);
        if let Phase::Running { list, .. } | Phase::Holding { list, .. } = &self.phase {
            self.phase = Phase::Holding { list: Arc::clone(list), states, start: list.start_from(earliest) };
        }
        self.pending.take().map(|pending| (pending.list, pending.change_time))
    }

    /// The list that has come due runs.
    fn act(&mut self, now: Time) {
        if let Some(pending) = self.pending.take_if(|pending| pending.change_time <= now) {
            self.phase = Phase::Running { list: pending.list, start: pending.change_time };
        }
    }

    /// ConfigPending at `now`: the list that waits, and its ConfigChangeTime.
    pub fn pending(&self, now: Time) -> Option<(&Arc<List>, Time)> {
        self.pending_at(now).map(|pending| (&pending.list, pending.change_time))
    }

    fn pending_at(&self, now: Time) -> Option<&Pending> {
        self.pending.as_ref().filter(|pending| now < pending.change_time)
    }

    /// The list that runs at `now`.
    #[inline]
    pub fn list(&self, now: Time) -> Option<&Arc<List>> {
        match (&self.pending, &self.phase) {
            (Some(due), _) if due.change_time <= now => Some(&due.list),
            (_, Phase::Running { list, .. } | Phase::Holding { list, .. }) => Some(list),
            (_, Phase::Initial) => None,
        }
    }

    /// The list that runs, if nothing is to take its place.
    #[inline]
    pub fn lasting_list(&self) -> Option<&Arc<List>> {
        match (&self.pending, &self.phase) {
            (None, Phase::Running { list, .. } | Phase::Holding { list, .. }) => Some(list),
            _ => None,
        }
    }

    /// The list whose cycles run for ever, and when one of them begins.
    #[inline]
    pub(super) fn lasting_cycles(&self) -> Option<(&Arc<List>, Time)> {
        match (&self.pending, &self.phase) {
            (None, Phase::Running { list, start }) if self.enabled => Some((list, *start)),
            _ => None,
        }
    }

    /// Nobody asks what was before `now`.
    pub fn begin(&mut self, now: Time) {
        self.act(now);
    }

    /// The list that runs at `now` with nothing to take its place, and when one of its cycles begins.
    #[inline]
    fn steady(&self, now: Time) -> Option<(&Arc<List>, Time)> {
        match (&self.pending, &self.phase) {
            (Some(due), _) if due.change_time <= now => Some((&due.list, due.change_time)),
            (None, Phase::Running { list, start }) => Some((list, *start)),
            (None, Phase::Holding { list, start, .. }) if *start <= now => Some((list, *start)),
            _ => None,
        }
    }

    /// When the gates act next after `now`: the end of an entry, or the first list's start.
    pub fn next_edge(&self, now: Time) -> Option<Time> {
        self.view(now).next_edge(now)
    }

    /// When the cycle began that runs at `now`; none before the first one.
    pub fn cycle_start(&self, now: Time) -> Option<Time> {
        match self.view(now).now {
            Now::Running(cycle) => Some(cycle.start),
            Now::Initial(_) | Now::Holding { .. } => None,
        }
    }

    /// Whether the cycle that runs at `now` is the last one before the pending list takes over.
    pub fn is_last_cycle(&self, now: Time) -> bool {
        matches!(self.view(now).now, Now::Running(Cycle { is_last: true, .. }))
    }

    /// When the states that a step left give way. A cycle that the change would cut too short does not begin.
    pub fn hold_end(&self) -> Option<Time> {
        let Phase::Holding { start, .. } = &self.phase else { return None };
        Some(self.held_for_change().unwrap_or(*start))
    }

    /// ConfigChangeTime, if the states that a step left hold until then, so that the running list does not come back.
    fn held_for_change(&self) -> Option<Time> {
        let Phase::Holding { list, start, .. } = &self.phase else { return None };
        let change_time = self.pending.as_ref().map(|pending| pending.change_time);
        change_time.filter(|change_time| *change_time < start.saturating_add(list.least))
    }

    /// Whether a change that is pending at `now` can no longer be taken back: what is less than `lead` ahead is decided.
    pub fn is_locked(&self, now: Time, lead: Time) -> bool {
        let Some((_, change_time)) = self.pending(now) else { return false };
        let is_near = |time: Time| time.saturating_sub(now) < lead;
        match self.list(now) {
            None => is_near(change_time),
            Some(_) if self.held_for_change().is_some() || self.is_last_cycle(now) => true,
            Some(_) => self.next_edge(now).is_some_and(|edge| is_near(edge) && self.is_last_cycle(edge)),
        }
    }

    fn view(&self, now: Time) -> View<'_> {
        if let Some((list, start)) = self.steady(now) {
            return View { now: Now::Running(whole_cycle(list, start, now)), change: None };
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
    pub(super) fn pattern(&self, now: Time) -> (Pattern<'_>, Option<Time>) {
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
    pub fn list_states(&self, now: Time) -> u8 {
        match self.view(now).now {
            Now::Initial(states) | Now::Holding { states, .. } => states,
            Now::Running(cycle) => cycle.states(now),
        }
    }

    /// Bit k: the gate of class k is open at `now`.
    pub fn states(&self, now: Time) -> u8 {
        if self.enabled {
            self.list_states(now)
        } else {
            0xFF
        }
    }

    /// When the gate of a class closes that is open at `now`; more than `HORIZON / 2` later when it stays open. None:
    /// it is closed. Never later than the gate does close.
    pub fn close(&self, now: Time, class: usize) -> Option<Time> {
        if !self.enabled {
            return Some(now.saturating_add(HORIZON));
        }
        self.view(now).close(now, class)
    }

    /// Whether a frame of a class that takes so long on the wire, its gap counted, may start at `now`.
    #[inline]
    pub fn fits(&self, now: Time, class: usize, wire: Time) -> bool {
        !self.enabled || self.view(now).fits(now, class, wire)
    }

    /// The first times from `now` on at which such a frame may start, if nothing is changed; none: never.
    pub fn starts_from(&self, now: Time, class: usize, wire: Time) -> Option<Starts> {
        if !self.enabled {
            return Some(Starts { first: now, last: Time::MAX });
        }
        let mut at = now;
        loop {
            if let Some((list, start)) = self.steady(at) {
                return list.starts_from(start, at, class, wire);
            }
            let view = self.view(at);
            if view.fits(at, class, wire) {
                return Some(Starts { first: at, last: at });
            }
            at = view.next_place(at, class, wire)?;
        }
    }

    /// The first of them.
    pub fn fits_from(&self, now: Time, class: usize, wire: Time) -> Option<Time> {
        self.starts_from(now, class, wire).map(|starts| starts.first)
    }
}
