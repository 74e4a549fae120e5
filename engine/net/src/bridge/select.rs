// SPDX-License-Identifier: Apache-2.0
//! Selection for transmission.
use penstock_shaper::egress::Queued;
use penstock_shaper::lifetime::Look;

use super::timing::{Clock, Ideal};
use super::{Bridge, Selection, Tick, NEVER};
use crate::trace::Reason;

impl Bridge {
    /// Nothing is selected at an egress port for so many ticks, if it can take a frame now; when it can.
    pub fn hold(&mut self, now: Tick, port: u16, ticks: Tick) -> Tick {
        let free = self.ports.get(port).egress.free();
        if free <= now {
            self.ports.hold(&self.clock, now, port, now + ticks);
        }
        free.max(now)
    }

    /// Lets an egress port select, at the tick that was told.
    pub fn select(&mut self, now: Tick, port: u16) -> Selection {
        if let Clock::Ideal(Ideal { cut_through_bytes: Some(_), .. }) = &self.clock {
            if let Some(sent) = self.select_header(now, port) {
                return sent;
            }
        }
        if now < self.ports.get(port).due {
            return Selection::Stale;
        }
        // What is due may lie before `now`: a fast clock shows several ticks in one picosecond, and what was queued
        // beside a frame that is given up is known some cycles later.
        loop {
            let state = self.ports.get(port);
            let (due, known) = (state.due, state.known(&self.clock));
            if now < known {
                return Selection::Idle { next: Some(known) };
            }
            match self.select_at(due, port) {
                Selection::Idle { next: Some(next) } if due < next && next <= now => {}
                selection => return selection,
            }
        }
    }

    #[inline(always)]
    fn select_at(&mut self, now: Tick, port: u16) -> Selection {
        let (state, line) = self.ports.at(&self.clock, port);
        if let Some(look) = state.lifetime.look.filter(|look| look.at < now) {
            return self.look(now, port, look);
        }
        if state.lifetime.given_up().is_some_and(|give_up| give_up.turn < now) {
            return self.release_given_up(now, port);
        }
        let Some(copy) = state.egress.select(&line, now) else {
            return Selection::Idle { next: state.plan(&line, now) };
        };
        state.lifetime.popped(now, &copy, state.egress.was_last(&copy));
        if !state.lifetime.is_idle() {
            state.selected_meanwhile(&line, now, self.store.releases(port));
        }
        let (first, back) = line.leaves(now, &copy);
        let bytes = line.sent_bytes(&copy);
        let next = state.plan(&line, now);
        self.store.release(port, back, &copy);
        let Queued { frame, traffic_class, edit, .. } = copy;
        Selection::Sent { frame, bytes, traffic_class, edit, at: now, first, next }
    }

    /// Gives up the candidate of a class that was looked at, if it still is too old.
    fn look(&mut self, now: Tick, port: u16, look: Look) -> Selection {
        let busy: Vec<Tick> = self.store.releases(port).collect();
        let (state, line) = self.ports.at(&self.clock, port);
        let egress = &mut state.egress;
        let class = look.traffic_class;
        let is_long = look.is_long.unwrap_or_else(|| egress.never_fits(&line, look.at, class));
        let age = line.clock.pace().lifetime();
        let old = is_long || egress.eligible(class).is_some_and(|visible| visible + age <= look.at);
        // Without gates and credit, one that could have been sent was.
        let is_held = egress.is_shaped() || egress.free() > look.at + 1;
        let taken = match line.clock {
            Clock::Hardware(cycles) => old && state.lifetime.is_taken(look, cycles.ports as u16) && is_held,
            Clock::Ideal(_) => old,
        };
        state.lifetime.look = None;
        let copy = if taken { egress.drop_head(&line, look.at, class) } else { None };
        let Some(copy) = copy else {
            return Selection::Idle { next: state.plan(&line, now.max(look.at + 1)) };
        };
        if let Clock::Hardware(cycles) = line.clock {
            let turn = cycles.free_turn(port, look.at + 2, &busy);
            state.lifetime.give_up(copy, is_long, look.at, turn, egress.was_last(&copy));
            egress.search(class, NEVER);
            return Selection::Idle { next: state.plan(&line, now.max(look.at + 1)) };
        }
        let next = state.plan(&line, now.max(look.at + 1));
        self.store.release(port, look.at, &copy);
        expired(&copy, is_long, look.at, next)
    }

    /// The turn has been in which a frame that was taken out is released.
    fn release_given_up(&mut self, now: Tick, port: u16) -> Selection {
        let (state, line) = self.ports.at(&self.clock, port);
        let Some(give_up) = state.lifetime.given_up() else { return Selection::Stale };
        let (copy, is_long, turn) = (give_up.copy, give_up.is_long, give_up.turn);
        state.lifetime.released();
        state.search(&line);
        let next = state.plan(&line, now);
        self.store.release(port, turn, &copy);
        expired(&copy, is_long, turn + 1, next)
    }
}

fn expired(copy: &Queued, is_long: bool, at: Tick, next: Option<Tick>) -> Selection {
    let reason = if is_long { Reason::MAX_SDU } else { Reason::LIFETIME };
    Selection::Expired { frame: copy.frame, traffic_class: copy.traffic_class, reason, at, next }
}
