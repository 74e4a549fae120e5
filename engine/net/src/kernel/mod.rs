// SPDX-License-Identifier: Apache-2.0
//! The loop: takes the next event, lets its node act, and carries what it sends to the next node.
pub(crate) mod ahead;
mod border;
mod carry;
mod faults;
mod settle;
mod transit;

use std::time::{Duration, Instant};

pub(crate) use border::Border;

use crate::capture::Captures;
use crate::conservation::Violations;
use crate::error::RunError;
use crate::faults::Faults;
use crate::ledger::{Ledger, StreamLedger};
use crate::links::Links;
use crate::node::{Due, Node};
use crate::nodes::Member;
use crate::outbox::Outbox;
use crate::partition::notes::Notes;
use crate::places::Places;
use crate::queue::{self, Kind};
use crate::simulation::Simulation;
use crate::source::Origin;
use crate::surroundings::Surroundings;
use crate::trace::{Row, Trace};
use penstock_shaper::Time;

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

/// What a network is made of.
pub(crate) struct Parts {
    /// Bridges, whatever they are, and stations after them.
    pub members: Vec<Member>,
    pub links: Links,
    pub origins: Vec<Origin>,
    pub ledger: Ledger,
    pub trace: Trace,
    pub captures: Captures,
    pub faults: Faults,
    /// Sources create frames before this.
    pub duration: Time,
    /// Of a partition of the network: where frames leave it.
    pub border: Option<Border>,
}

pub(crate) struct Kernel {
    around: Surroundings,
    members: Vec<Member>,
    links: Links,
    faults: Faults,
    /// Not all that begins on a wire comes to its end unharmed.
    is_brave: bool,
    /// Per port of all nodes, whether what it sends stays on its wire until it is whole.
    held: Vec<bool>,
    looked: Instant,
    border: Option<Border>,
}

/// What a kernel leaves.
pub(crate) struct Closed {
    pub streams: Vec<StreamLedger>,
    pub violations: Violations,
    pub simulation: Simulation,
    pub places: Places,
    pub notes: Option<Box<Notes>>,
}

/// Why the loop came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Done,
    Interrupted,
}

impl Kernel {
    pub fn new(parts: Parts) -> Result<Self, RunError> {
        let Parts { mut members, links, origins, ledger, trace, captures, faults, duration, border } = parts;
        let around = Surroundings::new(ledger, trace, origins, captures, duration);
        let held = transit::held(&members, &links, &faults)?;
        let is_held = held.contains(&true);
        for member in members.iter_mut().filter(|_| is_held) {
            if let Member::Bridge(bridge) = member {
                bridge.do_nothing_ahead();
            }
        }
        let is_brave = is_held || !faults.is_empty();
        Ok(Self { around, members, links, faults, is_brave, held, looked: Instant::now(), border })
    }

    /// From the first release of each stream to the end, and what the run leaves.
    pub fn run(mut self, end: Time, observer: &mut dyn Observer) -> Result<(Closed, Ended), RunError> {
        self.begin();
        let ended = self.work(end, observer)?;
        if ended == Ended::Done {
            self.hand_over_until(Time::MAX)?;
            self.end_guests(end)?;
        }
        if !self.around.trace.chunk.is_empty() {
            self.hand_out(observer)?;
        }
        self.around.captures.flush()?;
        if ended == Ended::Done {
            observer.progress(1.0); // nothing is left to interrupt
        }
        let is_idle = ended == Ended::Done && self.around.queue.next_time().is_none();
        Ok((self.close(is_idle), ended))
    }

    /// All tell when they act first.
    fn begin(&mut self) {
        let bridges = self.bridges();
        for stream in 0..self.around.origins.len() {
            let talker = self.around.origins[stream].talker;
            if !self.is_own(talker) {
                continue;
            }
            let node = bridges + talker;
            if let Member::Station(station) = &mut self.members[node as usize] {
                station.begin(stream as u32, &mut Outbox::new(node, &mut self.around));
            }
        }
        for (node, member) in (0..).zip(&mut self.members) {
            let mut out = Outbox::new(node, &mut self.around);
            match member {
                Member::Station(station) => station.begin_program(&mut out),
                Member::Guest(guest) => guest.plan(0, &mut out),
                Member::Bridge(_) | Member::Foreign(_) => {}
            }
        }
    }

    /// How many there are; stations are numbered after them.
    fn bridges(&self) -> u32 {
        self.members.partition_point(|member| !matches!(member, Member::Station(_))) as u32
    }

    pub fn close(mut self, is_idle: bool) -> Closed {
        self.settle(is_idle);
        let places = self.places();
        let notes = self.around.ledger.notes.take();
        let (streams, violations) = self.around.ledger.close();
        Closed { streams, violations, simulation: self.around.simulation, places, notes }
    }

