// SPDX-License-Identifier: Apache-2.0
//! The card as a model: rings as [`crate::ring`] walks them, transmission by the engine's egress port. It goes by the host's
//! clock, as a card does.
mod ats;
mod clock;
mod ports;
pub mod registers;
mod stamps;
mod steering;
mod transmit;

use std::sync::Arc;
use std::time::Duration;

use penstock_frame::{FCS_BYTES, MIN_FRAME_BYTES};
use penstock_shaper::admission::CLASSES;
use penstock_shaper::credit::{idle_slope, Bounds, Credit};
use penstock_shaper::egress::{GateDelays, GateTime, Tick, NEVER};
use penstock_shaper::gate_config::GATES_CYCLES;
use penstock_shaper::gates::{AdminList, Capacity, Entry};
use penstock_shaper::launch::Verdict;
use penstock_shaper::pace::{Line, Pace, TICK_NS};
use penstock_shaper::ptp_clock::{ClockError, Command, PtpClock};
use penstock_shaper::slots::Schedule;

use crate::card::{ring_of, Card, NoRegister, Outcome, Sent, FEATURE_MRG_RXBUF, MOST_PAIRS};
use crate::memory::Memory;
use crate::ptp;
use crate::ring::{Chain, Direction, Layout, Ring, RingError, HEADER_BYTES};
use ats::Schedulers;
use clock::ClockRegisters;
pub use ports::Ports;
use registers::{code, Registers, Request};
use transmit::{LaunchDelays, Served, Transmit, FETCHED};

/// Longest frame, with FCS.
pub const MOST_FRAME_BYTES: usize = 1522;
const LEAST_FRAME_BYTES: usize = 14;
/// Of the launch time, before the frame.
const LAUNCH_BYTES: usize = 8;
/// Chains that a queue takes at a time, so that a driver that never stops does not hold the others up.
const MOST_AT_ONCE: usize = 256;
/// Of a received frame that lies in several chains.
const MOST_CHAINS: usize = 1 + MOST_FRAME_BYTES;

const HARDWARE_BPS: u64 = 1_000_000_000;
/// Of `pen_nic`, in ns and cycles: it has the gates of the switch.
const HARDWARE_DELAYS: GateDelays = GateDelays { lead: 56, states: GATES_CYCLES, windows: 4 };
const HARDWARE_LAUNCH: LaunchDelays = LaunchDelays { ahead_ns: 56, queued: 1, visible: 2, wire: 4 };
const IDEAL_LAUNCH: LaunchDelays = LaunchDelays { ahead_ns: 0, queued: 0, visible: 0, wire: 0 };
/// From its arrival for ATS to the first cycle in which a frame may be selected.
const HARDWARE_ATS_NS: u32 = 80;

const ID: u16 = 0x000;
const VERSION: u16 = 0x004;
const PORTS: u16 = 0x008;
const PAIRS: u16 = 0x00C;
const FRAMES: u16 = 0x010;
const PORT: u16 = 0x014;
const SCHEDULERS: u16 = 0x01C;
const ERRORS: u16 = 0x038;
const QUEUE_STATE: u16 = 0x068;
const SLOT_ERROR: u16 = 0x590;
/// Counters of the port: of each queue 64 bit, low half first.
const SENT: u16 = 0x1080;
const SENT_LAST: u16 = SENT + 8 * MOST_PAIRS as u16 - 4;
const RECEIVED: u16 = 0x1040;
const LATE: u16 = 0x1200;
const LATE_LAST: u16 = LATE + 8 * MOST_PAIRS as u16 - 4;
const DROPPED: u16 = 0x1280;
const DROPPED_LAST: u16 = DROPPED + 8 * MOST_PAIRS as u16 - 4;
const BEYOND: u16 = 0x1300;
const BEYOND_LAST: u16 = BEYOND + 8 * MOST_PAIRS as u16 - 4;
const RESIDENCE: u16 = 0x1380;
const RESIDENCE_LAST: u16 = RESIDENCE + 8 * MOST_PAIRS as u16 - 4;
const NO_BUFFER: u16 = 0x1000;
const NOT_SENT: u16 = 0x1004;
const GIVEN_UP: u16 = 0x1008;
const FILTERED: u16 = 0x100C;

