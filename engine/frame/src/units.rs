// SPDX-License-Identifier: Apache-2.0
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A time or a duration of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Picoseconds(pub u64);

/// A length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitsPerSecond(pub u64);

impl Picoseconds {
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1_000)
    }
}

impl BitsPerSecond {
    /// How long `length` takes at this rate, rounded up; none at rate 0 or beyond the range of time.
    pub fn duration(self, length: Bytes) -> Option<Picoseconds> {
        let bits = u128::from(length.0) * 8 * 1_000_000_000_000;
        if self.0 == 0 {
            return None;
        }
        u64::try_from(bits.div_ceil(u128::from(self.0))).ok().map(Picoseconds)
    }
}

impl Add for Picoseconds {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Picoseconds {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Picoseconds {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Picoseconds {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0 * factor)
    }
}

impl fmt::Display for Picoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03} ns", self.0 / 1_000, self.0 % 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_at_one_gigabit_lasts_eight_nanoseconds() {
        assert_eq!(BitsPerSecond(1_000_000_000).duration(Bytes(1)), Some(Picoseconds(8_000)));
        assert_eq!(BitsPerSecond(0).duration(Bytes(1)), None);
        assert_eq!(BitsPerSecond(3).duration(Bytes(1)), Some(Picoseconds(2_666_666_666_667)));
    }
}
