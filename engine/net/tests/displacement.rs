// SPDX-License-Identifier: Apache-2.0
//! Drop of the oldest, against a plain account of each port: which frames give way, which are refused, what is left.
mod rows;

use std::collections::{BTreeSet, VecDeque};

use penstock_net::{run, Event, Guests, Network, Reason, Row};
use proptest::prelude::*;
use rows::Rows;
use serde_json::{json, Value};

const PORTS: usize = 3;
/// Addresses of the ports of a mask lie behind it.
const GROUP: u64 = 0x0300_0000_0100;
const BYTE_PS: u64 = 8_000;
const PREAMBLE: u64 = 8;
const GAP: u64 = 12;
const CELL: u64 = 128;
/// This port takes tags away, and that one adds them.
const WITHOUT_TAGS: usize = 1;
const WITH_TAGS: usize = 2;
const TAG: u64 = 4;

#[derive(Clone, Copy, Debug)]
struct Coming {
    port: usize,
    /// Idle time before it, in bytes.
    idle: u64,
    bytes: u64,
    /// None: it has no tag, and is of class 0.
    class: Option<u8>,
    /// Ports that it is for, among them its own, which is left out.
    to: u64,
}

#[derive(Clone, Debug)]
struct Plan {
    processing_ps: u64,
    /// Cells of each class, and whether it drops its oldest.
    limits: [(u64, bool); 3],
    /// Whether ports change tags.
    edits: bool,
    queue_guarantee: u32,
    reception_guarantee: u32,
    frames: Vec<Coming>,
}

fn plans() -> impl Strategy<Value = Plan> {
    // Some of which a tag takes another cell, or gives one back.
    let bytes =
        prop_oneof![3 => 80..1_000_u64, 1 => (1..6_u64, 0..10_u64).prop_map(|(cells, more)| CELL * cells - 5 + more)];
    let class = prop::option::weighted(0.8, 0..3_u8);
    let coming = (0..PORTS, prop_oneof![Just(0), 0..600_u64], bytes, class, 1..8_u64);
    let coming = coming.prop_map(|(port, idle, bytes, class, to)| Coming { port, idle, bytes, class, to });
    let limits = prop::array::uniform3((8..24_u64, prop::bool::weighted(0.7)));
    // Instants of frames that come, and of those that leave, lie apart from each other.
    let sizes = (0..300_u64).prop_map(|cycles| 500 + cycles * BYTE_PS);
    let guarantees = (0..8_u32, 0..20_u32);
    (sizes, limits, any::<bool>(), guarantees, prop::collection::vec(coming, 1..60)).prop_map(
        |(processing_ps, limits, edits, (queue_guarantee, reception_guarantee), mut frames)| {
            frames.retain(|frame| frame.to & !(1 << frame.port) != 0);
            Plan { processing_ps, limits, edits, queue_guarantee, reception_guarantee, frames }
        },
    )
}

