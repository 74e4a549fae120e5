// SPDX-License-Identifier: Apache-2.0
use std::path::Path;

use penstock_frame::{BitsPerSecond, Picoseconds, PREAMBLE_BYTES};
use penstock_net::{Arrival, Node, NodeError, NodeEvent, Reason, What};

use crate::library::{Event, Frame, HardwareError, Kind, Switch};
use crate::library::{FLAG_DAMAGED, FLAG_PREAMBLE, FLAG_SHAPED, FLAG_SHORT_GAP, FLAG_TX_ER};

const CYCLE_PS: u64 = 8_000;
/// From the last register write to the run.
const SETTLE_CYCLES: u64 = 1_000;

/// The switch as hardware. Time zero of the run is some cycle after the switch was configured.
pub struct SwitchNode {
    name: String,
    switch: Switch,
    origin: u64,
    /// The run's number of each frame, by the number that the switch gave it.
    frames: Vec<u64>,
}

impl SwitchNode {
    pub fn new(name: &str, library: &Path, writes: &[(u32, u32)]) -> Result<Self, HardwareError> {
        let mut switch = Switch::load(library)?;
        for &(address, data) in writes {
            switch.write(address, data)?;
        }
        switch.run(switch.state().cycle + SETTLE_CYCLES);
        // So that a frame whose first bit comes at time zero has room for its preamble.
        let origin = switch.state().cycle + u64::from(PREAMBLE_BYTES);
        switch.clear_events();
        Ok(Self { name: name.to_owned(), switch, origin, frames: Vec::new() })
    }

    fn broken(&self, what: impl Into<String>) -> NodeError {
        NodeError::Broken { node: self.name.clone(), what: what.into() }
    }

    fn time(&self, cycle: u64) -> Picoseconds {
        Picoseconds(cycle.saturating_sub(self.origin) * CYCLE_PS)
    }

    fn translate(&self, event: &Event, out: &mut Vec<NodeEvent>) -> Result<(), NodeError> {
        if event.kind() == Kind::Fault {
            let what = match event.reason {
                1 => "gave a verdict without a frame",
                2 => "selected or gave up a copy that was not queued there",
                3 => "sent a frame that it had not selected",
                4 => "has a clock that does not agree with the cycles",
                5 => "accepted a frame with a wrong length",
                _ => "did something unknown",
            };
            return Err(self.broken(format!("port {} {what} (cycle {})", event.port, event.cycle)));
        }
        let frame = *self.frames.get(event.frame as usize).ok_or_else(|| self.broken("names a frame that is not"))?;
        let at = |cycle, port: u8, what| NodeEvent {
            time: self.time(cycle),
            frame,
            port: u16::from(port),
            what,
            traffic_class: None,
        };
        match event.kind() {
            Kind::Input => out.push(at(event.cycle, event.port, What::Received)),
            Kind::Verdict => {
                let mut judged = |cycle, port, what| {
                    let traffic_class = (event.reason == 0).then_some(event.traffic_class);
                    out.push(NodeEvent { traffic_class, ..at(cycle, port, what) });
                };
                if event.reason != 0 {
                    judged(event.cycle, event.port, What::Dropped(Reason(event.reason)));
                }
                for port in 0..8 {
                    if event.destination >> port & 1 != 0 {
                        judged(event.cycle, port, What::Queued);
                        if event.flags & FLAG_SHAPED != 0 {
                            judged(event.visible, port, What::Eligible);
                        }
                    }
                    if event.refused >> port & 1 != 0 {
                        let reason = (event.refused_reasons >> (4 * port) & 0xF) as u8;
                        judged(event.cycle, port, What::Refused(Reason(reason)));
                    }
                }
                judged(event.cycle, event.port, What::Judged);
            }
            Kind::Selected | Kind::Fault => {}
            Kind::Expired => out.push(at(event.cycle, event.port, What::Expired(Reason::LIFETIME))),
            Kind::Output => {
                if event.flags & (FLAG_DAMAGED | FLAG_PREAMBLE | FLAG_SHORT_GAP | FLAG_TX_ER) != 0 {
                    out.push(at(event.cycle, event.port, What::Damaged));
                }
                out.push(at(event.cycle, event.port, What::Sent));
            }
        }
        Ok(())
    }
}

impl Node for SwitchNode {
    fn ports(&self) -> u16 {
        self.switch.ports() as u16
    }

    fn rate(&self) -> BitsPerSecond {
        BitsPerSecond(1_000_000_000)
    }

    fn grid(&self) -> Picoseconds {
        Picoseconds(CYCLE_PS)
    }

    fn earliest(&self) -> Picoseconds {
        Picoseconds(0)
    }

    fn push(&mut self, arrival: Arrival) -> Result<(), NodeError> {
        let first = self.origin + arrival.time.0 / CYCLE_PS;
        let start = first - u64::from(PREAMBLE_BYTES);
        if start < self.switch.state().cycle {
            return Err(self.broken(format!("frame {} comes too late, at {}", arrival.frame, arrival.time)));
        }
        let frame = Frame::new(usize::from(arrival.port), start, arrival.bytes);
        self.switch.push(frame).map_err(|error| self.broken(error.to_string()))?;
        self.frames.push(arrival.frame);
        Ok(())
    }

    fn run_until(&mut self, time: Picoseconds, events: &mut Vec<NodeEvent>) -> Result<(), NodeError> {
        self.switch.run(self.origin + time.0 / CYCLE_PS);
        for event in self.switch.events() {
            self.translate(event, events)?;
        }
        self.switch.clear_events();
        Ok(())
    }

    fn unfinished(&self) -> u64 {
        let state = self.switch.state();
        state.inside + state.waiting
    }

    fn idle(&self) -> bool {
        let state = self.switch.state();
        state.idle != 0 && state.waiting == 0
    }

    fn cycles(&self) -> (u64, u64) {
        let state = self.switch.state();
        (state.simulated, state.jumped)
    }
}
