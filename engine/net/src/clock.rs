// SPDX-License-Identifier: Apache-2.0
//! A node's own clock against the time of the run.
//!
//! A tick happens at the first picosecond at or after its true instant, so that each tick of a run has one time and
//! the tick of a time is found again.
use penstock_shaper::{signed, Time};
use thiserror::Error;

const BILLION: i128 = 1_000_000_000;
/// What the clock of a bridge shows, in cycles, when the run begins: it has been configured by then. A multiple of all
/// port counts, so that turns begin with the run.
const BRIDGE_BASE: Time = 840 * 10_000;
/// Cycle of hardware-like bridges.
pub const CYCLE_PS: Time = 8_000;

#[derive(Debug, Error, PartialEq, Eq)]
pub enum ClockError {
    #[error("offset_ps is {0}; -10^15 to 10^15 are allowed (1000 s)")]
    Offset(i64),
    #[error("drift_ppb is {0}; -10000000 to 10000000 are allowed (1 %)")]
    Drift(i32),
}

#[derive(Clone, Copy, Debug)]
pub struct Clock {
    tick_ps: u32,
    /// What it shows at time zero without its offset.
    base: Time,
    offset_ps: i64,
    /// What it shows at time zero, in picoseconds.
    zero_ps: Time,
    drift_ppb: i32,
}

impl Clock {
    /// Of a station, or of a bridge whose times are not bound to cycles.
    pub fn fine(offset_ps: i64, drift_ppb: i32) -> Result<Self, ClockError> {
        Self::new(1, BRIDGE_BASE * CYCLE_PS, offset_ps, drift_ppb)
    }

    /// Of a hardware-like bridge.
    pub fn cycles(offset_ps: i64, drift_ppb: i32) -> Result<Self, ClockError> {
        Self::new(CYCLE_PS, BRIDGE_BASE, offset_ps, drift_ppb)
    }

    fn new(tick_ps: Time, base: Time, offset_ps: i64, drift_ppb: i32) -> Result<Self, ClockError> {
        if offset_ps.unsigned_abs() > 1_000_000_000_000_000 {
            return Err(ClockError::Offset(offset_ps));
        }
        if drift_ppb.unsigned_abs() > 10_000_000 {
            return Err(ClockError::Drift(drift_ppb));
        }
        // A clock that is behind must not show less than nothing.
        let behind = Time::from(offset_ps.min(0).unsigned_abs()).div_ceil(tick_ps).next_multiple_of(840);
        let base = base + behind;
        let zero_ps = (base * tick_ps).wrapping_add_signed(offset_ps.into());
        Ok(Self { tick_ps: tick_ps as u32, base, offset_ps, zero_ps, drift_ppb })
    }

    /// What it shows, in whole ticks.
    #[inline(always)]
    pub fn at_or_before(&self, time: Time) -> Time {
        if self.drift_ppb == 0 {
            let shown = time.wrapping_add(self.zero_ps);
            // Ticks are of a picosecond or of a cycle; divisions by constants are cheap.
            return if self.tick_ps == 1 { shown } else { shown / CYCLE_PS };
        }
        self.drifted_at_or_before(time)
    }

    #[inline(never)]
    fn drifted_at_or_before(&self, time: Time) -> Time {
        let local = (signed(time) * (BILLION + i128::from(self.drift_ppb))).div_euclid(BILLION);
        ((local + i128::from(self.offset_ps)).div_euclid(i128::from(self.tick_ps)) + signed(self.base)) as Time
    }

    /// The first tick that is not before a time; of several in one picosecond, the last.
    #[inline(always)]
    pub fn at_or_after(&self, time: Time) -> Time {
        let tick = self.at_or_before(time);
        tick + Time::from(self.time(tick) < time)
    }

    /// When it shows a tick; ticks before time zero are at zero.
    #[inline(always)]
    pub fn time(&self, tick: Time) -> Time {
        if self.drift_ppb == 0 {
            let shown = if self.tick_ps == 1 { tick } else { tick.saturating_mul(CYCLE_PS) };
            return shown.saturating_sub(self.zero_ps);
        }
        self.drifted_time(tick)
    }

