// SPDX-License-Identifier: Apache-2.0
//! The network card as the port of a station: what its host sends goes through rings in memory, and what leaves by the wire is
//! held against it. What it selects is told at once.
use std::collections::VecDeque;

use penstock_frame::{FCS_BYTES, PREAMBLE_BYTES};
use penstock_net::describe;
use penstock_net::{Card as StationCard, CardDone, CardSent, NodeError, Violation, CYCLE_PS};

use crate::card::{Card, Selected, Stop};
use crate::card_driver::{HostMemory, ReceiveQueue, TransmitQueue, LAUNCH_BYTES, QUEUE_BYTES};
use crate::library::HardwareError;
use crate::queues::PAGE_BITS;

/// From the cycle in which a selection is told to the first byte behind the delimiter.
const TOLD_TO_FIRST: u64 = 10;
/// From the cycle in which a selection is told to the first preamble byte, at the least.
const LEAD_PS: u64 = CYCLE_PS;
/// Up to which it goes on at a time. Less than the shortest frame takes.
const MOST_AHEAD_PS: u64 = 512_000;

const LAUNCH_ENABLE: u32 = 0x680;
const LAUNCH_HORIZON: u32 = 0x688;

const IDLE: Stop = Stop { interrupt: false, sent: false, idle: true };

/// A frame of the host, until it is on the wire.
struct Inside {
    frame: u32,
    bytes: Box<[u8]>,
    /// In picoseconds of the run.
    launch: Option<u64>,
}

pub struct CardNode {
    name: String,
    card: Card,
    start_cycle: u64,
    lookahead_ps: u64,
    known_ps: u64,
    queues: Vec<TransmitQueue>,
    receive: ReceiveQueue,
    launch_queues: u8,
    /// Of each queue, what is in memory; and in the card, with the cell that it lies in.
    waiting: Vec<VecDeque<Inside>>,
    fetched: Vec<Vec<(u16, Inside)>>,
    /// What was selected, and what was refused.
    done: VecDeque<CardDone>,
    /// What was selected and has not left whole: its first cycle, and what it has to be.
    leaving: VecDeque<(u64, Box<[u8]>)>,
    /// What came by the wire and has to reach the host.
    coming: VecDeque<Box<[u8]>>,
    /// A frame came since the card was idle last.
    is_listening: bool,
    failed: Option<HardwareError>,
}

impl CardNode {
    /// The card is set before the run begins. `delay_ps` is that of its link.
    pub fn new(name: &str, described: &describe::Card, delay_ps: u64) -> Result<Self, HardwareError> {
        let &describe::Card { ref library, latency_cycles, start_cycle, ref writes, launch_queues } = described;
        // Known only when the card is there.
        const MOST_PAIRS: usize = 16;
        let bytes = (1 + MOST_PAIRS) * QUEUE_BYTES;
        let memory = HostMemory::new(bytes);
        let mut card = Card::open(library, Box::new(memory.clone()), latency_cycles)?;
        let pairs = card.pairs()?.min(MOST_PAIRS);
        card.set_windows(&[(0, (bytes as u64 - 1) >> PAGE_BITS)])?;
        for &(address, data) in writes {
            card.write(address, data)?;
        }
        card.write(LAUNCH_ENABLE, launch_queues.into())?;
        card.write(LAUNCH_HORIZON, u32::MAX)?;
        let receive = ReceiveQueue::new(&memory, 0);
        card.start_queue(0, &receive.place())?;
        let queues: Vec<_> = (0..pairs).map(|k| TransmitQueue::new(&memory, (1 + k) * QUEUE_BYTES)).collect();
        for (number, queue) in (1..).step_by(2).zip(&queues) {
            card.start_queue(number, &queue.place())?;
        }
        card.run(start_cycle, Stop::default());
        Ok(Self {
            name: name.to_owned(),
            card,
            start_cycle,
            lookahead_ps: (LEAD_PS + delay_ps).min(MOST_AHEAD_PS),
            known_ps: 0,
            launch_queues,
            waiting: queues.iter().map(|_| VecDeque::new()).collect(),
            fetched: queues.iter().map(|_| Vec::new()).collect(),
            queues,
            receive,
            done: VecDeque::new(),
            leaving: VecDeque::new(),
            coming: VecDeque::new(),
            is_listening: false,
            failed: None,
        })
    }

