// SPDX-License-Identifier: Apache-2.0
//! The switch as hardware in a network. What it selects is told at once; what then leaves is held against it.
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::path::Path;

use penstock_frame::{add_residence, Edit, HostWay, PREAMBLE_BYTES};
use penstock_net::bridge::device::{self, Event, Kind};
use penstock_net::bridge::device::{
    FLAG_DAMAGED, FLAG_EDITED, FLAG_PREAMBLE, FLAG_SHAPED, FLAG_SHORT_GAP, FLAG_STREAM, FLAG_TX_ER,
};
use penstock_net::bridge::{
    chain_cycles, Came, Judgement, PtpConfig, Tagger, Tick, NOMINAL_INCREMENT, RATE_BEFORE_START,
};
use penstock_net::{Clock, Coming, Due, Frame, Node, NodeError, Outbox, Reason, RunError, Violation, CYCLE_PS};

use crate::library::HardwareError;
use crate::switch::Switch;

/// From a decision of an egress port to the cycle in which it is told.
const TOLD: Tick = 2;
const TABLE_DATA: u32 = 0x200;
const PTP_COMMAND: u32 = 0x300;
const SET: u32 = 1;
const INCREMENT: u32 = 4;
const NO_COMMAND: u32 = 0;
/// From when the clock acts on a command to the end of the write, without the answer's way on the chain of settings.
const CLOCK_ANSWER: Tick = 3;
/// By then what was configured last has been worked through.
const CLOCK_SETTLED: Tick = 100_000;
/// The node judges what it is given, not the distance between two frames: clocks of neighbours may differ.
const SHORTEST_GAP: u32 = 1;

/// From the cycle in which a selection is told to the first preamble byte, at the least; one less than it is, for what
/// clocks drift in a preamble.
const LEAD_CYCLES: u64 = 1;

/// The host port is not kept busy by stamps, of which a model of it knows nothing.
const NOT_STAMPED: u8 = !2;

/// A frame that came, until nothing of it is inside.
#[derive(Debug)]
struct Inside {
    id: u64,
    /// Until its last copy is selected or dropped.
    frame: Option<Frame>,
    first: Tick,
    /// Copies that have not been selected.
    queued: u32,
    /// These, and those on their way out.
    copies: u32,
    /// If ports edit what they send, or one is the host's.
    came: Option<Came>,
    /// Its sequence number, if it gets one.
    number: Option<u16>,
}

impl Inside {
    /// One copy leaves the queues.
    fn take(&mut self) -> Option<Frame> {
        self.queued = self.queued.checked_sub(1)?;
        if self.queued == 0 {
            self.frame.take()
        } else {
            self.frame.as_ref().map(Frame::copy)
        }
    }
}

pub struct SwitchNode {
    name: String,
    switch: Switch,
    clock: Clock,
    /// From what it does to the first effect on another node, at the least.
    lookahead_ps: u64,
    /// Up to then all is known that it does; when it is idle, when something may begin.
    known_ps: u64,
    /// By the number that the switch gave it.
    frames: HashMap<u64, Inside>,
    /// Per egress port, what was selected and has not left whole.
    leaving: Vec<VecDeque<Left>>,
    tagger: Tagger,
    /// The egress port of its host, if it has one.
    host: Option<u16>,
}

/// A copy that was selected.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    number: u64,
    first: Tick,
    /// FCS of what an edit makes of it.
    edited: Option<u32>,
}

