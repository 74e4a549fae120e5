// SPDX-License-Identifier: Apache-2.0
//! All counters as text for Prometheus (exposition format 0.0.4).
use std::fmt::Write;

use super::snapshot::{PortShown, Shown};

type Value<'a> = (Vec<(&'a str, String)>, u64);

/// One family: its help, its kind, and a value for each set of labels.
fn family<'a>(text: &mut String, name: &str, kind: &str, help: &str, values: impl IntoIterator<Item = Value<'a>>) {
    // A String takes everything.
    let _ = writeln!(text, "# HELP penstock_plane_{name} {help}\n# TYPE penstock_plane_{name} {kind}");
    for (labels, value) in values {
        let labels: Vec<_> = labels.iter().map(|(key, said)| format!("{key}=\"{}\"", escaped(said))).collect();
        let _ = writeln!(text, "penstock_plane_{name}{{{}}} {value}", labels.join(","));
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

pub fn text(shown: &Shown) -> String {
    let mut text = String::new();
    let ports = || shown.ports.iter();
    let each = |value: fn(&PortShown) -> u64| {
        ports().map(move |(name, port)| (vec![("port", name.clone())], value(port))).collect::<Vec<_>>()
    };
    let by_class = |value: &dyn Fn(&PortShown, usize) -> u64| {
        let of = |(name, port): (&String, &PortShown)| {
            (0..8)
                .map(|class| (vec![("port", name.clone()), ("class", class.to_string())], value(port, class)))
                .collect::<Vec<_>>()
        };
        ports().flat_map(of).collect::<Vec<_>>()
    };
    let dropped = ports().flat_map(|(name, port)| {
        port.dropped
            .iter()
            .map(move |(&reason, &count)| (vec![("port", name.clone()), ("reason", reason.into())], count))
    });
    family(&mut text, "received_frames_total", "counter", "Frames received.", each(|port| port.received.frames));
    family(
        &mut text,
        "received_bytes_total",
        "counter",
        "Bytes received, FCS included.",
        each(|port| port.received.bytes),
    );
    family(&mut text, "sent_frames_total", "counter", "Frames sent.", by_class(&|p, k| p.sent_of_class[k].frames));
    family(
        &mut text,
        "sent_bytes_total",
        "counter",
        "Bytes sent, FCS included.",
        by_class(&|p, k| p.sent_of_class[k].bytes),
    );
    family(&mut text, "dropped_frames_total", "counter", "Frames dropped, by reason.", dropped);
    family(&mut text, "overruns_total", "counter", "Frames lost in the kernel's buffer.", each(|port| port.overruns));
    family(
        &mut text,
        "late_departures_total",
        "counter",
        "Departures beyond the tolerance.",
        each(|port| port.departures.late),
    );
    family(
        &mut text,
        "missed_windows_total",
        "counter",
        "Frames that waited for another window.",
        each(|port| port.departures.missed),
    );
    family(
        &mut text,
        "closed_gate_departures_total",
        "counter",
        "Departures whose gate had closed.",
        each(|port| port.departures.outside),
    );
    family(
        &mut text,
        "queue_frames",
        "gauge",
        "Frames that wait.",
        by_class(&|port, class| u64::from(port.waiting[class])),
    );
    family(
        &mut text,
        "queue_limit_frames",
        "gauge",
        "Frames that may wait.",
        by_class(&|port, class| u64::from(port.limits[class])),
    );
    family(&mut text, "port_up", "gauge", "Whether the interface is there.", each(|port| u64::from(!port.down)));
    family(
        &mut text,
        "gate_open",
        "gauge",
        "Whether the gate is open.",
        by_class(&|port, class| u64::from(port.gate_states >> class & 1)),
    );
    family(
        &mut text,
        "clock_steps_total",
        "counter",
        "Times that the clock was set or stepped.",
        [(vec![], shown.clock_steps)],
    );
    family(
        &mut text,
        "trace_rows_lost_total",
        "counter",
        "Rows of the trace that were not written.",
        [(vec![], shown.trace_rows_lost)],
    );
    text
}
