// SPDX-License-Identifier: Apache-2.0
//! One partition at work.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::Arc;

use super::exchange::{Crossing, Exchange, Seen};
use super::lookahead::Neighbour;
use super::notes::Batch;
use crate::error::RunError;
use crate::kernel::Kernel;
use crate::queue::Event;

/// Events between two promises.
const EVENTS: u32 = 24;
/// Rows, or steps, after which what was noted is handed out.
const ROWS: usize = 1 << 13;
const STEPS: u32 = 256;

/// What all partitions share.
pub struct Common {
    pub exchange: Arc<Exchange>,
    /// Per partition: what happened before this time has been handed out.
    pub noted: Vec<AtomicU64>,
    /// Per bridge: where its ports begin among those of all.
    pub first_port: Vec<u32>,
    /// Per bridge: by how much its judgements come later than what was promised.
    pub margins: Vec<u64>,
    pub end: u64,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Acted,
    /// Others have to go on first.
    Waits,
    /// Nothing is left to do before the end.
    Done,
}

pub struct Worker<'a> {
    me: usize,
    pub kernel: Kernel,
    common: &'a Common,
    seen: Seen,
    came: Vec<Crossing>,
    bounds: Vec<u64>,
    batches: SyncSender<Option<Batch>>,
    steps: u32,
    is_done: bool,
}

impl<'a> Worker<'a> {
    pub fn new(me: usize, kernel: Kernel, common: &'a Common, batches: SyncSender<Option<Batch>>) -> Self {
        let seen = common.exchange.seen();
        Self { me, kernel, common, seen, came: Vec::new(), bounds: Vec::new(), batches, steps: 0, is_done: false }
    }

    /// Goes on, for some events at most.
    pub fn step(&mut self) -> Result<Step, RunError> {
        if self.is_done {
            return Ok(Step::Done);
        }
        let (horizon, news) = self.look()?;
        let until = horizon.min(self.common.end);
        let (acted, now) = self.kernel.go_on(until, EVENTS)?;
        if acted == 0 && horizon >= self.common.end {
            self.is_done = true;
            self.hand_out(u64::MAX);
            self.common.exchange.leave(self.me);
            return Ok(Step::Done);
        }
        if acted > 0 || news {
            self.promise();
        }
        if acted == 0 {
            if self.steps > 0 {
                self.hand_out(until);
            }
            return Ok(Step::Waits);
        }
        self.steps += 1;
        if self.steps >= STEPS || self.kernel.rows() >= ROWS {
            self.hand_out(now);
        }
        Ok(Step::Acted)
    }

    /// What own events allow to promise to each neighbour, if nothing can be done before something comes; none else.
    pub fn idle_bounds(&mut self) -> Result<Option<Vec<u64>>, RunError> {
        let neighbours = self.common.exchange.neighbours(self.me);
        if self.is_done {
            return Ok(Some(vec![u64::MAX; neighbours.len()]));
        }
        let (horizon, _) = self.look()?;
        let next = self.kernel.next_time().unwrap_or(u64::MAX);
        if next < horizon.min(self.common.end) || horizon >= self.common.end {
            return Ok(None);
        }
        let mut bounds = vec![u64::MAX; neighbours.len()];
        self.bound(&mut bounds);
        Ok(Some(bounds))
    }

    /// Takes in what has come; until when nothing else will, and whether that is new.
    fn look(&mut self) -> Result<(u64, bool), RunError> {
        let (horizon, news) = self.common.exchange.look(self.me, &mut self.seen, &mut self.came);
        for crossing in self.came.drain(..) {
            let (bridge, promised_ps) = (crossing.bridge, crossing.promised);
            let due_ps = self.kernel.come(crossing);
            if due_ps < promised_ps.saturating_add(self.common.margins[bridge as usize]) {
                return Err(RunError::Late { bridge, due_ps, promised_ps });
            }
        }
        Ok((horizon, news))
    }

    /// Per neighbour, before when nothing that this partition sends has an effect.
    fn promise(&mut self) {
        let exchange = &self.common.exchange;
        let neighbours = exchange.neighbours(self.me);
        let promises = &self.seen.promises;
        let through = |neighbour: &Neighbour| {
            let others = (0..promises.len()).filter(|&other| other != self.me);
            others.map(|from| neighbour.after_crossing(from, promises[from])).min().unwrap_or(u64::MAX)
        };
        let mut bounds = std::mem::take(&mut self.bounds);
        bounds.clear();
        bounds.extend(neighbours.iter().map(through));
        self.bound(&mut bounds);
        for (neighbour, bound) in neighbours.iter().zip(&bounds) {
            exchange.promise(self.me, neighbour.partition as usize, *bound);
        }
        self.bounds = bounds;
    }

    /// By own events.
    fn bound(&self, bounds: &mut [u64]) {
        let neighbours = self.common.exchange.neighbours(self.me);
        let first_port = &self.common.first_port;
        self.kernel.survey(|event: Event| {
            let mut until = 0;
            for (neighbour, bound) in neighbours.iter().zip(&mut *bounds) {
                *bound = neighbour.after(event, first_port).min(*bound);
                until = until.max(bound.saturating_sub(neighbour.least));
            }
            until
        });
    }

    /// Hands out what was noted; all before a time has been.
    fn hand_out(&mut self, before: u64) {
        self.steps = 0;
        if let Some(batch) = self.kernel.batch() {
            // Whoever no longer takes it has ended the run.
            _ = self.batches.send(Some(batch));
        }
        self.common.noted[self.me].store(before, Ordering::Release);
    }
}
