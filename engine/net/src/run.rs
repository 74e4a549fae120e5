// SPDX-License-Identifier: Apache-2.0
//! From a description to a kernel, and from the kernel to what a run leaves.
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use penstock_shaper::gates::Lists;

use crate::bridge::{Bridge, Timing};
use crate::capture::Captures;
use crate::clock::Clock;
use crate::conformance::Conformance;
use crate::conservation::Fates;
use crate::describe::{self, BridgeKind, Fault, Network};
use crate::error::{wrong, RunError};
use crate::faults::Faults;
use crate::figures::{Figures, Figuring};
use crate::header::{Header, Headers};
use crate::kernel::{Border, Closed, Ended, Kernel, Observer, Parts};
use crate::ledger::{Ledger, Listeners, StreamLedger};
use crate::limits;
use crate::links::Links;
use crate::node::Node;
use crate::nodes::{BridgeNode, Foreign, Guest, Hosted, Member, StationNode};
use crate::partition::{self, cut::Division, exchange::Exchange};
use crate::places::Places;
use crate::program::Program;
use crate::routes::{Graph, Routes};
use crate::simulation::Simulation;
use crate::source::{Generator, Origin};
use crate::station::{Room, Station};
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
    pub places: Places,
    /// If they were asked for.
    pub figures: Option<Figures>,
    pub interrupted: bool,
}

/// What the caller brings.
#[derive(Default)]
pub struct Guests {
    /// The bridges that are no models, in the order of the description.
    pub nodes: Vec<Box<dyn Node>>,
    /// By their stations' names; those answer for the streams of that station that respond to others.
    pub programs: BTreeMap<String, Box<dyn Program>>,
}

pub fn run(network: Network, guests: Guests, observer: &mut dyn Observer) -> Result<Outcome, RunError> {
    let end = network.duration_ps.saturating_add(network.drain_ps);
    let kernel = prepare(&network, guests, end, None)?;
    let names = Names::new(&network);
    // That of a large network takes as much memory as the run.
    drop(network);
    let (closed, ended) = kernel.run(end, observer)?;
    names.outcome(closed, ended)
}

/// As [`run`], on several cores where all bridges are models and no station has a program, with the same results.
pub fn run_on(
    cores: usize,
    mut network: Network,
    guests: Guests,
    observer: &mut dyn Observer,
) -> Result<Outcome, RunError> {
    if let Some(wanted) = network.figures.take() {
        limits::check(&network)?;
        let figures = Figures::new(&network, &wanted)?;
        let mut figuring = Figuring { figures, observer, wanted: filter(&network)? };
        network.trace = describe::Trace::default();
        let outcome = run_on(cores, network, guests, &mut figuring)?;
        return Ok(Outcome { figures: Some(figuring.figures), ..outcome });
    }
    let is_model = |bridge: &describe::Bridge| bridge.kind == BridgeKind::Model;
    // What breaks at a time breaks for all partitions, which are at different times.
    let is_whole = network.faults.is_empty();
    let is_one = cores < 2 || network.bridges.len() < 2 || !guests.programs.is_empty() || !is_whole;
    if is_one || !network.bridges.iter().all(is_model) {
        return run(network, guests, observer);
    }
    partition::run(cores, network, observer)
}

/// What a run's results are of.
pub(crate) struct Names {
    nodes: Vec<String>,
    streams: Vec<String>,
}

impl Names {
    pub fn new(network: &Network) -> Self {
        let bridges = network.bridges.iter().map(|bridge| bridge.name.clone());
        let nodes = bridges.chain(network.stations.iter().map(|station| station.name.clone())).collect();
        let streams = network.streams.iter().map(|stream| stream.name.clone()).collect();
        Self { nodes, streams }
    }

    pub fn outcome(self, closed: Closed, ended: Ended) -> Result<Outcome, RunError> {
        let Closed { streams: ledgers, mut violations, simulation, places, .. } = closed;
        let (fates, statistics): (_, Vec<_>) =
            ledgers.into_iter().map(|stream| (stream.fates, stream.statistics)).unzip();
        violations.check_sums(&statistics);
        let violations = violations.into_inner();
        if !violations.is_empty() {
            return Err(RunError::Conservation(violations));
        }
        let Self { nodes, streams } = self;
        Ok(Outcome {
            nodes,
            streams,
            fates,
            statistics,
            simulation,
            places,
            figures: None,
            interrupted: ended == Ended::Interrupted,
        })
    }
}

/// A part of a network, for a kernel of its own.
pub(crate) struct Part<'a> {
    pub number: usize,
    pub division: &'a Division,
    pub exchange: Arc<Exchange>,
}

