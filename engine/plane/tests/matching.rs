// SPDX-License-Identifier: Apache-2.0
//! Each field that a rule may ask for, and each action, on whole frames: one that has it, and others that differ in it alone.
use penstock_plane::config::Config;
use penstock_plane::plane::{Arrival, Plane};

const START: u64 = 1_000;

/// Tagged with VLAN 10 and PCP 3, UDP from 10.0.0.1 port 4000 to 10.1.2.3 port 5000; it came by the port "a".
fn frame() -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 3 << 5, 10, 8, 0];
    frame.extend([0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 1, 2, 3]);
    frame.extend([0x0F, 0xA0, 0x13, 0x88, 0, 26, 0, 0]);
    frame.resize(64, 7);
    frame
}

/// Port, class and bytes of what leaves, and the stream that the trace has.
fn led(rule: &str, port: usize, frame: &[u8]) -> Vec<(usize, u8, Vec<u8>, Option<u16>)> {
    let config = format!(
        r#"{{"ports": [{{"interface": "a", "rate": "1Gb/s"}}, {{"interface": "b", "rate": "1Gb/s"}},
             {{"interface": "c", "rate": "1Gb/s"}}], "streams": {{"s": {{}}}}, "table": [{rule}]}}"#
    );
    let config: Config = serde_json::from_str(&config).unwrap();
    let mut plane = Plane::new(&config, START, 5_000_000_000).unwrap();
    plane.keep_rows();
    plane.receive(&Arrival { port, bytes: frame, tag: None, checksum: None }, START);
    let stream = plane.take_rows().first().and_then(|row| row.stream);
    let mut departures = Vec::new();
    plane.advance(START + 1_000, &mut departures);
    let told = |departure: &_| plane.bytes(departure).to_vec();
    departures.iter().map(|d| (d.port, d.copy.traffic_class, told(d), stream)).collect()
}

#[test]
fn each_field_of_a_match_is_asked_of_a_frame() {
    // Rule, and the byte of the frame that it looks at; none: the port.
    let fields = [
        (r#""port": "a""#, None),
        (r#""vlan": 10"#, Some(15)),
        (r#""pcp": 3"#, Some(14)),
        (r#""source": "02:00:00:00:00:01""#, Some(11)),
        (r#""destination": "02:00:00:00:00:02""#, Some(5)),
        (r#""ethertype": 2048"#, Some(17)),
        (r#""ipv4": {"source": "10.0.0.1"}"#, Some(33)),
        (r#""ipv4": {"destination": "10.1.0.0/16"}"#, Some(35)),
        (r#""ipv4": {"protocol": 17}"#, Some(27)),
        (r#""ipv4": {"source_port": 4000}"#, Some(39)),
        (r#""ipv4": {"destination_port": 5000}"#, Some(41)),
    ];
    for (field, byte) in fields {
        let rule = format!(
            r#"{{"match": {{{field}}}, "to": ["c"], "queue": 6, "tag": {{"set": {{"vlan": 77, "pcp": 5}}}}, "stream": "s"}}"#
        );
        let mut tagged = frame();
        tagged[14..16].copy_from_slice(&[5 << 5, 77]);
        assert_eq!(led(&rule, 0, &frame()), [(2, 6, tagged, Some(0))], "{field}");
        let (mut other, mut port) = (frame(), 0);
        match byte {
            None => port = 1,
            // A PCP stands in the upper bits of its byte.
            Some(14) => other[14] = 4 << 5,
            Some(byte) => other[byte] ^= 1,
        }
        for (to, class, bytes, stream) in led(&rule, port, &other) {
            assert_eq!((class == 6, stream), (false, None), "{field}: another frame");
            assert_eq!((to == port, bytes), (false, other.clone()), "flooded as it came");
        }
    }
}

#[test]
fn each_action_is_done_alone() {
    let ports = |led: &[(usize, u8, Vec<u8>, Option<u16>)]| led.iter().map(|each| each.0).collect::<Vec<_>>();
    assert_eq!(ports(&led(r#"{"to": ["b", "c"]}"#, 0, &frame())), [1, 2]);
    assert_eq!(ports(&led(r#"{"to": ["a"]}"#, 0, &frame())), [0], "a rule may lead a frame back");
    assert_eq!(led(r#"{"drop": true}"#, 0, &frame()), []);
    let untagged = [&frame()[..12], &frame()[16..]].concat();
    assert!(led(r#"{"tag": "remove"}"#, 0, &frame()).iter().all(|each| each.2 == untagged));
    assert!(led(r#"{"queue": 2}"#, 0, &frame()).iter().all(|each| each.1 == 2));
    assert!(led(r#"{"stream": "s"}"#, 0, &frame()).iter().all(|each| (each.1, each.3) == (3, Some(0))));
}
