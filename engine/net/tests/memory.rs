// SPDX-License-Identifier: Apache-2.0
//! Memory follows what is inside, however long a run is and whatever its frames say.
use penstock_net::bridge::device::{Device, Frame, Sizes};
use penstock_net::bridge::{BridgeConfig, Tick};

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
        device.push(Frame::new(0, start, &bytes)).unwrap();
        device.run(start);
        events += device.take_events().len();
    }
    events
}

#[test]
fn a_device_forgets_frames_and_headers_that_are_gone() {
    let sizes = Sizes { ports: 4, streams: 256, cells: 1024, fdb_sets: 512 };
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
