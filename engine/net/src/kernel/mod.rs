// SPDX-License-Identifier: Apache-2.0
//! The loop: takes the next event, lets its node act, and carries what it sends to the next node.
pub(crate) mod ahead;
mod carry;
mod forward;
mod handover;
mod mixed;
mod settle;
mod shaped;
mod talk;

use std::time::{Duration, Instant};

use crate::bridge::{Bridge, Judgement, Memos};
use crate::capture::Captures;
use crate::clock::Clock;
use crate::conservation::{Fates, Violation, Violations};
use crate::error::RunError;
use crate::frames::Frames;
use crate::header::Headers;
use crate::link::Wire;
use crate::node::{Node, Told};
use crate::queue::{self, Kind, Queue};
use crate::routes::{Route, Routes};
use crate::source::{Generator, Handover};
use crate::station::Station;
use crate::statistics::StreamStatistics;
use crate::trace::{Columns, Event, Reason, Row, Trace};

/// Who takes what a run gives while it goes on.
pub trait Observer {
    /// Rows, in the order in which they became known. What is left in them is dropped, and their memory used again. False:
    /// they could not be taken, and the run fails.
    fn rows(&mut self, rows: &mut Columns) -> bool;
    /// Which part of the duration is over. False interrupts the run.
    fn progress(&mut self, done: f64) -> bool;
}

/// Between two calls of [`Observer::progress`], at the least.
const PROGRESS: Duration = Duration::from_millis(50);
/// Events between two looks at the clock on the wall.
const EVENTS_PER_LOOK: u32 = 4_096;

/// `copies` are in it, and `first_wire` is where its ports begin among the wires.
pub(crate) enum BridgeNode {
    Model { bridge: Box<Bridge>, clock: Clock, copies: u64, first_wire: u32 },
    External { node: Box<dyn Node>, clock: Clock, copies: u64, first_wire: u32 },
}

/// What is needed of one lies in one line of the cache.
const _: () = assert!(size_of::<BridgeNode>() == 64);

impl BridgeNode {
    pub fn first_wire(&self) -> usize {
        let (Self::Model { first_wire, .. } | Self::External { first_wire, .. }) = self;
        *first_wire as usize
    }
}

/// A station that a stream is meant for.
pub(crate) struct Listener {
    pub station: u32,
    pub last_delivered: Option<u64>,
}

/// In the order of stations. Most streams have one.
pub(crate) enum Listeners {
    One(Listener),
    Several(Vec<Listener>),
}

impl Listeners {
    fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Several(listeners) => listeners.len(),
        }
    }

    /// With its place among them.
    #[inline]
    fn find(&mut self, station: u32) -> Option<(usize, &mut Listener)> {
        match self {
            Self::One(listener) => (listener.station == station).then_some((0, listener)),
            Self::Several(listeners) => {
                let place = listeners.binary_search_by_key(&station, |listener| listener.station).ok()?;
                Some((place, &mut listeners[place]))
            }
        }
    }
}

/// What a delivery needs stands first and together.
#[repr(C)]
pub(crate) struct StreamState {
    pub statistics: StreamStatistics,
    pub fates: Fates,
    pub listeners: Listeners,
    /// Streams that answer this one.
    pub answers: Vec<u32>,
    /// Among the stations.
    pub talker: u32,
    pub route: Route,
    pub generator: Generator,
    pub handover: Option<Handover>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Simulation {
    /// Passages of a frame through an egress port of a bridge or a station.
    pub frame_hops: u64,
    pub events: u64,
    /// Of hardware.
    pub cycles_simulated: u64,
    pub cycles_jumped: u64,
    /// When nothing was left to do, or the run was over.
    pub end_ps: u64,
}

pub(crate) struct Kernel {
    pub queue: Queue,
    pub bridges: Vec<BridgeNode>,
    pub stations: Vec<Station>,
    /// Of the egress ports of bridges; none where no link is.
    pub wires: Vec<Option<Wire>>,
    pub streams: Vec<StreamState>,
    pub routes: Routes,
    /// By hop.
    pub memos: Memos,
    pub frames: Frames,
    pub headers: Headers,
    pub trace: Trace,
    pub captures: Captures,
    pub violations: Violations,
    pub exact_up_to: usize,
    /// Sources create frames before this.
    pub duration: u64,
    /// Events before this are acted on now.
    pub until: u64,
    /// Whether it is worth while to fetch ahead.
    pub is_large: bool,
    pub simulation: Simulation,
    pub told: Vec<Told>,
    pub buffer: Vec<u8>,
    pub created: u64,
    pub looked: Instant,
}

/// Why the loop came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Done,
    Interrupted,
}

impl Kernel {
    /// Puts the first release of each stream into the queue.
    pub fn start(&mut self) {
        for stream in 0..self.streams.len() {
            self.plan_release(stream as u32);
        }
    }

