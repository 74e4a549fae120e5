// SPDX-License-Identifier: Apache-2.0
//! From a description to a kernel, and from the kernel to what a run leaves.
use std::collections::HashSet;
use std::time::Instant;

use crate::bridge::{Bridge, Memos, Timing};
use crate::capture::Captures;
use crate::clock::Clock;
use crate::conformance::Conformance;
use crate::conservation::{Fates, Violations};
use crate::describe::{self, BridgeKind, Network, Place};
use crate::error::{wrong, RunError};
use crate::frames::Frames;
use crate::header::Headers;
use crate::kernel::{ahead, BridgeNode, Ended, Kernel, Listener, Listeners, Observer, Simulation, StreamState};
use crate::limits;
use crate::link::{Rate, Wire};
use crate::node::Node;
use crate::queue::{Queue, MOST_NODES};
use crate::routes::{Graph, Routes};
use crate::source::{Generator, Release};
use crate::station::{Room, Shaped, Station};
use crate::statistics::StreamStatistics;
use crate::trace::{Event, Filter, Trace};

pub struct Outcome {
    /// Bridges, then stations, in their order.
    pub nodes: Vec<String>,
    pub streams: Vec<String>,
    /// Per stream.
    pub fates: Vec<Fates>,
    pub statistics: Vec<StreamStatistics>,
    pub simulation: Simulation,
    pub interrupted: bool,
}

/// `hardware` are the bridges that are no models, in the order of the description.
pub fn run(network: Network, hardware: Vec<Box<dyn Node>>, observer: &mut dyn Observer) -> Result<Outcome, RunError> {
    let mut kernel = prepare(&network, hardware)?;
    let end = network.duration_ps.saturating_add(network.drain_ps);
    let bridges = network.bridges.iter().map(|bridge| bridge.name.clone());
    let nodes = bridges.chain(network.stations.iter().map(|station| station.name.clone())).collect();
    let streams = network.streams.iter().map(|stream| stream.name.clone()).collect();
    // That of a large network takes as much memory as the run.
    drop(network);
    kernel.start();
    let ended = kernel.run(end, observer)?;
    kernel.settle(ended);
    let violations = kernel.violations.into_inner();
    if !violations.is_empty() {
        return Err(RunError::Conservation(violations));
    }
    let (fates, statistics) = kernel.streams.into_iter().map(|stream| (stream.fates, stream.statistics)).unzip();
    let interrupted = ended == Ended::Interrupted;
    Ok(Outcome { nodes, streams, fates, statistics, simulation: kernel.simulation, interrupted })
}

fn prepare(network: &Network, hardware: Vec<Box<dyn Node>>) -> Result<Kernel, RunError> {
    limits::check(network)?;
    let wires = Wires::new(network)?;
    let mut headers = Headers::default();
    let mut routes = Routes::default();
    let streams = streams(network, &mut headers, &mut routes)?;
    let stations = stations(network, &wires)?;
    let mut listens = vec![false; network.stations.len()];
    for &listener in network.streams.iter().flat_map(|stream| &stream.to) {
        listens[listener] = true;
    }
    let named = network.stations.iter().zip(listens).map(|(station, listens)| (&*station.name, listens));
    let mut kernel = Kernel {
        queue: Queue::default(),
        bridges: bridges(network, hardware, &wires)?,
        stations,
        wires: wires.of_bridges,
        streams,
        memos: Memos::new(routes.hops()),
        is_large: ahead::is_large(routes.hops()),
        routes,
        frames: Frames::default(),
        headers,
        trace: Trace::new(filter(network)?),
        captures: Captures::new(network.captures.as_deref(), named)?,
        violations: Violations::default(),
        exact_up_to: network.statistics.exact_up_to,
        duration: network.duration_ps,
        until: 0,
        simulation: Simulation::default(),
        told: Vec::new(),
        buffer: Vec::new(),
        created: 0,
        looked: Instant::now(),
    };
    add_greedy(&mut kernel);
    Ok(kernel)
}

/// Where all egress ports lead.
struct Wires {
    first: Vec<u32>,
    of_bridges: Vec<Option<Wire>>,
    of_stations: Vec<Option<Wire>>,
}

