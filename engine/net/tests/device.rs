// SPDX-License-Identifier: Apache-2.0
//! The bridge behind its wires and registers: what it takes, when it tells what, and that it does not matter in what
//! steps it is run.
use penstock_net::bridge::device::{Device, DeviceError, Event, Frame, FrameError, Kind, Sizes, FLAG_DAMAGED};
use penstock_net::bridge::{BridgeConfig, Tick, NOMINAL_INCREMENT};
use penstock_net::Reason;
use penstock_shaper::ptp_clock::COMMAND_CYCLES;
use proptest::prelude::*;
use serde_json::json;

const PORTS: u16 = 4;
const STATION: u64 = 0x0200_0000_0000;
const PREAMBLE: Tick = 8;
/// Until the wires count as quiet.
const QUIET: Tick = 64;
/// From a frame's last byte to the first one behind the delimiter at an idle port.
const LATENCY: Tick = 4 + 2 * PORTS as Tick + 19 + 12;
/// After the reset.
const FIRST_CYCLE: Tick = 4096 + 128;

/// With the stations' addresses at their ports.
fn device(host: bool) -> Device {
    let sizes = Sizes { ports: PORTS, streams: 256, cells: 1024, fdb_sets: 512, host };
    let addresses: Vec<_> = (0..u64::from(PORTS)).map(|port| (STATION + port, 1, 1 << port)).collect();
    let config = BridgeConfig { static_addresses: addresses, learning_enable: false, ..BridgeConfig::default() };
    Device::new(sizes, &config).unwrap()
}

fn frame(destination: u64, bytes: usize) -> Vec<u8> {
    let mut frame = [&destination.to_be_bytes()[2..], &(STATION + 0x100).to_be_bytes()[2..]].concat();
    frame.resize(bytes - 4, 0);
    penstock_frame::finish(frame)
}

fn of(events: &[Event], kind: Kind) -> Vec<Event> {
    events.iter().copied().filter(|event| event.kind() == kind).collect()
}

#[test]
fn what_no_wire_carries_is_refused() {
    let bytes = frame(STATION, 64);
    let good = Frame::new(0, 0, &bytes);
    let host = Frame { host: Some([0; 4]), ..good };
    let refused = |frame: Frame| frame.check(4).err();
    let most = vec![0; 65_537];
    for frame in [good, Frame { port: 3, ..good }, Frame { bytes: &most[1..], ..good }, host] {
        assert_eq!(refused(frame), None);
    }
    for frame in [Frame { preamble: 0, ..good }, Frame { preamble: 1, delimiter: false, bytes: &[], ..good }] {
        assert_eq!(refused(frame), None);
    }
    assert_eq!(refused(Frame { port: 4, ..good }), Some(FrameError::Port { port: 4, last: 3 }));
    assert_eq!(refused(Frame { gap: 0, ..good }), Some(FrameError::Gap));
    assert_eq!(refused(Frame { bytes: &most, ..good }), Some(FrameError::Length { bytes: 65_537 }));
    let none = Frame { preamble: 0, delimiter: false, bytes: &[], ..good };
    assert_eq!(refused(none), Some(FrameError::NoCarrier));
    let faults = [
        Frame { preamble: 6, ..host },
        Frame { delimiter: false, ..host },
        Frame { bytes: &[], ..host },
        Frame { rx_er_at: Some(0), ..host },
    ];
    assert_eq!(faults.map(refused), [const { Some(FrameError::Host) }; 4]);
    let mut device = device(true);
    let start = device.state().cycle;
    let gap = |gap: u32| Frame { gap, start_cycle: start, ..host };
    assert!(matches!(device.push(gap(11)), Err(DeviceError::Frame(FrameError::HostGap))));
    assert_eq!(device.push(gap(12)).unwrap(), 0);
    assert_eq!(device.push(Frame { gap: 1, ..good }).unwrap(), 1);
    assert_eq!(device.pushed(), 2);
}

