// SPDX-License-Identifier: Apache-2.0
//! The transmit side of the card's model: the next frames of every queue are fetched while another one is sent, and the
//! engine's egress port says which goes when.
use penstock_frame::{Edit, FCS_BYTES, MIN_FRAME_BYTES, PREAMBLE_BYTES};
use penstock_shaper::admission::{Pool, CLASSES};
use penstock_shaper::egress::{EgressPort, GateTime, LineTime, Queued, Tick, NEVER};
use penstock_shaper::launch::{Launch, Verdict};
use penstock_shaper::lifetime::{GivingUp, Port};
use penstock_shaper::pace::{Line, Pace, TICK_NS};
use penstock_shaper::turns::{self, Turns};

use crate::card::MOST_PAIRS;

/// Frames of a queue that wait in the card, as in the hardware's.
pub const FETCHED: usize = 4;

/// Of the hardware's timer: the card's only port has the first.
const TURNS: u16 = 2;
const PORT: u16 = 0;
/// A frame without ATS lies in a list of its own in hardware, as in one of a reception port; these tell it from those before it.
const SELECTED_LIST: u16 = 0;
const QUEUED_LIST: u16 = 1;

/// The line of the card's port, and the lists of each class.
struct CardLine<'a>(Line<'a>, u16);

impl LineTime for CardLine<'_> {
    fn gate_time(&self) -> &GateTime {
        self.0.gate_time()
    }

    fn wire(&self, bytes: u16) -> u64 {
        self.0.wire(bytes)
    }

    fn next_selection(&self, selection: Tick, bytes: u16) -> Tick {
        self.0.next_selection(selection, bytes)
    }

    fn spent(&self, selection: Tick, bytes: u16) -> Tick {
        self.0.spent(selection, bytes)
    }
}

impl GivingUp for CardLine<'_> {
    fn receptions(&self) -> Option<u16> {
        Some(self.1)
    }

    fn was_last(&self, egress: &EgressPort, copy: &Queued) -> bool {
        !copy.shaped || egress.was_last(copy)
    }

    fn free_turn(&self, from: Tick, busy: &[Tick]) -> Tick {
        Turns::new(TURNS).free_turn(PORT, from, busy)
    }
}

/// What the hardware takes between the steps of a frame with a launch time.
#[derive(Clone, Copy, Debug)]
pub struct LaunchDelays {
    /// What it reads is so much ahead of the clock.
    pub ahead_ns: u64,
    /// From its release, or from when it has its eligibility time, to a frame's place in the queue.
    pub queued: Tick,
    /// From then on to the first tick in which it may be selected.
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

/// What the port did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Served {
    Sent(Selected),
    /// A frame was given up: it waited for too long, or no window of its gate is as long as it is.
    GivenUp,
    Nothing,
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

/// A frame at the port, of a queue of its class.
#[derive(Clone, Debug)]
struct Fetched {
    queue: usize,
    frame: Vec<u8>,
    due: Due,
}

pub struct Transmit {
    port: Port,
    /// The turn in which the frame that was selected last is released.
    release: Tick,
    pub pace: Pace,
    pub launch: Launch<Vec<u8>>,
    delays: LaunchDelays,
    /// Of hardware: a frame of each queue of a class has one.
    lists: u16,
    /// By the number that the port knows a frame by; None: free.
    fetched: Vec<Option<Fetched>>,
    /// Of each queue.
    waiting: [usize; MOST_PAIRS],
}

impl Transmit {
    /// Of so many queues.
    pub fn new(queues: usize, pace: Pace, delays: LaunchDelays) -> Self {
        // A tick is over when what was read in it acts.
        let ticks = 1 + delays.queued + delays.visible + delays.wire + pace.ticks(PREAMBLE_BYTES);
        let launch = Launch::new(delays.ahead_ns, ticks * TICK_NS - delays.ahead_ns);
        Self {
            port: Port::new(1),
            release: 0,
            pace,
            launch,
            delays,
            lists: (FETCHED * queues.div_ceil(CLASSES)) as u16,
            fetched: Vec::new(),
            waiting: [0; MOST_PAIRS],
        }
    }

    pub fn egress(&mut self) -> &mut EgressPort {
        &mut self.port.egress
    }

    /// Whether another frame of a queue may be fetched.
    pub fn has_room(&self, queue: usize) -> bool {
        self.waiting[queue] + self.launch.held(queue) < FETCHED
    }

    /// Of a frame without FCS, on the wire.
    pub fn bytes(frame: &[u8]) -> u16 {
        (frame.len() as u32 + FCS_BYTES).max(MIN_FRAME_BYTES) as u16
    }

