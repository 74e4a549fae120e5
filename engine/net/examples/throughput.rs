// SPDX-License-Identifier: Apache-2.0
//! Frame hops per second of a network, without Python, to be profiled:
//! `cargo run --release --example throughput NETWORK.json [trace] [CORES]`. `penstock bench engine --describe DIR` writes such files.
use std::time::Instant;

use penstock_net::{run_on, Guests, Observer, Row};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Default)]
struct Count {
    rows: u64,
}

impl Observer for Count {
    fn rows(&mut self, rows: &mut Vec<Row>) -> bool {
        self.rows += rows.len() as u64;
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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("usage: throughput NETWORK.json [trace] [CORES]")?;
    let mut network: penstock_net::Network = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    network.trace.enabled = arguments.iter().any(|word| word == "trace");
    let cores = arguments.iter().find_map(|word| word.parse().ok()).unwrap_or(1);
    let mut count = Count::default();
    let (used, started) = (cpu_seconds(), Instant::now());
    let outcome = run_on(cores, network, Guests::default(), &mut count)?;
    // The time of the process is that of its first thread.
    let used = if cores == 1 { cpu_seconds() - used } else { started.elapsed().as_secs_f64() };
    let (hops, events) = (outcome.simulation.frame_hops, outcome.simulation.events);
    let speed = hops as f64 / used / 1e6;
    println!(
        "{speed:.2} million frame hops/s on {cores} cores: {hops} hops, {events} events, {} rows in {used:.2} s",
        count.rows
    );
    Ok(())
}
