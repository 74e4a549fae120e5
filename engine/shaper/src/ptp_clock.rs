// SPDX-License-Identifier: Apache-2.0
//! The PTP hardware clock: what 802.1Q 8.6.9 calls CurrentTime. Twin of `pen_ptp_clock`.
//!
//! Time is TAI nanoseconds since the epoch with 32 bit of fraction. Each cycle adds the increment, and the slew's rate
//! until its amount is used up exactly. Between two commands time is a piecewise linear function of the cycle, so that
//! it is known in closed form for every cycle, and the cycle for every time.
use crate::{signed, unsigned, Time};
use thiserror::Error;

pub const FRACTION_BITS: u32 = 32;
/// 8.0 ns in 8.32 bit.
pub const NOMINAL_INCREMENT: u64 = 8 << FRACTION_BITS;
const ONE_NS: u64 = 1 << FRACTION_BITS;
const END_OF_INCREMENTS: u64 = 1 << 40;
/// Times from here on are refused.
pub const TIME_END_NS: Time = 1 << 63;
pub const NS_PER_S: u64 = 1_000_000_000;
/// From the cycle in which the unit takes a command to the one in which it acts.
pub const COMMAND_CYCLES: Time = 41;
/// A step is judged by the time so many cycles before it acts.
const STEP_JUDGED_CYCLES: Time = 6;
/// The largest step, in seconds.
const STEP_END_S: i64 = 1 << 33;

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ClockError {
    #[error("{ns} ns beside the seconds; less than 10^9 are allowed")]
    Nanoseconds { ns: u32 },
    #[error("a time beyond the clock; 0 to 2^63 - 1 ns are allowed, and steps of less than 2^33 s")]
    Beyond,
    #[error("increment of {increment} * 2^-32 ns; 1 ns to 256 ns are allowed")]
    Increment { increment: u64 },
    #[error("a slew of {ns} ns with a rate of zero; 1 to 2^32 - 1 are allowed, in 2^-32 ns a cycle")]
    Rate { ns: i32 },
}

impl ClockError {
    /// As the error register has it.
    pub fn code(self) -> u8 {
        match self {
            Self::Nanoseconds { .. } => 1,
            Self::Beyond => 2,
            Self::Increment { .. } => 3,
            Self::Rate { .. } => 4,
        }
    }
}

