// SPDX-License-Identifier: Apache-2.0
//! How many listeners of a stream stand behind each egress port: what is lost where a copy is.
use std::collections::{HashMap, VecDeque};

use prefetch_index::prefetch_index;

use crate::describe::{Network, Stream};
use crate::error::{wrong, RunError};

#[derive(Clone, Copy, Debug)]
pub struct Hop {
    pub bridge: u32,
    /// Where its branches begin.
    first: u32,
    /// Egress ports with listeners behind them.
    ports: u64,
}

impl Hop {
    /// It is behind the last one of a stream.
    #[inline]
    pub fn is_end(&self) -> bool {
        self.bridge == END.bridge
    }
}

/// Follows the last hop of each stream.
const END: Hop = Hop { bridge: u32::MAX, first: 0, ports: 0 };

/// Of all streams, one after the other, each in the order in which its frames come by.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    hops: Vec<Hop>,
    /// Per hop and port, the ports in their order: the listeners behind.
    copies: Vec<u32>,
}

/// The part of one stream.
#[derive(Clone, Debug, Default)]
pub struct Route {
    /// Its first hop, where a new frame is expected.
    pub first: u32,
    /// Its hops in the order of bridges.
    sorted: Vec<u32>,
}

impl Routes {
    /// Bridge, egress port, listeners behind it.
    pub fn add(&mut self, mut branches: Vec<(u32, u16, u32)>) -> Route {
        let mut place = HashMap::new();
        for &(bridge, ..) in &branches {
            let next = place.len();
            place.entry(bridge).or_insert(next);
        }
        branches.sort_by_key(|&(bridge, port, _)| (place[&bridge], port));
        let first = self.hops.len();
        for (bridge, port, copies) in branches {
            if self.hops[first..].last().is_none_or(|hop| hop.bridge != bridge) {
                self.hops.push(Hop { bridge, first: self.copies.len() as u32, ..END });
            }
            if let Some(hop) = self.hops.last_mut() {
                hop.ports |= 1 << port;
            }
            self.copies.push(copies);
        }
        let mut sorted: Vec<u32> = (first as u32..self.hops.len() as u32).collect();
        sorted.sort_by_key(|&hop| self.hops[hop as usize].bridge);
        self.hops.push(END);
        Route { first: first as u32, sorted }
    }

    /// Hops are named by numbers below this.
    pub fn hops(&self) -> usize {
        self.hops.len()
    }

    /// Whether a frame is where it is expected.
    #[inline]
    pub fn is_at(&self, hop: u32, bridge: u32) -> bool {
        self.hops[hop as usize].bridge == bridge
    }

    /// The place of a bridge in a route; none where the stream has no listener behind it.
    pub fn find(&self, route: &Route, bridge: u32) -> Option<u32> {
        let found = route.sorted.binary_search_by_key(&bridge, |&hop| self.hops[hop as usize].bridge);
        found.ok().map(|place| route.sorted[place])
    }

    /// A hop and the two after it, if there are so many of all streams.
    #[inline]
    pub fn from(&self, hop: u32) -> Option<&[Hop; 3]> {
        self.hops.get(hop as usize..)?.first_chunk()
    }

    /// Has a hop fetched into the cache.
    #[inline]
    pub fn bring(&self, hop: u32) {
        prefetch_index(&self.hops, hop as usize);
    }

    #[inline]
    pub fn ports(&self, hop: u32) -> u64 {
        self.hops[hop as usize].ports
    }

    /// Listeners behind one port.
    pub fn behind(&self, hop: u32, port: u16) -> u32 {
        let hop = &self.hops[hop as usize];
        if hop.ports >> port & 1 == 0 {
            return 0;
        }
        let before = (hop.ports & ((1 << port) - 1)).count_ones();
        self.copies[(hop.first + before) as usize]
    }

    /// Listeners behind all ports.
    pub fn behind_all(&self, hop: u32) -> u32 {
        let hop = &self.hops[hop as usize];
        let first = hop.first as usize;
        self.copies[first..first + hop.ports.count_ones() as usize].iter().sum()
    }
}

/// The links of a network as a graph.
pub(crate) struct Graph {
    /// Per node: egress port, neighbour.
    neighbours: Vec<Vec<(u16, usize)>>,
    bridges: usize,
    /// Two nodes have more than one way between them.
    looped: bool,
}

