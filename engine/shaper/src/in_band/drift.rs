// SPDX-License-Identifier: Apache-2.0
//! The error of a clock as a line over time, by least squares over the samples that were on their way for least time.
use super::Time;

/// A slope is in 2^-50: some 10^-15.
pub const SLOPE_BITS: u32 = 50;
/// What the regression counts time in, so that its sums have room: 1024 ns.
const COARSE_BITS: u32 = 32 + 10;
/// Three days, in 2^-32 ns.
const MOST_SPAN: Time = 1 << (48 + 32);
/// What was on its way for longer waited on one of both ways: one in so many is looked at, and so many at least.
const ONE_IN: usize = 16;
const LEAST_SAMPLES: usize = 8;

/// What one frame that went there and back tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// By the origin's clock: the middle between sending and receiving.
    pub at: Time,
    /// Of both ways, without the time at the follower.
    pub round_trip: Time,
    /// What the follower's clock is ahead, if both ways took equally long.
    pub error: Time,
}

impl Sample {
    /// Of the four stamps of a probe and its answer.
    pub fn new(sent: Time, received: Time, answered: Time, back: Time) -> Self {
        let middle = (sent + back) / 2;
        Self { at: middle, round_trip: back - sent - (answered - received), error: (received + answered) / 2 - middle }
    }
}

/// When the origin's clock shows `at`, the follower's is ahead by `intercept`, and by `slope` more for each unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drift {
    pub at: Time,
    pub intercept: Time,
    /// In 2^-50.
    pub slope: i64,
}

impl Drift {
    /// None: too few samples, at one time, or over more than three days.
    pub fn of(samples: &[Sample]) -> Option<Self> {
        let (chosen, at, intercept) = middle_of(samples)?;
        let (mut products, mut squares) = (0, 0);
        for sample in &chosen {
            let since = sample.at - at;
            if since.abs() > MOST_SPAN || (sample.error - intercept).abs() > MOST_SPAN >> 12 {
                return None;
            }
            let coarse = since >> COARSE_BITS;
            products += coarse * (sample.error - intercept);
            squares += coarse * coarse;
        }
        if squares == 0 {
            return None;
        }
        // Errors in 2^-32 ns over time in 2^10 ns are in 2^-42.
        let slope = i64::try_from((products << (SLOPE_BITS - COARSE_BITS)) / squares).ok()?;
        Some(Self { at, intercept, slope })
    }

    /// The same slope through other samples.
    pub fn through(slope: i64, samples: &[Sample]) -> Option<Self> {
        let (_, at, intercept) = middle_of(samples)?;
        Some(Self { at, intercept, slope })
    }

    /// By how much the follower is ahead at a time of the origin's.
    pub fn error_at(&self, at: Time) -> Time {
        self.intercept + (((at - self.at) * Time::from(self.slope)) >> SLOPE_BITS)
    }
}

/// The samples that were on their way for least time, and their mean.
fn middle_of(samples: &[Sample]) -> Option<(Vec<Sample>, Time, Time)> {
    let mut chosen = samples.to_vec();
    chosen.sort_by_key(|sample| sample.round_trip);
    chosen.truncate((samples.len() / ONE_IN).max(LEAST_SAMPLES));
    let count = Some(chosen.len()).filter(|&count| count > 1)? as Time;
    let first = chosen.first()?.at;
    let at = first + chosen.iter().map(|sample| sample.at - first).sum::<Time>() / count;
    let intercept = chosen.iter().map(|sample| sample.error).sum::<Time>() / count;
    Some((chosen, at, intercept))
}
