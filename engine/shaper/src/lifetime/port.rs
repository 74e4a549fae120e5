// SPDX-License-Identifier: Apache-2.0
//! An egress port that gives frames up: when it is to select, and when frames have waited in it for too long.
use super::{Lifetime, Look, Pace};
use crate::egress::{EgressPort, LineTime, Queued, Tick, NEVER};

/// What such a port has to know about its line besides.
pub trait GivingUp: LineTime {
    /// Of hardware, whose ticks are cycles: the reception ports whose lists are searched for the next frame of a class.
    fn receptions(&self) -> Option<u16>;

    /// Of hardware: the first turn of the port from a cycle on that is none of those.
    fn free_turn(&self, from: Tick, busy: &[Tick]) -> Tick;

    /// Whether the list of a frame that was taken out is empty.
    fn was_last(&self, egress: &EgressPort, copy: &Queued) -> bool {
        egress.was_last(copy)
    }

    /// When it looks for frames to give up.
    #[inline(always)]
    fn pace(&self) -> Pace {
        if self.receptions().is_some() {
            Pace::InRounds
        } else {
            Pace::AtOnce
        }
    }
}

/// A frame that is given up.
#[derive(Clone, Debug)]
pub struct Expired {
    pub copy: Queued,
    /// It was too long for its gate; else it had waited for too long.
    pub is_long: bool,
    /// The turn in which it is released, or when it was looked at.
    pub at: Tick,
}

/// What every frame needs stands first and together.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Port {
    /// When the port is to select; `NEVER`: not known.
    pub due: Tick,
    pub lifetime: Lifetime,
    pub egress: EgressPort,
}

impl Port {
    /// Of a node with so many reception ports, 64 at most.
    pub fn new(receptions: usize) -> Self {
        Self { due: NEVER, lifetime: Lifetime::default(), egress: EgressPort::new(receptions) }
    }

    /// No frame of a class is selected while its next one is searched for.
    fn search(&mut self, line: &impl GivingUp) {
        let Some(receptions) = line.receptions() else { return };
        if let Some((traffic_class, until)) = self.lifetime.search(receptions) {
            self.egress.search(traffic_class, until);
        }
    }

    /// A frame was selected while one of another class is given up, which is not released in the two cycles after.
    #[inline(never)]
    pub fn selected_meanwhile(&mut self, line: &impl GivingUp, at: Tick, busy: impl Iterator<Item = Tick>) {
        if line.receptions().is_none() {
            return;
        }
        if self.lifetime.given_up().is_some_and(|give_up| (at + 1..at + 3).contains(&give_up.turn)) {
            let busy: Vec<Tick> = busy.collect();
            self.lifetime.put_off(line.free_turn(at + 3, &busy));
        }
        self.search(line);
    }

    /// A frame was queued, which holds off a search that goes on.
    #[inline(always)]
    pub fn enqueued(&mut self, line: &impl GivingUp, at: Tick, copy: &Queued, head: bool) {
        self.lifetime.enqueued(at, copy, head);
        if !self.lifetime.is_idle() {
            self.search(line);
        }
    }

    /// When the port is to select, or to look at a frame that is too old or too long by then.
    pub fn plan(&mut self, line: &impl GivingUp, now: Tick) -> Option<Tick> {
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
            if eligible.saturating_add(line.pace().lifetime()) < due {
                self.lifetime.look = line.pace().next_look(&self.egress, now);
            }
            if self.egress.may_be_too_long() {
                let long = line.pace().next_look_at_long(&self.egress, line, now);
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
    pub fn plan_with(&mut self, line: &impl GivingUp, now: Tick, copy: &Queued) -> Option<Tick> {
        // What was planned holds as long as nobody is looked at, and only the copy may come earlier.
        if self.lifetime.is_idle() && self.due >= now && !self.egress.may_be_too_long() {
            let due = self.egress.next_selection_with(line, now, copy, self.due);
            if due <= copy.visible.saturating_add(line.pace().lifetime()) {
                self.due = due;
                return (due < NEVER).then_some(due);
            }
        }
        self.plan(line, now)
    }

    /// Gives up the candidate of a class that was looked at, if it still is too old. One that is not released at once
    /// is kept until its turn.
    pub fn look(&mut self, line: &impl GivingUp, look: Look, busy: &[Tick]) -> Option<Expired> {
        let egress = &mut self.egress;
        let class = look.traffic_class;
        let is_long = look.is_long.unwrap_or_else(|| egress.never_fits(line, look.at, class));
        let age = line.pace().lifetime();
        let old = is_long || egress.eligible(class).is_some_and(|visible| visible + age <= look.at);
        // What can be selected in the cycle of its pop is, and goes first.
        let is_held = match egress.is_shaped() {
            true => egress.next_selection(line, look.at + 1) > look.at + 1,
            false => egress.free() > look.at + 1,
        };
        let taken = match line.receptions() {
            Some(receptions) => old && self.lifetime.is_taken(look, receptions) && is_held,
            None => old,
        };
        self.lifetime.look = None;
        let copy = if taken { egress.drop_head(line, look.at, class) } else { None }?;
        if line.receptions().is_none() {
            return Some(Expired { copy, is_long, at: look.at });
        }
        let turn = line.free_turn(look.at + 2, busy);
        let last = line.was_last(egress, &copy);
        self.lifetime.give_up(copy, is_long, look.at, turn, last);
        egress.search(class, NEVER);
        None
    }

    /// The turn has been in which a frame that was taken out is released.
    pub fn release_given_up(&mut self, line: &impl GivingUp) -> Option<Expired> {
        let give_up = self.lifetime.given_up()?;
        let expired = Expired { copy: give_up.copy, is_long: give_up.is_long, at: give_up.turn };
        self.lifetime.released();
        self.search(line);
        Some(expired)
    }
}

#[cfg(test)]
mod tests;
