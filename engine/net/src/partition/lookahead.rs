// SPDX-License-Identifier: Apache-2.0
//! From an event in a partition to the first event in another one that can follow from it, at the least.
//!
//! ```text
//!  judged at b ──processing──► selected at b.p ──lead, delay, reception──► judged at the next bridge ──► …
//! ```
//!
//! A frame never leaves through the port it came by, so a frame that goes away from a border does not count for it.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::cut::Division;
use super::foresight::{Foresight, StreamWays, UNKNOWN};
use crate::clock::CYCLE_PS;
use crate::describe::{self, Network, SourceKind};
use crate::error::RunError;
use crate::link::{Rate, Wire};
use crate::links::Links;
use crate::queue::{Event, Kind};
use penstock_shaper::Time;

/// In picoseconds; what is longer counts as this, 4 ms.
pub type Least = u32;
pub const FAR: Least = Least::MAX;
/// No frame is shorter.
const SHORTEST_BYTES: u32 = 64;
const BILLION: u128 = 1_000_000_000;

/// From events to what can follow from them.
#[derive(Clone, Debug)]
pub struct Ways {
    /// From a judgement of a frame that came by a port, of all ports of all bridges.
    pub judged: Vec<Least>,
    /// From a selection at a port.
    pub selected: Vec<Least>,
    /// From an event at a station.
    pub station: Vec<Least>,
}

/// From this partition to one that frames go to.
#[derive(Clone, Debug)]
pub struct Neighbour {
    pub partition: u32,
    ways: Ways,
    foresight: Foresight,
    /// Per partition: from a judgement of a frame that came from it.
    through: Vec<Least>,
    /// The least of all.
    pub least: Time,
}

impl Neighbour {
    /// The first time at which an event can have an effect there.
    #[inline]
    pub fn after(&self, event: Event, first_port: &[u32]) -> Time {
        let node = event.node() as usize;
        let least = match (first_port.get(node), event.kind()) {
            (None, Kind::Release) => self.foresight.of_stream[event.index() as usize],
            (None, _) => self.foresight.of_station[node - first_port.len()],
            (Some(first), Kind::Judge) => match self.foresight.of_hop.get(event.hop() as usize) {
                Some(&least) if least != UNKNOWN => least,
                _ => self.ways.judged[(first + u32::from(event.port())) as usize],
            },
            (Some(first), _) => self.foresight.of_port[(first + u32::from(event.port())) as usize],
        };
        event.time().saturating_add(Time::from(least))
    }

    /// With every way longer by so much than it is.
    #[cfg(test)]
    pub fn lengthened(mut self, ps: Least) -> Self {
        let Ways { judged, selected, station } = &mut self.ways;
        let Foresight { of_hop, of_stream, of_station, of_port } = &mut self.foresight;
        let foreseen = of_hop.iter_mut().chain(of_stream).chain(of_station).chain(of_port);
        judged
            .iter_mut()
            .chain(selected)
            .chain(station)
            .chain(foreseen)
            .for_each(|least| *least = sum(ps.into(), *least));
        self
    }

    /// The first time at which what comes from a partition at a time can have an effect there.
    pub fn after_crossing(&self, from: usize, time: Time) -> Time {
        time.saturating_add(Time::from(self.through[from]))
    }
}

/// What the bridges of a network take, at the least.
#[derive(Clone, Copy)]
pub struct Bounds<'a> {
    pub network: &'a Network,
    pub links: &'a Links,
    pub shortest: u32,
}

