// SPDX-License-Identifier: Apache-2.0
//! A frame is classified the same whether its bridge reads all tables at once, keeps what came of them, or reads stage by
//! stage; and a copy that is sent with its judgement leaves as from its queue.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use penstock_net::bridge::{
    Arrival, Bridge, BridgeConfig, Change, Identify, Judged, Memos, Selection, StreamConfig, StreamKey, Tick, Timing,
    Translation, NO_PLACE,
};
use penstock_net::header::{Header, Headers, Ipv4Fields, Tag};
use penstock_net::Reason;
use proptest::prelude::*;

const PORTS: u16 = 4;
const STATION: u64 = 0x0200_0000_0000;
const GROUP: u64 = 0x0100_5E00_0001;
const RESERVED: u64 = 0x0180_C200_000E;
const RATE_BPS: u64 = 1_000_000_000;

/// How a bridge is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// Nothing is kept, nothing is sent with its judgement.
    Plain,
    /// As a run does it.
    Run,
    /// Something that changes nothing is written before each judgement.
    Staged,
}

#[derive(Clone, Debug)]
struct Frame {
    port: u16,
    header: usize,
    bytes: u16,
    gap: u64,
    fault: Reason,
}

#[derive(Clone, Debug)]
struct Network {
    config: BridgeConfig,
    headers: Vec<Header>,
    frames: Vec<Frame>,
    /// In hardware cycles, or as many byte times.
    changes: Vec<(Tick, Change)>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Change(usize),
    Arrive(usize),
    Judge(u16),
    Select(u16),
}

/// Frame, reason, destination, refused copies, class, stream, whether it is shaped, when it is visible.
type Verdict = (u32, u8, u64, u64, u8, Option<u32>, bool, Tick);

/// All that can be seen of a bridge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen {
    judged: Vec<Verdict>,
    left: Vec<(u32, u16, Tick)>,
    dropped: Vec<(u32, u16, u8)>,
}

/// How often frames were judged by what was kept or by stages, and sent at once.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    kept: u32,
    staged: u32,
    passed: u32,
}

fn play(network: &Network, timing: &Timing, used: Use) -> (Seen, Met) {
    let byte = if *timing == Timing::Hardware { 1 } else { 8_000 };
    let mut bridge = Bridge::new(PORTS, &network.config, timing).unwrap();
    let mut headers = Headers::new();
    let ids: Vec<_> = network.headers.iter().map(|header| headers.intern(header)).collect();
    // Fewer places than headers at ports, and an odd number.
    let mut memos = Memos::new(if used == Use::Run { 7 } else { 0 });
    let mut free = [1_000_u64; PORTS as usize];
    let mut firsts = Vec::new();
    let mut steps = BinaryHeap::new();
    for (n, frame) in network.frames.iter().enumerate() {
        let free = &mut free[usize::from(frame.port)];
        firsts.push((*free + frame.gap) * byte);
        *free += frame.gap + u64::from(frame.bytes) + 20;
        steps.push(Reverse((firsts[n], Step::Arrive(n))));
    }
    steps.extend(network.changes.iter().enumerate().map(|(n, change)| Reverse((change.0 * byte, Step::Change(n)))));
    let (mut seen, mut met) = (Seen::default(), Met::default());
    while let Some(Reverse((at, step))) = steps.pop() {
        match step {
            Step::Change(n) => bridge.change(at, &network.changes[n].1, &headers),
            Step::Arrive(n) => {
                let Frame { port, header, bytes, fault, .. } = network.frames[n];
                let memo =
                    if used == Use::Run { (ids[header] * u32::from(PORTS) + u32::from(port)) % 7 } else { NO_PLACE };
                let arrival = Arrival { frame: n as u32, header: ids[header], bytes, first: firsts[n], fault, memo };
                steps.push(Reverse((bridge.arrive(port, arrival), Step::Judge(port))));
            }
            Step::Judge(port) => {
                if used == Use::Staged {
                    bridge.change(at, &Change::CountGap(false), &headers);
                }
                match bridge.next_judged(port, &memos) {
                    Judged::Kept => met.kept += 1,
                    Judged::Staged => met.staged += 1,
                    Judged::Read => {}
                }
                let changes = network.changes.iter().map(|change| change.0 * byte).filter(|&change| change > at);
                let before = if used == Use::Run { changes.min().unwrap_or(Tick::MAX) } else { 0 };
                let out = bridge.judge(at, port, &headers, &mut memos, before);
                let is_dropped = out.reason != Reason::NONE;
                seen.judged.push((
                    out.frame,
                    out.reason.0,
                    out.destination,
                    out.refused(),
                    out.traffic_class,
                    out.stream,
                    out.shaped,
                    if is_dropped { 0 } else { out.visible },
                ));
                if let Some(passed) = out.passed {
                    met.passed += 1;
                    seen.left.push((out.frame, passed.egress, passed.first));
                }
                steps.extend(bridge.wakes(&out).map(|(port, due)| Reverse((due, Step::Select(port)))));
            }
            Step::Select(port) => {
                let next = match bridge.select(at, port) {
                    Selection::Stale => None,
                    Selection::Idle { next } | Selection::CutThrough { next, .. } => next,
                    Selection::Sent { frame, first, next, .. } => {
                        seen.left.push((frame, port, first));
                        next
                    }
                    Selection::Expired { frame, reason, next, .. } => {
                        seen.dropped.push((frame, port, reason.0));
                        next
                    }
                };
                steps.extend(next.map(|next| Reverse((next, Step::Select(port)))));
            }
        }
        steps.extend(bridge.take_wakes().map(|(port, due)| Reverse((due, Step::Select(port)))));
    }
    seen.left.sort_unstable();
    seen.dropped.sort_unstable();
    (seen, met)
}

