// SPDX-License-Identifier: Apache-2.0
//! A guest that means harm, against any card: rings of no size and at no place, descriptors, chains and indices by chance,
//! kicks of whatever there is, rings that stop while their frames leave. Beside them one queue behaves, and has to get what it
//! would get alone.
use std::sync::Arc;
use std::time::Duration;

use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use thiserror::Error;

use crate::card::{ring_of, Card, NoRegister, Outcome, FEATURE_MRG_RXBUF};
use crate::memory::{Memory, MemoryError};
use crate::ptp;
use crate::ring::{Layout, RingError};

/// The queue that behaves, and one whose ring does, but not its launch times; their rings and their buffers.
const GOOD: usize = 1;
const TIMED: usize = 2;
const RING_BYTES: u64 = 0x3_0000;
const BUFFERS: u64 = 0x4000;
const RING_SIZE: u16 = 64;
const BUFFER: u64 = 2048;
/// Where the others write what they like.
const HOSTILE: u64 = 0xA_0000;
const HOSTILE_BYTES: u64 = 0x1_0000;
/// What no ring was ever given.
const FORBIDDEN: u64 = 0xC_0000;
const FORBIDDEN_BYTES: u64 = 0x1_0000;
const MEMORY_BYTES: u64 = 0x10_0000;
const PATTERN: u8 = 0x5A;
const LAUNCH_ENABLE: u16 = 0x680;
const LAUNCH_DROP: u16 = 0x684;
const LAUNCH_HORIZON: u16 = 0x688;
/// Of queue 0: what was late, dropped, and beyond the horizon.
const LAUNCH_COUNTS: [u16; 3] = [0x1200, 0x1280, 0x1300];
const STEPS: u32 = 80;
/// Of the card, by which all that was offered has left.
const END: Duration = Duration::from_millis(4);

#[derive(Debug, Error)]
pub enum HostileError {
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error("seed {seed}: the ring that behaves was refused: {source}")]
    Refused { seed: u64, source: RingError },
    #[error(transparent)]
    NoRegister(#[from] NoRegister),
    #[error("seed {seed}: {what}")]
    Harmed { seed: u64, what: String },
}

/// What the guest did, and what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Survived {
    /// Frames of the queue that behaves.
    pub frames: u64,
    /// Rings that stopped by an error.
    pub errors: u64,
    /// Rings that were refused.
    pub refused: u64,
    pub started: u64,
    pub stopped: u64,
    pub received: u64,
    /// How often the clock was set or stepped.
    pub clocks: u64,
    /// Frames of the queue that has launch times which left; and those of any that were late, or dropped for their time.
    pub timed: u64,
    pub late: u64,
}

impl Survived {
    pub fn add(&mut self, other: &Self) {
        self.frames += other.frames;
        self.errors += other.errors;
        self.refused += other.refused;
        self.started += other.started;
        self.stopped += other.stopped;
        self.received += other.received;
        self.clocks += other.clocks;
        self.timed += other.timed;
        self.late += other.late;
    }
}

/// An address that may be anything: within what is the guest's to play with, at its borders, or nowhere.
fn address(rng: &mut impl Rng) -> u64 {
    match rng.random_range(0..8) {
        0 => MEMORY_BYTES + rng.random_range(0..0x2000),
        1 => u64::MAX - rng.random_range(0..0x2000),
        2 => rng.random::<u64>() | 1 << 40,
        _ => HOSTILE + rng.random_range(0..HOSTILE_BYTES),
    }
}

fn layout(rng: &mut impl Rng) -> Layout {
    let size = if rng.random_bool(0.9) { 1 << rng.random_range(1..8) } else { rng.random_range(0..300) };
    let mut at = |alignment: u64| match rng.random_range(0..16) {
        0 => address(rng),
        1 => HOSTILE + rng.random_range(0..0x1000),
        _ => HOSTILE + alignment * rng.random_range(0..0x1000 / alignment),
    };
    Layout { size, descriptors: at(16), available: at(2), used: at(4) }
}