/// Seconds and nanoseconds as nanoseconds; none when that is beyond the clock.
pub fn nanoseconds(s: u64, ns: u64) -> Option<Time> {
    let time = Time::from(s).checked_mul(Time::from(NS_PER_S))?.checked_add(Time::from(ns))?;
    (ns < NS_PER_S && time < TIME_END_NS).then_some(time)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The clock shows this time; a slew ends.
    Set { s: u64, ns: u32 },
    /// The clock jumps by this; a slew ends.
    Step { s: i64, ns: u32 },
    /// Adds `ns` in parts of `rate` (in 2^-32 ns) a cycle, in place of what another slew had left.
    Slew { ns: i32, rate: u32 },
    /// What each cycle adds, in 2^-32 ns.
    Increment(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtpClock {
    /// The last cycle in which a command acted; nothing is known of those before.
    cycle: Time,
    /// In 2^-32 ns.
    time: i128,
    increment: u64,
    /// What is still to be slewed, in 2^-32 ns.
    left: i128,
    rate: u64,
}

/// A part of the clock in which each cycle adds the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub cycle: Time,
    /// In that cycle, in 2^-32 ns.
    pub time: i128,
    /// Zero: the clock is not known to run yet.
    pub increment: u64,
    /// The first cycle that another line holds for.
    pub until: Time,
}

impl PtpClock {
    /// Shows `ns` in `cycle`.
    pub fn new(cycle: Time, ns: Time) -> Self {
        Self { cycle, time: signed(ns) << FRACTION_BITS, increment: NOMINAL_INCREMENT, left: 0, rate: 1 }
    }

    /// Each cycle adds so much, from the first one on; never nothing.
    pub fn with_increment(self, increment: u64) -> Self {
        Self { increment: increment.max(1), ..self }
    }

    pub fn increment(&self) -> u64 {
        self.increment
    }

    /// The last cycle in which a command acted, and the time in it, in 2^-32 ns.
    pub fn begin(&self) -> (Time, i128) {
        (self.cycle, self.time)
    }

    /// Each cycle adds 2 to the power of this, in 2^-32 ns, and nothing else.
    pub fn steps(&self) -> Option<u32> {
        (self.left == 0 && self.increment.is_power_of_two()).then(|| self.increment.trailing_zeros())
    }

    /// Time after so many cycles, and how much of the slew that took.
    #[inline]
    fn after(&self, cycles: Time) -> (i128, i128) {
        let linear = self.time + signed(cycles) * i128::from(self.increment);
        if self.left == 0 {
            return (linear, 0);
        }
        let most = signed(cycles) * i128::from(self.rate);
        let slewed = self.left.clamp(-most, most);
        (linear + slewed, slewed)
    }

    /// In 2^-32 ns.
    #[inline]
    pub fn time_at(&self, cycle: Time) -> i128 {
        self.after(cycle.saturating_sub(self.cycle)).0
    }

    #[inline]
    pub fn ns_at(&self, cycle: Time) -> Time {
        (self.time_at(cycle) >> FRACTION_BITS) as Time
    }

    pub fn is_slewing_at(&self, cycle: Time) -> bool {
        self.after(cycle.saturating_sub(self.cycle)).1 != self.left
    }

    /// The line that the clock follows in a cycle.
    pub fn line(&self, cycle: Time) -> Line {
        let Self { cycle: begin, time, increment, left, rate } = *self;
        if cycle < begin {
            return Line { cycle, time, increment: 0, until: begin };
        }
        if left == 0 {
            return Line { cycle: begin, time, increment, until: Time::MAX };
        }
        // Whole parts of the slew; then one cycle with what is left of it, which the line behind it begins after.
        let whole = unsigned(left.abs() / i128::from(rate)).unwrap_or(Time::MAX);
        let behind = begin.saturating_add(whole).saturating_add(1);
        if cycle < behind {
            let slewing = increment.wrapping_add_signed(rate as i64 * left.signum() as i64);
            return Line { cycle: begin, time, increment: slewing, until: behind };
        }
        Line { cycle: behind, time: self.time_at(behind), increment, until: Time::MAX }
    }

    /// The first cycle from the last command on in which the clock shows `ns` or later.
    #[inline]
    pub fn cycle_of_ns(&self, ns: Time) -> Time {
        self.cycle_of(signed(ns) << FRACTION_BITS)
    }

    /// The same of a time in 2^-32 ns.
    #[inline]
    pub fn cycle_of(&self, target: i128) -> Time {
        let count =
            if self.left == 0 { cycles(self.time, target, self.increment.into()) } else { self.slewed_to(target) };
        self.cycle.saturating_add(unsigned(count).unwrap_or(Time::MAX))
    }

    /// Cycles to a time, while something is slewed: all whole parts of the slew, what is left of it in the next, then
    /// without it.
    #[cold]
    fn slewed_to(&self, target: i128) -> i128 {
        let increment = i128::from(self.increment);
        let rate = i128::from(self.rate) * self.left.signum();
        let whole = self.left / rate;
        let slewing = cycles(self.time, target, increment + rate);
        if slewing <= whole {
            return slewing;
        }
        whole + cycles(self.time + whole * (increment + rate) + self.left % rate, target, increment).max(1)
    }

    /// A command acts in `cycle`, after all those before it. Refused, it changes nothing.
    pub fn command(&mut self, cycle: Time, command: Command) -> Result<(), ClockError> {
        let (time, slewed) = self.after(cycle.saturating_sub(self.cycle));
        let end = signed(TIME_END_NS);
        let beyond = |ns: i128| if (0..end).contains(&ns) { Ok(ns << FRACTION_BITS) } else { Err(ClockError::Beyond) };
        let (Command::Set { ns, .. } | Command::Step { ns, .. }) = command else {
            let now = Self { cycle: self.cycle.max(cycle), time, left: self.left - slewed, ..*self };
            *self = match command {
                Command::Increment(increment) if !(ONE_NS..END_OF_INCREMENTS).contains(&increment) => {
                    return Err(ClockError::Increment { increment });
                }
                Command::Increment(increment) => now.with_increment(increment),
                Command::Slew { ns, rate: 0 } if ns != 0 => return Err(ClockError::Rate { ns }),
                Command::Slew { ns, rate } => {
                    Self { left: i128::from(ns) << FRACTION_BITS, rate: u64::from(rate).max(1), ..now }
                }
                Command::Set { .. } | Command::Step { .. } => now,
            };
            return Ok(());
        };
        if u64::from(ns) >= NS_PER_S {
            return Err(ClockError::Nanoseconds { ns });
        }
        let to = match command {
            Command::Step { s, .. } => {
                if !(-STEP_END_S..STEP_END_S).contains(&s) {
                    return Err(ClockError::Beyond);
                }
                let by = i128::from(s) * i128::from(NS_PER_S) + i128::from(ns);
                beyond(signed(self.ns_at(cycle.saturating_sub(STEP_JUDGED_CYCLES))) + by)?;
                self.time_at(cycle - 1) + i128::from(self.increment) + (by << FRACTION_BITS)
            }
            Command::Set { s, .. } => beyond(i128::from(s) * i128::from(NS_PER_S) + i128::from(ns))?,
            Command::Slew { .. } | Command::Increment(_) => time,
        };
        *self = Self { cycle: self.cycle.max(cycle), time: to, left: 0, ..*self };
        Ok(())
    }
}

/// From one time to another at a rate, rounded up. A division of 128 bit costs more than all else here, and few rates need
/// it.
#[inline]
fn cycles(from: i128, to: i128, rate: i128) -> i128 {
    if to <= from {
        return 0;
    }
    let way = to - from + rate - 1;
    if rate & (rate - 1) == 0 {
        way >> rate.trailing_zeros()
    } else {
        divided(way, rate)
    }
}

#[inline(never)]
fn divided(dividend: i128, divisor: i128) -> i128 {
    dividend / divisor
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One cycle after the other, as the hardware does it.
    #[derive(Clone, Debug)]
    struct Walk {
        time: i128,
        increment: i128,
        left: i128,
        rate: i128,
        /// Whole nanoseconds of the cycles so far.
        past: Vec<i128>,
    }

    impl Walk {
        /// To the next cycle, in which a command may act; false: it is refused.
        fn step(&mut self, command: Option<Command>) -> bool {
            let slew = self.left.abs().min(self.rate) * self.left.signum();
            let (before, increment) = (self.time, self.increment);
            self.left -= slew;
            self.time += increment + slew;
            let inside = |ns: i128| (0..1 << 63).contains(&ns);
            let is_done = match command {
                None => true,
                Some(Command::Set { s, ns }) => {
                    let to = i128::from(s) * 1_000_000_000 + i128::from(ns);
                    let is_good = ns < 1_000_000_000 && inside(to);
                    if is_good {
                        (self.time, self.left) = (to << 32, 0);
                    }
                    is_good
                }
                Some(Command::Step { s, ns }) => {
                    let by = i128::from(s) * 1_000_000_000 + i128::from(ns);
                    let judged = self.past[self.past.len() - 6] + by;
                    let is_good = ns < 1_000_000_000 && inside(judged);
                    if is_good {
                        (self.time, self.left) = (before + increment + (by << 32), 0);
                    }
                    is_good
                }
                Some(Command::Slew { ns, rate }) => {
                    let is_good = rate != 0 || ns == 0;
                    if is_good {
                        (self.left, self.rate) = (i128::from(ns) << 32, i128::from(rate));
                    }
                    is_good
                }
                Some(Command::Increment(increment)) => {
                    let is_good = (1 << 32..1 << 40).contains(&increment);
                    if is_good {
                        self.increment = i128::from(increment);
                    }
                    is_good
                }
            };
            self.past.push(self.time >> 32);
            is_done
        }
    }

    fn increments() -> impl Strategy<Value = u64> {
        let near = NOMINAL_INCREMENT - 1_000_000..NOMINAL_INCREMENT + 1_000_000;
        let beside_a_power = (33_u32..40).prop_map(|bits| (1 << bits) - 1);
        prop_oneof![Just(NOMINAL_INCREMENT), near, ONE_NS..END_OF_INCREMENTS, beside_a_power]
    }

    fn commands() -> impl Strategy<Value = Command> {
        let rate = || prop_oneof![any::<u32>(), 1 << 26..=u32::MAX, Just(0)];
        prop_oneof![
            (prop_oneof![0_u64..10, 9_223_372_030_u64..9_223_372_040], 0_u32..1_010_000_000)
                .prop_map(|(s, ns)| Command::Set { s, ns }),
            (-3_i64..3, 0_u32..1_010_000_000).prop_map(|(s, ns)| Command::Step { s, ns }),
            (-60_i32..60, rate()).prop_map(|(ns, rate)| Command::Slew { ns, rate }),
            increments().prop_map(Command::Increment),
            (0_u64..1 << 33).prop_map(Command::Increment),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn closed_form_is_what_steps_give(script in prop::collection::vec((commands(), 40_u64..200), 1..20)) {
            let (mut cycle, start) = (1_000, 5_000_000_000);
            let mut clock = PtpClock::new(cycle, start);
            let mut walk = Walk {
                time: i128::from(start) << 32,
                increment: 8 << 32,
                left: 0,
                rate: 0,
                past: vec![i128::from(start)],
            };
            for _ in 0..10 {
                walk.step(None);
                cycle += 1;
            }
            for (command, cycles) in script {
                let is_done = walk.step(Some(command));
                cycle += 1;
                let before = clock;
                prop_assert_eq!(clock.command(cycle, command).is_ok(), is_done);
                prop_assert!(is_done || clock == before, "a refused command changes nothing");
                let from = cycle;
                let mut times = vec![walk.time];
                for _ in 1..cycles {
                    walk.step(None);
                    cycle += 1;
                    prop_assert_eq!(clock.time_at(cycle), walk.time);
                    prop_assert_eq!(clock.is_slewing_at(cycle), walk.left != 0);
                    times.push(walk.time);
                }
                let times: Vec<u64> = times.iter().map(|time| (time >> 32) as u64).collect();
                prop_assert!(times.is_sorted());
                for &time in &times[1..] {
                    for wanted in [time, time - 1, time - 3].into_iter().filter(|&wanted| wanted > times[0]) {
                        let first = times.iter().position(|&t| t >= wanted).unwrap();
                        prop_assert_eq!(clock.cycle_of_ns(wanted), from + first as u64);
                    }
                }
            }
        }

        #[test]
        fn cycle_of_time_far_away(
            increment in increments(), slew in (any::<i32>(), 1_u32..1 << 30), ahead in 1_u64..1 << 60,
        ) {
            let mut clock = PtpClock::new(77, 123_456_789).with_increment(increment);
            clock.command(100, Command::Slew { ns: slew.0, rate: slew.1 }).unwrap();
            let wanted = clock.ns_at(100) + ahead;
            let cycle = clock.cycle_of_ns(wanted);
            prop_assert!(clock.ns_at(cycle) >= wanted);
            prop_assert!(clock.ns_at(cycle - 1) < wanted);
        }
    }

    proptest! {
        /// A line holds in the cycle that it is asked for, up to the one that another holds for.
        #[test]
        fn lines_are_what_the_clock_shows(
            increment in increments(), ns in -20_i32..20, rate in 1_u32 << 30..=u32::MAX, cycle in 60_u64..160,
        ) {
            let mut clock = PtpClock::new(77, 1_000).with_increment(increment);
            clock.command(90, Command::Slew { ns, rate }).unwrap();
            let line = clock.line(cycle);
            prop_assert!(line.until > cycle);
            prop_assert_eq!(line.increment > 0, cycle >= 90);
            for cycle in cycle..line.until.min(cycle + 200) {
                let since = i128::from(cycle) - i128::from(line.cycle);
                prop_assert_eq!(line.time + since * i128::from(line.increment), clock.time_at(cycle), "in {}", cycle);
            }
        }
    }

    #[test]
    fn a_time_is_of_the_clock_up_to_its_end() {
        let (s, ns) = (TIME_END_NS / NS_PER_S, TIME_END_NS % NS_PER_S);
        assert_eq!([ns - 1, ns].map(|ns| nanoseconds(s, ns)), [Some(TIME_END_NS - 1), None]);
        assert_eq!([NS_PER_S - 1, NS_PER_S].map(|ns| nanoseconds(1, ns)), [Some(1_999_999_999), None]);
    }

    #[test]
    fn a_slew_is_used_up_exactly() {
        let mut clock = PtpClock::new(0, 1_000);
        clock.command(0, Command::Slew { ns: -3, rate: u32::MAX }).unwrap();
        assert!(clock.is_slewing_at(3));
        assert!(!clock.is_slewing_at(4));
        assert_eq!(clock.time_at(10), (1_000 + 80 - 3) << FRACTION_BITS);
    }

    #[test]
    fn near_the_end_of_time() {
        let mut clock = PtpClock::new(0, 0);
        let (s, ns) = (TIME_END_NS / NS_PER_S, 854_775_808);
        assert_eq!(clock.command(10, Command::Set { s, ns }), Err(ClockError::Beyond));
        clock.command(10, Command::Set { s, ns: ns - 1 }).unwrap();
        assert_eq!(clock.ns_at(10), TIME_END_NS - 1);
        assert_eq!(clock.command(50, Command::Step { s: 0, ns: 1 }).unwrap_err().code(), 2);
        clock.command(90, Command::Step { s: -1, ns: 0 }).unwrap();
        assert_eq!(clock.ns_at(90), TIME_END_NS - 1 + 640 - NS_PER_S);
        let ns = NS_PER_S as u32;
        assert_eq!(clock.command(130, Command::Set { s: 0, ns }).unwrap_err().code(), 1);
        assert_eq!(clock.command(130, Command::Increment(1)).unwrap_err().code(), 3);
        assert_eq!(clock.command(130, Command::Slew { ns: 1, rate: 0 }).unwrap_err().code(), 4);
        assert!(clock.command(130, Command::Step { s: 1 << 33, ns: 0 }).is_err());
    }
}
