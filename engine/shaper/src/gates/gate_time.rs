// SPDX-License-Identifier: Apache-2.0
//! Between the ticks of a port and the time by which its gates go.
use crate::ptp_clock::{PtpClock, FRACTION_BITS};

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

/// Gate time of a tick: in nanoseconds of the hardware, else in picoseconds.
#[derive(Clone, Copy, Debug)]
pub struct GateTime {
    pub clock: PtpClock,
    delays: GateDelays,
}

impl GateTime {
    pub fn new(clock: PtpClock, delays: GateDelays) -> Self {
        Self { clock, delays }
    }

    #[inline]
    pub fn at(&self, tick: u64) -> u64 {
        self.clock.ns_at(tick.saturating_sub(self.delays.states)).saturating_add(self.delays.lead)
    }

    /// The first tick of this gate time or later.
    #[inline]
    pub fn tick_of(&self, time: u64) -> u64 {
        self.clock.cycle_of_ns(time.saturating_sub(self.delays.lead)).saturating_add(self.delays.states)
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
            return Line { tick, time: self.shown(self.clock.time_at(0)), increment: 0, until: self.delays.states };
        };
        let line = self.clock.line(cycle);
        Line {
            tick: line.cycle.saturating_add(self.delays.states),
            time: self.shown(line.time),
            increment: line.increment,
            until: line.until.saturating_add(self.delays.states),
        }
    }

    fn shown(&self, time: i128) -> i128 {
        time + (i128::from(self.delays.lead) << FRACTION_BITS)
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
    /// The first tick that another line holds for.
    pub until: u64,
}

impl Line {
    pub fn at(&self, tick: u64) -> u64 {
        let ticks = i128::from(tick) - i128::from(self.tick);
        ((self.time + ticks * i128::from(self.increment)) >> FRACTION_BITS) as u64
    }

    /// The first tick of this gate time or later.
    pub fn tick_of(&self, time: u64) -> u64 {
        if self.increment == 0 {
            return u64::MAX;
        }
        let way = (i128::from(time) << FRACTION_BITS) - self.time;
        let ticks = -(-way).div_euclid(i128::from(self.increment));
        u64::try_from(i128::from(self.tick) + ticks).unwrap_or(if ticks < 0 { 0 } else { u64::MAX })
    }
}
