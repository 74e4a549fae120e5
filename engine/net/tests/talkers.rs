// SPDX-License-Identifier: Apache-2.0
//! ATS schedulers of a talker, against numbers that are worked out by hand.
use penstock_net::{run, Event, Guests, Network, Observer, Outcome, Row, RunError};
use serde_json::{json, Value};

/// (stream, event, time in ns, class) of what happens at the talker, in the order of time.
#[derive(Default)]
struct AtTalker(Vec<(u32, Event, f64, u8)>);

const EVENTS: [Event; 4] = [Event::Created, Event::Eligible, Event::Sent, Event::Dropped];
const TALKER: u32 = 1;

impl Observer for AtTalker {
    fn rows(&mut self, rows: &mut Vec<Row>) -> bool {
        let seen = rows.iter().filter(|row| row.node == TALKER && EVENTS.contains(&row.event));
        self.0.extend(seen.map(|row| (row.stream, row.event, row.time_ps as f64 / 1000.0, row.traffic_class)));
        true
    }
    fn progress(&mut self, _done: f64) -> bool {
        true
    }
}

impl AtTalker {
    fn times(&self, stream: u32, event: Event) -> Vec<f64> {
        self.0.iter().filter(|row| row.0 == stream && row.1 == event).map(|row| row.2).collect()
    }
}

/// Streams (priority, source) of a talker at 1 Gb/s, whose class is their priority.
fn network(talker: Value, streams: &[(u8, Value)]) -> Value {
    let streams = streams.iter().enumerate().map(|(number, (pcp, source))| {
        json!({"name": format!("s{number}"), "from": 0, "to": [1], "source": source, "frame": {
            "destination_mac": format!("03:00:00:00:00:{number:02x}"), "source_mac": "02:00:00:00:00:01",
            "vlan": 1, "pcp": pcp, "payload": {"kind": "raw"}}})
    });
    let mut talker = talker;
    talker["name"] = json!("talker");
    talker["class_of_pcp"] = json!([0, 1, 2, 3, 4, 5, 6, 7]);
    let ideal = json!({"kind": "ideal", "processing_delay_ps": 0});
    json!({
        "duration_ps": 10_000_000_000_u64,
        "bridges": [{"name": "sw", "kind": "model", "ports": 2, "timing": ideal, "config": {}}],
        "stations": [talker, {"name": "listener"}],
        "links": [
            {"a": [0, 0], "b": [1, 0], "rate_bps": 1_000_000_000, "delay_ps": 0},
            {"a": [0, 1], "b": [2, 0], "rate_bps": 1_000_000_000, "delay_ps": 0},
        ],
        "streams": streams.collect::<Vec<_>>(),
    })
}

fn simulate(network: &Value) -> Result<(Outcome, AtTalker), RunError> {
    let network: Network = serde_json::from_value(network.clone()).unwrap();
    let mut seen = AtTalker::default();
    let outcome = run(network, Guests::default(), &mut seen)?;
    Ok((outcome, seen))
}

fn burst(frames: u64, bytes: u32) -> Value {
    json!({"kind": "burst", "frame_bytes": bytes, "size": frames, "period_ps": 9_000_000_000_u64, "count": frames})
}

fn one(bytes: u32, start_ps: u64) -> Value {
    json!({"kind": "periodic", "frame_bytes": bytes, "period_ps": 9_000_000_000_u64, "count": 1, "start_ps": start_ps})
}

/// 1020 B on the wire take 81.6 us at 100 Mb/s; the bucket holds two of them.
fn ats(streams: &[u32]) -> Value {
    let scheduler = |stream| json!({"streams": [stream], "rate_bps": 100_000_000, "burst_bytes": 2040});
    let schedulers: Vec<_> = streams.iter().map(scheduler).collect();
    json!({"ats": {"classes": [6, 7], "overhead_bytes": 20, "schedulers": schedulers}})
}

/// From the selection to the first bit behind the delimiter.
const LEAD_NS: f64 = 64.0;

#[test]
fn a_burst_is_smoothed_at_its_own_port() {
    let (outcome, seen) = simulate(&network(ats(&[0]), &[(7, burst(5, 1000)), (3, burst(3, 1480))])).unwrap();
    // The bucket is full: two frames at once, then one in 81.6 us.
    assert_eq!(seen.times(0, Event::Eligible), [0.0, 0.0, 81_600.0, 163_200.0, 244_800.0]);
    // 8160 ns each on the wire, and the others of 12 us fill what is left: those go from 16.32 us to 52.32 us.
    let sent = [0.0, 8_160.0, 81_600.0, 163_200.0, 244_800.0].map(|at| at + LEAD_NS);
    assert_eq!(seen.times(0, Event::Sent), sent);
    assert_eq!(seen.times(1, Event::Sent), [16_320.0, 28_320.0, 40_320.0].map(|at| at + LEAD_NS));
    assert_eq!(seen.times(1, Event::Eligible), [0.0; 0]);
    assert_eq!(outcome.statistics[0].talker_wait_ps.summary().unwrap().max, 244_864_000);
    assert_eq!(outcome.fates[0].delivered, 5);
}

