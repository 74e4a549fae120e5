// SPDX-License-Identifier: Apache-2.0
//! A distribution of values that may be below zero.
use crate::statistics::{Distribution, Summary};
use penstock_shaper::{SignedTime, Time};

/// Of each sign one, so that percentiles of many values keep their relative error.
#[derive(Clone, Default)]
pub struct Signed {
    /// Their magnitudes.
    below: Distribution,
    /// From zero on.
    above: Distribution,
}

impl Signed {
    #[inline]
    pub fn add(&mut self, value: SignedTime, exact_up_to: usize) {
        let of_sign = if value < 0 { &mut self.below } else { &mut self.above };
        of_sign.add(value.unsigned_abs(), exact_up_to);
    }

    pub fn count(&self) -> u64 {
        self.below.count() + self.above.count()
    }

    /// None without values.
    pub fn summary(&self) -> Option<Summary<SignedTime>> {
        let (count, negative) = (self.count(), self.below.count());
        if count == 0 {
            return None;
        }
        let magnitude = |value: Time| SignedTime::try_from(value).unwrap_or(SignedTime::MAX);
        let ((least_below, most_below), (least, most)) = (self.below.extremes(), self.above.extremes());
        let [p50, p99] = Distribution::PERCENTILES.map(|percentile| self.at(percentile.index(count)));
        // Two's complement brings the sign back.
        let sum = self.above.sum().wrapping_sub(self.below.sum()) as i128;
        Some(Summary {
            count,
            min: if negative > 0 { -magnitude(most_below) } else { magnitude(least) },
            max: if negative < count { magnitude(most) } else { -magnitude(least_below) },
            mean: sum as f64 / count as f64,
            p50,
            p99,
            percentile_error: self.below.percentile_error().max(self.above.percentile_error()),
        })
    }

    /// The value at a place of all in ascending order.
    fn at(&self, index: u64) -> f64 {
        match index.checked_sub(self.below.count()) {
            Some(index) => self.above.at([index])[0],
            None => -self.below.at([self.below.count() - 1 - index])[0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::SKETCH_ERROR;

    #[test]
    fn values_of_both_signs_are_in_one_order() {
        assert!(Signed::default().summary().is_none());
        let mut state = 1_u64;
        for (count, below) in [(1, 1), (1, 0), (7, 3), (100, 99), (100, 100), (101, 1), (200, 100)] {
            let mut values: Vec<i64> = (0..count)
                .map(|n| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let size = (state >> 40) as i64 + 1;
                    if n < below {
                        -size
                    } else {
                        size - 1
                    }
                })
                .collect();
            for exact_up_to in [0, 1_000] {
                let mut signed = Signed::default();
                values.iter().for_each(|&value| signed.add(value, exact_up_to));
                values.sort_unstable();
                let found = signed.summary().unwrap();
                assert_eq!((found.count, found.min, found.max), (count as u64, values[0], values[count - 1]));
                assert_eq!(found.mean, values.iter().sum::<i64>() as f64 / count as f64);
                let error = if exact_up_to == 0 { SKETCH_ERROR } else { 0.0 };
                assert!(found.percentile_error <= error);
                for (percent, value) in [(50, found.p50), (99, found.p99)] {
                    let wanted = values[(count * percent).div_ceil(100) - 1] as f64;
                    assert!((value - wanted).abs() <= wanted.abs() * error * 1.001, "p{percent}: {value} {wanted}");
                }
            }
        }
    }
}
