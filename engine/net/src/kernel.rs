// SPDX-License-Identifier: Apache-2.0
//! The loop: takes the next event, lets its node act, and carries what it sends to the next node.
use std::time::{Duration, Instant};

use crate::bridge::{Arrival, Bridge, Judgement, Selection};
use crate::capture::Captures;
use crate::clock::{Clock, CYCLE_PS};
use crate::conservation::{Fates, Violation, Violations};
use crate::error::RunError;
use crate::frames::{Frame, Frames, NONE};
use crate::header::Headers;
use crate::link::Wire;
use crate::node::{Node, Push, Told, LEAD_TICKS};
use crate::queue::{self, Kind, Queue};
use crate::routes::Route;
use crate::source::{Generator, Release};
use crate::station::{Next, Station};
use crate::statistics::StreamStatistics;
use crate::trace::{Columns, Event, Reason, Row, Trace};

/// Who takes what a run gives while it goes on.
pub trait Observer {
    /// Rows, in the order in which they became known. False: they could not be taken, and the run fails.
    fn rows(&mut self, rows: &Columns) -> bool;
    /// Which part of the duration is over. False interrupts the run.
    fn progress(&mut self, done: f64) -> bool;
}

/// Between two calls of [`Observer::progress`], at the least.
const PROGRESS: Duration = Duration::from_millis(50);
/// Events between two looks at the clock on the wall.
const EVENTS_PER_LOOK: u32 = 4_096;

pub(crate) enum BridgeNode {
    Model { bridge: Box<Bridge>, clock: Clock, copies: u64 },
    External { node: Box<dyn Node>, clock: Clock },
}

/// A station that a stream is meant for.
pub(crate) struct Listener {
    pub station: u32,
    pub last_delivered: Option<u64>,
}

