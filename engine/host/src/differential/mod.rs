// SPDX-License-Identifier: Apache-2.0
//! The card's model against the card in hardware, on random rings, frames and settings.
//!
//! What the host sees has to be equal: the bytes and the order of each queue's frames, what is given back, why rings stop.
//! When frames leave has to be equal to the cycle, from when they were queued on: the model is told that, because reading
//! the host's memory takes hardware as long as the memory wants.
mod receive;

use std::path::Path;
use std::sync::Arc;

use penstock_frame::{BitsPerSecond, Bytes, ADDRESSES_BYTES, FCS_BYTES};
use penstock_rtl::card::{Queued, Stop};
use penstock_rtl::queues::PAGE_BITS;
use penstock_rtl::HardwareError;
use penstock_shaper::admission::CLASSES;
use penstock_shaper::ats::Rate;
use penstock_shaper::ptp_clock::Command;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use thiserror::Error;

use crate::card::{ring_of, Card, NoRegister, Outcome, Sent, FEATURE_MRG_RXBUF, MOST_PAIRS};
use crate::memory::Memory;
use crate::model::Model;
use crate::ptp::{self, Stamp};
use crate::ring::{Layout, HEADER_BYTES};
use crate::verilated::Verilated;
use receive::Reception;

/// Of a port, whose area begins at a multiple of it.
const MEMORY_BYTES: u64 = 1 << 23;
/// From the begin of a port's area on, what is not its own: another port's, or nobody's.
const OUTSIDE: u64 = MEMORY_BYTES + 0x1000;
/// Of the receive rings, behind those of all transmit rings.
const RECEPTION: u64 = 1 << 22;
/// Of a frame without FCS.
const SENDABLE_BYTES: std::ops::RangeInclusive<usize> = 14..=1518;
const LAUNCH_ENABLE: u16 = 0x680;
const LAUNCH_DROP: u16 = 0x684;
const LAUNCH_HORIZON: u16 = 0x688;
/// By queue: what was late, dropped, and beyond the horizon.
const LAUNCH_COUNTS: [u16; 3] = [0x1200, 0x1280, 0x1300];
const ATS_QUEUES: u16 = 0x690;
const ATS_OVERHEAD: u16 = 0x694;
/// By queue: what would have waited for its eligibility time for too long.
const RESIDENCE: u16 = 0x1380;
/// By queue: what was sent.
const SENT: u16 = 0x1080;
/// Frames of the host that are none.
const NOT_SENT: u16 = 0x1004;
/// What no window of its gate is long enough for.
const GIVEN_UP: u16 = 0x1008;
const LINE_BPS: u64 = 1_000_000_000;
const CYCLE_NS: u64 = 8;
/// From the selection of a frame to its first byte after the delimiter.
const SELECTED_TO_FIRST: u64 = 12;
/// By then all has left, whatever was drawn.
const END_CYCLES: u64 = 2_000_000;
/// By then hardware has worked out a gate list, and one that may begin with any cycle has begun.
const GATES_AHEAD: u64 = 40_000;
/// From when it is sent to its queue to the first cycle in which a frame may be selected.
const QUEUED_TO_VISIBLE: u64 = 3;
const MOST_FRAMES: u32 = 24;
const SLOT_ERROR: u16 = 0x590;
/// Below 2^63 ns, with what a scenario takes.
const LAST_SECOND: u64 = 9_223_372_035;
const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;
const GATE_CYCLE_NS: u32 = 200_000;
const LONGEST_FRAME_NS: u32 = 12_336;

#[derive(Debug, Error)]
pub enum DifferenceError {
    #[error(transparent)]
    Hardware(#[from] HardwareError),
    #[error("seed {seed}: {what}")]
    Differs { seed: u64, what: String },
    #[error("seed {seed}: the card refused what was drawn: {what}")]
    Refused { seed: u64, what: String },
}

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Compared {
    pub frames: u64,
    pub errors: u64,
    pub gate_lists: u64,
    pub slots: u64,
    pub credits: u64,
    /// Frames with a launch time, and those of them that left after it or not at all.
    pub launched: u64,
    pub late: u64,
    /// Frames that came to an ATS scheduler, and those of them that it refused.
    pub shaped: u64,
    pub refused: u64,
    /// Frames that were longer than any window of their gate.
    pub given_up: u64,
    /// Good frames that came by the wire, and damaged ones.
    pub received: u64,
    pub damaged: u64,
    /// Of PTP messages that were sent.
    pub stamps: u64,
}

impl Compared {
    /// That of another scenario, too.
    pub fn add(&mut self, other: &Self) {
        self.frames += other.frames;
        self.errors += other.errors;
        self.gate_lists += other.gate_lists;
        self.slots += other.slots;
        self.credits += other.credits;
        self.launched += other.launched;
        self.late += other.late;
        self.shaped += other.shaped;
        self.refused += other.refused;
        self.given_up += other.given_up;
        self.received += other.received;
        self.damaged += other.damaged;
        self.stamps += other.stamps;
    }
}

/// A port of hardware, and its model, each with a memory.
struct Both<'a> {
    memories: [Arc<Memory>; 2],
    hardware: &'a mut Verilated,
    model: &'a mut Model,
}

