// SPDX-License-Identifier: Apache-2.0
//! Whatever frames come, each is sent, dropped with a reason, an answer to one of synchronization, or still held.
#![no_main]
use libfuzzer_sys::fuzz_target;

use penstock_plane::config::Config;
use penstock_plane::offload::left_open;
use penstock_plane::plane::{Arrival, Plane};

const CONFIG: &str = r#"{
    "ports": [
        {"interface": "a", "rate": "1Gb/s", "follows": true},
        {"interface": "b", "rate": "100Mb/s", "classes": {"3": {"limit": 4, "max_frame_bytes": 500}},
         "gates": {"entries": [{"open": [3, 7], "interval": "400us"}, {"open": [0, 1, 7], "interval": "300us"}]}}
    ],
    "table": [
        {"match": {"vlan": 10, "pcp": 3}, "to": ["b"], "queue": 7, "tag": "remove", "stream": "s"},
        {"match": {"ipv4": {"destination": "10.0.0.0/8", "protocol": 17}}, "tag": {"set": {"vlan": 5, "pcp": 3}}},
        {"match": {"ethertype": 35063}, "drop": true}
    ],
    "streams": {"s": {"ats": {"rate": "1Mb/s", "burst": "2kB"}, "number": {"offset": 60, "bytes": 8}}},
    "buffers": 16
}"#;

fuzz_target!(|frames: Vec<(bool, Option<(u16, u16)>, u16, Vec<u8>)>| {
    let config: Config = serde_json::from_str(CONFIG).expect("the text above");
    let mut plane = Plane::new(&config, 1_000, 5_000_000_000).expect("the text above");
    let (mut now, mut departures, mut sent) = (1_000, Vec::new(), 0);
    let count = frames.len() as u64;
    for (port, tag, later, bytes) in frames {
        let checksum = left_open(&bytes);
        plane.receive(&Arrival { port: usize::from(port), bytes: &bytes, tag, checksum }, now);
        now += u64::from(later);
        plane.advance(now, &mut departures);
        for departure in departures.drain(..) {
            plane.stamp(&departure, now);
            assert!(plane.bytes(&departure).len() <= 1522);
            plane.departed(&departure, Ok(()), now);
            sent += 1;
        }
    }
    let ports = plane.ports();
    assert_eq!(ports.iter().map(|port| port.counters.received.frames).sum::<u64>(), count);
    let dropped: u64 = ports.iter().flat_map(|port| port.counters.dropped).sum();
    let waiting: u64 = ports.iter().flat_map(|port| port.queues.map(|queue| u64::from(queue.frames()))).sum();
    assert_eq!(waiting, plane.held() as u64, "of two ports, each frame has one copy");
    assert!(sent + dropped + waiting <= count, "frames of synchronization end at the plane");
});
