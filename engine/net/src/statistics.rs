// SPDX-License-Identifier: Apache-2.0
//! What a run says about each stream, gathered while it runs.
use penstock_frame::Percentile;
use prefetch_index::prefetch_index;
use sketches_ddsketch::{Config, DDSketch};

use crate::conformance::Conformance;
use crate::near::near;
use crate::trace::Reason;
use penstock_shaper::Time;

/// Relative error of percentiles of more values than are kept.
pub const SKETCH_ERROR: f64 = 0.001;
/// Enough for every time from 1 ps to 1000 s, so that none is merged with another.
const SKETCH_BINS: u32 = 32_768;
/// What is not above it counts as 0.
const SKETCH_LEAST: f64 = 0.5;

/// Exact count, least, greatest and mean; percentiles exact up to a stated count.
#[derive(Clone, Default)]
#[repr(C)]
pub struct Distribution {
    count: u64,
    min: Time,
    max: Time,
    sum: u128,
    first: Time,
    /// So many values at the beginning are equal to the first.
    equal: u64,
    /// Those after them that are not in the sketch.
    values: Vec<Time>,
    /// Once there are more than are kept.
    sketch: Option<Box<DDSketch>>,
}

/// What is told of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary<T = Time> {
    pub count: u64,
    pub min: T,
    pub max: T,
    pub mean: f64,
    pub p50: f64,
    pub p99: f64,
    /// Relative; zero: the percentiles are exact.
    pub percentile_error: f64,
}

impl Distribution {
    pub(crate) const PERCENTILES: [Percentile; 2] = [Percentile::P50, Percentile::P99];

    /// Has what [`Self::add`] needs fetched into the cache.
    #[inline]
    fn bring(&self) {
        near(&self.count);
        near(&self.values);
    }

    /// Has the place of the next value fetched too.
    #[inline]
    fn bring_end(&self) {
        prefetch_index(&self.values, self.values.len());
    }

