// SPDX-License-Identifier: Apache-2.0
//! The port of a station with gates, credit or longest frames: the state machines of a bridge's port, at the line's rate.
//!
//! Ticks are picoseconds of the station's own clock. A frame is visible in the instant in which it is released; nothing
//! else delays it, so that one that finds port, gate and credit ready leaves as from a station without shapers.
use penstock_shaper::admission::{Pool, CLASSES};
use penstock_shaper::queue::{Queued, Queues};

use crate::bridge::lifetime::next_look_at_long;
use crate::bridge::shaping::{GateTime, Shaping};
use crate::bridge::start::{gate_time, list_at_start, shapings};
use crate::bridge::timing::{Clock, Ideal};
use crate::bridge::{reason, BridgeError, Selection, ShapersConfig, Tick};
use crate::link::Rate;

const NEVER: Tick = Tick::MAX;
const PORT: u16 = 0;

#[derive(Clone, Debug)]
pub struct Shaped {
    clock: Clock,
    time: GateTime,
    shaping: Shaping,
    queues: Queues,
    /// When the next frame may be selected.
    free: Tick,
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
        let mut shaping = shapings(&clock, config, 1)?.remove(&PORT).unwrap_or_else(|| Shaping::new(false, None));
        let time = gate_time(&clock, config.ptp, start)?;
        let now = time.at(start);
        for gates in &config.gates {
            if let Some((list, change_time)) = list_at_start(&clock, gates, now)? {
                shaping.gates.propose(now, list, change_time);
            }
        }
        let queues = Queues::new(1);
        let (free, spent, due) = (0, 0, NEVER);
        Ok(Self { clock, time, shaping, queues, free, spent, due, count_gap: config.count_gap })
    }

    /// When the frame that was selected last no longer costs credit.
    pub fn spent(&self) -> Tick {
        self.spent
    }

    /// Whether a frame is above the longest of its class, or longer than any window of its gate.
    pub fn is_too_long(&self, now: Tick, traffic_class: u8, bytes: u16) -> bool {
        self.shaping.is_too_long(&self.clock, &self.time, PORT, now, usize::from(traffic_class), bytes)
    }

    /// Queues a frame; tells when the port is to select, if that is new.
    pub fn queue(&mut self, now: Tick, frame: u32, traffic_class: u8, bytes: u16) -> Option<Tick> {
        let copy = Queued { visible: now, frame, bytes, reception: PORT, traffic_class, pool: Pool::Queue };
        let before = self.due;
        if self.queues.push(copy) {
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
        if let Some(traffic_class) = (0..CLASSES).find(|&class| self.never_fits(now, class)) {
            self.shaping.settle_all(&self.time, now, &self.queues);
            if let Some(copy) = self.queues.take(traffic_class) {
                let (frame, traffic_class, reason, next) =
                    (copy.frame, copy.traffic_class, reason::MAX_SDU, self.plan(now));
                return Selection::Expired { frame, traffic_class, reason, at: now, next };
            }
        }
        if now < self.free {
            return Selection::Idle { next: self.plan(now) };
        }
        let selected = self.shaping.select(&self.clock, &self.time, PORT, &mut self.queues, now, self.count_gap);
        let (Some(copy), Clock::Ideal(ideal)) = (selected, &self.clock) else {
            return Selection::Idle { next: self.plan(now) };
        };
        let Queued { frame, bytes, traffic_class, .. } = copy;
        let first = ideal.first_bit(PORT, now);
        self.free = ideal.next_selection(PORT, now, bytes);
        self.spent = self.clock.sent(PORT, now, bytes, self.count_gap);
        Selection::Sent { frame, bytes, traffic_class, first, next: self.plan(now) }
    }

    /// Whether the candidate of a class waits for a window that no longer comes.
    fn never_fits(&self, now: Tick, traffic_class: usize) -> bool {
        self.queues.head(traffic_class).is_some_and(|head| {
            head.visible <= now
                && self.shaping.never_fits(&self.time, now, traffic_class, self.clock.wire(PORT, head.bytes))
        })
    }

    /// When the port is to select, or to drop a frame that is too long by then.
    fn plan(&mut self, now: Tick) -> Option<Tick> {
        let free = self.free.max(now);
        let due = self.shaping.due(&self.clock, &self.time, PORT, &self.queues, free);
        let long = if self.shaping.gates.is_enabled() {
            next_look_at_long(&self.clock, &self.queues, PORT, &self.shaping, &self.time, now)
        } else {
            None
        };
        self.due = long.map_or(due, |look| due.min(look.at));
        (self.due < NEVER).then_some(self.due)
    }
}
