// SPDX-License-Identifier: Apache-2.0
//! The run of a network: stations talk, bridges forward, everything is written down.
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use penstock_frame::{BitsPerSecond, Picoseconds};
use thiserror::Error;

use crate::conservation::{Fates, Violation, Way};
use crate::describe::Network;
use crate::node::{Arrival, Node, NodeError, NodeEvent, What};
use crate::source::{Generator, SourceError};
use crate::station::Sender;
use crate::trace::{Event, Reason, Row, Trace};

/// Stations hand over what they send in this time at once. Long enough to cost nothing, short enough for progress.
const STEP_PS: u64 = 1_000_000_000;
/// More of them say no more.
const VIOLATIONS_TOLD: usize = 20;

#[derive(Debug, Error)]
pub enum RunError {
    #[error("{what}")]
    Description { what: String },
    #[error("stream \"{stream}\": {source}")]
    Source { stream: String, source: SourceError },
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error("frames are not conserved: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Conservation(Vec<Violation>),
    #[error("interrupted")]
    Interrupted,
}

/// A frame at a listening port.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub time_ps: u64,
    pub frame: u64,
    pub bytes: Arc<[u8]>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Simulation {
    pub cycles_simulated: u64,
    pub cycles_jumped: u64,
    /// When the last bridge had nothing left to do, or the run was over.
    pub end_ps: u64,
}

pub struct Outcome {
    /// Bridges, then stations, in their order.
    pub nodes: Vec<String>,
    pub streams: Vec<String>,
    pub trace: Trace,
    /// Per listening station, by its place among the stations, in the order of time.
    pub deliveries: Vec<(usize, Vec<Delivery>)>,
    /// Per stream.
    pub fates: Vec<Fates>,
    pub simulation: Simulation,
}

/// Who listens where.
struct Listeners {
    /// Of each stream: (bridge, port) to the number of the listener.
    numbers: Vec<HashMap<(usize, u16), u32>>,
    /// Stations by (bridge, port).
    station_at: HashMap<(usize, u16), usize>,
    listening: Vec<bool>,
}

struct Run<'a> {
    network: &'a Network,
    listeners: Listeners,
    trace: Trace,
    ways: Vec<Way>,
    contents: Vec<Option<Arc<[u8]>>>,
    deliveries: Vec<Vec<Delivery>>,
    violations: Vec<Violation>,
}

