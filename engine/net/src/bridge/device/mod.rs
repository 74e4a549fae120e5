// SPDX-License-Identifier: Apache-2.0
//! A bridge with hardware timing behind its wires and registers: takes what the Verilated switch takes, and tells what
//! it tells, cycle by cycle (see engine/rtl/shim/pen_switch_shim.h).
mod access;
mod mac;
mod registers;
mod stamps;
mod wire;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use penstock_frame::{add_residence, Edit, GAP_BYTES};
use penstock_shaper::turns::Turns;
use thiserror::Error;

pub use registers::Sizes;
pub use wire::{Event, Frame, FrameError, Kind, State};
pub use wire::{FLAG_DAMAGED, FLAG_EDITED, FLAG_PREAMBLE, FLAG_SHAPED, FLAG_SHORT_GAP, FLAG_STREAM, FLAG_TX_ER};

use super::{Arrival, Bridge, BridgeConfig, BridgeError, Change, Judged, Memos, Passed, Selection, Tick, Timing};
use crate::header::{Header, HeaderId, Headers, HostWay};
use crate::trace::Reason;
use mac::Carrier;
use registers::Registers;
use stamps::Stamps;

/// After the reset and the clearing of all tables.
const FIRST_CYCLE: Tick = 4096 + 128;
/// Until the wires count as quiet.
const QUIET_CYCLES: Tick = 64;
const SELECTED_TOLD: Tick = 2;
/// Fewer than there are headers, so that some take the place of others.
const MEMOS: usize = 256;
/// The hardware tells a time in as many bits.
const TIME_BITS: u32 = 28;

/// Accepted with a length that is not the frame's: what was pushed had another frame inside.
const FAULT_LENGTH: u8 = 5;

#[derive(Debug, Error)]
pub enum DeviceError {
    #[error(transparent)]
    Bridge(#[from] BridgeError),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("register {address:#06x} does not exist, or not for this access")]
    Register { address: u32 },
}

#[derive(Clone, Debug)]
struct Passing {
    start: Tick,
    /// Of its first byte behind the delimiter, once it has begun.
    first: Tick,
    carrier: Carrier,
    /// Since it arrived.
    header: Option<HeaderId>,
    /// It came from the host.
    way: Option<HostWay>,
    /// The host, from which it came, is to be told when it leaves.
    tag: Option<u8>,
    /// Copies that are inside.
    copies: u64,
    length: u32,
    short_gap: bool,
    damaged: bool,
    is_corrected: bool,
}

#[derive(Clone, Debug, Default)]
struct Wire {
    queue: VecDeque<u64>,
    /// First idle cycle after the frame before.
    free_since: Tick,
}

/// Something to do; of one cycle in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Gates,
    Begin { port: u16 },
    Arrive { port: u16, frame: u64 },
    Judge { port: u16 },
    Moment { port: u16, first: Tick },
    Stamp,
    Host,
    Select { port: u16 },
    Left { port: u16, frame: u64 },
}

/// How often frames were judged each way, and sent with their judgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    pub staged: u64,
    pub kept: u64,
    pub read: u64,
    pub passed: u64,
}

pub struct Device {
    bridge: Bridge,
    headers: Headers,
    memos: Memos,
    ways: Ways,
    registers: Registers,
    sizes: Sizes,
    cycle: Tick,
    /// Nothing changes before this.
    until: Tick,
    quiet_at: Tick,
    inside: u64,
    waiting: u64,
    pushed: u64,
    /// By their numbers, those of which something is on a wire or inside.
    frames: HashMap<u64, Passing>,
    wires: Vec<Wire>,
    steps: BinaryHeap<Reverse<(Tick, Step)>>,
    /// Until they are known: (cycle, place in the cycle, number).
    told: BinaryHeap<Reverse<(Tick, u32, u64)>>,
    kept: HashMap<u64, Event>,
    /// Events that were kept so far.
    told_so_far: u64,
    events: Vec<Event>,
    /// Changes that act later than others, in their order.
    late: VecDeque<(Tick, Change)>,
    stamps: Stamps,
    turns: Turns,
}

/// A place in the order of what is told in one cycle.
fn place(kind: Kind, port: u16) -> u32 {
    let port = u32::from(port);
    match kind {
        Kind::Input => port,
        Kind::Verdict => 100,
        Kind::Fault => 101,
        Kind::Selected => 200 + 2 * port,
        Kind::Expired => 201 + 2 * port,
        Kind::Output => 300 + port,
        Kind::Stamp => 400,
    }
}

