// SPDX-License-Identifier: Apache-2.0
//! Networks of models as their callers see them: closed forms, conservation, statistics against the trace.
use std::collections::{BTreeMap, HashMap};

use penstock_frame::Percentile;
use penstock_net::describe::BridgeKind;
use penstock_net::{run, Event, Guests, Network, Observer, Outcome, Reason, Row, RunError};
use proptest::prelude::*;

/// Keeps all rows.
#[derive(Default)]
struct Rows {
    rows: Vec<Row>,
    chunks: usize,
    stop_at: Option<usize>,
}

impl Observer for Rows {
    fn rows(&mut self, rows: &mut Vec<Row>) -> bool {
        self.chunks += 1;
        self.rows.append(rows);
        true
    }
    fn progress(&mut self, _done: f64) -> bool {
        self.stop_at.is_none_or(|chunks| self.chunks < chunks)
    }
}

impl Rows {
    /// Times of an event at a node, in the order in which they became known.
    fn times(&self, event: Event, node: u32) -> Vec<u64> {
        self.rows.iter().filter(|row| (row.event, row.node) == (event, node)).map(|row| row.time_ps).collect()
    }
}

fn simulate(network: &Network) -> (Outcome, Rows) {
    let mut rows = Rows::default();
    let outcome = run(network.clone(), Guests::default(), &mut rows).unwrap();
    (outcome, rows)
}

fn network(text: &str) -> Network {
    serde_json::from_str(text).unwrap()
}

fn refused(text: &str) -> String {
    match run(network(text), Guests::default(), &mut Rows::default()) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("not refused"),
    }
}

const PS_PER_BYTE: u64 = 8_000;

fn stream(name: &str, from: usize, to: &[usize], pcp: u8, source: &str) -> String {
    format!(
        r#"{{"name":"{name}","from":{from},"to":{to:?},"frame":{{"destination_mac":"03:00:00:00:01:{from:02x}",
        "source_mac":"02:00:00:00:00:{from:02x}","vlan":1,"pcp":{pcp},"payload":{{"kind":"raw"}}}},"source":{source}}}"#
    )
}

