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
use std::sync::Arc;

use super::cut::Division;
use crate::clock::CYCLE_PS;
use crate::describe::{self, Network, Source};
use crate::link::{Rate, Wire, PS_BITS};
use crate::links::Links;
use crate::queue::{Event, Kind};

/// In picoseconds; what is longer counts as this, 4 ms.
type Least = u32;
const FAR: Least = Least::MAX;
/// No frame is shorter.
const SHORTEST_BYTES: u32 = 64;
/// Cut-through waits for so many.
const CUT_THROUGH_BYTES: u32 = 64;
const BILLION: u128 = 1_000_000_000;

/// From events to what can follow from them.
#[derive(Clone, Debug)]
struct Ways {
    /// From a judgement of a frame that came by a port, of all ports of all bridges.
    judged: Vec<Least>,
    /// From a selection at a port.
    selected: Vec<Least>,
    /// From an event at a station.
    station: Vec<Least>,
}

/// From this partition to one that frames go to.
#[derive(Clone, Debug)]
pub struct Neighbour {
    pub partition: u32,
    /// Of the shortest frame.
    time: Ways,
    /// Of each byte by which a frame is longer.
    per_byte: Ways,
    /// Per partition: from a judgement of a frame that came from it.
    through: Vec<Least>,
    /// The least of all.
    pub least: u64,
    lengths: Lengths,
}

/// How long frames are, at the least.
#[derive(Clone, Debug)]
struct Lengths {
    of_any: u32,
    of_stream: Arc<[u32]>,
    of_station: Arc<[u32]>,
}

impl Neighbour {
    /// The first time at which an event can have an effect there.
    #[inline]
    pub fn after(&self, event: Event, first_port: &[u32]) -> u64 {
        let node = event.node() as usize;
        let (least, per_byte, bytes) = match (first_port.get(node), event.kind()) {
            (None, kind) => {
                let station = node - first_port.len();
                let bytes = match kind {
                    Kind::Release => self.lengths.of_stream[event.index() as usize],
                    _ => self.lengths.of_station[station],
                };
                (self.time.station[station], self.per_byte.station[station], bytes)
            }
            (Some(first), Kind::Judge) => {
                let port = (first + u32::from(event.port())) as usize;
                (self.time.judged[port], self.per_byte.judged[port], event.bytes())
            }
            (Some(first), _) => {
                let port = (first + u32::from(event.port())) as usize;
                (self.time.selected[port], 0, self.lengths.of_any)
            }
        };
        let longer = u64::from(bytes.saturating_sub(self.lengths.of_any));
        event.time().saturating_add(u64::from(least) + longer * u64::from(per_byte))
    }

    /// With every way longer by so much than it is.
    #[cfg(test)]
    pub fn lengthened(mut self, ps: Least) -> Self {
        let Ways { judged, selected, station } = &mut self.time;
        judged.iter_mut().chain(selected).chain(station).for_each(|least| *least = least.saturating_add(ps));
        self
    }

    /// The first time at which what comes from a partition at a time can have an effect there.
    pub fn after_crossing(&self, from: usize, time: u64) -> u64 {
        time.saturating_add(u64::from(self.through[from]))
    }
}

/// What is summed up along a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Time,
    PerByte,
}

/// What the bridges of a network take, at the least.
struct Bounds<'a> {
    network: &'a Network,
    links: &'a Links,
    shortest: u32,
}

impl Bounds<'_> {
    /// Of what lasts so long by the clock of a node: a fast one is sooner at the end.
    fn elapsed(clock: &describe::Clock, ps: u64) -> u64 {
        if clock.drift_ppb <= 0 {
            return ps;
        }
        let rate = BILLION + u128::from(clock.drift_ppb.unsigned_abs());
        ((u128::from(ps) * BILLION / rate) as u64).saturating_sub(1)
    }

    /// From the first bit of a frame to its judgement.
    fn reception(&self, bridge: usize, rate: Rate, measure: Measure) -> u64 {
        let described = &self.network.bridges[bridge];
        let cut_through = matches!(described.timing, describe::Timing::Ideal { cut_through: true, .. });
        match measure {
            Measure::PerByte if cut_through => 0,
            Measure::PerByte => Self::elapsed(&described.clock, per_byte(rate)),
            Measure::Time if cut_through => Self::elapsed(&described.clock, rate.duration(CUT_THROUGH_BYTES)),
            Measure::Time => Self::elapsed(&described.clock, self.shortest(rate)),
        }
    }

    /// How long the shortest frame takes. What takes no whole number of picoseconds is rounded up once for all of its bytes.
    fn shortest(&self, rate: Rate) -> u64 {
        let is_whole = PS_BITS.is_multiple_of(rate.bps());
        rate.duration(self.shortest) - u64::from(!is_whole)
    }

    /// From a judgement to the selection of the frame.
    fn processing(&self, bridge: usize, measure: Measure) -> u64 {
        let described = &self.network.bridges[bridge];
        match described.timing {
            describe::Timing::Ideal { processing_delay_ps, .. } if measure == Measure::Time => {
                Self::elapsed(&described.clock, processing_delay_ps)
            }
            _ => 0,
        }
    }

    /// From a selection at a node to what its frame causes at the other end of the wire.
    fn hop(&self, from: &describe::Clock, wire: &Wire, measure: Measure) -> u64 {
        let reception = match self.network.bridges.len() {
            bridges if (wire.node as usize) < bridges => self.reception(wire.node as usize, wire.rate, measure),
            // A station answers behind the last bit.
            _ if measure == Measure::PerByte => per_byte(wire.rate),
            _ => self.shortest(wire.rate),
        };
        match measure {
            Measure::Time => {
                Self::elapsed(from, wire.rate.lead()).saturating_add(wire.delay_ps).saturating_add(reception)
            }
            Measure::PerByte => reception,
        }
    }
}

