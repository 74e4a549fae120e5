// SPDX-License-Identifier: Apache-2.0
//! Which frames of which streams can leave a partition at all, and when at the least: where the tables of bridges say for sure
//! where a stream's frames go. Frames that stay are no reason to wait.
use std::collections::HashMap;

use penstock_frame::MacAddress;
use penstock_shaper::forwarding::{address_of, Fdb};

use super::cut::Division;
use super::lookahead::{shortest_of, sum, Bounds, Least, Ways, FAR};
use crate::describe::{self, Network, SourceKind, Stream};
use crate::error::RunError;
use crate::frame::NONE;
use crate::link::Wire;
use crate::links::Links;
use crate::routes::{Graph, Route, Routes};

/// Nothing is known of it.
pub const UNKNOWN: Least = FAR - 1;

/// From events to what can follow from them in a neighbour.
#[derive(Clone, Debug)]
pub struct Foresight {
    /// From a judgement of a frame that is at a hop of its stream's route.
    pub of_hop: Vec<Least>,
    /// From a release.
    pub of_stream: Vec<Least>,
    /// From a selection at a station.
    pub of_station: Vec<Least>,
    /// From a selection at a port, of all ports of all bridges.
    pub of_port: Vec<Least>,
}

/// The ways that streams take.
pub struct StreamWays {
    routes: Routes,
    of_stream: Vec<Option<Route>>,
    /// Per hop: the ports to which frames may go; none: not known.
    ports: Vec<Option<u64>>,
    /// Of all streams, at all hops, and they come to no other bridge.
    is_all_known: bool,
}

/// Where a bridge's static entries lead to; none: also what it hears decides.
struct Table(Option<HashMap<u64, u64>>);

impl Table {
    fn new(bridge: &describe::Bridge) -> Self {
        let config = &bridge.config;
        if config.learning_enable || !config.fdb_sets.is_power_of_two() || config.fdb_sets > 1 << 20 {
            return Self(None);
        }
        let fdb = Fdb::new(config.fdb_sets as usize, config.aging_period_ms, false);
        let mut places = HashMap::new();
        for &(way, set, address, vlan, ports) in &config.fdb {
            places.insert((way & 1, set), (address_of(vlan, address), ports));
        }
        let mut ports = HashMap::new();
        for ((_, set), (address, leads)) in places {
            if fdb.set_of(address) == set {
                *ports.entry(address).or_insert(0) |= leads;
            }
        }
        for &(address, vlan, leads) in &config.static_addresses {
            *ports.entry(address_of(vlan, address)).or_insert(0) |= leads;
        }
        Self(Some(ports))
    }
}

/// Where the frames of a stream want to go.
fn destination(stream: &Stream) -> Option<u64> {
    let frame = stream.frame.as_ref().filter(|_| !matches!(stream.source.kind, SourceKind::Capture { .. }))?;
    let vlan = frame.vlan.filter(|vlan| *vlan != 0)?;
    let MacAddress(bytes) = frame.destination_mac.parse().ok()?;
    Some(address_of(vlan, bytes.iter().fold(0, |address, byte| address << 8 | u64::from(*byte))))
}

impl StreamWays {
    pub fn new(network: &Network, links: &Links) -> Result<Self, RunError> {
        let graph = Graph::new(network);
        let tables: Vec<Table> = network.bridges.iter().map(Table::new).collect();
        let mut routes = Routes::default();
        let mut of_stream = Vec::with_capacity(network.streams.len());
        let mut ports = Vec::new();
        let mut is_all_known = true;
        for stream in &network.streams {
            if !network.has_stations(stream) {
                // It is refused later.
                return Ok(Self {
                    routes: Routes::default(),
                    of_stream: Vec::new(),
                    ports: Vec::new(),
                    is_all_known: false,
                });
            }
            let route = routes.add(graph.branches(network, stream)?, |bridge, port| links.bridge_behind(bridge, port));
            let destination = destination(stream);
            for hop in route.first..routes.hops() as u32 {
                let here = routes.hop(hop).filter(|hop| !hop.is_end());
                let table = here.and_then(|here| tables[here.bridge as usize].0.as_ref());
                let known = destination.and_then(|address| table?.get(&address).copied());
                ports.push(known);
                let Some(here) = here else { continue };
                let stays = |port: u16| {
                    let next = links.bridge_behind(here.bridge, port);
                    next.is_none_or(|next| routes.at(NONE, &route, next) != NONE)
                };
                let count = network.bridges[here.bridge as usize].ports;
                is_all_known &= known.is_some_and(|ports| (0..count).all(|port| ports >> port & 1 == 0 || stays(port)));
            }
            let entry = links.of_station(stream.from).map(|wire| wire.node);
            is_all_known &= entry == routes.hop(route.first).map(|hop| hop.bridge);
            of_stream.push(Some(route));
        }
        Ok(Self { routes, of_stream, ports, is_all_known })
    }