/// Bridges in a line, station 0 at its beginning and 1 at its end.
fn line(bridges: usize, timing: &str, rate_bps: u64, delay_ps: u64, stations: [&str; 2], streams: &str) -> String {
    let described: Vec<_> = (0..bridges)
        .map(|n| format!(r#"{{"name":"s{n}","kind":"model","ports":2,"timing":{timing},"config":{{}}}}"#))
        .collect();
    let ends = format!(r#"{{"name":"a"{}}},{{"name":"b"{}}}"#, stations[0], stations[1]);
    let mut places = vec![format!("[{bridges},0]")];
    places.extend((0..bridges).flat_map(|n| [format!("[{n},0]"), format!("[{n},1]")]));
    places.push(format!("[{},0]", bridges + 1));
    let links: Vec<_> = places
        .chunks(2)
        .map(|ends| format!(r#"{{"a":{},"b":{},"rate_bps":{rate_bps},"delay_ps":{delay_ps}}}"#, ends[0], ends[1]))
        .collect();
    format!(
        r#"{{"duration_ps":1000000000,"bridges":[{}],"stations":[{ends}],"links":[{}],"streams":[{streams}]}}"#,
        described.join(","),
        links.join(",")
    )
}

const IDEAL: &str = r#"{"kind":"ideal","processing_delay_ps":2000000}"#;
const CUT_THROUGH: &str = r#"{"kind":"ideal","processing_delay_ps":300000,"cut_through_bytes":64}"#;

#[test]
fn store_and_forward_over_any_hops_at_any_rate() {
    for (rate_bps, ps_per_byte) in [(10_000_000, 800_000), (1_000_000_000, 8_000), (100_000_000_000, 80)] {
        for hops in [1, 2, 7] {
            let periodic = r#"{"kind":"periodic","frame_bytes":300,"period_ps":400000000,"start_ps":5}"#;
            let text = line(hops, IDEAL, rate_bps, 500_000, ["", ""], &stream("x", 0, &[1], 5, periodic));
            let (outcome, rows) = simulate(&network(&text));
            // First bit to first bit: the whole frame in, processing, a preamble out, for each bridge; a delay per link.
            let wanted = hops as u64 * (300 * ps_per_byte + 2_000_000 + 8 * ps_per_byte) + (hops as u64 + 1) * 500_000;
            let sent = rows.times(Event::Sent, hops as u32);
            let delivered = rows.times(Event::Delivered, hops as u32 + 1);
            assert_eq!(sent[0], 5 + 8 * ps_per_byte);
            assert_eq!(sent.len(), 3);
            assert!(sent.iter().zip(&delivered).all(|(sent, delivered)| delivered - sent == wanted));
            let latency = outcome.statistics[0].latency_ps.summary().unwrap();
            assert_eq!((latency.min, latency.max, latency.count), (wanted, wanted, 3));
            assert_eq!(outcome.simulation.frame_hops, 3 * (hops as u64 + 1));
        }
    }
}

#[test]
fn cut_through_waits_for_64_bytes_at_each_hop() {
    let periodic = r#"{"kind":"periodic","frame_bytes":1500,"period_ps":400000000}"#;
    let text = line(4, CUT_THROUGH, 1_000_000_000, 50_000, ["", ""], &stream("x", 0, &[1], 5, periodic));
    let (outcome, _) = simulate(&network(&text));
    let wanted = 4 * (64 * PS_PER_BYTE + 300_000 + 8 * PS_PER_BYTE) + 5 * 50_000;
    let latency = outcome.statistics[0].latency_ps.summary().unwrap();
    assert_eq!((latency.min, latency.max), (wanted, wanted));
}

/// A frame of 1000 B is too long for the second bridge, whose longest has 500 B: the copy that has begun to leave by then
/// is spoiled; the third and the station drop it by its FCS, and one that stores drops it itself.
#[test]
fn a_giant_that_has_begun_to_leave_is_spoiled() {
    let periodic = r#"{"kind":"periodic","frame_bytes":1000,"period_ps":400000000}"#;
    let text = line(3, CUT_THROUGH, 1_000_000_000, 0, ["", ""], &stream("x", 0, &[1], 5, periodic));
    let short = r#"{"name":"s1","kind":"model","ports":2,"timing":{},"config":{"max_frame_bytes":500}}"#;
    let with = |second: &str| {
        let old = format!(r#"{{"name":"s1","kind":"model","ports":2,"timing":{CUT_THROUGH},"config":{{}}}}"#);
        let network = network(&text.replace(&old, &short.replace("{}", second)));
        let (outcome, rows) = simulate(&network);
        assert_eq!(outcome.fates[0].created, 3);
        assert_eq!(outcome.statistics[0].dropped.iter().sum::<u64>(), 3);
        (outcome, rows)
    };
    // The first bit leaves the station after a preamble, and each bridge behind 64 B, 300 ns and a preamble.
    let hop = (64 + 8) * PS_PER_BYTE + 300_000;
    let received = 8 * PS_PER_BYTE + hop;
    let (outcome, rows) = with(CUT_THROUGH);
    let statistics = &outcome.statistics[0];
    assert_eq!((statistics.spoiled, statistics.dropped[usize::from(Reason::FCS.0)]), (6, 3));
    // Known with the 501st byte at the second, and with the last one at the third and at the listener.
    assert_eq!(rows.times(Event::Spoiled, 1)[0], received + 501 * PS_PER_BYTE);
    assert_eq!(rows.times(Event::Spoiled, 2)[0], received + hop + 1000 * PS_PER_BYTE);
    assert_eq!(rows.times(Event::Dropped, 4)[0], received + 2 * hop + 1000 * PS_PER_BYTE);
    let (outcome, rows) = with(IDEAL);
    let statistics = &outcome.statistics[0];
    assert_eq!((statistics.spoiled, statistics.dropped[usize::from(Reason::GIANT.0)]), (0, 3));
    assert_eq!(rows.times(Event::Dropped, 1)[0], received + 501 * PS_PER_BYTE);
}

#[test]
fn a_hardware_bridge_takes_in_on_its_cycles() {
    let periodic = r#"{"kind":"periodic","frame_bytes":100,"period_ps":10000001,"start_ps":1}"#;
    let text = line(2, r#"{"kind":"hardware"}"#, 1_000_000_000, 50_000, ["", ""], &stream("x", 0, &[1], 5, periodic));
    let (_, rows) = simulate(&network(&text));
    for node in 0..2 {
        assert!(rows.times(Event::Received, node).iter().all(|time| time % 8_000 == 0));
    }
    let sent = rows.times(Event::Sent, 2);
    let received = rows.times(Event::Received, 0);
    assert!(sent.iter().zip(&received).all(|(sent, received)| (0..8_000).contains(&(received - sent - 50_000))));
}

#[test]
fn a_station_sends_the_highest_class_first_and_back_to_back() {
    let text = line(
        1,
        IDEAL,
        1_000_000_000,
        0,
        ["", ""],
        &[
            stream(
                "low",
                0,
                &[1],
                1,
                r#"{"kind":"burst","frame_bytes":1000,"size":2,"period_ps":900000000,"count":2}"#,
            ),
            stream(
                "high",
                0,
                &[1],
                6,
                r#"{"kind":"burst","frame_bytes":500,"size":2,"period_ps":900000000,"count":2}"#,
            ),
            stream(
                "late",
                0,
                &[1],
                7,
                r#"{"kind":"periodic","frame_bytes":64,"period_ps":900000000,"start_ps":100,"count":1}"#,
            ),
        ]
        .join(","),
    );
    let (outcome, rows) = simulate(&network(&text));
    let lead = 8 * PS_PER_BYTE;
    let (high, low, late) = (520 * PS_PER_BYTE, 1020 * PS_PER_BYTE, 84 * PS_PER_BYTE);
    // All at 0 but the late one, which overtakes what has not begun.
    let wanted = [0, high, high + late, 2 * high + late, 2 * high + late + low].map(|start| start + lead);
    assert_eq!(rows.times(Event::Sent, 1), wanted);
    let wait = outcome.statistics[2].talker_wait_ps.summary().unwrap();
    assert_eq!(wait.max, high - 100 + lead);
}

#[test]
fn greedy_streams_take_turns_and_leave_no_gap() {
    let greedy = r#"{"kind":"back_to_back","frame_bytes":980,"count":50}"#;
    let streams = [stream("x", 0, &[1], 2, greedy), stream("y", 0, &[1], 2, greedy)].join(",");
    let (outcome, rows) = simulate(&network(&line(1, IDEAL, 1_000_000_000, 0, ["", ""], &streams)));
    let sent = rows.times(Event::Sent, 1);
    assert_eq!(sent.len(), 100);
    assert!(sent.windows(2).all(|pair| pair[1] - pair[0] == 1000 * PS_PER_BYTE));
    let interval = outcome.statistics[1].interval_ps.summary().unwrap();
    assert_eq!((interval.min, interval.max, interval.count), (2000 * PS_PER_BYTE, 2000 * PS_PER_BYTE, 49));
    let paused = r#"{"kind":"back_to_back","frame_bytes":980,"count":50,"jitter":{"values_ps":[3000]}}"#;
    let text = line(1, IDEAL, 1_000_000_000, 0, ["", ""], &stream("x", 0, &[1], 2, paused));
    let sent = simulate(&network(&text)).1.times(Event::Sent, 1);
    assert_eq!(sent[0], 3_000 + 8 * PS_PER_BYTE);
    assert!(sent.windows(2).all(|pair| pair[1] - pair[0] == 1000 * PS_PER_BYTE + 3_000));
}

#[test]
fn clocks_with_offset_and_drift() {
    let periodic = r#"{"kind":"periodic","frame_bytes":64,"period_ps":1001000,"start_ps":0}"#;
    let clock = r#","clock":{"offset_ps":1500000,"drift_ppb":1000000}"#;
    let text = line(1, IDEAL, 1_000_000_000, 0, [clock, ""], &stream("x", 0, &[1], 2, periodic));
    let created = simulate(&network(&text)).1.times(Event::Created, 1);
    // Of 0 and 1001000, the clock's first two, both were before the run: it shows 1500000 when the run begins.
    assert_eq!(created[0], (2 * 1_001_000_u64 - 1_500_000).div_ceil(1_001) * 1_000 - 1_000 + 499);
    assert!(created.windows(2).all(|pair| pair[1] - pair[0] == 1_000_000));
    // Its wire is fast by as much.
    let greedy = r#"{"kind":"back_to_back","frame_bytes":981,"count":9}"#;
    let text = line(1, IDEAL, 1_000_000_000, 0, [clock, ""], &stream("x", 0, &[1], 2, greedy));
    let sent = simulate(&network(&text)).1.times(Event::Sent, 1);
    assert!(sent.windows(2).all(|pair| pair[1] - pair[0] == 8_000_000));
}

#[test]
fn an_answer_follows_the_last_bit() {
    let ask = stream("ask", 0, &[1], 2, r#"{"kind":"periodic","frame_bytes":200,"period_ps":100000000,"count":3}"#);
    let answer = stream("answer", 1, &[0], 2, r#"{"kind":"response","to_stream":0,"after_ps":7000,"frame_bytes":64}"#);
    let text = line(1, IDEAL, 1_000_000_000, 50_000, ["", ""], &[ask, answer].join(","));
    let (outcome, rows) = simulate(&network(&text));
    assert_eq!(outcome.fates[1].delivered, 3);
    let created = rows.times(Event::Created, 2);
    let heard = rows.times(Event::Delivered, 2);
    assert!(created.iter().zip(&heard).all(|(created, heard)| created - heard == 200 * PS_PER_BYTE + 7_000));
}

#[test]
fn filters_keep_what_is_wanted() {
    let periodic = r#"{"kind":"periodic","frame_bytes":64,"period_ps":1000000}"#;
    let text = line(2, IDEAL, 1_000_000_000, 0, ["", ""], &stream("x", 0, &[1], 2, periodic));
    let mut all = network(&text);
    let (_, rows) = simulate(&all);
    let wanted = rows.times(Event::Sent, 1).len() + rows.times(Event::Received, 1).len();
    all.trace.events = Some(vec!["sent".into(), "received".into()]);
    all.trace.nodes = Some(vec![1]);
    let (outcome, rows) = simulate(&all);
    assert_eq!((rows.rows.len(), wanted), (2000, 2000));
    all.trace.enabled = false;
    let (silent, rows) = simulate(&all);
    assert!(rows.rows.is_empty());
    assert_eq!(silent.fates, outcome.fates);
    all.trace.events = Some(vec!["send".into()]);
    let error = run(all, Guests::default(), &mut Rows::default()).err().unwrap().to_string();
    assert!(error.contains("no event \"send\"; created, received"), "{error}");
}

#[test]
fn an_interrupted_run_gives_what_it_has() {
    let greedy = r#"{"kind":"back_to_back","frame_bytes":64}"#;
    let mut network = network(&line(3, IDEAL, 1_000_000_000, 0, ["", ""], &stream("x", 0, &[1], 2, greedy)));
    network.duration_ps = 100_000_000_000_000;
    let mut rows = Rows { stop_at: Some(2), ..Rows::default() };
    let outcome = run(network.clone(), Guests::default(), &mut rows).unwrap();
    assert!(outcome.interrupted);
    let statistics = &outcome.statistics[0];
    assert_eq!(rows.times(Event::Delivered, 4).len() as u64, statistics.delivered);
    assert_eq!(statistics.copies, statistics.delivered + statistics.inside + statistics.dropped.iter().sum::<u64>());
    assert!(outcome.simulation.end_ps < network.duration_ps);
}

#[test]
fn captures_are_written_while_the_run_goes_on() {
    let folder = std::env::temp_dir().join(format!("penstock-captures-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let periodic = r#"{"kind":"periodic","frame_bytes":1000,"period_ps":10000000}"#;
    let mut network = network(&line(1, IDEAL, 1_000_000_000, 0, ["", ""], &stream("x", 0, &[1], 2, periodic)));
    network.captures = Some(folder.clone());
    let (_, rows) = simulate(&network);
    let capture = penstock_frame::read_capture(&folder.join("b.pcapng")).unwrap();
    let heard = !folder.join("a.pcapng").exists();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(heard, "nobody listens at a");
    let delivered = rows.times(Event::Delivered, 2);
    assert_eq!(capture.frames.len(), 100);
    for (number, (frame, time)) in capture.frames.iter().zip(&delivered).enumerate() {
        assert_eq!(capture.start_ps as u64 + frame.time.0, time / 1_000 * 1_000);
        assert_eq!(frame.bytes.len(), 996);
        assert_eq!(frame.bytes[18..26], (number as u64).to_be_bytes());
    }
}

#[test]
fn what_is_wrong_is_said() {
    let periodic = r#"{"kind":"periodic","frame_bytes":64,"period_ps":1000000}"#;
    let good = line(2, IDEAL, 1_000_000_000, 0, ["", ""], &stream("x", 0, &[1], 2, periodic));
    for (from, to, wanted) in [
        ("\"rate_bps\":1000000000", "\"rate_bps\":5", "rate_bps is 5; 10000000 to 100000000000 are allowed"),
        ("\"a\":[2,0]", "\"a\":[2,1]", "port 1 of station \"a\"; it has port 0 only"),
        ("\"a\":[0,1]", "\"a\":[0,5]", "port 5 of \"s0\"; 0 to 1 are there"),
        ("\"a\":[0,1]", "\"a\":[0,0]", "port 0 of \"s0\" has two links"),
        ("\"to\":[1]", "\"to\":[1, 1]", "\"b\" listens twice"),
        ("\"to\":[1]", "\"to\":[0]", "\"a\" would send to itself"),
        ("\"to\":[1]", "\"to\":[7]", "there is no station 7; 0 to 1 are there"),
        ("\"to\":[1]", "\"to\":[]", "nobody listens"),
        ("\"name\":\"s1\"", "\"name\":\"s0\"", "two nodes are named \"s0\""),
        ("{\"name\":\"b\"}", "{\"name\":\"b\",\"clock\":{\"drift_ppb\":2000000000}}", "drift_ppb is 2000000000"),
    ] {
        assert!(good.contains(from), "{from}");
        let error = refused(&good.replacen(from, to, 1));
        assert!(error.contains(wanted), "{error}");
    }
}

/// Times above all that is allowed are refused by their name: nothing wraps, in whatever profile it was built.
#[test]
fn no_time_is_beyond_the_longest() {
    let whole = line(1, IDEAL, 1_000_000_000, 50_000, ["", ""], &stream("x", 0, &[1], 2, "SOURCE"));
    let jitter = |kind: &str, value: &str| {
        format!(r#"{{"kind":"periodic","frame_bytes":64,"period_ps":1000,"jitter":{{"{kind}":{value}}}}}"#)
    };
    let usual = r#"{"kind":"periodic","frame_bytes":64,"period_ps":1000000000,"count":2}"#.to_owned();
    let beyond = u64::MAX.to_string();
    for (source, wanted) in [
        (usual.replace("\"count\":2", &format!("\"start_ps\":{beyond}")), "start_ps is 18446744073709551615"),
        (usual.replace("1000000000", &beyond), "period_ps is 18446744073709551615"),
        (jitter("normal_ps", &beyond), "jitter is 18446744073709551615"),
        (jitter("values_ps", "[-9223372036854775808]"), "jitter is 9223372036854775808"),
        (jitter("quantiles_ps", "[[0,-9000000000000000000],[1,9000000000000000000]]"), "jitter is 9000000000000000000"),
        (r#"{"kind":"poisson","frame_bytes":64,"mean_ps":9000000000000000000}"#.to_owned(), "mean_ps is 9000000"),
        (
            r#"{"kind":"pattern","period_ps":9,"sizes":[[64]],"spread_ps":9000000000000000000}"#.to_owned(),
            "spread_ps is",
        ),
    ] {
        let error = refused(&whole.replace("SOURCE", &source));
        assert!(error.starts_with("stream \"x\": ") && error.contains(wanted), "{error}");
        let is_delay = wanted.starts_with("jitter");
        let most = if is_delay { penstock_net::LONGEST_DELAY_PS } else { penstock_net::LONGEST_PS };
        assert!(error.ends_with(&format!("up to {most} are allowed")), "{error}");
    }
    let good = whole.replace("SOURCE", &usual);
    for (from, to) in [
        ("\"duration_ps\":1000000000", "\"duration_ps\":9000000000000000000"),
        ("\"delay_ps\":50000", "\"delay_ps\":9000000000000000000"),
        ("\"processing_delay_ps\":2000000", "\"processing_delay_ps\":9000000000000000000"),
    ] {
        assert!(refused(&good.replacen(from, to, 1)).contains("is 9000000000000000000; up to"), "{from}");
    }
}

/// At the longest times there are, in a build that traps what wraps: frames leave, arrive and are counted.
#[test]
fn the_longest_times_run() {
    let (most, delay) = (penstock_net::LONGEST_PS, penstock_net::LONGEST_DELAY_PS);
    for (timing, clock) in [
        (IDEAL, r#","clock":{"offset_ps":1000000000000000,"drift_ppb":10000000}"#),
        (CUT_THROUGH, r#","clock":{"offset_ps":-1000000000000000,"drift_ppb":-10000000}"#),
        (r#"{"kind":"hardware"}"#, ""),
    ] {
        for source in [
            format!(r#"{{"kind":"periodic","frame_bytes":64,"period_ps":{most},"start_ps":9}}"#),
            format!(
                r#"{{"kind":"burst","frame_bytes":64,"period_ps":{most},"size":3,"jitter":{{"exponential_ps":{delay}}}}}"#
            ),
            format!(r#"{{"kind":"normal","frame_bytes":64,"mean_ps":{most},"deviation_ps":{most},"start_ps":{most}}}"#),
            format!(r#"{{"kind":"poisson","frame_bytes":64,"mean_ps":{most},"jitter":{{"normal_ps":{delay}}}}}"#),
            format!(r#"{{"kind":"pattern","period_ps":{most},"sizes":[[64,64],[64]],"spread_ps":{most}}}"#),
            format!(r#"{{"kind":"back_to_back","frame_bytes":64,"start_ps":{},"count":5}}"#, most - 1),
        ] {
            let text = line(2, timing, 1_000_000_000, 50_000, [clock, clock], &stream("x", 0, &[1], 2, &source));
            let text = text.replace("\"duration_ps\":1000000000", &format!("\"duration_ps\":{most}"));
            let (outcome, _) = simulate(&network(&text));
            let fates = &outcome.fates[0];
            assert_eq!(fates.created, fates.delivered + fates.inside + fates.dropped.values().sum::<u64>(), "{source}");
        }
    }
}

/// A random tree: each bridge but the first has a parent; two stations or more.
#[derive(Clone, Debug)]
struct Tree {
    parents: Vec<usize>,
    stations: Vec<usize>,
    streams: Vec<(usize, usize, usize, u8, u32, u64)>,
    ideal: u64,
}

fn trees() -> impl Strategy<Value = Tree> {
    (1_usize..6, 2_usize..7).prop_flat_map(|(bridges, stations)| {
        (
            (1..bridges).map(|n| 0..n).collect::<Vec<_>>(),
            proptest::collection::vec(0..bridges, stations),
            proptest::collection::vec(
                (0..stations, 0..stations, 0..stations, 0_u8..8, 64_u32..1522, 3_000_000_u64..60_000_000),
                1..8,
            ),
            any::<u64>(),
        )
            .prop_map(|(parents, stations, streams, ideal)| Tree { parents, stations, streams, ideal })
    })
}

impl Tree {
    fn network(&self, learning: bool) -> Network {
        let bridges = self.parents.len() + 1;
        let mut ports = vec![0; bridges];
        let mut take = |bridge: usize| {
            ports[bridge] += 1;
            ports[bridge] - 1
        };
        let mut links: Vec<_> = self
            .parents
            .iter()
            .enumerate()
            .map(|(n, &parent)| ((n + 1, take(n + 1)), (parent, take(parent))))
            .collect();
        links.extend(self.stations.iter().enumerate().map(|(n, &bridge)| ((bridge, take(bridge)), (bridges + n, 0))));
        let links: Vec<_> = links
            .iter()
            .map(|((a, b), (c, d))| {
                format!(r#"{{"a":[{a},{b}],"b":[{c},{d}],"rate_bps":1000000000,"delay_ps":50000}}"#)
            })
            .collect();
        let described: Vec<_> = (0..bridges)
            .map(|n| {
                let timing = if ports[n] > 8 || self.ideal >> n & 1 != 0 { IDEAL } else { r#"{"kind":"hardware"}"# };
                let count = ports[n].max(2);
                format!(
                    r#"{{"name":"s{n}","kind":"model","ports":{count},"timing":{timing},
                    "config":{{"learning_enable":{learning},"queue_limit":[20,20,20,20,20,20,20,20]}}}}"#
                )
            })
            .collect();
        let stations: Vec<_> = (0..self.stations.len()).map(|n| format!(r#"{{"name":"h{n}"}}"#)).collect();
        let mut streams = Vec::new();
        for (n, &(from, to, also, pcp, bytes, mean)) in self.streams.iter().enumerate() {
            let mut listeners: Vec<_> = [to, also].into_iter().filter(|&to| to != from).collect();
            listeners.dedup();
            if !listeners.is_empty() {
                let source = format!(r#"{{"kind":"poisson","frame_bytes":{bytes},"mean_ps":{mean},"seed":{n}}}"#);
                streams.push(stream(&format!("x{n}"), from, &listeners, pcp, &source));
            }
        }
        network(&format!(
            r#"{{"duration_ps":3000000000,"drain_ps":50000000000,"bridges":[{}],"stations":[{}],"links":[{}],
            "streams":[{}],"statistics":{{"exact_up_to":100000}}}}"#,
            described.join(","),
            stations.join(","),
            links.join(","),
            streams.join(",")
        ))
    }
}

type Key = (u64, u32);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Flooded, overloaded: the run itself checks conservation; the trace says the same as the statistics.
    #[test]
    fn statistics_are_those_of_the_trace(tree in trees(), learning in any::<bool>()) {
        let network = tree.network(learning);
        let bridges = network.bridges.len() as u32;
        prop_assert!(network.bridges.iter().all(|bridge| bridge.kind == BridgeKind::Model));
        let (outcome, rows) = simulate(&network);
        for (index, stream) in network.streams.iter().enumerate() {
            let mut created: BTreeMap<u64, u64> = BTreeMap::new();
            let mut sent: HashMap<u64, u64> = HashMap::new();
            let mut delivered: BTreeMap<Key, u64> = BTreeMap::new();
            for row in rows.rows.iter().filter(|row| row.stream == index as u32) {
                let (frame, node, time) = (row.frame, row.node, row.time_ps);
                if row.event == Event::Created {
                    prop_assert!(created.insert(frame, time).is_none());
                } else if row.event == Event::Sent && node >= bridges {
                    prop_assert!(sent.insert(frame, time).is_none());
                } else if row.event == Event::Delivered {
                    prop_assert!(delivered.insert((frame, node), time).is_none());
                    prop_assert!(stream.to.contains(&((node - bridges) as usize)));
                }
            }
            let statistics = &outcome.statistics[index];
            prop_assert_eq!(statistics.frames, created.len() as u64);
            prop_assert_eq!(statistics.copies, (created.len() * stream.to.len()) as u64);
            prop_assert_eq!(statistics.delivered, delivered.len() as u64);
            let dropped: u64 = statistics.dropped.iter().sum();
            prop_assert_eq!(statistics.copies, statistics.delivered + dropped + statistics.inside);
            prop_assert_eq!(statistics.inside, 0, "all is drained");
            let fates = &outcome.fates[index];
            prop_assert_eq!(fates.created, fates.delivered + fates.dropped.values().sum::<u64>());
            let mut latency: Vec<u64> = delivered.iter().map(|((frame, _), time)| time - sent[frame]).collect();
            check(&mut latency, &statistics.latency_ps)?;
            let mut wait: Vec<u64> = sent.iter().map(|(frame, time)| time - created[frame]).collect();
            check(&mut wait, &statistics.talker_wait_ps)?;
            let mut intervals = Vec::new();
            for &listener in &stream.to {
                let node = bridges + listener as u32;
                let mut times: Vec<u64> = delivered.iter().filter(|((_, at), _)| *at == node).map(|(_, t)| *t).collect();
                times.sort_unstable();
                intervals.extend(times.windows(2).map(|pair| pair[1] - pair[0]));
            }
            check(&mut intervals, &statistics.interval_ps)?;
            prop_assert_eq!(statistics.first_delivered_ps, delivered.values().min().copied());
            prop_assert_eq!(statistics.last_delivered_ps, delivered.values().max().copied());
        }
        let received = rows.rows.iter().filter(|row| row.event == Event::Received).count() as u64;
        prop_assert!(outcome.simulation.frame_hops >= received);
        prop_assert!(rows.rows.iter().all(|row| usize::from(row.reason.0) < Reason::COUNT));
    }

    /// The same network gives the same run.
    #[test]
    fn runs_repeat(tree in trees()) {
        let network = tree.network(true);
        let (first, second) = (simulate(&network).1, simulate(&network).1);
        prop_assert_eq!(first.rows, second.rows);
    }
}

fn check(values: &mut [u64], found: &penstock_net::Distribution) -> Result<(), TestCaseError> {
    let Some(summary) = found.summary() else {
        prop_assert!(values.is_empty());
        return Ok(());
    };
    values.sort_unstable();
    let nearest = |percentile: Percentile| values[percentile.index(values.len() as u64) as usize] as f64;
    prop_assert_eq!(summary.count, values.len() as u64);
    prop_assert_eq!((summary.min, summary.max), (values[0], values[values.len() - 1]));
    prop_assert_eq!(summary.mean, values.iter().map(|&v| u128::from(v)).sum::<u128>() as f64 / values.len() as f64);
    prop_assert_eq!(
        (summary.p50, summary.p99, summary.percentile_error),
        (nearest(Percentile::P50), nearest(Percentile::P99), 0.0)
    );
    Ok(())
}

#[test]
fn a_loop_needs_to_be_told_its_way() {
    let periodic = r#"{"kind":"periodic","frame_bytes":64,"period_ps":1000000}"#;
    let text = line(2, IDEAL, 1_000_000_000, 0, ["", ""], &stream("x", 0, &[1], 2, periodic));
    let text = text.replace("\"ports\":2", "\"ports\":3");
    let ring = r#""links":[{"a":[0,2],"b":[1,2],"rate_bps":1000000000,"delay_ps":0},"#;
    let error = refused(&text.replace("\"links\":[", ring));
    assert!(error.contains("more than one way; \"downstream\" has to say"), "{error}");
    let far = text.replace("\"links\":[{\"a\":[2,0],\"b\":[0,0],", "\"links\":[{\"a\":[2,0],\"b\":[0,2],");
    assert!(matches!(
        run(network(&far), Guests::default(), &mut Rows::default()),
        Ok(_) | Err(RunError::Description { .. })
    ));
}
