// SPDX-License-Identifier: Apache-2.0
//! By how much a release is displaced, as a host's software would do it.
use rand::RngExt;
use rand_distr::{Exp1, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::describe::Jitter;

/// In ps.
pub fn draw(jitter: &Jitter, random: &mut Xoshiro256PlusPlus) -> i64 {
    match jitter {
        Jitter::UniformPs(0) => 0,
        Jitter::UniformPs(most) => i64::try_from(random.random_range(0..=*most)).unwrap_or(i64::MAX),
        Jitter::NormalPs(deviation) => (*deviation as f64 * random.sample::<f64, _>(StandardNormal)).round() as i64,
        Jitter::ExponentialPs(mean) => (*mean as f64 * random.sample::<f64, _>(Exp1)).round() as i64,
        Jitter::ValuesPs(values) => values.get(random.random_range(0..values.len().max(1))).copied().unwrap_or(0),
    }
}
