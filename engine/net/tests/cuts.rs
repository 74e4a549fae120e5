// SPDX-License-Identifier: Apache-2.0
//! Transmissions that are cut: the books balance, nothing arrives whole of what was cut, and all else arrives.
mod rows;

use penstock_net::{run, Event, Guests, Network, Reason, Row};
use proptest::prelude::*;
use rows::Rows;

const BRIDGES: u32 = 2;
const DELAY_PS: u64 = 300_000;
const PS_PER_BYTE: u64 = 8_000;
const PREAMBLE_BYTES: u64 = 8;
/// From the selection in hardware to the preamble on the wire: four cycles.
const SELECTED_BEFORE_PS: u64 = 32_000;

/// Two stations at the ends of a line of bridges, each of which sends to the other; link n joins what is n-th to the next.
fn network(timing: &str, shaped: bool, streams: &[(bool, u32, u64, u64)], outages: &[(usize, u64, u64)]) -> Network {
    let config = if shaped { r#"{"credit":[[1,0,200000000],[0,0,300000000]]}"# } else { "{}" };
    let bridge = |n| format!(r#"{{"name":"s{n}","kind":"model","ports":2,"timing":{timing},"config":{config}}}"#);
    let bridges: Vec<_> = (0..BRIDGES).map(bridge).collect();
    let places = [[2, 0, 0, 0], [0, 1, 1, 0], [1, 1, 3, 0]];
    let link = |[a, p, b, q]: [u32; 4]| {
        format!(r#"{{"a":[{a},{p}],"b":[{b},{q}],"rate_bps":1000000000,"delay_ps":{DELAY_PS}}}"#)
    };
    let stream = |(n, &(back, pcp, bytes, every)): (usize, &(bool, u32, u64, u64))| {
        let (from, to) = if back { (1, 0) } else { (0, 1) };
        format!(
            r#"{{"name":"f{n}","from":{from},"to":[{to}],"frame":{{"destination_mac":"03:00:00:00:01:{n:02x}",
            "source_mac":"02:00:00:00:00:{from:02x}","vlan":1,"pcp":{pcp},"payload":{{"kind":"raw"}}}},
            "source":{{"kind":"periodic","period_ps":{every},"frame_bytes":{bytes}}}}}"#
        )
    };
    let fault = |&(link, at, lasts): &(usize, u64, u64)| {
        format!(r#"{{"kind":"link_down","link":{link},"at_ps":{at},"until_ps":{}}}"#, at + lasts)
    };
    let streams: Vec<_> = streams.iter().enumerate().map(stream).collect();
    let faults: Vec<_> = outages.iter().map(fault).collect();
    let text = format!(
        r#"{{"duration_ps":300000000,"drain_ps":2000000000,"bridges":[{}],"stations":[{{"name":"a"}},{{"name":"b"}}],
        "links":[{}],"streams":[{}],"faults":[{}]}}"#,
        bridges.join(","),
        places.map(link).join(","),
        streams.join(","),
        faults.join(",")
    );
    serde_json::from_str(&text).unwrap()
}

/// The link of a port, and the node at its other end.
fn behind(node: u32, port: u16) -> (usize, u32) {
    match (node, port) {
        (2, _) => (0, 0),
        (0, 0) => (0, 2),
        (0, _) => (1, 1),
        (1, 0) => (1, 0),
        (1, _) => (2, 3),
        _ => (2, 1),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_cut_does_not_arrive_and_all_else_does(
        is_ideal in any::<bool>(),
        shaped in any::<bool>(),
        streams in prop::collection::vec((any::<bool>(), 0_u32..2, 64_u64..1500, 5_000_000_u64..40_000_000), 1..6),
        outages in prop::collection::vec((0_usize..3, 0_u64..300_000_000, 1_u64..60_000_000), 1..5),
    ) {
        let timing = if is_ideal { r#"{"kind":"ideal","processing_delay_ps":400000}"# } else { r#"{"kind":"hardware"}"# };
        let network = network(timing, shaped, &streams, &outages);
        let mut rows = Rows::default();
        // The run itself fails unless each frame is delivered, dropped with a reason or inside.
        let outcome = run(network, Guests::default(), &mut rows).unwrap();
        let mut cut = 0;
        for sent in rows.0.iter().filter(|row| row.event == Event::Sent) {
            let (link, next) = behind(sent.node, sent.port);
            let begin = sent.time_ps - PREAMBLE_BYTES * PS_PER_BYTE;
            let end = sent.time_ps + u64::from(sent.bytes) * PS_PER_BYTE + DELAY_PS;
            let before = if is_ideal || sent.node >= BRIDGES { 0 } else { SELECTED_BEFORE_PS };
            let selected = begin - before;
            let is_down = |at: u64| outages.iter().any(|&(on, from, lasts)| on == link && (from..from + lasts).contains(&at));
            let is_cut = outages.iter().any(|&(on, from, lasts)| on == link && from < end && begin < from + lasts);
            prop_assert!(!is_down(selected), "nothing is selected for a link that is down: {sent:?}");
            let of_frame = |row: &&Row| row.frame == sent.frame;
            let arrives = |row: &&Row| row.node == next && matches!(row.event, Event::Received | Event::Delivered);
            let is_lost = |row: &&Row| {
                (row.node, row.port, row.event, row.reason) == (sent.node, sent.port, Event::Dropped, Reason::LINK_DOWN)
            };
            let arrived = rows.0.iter().filter(of_frame).filter(arrives).count();
            let lost = rows.0.iter().filter(of_frame).filter(is_lost).count();
            prop_assert_eq!((arrived, lost), if is_cut { (0, 1) } else { (1, 0) }, "{:?}", sent);
            cut += lost as u64;
        }
        let dropped: u64 = outcome.statistics.iter().map(|of| of.dropped[usize::from(Reason::LINK_DOWN.0)]).sum();
        prop_assert_eq!(dropped, cut);
    }
}
