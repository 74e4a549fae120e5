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

/// What CLOCK_TAI is ahead of CLOCK_MONOTONIC by, in ns, and how wrong that may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    pub ns: u64,
    pub doubt_ns: u64,
}

impl Ahead {
    /// Of some readings the one that took least time.
    pub fn read() -> Self {
        let readings = (0..5).map(|_| {
            let before = read_ns(ClockId::CLOCK_MONOTONIC);
            let tai = read_ns(ClockId::CLOCK_TAI);
            let doubt_ns = read_ns(ClockId::CLOCK_MONOTONIC) - before;
            (doubt_ns, tai.saturating_sub(before + doubt_ns / 2))
        });
        let (doubt_ns, ns) = readings.min().unwrap_or_default();
        Self { ns, doubt_ns }
    }
}

/// A tick, and what CLOCK_TAI shows then.
pub fn tai_of_tick() -> (Tick, u64) {
    let now = read_ns(ClockId::CLOCK_MONOTONIC) / TICK_NS;
    (now, now * TICK_NS + Ahead::read().ns)
}

/// Sees steps of CLOCK_TAI: both clocks go at one rate, so that nothing else changes by what one is ahead.
#[derive(Clone, Copy, Debug)]
pub struct StepWatch {
    last: Ahead,
}

/// Readings of two clocks differ by so much at times.
const STEP_NS: u64 = 1_000;

impl StepWatch {
    pub fn new(first: Ahead) -> Self {
        Self { last: first }
    }

    /// By how much CLOCK_TAI was stepped since it was looked at before, in ns; less than 1 us is none.
    pub fn look(&mut self, now: Ahead) -> Option<i64> {
        let by = i128::from(now.ns) - i128::from(self.last.ns);
        let is_step = by.unsigned_abs() > u128::from(STEP_NS + now.doubt_ns + self.last.doubt_ns);
        let step = i64::try_from(by).ok().filter(|_| is_step);
        if step.is_some() {
            self.last = now;
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_seen_once_and_doubt_is_none() {
        let ahead = |ns, doubt_ns| Ahead { ns, doubt_ns };
        let mut watch = StepWatch::new(ahead(1_000_000, 50));
        assert_eq!(watch.look(ahead(1_000_900, 60)), None);
        assert_eq!(watch.look(ahead(1_040_000, 50_000)), None, "the thread was away between the readings");
        assert_eq!(watch.look(ahead(3_000_000, 60)), Some(2_000_000));
        assert_eq!(watch.look(ahead(3_000_100, 60)), None);
        assert_eq!(watch.look(ahead(0, 60)), Some(-3_000_000));
    }
}
