// SPDX-License-Identifier: Apache-2.0
//! Where the frames of a stream come into each bridge of its way, and by which ports they leave it.
use std::ops::Range;

use crate::describe::Network;
use crate::error::RunError;
use crate::link::Rate;
use crate::links::Links;
use crate::routes::Graph;

/// A bridge on the way of a stream.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub bridge: u32,
    /// Its reception port and the rate of the link there.
    pub entry: u16,
    pub entry_rate: Rate,
    /// Egress ports with listeners behind them.
    pub ports: u64,
    /// Where these begin among the egress ports of all ways.
    pub first: u32,
}

impl Way {
    /// The place of an egress port among its own; none of a port that it does not want.
    #[inline]
    pub fn place(&self, port: u16) -> Option<usize> {
        let bit = 1_u64.checked_shl(u32::from(port)).unwrap_or(0);
        (self.ports & bit != 0).then(|| (self.ports & bit.wrapping_sub(1)).count_ones() as usize)
    }

    pub fn egress(&self) -> impl Iterator<Item = u16> + use<> {
        let ports = self.ports;
        (0..64).filter(move |port| ports >> port & 1 != 0)
    }
}

/// Of all streams.
#[derive(Debug, Default)]
pub(super) struct Ways {
    ways: Vec<Way>,
    /// Per stream, sorted by bridge.
    of_stream: Vec<Range<u32>>,
    /// Egress ports of all ways.
    pub egress: usize,
}

impl Ways {
    pub fn new(network: &Network, links: &Links) -> Result<Self, RunError> {
        let graph = Graph::new(network);
        let mut all = Self::default();
        for stream in &network.streams {
            // The run refuses a stream that has not; there is nothing to be told of it.
            let branches = if network.has_stations(stream) { graph.branches(network, stream)? } else { Vec::new() };
            let mut entries: Vec<_> =
                branches.iter().filter_map(|&(bridge, port, _)| links.from(bridge, port)).collect();
            entries.extend(network.stations.get(stream.from).and_then(|_| links.of_station(stream.from)));
            entries.sort_by_key(|wire| wire.node);
            let mut egress: Vec<(u32, u64)> = branches.iter().map(|&(bridge, port, _)| (bridge, 1 << port)).collect();
            egress.sort_unstable();
            egress.dedup_by(|next, one| {
                let is_same = next.0 == one.0;
                one.1 |= if is_same { next.1 } else { 0 };
                is_same
            });
            let first = all.ways.len() as u32;
            for (bridge, ports) in egress {
                let Ok(entry) = entries.binary_search_by_key(&bridge, |wire| wire.node) else { continue };
                let (entry, entry_rate) = (entries[entry].port, entries[entry].rate);
                all.ways.push(Way { bridge, entry, entry_rate, ports, first: all.egress as u32 });
                all.egress += ports.count_ones() as usize;
            }
            all.of_stream.push(first..all.ways.len() as u32);
        }
        Ok(all)
    }

    #[inline]
    pub fn get(&self, way: u32) -> &Way {
        &self.ways[way as usize]
    }

    /// Of a stream at a bridge, if it has listeners behind that.
    #[inline]
    pub fn find(&self, stream: u32, bridge: u32) -> Option<u32> {
        let range = self.of_stream.get(stream as usize)?;
        let own = &self.ways[range.start as usize..range.end as usize];
        let place = own.binary_search_by_key(&bridge, |way| way.bridge).ok()?;
        Some(range.start + place as u32)
    }

    /// Stream by stream.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Way)> {
        let own = |range: &Range<u32>| &self.ways[range.start as usize..range.end as usize];
        (0..).zip(&self.of_stream).flat_map(move |(stream, range)| own(range).iter().map(move |way| (stream, way)))
    }
}