    #[inline(never)]
    fn drifted_time(&self, tick: Time) -> Time {
        let local = (signed(tick) - signed(self.base)) * i128::from(self.tick_ps) - i128::from(self.offset_ps);
        let rate = BILLION + i128::from(self.drift_ppb);
        let time = -(-(local * BILLION)).div_euclid(rate);
        Time::try_from(time.max(0)).unwrap_or(Time::MAX)
    }

    /// When the time that a schedule counts from zero has come; none if that was before the run.
    #[inline]
    pub fn time_of_schedule(&self, local_ps: Time) -> Option<Time> {
        if self.offset_ps == 0 && self.drift_ppb == 0 {
            return Some(local_ps);
        }
        let local = signed(local_ps) - i128::from(self.offset_ps);
        let time = -(-(local * BILLION)).div_euclid(BILLION + i128::from(self.drift_ppb));
        (time >= 0).then(|| Time::try_from(time).unwrap_or(Time::MAX))
    }

    /// The schedule's time at a time of the run, none before its zero.
    pub fn schedule_at(&self, time: Time) -> Time {
        let local = (signed(time) * (BILLION + i128::from(self.drift_ppb))).div_euclid(BILLION);
        Time::try_from((local + i128::from(self.offset_ps)).max(0)).unwrap_or(Time::MAX)
    }

    /// When a duration of this clock that begins at a time is over.
    #[inline]
    pub fn after(&self, time: Time, duration_ps: Time) -> Time {
        if self.drift_ppb == 0 {
            return time.saturating_add(duration_ps);
        }
        let rate = BILLION + i128::from(self.drift_ppb);
        time.saturating_add(-(-(signed(duration_ps) * BILLION)).div_euclid(rate) as Time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_ideal_clock_counts_cycles() {
        let clock = Clock::cycles(0, 0).unwrap();
        let zero = clock.at_or_before(0);
        assert_eq!(zero % 840, 0);
        assert_eq!(clock.at_or_before(7_999), zero);
        assert_eq!(clock.at_or_after(7_999), zero + 1);
        assert_eq!(clock.at_or_after(8_000), zero + 1);
        assert_eq!(clock.time(zero + 3), 24_000);
    }

    #[test]
    fn offset_and_drift_have_the_stated_signs() {
        let ahead = Clock::fine(1_000, 0).unwrap();
        assert_eq!(ahead.time_of_schedule(5_000), Some(4_000), "what is ahead does things earlier");
        assert_eq!(ahead.time_of_schedule(500), None);
        assert_eq!(ahead.at_or_before(0), Clock::fine(0, 0).unwrap().at_or_before(0) + 1_000);
        let fast = Clock::fine(0, 1_000_000).unwrap();
        assert_eq!(fast.time_of_schedule(1_001_000_000), Some(1_000_000_000));
        assert_eq!(fast.after(7, 1_001_000), 1_000_007);
        assert!(Clock::fine(0, 10_000_001).is_err());
        assert!(Clock::cycles(i64::MIN, 0).is_err());
    }

    proptest! {
        #[test]
        fn a_tick_is_found_again(
            offset in -1_000_000_000_000_000_i64..1_000_000_000_000_000,
            drift in prop_oneof![Just(0), -10_000_000_i32..10_000_000],
            time in 0_u64..1 << 60,
        ) {
            for clock in [Clock::cycles(offset, drift).unwrap(), Clock::fine(offset, drift).unwrap()] {
                let after = clock.at_or_after(time);
                prop_assert!(clock.time(after) >= time);
                // A fast clock of picoseconds has more than one tick in some of them.
                prop_assert!(clock.time(after - 1) < time + u64::from(clock.tick_ps == 1));
                let before = clock.at_or_before(time);
                prop_assert!(clock.time(before) <= time);
                prop_assert!(clock.time(before + 1) > time);
                if clock.tick_ps > 1 {
                    prop_assert_eq!(clock.at_or_before(clock.time(after)), after);
                }
            }
        }
    }
}