#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    sent: u64,
    received: u32,
    /// Sent after their launch times, and not sent because of them.
    late: u64,
    dropped: u64,
    beyond: u64,
    /// Not sent, as they would have waited for their eligibility time for too long.
    residence: u64,
}

pub struct Model {
    memory: Option<Arc<Memory>>,
    features: u64,
    rings: Vec<Option<Ring>>,
    errors: Vec<Option<RingError>>,
    pairs: Vec<Pair>,
    transmit: Transmit,
    ats: Schedulers,
    time: GateTime,
    gate_delays: GateDelays,
    clock: ClockRegisters,
    /// Up to which everything has happened.
    now: Tick,
    /// What is on the wire, and when its last bit leaves.
    leaving: Option<(Tick, Sent)>,
    registers: Registers,
    slot_error: u32,
    /// Received frames that found no buffer, and frames of the host that are none.
    no_buffer: u32,
    not_sent: u32,
    /// Frames that waited for too long, or are longer than any window of their gate.
    given_up: u32,
    /// Received frames that nobody wants.
    filtered: u32,
    /// Rings that stopped since the host was told.
    stopped: Vec<(usize, String)>,
}

impl Model {
    /// With so many queue pairs, [`MOST_PAIRS`] at most, on a line of a rate.
    pub fn new(pairs: usize, rate_bps: u64) -> Self {
        Self::with_delays(pairs, rate_bps, GateDelays::default(), IDEAL_LAUNCH, 0)
    }

    fn with_delays(pairs: usize, rate_bps: u64, gates: GateDelays, launch: LaunchDelays, ats_ns: u32) -> Self {
        let pairs = pairs.clamp(1, MOST_PAIRS);
        let mut transmit = Transmit::new(pairs, Pace { rate_bps: rate_bps.max(1), guard_ns: 0 }, launch);
        let registers = Registers::new(pairs);
        transmit.egress().set_round_robin(registers.round_robin as u8);
        Self {
            memory: None,
            features: 0,
            rings: (0..2 * pairs).map(|_| None).collect(),
            errors: vec![None; 2 * pairs],
            pairs: vec![Pair::default(); pairs],
            transmit,
            ats: Schedulers::new(ats_ns),
            time: GateTime::new(PtpClock::new(0, 0), gates),
            gate_delays: gates,
            clock: ClockRegisters::default(),
            now: 0,
            leaving: None,
            registers,
            slot_error: 0,
            no_buffer: 0,
            not_sent: 0,
            given_up: 0,
            filtered: 0,
            stopped: Vec::new(),
        }
    }

    /// With the line and the delays of the hardware, between gates and wire too.
    pub fn as_hardware(pairs: usize) -> Self {
        Self::with_delays(pairs, HARDWARE_BPS, HARDWARE_DELAYS, HARDWARE_LAUNCH, HARDWARE_ATS_NS)
    }

    /// A frame without FCS that lies in no ring waits from a tick on.
    pub fn queue(&mut self, queue: usize, frame: Vec<u8>, from: Tick) {
        self.transmit.enqueue(&self.time, queue, frame, from);
    }

    /// As [`Self::queue`], with a launch time, at a tick.
    pub fn hold(&mut self, queue: usize, frame: Vec<u8>, launch_ns: u64, at: Tick) {
        self.launch(queue, launch_ns, frame, at);
    }

    /// As [`Self::queue`], of a queue with ATS: it arrived at its scheduler at a time, and is queued at a tick if it passes.
    pub fn shape(&mut self, queue: usize, frame: Vec<u8>, arrival_ns: u64, at: Tick) {
        match self.ats.process(queue, arrival_ns, Transmit::bytes(&frame)) {
            Some(eligible) => self.transmit.enqueue_shaped(&self.time, queue, frame, eligible, at),
            None => self.pairs[queue].residence += 1,
        }
    }

    /// Whether a queue has ATS.
    pub fn is_shaped(&self, queue: usize) -> bool {
        self.ats.is_enabled(queue)
    }

    /// The clock shows a time in a tick, and goes on from it.
    pub fn set_clock(&mut self, tick: Tick, ns: u64) {
        self.time = GateTime::new(PtpClock::new(tick, ns), self.gate_delays);
    }

