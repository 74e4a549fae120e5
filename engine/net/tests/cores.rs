// SPDX-License-Identifier: Apache-2.0
//! A run on several cores is that of one, bit by bit: rows and their order, numbers of frames, statistics, captures.
use std::path::{Path, PathBuf};

use penstock_net::describe::SourceKind;
use penstock_net::{run_on, Distribution, Event, Guests, Network, Observer, Outcome, Row};
use proptest::prelude::*;
use serde_json::{json, Value};

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

/// A random tree of bridges of all kinds, and what passes through it.
#[derive(Clone, Debug)]
struct Plan {
    parents: Vec<usize>,
    kinds: Vec<u32>,
    stations: Vec<(usize, u32)>,
    streams: Vec<(usize, Vec<usize>, u8, u32, u64, u32)>,
    delay_ps: u64,
    /// All bridges know the way.
    is_static: bool,
}

fn plans() -> impl Strategy<Value = Plan> {
    let delays = prop_oneof![Just(0), Just(50_000_u64), 0_u64..3_000_000];
    (2_usize..9, 2_usize..8, delays, any::<bool>()).prop_flat_map(|(bridges, stations, delay_ps, is_static)| {
        (
            (1..bridges).map(|n| n.saturating_sub(3)..n).collect::<Vec<_>>(),
            proptest::collection::vec(any::<u32>(), bridges),
            proptest::collection::vec((0..bridges, any::<u32>()), stations),
            proptest::collection::vec(
                (
                    0..stations,
                    proptest::collection::vec(0..stations, 1..5),
                    0_u8..8,
                    64_u32..1522,
                    2_000_000_u64..40_000_000,
                    any::<u32>(),
                ),
                1..9,
            ),
        )
            .prop_map(move |(parents, kinds, stations, streams)| Plan {
                parents,
                kinds,
                stations,
                streams,
                delay_ps,
                is_static,
            })
    })
}

const HOST: u64 = 0x0200_0000_0000;
const GROUP: u64 = 0x0300_0000_0100;

