// SPDX-License-Identifier: Apache-2.0
//! The plane between fake ports, by a fake clock: what leaves when, with gates that change under load and a thread that is late.
use std::collections::VecDeque;
use std::io;

use penstock_plane::config::{Config, GatesConfig};
use penstock_plane::drive::{Clock, Driver, Got, Ports};
use penstock_plane::gating::admin_list;
use penstock_plane::line::TICK_NS;
use penstock_plane::offload::Offload;
use penstock_plane::plane::Plane;
use penstock_plane::port::ListRefused;
use penstock_shaper::ptp_clock::Command;
use proptest::prelude::*;

const START: u64 = 1_000_000;
/// What the plane's clock shows then, in ns.
const TAI: u64 = 5_000_000_000;
const RATE_BPS: u64 = 100_000_000;
const TOLERANCE_NS: u64 = 20_000;

#[derive(Default)]
struct FakePorts {
    /// Per port: frames that have come.
    come: [VecDeque<Vec<u8>>; 2],
    sent: Vec<(usize, Vec<u8>)>,
    /// The kernel takes so many frames of each call only.
    most: usize,
}

impl Ports for FakePorts {
    fn receive(&mut self, port: usize, take: &mut dyn FnMut(&Got)) -> io::Result<usize> {
        let count = self.come[port].len().min(3);
        for bytes in self.come[port].drain(..count) {
            let offload = Offload { checksum: None, is_foreign: false };
            take(&Got { bytes: &bytes, is_cut: false, tag: None, offload });
        }
        Ok(count)
    }

    fn send(&mut self, port: usize, frames: &mut dyn Iterator<Item = &[u8]>) -> io::Result<usize> {
        let before = self.sent.len();
        self.sent.extend(frames.take(self.most).map(|bytes| (port, bytes.to_vec())));
        Ok(self.sent.len() - before)
    }
}

struct FakeClock(u64);

impl Clock for FakeClock {
    fn now(&mut self) -> u64 {
        self.0
    }
}

fn driver(gates: &str) -> Driver<FakePorts, FakeClock> {
    let config = format!(
        r#"{{"ports": [{{"interface": "a", "rate": "1Gb/s"}}, {{"interface": "b", "rate": {RATE_BPS}, "gates": {gates},
             "classes": {{"3": {{"limit": 1000}}, "2": {{"limit": 1000}}}}}}], "tolerance": {TOLERANCE_NS}, "buffers": 2048}}"#
    );
    let config: Config = serde_json::from_str(&config).unwrap();
    let plane = Plane::new(&config, START, TAI).unwrap();
    Driver::new(plane, FakePorts { most: 32, ..FakePorts::default() }, FakeClock(START))
}

fn frame(class: u8, number: u32, bytes: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, class << 5, 10, 0x88, 0xB5];
    frame.extend(number.to_be_bytes());
    frame.resize(bytes - 4, 0);
    frame
}

fn number(frame: &[u8]) -> (u8, u32) {
    (frame[14] >> 5, u32::from_be_bytes([frame[18], frame[19], frame[20], frame[21]]))
}

fn list(cycle_us: u64, first_us: u64) -> String {
    format!(
        r#"{{"cycle_time": "{cycle_us}us", "entries": [{{"open": [3], "interval": "{first_us}us"}},
             {{"open": [2], "interval": "{}us"}}]}}"#,
        cycle_us - first_us
    )
}

/// Lists that took over, as (when, cycle, first window), all in ns.
struct Held(Vec<(u64, u64, u64)>);

impl Held {
    fn commit(&mut self, seen: u64, change: u64, cycle_us: u64, first_us: u64) {
        self.0.retain(|&(since, ..)| since <= seen);
        self.0.push((change, cycle_us * 1_000, first_us * 1_000));
    }

