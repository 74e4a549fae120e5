// SPDX-License-Identifier: Apache-2.0
//! How gates get their lists in flight. Twin of `pen_gate_config`.
//!
//! The unit takes one list at a time. It checks it, takes back a change that is still pending, and tells the port of the
//! new one two microseconds before PREPARE_NS are over; docs/hardware.md has the order.
#[cfg(test)]
mod tests;
mod when;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::egress::{GateTime, Tick};
use crate::gates::{AdminList, Capacity, Entry, Gates, List, ListError};
use crate::ptp_clock::{nanoseconds, Command};
use crate::Time;
use when::When;

pub const GATE_ENTRIES: usize = 128;
/// From a cycle of `pen_gates` to that of the selections which its states are for.
pub const GATES_CYCLES: Tick = 3;
const PREPARE_NS: Time = 65_536;
/// A list does not begin earlier after it is pending.
const LEAD_NS: Time = 32_768;
/// For the changes of all ports, after a step.
const AGAIN_NS: Time = 8 * PREPARE_NS;
/// The port is told so long before.
const TOLD_NS: Time = 2_047;
/// From the cycle in which the port is to be told to the first selection that knows it, and to the next commit.
const TOLD_CYCLES: Tick = 13;
const FREE_CYCLES: Tick = 11;
/// And to the next entry.
const WRITABLE_CYCLES: Tick = 2;
/// From the cycle in which the port's change counts as told to the first selection that knows it.
const KNOWN_CYCLES: Tick = TOLD_CYCLES - WRITABLE_CYCLES;
/// From the cycle in which a list begins to the one in which the unit no longer counts it as pending.
const ACTED_CYCLES: Tick = 2;
/// From the time by which a port is locked to the cycle in which it says so.
const LOCKED_CYCLES: Tick = 2;
/// From a commit to its check, to the end of the sum of the base time, to the first entry's check, and to the next one's.
const CHECK_CYCLES: Tick = 2;
const SUM_CYCLES: Tick = 52;
const FIRST_ENTRY_CYCLES: Tick = 55;
const ENTRY_CYCLES: Tick = 3;
/// After a step of the clock: until a running list has its new start, by its base time or by a division, and what a
/// remainder adds.
const START_BASE_CYCLES: Tick = 33;
const START_DIVIDED_CYCLES: Tick = 97;
const REMAINDER_CYCLES: Tick = 16;
/// For each time of a port that is looked at then, and for each that is found.
const LOOK_CYCLES: Tick = 2;
const FOUND_CYCLES: Tick = 8;
const TIMES: Tick = 4;

/// What the registers say of a list that is committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateRegisters {
    pub base_s: u64,
    pub base_ns: u32,
    pub cycle_time_ns: u32,
    pub extension_ns: u32,
    pub length: u16,
}

#[derive(Clone, Debug)]
enum Step {
    /// The list that was committed at this gate time has been found good.
    Good {
        list: Arc<List>,
        now: Time,
    },
    /// The change that this list had to wait for has acted.
    Acted {
        list: Arc<List>,
    },
    Withdraw,
    /// `before`: the change time that a step of the clock has moved.
    Propose {
        list: Arc<List>,
        change_time: Time,
        since: Time,
        before: Option<Time>,
    },
    /// The commit that a step of the clock has interrupted begins again.
    Again(GateRegisters),
}

impl Step {
    /// The list and its ConfigChangeTime, which moves when the port is told.
    fn proposed(&self, is_told: bool) -> Option<(Arc<List>, Time)> {
        match self {
            Self::Propose { list, change_time, before, .. } => {
                Some((Arc::clone(list), before.filter(|_| !is_told).unwrap_or(*change_time)))
            }
            _ => None,
        }
    }
}

/// A commit that is worked on from this cycle on.
#[derive(Clone, Debug)]
struct Work {
    since: Tick,
    port: u16,
    registers: GateRegisters,
    /// It has counted an error.
    counted: bool,
    /// The list that it has taken back in this tick, which still is pending in the eyes of the unit for some cycles.
    withdrawn: Option<(Tick, Arc<List>, Time)>,
}

/// The staged list, and what is under way.
#[derive(Clone, Debug)]
pub struct GateConfig {
    entries: Vec<Entry>,
    /// The first cycles in which an entry and a commit can be taken.
    writable: When,
    free: When,
    /// Before that, after a step of the clock: the first and last cycle in which an entry can be written.
    between: (Tick, Tick),
    /// In the order of time.
    steps: VecDeque<(When, u16, Step)>,
    /// What a step of the clock interrupts, up to the cycle in which an entry can be written again.
    work: Option<Work>,
    /// Per port: ConfigChangeError and the last error's code.
    errors: Vec<(u16, u8)>,
}