    pub fn run(&mut self, end: u64, observer: &mut dyn Observer) -> Result<Ended, RunError> {
        let externals: Vec<u32> = (0..self.bridges.len() as u32)
            .filter(|&bridge| matches!(self.bridges[bridge as usize], BridgeNode::External { .. }))
            .collect();
        let ended = if externals.is_empty() {
            self.run_models(end, observer)?
        } else {
            self.run_mixed(end, &externals, observer)?
        };
        if !self.trace.chunk.is_empty() {
            self.hand_out(observer)?;
        }
        self.captures.flush()?;
        if ended == Ended::Done {
            observer.progress(1.0); // nothing is left to interrupt
        }
        Ok(ended)
    }

    fn run_models(&mut self, end: u64, observer: &mut dyn Observer) -> Result<Ended, RunError> {
        let mut left = EVENTS_PER_LOOK;
        let mut judgement = Judgement::default();
        self.until = end;
        let mut day = 0;
        while let Some(event) = self.queue.pop_before(end) {
            if self.is_large && self.queue.day() != day {
                day = self.queue.day();
                self.bring_releases();
            }
            self.act(event, &mut judgement)?;
            if self.trace.is_full() {
                self.hand_out(observer)?;
            }
            left -= 1;
            if left == 0 {
                left = EVENTS_PER_LOOK;
                if !self.look(event.time(), observer) {
                    return Ok(Ended::Interrupted);
                }
            }
        }
        if self.queue.next_time().is_some() {
            self.simulation.end_ps = end;
        }
        Ok(Ended::Done)
    }

    /// False: the run is to end.
    fn look(&mut self, now: u64, observer: &mut dyn Observer) -> bool {
        if self.looked.elapsed() < PROGRESS {
            return true;
        }
        self.looked = Instant::now();
        observer.progress((now as f64 / self.duration.max(1) as f64).min(1.0))
    }

    fn hand_out(&mut self, observer: &mut dyn Observer) -> Result<(), RunError> {
        let is_taken = observer.rows(&mut self.trace.chunk);
        self.trace.next_chunk();
        if is_taken {
            Ok(())
        } else {
            Err(RunError::Refused)
        }
    }

    #[inline]
    fn passed(&mut self, time: u64) {
        self.simulation.end_ps = self.simulation.end_ps.max(time);
    }

    #[inline(always)]
    fn act(&mut self, event: queue::Event, judgement: &mut Judgement) -> Result<(), RunError> {
        let (time, node) = (event.time(), event.node());
        match event.kind() {
            Kind::Select if (node as usize) < self.bridges.len() => {
                return self.select(time, node, event.index() as u16);
            }
            _ => {}
        }
        self.simulation.events += 1;
        self.passed(time);
        match event.kind() {
            Kind::Judge => self.judge(time, node, event.index() as u16, judgement),
            Kind::Select => self.talk(time, node - self.bridges.len() as u32),
            Kind::Release => {
                self.release(time, event.index());
                Ok(())
            }
        }
    }

    #[inline(always)]
    fn row(
        &mut self,
        slot: u32,
        (node, port): (u32, u16),
        event: Event,
        time_ps: u64,
        traffic_class: u8,
        reason: Reason,
    ) {
        if self.trace.wants(event, node) {
            let frame = self.frames.get(slot);
            let (frame, stream, bytes) = (frame.id, frame.stream, u32::from(frame.bytes));
            self.trace.keep(Row { frame, stream, node, port, event, time_ps, bytes, traffic_class, reason });
        }
    }

    fn miss(&mut self, slot: u32, listeners: u32, reason: Reason) {
        if listeners == 0 {
            return;
        }
        let frame = self.frames.get_mut(slot);
        if listeners > frame.open {
            self.violations.add(Violation::Twice { frame: frame.id, stream: frame.stream, what: "dropped" });
        }
        frame.open = frame.open.saturating_sub(listeners);
        if frame.reason == Reason::NONE {
            frame.reason = reason;
        }
        let dropped = &mut self.streams[frame.stream as usize].statistics.dropped;
        dropped[usize::from(reason.0) % Reason::COUNT] += u64::from(listeners);
    }

    #[inline(always)]
    fn leave(&mut self, slot: u32) {
        let frame = self.frames.get_mut(slot);
        frame.copies -= 1;
        if frame.copies > 0 {
            return;
        }
        let fates = &mut self.streams[frame.stream as usize].fates;
        if frame.open > 0 {
            let (stream, copies) = (frame.stream, frame.open);
            self.violations.add(Violation::Lost { frame: frame.id, stream, copies });
        } else if frame.reason == Reason::NONE {
            fates.delivered += 1;
        } else {
            *fates.dropped.entry(frame.reason).or_default() += 1;
        }
        self.frames.remove(slot);
    }
}
