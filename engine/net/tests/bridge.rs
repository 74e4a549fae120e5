// SPDX-License-Identifier: Apache-2.0
//! The bridge as its callers use it.
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use penstock_frame::{BitsPerSecond, Bytes};
use penstock_net::bridge::{
    Arrival, Bridge, BridgeConfig, Change, CreditConfig, Identify, Judged, Judgement, Memos, Selection, StreamConfig,
    StreamKey, Tick, Timing, Translation, Verdict, NO_PLACE,
};
use penstock_net::header::{Header, HeaderId, Headers, Tag};
use penstock_net::Reason;
use penstock_shaper::ats::Rate;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{json, Value};

const STATION: u64 = 0x0200_0000_0000;

fn header(destination: u64, source: u64) -> Header {
    Header { destination: STATION + destination, source: STATION + source, ..Header::default() }
}

fn arrival(frame: u32, header: HeaderId, bytes: u16, first: Tick) -> Arrival {
    Arrival { frame, header, bytes, first, fault: Reason::NONE, memo: NO_PLACE }
}

fn sent(selection: Selection) -> (u32, Tick) {
    match selection {
        Selection::Sent { frame, first, .. } | Selection::CutThrough { frame, first, .. } => (frame, first),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_idle_hardware_bridge_takes_a_constant_time() {
    for ports in 2..=8 {
        for phase in 0..8 {
            let mut bridge = Bridge::new(ports, &BridgeConfig::default(), &Timing::Hardware).unwrap();
            let mut headers = Headers::new();
            let id = headers.intern(&header(1, 2));
            let at = bridge.arrive(0, arrival(7, id, 100, 1000 + phase));
            let out = bridge.judge(at, 0, &headers, &mut Memos::default(), 0);
            assert_eq!((out.frame, out.reason, out.destination), (7, Reason::NONE, (1 << ports) - 2));
            let visible = 1000 + phase + 100 + 4 + 2 * u64::from(ports) + 19;
            assert_eq!(out.visible, visible);
            assert!(at < visible && out.decided <= visible - 2);
            let wakes: Vec<_> = bridge.wakes(&out).collect();
            for (port, due) in wakes {
                assert_eq!(sent(bridge.select(due, port)), (7, visible + 12));
            }
            assert_eq!(bridge.inside(), 0);
        }
    }
}

#[test]
fn other_makers_store_and_forward_or_cut_through() {
    let ideal = |cut_through_bytes| Timing::Ideal {
        processing_delay_ps: 1_000_000,
        cut_through_bytes,
        rates_bps: vec![1_000_000_000, 100_000_000, 10_000_000_000],
    };
    let cases = [
        (None, 1_000_000, 1_000_000),
        (Some(64), 1_000_000, 1_000_000 - 936 * 8_000),
        (Some(16), 1_000_000, 1_000_000 - 984 * 8_000),
        (Some(2_000), 1_000_000, 1_000_000),
    ];
    for (cut_through_bytes, fast, slow) in cases {
        let mut bridge = Bridge::new(3, &BridgeConfig::default(), &ideal(cut_through_bytes)).unwrap();
        let mut headers = Headers::new();
        let id = headers.intern(&header(1, 2));
        let first = 50_000_000;
        let at = bridge.arrive(0, arrival(1, id, 1000, first));
        let out = bridge.judge(at, 0, &headers, &mut Memos::default(), 0);
        let last = first + 8_000_000;
        let mut wakes: Vec<_> = bridge.wakes(&out).collect();
        let mut first_bits = Vec::new();
        if let Some(whole) = out.again {
            let early: Vec<_> = bridge.leaving_early(0).collect();
            first_bits.extend(early.into_iter().map(|(p, at)| (p, sent(bridge.select(at, p)).1)));
            assert_eq!((whole, first_bits.len(), bridge.inside()), (last, 1, 1));
            let out = bridge.judge(whole, 0, &headers, &mut Memos::default(), 0);
            assert_eq!((out.forwarded, out.spoiled, out.destination), (0b010, 0, 0b100));
            wakes.extend(bridge.wakes(&out));
        }
        first_bits.extend(wakes.into_iter().map(|(p, due)| (p, sent(bridge.select(due, p)).1)));
        assert_eq!(bridge.inside(), 0);
        first_bits.sort_unstable();
        let slow_at = (last as i64 + slow + 640_000) as Tick;
        assert_eq!(first_bits, [(1, slow_at), (2, last + fast + 6_400)]);
    }
}

fn ideal(processing_delay_ps: u64, ports: usize) -> Timing {
    Timing::Ideal { processing_delay_ps, cut_through_bytes: None, rates_bps: vec![1_000_000_000; ports] }
}

/// Judges one frame that arrives whole at a port.
fn judge(bridge: &mut Bridge, headers: &Headers, port: u16, arrival: Arrival) -> Judgement {
    judge_by(bridge, headers, port, arrival, &mut Memos::default()).0
}

/// And says by what.
fn judge_by(
    bridge: &mut Bridge,
    headers: &Headers,
    port: u16,
    arrival: Arrival,
    memos: &mut Memos,
) -> (Judgement, Judged) {
    let at = bridge.arrive(port, arrival);
    let judged = bridge.next_judged(port, memos);
    (bridge.judge(at, port, headers, memos, 0), judged)
}

#[test]
fn a_shaped_stream_waits_for_its_bucket_and_no_longer_than_it_may() {
    let key = StreamKey::Source { mac: STATION + 2, vlan: 1 };
    // 100 Mb/s, one frame of 1000 bytes and its overhead.
    let rate = (80 << 24, (1020 * 80) << 16);
    let stream = StreamConfig {
        stream: 0,
        port: 0,
        key,
        slot: None,
        ns_per_byte: rate.0,
        empty_to_full: rate.1,
        numbered: false,
    };
    let config = BridgeConfig {
        identify: Identify { source: true, ..Identify::default() },
        ats_classes: vec![5],
        max_residence_ns: vec![(0, 5, 82_000)],
        streams: vec![stream],
        ..BridgeConfig::default()
    };
    let mut bridge = Bridge::new(2, &config, &ideal(1_000_000, 2)).unwrap();
    let mut headers = Headers::new();
    let id = headers.intern(&header(1, 2));
    let last = |n: u64| 100_000_000 + n * 8_160_000;
    let mut visible = |n: u64| {
        let out = judge(&mut bridge, &headers, 0, arrival(n as u32, id, 1000, last(n) - 8_000_000));
        assert!(out.shaped && out.stream == Some(0));
        (out.reason, out.visible)
    };
    assert_eq!(visible(0), (Reason::NONE, last(0) + 1_000_000));
    assert_eq!(visible(1), (Reason::NONE, last(0) + 81_600_000 + 1_000_000));
    // Eligible 163.2 us after the first, and more than 82 us after its arrival.
    assert_eq!(visible(2).0, Reason::RESIDENCE);
    assert_eq!(visible(10), (Reason::NONE, last(0) + 163_200_000 + 1_000_000));
}

#[test]
fn what_is_kept_of_a_header_is_forgotten_when_a_table_changes() {
    let config = BridgeConfig { learning_enable: false, ..BridgeConfig::default() };
    let mut bridge = Bridge::new(3, &config, &ideal(0, 3)).unwrap();
    let mut headers = Headers::new();
    let id = headers.intern(&header(1, 2));
    let mut memos = Memos::new(1);
    let mut first = 0;
    let mut next = |bridge: &mut Bridge| {
        first += 20_000_000;
        let arrival = Arrival { memo: 0, ..arrival(0, id, 64, first) };
        let (out, judged) = judge_by(bridge, &headers, 0, arrival, &mut memos);
        (judged, out.reason, out.destination, out.traffic_class)
    };
    assert_eq!(next(&mut bridge), (Judged::Read, Reason::NONE, 0b110, 5));
    assert_eq!(next(&mut bridge), (Judged::Kept, Reason::NONE, 0b110, 5));
    let none = Headers::new();
    bridge.change(
        0,
        &Change::Vlan { vlan: 1, members: 0b101, untagged: 0, translation: Translation::default() },
        &none,
    );
    bridge.change(0, &Change::ClassOfUntagged(2), &none);
    assert_eq!(next(&mut bridge), (Judged::Read, Reason::NONE, 0b100, 2));
    bridge.change(0, &Change::PortVlan { port: 0, vlan: 7 }, &none);
    assert_eq!(next(&mut bridge), (Judged::Read, Reason::VLAN, 0, 2));
    assert_eq!(next(&mut bridge), (Judged::Kept, Reason::VLAN, 0, 2));
    bridge.change(0, &Change::PortEnable(0b110), &none);
    assert_eq!(next(&mut bridge), (Judged::Read, Reason::PORT_DISABLED, 0, 2));
}

#[test]
fn a_frame_in_the_ordinary_course_takes_the_short_way() {
    let config = BridgeConfig { static_addresses: vec![(STATION + 1, 1, 0b10)], ..BridgeConfig::default() };
    for timing in [Timing::Hardware, ideal(1_000_000, 3)] {
        let mut bridge = Bridge::new(3, &config, &timing).unwrap();
        let (mut headers, mut memos) = (Headers::new(), Memos::new(1));
        let ids = [1, 5].map(|destination| headers.intern(&header(destination, 2)));
        let mut is_short = |n: u64, destination: usize| {
            let arrival = Arrival { memo: 0, ..arrival(n as u32, ids[destination], 64, n * 20_000_000) };
            let at = bridge.arrive(0, arrival);
            matches!(bridge.verdict(at, 0, &headers, &mut memos, Tick::MAX), Verdict::Straight(_))
        };
        // What is flooded leaves by two ports.
        assert_eq!([is_short(1, 0), is_short(2, 0), is_short(3, 1)], [true, true, false]);
    }
}

/// Also of frames that read the tables in stages, since something changes while they are on their way.
#[test]
fn a_frame_that_goes_nowhere_costs_its_stream_nothing() {
    let key = StreamKey::Source { mac: STATION + 2, vlan: 1 };
    let stream = StreamConfig {
        stream: 0,
        port: 0,
        key,
        slot: None,
        ns_per_byte: 80 << 24,
        empty_to_full: (1020 * 80) << 16,
        numbered: false,
    };
    let config = BridgeConfig {
        identify: Identify { source: true, ..Identify::default() },
        ats_classes: vec![5],
        streams: vec![stream],
        ..BridgeConfig::default()
    };
    let visible = |destination: u64, is_staged: bool| {
        let mut bridge = Bridge::new(2, &config, &Timing::Hardware).unwrap();
        let mut headers = Headers::new();
        let first = Header { destination, ..header(1, 2) };
        let ids = [headers.intern(&first), headers.intern(&header(1, 2))];
        let due = bridge.arrive(0, arrival(0, ids[0], 1000, 10_000));
        if is_staged {
            bridge.change(10_500, &Change::ClassOfUntagged(5), &headers);
            assert_eq!(bridge.next_judged(0, &Memos::default()), Judged::Staged);
        }
        let reason = bridge.judge(due, 0, &headers, &mut Memos::default(), 0).reason;
        let second = judge(&mut bridge, &headers, 0, arrival(1, ids[1], 1000, 12_000));
        assert!(second.shaped && second.reason == Reason::NONE);
        (reason, second.visible - (12_000 + 1000 + 4 + 4 + 19))
    };
    for is_staged in [false, true] {
        assert_eq!(visible(0x0180_C200_000E, is_staged), (Reason::RESERVED_ADDRESS, 0));
        assert!(visible(STATION + 1, is_staged).1 > 5_000, "80 us after the one before, which is 16 us ago");
    }
}

#[test]
fn what_is_kept_is_of_one_header_at_one_port() {
    let config = BridgeConfig { learning_enable: false, ..BridgeConfig::default() };
    let mut bridge = Bridge::new(3, &config, &ideal(0, 3)).unwrap();
    let mut headers = Headers::new();
    let ids = [headers.intern(&header(1, 2)), headers.intern(&Header { destination: STATION, ..header(1, 2) })];
    let mut memos = Memos::new(1);
    for (n, (port, id)) in [(0, 0), (1, 0), (1, 1), (0, 1)].into_iter().enumerate() {
        for judged in [Judged::Read, Judged::Kept] {
            let first = 20_000_000 * (2 * n as u64 + if judged == Judged::Read { 1 } else { 2 });
            let arrival = Arrival { memo: 0, ..arrival(0, ids[id], 64, first) };
            let (out, by) = judge_by(&mut bridge, &headers, port, arrival, &mut memos);
            assert_eq!((by, out.destination), (judged, 0b111 & !(1 << port)));
        }
    }
}

#[test]
fn learnt_addresses_lead_to_their_port_until_they_are_too_old() {
    let config = BridgeConfig { aging_period_ms: 1, ..BridgeConfig::default() };
    let mut bridge = Bridge::new(4, &config, &Timing::Hardware).unwrap();
    let mut headers = Headers::new();
    let (there, back) = (headers.intern(&header(1, 2)), headers.intern(&header(2, 1)));
    let mut to = |port, id, first| judge(&mut bridge, &headers, port, arrival(0, id, 64, first)).destination;
    assert_eq!(to(0, there, 1_000), 0b1110);
    assert_eq!(to(3, back, 2_000), 0b0001);
    // Sweeps begin in cycles 125,000, 250,000 and 375,000; the third takes it away.
    assert_eq!(to(3, back, 374_000), 0b0001);
    assert_eq!(to(3, back, 380_000), 0b0111);
}

#[test]
fn a_full_queue_refuses_and_the_rest_leaves_in_order() {
    let config = BridgeConfig { queue_limit: [3; 8], ..BridgeConfig::default() };
    let mut bridge = Bridge::new(2, &config, &Timing::Hardware).unwrap();
    let mut headers = Headers::new();
    let id = headers.intern(&header(1, 2));
    let mut due = None;
    let mut refused = Vec::new();
    for n in 0..5 {
        let out = judge(&mut bridge, &headers, 0, arrival(n, id, 64, 1_000 + 84 * u64::from(n)));
        refused.push(out.refused_reason(1));
        due = due.or(bridge.wakes(&out).next());
    }
    // Nothing was selected meanwhile.
    assert_eq!(refused, [Reason::NONE, Reason::NONE, Reason::NONE, Reason::QUEUE_FULL, Reason::QUEUE_FULL]);
    let (port, mut at) = due.unwrap();
    let mut order = Vec::new();
    while let Selection::Sent { frame, next, .. } = bridge.select(at, port) {
        order.push(frame);
        match next {
            Some(next) => {
                assert_eq!(next, at + 84);
                assert_eq!(bridge.select(next - 1, port), Selection::Stale);
                at = next;
            }
            None => break,
        }
    }
    assert_eq!(order, [0, 1, 2]);
    assert_eq!(bridge.inside(), 0);
}

#[test]
fn what_is_set_for_a_port_or_class_that_is_not_there_is_refused() {
    let last = |port: u16| {
        [
            json!({"gates": [{"port": port, "entries": [[1, 1000]], "cycle_time_ns": 1000}]}),
            json!({"credit": [{"port": port, "class": 7, "idle_slope_bps": 1_000_000}]}),
            json!({"max_class_frame_bytes": [[port, 7, 100]]}),
            json!({"round_robin": [[port, 3]]}),
            json!({"max_residence_ns": [[port, 7, 1000]]}),
        ]
    };
    let class = [
        json!({"credit": [{"port": 0, "class": 8, "idle_slope_bps": 1_000_000}]}),
        json!({"max_class_frame_bytes": [[0, 8, 100]]}),
        json!({"max_residence_ns": [[0, 8, 1000]]}),
        json!({"drop_oldest": [8]}),
    ];
    let made = |config: Value| {
        let config: BridgeConfig = serde_json::from_value(config).unwrap();
        Bridge::new(3, &config, &ideal(0, 3)).map(|_| ()).map_err(|error| error.to_string())
    };
    for (good, bad) in last(2).into_iter().zip(last(3)) {
        assert_eq!(made(good), Ok(()));
        let told = made(bad).unwrap_err();
        assert!(told.ends_with("is 3; allowed are 0 to 2"), "{told}");
    }
    for bad in class {
        let told = made(bad).unwrap_err();
        assert!(told.ends_with("is 8; allowed are 0 to 7"), "{told}");
    }
    let stream = |port: u16, slot: (u8, u32)| {
        let key = json!({"identify": "source", "mac": STATION, "vlan": 1});
        let rate = json!({"stream": 1, "port": port, "slot": slot, "key": key, "ns_per_byte": 1, "empty_to_full": 1});
        json!({"streams": [rate]})
    };
    assert_eq!(made(stream(2, (1, 511))), Ok(()));
    for (port, slot, what) in [(3, (1, 511), "is 3; allowed are 0 to 2"), (2, (2, 511), "is 2; allowed are 0 to 1")] {
        let told = made(stream(port, slot)).unwrap_err();
        assert!(told.ends_with(what), "{told}");
    }
    // Of tables that are as large as they can be.
    assert_eq!(made(stream(2, (0, (1 << 16) - 1))), Ok(()));
    let told = made(stream(2, (0, 1 << 16))).unwrap_err();
    assert!(told.ends_with("is 65536; allowed are 0 to 65535"), "{told}");
}

/// Of a frame of 1000 bytes that comes to a bridge which sends frames on behind 64 bytes and these picoseconds.
fn behind_its_header(processing_delay_ps: u64, config: &BridgeConfig, fault: Reason) -> (Tick, Judgement) {
    let timing = Timing::Ideal { processing_delay_ps, cut_through_bytes: Some(64), rates_bps: vec![1_000_000_000; 2] };
    let mut bridge = Bridge::new(2, config, &timing).unwrap();
    let mut headers = Headers::new();
    let id = headers.intern(&header(1, 2));
    let due = bridge.arrive(0, Arrival { fault, ..arrival(1, id, 1000, 0) });
    (due, bridge.judge(due, 0, &headers, &mut Memos::default(), Tick::MAX))
}

#[test]
fn a_frame_that_is_whole_once_its_header_is_processed_is_judged_as_a_whole() {
    let (header, rest) = (64 * 8_000, 936 * 8_000);
    let config = BridgeConfig::default();
    for (processing_ps, is_whole) in [(rest - 1, false), (rest, true), (rest + 1, true)] {
        let (due, out) = behind_its_header(processing_ps, &config, Reason::FCS);
        assert_eq!((due, out.again), if is_whole { (header + rest, None) } else { (header, Some(header + rest)) });
        assert_eq!(out.reason, if is_whole { Reason::FCS } else { Reason::NONE });
    }
}

#[test]
fn a_frame_that_leaves_behind_its_header_is_told_with_its_stream() {
    let key = StreamKey::Source { mac: STATION + 2, vlan: 1 };
    let stream =
        StreamConfig { stream: 3, port: 0, key, slot: None, ns_per_byte: 0, empty_to_full: 0, numbered: false };
    for streams in [Vec::new(), vec![stream]] {
        let identify = Identify { source: true, ..Identify::default() };
        let config = BridgeConfig { identify, ats_classes: Vec::new(), streams, ..BridgeConfig::default() };
        let (due, out) = behind_its_header(1_000_000, &config, Reason::NONE);
        assert_eq!((out.passed.unwrap().at, out.destination), (due + 1_000_000, 0b10));
        assert_eq!(out.stream, config.streams.first().map(|stream| u32::from(stream.stream)));
    }
}

#[test]
fn what_was_spoiled_was_bad_or_too_long_for_its_class() {
    let spoiled = |reason| Judgement { reason, ..Judgement::default() }.spoiled_reason();
    assert_eq!([Reason::NONE, Reason::FCS, Reason::GIANT].map(spoiled), [Reason::MAX_SDU, Reason::FCS, Reason::GIANT]);
}

#[test]
fn a_frame_is_sent_with_its_judgement_only_if_it_is_selected_before_something_changes() {
    let due = 8_000_000 + 1_000_000;
    for (before, at) in [(due, None), (due + 1, Some(due))] {
        let mut bridge = Bridge::new(2, &BridgeConfig::default(), &ideal(1_000_000, 2)).unwrap();
        let mut headers = Headers::new();
        let id = headers.intern(&header(1, 2));
        let judged = bridge.arrive(0, arrival(1, id, 1000, 0));
        let out = bridge.judge(judged, 0, &headers, &mut Memos::default(), before);
        assert_eq!(out.passed.map(|passed| passed.at), at);
    }
}

/// While what the database says may change by itself, too.
#[test]
fn nothing_is_learnt_where_learning_is_off() {
    for congestion_frames in [0, 1] {
        let config = BridgeConfig { learning_enable: false, congestion_frames, ..BridgeConfig::default() };
        let mut bridge = Bridge::new(3, &config, &ideal(0, 3)).unwrap();
        let mut headers = Headers::new();
        let ids = [headers.intern(&header(1, 2)), headers.intern(&header(2, 1))];
        assert_eq!(judge(&mut bridge, &headers, 0, arrival(1, ids[0], 64, 0)).destination, 0b110);
        assert_eq!(judge(&mut bridge, &headers, 1, arrival(2, ids[1], 64, 20_000_000)).destination, 0b101);
    }
}

#[test]
fn a_bridge_tells_how_long_it_delays_a_frame() {
    let told =
        |config: &BridgeConfig, timing: &Timing| Bridge::new(3, config, timing).unwrap().processing_delay_max_ns();
    let plain = BridgeConfig::default();
    assert_eq!(told(&plain, &Timing::Hardware), 8 * (4 + 2 * 3 + 19));
    assert_eq!([1_000_000, 1_000_001].map(|ps| told(&plain, &ideal(ps, 3))), [1_000, 1_001], "rounded up");
    let config = BridgeConfig { processing_delay_max_ns: Some(77), ..plain };
    assert_eq!([Timing::Hardware, ideal(5, 3)].map(|timing| told(&config, &timing)), [77; 2]);
}

/// Its gate is closed for ever: it is inside until that is told.
#[test]
fn a_frame_is_inside_until_it_has_been_given_up() {
    let gates = json!({"gates": [{"port": 1, "entries": [], "initial_states": 0, "cycle_time_ns": 0}]});
    let config: BridgeConfig = serde_json::from_value(gates).unwrap();
    let mut bridge = Bridge::new(2, &config, &Timing::Hardware).unwrap();
    let mut headers = Headers::new();
    let id = headers.intern(&header(1, 2));
    let out = judge(&mut bridge, &headers, 0, arrival(1, id, 64, 1_000));
    let mut at = bridge.wakes(&out).next().unwrap().1;
    let reason = loop {
        assert_eq!(bridge.inside(), 1);
        at = match bridge.select(at, 1) {
            Selection::Idle { next } => next.unwrap(),
            Selection::Expired { reason, .. } => break reason,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((reason, bridge.inside()), (Reason::LIFETIME, 0));
}

/// Where a class is full, room in its queue would be of no use.
#[test]
fn nothing_gives_way_to_a_frame_that_is_refused_all_the_same() {
    for (class_limit, gives_way) in [(16, false), (24, true)] {
        let config = BridgeConfig {
            static_addresses: vec![(STATION + 1, 1, 0b010), (STATION + 2, 1, 0b100)],
            drop_oldest: vec![5],
            queue_limit: [8; 8],
            class_limit: [class_limit; 8],
            queue_guarantee: Some(0),
            ..BridgeConfig::default()
        };
        let mut bridge = Bridge::new(3, &config, &ideal(0, 3)).unwrap();
        let mut headers = Headers::new();
        let ids = [1, 2].map(|destination| headers.intern(&header(destination, 9)));
        let mut next = |n: u32, id: usize| judge(&mut bridge, &headers, 0, arrival(n, ids[id], 1000, u64::from(n)));
        // Eight cells of each port's queue, which is full then.
        assert_eq!([next(1, 0), next(2, 1)].map(|out| out.destination), [0b010, 0b100]);
        let third = next(3, 0);
        assert_eq!((third.destination, third.queue_full), if gives_way { (0b010, 0) } else { (0, 0b010) });
        let displaced: Vec<_> = bridge.take_displaced().into_iter().map(|copy| (copy.frame, copy.egress)).collect();
        assert_eq!(displaced, if gives_way { vec![(1, 1)] } else { vec![] });
    }
}

/// To one port or two, of a queue that holds one of them.
#[test]
fn a_frame_finds_the_room_of_one_whose_last_bit_leaves_in_that_instant() {
    let statics = vec![(STATION + 1, 1, 0b010), (STATION + 2, 1, 0b110)];
    let config = BridgeConfig { static_addresses: statics, queue_limit: [8; 8], ..BridgeConfig::default() };
    for destination in [1, 2] {
        for (early, is_refused) in [(0, false), (1, true)] {
            let mut bridge = Bridge::new(3, &config, &ideal(0, 3)).unwrap();
            let mut headers = Headers::new();
            let id = headers.intern(&header(destination, 9));
            let out = judge(&mut bridge, &headers, 0, arrival(1, id, 1000, 0));
            let mut left = 0;
            for (port, due) in bridge.wakes(&out).collect::<Vec<_>>() {
                left = sent(bridge.select(due, port)).1 + 1000 * 8_000;
            }
            let out = judge(&mut bridge, &headers, 0, arrival(2, id, 1000, left - 1000 * 8_000 - early));
            let wanted = if destination == 1 { 0b010 } else { 0b110 };
            assert_eq!((out.destination, out.queue_full), if is_refused { (0, wanted) } else { (wanted, 0) });
        }
    }
}

/// 100 bytes, and four of a tag that port 1 adds: of its class 102 are allowed.
#[test]
fn a_frame_is_too_long_as_it_would_be_sent() {
    for (vlan_tagging, destinations) in [(0, [0b010, 0b110]), (0b010, [0, 0b100])] {
        let config = BridgeConfig {
            vlan_tagging,
            untagged: vec![(1, 0b100)],
            static_addresses: vec![(STATION + 1, 1, 0b010), (STATION + 2, 1, 0b110)],
            max_class_frame_bytes: vec![(1, 5, 102), (2, 5, 102)],
            ..BridgeConfig::default()
        };
        for timing in [Timing::Hardware, ideal(0, 3)] {
            let judged = [1, 2].map(|destination| {
                let mut bridge = Bridge::new(3, &config, &timing).unwrap();
                let mut headers = Headers::new();
                let id = headers.intern(&header(destination, 9));
                let out = judge(&mut bridge, &headers, 0, arrival(1, id, 100, 1_000));
                assert_eq!(out.destination ^ out.max_sdu, if destination == 1 { 0b010 } else { 0b110 });
                out.destination
            });
            assert_eq!(judged, destinations);
        }
    }
}

/// Both come to their end in one instant; what is judged first does not leave before the other one is judged.
#[test]
fn of_frames_that_are_whole_in_one_instant_the_highest_class_leaves_first() {
    let config = BridgeConfig {
        class_of_pcp: [0, 1, 2, 3, 4, 5, 6, 7],
        static_addresses: vec![(STATION + 1, 1, 0b100)],
        ..BridgeConfig::default()
    };
    for delay_ps in [0, 1_000_000] {
        let mut bridge = Bridge::new(3, &config, &ideal(delay_ps, 3)).unwrap();
        let mut headers = Headers::new();
        let ids = [0, 7].map(|pcp| headers.intern(&Header { tag: Some(Tag { pcp, vlan: 1 }), ..header(1, 2) }));
        let due = [0, 1].map(|port| bridge.arrive(port, arrival(port.into(), ids[usize::from(port)], 1000, 0)));
        assert_eq!(due, [8_000_000; 2]);
        let judged = [0, 1].map(|port| bridge.judge(due[0], port, &headers, &mut Memos::default(), Tick::MAX));
        let left = judged.iter().find_map(|out| out.passed.map(|passed| (out.frame, passed.at)));
        let first = left.unwrap_or_else(|| match bridge.select(due[0] + delay_ps, 2) {
            Selection::Sent { frame, at, .. } => (frame, at),
            other => panic!("{other:?}"),
        });
        assert_eq!(first, (1, due[0] + delay_ps));
    }
}

/// To one port or two, of tags that ports write, and read in stages, since something is written meanwhile.
#[test]
fn however_a_frame_is_judged_its_length_is_held_against_the_windows_of_the_same_instant() {
    let gates = |base_time_ns: u64| {
        json!({"port": 1, "entries": [[0, 5_000], [0xFF, 5_000]], "cycle_time_ns": 10_000,
        "base_time_ns": base_time_ns})
    };
    let is_too_long = |timing: &Timing, first: Tick, base_time_ns: u64, way: usize| {
        let mut config: BridgeConfig = serde_json::from_value(json!({"gates": [gates(base_time_ns)]})).unwrap();
        config.static_addresses = vec![(STATION + 1, 1, if way == 1 { 0b110 } else { 0b010 })];
        config.vlan_tagging = if way == 2 { 0b100 } else { 0 };
        let mut bridge = Bridge::new(3, &config, timing).unwrap();
        let mut headers = Headers::new();
        let id = headers.intern(&header(1, 2));
        let due = bridge.arrive(0, arrival(1, id, 1000, first));
        if way == 3 {
            bridge.change(first + 10, &Change::CountGap(false), &headers);
            assert_eq!(bridge.next_judged(0, &Memos::default()), Judged::Staged);
        }
        bridge.judge(due, 0, &headers, &mut Memos::default(), 0).max_sdu == 0b010
    };
    // A list begins in the cycle, or in the picosecond, in which the length is asked for; or just before or after it.
    let hardware = 8 * (10_000 + 1_000);
    for (timing, first, about_ns) in [(Timing::Hardware, 10_000, hardware), (ideal(0, 3), 80_000_000 - 2, 88_000)] {
        let ways = if timing == Timing::Hardware { 0..4 } else { 0..3 };
        let of_ways = ways.map(|way| {
            let base_times = about_ns - 500..about_ns + 500;
            base_times.filter(|&base_time_ns| is_too_long(&timing, first, base_time_ns, way)).count()
        });
        let of_ways: Vec<_> = of_ways.collect();
        assert!((1..1_000).contains(&of_ways[0]), "{of_ways:?}");
        assert!(of_ways.iter().all(|of_way| *of_way == of_ways[0]), "{of_ways:?}");
    }
}

/// A frame on its way into a port: the station that it is for, with those above the ports for all others.
#[derive(Clone, Copy, Debug)]
struct Coming {
    port: u16,
    destination: u64,
    pcp: u8,
    bytes: u16,
    first: Tick,
}

/// What becomes of frames, in their order: how each was judged, and what left where and when.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    judged: Vec<(u32, Reason, Tick, u64)>,
    left: Vec<(u32, u16, Tick)>,
}

/// Lets all frames through, in the order of `first`, at once before a tick and by what it `keeps` of headers; says too how
/// many copies were sent at once.
fn departures(
    timing: &Timing,
    config: &BridgeConfig,
    frames: &[Coming],
    before: Tick,
    keeps: bool,
) -> (Outcome, usize) {
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    enum Step {
        Arrive(usize),
        Judge(u16),
        Select(u16),
    }
    let mut bridge = Bridge::new(PORTS, config, timing).unwrap();
    let mut memos = Memos::new(HEADERS);
    let mut headers = Headers::new();
    let mut steps: BinaryHeap<_> =
        frames.iter().enumerate().map(|(n, frame)| Reverse((frame.first, Step::Arrive(n)))).collect();
    let (mut outcome, mut passed) = (Outcome::default(), 0);
    while let Some(Reverse((at, step))) = steps.pop() {
        match step {
            Step::Arrive(n) => {
                let Coming { port, destination, pcp, bytes, first } = frames[n];
                let tag = Some(Tag { pcp, vlan: 1 });
                let id = headers.intern(&Header { tag, ..header(destination, 9 + u64::from(port)) });
                let memo = if keeps { id } else { NO_PLACE };
                let due = bridge.arrive(port, Arrival { memo, ..arrival(n as u32, id, bytes, first) });
                steps.push(Reverse((due, Step::Judge(port))));
            }
            Step::Judge(port) => {
                let out = bridge.judge(at, port, &headers, &mut memos, before);
                outcome.judged.push((out.frame, out.reason, out.visible, out.destination));
                if let Some(sent) = out.passed {
                    passed += 1;
                    outcome.left.push((out.frame, sent.egress, sent.first));
                }
                steps.extend(bridge.wakes(&out).map(|(port, due)| Reverse((due, Step::Select(port)))));
            }
            Step::Select(port) => {
                let (sent, next) = match bridge.select(at, port) {
                    Selection::Sent { frame, first, next, .. } => (Some((frame, port, first)), next),
                    Selection::Idle { next } => (None, next),
                    Selection::Stale => (None, None),
                    expired => panic!("{expired:?}"),
                };
                outcome.left.extend(sent);
                steps.extend(next.map(|next| Reverse((next, Step::Select(port)))));
            }
        }
    }
    assert_eq!(bridge.inside(), 0);
    outcome.judged.sort_unstable();
    outcome.left.sort_unstable();
    (outcome, passed)
}

const PORTS: u16 = 3;
/// From each port, to stations and groups, with each priority.
const HEADERS: usize = (PORTS * 2 * PORTS * 8) as usize;

/// Classes of ATS, of turns, and of credit at some ports, all of them at random, over each other; streams of ATS by the
/// station that they are for.
fn shaped_bridge() -> impl Strategy<Value = BridgeConfig> {
    let credit = (any::<bool>(), 0..8_u8, 1_000_000..300_000_000_u64);
    let rate = (any::<bool>(), 1_000_000..500_000_000_u64, 420..2_000_u64);
    let ports = usize::from(PORTS);
    (any::<u8>(), prop::collection::vec((any::<u8>(), credit), ports), prop::collection::vec(rate, ports * ports))
        .prop_map(|(ats, at_ports, rates)| {
            let static_addresses = (0..u64::from(PORTS))
                .flat_map(|port| {
                    [(STATION + port, 1, 1 << port), (STATION + u64::from(PORTS) + port, 1, !(1 << port) & 0b111)]
                })
                .collect();
            let mut config = BridgeConfig {
                static_addresses,
                class_of_pcp: [0, 1, 2, 3, 4, 5, 6, 7],
                ats_classes: (0..8).filter(|class| ats >> class & 1 == 1).collect(),
                identify: Identify { destination: true, ..Identify::default() },
                ..BridgeConfig::default()
            };
            for (port, (members, (has_credit, class, idle_slope_bps))) in (0..PORTS).zip(at_ports) {
                config.round_robin.push((port, members));
                config.credit.extend(has_credit.then_some(CreditConfig { port, class, idle_slope_bps }));
            }
            for (stream, (has_rate, bps, burst)) in (0_u16..).zip(rates) {
                let key = StreamKey::Destination { mac: STATION + u64::from(stream / PORTS), vlan: 1 };
                let rate = Rate::new(BitsPerSecond(bps), Bytes(burst)).unwrap();
                let (ns_per_byte, empty_to_full) = (rate.ns_per_byte(), rate.empty_to_full());
                let port = stream % PORTS;
                let stream =
                    StreamConfig { stream, port, key, slot: None, ns_per_byte, empty_to_full, numbered: false };
                config.streams.extend(has_rate.then_some(stream));
            }
            config
        })
}

/// What is sent at once leaves when it would have left from its queue, and so does everything else, whatever serves the
/// classes.
#[test]
fn a_frame_that_finds_its_port_free_leaves_as_from_its_queue() {
    let frame = (0..PORTS, 1_u64..4, 0..8_u8, 64_u16..400, 0_u64..800);
    let drawn = (prop::collection::vec(frame, 1..80), shaped_bridge(), 0_u64..200);
    let (copies, at_once) = (Cell::new(0), Cell::new(0));
    let checked = TestRunner::default().run(&drawn, |(drawn, config, processing_cycles)| {
        let hardware = (Timing::Hardware, 1);
        for (timing, byte) in [hardware, (ideal(8_000 * processing_cycles, 3), 8_000)] {
            let mut free = [1_000_000_u64; 3];
            let mut frames: Vec<_> = drawn
                .iter()
                .map(|&(port, other, pcp, bytes, gap)| {
                    let first = free[usize::from(port)] + gap * byte;
                    free[usize::from(port)] = first + (u64::from(bytes) + 20) * byte;
                    let ports = u64::from(PORTS);
                    let destination = if other == ports { ports } else { 0 } + (u64::from(port) + other) % ports;
                    Coming { port, destination, pcp, bytes, first }
                })
                .collect();
            frames.sort_unstable_by_key(|frame| frame.first);
            let (queued, none) = departures(&timing, &config, &frames, 0, false);
            prop_assert_eq!(none, 0);
            prop_assert_eq!(&departures(&timing, &config, &frames, 0, true).0, &queued);
            for keeps in [false, true] {
                let (passed, some) = departures(&timing, &config, &frames, Tick::MAX, keeps);
                copies.set(copies.get() + passed.left.len());
                at_once.set(at_once.get() + some);
                prop_assert_eq!(&passed, &queued);
            }
        }
        Ok(())
    });
    checked.unwrap();
    assert!(at_once.get() > copies.get() / 10, "{} of {} were sent at once", at_once.get(), copies.get());
}
