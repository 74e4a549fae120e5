// SPDX-License-Identifier: Apache-2.0
//! Streams: where their frames come from, and the books that are kept of them.
use std::collections::HashMap;

use super::once;
use crate::conformance::Conformance;
use crate::conservation::Fates;
use crate::describe::Network;
use crate::error::{wrong, RunError};
use crate::header::Headers;
use crate::ledger::{Listeners, StreamLedger};
use crate::links::Links;
use crate::routes::{Graph, Routes};
use crate::source::{Generator, Origin};
use crate::statistics::StreamStatistics;

pub(super) fn streams(
    network: &Network,
    links: &Links,
    headers: &mut Headers,
    routes: &mut Routes,
) -> Result<(Vec<Origin>, Vec<StreamLedger>), RunError> {
    once("streams", network.streams.iter().map(|stream| &stream.name))?;
    let graph = Graph::new(network);
    let mut made: Vec<Origin> = Vec::with_capacity(network.streams.len());
    let mut ledgers = Vec::with_capacity(network.streams.len());
    // Of streams that promise rate and burst together, by their talker.
    let mut first_of: HashMap<(usize, u32), u32> = HashMap::new();
    for stream in &network.streams {
        let name = &stream.name;
        for &station in stream.to.iter().chain([&stream.from]) {
            if station >= network.stations.len() {
                let last = network.stations.len().saturating_sub(1);
                return Err(wrong(format!("stream \"{name}\": there is no station {station}; 0 to {last} are there")));
            }
        }
        let mut to: Vec<u32> = stream.to.iter().map(|&station| station as u32).collect();
        to.sort_unstable();
        if to.is_empty() {
            return Err(wrong(format!("stream \"{name}\": nobody listens; one station or more is wanted")));
        }
        if let Some(twice) = to.windows(2).find(|pair| pair[0] == pair[1]) {
            let listener = &network.stations[twice[0] as usize].name;
            return Err(wrong(format!("stream \"{name}\": \"{listener}\" listens twice; once is allowed")));
        }
        if to.contains(&(stream.from as u32)) {
            let talker = &network.stations[stream.from].name;
            return Err(wrong(format!("stream \"{name}\": \"{talker}\" would send to itself")));
        }
        let generator = Generator::new(stream, headers);
        let generator = generator.map_err(|source| RunError::Source { stream: name.clone(), source })?;
        let handover = Generator::handover(stream);
        let handover = handover.map_err(|source| RunError::Source { stream: name.clone(), source })?;
        let conformance = stream.committed.as_ref().map(Conformance::new).transpose();
        let mut conformance = conformance.map_err(|source| wrong(format!("stream \"{name}\": {source}")))?;
        if let Some(together) = stream.committed.and_then(|committed| committed.together) {
            let first = *first_of.entry((stream.from, together)).or_insert(made.len() as u32);
            if first < made.len() as u32 {
                conformance = conformance.map(|own| own.sharing(first));
            }
        }
        made.push(Origin { generator, handover, answers: Vec::new(), talker: stream.from as u32 });
        ledgers.push(StreamLedger {
            statistics: StreamStatistics { conformance, ..StreamStatistics::default() },
            fates: Fates::default(),
            listeners: Listeners::of(&to),
            route: routes.add(graph.branches(network, stream)?, |bridge, port| links.bridge_behind(bridge, port)),
        });
    }
    for (index, stream) in network.streams.iter().enumerate() {
        let Some(asked) = made[index].generator.answers() else { continue };
        let name = &stream.name;
        let Some(request) = network.streams.get(asked) else {
            let last = network.streams.len() - 1;
            return Err(wrong(format!("stream \"{name}\": to_stream is {asked}; 0 to {last} are allowed")));
        };
        if !request.to.contains(&stream.from) {
            let (request, talker) = (&request.name, &network.stations[stream.from].name);
            return Err(wrong(format!(
                "stream \"{name}\" answers \"{request}\", which \"{talker}\" does not listen to"
            )));
        }
        made[asked].answers.push(index as u32);
    }
    Ok((made, ledgers))
}