impl Both<'_> {
    fn cards(&mut self) -> [&mut dyn Card; 2] {
        [&mut *self.hardware, &mut *self.model]
    }
}

/// The card, of which all ports have one memory.
struct Hardware {
    card: Verilated,
    memory: Arc<Memory>,
}

/// The model of a port, with a memory that has the port's area alone.
struct Twin {
    number: usize,
    memory: Arc<Memory>,
    model: Model,
}

impl Twin {
    fn area(&self) -> u64 {
        MEMORY_BYTES * self.number as u64
    }

    fn both<'a>(&'a mut self, hardware: &'a mut Hardware) -> Both<'a> {
        hardware.card.select(self.number);
        let memories = [&hardware.memory, &self.memory].map(Arc::clone);
        Both { memories, hardware: &mut hardware.card, model: &mut self.model }
    }
}

/// The driver's side of a transmit ring, in both memories alike.
struct Driver {
    queue: usize,
    layout: Layout,
    next: u16,
    first: u16,
    descriptor: u16,
    buffer: u64,
    /// What is not the port's.
    outside: u64,
    is_broken: bool,
    /// Its frames have launch times, of which this was the last.
    launch_ns: Option<u64>,
    /// Its frames that can be sent.
    frames: Vec<Vec<u8>>,
}

impl Driver {
    fn draw(queue: usize, area: u64, rng: &mut impl Rng) -> Self {
        let base = area + 0x2_0000 * (queue as u64 + 1);
        let size = 1 << rng.random_range(3..=7);
        let first = if rng.random_bool(0.5) { 0 } else { 65_536_u32.wrapping_sub(rng.random_range(1..20)) as u16 };
        let layout = Layout {
            size,
            descriptors: base + 16 * rng.random_range(0..8),
            available: base + 0x1000 + 2 * rng.random_range(0..8),
            used: base + 0x2000 + 4 * rng.random_range(0..8),
        };
        Self {
            queue,
            layout,
            next: first,
            first,
            descriptor: 0,
            buffer: base + 0x3000,
            outside: area + OUTSIDE,
            is_broken: false,
            launch_ns: None,
            frames: Vec::new(),
        }
    }

    /// A launch time, when the clock shows `now_ns`: near, none, past, that of the frame before, or too far ahead.
    fn launch_time(&mut self, now_ns: u64, rng: &mut impl Rng) -> Option<u64> {
        let last = self.launch_ns?;
        let drawn = match rng.random_range(0..16) {
            0 => 0,
            1 => now_ns.saturating_sub(rng.random_range(0..20_000)),
            2 => rng.random_range(1..1_000),
            3 => u64::MAX - rng.random_range(0..3),
            4 => now_ns + 5_000_000_000,
            5 | 6 => last,
            7 | 8 => last + rng.random_range(0..100),
            _ => now_ns + rng.random_range(0..120_000),
        };
        self.launch_ns = Some(drawn);
        Some(drawn)
    }

    fn ring(&self) -> usize {
        ring_of(self.queue, true)
    }

    fn reset(&self, memory: &Memory) {
        for index in [self.layout.available + 2, self.layout.used + 2] {
            put(memory, index, &self.first.to_le_bytes());
        }
    }

    fn describe(&mut self, memory: &Memory, address: u64, bytes: u32, flags: u16, next: u16) {
        let at = self.layout.descriptors + 16 * u64::from(self.descriptor);
        let words = [&address.to_le_bytes()[..], &bytes.to_le_bytes(), &flags.to_le_bytes(), &next.to_le_bytes()];
        put(memory, at, &words.concat());
    }

    fn offer(&mut self, memory: &Memory, head: u16, next: u16) {
        let entry = self.layout.available + 4 + 2 * u64::from(self.next % self.layout.size);
        put(memory, entry, &head.to_le_bytes());
        put(memory, self.layout.available + 2, &next.to_le_bytes());
    }

