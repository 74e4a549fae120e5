// SPDX-License-Identifier: Apache-2.0
//! Connections that came, by who they are from.
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::connection::{Broken, Incoming, Next};
use crate::error::Error;
use crate::identity::Identity;

/// Of one peer: one in use, others of a peer that was started again and again.
const MOST_CONNECTIONS: usize = 8;

/// What is from one peer; the one who reads has it.
type Lane = Arc<Mutex<VecDeque<Incoming>>>;

#[derive(Debug, Default)]
struct Arrived {
    new: HashMap<Identity, VecDeque<Incoming>>,
    lanes: HashMap<Identity, Lane>,
    is_closed: bool,
}

#[derive(Debug, Default)]
pub struct Inbox {
    arrived: Mutex<Arrived>,
    changed: Condvar,
}

impl Inbox {
    /// A peer has connected.
    pub fn add(&self, from: Identity, connection: Incoming) {
        let mut arrived = held(&self.arrived);
        let waiting = arrived.new.entry(from).or_default();
        if waiting.len() < MOST_CONNECTIONS {
            waiting.push_back(connection);
        }
        self.changed.notify_all();
    }

    /// Nobody waits any more.
    pub fn close(&self) {
        held(&self.arrived).is_closed = true;
        self.changed.notify_all();
    }

    /// Bytes of the next message from a node, which stays.
    pub fn next(&self, from: Identity, until: Option<Instant>) -> Result<u32, Error> {
        let lane = self.lane(from);
        let mut lane = held(&lane);
        self.next_of(&mut lane, from, until)
    }

    /// The next message from a node, if it has as many bytes as the buffer.
    pub fn take(&self, from: Identity, buffer: &mut [u8], until: Option<Instant>) -> Result<(), Error> {
        let lane = self.lane(from);
        let mut lane = held(&lane);
        let (has, wanted) = (u64::from(self.next_of(&mut lane, from, until)?), buffer.len() as u64);
        if has != wanted {
            return Err(Error::OtherLength { node: from, has, wanted });
        }
        let Some(connection) = lane.front_mut() else { return Err(Error::Lost { node: from }) };
        connection.take(buffer, until).map_err(|broken| {
            if !matches!(broken, Broken::TimedOut) {
                lane.pop_front();
            }
            told(&broken, from)
        })
    }

    fn lane(&self, from: Identity) -> Lane {
        Arc::clone(held(&self.arrived).lanes.entry(from).or_default())
    }

    fn next_of(&self, lane: &mut VecDeque<Incoming>, from: Identity, until: Option<Instant>) -> Result<u32, Error> {
        loop {
            if lane.is_empty() {
                lane.extend(self.arrival(from, until)?);
            }
            let Some(connection) = lane.front_mut() else { continue };
            match connection.next(until) {
                Ok(Next::Message(bytes)) => return Ok(bytes),
                Ok(Next::Ended) => _ = lane.pop_front(),
                Err(Broken::TimedOut) => return Err(Error::TimedOut { node: from }),
                Err(broken) => {
                    lane.pop_front();
                    return Err(told(&broken, from));
                }
            }
        }
    }

    /// Waits until a peer has connected.
    fn arrival(&self, from: Identity, until: Option<Instant>) -> Result<VecDeque<Incoming>, Error> {
        let mut arrived = held(&self.arrived);
        loop {
            if arrived.is_closed {
                return Err(Error::NotOpen);
            }
            if let Some(new) = arrived.new.remove(&from) {
                return Ok(new);
            }
            arrived = match until.map(|until| until.saturating_duration_since(Instant::now())) {
                None => self.changed.wait(arrived).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => return Err(Error::TimedOut { node: from }),
                Some(left) => self.changed.wait_timeout(arrived, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }
}

fn told(broken: &Broken, node: Identity) -> Error {
    match broken {
        Broken::TimedOut | Broken::Late => Error::TimedOut { node },
        Broken::Lost => Error::Lost { node },
        Broken::Strange => Error::Strange { node },
    }
}

/// What a thread that panicked has left is as good: it is changed in single steps.
pub fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
