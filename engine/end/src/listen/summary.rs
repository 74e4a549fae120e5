// SPDX-License-Identifier: Apache-2.0
//! What the listener says in the end.
use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::stream;
use crate::clock::Evidence;
use crate::distribution::Description;
use crate::plan::StampChoice;
use crate::stamps::Verdict;
use crate::station::Interface;
use penstock_sys::Grant;

/// `listen.json`.
#[derive(Debug, Serialize)]
pub struct Summary {
    pub ok: bool,
    pub name: String,
    pub ended: &'static str,
    pub interface: Interface,
    pub streams: BTreeMap<String, stream::Summary>,
    /// Frames that are none of the plan's, by kind.
    pub ignored: BTreeMap<&'static str, u64>,
    /// Frames that found no room in the listener's socket: its own fault, not the network's.
    pub dropped_at_the_socket: u64,
    pub stamps: Verdict,
    pub stamps_asked_for: Option<StampChoice>,
    pub clock: Clock,
    pub realtime: Vec<Grant>,
}

/// Whether talker and listener have one clock.
#[derive(Debug, Serialize)]
pub struct Clock {
    pub one_clock: bool,
    /// Why latency is not computed.
    pub refused: Option<String>,
    pub evidence: Evidence,
    pub tai_minus_realtime_ns: i64,
}

impl Summary {
    /// For a terminal.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, stream) in &self.streams {
            let counts = stream.counts;
            let _ = writeln!(
                text,
                "{name}: {} of {} frames, {} lost, {} twice, {} reordered",
                counts.received, stream.expected, stream.lost, counts.duplicates, counts.reordered
            );
            line(&mut text, "latency", stream.times.latency_ns.as_ref());
            line(&mut text, "period jitter (1)", Some(&stream.times.period_jitter_ns));
            line(&mut text, "latency difference (2)", stream.times.latency_difference_ns.as_ref());
            line(&mut text, "delay variation (4)", stream.times.frame_delay_variation_ns.as_ref());
            if let Some(window) = stream.times.window {
                let _ = writeln!(text, "  {:.3} % within their window", window.share * 100.0);
            }
        }
        for (kind, count) in &self.ignored {
            let _ = writeln!(text, "ignored: {count} {kind}");
        }
        let stamps = &self.stamps;
        let _ =
            writeln!(text, "stamps: latency from {:?}, periods from {:?}", stamps.latency_from, stamps.periods_from);
        for trust in [&stamps.hardware, &stamps.kernel, &stamps.user].into_iter().filter(|trust| !trust.latency) {
            let _ = writeln!(text, "  not trusted: {}", trust.why);
        }
        if let Some(refused) = &self.clock.refused {
            let _ = writeln!(text, "no latency: {refused}");
        }
        if self.dropped_at_the_socket > 0 {
            let _ = writeln!(text, "{} frames found no room in the listener's socket", self.dropped_at_the_socket);
        }
        text
    }
}

fn line(text: &mut String, what: &str, found: Option<&Description>) {
    let Some(Description { min: Some(min), mean: Some(mean), p99: Some(p99), max: Some(max), .. }) = found else {
        return;
    };
    let us = |ns: f64| ns / 1000.0;
    let [min, p99, max] = [min, p99, max].map(|ns| us(*ns as f64));
    let _ = writeln!(text, "  {what}: min {min:.3} mean {:.3} p99 {p99:.3} max {max:.3} us", us(*mean));
}