/// From port 0 to all others, one byte time at a time.
#[test]
fn each_event_is_told_in_the_cycle_behind_that_in_which_it_is_known() {
    let mut device = device(false);
    let (start, size) = (device.state().cycle + 100, 64);
    device.push(Frame::new(0, start, &frame(u64::MAX >> 16, 64))).unwrap();
    let mut told = Vec::new();
    for cycle in start..start + 400 {
        device.run(cycle);
        told.extend(device.take_events().into_iter().map(|event| (event.kind(), event.port, event.cycle, cycle)));
    }
    let first = start + PREAMBLE + size + LATENCY;
    let (selected, verdict) = (first - 12, told[1].2);
    // With four ports, all that a verdict depends on is known two cycles after it.
    let mut wanted =
        vec![(Kind::Input, 0, start + PREAMBLE, start + PREAMBLE + 1), (Kind::Verdict, 0, verdict, verdict + 3)];
    wanted.extend((1..4).map(|port| (Kind::Selected, port, selected + 2, selected + 3)));
    wanted.extend((1..4).map(|port| (Kind::Output, port, first, first + size + 1)));
    assert_eq!(told, wanted);
}

/// Whichever of them was begun first.
#[test]
fn what_is_known_in_one_cycle_is_told_in_the_order_of_ports() {
    let mut device = device(false);
    let start = device.state().cycle + 100;
    // Both end in the same cycle, as one is longer by as much as it leaves earlier.
    device.push(Frame::new(0, start, &frame(STATION + 2, 200))).unwrap();
    device.push(Frame::new(3, start + 200, &frame(STATION + 1, 100))).unwrap();
    // And these are selected in the same one.
    device.push(Frame::new(0, start + 2_000, &frame(STATION + 2, 64))).unwrap();
    device.push(Frame::new(3, start + 2_000, &frame(STATION + 1, 64))).unwrap();
    device.run(start + 4_000);
    let events = device.take_events();
    let outputs = of(&events, Kind::Output);
    assert_eq!(outputs[0].cycle + 100, outputs[1].cycle + 200);
    assert_eq!(outputs.iter().map(|output| output.port).collect::<Vec<_>>(), [1, 2, 1, 2]);
    let selected: Vec<_> = of(&events, Kind::Selected)[2..].iter().map(|event| (event.port, event.frame)).collect();
    assert_eq!(selected, [(1, 3), (2, 2)]);
}

#[test]
fn it_is_idle_when_nothing_is_inside_and_the_wires_have_been_quiet() {
    let mut device = device(false);
    let state = device.state();
    assert_eq!((state.cycle, state.simulated, state.idle), (FIRST_CYCLE, 0, 1));
    let start = FIRST_CYCLE + 100;
    let mut quiet_from = |bytes: &[u8], start: Tick| {
        device.push(Frame::new(0, start, bytes)).unwrap();
        device.run(start + 1);
        let mut last_busy = None;
        for cycle in start + 1..start + 20_000 {
            device.run(cycle);
            last_busy = if device.state().idle == 0 { Some(cycle) } else { last_busy };
        }
        assert_eq!(device.state().simulated, device.state().cycle - FIRST_CYCLE);
        (last_busy.unwrap() + 1, device.take_events())
    };
    let (quiet, _) = quiet_from(&frame(STATION + 1, 64), start);
    assert_eq!(quiet, start + PREAMBLE + 64 + LATENCY + 64 + QUIET, "behind the last byte that leaves");
    let mut damaged = frame(STATION + 1, 64);
    damaged[20] ^= 1;
    let (quiet, events) = quiet_from(&damaged, start + 30_000);
    assert_eq!(quiet, of(&events, Kind::Verdict)[0].cycle + QUIET, "behind the verdict");
    let (quiet, events) = quiet_from(&frame(STATION + 1, 10_000), start + 60_000);
    assert_eq!(of(&events, Kind::Verdict)[0].reason, Reason::GIANT.0);
    assert_eq!(quiet, start + 60_000 + PREAMBLE + 10_000 + QUIET, "behind the rest of a giant");
}

#[test]
fn it_is_idle_some_time_after_it_has_given_up_a_frame() {
    let gates = json!({"gates": [{"port": 1, "entries": [], "initial_states": 0, "cycle_time_ns": 0}]});
    let sizes = Sizes { ports: 2, streams: 256, cells: 1024, fdb_sets: 512, host: false };
    let config: BridgeConfig = serde_json::from_value(gates).unwrap();
    let run_until = |until: Tick| {
        let mut device = Device::new(sizes, &config).unwrap();
        device.push(Frame::new(0, FIRST_CYCLE, &frame(STATION + 1, 64))).unwrap();
        device.run(until);
        device
    };
    let expired = of(&run_until(1 << 29).take_events(), Kind::Expired)[0];
    assert_eq!(expired.reason, Reason::LIFETIME.0);
    let state = |until: Tick| {
        let state = run_until(until).state();
        (state.inside, state.idle)
    };
    assert_eq!([0, 1, QUIET - 1, QUIET].map(|after| state(expired.cycle + after)), [(1, 0), (0, 0), (0, 0), (0, 1)]);
}

