// SPDX-License-Identifier: Apache-2.0
//! By how much a release is displaced, as a host's software would do it.
use rand::RngExt;
use rand_distr::{Exp1, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::SourceError;
use crate::describe::Jitter;

/// Whether there is something to draw from.
pub fn check(jitter: Option<&Jitter>) -> Result<(), SourceError> {
    match jitter {
        Some(Jitter::ValuesPs(values)) if values.is_empty() => Err(SourceError::Empty { key: "values_ps" }),
        Some(Jitter::QuantilesPs(points)) => {
            let rises = points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
            let whole = points.first().is_some_and(|p| p.0 == 0.0) && points.last().is_some_and(|p| p.0 == 1.0);
            (rises && whole).then_some(()).ok_or(SourceError::Quantiles)
        }
        _ => Ok(()),
    }
}

/// In ps.
pub fn draw(jitter: &Jitter, random: &mut Xoshiro256PlusPlus) -> i64 {
    match jitter {
        Jitter::UniformPs(0) => 0,
        Jitter::UniformPs(most) => i64::try_from(random.random_range(0..=*most)).unwrap_or(i64::MAX),
        Jitter::NormalPs(deviation) => (*deviation as f64 * random.sample::<f64, _>(StandardNormal)).round() as i64,
        Jitter::ExponentialPs(mean) => (*mean as f64 * random.sample::<f64, _>(Exp1)).round() as i64,
        Jitter::ValuesPs(values) => values.get(random.random_range(0..values.len().max(1))).copied().unwrap_or(0),
        Jitter::QuantilesPs(points) => quantile(points, random.random()),
    }
}

/// The value at a part of the distribution, 0 to 1.
fn quantile(points: &[(f64, i64)], part: f64) -> i64 {
    let above = points.partition_point(|point| point.0 <= part).clamp(1, points.len() - 1);
    let ((low, from), (high, to)) = (points[above - 1], points[above]);
    from + ((to - from) as f64 * ((part - low) / (high - low))).round() as i64
}