impl GateConfig {
    pub fn new(ports: u16) -> Self {
        Self {
            entries: vec![Entry { operation: 0, states: 0, interval: 0 }; GATE_ENTRIES],
            writable: When::tick(0),
            free: When::tick(0),
            between: (0, 0),
            steps: VecDeque::new(),
            work: None,
            errors: vec![(0, 0); usize::from(ports)],
        }
    }

    fn busy_until(&mut self, writable: When, free: When) {
        (self.writable, self.free) = (writable, free);
    }

    /// A step before which nothing else can be taken.
    fn wait_for(&mut self, when: When, port: u16, step: Step) {
        self.steps.push_back((when, port, step));
        self.busy_until(when.later(1), when.later(1));
    }

    /// The port is told of a list shortly before it is pending.
    fn tell(&mut self, port: u16, since: Time, list: Arc<List>, change_time: Time) {
        self.push_tell(port, Step::Propose { list, change_time, since, before: None }, FREE_CYCLES);
    }

    /// A commit can be taken so many cycles after the port is to be told.
    fn push_tell(&mut self, port: u16, step: Step, free: Tick) {
        let Step::Propose { since, .. } = step else { return };
        let told = since - TOLD_NS;
        self.steps.push_back((When::seen(told, TOLD_CYCLES), port, step));
        self.busy_until(When::seen(told, WRITABLE_CYCLES), When::seen(told, free));
    }

    /// A command to the clock acts in this cycle.
    fn keep(&mut self, time: &GateTime, cycle: Tick) {
        let steps = self.steps.iter_mut().map(|step| &mut step.0);
        steps.chain([&mut self.writable, &mut self.free]).for_each(|when| when.keep(time, cycle));
    }

    /// Of a port: lists that were refused or began late, and the code of the last.
    pub fn errors(&self, port: u16) -> (u16, u8) {
        self.errors[usize::from(port)]
    }

    fn count(&mut self, port: u16, code: u8) {
        let (count, last) = &mut self.errors[usize::from(port)];
        (*count, *last) = (count.saturating_add(1), code);
        if let Some(work) = &mut self.work {
            work.counted = true;
        }
    }

    /// As soon as a commit is taken, which after a step of the clock is when all ports know what they are told.
    fn begin_again(&mut self, work: &Work) {
        self.wait_for(self.free, work.port, Step::Again(work.registers));
    }

    /// A step of the clock in this cycle interrupts the commit that is worked on, or waits to begin again: nothing has come
    /// of it yet.
    fn interrupt(&mut self, time: &GateTime, cycle: Tick) {
        let steps = self.steps.len();
        self.steps.retain(|(_, _, step)| !matches!(step, Step::Again(_)));
        if self.steps.len() < steps {
            return;
        }
        self.work = self.work.take().filter(|_| cycle < self.writable.at(time));
        let Some(work) = &mut self.work else { return };
        // What was told just before it stays.
        let since = work.since;
        self.steps.retain(|(when, _, step)| {
            matches!(step, Step::Propose { .. }) && when.at(time) <= since.saturating_add(TOLD_CYCLES - FREE_CYCLES)
        });
        if std::mem::take(&mut work.counted) {
            self.errors[usize::from(work.port)].0 -= 1;
        }
    }
}

/// The code that the hardware has for it, and how many cycles after the commit it is found.
fn code_of(error: &ListError) -> (u8, Tick) {
    let entry = |entry: usize| FIRST_ENTRY_CYCLES + ENTRY_CYCLES * entry as Tick;
    match *error {
        ListError::Empty { .. } => (1, CHECK_CYCLES),
        ListError::TooMany { .. } => (2, CHECK_CYCLES),
        ListError::Interval { entry: at, .. } => (3, entry(at)),
        ListError::Operation { entry: at, .. } => (4, entry(at)),
        ListError::Cycle { .. } => (5, CHECK_CYCLES),
        ListError::BaseTime { .. } => (6, SUM_CYCLES),
    }
}
const PAST_CODE: u8 = 7;

/// Egress ports, as far as their gates are set.
pub trait GatedPorts {
    fn count(&self) -> u16;

    /// Whether a port has gates, credit or longest frames.
    fn is_shaped(&self, port: u16) -> bool;

    fn gate_time(&mut self) -> &mut GateTime;

    fn gates(&self, port: u16) -> Option<&Gates>;

    /// The gates of a port that change at a tick, up to which all else of it is settled.
    fn change(&mut self, at: Tick, port: u16) -> &mut Gates;

    /// Gates or their time have changed, so that the port may select at another tick.
    fn changed(&mut self, at: Tick, port: u16);
}