    fn launch(&mut self, queue: usize, launch_ns: u64, frame: Vec<u8>, at: Tick) {
        match self.transmit.hold(&self.time, at, queue, launch_ns, frame) {
            Verdict::Taken => {}
            Verdict::Dropped => self.pairs[queue].dropped += 1,
            Verdict::Beyond => self.pairs[queue].beyond += 1,
        }
    }

    /// The pair that a received frame without FCS goes to; none: nobody wants it.
    pub fn steered(&self, frame: &[u8]) -> Option<usize> {
        let is_running = |pair: usize| u32::from(self.rings[ring_of(pair, false)].is_some());
        let running = (0..self.pairs.len()).fold(0, |mask, pair| mask | is_running(pair) << pair);
        self.registers.steering.pair_of(frame, running)
    }

    /// What is wrong with a ring stops it, and no other.
    fn fail(&mut self, ring: usize, error: RingError) {
        self.rings[ring] = None;
        self.errors[ring] = Some(error);
        self.stopped.push((ring, error.to_string()));
    }

    /// The next frames of all queues, as far as there is room for them.
    fn fetch(&mut self) {
        for queue in 0..self.pairs.len() {
            for _ in 0..MOST_AT_ONCE {
                if !self.transmit.has_room(queue) || !self.fetch_one(queue) {
                    break;
                }
            }
        }
    }

    fn fetch_one(&mut self, queue: usize) -> bool {
        let number = ring_of(queue, true);
        let Some(memory) = self.memory.clone() else { return false };
        let Some(ring) = &mut self.rings[number] else { return false };
        let is_timed = self.transmit.launch.is_enabled(queue);
        match take_frame(ring, &memory, is_timed) {
            Ok(None) => false,
            Ok(Some(frame)) => {
                match frame {
                    Some((0, frame)) if self.is_shaped(queue) => self.shape(queue, frame, self.now * TICK_NS, self.now),
                    Some((0, frame)) => self.transmit.enqueue(&self.time, queue, frame, self.now),
                    Some((launch_ns, frame)) => self.launch(queue, launch_ns, frame, self.now),
                    None => self.not_sent = self.not_sent.wrapping_add(1),
                }
                true
            }
            Err(error) => {
                self.fail(number, error);
                false
            }
        }
    }

    /// Does all that happens up to a tick.
    pub fn advance_to(&mut self, to: Tick, outcome: &mut Outcome) {
        loop {
            self.fetch();
            let ends = self.leaving.as_ref().map_or(NEVER, |leaving| leaving.0);
            let starts = self.transmit.next(&self.time, self.now);
            let launches = self.transmit.launch.next(self.time.clock(), self.now);
            let at = ends.min(starts).min(launches);
            if at > to {
                break;
            }
            self.now = self.now.max(at);
            if launches == at {
                self.transmit.release(&self.time, at);
            } else if ends <= starts {
                self.clock.stamps.left(self.time.clock());
                outcome.sent.extend(self.leaving.take().map(|leaving| leaving.1));
            } else {
                match self.transmit.serve(&self.time, at) {
                    Served::Sent(selected) => {
                        self.pairs[selected.queue].sent += 1;
                        self.pairs[selected.queue].late += u64::from(selected.is_late);
                        self.clock.stamps.begins(&selected.frame, self.transmit.first_byte(at));
                        let sent = Sent { queue: selected.queue, at_ns: at * TICK_NS, frame: selected.frame };
                        self.leaving = Some((self.transmit.egress().sending_until().max(at + 1), sent));
                    }
                    Served::GivenUp => self.given_up = self.given_up.wrapping_add(1),
                    Served::Nothing => {}
                }
            }
        }
        self.now = self.now.max(to);
    }

