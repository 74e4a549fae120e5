// SPDX-License-Identifier: Apache-2.0
//! One egress port of a bridge: when it is to select, and when frames have waited in it for too long.
use penstock_shaper::egress::{EgressPort, Queued};
use penstock_shaper::lifetime::Lifetime;

use super::timing::{Clock, Line};
use super::{Tick, NEVER};

/// What every frame needs stands first and together.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Port {
    /// When the port is to select; `NEVER`: not known.
    pub due: Tick,
    pub lifetime: Lifetime,
    pub egress: EgressPort,
}

impl Port {
    /// No frame of a class is selected while its next one is searched for.
    pub fn search(&mut self, line: &Line) {
        let Clock::Hardware(cycles) = line.clock else { return };
        if let Some((traffic_class, until)) = self.lifetime.search(cycles.ports as u16) {
            self.egress.search(traffic_class, until);
        }
    }

    /// A frame was selected while one of another class is given up, which is not released in the cycle after.
    #[inline(never)]
    pub fn selected_meanwhile(&mut self, line: &Line, at: Tick, busy: impl Iterator<Item = Tick>) {
        let Clock::Hardware(cycles) = line.clock else { return };
        if self.lifetime.given_up().is_some_and(|give_up| give_up.turn == at + 1) {
            let busy: Vec<Tick> = busy.collect();
            self.lifetime.put_off(cycles.free_turn(line.port, at + 2, &busy));
        }
        self.search(line);
    }

    /// A frame was queued, which holds off a search that goes on.
    #[inline(always)]
    pub fn enqueued(&mut self, line: &Line, at: Tick, copy: &Queued, head: bool) {
        self.lifetime.enqueued(at, copy, head);
        if !self.lifetime.is_idle() {
            self.search(line);
        }
    }

    /// When the port is to select, or to look at a frame that is too old or too long by then.
    pub fn plan(&mut self, line: &Line, now: Tick) -> Option<Tick> {
        if let Some(turn) = self.lifetime.given_up().map(|give_up| give_up.turn) {
            self.due = self.egress.next_selection(line, now).min(turn + 1);
            return Some(self.due);
        }
        let Some(eligible) = self.egress.first_eligible() else {
            self.due = NEVER;
            self.lifetime.look = None;
            return None;
        };
        let mut due = self.egress.next_selection(line, now);
        // A look that has been is judged as it was.
        if self.lifetime.look.is_none_or(|look| look.at >= now) {
            self.lifetime.look = None;
            if eligible.saturating_add(line.clock.pace().lifetime()) < due {
                self.lifetime.look = line.clock.pace().next_look(&self.egress, now);
            }
            if self.egress.may_be_too_long() {
                let long = line.clock.pace().next_look_at_long(&self.egress, line, now);
                self.lifetime.look = [self.lifetime.look, long].into_iter().flatten().min_by_key(|look| look.at);
            }
            self.lifetime.look = self.lifetime.look.filter(|look| look.at.saturating_add(1) < due);
        }
        if let Some(look) = self.lifetime.look {
            due = due.min(look.at.saturating_add(1));
        }
        self.due = due;
        (due < NEVER).then_some(due)
    }

    /// As [`Self::plan`], after a copy has come that stands at the head of its queue.
    #[inline]
    pub fn plan_with(&mut self, line: &Line, now: Tick, copy: &Queued) -> Option<Tick> {
        // What was planned holds as long as nobody is looked at, and only the copy may come earlier.
        if self.lifetime.is_idle() && self.due >= now && !self.egress.may_be_too_long() {
            let due = self.egress.next_selection_with(line, now, copy, self.due);
            if due <= copy.visible.saturating_add(line.clock.pace().lifetime()) {
                self.due = due;
                return (due < NEVER).then_some(due);
            }
        }
        self.plan(line, now)
    }

    /// When all is known of which it depends what the port does at the tick that is due.
    #[inline(always)]
    pub fn known(&self, clock: &Clock) -> Tick {
        match clock {
            Clock::Hardware(cycles) if !self.lifetime.is_idle() => {
                let last = self.lifetime.last_enqueue(self.due);
                last.map_or(self.due, |last| self.due.max(cycles.enqueues_known(last)))
            }
            _ => self.due,
        }
    }
}
