// SPDX-License-Identifier: Apache-2.0
//! Gates and credit-based shapers of an egress port, of a bridge or a station, asked for when there is traffic only.
//!
//! The states of the gates follow from the time, and credit from what has happened since it was last looked at. So neither
//! a gate that opens nor a cycle that passes is an event: only the next instant is, at which a frame may be selected.
use std::sync::Arc;

use penstock_shaper::admission::CLASSES;
use penstock_shaper::credit::{Credit, Inputs};
use penstock_shaper::gates::{Gates, List};
use penstock_shaper::ptp_clock::PtpClock;
use penstock_shaper::queue::{Queued, Queues};

use super::timing::Clock;
use super::Tick;

/// From the end of a list to when the largest windows of its successor are looked at.
const WINDOWS_CYCLES: Tick = 4;
/// From a cycle of `pen_gates` to that of the selections which its states are for.
pub const GATES_CYCLES: Tick = 3;
/// Windows of a gate that are looked at for a frame at a time.
const MOST_WINDOWS: u32 = 64;
/// What gate time is ahead of the clock's: so long after its selection the first bit of a frame is on the wire.
pub const GATES_LEAD_NS: u64 = 56;

/// Gate time of a tick: in nanoseconds of the hardware, else in picoseconds.
#[derive(Clone, Copy, Debug)]
pub struct GateTime {
    pub clock: PtpClock,
    lead: u64,
    delay: Tick,
}

impl GateTime {
    pub fn of_hardware(clock: PtpClock) -> Self {
        Self { clock, lead: GATES_LEAD_NS, delay: GATES_CYCLES }
    }

    /// The clock counts picoseconds.
    pub fn ideal(clock: PtpClock) -> Self {
        Self { clock, lead: 0, delay: 0 }
    }

    #[inline]
    pub fn at(&self, tick: Tick) -> u64 {
        self.clock.ns_at(tick.saturating_sub(self.delay)).saturating_add(self.lead)
    }

    /// The first tick of this gate time or later.
    #[inline]
    pub fn tick_of(&self, time: u64) -> Tick {
        self.clock.cycle_of_ns(time.saturating_sub(self.lead)).saturating_add(self.delay)
    }
}

#[derive(Clone, Copy, Debug)]
struct Shaper {
    /// At tick `at`, with all that happened before.
    credit: Credit,
    at: Tick,
}

/// A frame on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    pub traffic_class: usize,
    /// The first tick after it.
    pub until: Tick,
}

/// Of one egress port.
#[derive(Clone, Debug)]
pub struct Shaping {
    pub gates: Gates,
    /// Hardware: the largest windows are looked at with a delay.
    windows_delay: Tick,
    shapers: [Option<Shaper>; CLASSES],
    sending: Option<Sending>,
    /// A class is being searched for its next frame until then, and counts as one that waits.
    searched: Option<Sending>,
    /// queueMaxSDU per class, as bytes of the frame.
    pub max_bytes: [u16; CLASSES],
}

impl Shaping {
    /// Of a port that is sending this.
    pub fn new(hardware: bool, sending: Option<Sending>) -> Self {
        Self {
            gates: Gates::default(),
            windows_delay: if hardware { WINDOWS_CYCLES } else { 0 },
            shapers: [None; CLASSES],
            sending,
            searched: None,
            max_bytes: [u16::MAX; CLASSES],
        }
    }

    /// A class gets other settings; its credit becomes zero in this tick.
    pub fn set_credit(&mut self, at: Tick, traffic_class: usize, credit: Option<Credit>) {
        self.shapers[traffic_class] = credit.map(|credit| Shaper { credit, at });
    }

    /// Sum of the idle slopes of all other classes.
    pub fn idle_slopes_beside(&self, traffic_class: usize) -> i128 {
        let others = self.shapers.iter().enumerate().filter(|&(class, _)| class != traffic_class);
        others.filter_map(|(_, shaper)| shaper.as_ref()).map(|shaper| shaper.credit.idle_slope()).sum()
    }

