// SPDX-License-Identifier: Apache-2.0
//! Between the ticks of a port and the time by which its gates go.
use crate::ptp_clock::{ClockError, Command, PtpClock, FRACTION_BITS};
use crate::{signed, unsigned, Time};

/// An eighth of a picosecond is to 1 ps what 1 ns is to a cycle of 8 ns.
const EIGHTHS: u32 = 3;

/// What stands between the clock and the selections that its gates decide; nothing of it in an ideal port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateDelays {
    /// What gate time is ahead of the clock's: so long after its selection the first bit of a frame is on the wire.
    pub lead: Time,
    /// From a tick of the gates to that of the selections which their states are for.
    pub states: Time,
    /// From the end of a list to when the largest windows of its successor are looked at.
    pub windows: Time,
}

/// Gate time of a tick: in nanoseconds of the hardware, else in picoseconds from an origin.
#[derive(Clone, Copy, Debug)]
pub struct GateTime {
    /// What `clock` comes to, if that is simple: of most clocks.
    whole: Option<Whole>,
    clock: PtpClock,
    delays: GateDelays,
    /// Of what the clock counts, below a unit of gate time.
    fraction_bits: u32,
}

/// Gate time to which each tick adds 2^`shift` units, and whose fraction therefore never counts.
#[derive(Clone, Copy, Debug)]
struct Whole {
    /// The first tick that adds to it.
    tick: Time,
    /// Gate time in that tick, and in those before.
    time: Time,
    shift: u32,
}

impl Whole {
    #[inline]
    fn at(self, tick: Time) -> Time {
        self.time.saturating_add(tick.saturating_sub(self.tick).saturating_mul(1 << self.shift))
    }

    #[inline]
    fn tick_of(self, time: Time) -> Time {
        self.tick.saturating_add(time.saturating_sub(self.time).div_ceil(1 << self.shift))
    }
}

impl GateTime {
    pub fn new(clock: PtpClock, delays: GateDelays) -> Self {
        Self::of(clock, delays, FRACTION_BITS)
    }

    fn of(clock: PtpClock, delays: GateDelays, fraction_bits: u32) -> Self {
        let whole = || {
            let (shift, whole) = (clock.steps()?.checked_sub(fraction_bits)?, clock.begin());
            let time = unsigned(whole.1 >> fraction_bits)?;
            let tick = whole.0.checked_add(delays.states)?;
            Some(Whole { tick, time: time.checked_add(delays.lead)?, shift })
        };
        Self { whole: whole(), clock, delays, fraction_bits }
    }

    /// A command of its clock, see [`PtpClock::command`].
    pub fn command(&mut self, cycle: Time, command: Command) -> Result<(), ClockError> {
        self.clock.command(cycle, command)?;
        *self = Self::of(self.clock, self.delays, self.fraction_bits);
        Ok(())
    }

    pub fn clock(&self) -> &PtpClock {
        &self.clock
    }

    /// Of a port whose ticks are picoseconds. The clock's increment for 8 ns is one for 1 ps of a clock that counts
    /// eighths of them, so that nothing of it is lost.
    pub fn of_picoseconds(tick: Time, origin_ps: Time, increment: u64) -> Self {
        let clock = PtpClock::new(tick, origin_ps << EIGHTHS).with_increment(increment);
        Self::of(clock, GateDelays::default(), FRACTION_BITS + EIGHTHS)
    }

    /// What the clock shows, which is when gates act on the wire.
    pub fn of_wire(self) -> Self {
        Self::of(self.clock, GateDelays::default(), self.fraction_bits)
    }

    #[inline]
    pub fn at(&self, tick: Time) -> Time {
        match self.whole {
            Some(whole) => whole.at(tick),
            None => self.at_any(tick),
        }
    }

    fn at_any(&self, tick: Time) -> Time {
        let time = self.clock.time_at(tick.saturating_sub(self.delays.states)) >> self.fraction_bits;
        unsigned(time).unwrap_or(Time::MAX).saturating_add(self.delays.lead)
    }

    /// The first tick of this gate time or later.
    #[inline]
    pub fn tick_of(&self, time: Time) -> Time {
        match self.whole {
            Some(whole) => whole.tick_of(time),
            None => self.tick_of_any(time),
        }
    }

    fn tick_of_any(&self, time: Time) -> Time {
        let time = signed(time.saturating_sub(self.delays.lead)) << self.fraction_bits;
        self.clock.cycle_of(time).saturating_add(self.delays.states)
    }

    /// Whether some tick shows one of these times, whatever they begin with.
    #[inline]
    pub fn shows_some_of(&self, times: Time) -> bool {
        self.whole.is_some_and(|whole| times >> whole.shift != 0)
    }

    /// The gate time whose list's largest windows count in a tick.
    pub fn of_windows(&self, tick: Time) -> Time {
        self.at(tick.saturating_sub(self.delays.windows))
    }

    /// The first tick in which the largest windows of a list count that begins at this gate time.
    pub fn windows_tick(&self, time: Time) -> Time {
        self.tick_of(time).saturating_add(self.delays.windows)
    }

    /// The line that gate time follows at a tick.
    pub(crate) fn line(&self, tick: Time) -> Line {
        let Some(cycle) = tick.checked_sub(self.delays.states) else {
            let (time, until) = (self.shown(self.clock.time_at(0)), self.delays.states);
            return Line { tick, time, increment: 0, fraction_bits: self.fraction_bits, until };
        };
        let line = self.clock.line(cycle);
        Line {
            tick: line.cycle.saturating_add(self.delays.states),
            time: self.shown(line.time),
            increment: line.increment,
            fraction_bits: self.fraction_bits,
            until: line.until.saturating_add(self.delays.states),
        }
    }

