// SPDX-License-Identifier: Apache-2.0
use proptest::prelude::*;

use super::*;
use crate::ptp_clock::{Command, PtpClock, NOMINAL_INCREMENT};

const SECOND: u64 = 125_000_000;
const ONE_NS: Time = 1 << 32;

/// Two clocks that drift, a link between them with delays of random length, and frames that are lost now and then.
struct World {
    cycle: u64,
    own: PtpClock,
    other: PtpClock,
    origin: Origin,
    follower: Follower,
    random: u64,
    /// Of 256 frames.
    loses: u64,
    /// Of each way, beyond 3 us, in cycles.
    most_extra: u64,
}

impl World {
    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % below
    }

    /// A frame passes the wire as bytes; none: it is lost.
    fn pass(&mut self, message: Message) -> Option<Message> {
        let extra = if self.draw(2) == 0 { 0 } else { self.draw(self.most_extra + 1) };
        self.cycle += 375 + extra;
        let frame = message.encode([2, 0, 0, 0, 0, 1]);
        (self.draw(256) >= self.loses).then(|| Message::decode(&frame).unwrap())
    }

    /// What the follower is ahead, in ns.
    fn error_ns(&self) -> f64 {
        (self.other.time_at(self.cycle) - self.own.time_at(self.cycle)) as f64 / 2_f64.powi(32)
    }

    fn trim(&mut self) {
        let command = self.follower.trim(self.cycle, &self.other);
        command.into_iter().for_each(|command| self.other.command(self.cycle, command).unwrap());
    }

    /// Until the next message has been answered, or not.
    fn step(&mut self) {
        let Some(next) = self.origin.next() else { return };
        self.cycle = self.cycle.max(self.own.cycle_of(next));
        self.trim();
        let Some(message) = self.origin.send(self.own.time_at(self.cycle)) else { return };
        let Some(message) = self.pass(message) else { return };
        let received = self.other.time_at(self.cycle);
        let later = self.cycle + 40;
        let reaction = self.follower.receive(&message, received, later, &self.other);
        for command in reaction.commands.into_iter().flatten() {
            self.other.command(later, command).unwrap();
        }
        self.cycle = later;
        let Some(answer) = reaction.answer.map(|answer| answer.leaving_at(self.other.time_at(self.cycle))) else {
            return;
        };
        if let Some(answer) = self.pass(answer) {
            self.origin.receive(&answer, self.own.time_at(self.cycle));
        }
    }
}

fn clock(ns: u64, drift_ppb: i64) -> PtpClock {
    PtpClock::new(0, ns)
        .with_increment(NOMINAL_INCREMENT.wrapping_add_signed(NOMINAL_INCREMENT as i64 / 1_000_000 * drift_ppb / 1_000))
}

fn world(plan: Plan, drifts_ppb: (i64, i64), offset_ns: i64, seed: u64) -> World {
    let start = 1_700_000_000_000_000_000_u64;
    let own = clock(start, drifts_ppb.0);
    let origin = Origin::new(plan, own.time_at(0) + (1_000_000 << 32)).unwrap();
    let other = clock(start.wrapping_add_signed(offset_ns), drifts_ppb.1);
    World { cycle: 1_000, own, other, origin, follower: Follower::default(), random: seed, loses: 0, most_extra: 187 }
}

fn times() -> impl Strategy<Value = Time> {
    (any::<i64>(), any::<u32>()).prop_map(|(ns, fraction)| Time::from(ns) << 32 | Time::from(fraction))
}

