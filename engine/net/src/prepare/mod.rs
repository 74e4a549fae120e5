// SPDX-License-Identifier: Apache-2.0
//! From a description to a kernel.
mod bridges;
mod stations;
mod streams;

use std::collections::HashSet;
use std::sync::Arc;

use crate::capture::Captures;
use crate::describe::Network;
use crate::error::{wrong, RunError};
use crate::faults::Faults;
use crate::header::Headers;
use crate::kernel::{Border, Kernel, Parts};
use crate::ledger::Ledger;
use crate::limits;
use crate::links::Links;
use crate::nodes::{Member, StationNode};
use crate::partition::{cut::Division, exchange::Exchange};
use crate::routes::Routes;
use crate::run::Guests;
use crate::trace::{Event, Filter, Trace};
use bridges::{check_deaths, members};
use penstock_shaper::Time;
use stations::{cards, programs, stations};
use streams::streams;

/// A part of a network, for a kernel of its own.
pub(crate) struct Part<'a> {
    pub number: usize,
    pub division: &'a Division,
    pub exchange: Arc<Exchange>,
}

impl Part<'_> {
    fn has_station(&self, station: usize) -> bool {
        self.division.of_station[station] as usize == self.number
    }

    /// The partition of a bridge that is not in this one.
    fn foreign(&self, bridge: usize) -> Option<u32> {
        Some(self.division.of_bridge[bridge]).filter(|&partition| partition as usize != self.number)
    }
}

pub(crate) fn prepare(network: &Network, guests: Guests, end: Time, part: Option<&Part>) -> Result<Kernel, RunError> {
    limits::check(network)?;
    let links = Links::new(network)?;
    let mut headers = Headers::default();
    let mut routes = Routes::default();
    let (origins, ledgers) = streams(network, &links, &mut headers, &mut routes)?;
    let stations = stations(network, &links)?;
    let mut listens = vec![false; network.stations.len()];
    for &listener in network.streams.iter().flat_map(|stream| &stream.to) {
        listens[listener] = part.is_none_or(|part| part.has_station(listener));
    }
    let named = network.stations.iter().zip(listens).map(|(station, listens)| (&*station.name, listens));
    let mut programs = programs(network, guests.programs)?;
    let mut cards = cards(network, guests.cards, &programs, &links)?;
    check_deaths(network, &programs)?;
    let mut members = members(network, guests.nodes, &links, &headers.into_lasting(), end, part)?;
    members.extend((0..).zip(stations).map(|(index, station)| {
        let place = (links.ports() + index as usize) as u32;
        let mut node = StationNode::new(station, index, place, programs.remove(&index));
        cards.remove(&index).into_iter().for_each(|card| node.set_card(card));
        Member::Station(Box::new(node))
    }));
    Kernel::new(Parts {
        members,
        links,
        origins,
        ledger: Ledger::new(ledgers, routes, network.statistics.exact_up_to),
        trace: Trace::new(filter(network)?),
        captures: Captures::new(network.captures.as_deref(), named)?,
        faults: Faults::new(network)?,
        duration: network.duration_ps,
        border: part.map(|part| {
            let stations = (0..network.stations.len()).map(|station| part.has_station(station)).collect();
            Border::new(part.number, part.exchange.clone(), stations)
        }),
    })
}

fn once<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> Result<(), RunError> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(wrong(format!("two {what} are named \"{name}\"")));
        }
    }
    Ok(())
}

pub(crate) fn filter(network: &Network) -> Result<Filter, RunError> {
    let described = &network.trace;
    let mut events = if described.events.is_none() { u16::MAX } else { 0 };
    for name in described.events.iter().flatten() {
        let Some(event) = Event::NAMES.iter().position(|known| known == name) else {
            let known = Event::NAMES.join(", ");
            return Err(wrong(format!("trace: there is no event \"{name}\"; {known} are there")));
        };
        events |= 1 << event;
    }
    if !described.enabled {
        events = 0;
    }
    let count = network.bridges.len() + network.stations.len();
    let nodes = match &described.nodes {
        None => None,
        Some(chosen) => {
            let mut nodes = vec![false; count];
            for &node in chosen {
                let place = nodes.get_mut(node);
                *place.ok_or_else(|| wrong(format!("trace: there is no node {node}; {count} are there")))? = true;
            }
            Some(nodes)
        }
    };
    Ok(Filter { events, nodes })
}
