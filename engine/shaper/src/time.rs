// SPDX-License-Identifier: Apache-2.0
//! How wide times are: instants and durations, in whatever unit their owner counts.
//!
//! All that counts time is compiled twice from one source, with 64 bit and with 128. So no run pays for another's years, and
//! what forgot a time would not compile.

/// Picoseconds of 213 days.
#[cfg(not(feature = "wide"))]
pub type Time = u64;
/// By how much a time is displaced.
#[cfg(not(feature = "wide"))]
pub type SignedTime = i64;
/// Those of any run, in `engine/wide`.
#[cfg(feature = "wide")]
pub type Time = u128;
/// By how much one is displaced.
#[cfg(feature = "wide")]
pub type SignedTime = i128;

/// What is later is never, so that a product with any rate fits 128 bit with its sign; 38,000 years in picoseconds.
#[cfg(feature = "wide")]
const LATEST: Time = 1 << 80;

/// Where something may come before something else.
#[cfg(not(feature = "wide"))]
#[inline(always)]
pub const fn signed(time: Time) -> i128 {
    time as i128
}

/// Where something may come before something else.
#[cfg(feature = "wide")]
#[inline(always)]
pub const fn signed(time: Time) -> i128 {
    (if time < LATEST { time } else { LATEST }) as i128
}

/// None: before zero, or later than any time.
#[cfg(not(feature = "wide"))]
#[inline(always)]
pub fn unsigned(time: i128) -> Option<Time> {
    Time::try_from(time).ok()
}

/// None: before zero, or later than any time.
#[cfg(feature = "wide")]
#[inline(always)]
pub fn unsigned(time: i128) -> Option<Time> {
    Time::try_from(time).ok().filter(|time| *time < LATEST)
}
