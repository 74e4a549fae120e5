// SPDX-License-Identifier: Apache-2.0
//! The transmit side of the card's model: the next frames of every queue are fetched while another one is sent, and the
//! engine's egress port says which goes when.
use std::collections::VecDeque;

use penstock_frame::{Edit, FCS_BYTES, MIN_FRAME_BYTES};
use penstock_shaper::admission::Pool;
use penstock_shaper::egress::{EgressPort, GateTime, Queued, Tick, NEVER};
use penstock_shaper::pace::{Line, Pace};

use crate::card::MOST_PAIRS;

/// Frames of a queue that wait in the card, as in the hardware's.
const FETCHED: usize = 4;

/// A frame that is selected: without FCS, and when its transmission begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    pub queue: usize,
    pub at: Tick,
    pub frame: Vec<u8>,
}

pub struct Transmit {
    pub egress: EgressPort,
    pub pace: Pace,
    fetched: [VecDeque<Vec<u8>>; MOST_PAIRS],
}

impl Transmit {
    pub fn new(pace: Pace) -> Self {
        Self { egress: EgressPort::new(1), pace, fetched: Default::default() }
    }

    /// Whether another frame of a queue may be fetched.
    pub fn has_room(&self, queue: usize) -> bool {
        self.fetched[queue].len() < FETCHED
    }

    /// A frame without FCS is there, from a tick on.
    pub fn enqueue(&mut self, queue: usize, frame: Vec<u8>, from: Tick) {
        let bytes = (frame.len() as u32 + FCS_BYTES).max(MIN_FRAME_BYTES) as u16;
        self.fetched[queue].push_back(frame);
        self.egress.enqueue(Queued {
            visible: from,
            frame: 0,
            bytes,
            reception: 0,
            edit: Edit::NONE,
            traffic_class: queue as u8,
            pool: Pool::Queue,
            shaped: false,
        });
    }

    /// When the next frame may be selected, from a tick on.
    pub fn next(&mut self, time: &GateTime, from: Tick) -> Tick {
        if self.egress.is_empty() {
            return NEVER;
        }
        self.egress.next_selection(&Line { time, pace: self.pace }, from)
    }

    pub fn select(&mut self, time: &GateTime, at: Tick) -> Option<Selected> {
        let copy = self.egress.select(&Line { time, pace: self.pace }, at)?;
        let queue = usize::from(copy.traffic_class);
        let frame = self.fetched[queue].pop_front()?;
        Some(Selected { queue, at, frame })
    }
}
