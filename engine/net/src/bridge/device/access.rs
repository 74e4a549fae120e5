// SPDX-License-Identifier: Apache-2.0
//! Accesses to the registers of a device: what each does, from which cycle on, and when it is answered.
use std::cmp::Reverse;

use penstock_shaper::gate_config::GATES_CYCLES;
use penstock_shaper::ptp_clock::{Command, COMMAND_CYCLES};

use super::registers::{Access, Commit};
use super::{Device, DeviceError, Step};
use crate::bridge::timing::chain_cycles;
use crate::bridge::{Bridge, Change, GateRegisters, Tick};

/// Around the chain of settings: from the start of an access to its new value, and to the cycle after its answer.
const WRITE_CYCLES: Tick = 4;
const SETTING_CYCLES: Tick = 5;
/// From the start to the cycle after the answer of what goes no way before that.
const ACCESS_CYCLES: Tick = 4;
/// As long for a register that is read; and, around the way along the chain and back, for those at its units.
const READ_CYCLES: Tick = 5;
const READ_UNIT_CYCLES: Tick = 7;
const READ_CLOCK_CYCLES: Tick = 9;
/// From the commit of a table's entry to when it is seen; and, around the chain, to the cycle after the answer, which of a
/// gate list comes sooner.
const COMMIT_SEEN: Tick = 1;
const ADDRESS_SEEN: Tick = 2;
const CREDIT_SEEN: Tick = 2;
const COMMIT_CYCLES: Tick = 3;
const GATE_COMMIT_CYCLES: Tick = 2;
/// What the check of a credit-based shaper's entry takes.
const CREDIT_CYCLES: Tick = 2;
/// From a register of the gates to selections that know it.
const GATES_SEEN: Tick = 2;
/// From a register of classes that take turns to selections that know it.
const MEMBERS_SEEN: Tick = 1;
/// Around the chain: from the start of an access to when the PTP clock takes its command, and from when it acts to the
/// cycle after the answer.
const CLOCK_TAKEN_CYCLES: Tick = 5;
const CLOCK_ANSWER_CYCLES: Tick = 3;
const NO_COMMAND: u8 = 5;

impl Device {
    /// Writes a register, as over the bus; traffic goes on meanwhile.
    pub fn write(&mut self, address: u32, value: u32) -> Result<(), DeviceError> {
        let start = self.cycle;
        let acts = start + self.chain() + WRITE_CYCLES;
        match self.registers.write(address, value) {
            Access::Change(change) => {
                let at = acts;
                match change {
                    Change::GateEnable(_) | Change::GateStates { .. } => self.change_late(at + GATES_SEEN, change),
                    Change::RoundRobin { .. } => self.change_late(at + MEMBERS_SEEN, change),
                    // Its gap is counted in the cycle after the selection.
                    Change::CountGap(_) => self.change(at - 1, &change),
                    _ => self.change(at, &change),
                }
                self.run(start + self.chain() + SETTING_CYCLES);
            }
            Access::Commit(commit) => self.commit(acts, commit),
            Access::GateCommit { port, registers } => self.commit_gates(acts, port, &registers),
            Access::Clock(command) => self.command(start, command),
            Access::Plain => self.run(start + ACCESS_CYCLES),
            Access::Missing => {
                self.run(start + ACCESS_CYCLES);
                return Err(DeviceError::Register { address });
            }
        }
        Ok(())
    }

    /// What a word takes on its way to the units, and an answer on its way back.
    fn chain(&self) -> Tick {
        chain_cycles(self.sizes.ports)
    }

    /// A change that no selection before a cycle sees.
    fn change_late(&mut self, at: Tick, change: Change) {
        self.late.push_back((at, change));
        self.steps.push(Reverse((at, Step::Gates)));
    }

    fn change(&mut self, at: Tick, change: &Change) {
        self.run(at);
        self.bridge.change(at, change, &self.headers);
        self.wake();
    }