fn messages() -> impl Strategy<Value = Message> {
    (0_u8..5, any::<u32>(), times(), times(), times(), any::<i64>()).prop_map(|(kind, number, a, b, c, slope)| {
        match kind {
            0 => Message::Probe { number, sent: a },
            1 => Message::Answer { number, sent: a, received: b, answered: c },
            2 => Message::Set { number, time: a },
            3 => Message::Compensate { number, at: a, intercept: b, slope },
            _ => Message::Done { number },
        }
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(message in messages(), cut in 0_usize..60) {
        let frame = message.encode([2; 6]);
        prop_assert_eq!(Message::decode(&frame), Some(message));
        prop_assert_eq!(Message::decode(&frame[..cut]), None);
        prop_assert!(is_ours(&frame));
        // Neither to another address, nor of another type, nor of another version.
        for (byte, is_other) in [(0, true), (5, true), (12, true), (13, true), (14, false)] {
            let mut other = frame;
            other[byte] ^= 1;
            prop_assert_eq!((is_ours(&other), Message::decode(&other)), (!is_other, None));
        }
    }

    /// Samples on a line give that line, anywhere.
    #[test]
    fn a_line_is_found(slope in -1_000_000_i64..1_000_000, intercept in -1_000_i64..1_000, at in 0_i64..1 << 40) {
        // What the regression counts in: 1024 ns.
        let coarse = |count: i64| Time::from(count) << 42;
        let error = |time: i64| (Time::from(intercept) << 32) + coarse(time) * Time::from(slope) / 1_000_000_000;
        let sample = |n: i64| Sample { at: coarse(at + 1_000 * n), round_trip: 0, error: error(1_000 * n) };
        let drift = Drift::of(&(0..8).map(sample).collect::<Vec<_>>()).unwrap();
        for n in [-1_000, 0, 5, 1_000_000] {
            let off = drift.error_at(coarse(at + n)) - error(n);
            prop_assert!(off.abs() < ONE_NS / 100, "{} 2^-32 ns", off);
        }
    }

    /// Whatever comes, in any order, nothing overflows, and every command is one that a clock takes or refuses.
    #[test]
    fn any_message_is_borne(messages in prop::collection::vec(messages(), 1..20), now in times()) {
        let plan = Plan { interval: 1_000_000 << 32, probes: 8, probes_after_set: 8, checks: 2 };
        let mut origin = Origin::new(plan, now >> 1).unwrap();
        let (mut follower, mut clock, mut cycle) = (Follower::default(), clock(5_000_000_000, 0), 1_000);
        for message in messages {
            let _ = origin.send(now >> 1);
            origin.receive(&message, now >> 1);
            let reaction = follower.receive(&message, clock.time_at(cycle), cycle, &clock);
            for command in reaction.commands.into_iter().flatten() {
                let _ = clock.command(cycle, command);
            }
            cycle += 1_000;
            let _ = follower.trim(cycle, &clock);
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Round trips of 6 to 9 us, drifts as of crystals: after an hour of collection and compensation the clocks stay within
    /// 50 ns for an hour, frames lost or not.
    #[test]
    fn an_hour_after_compensation_the_error_is_below_50_ns(
        drifts in (-50_000_i64..50_000, -50_000_i64..50_000), offset_ns in -3_000_000_000_i64..3_000_000_000, seed: u64,
        loses in 0_u64..20,
    ) {
        let plan = Plan { interval: 2_000_000_000 << 32, probes: 1_800, probes_after_set: 200, checks: 0 };
        let mut world = world(plan, drifts, offset_ns, seed);
        world.loses = loses;
        while !world.origin.is_over() {
            world.step();
        }
        prop_assert_eq!(world.origin.phase(), Phase::Done);
        for _ in 0..360 {
            world.cycle += 10 * SECOND;
            world.trim();
            prop_assert!(world.error_ns().abs() <= 50.0, "{} ns", world.error_ns());
        }
    }
}

#[test]
fn the_papers_drift_is_found() {
    let plan = Plan { interval: 1_000_000_000 << 32, probes: 600, probes_after_set: 100, checks: 100 };
    let mut world = world(plan, (0, 5_560), 7_000_000, 1);
    while !world.origin.is_over() {
        world.step();
    }
    let slope_ppb = world.origin.drift().unwrap().slope as f64 / 2_f64.powi(SLOPE_BITS as i32) * 1e9;
    assert!((slope_ppb - 5_560.0).abs() < 1.0, "{slope_ppb}");
    for (phase, sample) in world.origin.samples() {
        assert!((5_999 << 32..=9_001 << 32).contains(&sample.round_trip), "{sample:?}");
        let error_ns = (sample.error >> 32).abs();
        match phase {
            Phase::Collecting => assert!(error_ns > 6_000_000),
            // One sample is wrong by half of what its ways differ.
            _ if *phase == Phase::Checking => assert!(error_ns <= 800, "{error_ns}"),
            _ => {}
        }
    }
    assert!(world.error_ns().abs() < 50.0);
    assert_eq!(world.origin.given().map(|given| given.slope), world.origin.drift().map(|drift| drift.slope));
    let checks = world.origin.samples().iter().filter(|sample| sample.0 == Phase::Checking).count();
    assert_eq!(checks, 100);
}

#[test]
fn without_answers_it_fails() {
    let plan = Plan { interval: 1_000_000 << 32, probes: 10, probes_after_set: 10, checks: 0 };
    let mut silent = world(plan, (0, 0), 0, 1);
    silent.loses = 256;
    while !silent.origin.is_over() {
        silent.step();
    }
    assert_eq!((silent.origin.phase(), silent.origin.lost()), (Phase::Failed, 10));
    assert_eq!(Origin::new(Plan { probes: 7, ..plan }, 0).unwrap_err(), PlanError::Probes(7));
    assert_eq!(Origin::new(Plan { interval: 5 << 32, ..plan }, 0).unwrap_err(), PlanError::Interval(5));
}

#[test]
fn a_plan_has_its_limits() {
    let least = Plan { interval: 100_000 << 32, probes: 8, probes_after_set: 1_000_000, checks: 1_000_000 };
    assert_eq!(least.check(), Ok(()));
    assert_eq!(Plan { checks: 1_000_001, ..least }.check(), Err(PlanError::Probes(1_000_001)));
    assert_eq!(Plan { interval: (100_000 << 32) - 1, ..least }.check(), Err(PlanError::Interval(99_999)));
}

/// Three days, and 1/4096 of them in error, to both sides of the middle; and more than one sample.
#[test]
fn samples_have_their_limits() {
    let most = 1 << (48 + 32);
    let pair =
        |at: Time, error: Time| [-1, 1].map(|side| Sample { at: side * at, round_trip: 0, error: most + side * error });
    assert!(Drift::of(&pair(most, 0)).is_some() && Drift::of(&pair(most + 1, 0)).is_none());
    assert!(Drift::of(&pair(most, most >> 12)).is_some() && Drift::of(&pair(most, (most >> 12) + 1)).is_none());
    let pair = pair(most, 0);
    assert!(Drift::through(5, &pair[..1]).is_none());
    assert_eq!(Drift::through(5, &pair), Some(Drift { at: 0, intercept: most, slope: 5 }));
}

/// No message leaves before its time; the hardware says when it did.
#[test]
fn messages_leave_in_their_time() {
    let plan = Plan { interval: 1_000_000 << 32, probes: 8, probes_after_set: 8, checks: 0 };
    let mut origin = Origin::new(plan, 500).unwrap();
    assert_eq!((origin.send(499), origin.next()), (None, Some(500)));
    let Some(Message::Probe { number, sent: 500 }) = origin.send(500) else { panic!() };
    assert_eq!(origin.send(500 + plan.interval - 1), None);
    origin.left_at(number, 700);
    origin.left_at(number + 1, 900);
    origin.receive(&Message::Answer { number, sent: 500, received: 10, answered: 30 }, 1_700);
    assert_eq!(origin.samples(), [(Phase::Collecting, Sample::new(700, 10, 30, 1_700))]);
}

/// Tries of one compensation have one number, by which it is done once; all else has its own. Without checks it is over when that is done.
#[test]
fn a_compensation_that_is_tried_again_keeps_its_number() {
    for checks in [0, 3] {
        let plan = Plan { interval: 1_000_000 << 32, probes: 8, probes_after_set: 8, checks };
        let mut origin = Origin::new(plan, 0).unwrap();
        let mut follower = Follower::default();
        let clock = clock(1_000_000, 0);
        let (mut numbers, mut tries) = (Vec::new(), Vec::new());
        while let Some(now) = origin.next() {
            let Some(message) = origin.send(now) else { break };
            let reaction = follower.receive(&message, now, 1_000, &clock);
            match message {
                Message::Compensate { number, .. } => {
                    tries.push(number);
                    assert_eq!(reaction.commands.iter().flatten().count(), if tries.len() == 1 { 2 } else { 0 });
                    if tries.len() < 3 {
                        continue;
                    }
                }
                Message::Probe { number, .. } | Message::Set { number, .. } => numbers.push(number),
                _ => {}
            }
            origin.receive(&reaction.answer.unwrap(), now + 1_000);
            assert_eq!((origin.phase(), origin.is_over()) == (Phase::Done, true), checks == 0 && tries.len() == 3);
        }
        assert_eq!(tries, [18; 3]);
        assert_eq!(numbers, (1..=17).chain(19..19 + checks).collect::<Vec<_>>());
    }
}

/// A clock is set to what the time is when that acts; then compensated to the nearest nanosecond, anew for each number.
#[test]
fn a_follower_does_what_it_is_told() {
    let (mut follower, clock) = (Follower::default(), clock(1_000_000, 0));
    let told = |follower: &Follower| (follower.is_set(), follower.is_compensated());
    assert_eq!(told(&follower), (false, false));
    let set = Message::Set { number: 1, time: 5_000_000_000 << 32 };
    let reaction = follower.receive(&set, clock.time_at(1_000), 1_040, &clock);
    assert_eq!(reaction.commands, [Some(Command::Set { s: 5, ns: 320 }), None]);
    assert_eq!(told(&follower), (true, false));
    let now = clock.time_at(1_040);
    let mut compensate = |number, at: Time, intercept, slope| {
        let message = Message::Compensate { number, at, intercept, slope };
        let reaction = follower.receive(&message, now, 1_040, &clock);
        (reaction.commands[0], follower.is_compensated())
    };
    let step = |s, ns| Some(Command::Step { s, ns });
    let (most_slope, most_span) = (1 << 43, 1 << 80);
    assert_eq!(compensate(2, now, 0, most_slope + 1), (None, false));
    assert_eq!(compensate(2, now + most_span + 1, 0, 0), (None, false));
    assert_eq!(compensate(2, now, -3 * ONE_NS - ONE_NS / 2, 0), (step(0, 4), true));
    assert_eq!(compensate(2, now, -3 * ONE_NS, 0), (None, true), "it is done");
    assert_eq!(compensate(3, now, -3 * ONE_NS - ONE_NS / 2 + 1, 0), (step(0, 3), true));
    assert_eq!(compensate(4, now, 3 * ONE_NS, 0), (step(-1, 999_999_997), true));
    assert!(compensate(5, now, 0, -most_slope).0.is_some() && compensate(6, now + most_span, 0, 0).0.is_some());
}

/// However long it runs after it was compensated: a clock that was fast by 1/128 shows what one that is right does.
#[test]
fn a_course_goes_on_for_years() {
    let (mut follower, mut clock) = (Follower::default(), clock(1_000_000, 0));
    let at = clock.time_at(1_000);
    let compensate = Message::Compensate { number: 1, at, intercept: 0, slope: 1 << 43 };
    let reaction = follower.receive(&compensate, at, 1_000, &clock);
    reaction.commands.into_iter().flatten().for_each(|command| clock.command(1_000, command).unwrap());
    // The last one nine years later.
    for cycle in (1..80).map(|turn| turn << 44).chain([1 << 55]) {
        if let Some(command) = follower.trim(cycle, &clock) {
            clock.command(cycle, command).unwrap();
        }
        let slewed = cycle + (1 << 28);
        assert!(!clock.is_slewing_at(slewed));
        let free = (Time::from(slewed) - 1_000) * Time::from(NOMINAL_INCREMENT);
        let off = clock.time_at(slewed) - (at + free * 128 / 129);
        assert!(off.abs() < 2 * ONE_NS, "{off} after {cycle}");
    }
}
