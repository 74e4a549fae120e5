// SPDX-License-Identifier: Apache-2.0
//! The switch as hardware in a network. What it selects is told at once; what then leaves is held against it.
use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;

use penstock_frame::PREAMBLE_BYTES;
use penstock_net::bridge::device::{Event, Frame, Kind};
use penstock_net::bridge::device::{FLAG_DAMAGED, FLAG_PREAMBLE, FLAG_SHAPED, FLAG_SHORT_GAP, FLAG_STREAM, FLAG_TX_ER};
use penstock_net::bridge::{Judgement, PtpConfig, Tick, NOMINAL_INCREMENT, RATE_BEFORE_START};
use penstock_net::{Node, NodeError, Push, Reason, Told};

use crate::library::{HardwareError, Switch};

/// From a decision of an egress port to the cycle in which it is told.
const TOLD: Tick = 2;
/// From a selection to the first byte after the delimiter.
const SELECTED_TO_FIRST: Tick = 12;
const TABLE_DATA: u32 = 0x200;
const PTP_COMMAND: u32 = 0x300;
const SET: u32 = 1;
const INCREMENT: u32 = 4;
const NO_COMMAND: u32 = 0;
/// From when the clock acts on a command to the end of the write.
const CLOCK_ANSWER: Tick = 3;
/// By then what was configured last has been worked through.
const CLOCK_SETTLED: Tick = 100_000;
/// The node judges what it is given, not the distance between two frames: clocks of neighbours may differ.
const SHORTEST_GAP: u32 = 1;

/// A frame that was pushed, until nothing of it is inside.
#[derive(Clone, Copy, Debug)]
struct Inside {
    id: u64,
    slot: u32,
    first: Tick,
    judged: bool,
    /// Queued or on their way out.
    copies: u8,
}

pub struct SwitchNode {
    name: String,
    switch: Switch,
    /// By the number that the switch gave it, less `gone`.
    frames: VecDeque<Inside>,
    gone: u64,
    /// Per egress port, what was selected and has not left whole.
    leaving: Vec<VecDeque<(u64, Tick)>>,
}

impl SwitchNode {
    /// `start` is the cycle at which the run begins; the switch is configured before. The PTP clock shows its start in
    /// cycle `shown`.
    pub fn new(
        name: &str,
        library: &Path,
        writes: &[(u32, u32)],
        start: Tick,
        ptp: Option<(Tick, PtpConfig)>,
    ) -> Result<Self, HardwareError> {
        let mut switch = Switch::load(library)?;
        for &(address, data) in writes {
            switch.write(address, data)?;
        }
        if let Some((shown, ptp)) = ptp {
            set_clock(&mut switch, shown, ptp)?;
        }
        // So that a frame whose first bit comes when the run begins has room for its preamble.
        switch.run(start.saturating_sub(u64::from(PREAMBLE_BYTES)));
        switch.clear_events();
        let leaving = vec![VecDeque::new(); switch.ports() as usize];
        Ok(Self { name: name.to_owned(), switch, frames: VecDeque::new(), gone: 0, leaving })
    }