    /// Whether a class is open from one time to another, looked at ns by ns at the borders.
    fn is_open(&self, class: u8, from: u64, to: u64) -> bool {
        (from..to).step_by(64).chain([to - 1]).all(|at| {
            let Some(&(since, cycle, first)) = self.0.iter().rev().find(|list| list.0 <= at) else { return true };
            ((at - since) % cycle < first) == (class == 3)
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Random load, lists that change at random times (also before the last change has acted), and a thread that comes late now
    /// and then: no frame is lost or out of order, and each is on the wire while its gate is open, from its first bit to its gap,
    /// late by the tolerance or not.
    #[test]
    fn no_frame_is_lost_and_none_is_in_a_closed_gate(
        sizes in prop::collection::vec((any::<bool>(), 64_usize..1522), 40..160),
        changes in prop::collection::vec((0_u64..60_000, 300_u64..3_000, 1_u64..9), 1..12),
        delays in prop::collection::vec(prop_oneof![9 => 1_u64..200, 1 => 200_u64..40_000], 64),
    ) {
        let mut driver = driver(&list(1_000, 500));
        let mut held = Held(vec![(TAI, 1_000_000, 500_000)]);
        let mut first = driver.plane.ports()[1].lists()[0].0;
        std::mem::swap(&mut held.0[0].0, &mut first);
        let count = sizes.len();
        let mut frames = sizes.into_iter().enumerate();
        let (mut changes, mut delays) = (changes.into_iter().peekable(), delays.into_iter().cycle());
        let (mut seen, mut next_change) = (0, START);
        let mut order = [0_u32; 8];
        while seen < count {
            if let Some((n, (high, bytes))) = frames.next() {
                driver.ports.come[0].push_back(frame(if high { 3 } else { 2 }, n as u32, bytes));
            }
            if driver.clock.0 >= next_change {
                if let Some(&(after, cycle_us, tenths)) = changes.peek() {
                    let first_us = cycle_us * tenths / 10;
                    // Each window takes the longest frame and its guard.
                    let (first_us, cycle_us) = (first_us.max(150), cycle_us.max(first_us.max(150) + 150));
                    let gates: GatesConfig = serde_json::from_str(&list(cycle_us, first_us)).unwrap();
                    let (now, admin) = (driver.clock.0, admin_list("gates", &gates).unwrap());
                    let time_ns = TAI + (now - START) * TICK_NS;
                    match driver.plane.commit(1, &admin, now) {
                        Ok(change) => {
                            prop_assert!(change > time_ns);
                            held.commit(time_ns, change, cycle_us, first_us);
                            changes.next();
                            next_change = now + after;
                        }
                        Err(ListRefused::Locked) => next_change = now + 100,
                        Err(ListRefused::Wrong(refused)) => prop_assert!(false, "{}", refused),
                    }
                }
            }
            driver.round();
            let now_ns = TAI + (driver.clock.0 - START) * TICK_NS;
            let gone: Vec<_> = driver.ports.sent.drain(..).collect();
            let is_one = gone.len() <= 1;
            for (port, bytes) in gone {
                let (class, n) = number(&bytes);
                prop_assert_eq!(port, 1);
                prop_assert!(n >= order[usize::from(class)], "out of order");
                order[usize::from(class)] = n + 1;
                let wire_ns = (bytes.len() as u64 + 24) * 8 * 1_000_000_000 / RATE_BPS;
                // Of several in one round, which the thread came late for, only the last may still be on its way.
                prop_assert!(!is_one || held.is_open(class, now_ns, now_ns + wire_ns), "class {} number {} at {} of {} bytes: {:?}", class, n, now_ns, bytes.len(), held.0);
                seen += 1;
            }
            let until = driver.plane.next_tick();
            let ahead = if until == u64::MAX { 50 } else { until.saturating_sub(driver.clock.0) };
            let delay = delays.next().unwrap();
            driver.clock.0 += if delay >= 200 { delay } else { ahead.clamp(1, 2_000).max(delay) };
            prop_assert!(driver.clock.0 < START + 500_000_000, "a frame never left");
        }
        let port = &driver.plane.ports()[1];
        prop_assert_eq!(port.counters.dropped.iter().sum::<u64>(), 0);
        prop_assert_eq!(port.counters.lateness.outside, 0);
        prop_assert_eq!(driver.plane.held(), 0);
    }
}

#[test]
fn a_list_that_takes_over_just_now_is_not_replaced() {
    let mut driver = driver(&list(1_000, 500));
    let change = driver.plane.ports()[1].lists()[0].0;
    driver.clock.0 = START + (change - TAI) / TICK_NS;
    let gates: GatesConfig = serde_json::from_str(&list(7_000, 3_000)).unwrap();
    driver.plane.commit(1, &admin_list("gates", &gates).unwrap(), driver.clock.0).unwrap();
    driver.ports.come[0].push_back(frame(2, 0, 64));
    driver.round();
    assert!(driver.ports.sent.is_empty(), "the first list has begun, with class 3");
}

#[test]
fn a_list_is_kept_that_a_frame_on_the_wire_counts_on() {
    let mut driver = driver(&list(1_000, 500));
    let first = driver.plane.ports()[1].lists()[0].0;
    let at = |ns: u64| START + (ns - TAI) / TICK_NS;
    // The first list would close class 3 in the instant in which the next one takes over, which keeps it open.
    let gates = |text: &str| admin_list("gates", &serde_json::from_str::<GatesConfig>(text).unwrap()).unwrap();
    let always = gates(r#"{"base_time": 5004500000, "entries": [{"open": [3], "interval": "1ms"}]}"#);
    driver.clock.0 = at(first + 3_300_000);
    driver.plane.commit(1, &always, driver.clock.0).unwrap();
    driver.clock.0 = at(5_004_420_000);
    driver.ports.come[0].push_back(frame(3, 0, 1500));
    driver.round();
    assert_eq!(driver.ports.sent.len(), 1, "its gate stays open into the next list");
    driver.clock.0 += 100;
    let refused = driver.plane.commit(1, &gates(&list(1_000, 500)), driver.clock.0);
    assert!(matches!(refused, Err(ListRefused::Locked)), "{refused:?}");
    driver.clock.0 = at(5_004_600_000);
    assert!(driver.plane.commit(1, &gates(&list(1_000, 500)), driver.clock.0).is_ok());
}

#[test]
fn a_frame_that_is_late_within_the_tolerance_still_ends_before_its_gate_closes() {
    let mut driver = driver(&list(1_000, 500));
    let closes = driver.plane.ports()[1].lists()[0].0 + 500_000;
    let at = |ns: u64| START + (ns - TAI) / TICK_NS;
    driver.clock.0 = at(closes - 200_000);
    for (n, bytes) in [(0, 1520), (1, 64)] {
        driver.ports.come[0].push_back(frame(3, n, bytes));
    }
    // The line is free 22 us before the gate closes, and the short frame takes 7 us: 20 us late, it would not end in time.
    driver.clock.0 = at(closes - 22_000 - 1_540 * 80);
    driver.round();
    assert_eq!(driver.ports.sent.len(), 1);
    driver.clock.0 = at(closes - 3_000);
    driver.round();
    assert_eq!(driver.ports.sent.len(), 1, "it would end behind the gate");
    driver.clock.0 = at(closes + 500_000);
    driver.round();
    assert_eq!(driver.ports.sent.len(), 2);
}

#[test]
fn a_port_is_paced_as_a_link_of_its_rate_however_late_the_thread_is() {
    let mut driver = driver(r#"{"entries": [{"open": "all", "interval": "1ms"}]}"#);
    for n in 0..100 {
        driver.ports.come[0].push_back(frame(3, n, 1000));
    }
    let mut left = Vec::new();
    while left.len() < 100 {
        driver.round();
        let now = driver.clock.0;
        left.extend(driver.ports.sent.drain(..).map(|_| now));
        // Up to 16 us late, which is within the tolerance.
        driver.clock.0 += 2_000;
    }
    let wire = 1020 * 8 * 1_000_000_000 / RATE_BPS / TICK_NS;
    let (took, least) = (left[99] - left[0], 99 * wire);
    assert!((least - 2_000..=least + 2_000).contains(&took), "{took} instead of {least}");
}

#[test]
fn what_the_kernel_takes_in_parts_is_sent_in_parts() {
    let mut driver = driver(r#"{"entries": [{"open": "all", "interval": "1ms"}]}"#);
    driver.ports.most = 1;
    for n in 0..3 {
        driver.ports.come[1].push_back(frame(3, n, 64));
    }
    for _ in 0..3 {
        driver.clock.0 += 500;
        driver.round();
    }
    assert_eq!(
        driver.ports.sent.iter().map(|(port, bytes)| (*port, number(bytes).1)).collect::<Vec<_>>(),
        [(0, 0), (0, 1), (0, 2)]
    );
}

proptest! {
    /// Whatever bytes come: each frame is counted once, as sent or as dropped, and the plane holds nothing in the end.
    #[test]
    fn any_bytes_are_counted(frames in prop::collection::vec((0_usize..2, prop::collection::vec(any::<u8>(), 0..120)), 0..60)) {
        let mut driver = driver(&list(1_000, 500));
        let count = frames.len();
        for (port, mut bytes) in frames {
            // Half of them begin like a frame with a tag.
            if let Some(head) = bytes.get_mut(..14).filter(|head| head[0] & 2 == 0) {
                head[12..].copy_from_slice(&[0x81, 0]);
            }
            driver.ports.come[port].push_back(bytes);
        }
        for _ in 0..20_000 {
            driver.round();
            driver.clock.0 += 100;
        }
        let ports = driver.plane.ports();
        let received: u64 = ports.iter().map(|port| port.counters.received.frames).sum();
        let dropped: u64 = ports.iter().map(|port| port.counters.dropped.iter().sum::<u64>()).sum();
        prop_assert_eq!((received, driver.plane.held()), (count as u64, 0));
        prop_assert_eq!(driver.ports.sent.len() as u64 + dropped, count as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The clock steps under load, forward and back: no frame is lost, the gates stay as they were up to the next cycle by the new
    /// time, and from then on each frame is in its window.
    #[test]
    fn a_step_of_the_clock_holds_the_gates_up_to_the_next_cycle(
        before_us in 1_100_u64..3_000, by_ns in prop_oneof![-4_000_000_i64..4_000_000, -4_000_000_000_i64..4_000_000_000],
        sizes in prop::collection::vec((any::<bool>(), 64_usize..1522), 60..100),
        slew in -50_i32..50,
    ) {
        let mut driver = driver(&list(1_000, 500));
        let count = sizes.len();
        for (n, (high, bytes)) in sizes.into_iter().enumerate() {
            driver.ports.come[0].push_back(frame(if high { 3 } else { 2 }, n as u32, bytes));
        }
        let step_at = START + before_us * 1_000 / TICK_NS;
        let first = driver.plane.ports()[1].lists()[0].0;
        // States and gate time up to which they hold.
        let (mut held, mut seen) = ((0, 0), 0);
        while seen < count {
            let now = driver.clock.0;
            if now >= step_at && driver.plane.clock_steps() == 0 {
                held.0 = driver.plane.ports()[1].egress.gates().unwrap().states(driver.plane.time().at(now));
                driver.plane.step_clock(by_ns, now).unwrap();
                driver.plane.command_clock(Command::Slew { ns: slew, rate: 1 << 30 }, now).unwrap();
                let port = &driver.plane.ports()[1];
                held.1 = port.lists()[0].0;
                let time = driver.plane.time().at(now);
                prop_assert!((time..time + 2_400_000).contains(&held.1), "{} from {}", held.1, time);
                prop_assert_eq!(held.1 % 1_000_000, first % 1_000_000, "a cycle of the list");
            }
            driver.round();
            let is_stepped = driver.plane.clock_steps() > 0;
            let time = driver.plane.time().at(driver.clock.0);
            for (_, bytes) in driver.ports.sent.drain(..) {
                let (class, n) = number(&bytes);
                let states = match (is_stepped, time < held.1) {
                    (true, true) => held.0,
                    (_, _) if time < first && !is_stepped => 0xFF,
                    _ => if (time - first % 1_000_000) % 1_000_000 < 500_000 { 1 << 3 } else { 1 << 2 },
                };
                prop_assert!(states >> class & 1 == 1, "class {} number {} at {} of states {:08b}", class, n, time, states);
                seen += 1;
            }
            let until = driver.plane.next_tick();
            driver.clock.0 = until.clamp(driver.clock.0 + 1, driver.clock.0 + 2_000);
            prop_assert!(driver.clock.0 < START + 500_000_000, "a frame never left");
        }
        let port = &driver.plane.ports()[1];
        prop_assert_eq!((port.counters.dropped.iter().sum::<u64>(), port.counters.lateness.outside), (0, 0));
        prop_assert_eq!(driver.plane.held(), 0);
    }
}
