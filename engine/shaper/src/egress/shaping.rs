// SPDX-License-Identifier: Apache-2.0
//! Gates and credit of a port together: when the first frame of a class may start, which is kept as long as it holds.
use crate::admission::CLASSES;

use super::credit_based::{CreditBased, Waiting};
use super::gated::{Gated, Starts};
use super::queues::Queued;
use super::{LineTime, Sending, Tick};

/// What few ports have.
#[derive(Clone, Debug)]
pub(super) struct Shaping {
    /// When the first frame of each class may start as far as gate and credit go, as long as nothing changes.
    pub starts: [Starts; CLASSES],
    pub gated: Gated,
    pub credit: CreditBased,
    /// A frame that is queued may have become longer than any window of its gate.
    pub may_be_too_long: bool,
}

impl Default for Shaping {
    fn default() -> Self {
        let (gated, credit) = (Gated::default(), CreditBased::default());
        Self { starts: [Starts::UNKNOWN; CLASSES], gated, credit, may_be_too_long: false }
    }
}

impl Shaping {
    /// The first tick from `from` on in which a frame of a class may start, if nothing is sent meanwhile.
    pub fn start(&mut self, line: &impl LineTime, first: &Queued, from: Tick, sending: Sending) -> Tick {
        let (time, class) = (line.gate_time(), usize::from(first.traffic_class));
        if let Some(start) = self.starts[class].from(time, from) {
            return start;
        }
        let with_credit = self.credit.from(&self.gated, time, class, from, Waiting::new(line, first), sending);
        let starts = self.gated.starts_from(time, from, with_credit, class, line.wire(first.bytes));
        self.starts[class] = starts;
        starts.first
    }

    /// Gates, credit or their time change.
    pub fn forget(&mut self) {
        self.starts = [Starts::UNKNOWN; CLASSES];
        self.credit.forget();
    }
}
