// SPDX-License-Identifier: Apache-2.0
//! Gates and credit of a port together: when the first frame of a class may start, which is kept as long as it holds.
use crate::admission::CLASSES;

use super::credit_based::{CreditBased, Waiting};
use super::gated::{Gated, Starts};
use super::queues::Queued;
use super::{LineTime, Sending, Tick, NEVER};

/// What few ports have.
#[derive(Clone, Debug)]
pub(super) struct Shaping {
    /// When the first frame of each class may start as far as gate and credit go, as long as nothing changes.
    pub starts: [Starts; CLASSES],
    pub gated: Gated,
    pub credit: CreditBased,
    /// A frame that is queued may have become longer than any window of its gate.
    pub may_be_too_long: bool,
    /// Per class the longest frame, if that does not change with time.
    pub longest: Option<[u16; CLASSES]>,
}

impl Default for Shaping {
    fn default() -> Self {
        let (gated, credit) = (Gated::default(), CreditBased::default());
        Self { starts: [Starts::UNKNOWN; CLASSES], gated, credit, may_be_too_long: false, longest: None }
    }
}

impl Shaping {
    /// The first tick from `from` on in which a frame of a class may start, if nothing is sent meanwhile.
    #[inline]
    pub fn start(&mut self, line: &impl LineTime, first: &Queued, from: Tick, sending: Sending) -> Tick {
        let from = self.credit.searched_until(usize::from(first.traffic_class), from).unwrap_or(from);
        if from == NEVER {
            return NEVER;
        }
        let known = self.starts[usize::from(first.traffic_class)].from(line.gate_time(), from, first.bytes);
        known.unwrap_or_else(|| self.find_start(line, first, from, sending))
    }

    #[inline(never)]
    fn find_start(&mut self, line: &impl LineTime, first: &Queued, from: Tick, sending: Sending) -> Tick {
        let class = usize::from(first.traffic_class);
        if !self.credit.is_of(1 << class) {
            let starts = self.gated.starts_from(line, from, from, class, first.bytes);
            self.starts[class] = starts;
            return starts.first;
        }
        let waiting = Waiting::new(line, first);
        let with_credit = self.credit.from(&self.gated, line.gate_time(), class, from, waiting, sending);
        let starts = self.gated.starts_from(line, from, with_credit, class, first.bytes);
        // With a guard, credit depends on the frame that waits.
        self.starts[class] = if waiting.guard == 0 { starts } else { Starts::UNKNOWN };
        starts.first
    }

    /// Whether a frame is above the longest of its class, or longer than any window of its gate, in this tick.
    #[inline(never)]
    pub fn is_too_long(&self, line: &impl LineTime, at: Tick, class: usize, bytes: u16) -> bool {
        let gated = &self.gated;
        bytes > gated.max_bytes[class] || gated.never_fits(line.gate_time(), at, class, line.wire(bytes))
    }

    /// Gates, credit or their time change.
    pub fn forget(&mut self) {
        self.starts = [Starts::UNKNOWN; CLASSES];
        self.credit.forget();
    }
}
