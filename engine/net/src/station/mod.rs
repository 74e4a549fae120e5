// SPDX-License-Identifier: Apache-2.0
//! A station sends the frames of its streams over one link, by the egress port that every node has. A frame is eligible in
//! the instant in which it is released, or when its ATS scheduler says; nothing else delays it.
//!
//! It knows the time of the run, and neither reads nor writes anything. Whoever drives it calls [`Station::enqueue`] when
//! a frame comes to its port, and [`Station::select`] at the times that it is told.
mod greedy;
mod line;
mod room;
mod schedulers;

use penstock_frame::Edit;
use penstock_shaper::admission::Pool;
use penstock_shaper::egress::{EgressPort, GateDelays, GateTime, Queued, Tick, NEVER};
use penstock_shaper::gates::Lists;
use penstock_shaper::ptp_clock::PtpClock;
use penstock_shaper::Time;

use crate::bridge::start::{check_ports, gate_time, shape, start_list};
use crate::bridge::timing::Counting;
use crate::bridge::{timing, BridgeError, ShapersConfig};
use crate::clock::Clock;
use crate::describe::Ats;
use crate::faults::FOR_EVER;
use crate::link::Wire;
use crate::near::near;
use crate::trace::{Reason, Trace};
use greedy::Greedy;
use line::{Line, Ticks};
pub use room::Room;
use schedulers::Schedulers;

pub const CLASSES: usize = 8;
/// What a station's port is called, and the only port that it receives frames from: itself.
const PORT: u16 = 0;

/// A frame that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub frame: u32,
    /// `Trace::NO_CLASS` where the port only serves the highest first.
    pub traffic_class: u8,
    /// When its first bit behind the delimiter leaves.
    pub first: Time,
}

/// What came of a frame that is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// When the station is to select, if that is new.
    pub select: Option<Time>,
    /// When its ATS scheduler lets it go, if it has one.
    pub eligible: Option<Time>,
}

/// What a station did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selected {
    /// It is to select at another time, which was told.
    Stale,
    /// Nothing can be sent yet.
    Nothing,
    /// This stream has a frame now, which is to be given to [`Station::send`].
    Make(u32),
    Sent(Sent),
    /// Longer than any window of its gate.
    Dropped {
        frame: u32,
        traffic_class: u8,
        reason: Reason,
        at: Time,
    },
}

/// What every frame needs stands first and together.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Station {
    pub clock: Clock,
    pub wire: Wire,
    ticks: Ticks,
    counting: Counting,
    /// In ticks, when the port is to select; `NEVER`: not known.
    due: Tick,
    port: EgressPort,
    /// What each queue may still hold.
    pub room: [Room; CLASSES],
    pub class_of_pcp: [u8; 8],
    greedy: Greedy,
    /// None: no frame is held before it is queued.
    schedulers: Option<Box<Schedulers>>,
    gate_time: GateTime,
    /// Frames that gave way to others, with their classes.
    displaced: Vec<(u32, u8)>,
}

impl Station {
    pub fn new(clock: Clock, wire: Wire, class_of_pcp: [u8; 8]) -> Self {
        Self {
            clock,
            wire,
            ticks: Ticks::OfRun,
            counting: Counting { gap_costs_credit: true, ..Counting::default() },
            due: NEVER,
            port: EgressPort::new(1),
            displaced: Vec::new(),
            room: [Room::default(); CLASSES],
            class_of_pcp,
            greedy: Greedy::default(),
            schedulers: None,
            gate_time: GateTime::new(PtpClock::new(0, 0), GateDelays::default()),
        }
    }

    /// Its port gets gates, credit, longest frames or turns, before the run begins.
    pub fn shape(&mut self, config: &ShapersConfig, lists: &mut Lists) -> Result<(), BridgeError> {
        let start = self.clock.at_or_before(0);
        let clock = timing::Clock::Ideal(timing::Ideal::new(0, None, vec![self.wire.rate.bps()]));
        self.gate_time = gate_time(&clock, config.ptp, start)?;
        (self.ticks, self.counting) = (Ticks::OfClock, config.counting());
        check_ports(config, 1)?;
        let line = timing::Line { clock: &clock, gate_time: &self.gate_time, port: PORT, counting: self.counting };
        shape(&mut self.port, &line, config)?;
        for gates in &config.gates {
            start_list(&mut self.port, &line, config.ptp, gates, start, lists)?;
        }
        self.port.begin(&line, start);
        Ok(())
    }

    /// Its frames leave by a card, which is no part of this; the other things of a port stay.
    pub fn give_up_port(&mut self) {
        self.ticks = Ticks::OfClock;
    }

    /// Frames of its streams are held by ATS schedulers, from before the run on.
    pub fn schedule(&mut self, config: &Ats) -> Result<(), BridgeError> {
        self.ticks = Ticks::OfClock;
        self.schedulers = Some(Box::new(Schedulers::new(config)?));
        Ok(())
    }

    /// Has what a frame needs fetched into the cache.
    #[inline]
    pub fn bring(&self) {
        near(&self.clock);
        near(&self.due);
        near(&self.port);
        near(&self.room);
    }