impl Wires {
    fn new(network: &Network) -> Result<Self, RunError> {
        let bridges = network.bridges.len();
        let nodes = bridges + network.stations.len();
        if nodes > MOST_NODES {
            return Err(wrong(format!("{nodes} nodes; up to {MOST_NODES} are allowed")));
        }
        let mut first = Vec::with_capacity(bridges);
        let mut ports = 0;
        for bridge in &network.bridges {
            if !(1..=64).contains(&bridge.ports) {
                let (name, has) = (&bridge.name, bridge.ports);
                return Err(wrong(format!("bridge \"{name}\": {has} ports; 1 to 64 are allowed")));
            }
            first.push(ports);
            ports += u32::from(bridge.ports);
        }
        let mut wires =
            Self { first, of_bridges: vec![None; ports as usize], of_stations: vec![None; network.stations.len()] };
        for link in &network.links {
            if !(Rate::LEAST..=Rate::MOST).contains(&link.rate_bps) {
                return Err(wrong(format!(
                    "link of {:?} and {:?}: rate_bps is {}; {} to {} are allowed",
                    link.a,
                    link.b,
                    link.rate_bps,
                    Rate::LEAST,
                    Rate::MOST
                )));
            }
            if link.a.0 == link.b.0 {
                return Err(wrong(format!("a link of {:?} and {:?}: it has to join two nodes", link.a, link.b)));
            }
            let rate = Rate::new(link.rate_bps);
            for (from, to) in [(link.a, link.b), (link.b, link.a)] {
                let wire = Wire { node: to.0 as u32, port: to.1, rate, delay_ps: link.delay_ps };
                let place = wires.place(network, from)?;
                if place.replace(wire).is_some() {
                    let name = name(network, from.0);
                    return Err(wrong(format!("port {} of \"{name}\" has two links; one is allowed", from.1)));
                }
            }
        }
        Ok(wires)
    }

    fn place(&mut self, network: &Network, (node, port): Place) -> Result<&mut Option<Wire>, RunError> {
        let bridges = network.bridges.len();
        if let Some(bridge) = network.bridges.get(node) {
            if port < bridge.ports {
                return Ok(&mut self.of_bridges[self.first[node] as usize + usize::from(port)]);
            }
            let (name, last) = (&bridge.name, bridge.ports - 1);
            return Err(wrong(format!("a link of port {port} of \"{name}\"; 0 to {last} are there")));
        }
        match self.of_stations.get_mut(node - bridges) {
            Some(wire) if port == 0 => Ok(wire),
            Some(_) => {
                let name = name(network, node);
                Err(wrong(format!("a link of port {port} of station \"{name}\"; it has port 0 only")))
            }
            None => {
                Err(wrong(format!("a link of node {node}; 0 to {} are there", bridges + network.stations.len() - 1)))
            }
        }
    }

    fn of_bridge(&self, bridge: usize, ports: u16) -> &[Option<Wire>] {
        let first = self.first[bridge] as usize;
        &self.of_bridges[first..first + usize::from(ports)]
    }
}

/// Of a node that exists.
fn name(network: &Network, node: usize) -> &str {
    let bridges = network.bridges.len();
    network.bridges.get(node).map_or_else(|| &*network.stations[node - bridges].name, |bridge| &*bridge.name)
}

fn once<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> Result<(), RunError> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(wrong(format!("two {what} are named \"{name}\"")));
        }
    }
    Ok(())
}

