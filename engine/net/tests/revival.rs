// SPDX-License-Identifier: Apache-2.0
//! A bridge that died remembers nothing: what it has learnt since it is back may be as much as it knew then, and is not that.
mod rows;

use penstock_net::{run, Event, Guests, Network, Row};
use rows::Rows;
use serde_json::{json, Value};

const US: u64 = 1_000_000;
const OTHERS: usize = 4;

/// Station 0 sends to 1, which has sent once before the bridge died; after that, so many others do.
fn network(timing: &Value, others: usize) -> Network {
    let stream = |name: String, from: usize, to: usize, start: u64, every: u64, count: u32| {
        json!({"name": name, "from": from, "to": [to],
            "frame": {"destination_mac": format!("02:00:00:00:00:0{to}"), "source_mac": format!("02:00:00:00:00:0{from}"),
                "vlan": 1, "pcp": 0, "payload": {"kind": "raw"}},
            "source": {"kind": "periodic", "frame_bytes": 100, "start_ps": start, "period_ps": every, "count": count}})
    };
    let ports = OTHERS + 2;
    let mut streams =
        vec![stream("asks".into(), 0, 1, 10 * US, 100 * US, 3), stream("answers".into(), 1, 0, 5 * US, US, 1)];
    // Twice, so that what was learnt of the first is seen.
    let start = |n: usize| (165 + 5 * n as u64) * US;
    streams.extend((0..others).map(|n| stream(format!("other{n}"), 2 + n, 0, start(n), 2 * US, 2)));
    let link = |port: usize| json!({"a": [0, port], "b": [1 + port, 0], "rate_bps": 1_000_000_000, "delay_ps": 0});
    serde_json::from_value(json!({
        "duration_ps": 400 * US, "drain_ps": 100 * US,
        "bridges": [{"name": "sw", "kind": "model", "ports": ports, "timing": timing,
            "config": {"learning_enable": true, "vlans": [[1, (1 << ports) - 1]]}}],
        "stations": (0..ports).map(|n| json!({"name": format!("t{n}")})).collect::<Vec<_>>(),
        "links": (0..ports).map(link).collect::<Vec<_>>(),
        "streams": streams,
        "faults": [{"kind": "node_down", "node": 0, "at_ps": 150 * US, "until_ps": 160 * US}],
    }))
    .unwrap()
}

#[test]
fn a_bridge_floods_again_what_it_knew_before_it_died() {
    for timing in [json!({"kind": "hardware"}), json!({"kind": "ideal", "processing_delay_ps": 400_000})] {
        for others in 0..=OTHERS {
            let mut rows = Rows::default();
            run(network(&timing, others), Guests::default(), &mut rows).unwrap();
            let sent = |from: u64, until: u64| {
                let times = from * US..until * US;
                let at_bridge = |row: &&Row| (row.event, row.node, row.stream) == (Event::Sent, 0, 0);
                rows.0.iter().filter(at_bridge).filter(|row| times.contains(&row.time_ps)).count()
            };
            assert_eq!([sent(0, 100), sent(100, 200)], [1, 1], "it knows station 1");
            assert_eq!(sent(200, 300), OTHERS + 1, "{others} have sent since it is back");
        }
    }
}
