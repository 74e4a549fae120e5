// SPDX-License-Identifier: Apache-2.0
//! The line of a station's port. By whose time its ticks go is the port's.
use penstock_shaper::egress::{GateTime, LineTime, Tick};
use penstock_shaper::Time;

use crate::bridge::timing::Counting;
use crate::clock::Clock;
use crate::link::Rate;

/// How the ticks of a port, which are picoseconds, are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ticks {
    /// In the time of the run, for nothing needs another.
    OfRun,
    /// As the station's own clock does, by which its gates and credit go.
    OfClock,
}

/// A frame takes as long as the station's own clock says.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    pub clock: &'a Clock,
    pub ticks: Ticks,
    pub rate: Rate,
    pub gate_time: &'a GateTime,
    pub counting: Counting,
}

impl Line<'_> {
    /// The end of what begins at a tick.
    #[inline(always)]
    fn after(&self, tick: Tick, duration_ps: Time) -> Tick {
        match self.ticks {
            Ticks::OfRun => self.clock.after(tick, duration_ps),
            Ticks::OfClock => tick.saturating_add(duration_ps),
        }
    }

    /// When the first bit behind the delimiter of a frame leaves.
    #[inline(always)]
    pub fn first_bit(&self, selection: Tick) -> Tick {
        self.after(selection, self.rate.lead())
    }
}

impl LineTime for Line<'_> {
    fn gate_time(&self) -> &GateTime {
        self.gate_time
    }

    fn wire(&self, bytes: u16) -> Time {
        match self.counting.window_without_gap {
            true => self.rate.duration(u32::from(bytes) + penstock_frame::PREAMBLE_BYTES),
            false => self.rate.occupancy(u32::from(bytes)),
        }
    }

    fn credit_guard(&self, bytes: u16) -> Time {
        if self.counting.credit_frozen_in_guard_band {
            // The guard band begins with the last instant in which the frame may start.
            self.wire(bytes) + 1
        } else {
            0
        }
    }

    #[inline(always)]
    fn next_selection(&self, selection: Tick, bytes: u16) -> Tick {
        self.after(selection, self.rate.occupancy(u32::from(bytes)))
    }

    #[inline(always)]
    fn spent(&self, selection: Tick, bytes: u16) -> Tick {
        let bytes = u32::from(bytes);
        let gap_less = || self.rate.duration(bytes + penstock_frame::PREAMBLE_BYTES);
        self.after(selection, if self.counting.gap_costs_credit { self.rate.occupancy(bytes) } else { gap_less() })
    }
}
