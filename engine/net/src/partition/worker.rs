// SPDX-License-Identifier: Apache-2.0
//! One partition at work.
use std::sync::mpsc::SyncSender;
use std::sync::Arc;

use super::exchange::{Crossing, Exchange, Seen};
use super::notes::Batch;
use super::promise::Promise;
use crate::error::RunError;
use crate::kernel::Kernel;
use crate::queue::Event;
use penstock_shaper::Time;

/// Events between two promises; after a frame has crossed there is one at once.
const EVENTS: u32 = 48;
/// Rows, or steps, after which what was noted is handed out.
const ROWS: usize = 1 << 13;
const STEPS: u32 = 256;

/// What all partitions share.
pub struct Common {
    pub exchange: Arc<Exchange>,
    /// Per partition: what happened before this time has been handed out.
    pub noted: Vec<Promise>,
    /// Per bridge: where its ports begin among those of all.
    pub first_port: Vec<u32>,
    /// Per bridge: by how much its judgements come later than what was promised.
    pub margins: Vec<Time>,
    pub end: Time,
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

/// Before when no event of a partition has an effect in another one.
#[derive(Clone, Copy)]
struct Bound {
    until: Time,
    /// Of the event that has one then. Until it was acted on, the bound stays: what follows from others comes later.
    by: Time,
}

impl Bound {
    #[inline]
    fn take_in(&mut self, event: Event, until: Time) {
        if until < self.until {
            *self = Self { until, by: event.time() };
        }
    }
}

/// Alone in its lines of the cache.
#[repr(align(128))]
pub struct Worker<'a> {
    me: usize,
    pub kernel: Kernel,
    common: &'a Common,
    seen: Seen,
    came: Vec<Crossing>,
    /// Per neighbour.
    bounds: Vec<Bound>,
    batches: SyncSender<Option<Batch>>,
    steps: u32,
    is_done: bool,
}

impl<'a> Worker<'a> {
    pub fn new(me: usize, kernel: Kernel, seen: Seen, common: &'a Common, batches: SyncSender<Option<Batch>>) -> Self {
        // Nothing is known yet.
        let bounds = vec![Bound { until: 0, by: 0 }; common.exchange.neighbours(me).len()];
        Self { me, kernel, common, seen, came: Vec::new(), bounds, batches, steps: 0, is_done: false }
    }

    /// Goes on, for some events at most.
    pub fn step(&mut self) -> Result<Step, RunError> {
        if self.is_done {
            return Ok(Step::Done);
        }
        let exchange = &self.common.exchange;
        let (horizon, news) = self.look()?;
        let until = horizon.min(self.common.end);
        let (acted, now) = self.kernel.go_on(until, EVENTS)?;
        if acted == 0 && horizon >= self.common.end {
            self.is_done = true;
            self.hand_out(Time::MAX);
            exchange.leave(self.me);
            return Ok(Step::Done);
        }
        if acted > 0 || news {
            self.promise(now);
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

    /// Looks so many times for news; whether there were any.
    pub fn wait(&self, looks: u32) -> bool {
        (0..looks).any(|_| {
            std::hint::spin_loop();
            self.common.exchange.has_news(self.me, &self.seen)
        })
    }

    /// What own events allow to promise to each neighbour, if nothing can be done before something comes; none else.
    pub fn idle_bounds(&mut self) -> Result<Option<Vec<Time>>, RunError> {
        let neighbours = self.common.exchange.neighbours(self.me);
        if self.is_done {
            return Ok(Some(vec![Time::MAX; neighbours.len()]));
        }
        let (horizon, _) = self.look()?;
        let next = self.kernel.next_time().unwrap_or(Time::MAX);
        if next < horizon.min(self.common.end) || horizon >= self.common.end {
            return Ok(None);
        }
        self.survey();
        Ok(Some(self.bounds.iter().map(|bound| bound.until).collect()))
    }

    /// Takes in what has come; until when nothing else will, and whether that is new.
    fn look(&mut self) -> Result<(Time, bool), RunError> {
        let (horizon, news) = self.common.exchange.look(self.me, &mut self.seen, &mut self.came);
        for crossing in self.came.drain(..) {
            let (bridge, promised_ps) = (crossing.bridge, crossing.promised);
            let Some(judgement) = self.kernel.come(crossing) else { continue };
            let due_ps = judgement.time();
            if due_ps < promised_ps.saturating_add(self.common.margins[bridge as usize]) {
                return Err(RunError::Late { bridge, due_ps, promised_ps });
            }
            let neighbours = self.common.exchange.neighbours(self.me);
            for (neighbour, bound) in neighbours.iter().zip(&mut self.bounds) {
                bound.take_in(judgement, neighbour.after(judgement, &self.common.first_port));
            }
        }
        Ok((horizon, news))
    }

    /// After the end: frames that are on their way here.
    pub fn take_rest(&mut self) {
        self.common.exchange.look(self.me, &mut self.seen, &mut self.came);
        self.came.drain(..).for_each(|crossing| _ = self.kernel.come(crossing));
    }

    /// Per neighbour, before when nothing that this partition sends has an effect; all before `now` was acted on.
    fn promise(&mut self, now: Time) {
        if self.bounds.iter().any(|bound| bound.by <= now) {
            self.survey();
        }
        let exchange = &self.common.exchange;
        let promises = &self.seen.promises;
        for (neighbour, bound) in exchange.neighbours(self.me).iter().zip(&self.bounds) {
            let others = (0..promises.len()).filter(|&other| other != self.me);
            let through = others.map(|from| neighbour.after_crossing(from, promises[from])).min();
            let until = through.map_or(bound.until, |through| through.min(bound.until));
            exchange.promise(self.me, neighbour.partition as usize, until);
        }
    }

    /// What own events say.
    fn survey(&mut self) {
        for (neighbour, bound) in self.common.exchange.neighbours(self.me).iter().zip(&mut self.bounds) {
            *bound = Bound { until: Time::MAX, by: Time::MAX };
            self.kernel.survey(|event| {
                bound.take_in(event, neighbour.after(event, &self.common.first_port));
                bound.until.saturating_sub(neighbour.least)
            });
        }
    }

    /// Hands out what was noted; all before a time has been.
    fn hand_out(&mut self, before: Time) {
        self.steps = 0;
        if let Some(batch) = self.kernel.batch() {
            // Whoever no longer takes it has ended the run.
            _ = self.batches.send(Some(batch));
        }
        self.common.noted[self.me].set(before);
    }
}