    fn broken(&self, what: impl Into<String>) -> NodeError {
        NodeError { node: self.name.clone(), what: what.into() }
    }

    fn cycle(&self, time_ps: u64) -> u64 {
        self.start_cycle + time_ps.div_ceil(CYCLE_PS)
    }

    fn time(&self, cycle: u64) -> u64 {
        cycle.saturating_sub(self.start_cycle) * CYCLE_PS
    }

    /// Up to a time, or further, if setting its registers took longer.
    fn run(&mut self, now: u64) {
        self.card.run(self.cycle(now), Stop::default());
        self.known_ps = self.known_ps.max(now).max(self.time(self.card.cycle()));
    }

    fn tell(&mut self, virtqueue: u32) {
        let told = self.card.notify(virtqueue);
        self.failed = self.failed.take().or(told.err());
    }

    /// Queues of the host: what waits is offered, and what came is held against what was on the wire.
    fn serve(&mut self) -> Result<(), NodeError> {
        for queue in 0..self.queues.len() {
            if self.queues[queue].refill() {
                self.tell(2 * queue as u32 + 1);
            }
        }
        let mut has_taken = false;
        while let Some(frame) = self.receive.take() {
            has_taken = true;
            let Some(wanted) = self.coming.pop_front() else {
                return Err(self.broken("gave its host a frame that did not come"));
            };
            if frame != wanted[..wanted.len().saturating_sub(FCS_BYTES as usize)] {
                return Err(self.broken("gave its host another frame than had come"));
            }
        }
        if has_taken {
            self.tell(0);
        }
        Ok(())
    }

    /// What it has selected since, and what has left whole.
    fn look(&mut self) -> Result<(), NodeError> {
        // What is in the card was there before it was selected, in the order of the ring.
        while let Some(queued) = self.card.take_queued() {
            let queue = usize::from(queued.queue);
            let Some(inside) = self.waiting.get_mut(queue).and_then(VecDeque::pop_front) else {
                return Err(self.broken(format!("has a frame of queue {queue} that it was not given")));
            };
            if queued.is_refused() {
                let at = self.time(queued.cycle);
                self.done.push_back(CardDone::Refused { frame: inside.frame, traffic_class: queued.queue, at });
            } else {
                self.fetched[queue].push((queued.cell, inside));
            }
        }
        while let Some(Selected { cycle, queue, cell, .. }) = self.card.take_selected() {
            let fetched = &mut self.fetched[usize::from(queue)];
            let Some(place) = fetched.iter().position(|frame| frame.0 == cell) else {
                let what = format!("sends a frame of queue {queue} that it was not given (cycle {cycle})");
                return Err(self.broken(what));
            };
            let (_, Inside { frame, bytes, launch }) = fetched.remove(place);
            let overtaken = &fetched[..place];
            if overtaken.iter().any(|(_, other)| other.launch == launch) {
                return Err(self.broken(format!("sends frames of queue {queue} in another order than it was given")));
            }
            let first_cycle = cycle + TOLD_TO_FIRST;
            let first = self.time(first_cycle);
            if launch.is_some_and(|launch| first < launch) {
                return Err(self.broken(format!("sends a frame of queue {queue} before its launch time")));
            }
            let missed = launch.filter(|&launch| first > launch.next_multiple_of(CYCLE_PS));
            self.done.push_back(CardDone::Sent(CardSent { frame, traffic_class: queue, first, missed }));
            self.leaving.push_back((first_cycle, bytes));
        }
        while let Some(sent) = self.card.take_sent() {
            let cycle = sent.cycle;
            let Some((first, bytes)) = self.leaving.pop_front() else {
                return Err(self.broken(format!("sends at cycle {cycle} what it has not selected")));
            };
            if sent.is_damaged || cycle != first || sent.bytes != *bytes {
                let what = format!("sends a frame at cycle {cycle} otherwise than it was selected, for cycle {first}");
                return Err(self.broken(what));
            }
        }
        while self.card.take_steered().is_some() {}
        let stopped = self.card.take_interrupts();
        if stopped != 0 {
            return Err(self.broken(format!("has stopped virtqueues (mask {stopped:#x})")));
        }
        Ok(())
    }

