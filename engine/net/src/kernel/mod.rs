// SPDX-License-Identifier: Apache-2.0
//! The loop: takes the next event, lets its node act, and carries what it sends to the next node.
pub(crate) mod ahead;
mod border;
mod carry;
mod faults;
mod guests;
mod handover;
mod programs;
mod settle;
mod talk;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

pub(crate) use border::Border;

use crate::capture::Captures;
use crate::conservation::Violations;
use crate::error::RunError;
use crate::faults::Faults;
use crate::ledger::{Ledger, StreamLedger};
use crate::links::Links;
use crate::nodes::Member;
use crate::outbox::{Outbox, Surroundings};
use crate::partition::notes::Notes;
use crate::queue::{self, Kind};
use crate::simulation::Simulation;
use crate::source::{Generator, Handover};
use crate::station::Station;
use crate::trace::{Row, Trace};
pub(crate) use programs::Hosted;

/// Who takes what a run gives while it goes on.
pub trait Observer {
    /// Rows, in the order in which they became known. What is left in them is dropped, and their memory used again. False:
    /// they could not be taken, and the run fails.
    fn rows(&mut self, rows: &mut Vec<Row>) -> bool;
    /// Which part of the duration is over. False interrupts the run.
    fn progress(&mut self, done: f64) -> bool;
}

/// Between two calls of [`Observer::progress`], at the least.
const PROGRESS: Duration = Duration::from_millis(50);
/// Events between two looks at the clock on the wall.
const EVENTS_PER_LOOK: u32 = 4_096;

/// Where the frames of a stream come from.
pub(crate) struct Origin {
    pub generator: Generator,
    pub handover: Option<Handover>,
    /// Streams that answer this one.
    pub answers: Vec<u32>,
    /// Among the stations.
    pub talker: u32,
}

/// What a network is made of.
pub(crate) struct Parts {
    /// Bridges, whatever they are; stations are numbered after them.
    pub members: Vec<Member>,
    pub stations: Vec<Station>,
    /// By station.
    pub programs: BTreeMap<u32, Hosted>,
    pub links: Links,
    pub origins: Vec<Origin>,
    pub ledger: Ledger,
    pub trace: Trace,
    pub captures: Captures,
    pub faults: Faults,
    /// Sources create frames before this.
    pub duration: u64,
    /// Of a partition of the network: where frames leave it.
    pub border: Option<Border>,
}

pub(crate) struct Kernel {
    around: Surroundings,
    members: Vec<Member>,
    stations: Vec<Station>,
    programs: BTreeMap<u32, Hosted>,
    links: Links,
    origins: Vec<Origin>,
    captures: Captures,
    faults: Faults,
    duration: u64,
    /// Whether it is worth while to fetch ahead.
    is_large: bool,
    looked: Instant,
    /// Memory that is used again.
    buffer: Vec<u8>,
    border: Option<Border>,
}

/// What a kernel leaves.
pub(crate) struct Closed {
    pub streams: Vec<StreamLedger>,
    pub violations: Violations,
    pub simulation: Simulation,
    pub notes: Option<Box<Notes>>,
}

/// Why the loop came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Done,
    Interrupted,
}

impl Kernel {
    pub fn new(parts: Parts) -> Self {
        let Parts { members, stations, programs, links, origins, ledger, trace, captures, faults, duration, border } =
            parts;
        Self {
            is_large: ahead::is_large(ledger.routes().hops()),
            around: Surroundings::new(ledger, trace),
            members,
            stations,
            programs,
            links,
            origins,
            captures,
            faults,
            duration,
            looked: Instant::now(),
            buffer: Vec::new(),
            border,
        }
    }