fn bridges(network: &Network, hardware: Vec<Box<dyn Node>>, wires: &Wires) -> Result<Vec<BridgeNode>, RunError> {
    let stations = network.stations.iter().map(|station| &station.name);
    once("nodes", network.bridges.iter().map(|bridge| &bridge.name).chain(stations))?;
    let mut hardware = hardware.into_iter();
    let mut made = Vec::new();
    for (index, bridge) in network.bridges.iter().enumerate() {
        let name = &bridge.name;
        let describe::Clock { offset_ps, drift_ppb } = bridge.clock;
        let clocked = |source| RunError::Clock { node: name.clone(), source };
        let hardware_like = bridge.kind == BridgeKind::Rtl || bridge.timing == describe::Timing::Hardware;
        let clock = if hardware_like { Clock::cycles(offset_ps, drift_ppb) } else { Clock::fine(offset_ps, drift_ppb) };
        let clock = clock.map_err(clocked)?;
        let rates = wires.of_bridge(index, bridge.ports);
        if hardware_like {
            if let Some(wire) = rates.iter().flatten().find(|wire| wire.rate.bps() != HARDWARE_BPS) {
                let rate = wire.rate.bps();
                return Err(wrong(format!(
                    "bridge \"{name}\": a link of {rate} b/s; its timing allows {HARDWARE_BPS} only"
                )));
            }
        }
        made.push(match bridge.kind {
            BridgeKind::Rtl => {
                let node = hardware.next().ok_or_else(|| wrong(format!("bridge \"{name}\": no hardware for it")))?;
                if node.ports() != bridge.ports {
                    let (has, wanted) = (node.ports(), bridge.ports);
                    return Err(wrong(format!("bridge \"{name}\": {wanted} ports, but its hardware has {has}")));
                }
                BridgeNode::External { node, clock, copies: 0, first_wire: wires.first[index] }
            }
            BridgeKind::Model => {
                let timing = match bridge.timing {
                    describe::Timing::Hardware => Timing::Hardware,
                    describe::Timing::Ideal { processing_delay_ps, cut_through } => Timing::Ideal {
                        processing_delay_ps,
                        cut_through,
                        // A port without a link sends as fast as any.
                        rates_bps: rates.iter().map(|wire| wire.map_or(HARDWARE_BPS, |wire| wire.rate.bps())).collect(),
                    },
                };
                let wrong = |source| RunError::Bridge { bridge: name.clone(), source };
                let mut model = Bridge::new(bridge.ports, &bridge.config, &timing).map_err(wrong)?;
                model.start_clock(clock.at_or_before(0), &bridge.config).map_err(wrong)?;
                BridgeNode::Model { bridge: Box::new(model), clock, copies: 0, first_wire: wires.first[index] }
            }
        });
    }
    Ok(made)
}

/// Of every port of the hardware, and of models of it.
const HARDWARE_BPS: u64 = 1_000_000_000;

fn stations(network: &Network, wires: &Wires) -> Result<Vec<Station>, RunError> {
    let mut stations = Vec::new();
    for (index, station) in network.stations.iter().enumerate() {
        let name = &station.name;
        let clock = Clock::fine(station.clock.offset_ps, station.clock.drift_ppb);
        let clock = clock.map_err(|source| RunError::Clock { node: name.clone(), source })?;
        let Some(wire) = wires.of_stations[index] else {
            return Err(wrong(format!("station \"{name}\" has no link; one is wanted")));
        };
        if let Some(class) = station.class_of_pcp.iter().find(|&&class| class > 7) {
            return Err(wrong(format!("station \"{name}\": class_of_pcp has {class}; 0 to 7 are allowed")));
        }
        let mut made = Station::new(clock, wire, station.class_of_pcp);
        for limit in &station.queue_limits {
            let Some(room) = made.room.get_mut(usize::from(limit.class)) else {
                let class = limit.class;
                return Err(wrong(format!("station \"{name}\": a queue of class {class}; 0 to 7 are allowed")));
            };
            *room = Room::of(limit);
        }
        if let Some(config) = &station.shapers {
            let shaped = Shaped::new(wire.rate, config, clock.at_or_before(0));
            let wrong = |source| RunError::Station { station: name.clone(), source };
            made.shaped = Some(Box::new(shaped.map_err(wrong)?));
        }
        stations.push(made);
    }
    Ok(stations)
}

