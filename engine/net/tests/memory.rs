// SPDX-License-Identifier: Apache-2.0
//! Memory follows what is inside, however long a run is and whatever its frames say.
use penstock_net::bridge::device::{self, Device, Sizes};
use penstock_net::bridge::{BridgeConfig, Tick};
use penstock_net::{run, Coming, Due, Frame, Guests, Network, Node, Observer, Outbox, Row, RunError};
use serde_json::json;

const CYCLES_PER_FRAME: Tick = 84;

/// Back to back, each with a source address of its own; some frame is always inside.
fn drive(device: &mut Device, numbers: std::ops::Range<u64>) -> usize {
    let mut events = 0;
    for number in numbers {
        let mut bytes = [0; 64];
        bytes[..6].copy_from_slice(&[0x02, 0, 0, 0, 0, 0xFF]);
        bytes[6] = 2;
        bytes[7..12].copy_from_slice(&number.to_be_bytes()[3..]);
        let bytes = penstock_frame::finish(bytes[..60].to_vec());
        let start = device.state().cycle + CYCLES_PER_FRAME;
        device.push(device::Frame::new(0, start, &bytes)).unwrap();
        device.run(start);
        events += device.take_events().len();
    }
    events
}

#[test]
fn a_device_forgets_frames_and_headers_that_are_gone() {
    let sizes = Sizes { ports: 4, streams: 256, cells: 1024, fdb_sets: 512, host: false };
    let config = BridgeConfig { vlans: vec![(1, 0xF)], port_vlan_id: vec![1; 4], ..BridgeConfig::default() };
    let mut device = Device::new(sizes, &config).unwrap();
    assert!(drive(&mut device, 0..3_000) > 3_000);
    let early = device.held();
    drive(&mut device, 3_000..12_000);
    let [frames, headers, events] = device.held();
    assert!(frames < 20 && headers < 2_000 && events < 100, "{frames} {headers} {events}");
    assert!(frames <= early[0] + 4 && headers <= early[1] + 4 && events <= early[2] + 10, "{early:?}");
    assert_eq!(device.pushed(), 12_000);
}

/// What comes by one port goes out by the other, each time from another source.
struct Masquerade {
    coming: Vec<(u64, u16, Frame)>,
    number: u64,
}

impl Node for Masquerade {
    fn ports(&self) -> u16 {
        2
    }

    fn receive(&mut self, at: u64, port: u16, mut coming: Coming<'_>) -> Result<u64, RunError> {
        let mut bytes = coming.bytes()?.to_vec();
        self.number += 1;
        bytes[7..12].copy_from_slice(&self.number.to_be_bytes()[3..]);
        bytes.truncate(bytes.len() - 4);
        let mut frame = coming.take();
        let whole = at + PS_PER_BYTE * u64::from(frame.length());
        frame.set_bytes(penstock_frame::finish(bytes).into());
        self.coming.push((whole, port, frame));
        Ok(at)
    }

    fn next(&self) -> Option<u64> {
        self.coming.iter().map(|(whole, ..)| *whole).min()
    }

    fn advance(&mut self, now: u64, _due: Due, out: &mut Outbox<'_>) -> Result<(), RunError> {
        for (whole, port, frame) in self.coming.extract_if(.., |(whole, ..)| *whole <= now) {
            out.send(frame, 1 - port, 0, whole + 8 * PS_PER_BYTE);
        }
        Ok(())
    }

    fn inside(&self, show: &mut dyn FnMut(&Frame, u32)) {
        self.coming.iter().for_each(|(_, _, frame)| show(frame, 1));
    }
}

struct Nobody;

impl Observer for Nobody {
    fn rows(&mut self, _rows: &mut Vec<Row>) -> bool {
        true
    }
    fn progress(&mut self, _done: f64) -> bool {
        true
    }
}

const PS_PER_BYTE: u64 = 8_000;