    /// The list whose largest windows count in a tick.
    pub fn list(&self, time: &GateTime, at: Tick) -> Option<&Arc<List>> {
        self.gates.list(time.at(at.saturating_sub(self.windows_delay)))
    }

    /// Whether a frame is longer than any window of its gate.
    pub fn never_fits(&self, time: &GateTime, at: Tick, traffic_class: usize, wire: u64) -> bool {
        self.gates.is_enabled() && self.list(time, at).is_some_and(|list| list.largest_window(traffic_class) < wire)
    }

    /// The first tick from `from` on in which windows are looked at that the frame does not fit into.
    pub fn never_fits_from(&self, time: &GateTime, from: Tick, traffic_class: usize, wire: u64) -> Option<Tick> {
        if self.never_fits(time, from, traffic_class, wire) {
            return Some(from);
        }
        let (_, change_time) = self.gates.pending(time.at(from.saturating_sub(self.windows_delay)))?;
        let at = time.tick_of(change_time) + self.windows_delay;
        self.never_fits(time, at, traffic_class, wire).then_some(at)
    }

    /// Credit of a class up to a tick; `visible` is when its candidate may be selected.
    fn settle(&mut self, time: &GateTime, traffic_class: usize, to: Tick, visible: Option<Tick>) {
        let Some(shaper) = &mut self.shapers[traffic_class] else { return };
        while shaper.at < to {
            let from = shaper.at;
            let of_class = |sending: &&Sending| sending.traffic_class == traffic_class && from < sending.until;
            if let Some(sending) = self.sending.as_ref().filter(of_class) {
                let until = sending.until.min(to);
                let inputs = Inputs { transmitting: true, gate_open: true, waiting: true };
                shaper.credit.advance(until - from, inputs);
                shaper.at = until;
                if until == sending.until {
                    shaper.credit.sent();
                }
                continue;
            }
            let searched = self.searched.as_ref().filter(of_class).map(|searched| searched.until);
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
            let now = time.at(from);
            let gate_open = self.gates.states(now) >> traffic_class & 1 == 1;
            if let Some(edge) = self.gates.next_edge(now).filter(|_| self.gates.is_enabled()) {
                until = until.min(time.tick_of(edge)).max(from + 1);
            }
            shaper.credit.advance(until - from, Inputs { transmitting: false, gate_open, waiting });
            shaper.at = until;
        }
    }

    /// The first tick from `from` on in which credit is not negative, if nothing is sent.
    fn credit_from(&self, time: &GateTime, traffic_class: usize, from: Tick) -> Tick {
        let Some(mut shaper) = self.shapers[traffic_class] else { return from };
        if let Some(sending) = self.sending.filter(|s| s.traffic_class == traffic_class && shaper.at < s.until) {
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
            let gate_open = self.gates.states(now) >> traffic_class & 1 == 1;
            let edge = self.gates.next_edge(now).filter(|_| self.gates.is_enabled());
            let until = match (gate_open, edge) {
                (true, None) => shaper.at.saturating_add(ticks),
                (false, None) => return Tick::MAX,
                (true, Some(edge)) => shaper.at.saturating_add(ticks).min(time.tick_of(edge)).max(shaper.at + 1),
                (false, Some(_)) => match self.gates.fits_from(now, traffic_class, 0) {
                    Some(open) => time.tick_of(open).max(shaper.at + 1),
                    None => return Tick::MAX,
                },
            };
            let inputs = Inputs { transmitting: false, gate_open, waiting: true };
            shaper.credit.advance(until - shaper.at, inputs);
            shaper.at = until;
        }
    }

    /// Whether the candidate of a class may be selected as far as credit and gate go.
    fn is_ready(&mut self, time: &GateTime, now: Tick, traffic_class: usize, visible: Tick, wire: u64) -> bool {
        self.settle(time, traffic_class, now, Some(visible));
        let credit = self.shapers[traffic_class].is_none_or(|shaper| shaper.credit.credit() >= 0);
        credit && self.gates.fits(time.at(now), traffic_class, wire)
    }