impl Device {
    pub fn new(sizes: Sizes, config: &BridgeConfig) -> Result<Self, DeviceError> {
        let sized = BridgeConfig { fdb_sets: sizes.fdb_sets, cells: sizes.cells, host: sizes.host, ..config.clone() };
        let bridge = Bridge::with_streams(sizes.ports, &sized, &Timing::Hardware, sizes.streams)?;
        let registers = Registers::new(sizes, bridge.processing_delay_max_ns(), bridge.shares());
        Ok(Self {
            bridge,
            headers: Headers::new(),
            memos: Memos::new(MEMOS),
            ways: Ways::default(),
            until: 0,
            registers,
            sizes,
            cycle: FIRST_CYCLE,
            quiet_at: 0,
            inside: 0,
            waiting: 0,
            pushed: 0,
            frames: HashMap::new(),
            wires: vec![Wire::default(); usize::from(sizes.ports)],
            steps: BinaryHeap::new(),
            told: BinaryHeap::new(),
            kept: HashMap::new(),
            told_so_far: 0,
            events: Vec::new(),
            late: VecDeque::new(),
            stamps: Stamps::default(),
            turns: Turns::new(sizes.ports),
        })
    }

    pub fn state(&self) -> State {
        State {
            cycle: self.cycle,
            simulated: self.cycle - FIRST_CYCLE,
            jumped: 0,
            inside: self.inside,
            waiting: self.waiting,
            idle: u32::from(self.inside == 0 && self.cycle >= self.quiet_at),
            ports: self.sizes.ports.into(),
        }
    }

    pub fn ways(&self) -> Ways {
        self.ways
    }

    /// Frames pushed so far, which is the number of the next one.
    pub fn pushed(&self) -> u64 {
        self.pushed
    }

    /// How much it remembers: frames, different headers, events that are not told.
    pub fn held(&self) -> [usize; 3] {
        [self.frames.len(), self.headers.len(), self.kept.len()]
    }

    /// The bridge names a frame by the lower half of its number.
    fn number(&self, frame: u32) -> u64 {
        self.pushed - u64::from((self.pushed as u32).wrapping_sub(frame))
    }

    /// Gives a frame to the wire of a port; its number.
    pub fn push(&mut self, frame: Frame) -> Result<u64, DeviceError> {
        frame.check(self.sizes.ports.into())?;
        if frame.host.is_some() && frame.gap < GAP_BYTES {
            return Err(FrameError::HostGap.into());
        }
        let port = frame.port;
        let carrier = Carrier::from(frame);
        let number = self.pushed;
        self.pushed += 1;
        let way = self.host_way(&frame);
        let passing = Passing {
            start: frame.start_cycle,
            first: frame.start_cycle,
            length: carrier.bytes.len() as u32,
            carrier,
            header: None,
            way,
            tag: way.and(frame.host).and_then(stamps::tag_of),
            copies: 0,
            short_gap: false,
            damaged: false,
            is_corrected: false,
        };
        self.frames.insert(number, passing);
        self.waiting += 1;
        let wire = &mut self.wires[port];
        wire.queue.push_back(number);
        if wire.queue.len() == 1 {
            self.plan(port as u16);
        }
        Ok(number)
    }

    fn host_way(&self, frame: &Frame) -> Option<HostWay> {
        let (port, ports) = (frame.port as u16, self.sizes.ports);
        let is_from_host = self.sizes.host && port + 1 == ports;
        is_from_host.then(|| frame.host.map_or(HostWay::ReceivedAt(port), |header| HostWay::parse(header, ports)))
    }

    /// When the next frame of a wire begins.
    fn plan(&mut self, port: u16) {
        let wire = &self.wires[usize::from(port)];
        if let Some(&number) = wire.queue.front() {
            let Some(frame) = self.frames.get(&number) else { return };
            let at = frame.start.max(wire.free_since + u64::from(frame.carrier.gap)).max(self.cycle);
            self.steps.push(Reverse((at, Step::Begin { port })));
        }
    }

