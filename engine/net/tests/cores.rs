// SPDX-License-Identifier: Apache-2.0
//! A run on several cores is that of one, bit by bit: rows and their order, numbers of frames, statistics, captures.
mod plans;

use std::path::{Path, PathBuf};

use penstock_net::describe::SourceKind;
use penstock_net::{run_on, Distribution, Event, Guests, Network, Observer, Outcome, Row};
use proptest::prelude::*;
use serde_json::json;

use plans::{plans, Plan};

#[derive(Default)]
struct Rows {
    chunks: Vec<Vec<Row>>,
    stop_at: Option<usize>,
    refuse: bool,
}

impl Observer for Rows {
    fn rows(&mut self, rows: &mut Vec<Row>) -> bool {
        self.chunks.push(std::mem::take(rows));
        !self.refuse
    }
    fn progress(&mut self, _done: f64) -> bool {
        self.stop_at.is_none_or(|chunks| self.chunks.len() < chunks)
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("penstock-cores-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn captures(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read =
        |path: &PathBuf| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(path).unwrap());
    files.iter().map(read).collect()
}

fn simulate(network: &Network, cores: usize) -> (Outcome, Rows) {
    let mut rows = Rows::default();
    let outcome = run_on(cores, network.clone(), Guests::default(), &mut rows);
    (outcome.unwrap_or_else(|error| panic!("on {cores} cores: {error}")), rows)
}

fn assert_equal(one: &(Outcome, Rows), several: &(Outcome, Rows)) {
    let (first, second) = (&one.0, &several.0);
    assert_eq!(format!("{:?}", first.simulation), format!("{:?}", second.simulation));
    assert_eq!(first.fates, second.fates);
    for (first, second) in first.statistics.iter().zip(&second.statistics) {
        let distributions = |statistics: &penstock_net::StreamStatistics| {
            [&statistics.latency_ps, &statistics.interval_ps, &statistics.talker_wait_ps].map(Distribution::summary)
        };
        assert_eq!(distributions(first), distributions(second));
        let counts = |of: &penstock_net::StreamStatistics| {
            let times = (of.first_delivered_ps, of.last_delivered_ps);
            (
                of.frames,
                of.copies,
                of.delivered,
                of.delivered_wire_bytes,
                of.inside,
                of.launch_missed,
                of.dropped,
                times,
            )
        };
        assert_eq!(counts(first), counts(second));
        let conformance = |of: &penstock_net::StreamStatistics| {
            of.conformance.as_ref().map(|of| (of.frames, of.late, of.worst_ps, of.first_late))
        };
        assert_eq!(conformance(first), conformance(second));
    }
    assert_eq!(one.1.chunks.len(), several.1.chunks.len());
    for (first, second) in one.1.chunks.iter().zip(&several.1.chunks) {
        assert_eq!(first.len(), second.len());
        for (number, (first, second)) in first.iter().zip(second).enumerate() {
            assert_eq!(first, second, "row {number}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn results_are_those_of_one_core(plan in plans(), is_captured in any::<bool>(), events in any::<u8>()) {
        let mut network: Network = serde_json::from_value(plan.network()).unwrap();
        prop_assume!(!network.streams.is_empty());
        // Without the rows of creation, too.
        if events & 3 == 0 {
            network.trace.events = Some(vec!["sent".into(), "delivered".into(), "dropped".into()]);
        }
        network.trace.enabled = events & 12 != 0;
        let mut files = Vec::new();
        let mut one = None;
        for cores in [1, 2, 3, 5] {
            if is_captured {
                network.captures = Some(folder(&cores.to_string()));
            }
            let found = simulate(&network, cores);
            if let Some(captured) = network.captures.take() {
                files.push(captures(&captured));
                std::fs::remove_dir_all(captured).unwrap();
            }
            match &one {
                None => one = Some(found),
                Some(one) => assert_equal(one, &found),
            }
        }
        prop_assert!(files.windows(2).all(|pair| pair[0] == pair[1]));
    }
}

/// Stations at both ends of a line of bridges, which send for longer than anybody waits.
fn endless() -> Network {
    let kinds = vec![2; 6];
    let plan = Plan {
        parents: (0..5).collect(),
        kinds,
        stations: vec![(0, 3 << 16), (5, 3 << 16)],
        streams: vec![(0, vec![1], 2, 64, 1, 2), (1, vec![0], 2, 64, 1, 2)],
        delay_ps: 50_000,
        is_static: true,
    };
    let mut network: Network = serde_json::from_value(plan.network()).unwrap();
    for stream in &mut network.streams {
        if let SourceKind::BackToBack { .. } = stream.source.kind {
            stream.source.count = None;
        }
    }
    network.duration_ps = 100_000_000_000_000;
    network
}

#[test]
fn an_interrupted_run_gives_what_it_has() {
    let network = endless();
    let mut rows = Rows { stop_at: Some(2), ..Rows::default() };
    let outcome = run_on(3, network.clone(), Guests::default(), &mut rows).unwrap();
    assert!(outcome.interrupted && outcome.simulation.end_ps < network.duration_ps);
    for (index, statistics) in outcome.statistics.iter().enumerate() {
        let dropped = statistics.dropped.iter().sum::<u64>();
        assert_eq!(statistics.copies, statistics.delivered + statistics.inside + dropped);
        let told =
            rows.chunks.iter().flatten().filter(|row| (row.event, row.stream) == (Event::Delivered, index as u32));
        assert_eq!(told.count() as u64, statistics.delivered);
    }
}

#[test]
fn rows_that_are_not_taken_end_the_run() {
    let mut rows = Rows { refuse: true, ..Rows::default() };
    let error = run_on(2, endless(), Guests::default(), &mut rows).err().unwrap();
    assert_eq!(error.to_string(), "the rows of the trace were not taken");
}

/// Described wrongly, as on one core.
#[test]
fn what_is_wrong_is_said() {
    let mut network = endless();
    network.streams[0].to = vec![9];
    let refused =
        |cores| run_on(cores, network.clone(), Guests::default(), &mut Rows::default()).err().unwrap().to_string();
    assert_eq!(refused(1), "stream \"x0\": there is no station 9; 0 to 1 are there");
    assert_eq!(refused(2), refused(1));
}

/// Nothing happens for long: that costs nothing.
#[test]
fn idle_time_is_skipped() {
    let mut network = endless();
    network.duration_ps = 1_000_000_000_000_000;
    for stream in &mut network.streams {
        stream.source = serde_json::from_value(
            json!({"kind": "periodic", "frame_bytes": 64, "period_ps": 100_000_000_000_000_u64}),
        )
        .unwrap();
    }
    assert_equal(&simulate(&network, 1), &simulate(&network, 3));
}