impl GateConfig {
    /// When an entry of the staged list can be written, from a cycle on; or when that is to be asked again.
    pub fn takes_entry(&self, from: Tick, time: &GateTime) -> Tick {
        let (first, last) = self.between;
        if from <= last {
            return from.max(first);
        }
        from.max(self.writable.at(time))
    }

    pub fn write_entry(&mut self, index: u16, entry: Entry) {
        if let Some(place) = self.entries.get_mut(usize::from(index)) {
            *place = entry;
        }
    }

    /// When a list can be committed, from a cycle on; or when that is to be asked again.
    pub fn takes_commit(&self, from: Tick, time: &GateTime) -> Tick {
        from.max(self.free.at(time))
    }

    /// Commits the staged list in a cycle in which it can be; what follows is done by [`Self::step`].
    pub fn commit(&mut self, at: Tick, port: u16, registers: &GateRegisters, time: &GateTime) {
        if usize::from(port) >= self.errors.len() {
            return;
        }
        self.work = Some(Work { since: at, port, registers: *registers, counted: false, withdrawn: None });
        let length = usize::from(registers.length);
        let admin = AdminList {
            entries: self.entries.iter().cycle().take(length).copied().collect(),
            base_time: nanoseconds(registers.base_s, registers.base_ns.into()).unwrap_or(Time::MAX),
            cycle_time: Time::from(registers.cycle_time_ns),
            cycle_time_extension: Time::from(registers.extension_ns),
        };
        let capacity = Capacity { entries: GATE_ENTRIES, ..Capacity::HARDWARE };
        let list = match List::compile(&admin, &capacity) {
            Ok(list) => Arc::new(list),
            Err(error) => {
                let (code, found) = code_of(&error);
                // Seconds and nanoseconds are looked at before they are added.
                let found =
                    if code == 6 && u64::from(registers.base_ns) >= 1_000_000_000 { CHECK_CYCLES } else { found };
                self.count(port, code);
                self.busy_until(When::tick(at + found + 1), When::tick(at + found + 1));
                return;
            }
        };
        // The unit's gate time of a cycle is that of the selections some cycles later.
        let now = time.at(at + GATES_CYCLES);
        let cancel = at + FIRST_ENTRY_CYCLES + ENTRY_CYCLES * (length as Tick - 1) + 1;
        // What acts later than this is still pending in the eyes of the unit when it cancels.
        let good = When::tick(cancel - ACTED_CYCLES - 1 + GATES_CYCLES);
        self.wait_for(good, port, Step::Good { list, now });
    }

    /// A good list takes the place of what is pending, or waits until that has acted if it is too late.
    fn replace_list(&mut self, at: Tick, port: u16, list: Arc<List>, now: Time, ports: &mut impl GatedPorts) {
        let time = *ports.gate_time();
        let pending = ports.gates(port).and_then(|gates| Some((gates, gates.pending(time.at(at))?.1)));
        let Some((gates, change_time)) = pending else { return self.prepare_list(at, port, list, now, ports) };
        let cancel = at + ACTED_CYCLES + 1;
        let acts = time.tick_of(change_time);
        if acts <= cancel || gates.is_locked(time.at(cancel - LOCKED_CYCLES), LEAD_NS) {
            let seen = When::seen(change_time, ACTED_CYCLES + GATES_CYCLES);
            let when = if acts + ACTED_CYCLES > cancel { seen } else { When::tick(cancel + 1) };
            self.wait_for(when, port, Step::Acted { list });
        } else {
            self.steps.push_back((When::tick(cancel), port, Step::Withdraw));
            self.prepare_list(at, port, list, now, ports);
        }
    }

    /// A list that nothing is in the way of begins, counted from this gate time.
    fn prepare_list(&mut self, at: Tick, port: u16, list: Arc<List>, now: Time, ports: &mut impl GatedPorts) {
        let gate_time = ports.gate_time().at(at);
        let is_running = ports.gates(port).is_some_and(|gates| gates.list(gate_time).is_some());
        let earliest = now + PREPARE_NS + LEAD_NS;
        // One that is ahead, but by less than this, is late and yet not past.
        if is_running && list.base_time() < now {
            self.count(port, PAST_CODE);
        }
        let change_time = list.start_from(earliest);
        self.tell(port, now + PREPARE_NS, list, change_time);
    }

    /// When [`Self::step`] is to be called next.
    pub fn next_step(&self, time: &GateTime) -> Option<Tick> {
        self.steps.front().map(|step| step.0.at(time))
    }

