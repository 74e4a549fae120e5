// SPDX-License-Identifier: Apache-2.0
//! Frame hops per second of networks of models, without Python: `cargo run --release --example throughput
//! [NAME] [MILLISECONDS] [trace]`.
use std::collections::VecDeque;
use std::time::Instant;

use penstock_net::bridge::BridgeConfig;
use penstock_net::describe::{
    Bridge, BridgeKind, Clock, FrameDescription, Link, PayloadDescription, Source, Station, Statistics, Stream, Timing,
    Trace,
};
use penstock_net::{run, Columns, Network, Observer};

const RATE_BPS: u64 = 1_000_000_000;
const PS_PER_S: u64 = 1_000_000_000_000;

/// Bridges joined by links, one station at each.
struct Builder {
    links: Vec<Vec<(u16, usize)>>,
    network: Network,
}

impl Builder {
    fn new(bridges: usize, edges: &[(usize, usize)], stations: usize) -> Self {
        let mut links: Vec<Vec<(u16, usize)>> = vec![Vec::new(); bridges + stations];
        let mut described = Vec::new();
        let edges = edges.iter().copied().chain((0..stations).map(|station| (station % bridges, bridges + station)));
        for (a, b) in edges {
            let (port_a, port_b) = (links[a].len() as u16, links[b].len() as u16);
            links[a].push((port_a, b));
            links[b].push((port_b, a));
            described.push(Link { a: (a, port_a), b: (b, port_b), rate_bps: RATE_BPS, delay_ps: 50_000 });
        }
        let bridges: Vec<Bridge> = (0..bridges)
            .map(|index| Bridge {
                name: format!("bridge{index}"),
                kind: BridgeKind::Model,
                ports: (links[index].len() as u16).max(2),
                clock: Clock::default(),
                timing: if links[index].len() <= 8 {
                    Timing::Hardware
                } else {
                    Timing::Ideal { processing_delay_ps: 500_000, cut_through: false }
                },
                config: BridgeConfig::default(),
                library: None,
                writes: Vec::new(),
            })
            .collect();
        let stations = (0..stations)
            .map(|index| Station {
                name: format!("station{index}"),
                clock: Clock::default(),
                class_of_pcp: [1, 0, 2, 3, 4, 5, 6, 7],
            })
            .collect();
        let network = Network {
            duration_ps: PS_PER_S,
            drain_ps: 10_000_000_000,
            bridges,
            stations,
            links: described,
            streams: Vec::new(),
            trace: Trace { enabled: false, events: None, nodes: None },
            captures: None,
            statistics: Statistics::default(),
        };
        Self { links, network }
    }

    /// By the shortest way; of two the one through the node that stands first.
    fn stream(&mut self, from: usize, to: usize, pcp: u8, source: Source) {
        let bridges = self.network.bridges.len();
        let (start, end) = (bridges + from, bridges + to);
        let mut toward: Vec<Option<u16>> = vec![None; self.links.len()];
        let mut waiting = VecDeque::from([end]);
        while let Some(node) = waiting.pop_front() {
            for &(_, next) in &self.links[node] {
                if toward[next].is_none() && next != end && (next < bridges || next == start) {
                    toward[next] = self.links[next].iter().find(|link| link.1 == node).map(|link| link.0);
                    waiting.push_back(next);
                }
            }
        }
        let index = self.network.streams.len();
        let address = 0x0200_0000_0000 + index as u64;
        let mut downstream = Vec::new();
        let mut node = start;
        while node != end {
            let port = toward[node].expect("there is a way");
            if node < bridges {
                downstream.push((node, port, 1));
                self.network.bridges[node].config.static_addresses.push((address, 1, 1 << port));
            }
            node = self.links[node][usize::from(port)].1;
        }
        let mac = |address: u64| {
            let bytes: Vec<_> = address.to_be_bytes()[2..].iter().map(|byte| format!("{byte:02x}")).collect();
            bytes.join(":")
        };
        self.network.streams.push(Stream {
            name: format!("stream{index}"),
            from,
            to: vec![to],
            frame: Some(FrameDescription {
                destination_mac: mac(address),
                source_mac: mac(0x0600_0000_0000 + from as u64),
                vlan: Some(1),
                pcp: Some(pcp),
                payload: PayloadDescription::Raw { ethertype: 0x88B5 },
            }),
            source,
            downstream: Some(downstream),
        });
    }
}

