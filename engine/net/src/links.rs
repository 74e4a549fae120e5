// SPDX-License-Identifier: Apache-2.0
//! All links of a network: where each egress port leads.
use crate::describe::{Network, Place};
use crate::error::{wrong, RunError};
use crate::link::{Rate, Wire};
use crate::queue::MOST_NODES;

/// Where all egress ports lead.
pub(crate) struct Links {
    /// Per bridge, the place of its first port; stations, which have one, come after all bridges.
    first: Vec<u32>,
    /// Ports of bridges.
    ports: usize,
    of_ports: Vec<Option<Wire>>,
}

impl Links {
    pub fn new(network: &Network) -> Result<Self, RunError> {
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
        let ports = ports as usize;
        let mut links = Self { first, ports, of_ports: vec![None; ports + network.stations.len()] };
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
                let place = links.place(network, from)?;
                if place.replace(wire).is_some() {
                    let name = name(network, from.0);
                    return Err(wrong(format!("port {} of \"{name}\" has two links; one is allowed", from.1)));
                }
            }
        }
        Ok(links)
    }

    fn place(&mut self, network: &Network, (node, port): Place) -> Result<&mut Option<Wire>, RunError> {
        let bridges = network.bridges.len();
        if let Some(bridge) = network.bridges.get(node) {
            if port < bridge.ports {
                return Ok(&mut self.of_ports[self.first[node] as usize + usize::from(port)]);
            }
            let (name, last) = (&bridge.name, bridge.ports - 1);
            return Err(wrong(format!("a link of port {port} of \"{name}\"; 0 to {last} are there")));
        }
        match self.of_ports.get_mut(self.ports + node - bridges) {
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

    /// Per bridge: the place of its first port among those of all.
    pub fn first_ports(&self) -> Vec<u32> {
        self.first.clone()
    }

    /// The place of a port of a bridge among those of all.
    pub fn index(&self, bridge: u32, port: u16) -> usize {
        self.first[bridge as usize] as usize + usize::from(port)
    }

    /// Of all bridges.
    pub fn ports(&self) -> usize {
        self.ports
    }

    /// Where a port of a bridge leads.
    pub fn from(&self, bridge: u32, port: u16) -> Option<Wire> {
        self.at(self.index(bridge, port))
    }

    /// Where a port leads that has this place among those of all nodes.
    #[inline]
    pub fn at(&self, index: usize) -> Option<Wire> {
        self.of_ports[index]
    }

    /// To which bridge a port of a bridge leads, if to one.
    pub fn bridge_behind(&self, bridge: u32, port: u16) -> Option<u32> {
        self.from(bridge, port).map(|wire| wire.node).filter(|&node| (node as usize) < self.first.len())
    }

    /// Where the port of a station leads.
    pub fn of_station(&self, station: usize) -> Option<Wire> {
        self.at(self.ports + station)
    }

    /// Of the ports of a bridge; none where no link is.
    pub fn of_bridge(&self, bridge: usize, ports: u16) -> &[Option<Wire>] {
        let first = self.first[bridge] as usize;
        &self.of_ports[first..first + usize::from(ports)]
    }
}

/// Of a node that exists.
fn name(network: &Network, node: usize) -> &str {
    let bridges = network.bridges.len();
    network.bridges.get(node).map_or_else(|| &*network.stations[node - bridges].name, |bridge| &*bridge.name)
}
