// SPDX-License-Identifier: Apache-2.0
//! What a partition leaves while it runs, event by event, so that all of it can be put into the order of one core.
use crate::queue::Event;
use crate::trace::{Reason, Row};

/// Of a frame that has copies in several partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A copy goes to another partition while others stay; `reason` is why the frame was dropped before, if it was.
    Parted {
        frame: u64,
        stream: u32,
        reason: Reason,
    },
    Missed {
        frame: u64,
        reason: Reason,
    },
    /// The last copy in a partition is gone; so many listeners neither got it nor missed it.
    Gone {
        frame: u64,
        open: u32,
    },
}

/// Up to where an event's part of a batch goes.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    pub event: Event,
    pub rows: u32,
    pub created: u32,
    pub changes: u32,
    pub ended: u32,
}

/// Of a number of events.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub from: usize,
    pub rows: Vec<Row>,
    pub marks: Vec<Mark>,
    pub changes: Vec<Change>,
    /// Frames that are nowhere any more, if there is a trace.
    pub ended: Vec<u64>,
}

/// Frames are named by the partition that created them, and by their number there, until their order is known.
pub const PARTITION_SHIFT: u32 = 48;

#[derive(Default)]
pub struct Notes {
    marks: Vec<Mark>,
    pub changes: Vec<Change>,
    ended: Vec<u64>,
    /// At the end of the run: frames that are in several partitions, and the listeners that they were still to reach.
    pub inside: Vec<(u64, u32)>,
    has_trace: bool,
    /// Frames created before this batch.
    created: u64,
    latest: Option<Event>,
}

impl Notes {
    pub fn new(has_trace: bool, first_frame: u64) -> Self {
        Self { has_trace, created: first_frame, ..Self::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// After an event: so many rows are in the batch, and so many frames were created in the run.
    ///
    /// An event that another one caused at the same instant may be smaller than that; it follows it at once, in the order
    /// of one core too.
    #[inline]
    pub fn mark(&mut self, event: Event, rows: usize, created: u64) {
        // Only a trace asks for the order in which frames were created.
        if !self.has_trace && self.changes.is_empty() {
            return;
        }
        let last = self.marks.last();
        let (rows, created) = (rows as u32, (created - self.created) as u32);
        let (changes, ended) = (self.changes.len() as u32, self.ended.len() as u32);
        let before = last.map_or((0, 0, 0, 0), |mark| (mark.rows, mark.created, mark.changes, mark.ended));
        if before == (rows, created, changes, ended) {
            return;
        }
        let event = self.latest.map_or(event, |latest| latest.max(event));
        self.latest = Some(event);
        self.marks.push(Mark { event, rows, created, changes, ended });
    }

    /// The last copy in this partition is gone; whether there were others.
    pub fn ends(&mut self, frame: u64, is_parted: bool, open: u32) -> bool {
        if is_parted {
            self.changes.push(Change::Gone { frame, open });
        } else if self.has_trace {
            self.ended.push(frame);
        }
        is_parted
    }

    /// Hands out what was noted, with its rows.
    pub fn batch(&mut self, from: usize, rows: Vec<Row>) -> Batch {
        self.created += self.marks.last().map_or(0, |mark| u64::from(mark.created));
        Batch {
            from,
            rows,
            marks: std::mem::take(&mut self.marks),
            changes: std::mem::take(&mut self.changes),
            ended: std::mem::take(&mut self.ended),
        }
    }
}