impl SwitchNode {
    /// The switch is configured before the run begins. `shortest_ps` is the delay of its shortest link; the PTP clock, if
    /// something hangs on it, shows its start when the run begins.
    pub fn new(
        name: &str,
        library: &Path,
        writes: &[(u32, u32)],
        tagger: Tagger,
        clock: Clock,
        shortest_ps: u64,
        ptp: Option<PtpConfig>,
    ) -> Result<Self, HardwareError> {
        let start = clock.at_or_after(0);
        let mut switch = Switch::open(library)?;
        for &(address, data) in writes {
            switch.write(address, data)?;
        }
        if let Some(ptp) = ptp {
            set_clock(&mut switch, clock.at_or_before(0), ptp)?;
        }
        // So that a frame whose first bit comes when the run begins has room for its preamble.
        switch.run(start.saturating_sub(u64::from(PREAMBLE_BYTES)));
        switch.clear_events();
        let leaving = (0..switch.ports()).map(|_| VecDeque::new()).collect();
        let lookahead_ps = LEAD_CYCLES * CYCLE_PS + shortest_ps;
        let (name, frames) = (name.to_owned(), HashMap::new());
        Ok(Self { name, switch, clock, lookahead_ps, known_ps: 0, frames, leaving, tagger, host: None })
    }

    /// Its last port is its host's.
    pub fn set_host(&mut self) {
        self.host = Some(self.switch.ports() as u16 - 1);
    }

    /// Writes the signals of these cycles to a file, see [`Switch::wave`].
    pub fn wave(&mut self, path: &Path, zero: Tick, cycles: Range<Tick>) -> Result<(), HardwareError> {
        self.switch.wave(path, zero, cycles)
    }

    /// Whether something can happen without a further frame.
    fn is_busy(&self) -> bool {
        let state = self.switch.state();
        state.waiting > 0 || (state.inside > 0 && state.idle == 0)
    }

    fn broken(&self, what: impl Into<String>) -> NodeError {
        NodeError { node: self.name.clone(), what: what.into() }
    }

    /// What the shim noticed that must never be.
    fn fault(&self, event: &Event) -> NodeError {
        let what = match event.reason {
            1 => "gave a verdict without a frame",
            2 => "selected or gave up a copy that was not queued there",
            3 => "sent a frame that it had not selected",
            4 => "has a clock that does not agree with the cycles",
            5 => "accepted a frame with a wrong length",
            _ => "did something unknown",
        };
        self.broken(format!("port {} {what} (cycle {})", event.port, event.cycle))
    }

    fn translate(&mut self, event: &Event, out: &mut Outbox<'_>) -> Result<(), NodeError> {
        if event.kind() == Kind::Fault {
            return Err(self.fault(event));
        }
        let Some(inside) = self.frames.get_mut(&event.frame) else {
            return Err(self.broken(format!("names a frame that is not inside (cycle {})", event.cycle)));
        };
        let port = u16::from(event.port);
        match event.kind() {
            Kind::Input if event.cycle != inside.first => {
                let (wanted, came) = (inside.first, event.cycle);
                return Err(self.broken(format!("port {port} took in at cycle {came} what arrived at {wanted}")));
            }
            // A host is told by the kernel when its frames leave, see `NOT_STAMPED`.
            Kind::Input | Kind::Fault | Kind::Stamp => {}
            Kind::Verdict => {
                let Some(mut frame) = inside.frame.take() else { return Err(self.broken("judged a frame twice")) };
                if matches!(Reason(event.reason), Reason::NONE | Reason::RESIDENCE) {
                    let came = inside.came.as_ref();
                    inside.number = came.and_then(|came| self.tagger.number(came));
                }
                let copies = out.judged(&mut frame, port, &self.clock, &judgement(event));
                (inside.queued, inside.copies) = (copies, copies);
                if copies == 0 {
                    out.leave(frame);
                    self.frames.remove(&event.frame);
                } else {
                    inside.frame = Some(frame);
                }
            }
            Kind::Selected => {
                let Some(mut frame) = inside.take() else { return Err(self.broken("sent a frame twice")) };
                let came = inside.came.as_ref();
                let edit = came.map_or(Edit::NONE, |came| self.tagger.edit(port, came, inside.number));
                let first = self.tagger.first_byte(event.cycle - TOLD, edit);
                let corrected = came.filter(|came| self.host != Some(port) && self.tagger.is_corrected(came));
                let corrected = corrected.map(|came| {
                    let mut corrected = came.bytes.to_vec();
                    add_residence(&mut corrected, self.tagger.residence(inside.first, first));
                    corrected
                });
                let edited = came.and_then(|came| {
                    let edited = edit.apply(corrected.as_deref().unwrap_or(&came.bytes)).or(corrected);
                    edited.filter(|edited| **edited != *came.bytes)
                });
                let fcs = edited.as_deref().and_then(|bytes| bytes.last_chunk()).map(|fcs| u32::from_le_bytes(*fcs));
                self.leaving[usize::from(port)].push_back(Left { number: event.frame, first, edited: fcs });
                match came.filter(|_| self.host == Some(port)) {
                    Some(came) => {
                        frame.set_received(edited.unwrap_or_else(|| came.bytes.to_vec()).into(), came.reception)
                    }
                    None => edited.into_iter().for_each(|bytes| frame.set_bytes(bytes.into())),
                }
                out.send(frame, port, event.traffic_class, self.clock.time(first));
            }
            Kind::Expired => {
                let (traffic_class, at) = (event.traffic_class, event.cycle - TOLD);
                let Some(frame) = inside.take() else { return Err(self.broken("dropped a frame twice")) };
                out.drop(frame, port, traffic_class, self.clock.time(at), Reason(event.reason));
                self.left(event.frame);
            }
            Kind::Output => {
                let id = inside.id;
                let wanted = self.leaving[usize::from(port)].pop_front();
                let edited = (event.flags & FLAG_EDITED != 0).then_some(event.fcs);
                if wanted != Some(Left { number: event.frame, first: event.cycle, edited }) {
                    let cycle = event.cycle;
                    return Err(
                        self.broken(format!("port {port} sent at cycle {cycle} what it had not selected for it"))
                    );
                }
                if event.flags & (FLAG_DAMAGED | FLAG_PREAMBLE | FLAG_SHORT_GAP | FLAG_TX_ER) != 0 {
                    out.violated(Violation::Damaged { frame: id, node: out.node(), port });
                }
                self.left(event.frame);
            }
        }
        Ok(())
    }

