// SPDX-License-Identifier: Apache-2.0
//! Arrival curves: how much may come within any time of a length. Concave, and so the least of some straight lines.
use crate::{ceil_div, floor_div, Amount, Time};

/// A straight line: a token bucket, or what a link carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub burst: Amount,
    /// b/s
    pub rate: i64,
}

impl Line {
    #[inline]
    pub fn at(self, time: Time) -> Amount {
        self.burst + Amount::from(self.rate) * Amount::from(time)
    }
}

/// Of a sum.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'a> {
    Line(Line),
    Curve(&'a Curve),
}

impl Part<'_> {
    pub fn at(self, time: Time) -> Amount {
        match self {
            Self::Line(line) => line.at(time),
            Self::Curve(curve) => curve.at(time),
        }
    }
}

/// The least of its lines, each of which holds from a whole picosecond on up to the next one's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Curve {
    /// From when on, at first zero, and the line.
    pieces: Vec<(Time, Line)>,
}

impl Curve {
    /// Nothing comes.
    pub fn zero() -> Self {
        Self { pieces: vec![(0, Line { burst: 0, rate: 0 })] }
    }

    /// The least of these; none of no line.
    pub fn least(mut lines: Vec<Line>) -> Option<Self> {
        lines.sort_unstable_by_key(|line| (-line.rate, line.burst));
        let mut pieces: Vec<(Time, Line)> = Vec::with_capacity(lines.len());
        for line in lines {
            let mut from = 0;
            while let Some(&(begin, before)) = pieces.last() {
                if before.burst >= line.burst {
                    pieces.pop();
                    continue;
                }
                if before.rate == line.rate {
                    from = Time::MAX;
                    break;
                }
                let crossing = ceil_div(line.burst - before.burst, Amount::from(before.rate - line.rate));
                from = Time::try_from(crossing).unwrap_or(Time::MAX);
                if from > begin {
                    break;
                }
                pieces.pop();
                from = 0;
            }
            if from < Time::MAX {
                pieces.push((from, line));
            }
        }
        (!pieces.is_empty()).then_some(Self { pieces })
    }

    pub fn line(line: Line) -> Self {
        Self { pieces: vec![(0, line)] }
    }