    #[inline]
    pub fn add(&mut self, value: Time, exact_up_to: usize) {
        let before = self.count;
        self.count += 1;
        self.sum += u128::from(value);
        if before == 0 {
            (self.min, self.max, self.first) = (value, value, value);
        }
        if self.equal == before && value == self.first {
            self.equal += 1;
            return;
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.values.push(value);
        if self.values.len() as u64 + self.equal > exact_up_to as u64 {
            self.sketch_values();
        }
    }

    /// Many at once, so that the sketch is near while it is needed.
    #[cold]
    fn sketch_values(&mut self) {
        let sketch = self.sketch.get_or_insert_with(|| {
            let mut sketch = DDSketch::new(Config::new(SKETCH_ERROR, SKETCH_BINS, SKETCH_LEAST));
            sketch.add_with_count(self.first as f64, std::mem::take(&mut self.equal));
            Box::new(sketch)
        });
        for value in self.values.drain(..) {
            sketch.add(value as f64);
        }
    }

    /// Adds the values of another one; the result does not depend on where which ones were gathered.
    pub(crate) fn absorb(&mut self, other: &Self, exact_up_to: usize) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = other.clone();
            return;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        if self.min == self.max {
            self.equal = self.count;
            return;
        }
        self.values.extend(std::iter::repeat_n(other.first, other.equal as usize));
        self.values.extend(&other.values);
        if self.count > exact_up_to as u64 || other.sketch.is_some() {
            self.sketch_values();
        }
        if let (Some(sketch), Some(other)) = (&mut self.sketch, &other.sketch) {
            // Both were made alike.
            _ = sketch.merge(other);
        }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Of all values in ascending order, from those that stand after the equal ones.
    fn exact(&self, sorted: &[Time], index: usize) -> Time {
        let below = sorted.partition_point(|&value| value < self.first);
        // The equal ones stand after those below them.
        match index.checked_sub(below) {
            None => sorted[index],
            Some(after) if after < self.equal as usize => self.first,
            Some(_) => sorted[index - self.equal as usize],
        }
    }

    /// Near that value: the extremes are known.
    fn sketched(&self, sketch: &DDSketch, index: u64) -> f64 {
        let last = self.count - 1;
        if index == last {
            return self.max as f64;
        }
        // The sketch rounds ranks down; a quarter keeps it from falling below a whole one.
        let part = (index as f64 + 0.25) / last as f64;
        let found = sketch.quantile(part).ok().flatten().unwrap_or(self.max as f64);
        found.clamp(self.min as f64, self.max as f64)
    }

    /// None without values.
    pub fn summary(&self) -> Option<Summary> {
        if self.count == 0 {
            return None;
        }
        let [p50, p99] = self.at(Self::PERCENTILES.map(|percentile| percentile.index(self.count)));
        Some(Summary {
            count: self.count,
            min: self.min,
            max: self.max,
            mean: self.sum as f64 / self.count as f64,
            p50,
            p99,
            percentile_error: self.percentile_error(),
        })
    }

    /// Relative; zero: percentiles are exact.
    pub(crate) fn percentile_error(&self) -> f64 {
        if self.sketch.is_some() {
            SKETCH_ERROR
        } else {
            0.0
        }
    }

    pub(crate) fn sum(&self) -> u128 {
        self.sum
    }

    /// Zero and zero without values.
    pub(crate) fn extremes(&self) -> (Time, Time) {
        (self.min, self.max)
    }

    /// The values at these places of all in ascending order, of which there is one or more.
    pub(crate) fn at<const N: usize>(&self, indices: [u64; N]) -> [f64; N] {
        match &self.sketch {
            Some(sketch) => {
                let mut sketch = sketch.clone();
                self.values.iter().for_each(|&value| sketch.add(value as f64));
                indices.map(|index| self.sketched(&sketch, index))
            }
            None => {
                let mut sorted = self.values.clone();
                sorted.sort_unstable();
                indices.map(|index| self.exact(&sorted, index as usize) as f64)
            }
        }
    }
}

/// Of one stream. Times of copies at its listeners.
#[derive(Clone, Default)]
#[repr(C)]
pub struct StreamStatistics {
    /// From sent by the talker to delivered.
    pub latency_ps: Distribution,
    /// Between successive deliveries at a listener.
    pub interval_ps: Distribution,
    pub delivered: u64,
    pub delivered_wire_bytes: u64,
    pub first_delivered_ps: Option<Time>,
    pub last_delivered_ps: Option<Time>,
    pub frames: u64,
    /// Frames times listeners.
    pub copies: u64,
    /// From created to sent by the talker.
    pub talker_wait_ps: Distribution,
    /// At the first bridge, of a stream with committed rate and burst.
    pub conformance: Option<Conformance>,
    /// By the number of the reason.
    pub dropped: [u64; Reason::COUNT],
    pub inside: u64,
    /// Frames that reached the talker's controller after their launch times.
    pub launch_missed: u64,
    /// Copies that had begun to leave a bridge when their frame turned out bad.
    pub spoiled: u64,
    /// Copies that nodes made, beside those that the way of the frame wants.
    pub duplicated: u64,
    /// Copies that nodes took out.
    pub eliminated: u64,
    /// Copies that came to a listener which had the frame.
    pub repeated: u64,
}

impl StreamStatistics {
    /// Adds what was gathered elsewhere in the network.
    pub(crate) fn absorb(&mut self, other: &Self, exact_up_to: usize) {
        fn of<T>(one: Option<T>, two: Option<T>, choose: impl FnOnce(T, T) -> T) -> Option<T> {
            match (one, two) {
                (Some(one), Some(two)) => Some(choose(one, two)),
                (one, two) => one.or(two),
            }
        }
        self.latency_ps.absorb(&other.latency_ps, exact_up_to);
        self.interval_ps.absorb(&other.interval_ps, exact_up_to);
        self.talker_wait_ps.absorb(&other.talker_wait_ps, exact_up_to);
        self.delivered += other.delivered;
        self.delivered_wire_bytes += other.delivered_wire_bytes;
        self.first_delivered_ps = of(self.first_delivered_ps, other.first_delivered_ps, Time::min);
        self.last_delivered_ps = of(self.last_delivered_ps, other.last_delivered_ps, Time::max);
        self.frames += other.frames;
        self.copies += other.copies;
        self.inside += other.inside;
        self.launch_missed += other.launch_missed;
        self.duplicated += other.duplicated;
        self.eliminated += other.eliminated;
        self.repeated += other.repeated;
        self.spoiled += other.spoiled;
        for (dropped, more) in self.dropped.iter_mut().zip(other.dropped) {
            *dropped += more;
        }
        // At the first bridge only, so that one of the two has seen nothing.
        self.conformance = of(self.conformance.take(), other.conformance.clone(), |one, two| match two.frames {
            0 => one,
            _ => two,
        });
    }

