// SPDX-License-Identifier: Apache-2.0
//! A network whose times have 128 bit does what one with 64 does, bit by bit: rows of the trace and their order, statistics,
//! captures, what it says of itself.
// What is told of a run is compiled with each width.
#![allow(clippy::duplicate_mod, clippy::useless_conversion)]

mod narrow;
#[path = "../../../../net/tests/plans/mod.rs"]
mod plans;
mod wide;

use std::path::{Path, PathBuf};

use plans::plans;
use proptest::prelude::*;
use serde_json::{json, Value};

/// What a run leaves, of either width, without its types.
struct Left {
    rows: Vec<(u128, String)>,
    streams: Vec<String>,
    /// The first and the last time of each stream.
    delivered: Vec<[Option<u128>; 2]>,
    end: u128,
    figures: Vec<String>,
    simulation: String,
    captures: Vec<(String, Vec<u8>)>,
}

/// Files of a folder, which is gone then.
fn taken(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read =
        |path: &PathBuf| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(path).unwrap());
    let read = files.iter().map(read).collect();
    std::fs::remove_dir_all(folder).unwrap();
    read
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("penstock-widths-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Links and nodes that fail, and bits that flip: of each a few.
fn faults(network: &Value, drawn: &[(u32, u64, u64)]) -> Value {
    let count = |of: &str| network[of].as_array().unwrap().len() as u32;
    let fault = |&(kind, at, lasts): &(u32, u64, u64)| {
        let until = if lasts == 0 { Value::Null } else { json!(at + lasts) };
        let link = (kind >> 2) % count("links");
        match kind & 3 {
            0 => json!({"kind": "node_down", "node": (kind >> 2) % count("bridges"), "at_ps": at, "until_ps": until}),
            1 => {
                json!({"kind": "bit_errors", "link": link, "at_ps": at, "until_ps": until, "rate": 1e-4, "seed": kind})
            }
            _ => json!({"kind": "link_down", "link": link, "at_ps": at, "until_ps": until}),
        }
    };
    drawn.iter().map(fault).collect()
}

/// All that repeats by itself does so in this time: gate cycles of 60 us, turns of the ports in 840 cycles of 8 ns.
const COMMON_PS: u128 = 840_000_000;
const YEAR_PS: u128 = 31_536_000_000_000_000_000;

/// The same network at another time of its run; clocks that drift would have drifted by then.
fn later(network: &mut Value, by_ps: u128) {
    let move_on = |time: &mut Value| *time = (u128::from(time.as_u64().unwrap_or(0)) + by_ps).to_string().into();
    move_on(&mut network["duration_ps"]);
    for stream in network["streams"].as_array_mut().unwrap() {
        if stream["source"]["kind"] != "response" {
            move_on(&mut stream["source"]["start_ps"]);
        }
    }
    for fault in network.get_mut("faults").and_then(Value::as_array_mut).into_iter().flatten() {
        move_on(&mut fault["at_ps"]);
        if !fault["until_ps"].is_null() {
            move_on(&mut fault["until_ps"]);
        }
    }
    for base_time in base_times(network).filter(|base_time| **base_time != 0) {
        *base_time = u64::try_from(u128::from(base_time.as_u64().unwrap()) + by_ps / 1_000).unwrap().into();
    }
}

/// Of the gate lists: one of 0 has begun with the run, whenever that is.
fn base_times(network: &mut Value) -> impl Iterator<Item = &mut Value> {
    let bridges = network["bridges"].as_array_mut().unwrap().iter_mut();
    let lists = bridges
        .flat_map(|bridge| bridge["config"].get_mut("gates").and_then(Value::as_array_mut).into_iter().flatten());
    lists.map(|gates| &mut gates["base_time_ns"])
}

fn without_drift(network: &mut Value) {
    for kind in ["bridges", "stations"] {
        for node in network[kind].as_array_mut().unwrap() {
            node["clock"]["drift_ppb"] = 0.into();
        }
    }
}

impl Left {
    /// Row by row, so that the first that differs is told.
    fn assert_is(&self, other: &Self) {
        for (number, (row, others)) in self.rows.iter().zip(&other.rows).enumerate() {
            assert_eq!(row, others, "row {number}");
        }
        assert_eq!(self.rows.len(), other.rows.len());
        assert_eq!((&self.streams, &self.delivered), (&other.streams, &other.delivered));
        assert_eq!((&self.figures, &self.simulation, self.end), (&other.figures, &other.simulation, other.end));
        assert!(self.captures == other.captures, "captures");
    }

    fn earlier(mut self, by_ps: u128) -> Self {
        self.rows.iter_mut().for_each(|row| row.0 -= by_ps);
        self.delivered.iter_mut().flatten().flatten().for_each(|time| *time -= by_ps);
        // Figures say when frames came first, too.
        self.figures.clear();
        self.end -= by_ps;
        self
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_widths_do_the_same(
        plan in plans(),
        how in any::<u8>(),
        broken in proptest::collection::vec((any::<u32>(), 0_u64..400_000_000, 0_u64..200_000_000), 0..4),
    ) {
        let mut network = plan.network();
        prop_assume!(!network["streams"].as_array().unwrap().is_empty());
        if how & 3 == 0 {
            network["faults"] = faults(&network, &broken);
        }
        if how & 4 == 0 {
            network["figures"] = json!({"hops": true});
        }
        let cores = if how & 8 == 0 { 1 } else { 2 };
        let mut run = |name: &str, simulate: fn(&str, usize) -> Left| {
            if how & 48 == 0 {
                network["captures"] = folder(name).to_str().unwrap().into();
            }
            simulate(&network.to_string(), cores)
        };
        let (narrow, wide) = (run("64", narrow::left::simulate), run("128", wide::left::simulate));
        prop_assert!(network["figures"].is_object() || !narrow.rows.is_empty());
        narrow.assert_is(&wide);
    }

    #[test]
    fn a_network_does_the_same_years_later(
        plan in plans(),
        wrap in prop_oneof![
            Just(1 << 62), Just(1 << 63), Just(1 << 64), Just(1 << 66), Just(1 << 71), (1..100_u128).prop_map(|years| years * YEAR_PS),
        ],
        how in any::<u8>(),
        broken in proptest::collection::vec((any::<u32>(), 0_u64..400_000_000, 1_u64..200_000_000), 0..4),
    ) {
        let mut network = plan.network();
        prop_assume!(!network["streams"].as_array().unwrap().is_empty());
        without_drift(&mut network);
        if how & 3 == 0 {
            network["faults"] = faults(&network, &broken);
        }
        if how & 4 == 0 {
            base_times(&mut network).for_each(|base_time| *base_time = 0.into());
        }
        let cores = if how & 8 == 0 { 1 } else { 2 };
        let now = narrow::left::simulate(&network.to_string(), cores);
        // The wrap comes amid the run.
        let by_ps = (wrap - 200_000_000) / COMMON_PS * COMMON_PS;
        later(&mut network, by_ps);
        prop_assert!(!now.rows.is_empty());
        now.assert_is(&wide::left::simulate(&network.to_string(), cores).earlier(by_ps));
    }
}
