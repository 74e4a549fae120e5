// SPDX-License-Identifier: Apache-2.0
//! Analyses a network that is described as JSON, so that the analysis can be profiled without Python:
//! `penstock bench bound tree --describe DIR` writes one.
use std::time::Instant;

fn main() {
    let path = std::env::args().nth(1).expect("a network as JSON");
    let text = std::fs::read_to_string(path).expect("a file that can be read");
    let network: penstock_bound::describe::Network = serde_json::from_str(&text).expect("a network");
    for _ in 0..std::env::args().nth(2).map_or(1, |count| count.parse().expect("how often")) {
        let begun = Instant::now();
        let outcome = penstock_bound::analyse(&network).expect("a network within the limits");
        let waits: i64 = outcome.queues.iter().filter_map(|queue| queue.wait_ps).sum();
        let backlogs: i64 = outcome.queues.iter().filter_map(|queue| queue.backlog_bytes).sum();
        let hops: i64 = outcome.hops.iter().flatten().filter_map(|hop| hop.wait_ps).sum();
        println!(
            "{:.1} ms, {} rounds, {} queues: {waits} ps and {backlogs} B in all; of streams {hops} ps",
            begun.elapsed().as_secs_f64() * 1e3,
            outcome.rounds,
            outcome.queues.len(),
        );
    }
}
