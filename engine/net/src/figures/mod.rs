// SPDX-License-Identifier: Apache-2.0
//! What passed the egress ports of bridges, worked out of the rows of a trace while they are made, so that nobody has to
//! keep them. It is what a whole trace says; a copy that a node of the user's own makes beside those of its way, and that
//! comes to a bridge again, counts there once more.
mod depth;
mod passages;
mod ways;

use crate::describe::{self, Network};
use crate::error::RunError;
use crate::kernel::Observer;
use crate::link::Rate;
use crate::links::Links;
use crate::signed::Signed;
use crate::statistics::Distribution;
use crate::trace::{Event, Filter, Row};
use depth::Depth;
use passages::{Passage, Passages};
use penstock_frame::{GAP_BYTES, PREAMBLE_BYTES};
use penstock_shaper::{SignedTime, Time};
use ways::Ways;

/// Of an egress port of a bridge.
#[derive(Clone, Default)]
pub struct PortFigures {
    /// That were sent.
    pub frames: u64,
    /// With preamble and gap.
    pub wire_bytes: u64,
    pub dropped: u64,
    /// From a frame's last bit in to its first bit out, below zero where a bridge cuts through.
    pub passing_ps: Signed,
    depth: Depth,
    /// When the wire is free again after the latest frame.
    free: Time,
}

impl PortFigures {
    /// The most bytes that waited there at once.
    pub fn queued_bytes_max(&self) -> u64 {
        self.depth.most()
    }
}

/// Of the frames of a stream at an egress port of a bridge.
#[derive(Clone, Default)]
pub struct HopFigures {
    pub stream: u32,
    pub bridge: u32,
    pub port: u16,
    pub frames: u64,
    pub dropped: u64,
    /// When the first of them came; none: none came.
    pub first_received_ps: Option<Time>,
    /// As of a port, if it is wanted.
    pub passing_ps: Option<Box<Signed>>,
    /// The shortest of those that found the port idle.
    pub idle_ps: Option<SignedTime>,
}

pub struct Figures {
    bridges: u32,
    exact_up_to: usize,
    /// Per bridge: where its ports begin among those of all.
    first_ports: Vec<u32>,
    rates: Vec<Option<Rate>>,
    ways: Ways,
    passages: Passages,
    ports: Vec<PortFigures>,
    hops: Vec<HopFigures>,
    /// Per stream: from queued to eligible.
    shaping: Vec<Distribution>,
}

impl Figures {
    pub(crate) fn new(network: &Network, wanted: &describe::Figures) -> Result<Self, RunError> {
        let links = Links::new(network)?;
        let ways = Ways::new(network, &links)?;
        let mut hops = Vec::with_capacity(ways.egress);
        for (stream, way) in ways.iter() {
            hops.extend(way.egress().map(|port| HopFigures {
                stream,
                bridge: way.bridge,
                port,
                passing_ps: wanted.hops.then(Box::default),
                ..HopFigures::default()
            }));
        }
        Ok(Self {
            bridges: network.bridges.len() as u32,
            exact_up_to: network.statistics.exact_up_to,
            first_ports: links.first_ports(),
            rates: (0..links.ports()).map(|place| links.at(place).map(|wire| wire.rate)).collect(),
            ways,
            passages: Passages::default(),
            ports: vec![PortFigures::default(); links.ports()],
            hops,
            shaping: vec![Distribution::default(); network.streams.len()],
        })
    }

    /// Of each bridge, its ports.
    pub fn ports(&self) -> impl Iterator<Item = (u32, u16, &PortFigures)> {
        let ends = self.first_ports.iter().skip(1).copied().chain([self.ports.len() as u32]);
        let of_bridge = (0..).zip(self.first_ports.iter().copied().zip(ends));
        of_bridge.flat_map(|(bridge, (first, end))| {
            (0..).zip(&self.ports[first as usize..end as usize]).map(move |(port, figures)| (bridge, port, figures))
        })
    }

    /// Stream by stream, in the order of bridges.
    pub fn hops(&self) -> &[HopFigures] {
        &self.hops
    }

    /// Per stream: the times from queued to eligible, at all bridges that shape it.
    pub fn shaping_ps(&self) -> &[Distribution] {
        &self.shaping
    }

    fn take(&mut self, rows: &[Row]) {
        for row in rows {
            if row.node < self.bridges && row.frame != Row::NO_FRAME {
                self.take_row(row);
            }
        }
    }

    #[inline]
    fn take_row(&mut self, row: &Row) {
        match row.event {
            Event::Received => self.receive(row),
            Event::Queued | Event::Eligible => self.wait(row),
            Event::Sent => self.send(row),
            Event::Dropped => self.drop(row),
            _ => {}
        }
    }

