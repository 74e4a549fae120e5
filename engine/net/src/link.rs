// SPDX-License-Identifier: Apache-2.0
//! One direction of a link.
use penstock_shaper::Time;
use std::num::NonZeroU64;

use penstock_frame::{GAP_BYTES, PREAMBLE_BYTES};

/// Bits of a byte, times picoseconds of a second.
const PS_BITS: u64 = 8_000_000_000_000;

/// How long bytes take on a wire.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    bps: NonZeroU64,
    /// Zero where it is no whole number.
    ps_per_byte: Time,
}

impl Rate {
    pub const LEAST: u64 = 10_000_000;
    pub const MOST: u64 = 100_000_000_000;

    /// Of a link, `LEAST` to `MOST`.
    pub fn new(bps: u64) -> Self {
        let ps_per_byte = if PS_BITS.is_multiple_of(bps) { PS_BITS / bps } else { 0 };
        Self { bps: NonZeroU64::new(bps).unwrap_or(NonZeroU64::MIN), ps_per_byte: ps_per_byte.into() }
    }

    pub fn bps(self) -> u64 {
        self.bps.get()
    }

    /// Rounded up.
    #[inline(always)]
    pub fn duration(self, bytes: u32) -> Time {
        if self.ps_per_byte != 0 {
            return Time::from(bytes) * self.ps_per_byte;
        }
        self.divided(bytes)
    }

    #[cold]
    fn divided(self, bytes: u32) -> Time {
        (u128::from(bytes) * u128::from(PS_BITS)).div_ceil(u128::from(self.bps.get())) as Time
    }

    /// Whole bytes that pass within a time.
    pub fn bytes_within(self, ps: Time) -> u64 {
        (u128::from(ps) * u128::from(self.bps.get()) / u128::from(PS_BITS)) as u64
    }

    /// Preamble and delimiter.
    #[inline]
    pub fn lead(self) -> Time {
        self.duration(PREAMBLE_BYTES)
    }

    /// Of a frame with preamble and gap.
    #[inline]
    pub fn occupancy(self, frame_bytes: u32) -> Time {
        self.duration(frame_bytes + PREAMBLE_BYTES + GAP_BYTES)
    }
}

/// Where an egress port leads. Two fill a line of the cache, also those that may be missing.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct Wire {
    pub node: u32,
    pub port: u16,
    pub rate: Rate,
    pub delay_ps: Time,
}

#[cfg(not(feature = "wide"))]
const _: () = assert!(size_of::<Option<Wire>>() == 32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_their_time_at_every_rate() {
        assert_eq!(Rate::new(10_000_000).duration(1), 800_000);
        assert_eq!(Rate::new(100_000_000_000).duration(1), 80);
        assert_eq!(Rate::new(1_000_000_000).occupancy(64), 84 * 8_000);
        assert_eq!(Rate::new(30_000_000).duration(1), 266_667);
        assert_eq!(Rate::new(30_000_000).duration(3), 800_000);
        assert_eq!([799_999, 800_000].map(|ps| Rate::new(30_000_000).bytes_within(ps)), [2, 3]);
    }
}