/// With what came before it on the wire, which is a frame with a delimiter of its own.
#[test]
fn what_was_found_in_a_carrier_without_delimiter_leaves_as_damaged() {
    let whole = frame(STATION + 1, 64);
    let mut carrier = vec![0x55; 5];
    carrier.push(0xD5);
    carrier.extend(&whole);
    for (sent, delimiter, flags) in [(&carrier, false, FLAG_DAMAGED), (&whole, true, 0)] {
        let mut device = device(false);
        let start = device.state().cycle + 100;
        device.push(Frame { delimiter, ..Frame::new(0, start, sent) }).unwrap();
        device.run(start + 1_000);
        let outputs = of(&device.take_events(), Kind::Output);
        assert_eq!(outputs.iter().map(|output| (output.length, output.flags)).collect::<Vec<_>>(), [(64, flags)]);
    }
}

/// The new value is on the wire's side four cycles after it acts; a frame has it whose delimiter comes then or later.
#[test]
fn another_longest_frame_counts_up_to_the_delimiter() {
    const CHAIN: Tick = 2 * PORTS as Tick + 6;
    for (seen_before, reason) in [(-1, Reason::NONE), (0, Reason::GIANT), (1, Reason::GIANT), (6, Reason::GIANT)] {
        let mut device = device(false);
        let write = device.state().cycle + 1_000;
        let seen = write + CHAIN + 4 + 4;
        let start = seen.wrapping_add_signed(seen_before) - PREAMBLE;
        device.push(Frame::new(0, start, &frame(STATION + 1, 200))).unwrap();
        device.run(write);
        device.write(0x104, 100).unwrap();
        device.run(start + 2_000);
        assert_eq!(of(&device.take_events(), Kind::Verdict)[0].reason, reason.0, "{seen_before}");
    }
}

#[test]
fn time_since_reset_is_read_in_two_halves_of_one_time() {
    let mut device = device(false);
    for cycle in [FIRST_CYCLE + 10, 1 << 30, 1 << 33] {
        device.run(cycle);
        let low = device.read(0x20).unwrap();
        device.run(cycle + 1_000_000_000);
        let high = device.read(0x24).unwrap();
        assert_eq!(u64::from(high) << 32 | u64::from(low), 8 * (cycle + 1));
        device = self::device(false);
    }
}

/// What has no register is answered as late as what has one.
#[test]
fn a_register_that_does_not_exist_takes_as_long_as_another() {
    let mut device = device(false);
    let mut cycles = |write: bool, address: u32| {
        let before = device.state().cycle;
        let is_there = if write { device.write(address, 0).is_ok() } else { device.read(address).is_ok() };
        (is_there, device.state().cycle - before)
    };
    assert_eq!([cycles(true, 0x200), cycles(true, 0x800)], [(true, 4), (false, 4)]);
    assert_eq!([cycles(false, 0x100), cycles(false, 0x800)], [(true, 5), (false, 5)]);
}

#[derive(Clone, Debug)]
struct Coming {
    port: u16,
    start: Tick,
    destination: u64,
    bytes: usize,
    /// Of one from the host: that it is led to these ports, and whether it is told when it leaves.
    host: (u8, bool),
}