    /// What leaves a partition for another one.
    pub fn foresee(&self, bounds: &Bounds, division: &Division, parts: (u32, u32), ways: &Ways) -> Foresight {
        let network = bounds.network;
        let mut foresight = Foresight {
            of_hop: vec![UNKNOWN; self.ports.len()],
            of_stream: vec![FAR; network.streams.len()],
            of_station: vec![FAR; network.stations.len()],
            of_port: if self.is_all_known { vec![FAR; ways.selected.len()] } else { ways.selected.clone() },
        };
        for (index, stream) in network.streams.iter().enumerate() {
            let Some(Some(route)) = self.of_stream.get(index) else {
                foresight.of_stream[index] = ways.station.get(stream.from).copied().unwrap_or(0);
                continue;
            };
            let bounds = Bounds { shortest: shortest_of(&stream.source.kind), ..*bounds };
            let mut look =
                Look { ways: self, bounds, division, parts, generic: ways, route, foresight: &mut foresight };
            // The last ones first: each asks for those behind it.
            look.all_hops();
            let Some(wire) = bounds.links.of_station(stream.from) else { continue };
            let behind = look.arriving(&wire);
            let least = sum(bounds.hop(&network.stations[stream.from].clock, &wire), behind);
            foresight.of_stream[index] = least;
        }
        for (stream, least) in network.streams.iter().zip(&foresight.of_stream) {
            if let Some(of_station) = foresight.of_station.get_mut(stream.from) {
                *of_station = (*of_station).min(*least);
            }
        }
        foresight
    }
}

/// Along the way of one stream.
struct Look<'a> {
    ways: &'a StreamWays,
    bounds: Bounds<'a>,
    division: &'a Division,
    /// From one to another.
    parts: (u32, u32),
    generic: &'a Ways,
    route: &'a Route,
    foresight: &'a mut Foresight,
}

impl Look<'_> {
    fn all_hops(&mut self) {
        let routes = &self.ways.routes;
        let first = self.route.first as usize;
        let hops = (first as u32..).map_while(|hop| routes.hop(hop).filter(|hop| !hop.is_end()));
        let bridges: Vec<u32> = hops.map(|hop| hop.bridge).collect();
        for (hop, &bridge) in (first..).zip(&bridges).collect::<Vec<_>>().into_iter().rev() {
            if let Some(ports) =
                self.ways.ports[hop].filter(|_| self.division.of_bridge[bridge as usize] == self.parts.0)
            {
                self.at_hop(hop as u32, bridge, ports);
            }
        }
    }

    /// From a frame's judgement at the other end of a wire, whether there or here.
    fn arriving(&mut self, wire: &Wire) -> Least {
        let Some(&partition) = self.division.of_bridge.get(wire.node as usize) else { return FAR };
        if partition != self.parts.0 {
            return if partition == self.parts.1 { 0 } else { FAR };
        }
        let hop = self.ways.routes.at(NONE, self.route, wire.node);
        let generic = self.generic.judged[self.bounds.links.index(wire.node, wire.port)];
        match self.ways.ports.get(hop as usize) {
            Some(&Some(ports)) => self.at_hop(hop, wire.node, ports),
            _ => generic,
        }
    }

    /// From a judgement at a hop whose ports are known.
    fn at_hop(&mut self, hop: u32, bridge: u32, ports: u64) -> Least {
        if self.foresight.of_hop[hop as usize] != UNKNOWN {
            return self.foresight.of_hop[hop as usize];
        }
        // Should the way come back here: what holds for any frame.
        let first = self.bounds.links.index(bridge, 0);
        let described = &self.bounds.network.bridges[bridge as usize];
        let generic = |port: u16| self.generic.selected[first + usize::from(port)];
        let processing = self.bounds.processing(bridge as usize);
        let any = (0..described.ports).map(generic).min().unwrap_or(FAR);
        self.foresight.of_hop[hop as usize] = sum(processing, any);
        let mut least = FAR;
        for port in (0..described.ports).filter(|port| ports >> port & 1 == 1) {
            let selected = match self.bounds.links.from(bridge, port) {
                None => FAR,
                // Somebody there may answer.
                Some(wire) if wire.node as usize >= self.bounds.network.bridges.len() => generic(port),
                Some(wire) => {
                    let behind = self.arriving(&wire);
                    sum(self.bounds.hop(&described.clock, &wire), behind)
                }
            };
            if self.ways.is_all_known {
                let of_port = &mut self.foresight.of_port[first + usize::from(port)];
                *of_port = selected.min(*of_port);
            }
            least = selected.min(least);
        }
        // Told apart from what is not known.
        self.foresight.of_hop[hop as usize] = sum(processing, least).min(if least == FAR { FAR } else { UNKNOWN - 1 });
        self.foresight.of_hop[hop as usize]
    }
}