impl Graph {
    /// The links must lead from existing nodes to existing nodes.
    pub fn new(network: &Network) -> Self {
        let nodes = network.bridges.len() + network.stations.len();
        let mut neighbours = vec![Vec::new(); nodes];
        let mut root: Vec<usize> = (0..nodes).collect();
        fn find(root: &mut [usize], mut node: usize) -> usize {
            while root[node] != node {
                root[node] = root[root[node]];
                node = root[node];
            }
            node
        }
        let mut looped = false;
        for link in &network.links {
            neighbours[link.a.0].push((link.a.1, link.b.0));
            neighbours[link.b.0].push((link.b.1, link.a.0));
            let (a, b) = (find(&mut root, link.a.0), find(&mut root, link.b.0));
            looped |= a == b;
            root[a] = b;
        }
        Self { neighbours, bridges: network.bridges.len(), looped }
    }

    /// As given, or else by the only way there is.
    pub fn branches(&self, network: &Network, stream: &Stream) -> Result<Vec<(u32, u16, u32)>, RunError> {
        let name = &stream.name;
        if let Some(downstream) = &stream.downstream {
            for &(bridge, port, copies) in downstream {
                let ports = network.bridges.get(bridge).map_or(0, |bridge| bridge.ports);
                if port >= ports || copies == 0 || copies as usize > stream.to.len() {
                    return Err(wrong(format!(
                        "stream \"{name}\": downstream [{bridge}, {port}, {copies}]: an egress port of a bridge, and \
                         1 to {} listeners are allowed",
                        stream.to.len()
                    )));
                }
            }
            let branches: Vec<_> = downstream.iter().map(|&(b, port, copies)| (b as u32, port, copies)).collect();
            let mut places: Vec<_> = branches.iter().map(|&(b, port, _)| (b, port)).collect();
            places.sort_unstable();
            if places.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(wrong(format!(
                    "stream \"{name}\": downstream names an egress port twice; once is allowed"
                )));
            }
            return Ok(branches);
        }
        if self.looped {
            return Err(wrong(format!(
                "stream \"{name}\": the network has more than one way; \"downstream\" has to say which one is taken"
            )));
        }
        let mut branches: Vec<(u32, u16, u32)> = Vec::new();
        let from = self.bridges + stream.from;
        let came = self.ways_from(from);
        for &listener in &stream.to {
            let mut node = self.bridges + listener;
            let mut way = Vec::new();
            while node != from {
                let Some((before, port)) = came[node] else {
                    return Err(wrong(format!(
                        "stream \"{name}\": no link leads from \"{}\" to \"{}\"",
                        network.stations[stream.from].name, network.stations[listener].name
                    )));
                };
                if before < self.bridges {
                    way.push((before as u32, port));
                }
                node = before;
            }
            for (bridge, port) in way.into_iter().rev() {
                match branches.iter_mut().find(|branch| (branch.0, branch.1) == (bridge, port)) {
                    Some(branch) => branch.2 += 1,
                    None => branches.push((bridge, port, 1)),
                }
            }
        }
        Ok(branches)
    }

    /// Of each node: from which node and through which of its ports it is reached; stations pass nothing on.
    fn ways_from(&self, from: usize) -> Vec<Option<(usize, u16)>> {
        let mut came = vec![None; self.neighbours.len()];
        let mut waiting = VecDeque::from([from]);
        while let Some(node) = waiting.pop_front() {
            if node >= self.bridges && node != from {
                continue;
            }
            for &(port, next) in &self.neighbours[node] {
                if next != from && came[next].is_none() {
                    came[next] = Some((node, port));
                    waiting.push_back(next);
                }
            }
        }
        came
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_counted_per_port_and_bridge() {
        let mut routes = Routes::default();
        let other = routes.add(vec![(1, 0, 9)]);
        let route = routes.add(vec![(7, 3, 2), (2, 0, 1), (7, 0, 1), (2, 40, 1)]);
        let (seven, two) = (route.first, route.first + 1);
        assert!(routes.is_at(seven, 7) && routes.is_at(two, 2) && !routes.is_at(two + 1, 7), "in the order given");
        assert_eq!((routes.find(&route, 7), routes.find(&route, 2)), (Some(seven), Some(two)));
        assert_eq!((routes.find(&route, 1), routes.find(&other, 7)), (None, None));
        assert_eq!(routes.ports(seven), 0b1001);
        assert_eq!((routes.behind(seven, 0), routes.behind(seven, 1), routes.behind(seven, 3)), (1, 0, 2));
        assert_eq!((routes.behind(two, 40), routes.behind(two, 63)), (1, 0));
        assert_eq!((routes.behind_all(seven), routes.behind_all(two)), (3, 2));
    }
}