    /// Writes the signals of these cycles to a file, see [`Switch::wave`].
    pub fn wave(&mut self, path: &Path, zero: Tick, cycles: Range<Tick>) -> Result<(), HardwareError> {
        self.switch.wave(path, zero, cycles)
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

    fn translate(&mut self, event: &Event, told: &mut Vec<Told>) -> Result<(), NodeError> {
        if event.kind() == Kind::Fault {
            return Err(self.fault(event));
        }
        let place = event.frame.wrapping_sub(self.gone) as usize;
        let Some(inside) = self.frames.get(place).copied() else {
            return Err(self.broken(format!("names a frame that is not inside (cycle {})", event.cycle)));
        };
        let port = u16::from(event.port);
        match event.kind() {
            Kind::Input if event.cycle != inside.first => {
                let (wanted, came) = (inside.first, event.cycle);
                return Err(self.broken(format!("port {port} took in at cycle {came} what arrived at {wanted}")));
            }
            Kind::Input | Kind::Fault => {}
            Kind::Verdict => {
                let copies = event.destination.count_ones();
                self.frames[place].judged = true;
                self.frames[place].copies = copies as u8;
                told.push(Told::Verdict(port, judgement(event, inside.slot)));
                self.forget();
            }
            Kind::Selected => {
                let first = event.cycle - TOLD + SELECTED_TO_FIRST;
                self.leaving[usize::from(port)].push_back((event.frame, first));
                told.push(Told::Sent { frame: inside.slot, port, traffic_class: event.traffic_class, first });
            }
            Kind::Expired => {
                let (traffic_class, at) = (event.traffic_class, event.cycle - TOLD);
                let reason = Reason(event.reason);
                told.push(Told::Expired { frame: inside.slot, port, traffic_class, reason, at });
                self.left(place);
            }
            Kind::Output => {
                let wanted = self.leaving[usize::from(port)].pop_front();
                if wanted != Some((event.frame, event.cycle)) {
                    let cycle = event.cycle;
                    return Err(
                        self.broken(format!("port {port} sent at cycle {cycle} what it had not selected for it"))
                    );
                }
                if event.flags & (FLAG_DAMAGED | FLAG_PREAMBLE | FLAG_SHORT_GAP | FLAG_TX_ER) != 0 {
                    told.push(Told::Damaged { id: inside.id, port });
                }
                self.left(place);
            }
        }
        Ok(())
    }

    fn left(&mut self, place: usize) {
        self.frames[place].copies -= 1;
        self.forget();
    }

    fn forget(&mut self) {
        while self.frames.front().is_some_and(|frame| frame.judged && frame.copies == 0) {
            self.frames.pop_front();
            self.gone += 1;
        }
    }
}

/// Sets the PTP clock, so that lists which wait for a time learn of it long before the run, and then its rate.
fn set_clock(switch: &mut Switch, shown: Tick, ptp: PtpConfig) -> Result<(), HardwareError> {
    // One that is no command does nothing, and takes as long as any.
    let before = switch.state().cycle;
    switch.write(PTP_COMMAND, NO_COMMAND)?;
    let way = switch.state().cycle - before - CLOCK_ANSWER;
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

fn judgement(event: &Event, slot: u32) -> Judgement {
    const STORE_FULL: u64 = 12;
    const QUEUE_FULL: u64 = 13;
    const CLASS_FULL: u64 = 14;
    const MAX_SDU: u64 = 16;
    let refused = |reason: u64| {
        let ports = (0..8).filter(|port| event.refused >> port & 1 != 0);
        ports.filter(|port| event.refused_reasons >> (8 * port) & 0xFF == reason).fold(0, |mask, port| mask | 1 << port)
    };
    Judgement {
        frame: slot,
        bytes: event.length as u16,
        memo: None,
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
        wakes: Vec::new(),
        passed: None,
    }
}

impl Node for SwitchNode {
    fn ports(&self) -> u16 {
        self.switch.ports() as u16
    }

    fn push(&mut self, push: Push) -> Result<(), NodeError> {
        let start = push.first.saturating_sub(u64::from(PREAMBLE_BYTES));
        if start < self.switch.state().cycle {
            let (id, now) = (push.id, self.switch.state().cycle);
            return Err(self.broken(format!("frame {id} comes too late: its preamble at cycle {start}, now is {now}")));
        }
        let frame = Frame { gap: SHORTEST_GAP, ..Frame::new(usize::from(push.port), start, push.bytes) };
        let number = self.switch.push(frame).map_err(|error| self.broken(error.to_string()))?;
        debug_assert_eq!(number, self.gone + self.frames.len() as u64);
        self.frames.push_back(Inside { id: push.id, slot: push.frame, first: push.first, judged: false, copies: 0 });
        Ok(())
    }

    fn run_until(&mut self, tick: Tick, told: &mut Vec<Told>) -> Result<(), NodeError> {
        self.switch.run(tick);
        for index in 0..self.switch.events().len() {
            let event = self.switch.events()[index];
            self.translate(&event, told)?;
        }
        self.switch.clear_events();
        Ok(())
    }

    fn busy(&self) -> bool {
        let state = self.switch.state();
        state.waiting > 0 || (state.inside > 0 && state.idle == 0)
    }

    fn unfinished(&self) -> (u64, u64) {
        let state = self.switch.state();
        let told = self.frames.iter().filter(|frame| !frame.judged || frame.copies > 0).count() as u64;
        (told, state.inside + state.waiting)
    }

    fn cycles(&self) -> (u64, u64) {
        let state = self.switch.state();
        (state.simulated, state.jumped)
    }
}
