// SPDX-License-Identifier: Apache-2.0
//! How many listeners of a stream stand behind each egress port: what is lost where a copy is.
use crate::describe::{Network, Stream};
use crate::error::{wrong, RunError};

#[derive(Clone, Debug)]
struct Hop {
    bridge: u32,
    /// Egress ports with listeners behind them.
    ports: u64,
    /// Where its branches begin.
    first: u32,
}

/// Of one stream.
#[derive(Clone, Debug, Default)]
pub struct Route {
    hops: Vec<Hop>,
    /// Per hop and port, the ports in their order: the listeners behind.
    copies: Vec<u32>,
    /// The hops in the order of bridges.
    sorted: Vec<u32>,
}

impl Route {
    fn new(mut branches: Vec<(u32, u16, u32)>) -> Self {
        let mut route = Self::default();
        // Bridges stay in the order in which they were given, which is that of the way of a frame.
        let mut place = std::collections::HashMap::new();
        for &(bridge, ..) in &branches {
            let next = place.len();
            place.entry(bridge).or_insert(next);
        }
        branches.sort_by_key(|&(bridge, port, _)| (place[&bridge], port));
        for (bridge, port, copies) in branches {
            if route.hops.last().is_none_or(|hop| hop.bridge != bridge) {
                route.hops.push(Hop { bridge, ports: 0, first: route.copies.len() as u32 });
            }
            if let Some(hop) = route.hops.last_mut() {
                hop.ports |= 1 << port;
            }
            route.copies.push(copies);
        }
        route.sorted = (0..route.hops.len() as u32).collect();
        route.sorted.sort_by_key(|&hop| route.hops[hop as usize].bridge);
        route
    }

    /// The place of a bridge; the place before it is where to look first.
    #[inline]
    pub fn find(&self, bridge: u32, before: u32) -> Option<u32> {
        for hop in before..before + 2 {
            if self.hops.get(hop as usize).is_some_and(|found| found.bridge == bridge) {
                return Some(hop);
            }
        }
        let found = self.sorted.binary_search_by_key(&bridge, |&hop| self.hops[hop as usize].bridge);
        found.ok().map(|place| self.sorted[place])
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
    pub fn route(&self, network: &Network, stream: &Stream) -> Result<Route, RunError> {
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
            let mut branches: Vec<_> = downstream.iter().map(|&(b, port, copies)| (b as u32, port, copies)).collect();
            let mut places: Vec<_> = branches.iter().map(|&(b, port, _)| (b, port)).collect();
            places.sort_unstable();
            if places.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(wrong(format!(
                    "stream \"{name}\": downstream names an egress port twice; once is allowed"
                )));
            }
            branches.shrink_to_fit();
            return Ok(Route::new(branches));
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
        Ok(Route::new(branches))
    }

    /// Of each node: from which node and through which of its ports it is reached; stations pass nothing on.
    fn ways_from(&self, from: usize) -> Vec<Option<(usize, u16)>> {
        let mut came = vec![None; self.neighbours.len()];
        let mut waiting = std::collections::VecDeque::from([from]);
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
        let route = Route::new(vec![(7, 3, 2), (2, 0, 1), (7, 0, 1), (2, 40, 1)]);
        assert_eq!(route.find(7, 0), Some(0));
        assert_eq!(route.find(2, 0), Some(1));
        assert_eq!(route.find(7, 1), Some(0), "against the order");
        assert_eq!(route.find(3, 0), None);
        assert_eq!(route.ports(0), 0b1001);
        assert_eq!((route.behind(0, 0), route.behind(0, 1), route.behind(0, 3)), (1, 0, 2));
        assert_eq!((route.behind(1, 40), route.behind(1, 63)), (1, 0));
        assert_eq!((route.behind_all(0), route.behind_all(1)), (3, 2));
    }
}
