// SPDX-License-Identifier: Apache-2.0
//! How gates and credit get their settings in flight, as `pen_gate_config` works on them.
//!
//! The unit takes one list at a time. It checks it, takes back a change that is still pending, and tells the port of the
//! new one two microseconds before PREPARE_NS are over; docs/hardware.md has the order.
use std::collections::VecDeque;
use std::sync::Arc;

use penstock_shaper::credit::{self, Bounds, Credit};
use penstock_shaper::egress::{EgressPort, GateTime};
use penstock_shaper::gates::{AdminList, Capacity, Entry, Gates, List, ListError};
use penstock_shaper::ptp_clock::{nanoseconds, Command};

use super::lifetime::Look;
use super::timing::{Line, GATES_CYCLES};
use super::{Bridge, Tick};

pub const GATE_ENTRIES: usize = 128;
const PREPARE_NS: u64 = 65_536;
/// A list does not begin earlier after it is pending.
const LEAD_NS: u64 = 32_768;
/// For the changes of all ports, after a step.
const AGAIN_NS: u64 = 8 * PREPARE_NS;
/// The port is told so long before.
const TOLD_NS: u64 = 2_047;
/// From the cycle in which the port is to be told to the first selection that knows it, and to the next commit.
const TOLD_CYCLES: Tick = 13;
const FREE_CYCLES: Tick = 11;
/// And to the next entry.
const WRITABLE_CYCLES: Tick = 2;
/// From the cycle in which a list begins to the one in which the unit no longer counts it as pending.
const ACTED_CYCLES: Tick = 2;
/// From the time by which a port is locked to the cycle in which it says so.
const LOCKED_CYCLES: Tick = 2;
/// From a commit to its check, to the end of the sum of the base time, to the first entry's check, and to the next one's.
const CHECK_CYCLES: Tick = 2;
const SUM_CYCLES: Tick = 52;
const FIRST_ENTRY_CYCLES: Tick = 55;
const ENTRY_CYCLES: Tick = 3;

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
        now: u64,
    },
    /// The change that this list had to wait for has acted.
    Acted {
        list: Arc<List>,
    },
    Withdraw,
    Propose {
        list: Arc<List>,
        change_time: u64,
        since: u64,
    },
}

/// A tick, or so many after the unit sees a gate time: then a command to the clock moves it.
#[derive(Clone, Copy, Debug)]
struct When {
    gate_time: Option<u64>,
    ticks: Tick,
}

impl When {
    fn tick(ticks: Tick) -> Self {
        Self { gate_time: None, ticks }
    }

    fn seen(gate_time: u64, ticks: Tick) -> Self {
        Self { gate_time: Some(gate_time), ticks }
    }

    fn at(self, time: &GateTime) -> Tick {
        let seen = self.gate_time.map(|gate_time| time.tick_of(gate_time).saturating_sub(GATES_CYCLES));
        seen.unwrap_or(0).saturating_add(self.ticks)
    }

    fn later(self, ticks: Tick) -> Self {
        Self { ticks: self.ticks + ticks, ..self }
    }

    /// What the unit has seen before this cycle stays as it is, whatever the clock does from now on.
    fn keep(&mut self, time: &GateTime, cycle: Tick) {
        let seen = self.gate_time.map(|gate_time| time.tick_of(gate_time).saturating_sub(GATES_CYCLES));
        if let Some(seen) = seen.filter(|&seen| seen < cycle) {
            *self = Self::tick(seen + self.ticks);
        }
    }
}

/// The staged list, and what is under way.
#[derive(Clone, Debug)]
pub struct GateConfig {
    entries: Vec<Entry>,
    /// The first cycles in which an entry and a commit can be taken.
    writable: When,
    free: When,
    /// In the order of time.
    steps: VecDeque<(When, u16, Step)>,
    /// Per port: ConfigChangeError and the last error's code.
    errors: Vec<(u16, u8)>,
}