#[test]
fn streams_of_a_class_keep_their_order_and_those_of_another_do_not_wait() {
    let streams = [(7, burst(4, 1000)), (7, one(500, 1_000_000)), (6, one(500, 1_000_000)), (7, one(480, 2_000_000))];
    let (_, seen) = simulate(&network(ats(&[0, 1, 2]), &streams)).unwrap();
    // The third and fourth frame of the burst are eligible at 81.6 us and 163.2 us, and no later one of their group before.
    assert_eq!(seen.times(1, Event::Eligible), [163_200.0]);
    assert_eq!(seen.times(2, Event::Eligible), [1_000.0]);
    assert_eq!(seen.times(1, Event::Sent), [163_200.0 + 8_160.0 + LEAD_NS]);
    // What has no scheduler is no part of the group. It comes before the other class, when the burst's two are sent.
    assert_eq!(seen.times(3, Event::Eligible), [0.0; 0]);
    assert_eq!(seen.times(3, Event::Sent), [16_320.0 + LEAD_NS]);
    assert_eq!(seen.times(2, Event::Sent), [16_320.0 + 4_000.0 + LEAD_NS]);
}

#[test]
fn a_shared_scheduler_counts_the_frames_of_all_its_streams() {
    let mut talker = ats(&[0]);
    talker["ats"]["schedulers"][0]["streams"] = json!([0, 1]);
    let (_, seen) = simulate(&network(talker, &[(7, burst(2, 1000)), (7, burst(1, 1000))])).unwrap();
    assert_eq!((seen.times(0, Event::Eligible), seen.times(1, Event::Eligible)), (vec![0.0, 0.0], vec![81_600.0]));
}

#[test]
fn what_would_stay_too_long_is_dropped_and_costs_nothing() {
    let mut talker = ats(&[0]);
    talker["ats"]["max_residence_ns"] = json!([[7, 100_000]]);
    let streams = [(7, burst(5, 1000)), (7, one(1000, 65_000_000))];
    talker["ats"]["schedulers"][0]["streams"] = json!([0, 1]);
    let (outcome, seen) = simulate(&network(talker, &streams)).unwrap();
    // The fourth would wait for 163.2 us, and so would the fifth; one that comes 65 us later waits for 98.2 us.
    assert_eq!(seen.times(0, Event::Dropped), [0.0, 0.0]);
    assert_eq!(outcome.fates[0].dropped.values().sum::<u64>(), 2);
    assert_eq!(seen.times(1, Event::Eligible), [163_200.0]);
}

#[test]
fn an_endless_stream_has_the_rate_of_its_scheduler() {
    let greedy = json!({"kind": "back_to_back", "frame_bytes": 1000, "count": 20});
    let (_, seen) = simulate(&network(ats(&[0]), &[(6, greedy)])).unwrap();
    let sent = seen.times(0, Event::Sent);
    assert_eq!(sent.len(), 20);
    // The second comes when the first is gone, 8.16 us later, and passes; the bucket is full again at 0 + 163.2 us.
    assert_eq!(sent[..3], [0.0, 8_160.0, 81_600.0].map(|at| at + LEAD_NS));
    assert!(sent[2..].windows(2).all(|pair| ((pair[1] - pair[0]) - 81_600.0).abs() < 1e-6));
}

#[test]
fn schedulers_go_by_the_talker_s_own_clock_and_behind_its_gates() {
    let mut talker = ats(&[0]);
    talker["clock"] = json!({"drift_ppb": 1_000_000});
    let (_, seen) = simulate(&network(talker.clone(), &[(7, burst(3, 1000))])).unwrap();
    let eligible = seen.times(0, Event::Eligible);
    assert!((eligible[2] * 1.001 - 81_600.0).abs() < 0.01, "{eligible:?}");
    // Open from 100 us to 200 us: the third frame is eligible before, and waits.
    talker["clock"] = json!({});
    let entries = json!([[0x7F, 100_000], [0xFF, 100_000]]);
    talker["shapers"] = json!({"gates": [{"port": 0, "entries": entries, "cycle_time_ns": 200_000}]});
    let (_, seen) = simulate(&network(talker, &[(7, burst(3, 1000))])).unwrap();
    assert_eq!(seen.times(0, Event::Eligible), [0.0, 0.0, 81_600.0]);
    assert_eq!(seen.times(0, Event::Sent), [100_000.0, 108_160.0, 116_320.0].map(|at| at + LEAD_NS));
}

#[test]
fn a_talker_that_was_dead_begins_with_full_buckets() {
    let mut described = network(
        ats(&[0]),
        &[(
            7,
            json!({"kind": "pattern", "period_ps": 50_000_000,
        "sizes": [[1000, 1000]], "spread_ps": 0, "count": 4}),
        )],
    );
    let silent = simulate(&described).unwrap().1.times(0, Event::Eligible);
    assert_eq!(silent, [0.0, 0.0, 81_600.0, 163_200.0]);
    described["faults"] = json!([{"kind": "node_down", "node": 1, "at_ps": 30_000_000, "until_ps": 40_000_000}]);
    let again = simulate(&described).unwrap().1.times(0, Event::Eligible);
    assert_eq!(again, [0.0, 0.0, 50_000.0, 50_000.0]);
}

#[test]
fn wrong_schedulers_are_refused_by_name() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut talker = ats(&[0]);
        change(&mut talker["ats"]);
        simulate(&network(talker, &[(7, burst(1, 1000))])).err().unwrap().to_string()
    };
    assert!(refused(&|ats| ats["schedulers"][0]["streams"] = json!([1])).contains("stream 1, which is not its own"));
    assert!(refused(&|ats| ats["schedulers"][0]["streams"] = json!([0, 0])).contains("two ATS schedulers"));
    assert!(refused(&|ats| ats["schedulers"][0]["rate_bps"] = json!(9_999)).contains("9999 b/s"));
    assert!(refused(&|ats| ats["classes"] = json!([8])).contains("class of ATS is 8"));
    assert!(refused(&|ats| ats["max_residence_ns"] = json!([[8, 1]])).contains("traffic class of a group is 8"));
    assert!(refused(&|ats| ats["overhead_bytes"] = json!(256)).contains("overhead in bytes is 256"));
}