    pub fn run(&mut self, until: Tick) {
        self.until = until;
        while let Some(&Reverse((at, step))) = self.steps.peek().filter(|step| step.0 .0 < until) {
            self.steps.pop();
            self.cycle = self.cycle.max(at);
            match step {
                Step::Gates => self.act_late(at),
                Step::Begin { port } => self.begin(at, port),
                Step::Arrive { port, frame } => self.arrive(port, frame),
                Step::Judge { port } => self.judge(at, port),
                Step::Moment { port, first } => self.stamp_moment(port, first),
                Step::Stamp => self.stamp_comes(at),
                Step::Host => self.tell_host(at),
                Step::Select { port } => self.select(at, port),
                Step::Left { port, frame } => self.gone(frame, port),
            }
        }
        self.cycle = self.cycle.max(until);
        while let Some(&Reverse((_, _, number))) = self.told.peek().filter(|told| told.0 .0 < self.cycle) {
            self.told.pop();
            self.events.extend(self.kept.remove(&number));
        }
    }

    /// What happened since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// An event that becomes known in cycle `known`.
    fn tell(&mut self, known: Tick, event: Event) {
        self.told.push(Reverse((known, place(event.kind(), u16::from(event.port)), self.told_so_far)));
        self.kept.insert(self.told_so_far, event);
        self.told_so_far += 1;
    }

    fn event(&self, kind: Kind, cycle: Tick, port: u16, number: u64) -> Event {
        let length = self.frames.get(&number).map_or(0, |frame| frame.length);
        Event::new(kind, cycle, port, number, length)
    }

    fn begin(&mut self, at: Tick, port: u16) {
        let wire = &mut self.wires[usize::from(port)];
        let Some(number) = wire.queue.pop_front() else { return };
        let Some(frame) = self.frames.get_mut(&number) else { return };
        frame.short_gap = at - wire.free_since < u64::from(GAP_BYTES);
        frame.start = at;
        wire.free_since = at + frame.carrier.length();
        self.waiting -= 1;
        self.inside += 1;
        self.quiet_at = self.quiet_at.max(wire.free_since + QUIET_CYCLES);
        let shows_start = frame.carrier.delimiter && !frame.carrier.bytes.is_empty();
        let input = if shows_start { at + frame.carrier.header_bytes() } else { at };
        let reception = frame.carrier.receive();
        let first = at + reception.offset;
        // A carrier without content has its one byte of no meaning before that.
        let known = if reception.bytes == 0 { first - 1 } else { first };
        self.tell(input, self.event(Kind::Input, input, port, number));
        self.steps.push(Reverse((known, Step::Arrive { port, frame: number })));
        self.plan(port);
    }

    fn arrive(&mut self, port: u16, number: u64) {
        let Some(frame) = self.frames.get_mut(&number) else { return };
        let reception = frame.carrier.receive();
        let first = frame.start + reception.offset;
        let longest = self.bridge.max_frame_bytes(first);
        let fault = frame.carrier.fault_within(&reception, longest);
        frame.first = first;
        frame.damaged = !reception.is_whole;
        let header = self.headers.intern(&Header { host: frame.way, ..reception.header });
        frame.header = Some(header);
        let memo = header.wrapping_mul(u32::from(self.sizes.ports)).wrapping_add(u32::from(port)) % MEMOS as u32;
        let arrival = Arrival { frame: number as u32, header, bytes: reception.bytes, first, fault, memo };
        let judge = self.bridge.arrive(port, arrival);
        self.steps.push(Reverse((judge, Step::Judge { port })));
    }

    fn judge(&mut self, at: Tick, port: u16) {
        match self.bridge.next_judged(port, &self.memos) {
            Judged::Staged => self.ways.staged += 1,
            Judged::Kept => self.ways.kept += 1,
            Judged::Read => self.ways.read += 1,
        }
        // As in a run; what changes by then is known.
        let changes = [self.late.front().map(|late| late.0), self.bridge.next_gate_step(), self.stamps.next()];
        let before = changes.into_iter().flatten().fold(self.until, Tick::min);
        let out = self.bridge.judge(at, port, &self.headers, &mut self.memos, before);
        let number = self.number(out.frame);
        let known = out.decided;
        let mut event = self.event(Kind::Verdict, known, port, number);
        event.reason = out.reason.0;
        event.traffic_class = out.traffic_class;
        // As far as so few bits tell it.
        let ahead = (out.visible.wrapping_sub(known) << (64 - TIME_BITS)) as i64 >> (64 - TIME_BITS);
        event.visible = known.wrapping_add_signed(ahead);
        event.destination = out.destination as u8;
        event.refused = out.refused() as u8;
        for egress in 0..self.sizes.ports {
            event.refused_reasons |= u64::from(out.refused_reason(egress).0) << (8 * egress);
        }
        if let Some(stream) = out.stream {
            event.flags |= FLAG_STREAM;
            event.stream = stream as u16;
        }
        if out.shaped {
            event.flags |= FLAG_SHAPED;
        }
        let Some(frame) = self.frames.get_mut(&number) else { return };
        if frame.short_gap && out.reason != Reason::OVERRUN {
            event.flags |= FLAG_SHORT_GAP;
        }
        frame.copies = out.destination;
        frame.is_corrected = out.is_corrected;
        self.quiet_at = self.quiet_at.max(known + QUIET_CYCLES);
        let wrong_length = out.destination != 0 && u32::from(out.bytes) != frame.length;
        self.tell(known, event);
        if wrong_length {
            let mut fault = self.event(Kind::Fault, known, port, number);
            fault.reason = FAULT_LENGTH;
            self.tell(known, fault);
        }
        if let Some(Passed { egress, at, first }) = out.passed {
            self.ways.passed += 1;
            self.sent(at, egress, number, out.bytes, out.traffic_class, first, Edit::NONE);
        }
        if out.destination == 0 {
            self.forget(number);
        }
        let wakes = self.bridge.wakes(&out).map(|(port, due)| Reverse((due, Step::Select { port })));
        self.steps.extend(wakes);
    }