pub(crate) struct StreamState {
    pub generator: Generator,
    /// Among the stations.
    pub talker: u32,
    /// In the order of stations.
    pub listeners: Vec<Listener>,
    pub route: Route,
    /// Streams that answer this one.
    pub answers: Vec<u32>,
    pub statistics: StreamStatistics,
    pub fates: Fates,
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
    /// Per bridge, where its ports begin in `wires`.
    pub first_wire: Vec<u32>,
    /// Of the egress ports of bridges; none where no link is.
    pub wires: Vec<Option<Wire>>,
    pub streams: Vec<StreamState>,
    pub frames: Frames,
    pub headers: Headers,
    pub trace: Trace,
    pub captures: Captures,
    pub violations: Violations,
    pub exact_up_to: usize,
    /// Sources create frames before this.
    pub duration: u64,
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
        Ok(ended)
    }

    fn run_models(&mut self, end: u64, observer: &mut dyn Observer) -> Result<Ended, RunError> {
        let mut left = EVENTS_PER_LOOK;
        let mut judgement = Judgement::default();
        while let Some(event) = self.queue.pop_before(end) {
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

    /// Models and others in turns. What the others select in a slice reaches no node before the slice is over.
    fn run_mixed(&mut self, end: u64, externals: &[u32], observer: &mut dyn Observer) -> Result<Ended, RunError> {
        let slice = self.lookahead(externals);
        let mut judgement = Judgement::default();
        let mut now = 0;
        while now < end {
            let busy = externals.iter().any(|&bridge| match &self.bridges[bridge as usize] {
                BridgeNode::External { node, .. } => node.busy(),
                BridgeNode::Model { .. } => false,
            });
            if !busy {
                let Some(next) = self.queue.next_time() else { return Ok(Ended::Done) };
                now = next.max(now);
            }
            let until = now.saturating_add(slice).min(end);
            while let Some(event) = self.queue.pop_before(until) {
                self.act(event, &mut judgement)?;
            }
            for &bridge in externals {
                self.run_external(bridge, until)?;
            }
            now = until;
            if self.trace.is_full() {
                self.hand_out(observer)?;
            }
            if !self.look(now, observer) {
                return Ok(Ended::Interrupted);
            }
        }
        self.simulation.end_ps = end;
        Ok(Ended::Done)
    }

    /// From a selection by an external node to the first effect on another node, at the least.
    fn lookahead(&self, externals: &[u32]) -> u64 {
        let delays = externals.iter().flat_map(|&bridge| {
            let first = self.first_wire[bridge as usize] as usize;
            let last = self.first_wire.get(bridge as usize + 1).map_or(self.wires.len(), |&next| next as usize);
            self.wires[first..last].iter().flatten().map(|wire| wire.delay_ps)
        });
        LEAD_TICKS * CYCLE_PS + delays.min().unwrap_or(0)
    }

    fn run_external(&mut self, bridge: u32, until: u64) -> Result<(), RunError> {
        let BridgeNode::External { node, clock } = &mut self.bridges[bridge as usize] else { return Ok(()) };
        if !node.busy() {
            return Ok(());
        }
        let clock = *clock;
        let mut told = std::mem::take(&mut self.told);
        node.run_until(clock.at_or_after(until), &mut told)?;
        for told in told.drain(..) {
            match told {
                Told::Verdict(port, verdict) => {
                    let at = clock.time(verdict.decided);
                    self.passed(at);
                    self.verdict(bridge, port, clock, &verdict);
                }
                Told::Sent { frame, port, traffic_class, first } => {
                    self.sent(bridge, port, frame, clock.time(first), traffic_class)?;
                }
                Told::Expired { frame, port, traffic_class, at } => {
                    let at = clock.time(at);
                    self.passed(at);
                    self.expired(bridge, port, frame, at, traffic_class);
                }
                Told::Damaged { id, port } => {
                    self.violations.add(Violation::Damaged { frame: id, node: bridge, port });
                }
            }
        }
        self.told = told;
        Ok(())
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
        let taken = observer.rows(&self.trace.chunk);
        self.trace.chunk.clear();
        if taken {
            Ok(())
        } else {
            Err(RunError::Refused)
        }
    }

    #[inline]
    fn passed(&mut self, time: u64) {
        self.simulation.end_ps = self.simulation.end_ps.max(time);
    }

    #[inline]
    fn act(&mut self, event: queue::Event, judgement: &mut Judgement) -> Result<(), RunError> {
        self.simulation.events += 1;
        self.passed(event.time());
        match event.kind() {
            Kind::Judge => self.judge(event.time(), event.node(), event.index() as u16, judgement),
            Kind::Select if (event.node() as usize) < self.bridges.len() => {
                return self.select(event.time(), event.node(), event.index() as u16);
            }
            Kind::Select => return self.talk(event.time(), event.node() - self.bridges.len() as u32),
            Kind::Release => self.release(event.time(), event.index()),
        }
        Ok(())
    }

    #[inline]
    fn row(&mut self, slot: u32, node: u32, port: u16, event: Event, time_ps: u64, traffic_class: u8, reason: Reason) {
        if self.trace.wants(event, node) {
            let frame = self.frames.get(slot);
            let (frame, stream, bytes) = (frame.id, frame.stream, u32::from(frame.bytes));
            self.trace.chunk.push(Row { frame, stream, node, port, event, time_ps, bytes, traffic_class, reason });
        }
    }

    // ---- stations

    fn node_of(&self, station: u32) -> u32 {
        self.bridges.len() as u32 + station
    }

    /// Puts the next release of a stream into the queue, if it is in this run.
    fn plan_release(&mut self, index: u32) {
        let stream = &mut self.streams[index as usize];
        let clock = self.stations[stream.talker as usize].clock;
        let time = loop {
            match stream.generator.next_release() {
                None | Some(Release::OnRequest) => return,
                Some(Release::WhenFree(start)) => {
                    let pause = stream.generator.pause();
                    break clock.time_of_schedule(start.saturating_add(pause)).unwrap_or(0);
                }
                Some(Release::At(local)) => match clock.time_of_schedule(local) {
                    Some(time) => break time,
                    // Before the run; nobody saw it.
                    None => _ = stream.generator.take(),
                },
            }
        };
        let node = self.node_of(self.streams[index as usize].talker);
        if time < self.duration {
            self.queue.push(queue::Event::new(time, Kind::Release, node, index));
        }
    }

    fn release(&mut self, now: u64, index: u32) {
        let stream = &mut self.streams[index as usize];
        let talker = stream.talker;
        match stream.generator.next_release() {
            None => return,
            Some(Release::WhenFree(_)) => self.stations[talker as usize].set_ready(index, true),
            Some(Release::OnRequest) => self.queue_frame(now, index),
            Some(Release::At(local)) => {
                let mut local = local;
                loop {
                    self.queue_frame(now, index);
                    // What is released at the same instant needs no event of its own.
                    match self.streams[index as usize].generator.next_release() {
                        Some(Release::At(next)) if next == local => local = next,
                        _ => break,
                    }
                }
                self.plan_release(index);
            }
        }
        let node = self.node_of(talker);
        let station = &mut self.stations[talker as usize];
        if !station.awaited && station.has_next() {
            station.awaited = true;
            self.queue.push(queue::Event::new(now.max(station.free_at), Kind::Select, node, 0));
        }
    }

    fn queue_frame(&mut self, now: u64, index: u32) {
        let (slot, class) = self.create(now, index);
        let talker = self.streams[index as usize].talker as usize;
        self.stations[talker].queue(&mut self.frames, slot, class);
    }

    /// A new frame of a stream, and its class at the talker.
    fn create(&mut self, now: u64, index: u32) -> (u32, u8) {
        let stream = &mut self.streams[index as usize];
        let released = stream.generator.take();
        let listeners = stream.listeners.len() as u32;
        stream.statistics.frames += 1;
        stream.statistics.copies += u64::from(listeners);
        stream.fates.created += 1;
        let talker = stream.talker;
        let pcp = self.headers.get(released.header).tag.map_or(0, |tag| tag.pcp);
        let slot = self.frames.insert(Frame {
            id: self.created,
            created: now,
            sent: 0,
            reached: 0,
            number: released.number,
            stream: index,
            header: released.header,
            copies: 1,
            open: listeners,
            next: NONE,
            hop: 0,
            bytes: released.bytes,
            reason: Reason::NONE,
        });
        self.created += 1;
        self.row(slot, self.node_of(talker), 0, Event::Created, now, Trace::NO_CLASS, Reason::NONE);
        (slot, self.stations[talker as usize].class_of_pcp[usize::from(pcp & 7)])
    }

    /// A station selects what it sends.
    fn talk(&mut self, now: u64, index: u32) -> Result<(), RunError> {
        let node = self.node_of(index);
        let station = &mut self.stations[index as usize];
        station.awaited = false;
        let slot = match station.select(&self.frames) {
            None => return Ok(()),
            Some(Next::Queued(slot)) => slot,
            Some(Next::Greedy(stream)) if now < self.duration => self.create(now, stream).0,
            Some(Next::Greedy(stream)) => {
                station.set_ready(stream, false);
                station.awaited = true;
                self.queue.push(queue::Event::new(now, Kind::Select, node, 0));
                return Ok(());
            }
        };
        let frame = self.frames.get_mut(slot);
        let (bytes, stream_index) = (u32::from(frame.bytes), frame.stream);
        let station = &mut self.stations[index as usize];
        let wire = station.wire;
        let first = station.clock.after(now, wire.rate.lead());
        station.free_at = station.clock.after(now, wire.rate.occupancy(bytes));
        let free_at = station.free_at;
        frame.sent = first;
        let wait = first - frame.created;
        let stream = &mut self.streams[stream_index as usize];
        stream.statistics.talker_wait_ps.add(wait, self.exact_up_to);
        if let Some(Release::WhenFree(_)) | None = stream.generator.next_release() {
            self.refill(stream_index, free_at);
        }
        let station = &mut self.stations[index as usize];
        if station.has_next() {
            station.awaited = true;
            self.queue.push(queue::Event::new(free_at, Kind::Select, node, 0));
        }
        self.row(slot, node, 0, Event::Sent, first, Trace::NO_CLASS, Reason::NONE);
        self.carry(slot, wire, first, Trace::NO_CLASS)
    }

    /// A stream that sends whenever the port is free has sent a frame, and may have no more, or pause.
    fn refill(&mut self, index: u32, free_at: u64) {
        let stream = &mut self.streams[index as usize];
        let talker = stream.talker as usize;
        match stream.generator.next_release() {
            Some(Release::WhenFree(_)) if stream.generator.has_jitter() => {
                let pause = stream.generator.pause();
                let again = self.stations[talker].clock.after(free_at, pause);
                self.stations[talker].set_ready(index, false);
                if again < self.duration {
                    let node = self.node_of(talker as u32);
                    self.queue.push(queue::Event::new(again, Kind::Release, node, index));
                }
            }
            Some(Release::WhenFree(_)) => {}
            _ => self.stations[talker].set_ready(index, false),
        }
    }

    // ---- links

    /// A copy goes over a wire; its first bit after the delimiter leaves at `first`.
    #[inline]
    fn carry(&mut self, slot: u32, wire: Wire, first: u64, traffic_class: u8) -> Result<(), RunError> {
        self.simulation.frame_hops += 1;
        let arrives = first.saturating_add(wire.delay_ps);
        let Some(node) = self.bridges.get_mut(wire.node as usize) else {
            return self.deliver(slot, wire, arrives, traffic_class);
        };
        let received = match node {
            BridgeNode::Model { bridge, clock, copies } => {
                let tick = clock.at_or_after(arrives);
                let frame = self.frames.get(slot);
                let arrival =
                    Arrival { frame: slot, header: frame.header, bytes: frame.bytes, first: tick, fault: Reason::NONE };
                let due = bridge.arrive(wire.port, arrival);
                *copies += 1;
                self.queue.push(queue::Event::new(clock.time(due), Kind::Judge, wire.node, u32::from(wire.port)));
                clock.time(tick)
            }
            BridgeNode::External { node, clock } => {
                let tick = clock.at_or_after(arrives);
                let frame = self.frames.get(slot);
                let stream = &self.streams[frame.stream as usize];
                // What was built once can be built again.
                if stream.generator.fill(frame.number, frame.bytes, &mut self.buffer).is_ok() {
                    node.push(Push { id: frame.id, frame: slot, port: wire.port, first: tick, bytes: &self.buffer })?;
                }
                clock.time(tick)
            }
        };
        self.row(slot, wire.node, wire.port, Event::Received, received, traffic_class, Reason::NONE);
        Ok(())
    }

    fn deliver(&mut self, slot: u32, wire: Wire, time: u64, traffic_class: u8) -> Result<(), RunError> {
        let station = wire.node - self.bridges.len() as u32;
        self.passed(time);
        let frame = self.frames.get_mut(slot);
        let stream = &mut self.streams[frame.stream as usize];
        if self.captures.wants(station as usize)
            && stream.generator.fill(frame.number, frame.bytes, &mut self.buffer).is_ok()
        {
            self.captures.add(station as usize, time, &self.buffer)?;
        }
        let place = match &stream.listeners[..] {
            [only] => (only.station == station).then_some(0),
            several => several.binary_search_by_key(&station, |listener| listener.station).ok(),
        };
        if let Some(place) = place {
            let twice = place < 64 && frame.reached >> place & 1 != 0;
            if twice || frame.open == 0 {
                self.violations.add(Violation::Twice { frame: frame.id, stream: frame.stream, what: "delivered" });
            } else {
                frame.open -= 1;
            }
            frame.reached |= 1_u64.checked_shl(place as u32).unwrap_or(0);
            let statistics = &mut stream.statistics;
            statistics.delivered += 1;
            statistics.delivered_wire_bytes += u64::from(frame.bytes) + 20;
            statistics.latency_ps.add(time - frame.sent, self.exact_up_to);
            let last = stream.listeners[place].last_delivered.replace(time);
            if let Some(last) = last {
                statistics.interval_ps.add(time - last, self.exact_up_to);
            }
            statistics.first_delivered_ps = Some(statistics.first_delivered_ps.map_or(time, |first| first.min(time)));
            statistics.last_delivered_ps = Some(statistics.last_delivered_ps.map_or(time, |last| last.max(time)));
            let (stream_index, bytes) = (frame.stream, frame.bytes);
            self.row(slot, wire.node, 0, Event::Delivered, time, traffic_class, Reason::NONE);
            if !self.streams[stream_index as usize].answers.is_empty() {
                self.answer(stream_index, station, time + wire.rate.duration(u32::from(bytes)));
            }
        }
        self.leave(slot);
        Ok(())
    }

    /// A frame has come whole to a listener; streams of this station may answer it.
    fn answer(&mut self, stream: u32, station: u32, came: u64) {
        for n in 0..self.streams[stream as usize].answers.len() {
            let index = self.streams[stream as usize].answers[n];
            let answer = &mut self.streams[index as usize];
            if answer.talker != station {
                continue;
            }
            let clock = self.stations[station as usize].clock;
            let Some(local) = answer.generator.answer(clock.schedule_at(came)) else { continue };
            let time = clock.time_of_schedule(local).unwrap_or(came).max(came);
            if time < self.duration {
                let node = self.node_of(station);
                self.queue.push(queue::Event::new(time, Kind::Release, node, index));
            }
        }
    }

    // ---- bridges

    #[inline]
    fn judge(&mut self, time: u64, node: u32, port: u16, judgement: &mut Judgement) {
        let BridgeNode::Model { bridge, clock, copies } = &mut self.bridges[node as usize] else { return };
        let clock = *clock;
        bridge.judge(clock.at_or_before(time), port, &self.headers, judgement);
        for &(egress, tick) in &judgement.wakes {
            self.queue.push(queue::Event::new(clock.time(tick), Kind::Select, node, u32::from(egress)));
        }
        *copies = *copies + u64::from(judgement.destination.count_ones()) - 1;
        self.verdict(node, port, clock, judgement);
    }

    fn verdict(&mut self, node: u32, port: u16, clock: Clock, verdict: &Judgement) {
        let slot = verdict.frame;
        let frame = self.frames.get_mut(slot);
        let stream = &self.streams[frame.stream as usize];
        let hop = stream.route.find(node, frame.hop);
        if let Some(hop) = hop {
            frame.hop = hop;
        }
        if verdict.reason != Reason::NONE {
            let behind = hop.map_or(0, |hop| stream.route.behind_all(hop));
            self.row(slot, node, port, Event::Dropped, clock.time(verdict.decided), Trace::NO_CLASS, verdict.reason);
            self.miss(slot, behind, verdict.reason);
            self.leave(slot);
            return;
        }
        let wanted = hop.map_or(0, |hop| stream.route.ports(hop));
        let copies = verdict.destination.count_ones();
        frame.copies += copies;
        if self.trace.wants(Event::Queued, node) || self.trace.wants(Event::Eligible, node) {
            let (at, visible) = (clock.time(verdict.decided), clock.time(verdict.visible));
            for egress in ports(verdict.destination) {
                self.row(slot, node, egress, Event::Queued, at, verdict.traffic_class, Reason::NONE);
                if verdict.shaped {
                    self.row(slot, node, egress, Event::Eligible, visible, verdict.traffic_class, Reason::NONE);
                }
            }
        }
        if verdict.refused() | (wanted & !verdict.destination) != 0 {
            self.refuse(node, clock, verdict, hop, wanted);
        }
        self.leave(slot); // the copy that came in
    }

    /// Copies that were not queued, and listeners behind ports to which nothing was forwarded.
    #[cold]
    fn refuse(&mut self, node: u32, clock: Clock, verdict: &Judgement, hop: Option<u32>, wanted: u64) {
        let at = clock.time(verdict.decided);
        let slot = verdict.frame;
        for egress in ports(verdict.refused() | (wanted & !verdict.destination)) {
            let refused = verdict.refused() >> egress & 1 != 0;
            let reason = if refused { verdict.refused_reason(egress) } else { Reason::NO_DESTINATION };
            self.row(slot, node, egress, Event::Dropped, at, verdict.traffic_class, reason);
            let stream = self.frames.get(slot).stream as usize;
            let behind = hop.map_or(0, |hop| self.streams[stream].route.behind(hop, egress));
            self.miss(slot, behind, reason);
        }
    }

    #[inline]
    fn select(&mut self, time: u64, node: u32, port: u16) -> Result<(), RunError> {
        let BridgeNode::Model { bridge, clock, copies } = &mut self.bridges[node as usize] else { return Ok(()) };
        let clock = *clock;
        let now = clock.at_or_before(time);
        match bridge.select(now, port) {
            Selection::Stale => Ok(()),
            Selection::Idle { next } => {
                if let Some(next) = next {
                    self.queue.push(queue::Event::new(clock.time(next), Kind::Select, node, u32::from(port)));
                }
                Ok(())
            }
            Selection::Sent { frame, traffic_class, first, next, .. } => {
                *copies -= 1;
                if let Some(next) = next {
                    self.queue.push(queue::Event::new(clock.time(next), Kind::Select, node, u32::from(port)));
                }
                self.sent(node, port, frame, clock.time(first), traffic_class)
            }
            Selection::Expired { frame, traffic_class, next, at: _ } => {
                *copies -= 1;
                if let Some(next) = next {
                    self.queue.push(queue::Event::new(clock.time(next), Kind::Select, node, u32::from(port)));
                }
                self.expired(node, port, frame, time, traffic_class);
                Ok(())
            }
        }
    }

    #[inline]
    fn sent(&mut self, node: u32, port: u16, slot: u32, first: u64, traffic_class: u8) -> Result<(), RunError> {
        self.row(slot, node, port, Event::Sent, first, traffic_class, Reason::NONE);
        match self.wires[self.first_wire[node as usize] as usize + usize::from(port)] {
            Some(wire) => self.carry(slot, wire, first, traffic_class),
            None => {
                self.simulation.frame_hops += 1;
                self.leave(slot);
                Ok(())
            }
        }
    }

    fn expired(&mut self, node: u32, port: u16, slot: u32, at: u64, traffic_class: u8) {
        self.row(slot, node, port, Event::Dropped, at, traffic_class, Reason::LIFETIME);
        let frame = self.frames.get(slot);
        let route = &self.streams[frame.stream as usize].route;
        let behind = route.find(node, frame.hop).map_or(0, |hop| route.behind(hop, port));
        self.miss(slot, behind, Reason::LIFETIME);
        self.leave(slot);
    }

    // ---- the end of a copy

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

    #[inline]
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

    /// Holds what is left against what the nodes say that they hold.
    pub fn settle(&mut self, ended: Ended) {
        for frame in self.frames.live() {
            let stream = &mut self.streams[frame.stream as usize];
            stream.statistics.inside += u64::from(frame.open);
            match frame.reason {
                Reason::NONE if frame.open == 0 => stream.fates.delivered += 1, // other copies still flood somewhere
                Reason::NONE => stream.fates.inside += 1,
                reason => *stream.fates.dropped.entry(reason).or_default() += 1,
            }
        }
        let idle = ended == Ended::Done && self.queue.next_time().is_none();
        for (index, bridge) in self.bridges.iter().enumerate() {
            let node = index as u32;
            match bridge {
                BridgeNode::Model { bridge, copies, .. } => {
                    let holds = bridge.inside();
                    if holds != *copies {
                        self.violations.add(Violation::Count { node, holds, given: *copies });
                    } else if idle && holds > 0 {
                        self.violations.add(Violation::Stuck { node, copies: holds });
                    }
                }
                BridgeNode::External { node: external, .. } => {
                    let (given, holds) = external.unfinished();
                    if given != holds {
                        self.violations.add(Violation::Count { node, holds, given });
                    } else if !external.busy() && holds > 0 {
                        self.violations.add(Violation::Stuck { node, copies: holds });
                    }
                    let (simulated, jumped) = external.cycles();
                    self.simulation.cycles_simulated += simulated;
                    self.simulation.cycles_jumped += jumped;
                }
            }
        }
        for (index, stream) in self.streams.iter().enumerate() {
            let statistics = &stream.statistics;
            let dropped = statistics.dropped.iter().sum();
            let (created, delivered, inside) = (statistics.copies, statistics.delivered, statistics.inside);
            if created != delivered + dropped + inside {
                let stream = index as u32;
                self.violations.add(Violation::Sum { stream, created, delivered, dropped, inside });
            }
        }
    }
}

/// The ports of a mask.
fn ports(mut mask: u64) -> impl Iterator<Item = u16> {
    std::iter::from_fn(move || {
        let port = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (port < 64).then_some(port as u16)
    })
}
