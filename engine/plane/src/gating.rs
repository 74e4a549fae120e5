// SPDX-License-Identifier: Apache-2.0
//! From a gate control list as it is written to what the state machines take.
use penstock_shaper::admission::CLASSES;
use penstock_shaper::gates::{AdminList, Capacity, Entry};

use crate::config::{refuse, GatesConfig, Open, Refused};

/// An entry shorter than this is over before a thread can do anything about it.
const LEAST_INTERVAL_NS: u64 = 1_000;

/// What a port's list may be. Decisions are made frame by frame, so nothing has to be known beyond the longest frame.
pub fn capacity(longest_wire_ns: u64) -> Capacity {
    Capacity { least_interval: LEAST_INTERVAL_NS, horizon: longest_wire_ns.max(1), ..Capacity::HARDWARE }
}

/// The administrative list, classes and sums checked; the rest is checked by the state machines.
pub fn admin_list(place: &str, gates: &GatesConfig) -> Result<AdminList, Refused> {
    let mut entries = Vec::with_capacity(gates.entries.len());
    for (number, entry) in gates.entries.iter().enumerate() {
        let states = match &entry.open {
            Open::Word(_) => 0xFF,
            Open::Classes(classes) => match classes.iter().find(|&&class| usize::from(class) >= CLASSES) {
                Some(class) => {
                    return refuse(format!("{place}.entries.{number}.open"), format!("class {class}"), "0 to 7")
                }
                None => classes.iter().fold(0, |states, class| states | 1 << class),
            },
        };
        entries.push(Entry { operation: 0, states, interval: entry.interval.0 });
    }
    let sum = entries.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.interval));
    let cycle_time = gates.cycle_time.map_or(sum, |time| time.0);
    if sum > cycle_time {
        let what = format!("intervals of {sum} ns in a cycle of {cycle_time} ns");
        return refuse(format!("{place}.entries"), what, "no more than the cycle");
    }
    Ok(AdminList {
        entries,
        base_time: gates.base_time.0,
        cycle_time,
        cycle_time_extension: gates.cycle_time_extension.0,
    })
}
