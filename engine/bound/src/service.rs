// SPDX-License-Identifier: Apache-2.0
//! What a class gets from an instant on in which it begins to wait, against all that may go before it.
//!
//! Of the time in which its frames can begin, each picosecond in which none of them is on the wire is one of a class above,
//! or of the one lower frame that had begun. So with R the rate, U the usable time and I_j what class j sends,
//!
//! ```text
//! S(t) = R U(t) - l_low - sum over j of I_j(t)
//! I_j(t) = least of a_j(t + D_j), R V_j(t), idleSlope_j O_j(t) + credit_max_j - credit_min_j
//! ```
//!
//! a_j are its arrivals and D_j is for how long they may have waited, V_j the usable time in which its gate may be open, and
//! O_j the time in which its credit may rise.
use crate::curve::{Curve, Line};
use crate::windows::{Cycle, Phase, Piece};
use crate::{ceil_div, Amount, Time};

/// A class that goes first.
#[derive(Clone, Debug)]
pub(crate) struct Above {
    pub class: usize,
    /// With what may have waited before.
    pub arrivals: Option<Curve>,
    /// What its credit lets through, by how long its gate is open.
    pub credit: Option<Line>,
}

#[derive(Clone, Debug)]
pub(crate) struct Service {
    pub rate: i64,
    /// Of a port without gates, the longest lower frame; of one with gates, phases say it.
    pub low: Amount,
    pub above: Vec<Above>,
    pub cycle: Option<Cycle>,
}

/// A time in which the service grows evenly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub from: Time,
    /// `Time::MAX`: for ever.
    pub to: Time,
    /// A frame of the class can begin.
    pub usable: bool,
    /// At its begin.
    pub served: Amount,
    pub slope: i64,
    /// For how long the own gate may have been open before, and whether it may be now.
    pub opened: Time,
    pub may_open: bool,
}

impl Segment {
    pub fn at(&self, time: Time) -> Amount {
        self.served + Amount::from(self.slope) * Amount::from(time - self.from)
    }
}

const ALWAYS: Piece = Piece { length: Time::MAX, usable: true, may_open: true, is_open: true, others: 0xFF };
/// Of a port without gates.
pub(crate) const ANY: Phase = Phase { begin: 0, blocked: 0, slack: 0, others: 0 };

impl Service {
    /// Tells segment after segment from a phase on until it is told to stop. False: a class above is without any limit.
    pub fn walk(&self, phase: Phase, mut told: impl FnMut(&Segment) -> bool) -> bool {
        if self.above.iter().any(|above| !self.is_limited(above)) {
            return false;
        }
        let (mut index, mut passed) = match &self.cycle {
            Some(cycle) => cycle.piece_at(phase.begin - phase.blocked),
            None => (0, 0),
        };
        let slack = |above: &Above| if phase.others >> above.class & 1 == 1 { phase.slack } else { 0 };
        let mut shared: Vec<Time> = self.above.iter().map(slack).collect();
        let mut opened: Vec<Time> = vec![phase.slack; self.above.len()];
        let (mut at, mut usable_time, mut own_opened) = (0, 0, phase.slack);
        loop {
            let piece = self.cycle.as_ref().map_or(ALWAYS, |cycle| cycle.pieces[index]);
            let mut left = if piece.length == Time::MAX { Time::MAX } else { piece.length - passed };
            let usable = piece.usable && at >= phase.blocked;
            if at < phase.blocked {
                left = left.min(phase.blocked - at);
            }
            let mut served = Amount::from(self.rate) * Amount::from(usable_time) - self.low;
            let mut slope = if usable { self.rate } else { 0 };
            for (number, above) in self.above.iter().enumerate() {
                let may_open = piece.others >> above.class & 1 == 1;
                let (line, lasts) = self.least(above, at, may_open, usable, shared[number], opened[number]);
                served -= line.burst;
                slope -= line.rate;
                left = left.min(lasts);
            }
            let to = if left == Time::MAX { Time::MAX } else { at + left };
            let segment = Segment { from: at, to, usable, served, slope, opened: own_opened, may_open: piece.may_open };
            if !told(&segment) || to == Time::MAX {
                return true;
            }
            for (number, above) in self.above.iter().enumerate() {
                if piece.others >> above.class & 1 == 1 {
                    opened[number] += left;
                    shared[number] += if usable { left } else { 0 };
                }
            }
            usable_time += if usable { left } else { 0 };
            own_opened += if piece.may_open { left } else { 0 };
            (at, passed) = (to, passed.saturating_add(left));
            if passed >= piece.length {
                (index, passed) = ((index + 1) % self.cycle.as_ref().map_or(1, |cycle| cycle.pieces.len()), 0);
            }
        }
    }

    /// Whether no class above is open when frames of the class can begin.
    pub fn is_undisturbed(&self) -> bool {
        let above = self.above.iter().fold(0_u8, |mask, above| mask | 1 << above.class);
        self.cycle
            .as_ref()
            .is_some_and(|cycle| cycle.pieces.iter().all(|piece| !piece.usable || piece.others & above == 0))
    }

    fn is_limited(&self, above: &Above) -> bool {
        let is_shut =
            |cycle: &Cycle| cycle.pieces.iter().any(|piece| piece.usable && piece.others >> above.class & 1 == 0);
        above.arrivals.is_some() || above.credit.is_some() || self.cycle.as_ref().is_some_and(is_shut)
    }

    /// What a class above sends at most: up to a time, as fast from then on, and for how long that is so.
    fn least(&self, above: &Above, at: Time, may_open: bool, usable: bool, shared: Time, opened: Time) -> (Line, Time) {
        let mut lines: [Option<Line>; 3] = [None; 3];
        let mut lasts = Time::MAX;
        if let Some(arrivals) = &above.arrivals {
            let (line, end) = arrivals.piece_at(at);
            lines[0] = Some(Line { burst: line.at(at), rate: line.rate });
            lasts = if end == Time::MAX { end } else { end - at };
        }
        if let Some(credit) = above.credit {
            lines[1] = Some(Line { burst: credit.at(opened), rate: if may_open { credit.rate } else { 0 } });
        }
        if self.cycle.is_some() {
            let burst = Amount::from(self.rate) * Amount::from(shared);
            lines[2] = Some(Line { burst, rate: if may_open && usable { self.rate } else { 0 } });
        }
        let Some(least) = lines.iter().flatten().copied().min_by_key(|line| (line.burst, line.rate)) else {
            return (Line { burst: 0, rate: 0 }, lasts);
        };
        for other in lines.iter().flatten().filter(|other| other.rate < least.rate) {
            let crossing = ceil_div(other.burst - least.burst, Amount::from(least.rate - other.rate)).max(1);
            lasts = lasts.min(Time::try_from(crossing).unwrap_or(Time::MAX));
        }
        (least, lasts)
    }
}
