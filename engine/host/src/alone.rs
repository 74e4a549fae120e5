// SPDX-License-Identifier: Apache-2.0
//! The card without a virtual machine, its queues kept full: what each queue gets of its port's line, by the card's own clock.
mod follow;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use thiserror::Error;

use crate::card::{ring_of, Card, NoRegister, Outcome, Sent, MOST_PORTS};
use crate::memory::{Memory, MemoryError};
use crate::ring::{Layout, RingError};
pub use follow::{follow, Followed};

const QUEUES: usize = 3;
const SIZE: u16 = 64;
/// Without FCS.
const FRAME_BYTES: u64 = 1514;
const FRAME_NS: u64 = 8 * (8 + FRAME_BYTES + 4 + 12);
const CYCLE_NS: u64 = 1_000_000;
const GUARD_NS: u64 = 20_000;
/// Schedule cycles until all is as it stays, and then while it is counted.
const SETTLE: u32 = 3;
const COUNTED: u32 = 10;
/// Of the rings of a port.
const AREA: u64 = 0x4_0000;
const BUFFER: u64 = AREA * MOST_PORTS as u64;
const MEMORY_BYTES: u64 = BUFFER + 0x1_0000;
const TQCR_NS: u16 = 0x540;
const CYCLE: u16 = 0x580;
const ORDER: u16 = 0x600;
const COMMIT: u16 = 0x58C;
const REFUSED: u16 = 0x590;
const STEP: Duration = Duration::from_micros(100);
/// In a cycle of the schedule.
const STEPS: u32 = (CYCLE_NS / STEP.as_nanos() as u64) as u32;
const THREE: [(usize, u64); QUEUES] = [(2, 900_000), (1, 50_000), (0, 50_000)];

#[derive(Debug, Error)]
pub enum AloneError {
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error("ring: {0}")]
    Ring(#[from] RingError),
    #[error(transparent)]
    Register(#[from] NoRegister),
    #[error("ring {ring} stands still: {why}")]
    Stopped { ring: usize, why: String },
    #[error("the card has {pairs} queue pairs; {QUEUES} or more are needed")]
    Pairs { pairs: usize },
    #[error("memory that is there cannot be used")]
    Lost,
    #[error("hardly anything left the card")]
    Silent,
    #[error("a time stamp was lost")]
    StampLost,
    #[error("the PTP clock refused a command with code {code}")]
    Clock { code: u32 },
}

/// What was seen of each queue, in percent of the line.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Alone {
    /// One queue that has the card for itself.
    pub one: f64,
    /// Two in turns.
    pub turns: [f64; QUEUES],
    /// Slots of 90, 5 and 5 % for queues 2, 1 and 0.
    pub slots: [f64; QUEUES],
    /// The same while queue 2 has nothing.
    pub empty: [f64; QUEUES],
    /// The same with a guard of 20 us.
    pub guarded: [f64; QUEUES],
    /// A slot of 60 % for queue 2, the others without one.
    pub free: [f64; QUEUES],
    /// Frames of all these that were on the wire outside of their slot, or in its guard.
    pub outside: u64,
    /// Registers that were not read back as they were written.
    pub changed: u64,
    /// The code for slots longer than their cycle.
    pub refusal: u32,
}

/// Of the schedules that the ports of a card have at the same time: slots of queues in their order. What is left of the cycle is
/// for queues without a slot.
const SCHEDULES: [&Slots; MOST_PORTS] =
    [&THREE, &[(1, 500_000), (0, 300_000), (2, 200_000)], &[(0, 250_000), (2, 600_000)], &[(1, 400_000)]];

/// What was seen of a port beside others, each with a schedule of its own.
#[derive(Clone, Debug, Serialize)]
pub struct Scheduled {
    /// In ns, by queue; zero: none.
    pub slots_ns: [u64; QUEUES],
    /// In percent of the line, by queue.
    pub got: [f64; QUEUES],
    /// Frames that were on the wire outside of their slot.
    pub outside: u64,
    /// Registers that were not read back as they were written.
    pub changed: u64,
}

fn layout(port: usize, queue: usize) -> Layout {
    let base = AREA * port as u64 + 0x1_0000 * queue as u64;
    Layout { size: SIZE, descriptors: base, available: base + 0x1000, used: base + 0x2000 }
}

struct Bench<'a> {
    card: &'a mut dyn Card,
    memory: Arc<Memory>,
    now: Duration,
    /// Of each port.
    sent: Vec<Vec<Sent>>,
}

/// Slots in their order, and when each begins.
type Slots = [(usize, u64)];

impl<'a> Bench<'a> {
    fn new(card: &'a mut dyn Card) -> Result<Self, AloneError> {
        let pairs = card.pairs();
        if pairs < QUEUES {
            return Err(AloneError::Pairs { pairs });
        }
        let memory = Arc::new(Memory::of_own(&[(0, MEMORY_BYTES)])?);
        let sent = vec![Vec::new(); card.ports().min(MOST_PORTS)];
        let mut bench = Self { card, memory, now: Duration::ZERO, sent };
        for port in 0..bench.sent.len() {
            bench.set_up(port)?;
        }
        bench.card.select(0);
        Ok(bench)
    }