    /// A copy is no longer inside.
    fn left(&mut self, number: u64) {
        let Some(inside) = self.frames.get_mut(&number) else { return };
        inside.copies -= 1;
        if inside.copies == 0 {
            self.frames.remove(&number);
        }
    }
}

/// Sets the PTP clock, so that lists which wait for a time learn of it long before the run, and then its rate.
fn set_clock(switch: &mut Switch, shown: Tick, ptp: PtpConfig) -> Result<(), HardwareError> {
    // One that is no command does nothing, and takes as long as any.
    let before = switch.state().cycle;
    switch.write(PTP_COMMAND, NO_COMMAND)?;
    let way = switch.state().cycle - before - CLOCK_ANSWER - chain_cycles(switch.ports() as u16);
    let acts = switch.state().cycle + CLOCK_SETTLED;
    let ns = ptp.start_ns.saturating_sub(8 * shown.saturating_sub(acts));
    let (s, ns) = (ns / 1_000_000_000, ns % 1_000_000_000);
    clock_command(switch, acts - way, SET, [ns as u32, s as u32, (s >> 32) as u32])?;
    if ptp.increment != NOMINAL_INCREMENT {
        let acts = shown.saturating_sub(RATE_BEFORE_START);
        clock_command(switch, acts - way, INCREMENT, [ptp.increment as u32, (ptp.increment >> 32) as u32, 0])?;
    }
    Ok(())
}

fn clock_command(switch: &mut Switch, from: Tick, command: u32, data: [u32; 3]) -> Result<(), HardwareError> {
    for (address, word) in (TABLE_DATA..).step_by(4).zip(data) {
        switch.write(address, word)?;
    }
    switch.run(from);
    switch.write(PTP_COMMAND, command)
}