fn streams(network: &Network, headers: &mut Headers, routes: &mut Routes) -> Result<Vec<StreamState>, RunError> {
    once("streams", network.streams.iter().map(|stream| &stream.name))?;
    let graph = Graph::new(network);
    let mut made: Vec<StreamState> = Vec::with_capacity(network.streams.len());
    for stream in &network.streams {
        let name = &stream.name;
        for &station in stream.to.iter().chain([&stream.from]) {
            if station >= network.stations.len() {
                let last = network.stations.len().saturating_sub(1);
                return Err(wrong(format!("stream \"{name}\": there is no station {station}; 0 to {last} are there")));
            }
        }
        let mut to: Vec<u32> = stream.to.iter().map(|&station| station as u32).collect();
        to.sort_unstable();
        if to.is_empty() {
            return Err(wrong(format!("stream \"{name}\": nobody listens; one station or more is wanted")));
        }
        if let Some(twice) = to.windows(2).find(|pair| pair[0] == pair[1]) {
            let listener = &network.stations[twice[0] as usize].name;
            return Err(wrong(format!("stream \"{name}\": \"{listener}\" listens twice; once is allowed")));
        }
        if to.contains(&(stream.from as u32)) {
            let talker = &network.stations[stream.from].name;
            return Err(wrong(format!("stream \"{name}\": \"{talker}\" would send to itself")));
        }
        let generator = Generator::new(stream, headers);
        let generator = generator.map_err(|source| RunError::Source { stream: name.clone(), source })?;
        let handover = Generator::handover(stream);
        let handover = handover.map_err(|source| RunError::Source { stream: name.clone(), source })?;
        let conformance = stream.committed.as_ref().map(Conformance::new).transpose();
        let conformance = conformance.map_err(|source| wrong(format!("stream \"{name}\": {source}")))?;
        made.push(StreamState {
            generator,
            handover,
            talker: stream.from as u32,
            listeners: match to[..] {
                [station] => Listeners::One(Listener { station, last_delivered: None }),
                _ => Listeners::Several(
                    to.into_iter().map(|station| Listener { station, last_delivered: None }).collect(),
                ),
            },
            route: routes.add(graph.branches(network, stream)?),
            answers: Vec::new(),
            statistics: StreamStatistics { conformance, ..StreamStatistics::default() },
            fates: Fates::default(),
        });
    }
    for (index, stream) in network.streams.iter().enumerate() {
        let Some(asked) = made[index].generator.answers() else { continue };
        let name = &stream.name;
        let Some(request) = network.streams.get(asked) else {
            let last = network.streams.len() - 1;
            return Err(wrong(format!("stream \"{name}\": to_stream is {asked}; 0 to {last} are allowed")));
        };
        if !request.to.contains(&stream.from) {
            let (request, talker) = (&request.name, &network.stations[stream.from].name);
            return Err(wrong(format!(
                "stream \"{name}\" answers \"{request}\", which \"{talker}\" does not listen to"
            )));
        }
        made[asked].answers.push(index as u32);
    }
    Ok(made)
}

fn add_greedy(kernel: &mut Kernel) {
    for (index, stream) in kernel.streams.iter().enumerate() {
        let station = &mut kernel.stations[stream.talker as usize];
        if station.shaped.is_some() {
            continue; // one frame of it is always in the queue
        }
        if let Some(Release::WhenFree(_)) = stream.generator.next_release() {
            let pcp = stream.generator.pcp();
            let class = station.class_of_pcp[usize::from(pcp & 7)];
            station.add_greedy(index as u32, class);
        }
    }
}

fn filter(network: &Network) -> Result<Filter, RunError> {
    let described = &network.trace;
    let mut events = if described.events.is_none() { u8::MAX } else { 0 };
    for name in described.events.iter().flatten() {
        let Some(event) = Event::NAMES.iter().position(|known| known == name) else {
            let known = Event::NAMES.join(", ");
            return Err(wrong(format!("trace: there is no event \"{name}\"; {known} are there")));
        };
        events |= 1 << event;
    }
    if !described.enabled {
        events = 0;
    }
    let count = network.bridges.len() + network.stations.len();
    let nodes = match &described.nodes {
        None => None,
        Some(chosen) => {
            let mut nodes = vec![false; count];
            for &node in chosen {
                let place = nodes.get_mut(node);
                *place.ok_or_else(|| wrong(format!("trace: there is no node {node}; {count} are there")))? = true;
            }
            Some(nodes)
        }
    };
    Ok(Filter { events, nodes })
}