impl GateConfig {
    pub fn new(ports: u16) -> Self {
        Self {
            entries: vec![Entry { operation: 0, states: 0, interval: 0 }; GATE_ENTRIES],
            writable: When::tick(0),
            free: When::tick(0),
            steps: VecDeque::new(),
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
    fn tell(&mut self, port: u16, since: u64, list: Arc<List>, change_time: u64) {
        let told = since - TOLD_NS;
        self.steps.push_back((When::seen(told, TOLD_CYCLES), port, Step::Propose { list, change_time, since }));
        self.busy_until(When::seen(told, WRITABLE_CYCLES), When::seen(told, FREE_CYCLES));
    }

    /// A command to the clock acts in this cycle.
    fn keep(&mut self, time: &GateTime, cycle: Tick) {
        let steps = self.steps.iter_mut().map(|step| &mut step.0);
        steps.chain([&mut self.writable, &mut self.free]).for_each(|when| when.keep(time, cycle));
    }

    fn count(&mut self, port: u16, code: u8) {
        let (count, last) = &mut self.errors[usize::from(port)];
        (*count, *last) = (count.saturating_add(1), code);
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

impl Bridge {
    /// A look at a port that has been is judged as it was, before something of the port changes.
    pub(super) fn change_egress(&mut self, at: Tick, port: u16) -> (&mut EgressPort, Line<'_>) {
        self.is_shaped = true;
        let (state, line) = self.egress(port);
        if let Some(look) = state.lifetime.look.filter(|look| look.at < at && look.is_long.is_none()) {
            let is_long = Some(state.egress.never_fits(&line, look.at, look.traffic_class));
            state.lifetime.look = Some(Look { is_long, ..look });
        }
        (&mut state.egress, line)
    }

    /// The gates of a port, of which something changes.
    pub(super) fn change_gates(&mut self, at: Tick, port: u16) -> &mut Gates {
        let (egress, line) = self.change_egress(at, port);
        egress.change_gates(&line, at)
    }

    /// When a port selects next, since something has changed.
    pub(super) fn replan(&mut self, at: Tick, port: u16) {
        let (state, line) = self.egress(port);
        let before = state.due;
        let due = state.plan(&line, at);
        self.wakes.extend(due.filter(|due| *due != before).map(|due| (port, due)));
    }

    /// Ports that are to select at another tick since something changed.
    pub fn take_wakes(&mut self) -> std::vec::Drain<'_, (u16, Tick)> {
        self.wakes.drain(..)
    }

    /// When an entry of the staged list can be written, from a cycle on; or when that is to be asked again.
    pub fn takes_gate_entry(&self, from: Tick) -> Tick {
        from.max(self.gate_config.writable.at(&self.gate_time))
    }

    pub fn write_gate_entry(&mut self, index: u16, entry: Entry) {
        if let Some(place) = self.gate_config.entries.get_mut(usize::from(index)) {
            *place = entry;
        }
    }

    /// When a list can be committed, from a cycle on; or when that is to be asked again.
    pub fn takes_gate_commit(&self, from: Tick) -> Tick {
        from.max(self.gate_config.free.at(&self.gate_time))
    }

    /// Commits the staged list in a cycle in which it can be; what follows is done by [`Bridge::gate_step`].
    pub fn commit_gates(&mut self, at: Tick, port: u16, registers: &GateRegisters) {
        if port >= self.ports() {
            return;
        }
        let length = usize::from(registers.length);
        let admin = AdminList {
            entries: self.gate_config.entries.iter().cycle().take(length).copied().collect(),
            base_time: nanoseconds(registers.base_s, u64::from(registers.base_ns)).unwrap_or(u64::MAX),
            cycle_time: u64::from(registers.cycle_time_ns),
            cycle_time_extension: u64::from(registers.extension_ns),
        };
        let capacity = Capacity { entries: GATE_ENTRIES, ..Capacity::HARDWARE };
        let list = match List::compile(&admin, &capacity) {
            Ok(list) => Arc::new(list),
            Err(error) => {
                let (code, found) = code_of(&error);
                // Seconds and nanoseconds are looked at before they are added.
                let found =
                    if code == 6 && u64::from(registers.base_ns) >= 1_000_000_000 { CHECK_CYCLES } else { found };
                self.gate_config.count(port, code);
                self.gate_config.busy_until(When::tick(at + found + 1), When::tick(at + found + 1));
                return;
            }
        };
        // The unit's gate time of a cycle is that of the selections some cycles later.
        let now = self.gate_time.at(at + GATES_CYCLES);
        let cancel = at + FIRST_ENTRY_CYCLES + ENTRY_CYCLES * (length as Tick - 1) + 1;
        // What acts later than this is still pending in the eyes of the unit when it cancels.
        let good = When::tick(cancel - ACTED_CYCLES - 1 + GATES_CYCLES);
        self.gate_config.wait_for(good, port, Step::Good { list, now });
    }

    /// A good list takes the place of what is pending, or waits until that has acted if it is too late.
    fn replace_list(&mut self, at: Tick, port: u16, list: Arc<List>, now: u64) {
        let time = self.gate_time;
        let pending = self.gates(port).and_then(|gates| Some((gates, gates.pending(time.at(at))?.1)));
        let Some((gates, change_time)) = pending else { return self.prepare_list(at, port, list, now) };
        let cancel = at + ACTED_CYCLES + 1;
        let acts = time.tick_of(change_time);
        if acts <= cancel || is_locked(gates, time.at(cancel - LOCKED_CYCLES)) {
            let seen = When::seen(change_time, ACTED_CYCLES + GATES_CYCLES);
            let when = if acts + ACTED_CYCLES > cancel { seen } else { When::tick(cancel + 1) };
            self.gate_config.wait_for(when, port, Step::Acted { list });
        } else {
            self.gate_config.steps.push_back((When::tick(cancel), port, Step::Withdraw));
            self.prepare_list(at, port, list, now);
        }
    }

    /// A list that nothing is in the way of begins, counted from this gate time.
    fn prepare_list(&mut self, at: Tick, port: u16, list: Arc<List>, now: u64) {
        let gate_time = self.gate_time.at(at);
        let is_running = self.gates(port).is_some_and(|gates| gates.list(gate_time).is_some());
        let earliest = now + PREPARE_NS + LEAD_NS;
        if is_running && list.base_time() < earliest {
            self.gate_config.count(port, PAST_CODE);
        }
        let change_time = list.start_from(earliest);
        self.gate_config.tell(port, now + PREPARE_NS, list, change_time);
    }

    /// When [`Bridge::gate_step`] is to be called next.
    pub fn next_gate_step(&self) -> Option<Tick> {
        self.gate_config.steps.front().map(|step| step.0.at(&self.gate_time))
    }

    /// What the unit does at a tick: lists that begin to be pending, and those that no longer are.
    pub fn gate_step(&mut self, at: Tick) {
        while let Some((when, port, step)) = self.gate_config.steps.pop_front() {
            if when.at(&self.gate_time) > at {
                self.gate_config.steps.push_front((when, port, step));
                return;
            }
            let seen = self.gate_time.at(at);
            match step {
                Step::Good { list, now } => self.replace_list(at, port, list, now),
                Step::Acted { list } => self.prepare_list(at, port, list, seen),
                Step::Withdraw => {
                    self.change_gates(at, port).withdraw(seen);
                    self.replan(at, port);
                }
                Step::Propose { list, change_time, since } => {
                    self.change_gates(at, port).propose(since, list, change_time);
                    self.replan(at, port);
                }
            }
        }
    }

    /// A command of the PTP clock that acts in a cycle of it: its error code, zero for none. A step or a new time holds
    /// the gates up to the next cycle of their lists.
    pub fn clock_command(&mut self, cycle: Tick, command: Command) -> u8 {
        let at = cycle + GATES_CYCLES;
        let ports = self.ports();
        let shaped: Vec<u16> = (0..ports).filter(|&port| self.ports[usize::from(port)].egress.is_shaped()).collect();
        for &port in &shaped {
            self.change_gates(at, port);
        }
        let (before, last) = (self.gate_time, self.gate_time.at(at - 1));
        if let Err(error) = self.gate_time.clock.command(cycle, command) {
            return error.code();
        }
        self.gate_config.keep(&before, cycle);
        if matches!(command, Command::Set { .. } | Command::Step { .. }) {
            let now = self.gate_time.at(at);
            for &port in shaped.iter().rev() {
                let Some((list, pending)) = self.change_gates(at, port).stepped(last, now + LEAD_NS) else { continue };
                let earliest = now + AGAIN_NS + LEAD_NS;
                let change_time = if pending >= earliest { pending } else { list.start_from(earliest) };
                self.gate_config.tell(port, now + AGAIN_NS, list, change_time);
            }
        }
        for &port in &shaped {
            self.replan(at, port);
        }
        0
    }

    /// TABLE_CREDIT: whether it is taken. Credit is zero from this tick on.
    pub(super) fn write_credit(
        &mut self,
        at: Tick,
        port: u16,
        class: u8,
        enable: bool,
        idle: u64,
        gated: bool,
    ) -> bool {
        let class = usize::from(class & 7);
        if port >= self.ports() {
            return false;
        }
        let credit = match Credit::new(idle, credit::PORT_RATE, Bounds::HARDWARE) {
            Ok(credit) => Some(credit),
            Err(_) if enable => return false,
            Err(_) => None,
        };
        let (egress, line) = self.change_egress(at, port);
        let sum = egress.idle_slopes_beside(class) + i128::from(idle);
        if enable && !gated && sum > i128::from(credit::PORT_RATE) {
            return false;
        }
        egress.set_credit(&line, at, class, credit.filter(|_| enable));
        self.replan(at, port);
        true
    }
}

/// A change that can no longer be taken back: its last cycle runs or is near, or the first list is near.
fn is_locked(gates: &Gates, now: u64) -> bool {
    let Some((_, change_time)) = gates.pending(now) else { return false };
    let is_near = |time: u64| time.saturating_sub(now) < LEAD_NS;
    match gates.list(now) {
        None => is_near(change_time),
        Some(_) if gates.is_last_cycle(now) => true,
        Some(_) => gates.next_edge(now).is_some_and(|edge| is_near(edge) && gates.is_last_cycle(edge)),
    }
}