    fn is_busy(&self) -> bool {
        self.is_listening
            || !self.leaving.is_empty()
            || !self.coming.is_empty()
            || self.waiting.iter().any(|w| !w.is_empty())
            || self.fetched.iter().any(|f| !f.is_empty())
    }
}

impl StationCard for CardNode {
    fn send(&mut self, now: u64, frame: u32, traffic_class: u8, launch: Option<u64>, bytes: &[u8]) {
        let queue = usize::from(traffic_class);
        let Some(data) = bytes.len().checked_sub(FCS_BYTES as usize).filter(|_| queue < self.queues.len()) else {
            return;
        };
        self.run(now);
        self.waiting[queue].push_back(Inside { frame, bytes: bytes.into(), launch });
        if self.launch_queues >> queue & 1 == 1 {
            // Never zero, as the card's clock shows more when the run begins.
            let launch_ns = launch.map_or(0, |launch| self.start_cycle * CYCLE_PS / 1_000 + launch.div_ceil(1_000));
            let time: [u8; LAUNCH_BYTES] = launch_ns.to_le_bytes();
            self.queues[queue].push(&[&time[..], &bytes[..data]].concat());
        } else {
            self.queues[queue].push(&bytes[..data]);
        }
        if self.queues[queue].refill() {
            self.tell(2 * u32::from(traffic_class) + 1);
        }
        self.known_ps = self.known_ps.max(self.time(self.card.cycle()));
    }

    fn receive(&mut self, at: u64, bytes: &[u8], is_damaged: bool) -> Result<(), NodeError> {
        let first = self.cycle(at);
        if !self.is_busy() {
            self.known_ps = self.known_ps.max(at.saturating_sub(u64::from(PREAMBLE_BYTES) * CYCLE_PS));
        }
        self.card.push(bytes, first.saturating_sub(u64::from(PREAMBLE_BYTES)));
        self.is_listening = true;
        if !is_damaged {
            self.coming.push_back(bytes.into());
        }
        Ok(())
    }

    fn next(&self) -> Option<u64> {
        if self.failed.is_some() || !self.done.is_empty() {
            return Some(0);
        }
        self.is_busy().then(|| self.known_ps.saturating_add(self.lookahead_ps))
    }

    fn advance(&mut self, now: u64) -> Result<Option<CardDone>, NodeError> {
        self.run(now);
        self.look()?;
        self.serve()?;
        self.look()?;
        if let Some(error) = self.failed.take() {
            return Err(self.broken(error.to_string()));
        }
        self.known_ps = self.known_ps.max(self.time(self.card.cycle()));
        if self.is_listening && self.card.coming() == 0 && self.card.run(self.card.cycle(), IDLE).idle {
            self.is_listening = false;
            if !self.coming.is_empty() {
                return Err(self.broken("lost a frame that came: its host's memory is too slow for it"));
            }
        }
        Ok(self.done.pop_front())
    }

    fn audit(&self, node: u32, is_idle: bool) -> Option<Violation> {
        let fetched = self.fetched.iter().map(Vec::len).sum::<usize>();
        let copies = self.waiting.iter().map(VecDeque::len).sum::<usize>() + fetched + self.coming.len();
        (is_idle && copies > 0).then_some(Violation::Stuck { node, copies: copies as u64 })
    }

    fn cycles(&self) -> u64 {
        self.card.cycle()
    }
}
