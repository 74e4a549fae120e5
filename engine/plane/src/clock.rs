// SPDX-License-Identifier: Apache-2.0
//! The machine's clocks: ticks are of CLOCK_MONOTONIC, which nobody sets; the plane's clock shows CLOCK_TAI.
use nix::time::{clock_gettime, ClockId};
use penstock_shaper::egress::Tick;

use crate::drive::Clock;
use crate::line::TICK_NS;

/// Both clocks are always there, and before 1970 none of them is.
fn read_ns(clock: ClockId) -> u64 {
    clock_gettime(clock).map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

#[derive(Clone, Copy, Debug, Default)]
pub struct MachineClock;

impl Clock for MachineClock {
    fn now(&mut self) -> Tick {
        read_ns(ClockId::CLOCK_MONOTONIC) / TICK_NS
    }
}

/// What the calling thread has had of a processor.
pub fn thread_time_ns() -> u64 {
    read_ns(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// A tick, and what CLOCK_TAI shows then: of some readings the one that took least time.
pub fn tai_of_tick() -> (Tick, u64) {
    let readings = (0..9).map(|_| {
        let before = read_ns(ClockId::CLOCK_MONOTONIC);
        let tai = read_ns(ClockId::CLOCK_TAI);
        let after = read_ns(ClockId::CLOCK_MONOTONIC);
        (after - before, before + (after - before) / 2, tai)
    });
    let (_, monotonic, tai) = readings.min().unwrap_or_default();
    (monotonic / TICK_NS, tai - monotonic % TICK_NS)
}