fn poisson(frame_bytes: u32, load_bps: u64, seed: u64) -> Source {
    let mean_ps = u64::from(frame_bytes + 20) * 8 * PS_PER_S / load_bps;
    Source::Poisson { frame_bytes, mean_ps, start_ps: 0, count: None, seed, jitter: None }
}

fn periodic(frame_bytes: u32, period_ps: u64, index: u64) -> Source {
    let start_ps = index * 7_919_000 % period_ps;
    Source::Periodic { frame_bytes, period_ps, start_ps, count: None, seed: index, jitter: None }
}

/// Seven stations send 1.4 Gb/s to one, which sends as much as it can to all of them in turn.
fn overloaded() -> Network {
    let mut builder = Builder::new(1, &[], 8);
    for station in 1..8_usize {
        builder.stream(station, 0, station as u8, poisson(64 + 16 * station as u32, 200_000_000, station as u64));
        builder.stream(0, station, station as u8, poisson(64 + 16 * station as u32, 140_000_000, 100 + station as u64));
    }
    builder.network
}

fn line() -> Network {
    let edges: Vec<_> = (1..16).map(|n| (n - 1, n)).collect();
    let mut builder = Builder::new(16, &edges, 16);
    for n in 0..64_usize {
        let (from, to) = (n % 16, (n * 7 + 3) % 16);
        if from != to {
            builder.stream(from, to, n as u8 % 8, poisson(100 + 20 * (n as u32 % 10), 40_000_000, n as u64));
        }
    }
    builder.network
}

fn ring() -> Network {
    let edges: Vec<_> = (0..64).map(|n| (n, (n + 1) % 64)).collect();
    let mut builder = Builder::new(64, &edges, 128);
    for n in 0..1_000_usize {
        let from = n % 128;
        let to = (from + 1 + n * 31 % 40) % 128;
        builder.stream(from, to, n as u8 % 8, periodic(64 + n as u32 % 400, 500_000_000, n as u64));
    }
    builder.network
}

fn tree() -> Network {
    let edges: Vec<_> = (1..400).map(|n| ((n - 1) / 3, n)).collect();
    let mut builder = Builder::new(400, &edges, 800);
    for n in 0..10_000_usize {
        let from = n % 800;
        // To a bridge with a number near by, which is a near relation in the tree.
        let to = (from + 1 + n / 800) % 800;
        if from != to {
            builder.stream(from, to, n as u8 % 8, periodic(64 + n as u32 % 400, 4_000_000_000, n as u64));
        }
    }
    builder.network
}

type Named = (&'static str, fn() -> Network);

struct Count(u64);

impl Observer for Count {
    fn rows(&mut self, rows: &Columns) -> bool {
        self.0 += rows.len() as u64;
        true
    }
    fn progress(&mut self, _done: f64) -> bool {
        true
    }
}

/// Of this process, without what others took of the machine.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

fn memory_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn main() {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    let networks: [Named; 4] = [("overloaded", overloaded), ("line16", line), ("ring64", ring), ("tree400", tree)];
    for (name, make) in networks {
        let named = |word: &String| networks.iter().any(|network| network.0 == word);
        if chosen.iter().any(named) && !chosen.iter().any(|word| word == name) {
            continue;
        }
        let mut network = make();
        if let Some(milliseconds) = chosen.iter().find_map(|word| word.parse::<u64>().ok()) {
            network.duration_ps = milliseconds * 1_000_000_000;
        }
        network.trace.enabled = chosen.iter().any(|word| word == "trace");
        let mut rows = Count(0);
        let (started, used) = (Instant::now(), cpu_seconds());
        match run(&network, Vec::new(), &mut rows) {
            Ok(outcome) => {
                let (seconds, used) = (started.elapsed().as_secs_f64(), cpu_seconds() - used);
                let hops = outcome.simulation.frame_hops;
                let (delivered, dropped) = outcome
                    .statistics
                    .iter()
                    .fold((0, 0), |sum, stream| (sum.0 + stream.delivered, sum.1 + stream.dropped.iter().sum::<u64>()));
                println!(
                    "{name}: {:.2} million frame hops/s of CPU ({hops} hops, {} events, {delivered} delivered, {dropped} \
                     dropped, {} rows in {used:.2} s of {seconds:.2} s), {} MiB",
                    hops as f64 / used / 1e6,
                    outcome.simulation.events,
                    rows.0,
                    memory_mib()
                );
            }
            Err(error) => println!("{name}: {error}"),
        }
    }
}