/// Many of the host, and for it.
fn coming() -> impl Strategy<Value = Coming> {
    let (host, every) = (PORTS - 1, u64::MAX >> 16);
    let destination = (0..PORTS).prop_map(|port| STATION + u64::from(port));
    let destination = prop_oneof![3 => destination, 3 => Just(STATION + u64::from(host)), 1 => Just(every)];
    let ports = prop_oneof![1 => Just(0_u8), 3 => 1..8_u8];
    let from = prop_oneof![0..PORTS, Just(host)];
    (from, 0..3_000_u64, destination, 64..90_usize, (ports, prop::bool::weighted(0.8)))
        .prop_map(|(port, start, destination, bytes, host)| Coming { port, start, destination, bytes, host })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// With a frame that finds its port free and is sent with its judgement, or by steps that end in between; with
    /// frames of a host that it is told of, which take its port too; and with a clock that is set meanwhile.
    #[test]
    fn it_does_not_matter_in_what_steps_it_is_run(
        frames in prop::collection::vec(coming(), 1..40),
        step in 1..30_u64,
        set_at in 0..4_000_u64,
    ) {
        let told = |step: Tick| {
            let mut device = device(true);
            let begin = device.state().cycle;
            for Coming { port, start, destination, bytes, host: (ports, is_stamped) } in &frames {
                let header = [u8::from(*ports != 0) | (2 * u8::from(*is_stamped)), *ports, 3, 9];
                let host = (*port == PORTS - 1).then_some(header);
                let bytes = frame(*destination, *bytes);
                device.push(Frame { host, ..Frame::new(usize::from(*port), begin + start, &bytes) }).unwrap();
            }
            let run_to = |device: &mut Device, end: Tick| {
                while device.state().cycle < end {
                    device.run(end.min(device.state().cycle + step));
                }
            };
            run_to(&mut device, begin + set_at);
            for (address, value) in [(0x200, 7), (0x204, 0), (0x208, 0), (0x300, 1)] {
                device.write(address, value).unwrap();
            }
            run_to(&mut device, begin + 16_000);
            let mut events: Vec<_> = device.take_events().iter().map(|event| format!("{event:?}")).collect();
            events.sort_unstable();
            (events, device.state().inside)
        };
        let (plain, inside) = told(1);
        prop_assert_eq!(inside, 0);
        for step in [step, 20_000] {
            prop_assert_eq!(&told(step).0, &plain);
        }
    }
}

/// A command that acts up to the frame's first byte counts, and none that acts later.
#[test]
fn the_host_is_told_by_the_clock_as_the_frame_left() {
    const ACTS: Tick = 2 * PORTS as Tick + 6 + 5 + COMMAND_CYCLES;
    let mut device = device(true);
    let begin = device.state().cycle + 1_000;
    let bytes = frame(STATION, 64);
    let stamped = |start| Frame { host: Some([3, 1, 0, 9]), ..Frame::new(usize::from(PORTS) - 1, start, &bytes) };
    device.push(stamped(begin)).unwrap();
    device.run(begin + 2_000);
    let events = device.take_events();
    let left = of(&events, Kind::Output)[0].cycle;
    let shown = of(&events, Kind::Stamp)[0].visible;
    assert_eq!(NOMINAL_INCREMENT, 8 << 32);
    for late in -4..5_i64 {
        let mut device = self::device(true);
        device.push(stamped(begin)).unwrap();
        let command = left.wrapping_add_signed(late) - ACTS;
        device.run(command - 12);
        for (address, value) in [(0x200, 7), (0x204, 1 << 20), (0x208, 0), (0x300, 1)] {
            device.write(address, value).unwrap();
        }
        device.run(begin + 2_000);
        let told = of(&device.take_events(), Kind::Stamp)[0].visible;
        let after = (1_000_000_000_u64 << 20) + 7 + 8 * late.unsigned_abs();
        assert_eq!(told, if late <= 0 { after } else { shown }, "{late} cycles after it left");
    }
}

/// Its seventeen cycles on the stream begin when a long frame to the host, which came first, has left its port.
#[test]
fn a_stamp_is_told_with_its_last_byte_and_the_wires_are_quiet_some_time_after_it() {
    let mut device = device(true);
    let begin = device.state().cycle + 2_000;
    let own = frame(STATION, 64);
    device.push(Frame::new(1, begin - 1_050, &frame(STATION + u64::from(PORTS) - 1, 1_000))).unwrap();
    device.push(Frame { host: Some([3, 1, 0, 9]), ..Frame::new(usize::from(PORTS) - 1, begin, &own) }).unwrap();
    let (mut events, mut last_busy) = (Vec::new(), 0);
    for cycle in begin..begin + 3_000 {
        device.run(cycle);
        events.extend(device.take_events().into_iter().map(|event| (cycle, event)));
        last_busy = if device.state().idle == 0 { cycle } else { last_busy };
    }
    let selected = |(_, event): &&(Tick, Event)| event.kind() == Kind::Selected && u16::from(event.port) == PORTS - 1;
    let selection = events.iter().find(selected).unwrap().1.cycle - 2;
    let (told, stamp) = events.iter().find(|(_, event)| event.kind() == Kind::Stamp).unwrap();
    assert_eq!((stamp.cycle, *told), (selection + 1_000 + 20 + 1, stamp.cycle + 17));
    assert_eq!(last_busy + 1, stamp.cycle + 16 + QUIET);
}
