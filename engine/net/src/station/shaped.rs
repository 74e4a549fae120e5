// SPDX-License-Identifier: Apache-2.0
//! The port of a station with gates, credit or longest frames: the state machines of a bridge's port, at the line's rate.
//!
//! Ticks are picoseconds of the station's own clock. A frame is visible in the instant in which it is released; nothing
//! else delays it, so that one that finds port, gate and credit ready leaves as from a station without shapers.
use penstock_shaper::admission::{Pool, CLASSES};
use penstock_shaper::egress::{EgressPort, GateTime, LineTime, Queued, NEVER};

use crate::bridge::lifetime::next_look_at_long;
use crate::bridge::start::{check_ports, gate_time, shape, start_list};
use crate::bridge::timing::{Clock, Ideal, Line};
use crate::bridge::{reason, BridgeError, Selection, ShapersConfig, Tick};
use crate::link::Rate;

const PORT: u16 = 0;

#[derive(Clone, Debug)]
pub struct Shaped {
    clock: Clock,
    gate_time: GateTime,
    egress: EgressPort,
    /// From then on the last frame costs no credit any more.
    spent: Tick,
    /// When the port is to select; `NEVER`: not known.
    due: Tick,
    count_gap: bool,
}

impl Shaped {
    /// The run begins in tick `start`.
    pub fn new(rate: Rate, config: &ShapersConfig, start: Tick) -> Result<Self, BridgeError> {
        let clock = Clock::Ideal(Ideal::new(0, false, vec![rate.bps()]));
        let gate_time = gate_time(&clock, config.ptp, start)?;
        check_ports(config, 1)?;
        let (mut egress, count_gap) = (EgressPort::new(1), config.count_gap);
        let line = Line { clock: &clock, gate_time: &gate_time, port: PORT, count_gap };
        shape(&mut egress, &line, config)?;
        for gates in &config.gates {
            start_list(&mut egress, &line, config.ptp, gates, start)?;
        }
        Ok(Self { clock, gate_time, egress, spent: 0, due: NEVER, count_gap })
    }

    /// When the frame that was selected last no longer costs credit.
    pub fn spent(&self) -> Tick {
        self.spent
    }

    fn line(&mut self) -> (&mut EgressPort, Line<'_>) {
        let line = Line { clock: &self.clock, gate_time: &self.gate_time, port: PORT, count_gap: self.count_gap };
        (&mut self.egress, line)
    }

    /// Whether a frame is above the longest of its class, or longer than any window of its gate.
    pub fn is_too_long(&mut self, now: Tick, traffic_class: u8, bytes: u16) -> bool {
        let (egress, line) = self.line();
        egress.is_too_long(&line, now, usize::from(traffic_class), bytes)
    }

    /// Queues a frame; tells when the port is to select, if that is new.
    pub fn queue(&mut self, now: Tick, frame: u32, traffic_class: u8, bytes: u16) -> Option<Tick> {
        let (pool, shaped) = (Pool::Queue, false);
        let copy = Queued { visible: now, frame, bytes, reception: PORT, traffic_class, pool, shaped };
        let before = self.due;
        if self.egress.enqueue(copy) {
            self.plan(now).filter(|due| *due != before)
        } else {
            None
        }
    }

    /// Selects, at the tick that was told.
    pub fn select(&mut self, now: Tick) -> Selection {
        // A fast clock shows several ticks in one picosecond, of which `now` may be a later one.
        if now < self.due {
            return Selection::Stale;
        }
        let now = self.due;
        let (egress, line) = self.line();
        if let Some(class) = (0..CLASSES).find(|&class| egress.never_fits(&line, now, class)) {
            if let Some(copy) = egress.drop_head(&line, now, class) {
                let (frame, traffic_class, reason, next) =
                    (copy.frame, copy.traffic_class, reason::MAX_SDU, self.plan(now));
                return Selection::Expired { frame, traffic_class, reason, at: now, next };
            }
        }
        let Some(copy) = egress.select(&line, now) else {
            return Selection::Idle { next: self.plan(now) };
        };
        let Queued { frame, bytes, traffic_class, .. } = copy;
        let (first, spent) = (line.leaves(now, bytes).0, line.spent(now, bytes));
        self.spent = spent;
        Selection::Sent { frame, bytes, traffic_class, at: now, first, next: self.plan(now) }
    }

    /// When the port is to select, or to drop a frame that is too long by then.
    fn plan(&mut self, now: Tick) -> Option<Tick> {
        let (egress, line) = self.line();
        let due = egress.next_selection(&line, now);
        let long = if egress.is_gated() { next_look_at_long(egress, &line, now) } else { None };
        self.due = long.map_or(due, |look| due.min(look.at));
        (self.due < NEVER).then_some(self.due)
    }
}
