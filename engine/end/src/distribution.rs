// SPDX-License-Identifier: Apache-2.0
//! The distribution of a quantity in nanoseconds: exact least, largest and mean; percentiles exact up to a count.
use hdrhistogram::Histogram;
use penstock_frame::Percentile;
use serde::Serialize;

/// Up to so many values percentiles are exact.
pub const EXACT_UP_TO: usize = 500_000;
/// Beyond, they are within one part in a thousand.
const DIGITS: u8 = 3;
const PERCENTILES: [Percentile; 5] =
    [Percentile::P50, Percentile::P90, Percentile::P99, Percentile::P999, Percentile::P9999];

/// Values one after the other; negative ones too.
#[derive(Debug, Default)]
pub struct Distribution {
    count: u64,
    sum: i128,
    sum_of_sizes: u128,
    least: i64,
    largest: i64,
    values: Vec<i64>,
    coarse: Option<Coarse>,
}

/// Histograms of the values below zero, by size, and of the others.
#[derive(Debug)]
struct Coarse {
    below: Histogram<u64>,
    others: Histogram<u64>,
}

/// What is said of a distribution, in ns. The mean of sizes is that of the values without their signs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    pub count: u64,
    pub min: Option<i64>,
    pub mean: Option<f64>,
    pub mean_of_sizes: Option<f64>,
    pub p50: Option<i64>,
    pub p90: Option<i64>,
    pub p99: Option<i64>,
    pub p999: Option<i64>,
    pub p9999: Option<i64>,
    pub max: Option<i64>,
    pub peak_to_peak: Option<i64>,
    pub percentiles_exact: bool,
}

impl Distribution {
    /// Takes a value.
    pub fn add(&mut self, value: i64) {
        let first = self.count == 0;
        self.least = if first { value } else { self.least.min(value) };
        self.largest = if first { value } else { self.largest.max(value) };
        self.count += 1;
        self.sum += i128::from(value);
        self.sum_of_sizes += u128::from(value.unsigned_abs());
        if let Some(coarse) = &mut self.coarse {
            coarse.add(value);
            return;
        }
        self.values.push(value);
        if self.values.len() > EXACT_UP_TO {
            self.coarse = Coarse::new(&self.values);
            if self.coarse.is_some() {
                self.values = Vec::new();
            }
        }
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All that is said of it.
    pub fn describe(&self) -> Description {
        let some = self.count > 0;
        let mut sorted = self.values.clone();
        sorted.sort_unstable();
        let [p50, p90, p99, p999, p9999] = PERCENTILES.map(|which| some.then(|| self.percentile(&sorted, which)));
        Description {
            count: self.count,
            min: some.then_some(self.least),
            mean: some.then(|| self.sum as f64 / self.count as f64),
            mean_of_sizes: some.then(|| self.sum_of_sizes as f64 / self.count as f64),
            p50,
            p90,
            p99,
            p999,
            p9999,
            max: some.then_some(self.largest),
            peak_to_peak: some.then(|| self.largest.saturating_sub(self.least)),
            percentiles_exact: self.coarse.is_none(),
        }
    }

    fn percentile(&self, sorted: &[i64], which: Percentile) -> i64 {
        let index = which.index(self.count);
        match &self.coarse {
            Some(coarse) => coarse.at(index + 1).clamp(self.least, self.largest),
            None => sorted[index as usize],
        }
    }
}

impl Coarse {
    fn new(values: &[i64]) -> Option<Coarse> {
        let mut coarse = Coarse { below: Histogram::new(DIGITS).ok()?, others: Histogram::new(DIGITS).ok()? };
        values.iter().for_each(|&value| coarse.add(value));
        Some(coarse)
    }

    fn add(&mut self, value: i64) {
        let side = if value < 0 { &mut self.below } else { &mut self.others };
        // It grows as needed, so that any size has room.
        let _ = side.record(value.unsigned_abs());
    }

    fn at(&self, rank: u64) -> i64 {
        let below = self.below.len();
        if rank > below {
            return self.others.value_at_quantile((rank - below) as f64 / self.others.len() as f64) as i64;
        }
        // The smallest value is that with the largest size.
        -(self.below.value_at_quantile((below - rank + 1) as f64 / below as f64) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_numbers() {
        let described = Distribution::default().describe();
        assert_eq!((described.count, described.min, described.p50), (0, None, None));
    }

    #[test]
    fn small_ones_by_hand() {
        let mut distribution = Distribution::default();
        [5, -3, 10, 0].into_iter().for_each(|value| distribution.add(value));
        let described = distribution.describe();
        assert_eq!((described.min, described.max, described.peak_to_peak), (Some(-3), Some(10), Some(13)));
        assert_eq!((described.mean, described.mean_of_sizes), (Some(3.0), Some(4.5)));
        assert_eq!((described.p50, described.p99), (Some(0), Some(10)));
    }

    #[test]
    fn percentiles_are_those_of_the_nearest_rank_whatever_the_count() {
        for count in 1..=200_i64 {
            let mut distribution = Distribution::default();
            // In an order that is neither ascending nor descending, half of them below zero.
            (0..count).for_each(|n| distribution.add((n * 7_919) % count - count / 2));
            let mut sorted = distribution.values.clone();
            sorted.sort_unstable();
            let counted =
                |percent: i64| sorted.iter().copied().zip(1..).find(|(_, up_to)| up_to * 100 >= percent * count);
            let described = distribution.describe();
            for (percent, found) in [(50, described.p50), (90, described.p90), (99, described.p99)] {
                assert_eq!(found, counted(percent).map(|(value, _)| value), "p{percent} of {count}");
            }
        }
    }

    #[test]
    fn many_values_stay_within_a_part_in_a_thousand() {
        let mut distribution = Distribution::default();
        let half = EXACT_UP_TO as i64;
        (-half..half).for_each(|value| distribution.add(value));
        let described = distribution.describe();
        assert!(!described.percentiles_exact);
        assert_eq!((described.min, described.max), (Some(-half), Some(half - 1)));
        let near = |found: Option<i64>, wanted: i64| (found.unwrap() - wanted).abs() <= wanted.abs() / 1000 + 1;
        assert!(near(described.p90, (half as f64 * 0.8) as i64), "{described:?}");
        assert!(near(described.p50, -1), "{described:?}");
    }
}