    /// A frame of random bytes in a chain of one to four buffers.
    fn send(&mut self, memories: [&Memory; 2], now_ns: u64, rng: &mut impl Rng) {
        let mut bytes = match rng.random_range(0..6) {
            0 => rng.random_range(1..=26),
            1 => rng.random_range(1530..=2000),
            2 => 12 + 60,
            _ => rng.random_range(26..=1530),
        };
        let launch = self.launch_time(now_ns, rng).map(u64::to_le_bytes);
        let ahead = HEADER_BYTES + launch.map_or(0, |launch| launch.len());
        bytes += ahead - HEADER_BYTES;
        let mut whole = vec![0; bytes];
        rng.fill_bytes(&mut whole);
        if let Some(launch) = launch {
            whole[HEADER_BYTES.min(bytes)..ahead.min(bytes)]
                .copy_from_slice(&launch[..ahead.min(bytes) - HEADER_BYTES.min(bytes)]);
        }
        if let Some(frame) = whole.get_mut(ahead..).filter(|_| rng.random_bool(0.4)) {
            make_message(frame, rng);
        }
        if let Some(frame) = whole.get(ahead..).filter(|frame| SENDABLE_BYTES.contains(&frame.len())) {
            self.frames.push(frame.to_vec());
        }
        let parts = rng.random_range(1..=4.min(bytes));
        let mut rest = &whole[..];
        let head = self.descriptor;
        for part in 0..parts {
            let left = parts - part - 1;
            let take = if left == 0 { rest.len() } else { rng.random_range(1..=rest.len() - left) };
            let following = (self.descriptor + 1) % self.layout.size;
            let address = self.buffer + rng.random_range(0..16);
            for memory in memories {
                put(memory, address, &rest[..take]);
                self.describe(memory, address, take as u32, if left == 0 { 0 } else { NEXT }, following);
            }
            self.buffer = address + take as u64;
            rest = &rest[take..];
            self.descriptor = following;
        }
        let next = self.next.wrapping_add(1);
        for memory in memories {
            self.offer(memory, head, next);
        }
        self.next = next;
    }

    /// What no driver should do.
    fn break_it(&mut self, memories: [&Memory; 2], rng: &mut impl Rng) {
        let (size, head) = (self.layout.size, self.descriptor);
        let kind = rng.random_range(0..8);
        let (address, bytes, flags, next) = match kind {
            0 => (self.buffer, 0, 0, 0),
            1 => (self.buffer, 65_537, 0, 0),
            2 => (self.buffer, 100, WRITE, 0),
            3 => (self.buffer, 100, INDIRECT, 0),
            4 => (self.outside, 100, 0, 0),
            5 => (self.buffer, 20, NEXT, size),
            6 => (self.buffer, 20, NEXT, head),
            _ => (self.buffer, 64, 0, 0),
        };
        for memory in memories {
            self.describe(memory, address, bytes, flags, next);
            let jump = if kind == 7 { size + 1 + head % 7 } else { 1 };
            self.offer(memory, head, self.next.wrapping_add(jump));
        }
        self.is_broken = true;
    }
}

fn put(memory: &Memory, address: u64, bytes: &[u8]) {
    let is_there = memory.write(address, bytes);
    debug_assert!(is_there, "{address:#x}");
}

/// Settings of round robin and credit for so many classes, and of gates unless these are none, as registers are written.
fn settings(rng: &mut impl Rng, classes: u32, gates_from_ns: Option<u32>, compared: &mut Compared) -> Vec<(u16, u32)> {
    let mut writes = vec![(0x460, if rng.random_bool(0.5) { 0xFF } else { rng.random_range(0..1 << classes) })];
    if rng.random_bool(0.3) {
        compared.credits += 1;
        let slope = rng.random_range(1..=60) * (1 << 24) * 8 / 100;
        let class = rng.random_range(0..classes);
        writes.extend([(0x200, slope), (0x20C, 1), (0x210, class), (0x214, 7), (0x20C, 0)]);
    }
    let Some(from_ns) = gates_from_ns else { return writes };
    if rng.random_bool(0.3) {
        compared.slots += 1;
        writes.extend(slots(rng));
    } else if rng.random_bool(0.6) {
        compared.gate_lists += 1;
        let entries = rng.random_range(2..=6);
        let mut left = GATE_CYCLE_NS;
        for entry in 0..entries {
            let is_last = entry + 1 == entries;
            let most = left - LONGEST_FRAME_NS * 2 * (entries - entry - 1);
            let interval = if is_last { left } else { rng.random_range(LONGEST_FRAME_NS * 2..=most) };
            left -= interval;
            let states = if is_last { (1 << classes) - 1 } else { rng.random_range(0..1 << classes) };
            writes.extend([(0x200, interval), (0x204, states), (0x210, entry), (0x214, 6)]);
        }
        let admin = [0, 0, from_ns, GATE_CYCLE_NS, 0, entries];
        writes.extend((0x400..).step_by(4).zip(admin));
        writes.extend([(0x418, 0), (0x440, 1)]);
    }
    writes
}