fn judgement(event: &Event) -> Judgement {
    const STORE_FULL: u64 = 12;
    const QUEUE_FULL: u64 = 13;
    const CLASS_FULL: u64 = 14;
    const MAX_SDU: u64 = 16;
    let refused = |reason: u64| {
        let ports = (0..8).filter(|port| event.refused >> port & 1 != 0);
        ports.filter(|port| event.refused_reasons >> (8 * port) & 0xFF == reason).fold(0, |mask, port| mask | 1 << port)
    };
    Judgement {
        bytes: event.length as u16,
        reason: Reason(event.reason),
        destination: u64::from(event.destination),
        queue_full: refused(QUEUE_FULL),
        class_full: refused(CLASS_FULL),
        max_sdu: refused(MAX_SDU),
        store_full: refused(STORE_FULL),
        traffic_class: event.traffic_class,
        visible: event.visible,
        stream: (event.flags & FLAG_STREAM != 0).then_some(u32::from(event.stream)),
        shaped: event.flags & FLAG_SHAPED != 0,
        decided: event.cycle,
        ..Judgement::default()
    }
}

impl Node for SwitchNode {
    fn ports(&self) -> u16 {
        self.switch.ports() as u16
    }

    fn receive(&mut self, at: u64, port: u16, mut coming: Coming<'_>) -> Result<u64, RunError> {
        let first = self.clock.at_or_after(at);
        let start = first.saturating_sub(u64::from(PREAMBLE_BYTES));
        if start < self.switch.state().cycle {
            let now = self.switch.state().cycle;
            let id = coming.take().id();
            let what = format!("frame {id} comes too late: its preamble at cycle {start}, now is {now}");
            return Err(self.broken(what).into());
        }
        if !self.is_busy() {
            self.known_ps = self.known_ps.max(self.clock.time(start));
        }
        let host_header = coming.host_header();
        let host = host_header.map(|[kind, rest @ ..]| [kind & NOT_STAMPED, rest[0], rest[1], rest[2]]);
        let pushed =
            device::Frame { gap: SHORTEST_GAP, host, ..device::Frame::new(usize::from(port), start, coming.bytes()?) };
        let number = self.switch.push(pushed).map_err(|error| self.broken(error.to_string()))?;
        let came = if self.tagger.is_any() || self.host.is_some() {
            let way = self.host.filter(|host| *host == port).map(|host| match host_header {
                Some(header) => HostWay::parse(header, host + 1),
                None => HostWay::ReceivedAt(host),
            });
            Some(Came { reception: port, way, bytes: coming.bytes()?.into() })
        } else {
            None
        };
        let frame = coming.take();
        let frame_id = frame.id();
        let inside = Inside { id: frame_id, frame: Some(frame), first, queued: 1, copies: 1, came, number: None };
        self.frames.insert(number, inside);
        Ok(self.clock.time(first))
    }

    /// What it selects until then reaches no other node before.
    fn next(&self) -> Option<u64> {
        self.is_busy().then(|| self.known_ps.saturating_add(self.lookahead_ps))
    }

    fn advance(&mut self, now: u64, _due: Due, out: &mut Outbox<'_>) -> Result<(), RunError> {
        self.known_ps = self.known_ps.max(now);
        self.switch.run(self.clock.at_or_after(now));
        for index in 0..self.switch.events().len() {
            let event = self.switch.events()[index];
            self.translate(&event, out)?;
        }
        self.switch.clear_events();
        Ok(())
    }

    /// The preamble, too.
    fn reads_early(&self) -> bool {
        true
    }

    fn inside(&self, show: &mut dyn FnMut(&Frame, u32)) {
        let held = self.frames.values().filter_map(|inside| inside.frame.as_ref().map(|frame| (frame, inside.queued)));
        held.for_each(|(frame, copies)| show(frame, copies));
    }

    fn audit(&self, node: u32, _is_idle: bool) -> Option<Violation> {
        let state = self.switch.state();
        let (given, holds) = (self.frames.len() as u64, state.inside + state.waiting);
        if given != holds {
            return Some(Violation::Count { node, holds, given });
        }
        (!self.is_busy() && holds > 0).then_some(Violation::Stuck { node, copies: holds })
    }

    fn cycles(&self) -> (u64, u64) {
        let state = self.switch.state();
        (state.simulated, state.jumped)
    }
}
