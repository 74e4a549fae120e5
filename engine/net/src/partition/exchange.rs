// SPDX-License-Identifier: Apache-2.0
//! What partitions tell each other: frames that cross, and until when none will come any more.
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};

use super::lookahead::Neighbour;
use super::promise::Promise;
use crate::frame::Frame;
use penstock_shaper::Time;

/// A frame on its way to a bridge of another partition.
#[derive(Debug)]
pub struct Crossing {
    pub frame: Frame,
    pub bridge: u32,
    pub port: u16,
    /// Its FCS tells that it is.
    pub is_damaged: bool,
    /// When its first bit after the delimiter comes.
    pub arrives: Time,
    /// Before this, it was to have no effect.
    pub promised: Time,
}

/// Alone in its lines of the cache.
#[repr(align(128))]
struct Padded<T>(T);

/// From one partition to another. Only the sender writes.
struct Channel {
    /// No frame that is sent from now on has an effect before this.
    promise: Promise,
    /// Frames that were sent.
    posted: AtomicU64,
    mail: Sender<Crossing>,
}

pub struct Exchange {
    count: usize,
    /// By sender, then receiver.
    channels: Vec<Padded<Channel>>,
    /// Per partition, those that its frames go to.
    neighbours: Vec<Vec<Neighbour>>,
    stop: AtomicBool,
}

/// What comes to one partition, and what it has seen of that.
pub struct Seen {
    /// By sender.
    pub promises: Vec<Time>,
    taken: Vec<u64>,
    mail: Vec<Receiver<Crossing>>,
}

impl Exchange {
    /// Per partition, those that its frames go to. Gives also what each one is to look at.
    pub fn new(neighbours: Vec<Vec<Neighbour>>) -> (Self, Vec<Seen>) {
        let count = neighbours.len();
        let seen = || Seen { promises: vec![0; count], taken: vec![0; count], mail: Vec::with_capacity(count) };
        let mut all: Vec<Seen> = (0..count).map(|_| seen()).collect();
        let mut channels = Vec::with_capacity(count * count);
        for neighbours in &neighbours {
            for (to, seen) in all.iter_mut().enumerate() {
                let is_neighbour = neighbours.iter().any(|neighbour| neighbour.partition as usize == to);
                let promise = Promise::new(if is_neighbour { 0 } else { Time::MAX });
                let (mail, box_of_mail) = channel();
                seen.mail.push(box_of_mail);
                channels.push(Padded(Channel { promise, posted: AtomicU64::new(0), mail }));
            }
        }
        (Self { count, channels, neighbours, stop: AtomicBool::new(false) }, all)
    }

    pub fn neighbours(&self, of: usize) -> &[Neighbour] {
        &self.neighbours[of]
    }

    fn channel(&self, from: usize, to: usize) -> &Channel {
        &self.channels[from * self.count + to].0
    }

    /// A frame crosses; it is there before a promise that is given after this.
    pub fn post(&self, from: usize, to: usize, mut crossing: Crossing) {
        let channel = self.channel(from, to);
        crossing.promised = channel.promise.get_alone();
        // Whoever no longer takes it has ended the run.
        _ = channel.mail.send(crossing);
        channel.posted.store(channel.posted.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// Promises are never taken back.
    pub fn promise(&self, from: usize, to: usize, until: Time) {
        let promise = &self.channel(from, to).promise;
        if promise.get_alone() >= until {
            return;
        }
        promise.set(until);
    }

    /// Takes what has come, and gives the time before which nothing comes any more; whether there is news.
    pub fn look(&self, me: usize, seen: &mut Seen, came: &mut Vec<Crossing>) -> (Time, bool) {
        let mut horizon = Time::MAX;
        let mut news = false;
        for from in (0..self.count).filter(|&from| from != me) {
            let channel = self.channel(from, me);
            let promise = channel.promise.get();
            news |= std::mem::replace(&mut seen.promises[from], promise) != promise;
            horizon = horizon.min(promise);
            // All that was sent before the promise is there.
            let posted = channel.posted.load(Ordering::Acquire);
            while posted != seen.taken[from] {
                let Ok(crossing) = seen.mail[from].try_recv() else { break };
                came.push(crossing);
                seen.taken[from] += 1;
                news = true;
            }
        }
        (horizon, news)
    }

    /// Whether others have promised more than what was seen.
    pub fn has_news(&self, me: usize, seen: &Seen) -> bool {
        let mut others = (0..self.count).filter(|&from| from != me);
        others.any(|from| self.channel(from, me).promise.get_alone() != seen.promises[from])
    }

    /// Has nothing to do any more; nothing will be sent.
    pub fn leave(&self, me: usize) {
        for neighbour in &self.neighbours[me] {
            self.promise(me, neighbour.partition as usize, Time::MAX);
        }
    }

    /// What all can promise while nothing is on its way: per partition and neighbour, what own events allow; more is caused
    /// through others only.
    pub fn promise_all(&self, bounds: &[Vec<Time>]) {
        let mut until = vec![Time::MAX; self.count * self.count];
        for (from, bounds) in bounds.iter().enumerate() {
            for (neighbour, bound) in self.neighbours[from].iter().zip(bounds) {
                until[from * self.count + neighbour.partition as usize] = *bound;
            }
        }
        for _ in 0..self.count {
            for by in 0..self.count {
                for neighbour in &self.neighbours[by] {
                    let others = (0..self.count).filter(|&from| from != by);
                    let through =
                        others.map(|from| neighbour.after_crossing(from, until[from * self.count + by])).min();
                    let known = &mut until[by * self.count + neighbour.partition as usize];
                    *known = through.map_or(*known, |through| through.min(*known));
                }
            }
        }
        for (from, neighbours) in self.neighbours.iter().enumerate() {
            for to in neighbours.iter().map(|neighbour| neighbour.partition as usize) {
                self.promise(from, to, until[from * self.count + to]);
            }
        }
    }

    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
