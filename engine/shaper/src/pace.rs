// SPDX-License-Identifier: Apache-2.0
//! The line of a port that goes by its rate alone: ticks are 8 ns, as the hardware's cycles; gates go by a PTP clock of them.
use penstock_frame::{GAP_BYTES, PREAMBLE_BYTES};

use crate::egress::{GateTime, LineTime, Tick};

pub const TICK_NS: u64 = 8;

/// How fast a port is, and what is kept free before a gate closes.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pub rate_bps: u64,
    pub guard_ns: u64,
}

impl Pace {
    /// A byte takes 10^9 / rate ticks; rounded up, so that a port is never faster than its rate.
    pub fn ticks(self, bytes: u32) -> Tick {
        (u64::from(bytes) * 1_000_000_000).div_ceil(self.rate_bps)
    }

    /// From the first bit of the preamble to the end of the gap.
    pub fn occupancy(self, bytes: u16) -> Tick {
        self.ticks(PREAMBLE_BYTES + u32::from(bytes) + GAP_BYTES)
    }
}

/// A port's pace, with the time of its gates.
pub struct Line<'a> {
    pub time: &'a GateTime,
    pub pace: Pace,
}

impl LineTime for Line<'_> {
    fn gate_time(&self) -> &GateTime {
        self.time
    }

    fn wire(&self, bytes: u16) -> u64 {
        self.pace.occupancy(bytes) * TICK_NS + self.pace.guard_ns
    }

    fn next_selection(&self, selection: Tick, bytes: u16) -> Tick {
        selection.saturating_add(self.pace.occupancy(bytes))
    }

    fn spent(&self, selection: Tick, bytes: u16) -> Tick {
        selection.saturating_add(self.pace.ticks(PREAMBLE_BYTES + u32::from(bytes)))
    }
}