    fn receive(&mut self, row: &Row) {
        let Some(index) = self.ways.find(row.stream, row.node) else { return };
        let way = self.ways.get(index);
        let arrived = row.time_ps + way.entry_rate.duration(u32::from(row.bytes));
        if !self.passages.begin((row.frame, row.node), Passage::new(index, way.ports, arrived)) {
            return;
        }
        let first = way.first as usize;
        for hop in &mut self.hops[first..first + way.ports.count_ones() as usize] {
            hop.first_received_ps = Some(hop.first_received_ps.map_or(row.time_ps, |first| first.min(row.time_ps)));
        }
    }

    /// It is queued, or the time is known from which on it may be sent.
    fn wait(&mut self, row: &Row) {
        let Some(passage) = self.passages.get(row) else { return };
        let Some(place) = self.ways.get(passage.way).place(row.port) else { return };
        let step = passage.step(place);
        if row.event == Event::Queued {
            if step.queued.is_some() {
                return;
            }
            step.queued = Some(row.time_ps);
        } else {
            step.eligible = Some(step.eligible.map_or(row.time_ps, |eligible| eligible.min(row.time_ps)));
        }
        let step = *step;
        if let (Some(queued), Some(eligible)) = (step.queued, step.eligible) {
            self.shaping[row.stream as usize].add(eligible.saturating_sub(queued), self.exact_up_to);
        }
        if row.event == Event::Queued {
            self.port(row).depth.change(row.time_ps, i64::from(row.bytes));
        }
    }

    fn send(&mut self, row: &Row) {
        let Some(passage) = self.passages.get(row) else { return };
        let (index, arrived) = (passage.way, passage.arrived);
        let Some(place) = self.ways.get(index).place(row.port) else { return };
        let Some(step) = self.passages.close(row, place) else { return };
        let passing = row.time_ps.wrapping_sub(arrived) as SignedTime;
        let exact_up_to = self.exact_up_to;
        let wire_bytes = u32::from(row.bytes) + PREAMBLE_BYTES + GAP_BYTES;
        let rate = self.rates[self.port_place(row)];
        let port = self.port(row);
        port.frames += 1;
        port.wire_bytes += u64::from(wire_bytes);
        port.passing_ps.add(passing, exact_up_to);
        if step.queued.is_some() {
            port.depth.change(row.time_ps, -i64::from(row.bytes));
        }
        let is_idle = port.free <= arrived;
        port.free = row.time_ps + rate.map_or(0, |rate| rate.duration(wire_bytes));
        let hop = &mut self.hops[self.ways.get(index).first as usize + place];
        hop.frames += 1;
        if let Some(distribution) = &mut hop.passing_ps {
            distribution.add(passing, exact_up_to);
        }
        if is_idle {
            hop.idle_ps = Some(hop.idle_ps.map_or(passing, |least| least.min(passing)));
        }
    }

    /// A copy at its egress port, or a whole frame at its reception port.
    fn drop(&mut self, row: &Row) {
        let Some(index) = self.ways.find(row.stream, row.node) else { return };
        let way = self.ways.get(index);
        let Some(place) = way.place(row.port) else {
            if way.entry == row.port {
                self.passages.end(row);
            }
            return;
        };
        self.hops[way.first as usize + place].dropped += 1;
        let step = self.passages.close(row, place);
        let port = self.port(row);
        port.dropped += 1;
        if step.is_some_and(|step| step.queued.is_some()) {
            port.depth.change(row.time_ps, -i64::from(row.bytes));
        }
    }

    fn port_place(&self, row: &Row) -> usize {
        self.first_ports[row.node as usize] as usize + usize::from(row.port)
    }

    fn port(&mut self, row: &Row) -> &mut PortFigures {
        let place = self.port_place(row);
        &mut self.ports[place]
    }
}

/// Works figures out of all rows, and hands on those that somebody else wants.
pub(crate) struct Figuring<'a> {
    pub figures: Figures,
    pub observer: &'a mut dyn Observer,
    pub wanted: Filter,
}

impl Observer for Figuring<'_> {
    fn rows(&mut self, rows: &mut Vec<Row>) -> bool {
        self.figures.take(rows);
        if !self.wanted.is_any() {
            return true;
        }
        if !self.wanted.is_all() {
            rows.retain(|row| self.wanted.wants(row.event, row.node));
        }
        self.observer.rows(rows)
    }

    fn progress(&mut self, done: f64) -> bool {
        self.observer.progress(done)
    }
}
