// SPDX-License-Identifier: Apache-2.0
//! A run of a network, and what it leaves.
use std::collections::BTreeMap;

use crate::card::Card;
use crate::conservation::Fates;
use crate::describe::{self, BridgeKind, Network};
use crate::error::RunError;
use crate::figures::{Figures, Figuring};
use crate::kernel::{Closed, Ended, Observer};
use crate::limits;
use crate::node::Node;
use crate::partition;
use crate::places::Places;
use crate::prepare::{filter, prepare};
use crate::program::Program;
use crate::simulation::Simulation;
use crate::statistics::StreamStatistics;

pub struct Outcome {
    /// Bridges, then stations, in their order.
    pub nodes: Vec<String>,
    pub streams: Vec<String>,
    /// Per stream.
    pub fates: Vec<Fates>,
    pub statistics: Vec<StreamStatistics>,
    pub simulation: Simulation,
    pub places: Places,
    /// If they were asked for.
    pub figures: Option<Figures>,
    pub interrupted: bool,
}

/// What the caller brings.
#[derive(Default)]
pub struct Guests {
    /// The bridges that are no models, in the order of the description.
    pub nodes: Vec<Box<dyn Node>>,
    /// By their stations' names; those answer for the streams of that station that respond to others.
    pub programs: BTreeMap<String, Box<dyn Program>>,
    /// Of the stations whose port is no model, by their names.
    pub cards: BTreeMap<String, Box<dyn Card>>,
}

pub fn run(network: Network, guests: Guests, observer: &mut dyn Observer) -> Result<Outcome, RunError> {
    let end = network.duration_ps.saturating_add(network.drain_ps);
    let kernel = prepare(&network, guests, end, None)?;
    let names = Names::new(&network);
    // That of a large network takes as much memory as the run.
    drop(network);
    let (closed, ended) = kernel.run(end, observer)?;
    names.outcome(closed, ended)
}

/// As [`run`], on several cores where all bridges are models and no station has a program, with the same results.
pub fn run_on(
    cores: usize,
    mut network: Network,
    guests: Guests,
    observer: &mut dyn Observer,
) -> Result<Outcome, RunError> {
    if let Some(wanted) = network.figures.take() {
        limits::check(&network)?;
        let figures = Figures::new(&network, &wanted)?;
        let mut figuring = Figuring { figures, observer, wanted: filter(&network)? };
        network.trace = describe::Trace::default();
        let outcome = run_on(cores, network, guests, &mut figuring)?;
        return Ok(Outcome { figures: Some(figuring.figures), ..outcome });
    }
    let is_model = |bridge: &describe::Bridge| bridge.kind == BridgeKind::Model;
    // What breaks at a time breaks for all partitions, which are at different times.
    let is_whole = network.faults.is_empty();
    let is_one =
        cores < 2 || network.bridges.len() < 2 || !guests.programs.is_empty() || !guests.cards.is_empty() || !is_whole;
    if is_one || !network.bridges.iter().all(is_model) {
        return run(network, guests, observer);
    }
    partition::run(cores, network, observer)
}

/// What a run's results are of.
pub(crate) struct Names {
    nodes: Vec<String>,
    streams: Vec<String>,
}

impl Names {
    pub fn new(network: &Network) -> Self {
        let bridges = network.bridges.iter().map(|bridge| bridge.name.clone());
        let nodes = bridges.chain(network.stations.iter().map(|station| station.name.clone())).collect();
        let streams = network.streams.iter().map(|stream| stream.name.clone()).collect();
        Self { nodes, streams }
    }

    pub fn outcome(self, closed: Closed, ended: Ended) -> Result<Outcome, RunError> {
        let Closed { streams: ledgers, mut violations, simulation, places, .. } = closed;
        let (fates, statistics): (_, Vec<_>) =
            ledgers.into_iter().map(|stream| (stream.fates, stream.statistics)).unzip();
        violations.check_sums(&statistics);
        let violations = violations.into_inner();
        if !violations.is_empty() {
            return Err(RunError::Conservation(violations));
        }
        let Self { nodes, streams } = self;
        Ok(Outcome {
            nodes,
            streams,
            fates,
            statistics,
            simulation,
            places,
            figures: None,
            interrupted: ended == Ended::Interrupted,
        })
    }
}