impl Bounds<'_> {
    /// Of what lasts so long by the clock of a node: a fast one is sooner at the end.
    fn elapsed(clock: &describe::Clock, ps: Time) -> Time {
        if clock.drift_ppb <= 0 {
            return ps;
        }
        let rate = BILLION + u128::from(clock.drift_ppb.unsigned_abs());
        ((u128::from(ps) * BILLION / rate) as Time).saturating_sub(1)
    }

    /// From the first bit of a frame to its judgement.
    fn reception(&self, bridge: usize, rate: Rate) -> Time {
        let described = &self.network.bridges[bridge];
        let bytes = match described.timing {
            describe::Timing::Ideal { cut_through_bytes: Some(header), .. } => self.shortest.min(header.into()),
            _ => self.shortest,
        };
        Self::elapsed(&described.clock, rate.duration(bytes))
    }

    /// From a judgement to the selection of the frame.
    pub fn processing(&self, bridge: usize) -> Time {
        let described = &self.network.bridges[bridge];
        match described.timing {
            describe::Timing::Ideal { processing_delay_ps, .. } => Self::elapsed(&described.clock, processing_delay_ps),
            describe::Timing::Hardware => 0,
        }
    }

    /// From a selection at a node to what its frame causes at the other end of the wire.
    pub fn hop(&self, from: &describe::Clock, wire: &Wire) -> Time {
        let lead = Self::elapsed(from, wire.rate.lead());
        let reception = match self.network.bridges.len() {
            bridges if (wire.node as usize) < bridges => self.reception(wire.node as usize, wire.rate),
            // A station answers behind the last bit.
            _ => wire.rate.duration(self.shortest),
        };
        lead.saturating_add(wire.delay_ps).saturating_add(reception)
    }
}

/// What judgements are to come later than what a partition was promised, so that none is unknown when a frame that finds
/// its port free is sent ahead of its selection.
pub fn margin(bridge: &describe::Bridge) -> Time {
    match bridge.timing {
        describe::Timing::Ideal { .. } => 0,
        // One cycle more, for what a slow clock drifts meanwhile.
        describe::Timing::Hardware => (Time::from(bridge.ports) + 3) * CYCLE_PS,
    }
}

/// The length of the shortest frame of a source.
pub fn shortest_of(source: &SourceKind) -> u32 {
    match source {
        SourceKind::Capture { .. } => SHORTEST_BYTES,
        SourceKind::Periodic { frame_bytes, .. }
        | SourceKind::BackToBack { frame_bytes, .. }
        | SourceKind::Burst { frame_bytes, .. }
        | SourceKind::Poisson { frame_bytes, .. }
        | SourceKind::Normal { frame_bytes, .. }
        | SourceKind::Response { frame_bytes, .. } => *frame_bytes,
        SourceKind::Pattern { sizes, .. } => sizes.iter().flatten().copied().min().unwrap_or(SHORTEST_BYTES),
    }
}

/// A selection at a port, or an event at a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    Selected { bridge: u32, port: u16 },
    Station(u32),
}

/// Shortest ways to one neighbour, from there on back.
struct Search<'a> {
    bounds: &'a Bounds<'a>,
    division: &'a Division,
    /// The partition that they are in.
    within: u32,
    /// Stations that answer.
    answering: &'a [bool],
    found: Ways,
    through: Vec<Least>,
    waiting: BinaryHeap<Reverse<(Least, Cause)>>,
}