    #[inline(always)]
    fn line(&mut self) -> (&mut EgressPort, Line<'_>) {
        let Self { clock, ticks, gate_time, counting, .. } = self;
        let line = Line { clock, ticks: *ticks, rate: self.wire.rate, gate_time, counting: *counting };
        (&mut self.port, line)
    }

    /// The first tick that is not before a time.
    #[inline(always)]
    fn tick(&self, time: Time) -> Tick {
        match self.ticks {
            Ticks::OfRun => time,
            Ticks::OfClock => self.clock.at_or_after(time),
        }
    }

    #[inline(always)]
    fn time(&self, tick: Tick) -> Time {
        match self.ticks {
            Ticks::OfRun => tick,
            Ticks::OfClock => self.clock.time(tick),
        }
    }

    /// Whether frames of streams that always have one are made when they are selected; else one of each is queued.
    pub fn makes_frames(&self) -> bool {
        self.ticks == Ticks::OfRun
    }

    /// A stream that always has a frame, from when it is ready on.
    pub fn add_greedy(&mut self, stream: u32, traffic_class: u8) {
        self.greedy.add(stream, traffic_class);
    }

    /// Tells when it is to select, if that is new.
    pub fn set_ready(&mut self, now: Time, stream: u32, ready: bool) -> Option<Time> {
        self.greedy.set_ready(stream, ready);
        if ready {
            self.select_by(self.port.free().max(self.tick(now)))
        } else {
            None
        }
    }

    /// Queues a frame of a stream, or tells why not.
    #[inline]
    pub fn enqueue(
        &mut self,
        now: Time,
        frame: u32,
        stream: u32,
        traffic_class: u8,
        bytes: u16,
    ) -> Result<Enqueued, Reason> {
        let class = usize::from(traffic_class) % CLASSES;
        let now = self.tick(now);
        let (mut visible, mut shaped) = (now, false);
        if let Some(shape) = self.schedulers.as_mut().and_then(|all| all.assign(stream, traffic_class, now, bytes)) {
            if !shape.pass {
                return Err(Reason::RESIDENCE);
            }
            (visible, shaped) = (shape.visible, true);
        }
        let (port, line) = self.line();
        if port.is_shaped() && port.is_too_long(&line, now, class, bytes) {
            return Err(Reason::MAX_SDU);
        }
        if !self.room[class].take(bytes) && !self.displace(now, class, bytes) {
            return Err(Reason::QUEUE_FULL);
        }
        let copy = Queued {
            visible,
            frame,
            bytes,
            reception: PORT,
            edit: Edit::NONE,
            traffic_class,
            pool: Pool::Queue,
            shaped,
        };
        let is_first = self.port.enqueue(copy);
        let is_first = is_first || !self.displaced.is_empty();
        let select = match is_first {
            false => None,
            _ if self.port.is_shaped() => {
                let before = self.due;
                self.plan(now);
                (self.due != before && self.due < NEVER).then(|| self.time(self.due))
            }
            true => self.select_by(self.port.free().max(visible)),
        };
        Ok(Enqueued { select, eligible: shaped.then(|| self.time(visible)) })
    }

    /// Has the first frames of a full queue give way to one that comes, if it has room then.
    #[cold]
    fn displace(&mut self, now: Tick, class: usize, bytes: u16) -> bool {
        let mut room = self.room[class];
        if !room.drops_oldest {
            return false;
        }
        // Whether all that wait are enough.
        let mut is_enough = room.take(bytes);
        for copy in self.port.of_class(class) {
            if is_enough {
                break;
            }
            room.give(copy.bytes);
            is_enough = room.take(bytes);
        }
        while is_enough && !self.room[class].take(bytes) {
            let (port, line) = self.line();
            let Some(copy) = port.drop_head(&line, now, class) else { return false };
            self.room[class].give(copy.bytes);
            self.displaced.push((copy.frame, copy.traffic_class));
        }
        is_enough
    }

    /// Frames that gave way, with their classes.
    pub fn take_displaced(&mut self) -> Vec<(u32, u8)> {
        std::mem::take(&mut self.displaced)
    }

    /// The port is to select by a tick; tells when that is, if it is new.
    #[inline(always)]
    fn select_by(&mut self, tick: Tick) -> Option<Time> {
        (tick < self.due).then(|| {
            self.due = tick;
            self.time(tick)
        })
    }

    /// Selects, at the time that was told; `makes`: streams that always have a frame still do.
    #[inline]
    pub fn select(&mut self, now: Time, makes: bool) -> Selected {
        // A fast clock shows several ticks in one picosecond, of which `now` may be a later one.
        let shown = match self.ticks {
            Ticks::OfRun => now,
            Ticks::OfClock => self.clock.at_or_before(now),
        };
        if shown < self.due {
            return Selected::Stale;
        }
        let now = self.due;
        if let Some(stream) = self.greedy.serve(self.port.first_waiting()) {
            if makes {
                return Selected::Make(stream);
            }
            self.greedy.end();
        }
        if self.port.may_be_too_long() {
            if let Some(dropped) = self.drop_too_long(now) {
                return dropped;
            }
        }
        let (port, line) = self.line();
        let Some(copy) = port.select(&line, now) else {
            self.plan(now);
            return Selected::Nothing;
        };
        self.room[usize::from(copy.traffic_class)].give(copy.bytes);
        Selected::Sent(self.sent(now, &copy))
    }