    /// All of these together, each displaced by a time; none, if one of them is none.
    pub fn sum<'a>(parts: impl IntoIterator<Item = Option<(Part<'a>, Time)>>) -> Option<Self> {
        let (mut burst, mut rate) = (0, 0);
        let mut changes: Vec<(Time, Amount, i64)> = Vec::new();
        for part in parts {
            let (part, late) = part?;
            let curve = match part {
                Part::Line(line) => {
                    burst += line.at(late);
                    rate += line.rate;
                    continue;
                }
                Part::Curve(curve) => curve,
            };
            let first = curve.pieces.iter().rposition(|&(from, _)| from <= late).unwrap_or(0);
            let mut before = curve.pieces[first].1;
            burst += before.at(late);
            rate += before.rate;
            for &(from, line) in &curve.pieces[first + 1..] {
                changes.push((from - late, line.at(late) - before.at(late), line.rate - before.rate));
                before = line;
            }
        }
        changes.sort_unstable_by_key(|&(from, ..)| from);
        let mut pieces = Vec::with_capacity(changes.len() + 1);
        pieces.push((0, Line { burst, rate }));
        for (from, more, faster) in changes {
            (burst, rate) = (burst + more, rate + faster);
            match pieces.last_mut() {
                Some(last) if last.0 == from => last.1 = Line { burst, rate },
                _ => pieces.push((from, Line { burst, rate })),
            }
        }
        Some(Self { pieces })
    }

    /// No more than a line.
    pub fn capped(&self, line: Line) -> Self {
        let lines = self.pieces.iter().map(|&(_, own)| own).chain([line]).collect();
        Self::least(lines).unwrap_or_else(Self::zero)
    }

    /// What may come where everything is delayed by a time that differs by so much.
    pub fn jittered(&self, jitter: Time) -> Self {
        let shifted = |line: Line| Line { burst: line.at(jitter), rate: line.rate };
        let first = self.pieces.partition_point(|&(from, _)| from <= jitter) - 1;
        let pieces = self.pieces[first..].iter().map(|&(from, line)| ((from - jitter).max(0), shifted(line))).collect();
        Self { pieces }
    }

    /// Each line changed, with no rate below another's that it was above.
    pub fn map(&self, change: impl Fn(Line) -> Line) -> Self {
        Self::least(self.pieces.iter().map(|&(_, line)| change(line)).collect()).unwrap_or_else(Self::zero)
    }

    #[inline]
    pub fn at(&self, time: Time) -> Amount {
        let piece = self.pieces.iter().rposition(|&(from, _)| from <= time).unwrap_or(0);
        self.pieces[piece].1.at(time)
    }

    /// The line that holds in the end.
    pub fn last(&self) -> Line {
        self.pieces[self.pieces.len() - 1].1
    }

    /// In b/s, as long as no time has passed.
    pub fn fastest(&self) -> i64 {
        self.pieces[0].1.rate
    }

    pub fn lines(&self) -> impl Iterator<Item = Line> + '_ {
        self.pieces.iter().map(|&(_, line)| line)
    }

    /// Where another line begins, zero first.
    pub fn turns(&self) -> impl Iterator<Item = Time> + '_ {
        self.pieces.iter().map(|&(from, _)| from)
    }

    /// The line that holds at a time, and when it ends; `piece` is where it was looked for before, at an earlier time.
    #[inline]
    pub fn piece_from(&self, time: Time, piece: &mut usize) -> (Line, Time) {
        while self.pieces.get(*piece + 1).is_some_and(|&(from, _)| from <= time) {
            *piece += 1;
        }
        (self.pieces[*piece].1, self.pieces.get(*piece + 1).map_or(Time::MAX, |&(from, _)| from))
    }

    /// The first time at which more than this may have come; none: never.
    pub fn first_above(&self, amount: Amount) -> Option<Time> {
        for (index, &(from, line)) in self.pieces.iter().enumerate() {
            let end = self.pieces.get(index + 1).map_or(Time::MAX, |&(next, _)| next);
            if line.at(from) > amount {
                return Some(from);
            }
            if line.rate > 0 {
                let time = floor_div(amount - line.burst, line.rate.into()) + 1;
                if time < Amount::from(end) {
                    return Time::try_from(time).ok();
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines() -> impl Strategy<Value = Vec<Line>> {
        prop::collection::vec((0_i128..1_000, 0_i64..40).prop_map(|(burst, rate)| Line { burst, rate }), 1..6)
    }

    fn least(lines: &[Line], time: Time) -> Amount {
        lines.iter().map(|line| line.at(time)).min().unwrap()
    }

    proptest! {
        /// Against the definition, at every time.
        #[test]
        fn curves_are_what_brute_force_says(a in lines(), b in lines(), cap in lines(), jitter in 0_i64..60) {
            let (one, other) = (Curve::least(a.clone()).unwrap(), Curve::least(b.clone()).unwrap());
            let sum = Curve::sum([Some((Part::Curve(&one), 0)), Some((Part::Curve(&other), 0))]).unwrap();
            let capped = sum.capped(cap[0]);
            let late = capped.jittered(jitter);
            let also_late = Curve::sum([Some((Part::Curve(&capped), jitter))]).unwrap();
            for time in 0..400 {
                let both = least(&a, time) + least(&b, time);
                prop_assert_eq!(one.at(time), least(&a, time));
                prop_assert_eq!(sum.at(time), both);
                prop_assert_eq!(capped.at(time), both.min(cap[0].at(time)));
                prop_assert_eq!(late.at(time), capped.at(time + jitter));
                prop_assert_eq!(also_late.at(time), late.at(time));
            }
        }

        /// Wherever it was looked for at an earlier time.
        #[test]
        fn a_piece_is_that_of_its_time(a in lines(), looks in prop::collection::vec(0_i64..30, 1..9)) {
            let curve = Curve::least(a.clone()).unwrap();
            let (mut time, mut piece) = (0, 0);
            for later in looks {
                time += later;
                let (line, end) = curve.piece_from(time, &mut piece);
                prop_assert_eq!(line.at(time), least(&a, time));
                prop_assert_eq!(end, curve.turns().find(|&turn| turn > time).unwrap_or(Time::MAX));
            }
        }

        #[test]
        fn first_above_is_the_first(a in lines(), amount in 0_i128..4_000) {
            let curve = Curve::least(a).unwrap();
            let found = curve.first_above(amount);
            let expected = (0..5_000).find(|&time| curve.at(time) > amount);
            match (found, expected) {
                (Some(time), None) => prop_assert!(time >= 5_000 && curve.at(time) > amount && curve.at(time - 1) <= amount),
                _ => prop_assert_eq!(found, expected),
            }
        }
    }
}