    fn set_up(&mut self, port: usize) -> Result<(), AloneError> {
        self.card.select(port);
        self.card.set_memory(Arc::clone(&self.memory));
        for queue in 0..QUEUES {
            let at = layout(port, queue);
            for number in 0..SIZE {
                let descriptor = [BUFFER, 12 + FRAME_BYTES].map(u64::to_le_bytes).concat();
                let place = u64::from(number);
                let is_there = self.memory.write(at.descriptors + 16 * place, &descriptor)
                    && self.memory.write(at.available + 4 + 2 * place, &number.to_le_bytes());
                is_there.then_some(()).ok_or(AloneError::Lost)?;
            }
            self.card.start(ring_of(queue, true), at, 0)?;
        }
        Ok(())
    }

    /// Each of these queues of each port has always something to send, for so long.
    fn run(&mut self, full: &[usize], cycles: u32) -> Result<(), AloneError> {
        self.sent.iter_mut().for_each(Vec::clear);
        (0..cycles * STEPS).try_for_each(|_| self.step(full))
    }

    /// The same for [`STEP`], beside what was sent before.
    fn step(&mut self, full: &[usize]) -> Result<(), AloneError> {
        for port in 0..self.sent.len() {
            self.fill(port, full)?;
        }
        self.now += STEP;
        for port in 0..self.sent.len() {
            self.card.select(port);
            let mut outcome = Outcome::default();
            self.card.advance(self.now, &mut outcome);
            self.sent[port].append(&mut outcome.sent);
            if let Some((ring, why)) = outcome.errors.pop() {
                return Err(AloneError::Stopped { ring, why });
            }
        }
        self.card.select(0);
        Ok(())
    }

    fn fill(&mut self, port: usize, full: &[usize]) -> Result<(), AloneError> {
        self.card.select(port);
        for &queue in full {
            let at = layout(port, queue);
            let used = self.memory.load(at.used + 2).ok_or(AloneError::Lost)?;
            self.memory.store(at.available + 2, used.wrapping_add(SIZE)).then_some(()).ok_or(AloneError::Lost)?;
            self.card.kick(ring_of(queue, true));
        }
        Ok(())
    }

    /// In percent of the line, by the frames between the first and the last one.
    fn share(&self, port: usize) -> [f64; QUEUES] {
        let sent = &self.sent[port];
        let (Some(first), Some(last)) = (sent.first(), sent.last()) else { return [0.0; QUEUES] };
        // Whole cycles of the schedule, so that none is cut where it matters.
        let whole = (last.at_ns - first.at_ns) / CYCLE_NS * CYCLE_NS;
        let mut share = [0.0; QUEUES];
        for sent in sent.iter().filter(|sent| sent.at_ns - first.at_ns < whole) {
            if let Some(of) = share.get_mut(sent.queue) {
                *of += 100.0 * FRAME_NS as f64 / whole as f64;
            }
        }
        share
    }

    fn measure(&mut self, full: &[usize]) -> Result<[f64; QUEUES], AloneError> {
        self.run(full, SETTLE)?;
        self.run(full, COUNTED)?;
        Ok(self.share(0))
    }

    /// Writes slots of the selected port and gives how many registers have another value then.
    fn set_slots(&mut self, slots: &Slots, guard_ns: u64, cycle_ns: u64) -> Result<u64, AloneError> {
        let mut tqcr = [0; QUEUES];
        let mut order = [0; 4];
        for (place, &(queue, slot_ns)) in order.iter_mut().zip(slots) {
            *place = queue as u8;
            tqcr[queue] = slot_ns as u32;
        }
        let mut writes: Vec<(u16, u32)> = (TQCR_NS..).step_by(4).zip(tqcr).collect();
        writes.push((ORDER, u32::from_le_bytes(order)));
        writes.extend((CYCLE..).step_by(4).zip([cycle_ns as u32, guard_ns as u32, slots.len() as u32]));
        for &(address, value) in &writes {
            self.card.write(address, value)?;
        }
        self.card.write(COMMIT, 0)?;
        let mut changed = 0;
        for (address, value) in writes {
            changed += u64::from(self.card.read(address)? != value);
        }
        Ok(changed)
    }

    /// Frames of which a bit was on the wire outside of their slot.
    fn outside(&self, port: usize, slots: &Slots, guard_ns: u64) -> u64 {
        let is_outside = |sent: &&Sent| !is_inside(slots, guard_ns, sent.queue, sent.at_ns);
        self.sent[port].iter().filter(is_outside).count() as u64
    }
}