    /// Ports select at other ticks since something has changed.
    pub(super) fn wake(&mut self) {
        for (port, selection) in self.bridge.take_decided() {
            self.selected(port, selection);
        }
        for (port, due) in self.bridge.take_wakes() {
            self.steps.push(Reverse((due, Step::Select { port })));
        }
    }

    /// What was begun before and acts now.
    pub(super) fn act_late(&mut self, at: Tick) {
        while self.late.front().is_some_and(|(tick, _)| *tick <= at) {
            let Some((_, change)) = self.late.pop_front() else { break };
            self.bridge.change(at, &change, &self.headers);
        }
        self.bridge.gate_step(at, &self.headers);
        self.gate_steps();
        self.wake();
    }

    fn gate_steps(&mut self) {
        if let Some(at) = self.bridge.next_gate_step() {
            self.steps.push(Reverse((at, Step::Gates)));
        }
    }

    /// Runs up to the first cycle in which the gates' unit takes something.
    fn run_until_taken(&mut self, from: Tick, taken: impl Fn(&Bridge, Tick) -> Tick) -> Tick {
        let mut at = from;
        loop {
            self.run(at);
            let next = taken(&self.bridge, at);
            if next == at {
                return at;
            }
            at = next;
        }
    }

    /// Commits the staged gate list, once the one before has been worked on.
    fn commit_gates(&mut self, from: Tick, port: u16, registers: &GateRegisters) {
        let at = self.run_until_taken(from, Bridge::takes_gate_commit);
        self.bridge.commit_gates(at, port, registers);
        self.gate_steps();
        self.run(at + self.chain() + GATE_COMMIT_CYCLES);
    }

    /// A command to the PTP clock, which is answered when it acts.
    fn command(&mut self, start: Tick, command: Option<Command>) {
        let acts = start + self.chain() + CLOCK_TAKEN_CYCLES + COMMAND_CYCLES;
        let at = acts + GATES_CYCLES;
        self.run(at);
        let error = command.map_or(NO_COMMAND, |command| self.bridge.clock_command(acts, command, &self.headers));
        self.registers.set_clock_error(error);
        self.wake();
        self.gate_steps();
        self.run(acts + self.chain() + CLOCK_ANSWER_CYCLES);
    }

    fn commit(&mut self, from: Tick, commit: Commit) {
        let mut at = from;
        if let Commit::GateEntry { index, entry } = commit {
            at = self.run_until_taken(at, Bridge::takes_gate_entry);
            self.bridge.write_gate_entry(index, entry);
        } else if let Commit::Change(change) = commit {
            self.run(at);
            loop {
                // Nothing of cycle `at` itself matters here but what has been begun before.
                let taken = match change {
                    Change::Rate { stream, .. } => self.bridge.takes_rate(at, stream, &self.headers),
                    Change::Fdb { set, .. } => self.bridge.takes_address(at, set, &self.headers),
                    _ => true,
                };
                if taken {
                    break;
                }
                at += 1;
                self.run(at);
            }
            if let Change::Credit { .. } = change {
                at += CREDIT_CYCLES;
            }
            let seen = match change {
                Change::Fdb { .. } => ADDRESS_SEEN,
                Change::Credit { .. } => CREDIT_SEEN,
                _ => COMMIT_SEEN,
            };
            self.change(at + seen, &change);
        }
        self.run(at + self.chain() + COMMIT_CYCLES);
    }

    /// Reads a register, as over the bus.
    pub fn read(&mut self, address: u32) -> Result<u32, DeviceError> {
        let start = self.cycle;
        let cycles = match address & 0xFFFC {
            0x130..=0x13C => READ_UNIT_CYCLES + 2 * self.chain(),
            0x304 => READ_CLOCK_CYCLES + 2 * self.chain(),
            _ => READ_CYCLES,
        };
        let value = self.registers.read(address, start);
        self.run(start + cycles);
        value.ok_or(DeviceError::Register { address })
    }
}