    fn shown(&self, time: i128) -> i128 {
        time + (signed(self.delays.lead) << self.fraction_bits)
    }
}

/// A part of gate time in which each tick adds the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub tick: Time,
    /// At that tick, in parts of a unit.
    pub time: i128,
    /// Zero: time stands still.
    pub increment: u64,
    pub fraction_bits: u32,
    /// The first tick that another line holds for.
    pub until: Time,
}

impl Line {
    pub fn at(&self, tick: Time) -> Time {
        let ticks = signed(tick) - signed(self.tick);
        let time = (self.time + ticks * i128::from(self.increment)) >> self.fraction_bits;
        unsigned(time).unwrap_or(if time < 0 { 0 } else { Time::MAX })
    }

    /// The first tick of this gate time or later.
    pub fn tick_of(&self, time: Time) -> Time {
        if self.increment == 0 {
            return Time::MAX;
        }
        let tick = self.first_tick(time);
        unsigned(tick).unwrap_or(if tick < 0 { 0 } else { Time::MAX })
    }

    /// The same, which may be before all ticks, of time that does not stand still.
    #[inline]
    pub fn first_tick(&self, time: Time) -> i128 {
        let way = (signed(time) << self.fraction_bits) - self.time;
        // Few rates need a division of 128 bit, which costs more than all else here.
        let back = match self.increment.is_power_of_two() {
            true => -way >> self.increment.trailing_zeros(),
            false => (-way).div_euclid(i128::from(self.increment)),
        };
        signed(self.tick) - back
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptp_clock::NOMINAL_INCREMENT;
    use proptest::prelude::*;

    fn gate_time() -> impl Strategy<Value = GateTime> {
        let increment = prop_oneof![Just(NOMINAL_INCREMENT), Just(2 * NOMINAL_INCREMENT), 1_u64 << 32..1 << 36];
        let start = prop_oneof![0..10_000_u64, Just(u64::MAX >> 4)];
        let delays = (0..100_u64, 0..20_u64, 0..20_u64);
        (0..10_000_u64, start, increment, delays, any::<bool>()).prop_map(|(tick, ns, increment, delays, is_ideal)| {
            let (lead, states, windows) = delays;
            match is_ideal {
                true => GateTime::of_picoseconds(tick, ns, increment),
                false => GateTime::new(
                    PtpClock::new(tick, ns).with_increment(increment),
                    GateDelays { lead, states, windows },
                ),
            }
        })
    }

    #[test]
    fn a_tick_of_a_picosecond_is_one() {
        let time = GateTime::of_picoseconds(1_000, 70, NOMINAL_INCREMENT);
        assert_eq!([0, 999, 1_000, 1_001, 5_000].map(|tick| time.at(tick)), [70, 70, 70, 71, 4_070]);
        let twice = GateTime::of_picoseconds(1_000, 70, 2 * NOMINAL_INCREMENT);
        assert_eq!([1_000, 1_001, 5_000].map(|tick| twice.at(tick)), [70, 72, 8_070]);
        assert_eq!([70, 71, 72, 73].map(|ps| twice.tick_of(ps)), [1_000, 1_001, 1_001, 1_002]);
    }

    proptest! {
        /// The first tick of a line, which goes on before and behind the part of time that it is of.
        #[test]
        fn a_line_has_a_first_tick_of_each_time(
            time in gate_time(), tick in 0..40_000_u64, at in prop_oneof![0..400_000_u64, any::<u64>()],
        ) {
            let line = time.line(tick);
            prop_assert_eq!(line.at(tick), time.at(tick));
            let first = line.tick_of(at);
            prop_assert!(line.increment > 0 || first == u64::MAX);
            prop_assert!(first == u64::MAX || line.at(first) >= at);
            prop_assert!(first == 0 || line.at(first - 1) < at || line.increment == 0);
        }

        /// What is simple comes to what holds of any clock, also where a step or a slew of it acts.
        #[test]
        fn whole_time_is_that_of_any_clock(
            time in gate_time(),
            commands in prop::collection::vec((0..2_000_u64, -50..50_i32, 0_u32..3), 0..4),
            ticks in prop::collection::vec(prop_oneof![0..40_000_u64, any::<u64>()], 1..30),
        ) {
            let (mut time, mut cycle) = (time, 10_000);
            for (after, ns, kind) in commands {
                cycle += after;
                let command = match kind {
                    0 => Command::Slew { ns, rate: 1 << 31 },
                    1 => Command::Set { s: after, ns: 5 },
                    // A clock that went wrong for a while shows a fraction ever after.
                    _ => Command::Increment(NOMINAL_INCREMENT + ns.max(0) as u64),
                };
                time.command(cycle, command).unwrap();
            }
            for tick in ticks {
                prop_assert_eq!(time.at(tick), time.at_any(tick));
                prop_assert_eq!(time.tick_of(tick), time.tick_of_any(tick));
                // As many units as a tick adds are shown somewhere among any that are later.
                let from = time.at(tick);
                let first = time.tick_of(from.saturating_add(3));
                let is_shown = first < u64::MAX && time.at(first) <= from.saturating_add(3 + 8);
                prop_assert!(!time.shows_some_of(8) || is_shown || first == u64::MAX || from > u64::MAX - 20);
            }
        }
    }
}
