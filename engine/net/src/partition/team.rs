// SPDX-License-Identifier: Apache-2.0
//! Threads that go on with partitions. Each has its own; those of a thread that sleeps are anybody's.
//!
//! A thread that waits in vain sleeps for a while: the machine may have no core for all of them. Whoever has one then goes
//! on with all partitions, about as fast as one core alone.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::exchange::Exchange;
use super::worker::{Step, Worker};
use crate::error::RunError;

/// Looks in vain before a thread sleeps: some ten microseconds.
const PATIENCE: u32 = 1_000;
/// Of these, looks of a thread that has nothing else to do, before it asks for what else there is.
const LOOKS: u32 = 250;
const NAP: Duration = Duration::from_micros(500);

pub struct Team<'a> {
    exchange: &'a Exchange,
    partitions: Vec<Mutex<Worker<'a>>>,
    /// Per partition.
    done: Vec<AtomicBool>,
    /// Per thread.
    asleep: Vec<AtomicBool>,
    failed: Mutex<Option<RunError>>,
}

/// A thread that fails stops the others, which would wait for it.
struct Alarm<'a>(&'a Exchange);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

impl<'a> Team<'a> {
    pub fn new(exchange: &'a Exchange, workers: Vec<Worker<'a>>, threads: usize) -> Self {
        Self {
            exchange,
            done: workers.iter().map(|_| AtomicBool::new(false)).collect(),
            asleep: (0..threads).map(|_| AtomicBool::new(false)).collect(),
            partitions: workers.into_iter().map(Mutex::new).collect(),
            failed: Mutex::new(None),
        }
    }

    /// What one thread does, until all is done or stopped.
    pub fn work(&self, me: usize) {
        let _alarm = Alarm(self.exchange);
        if let Err(error) = self.try_work(me) {
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            self.exchange.stop();
        }
    }

    fn try_work(&self, me: usize) -> Result<(), RunError> {
        let mut in_vain = 0;
        while !self.exchange.is_stopped() {
            let mut acted = false;
            let mut is_done = true;
            for (number, done) in self.done.iter().enumerate() {
                if done.load(Ordering::Relaxed) {
                    continue;
                }
                is_done = false;
                if self.is_anybodys(number, me) {
                    acted |= self.go_on(number, me)?;
                }
            }
            if is_done {
                break;
            }
            in_vain = match acted {
                true => 0,
                false if self.is_one_each() => in_vain + LOOKS,
                false => in_vain + 1,
            };
            if in_vain < PATIENCE {
                std::hint::spin_loop();
                continue;
            }
            in_vain = 0;
            if !self.skip()? {
                self.asleep[me].store(true, Ordering::Relaxed);
                std::thread::sleep(NAP);
                self.asleep[me].store(false, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Its own, or that of one who sleeps.
    fn is_anybodys(&self, number: usize, me: usize) -> bool {
        let home = number % self.asleep.len();
        home == me || self.asleep[home].load(Ordering::Relaxed)
    }

    /// Every thread has its own partition, and none other.
    fn is_one_each(&self) -> bool {
        self.asleep.len() == self.partitions.len() && !self.asleep.iter().any(|asleep| asleep.load(Ordering::Relaxed))
    }

    /// As far as that is possible now; whether it was.
    fn go_on(&self, number: usize, me: usize) -> Result<bool, RunError> {
        let Ok(mut worker) = self.partitions[number].try_lock() else { return Ok(false) };
        let mut acted = false;
        while !self.exchange.is_stopped() {
            match worker.step()? {
                Step::Acted => acted = true,
                Step::Waits if self.is_one_each() && worker.wait(LOOKS) => {}
                Step::Waits => break,
                Step::Done => {
                    self.done[number].store(true, Ordering::Relaxed);
                    break;
                }
            }
            if !self.is_anybodys(number, me) {
                break;
            }
        }
        Ok(acted)
    }

    /// When all wait for each other's promises only: these then follow from the next events of all, however long it is
    /// until then. False: someone is at work.
    fn skip(&self) -> Result<bool, RunError> {
        let mut all: Vec<MutexGuard<Worker>> = Vec::with_capacity(self.partitions.len());
        for partition in &self.partitions {
            let Ok(worker) = partition.try_lock() else { return Ok(false) };
            all.push(worker);
        }
        let mut bounds = Vec::with_capacity(all.len());
        for worker in &mut all {
            match worker.idle_bounds()? {
                Some(of) => bounds.push(of),
                None => return Ok(true),
            }
        }
        self.exchange.promise_all(&bounds);
        Ok(true)
    }

    /// What the partitions came to.
    pub fn into_workers(self) -> Result<Vec<Worker<'a>>, RunError> {
        match self.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => {
                let workers = self.partitions.into_iter();
                Ok(workers.map(|worker| worker.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
            }
        }
    }
}
