// SPDX-License-Identifier: Apache-2.0
//! Keeps a host the node of tiles that it was made: what interfaces that were set down have lost comes back with them.
//!
//! A link without a carrier keeps its routes, and the kernel passes them by; an interface that is set down loses routes
//! and neighbours, and the kernel does not put them back. Whatever ends this program leaves nothing that was not there
//! before: what it puts is what `penstock torus apply` put, with the same number, by which `remove` finds it.
mod host;
mod node;

use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::time::Instant;

use penstock_sys::netlink::{Connection, Events};

use crate::station::{kernel, EndError};
use host::Entry;
pub use node::{Node, NodeError};

/// Follows links until the host is no node any more; `tell` gets a line at the begin, and when something was put back.
///
/// # Errors
/// The host is not this node, an interface is not there, or the kernel refused.
pub fn run(node: &Node, mut tell: impl FnMut(&str)) -> Result<(), EndError> {
    let failed = || kernel("links and routes of this host");
    let mut events = Events::open(host::LINKS).map_err(failed())?;
    let mut keeper = Keeper::new(node)?;
    tell(&format!("{}: follows {}", node.name, node.interfaces.join(", ")));
    loop {
        let begin = Instant::now();
        let Some(back) = keeper.restore().map_err(failed())? else {
            tell(&format!("{}: this host is no node any more", node.name));
            return Ok(());
        };
        for refused in &back.refused {
            tell(&format!("{}: {refused}", node.name));
        }
        if back.entries > 0 {
            let ms = begin.elapsed().as_secs_f64() * 1e3;
            tell(&format!("{}: {} entries put back in {ms:.1} ms", node.name, back.entries));
        }
        loop {
            match events.wait() {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                done => break done.map_err(failed())?,
            }
        }
    }
}

/// What was done at one event.
#[derive(Debug, Default)]
struct Back {
    entries: usize,
    /// Each with why.
    refused: Vec<String>,
}

struct Keeper {
    kernel: Connection,
    /// Of interfaces as they were at the begin: another one that gets the same name is not ours.
    neighbours: Vec<host::Neighbour>,
    routes: Vec<host::Route>,
}

impl Keeper {
    fn new(node: &Node) -> Result<Self, EndError> {
        let mut connection = Connection::open().map_err(kernel("a netlink socket"))?;
        let links = host::links(&mut connection).map_err(kernel("the interfaces of this host"))?;
        if let Some(name) = node.interfaces.iter().find(|&name| !links.contains_key(name)) {
            return Err(EndError::Input(format!("{name}: this host has no such interface")));
        }
        if !host::is_node(&mut connection).map_err(kernel("the rules of this host"))? {
            let what = format!("this host is not {}; allowed: penstock torus apply before", node.name);
            return Err(EndError::Input(what));
        }
        let index = |name: &str| links.get(name).map(|link| link.index);
        let neighbours = node.neighbours.iter().filter_map(|each| {
            Some(host::Neighbour { index: index(&each.interface)?, address: each.address, mac: each.mac })
        });
        let routes = node.routes.iter().filter_map(|each| {
            Some(host::Route {
                table: each.table,
                destination: each.destination,
                metric: each.metric,
                index: index(&each.interface)?,
                gateway: each.gateway,
                source: each.source,
            })
        });
        Ok(Self { kernel: connection, neighbours: neighbours.collect(), routes: routes.collect() })
    }

    /// Puts what is missing at interfaces that are up; None: the host is no node any more, and nothing was put.
    fn restore(&mut self) -> io::Result<Option<Back>> {
        if !host::is_node(&mut self.kernel)? {
            return Ok(None);
        }
        let links = host::links(&mut self.kernel)?;
        let up: HashSet<u32> = links.values().filter(|link| link.is_up).map(|link| link.index).collect();
        let (near, ways) = (host::neighbours(&mut self.kernel)?, host::routes(&mut self.kernel)?);
        let neighbours = self.neighbours.iter().filter(|each| up.contains(&each.index) && !near.contains(each));
        let routes = self.routes.iter().filter(|each| up.contains(&each.index) && !ways.contains(each));
        let missing = neighbours.map(|each| each as &dyn Entry).chain(routes.map(|each| each as &dyn Entry));
        let mut back = Back::default();
        let mut done = Vec::new();
        for entry in missing {
            match entry.put(&mut self.kernel) {
                Ok(()) => done.push(entry),
                // It went down again, and is looked at again when it comes up.
                Err(error) if matches!(error.kind(), ErrorKind::NetworkDown | ErrorKind::AlreadyExists) => {}
                Err(error) => back.refused.push(format!("{entry:?} was not put back: {error}")),
            }
        }
        // Who removes a node takes its rules first: then what is put here was either seen by him, or is taken here.
        if !done.is_empty() && !host::is_node(&mut self.kernel)? {
            for entry in done {
                _ = entry.take(&mut self.kernel);
            }
            return Ok(None);
        }
        back.entries = done.len();
        Ok(Some(back))
    }
}