/// In whole picoseconds.
fn per_byte(rate: Rate) -> u64 {
    PS_BITS / rate.bps()
}

/// What judgements are to come later than what a partition was promised, so that none is unknown when a frame that finds
/// its port free is sent ahead of its selection.
pub fn margin(bridge: &describe::Bridge) -> u64 {
    match bridge.timing {
        describe::Timing::Ideal { .. } => 0,
        // One cycle more, for what a slow clock drifts meanwhile.
        describe::Timing::Hardware => (u64::from(bridge.ports) + 3) * CYCLE_PS,
    }
}

/// The length of the shortest frame of a source.
fn shortest_of(source: &Source) -> u32 {
    match source {
        Source::Capture { .. } => SHORTEST_BYTES,
        Source::Periodic { frame_bytes, .. }
        | Source::BackToBack { frame_bytes, .. }
        | Source::Burst { frame_bytes, .. }
        | Source::Poisson { frame_bytes, .. }
        | Source::Normal { frame_bytes, .. }
        | Source::Response { frame_bytes, .. } => *frame_bytes,
        Source::Pattern { sizes, .. } => sizes.iter().flatten().copied().min().unwrap_or(SHORTEST_BYTES),
    }
}

impl Lengths {
    fn of(network: &Network) -> Self {
        let of_stream: Arc<[u32]> = network.streams.iter().map(|stream| shortest_of(&stream.source)).collect();
        let mut of_station = vec![u32::MAX; network.stations.len()];
        for (stream, bytes) in network.streams.iter().zip(of_stream.iter()) {
            if let Some(of_station) = of_station.get_mut(stream.from) {
                *of_station = (*of_station).min(*bytes);
            }
        }
        let of_any = of_stream.iter().copied().min().unwrap_or(SHORTEST_BYTES);
        Self { of_any, of_stream, of_station: of_station.into() }
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
    measure: Measure,
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
            self.relax(cause, sum(self.bounds.hop(clock, &wire, self.measure), behind));
        }
    }

    fn run(mut self) -> (Ways, Vec<Least>) {
        while let Some(Reverse((least, cause))) = self.waiting.pop() {
            match cause {
                Cause::Selected { bridge, port } => {
                    if least > self.found.selected[self.index(bridge, port)] {
                        continue;
                    }
                    let judged = sum(self.bounds.processing(bridge as usize, self.measure), least);
                    let ports = self.bounds.network.bridges[bridge as usize].ports;
                    (0..ports).filter(|&came| came != port).for_each(|came| self.judged(bridge, came, judged));
                }
                Cause::Station(station) => {
                    let wire = self.bounds.links.of_station(station as usize);
                    if let Some(wire) = wire.filter(|_| self.answering[station as usize]) {
                        // The answer is another frame.
                        let behind = if self.measure == Measure::Time { least } else { 0 };
                        self.relax_over(Cause::Selected { bridge: wire.node, port: wire.port }, behind);
                    }
                }
            }
        }
        (self.found, self.through)
    }
}

fn sum(ps: u64, behind: Least) -> Least {
    Least::try_from(ps.saturating_add(u64::from(behind))).unwrap_or(FAR)
}

/// Of each partition: the partitions that its frames go to.
pub fn neighbours(network: &Network, links: &Links, division: &Division) -> Vec<Vec<Neighbour>> {
    let lengths = Lengths::of(network);
    let bounds = Bounds { network, links, shortest: lengths.of_any };
    let mut answering = vec![false; network.stations.len()];
    for stream in &network.streams {
        if let Some(answering) = answering.get_mut(stream.from) {
            *answering |= matches!(stream.source, Source::Response { .. });
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
            let search = |measure| search(&bounds, division, within, to, &answering, measure);
            let (time, through) = search(Measure::Time);
            let (per_byte, _) = search(Measure::PerByte);
            let least = u64::from(time.selected.iter().copied().min().unwrap_or(FAR));
            let lengths = lengths.clone();
            all[within as usize].push(Neighbour { partition: to, time, per_byte, through, least, lengths });
        }
    }
    all
}

fn search(
    bounds: &Bounds,
    division: &Division,
    within: u32,
    to: u32,
    answering: &[bool],
    measure: Measure,
) -> (Ways, Vec<Least>) {
    let (network, ports) = (bounds.network, bounds.links.ports());
    let found =
        Ways { judged: vec![FAR; ports], selected: vec![FAR; ports], station: vec![FAR; network.stations.len()] };
    let through = vec![FAR; division.partitions as usize];
    let mut search =
        Search { bounds, division, within, answering, measure, found, through, waiting: BinaryHeap::new() };
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
