// SPDX-License-Identifier: Apache-2.0
//! Frames that get tags on their way, or lose them: by how much more of a stream is on one link than on another.
//!
//! Of all frames of a stream it is the shortest or the longest that grows by the most in parts of itself, since all of them
//! grow by as many bytes, and padding is the shortest's alone. So whatever limits the bytes of a stream at one port limits
//! them at another, times that part.
use std::cmp::Ordering;

use crate::curve::{Curve, Line};
use crate::{ceil_div, Amount};

/// Of the shortest and the longest frame, on the wire.
pub(crate) type Lengths = (u32, u32);

/// How much is there of what was so much before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    to: u32,
    from: u32,
}

impl Growth {
    pub const NONE: Self = Self { to: 1, from: 1 };

    /// The most of any frame of these lengths before and after.
    pub fn between(before: Lengths, after: Lengths) -> Self {
        let [shortest, longest] = [(before.0, after.0), (before.1, after.1)].map(|(from, to)| Self { to, from });
        shortest.max(longest)
    }

    pub fn amount(self, amount: Amount) -> Amount {
        if self.is_none() {
            return amount;
        }
        ceil_div(amount * Amount::from(self.to), self.from.into())
    }

    pub fn line(self, line: Line) -> Line {
        Line { burst: self.amount(line.burst), rate: self.amount(line.rate.into()) as i64 }
    }

    pub fn curve(self, curve: &Curve) -> Curve {
        curve.map(|line| self.line(line))
    }

    pub fn is_none(self) -> bool {
        self.to == self.from
    }
}

impl Ord for Growth {
    fn cmp(&self, other: &Self) -> Ordering {
        let crossed = |one: u32, another: u32| u64::from(one) * u64::from(another);
        crossed(self.to, other.from).cmp(&crossed(other.to, self.from))
    }
}

impl PartialOrd for Growth {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Growth {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Growth {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Frames of any lengths between, each longer by as many bytes or shorter, and padded to 84 B on the wire.
        #[test]
        fn no_frames_grow_by_more(
            frames in prop::collection::vec(84_u32..1_600, 1..8), change in -10_i32..11, pick in any::<prop::sample::Index>(),
        ) {
            let grown = |bytes: u32| bytes.saturating_add_signed(change).max(84);
            let ends = |lengths: &dyn Fn(u32) -> u32| {
                let all = || frames.iter().map(|&bytes| lengths(bytes));
                (all().min().unwrap(), all().max().unwrap())
            };
            let growth = Growth::between(ends(&|bytes| bytes), ends(&grown));
            let some = &frames[..=pick.index(frames.len())];
            let sum = |lengths: &dyn Fn(u32) -> u32| some.iter().map(|&bytes| Amount::from(lengths(bytes))).sum::<Amount>();
            prop_assert!(growth.amount(sum(&|bytes| bytes)) >= sum(&grown));
        }
    }

    #[test]
    fn the_shortest_frame_grows_by_the_most_and_the_longest_loses_the_least() {
        assert_eq!(Growth::between((84, 1_520), (90, 1_526)).amount(840), 900);
        assert_eq!(Growth::between((84, 1_520), (84, 1_516)).amount(840), 840);
        assert_eq!(Growth::between((520, 1_520), (516, 1_516)).amount(1_520_000), 1_516_000);
        assert!(Growth::between((84, 84), (88, 88)) < Growth::between((84, 84), (90, 90)));
        let line = Line { burst: 84, rate: 840 };
        assert_eq!(Growth::between((84, 84), (90, 90)).line(line), Line { burst: 90, rate: 900 });
    }
}