    /// The first tick from `from` on in which it may be selected, if nothing else happens; `Tick::MAX`: none.
    fn ready_from(&self, time: &GateTime, from: Tick, traffic_class: usize, wire: u64) -> Tick {
        let from = self.credit_from(time, traffic_class, from);
        if from == Tick::MAX || !self.gates.is_enabled() {
            return from;
        }
        // A tick may lie beyond the time at which the frame would still have fitted, of each window. After some of them
        // the port looks again, so that time goes on.
        let mut at = from;
        for _ in 0..MOST_WINDOWS {
            let Some(fits) = self.gates.fits_from(time.at(at), traffic_class, wire) else { return Tick::MAX };
            let tick = time.tick_of(fits).max(at);
            if tick == at || self.gates.fits(time.at(tick), traffic_class, wire) {
                return tick;
            }
            at = tick;
        }
        at
    }

    /// A frame of a class is selected, and transmitted up to a tick.
    fn selected(&mut self, time: &GateTime, now: Tick, traffic_class: usize, visible: Tick, until: Tick) {
        self.settle_all_but(time, now, traffic_class);
        self.settle(time, traffic_class, now, Some(visible));
        if let Some(shaper) = &mut self.shapers[traffic_class] {
            shaper.credit.selected();
        }
        self.sending = Some(Sending { traffic_class, until });
    }

    /// Before another frame takes its place, what the one before has cost is settled.
    fn settle_all_but(&mut self, time: &GateTime, now: Tick, traffic_class: usize) {
        if let Some(sending) = self.sending.filter(|sending| sending.traffic_class != traffic_class) {
            let until = sending.until.min(now);
            self.settle(time, sending.traffic_class, until, None);
        }
    }

    /// The first tick from `free` on in which the port may select some frame, if nothing else happens; `Tick::MAX`: none.
    pub fn due(&self, clock: &Clock, time: &GateTime, port: u16, queues: &Queues, free: Tick) -> Tick {
        (0..CLASSES)
            .filter_map(|class| Some((class, queues.head(class)?)))
            .map(|(class, head)| self.ready_from(time, head.visible.max(free), class, clock.wire(port, head.bytes)))
            .fold(Tick::MAX, Tick::min)
    }

    /// Takes the frame of the highest class that has one, credit, and a gate that stays open for it; `gap`: it costs credit.
    pub fn select(
        &mut self,
        clock: &Clock,
        time: &GateTime,
        port: u16,
        queues: &mut Queues,
        now: Tick,
        gap: bool,
    ) -> Option<Queued> {
        for class in (0..CLASSES).rev() {
            let Some(&Queued { visible, bytes, .. }) = queues.head(class) else { continue };
            if visible <= now && self.is_ready(time, now, class, visible, clock.wire(port, bytes)) {
                self.selected(time, now, class, visible, clock.sent(port, now, bytes, gap));
                return queues.take(class);
            }
        }
        None
    }

    /// Whether a frame is above the longest of its class, or longer than any window of its gate.
    pub fn is_too_long(
        &self,
        clock: &Clock,
        time: &GateTime,
        port: u16,
        at: Tick,
        traffic_class: usize,
        bytes: u16,
    ) -> bool {
        bytes > self.max_bytes[traffic_class] || self.never_fits(time, at, traffic_class, clock.wire(port, bytes))
    }

    /// A frame of a class is dropped; its next one is looked for up to a tick.
    pub fn given_up(&mut self, traffic_class: usize, until: Tick) {
        self.searched = Some(Sending { traffic_class, until });
    }

    /// Brings all credit up to a tick, before gates or slopes are changed.
    pub fn settle_all(&mut self, time: &GateTime, now: Tick, queues: &Queues) {
        for traffic_class in 0..CLASSES {
            self.settle(time, traffic_class, now, queues.candidate(traffic_class));
        }
    }
}
