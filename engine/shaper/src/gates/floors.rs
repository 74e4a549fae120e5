// SPDX-License-Identifier: Apache-2.0
//! Sums of floors, by which many cycles are counted at once.
use crate::Time;

/// Σ ⌊(a·k + b)/m⌋ for k from 0 to before n, with the steps of Euclid's algorithm.
pub(super) fn sum_of_floors(mut n: u128, mut m: u128, mut a: u128, mut b: u128) -> u128 {
    let mut sum = 0;
    loop {
        sum += n * n.saturating_sub(1) / 2 * (a / m) + n * (b / m);
        (a, b) = (a % m, b % m);
        let most = a * n + b;
        if most < m {
            return sum;
        }
        // The same points, counted along the other axis.
        (n, b) = (most / m, most % m);
        (m, a) = (a, m);
    }
}

pub(super) fn greatest_common_divisor(a: Time, b: Time) -> Time {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}