fn header() -> impl Strategy<Value = Header> {
    let destination = prop_oneof![8 => (0_u64..5).prop_map(|n| STATION + n), 1 => Just(GROUP), 1 => Just(RESERVED)];
    let source = prop_oneof![9 => (0_u64..5).prop_map(|n| STATION + n), 1 => Just(GROUP)];
    let vlan = prop_oneof![4 => Just(1_u16), 3 => Just(10), 1 => Just(0), 1 => Just(20), 1 => Just(0xFFF)];
    let tag = proptest::option::of((0_u8..8, vlan).prop_map(|(pcp, vlan)| Tag { pcp, vlan }));
    let ipv4 = proptest::option::of((0_u32..2, 0_u16..2).prop_map(|(source, source_port)| Ipv4Fields {
        source,
        destination: 9,
        protocol: 17,
        source_port,
        destination_port: 7,
    }));
    (destination, source, tag, ipv4).prop_map(|(destination, source, tag, ipv4)| Header {
        destination,
        source,
        tag,
        ipv4,
        ..Header::default()
    })
}

fn frame(headers: usize) -> impl Strategy<Value = Frame> {
    let bytes = prop_oneof![8 => 64_u16..300, 2 => 300_u16..1530, 1 => 10_u16..64];
    let gap = prop_oneof![3 => Just(0_u64), 3 => 0_u64..200, 1 => 0_u64..20_000];
    let fault = prop_oneof![9 => Just(Reason::NONE), 1 => Just(Reason::FCS)];
    (0..PORTS, 0..headers, bytes, gap, fault).prop_map(|(port, header, bytes, gap, fault)| Frame {
        port,
        header,
        bytes,
        gap,
        fault,
    })
}

fn stream() -> impl Strategy<Value = StreamConfig> {
    let key = prop_oneof![
        (0_u64..5).prop_map(|n| StreamKey::Source { mac: STATION + n, vlan: 1 }),
        (0_u64..5).prop_map(|n| StreamKey::Destination { mac: STATION + n, vlan: 10 }),
        (0_u32..2, 0_u16..2).prop_map(|(source, source_port)| StreamKey::Ipv4 {
            source,
            destination: 9,
            protocol: 17,
            source_port,
            destination_port: 7
        }),
    ];
    (0_u16..8, 0..PORTS, key, 8_u64..200, 1_000_u64..20_000).prop_map(|(stream, port, key, ns_per_byte, empty)| {
        StreamConfig {
            stream,
            port,
            key,
            slot: None,
            ns_per_byte: ns_per_byte << 24,
            empty_to_full: empty << 16,
            numbered: false,
        }
    })
}

fn identify() -> impl Strategy<Value = Identify> {
    any::<[bool; 3]>().prop_map(|[ipv4, destination, source]| Identify { ipv4, destination, source })
}

