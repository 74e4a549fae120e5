// SPDX-License-Identifier: Apache-2.0
//! Between the ticks of a port and the time by which its gates go.
use crate::ptp_clock::{PtpClock, FRACTION_BITS};

/// An eighth of a picosecond is to 1 ps what 1 ns is to a cycle of 8 ns.
const EIGHTHS: u32 = 3;

/// What stands between the clock and the selections that its gates decide; nothing of it in an ideal port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateDelays {
    /// What gate time is ahead of the clock's: so long after its selection the first bit of a frame is on the wire.
    pub lead: u64,
    /// From a tick of the gates to that of the selections which their states are for.
    pub states: u64,
    /// From the end of a list to when the largest windows of its successor are looked at.
    pub windows: u64,
}

/// Gate time of a tick: in nanoseconds of the hardware, else in picoseconds from an origin.
#[derive(Clone, Copy, Debug)]
pub struct GateTime {
    pub clock: PtpClock,
    delays: GateDelays,
    /// Of what the clock counts, below a unit of gate time.
    fraction_bits: u32,
}

impl GateTime {
    pub fn new(clock: PtpClock, delays: GateDelays) -> Self {
        Self { clock, delays, fraction_bits: FRACTION_BITS }
    }

    /// Of a port whose ticks are picoseconds. The clock's increment for 8 ns is one for 1 ps of a clock that counts
    /// eighths of them, so that nothing of it is lost.
    pub fn of_picoseconds(tick: u64, origin_ps: u64, increment: u64) -> Self {
        let clock = PtpClock::new(tick, origin_ps << EIGHTHS).with_increment(increment);
        Self { clock, delays: GateDelays::default(), fraction_bits: FRACTION_BITS + EIGHTHS }
    }

    /// What the clock shows, which is when gates act on the wire.
    pub fn of_wire(self) -> Self {
        Self { delays: GateDelays::default(), ..self }
    }

    #[inline]
    pub fn at(&self, tick: u64) -> u64 {
        let time = self.clock.time_at(tick.saturating_sub(self.delays.states)) >> self.fraction_bits;
        u64::try_from(time).unwrap_or(u64::MAX).saturating_add(self.delays.lead)
    }

    /// The first tick of this gate time or later.
    #[inline]
    pub fn tick_of(&self, time: u64) -> u64 {
        let time = i128::from(time.saturating_sub(self.delays.lead)) << self.fraction_bits;
        self.clock.cycle_of(time).saturating_add(self.delays.states)
    }

    /// The gate time whose list's largest windows count in a tick.
    pub fn of_windows(&self, tick: u64) -> u64 {
        self.at(tick.saturating_sub(self.delays.windows))
    }

    /// The first tick in which the largest windows of a list count that begins at this gate time.
    pub fn windows_tick(&self, time: u64) -> u64 {
        self.tick_of(time).saturating_add(self.delays.windows)
    }

    /// The line that gate time follows at a tick.
    pub(crate) fn line(&self, tick: u64) -> Line {
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
        time + (i128::from(self.delays.lead) << self.fraction_bits)
    }
}

/// A part of gate time in which each tick adds the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub tick: u64,
    /// At that tick, in parts of a unit.
    pub time: i128,
    /// Zero: time stands still.
    pub increment: u64,
    pub fraction_bits: u32,
    /// The first tick that another line holds for.
    pub until: u64,
}

impl Line {
    pub fn at(&self, tick: u64) -> u64 {
        let ticks = i128::from(tick) - i128::from(self.tick);
        let time = (self.time + ticks * i128::from(self.increment)) >> self.fraction_bits;
        u64::try_from(time).unwrap_or(if time < 0 { 0 } else { u64::MAX })
    }

    /// The first tick of this gate time or later.
    pub fn tick_of(&self, time: u64) -> u64 {
        if self.increment == 0 {
            return u64::MAX;
        }
        let tick = self.first_tick(time);
        u64::try_from(tick).unwrap_or(if tick < 0 { 0 } else { u64::MAX })
    }

    /// The same, which may be before all ticks, of time that does not stand still.
    #[inline]
    pub fn first_tick(&self, time: u64) -> i128 {
        let way = (i128::from(time) << self.fraction_bits) - self.time;
        // Few rates need a division of 128 bit, which costs more than all else here.
        let back = match self.increment.is_power_of_two() {
            true => -way >> self.increment.trailing_zeros(),
            false => (-way).div_euclid(i128::from(self.increment)),
        };
        i128::from(self.tick) - back
    }
}