/// Some of what lies where the hostile rings are becomes a descriptor, an index, or noise.
fn scribble(memory: &Memory, layout: &Layout, rng: &mut impl Rng) {
    let size = u64::from(layout.size.max(1));
    let write = |at: u64, bytes: &[u8]| {
        let is_own = at >= HOSTILE && at + bytes.len() as u64 <= HOSTILE + HOSTILE_BYTES;
        let _ = is_own && memory.write(at, bytes);
    };
    for _ in 0..rng.random_range(1..8) {
        let bytes = match rng.random_range(0..6) {
            0 => 0,
            1 => rng.random_range(65_530..65_545),
            2 => rng.random(),
            _ => rng.random_range(1..1600_u32),
        };
        let flags = if rng.random_bool(0.9) { rng.random_range(0..4) } else { rng.random::<u16>() };
        let next = if rng.random_bool(0.9) { rng.random_range(0..=size) as u16 } else { rng.random() };
        let words = [&address(rng).to_le_bytes()[..], &bytes.to_le_bytes(), &flags.to_le_bytes(), &next.to_le_bytes()];
        let number = rng.random_range(0..size);
        write(layout.descriptors.saturating_add(16 * number).min(MEMORY_BYTES), &words.concat());
        let entry = layout.available.saturating_add(4 + 2 * rng.random_range(0..size)).min(MEMORY_BYTES);
        write(entry, &(rng.random_range(0..=size) as u16).to_le_bytes());
    }
    let index = layout.available.saturating_add(2).min(MEMORY_BYTES);
    let now = memory.load(index).unwrap_or(0);
    let step = if rng.random_bool(0.9) { rng.random_range(0..4) } else { rng.random() };
    write(index, &now.wrapping_add(step).to_le_bytes());
}

/// A launch time: none, past, near, far, or at the end of all times.
fn launch_time(now: Duration, rng: &mut impl Rng) -> u64 {
    let now_ns = now.as_nanos() as u64;
    match rng.random_range(0..8) {
        0 => 0,
        1 => rng.random(),
        2 => u64::MAX - rng.random_range(0..2),
        3 => now_ns.saturating_sub(rng.random_range(0..50_000)),
        _ => now_ns + rng.random_range(0..100_000),
    }
}

/// Any setting of launch times for all queues but the one that behaves.
fn set_launch(card: &mut dyn Card, rng: &mut impl Rng) -> Result<(), NoRegister> {
    card.write(LAUNCH_ENABLE, rng.random_range(0..256) & !(1 << GOOD))?;
    card.write(LAUNCH_DROP, rng.random())?;
    let horizon_ns = if rng.random_bool(0.5) { rng.random_range(0..100_000) } else { rng.random() };
    card.write(LAUNCH_HORIZON, horizon_ns)
}

/// The PTP clock is set or steps, far or near, or is told what it refuses.
fn move_clock(card: &mut dyn Card, rng: &mut impl Rng) -> Result<(), NoRegister> {
    let far = rng.random_bool(0.3);
    let seconds: u64 = if far { rng.random() } else { [0, 0, 1, u64::MAX][rng.random_range(0..4)] };
    let ns = if rng.random_bool(0.9) { rng.random_range(0..1_000_000_000) } else { rng.random() };
    for (address, value) in (ptp::DATA..).step_by(4).zip([ns, seconds as u32, (seconds >> 32) as u32]) {
        card.write(address, value)?;
    }
    card.write(ptp::COMMAND, rng.random_range(1..=2))
}

/// A queue whose ring is as it should be.
struct Orderly {
    pair: usize,
    frames: Vec<Vec<u8>>,
}

impl Orderly {
    fn layout(&self) -> Layout {
        let base = RING_BYTES * self.pair as u64;
        Layout { size: RING_SIZE, descriptors: base, available: base + 0x1000, used: base + 0x2000 }
    }

    fn used(&self, memory: &Memory) -> u16 {
        memory.load(self.layout().used + 2).unwrap_or(0)
    }

    /// What stands between header and frame, and the frame.
    fn offer(&mut self, memory: &Memory, ahead: &[u8], rng: &mut impl Rng) {
        let layout = self.layout();
        let index = self.frames.len() as u16;
        if index - self.used(memory) >= RING_SIZE {
            return;
        }
        let mut frame = vec![0; rng.random_range(60..=1514)];
        rng.fill_bytes(&mut frame);
        let number = index % RING_SIZE;
        let buffer = layout.descriptors + BUFFERS + BUFFER * u64::from(number);
        let whole = [&[0; 12], ahead, &frame].concat();
        let descriptor = [buffer, whole.len() as u64].map(u64::to_le_bytes).concat();
        let _ = memory.write(buffer, &whole)
            && memory.write(layout.descriptors + 16 * u64::from(number), &descriptor)
            && memory.write(layout.available + 4 + 2 * u64::from(number), &number.to_le_bytes())
            && memory.store(layout.available + 2, index.wrapping_add(1));
        self.frames.push(frame);
    }
}