fn address(value: u64) -> String {
    value.to_be_bytes()[2..].iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

impl Plan {
    fn network(&self) -> Value {
        let bridges = self.kinds.len();
        let mut ports = vec![0_u16; bridges];
        let mut take = |bridge: usize| {
            ports[bridge] += 1;
            json!([bridge, ports[bridge] - 1])
        };
        let mut links = Vec::new();
        for (n, &parent) in self.parents.iter().enumerate() {
            links.push(
                json!({"a": take(n + 1), "b": take(parent), "rate_bps": 1_000_000_000, "delay_ps": self.delay_ps}),
            );
        }
        for (n, &(bridge, _)) in self.stations.iter().enumerate() {
            links.push(json!({"a": take(bridge), "b": [bridges + n, 0], "rate_bps": 1_000_000_000, "delay_ps": 7_000}));
        }
        let described: Vec<_> = (0..bridges)
            .map(|n| {
                let mut bridge = self.bridge(n, ports[n]);
                if self.is_static {
                    bridge["config"]["learning_enable"] = false.into();
                    bridge["config"]["static_addresses"] = self.addresses(n, &links);
                }
                bridge
            })
            .collect();
        let stations = self
            .stations
            .iter()
            .enumerate()
            .map(|(n, &(_, kind))| json!({"name": format!("h{n}"), "clock": {"drift_ppb": drift(kind)}}));
        let stations: Vec<_> = stations.collect();
        json!({"duration_ps": 400_000_000_u64, "drain_ps": 300_000_000_u64, "bridges": described, "stations": stations,
            "links": links, "streams": self.streams(), "statistics": {"exact_up_to": 40}})
    }

    /// Ports of a bridge that lead to the listeners of each destination.
    fn addresses(&self, bridge: usize, links: &[Value]) -> Value {
        let bridges = self.kinds.len();
        let towards = |station: usize| -> u64 {
            let mut came: Vec<Option<u64>> = vec![None; bridges + self.stations.len()];
            let mut waiting = vec![bridge];
            while let Some(node) = waiting.pop() {
                for (from, to) in links.iter().flat_map(|link| [(&link["a"], &link["b"]), (&link["b"], &link["a"])]) {
                    let next = to[0].as_u64().unwrap() as usize;
                    if from[0] == node && next != bridge && came[next].is_none() {
                        came[next] = if node == bridge { from[1].as_u64() } else { came[node] };
                        waiting.push(next);
                    }
                }
            }
            1 << came[bridges + station].unwrap()
        };
        let hosts = (0..self.stations.len()).map(|n| json!([HOST + n as u64, 1, towards(n)]));
        let groups = self.streams.iter().enumerate().map(|(n, stream)| {
            let ports = stream.1.iter().filter(|to| **to != stream.0).fold(0, |ports, &to| ports | towards(to));
            json!([GROUP + n as u64, 1, ports])
        });
        hosts.chain(groups).collect()
    }

    fn bridge(&self, n: usize, ports: u16) -> Value {
        let kind = self.kinds[n];
        let ports = ports.max(2);
        let timing = match kind % 3 {
            0 if ports <= 8 => json!({"kind": "hardware"}),
            1 => json!({"kind": "ideal", "processing_delay_ps": 300_000, "cut_through_bytes": 64}),
            _ => json!({"kind": "ideal", "processing_delay_ps": (kind >> 8) % 2_000_000}),
        };
        let mut config = json!({"learning_enable": kind >> 3 & 1 == 1, "queue_limit": [30, 30, 30, 30, 30, 30, 30, 30],
            "identify": {"destination": true}});
        if kind >> 4 & 3 == 0 {
            let gates = |port: u16| {
                json!({"port": port, "entries": [[0xF0, 20_000], [0x0F, 30_000], [0xFF, 10_000]],
                "cycle_time_ns": 60_000, "base_time_ns": 5_000})
            };
            config["gates"] = (0..ports).map(gates).collect();
        }
        if kind >> 6 & 3 == 0 {
            let credit = |port: u16| json!({"port": port, "class": 5, "idle_slope_bps": 200_000_000});
            config["credit"] = (0..ports).map(credit).collect();
        }
        if kind >> 8 & 1 == 0 {
            // 100 Mb/s and 2000 bytes for the addresses of all stations, from every port.
            let mut streams = Vec::new();
            for port in 0..ports {
                for station in 0..self.stations.len() as u64 {
                    streams.push(json!({"stream": streams.len(), "port": port, "ns_per_byte": 80_u64 << 24,
                        "empty_to_full": 160_000_u64 << 16,
                        "key": {"identify": "destination", "mac": HOST + station, "vlan": 1}}));
                }
            }
            config["streams"] = streams.into();
        }
        json!({"name": format!("s{n}"), "kind": "model", "ports": ports, "timing": timing, "config": config,
            "clock": {"drift_ppb": drift(kind), "offset_ps": i64::from(kind >> 12)}})
    }

    fn streams(&self) -> Value {
        let mut streams: Vec<Value> = Vec::new();
        for (n, (from, to, pcp, bytes, mean, kind)) in self.streams.iter().enumerate() {
            let mut to: Vec<usize> = to.iter().copied().filter(|to| to != from).collect();
            to.sort_unstable();
            to.dedup();
            if to.is_empty() {
                continue;
            }
            let destination = if to.len() == 1 { HOST + to[0] as u64 } else { GROUP + n as u64 };
            let source = match kind % 6 {
                0 => {
                    json!({"kind": "periodic", "frame_bytes": bytes, "period_ps": mean, "jitter": {"uniform_ps": 900_000}})
                }
                1 => json!({"kind": "burst", "frame_bytes": bytes, "period_ps": 4 * mean, "size": 4}),
                2 => json!({"kind": "back_to_back", "frame_bytes": bytes, "count": 60}),
                _ => json!({"kind": "poisson", "frame_bytes": bytes, "mean_ps": mean, "seed": n}),
            };
            let handover = json!({"delay": {"uniform_ps": 3_000_000}, "launch": {"offset_ps": 2_000_000}});
            streams.push(json!({"name": format!("x{n}"), "from": from, "to": to, "source": source,
                "committed": {"rate_bps": 100_000_000, "burst_bytes": 2000, "overhead_bytes": 20},
                "handover": if kind % 6 != 2 && kind >> 3 & 3 == 0 { handover } else { Value::Null },
                "frame": frame(*from, destination, *pcp)}));
            if kind >> 5 & 3 == 0 {
                let asked = streams.len() - 1;
                streams.push(json!({"name": format!("y{n}"), "from": to[0], "to": [from],
                    "source": {"kind": "response", "to_stream": asked, "after_ps": 1_000, "frame_bytes": 100},
                    "frame": frame(to[0], HOST + *from as u64, 7)}));
            }
        }
        streams.into()
    }
}

fn frame(from: usize, destination: u64, pcp: u8) -> Value {
    json!({"destination_mac": address(destination), "source_mac": address(HOST + from as u64), "vlan": 1, "pcp": pcp,
        "payload": {"kind": "raw"}})
}

fn drift(kind: u32) -> i32 {
    match kind >> 16 & 3 {
        0 => (kind >> 18) as i32 % 10_000_000,
        1 => -((kind >> 18) as i32 % 10_000_000),
        _ => 0,
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
