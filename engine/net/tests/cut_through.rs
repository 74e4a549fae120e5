// SPDX-License-Identifier: Apache-2.0
//! A bridge that cuts through, against a plain account of what each of its ports does: instant by instant, one list.
mod rows;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use penstock_net::{run, Event, Guests, Network};
use proptest::prelude::*;
use rows::Rows;
use serde_json::json;

const PORTS: usize = 3;
/// Addresses of the ports of a mask lie behind it.
const GROUP: u64 = 0x0300_0000_0100;
const PREAMBLE: u64 = 8;
const GAP: u64 = 12;
/// Of a class for which no length is set: no frame is longer.
const LONGEST: u64 = 2_000;

#[derive(Clone, Copy, Debug)]
struct Coming {
    port: usize,
    /// Idle time before it, in bytes of its port.
    idle: u64,
    bytes: u64,
    class: u8,
    /// Ports that it is for, among them its own, which is left out.
    to: u64,
    /// Of a stream that has an ATS scheduler, which meters its frames of classes 0 to 2 and never has to hold one.
    metered: bool,
}

/// What happens to a copy at an instant; of one instant, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// It is queued, unless it has left.
    Whole {
        visible: u64,
    },
    /// It may leave, if its port is idle.
    Early,
    End,
}

#[derive(Clone, Debug)]
struct Plan {
    /// Picoseconds for each byte, per port.
    byte_ps: [u64; PORTS],
    /// When the first frame of a port comes.
    begin_ps: [u64; PORTS],
    header: u64,
    processing_ps: u64,
    max_frame: u64,
    /// Per egress port and class.
    max_class_frame: [[u64; 8]; PORTS],
    /// Of port 1: classes and picoseconds of each entry; none: always open.
    gates: Vec<(u8, u64)>,
    frames: Vec<Coming>,
}

fn plans() -> impl Strategy<Value = Plan> {
    let byte_ps = prop::array::uniform3(prop::sample::select(vec![8_000, 8_000, 80_000]));
    let coming =
        (0..PORTS, prop_oneof![Just(0), 0..2_000_u64], 64..1_200_u64, 0..4_u8, 1..8_u64, prop::bool::weighted(0.2));
    let coming =
        coming.prop_map(|(port, idle, bytes, class, to, metered)| Coming { port, idle, bytes, class, to, metered });
    let longest = prop::array::uniform8(prop_oneof![Just(LONGEST), 64..1_200_u64]);
    let longest = prop::array::uniform3(prop_oneof![Just([LONGEST; 8]), longest]);
    let sizes = (16..300_u64, 1..3_000_000_u64, prop_oneof![Just(LONGEST), 300..1_200_u64]);
    let begin = prop::array::uniform3(0..1_000_000_u64);
    // Every class has a window that takes the longest frame at the slowest rate.
    let gates = (any::<u8>(), 120_000..250_000_u64, 120_000..250_000_u64);
    let gates = gates.prop_map(|(open, first, second)| vec![(open, first * 1_000), (!open, second * 1_000)]);
    let gates = prop_oneof![Just(vec![]), gates];
    (byte_ps, begin, sizes, (longest, gates), prop::collection::vec(coming, 1..30)).prop_map(
        |(byte_ps, begin_ps, (header, processing_ps, max_frame), (max_class_frame, gates), mut frames)| {
            frames.retain(|frame| frame.to & !(1 << frame.port) != 0);
            Plan { byte_ps, begin_ps, header, processing_ps, max_frame, max_class_frame, gates, frames }
        },
    )
}

impl Plan {
    /// When the first bit of each frame leaves its station, before the preamble.
    fn starts(&self) -> Vec<u64> {
        let mut free = self.begin_ps;
        let starts = self.frames.iter().map(|frame| {
            let byte_ps = self.byte_ps[frame.port];
            let start = free[frame.port] + frame.idle * byte_ps;
            free[frame.port] = start + (PREAMBLE + frame.bytes + GAP) * byte_ps;
            start
        });
        starts.collect()
    }