    /// A frame without FCS is there, from a tick on.
    pub fn enqueue(&mut self, time: &GateTime, queue: usize, frame: Vec<u8>, from: Tick) {
        self.push(time, Fetched { queue, frame, due: Due::Any }, from - self.delays.visible, None);
    }

    /// One that is eligible in a tick, and queued in another one.
    pub fn enqueue_shaped(&mut self, time: &GateTime, queue: usize, frame: Vec<u8>, eligible: Tick, at: Tick) {
        self.push(time, Fetched { queue, frame, due: Due::Any }, at + self.delays.queued, Some(eligible));
    }

    /// A frame without FCS, of a launch time.
    pub fn hold(&mut self, time: &GateTime, at: Tick, queue: usize, launch_ns: u64, frame: Vec<u8>) -> Verdict {
        self.launch.offer(time.clock(), at, queue, launch_ns, frame)
    }

    /// When the first byte behind the delimiter leaves, of a frame that is selected in a tick.
    pub fn first_byte(&self, selected: Tick) -> Tick {
        selected + self.delays.wire + self.pace.ticks(PREAMBLE_BYTES)
    }

    /// The frame whose launch time has come goes to the port.
    pub fn release(&mut self, time: &GateTime, at: Tick) {
        let Some(released) = self.launch.release(time.clock(), at) else { return };
        let at = at + self.delays.queued;
        let due = match released.is_on_time {
            None => Due::Any,
            Some(true) => Due::At(at + self.delays.visible),
            Some(false) => Due::Passed,
        };
        self.push(time, Fetched { queue: released.queue, frame: released.frame, due }, at, None);
    }

    /// A frame is queued in a tick, with an eligibility time or without.
    fn push(&mut self, time: &GateTime, fetched: Fetched, at: Tick, eligible: Option<Tick>) {
        let (queue, soonest) = (fetched.queue, at + self.delays.visible);
        let bytes = Self::bytes(&fetched.frame);
        let number = self.fetched.iter().position(Option::is_none).unwrap_or(self.fetched.len());
        self.fetched.resize(self.fetched.len().max(number + 1), None);
        self.fetched[number] = Some(fetched);
        self.waiting[queue] += 1;
        let copy = Queued {
            visible: eligible.map_or(soonest, |eligible| eligible.max(soonest)),
            frame: number as u32,
            bytes,
            reception: 0,
            edit: Edit::NONE,
            traffic_class: (queue % CLASSES) as u8,
            pool: Pool::Queue,
            shaped: eligible.is_some(),
        };
        let is_head = self.port.egress.enqueue(copy);
        let line = CardLine(Line { time, pace: self.pace }, self.lists);
        if copy.shaped {
            self.port.enqueued(&line, at, &copy, is_head);
        } else {
            self.port.enqueued(&line, at, &Queued { reception: QUEUED_LIST, ..copy }, true);
        }
    }

    /// A frame leaves the port.
    fn leave(&mut self, copy: &Queued) -> Option<Fetched> {
        let left = self.fetched.get_mut(copy.frame as usize)?.take()?;
        self.waiting[left.queue] -= 1;
        Some(left)
    }

    /// When the port does something next, from a tick on.
    pub fn next(&mut self, time: &GateTime, from: Tick) -> Tick {
        self.port.plan(&CardLine(Line { time, pace: self.pace }, self.lists), from).unwrap_or(NEVER)
    }

    /// What it does at a tick that was told.
    pub fn serve(&mut self, time: &GateTime, at: Tick) -> Served {
        let line = CardLine(Line { time, pace: self.pace }, self.lists);
        if let Some(look) = self.port.lifetime.look.filter(|look| look.at < at) {
            self.port.look(&line, look, &[self.release]);
            return Served::Nothing;
        }
        if self.port.lifetime.given_up().is_some_and(|give_up| give_up.turn < at) {
            let Some(expired) = self.port.release_given_up(&line) else { return Served::Nothing };
            self.leave(&expired.copy);
            return Served::GivenUp;
        }
        let Some(copy) = self.port.egress.select(&line, at) else { return Served::Nothing };
        let listed = if copy.shaped { copy } else { Queued { reception: SELECTED_LIST, ..copy } };
        let last = line.was_last(&self.port.egress, &copy);
        self.port.lifetime.popped(at, &listed, last);
        if !self.port.lifetime.is_idle() {
            self.port.selected_meanwhile(&line, at, std::iter::once(self.release));
        }
        let turns = Turns::new(TURNS);
        self.release = turns.release(PORT, at, copy.bytes, |word| turns.turn(PORT, turns::wanted(at, word)));
        let Some(Fetched { queue, frame, due }) = self.leave(&copy) else { return Served::Nothing };
        let is_late = match due {
            Due::Any => false,
            Due::At(due) => at != due,
            Due::Passed => true,
        };
        Served::Sent(Selected { queue, at, frame, is_late })
    }
}
