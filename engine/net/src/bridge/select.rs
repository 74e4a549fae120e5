// SPDX-License-Identifier: Apache-2.0
//! Selection for transmission.
use penstock_shaper::admission::cells_of;
use penstock_shaper::queue::Queued;

use super::classes::Release;
use super::lifetime::{lifetime, next_look, Look};
use super::timing::Clock;
use super::{Bridge, Port, Selection, Tick, NEVER};

/// By then all that was queued when a class was looked at is known.
const LOOK_KNOWN: Tick = 10;

impl Bridge {
    /// Lets an egress port select, at the tick that was told.
    pub fn select(&mut self, now: Tick, port: u16) -> Selection {
        let state = &mut self.ports[usize::from(port)];
        if now != state.due {
            return Selection::Stale;
        }
        if let Some(look) = state.lifetime.look.filter(|look| look.at < now) {
            return self.look(now, port, look);
        }
        if now < state.free {
            return Selection::Idle { next: state.plan(&self.clock, now) };
        }
        let Some(copy) = state.queues.select(now) else {
            return Selection::Idle { next: state.plan(&self.clock, now) };
        };
        let (first, free, release) = match &self.clock {
            Clock::Hardware(cycles) => {
                (cycles.first_byte(now), cycles.next_selection(now, copy.bytes), cycles.release(now, copy.bytes, port))
            }
            Clock::Ideal(ideal) => (
                ideal.first_bit(port, now),
                ideal.next_selection(port, now, copy.bytes),
                ideal.end(port, now, copy.bytes),
            ),
        };
        state.free = free;
        let last = !state.queues.is_filled(copy.reception, copy.traffic_class);
        state.lifetime.popped(now, last);
        let next = state.plan(&self.clock, now);
        self.inside -= 1;
        self.release(port, release, &copy);
        Selection::Sent { frame: copy.frame, bytes: copy.bytes, traffic_class: copy.traffic_class, first, next }
    }

    /// Gives up the candidate of a class that was looked at, if it still is too old.
    fn look(&mut self, now: Tick, port: u16, look: Look) -> Selection {
        let age = lifetime(&self.clock);
        let sent_until = |release: &&Release| release.egress == port;
        let busy: Vec<Tick> = self.releases.iter().filter(sent_until).map(|release| release.at).collect();
        let state = &mut self.ports[usize::from(port)];
        let old = state.queues.candidate(look.traffic_class).is_some_and(|visible| visible + age <= look.at);
        let taken = match &self.clock {
            Clock::Hardware(cycles) => old && state.lifetime.is_taken(look, *cycles) && state.free > look.at + 1,
            Clock::Ideal(_) => old,
        };
        let copy = if taken { state.queues.take(look.traffic_class) } else { None };
        let Some(copy) = copy else {
            state.lifetime.look = None;
            return Selection::Idle { next: state.plan(&self.clock, now.max(look.at + 1)) };
        };
        let released = match &self.clock {
            Clock::Hardware(cycles) => {
                let mut turn = cycles.turn(port, look.at + 2);
                while busy.contains(&turn) {
                    turn += cycles.ports;
                }
                let last = !state.queues.is_filled(copy.reception, copy.traffic_class);
                state.lifetime.popped(turn, last);
                state.free = state.free.max(state.lifetime.rest(*cycles));
                turn
            }
            Clock::Ideal(_) => look.at,
        };
        let at = match &self.clock {
            Clock::Hardware(_) => released + 1,
            Clock::Ideal(_) => released,
        };
        state.lifetime.look = None;
        let next = state.plan(&self.clock, now.max(look.at + 1));
        self.inside -= 1;
        self.release(port, released, &copy);
        Selection::Expired { frame: copy.frame, traffic_class: copy.traffic_class, at, next }
    }

    /// Keeps the releases in order.
    fn release(&mut self, egress: u16, at: Tick, copy: &Queued) {
        let release = Release {
            at,
            cells: cells_of(u32::from(copy.bytes)),
            egress,
            reception: copy.reception,
            traffic_class: copy.traffic_class,
            pool: copy.pool,
        };
        let mut place = self.releases.len();
        while place > 0 && self.releases[place - 1].at > at {
            place -= 1;
        }
        if place == self.releases.len() {
            self.releases.push_back(release);
        } else {
            self.releases.insert(place, release);
        }
    }
}

impl Port {
    /// When the port is to select, or to look at a frame that is too old by then.
    fn plan(&mut self, clock: &Clock, now: Tick) -> Option<Tick> {
        let Some(earliest) = self.queues.earliest() else {
            self.due = NEVER;
            self.lifetime.look = None;
            return None;
        };
        let mut due = earliest.max(self.free).max(now);
        if earliest.saturating_add(lifetime(clock)) < due {
            self.lifetime.look = next_look(clock, &self.queues, now).filter(|look| look.at + 1 < due);
            if let Some(look) = self.lifetime.look {
                due = due.min(look.at + LOOK_KNOWN);
            }
        } else {
            self.lifetime.look = None;
        }
        self.due = due;
        Some(due)
    }
}