    fn network(&self) -> Network {
        let address = |mask: u64| GROUP + mask;
        let text = |address: u64| {
            let bytes: Vec<_> = address.to_be_bytes()[2..].iter().map(|byte| format!("{byte:02x}")).collect();
            bytes.join(":")
        };
        let streams: Vec<_> = self
            .frames
            .iter()
            .zip(self.starts())
            .enumerate()
            .map(|(n, (frame, start))| {
                let to = frame.to & !(1 << frame.port);
                let listeners: Vec<_> = (0..PORTS).filter(|port| to >> port & 1 == 1).collect();
                json!({"name": format!("x{n}"), "from": frame.port, "to": listeners,
                "frame": {"destination_mac": text(address(to)), "source_mac": text(source(frame.port, frame.metered)),
                    "vlan": 1, "pcp": frame.class, "payload": {"kind": "raw"}},
                "source": {"kind": "periodic", "frame_bytes": frame.bytes, "period_ps": 1_000_000_000_000_u64,
                    "start_ps": start, "count": 1}})
            })
            .collect();
        let links: Vec<_> = (0..PORTS)
            .map(|port| json!({"a": [0, port], "b": [port + 1, 0], "delay_ps": 0, "rate_bps": 8_000_000_000_000 / self.byte_ps[port]}))
            .collect();
        let classes = |port: usize| (0..8).map(move |class| json!([port, class, self.max_class_frame[port][class]]));
        // A port of which nothing is set serves its classes by their order alone, and frames may go by its queues.
        let too_long: Vec<_> =
            (0..PORTS).filter(|&port| self.max_class_frame[port] != [LONGEST; 8]).flat_map(classes).collect();
        let addresses: Vec<_> = (1..8_u64).map(|mask| json!([address(mask), 1, mask])).collect();
        let entries: Vec<_> = self.gates.iter().map(|(open, interval)| json!([open, interval / 1_000])).collect();
        let cycle_ns = self.cycle_ps() / 1_000;
        let gates = json!({"port": 1, "entries": entries, "cycle_time_ns": cycle_ns, "base_time_ns": 0});
        let gates = if entries.is_empty() { json!([]) } else { json!([gates]) };
        // A byte takes next to nothing, so that the bucket always is full.
        let shaped: Vec<_> = (0..PORTS)
            .map(|port| {
                json!({"stream": port, "port": port, "ns_per_byte": 1, "empty_to_full": 1_u64 << 40,
                "key": {"identify": "source", "mac": source(port, true), "vlan": 1}})
            })
            .collect();
        let bridge = json!({"name": "s", "kind": "model", "ports": PORTS,
            "timing": {"kind": "ideal", "processing_delay_ps": self.processing_ps, "cut_through_bytes": self.header},
            "config": {"class_of_pcp": [0, 1, 2, 3, 4, 5, 6, 7], "static_addresses": addresses, "learning_enable": false,
                "ats_classes": [0, 1, 2], "identify": {"source": true}, "streams": shaped, "processing_delay_max_ns": 0,
                "max_frame_bytes": self.max_frame, "max_class_frame_bytes": too_long, "gates": gates}});
        let stations: Vec<_> = (0..PORTS).map(|n| json!({"name": format!("h{n}")})).collect();
        serde_json::from_value(
            json!({"duration_ps": 100_000_000_000_u64, "drain_ps": 100_000_000_000_u64, "bridges": [bridge],
            "stations": stations, "links": links, "streams": streams}),
        )
        .unwrap()
    }

    fn cycle_ps(&self) -> u64 {
        self.gates.iter().map(|(_, interval)| interval).sum()
    }

    /// The first instant from one on at which a frame of a class fits the gate of a port; never, if it fits no window.
    fn start(&self, egress: usize, class: u8, bytes: u64, mut at: u64) -> u64 {
        let wire = (PREAMBLE + bytes + GAP) * self.byte_ps[egress];
        if egress != 1 || self.gates.is_empty() {
            return at;
        }
        for _ in 0..4 {
            // Each class has its gate open in one of both entries.
            let (begin, first) = (at - at % self.cycle_ps(), self.gates[0].1);
            let is_first = at < begin + first;
            let until = begin + if is_first { first } else { self.cycle_ps() };
            if is_first == (self.gates[0].0 >> class & 1 == 1) && at + wire <= until {
                return at;
            }
            at = until;
        }
        u64::MAX
    }

