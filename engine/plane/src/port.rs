// SPDX-License-Identifier: Apache-2.0
//! A port: its egress as the engine has it, how much may wait there, and what passed.
use penstock_shaper::admission::CLASSES;
use penstock_shaper::ats::Group;
use penstock_shaper::credit::{idle_slope, Bounds, Credit};
use penstock_shaper::egress::{EgressPort, GateTime, Queued, Tick, NEVER};
use penstock_shaper::gates::AdminList;

use crate::config::{refuse, PortConfig, Refused};
use crate::count::{Counters, Occupancy, Reason};
use crate::gating::{admin_list, capacity};
use crate::line::{Line, Pace, TICK_NS};

pub const MOST_RATE_BPS: u64 = 100_000_000_000;
pub const LEAST_RATE_BPS: u64 = 10_000;
/// The paper's.
pub const USUAL_LIMIT: u32 = 64;

pub struct Port {
    pub name: String,
    pub vlan: u16,
    pub pace: Pace,
    pub egress: EgressPort,
    /// Frames that may wait, per class.
    pub limits: [u32; CLASSES],
    pub queues: [Occupancy; CLASSES],
    pub counters: Counters,
    /// Of ATS schedulers, for frames that came by this port; per class.
    pub groups: [Group; CLASSES],
    /// Nothing is decided for a tick before this one any more.
    pub from: Tick,
    /// When a list begins by whose windows frames that wait may be too long.
    judge_at: Tick,
    is_down: bool,
    /// The last lists, with their ConfigChangeTimes, for those who ask.
    lists: Vec<(u64, AdminList)>,
}

/// A frame that was selected.
#[derive(Clone, Copy, Debug)]
pub struct Selected {
    pub copy: Queued,
    /// The tick in which it could have been selected first.
    pub due: Tick,
}

/// Why a list does not become pending now.
#[derive(Debug)]
pub enum ListRefused {
    Wrong(Refused),
    /// The one that is pending takes over while a frame is on the wire that was selected knowing it.
    Locked,
}

impl Port {
    pub fn new(number: usize, ports: usize, config: &PortConfig, guard_ns: u64, now: Tick) -> Result<Self, Refused> {
        let place = |key: &str| format!("ports.{number}.{key}");
        let rate_bps = config.rate.0;
        if !(LEAST_RATE_BPS..=MOST_RATE_BPS).contains(&rate_bps) {
            let allowed = format!("{LEAST_RATE_BPS} to {MOST_RATE_BPS} b/s");
            return refuse(place("rate"), format!("{rate_bps} b/s"), allowed);
        }
        if !(1..=4094).contains(&config.vlan) {
            return refuse(place("vlan"), config.vlan.to_string(), "1 to 4094");
        }
        let classes = config.classes.keys().chain(&config.round_robin);
        if let Some(class) = classes.into_iter().find(|&&class| usize::from(class) >= CLASSES) {
            return refuse(place("classes"), format!("class {class}"), "0 to 7");
        }
        let pace = Pace { rate_bps, guard_ns };
        let mut port = Self {
            name: config.name().to_owned(),
            vlan: config.vlan,
            pace,
            egress: EgressPort::new(ports),
            limits: [USUAL_LIMIT; CLASSES],
            queues: [Occupancy::default(); CLASSES],
            counters: Counters::default(),
            groups: [Group::default(); CLASSES],
            from: now,
            judge_at: NEVER,
            is_down: false,
            lists: Vec::new(),
        };
        port.egress.set_round_robin(config.round_robin.iter().fold(0, |mask, class| mask | 1 << class));
        Ok(port)
    }