    /// Has what a delivery needs fetched into the cache.
    #[inline]
    pub fn bring(&self) {
        self.latency_ps.bring();
        self.interval_ps.bring();
        near(&self.delivered);
        near(&self.last_delivered_ps);
    }

    /// Has the places of the next values fetched too.
    #[inline]
    pub fn bring_ends(&self) {
        self.latency_ps.bring_end();
        self.interval_ps.bring_end();
    }

    /// Has what a talker needs fetched into the cache.
    #[inline]
    pub fn bring_wait(&self) {
        near(&self.frames);
        self.talker_wait_ps.bring();
        near(&self.conformance);
        near(&self.dropped); // where the conformance ends, which is longer than a line of the cache
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least value that so many in a hundred do not exceed, by counting.
    fn counted(values: &[u64], percent: usize) -> u64 {
        let enough =
            |value: &&u64| values.iter().filter(|other| other <= value).count() * 100 >= percent * values.len();
        *values.iter().filter(enough).min().unwrap()
    }

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let mut d = Distribution::default();
        assert!(d.summary().is_none());
        for value in [5, 1, 4, 2] {
            d.add(value, 10);
        }
        let s = d.summary().unwrap();
        assert_eq!((s.count, s.min, s.max, s.mean), (4, 1, 5, 3.0));
        assert_eq!((s.p50, s.p99, s.percentile_error), (2.0, 5.0, 0.0), "half of them are 2 or less");
    }

    #[test]
    fn of_any_number_of_values_they_are_as_defined_or_off_by_the_error_that_is_stated() {
        let mut state = 1_u64;
        for count in 1..=200 {
            // Ties, zeros and a wide range.
            let values: Vec<Time> = (0..count)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 60) * (state >> 40 & 0xff)
                })
                .collect();
            for exact_up_to in [0, 1, count - 1, count, 1_000] {
                let mut d = Distribution::default();
                values.iter().for_each(|&value| d.add(value, exact_up_to));
                let s = d.summary().unwrap();
                assert!(s.percentile_error == 0.0 || exact_up_to < count);
                for (percent, found) in [(50, s.p50), (99, s.p99)] {
                    let wanted = counted(&values, percent) as f64;
                    let off = (found - wanted).abs();
                    assert!(off <= wanted * s.percentile_error * 1.001, "p{percent} of {values:?}: {found} {wanted}");
                }
            }
        }
    }

    #[test]
    fn one_value_more_than_are_kept_leaves_p99_at_the_top() {
        let mut d = Distribution::default();
        (1..=51).for_each(|value| d.add(value * 1_000_000, 50));
        let s = d.summary().unwrap();
        assert_eq!((s.p99, s.percentile_error), (51_000_000.0, SKETCH_ERROR));
    }

    #[test]
    fn equal_values_take_no_room() {
        let mut d = Distribution::default();
        for value in [7; 50].into_iter().chain([3; 49]).chain([9]) {
            d.add(value, 100);
        }
        assert_eq!(d.values.len(), 50);
        let s = d.summary().unwrap();
        assert_eq!((s.min, s.max, s.p50, s.p99, s.percentile_error), (3, 9, 7.0, 7.0, 0.0));
        assert_eq!(s.mean, (350.0 + 147.0 + 9.0) / 100.0);
    }

    #[test]
    fn above_the_count_percentiles_keep_their_stated_error() {
        let mut d = Distribution::default();
        let mut exact = Vec::new();
        let mut state = 1_u64;
        for _ in 0..50_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = (state >> 33) * (state >> 50);
            d.add(value, 1_000);
            exact.push(value);
        }
        exact.sort_unstable();
        let s = d.summary().unwrap();
        assert_eq!((s.count, s.min, s.max), (50_000, exact[0], exact[49_999]));
        assert_eq!(s.mean, exact.iter().map(|&v| u128::from(v)).sum::<u128>() as f64 / 50_000.0);
        assert_eq!(s.percentile_error, SKETCH_ERROR);
        for (index, found) in [(24_999, s.p50), (49_499, s.p99)] {
            let wanted = exact[index] as f64;
            assert!((found / wanted - 1.0).abs() <= SKETCH_ERROR * 1.001, "{found} {wanted}");
        }
    }
}
