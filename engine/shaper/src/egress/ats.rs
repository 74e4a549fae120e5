// SPDX-License-Identifier: Apache-2.0
//! Transmission selection within a class by eligibility time (802.1Q 8.6.8.5): of the heads of its queues, the frame that
//! is eligible first. Twin of the candidates of `pen_queue`.
//!
//! A frame that no ATS scheduler held is eligible in the instant in which it can be selected, so that a class without ATS
//! is first in, first out.
use crate::Time;

/// A queue of a class: its reception port, and whether its frames were held by schedulers. In the order in which queues
/// are served whose heads are eligible at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct QueueId(u16);

impl QueueId {
    #[inline(always)]
    pub fn new(reception: u16, shaped: bool) -> Self {
        Self(reception << 1 | u16::from(shaped))
    }

    pub fn of_index(index: usize) -> Self {
        Self(index as u16)
    }

    #[inline(always)]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The head of a queue, by when it is eligible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Eligible {
    pub time: Time,
    pub queue: QueueId,
}

/// The queues of one class that have frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heads {
    /// The head that goes first, if any queue has frames.
    first: Eligible,
    /// Bit p: the queue of reception port p has frames; of those that are not shaped, and of those that are.
    filled: [u64; 2],
}

impl Default for Heads {
    fn default() -> Self {
        Self { first: Eligible { time: 0, queue: QueueId(0) }, filled: [0; 2] }
    }
}

impl Heads {
    #[inline(always)]
    pub fn has(&self, queue: QueueId) -> bool {
        self.filled[queue.index() & 1] >> (queue.0 >> 1) & 1 == 1
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.filled == [0; 2]
    }

    /// Of a class that has frames.
    #[inline(always)]
    pub fn first(&self) -> Eligible {
        self.first
    }

    /// A queue that was empty has its first frame.
    #[inline(always)]
    pub fn fill(&mut self, head: Eligible) {
        if self.is_empty() || head < self.first {
            self.first = head;
        }
        self.flip(head.queue);
    }

    /// The queue that went first has given its head away, and has another one or none; `time` is when heads are eligible.
    #[inline]
    pub fn take(&mut self, is_empty: bool, time: impl Fn(QueueId) -> Time) {
        if is_empty {
            self.flip(self.first.queue);
        }
        if self.is_empty() {
            return;
        }
        let mut first = Eligible { time: Time::MAX, queue: QueueId(u16::MAX) };
        for (shaped, mut receptions) in (0..).zip(self.filled) {
            while receptions != 0 {
                let queue = QueueId((receptions.trailing_zeros() as u16) << 1 | shaped);
                receptions &= receptions - 1;
                first = first.min(Eligible { time: time(queue), queue });
            }
        }
        self.first = first;
    }

    #[inline(always)]
    fn flip(&mut self, queue: QueueId) {
        self.filled[queue.index() & 1] ^= 1 << (queue.0 >> 1);
    }
}