    /// Credit, limits and gates as they are told.
    pub fn shape(
        &mut self,
        number: usize,
        config: &PortConfig,
        base_time_tai_ns: u64,
        time: &GateTime,
        now: Tick,
    ) -> Result<(), Refused> {
        let line = Line { time, pace: self.pace };
        for (&class, said) in &config.classes {
            let place = |key: &str| format!("ports.{number}.classes.{class}.{key}");
            let class = usize::from(class);
            self.limits[class] = said.limit.unwrap_or(USUAL_LIMIT);
            if let Some(bytes) = said.max_frame_bytes {
                self.egress.set_max_bytes(class, bytes);
            }
            if let Some(time) = said.max_residence {
                self.groups[class].set_max_residence_ns(u32::try_from(time.0).unwrap_or(u32::MAX));
            }
            let Some(slope) = said.idle_slope else { continue };
            let credit = Credit::new(idle_slope(slope.0), idle_slope(self.pace.rate_bps), Bounds::NONE);
            match credit {
                Ok(credit) => self.egress.set_credit(&line, now, class, Some(credit)),
                Err(_) => {
                    let allowed = format!("more than 0 and at most {} b/s", self.pace.rate_bps);
                    return refuse(place("idle_slope"), format!("{} b/s", slope.0), allowed);
                }
            }
        }
        if let Some(gates) = &config.gates {
            let place = format!("ports.{number}.gates");
            let mut list = admin_list(&place, gates)?;
            list.base_time = list.base_time.saturating_add(base_time_tai_ns);
            match self.commit(&list, time, now, u16::MAX) {
                Ok(_) => {}
                Err(ListRefused::Wrong(refused)) => return Err(Refused { place, ..refused }),
                Err(ListRefused::Locked) => {}
            }
        }
        Ok(())
    }

    /// A checked list becomes pending (8.6.9.3); gives its ConfigChangeTime, which no frame on the wire reaches.
    pub fn commit(&mut self, list: &AdminList, time: &GateTime, now: Tick, longest: u16) -> Result<u64, ListRefused> {
        let line = Line { time, pace: self.pace };
        // What is on the wire may be late by the tolerance.
        let seen = time.at(now);
        let free = time.at(self.egress.free().max(now)).saturating_add(self.pace.guard_ns);
        let pending = self.egress.gates().and_then(|gates| gates.pending(seen)).map(|pending| pending.1);
        if pending.is_some_and(|change_time| change_time < free) {
            return Err(ListRefused::Locked);
        }
        let capacity = capacity(self.pace.occupancy(longest) * TICK_NS);
        // What was due before is decided by what holds now: gates know nothing of what was before a change.
        self.from = self.from.max(now);
        let gates = self.egress.change_gates(&line, now);
        let earliest = free.saturating_add(TICK_NS);
        // A list that takes over just now has taken over.
        match gates.commit(seen + 1, earliest, list, &capacity) {
            Ok(change_time) => {
                gates.set_enabled(true);
                self.judge_at = time.windows_tick(change_time);
                // The one that runs and the one that is pending; what was pending before is replaced.
                self.lists.retain(|known| known.0 <= seen);
                self.lists.drain(..self.lists.len().saturating_sub(1));
                self.lists.push((change_time, list.clone()));
                Ok(change_time)
            }
            Err(error) => {
                let (what, allowed) = split(&error.to_string());
                Err(ListRefused::Wrong(Refused { place: "gates".into(), what, allowed }))
            }
        }
    }

    /// The clock, which is `before` until now, is `after` from now on. Where it steps, what is on the wire ends in the states of
    /// its gates, which hold up to the next cycle of the list; what is pending then takes over at the next begin of its own.
    pub fn clock_changes(&mut self, before: &GateTime, after: &GateTime, is_step: bool, now: Tick) {
        if self.egress.gates().is_none() {
            return;
        }
        self.from = self.from.max(now);
        let free = self.egress.free().max(now);
        let gates = self.egress.change_gates(&Line { time: before, pace: self.pace }, now);
        if is_step {
            let (last, seen) = (before.at(now), after.at(now));
            let earliest = after.at(free).saturating_add(self.pace.guard_ns + TICK_NS);
            let pending = gates.stepped(last, earliest);
            let runs = self.lists.iter_mut().rev().find(|list| list.0 <= last);
            if let (Some(list), Some(start)) = (runs, gates.hold_end()) {
                list.0 = start;
            }
            if let Some((list, due)) = pending {
                let change_time = if due >= earliest { due } else { list.start_from(earliest) };
                gates.propose(seen + 1, list, change_time);
                if let Some(list) = self.lists.last_mut() {
                    list.0 = change_time;
                }
            }
        }
        if let Some(list) = self.lists.last().filter(|_| self.judge_at != NEVER) {
            self.judge_at = after.windows_tick(list.0);
        }
    }