    /// From the first release of each stream to the end, and what the run leaves.
    pub fn run(mut self, end: u64, observer: &mut dyn Observer) -> Result<(Closed, Ended), RunError> {
        self.begin();
        self.plan_guests();
        self.plan_programs();
        let ended = self.work(end, observer)?;
        if ended == Ended::Done {
            self.end_guests(end)?;
        }
        if !self.around.trace.chunk.is_empty() {
            self.hand_out(observer)?;
        }
        self.captures.flush()?;
        if ended == Ended::Done {
            observer.progress(1.0); // nothing is left to interrupt
        }
        let is_idle = ended == Ended::Done && self.around.queue.next_time().is_none();
        Ok((self.close(is_idle), ended))
    }

    fn begin(&mut self) {
        self.add_greedy();
        for stream in 0..self.origins.len() {
            if self.is_own(self.origins[stream].talker) {
                self.plan_release(stream as u32);
            }
        }
    }

    pub fn close(mut self, is_idle: bool) -> Closed {
        self.settle(is_idle);
        let notes = self.around.ledger.notes.take();
        let (streams, violations) = self.around.ledger.close();
        Closed { streams, violations, simulation: self.around.simulation, notes }
    }

    /// From one fault to the next.
    fn work(&mut self, end: u64, observer: &mut dyn Observer) -> Result<Ended, RunError> {
        loop {
            let stop = self.faults.next().min(end);
            if !self.faults.is_empty() {
                self.look_no_further(stop);
            }
            if self.work_until(stop, observer)? == Ended::Interrupted {
                return Ok(Ended::Interrupted);
            }
            if stop == end {
                break;
            }
            self.break_things(stop);
        }
        if self.around.queue.next_time().is_some() {
            self.around.simulation.end_ps = end;
        }
        Ok(Ended::Done)
    }

    fn work_until(&mut self, end: u64, observer: &mut dyn Observer) -> Result<Ended, RunError> {
        let mut left = EVENTS_PER_LOOK;
        let mut day = 0;
        while let Some(event) = self.around.queue.pop_before(end) {
            if self.is_large && self.around.queue.day() != day {
                day = self.around.queue.day();
                self.bring_releases();
            }
            self.act(event)?;
            if self.around.trace.is_full() {
                self.hand_out(observer)?;
            }
            // What is not a model may take long.
            left = if event.kind() == Kind::Advance { 0 } else { left - 1 };
            if left == 0 {
                left = EVENTS_PER_LOOK;
                if !self.look(event.time(), observer) {
                    return Ok(Ended::Interrupted);
                }
            }
        }
        Ok(Ended::Done)
    }

    #[inline(always)]
    fn act(&mut self, event: queue::Event) -> Result<(), RunError> {
        let (time, node, index) = (event.time(), event.node(), event.index());
        if event.kind() == Kind::Advance {
            return self.advance(time, node);
        }
        self.around.simulation.events += 1;
        self.around.simulation.passed(time);
        match event.kind() {
            Kind::Judge => self.act_model(time, node, event.port(), true),
            Kind::Select if (node as usize) < self.members.len() => self.act_model(time, node, index as u16, false),
            Kind::Select => self.talk(time, node - self.members.len() as u32),
            Kind::Release | Kind::Advance => {
                self.release(time, index);
                Ok(())
            }
        }
    }

    /// A port of a model judges or selects.
    #[inline(always)]
    fn act_model(&mut self, time: u64, node: u32, port: u16, judges: bool) -> Result<(), RunError> {
        let Member::Model(model) = &mut self.members[node as usize] else { return Ok(()) };
        let mut out = Outbox::new(node, &mut self.around);
        let leaving = if judges { model.judge(time, port, &mut out) } else { model.select(time, port, &mut out) };
        let Some(leaving) = leaving else { return Ok(()) };
        self.depart(node, leaving)
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
        let is_taken = observer.rows(&mut self.around.trace.chunk);
        self.around.trace.next_chunk();
        if is_taken {
            Ok(())
        } else {
            Err(RunError::Refused)
        }
    }

    fn node_of(&self, station: u32) -> u32 {
        self.members.len() as u32 + station
    }
}
