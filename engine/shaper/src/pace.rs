// SPDX-License-Identifier: Apache-2.0
//! The line of a port that goes by its rate alone: ticks are 8 ns, as the hardware's cycles; gates go by a PTP clock of them.
use penstock_frame::{GAP_BYTES, PREAMBLE_BYTES};

use crate::egress::{GateTime, LineTime, Tick};
use crate::Time;

pub const TICK_NS: Time = 8;

/// How fast a port is, and what is kept free before a gate closes.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pub rate_bps: u64,
    pub guard_ns: Time,
}

impl Pace {
    /// A byte takes 10^9 / rate ticks; rounded up, so that a port is never faster than its rate.
    pub fn ticks(self, bytes: u32) -> Tick {
        (Tick::from(bytes) * 1_000_000_000).div_ceil(Tick::from(self.rate_bps))
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

    fn wire(&self, bytes: u16) -> Time {
        self.pace.occupancy(bytes) * TICK_NS + self.pace.guard_ns
    }

    fn next_selection(&self, selection: Tick, bytes: u16) -> Tick {
        selection.saturating_add(self.pace.occupancy(bytes))
    }

    fn spent(&self, selection: Tick, bytes: u16) -> Tick {
        selection.saturating_add(self.pace.ticks(PREAMBLE_BYTES + u32::from(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::egress::GateDelays;
    use crate::ptp_clock::PtpClock;

    /// 64 bytes have 84 on the wire: 84 ticks at 1 Gb/s, 280 at 300 Mb/s, 8.4 at 10 Gb/s.
    #[test]
    fn a_port_is_never_faster_than_its_rate() {
        let time = GateTime::new(PtpClock::new(0, 0), GateDelays { lead: 0, states: 0, windows: 0 });
        for (rate_bps, occupancy, spent) in [(1_000_000_000, 84, 72), (300_000_000, 280, 240), (10_000_000_000, 9, 8)] {
            let pace = Pace { rate_bps, guard_ns: 500 };
            let line = Line { time: &time, pace };
            assert_eq!(pace.occupancy(64), occupancy);
            assert_eq!(line.wire(64), 8 * occupancy + 500);
            assert_eq!((line.next_selection(1_000, 64), line.spent(1_000, 64)), (1_000 + occupancy, 1_000 + spent));
            assert_eq!((line.next_selection(Tick::MAX, 64), line.spent(Tick::MAX, 64)), (Tick::MAX, Tick::MAX));
        }
    }
}
