// SPDX-License-Identifier: Apache-2.0
//! What comes by the control socket: whatever it is, it is answered, and nothing wrong reaches the plane.
use penstock_plane::config::Config;
use penstock_plane::control::{answer, read_levels, Command, Line, Outcome, Snapshot};
use penstock_plane::link::Chosen;
use penstock_plane::plane::{Arrival, Plane};
use penstock_plane::port::ListRefused;
use proptest::prelude::*;
use serde_json::{json, Value};

/// A plane that does what it is asked, on a thread of its own, until nobody can ask any more.
fn serving() -> (Vec<String>, Line) {
    let config = json!({"ports": [{"interface": "a", "rate": "1Gb/s"}, {"interface": "b", "rate": "15Mb/s"}]});
    let config: Config = serde_json::from_value(config).unwrap();
    let mut plane = Plane::new(&config, 1_000, 8_000).unwrap();
    let (line, mut orders) = Line::new().unwrap();
    std::thread::spawn(move || {
        let mut now = 1_000;
        loop {
            let Some(order) = orders.take() else {
                std::thread::yield_now();
                continue;
            };
            now += 1_000;
            let outcome = match order.command {
                Command::Gates { port, list } => match plane.commit(port, &list, now) {
                    Ok(tai_ns) => Outcome::Changes { tai_ns },
                    Err(ListRefused::Locked) => Outcome::Locked,
                    Err(ListRefused::Wrong(refused)) => Outcome::Refused(refused),
                },
                Command::Table(table) => {
                    plane.replace_table(table);
                    Outcome::Done
                }
                Command::Limit { port, class, frames } => {
                    plane.set_limit(port, class, frames);
                    Outcome::Done
                }
                Command::Synchronize { .. } | Command::Synchronization { .. } => Outcome::Done,
                Command::Counters => {
                    Outcome::Counters(Box::new(Snapshot::of(&plane, now, vec![(0, Chosen::default()); 2], 0)))
                }
                Command::Occupancy => Outcome::Occupancy(Box::new(read_levels(&mut plane, now))),
                Command::Watch { port, class } => {
                    plane.watch(port, class);
                    Outcome::Done
                }
                Command::Arrivals => {
                    let mut bytes = [0x5A; 96];
                    bytes[..6].fill(0x5C);
                    for _ in 0..3 {
                        now += 1_000;
                        plane.receive(
                            &Arrival { port: 0, bytes: &bytes, tag: Some((0x8100, 0xE00A)), checksum: None },
                            now,
                        );
                    }
                    Outcome::Arrivals(plane.watched())
                }
                Command::Stop => return,
            };
            let _ = order.reply.send(outcome);
        }
    });
    (vec!["a".into(), "b".into()], line)
}

fn is_answer(told: &Value) -> bool {
    match told["ok"].as_bool() {
        Some(true) => true,
        Some(false) => {
            ["place", "what", "allowed"].iter().all(|key| told["error"][key].as_str().is_some_and(|s| !s.is_empty()))
        }
        None => false,
    }
}

#[test]
fn each_request_is_done_and_answered() {
    let (ports, line) = serving();
    let ask = |request: Value| answer(request.to_string().as_bytes(), &ports, &line);
    let entries = json!([{"open": [7], "interval": "3.5ms"}, {"open": "all", "interval": 1_500_000}]);
    let told = ask(json!({"do": "gates", "port": "b", "gates": {"entries": entries}}));
    assert_eq!(told, json!({"ok": true, "config_change_time_tai_ns": 5_000_000}));
    let rule = json!({"match": {"vlan": 10}, "to": ["a"], "queue": 7});
    assert_eq!(ask(json!({"do": "table", "table": [rule]})), json!({"ok": true}));
    assert_eq!(ask(json!({"do": "limit", "port": "b", "class": 3, "frames": 5})), json!({"ok": true}));
    let told = ask(json!({"do": "counters"}));
    assert_eq!(
        (&told["ports"]["b"]["limits"][3], &told["ports"]["b"]["pending_gates"]["cycle_time_ns"]),
        (&json!(5), &json!(5_000_000))
    );
    assert_eq!(ask(json!({"do": "occupancy"}))["ports"]["a"][7]["integral_frame_ns"], 0);
    let text = ask(json!({"do": "metrics"}))["text"].as_str().unwrap().to_owned();
    assert!(text.lines().any(|line| line == "penstock_plane_queue_limit_frames{port=\"b\",class=\"3\"} 5"), "{text}");
    assert!(text.lines().all(|line| line.starts_with("# ") || line.rsplit_once(' ').unwrap().1.parse::<u64>().is_ok()));
    ask(json!({"do": "stop"}));
}