/// Time slots for some queues, of which some cannot be: too long together, too short, or of no queue.
fn slots(rng: &mut impl Rng) -> Vec<(u16, u32)> {
    let count = rng.random_range(1..=4_u32);
    let mut writes = Vec::new();
    let mut order = 0;
    let mut whole_ns = 0;
    for queue in 0..count {
        let slot_ns = if rng.random_bool(0.1) { 5_000 } else { rng.random_range(13_000..20_000) };
        whole_ns += slot_ns;
        order |= (count - 1 - queue) << (8 * queue);
        writes.push((0x540 + 4 * queue as u16, slot_ns));
    }
    let free_ns = if rng.random_bool(0.2) { 0 } else { rng.random_range(14_000..20_000) };
    let cycle_ns = if rng.random_bool(0.1) { whole_ns - 1 } else { whole_ns + free_ns };
    let guard_ns = if rng.random_bool(0.5) { 0 } else { rng.random_range(0..1_000) };
    writes.extend([(0x580, cycle_ns), (0x584, guard_ns), (0x588, count), (0x600, order), (0x58C, 0)]);
    writes
}

/// Which of so many queues have launch times, what becomes of late frames, and how far ahead they may be.
fn launch_settings(rng: &mut impl Rng, queues: usize) -> [(u16, u32); 3] {
    let mask = if rng.random_bool(0.5) { rng.random_range(0..1 << queues) } else { 0 };
    let horizon_ns = if rng.random_bool(0.5) { u32::MAX } else { rng.random_range(20_000..100_000) };
    [(LAUNCH_ENABLE, mask), (LAUNCH_DROP, rng.random_range(0..1 << queues)), (LAUNCH_HORIZON, horizon_ns)]
}

/// Which of so many queues have ATS, their rates, and for how long frames of a class may wait. Some tables are of no queue, or
/// of nobody.
fn ats_settings(rng: &mut impl Rng, queues: usize) -> Vec<(u16, u32)> {
    let mask = if rng.random_bool(0.5) { rng.random_range(0..1 << queues) } else { 0 };
    let overhead = if rng.random_bool(0.7) { 20 } else { rng.random_range(0..=255) };
    let mut writes = vec![(ATS_OVERHEAD, overhead)];
    for queue in 0..queues as u32 + 2 {
        let bps = BitsPerSecond(1_000_000_000 / rng.random_range(1..=20));
        let burst = Bytes(if rng.random_bool(0.5) { rng.random_range(1..=200) } else { rng.random_range(1..=1_600) });
        let (ns_per_byte, empty_to_full) =
            Rate::new(bps, burst).map_or((0, 0), |r| (r.ns_per_byte(), r.empty_to_full()));
        let whole = u128::from(empty_to_full) << 44 | u128::from(ns_per_byte);
        writes.extend((0..3).map(|word| (0x200 + 4 * word, (whole >> (32 * word)) as u32)));
        writes.extend([(0x210, queue), (0x214, 1)]);
    }
    for class in 0..CLASSES as u32 + 1 {
        if rng.random_bool(0.5) {
            writes.extend([(0x200, rng.random_range(0..100_000)), (0x210, class), (0x214, 2)]);
        }
    }
    writes.extend([(0x214, 15), (ATS_QUEUES, mask)]);
    writes
}

/// Makes a PTP message of a frame, or what is nearly one: on Ethernet or in UDP over IPv4, behind a tag or none.
fn make_message(frame: &mut [u8], rng: &mut impl Rng) {
    let tag = if rng.random_bool(0.3) { &[0x81, 0x00, 0x60, 0x01][..] } else { &[] };
    let words = rng.random_range(5..=7_u8);
    let mut packet = vec![0x08, 0x00, 0x40 | words, 0, 0, 0, 0, 0, 0x40, 0, 64, 17];
    packet.resize(2 + 4 * usize::from(words), 10);
    packet.extend([0x12, 0x34, 0x01, if rng.random_bool(0.9) { 0x3F } else { 0x40 }, 0, 0, 0, 0]);
    let head = if rng.random_bool(0.5) { &[0x88, 0xF7][..] } else { &packet };
    let message_type = [rng.random_range(0..=5)];
    let bytes = tag.iter().chain(head).chain(&message_type);
    frame.iter_mut().skip(ADDRESSES_BYTES).zip(bytes).for_each(|(byte, &of_message)| *byte = of_message);
}

/// Some ports give all frames that they send a time stamp.
fn stamp_all(hardware: &mut Verilated, ports: &mut [OnePort], rng: &mut impl Rng) -> Result<(), NoRegister> {
    let sent: u32 = rng.random();
    hardware.write(ptp::STAMP_ALL, sent << ptp::SENT)?;
    for (number, port) in ports.iter_mut().enumerate() {
        port.timed.model.write(ptp::STAMP_ALL, (sent >> number & 1) << ptp::SENT)?;
    }
    Ok(())
}