    fn places(&self) -> Places {
        let headers = |member: &Member| if let Member::Bridge(bridge) = member { bridge.headers() } else { 0 };
        let Surroundings { frames, ledger, queue, .. } = &self.around;
        Places {
            frames: frames.places(),
            accounts: ledger.accounts(),
            headers: self.members.iter().map(headers).sum(),
            events: queue.places(),
        }
    }

    /// From one fault to the next.
    fn work(&mut self, end: Time, observer: &mut dyn Observer) -> Result<Ended, RunError> {
        loop {
            let stop = self.faults.next().min(end);
            if self.work_until(stop, observer)? == Ended::Interrupted {
                return Ok(Ended::Interrupted);
            }
            if stop == end {
                break;
            }
            self.break_things(stop)?;
        }
        if self.around.queue.next_time().is_some() {
            self.around.simulation.end_ps = end;
        }
        Ok(Ended::Done)
    }

    fn work_until(&mut self, end: Time, observer: &mut dyn Observer) -> Result<Ended, RunError> {
        let mut left = EVENTS_PER_LOOK;
        let mut day = 0;
        while let Some(event) = self.around.queue.pop_before(end) {
            if self.around.is_large && self.around.queue.day() != day {
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

    /// The node of an event acts, and what it sends goes onto its wires.
    #[inline(always)]
    fn act(&mut self, event: queue::Event) -> Result<(), RunError> {
        let (time, node) = (event.time(), event.node());
        if !matches!(event.kind(), Kind::Advance | Kind::Arrive) {
            self.around.simulation.events += 1;
            self.around.simulation.passed(time);
        }
        // Judgements and selections of bridges have a path of their own each, on which the other is not looked at.
        match (event.kind(), &self.members[node as usize]) {
            (kind @ Kind::Judge, Member::Bridge(_)) => self.act_bridge(time, node, Due { kind, ..event.due() }),
            (kind @ Kind::Select, Member::Bridge(_)) => self.act_bridge(time, node, Due { kind, ..event.due() }),
            (Kind::Arrive, _) => self.arrive(node, event.index() as u16),
            (_, Member::Station(_)) => self.act_station(time, node, event.due()),
            _ => self.act_guest(time, node, event.due()),
        }
    }

    #[inline(always)]
    fn act_bridge(&mut self, time: Time, node: u32, due: Due) -> Result<(), RunError> {
        let Member::Bridge(bridge) = &mut self.members[node as usize] else { return Ok(()) };
        let mut out = Outbox::new(node, &mut self.around);
        bridge.advance(time, due, &mut out)?;
        let Some(leaving) = out.leaving else { return Ok(()) };
        let place = bridge.first_port + u32::from(leaving.port);
        self.depart(node, place, leaving)
    }

    #[inline(always)]
    fn act_station(&mut self, time: Time, node: u32, due: Due) -> Result<(), RunError> {
        let Member::Station(station) = &mut self.members[node as usize] else { return Ok(()) };
        let mut out = Outbox::new(node, &mut self.around);
        station.advance(time, due, &mut out)?;
        let Some(leaving) = out.leaving else { return Ok(()) };
        let place = station.first_port;
        self.enter(node, place, leaving)
    }

    #[cold]
    fn act_guest(&mut self, time: Time, node: u32, due: Due) -> Result<(), RunError> {
        let Member::Guest(guest) = &mut self.members[node as usize] else { return Ok(()) };
        guest.advance(time, due, &mut Outbox::new(node, &mut self.around))?;
        self.depart_all(node)
    }

    /// All that a guest has sent, in its order.
    #[cold]
    fn depart_all(&mut self, node: u32) -> Result<(), RunError> {
        let Member::Guest(guest) = &self.members[node as usize] else { return Ok(()) };
        let first_port = guest.first_port;
        let mut sent = std::mem::take(&mut self.around.sent);
        let departed =
            sent.drain(..).try_for_each(|leaving| self.depart(node, first_port + u32::from(leaving.port), leaving));
        self.around.sent = sent;
        departed?;
        self.tell_broken()
    }

    /// At the end of the run, guests tell what they did since they were advanced last.
    fn end_guests(&mut self, end: Time) -> Result<(), RunError> {
        for node in 0..self.members.len() as u32 {
            if let Member::Guest(guest) = &mut self.members[node as usize] {
                guest.end(end, &mut Outbox::new(node, &mut self.around))?;
                self.depart_all(node)?;
            }
        }
        Ok(())
    }

    /// False: the run is to end.
    fn look(&mut self, now: Time, observer: &mut dyn Observer) -> bool {
        if self.looked.elapsed() < PROGRESS {
            return true;
        }
        self.looked = Instant::now();
        observer.progress((now as f64 / self.around.duration.max(1) as f64).min(1.0))
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
}