impl Part<'_> {
    fn has_station(&self, station: usize) -> bool {
        self.division.of_station[station] as usize == self.number
    }

    /// The partition of a bridge that is not in this one.
    fn foreign(&self, bridge: usize) -> Option<u32> {
        Some(self.division.of_bridge[bridge]).filter(|&partition| partition as usize != self.number)
    }
}

pub(crate) fn prepare(network: &Network, guests: Guests, end: u64, part: Option<&Part>) -> Result<Kernel, RunError> {
    limits::check(network)?;
    let links = Links::new(network)?;
    let mut headers = Headers::default();
    let mut routes = Routes::default();
    let (origins, ledgers) = streams(network, &links, &mut headers, &mut routes)?;
    let stations = stations(network, &links)?;
    let mut listens = vec![false; network.stations.len()];
    for &listener in network.streams.iter().flat_map(|stream| &stream.to) {
        listens[listener] = part.is_none_or(|part| part.has_station(listener));
    }
    let named = network.stations.iter().zip(listens).map(|(station, listens)| (&*station.name, listens));
    let mut programs = programs(network, guests.programs)?;
    check_deaths(network, &programs)?;
    let mut members = members(network, guests.nodes, &links, &headers.into_lasting(), end, part)?;
    members.extend((0..).zip(stations).map(|(index, station)| {
        let place = (links.ports() + index as usize) as u32;
        Member::Station(Box::new(StationNode::new(station, index, place, programs.remove(&index))))
    }));
    Kernel::new(Parts {
        members,
        links,
        origins,
        ledger: Ledger::new(ledgers, routes, network.statistics.exact_up_to),
        trace: Trace::new(filter(network)?),
        captures: Captures::new(network.captures.as_deref(), named)?,
        faults: Faults::new(network)?,
        duration: network.duration_ps,
        border: part.map(|part| {
            let stations = (0..network.stations.len()).map(|station| part.has_station(station)).collect();
            Border::new(part.number, part.exchange.clone(), stations)
        }),
    })
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

fn members(
    network: &Network,
    guests: Vec<Box<dyn Node>>,
    links: &Links,
    headers: &Arc<[Header]>,
    end: u64,
    part: Option<&Part>,
) -> Result<Vec<Member>, RunError> {
    let stations = network.stations.iter().map(|station| &station.name);
    once("nodes", network.bridges.iter().map(|bridge| &bridge.name).chain(stations))?;
    let mut guests = guests.into_iter();
    let (mut made, mut lists) = (Vec::new(), Lists::default());
    for (index, bridge) in network.bridges.iter().enumerate() {
        let name = &bridge.name;
        let describe::Clock { offset_ps, drift_ppb } = bridge.clock;
        let clocked = |source| RunError::Clock { node: name.clone(), source };
        let hardware_like = match bridge.kind {
            BridgeKind::Rtl => true,
            BridgeKind::Model => bridge.timing == describe::Timing::Hardware,
            BridgeKind::Own => false,
        };
        let clock = if hardware_like { Clock::cycles(offset_ps, drift_ppb) } else { Clock::fine(offset_ps, drift_ppb) };
        let clock = clock.map_err(clocked)?;
        let rates = links.of_bridge(index, bridge.ports);
        if hardware_like {
            if let Some(wire) = rates.iter().flatten().find(|wire| wire.rate.bps() != HARDWARE_BPS) {
                let rate = wire.rate.bps();
                return Err(wrong(format!(
                    "bridge \"{name}\": a link of {rate} b/s; its timing allows {HARDWARE_BPS} only"
                )));
            }
        }
        if let Some(partition) = part.and_then(|part| part.foreign(index)) {
            made.push(Member::Foreign(Box::new(Foreign { clock, partition })));
            continue;
        }
        let first_port = links.index(index as u32, 0) as u32;
        made.push(match bridge.kind {
            BridgeKind::Rtl | BridgeKind::Own => {
                let node = guests.next().ok_or_else(|| wrong(format!("bridge \"{name}\": no node for it")))?;
                if node.ports() != bridge.ports {
                    let (has, wanted) = (node.ports(), bridge.ports);
                    return Err(wrong(format!("bridge \"{name}\": {wanted} ports, but its node has {has}")));
                }
                Member::Guest(Box::new(Guest::new(name, node, first_port)))
            }
            BridgeKind::Model => {
                let timing = match bridge.timing {
                    describe::Timing::Hardware => Timing::Hardware,
                    describe::Timing::Ideal { processing_delay_ps, cut_through_bytes } => Timing::Ideal {
                        processing_delay_ps,
                        cut_through_bytes,
                        // A port without a link sends as fast as any.
                        rates_bps: rates.iter().map(|wire| wire.map_or(HARDWARE_BPS, |wire| wire.rate.bps())).collect(),
                    },
                };
                let wrong = |source| RunError::Bridge { bridge: name.clone(), source };
                let mut model = Bridge::new(bridge.ports, &bridge.config, &timing).map_err(wrong)?;
                model.start_clock(clock.at_or_before(0), &bridge.config, &mut lists).map_err(wrong)?;
                let mut model = BridgeNode::new(model, clock, first_port, headers, end);
                if network.faults.iter().any(|fault| matches!(fault, Fault::NodeDown { node, .. } if *node == index)) {
                    model.set_mortal();
                }
                Member::Bridge(Box::new(model))
            }
        });
    }
    Ok(made)
}

/// Of every port of the hardware, and of models of it.
const HARDWARE_BPS: u64 = 1_000_000_000;

/// What is no model has no state to come back with.
fn check_deaths(network: &Network, programs: &BTreeMap<u32, Hosted>) -> Result<(), RunError> {
    for fault in &network.faults {
        let Fault::NodeDown { node, .. } = *fault else { continue };
        let is_foreign = match network.bridges.get(node) {
            Some(bridge) => bridge.kind != BridgeKind::Model,
            None => programs.contains_key(&((node - network.bridges.len()) as u32)),
        };
        if is_foreign {
            return Err(wrong(format!("a fault of node {node}: only models of bridges and of stations can die")));
        }
    }
    Ok(())
}

fn programs(
    network: &Network,
    programs: BTreeMap<String, Box<dyn Program>>,
) -> Result<BTreeMap<u32, Hosted>, RunError> {
    let of = |(name, program)| {
        let station = network.stations.iter().position(|station| station.name == name);
        let station = station.ok_or_else(|| wrong(format!("a program of \"{name}\": there is no such station")))?;
        Ok((station as u32, Hosted::new(&network.stations[station].name, program)))
    };
    programs.into_iter().map(of).collect()
}

fn stations(network: &Network, links: &Links) -> Result<Vec<Station>, RunError> {
    let (mut stations, mut lists) = (Vec::new(), Lists::default());
    for (index, station) in network.stations.iter().enumerate() {
        let name = &station.name;
        let clock = Clock::fine(station.clock.offset_ps, station.clock.drift_ppb);
        let clock = clock.map_err(|source| RunError::Clock { node: name.clone(), source })?;
        let Some(wire) = links.of_station(index) else {
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
            made.shape(config, &mut lists).map_err(|source| RunError::Station { station: name.clone(), source })?;
        }
        if let Some(config) = &station.ats {
            check_schedulers(network, index, config)?;
            made.schedule(config).map_err(|source| RunError::Station { station: name.clone(), source })?;
        }
        stations.push(made);
    }
    Ok(stations)
}

/// A talker holds what is its own.
fn check_schedulers(network: &Network, station: usize, config: &describe::Ats) -> Result<(), RunError> {
    for &stream in config.schedulers.iter().flat_map(|scheduler| &scheduler.streams) {
        if network.streams.get(stream as usize).is_none_or(|stream| stream.from != station) {
            let name = &network.stations[station].name;
            return Err(wrong(format!(
                "station \"{name}\": an ATS scheduler of stream {stream}, which is not its own"
            )));
        }
    }
    Ok(())
}

fn streams(
    network: &Network,
    links: &Links,
    headers: &mut Headers,
    routes: &mut Routes,
) -> Result<(Vec<Origin>, Vec<StreamLedger>), RunError> {
    once("streams", network.streams.iter().map(|stream| &stream.name))?;
    let graph = Graph::new(network);
    let mut made: Vec<Origin> = Vec::with_capacity(network.streams.len());
    let mut ledgers = Vec::with_capacity(network.streams.len());
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
        made.push(Origin { generator, handover, answers: Vec::new(), talker: stream.from as u32 });
        ledgers.push(StreamLedger {
            statistics: StreamStatistics { conformance, ..StreamStatistics::default() },
            fates: Fates::default(),
            listeners: Listeners::of(&to),
            route: routes.add(graph.branches(network, stream)?, |bridge, port| links.bridge_behind(bridge, port)),
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
    Ok((made, ledgers))
}

fn filter(network: &Network) -> Result<Filter, RunError> {
    let described = &network.trace;
    let mut events = if described.events.is_none() { u16::MAX } else { 0 };
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
