// SPDX-License-Identifier: Apache-2.0
//! The credit-based shaper as transmission selection (802.1Q 8.6.8.2): a class may be served while its credit is not
//! negative. Twin of the credits of `pen_egress_port`.
//!
//! Credit is what has happened since it was last looked at, so that no tick is an event.
use crate::admission::CLASSES;
use crate::credit::{Credit, Inputs};

use super::gated::Gated;
use super::{GateTime, Sending, Tick};

#[derive(Clone, Copy, Debug)]
struct Shaper {
    /// At tick `at`, with all that happened before.
    credit: Credit,
    at: Tick,
}

/// Of all classes of a port.
#[derive(Clone, Debug, Default)]
pub(super) struct CreditBased {
    shapers: [Option<Shaper>; CLASSES],
    /// A class is being searched for its next frame until then, and counts as one that waits.
    searched: Option<Sending>,
}

impl CreditBased {
    /// A class gets other settings; its credit becomes zero in this tick.
    pub fn set(&mut self, at: Tick, class: usize, credit: Option<Credit>) {
        self.shapers[class] = credit.map(|credit| Shaper { credit, at });
    }

    /// Sum of the idle slopes of all other classes.
    pub fn idle_slopes_beside(&self, class: usize) -> i128 {
        let others = self.shapers.iter().enumerate().filter(|&(other, _)| other != class);
        others.filter_map(|(_, shaper)| shaper.as_ref()).map(|shaper| shaper.credit.idle_slope()).sum()
    }

    /// A frame of a class was dropped; its next one is looked for up to a tick.
    pub fn search(&mut self, class: usize, until: Tick) {
        self.searched = Some(Sending::new(class, until));
    }

    /// Credit of a class up to a tick; `visible` is when its first frame may be selected.
    pub fn settle(
        &mut self,
        gated: &Gated,
        time: &GateTime,
        class: usize,
        to: Tick,
        visible: Option<Tick>,
        sending: Sending,
    ) {
        let Some(shaper) = &mut self.shapers[class] else { return };
        while shaper.at < to {
            let from = shaper.at;
            if sending.is_of(class, from) {
                let until = sending.until.min(to);
                let inputs = Inputs { transmitting: true, gate_open: true, waiting: true };
                shaper.credit.advance(until - from, inputs);
                shaper.at = until;
                if until == sending.until {
                    shaper.credit.sent();
                }
                continue;
            }
            let searched = self.searched.filter(|searched| searched.is_of(class, from)).map(|searched| searched.until);
            let waiting = searched.is_some() || visible.is_some_and(|visible| visible <= from);
            if !waiting && shaper.credit.credit() == 0 {
                // Nothing happens until a frame comes.
                shaper.at = visible.map_or(to, |visible| visible.min(to));
                continue;
            }
            let mut until = to;
            if let Some(change) = searched.or(visible.filter(|&visible| visible > from)) {
                until = until.min(change);
            }
            let gate_open = gated.is_open(time, from, class);
            if let Some(edge) = gated.gates.next_edge(time.at(from)).filter(|_| gated.gates.is_enabled()) {
                until = until.min(time.tick_of(edge)).max(from + 1);
            }
            shaper.credit.advance(until - from, Inputs { transmitting: false, gate_open, waiting });
            shaper.at = until;
        }
    }

    /// The first tick from `from` on in which credit is not negative, if nothing is sent.
    pub fn from(&self, gated: &Gated, time: &GateTime, class: usize, from: Tick, sending: Sending) -> Tick {
        let Some(mut shaper) = self.shapers[class] else { return from };
        if sending.is_of(class, shaper.at) {
            let inputs = Inputs { transmitting: true, gate_open: true, waiting: true };
            shaper.credit.advance(sending.until - shaper.at, inputs);
            shaper.at = sending.until;
        }
        loop {
            let ticks = shaper.credit.ticks_to_zero();
            if ticks == 0 {
                return shaper.at.max(from);
            }
            let now = time.at(shaper.at);
            let gate_open = gated.is_open(time, shaper.at, class);
            let edge = gated.gates.next_edge(now).filter(|_| gated.gates.is_enabled());
            let until = match (gate_open, edge) {
                (true, None) => shaper.at.saturating_add(ticks),
                (false, None) => return Tick::MAX,
                (true, Some(edge)) => shaper.at.saturating_add(ticks).min(time.tick_of(edge)).max(shaper.at + 1),
                (false, Some(_)) => match gated.gates.fits_from(now, class, 0) {
                    Some(open) => time.tick_of(open).max(shaper.at + 1),
                    None => return Tick::MAX,
                },
            };
            let inputs = Inputs { transmitting: false, gate_open, waiting: true };
            shaper.credit.advance(until - shaper.at, inputs);
            shaper.at = until;
        }
    }

    /// Whether a class may be served as far as its settled credit goes.
    pub fn is_ready(&self, class: usize) -> bool {
        self.shapers[class].is_none_or(|shaper| shaper.credit.credit() >= 0)
    }

    /// A class is served, which its settled credit allows.
    pub fn selected(&mut self, class: usize) {
        if let Some(shaper) = &mut self.shapers[class] {
            shaper.credit.selected();
        }
    }
}