    /// Writes a frame into the rings of a pair; false: there was no room, and nothing has changed.
    fn deliver(&mut self, pair: usize, frame: &[u8]) -> Result<bool, RingError> {
        let (Some(memory), Some(ring)) = (&self.memory, &mut self.rings[ring_of(pair, false)]) else {
            return Ok(false);
        };
        let first = ring.next_available();
        let bytes = HEADER_BYTES + frame.len();
        let mut chains: Vec<Chain> = Vec::new();
        let mut room = 0;
        while room < bytes as u64 {
            let is_allowed = chains.is_empty() || self.features & FEATURE_MRG_RXBUF != 0;
            match ring.take(memory)?.filter(|_| is_allowed && chains.len() < MOST_CHAINS) {
                // As the driver looks for the header in the first one.
                Some(chain) if chains.is_empty() && chain.bytes < HEADER_BYTES as u64 => {
                    return Err(RingError::TooShort { bytes: chain.bytes });
                }
                Some(chain) => {
                    room += chain.bytes;
                    chains.push(chain);
                }
                None => {
                    ring.take_again_from(first);
                    return Ok(false);
                }
            }
        }
        let mut whole = vec![0; HEADER_BYTES];
        whole[10..].copy_from_slice(&(chains.len() as u16).to_le_bytes());
        whole.extend_from_slice(frame);
        let mut rest = &whole[..];
        for chain in &chains {
            let written = chain.write(memory, rest);
            rest = &rest[written..];
            ring.give_back(memory, chain.head, written as u32)?;
        }
        Ok(true)
    }

    fn frame_ns(&self) -> u64 {
        self.transmit.pace.occupancy(MOST_FRAME_BYTES as u16) * TICK_NS
    }

    fn perform(&mut self, request: Request) {
        match request {
            Request::Nothing => {}
            Request::RoundRobin(members) => self.transmit.egress().set_round_robin(members),
            Request::GateEnable(is_enabled) => self.enable_gates(is_enabled),
            Request::GateCommit => {
                if let Some((base_time, cycle_time, cycle_time_extension, entries)) = self.registers.gate_list() {
                    self.commit(AdminList { entries, base_time, cycle_time, cycle_time_extension });
                }
            }
            Request::SlotCommit(schedule) => self.commit_slots(&schedule),
            Request::Launch => {
                let launch = &mut self.transmit.launch;
                launch.set_enabled(self.registers.launch as u16);
                launch.set_drops(self.registers.launch_drop as u16);
                launch.set_horizon_ns(self.registers.launch_horizon_ns);
            }
            Request::Ats => self.ats.set(self.registers.ats as u16, self.registers.ats_overhead_bytes),
            Request::Rate(queue, rate) if queue < self.pairs.len() => self.ats.set_rate(queue, rate),
            Request::Residence(class, ns) if class < CLASSES => self.ats.set_max_residence_ns(class, ns),
            Request::Rate(..) | Request::Residence(..) => {}
            Request::Clock(command) => {
                let done = command.map(|command| self.command_clock(command));
                self.clock.set_error(done);
            }
            Request::StampAll(mask) => self.clock.stamp_all(mask),
            Request::TakeStamp(source) => self.clock.take_stamp(source),
            Request::Credit(class, slope) => {
                let line = Line { time: &self.time, pace: self.transmit.pace };
                let rate = idle_slope(self.transmit.pace.rate_bps);
                let credit = slope.and_then(|slope| Credit::new(slope.into(), rate, Bounds::NONE).ok());
                self.transmit.egress().set_credit(&line, self.now, class, credit);
            }
        }
    }

    fn enable_gates(&mut self, is_enabled: bool) {
        let line = Line { time: &self.time, pace: self.transmit.pace };
        self.transmit.egress().change_gates(&line, self.now).set_enabled(is_enabled);
    }

    /// A command acts in the tick after this one; a list that runs goes on with a cycle that begins by the new time.
    fn command_clock(&mut self, command: Command) -> Result<(), ClockError> {
        self.clock.stamps.clock_changes(self.time.clock(), self.now);
        self.now += 1;
        let line = Line { time: &self.time, pace: self.transmit.pace };
        let last = self.time.at(self.now - 1);
        let moves = matches!(command, Command::Set { .. } | Command::Step { .. });
        self.transmit.egress().change_gates(&line, self.now);
        let mut time = self.time;
        time.command(self.now, command)?;
        self.time = time;
        if moves {
            let earliest = self.time.at(self.transmit.egress().free().max(self.now)) + TICK_NS;
            let line = Line { time: &self.time, pace: self.transmit.pace };
            let gates = self.transmit.egress().change_gates(&line, self.now);
            if let Some((list, _)) = gates.stepped(last, earliest) {
                let change_time = list.start_from(earliest);
                gates.propose(earliest, list, change_time);
            }
        }
        Ok(())
    }