impl Search<'_> {
    fn index(&self, bridge: u32, port: u16) -> usize {
        self.bounds.links.index(bridge, port)
    }

    fn bridges(&self) -> u32 {
        self.bounds.network.bridges.len() as u32
    }

    fn relax(&mut self, cause: Cause, least: Least) {
        let known = match cause {
            Cause::Selected { bridge, port } => {
                let index = self.index(bridge, port);
                &mut self.found.selected[index]
            }
            Cause::Station(station) => &mut self.found.station[station as usize],
        };
        if least < *known {
            *known = least;
            self.waiting.push(Reverse((least, cause)));
        }
    }

    /// What leads to a judgement of a frame that came by a port.
    fn judged(&mut self, bridge: u32, port: u16, least: Least) {
        let index = self.index(bridge, port);
        if least >= self.found.judged[index] {
            return;
        }
        self.found.judged[index] = least;
        let Some(back) = self.bounds.links.from(bridge, port) else { return };
        let Some(station) = back.node.checked_sub(self.bridges()) else {
            let from = self.division.of_bridge[back.node as usize];
            if from == self.within {
                self.relax_over(Cause::Selected { bridge: back.node, port: back.port }, least);
            } else {
                let through = &mut self.through[from as usize];
                *through = least.min(*through);
            }
            return;
        };
        self.relax_over(Cause::Station(station), least);
    }

    /// With the way over its wire.
    fn relax_over(&mut self, cause: Cause, behind: Least) {
        let network = self.bounds.network;
        let (clock, wire) = match cause {
            Cause::Selected { bridge, port } => {
                (&network.bridges[bridge as usize].clock, self.bounds.links.from(bridge, port))
            }
            Cause::Station(station) => {
                (&network.stations[station as usize].clock, self.bounds.links.of_station(station as usize))
            }
        };
        if let Some(wire) = wire {
            self.relax(cause, sum(self.bounds.hop(clock, &wire), behind));
        }
    }

    fn run(mut self) -> (Ways, Vec<Least>) {
        while let Some(Reverse((least, cause))) = self.waiting.pop() {
            match cause {
                Cause::Selected { bridge, port } => {
                    if least > self.found.selected[self.index(bridge, port)] {
                        continue;
                    }
                    let judged = sum(self.bounds.processing(bridge as usize), least);
                    let ports = self.bounds.network.bridges[bridge as usize].ports;
                    (0..ports).filter(|&came| came != port).for_each(|came| self.judged(bridge, came, judged));
                }
                Cause::Station(station) => {
                    let wire = self.bounds.links.of_station(station as usize);
                    if let Some(wire) = wire.filter(|_| self.answering[station as usize]) {
                        self.relax_over(Cause::Selected { bridge: wire.node, port: wire.port }, least);
                    }
                }
            }
        }
        (self.found, self.through)
    }
}

pub fn sum(ps: Time, behind: Least) -> Least {
    Least::try_from(ps.saturating_add(Time::from(behind))).unwrap_or(FAR)
}

/// Of each partition: the partitions that its frames go to.
pub fn neighbours(network: &Network, links: &Links, division: &Division) -> Result<Vec<Vec<Neighbour>>, RunError> {
    let shortest =
        network.streams.iter().map(|stream| shortest_of(&stream.source.kind)).min().unwrap_or(SHORTEST_BYTES);
    let bounds = Bounds { network, links, shortest };
    let ways_of_streams = StreamWays::new(network, links)?;
    let mut answering = vec![false; network.stations.len()];
    for stream in &network.streams {
        if let Some(answering) = answering.get_mut(stream.from) {
            *answering |= matches!(stream.source.kind, SourceKind::Response { .. });
        }
    }
    let mut all: Vec<Vec<Neighbour>> = vec![Vec::new(); division.partitions as usize];
    for (bridge, described) in network.bridges.iter().enumerate() {
        let within = division.of_bridge[bridge];
        for wire in links.of_bridge(bridge, described.ports).iter().flatten() {
            let Some(&to) = division.of_bridge.get(wire.node as usize) else { continue };
            if to == within || all[within as usize].iter().any(|known| known.partition == to) {
                continue;
            }
            let (ways, through) = search(&bounds, division, within, to, &answering);
            let least = Time::from(ways.selected.iter().copied().min().unwrap_or(FAR));
            let foresight = ways_of_streams.foresee(&bounds, division, (within, to), &ways);
            all[within as usize].push(Neighbour { partition: to, ways, foresight, through, least });
        }
    }
    Ok(all)
}

fn search(bounds: &Bounds, division: &Division, within: u32, to: u32, answering: &[bool]) -> (Ways, Vec<Least>) {
    let (network, ports) = (bounds.network, bounds.links.ports());
    let found =
        Ways { judged: vec![FAR; ports], selected: vec![FAR; ports], station: vec![FAR; network.stations.len()] };
    let through = vec![FAR; division.partitions as usize];
    let mut search = Search { bounds, division, within, answering, found, through, waiting: BinaryHeap::new() };
    for (bridge, described) in network.bridges.iter().enumerate() {
        if division.of_bridge[bridge] != within {
            continue;
        }
        for port in 0..described.ports {
            let wire = bounds.links.from(bridge as u32, port);
            if wire.is_some_and(|wire| division.of_bridge.get(wire.node as usize) == Some(&to)) {
                search.relax_over(Cause::Selected { bridge: bridge as u32, port }, 0);
            }
        }
    }
    search.run()
}