/// Requests that are nearly right.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let right = prop_oneof![
        Just(r#"{"do":"gates","port":"b","gates":{"cycle_time":"5ms","entries":[{"open":[3],"interval":"1ms"}]}}"#),
        Just(
            r#"{"do":"table","table":[{"match":{"vlan":5,"ipv4":{"source":"10.0.0.0/8"}},"to":["a"],"tag":{"set":{"vlan":1,"pcp":2}}}]}"#
        ),
        Just(r#"{"do":"limit","port":"a","class":7,"frames":64}"#),
        Just(r#"{"do":"counters"}"#),
    ];
    (right, prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..3), 0..4)).prop_map(
        |(text, edits)| {
            let mut bytes = text.as_bytes().to_vec();
            for (place, byte, kind) in edits {
                let at = place.index(bytes.len());
                match kind {
                    0 => bytes[at] = byte,
                    1 => bytes.insert(at, b"0123456789-\"{}[],"[usize::from(byte) % 17]),
                    _ => bytes.truncate(at.max(1)),
                }
            }
            bytes
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_request_is_answered(text in prop_oneof![3 => nearly(), 1 => prop::collection::vec(any::<u8>(), 0..200)]) {
        thread_local!(static SERVING: (Vec<String>, Line) = serving());
        SERVING.with(|(ports, line)| {
            let told = answer(&text, ports, line);
            prop_assert!(is_answer(&told), "{} of {:?}", told, String::from_utf8_lossy(&text));
            Ok(())
        })?;
    }
}

#[test]
fn arrivals_are_told_of_the_class_and_port_that_are_watched() {
    let (ports, line) = serving();
    let ask = |text: Value| answer(text.to_string().as_bytes(), &ports, &line);
    let refused = ask(json!({"do": "arrivals"}));
    assert_eq!(refused["error"]["what"], "nothing is watched");
    assert_eq!(ask(json!({"do": "watch", "port": "b", "class": 8}))["error"]["allowed"], "0 to 7");
    assert_eq!(ask(json!({"do": "watch", "port": "c", "class": 7}))["error"]["allowed"], "a, b");
    assert_eq!(ask(json!({"do": "watch", "port": "b", "class": 1}))["ok"], true);
    assert_eq!(ask(json!({"do": "arrivals"}))["frames"], json!([]), "of another class");
    assert_eq!(ask(json!({"do": "watch", "port": "b", "class": 7}))["ok"], true);
    let told = ask(json!({"do": "arrivals"}));
    let (source, destination) = ("5a:5a:5a:5a:5a:5a", "5c:5c:5c:5c:5c:5c");
    let flow = json!({"vlan": 10, "source": source, "destination": destination, "destination_port": null});
    assert_eq!((&told["flows"], &told["beyond"], &told["port"]), (&json!([flow]), &json!(0), &json!("b")));
    let frames = told["frames"].as_array().unwrap();
    assert_eq!(frames.len(), 3);
    // 96 B, a tag and an FCS, each 1000 ticks of 8 ns behind the one before.
    assert!(frames.iter().all(|frame| (&frame[1], &frame[2]) == (&json!(104), &json!(0))));
    let times: Vec<u64> = frames.iter().map(|frame| frame[0].as_u64().unwrap()).collect();
    assert_eq!((times[1] - times[0], times[2] - times[1]), (8_000, 8_000));
}
