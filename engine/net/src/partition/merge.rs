// SPDX-License-Identifier: Apache-2.0
//! Puts what partitions noted into the order of one core: rows of the trace, the numbers of frames, the fates of frames
//! that had copies in several partitions.
use std::collections::{HashMap, VecDeque};

use super::notes::{Batch, Change, Mark, PARTITION_SHIFT};
use crate::conservation::{Fates, Violation, Violations};
use crate::trace::{Reason, Row, Trace};
use penstock_shaper::Time;

/// A frame with copies in several partitions.
struct Parted {
    stream: u32,
    partitions: u32,
    open: u32,
    reason: Reason,
    /// Some copy is where it was when the run ended.
    is_inside: bool,
}

/// The numbers of the frames that one partition created, by their order there.
#[derive(Default)]
struct Numbers {
    first: u64,
    numbers: VecDeque<u64>,
}

const ENDED: u64 = u64::MAX;

impl Numbers {
    fn of(&self, frame: u64) -> u64 {
        self.numbers.get((frame - self.first) as usize).copied().unwrap_or(ENDED)
    }

    fn end(&mut self, frame: u64) {
        if let Some(number) = self.numbers.get_mut((frame - self.first) as usize) {
            *number = ENDED;
        }
        while self.numbers.front() == Some(&ENDED) {
            self.numbers.pop_front();
            self.first += 1;
        }
    }
}

/// Batches of one partition that are not merged yet.
#[derive(Default)]
struct Feed {
    batches: VecDeque<Batch>,
    /// Of the first one, the next mark.
    next: usize,
}

impl Feed {
    fn first(&self) -> Option<Mark> {
        self.batches.front()?.marks.get(self.next).copied()
    }
}

pub struct Merge {
    feeds: Vec<Feed>,
    numbers: Vec<Numbers>,
    created: u64,
    parted: HashMap<u64, Parted>,
    /// Per stream, of frames that were parted.
    pub fates: Vec<Fates>,
    pub violations: Violations,
    pub rows: Vec<Row>,
    has_trace: bool,
}

impl Merge {
    pub fn new(partitions: usize, streams: usize, has_trace: bool) -> Self {
        Self {
            feeds: (0..partitions).map(|_| Feed::default()).collect(),
            numbers: (0..partitions).map(|_| Numbers::default()).collect(),
            created: 0,
            parted: HashMap::new(),
            fates: vec![Fates::default(); streams],
            violations: Violations::default(),
            rows: Vec::new(),
            has_trace,
        }
    }

    /// Drops the rows that were handed out.
    pub fn next_chunk(&mut self) {
        self.rows.clear();
    }

    pub fn add(&mut self, batch: Batch) {
        self.feeds[batch.from].batches.push_back(batch);
    }

    /// Merges what happened before a time, as long as the rows fill no chunk; whether they do.
    pub fn merge_before(&mut self, time: Time) -> bool {
        loop {
            if self.rows.len() >= Trace::CHUNK {
                return true;
            }
            let firsts = self.feeds.iter().enumerate().filter_map(|(from, feed)| Some((feed.first()?.event, from)));
            match firsts.min() {
                Some((event, from)) if event.time() < time => self.take(from),
                _ => return false,
            }
        }
    }

    /// The next event of a partition.
    fn take(&mut self, from: usize) {
        let feed = &mut self.feeds[from];
        let Some(batch) = feed.batches.front() else { return };
        let at = feed.next;
        let mark = batch.marks[at];
        let before = at.checked_sub(1).map(|before| batch.marks[before]);
        let (rows, created, changes, ended) =
            before.map_or((0, 0, 0, 0), |before| (before.rows, before.created, before.changes, before.ended));
        if self.has_trace {
            let numbers = &mut self.numbers[from].numbers;
            numbers.extend(self.created..self.created + u64::from(mark.created - created));
            self.created += u64::from(mark.created - created);
            let first = self.rows.len();
            self.rows.extend_from_slice(&batch.rows[rows as usize..mark.rows as usize]);
            for row in &mut self.rows[first..] {
                row.frame = number(&self.numbers, row.frame);
            }
        }
        for change in &batch.changes[changes as usize..mark.changes as usize] {
            settle(&mut self.parted, &mut self.fates, &mut self.violations, *change).inspect(|&frame| {
                if self.has_trace {
                    end(&mut self.numbers, frame);
                }
            });
        }
        for &frame in &batch.ended[ended as usize..mark.ended as usize] {
            end(&mut self.numbers, frame);
        }
        feed.next += 1;
        if feed.next == batch.marks.len() {
            feed.batches.pop_front();
            feed.next = 0;
        }
    }

    /// Copies in a partition when the run ended, and the listeners that they were still to reach.
    pub fn inside(&mut self, frame: u64, open: u32) {
        if let Some(parted) = self.parted.get_mut(&frame) {
            parted.is_inside = true;
        }
        settle(&mut self.parted, &mut self.fates, &mut self.violations, Change::Gone { frame, open });
    }
}

fn place(frame: u64) -> (usize, u64) {
    ((frame >> PARTITION_SHIFT) as usize, frame & ((1 << PARTITION_SHIFT) - 1))
}

fn number(numbers: &[Numbers], frame: u64) -> u64 {
    let (partition, frame) = place(frame);
    numbers[partition].of(frame)
}

fn end(numbers: &mut [Numbers], frame: u64) {
    let (partition, frame) = place(frame);
    numbers[partition].end(frame);
}

/// Gives the frame if it is nowhere any more.
fn settle(
    all: &mut HashMap<u64, Parted>,
    fates: &mut [Fates],
    violations: &mut Violations,
    change: Change,
) -> Option<u64> {
    match change {
        Change::Parted { frame, stream, reason } => {
            let whole = Parted { stream, partitions: 1, open: 0, reason, is_inside: false };
            all.entry(frame).or_insert(whole).partitions += 1;
            None
        }
        Change::Missed { frame, reason } => {
            if let Some(parted) = all.get_mut(&frame).filter(|parted| parted.reason == Reason::NONE) {
                parted.reason = reason;
            }
            None
        }
        Change::Gone { frame, open } => {
            let parted = all.get_mut(&frame)?;
            parted.open += open;
            parted.partitions -= 1;
            if parted.partitions > 0 {
                return None;
            }
            let Parted { stream, open, reason, is_inside, .. } = *parted;
            all.remove(&frame);
            let fates = &mut fates[stream as usize];
            match reason {
                _ if open > 0 && !is_inside => violations.add(Violation::Lost { frame, stream, copies: open }),
                Reason::NONE if open > 0 => fates.inside += 1,
                Reason::NONE => fates.delivered += 1,
                reason => *fates.dropped.entry(reason).or_default() += 1,
            }
            Some(frame)
        }
    }
}