fn text(address: u64) -> String {
    address.to_be_bytes()[2..].iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

fn network(plan: &Plan, starts: &[u64]) -> Network {
    let streams = plan.frames.iter().zip(starts).enumerate().map(|(n, (frame, start))| {
        let to = frame.to & !(1 << frame.port);
        let listeners: Vec<_> = (0..PORTS).filter(|port| to >> port & 1 == 1).collect();
        let tag = frame.class.map_or(json!({"vlan": null, "pcp": 0}), |class| json!({"vlan": 1, "pcp": class}));
        json!({"name": format!("x{n}"), "from": frame.port, "to": listeners,
            "frame": {"destination_mac": text(GROUP + to), "source_mac": text(0x0200_0000_0000 + frame.port as u64),
                "vlan": tag["vlan"], "pcp": tag["pcp"], "payload": {"kind": "raw"}},
            "source": {"kind": "periodic", "frame_bytes": frame.bytes, "period_ps": 1_000_000_000_000_u64,
                "start_ps": start, "count": 1}})
    });
    let streams: Vec<_> = streams.collect();
    let rate_bps = 8_000_000_000_000 / BYTE_PS;
    let link = |port: usize| json!({"a": [0, port], "b": [port + 1, 0], "delay_ps": 0, "rate_bps": rate_bps});
    let limit = |class: usize| plan.limits.get(class).map_or(256, |(cells, _)| *cells);
    let oldest: Vec<_> = (0..3).filter(|&class| plan.limits[class].1).collect();
    let addresses: Vec<_> = (1..8_u64).map(|mask| json!([GROUP + mask, 1, mask])).collect();
    let config = json!({"class_of_pcp": [0, 1, 2, 3, 4, 5, 6, 7], "class_of_untagged": 0, "ats_classes": [],
        "static_addresses": addresses, "learning_enable": false,
        "vlan_tagging": if plan.edits { 1 << WITHOUT_TAGS | 1 << WITH_TAGS } else { 0 },
        "untagged": [[1, 1 << WITHOUT_TAGS]],
        "queue_limit": (0..8).map(limit).collect::<Vec<_>>(), "class_limit": vec![10_000; 8], "drop_oldest": oldest,
        "queue_guarantee": plan.queue_guarantee, "reception_guarantee": plan.reception_guarantee,
        "shared_limit": 10_000});
    let stations: Vec<Value> = (0..PORTS).map(|n| json!({"name": format!("h{n}")})).collect();
    serde_json::from_value(json!({
        "duration_ps": 100_000_000_000_u64, "drain_ps": 100_000_000_000_u64, "stations": stations, "streams": streams,
        "links": (0..PORTS).map(link).collect::<Vec<_>>(),
        "bridges": [{"name": "s", "kind": "model", "ports": PORTS, "config": config,
            "timing": {"kind": "ideal", "processing_delay_ps": plan.processing_ps}}],
    }))
    .unwrap()
}

/// What became of a copy: when its first bit left, or when and why it was dropped.
type Fate = (u32, u64, Reason);

#[derive(Clone, Copy, Debug)]
struct Waiting {
    frame: usize,
    visible: u64,
}

impl Plan {
    /// When the first bit of each frame leaves its station, before the preamble.
    fn starts(&self) -> Vec<u64> {
        let mut free = [0, 1, 2].map(|port| 1_000_000 + 1_000 * port);
        let starts = self.frames.iter().map(|frame| {
            let start = free[frame.port] + frame.idle * BYTE_PS;
            free[frame.port] = start + (PREAMBLE + frame.bytes + GAP) * BYTE_PS;
            start
        });
        starts.collect()
    }

    fn class(&self, frame: usize) -> usize {
        self.frames[frame].class.unwrap_or(0).into()
    }

    fn cells(&self, frame: usize) -> u64 {
        self.frames[frame].bytes.div_ceil(CELL)
    }

    /// As it leaves by a port.
    fn sent_bytes(&self, egress: usize, frame: usize) -> u64 {
        let Coming { bytes, class, .. } = self.frames[frame];
        match (egress, class) {
            (WITHOUT_TAGS, Some(_)) if self.edits => bytes - TAG,
            (WITH_TAGS, None) if self.edits => bytes + TAG,
            _ => bytes,
        }
    }

    /// What becomes of all copies for a port.
    fn fates(&self, egress: usize, starts: &[u64]) -> BTreeSet<Fate> {
        let whole = |frame: usize| starts[frame] + (PREAMBLE + self.frames[frame].bytes) * BYTE_PS;
        let is_for = |frame: &usize| self.frames[*frame].to & !(1 << self.frames[*frame].port) & 1 << egress != 0;
        let mut coming: Vec<usize> = (0..self.frames.len()).filter(is_for).collect();
        coming.sort_by_key(|&frame| whole(frame));
        let mut fates = BTreeSet::new();
        let mut queues: [VecDeque<Waiting>; 3] = Default::default();
        // When the line is free, and the frame on it has left.
        let (mut free, mut sending) = (0, None::<(usize, u64)>);
        for next in coming.into_iter().map(Some).chain([None]) {
            let now = next.map_or(u64::MAX, whole);
            loop {
                let heads = (0..3).filter_map(|class| Some((queues[class].front()?.visible.max(free), 2 - class)));
                let Some((at, below)) = heads.min().filter(|(at, _)| *at < now) else { break };
                let frame = queues[2 - below].pop_front().unwrap().frame;
                let first = at + PREAMBLE * BYTE_PS;
                let end = first + self.sent_bytes(egress, frame) * BYTE_PS;
                fates.insert((frame as u32, first, Reason::NONE));
                (free, sending) = (end + GAP * BYTE_PS, Some((frame, end)));
            }
            let Some(frame) = next else { break };
            let class = self.class(frame);
            let queue = &mut queues[class];
            let waiting: u64 = queue.iter().map(|waiting| self.cells(waiting.frame)).sum();
            let on_wire = sending.filter(|&(sent, end)| end > now && self.class(sent) == class);
            let held = waiting + on_wire.map_or(0, |(sent, _)| self.cells(sent));
            let (limit, drops_oldest) = self.limits[class];
            let needed = (held + self.cells(frame)).saturating_sub(limit);
            if needed > if drops_oldest { waiting } else { 0 } {
                fates.insert((frame as u32, now, Reason::QUEUE_FULL));
                continue;
            }
            let mut given = 0;
            while given < needed {
                let oldest = queue.pop_front().unwrap().frame;
                given += self.cells(oldest);
                fates.insert((oldest as u32, now, Reason::DISPLACED));
            }
            queue.push_back(Waiting { frame, visible: now + self.processing_ps });
        }
        fates
    }
}

proptest! {
    #[test]
    fn the_oldest_give_way_and_no_more_of_them_than_must(plan in plans()) {
        let starts = plan.starts();
        let mut rows = Rows::default();
        run(network(&plan, &starts), Guests::default(), &mut rows).unwrap();
        for egress in 0..PORTS {
            let of_port = |row: &&Row| {
                row.node == 0 && usize::from(row.port) == egress && matches!(row.event, Event::Sent | Event::Dropped)
            };
            let found: BTreeSet<Fate> =
                rows.0.iter().filter(of_port).map(|row| (row.stream, row.time_ps, row.reason)).collect();
            prop_assert_eq!(plan.fates(egress, &starts), found, "port {}", egress);
        }
    }
}
