// SPDX-License-Identifier: Apache-2.0
//! The one definition of a percentile, that of the nearest rank: the least value that at least this part of all values do
//! not exceed. It is a value that occurred, and never below what a deadline is held against (Hyndman and Fan's first type).

/// A part of all values, in ten thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentile(u32);

impl Percentile {
    pub const P50: Self = Self(5_000);
    pub const P90: Self = Self(9_000);
    pub const P99: Self = Self(9_900);
    pub const P999: Self = Self(9_990);
    pub const P9999: Self = Self(9_999);

    /// Which of so many values in ascending order it is, the first being 0; 0 too where there are none.
    pub fn index(self, count: u64) -> u64 {
        let rank = (u128::from(count) * u128::from(self.0)).div_ceil(10_000);
        (rank as u64).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_least_value_that_its_part_does_not_exceed() {
        for count in 1..=200 {
            for (percentile, part) in
                [(Percentile::P50, 50), (Percentile::P90, 90), (Percentile::P99, 99), (Percentile(10_000), 100)]
            {
                let enough = |index: &u64| (index + 1) * 100 >= part * count;
                assert_eq!(Some(percentile.index(count)), (0..count).find(enough), "{percentile:?} of {count}");
            }
        }
        assert_eq!(
            (Percentile::P99.index(0), Percentile::P9999.index(u64::MAX)),
            (0, u64::MAX - u64::MAX / 10_000 - 1)
        );
    }
}