/// A line of a node of one's own and three bridges that learn, two as the hardware and one of another maker: sources of all
/// kinds, of which some flood, some are dropped for lack of room and some by ATS, and answers.
fn line(duration_ps: u64) -> Network {
    let kinds = [
        json!({"kind": "periodic", "period_ps": 20_000_000, "frame_bytes": 100}),
        json!({"kind": "poisson", "mean_ps": 30_000_000, "frame_bytes": 200, "seed": 5}),
        json!({"kind": "burst", "period_ps": 400_000_000, "size": 10, "frame_bytes": 600}),
        json!({"kind": "back_to_back", "frame_bytes": 1500}),
        json!({"kind": "pattern", "period_ps": 100_000_000, "sizes": [[1000, 200], [], [300]], "spread_ps": 7_000_000}),
        json!({"kind": "response", "to_stream": 0, "after_ps": 1_000_000, "frame_bytes": 64}),
        json!({"kind": "normal", "mean_ps": 25_000_000, "deviation_ps": 1_000_000, "frame_bytes": 90, "seed": 7}),
    ];
    let ways = [(0, [2, 3].as_slice()), (1, &[3]), (2, &[0]), (1, &[2]), (0, &[1]), (3, &[0]), (3, &[1, 2])];
    let streams = kinds.iter().zip(ways).enumerate().map(|(number, (source, (from, to)))| {
        // A group's address is flooded; another one is learnt where somebody answers.
        let first = if to.len() > 1 { "03" } else { "02" };
        let last = to[0];
        json!({"name": format!("s{number}"), "from": from, "to": to, "source": source, "frame": {
            "destination_mac": format!("{first}:00:00:00:00:0{last}"), "source_mac": format!("02:00:00:00:00:0{from}"),
            "vlan": 1, "pcp": number % 4, "payload": {"kind": "raw"}}})
    });
    let config = json!({"learning_enable": true, "vlans": [[1, 15]], "class_of_pcp": [0, 1, 2, 3, 4, 5, 6, 7]});
    let ideal = json!({"kind": "ideal", "processing_delay_ps": 1_000_000});
    let hardware = json!({"kind": "hardware"});
    // What always has a frame takes the whole link.
    let limits: Vec<_> = (0..8).map(|class| json!({"class": class, "frames": 20})).collect();
    let bridge =
        |name: &str, timing| json!({"name": name, "kind": "model", "ports": 4, "timing": timing, "config": config});
    let link = |a: [u32; 2], b: [u32; 2]| json!({"a": a, "b": b, "rate_bps": 1_000_000_000, "delay_ps": 50_000});
    serde_json::from_value(json!({
        "duration_ps": duration_ps, "drain_ps": 0, "trace": {"enabled": false},
        "statistics": {"exact_up_to": 100},
        "bridges": [bridge("b0", hardware.clone()), {"name": "own", "kind": "own", "ports": 2, "config": {}},
            bridge("b1", ideal), bridge("b2", hardware)],
        "stations": [{"name": "t0"}, {"name": "t1", "queue_limits": limits}, {"name": "t2"}, {"name": "t3"}],
        "links": [link([0, 1], [1, 0]), link([1, 1], [2, 0]), link([2, 1], [3, 0]),
            link([4, 0], [0, 0]), link([5, 0], [0, 2]), link([6, 0], [2, 2]), link([7, 0], [3, 1])],
        "streams": streams.collect::<Vec<_>>(),
    }))
    .unwrap()
}

#[test]
fn a_network_takes_no_more_memory_for_a_longer_run() {
    let after = |ms: u64| {
        let nodes: Vec<Box<dyn Node>> = vec![Box::new(Masquerade { coming: Vec::new(), number: 0 })];
        let outcome = run(line(ms * 1_000_000_000), Guests { nodes, ..Guests::default() }, &mut Nobody).unwrap();
        let inside: u64 = outcome.fates.iter().map(|fates| fates.inside).sum();
        let dropped: u64 = outcome.statistics.iter().flat_map(|of| of.dropped).sum();
        (outcome.places, outcome.simulation.frame_hops, inside, dropped)
    };
    let (early, hops, ..) = after(10);
    let (late, more_hops, inside, dropped) = after(80);
    assert!(more_hops > 7 * hops && more_hops > 30_000, "{hops} {more_hops}");
    assert!(dropped > 1_000, "{dropped}");
    // Twice as much is a matter of chance; eight times would be the run's length.
    assert!(late.frames < 2 * early.frames, "{early:?} {late:?}");
    assert!(late.accounts < 2 * early.accounts + 16, "{early:?} {late:?}");
    // Each of three bridges keeps 1024 that no frame has any more.
    assert!(late.headers < 3 * 1_024 + late.frames, "{early:?} {late:?}");
    // The calendar has 1280 places, each with room for as many events as there ever were in it.
    assert!(late.events < 8 * 1_280, "{early:?} {late:?}");
    assert!(inside <= late.frames as u64, "{inside}");
}