fn change() -> impl Strategy<Value = Change> {
    let class = 0_u8..8;
    prop_oneof![
        (0_u64..16).prop_map(|ports| Change::PortEnable(ports | 1)),
        any::<bool>().prop_map(Change::Learning),
        (0..PORTS, prop_oneof![Just(1_u16), Just(10), Just(20)])
            .prop_map(|(port, vlan)| Change::PortVlan { port, vlan }),
        proptest::array::uniform8(0_u8..8).prop_map(Change::ClassOfPcp),
        class.clone().prop_map(Change::ClassOfUntagged),
        any::<u8>().prop_map(Change::AtsClasses),
        (64_u16..1600).prop_map(Change::MaxFrameBytes),
        (0_u8..40).prop_map(Change::OverheadBytes),
        (0_u32..3_000).prop_map(Change::ProcessingDelayMaxNs),
        (0_u32..3).prop_map(Change::AgingPeriodMs),
        identify().prop_map(Change::Identify),
        any::<u128>().prop_map(|mask| Change::Ipv4Mask(mask & ((1 << 104) - 1))),
        (class.clone(), 0_u32..20).prop_map(|(traffic_class, cells)| Change::QueueLimit { traffic_class, cells }),
        (class.clone(), 0_u32..30).prop_map(|(traffic_class, cells)| Change::ClassLimit { traffic_class, cells }),
        (0_u32..4).prop_map(Change::QueueGuarantee),
        (0_u32..30).prop_map(Change::ReceptionGuarantee),
        (0_u32..100).prop_map(Change::SharedLimit),
        (0..PORTS, class.clone(), 0_u32..200_000).prop_map(|(port, traffic_class, ns)| Change::Residence {
            port,
            traffic_class,
            ns
        }),
        (0_u64..16).prop_map(Change::VlanTagging),
        (0_u64..16).prop_map(Change::VlanTranslation),
        (0_u8..8).prop_map(Change::PcpOfUntagged),
        (prop_oneof![Just(1_u16), Just(10), Just(20)], 0_u64..16, 0_u64..16, 0_u16..3, prop::option::of(0_u8..8))
            .prop_map(|(vlan, members, untagged, to, pcp)| {
                Change::Vlan { vlan, members, untagged, translation: Translation { vlan: to, pcp } }
            }),
        (0..PORTS, class, 64_u16..1600).prop_map(|(port, traffic_class, bytes)| Change::MaxSdu {
            port,
            traffic_class,
            bytes
        }),
    ]
}

fn network() -> impl Strategy<Value = Network> {
    let streams = proptest::collection::vec(stream(), 0..8);
    let classes = proptest::collection::vec(0_u8..8, 0..4);
    let members = proptest::collection::vec((prop_oneof![Just(10_u16), Just(20)], 0_u64..16), 0..2);
    let statics = proptest::collection::vec((0_u64..5, 0_u64..16), 0..3);
    let queue_limit = prop_oneof![Just(256_u32), 2_u32..20];
    let config = (streams, classes, members, statics, identify(), any::<bool>(), queue_limit).prop_map(
        |(streams, ats_classes, vlans, statics, identify, learning_enable, queue_limit)| BridgeConfig {
            streams,
            ats_classes,
            vlans,
            static_addresses: statics.into_iter().map(|(n, ports)| (STATION + n, 1, ports)).collect(),
            identify,
            learning_enable,
            queue_limit: [queue_limit; 8],
            aging_period_ms: 1,
            ..BridgeConfig::default()
        },
    );
    let headers = proptest::collection::vec(header(), 1..6);
    let changes = proptest::collection::vec((1_000_u64..30_000, change()), 0..12);
    (config, headers, changes).prop_flat_map(|(config, headers, changes)| {
        let frames = proptest::collection::vec(frame(headers.len()), 1..120);
        (Just(config), Just(headers), frames, Just(changes)).prop_map(|(config, headers, frames, changes)| Network {
            config,
            headers,
            frames,
            changes,
        })
    })
}

fn ideal() -> Timing {
    Timing::Ideal { processing_delay_ps: 1_000_000, cut_through_bytes: None, rates_bps: vec![RATE_BPS; PORTS.into()] }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn it_does_not_matter_when_and_from_what_a_frame_is_classified(network in network()) {
        for timing in [Timing::Hardware, ideal()] {
            let (plain, none) = play(&network, &timing, Use::Plain);
            prop_assert_eq!((none.kept, none.passed), (0, 0));
            prop_assert_eq!(&play(&network, &timing, Use::Run).0, &plain);
            let (staged, met) = play(&network, &timing, Use::Staged);
            prop_assert_eq!(&staged, &plain);
            if timing == Timing::Hardware {
                prop_assert_eq!(met.staged as usize, network.frames.len());
            }
        }
    }
}

/// The property above would say nothing of a way that no frame goes.
#[test]
fn frames_go_each_way() {
    let header = |destination, source| Header {
        destination: STATION + destination,
        source: STATION + source,
        ..Header::default()
    };
    let frame = |port: u16| Frame { port, header: port.into(), bytes: 64, gap: 1_000, fault: Reason::NONE };
    let network = Network {
        config: BridgeConfig::default(),
        headers: vec![header(1, 0), header(0, 1)],
        frames: [0, 1].repeat(10).into_iter().map(frame).collect(),
        changes: vec![(9_700, Change::ClassOfUntagged(1))],
    };
    let (_, met) = play(&network, &Timing::Hardware, Use::Run);
    assert!(met.kept >= 8 && met.passed >= 8, "{met:?}");
}
