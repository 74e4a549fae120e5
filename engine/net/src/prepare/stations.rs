// SPDX-License-Identifier: Apache-2.0
//! Stations and their programs.
use std::collections::BTreeMap;

use penstock_shaper::gates::Lists;

use crate::card::Card;
use crate::clock::Clock;
use crate::describe::{self, Network};
use crate::error::{wrong, RunError};
use crate::links::Links;
use crate::nodes::{Carded, Hosted};
use crate::program::Program;
use crate::station::{Room, Station};

/// Of a card in hardware.
const HARDWARE_BPS: u64 = 1_000_000_000;

pub(super) fn stations(network: &Network, links: &Links) -> Result<Vec<Station>, RunError> {
    let (mut stations, mut lists) = (Vec::new(), Lists::default());
    for (index, station) in network.stations.iter().enumerate() {
        let name = &station.name;
        let clock = Clock::fine(station.clock.offset_ps, station.clock.drift_ppb);
        let clock = clock.map_err(|source| RunError::Clock { node: name.clone(), source })?;
        let Some(wire) = links.of_station(index) else {
            return Err(wrong(format!("station \"{name}\" has no link; one is wanted")));
        };
        if let Some(class) = station.class_of_pcp.iter().find(|&&class| class > 7) {
            return Err(wrong(format!("station \"{name}\": class_of_pcp has {class}; 0 to 7 are allowed")));
        }
        let mut made = Station::new(clock, wire, station.class_of_pcp);
        if station.card.is_some() {
            made.give_up_port();
        }
        for limit in &station.queue_limits {
            let Some(room) = made.room.get_mut(usize::from(limit.class)) else {
                let class = limit.class;
                return Err(wrong(format!("station \"{name}\": a queue of class {class}; 0 to 7 are allowed")));
            };
            *room = Room::of(limit);
        }
        if let Some(config) = &station.shapers {
            made.shape(config, &mut lists).map_err(|source| RunError::Station { station: name.clone(), source })?;
        }
        if let Some(config) = &station.ats {
            check_schedulers(network, index, config)?;
            made.schedule(config).map_err(|source| RunError::Station { station: name.clone(), source })?;
        }
        stations.push(made);
    }
    Ok(stations)
}

/// By the numbers of their stations.
pub(super) fn programs(
    network: &Network,
    programs: BTreeMap<String, Box<dyn Program>>,
) -> Result<BTreeMap<u32, Hosted>, RunError> {
    let of = |(name, program)| {
        let station = network.stations.iter().position(|station| station.name == name);
        let station = station.ok_or_else(|| wrong(format!("a program of \"{name}\": there is no such station")))?;
        let is_host = is_host(network, station);
        Ok((station as u32, Hosted::new(&network.stations[station].name, program, is_host)))
    };
    programs.into_iter().map(of).collect()
}

/// Whether a station stands at the host port of a bridge.
fn is_host(network: &Network, station: usize) -> bool {
    let node = network.bridges.len() + station;
    let peers = network.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
    let mut ends = peers.filter(|((end, _), _)| *end == node).map(|(_, peer)| peer);
    ends.any(|(peer, port)| network.bridges.get(peer).is_some_and(|it| it.config.host && port + 1 == it.ports))
}

/// The cards of stations that have one which is no model, by the numbers of their stations.
pub(super) fn cards(
    network: &Network,
    mut cards: BTreeMap<String, Box<dyn Card>>,
    hosted: &BTreeMap<u32, Hosted>,
    links: &Links,
) -> Result<BTreeMap<u32, Carded>, RunError> {
    let mut found = BTreeMap::new();
    for (index, station) in (0..).zip(&network.stations).filter(|(_, station)| station.card.is_some()) {
        let name = &station.name;
        let card = cards.remove(name).ok_or_else(|| wrong(format!("station \"{name}\": no card for it")))?;
        if hosted.contains_key(&index) {
            return Err(wrong(format!("station \"{name}\": a program and a card; one of them is allowed")));
        }
        if let Some(wire) = links.of_station(index as usize) {
            let rate = wire.rate.bps();
            if rate != HARDWARE_BPS {
                return Err(wrong(format!(
                    "station \"{name}\": a link of {rate} b/s; its card allows {HARDWARE_BPS} only"
                )));
            }
        }
        found.insert(index, Carded::new(name, card));
    }
    match cards.keys().next() {
        Some(name) => Err(wrong(format!("a card of \"{name}\": no station of this name has one"))),
        None => Ok(found),
    }
}

/// A talker holds what is its own.
fn check_schedulers(network: &Network, station: usize, config: &describe::Ats) -> Result<(), RunError> {
    for &stream in config.schedulers.iter().flat_map(|scheduler| &scheduler.streams) {
        if network.streams.get(stream as usize).is_none_or(|stream| stream.from != station) {
            let name = &network.stations[station].name;
            return Err(wrong(format!(
                "station \"{name}\": an ATS scheduler of stream {stream}, which is not its own"
            )));
        }
    }
    Ok(())
}