/// Sets the hardware's clock to any time, and the models' to the same. Gives what it shows beyond the cycles.
fn move_clock(
    hardware: &mut Verilated,
    ports: &mut [OnePort],
    seed: u64,
    rng: &mut impl Rng,
) -> Result<u64, DifferenceError> {
    let port = rng.random_range(0..ports.len());
    hardware.select(port);
    let seconds = match rng.random_range(0..3) {
        0 => 0,
        1 => LAST_SECOND - rng.random_range(0..3),
        _ => rng.random_range(0..LAST_SECOND),
    };
    let shows = |hardware: &mut Verilated| -> Result<(u64, u64), HardwareError> {
        let [ns, low, high] =
            [ptp::NANOSECONDS, ptp::SECONDS_LOW, ptp::SECONDS_HIGH].map(|address| hardware.card.read(address.into()));
        Ok((u64::from(ns?), u64::from(high?) << 32 | u64::from(low?)))
    };
    // What it shows when these reads have ended is as much later as it is now, when it shows the cycles.
    let before = shows(hardware)?.0;
    let late_ns = hardware.card.cycle() * CYCLE_NS - before;
    let refused = |error: NoRegister| DifferenceError::Refused { seed, what: error.to_string() };
    ptp::tell(hardware, Command::Set { s: seconds, ns: 1_000_000 }).map_err(refused)?;
    let (ns, shown) = shows(hardware)?;
    if shown != seconds {
        let what = format!("the clock shows {shown} s after port {port} has set it to {seconds} s");
        return Err(DifferenceError::Differs { seed, what });
    }
    let now = seconds * 1_000_000_000 + ns + late_ns;
    for port in ports {
        for model in [&mut port.twin.model, &mut port.timed.model] {
            model.set_clock(hardware.card.cycle(), now);
        }
    }
    Ok(now.wrapping_sub(hardware.card.cycle() * CYCLE_NS))
}

/// The model of a port that is told when frames were queued: when and of which queue it sends them.
struct Timed {
    model: Model,
    outcome: Outcome,
    /// Frames that were queued, by queue.
    queued: [usize; MOST_PAIRS],
}

impl Timed {
    /// A frame of a queue of these drivers.
    fn queued(&mut self, queued: &Queued, drivers: &[Driver]) -> Result<(), String> {
        self.model.advance_to(queued.cycle, &mut self.outcome);
        let queue = usize::from(queued.queue);
        let number = self.queued[queue];
        let driver = drivers.iter().find(|driver| driver.queue == queue);
        let Some(frame) = driver.and_then(|driver| driver.frames.get(number)).cloned() else {
            return Err(format!("frame {number} of queue {queue} is none that was given"));
        };
        self.queued[queue] += 1;
        let (launch_ns, arrival_ns) = (queued.launch_ns, queued.arrival_ns);
        if (arrival_ns != 0) != (launch_ns == 0 && self.model.is_shaped(queue)) {
            return Err(format!("a frame of queue {queue} came to its ATS scheduler at {arrival_ns} ns, or to none"));
        }
        if arrival_ns != 0 {
            self.model.shape(queue, frame, arrival_ns, queued.cycle);
        } else if launch_ns != 0 {
            self.model.hold(queue, frame, launch_ns, queued.cycle);
        } else {
            self.model.queue(queue, frame, queued.cycle + QUEUED_TO_VISIBLE);
        }
        Ok(())
    }

    /// What left, and in which cycle its first byte behind the delimiter did.
    fn sent(&mut self) -> Vec<Left> {
        self.model.advance_to(4 * END_CYCLES, &mut self.outcome);
        let left = |sent: &Sent| Left {
            cycle: sent.at_ns / CYCLE_NS + SELECTED_TO_FIRST,
            queue: sent.queue,
            bytes: sent.frame.clone(),
        };
        self.outcome.sent.iter().map(left).collect()
    }
}

/// The stamps of what a port sent, by its number.
fn take_stamps(card: &mut dyn Card, port: u32) -> Result<Vec<Stamp>, NoRegister> {
    std::iter::from_fn(|| ptp::take_stamp(card, port).transpose()).collect()
}

/// A port of both cards, and what its drivers gave it.
struct OnePort {
    twin: Twin,
    timed: Timed,
    /// Of the twin.
    outcome: Outcome,
    /// Queues that have launch times.
    launching: u32,
    drivers: Vec<Driver>,
    reception: Reception,
}

impl OnePort {
    fn new(number: usize, pairs: usize) -> Result<Self, String> {
        let area = MEMORY_BYTES * number as u64;
        let memory = Memory::of_own(&[(area, MEMORY_BYTES)]).map_err(|error| error.to_string())?;
        Ok(Self {
            twin: Twin { number, memory: Arc::new(memory), model: Model::new(pairs, LINE_BPS) },
            timed: Timed { model: Model::as_hardware(pairs), outcome: Outcome::default(), queued: [0; MOST_PAIRS] },
            outcome: Outcome::default(),
            launching: 0,
            drivers: Vec::new(),
            reception: Reception::default(),
        })
    }

