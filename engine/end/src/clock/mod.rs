// SPDX-License-Identifier: Apache-2.0
//! The clock: CLOCK_TAI everywhere; whose clock it is, and whether two ends have the same.
mod identity;
pub mod pmc;

pub use identity::{Evidence, Identity};

use nix::time::{clock_gettime, ClockId};

const SECOND_NS: u64 = 1_000_000_000;

/// CLOCK_TAI in ns.
pub fn now_tai_ns() -> u64 {
    read_ns(ClockId::CLOCK_TAI)
}

/// By how much CLOCK_TAI is ahead of CLOCK_REALTIME: whole seconds, 37 s since 2017 where the system was told.
pub fn tai_minus_realtime_ns() -> i64 {
    let difference = now_tai_ns() as i64 - read_ns(ClockId::CLOCK_REALTIME) as i64;
    let second = SECOND_NS as i64;
    (difference + second / 2).div_euclid(second) * second
}

/// Identities as people write them, since many readers of JSON cut numbers of 64 bits.
fn hexadecimal<S: serde::Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format!("{value:016x}"))
}

/// These clocks are always there, and before 1970 none of them is.
fn read_ns(clock: ClockId) -> u64 {
    clock_gettime(clock).map_or(0, |time| time.tv_sec() as u64 * SECOND_NS + time.tv_nsec() as u64)
}