    /// Whether a frame may be queued.
    pub fn judge(&self, time: &GateTime, now: Tick, class: usize, bytes: u16) -> Result<(), Reason> {
        let line = Line { time, pace: self.pace };
        if self.is_down {
            Err(Reason::LinkDown)
        } else if self.egress.is_shaped() && self.egress.is_too_long(&line, now, class, bytes) {
            Err(Reason::MaxSdu)
        } else if self.queues[class].frames() >= self.limits[class] {
            Err(Reason::QueueFull)
        } else {
            Ok(())
        }
    }

    pub fn enqueue(&mut self, copy: Queued, now: Tick) {
        self.queues[usize::from(copy.traffic_class)].came(now);
        self.egress.enqueue(copy);
    }

    /// The next tick in which something is to be done.
    pub fn next_tick(&mut self, time: &GateTime) -> Tick {
        let line = Line { time, pace: self.pace };
        if self.egress.is_empty() {
            return NEVER;
        }
        self.egress.next_selection(&line, self.from).min(self.judge_at)
    }

    /// Selects the next frame that is due. One that the thread comes too late for, by more than `patience`, is selected by the
    /// state of the gates now; any other as if the thread had been there in time.
    pub fn select(&mut self, time: &GateTime, now: Tick, patience: Tick) -> Option<Selected> {
        let line = Line { time, pace: self.pace };
        let due = self.egress.next_selection(&line, self.from);
        if due > now {
            return None;
        }
        let mut at = due;
        if now - due > patience {
            self.egress.hold(now);
            at = now;
        }
        self.from = at;
        let Some(copy) = self.egress.select(&line, at) else {
            self.counters.lateness.missed += 1;
            return None;
        };
        self.queues[usize::from(copy.traffic_class)].left(now);
        Some(Selected { copy, due })
    }

    /// Takes out frames that wait and are longer than any window of a list that has begun.
    pub fn drop_too_long(&mut self, time: &GateTime, now: Tick) -> Vec<Queued> {
        let mut dropped = Vec::new();
        if self.judge_at > now {
            return dropped;
        }
        let line = Line { time, pace: self.pace };
        let at = self.judge_at.max(self.from);
        self.judge_at = NEVER;
        for class in 0..CLASSES {
            while self.egress.never_fits(&line, at, class) {
                let Some(copy) = self.egress.drop_head(&line, at, class) else { break };
                self.queues[class].left(now);
                dropped.push(copy);
            }
        }
        dropped
    }

    /// The interface is gone, or there again; gives what waited for it.
    pub fn set_down(&mut self, is_down: bool, time: &GateTime, now: Tick) -> Vec<Queued> {
        self.is_down = is_down;
        let line = Line { time, pace: self.pace };
        let mut dropped = Vec::new();
        if is_down {
            for class in 0..CLASSES {
                while let Some(copy) = self.egress.drop_head(&line, now.max(self.from), class) {
                    self.queues[class].left(now);
                    dropped.push(copy);
                }
            }
        }
        dropped
    }

    pub fn is_down(&self) -> bool {
        self.is_down
    }

    /// Whether the gate of a class is open in a tick.
    pub fn is_open(&self, time: &GateTime, at: Tick, class: usize) -> bool {
        self.egress.gates().is_none_or(|gates| gates.states(time.at(at)) >> class & 1 == 1)
    }

    /// The list that runs and the one that is pending, with their ConfigChangeTimes.
    pub fn lists(&self) -> &[(u64, AdminList)] {
        &self.lists
    }
}

/// What is wrong and what is allowed, of a message that says both.
fn split(message: &str) -> (String, String) {
    let (what, allowed) = message.split_once("; ").unwrap_or((message, "what it says"));
    let allowed = allowed.trim_end_matches(" are allowed").trim_end_matches(" is allowed");
    (what.to_owned(), allowed.to_owned())
}