/// Lets a guest that means harm do what it likes with a card that was just made.
///
/// # Errors
/// The queue that behaves did not get what it would get alone, or something was written that was not the guest's to give.
pub fn survive(card: &mut dyn Card, seed: u64) -> Result<Survived, HostileError> {
    let rng = &mut Xoshiro256PlusPlus::seed_from_u64(seed);
    let memory = Arc::new(Memory::of_own(&[(0, MEMORY_BYTES)])?);
    let harmed = |what: String| HostileError::Harmed { seed, what };
    if !memory.write(FORBIDDEN, &[PATTERN; FORBIDDEN_BYTES as usize]) {
        return Err(harmed("no memory".into()));
    }
    card.set_memory(Arc::clone(&memory));
    card.set_features(if rng.random_bool(0.8) { FEATURE_MRG_RXBUF } else { rng.random() });
    let mut good = Orderly { pair: GOOD, frames: Vec::new() };
    let mut timed = Orderly { pair: TIMED, frames: Vec::new() };
    for orderly in [&good, &timed] {
        let started = card.start(ring_of(orderly.pair, true), orderly.layout(), 0);
        started.map_err(|source| HostileError::Refused { seed, source })?;
    }
    let is_orderly = |ring: usize| [GOOD, TIMED].map(|pair| ring_of(pair, true)).contains(&ring);
    let rings: Vec<usize> = (0..2 * card.pairs()).filter(|&ring| !is_orderly(ring)).collect();
    let mut layouts: Vec<Layout> = rings.iter().map(|_| layout(rng)).collect();
    let mut survived = Survived::default();
    let (mut now, mut sent, mut outcome) = (Duration::ZERO, Vec::new(), Outcome::default());
    for _ in 0..STEPS {
        let which = rng.random_range(0..rings.len());
        match rng.random_range(0..14) {
            0 | 1 => {
                layouts[which] = layout(rng);
                let started = card.start(rings[which], layouts[which], rng.random_range(0..3)).is_ok();
                survived.started += u64::from(started);
                survived.refused += u64::from(!started);
            }
            2 => {
                survived.stopped += 1;
                card.stop(rings[which]);
            }
            3 => {
                let mut frame = vec![0; rng.random_range(0..1600)];
                rng.fill_bytes(&mut frame);
                survived.received += 1;
                card.receive(&frame);
            }
            4 => {
                // Those of the queues are not the guest's, others it may read.
                let _ = card.write(rng.random_range(0x030..0x090), rng.random());
                let _ = card.read(rng.random());
            }
            5 | 6 => {
                good.offer(&memory, &[], rng);
                card.kick(ring_of(GOOD, true));
            }
            7 | 8 => {
                timed.offer(&memory, &launch_time(now, rng).to_le_bytes(), rng);
                card.kick(ring_of(TIMED, true));
            }
            9 => {
                set_launch(card, rng)?;
                if rng.random_bool(0.3) {
                    move_clock(card, rng)?;
                    survived.clocks += 1;
                }
            }
            _ => {
                scribble(&memory, &layouts[which], rng);
                card.kick(rings[which]);
            }
        }
        now += Duration::from_micros(rng.random_range(0..30));
        card.advance(now, &mut outcome);
        sent.append(&mut outcome.sent);
    }
    // Not at once: a host far ahead of its card is not waited for.
    for _ in 0..END.as_micros() / 100 {
        now += Duration::from_micros(100);
        card.advance(now, &mut outcome);
        sent.append(&mut outcome.sent);
    }
    survived.errors = outcome.errors.len() as u64;
    survived.timed = sent.iter().filter(|sent| sent.queue == TIMED).count() as u64;
    for count in (0..card.pairs()).flat_map(|queue| LAUNCH_COUNTS.map(|count| count + 8 * queue as u16)) {
        survived.late += u64::from(card.read(count)?);
    }
    if let Some((ring, why)) = outcome.errors.iter().find(|(ring, _)| is_orderly(*ring)) {
        return Err(harmed(format!("ring {ring}, which behaves, has stopped: {why}")));
    }
    let own: Vec<&Vec<u8>> = sent.iter().filter(|sent| sent.queue == GOOD).map(|sent| &sent.frame).collect();
    if own.len() != good.frames.len() || own.iter().zip(&good.frames).any(|(one, other)| *one != other) {
        let (seen, wanted) = (own.len(), good.frames.len());
        return Err(harmed(format!("the queue that behaves sent {seen} frames of {wanted}, or others")));
    }
    if usize::from(good.used(&memory)) != good.frames.len() {
        return Err(harmed("the queue that behaves did not get its buffers back".into()));
    }
    let mut forbidden = vec![0; FORBIDDEN_BYTES as usize];
    if !memory.read(FORBIDDEN, &mut forbidden) || forbidden.iter().any(|&byte| byte != PATTERN) {
        return Err(harmed("something was written that no ring was given".into()));
    }
    survived.frames = own.len() as u64;
    Ok(survived)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;

    #[test]
    fn the_model_survives_and_others_go_on() {
        let mut all = Survived::default();
        for seed in 0..400 {
            let survived = survive(&mut Model::new(4, 1_000_000_000), seed);
            all.add(&survived.unwrap_or_else(|error| panic!("{error}")));
        }
        assert!(all.frames > 4_000 && all.errors > 200 && all.refused > 200 && all.started > 2_000, "{all:?}");
        assert!(all.stopped > 2_000 && all.received > 2_000, "{all:?}");
        assert!(all.clocks > 500 && all.timed > 1_000 && all.late > 1_000, "{all:?}");
    }
}
