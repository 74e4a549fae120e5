// SPDX-License-Identifier: Apache-2.0
//! The transmit side of the card's model: the next frames of every queue are fetched while another one is sent, and the
//! engine's egress port says which goes when.
use std::collections::VecDeque;

use penstock_frame::{Edit, FCS_BYTES, MIN_FRAME_BYTES, PREAMBLE_BYTES};
use penstock_shaper::admission::Pool;
use penstock_shaper::egress::{EgressPort, GateTime, Queued, Tick, NEVER};
use penstock_shaper::launch::{Launch, Verdict};
use penstock_shaper::pace::{Line, Pace, TICK_NS};

use crate::card::MOST_PAIRS;

/// Frames of a queue that wait in the card, as in the hardware's.
pub const FETCHED: usize = 4;

/// What the hardware takes between the steps of a frame with a launch time.
#[derive(Clone, Copy, Debug)]
pub struct LaunchDelays {
    /// What it reads is so much ahead of the clock.
    pub ahead_ns: u64,
    /// From its release to the first tick in which a frame may be selected.
    pub visible: Tick,
    /// From then on to the first bit of its preamble.
    pub wire: Tick,
}

/// When a frame has to be selected to leave at its launch time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Any,
    At(Tick),
    Passed,
}

/// A frame that is selected: without FCS, and when its transmission begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    pub queue: usize,
    pub at: Tick,
    pub frame: Vec<u8>,
    /// It leaves after its launch time.
    pub is_late: bool,
}

pub struct Transmit {
    pub egress: EgressPort,
    pub pace: Pace,
    pub launch: Launch<Vec<u8>>,
    delays: LaunchDelays,
    fetched: [VecDeque<(Vec<u8>, Due)>; MOST_PAIRS],
}

impl Transmit {
    pub fn new(pace: Pace, delays: LaunchDelays) -> Self {
        // A tick is over when what was read in it acts.
        let ticks = 1 + delays.visible + delays.wire + pace.ticks(PREAMBLE_BYTES);
        let launch = Launch::new(delays.ahead_ns, ticks * TICK_NS - delays.ahead_ns);
        Self { egress: EgressPort::new(1), pace, launch, delays, fetched: Default::default() }
    }

    /// Whether another frame of a queue may be fetched.
    pub fn has_room(&self, queue: usize) -> bool {
        self.fetched[queue].len() + self.launch.held(queue) < FETCHED
    }

    /// A frame without FCS is there, from a tick on.
    pub fn enqueue(&mut self, queue: usize, frame: Vec<u8>, from: Tick) {
        self.push(queue, frame, from, Due::Any);
    }

    /// A frame without FCS, of a launch time.
    pub fn hold(&mut self, time: &GateTime, at: Tick, queue: usize, launch_ns: u64, frame: Vec<u8>) -> Verdict {
        self.launch.offer(time.clock(), at, queue, launch_ns, frame)
    }

    /// The frame whose launch time has come goes to the port.
    pub fn release(&mut self, time: &GateTime, at: Tick) {
        let Some(released) = self.launch.release(time.clock(), at) else { return };
        let from = at + self.delays.visible;
        let due = match released.is_on_time {
            None => Due::Any,
            Some(true) => Due::At(from),
            Some(false) => Due::Passed,
        };
        self.push(released.queue, released.frame, from, due);
    }

    fn push(&mut self, queue: usize, frame: Vec<u8>, from: Tick, due: Due) {
        let bytes = (frame.len() as u32 + FCS_BYTES).max(MIN_FRAME_BYTES) as u16;
        self.fetched[queue].push_back((frame, due));
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
        let (frame, due) = self.fetched[queue].pop_front()?;
        let is_late = match due {
            Due::Any => false,
            Due::At(due) => at != due,
            Due::Passed => true,
        };
        Some(Selected { queue, at, frame, is_late })
    }
}