    fn select(&mut self, at: Tick, port: u16) {
        let selection = self.bridge.select(at, port);
        self.selected(port, selection);
    }

    fn selected(&mut self, port: u16, selection: Selection) {
        let next = match selection {
            Selection::Stale => return,
            Selection::Idle { next } | Selection::CutThrough { next, .. } => next,
            Selection::Sent { frame, bytes, traffic_class, edit, at, first, next } => {
                self.sent(at, port, self.number(frame), bytes, traffic_class, first, edit);
                next
            }
            Selection::Expired { frame, traffic_class, reason, at, next } => {
                let number = self.number(frame);
                let mut expired = self.event(Kind::Expired, at, port, number);
                expired.traffic_class = traffic_class;
                expired.reason = reason.0;
                self.tell(at, expired);
                self.quiet_at = self.quiet_at.max(at + QUIET_CYCLES);
                self.steps.push(Reverse((at, Step::Left { port, frame: number })));
                next
            }
        };
        if let Some(next) = next {
            self.steps.push(Reverse((next, Step::Select { port })));
        }
    }

    /// A copy that was selected at `at` leaves.
    #[allow(clippy::too_many_arguments)] // what was selected
    fn sent(&mut self, at: Tick, port: u16, number: u64, bytes: u16, traffic_class: u8, first: Tick, edit: Edit) {
        let mut selected = self.event(Kind::Selected, at + SELECTED_TOLD, port, number);
        selected.traffic_class = traffic_class;
        self.tell(at + SELECTED_TOLD, selected);
        self.stamp(port, number, first);
        let end = first + Tick::from(bytes);
        let mut output = self.event(Kind::Output, first, port, number);
        output.traffic_class = traffic_class;
        output.length = u32::from(bytes);
        if let Some(frame) = self.frames.get(&number) {
            let came = frame.carrier.content();
            let to_host = self.sizes.host && port == self.host_port();
            let corrected = (frame.is_corrected && !to_host).then(|| {
                let mut corrected = came.to_vec();
                add_residence(&mut corrected, self.bridge.residence(frame.first, first));
                corrected
            });
            let edited = edit.apply(corrected.as_deref().unwrap_or(came)).or(corrected).filter(|edited| edited != came);
            match (frame.damaged, &edited) {
                (true, _) => output.flags |= FLAG_DAMAGED,
                (false, Some(_)) => output.flags |= FLAG_EDITED,
                (false, None) => {}
            }
            output.fcs = edited.as_deref().unwrap_or(came).last_chunk().map_or(0, |fcs| u32::from_le_bytes(*fcs));
        }
        self.tell(end, output);
        self.quiet_at = self.quiet_at.max(end + QUIET_CYCLES);
        self.steps.push(Reverse((end, Step::Left { port, frame: number })));
    }

    /// A copy has left a port.
    fn gone(&mut self, number: u64, port: u16) {
        let Some(frame) = self.frames.get_mut(&number) else { return };
        frame.copies &= !(1 << port);
        if frame.copies == 0 {
            self.forget(number);
        }
    }

    /// Nothing of a frame is inside any more.
    fn forget(&mut self, number: u64) {
        self.inside -= 1;
        let header = self.frames.remove(&number).and_then(|frame| frame.header);
        header.into_iter().for_each(|header| self.headers.release(header));
    }
}