/// Whether a frame that begins at a time of the schedule's clock is all within its queue's slot, its guard taken away; queues
/// without a slot have what is left of the cycle.
fn is_inside(slots: &Slots, guard_ns: u64, queue: usize, at_ns: u64) -> bool {
    let at = at_ns % CYCLE_NS;
    let mut begin = 0;
    for &(owner, slot_ns) in slots {
        if owner == queue {
            return at >= begin && at + FRAME_NS <= begin + slot_ns - guard_ns;
        }
        begin += slot_ns;
    }
    at >= begin && at + FRAME_NS <= CYCLE_NS - guard_ns
}

/// Brings a card that has just begun, with a line of 1 Gb/s, through all of it.
///
/// # Errors
/// The card does not do what a card does.
pub fn measure(card: &mut dyn Card) -> Result<Alone, AloneError> {
    let mut bench = Bench::new(card)?;
    let mut seen = Alone { one: bench.measure(&[2])?[2], turns: bench.measure(&[0, 2])?, ..Alone::default() };
    seen.changed += bench.set_slots(&THREE, 0, CYCLE_NS)?;
    seen.slots = bench.measure(&[0, 1, 2])?;
    seen.outside += bench.outside(0, &THREE, 0);
    bench.set_slots(&THREE, 0, CYCLE_NS / 2)?;
    seen.refusal = bench.card.read(REFUSED)?;
    seen.empty = bench.measure(&[0, 1])?;
    seen.outside += bench.outside(0, &THREE, 0);
    seen.changed += bench.set_slots(&THREE, GUARD_NS, CYCLE_NS)?;
    seen.guarded = bench.measure(&[0, 1, 2])?;
    seen.outside += bench.outside(0, &THREE, GUARD_NS);
    let one = [(2, 600_000)];
    seen.changed += bench.set_slots(&one, 0, CYCLE_NS)?;
    seen.free = bench.measure(&[0, 1, 2])?;
    seen.outside += bench.outside(0, &one, 0);
    Ok(seen)
}

/// All queues of all ports of a card that has just begun are full, and each port has a schedule of its own.
///
/// # Errors
/// The card does not do what a card does.
pub fn schedule(card: &mut dyn Card) -> Result<Vec<Scheduled>, AloneError> {
    let mut bench = Bench::new(card)?;
    let mut seen = Vec::new();
    let ports = bench.sent.len();
    for (port, slots) in SCHEDULES.iter().enumerate().take(ports) {
        bench.card.select(port);
        let changed = bench.set_slots(slots, 0, CYCLE_NS)?;
        let mut slots_ns = [0; QUEUES];
        slots.iter().for_each(|&(queue, slot_ns)| slots_ns[queue] = slot_ns);
        seen.push(Scheduled { slots_ns, got: [0.0; QUEUES], outside: 0, changed });
    }
    bench.run(&[0, 1, 2], SETTLE)?;
    bench.run(&[0, 1, 2], COUNTED)?;
    for (port, seen) in seen.iter_mut().enumerate() {
        seen.got = bench.share(port);
        seen.outside = bench.outside(port, SCHEDULES[port], 0);
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Model, Ports};

    #[test]
    fn each_port_holds_its_own_schedule() {
        let seen = schedule(&mut Ports::new(MOST_PORTS, 4, 1_000_000_000)).unwrap();
        assert_eq!(seen.len(), MOST_PORTS);
        for port in &seen {
            assert_eq!((port.outside, port.changed), (0, 0), "{port:?}");
            for queue in (0..QUEUES).filter(|&queue| port.slots_ns[queue] > 0) {
                let whole = 100.0 * ((port.slots_ns[queue] / FRAME_NS) * FRAME_NS) as f64 / CYCLE_NS as f64;
                assert!((port.got[queue] - whole).abs() < 0.15, "queue {queue} of {port:?}");
            }
            assert!(port.got.iter().all(|&got| got > 0.0), "{port:?}");
        }
    }

    #[test]
    fn the_model_gives_each_queue_what_whole_frames_take_of_its_slot() {
        let seen = measure(&mut Model::new(4, 1_000_000_000)).unwrap();
        let of = |slot_ns: u64| 100.0 * ((slot_ns / FRAME_NS) * FRAME_NS) as f64 / CYCLE_NS as f64;
        let is_near = |seen: f64, wanted: f64| (seen - wanted).abs() < 0.15;
        assert!(seen.one > 99.8 && is_near(seen.turns[0], 50.0) && is_near(seen.turns[2], 50.0), "{seen:?}");
        assert!(is_near(seen.slots[2], of(900_000)) && seen.slots[2] > 89.0, "{seen:?}");
        assert!(is_near(seen.slots[0], of(50_000)) && is_near(seen.empty[0], of(50_000)), "{seen:?}");
        assert!(is_near(seen.guarded[2], of(880_000)) && is_near(seen.free[2], of(600_000)), "{seen:?}");
        assert!(is_near(seen.free[0] + seen.free[1], of(400_000)) && is_near(seen.free[0], seen.free[1]), "{seen:?}");
        assert_eq!((seen.outside, seen.changed, seen.refusal, seen.empty[2]), (0, 0, 6, 0.0));
    }
}
