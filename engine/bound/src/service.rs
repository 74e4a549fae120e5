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
use std::rc::Rc;

use crate::curve::{Curve, Line, Part};
use crate::windows::{Cycle, Phase, Piece};
use crate::{ceil_div, Amount, Time, CLASSES};

/// A class that goes first.
#[derive(Clone, Debug)]
pub(crate) struct Above {
    /// None: several classes together, of whose gates nobody asks.
    pub class: Option<usize>,
    /// With what may have waited before.
    pub arrivals: Option<Rc<Curve>>,
    /// What its credit lets through, by how long its gate is open.
    pub credit: Option<Line>,
}

#[derive(Clone, Debug)]
pub(crate) struct Service {
    pub rate: i64,
    /// Of a port without gates, the longest lower frame; of one with gates, phases say it.
    pub low: Amount,
    pub above: Vec<Above>,
    pub cycle: Option<Rc<Cycle>>,
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

/// More than any line.
const NO_LIMIT: Line = Line { burst: Amount::MAX, rate: i64::MAX };

/// The one that is less at first, and the other.
#[inline(always)]
fn in_order(one: Line, other: Line) -> (Line, Line) {
    match one.burst < other.burst || (one.burst == other.burst && one.rate < other.rate) {
        true => (one, other),
        false => (other, one),
    }
}

/// How far a class above has come.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// For how long it and the class that waits could both begin, and its gate alone.
    shared: Time,
    opened: Time,
    /// Of the lines of its arrivals.
    piece: usize,
    /// Its gate's; none: nobody asks for it.
    bit: u8,
}

impl Service {
    /// Tells segment after segment from a phase on until it is told to stop; of one in which no frame of the class can
    /// begin, only when it is. False: a class above is without any limit.
    pub fn walk(&self, phase: Phase, mut told: impl FnMut(&Segment) -> bool) -> bool {
        if self.above.iter().any(|above| !self.is_limited(above)) {
            return false;
        }
        let (mut index, mut passed) = match &self.cycle {
            Some(cycle) => cycle.piece_at(phase.begin - phase.blocked),
            None => (0, 0),
        };
        let mut known = 0;
        let mut progress = [Progress::default(); CLASSES];
        let progress = &mut progress[..self.above.len()];
        for (above, progress) in self.above.iter().zip(&mut *progress) {
            let bit = above.class.map_or(0, |class| 1_u8 << class);
            known |= bit;
            let shared = if phase.others & bit > 0 { phase.slack } else { 0 };
            *progress = Progress { shared, opened: phase.slack, piece: 0, bit };
        }
        let (mut at, mut usable_time, mut own_opened) = (0, 0, phase.slack);
        loop {
            let piece = self.cycle.as_ref().map_or(ALWAYS, |cycle| cycle.stretch(index, known));
            let mut left = if piece.length == Time::MAX { Time::MAX } else { piece.length - passed };
            let usable = piece.usable && at >= phase.blocked;
            if at < phase.blocked {
                left = left.min(phase.blocked - at);
            }
            let mut served = Amount::MIN;
            let mut slope = 0;
            if usable {
                served = Amount::from(self.rate) * Amount::from(usable_time) - self.low;
                slope = self.rate;
                for (above, progress) in self.above.iter().zip(&mut *progress) {
                    let line = self.least(above, at, piece.others & progress.bit > 0, progress, &mut left);
                    served -= line.burst;
                    slope -= line.rate;
                }
            }
            let to = if left == Time::MAX { Time::MAX } else { at + left };
            let segment = Segment { from: at, to, usable, served, slope, opened: own_opened, may_open: piece.may_open };
            if !told(&segment) || to == Time::MAX {
                return true;
            }
            let shared = if usable { left } else { 0 };
            for progress in &mut *progress {
                if piece.others & progress.bit > 0 {
                    progress.opened += left;
                    progress.shared += shared;
                }
            }
            usable_time += shared;
            own_opened += if piece.may_open { left } else { 0 };
            (at, passed) = (to, passed.saturating_add(left));
            if let Some(cycle) = &self.cycle {
                while passed >= cycle.pieces[index].length {
                    passed -= cycle.pieces[index].length;
                    index = cycle.next(index);
                }
            }
        }
    }

    /// Whether no class above is open when frames of the class can begin.
    pub fn is_undisturbed(&self) -> bool {
        let above = self.above.iter().filter_map(|above| above.class).fold(0_u8, |mask, class| mask | 1 << class);
        self.cycle
            .as_ref()
            .is_some_and(|cycle| cycle.pieces.iter().all(|piece| !piece.usable || piece.others & above == 0))
    }

    /// No frame of the class can ever begin.
    pub fn has_no_window(&self) -> bool {
        self.cycle.as_ref().is_some_and(|cycle| cycle.has_no_window())
    }

    fn is_limited(&self, above: &Above) -> bool {
        let is_shut = |cycle: &Rc<Cycle>, class: usize| {
            cycle.pieces.iter().any(|piece| piece.usable && piece.others >> class & 1 == 0)
        };
        let by_gate = || self.cycle.as_ref().zip(above.class).is_some_and(|(cycle, class)| is_shut(cycle, class));
        above.arrivals.is_some() || above.credit.is_some() || by_gate()
    }

    /// No more than this: against all that the classes above may bring, gates and credit that hold it back or not. None:
    /// of one of them nothing is known.
    pub fn against_all(&self) -> Option<Self> {
        let known = self.above.iter().map(|above| Some((Part::Curve(above.arrivals.as_deref()?), 0)));
        let all = Above { class: None, arrivals: Some(Rc::new(Curve::sum(known)?)), credit: None };
        Some(Self { above: vec![all], cycle: self.cycle.clone(), ..*self })
    }

    /// What a class above sends at most while the class that waits can begin: up to a time, and as fast from then on as long
    /// as `left` says, which becomes less where that is so for less time.
    #[inline(always)]
    fn least(&self, above: &Above, at: Time, may_open: bool, progress: &mut Progress, left: &mut Time) -> Line {
        let mut least = NO_LIMIT;
        if let Some(curve) = &above.arrivals {
            let (line, end) = curve.piece_from(at, &mut progress.piece);
            least = Line { burst: line.at(at), rate: line.rate };
            if end < Time::MAX {
                *left = (*left).min(end - at);
            }
        }
        let (mut second, mut third) = (NO_LIMIT, NO_LIMIT);
        if let Some(line) = above.credit {
            let credit = Line { burst: line.at(progress.opened), rate: if may_open { line.rate } else { 0 } };
            (least, second) = in_order(credit, least);
        }
        if self.cycle.is_some() && above.class.is_some() {
            let burst = Amount::from(self.rate) * Amount::from(progress.shared);
            (least, third) = in_order(Line { burst, rate: if may_open { self.rate } else { 0 } }, least);
        }
        for other in [second, third] {
            if other.rate < least.rate {
                let (more, slower) = (other.burst - least.burst, least.rate - other.rate);
                if more < Amount::from(slower) * Amount::from(*left) {
                    *left = Time::try_from(ceil_div(more, slower.into()).max(1)).unwrap_or(Time::MAX);
                }
            }
        }
        least
    }
}