    /// What leaves by a port: the frame, when its first bit does, and whether it is spoiled.
    fn departures(&self, egress: usize) -> BTreeSet<(u32, u64, bool)> {
        let mut left = BTreeSet::new();
        let mut events = BTreeSet::new();
        for (n, (frame, start)) in self.frames.iter().zip(self.starts()).enumerate() {
            if frame.port == egress || frame.to >> egress & 1 == 0 {
                continue;
            }
            let byte_ps = self.byte_ps[frame.port];
            let first = start + PREAMBLE * byte_ps;
            let last = first + frame.bytes.min(self.max_frame + 1) * byte_ps;
            let header = first + self.header.min(frame.bytes) * byte_ps;
            let is_no_faster = byte_ps <= self.byte_ps[egress];
            // A frame that is whole before its header has been processed waits for that alone.
            let is_header = header + self.processing_ps < last;
            let is_early = is_no_faster && !(frame.metered && frame.class < 3);
            if is_header && is_early {
                events.insert((header + self.processing_ps, Step::Early, Reverse(frame.class), frame.port, n));
            }
            let judged = if is_header || frame.bytes > self.max_frame { last } else { header };
            let visible = self.processing_ps + if is_early { judged } else { last };
            events.insert((judged, Step::Whole { visible }, Reverse(frame.class), frame.port, n));
        }
        let byte_ps = self.byte_ps[egress];
        let mut free = 0;
        let mut queue: Vec<(u64, usize)> = Vec::new();
        let mut early = BTreeSet::new();
        let is_bad = |n: usize| {
            let Coming { bytes, class, .. } = self.frames[n];
            bytes > self.max_frame.min(self.max_class_frame[egress][usize::from(class)])
        };
        let mut send = |n: usize, at: u64, is_spoiled: bool| {
            left.insert((n as u32, at + PREAMBLE * byte_ps, is_spoiled));
            at + (PREAMBLE + self.frames[n].bytes + GAP) * byte_ps
        };
        for (at, step, _, _, n) in events.into_iter().chain([(u64::MAX, Step::End, Reverse(0), 0, 0)]) {
            // What is queued leaves before this instant.
            loop {
                let heads = (0..4).filter_map(|class| {
                    let of_class = queue.iter().filter(|(_, n)| self.frames[*n].class == class);
                    let &(visible, n) = of_class.min()?;
                    Some((self.start(egress, class, self.frames[n].bytes, visible.max(free)), Reverse(class), n))
                });
                let Some((selection, _, next)) = heads.min().filter(|(selection, ..)| *selection < at) else { break };
                queue.retain(|(_, n)| *n != next);
                free = send(next, selection, false);
            }
            match step {
                Step::Early => {
                    let class = self.frames[n].class;
                    let waits = |&(visible, other): &(u64, usize)| {
                        let Coming { class: higher, bytes, .. } = self.frames[other];
                        let is_ready = || self.start(egress, higher, bytes, at) == at;
                        visible <= at && (higher == class || higher > class && is_ready())
                    };
                    let of_class = self.max_class_frame[egress][usize::from(class)];
                    // How long the frame is the bridge does not know yet.
                    let fits = self.start(egress, class, self.max_frame.min(of_class), at) == at;
                    if free <= at && fits && !queue.iter().any(waits) {
                        free = send(n, at, is_bad(n));
                        early.insert(n);
                    }
                }
                Step::Whole { visible } if !early.contains(&n) && !is_bad(n) => queue.push((visible, n)),
                Step::Whole { .. } | Step::End => {}
            }
        }
        left
    }
}

/// The address by which the frames of a port are found to be of its stream, or not.
fn source(port: usize, metered: bool) -> u64 {
    0x0200_0000_0000 + port as u64 + if metered { 0x100 } else { 0 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn copies_leave_as_each_port_has_it(plan in plans()) {
        let mut rows = Rows::default();
        run(plan.network(), Guests::default(), &mut rows).unwrap();
        let of_bridge: Vec<_> = rows.0.iter().filter(|row| row.node == 0).collect();
        for egress in 0..PORTS {
            let wanted = plan.departures(egress);
            let is_spoiled = |stream| of_bridge.iter().any(|row| {
                (row.event, usize::from(row.port), row.stream) == (Event::Spoiled, egress, stream)
            });
            let found: BTreeSet<_> = of_bridge
                .iter()
                .filter(|row| row.event == Event::Sent && usize::from(row.port) == egress)
                .map(|row| (row.stream, row.time_ps, is_spoiled(row.stream)))
                .collect();
            prop_assert_eq!(wanted, found, "port {}", egress);
        }
    }
}
