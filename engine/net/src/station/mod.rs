// SPDX-License-Identifier: Apache-2.0
//! A station sends the frames of its streams over one link: a queue per traffic class, the highest class first; with
//! gates, credit or longest frames as `shaped.rs` has it.
mod room;
mod shaped;

use crate::clock::Clock;
use crate::frame::NONE;
use crate::frames::Frames;
use crate::link::Wire;
use crate::near::near;
pub use room::Room;
pub use shaped::Shaped;

pub const CLASSES: usize = 8;

/// First released, first sent; the frames name each other.
#[derive(Clone, Copy, Debug)]
struct Fifo {
    head: u32,
    tail: u32,
}

/// A stream that has a frame whenever the port is free.
#[derive(Clone, Copy, Debug)]
struct Greedy {
    stream: u32,
    traffic_class: u8,
    ready: bool,
    /// For turns among those of one class.
    served: u64,
}

/// What a station sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Queued(u32),
    /// A frame that this stream has now.
    Greedy(u32),
}

#[derive(Clone, Debug)]
pub struct Station {
    pub clock: Clock,
    pub wire: Wire,
    pub class_of_pcp: [u8; 8],
    /// What each queue may still hold.
    pub room: [Room; CLASSES],
    /// Then none of what follows is used.
    pub shaped: Option<Box<Shaped>>,
    /// When the next preamble may begin.
    pub free_at: u64,
    /// A selection is in the event queue.
    pub awaited: bool,
    queues: [Fifo; CLASSES],
    /// Classes with queued frames.
    waiting: u8,
    greedy: Vec<Greedy>,
    served: u64,
}

impl Station {
    pub fn new(clock: Clock, wire: Wire, class_of_pcp: [u8; 8]) -> Self {
        Self {
            clock,
            wire,
            class_of_pcp,
            room: [Room::default(); CLASSES],
            shaped: None,
            free_at: 0,
            awaited: false,
            queues: [Fifo { head: NONE, tail: NONE }; CLASSES],
            waiting: 0,
            greedy: Vec::new(),
            served: 0,
        }
    }

    /// Has what a frame needs fetched into the cache.
    #[inline]
    pub fn bring(&self) {
        near(&self.clock);
        near(&self.wire);
        near(&self.free_at);
        near(&self.queues);
        near(&self.room);
    }

    pub fn add_greedy(&mut self, stream: u32, traffic_class: u8) {
        self.greedy.push(Greedy { stream, traffic_class, ready: false, served: 0 });
    }

    pub fn set_ready(&mut self, stream: u32, ready: bool) {
        if let Some(greedy) = self.greedy.iter_mut().find(|greedy| greedy.stream == stream) {
            greedy.ready = ready;
        }
    }

    /// Queues a frame, if its queue has room.
    #[inline]
    pub fn queue(&mut self, frames: &mut Frames, slot: u32, traffic_class: u8) -> bool {
        let class = usize::from(traffic_class) % CLASSES;
        if !self.room[class].take(frames.get(slot).bytes) {
            return false;
        }
        let queue = &mut self.queues[class];
        if self.waiting >> class & 1 == 0 {
            queue.head = slot;
            self.waiting |= 1 << class;
        } else {
            frames.get_mut(queue.tail).next = slot;
        }
        queue.tail = slot;
        true
    }

    /// Whether it has something to send.
    #[inline]
    pub fn has_next(&self) -> bool {
        self.waiting != 0 || self.greedy.iter().any(|greedy| greedy.ready)
    }

    /// Takes what is to be sent now. Of one class, what was released before what is made at this instant.
    #[inline]
    pub fn select(&mut self, frames: &Frames) -> Option<Next> {
        let highest = self.waiting.checked_ilog2();
        if !self.greedy.is_empty() {
            if let Some(greedy) = self.select_greedy(highest) {
                return Some(greedy);
            }
        }
        let class = highest? as usize;
        let queue = &mut self.queues[class];
        let slot = queue.head;
        let frame = frames.get(slot);
        queue.head = frame.next;
        self.room[class].give(frame.bytes);
        if slot == queue.tail {
            self.waiting &= !(1 << class);
        }
        Some(Next::Queued(slot))
    }

    /// A stream of a class above the highest one that has a frame queued.
    fn select_greedy(&mut self, queued: Option<u32>) -> Option<Next> {
        let above =
            |greedy: &&mut Greedy| greedy.ready && queued.is_none_or(|class| u32::from(greedy.traffic_class) > class);
        let order = |greedy: &&mut Greedy| (std::cmp::Reverse(greedy.traffic_class), greedy.served);
        let next = self.greedy.iter_mut().filter(above).min_by_key(order)?;
        self.served += 1;
        next.served = self.served;
        Some(Next::Greedy(next.stream))
    }
}
