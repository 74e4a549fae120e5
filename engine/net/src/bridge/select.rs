// SPDX-License-Identifier: Apache-2.0
//! Selection for transmission.
use penstock_shaper::egress::Queued;
use penstock_shaper::lifetime::{Expired, Look, Port};

use super::timing::{Clock, Ideal};
use super::{Bridge, Selection, Tick};
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
            let (due, known) = (state.due, known(state, &self.clock));
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
    pub(super) fn select_at(&mut self, now: Tick, port: u16) -> Selection {
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
        let expired = state.look(&line, look, &busy);
        let next = state.plan(&line, now.max(look.at + 1));
        match expired {
            Some(expired) => self.expire(port, &expired, look.at, next),
            None => Selection::Idle { next },
        }
    }

    /// The turn has been in which a frame that was taken out is released.
    fn release_given_up(&mut self, now: Tick, port: u16) -> Selection {
        let (state, line) = self.ports.at(&self.clock, port);
        let Some(expired) = state.release_given_up(&line) else { return Selection::Stale };
        let next = state.plan(&line, now);
        self.expire(port, &expired, expired.at + 1, next)
    }

    fn expire(&mut self, port: u16, expired: &Expired, at: Tick, next: Option<Tick>) -> Selection {
        self.store.release(port, expired.at, &expired.copy);
        let reason = if expired.is_long { Reason::MAX_SDU } else { Reason::LIFETIME };
        let Queued { frame, traffic_class, .. } = expired.copy;
        Selection::Expired { frame, traffic_class, reason, at, next }
    }
}

/// When all is known of which it depends what a port does at the tick that is due.
#[inline(always)]
fn known(port: &Port, clock: &Clock) -> Tick {
    match clock {
        Clock::Hardware(cycles) if !port.lifetime.is_idle() => {
            let last = port.lifetime.last_enqueue(port.due);
            last.map_or(port.due, |last| port.due.max(cycles.enqueues_known(last)))
        }
        _ => port.due,
    }
}
