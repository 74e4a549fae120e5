// SPDX-License-Identifier: Apache-2.0
//! How many listeners of a stream stand behind each egress port: what is lost where a copy is.
use std::collections::{HashMap, VecDeque};

use prefetch_index::prefetch_index;

use crate::describe::{Network, Stream};
use crate::error::{wrong, RunError};
use crate::frame::NONE;

/// A bridge on the way of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    pub bridge: u32,
    /// Egress ports with listeners behind them.
    pub ports: u64,
    /// Where its branches begin.
    first: u32,
}

impl Hop {
    /// It is behind the last one of a stream.
    #[inline]
    pub fn is_end(&self) -> bool {
        self.bridge == END.bridge
    }
}

/// Follows the last hop of each stream.
const END: Hop = Hop { bridge: u32::MAX, ports: 0, first: 0 };

/// What is behind an egress port.
#[derive(Clone, Copy, Debug)]
struct Branch {
    listeners: u32,
    /// [`NONE`]: no bridge.
    hop: u32,
}

/// Of all streams, one after the other, each in the order in which its frames come by.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    hops: Vec<Hop>,
    /// Per hop, those of its ports in their order.
    branches: Vec<Branch>,
}

/// The part of one stream.
#[derive(Clone, Debug)]
pub struct Route {
    /// Its first hop, where a new frame is expected.
    pub first: u32,
    /// Its hops in the order of bridges.
    sorted: Vec<u32>,
}

impl Routes {
    /// Bridge, egress port, listeners behind it; and to which bridge a port leads, if to one.
    pub fn add(&mut self, mut branches: Vec<(u32, u16, u32)>, neighbour: impl Fn(u32, u16) -> Option<u32>) -> Route {
        let first = self.hops.len() as u32;
        let mut place = HashMap::new();
        for &(bridge, ..) in &branches {
            let next = first + place.len() as u32;
            place.entry(bridge).or_insert(next);
        }
        branches.sort_by_key(|&(bridge, port, _)| (place[&bridge], port));
        for (bridge, port, listeners) in branches {
            if self.hops[first as usize..].last().is_none_or(|hop| hop.bridge != bridge) {
                self.hops.push(Hop { bridge, ports: 0, first: self.branches.len() as u32 });
            }
            if let Some(hop) = self.hops.last_mut() {
                hop.ports |= 1 << port;
            }
            let next = neighbour(bridge, port).and_then(|next| place.get(&next).copied());
            self.branches.push(Branch { listeners, hop: next.unwrap_or(NONE) });
        }
        let mut sorted: Vec<u32> = (first..self.hops.len() as u32).collect();
        sorted.sort_by_key(|&hop| self.hops[hop as usize].bridge);
        self.hops.push(END);
        Route { first, sorted }
    }

    /// Of all streams.
    pub fn hops(&self) -> usize {
        self.hops.len()
    }

    /// None beside the route.
    #[inline]
    pub fn hop(&self, hop: u32) -> Option<&Hop> {
        self.hops.get(hop as usize)
    }

    /// The hop at a bridge; [`NONE`] where the stream has no listener behind it.
    #[inline]
    pub fn at(&self, expected: u32, route: &Route, bridge: u32) -> u32 {
        match self.hops.get(expected as usize) {
            Some(hop) if hop.bridge == bridge => expected,
            _ => self.find(route, bridge),
        }
    }

    fn find(&self, route: &Route, bridge: u32) -> u32 {
        let found = route.sorted.binary_search_by_key(&bridge, |&hop| self.hops[hop as usize].bridge);
        found.map_or(NONE, |place| route.sorted[place])
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
        self.hop(hop).map_or(0, |hop| hop.ports)
    }

    /// Listeners behind one port.
    pub fn behind(&self, hop: u32, port: u16) -> u32 {
        self.branch(hop, port).map_or(0, |branch| branch.listeners)
    }

    /// Listeners behind all ports.
    pub fn behind_all(&self, hop: u32) -> u32 {
        let Some(hop) = self.hop(hop) else { return 0 };
        let first = hop.first as usize;
        self.branches[first..first + hop.ports.count_ones() as usize].iter().map(|branch| branch.listeners).sum()
    }

    /// Where a frame is expected that leaves a port.
    #[inline]
    pub fn after(&self, hop: u32, port: u16) -> u32 {
        match self.hop(hop) {
            // The next bridge of the only way.
            Some(here) if here.ports == 1 << port => hop + 1,
            _ => self.branch(hop, port).map_or(NONE, |branch| branch.hop),
        }
    }

    fn branch(&self, hop: u32, port: u16) -> Option<&Branch> {
        let hop = self.hop(hop)?;
        if hop.ports >> port & 1 == 0 {
            return None;
        }
        let before = (hop.ports & ((1 << port) - 1)).count_ones();
        self.branches.get((hop.first + before) as usize)
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

    /// The node at the first link of a node.
    pub fn neighbour(&self, node: usize) -> Option<usize> {
        Some(self.neighbours.get(node)?.first()?.1)
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
    fn listeners_are_counted_per_port_and_bridge() {
        let mut routes = Routes::default();
        let none = |_, _| None;
        let other = routes.add(vec![(1, 0, 9)], none);
        let route = routes.add(vec![(7, 3, 2), (2, 0, 1), (7, 0, 1), (2, 40, 1)], none);
        let (seven, two) = (route.first, route.first + 1);
        assert_eq!((routes.at(seven, &route, 7), routes.at(two, &route, 2)), (seven, two), "in the order given");
        assert_eq!((routes.at(two, &route, 7), routes.at(NONE, &route, 2)), (seven, two));
        assert_eq!((routes.at(seven, &route, 1), routes.at(seven, &other, 7)), (NONE, seven));
        assert_eq!(routes.ports(seven), 0b1001);
        assert_eq!((routes.behind(seven, 0), routes.behind(seven, 1), routes.behind(seven, 3)), (1, 0, 2));
        assert_eq!((routes.behind(two, 40), routes.behind(two, 63)), (1, 0));
        assert_eq!((routes.behind_all(seven), routes.behind_all(two), routes.behind_all(NONE)), (3, 2, 0));
    }

    #[test]
    fn a_frame_is_expected_behind_the_port_that_it_leaves() {
        let mut routes = Routes::default();
        // 5 leads to 2 and to 9, and 9 back to 5, where the stream does not go.
        let neighbour = |bridge, port| match (bridge, port) {
            (5, 1) => Some(2),
            (5, 3) => Some(9),
            (9, 7) => Some(5),
            _ => None,
        };
        let route = routes.add(vec![(5, 1, 1), (5, 3, 1), (2, 0, 1), (9, 0, 1)], neighbour);
        assert_eq!((routes.after(route.first, 1), routes.after(route.first, 3)), (route.first + 1, route.first + 2));
        assert_eq!((routes.after(route.first, 0), routes.after(route.first + 2, 7)), (NONE, NONE));
    }
}