    /// Whether a frame that comes now would be selected at once, were it the only one: nothing waits or is being sent, and
    /// nothing but its class decides when a frame leaves.
    #[inline]
    pub fn is_idle(&self, now: Time, traffic_class: u8, bytes: u16) -> bool {
        self.ticks == Ticks::OfRun
            && self.due == NEVER
            && self.port.free() <= now
            && self.room[usize::from(traffic_class) % CLASSES].has(bytes)
    }

    /// Sends a frame at a port that is idle.
    #[inline]
    pub fn send_at_once(&mut self, now: Time, frame: u32, traffic_class: u8, bytes: u16) -> Sent {
        let (pool, shaped) = (Pool::Queue, false);
        let copy =
            Queued { visible: now, frame, bytes, reception: PORT, edit: Edit::NONE, traffic_class, pool, shaped };
        let (port, line) = self.line();
        port.pass(&line, now, &copy);
        Sent { frame, traffic_class: Trace::NO_CLASS, first: line.first_bit(now) }
    }

    /// Sends a frame that was made in the instant in which it is selected.
    pub fn send(&mut self, frame: u32, traffic_class: u8, bytes: u16) -> Sent {
        let (now, pool, shaped) = (self.due, Pool::Queue, false);
        let copy =
            Queued { visible: now, frame, bytes, reception: PORT, edit: Edit::NONE, traffic_class, pool, shaped };
        let (port, line) = self.line();
        port.pass(&line, now, &copy);
        self.sent(now, &copy)
    }

    /// A frame was selected; its stream is ready for the next one until something else is said.
    #[inline(always)]
    fn sent(&mut self, now: Tick, copy: &Queued) -> Sent {
        let (_, line) = self.line();
        let first = line.first_bit(now);
        self.plan(now);
        let traffic_class = match self.ticks {
            Ticks::OfRun => Trace::NO_CLASS,
            Ticks::OfClock => copy.traffic_class,
        };
        Sent { frame: copy.frame, traffic_class, first: self.time(first) }
    }

    /// When a stream that always has a frame has its next one, after its last one was sent just now.
    pub fn again(&self) -> Time {
        self.time(self.port.sending_until())
    }

    /// The link goes down for some time. Tells when it is to select, if that is new.
    pub fn cut(&mut self, at: Time, until: Time) -> Option<Time> {
        let (at, until) = (self.tick(at), if until == FOR_EVER { NEVER } else { self.tick(until) });
        let (port, line) = self.line();
        port.interrupt(&line, at, until);
        let before = self.due;
        self.plan(at);
        self.next().filter(|_| self.due != before)
    }

    /// Takes out all frames that wait for the port, with their classes; its schedulers start anew.
    pub fn lose_all(&mut self, at: Time) -> Vec<(u32, u8)> {
        let at = self.tick(at);
        if let Some(schedulers) = &mut self.schedulers {
            schedulers.restart();
        }
        let mut lost = Vec::new();
        for class in (0..CLASSES).rev() {
            loop {
                let (port, line) = self.line();
                let Some(copy) = port.drop_head(&line, at, class) else { break };
                self.room[class].give(copy.bytes);
                lost.push((copy.frame, copy.traffic_class));
            }
        }
        lost
    }

    /// When the port is to select next, after it did.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        (self.due < NEVER).then(|| self.time(self.due))
    }

    /// When the port is to select, or to drop a frame that is too long by then.
    #[inline]
    fn plan(&mut self, now: Tick) {
        let ready = if self.greedy.is_ready() { self.port.free().max(now) } else { NEVER };
        if self.port.is_empty() {
            self.due = ready;
            return;
        }
        let (port, line) = self.line();
        self.due = port.next_selection(&line, now).min(ready);
        if self.port.may_be_too_long() {
            self.plan_drop(now);
        }
    }

    #[cold]
    fn plan_drop(&mut self, now: Tick) {
        let (port, line) = self.line();
        let long = (0..CLASSES).filter_map(|class| port.never_fits_from(&line, now, class)).min();
        self.due = long.map_or(self.due, |long| long.min(self.due));
    }

    /// Takes out a frame that waits for a window that no longer comes.
    #[cold]
    fn drop_too_long(&mut self, now: Tick) -> Option<Selected> {
        let (port, line) = self.line();
        let class = (0..CLASSES).find(|&class| port.never_fits(&line, now, class))?;
        let Queued { frame, traffic_class, bytes, .. } = port.drop_head(&line, now, class)?;
        self.plan(now);
        self.room[usize::from(traffic_class)].give(bytes);
        Some(Selected::Dropped { frame, traffic_class, reason: Reason::MAX_SDU, at: self.time(now) })
    }
}