/// `nodes` are the bridges in the order of the description. `progress` is told which part is done; false interrupts.
pub fn run(
    network: &Network,
    nodes: &mut [Box<dyn Node>],
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<Outcome, RunError> {
    let listeners = check(network, nodes)?;
    let mut senders = senders(network, nodes)?;
    let mut run = Run {
        network,
        listeners,
        trace: Trace::default(),
        ways: Vec::new(),
        contents: Vec::new(),
        deliveries: vec![Vec::new(); network.stations.len()],
        violations: Vec::new(),
    };
    let mut events = Vec::new();
    let mut now = 0_u64;
    let end = network.duration_ps.saturating_add(network.drain_ps);
    while now < end {
        let talking = now < network.duration_ps;
        let quiet = nodes.iter().all(|node| node.unfinished() == 0);
        if !talking && (quiet || nodes.iter().all(|node| node.idle())) {
            break;
        }
        let mut horizon = now.saturating_add(STEP_PS);
        if quiet {
            let next = senders.iter().filter_map(Sender::next_release).min().unwrap_or(u64::MAX);
            horizon = horizon.max(next.saturating_add(STEP_PS).min(network.duration_ps));
        }
        // Nothing is created between the end of talking and the end of the run.
        horizon = horizon.min(if talking { network.duration_ps } else { end });
        for (index, sender) in senders.iter_mut().enumerate() {
            let station = &network.stations[index];
            while talking && sender.next_release().is_some_and(|release| release < horizon) {
                let taken = sender.take().map_err(|(stream, source)| run.source_error(stream, source))?;
                let Some(departure) = taken else { break };
                let frame = run.create(index, departure.stream, departure.created, &departure.bytes);
                nodes[station.bridge].push(Arrival {
                    frame,
                    port: station.port,
                    time: departure.arrival,
                    bytes: &departure.bytes,
                })?;
            }
        }
        // A frame of the next step may begin its preamble before that step does.
        let lead = senders.iter().map(Sender::lead).max().unwrap_or(0);
        for (bridge, node) in nodes.iter_mut().enumerate() {
            let slack = lead + node.grid().0;
            node.run_until(Picoseconds(horizon.saturating_sub(slack)), &mut events)?;
            for event in events.drain(..) {
                run.take(bridge, event);
            }
        }
        now = horizon;
        if !progress((now as f64 / network.duration_ps.max(1) as f64).min(1.0)) {
            return Err(RunError::Interrupted);
        }
    }
    run.finish(nodes, now)
}

fn wrong(what: String) -> RunError {
    RunError::Description { what }
}

fn check(network: &Network, nodes: &[Box<dyn Node>]) -> Result<Listeners, RunError> {
    if nodes.len() != network.bridges.len() {
        return Err(wrong(format!("{} bridges, but {} nodes", network.bridges.len(), nodes.len())));
    }
    for (bridge, node) in network.bridges.iter().zip(nodes) {
        if bridge.ports != node.ports() {
            let has = node.ports();
            return Err(wrong(format!("bridge \"{}\": {} ports, but its model has {has}", bridge.name, bridge.ports)));
        }
        if let Some(clock) = network.clock.filter(|clock| clock.cycle_ps != node.grid().0) {
            let grid = node.grid().0;
            return Err(wrong(format!(
                "clock.cycle_ps is {}, but that of \"{}\" is {grid}",
                clock.cycle_ps, bridge.name
            )));
        }
    }
    let mut names = HashSet::new();
    let mut station_at = HashMap::new();
    for (index, station) in network.stations.iter().enumerate() {
        let name = &station.name;
        if !names.insert(name) {
            return Err(wrong(format!("two stations are named \"{name}\"")));
        }
        let Some(node) = nodes.get(station.bridge) else {
            return Err(wrong(format!("station \"{name}\": there is no bridge {}", station.bridge)));
        };
        if station.port >= node.ports() {
            return Err(wrong(format!(
                "station \"{name}\": port {} does not exist; 0 to {} are there",
                station.port,
                node.ports() - 1
            )));
        }
        if station.rate_bps != node.rate().0 {
            return Err(wrong(format!(
                "station \"{name}\": {} b/s; its bridge takes {}",
                station.rate_bps,
                node.rate().0
            )));
        }
        if station_at.insert((station.bridge, station.port), index).is_some() {
            return Err(wrong(format!("station \"{name}\": port {} is taken", station.port)));
        }
    }
    let by_name: HashMap<_, _> = network.stations.iter().enumerate().map(|(n, s)| (&s.name, n)).collect();
    let find = |stream: &str, name: &String| {
        by_name.get(name).copied().ok_or_else(|| wrong(format!("stream \"{stream}\": there is no station \"{name}\"")))
    };
    let mut numbers = Vec::new();
    let mut listening = vec![false; network.stations.len()];
    let mut names = HashSet::new();
    for stream in &network.streams {
        if !names.insert(&stream.name) {
            return Err(wrong(format!("two streams are named \"{}\"", stream.name)));
        }
        let from = find(&stream.name, &stream.from)?;
        let mut to = HashMap::new();
        for name in &stream.to {
            let station = find(&stream.name, name)?;
            let place = &network.stations[station];
            if place.bridge != network.stations[from].bridge {
                return Err(wrong(format!("stream \"{}\": no link leads from {} to {name}", stream.name, stream.from)));
            }
            if station == from {
                return Err(wrong(format!("stream \"{}\": {name} would send to itself", stream.name)));
            }
            let number = to.len() as u32;
            if to.insert((place.bridge, place.port), number).is_some() {
                return Err(wrong(format!("stream \"{}\": {name} listens twice", stream.name)));
            }
            listening[station] = true;
        }
        if to.is_empty() {
            return Err(wrong(format!("stream \"{}\": nobody listens", stream.name)));
        }
        numbers.push(to);
    }
    Ok(Listeners { numbers, station_at, listening })
}

fn senders(network: &Network, nodes: &[Box<dyn Node>]) -> Result<Vec<Sender>, RunError> {
    let mut senders: Vec<Sender> = network
        .stations
        .iter()
        .map(|station| {
            let node = &nodes[station.bridge];
            Sender::new(BitsPerSecond(station.rate_bps), station.delay_ps, node.grid(), node.earliest())
        })
        .collect();
    for (index, stream) in network.streams.iter().enumerate() {
        let generator =
            Generator::new(stream).map_err(|source| RunError::Source { stream: stream.name.clone(), source })?;
        let from = network.stations.iter().position(|station| station.name == stream.from);
        if let Some(from) = from {
            senders[from].add(index, generator);
        }
    }
    Ok(senders)
}

impl Run<'_> {
    fn source_error(&self, stream: usize, source: SourceError) -> RunError {
        RunError::Source { stream: self.network.streams[stream].name.clone(), source }
    }

    fn create(&mut self, station: usize, stream: usize, time_ps: u64, bytes: &[u8]) -> u64 {
        let frame = self.ways.len() as u64;
        self.ways.push(Way::new(stream as u32, bytes.len() as u32, Trace::NO_CLASS));
        self.contents.push(Some(bytes.into()));
        let node = self.station_node(station);
        self.row(frame, node, 0, Event::Created, time_ps, Reason::NONE);
        frame
    }

    fn station_node(&self, station: usize) -> u32 {
        (self.network.bridges.len() + station) as u32
    }

    fn row(&mut self, frame: u64, node: u32, port: u16, event: Event, time_ps: u64, reason: Reason) {
        let way = &self.ways[frame as usize];
        let (stream, bytes, traffic_class) = (way.stream, way.bytes, way.traffic_class);
        self.trace.push(Row { frame, stream, node, port, event, time_ps, bytes, traffic_class, reason });
    }

    fn violated(&mut self, violation: Violation) {
        if self.violations.len() < VIOLATIONS_TOLD {
            self.violations.push(violation);
        }
    }

    /// One listener as a mask, none where nobody of the stream listens.
    fn listener_at(&self, frame: u64, bridge: usize, port: u16) -> u64 {
        let stream = self.ways[frame as usize].stream as usize;
        self.listeners.numbers[stream].get(&(bridge, port)).map_or(0, |number| 1 << number)
    }

    fn take(&mut self, bridge: usize, event: NodeEvent) {
        let NodeEvent { frame, port, .. } = event;
        let (time, node) = (event.time.0, bridge as u32);
        if let Some(traffic_class) = event.traffic_class {
            self.ways[frame as usize].traffic_class = traffic_class;
        }
        let listener = self.listener_at(frame, bridge, port);
        let way = &mut self.ways[frame as usize];
        let mut twice = Ok(());
        match event.what {
            What::Received => {
                twice = way.enter();
                if let Some(&station) = self.listeners.station_at.get(&(bridge, port)) {
                    let sent = time.saturating_sub(self.network.stations[station].delay_ps);
                    self.row(frame, self.station_node(station), 0, Event::Sent, sent, Reason::NONE);
                }
                self.row(frame, node, port, Event::Received, time, Reason::NONE);
            }
            What::Queued => {
                twice = way.queue(port);
                self.row(frame, node, port, Event::Queued, time, Reason::NONE);
            }
            What::Eligible => self.row(frame, node, port, Event::Eligible, time, Reason::NONE),
            What::Dropped(reason) => {
                way.miss(u64::MAX, reason);
                self.row(frame, node, port, Event::Dropped, time, reason);
            }
            What::Refused(reason) => {
                way.miss(listener, reason);
                self.row(frame, node, port, Event::Dropped, time, reason);
            }
            What::Expired(reason) => {
                way.miss(listener, reason);
                if !way.unqueue(port) {
                    self.violated(Violation::Order { frame, what: "given up without being queued" });
                }
                self.row(frame, node, port, Event::Dropped, time, reason);
            }
            What::Judged => {
                twice = way.judge();
                self.unforwarded(bridge, frame, time);
            }
            What::Sent => {
                if !way.unqueue(port) {
                    self.violated(Violation::Order { frame, what: "sent without being queued" });
                }
                self.row(frame, node, port, Event::Sent, time, Reason::NONE);
                twice = self.deliver(bridge, event);
            }
            What::Damaged => self.violated(Violation::Damaged { frame, port }),
        }
        if let Err(what) = twice {
            self.violated(Violation::Twice { frame, what });
        }
        if !self.ways[frame as usize].is_unfinished() {
            self.contents[frame as usize] = None;
        }
    }

    /// Listeners at whose ports no copy was queued, nor refused, miss the frame too.
    fn unforwarded(&mut self, bridge: usize, frame: u64, time: u64) {
        let stream = self.ways[frame as usize].stream as usize;
        let mut missed: Vec<(u16, u32)> = Vec::new();
        for (&(_, port), &number) in &self.listeners.numbers[stream] {
            let way = &self.ways[frame as usize];
            if !way.is_queued(port) && !way.has_missed(number) {
                missed.push((port, number));
            }
        }
        missed.sort_unstable();
        for (port, number) in missed {
            self.ways[frame as usize].miss(1 << number, Reason::NO_DESTINATION);
            self.row(frame, bridge as u32, port, Event::Dropped, time, Reason::NO_DESTINATION);
        }
    }

    fn deliver(&mut self, bridge: usize, event: NodeEvent) -> Result<(), &'static str> {
        let Some(&station) = self.listeners.station_at.get(&(bridge, event.port)) else { return Ok(()) };
        let time_ps = event.time.0 + self.network.stations[station].delay_ps;
        let frame = event.frame;
        if self.listeners.listening[station] {
            if let Some(bytes) = self.contents[frame as usize].clone() {
                self.deliveries[station].push(Delivery { time_ps, frame, bytes });
            }
        }
        let listener = self.listener_at(frame, bridge, event.port);
        if listener == 0 {
            return Ok(()); // flooded to a station that does not listen to it
        }
        let result = self.ways[frame as usize].reach(listener.trailing_zeros());
        self.row(frame, self.station_node(station), 0, Event::Delivered, time_ps, Reason::NONE);
        result
    }

    fn finish(mut self, nodes: &[Box<dyn Node>], end_ps: u64) -> Result<Outcome, RunError> {
        let mut fates = vec![Fates::default(); self.network.streams.len()];
        for way in &self.ways {
            let stream = way.stream as usize;
            let listeners = (1 << self.listeners.numbers[stream].len()) - 1;
            way.count(listeners, &mut fates[stream]);
        }
        let by_trace = self.ways.iter().filter(|way| way.is_unfinished()).count() as u64;
        let by_nodes: u64 = nodes.iter().map(|node| node.unfinished()).sum();
        if by_trace != by_nodes {
            self.violated(Violation::Count { trace: by_trace, nodes: by_nodes });
        }
        let lost: u64 = nodes.iter().filter(|node| node.idle()).map(|node| node.unfinished()).sum();
        if lost > 0 {
            self.violated(Violation::Lost { frames: lost });
        }
        if !self.violations.is_empty() {
            return Err(RunError::Conservation(self.violations));
        }
        self.trace.sort();
        let cycles = nodes.iter().map(|node| node.cycles());
        let (cycles_simulated, cycles_jumped) = cycles.fold((0, 0), |sum, c| (sum.0 + c.0, sum.1 + c.1));
        let listening = self.listeners.listening;
        let deliveries = self.deliveries.into_iter().enumerate().filter(|(station, _)| listening[*station]);
        let bridges = self.network.bridges.iter().map(|bridge| bridge.name.clone());
        Ok(Outcome {
            nodes: bridges.chain(self.network.stations.iter().map(|station| station.name.clone())).collect(),
            streams: self.network.streams.iter().map(|stream| stream.name.clone()).collect(),
            trace: self.trace,
            deliveries: deliveries.collect(),
            fates,
            simulation: Simulation { cycles_simulated, cycles_jumped, end_ps },
        })
    }
}
