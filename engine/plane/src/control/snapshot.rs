// SPDX-License-Identifier: Apache-2.0
//! What a plane tells of itself.
use std::collections::BTreeMap;

use penstock_shaper::admission::CLASSES;
use penstock_shaper::egress::Tick;
use penstock_shaper::gates::AdminList;
use serde::Serialize;

use crate::count::{Counters, LatenessShown, Level, Passed, Reason};
use crate::line::TICK_NS;
use crate::link::{Chosen, Sockets};
use crate::plane::Plane;

/// As the plane's thread copies it, in little time.
#[derive(Debug)]
pub struct Snapshot {
    pub tai_ns: u64,
    pub held: usize,
    pub clock_steps: u64,
    pub rows_lost: u64,
    /// Of each port, frames that found no room in the kernel's buffer, and how frames come and go.
    pub links: Vec<(u64, Chosen)>,
    pub ports: Vec<Copied>,
}

#[derive(Debug)]
pub struct Copied {
    name: String,
    rate_bps: u64,
    is_down: bool,
    counters: Counters,
    limits: [u32; CLASSES],
    waiting: [u32; CLASSES],
    states: u8,
    lists: Vec<(u64, AdminList)>,
}

/// Of each port and class.
pub type Levels = (u64, Vec<(String, [Level; CLASSES])>);

impl Snapshot {
    pub fn of(plane: &Plane, now: Tick, links: Vec<(u64, Chosen)>, rows_lost: u64) -> Self {
        let time = plane.time();
        let ports = plane.ports().iter().map(|port| Copied {
            name: port.name.clone(),
            rate_bps: port.pace.rate_bps,
            is_down: port.is_down(),
            counters: port.counters.clone(),
            limits: port.limits,
            waiting: port.queues.map(|queue| queue.frames()),
            states: port.egress.gates().map_or(0xFF, |gates| gates.states(time.at(now))),
            lists: port.lists().to_vec(),
        });
        Self {
            tai_ns: time.at(now),
            held: plane.held(),
            clock_steps: plane.clock_steps(),
            rows_lost,
            links,
            ports: ports.collect(),
        }
    }

    pub fn shown(&self) -> Shown {
        let ports = self.ports.iter().zip(&self.links);
        Shown {
            time_tai_ns: self.tai_ns,
            frames_held: self.held,
            clock_steps: self.clock_steps,
            trace_rows_lost: self.rows_lost,
            ports: ports.map(|(port, link)| (port.name.clone(), port.shown(link, self.tai_ns))).collect(),
        }
    }
}

/// Of all levels at once, with what is cleared by reading cleared.
pub fn read_levels(plane: &mut Plane, now: Tick) -> Levels {
    let names: Vec<_> = plane.ports().iter().map(|port| port.name.clone()).collect();
    let ports = names.into_iter().enumerate();
    let levels = ports.map(|(port, name)| (name, std::array::from_fn(|class| plane.read_level(port, class, now))));
    let levels = levels.collect();
    // From the same tick as the integrals, whose differences people divide by.
    (now * TICK_NS, levels)
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shown {
    pub time_tai_ns: u64,
    pub frames_held: usize,
    /// Times that the plane's clock was set or stepped.
    pub clock_steps: u64,
    pub trace_rows_lost: u64,
    pub ports: BTreeMap<String, PortShown>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PortShown {
    pub rate_bps: u64,
    pub sockets: Sockets,
    /// What did not work that would be faster.
    pub why_not_faster: Option<String>,
    pub down: bool,
    pub received: Passed,
    pub sent: Passed,
    pub sent_of_class: [Passed; CLASSES],
    pub dropped: BTreeMap<&'static str, u64>,
    /// Frames that found no room in the kernel's buffer.
    pub overruns: u64,
    pub departures: LatenessShown,
    pub limits: [u32; CLASSES],
    pub waiting: [u32; CLASSES],
    /// Bit k: the gate of class k is open.
    pub gate_states: u8,
    pub gates: Option<ListShown>,
    /// With its ConfigChangeTime.
    pub pending_gates: Option<ListShown>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListShown {
    pub since_tai_ns: u64,
    pub cycle_time_ns: u64,
    /// States and interval in ns.
    pub entries: Vec<(u8, u64)>,
}

impl ListShown {
    fn of((since, list): &(u64, AdminList)) -> Self {
        let entries = list.entries.iter().map(|entry| (entry.states, entry.interval)).collect();
        Self { since_tai_ns: *since, cycle_time_ns: list.cycle_time, entries }
    }
}

impl Copied {
    fn shown(&self, (overruns, chosen): &(u64, Chosen), tai_ns: u64) -> PortShown {
        let Counters { received, sent, dropped, lateness } = &self.counters;
        let total = sent
            .iter()
            .fold(Passed::default(), |sum, of| Passed { frames: sum.frames + of.frames, bytes: sum.bytes + of.bytes });
        PortShown {
            rate_bps: self.rate_bps,
            sockets: chosen.sockets,
            why_not_faster: chosen.why.clone(),
            down: self.is_down,
            received: *received,
            sent: total,
            sent_of_class: *sent,
            dropped: Reason::NAMES.into_iter().zip(*dropped).filter(|&(_, count)| count > 0).collect(),
            overruns: *overruns,
            departures: lateness.shown(),
            limits: self.limits,
            waiting: self.waiting,
            gate_states: self.states,
            gates: self.lists.iter().rev().find(|list| list.0 <= tai_ns).map(ListShown::of),
            pending_gates: self.lists.last().filter(|list| list.0 > tai_ns).map(ListShown::of),
        }
    }
}

/// A queue's level, as told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LevelShown {
    pub class: usize,
    #[serde(flatten)]
    pub level: Level,
}