    /// A list takes over at the begin of a cycle, after what is on the wire.
    fn commit(&mut self, list: AdminList) -> bool {
        let capacity = Capacity { horizon: self.frame_ns().max(Capacity::HARDWARE.horizon), ..Capacity::HARDWARE };
        let line = Line { time: &self.time, pace: self.transmit.pace };
        let seen = self.time.at(self.now);
        let earliest = self.time.at(self.transmit.egress().free().max(self.now)) + TICK_NS;
        let gates = self.transmit.egress().change_gates(&line, self.now);
        gates.commit(seen + 1, earliest, &list, &capacity).is_ok()
    }

    fn commit_slots(&mut self, schedule: &Schedule) {
        let compiled = schedule.compile(self.frame_ns());
        self.slot_error = compiled.as_ref().err().map_or(0, code);
        let Ok(openings) = compiled else { return };
        if openings.is_empty() {
            self.enable_gates(false);
            return;
        }
        let entry = |opening: &penstock_shaper::slots::Opening| Entry {
            operation: 0,
            states: opening.queues as u8,
            interval: opening.interval_ns.into(),
        };
        let list = AdminList {
            entries: openings.iter().map(entry).collect(),
            base_time: 0,
            cycle_time: schedule.cycle_ns.into(),
            cycle_time_extension: 0,
        };
        if self.commit(list) {
            self.enable_gates(true);
        } else {
            self.slot_error = registers::NO_LIST;
        }
    }
}

/// None: it is none that can be sent. Else its launch time, or zero, and the frame.
type Fetched = Option<(u64, Vec<u8>)>;

/// The next frame of a ring without its header, which is given back at once.
fn take_frame(ring: &mut Ring, memory: &Memory, is_timed: bool) -> Result<Option<Fetched>, RingError> {
    let Some(chain) = ring.take(memory)? else { return Ok(None) };
    let most = MOST_FRAME_BYTES - FCS_BYTES as usize;
    let ahead = HEADER_BYTES + if is_timed { LAUNCH_BYTES } else { 0 };
    let bytes = (chain.bytes as usize).saturating_sub(ahead);
    let mut frame = None;
    if (LEAST_FRAME_BYTES..=most).contains(&bytes) {
        let (address, bytes) = chain.parts[0];
        let mut whole = chain.read(memory).ok_or(RingError::Outside { address, bytes: bytes.into() })?;
        let body = whole.split_off(ahead);
        let launch = whole[HEADER_BYTES..].first_chunk::<LAUNCH_BYTES>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        frame = Some((launch, body));
    }
    ring.give_back(memory, chain.head, 0)?;
    Ok(Some(frame))
}

impl Card for Model {
    fn ports(&self) -> usize {
        1
    }

    fn select(&mut self, _port: usize) {
        // Those of a card with several are cards by themselves: see [`Ports`].
    }

    fn pairs(&self) -> usize {
        self.pairs.len()
    }

    fn set_memory(&mut self, memory: Arc<Memory>) {
        for ring in 0..self.rings.len() {
            self.stop(ring);
        }
        self.memory = Some(memory);
    }

    fn set_features(&mut self, features: u64) {
        self.features = features;
    }

    fn start(&mut self, number: usize, layout: Layout, next: u16) -> Result<(), RingError> {
        let outside = RingError::Outside { address: layout.descriptors, bytes: 0 };
        let (Some(memory), true) = (&self.memory, number < self.rings.len()) else { return Err(outside) };
        let direction = if number % 2 == 1 { Direction::Read } else { Direction::Write };
        self.rings[number] = None;
        let made = Ring::new(memory, layout, direction, next);
        self.errors[number] = made.as_ref().err().copied();
        self.rings[number] = Some(made?);
        Ok(())
    }

    fn stop(&mut self, number: usize) -> u16 {
        // What was fetched has been given back, and is sent.
        self.rings.get_mut(number).and_then(Option::take).map_or(0, |ring| ring.next_available())
    }

    fn kick(&mut self, _ring: usize) {
        // All rings are looked at whenever time goes on.
    }

