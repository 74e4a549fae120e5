// SPDX-License-Identifier: Apache-2.0
//! A run and what it leaves. Compiled with each width of times: `super::net`.
use super::net::{run_on, Distribution, Figures, Guests, Network, Observer, Row, Simulation, StreamStatistics};
use crate::{taken, Left};

#[derive(Default)]
struct Rows(Vec<(u128, String)>);

impl Observer for Rows {
    fn rows(&mut self, rows: &mut Vec<Row>) -> bool {
        self.0.extend(rows.drain(..).map(|row| (row.time_ps.into(), format!("{:?}", Row { time_ps: 0, ..row }))));
        true
    }

    fn progress(&mut self, _done: f64) -> bool {
        true
    }
}

pub fn simulate(network: &str, cores: usize) -> Left {
    let network: Network = serde_json::from_str(network).unwrap();
    let (captures, mut rows) = (network.captures.clone(), Rows::default());
    let outcome = run_on(cores, network, Guests::default(), &mut rows);
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    let streams = outcome.fates.iter().zip(&outcome.statistics).map(|(fates, of)| {
        let told = [&of.latency_ps, &of.interval_ps, &of.talker_wait_ps].map(Distribution::summary);
        let counts = (of.frames, of.copies, of.delivered, of.inside, of.spoiled, of.dropped, of.repeated);
        let others = (of.delivered_wire_bytes, of.launch_missed);
        let kept = of.conformance.as_ref().map(|of| (of.frames, of.late, of.worst_ps, of.first_late));
        format!("{fates:?} {told:?} {counts:?} {others:?} {kept:?}")
    });
    let wide = |time: Option<_>| time.map(u128::from);
    let delivered = |of: &StreamStatistics| [of.first_delivered_ps, of.last_delivered_ps].map(wide);
    Left {
        delivered: outcome.statistics.iter().map(delivered).collect(),
        streams: streams.collect(),
        figures: outcome.figures.iter().flat_map(passed).collect(),
        end: outcome.simulation.end_ps.into(),
        simulation: format!("{:?}", Simulation { end_ps: 0, ..outcome.simulation }),
        captures: captures.as_deref().map(taken).unwrap_or_default(),
        rows: rows.0,
    }
}

fn passed(figures: &Figures) -> Vec<String> {
    let ports = figures.ports().map(|(bridge, port, of)| {
        let (passing, queued) = (of.passing_ps.summary(), of.queued_bytes_max());
        format!("{bridge} {port} {} {} {} {queued} {passing:?}", of.frames, of.dropped, of.wire_bytes)
    });
    let hops = figures.hops().iter().map(|of| {
        let passing = of.passing_ps.as_ref().map(|passing| passing.summary());
        format!("{} {:?} {:?} {passing:?}", of.frames, of.first_received_ps, of.idle_ps)
    });
    let held = figures.shaping_ps().iter().map(|held| format!("{:?}", held.summary()));
    ports.chain(hops).chain(held).collect()
}
