// SPDX-License-Identifier: Apache-2.0
//! Between the ticks of a port and the time by which its gates go.
use crate::ptp_clock::PtpClock;

use super::Tick;

/// What stands between the clock and the selections that its gates decide; nothing of it in an ideal port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateDelays {
    /// What gate time is ahead of the clock's: so long after its selection the first bit of a frame is on the wire.
    pub lead: u64,
    /// From a tick of the gates to that of the selections which their states are for.
    pub states: Tick,
    /// From the end of a list to when the largest windows of its successor are looked at.
    pub windows: Tick,
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
    pub fn at(&self, tick: Tick) -> u64 {
        self.clock.ns_at(tick.saturating_sub(self.delays.states)).saturating_add(self.delays.lead)
    }

    /// The first tick of this gate time or later.
    #[inline]
    pub fn tick_of(&self, time: u64) -> Tick {
        self.clock.cycle_of_ns(time.saturating_sub(self.delays.lead)).saturating_add(self.delays.states)
    }

    /// The gate time whose list's largest windows count in a tick.
    pub fn of_windows(&self, tick: Tick) -> u64 {
        self.at(tick.saturating_sub(self.delays.windows))
    }

    /// The first tick in which the largest windows of a list count that begins at this gate time.
    pub fn windows_tick(&self, time: u64) -> Tick {
        self.tick_of(time).saturating_add(self.delays.windows)
    }
}