    /// The port may touch its own area alone.
    fn give_memory(&mut self, hardware: &mut Hardware) -> Result<(), HardwareError> {
        let first = self.twin.area() >> PAGE_BITS;
        let whole = Arc::clone(&hardware.memory);
        let both = self.twin.both(hardware);
        both.hardware.set_memory(whole);
        both.hardware.card.set_windows(&[(first, first + (MEMORY_BYTES >> PAGE_BITS) - 1)])?;
        both.model.set_memory(Arc::clone(&both.memories[1]));
        both.model.set_features(FEATURE_MRG_RXBUF);
        Ok(())
    }

    fn write(&mut self, hardware: &mut Hardware, writes: &[(u16, u32)]) -> Result<(), String> {
        let Both { hardware, model, .. } = self.twin.both(hardware);
        for &(address, value) in writes {
            for card in [&mut *hardware as &mut dyn Card, &mut *model, &mut self.timed.model] {
                card.write(address, value).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    /// Whether both take or refuse the time slots.
    fn compare_slots(&mut self, hardware: &mut Hardware) -> Result<(), String> {
        let [hard, soft] = self.twin.both(hardware).cards().map(|card| card.read(SLOT_ERROR));
        if hard == soft {
            return Ok(());
        }
        Err(format!("slots are answered by {hard:?}, by the model by {soft:?}"))
    }

    /// Rings of some queues, in both.
    fn draw_rings(&mut self, hardware: &mut Hardware, rng: &mut impl Rng) -> Result<(), String> {
        let area = self.twin.area();
        let mut both = self.twin.both(hardware);
        let pairs = both.hardware.pairs();
        let queues: Vec<usize> = (0..pairs).filter(|_| rng.random_bool(0.8)).collect();
        for queue in queues {
            let mut driver = Driver::draw(queue, area, rng);
            both.memories.iter().for_each(|memory| driver.reset(memory));
            for card in both.cards() {
                card.start(driver.ring(), driver.layout, driver.first).map_err(|error| error.to_string())?;
            }
            driver.launch_ns = (self.launching >> queue & 1 == 1).then_some(1);
            self.drivers.push(driver);
        }
        self.reception = Reception::draw(&mut both, pairs, area, rng)?;
        Ok(())
    }

    /// A driver gives another frame, or what it should not.
    fn give(&mut self, hardware: &mut Hardware, clock_ahead_ns: u64, rng: &mut impl Rng) {
        if self.drivers.is_empty() {
            return;
        }
        let which = rng.random_range(0..self.drivers.len());
        let driver = &mut self.drivers[which];
        let given = u32::from(driver.next.wrapping_sub(driver.first));
        if driver.is_broken || 4 * (given + 1) > u32::from(driver.layout.size) {
            return;
        }
        let both = self.twin.both(hardware);
        let memories = both.memories.each_ref().map(|memory| &**memory);
        if rng.random_bool(0.03) {
            // What was offered before has been fetched by then, by either.
            both.hardware.card.run(both.hardware.card.cycle() + END_CYCLES, Stop { idle: true, ..Stop::default() });
            both.model.advance_to(both.hardware.card.cycle(), &mut self.outcome);
            driver.break_it(memories, rng);
        } else {
            let shows_ns = (both.hardware.card.cycle() * CYCLE_NS).wrapping_add(clock_ahead_ns);
            driver.send(memories, shows_ns, rng);
        }
        both.hardware.kick(driver.ring());
        both.model.kick(driver.ring());
    }

    /// What left by the wire, and when; what was counted; what the drivers have got back.
    fn compare(&mut self, hardware: &mut Hardware, lost: u32, compared: &mut Compared) -> Result<(), String> {
        hardware.card.select(self.twin.number);
        let sent = self.compare_times(hardware, compared)?;
        self.compare_counts(hardware, compared)?;
        self.compare_stamps(hardware, lost, compared)?;
        self.compare_rings(hardware, &sent, compared)?;
        compared.errors += self.reception.compare(&mut self.twin.both(hardware))?;
        compared.received += self.reception.frames;
        compared.damaged += self.reception.damaged;
        Ok(())
    }

    fn compare_times(&mut self, hardware: &mut Hardware, compared: &mut Compared) -> Result<Vec<Left>, String> {
        while let Some(queued) = hardware.card.card.take_queued() {
            compared.launched += u64::from(queued.launch_ns != 0);
            compared.shaped += u64::from(queued.arrival_ns != 0);
            self.timed.queued(&queued, &self.drivers)?;
        }
        let mut sent = Vec::new();
        while let Some(frame) = hardware.card.card.take_sent() {
            let (data, fcs) = frame.bytes.split_at(frame.bytes.len().saturating_sub(FCS_BYTES as usize));
            if frame.is_damaged || fcs != crc32fast::hash(data).to_le_bytes() {
                return Err(format!("the frame at cycle {} is damaged", frame.cycle));
            }
            sent.push(Left { cycle: frame.cycle, queue: usize::from(frame.queue), bytes: data.to_vec() });
        }
        compared.frames += sent.len() as u64;
        let timed: Vec<(u64, usize)> = sent.iter().map(|frame| (frame.cycle, frame.queue)).collect();
        let expected = self.timed.sent();
        let wanted: Vec<(u64, usize)> = expected.iter().map(|frame| (frame.cycle, frame.queue)).collect();
        if let Some(at) = (0..timed.len().max(wanted.len())).find(|&at| timed.get(at) != wanted.get(at)) {
            let (timed, wanted) = (timed.get(at), wanted.get(at));
            return Err(format!("frame {at} leaves at (cycle, queue) {timed:?}, by the model at {wanted:?}"));
        }
        let differs = |at: &usize| !sent[*at].bytes.starts_with(&expected[*at].bytes);
        if let Some(at) = (0..sent.len()).find(differs) {
            return Err(format!("frame {at} of queue {} is another one by the model", sent[at].queue));
        }
        Ok(sent)
    }

    fn compare_counts(&mut self, hardware: &mut Hardware, compared: &mut Compared) -> Result<(), String> {
        let pairs = hardware.card.pairs();
        let mut counted = |address: u16| {
            let cards = [&mut hardware.card as &mut dyn Card, &mut self.timed.model];
            let [hard, soft] = cards.map(|card| card.read(address));
            if hard == soft {
                return Ok(u64::from(hard.unwrap_or(0)));
            }
            Err(format!("counter {address:#x} shows {hard:?}, by the model {soft:?}"))
        };
        compared.given_up += counted(GIVEN_UP)?;
        for count in (0..pairs).flat_map(|queue| LAUNCH_COUNTS.map(|count| count + 8 * queue as u16)) {
            compared.late += counted(count)?;
        }
        for queue in 0..pairs as u16 {
            compared.refused += counted(RESIDENCE + 8 * queue)?;
            counted(SENT + 8 * queue)?;
        }
        let unsendable = self.twin.both(hardware).cards().map(|card| card.read(NOT_SENT));
        if unsendable[0] != unsendable[1] {
            return Err(format!("frames that are none are {:?}, by the model {:?}", unsendable[0], unsendable[1]));
        }
        Ok(())
    }

    /// The oldest stamps of each card, and whether there were more, which hardware's register has told of all ports.
    fn compare_stamps(&mut self, hardware: &mut Hardware, lost: u32, compared: &mut Compared) -> Result<(), String> {
        let number = self.twin.number as u32;
        let of = |card: &mut dyn Card, number, lost: u32| -> Result<_, NoRegister> {
            Ok((take_stamps(card, number)?, lost >> (number + ptp::SENT) & 1))
        };
        let told = |error: NoRegister| error.to_string();
        let hard = of(&mut hardware.card, number, lost).map_err(told)?;
        let model = &mut self.timed.model;
        let lost = model.read(ptp::STAMP_LOST).map_err(told)?;
        let soft = of(model, 0, lost).map_err(told)?;
        compared.stamps += hard.0.len() as u64;
        if hard == soft {
            return Ok(());
        }
        Err(format!("stamps, and whether some were lost, are {hard:x?}, by the model {soft:x?}"))
    }

    fn compare_rings(&mut self, hardware: &mut Hardware, sent: &[Left], compared: &mut Compared) -> Result<(), String> {
        for driver in &self.drivers {
            let is_timed = driver.launch_ns.is_some() || self.timed.model.is_shaped(driver.queue);
            let own: Vec<&Vec<u8>> =
                sent.iter().filter(|frame| frame.queue == driver.queue).map(|frame| &frame.bytes).collect();
            let least = 60;
            let padded = |frame: &Vec<u8>| [&frame[..], &vec![0; usize::saturating_sub(least, frame.len())]].concat();
            let of_queue = self.outcome.sent.iter().filter(|sent| sent.queue == driver.queue);
            let theirs: Vec<Vec<u8>> = of_queue.map(|sent| padded(&sent.frame)).collect();
            // When a frame was fetched decides whether it was late or refused, which only the timed model was told.
            let differ = own.len() != theirs.len() || own.iter().zip(&theirs).any(|(one, other)| **one != *other);
            if differ && !is_timed {
                let (queue, own, theirs) = (driver.queue, own.len(), theirs.len());
                return Err(format!("queue {queue} sent {own} frames, by the model {theirs} or others"));
            }
            let used = |memory: &Memory| {
                let mut ring = vec![0; 4 + 8 * usize::from(driver.layout.size)];
                let _ = memory.read(driver.layout.used, &mut ring);
                ring
            };
            if used(&hardware.memory) != used(&self.twin.memory) {
                return Err(format!("queue {} was given back otherwise", driver.queue));
            }
            let mut states = [0_u32; 2];
            for (state, card) in states.iter_mut().zip(self.twin.both(hardware).cards()) {
                let read = card.write(0x40, driver.ring() as u32).and_then(|()| card.read(0x68));
                *state = read.map_err(|error| error.to_string())? >> 16;
            }
            let [hard, soft] = states;
            if hard != soft {
                return Err(format!("queue {} has state {hard:#x}, by the model {soft:#x}", driver.queue));
            }
            compared.errors += u64::from(hard >> 4 != 0);
        }
        Ok(())
    }
}

/// A frame that left by the wire of hardware: when its first byte after the delimiter did, and without FCS.
struct Left {
    cycle: u64,
    queue: usize,
    bytes: Vec<u8>,
}

/// Draws rings, frames and settings of each port, and has both cards do them.
///
/// # Errors
/// They differ, or the library is none.
pub fn compare(library: &Path, seed: u64) -> Result<Compared, DifferenceError> {
    let rng = &mut Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut compared = Compared::default();
    let refused = |what: String| DifferenceError::Refused { seed, what };
    let card = Verilated::with_latency(library, LINE_BPS, rng.random_range(0..64))?;
    let (count, pairs) = (card.ports(), card.pairs());
    let memory = Memory::of_own(&[(0, MEMORY_BYTES * count as u64)]).map_err(|error| refused(error.to_string()))?;
    let mut hardware = Hardware { card, memory: Arc::new(memory) };
    let made: Result<Vec<OnePort>, String> = (0..count).map(|number| OnePort::new(number, pairs)).collect();
    let mut ports = made.map_err(refused)?;

    let from = hardware.card.card.cycle() + GATES_AHEAD * count as u64;
    let differs =
        |number: usize| move |what: String| DifferenceError::Differs { seed, what: format!("port {number}: {what}") };
    // Of several ports one nearly always has gates, which keep the clock as it is.
    let gates_from_ns = (count == 1 || rng.random_bool(0.7)).then_some((from * CYCLE_NS) as u32);
    for (number, port) in ports.iter_mut().enumerate() {
        port.give_memory(&mut hardware)?;
        let writes = settings(rng, pairs.min(CLASSES) as u32, gates_from_ns, &mut compared);
        port.write(&mut hardware, &writes).map_err(refused)?;
        port.compare_slots(&mut hardware).map_err(differs(number))?;
        let launch = launch_settings(rng, pairs);
        port.launching = launch[0].1;
        port.write(&mut hardware, &launch).map_err(refused)?;
        port.write(&mut hardware, &ats_settings(rng, pairs)).map_err(refused)?;
    }
    stamp_all(&mut hardware.card, &mut ports, rng).map_err(|error| refused(error.to_string()))?;
    // Gate lists begin by the clock that they were drawn for.
    let is_moved = rng.random_bool(0.5) && compared.gate_lists + compared.slots == 0;
    let clock_ahead_ns = if is_moved { move_clock(&mut hardware.card, &mut ports, seed, rng)? } else { 0 };
    hardware.card.card.run(from, Stop::default());
    for port in &mut ports {
        port.twin.model.advance_to(from, &mut port.outcome);
        port.draw_rings(&mut hardware, rng).map_err(refused)?;
    }
    for _ in 0..rng.random_range(1..=MOST_FRAMES * 2 * count as u32) {
        let number = rng.random_range(0..count);
        let port = &mut ports[number];
        if rng.random_bool(0.2) {
            port.reception.come(&mut port.twin.both(&mut hardware), rng).map_err(differs(number))?;
        }
        port.give(&mut hardware, clock_ahead_ns, rng);
        let until = hardware.card.card.cycle() + if rng.random_bool(0.5) { 0 } else { rng.random_range(0..4_000) };
        hardware.card.card.run(until, Stop::default());
        ports.iter_mut().for_each(|port| port.twin.model.advance_to(until, &mut port.outcome));
    }
    hardware.card.card.run(hardware.card.card.cycle() + END_CYCLES, Stop { idle: true, ..Stop::default() });
    let lost = hardware.card.card.read(ptp::STAMP_LOST.into())?;
    for (number, port) in ports.iter_mut().enumerate() {
        port.twin.model.advance_to(hardware.card.card.cycle() + END_CYCLES, &mut port.outcome);
        port.compare(&mut hardware, lost, &mut compared).map_err(differs(number))?;
    }
    Ok(compared)
}