    /// What the unit does at a tick: lists that begin to be pending, and those that no longer are.
    pub fn step(&mut self, at: Tick, ports: &mut impl GatedPorts) {
        while let Some((when, port, step)) = self.steps.pop_front() {
            let time = *ports.gate_time();
            if when.at(&time) > at {
                self.steps.push_front((when, port, step));
                return;
            }
            let seen = time.at(at);
            match step {
                Step::Good { list, now } => self.replace_list(at, port, list, now, ports),
                Step::Acted { list } => self.prepare_list(at, port, list, seen, ports),
                Step::Withdraw => {
                    let gates = ports.change(at, port);
                    let pending = gates.pending(seen).map(|(list, change_time)| (at, Arc::clone(list), change_time));
                    gates.withdraw(seen);
                    self.work.iter_mut().for_each(|work| work.withdrawn = pending.clone());
                    ports.changed(at, port);
                }
                Step::Propose { list, change_time, since, .. } => {
                    ports.change(at, port).propose(since, list, change_time);
                    ports.changed(at, port);
                }
                Step::Again(registers) => self.commit(at, port, &registers, &time),
            }
        }
    }

    /// A command of the PTP clock that acts in a cycle of it: its error code, zero for none. A step or a new time holds
    /// the gates up to the next cycle of their lists.
    pub fn clock_command(&mut self, cycle: Tick, command: Command, ports: &mut impl GatedPorts) -> u8 {
        let at = cycle + GATES_CYCLES;
        let shaped: Vec<u16> = (0..ports.count()).filter(|&port| ports.is_shaped(port)).collect();
        for &port in &shaped {
            ports.change(at, port);
        }
        let time = ports.gate_time();
        let (before, last) = (*time, time.at(at - 1));
        if let Err(error) = time.command(cycle, command) {
            return error.code();
        }
        let now = time.at(at);
        self.keep(&before, cycle);
        if matches!(command, Command::Set { .. } | Command::Step { .. }) {
            self.interrupt(&before, cycle);
            let (started, looked) = after_step(cycle, now + LEAD_NS, before.at(at - ACTED_CYCLES), ports);
            self.busy_until(When::tick(started), When::tick(looked));
            self.between = if self.work.is_some() { (0, 0) } else { (started, looked) };
            // What the ports have not been told of yet, or have and do not know yet.
            let told = std::mem::take(&mut self.steps);
            let proposed = |port| {
                let of_port = told.iter().filter(|step| step.1 == port);
                of_port.filter_map(|step| step.2.proposed(step.0.at(&before) <= cycle + KNOWN_CYCLES)).next()
            };
            let mut again = Vec::new();
            for &port in shaped.iter().rev() {
                let pending = ports.change(at, port).stepped(last, now + LEAD_NS);
                let withdrawn = || {
                    let work = self.work.as_ref().filter(|work| work.port == port)?;
                    let (_, list, change_time) = work.withdrawn.as_ref().filter(|withdrawn| cycle < withdrawn.0)?;
                    Some((Arc::clone(list), *change_time))
                };
                let pending = pending.or_else(withdrawn).or_else(|| proposed(port));
                let Some((list, before)) = pending else { continue };
                let since = now + AGAIN_NS;
                let earliest = since + LEAD_NS;
                let change_time = if before >= earliest { before } else { list.start_from(earliest) };
                again.push((port, Step::Propose { list, change_time, since, before: Some(before) }));
            }
            if !again.is_empty() {
                self.between.1 = self.between.1.min(looked - 1);
            }
            // Then all times are looked at, and each port waits for one.
            let free = LOOK_CYCLES * looks(ports) + FOUND_CYCLES * again.len() as Tick + 1;
            for (port, step) in again {
                self.push_tell(port, step, free);
            }
            if let Some(work) = self.work.take() {
                self.begin_again(&work);
                self.work = Some(work);
            }
        }
        for &port in &shaped {
            ports.changed(at, port);
        }
        0
    }
}

/// After a step of the clock in this cycle: the cycles from which an entry and a commit are taken, if no list is pending.
/// `running`: the gate time by which a list has begun that the unit counts as running.
fn after_step(cycle: Tick, earliest: Time, running: Time, ports: &impl GatedPorts) -> (Tick, Tick) {
    let count = ports.count();
    let mut started = cycle + 1;
    let mut found = 0;
    for port in 0..count {
        started += 1;
        let Some(list) = ports.gates(port).and_then(|gates| gates.list(running)) else { continue };
        found += 1;
        started += match earliest.checked_sub(list.base_time()) {
            None => START_BASE_CYCLES - 1,
            Some(past) if past % list.cycle_time() == 0 => START_DIVIDED_CYCLES - 1,
            Some(_) => START_DIVIDED_CYCLES + REMAINDER_CYCLES - 1,
        };
    }
    (started, started + LOOK_CYCLES * looks(ports) + FOUND_CYCLES * found)
}

/// How many times of ports are looked at one after the other.
fn looks(ports: &impl GatedPorts) -> Tick {
    TIMES * Tick::from(ports.count().next_power_of_two())
}