    fn receive(&mut self, frame: &[u8]) {
        let least = (MIN_FRAME_BYTES - FCS_BYTES) as usize;
        let padded;
        let frame = if frame.len() < least {
            padded = [frame, &vec![0; least - frame.len()]].concat();
            &padded
        } else {
            frame
        };
        if frame.len() > MOST_FRAME_BYTES - FCS_BYTES as usize {
            return;
        }
        let Some(pair) = self.steered(frame) else {
            self.filtered = self.filtered.wrapping_add(1);
            return;
        };
        let delivered = self.deliver(pair, frame);
        if delivered == Ok(true) {
            self.pairs[pair].received = self.pairs[pair].received.wrapping_add(1);
        } else {
            self.no_buffer = self.no_buffer.wrapping_add(1);
        }
        if let Err(error) = delivered {
            self.fail(ring_of(pair, false), error);
        }
    }

    fn advance(&mut self, since_begin: Duration, outcome: &mut Outcome) -> Option<Duration> {
        let to = (since_begin.as_nanos() / u128::from(TICK_NS)) as Tick;
        self.advance_to(to, outcome);
        if let Some(memory) = &self.memory {
            let asked = self.rings.iter_mut().enumerate().filter_map(|(number, ring)| Some((number, ring.as_mut()?)));
            outcome.interrupts.extend(asked.filter_map(|(number, ring)| ring.take_interrupt(memory).then_some(number)));
        }
        outcome.errors.append(&mut self.stopped);
        let ends = self.leaving.as_ref().map_or(NEVER, |leaving| leaving.0);
        let launches = self.transmit.launch.next(self.time.clock(), self.now);
        let next = self.transmit.next(&self.time, self.now).min(ends).min(launches);
        (next != NEVER).then(|| Duration::from_nanos(next.saturating_sub(self.now).saturating_mul(TICK_NS)))
    }

    fn read(&mut self, address: u16) -> Result<u32, NoRegister> {
        let selected = self.registers.selected as usize;
        let half = |value: u64| if address & 4 == 0 { value as u32 } else { (value >> 32) as u32 };
        let found = match address & 0xFFFC {
            ID => Some(registers::ID),
            VERSION => Some(registers::VERSION),
            PORTS => Some(1),
            PORT => Some(0),
            PAIRS => Some(self.pairs.len() as u32),
            FRAMES => Some(FETCHED as u32),
            SCHEDULERS => Some(self.pairs.len() as u32),
            ERRORS => Some((0..self.errors.len()).fold(0, |mask, v| mask | u32::from(self.errors[v].is_some()) << v)),
            QUEUE_STATE => self.rings.get(selected).map(|ring| {
                let next = ring.as_ref().map_or(0, |ring| u32::from(ring.next_available()) | 1 << 16);
                next | self.errors[selected].map_or(0, RingError::code) << 20
            }),
            SLOT_ERROR => Some(self.slot_error),
            NO_BUFFER => Some(self.no_buffer),
            NOT_SENT => Some(self.not_sent),
            GIVEN_UP => Some(self.given_up),
            FILTERED => Some(self.filtered),
            RECEIVED..SENT => self.pairs.get(usize::from(address - RECEIVED) / 4).map(|pair| pair.received),
            SENT..=SENT_LAST => self.pairs.get(usize::from(address - SENT) / 8).map(|pair| half(pair.sent)),
            LATE..=LATE_LAST => self.pairs.get(usize::from(address - LATE) / 8).map(|pair| half(pair.late)),
            DROPPED..=DROPPED_LAST => self.pairs.get(usize::from(address - DROPPED) / 8).map(|pair| half(pair.dropped)),
            BEYOND..=BEYOND_LAST => self.pairs.get(usize::from(address - BEYOND) / 8).map(|pair| half(pair.beyond)),
            RESIDENCE..=RESIDENCE_LAST => {
                self.pairs.get(usize::from(address - RESIDENCE) / 8).map(|pair| half(pair.residence))
            }
            address @ ptp::STATUS..=ptp::STAMP_ALL => self.clock.read(address, self.time.clock(), self.now),
            other => self.registers.read(other),
        };
        found.ok_or(NoRegister { address })
    }

    fn write(&mut self, address: u16, value: u32) -> Result<(), NoRegister> {
        let request = self.registers.write(address & 0xFFFC, value)?;
        self.perform(request);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
