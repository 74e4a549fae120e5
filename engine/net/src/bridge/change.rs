// SPDX-License-Identifier: Apache-2.0
//! Changes of settings and tables while frames are on their way.
//!
//! A frame reads each setting in a cycle of its own (`facts.rs`). A change says from which cycle on it is seen; what was
//! to be read before is read when the change is made.
use penstock_shaper::admission::CLASSES;
use penstock_shaper::ats::{Rate, Scheduler};

use super::config::Identify;
use super::facts::Facts;
use super::fdb::Entry;
use super::identify::Key;
use super::timing::{Clock, Cycles, ADMISSION_INTERVAL, TURN_TO_ADMISSION};
use super::{Bridge, Received, Tick};
use crate::header::Headers;

/// From a register's new value to the receive MAC's seeing it.
const MAX_FRAME_CYCLES: Tick = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    PortEnable(u64),
    Learning(bool),
    PortVlan {
        port: u16,
        vlan: u16,
    },
    ClassOfPcp([u8; 8]),
    ClassOfUntagged(u8),
    /// Bit k: class k.
    AtsClasses(u8),
    MaxFrameBytes(u16),
    OverheadBytes(u8),
    ProcessingDelayMaxNs(u32),
    AgingPeriodMs(u32),
    Identify(Identify),
    Ipv4Mask(u128),
    QueueLimit {
        traffic_class: u8,
        cells: u32,
    },
    ClassLimit {
        traffic_class: u8,
        cells: u32,
    },
    QueueGuarantee(u32),
    ReceptionGuarantee(u32),
    SharedLimit(u32),
    Stream {
        table: u8,
        slot: u32,
        entry: Option<(Key, u16)>,
    },
    /// The bucket becomes full.
    Rate {
        stream: u16,
        ns_per_byte: u64,
        empty_to_full: u64,
    },
    Residence {
        port: u16,
        traffic_class: u8,
        ns: u32,
    },
    Vlan {
        vlan: u16,
        members: u64,
    },
    Fdb {
        way: u8,
        set: u32,
        entry: Entry,
    },
    /// Bit p: the gates of port p act.
    GateEnable(u64),
    /// Of a port, until a list begins.
    GateStates {
        port: u16,
        states: u8,
    },
    /// Credit becomes zero.
    Credit {
        port: u16,
        traffic_class: u8,
        enable: bool,
        idle_slope: u64,
        /// The sum of a port's slopes may be above its rate.
        gated: bool,
    },
    CountGap(bool),
    MaxSdu {
        port: u16,
        traffic_class: u8,
        bytes: u16,
    },
}

impl Bridge {
    /// Makes a change that is seen from tick `at` on, which is not before anything that has been judged.
    ///
    /// What names a port, class, stream or slot that does not exist is without effect.
    pub fn change(&mut self, at: Tick, change: &Change, headers: &Headers) {
        if let Clock::Hardware(cycles) = self.clock {
            self.settle(at, cycles, headers);
        }
        self.version = self.version.wrapping_add(1);
        let settings = &mut self.settings;
        let limits = &mut settings.limits;
        match *change {
            Change::PortEnable(mask) => settings.port_enable = mask,
            Change::Learning(enable) => settings.learning_enable = enable,
            Change::PortVlan { port, vlan } => {
                if let Some(place) = settings.port_vlan_id.get_mut(usize::from(port)) {
                    *place = vlan & 0xFFF;
                }
            }
            Change::ClassOfPcp(classes) => settings.class_of_pcp = classes.map(|class| class & 7),
            Change::ClassOfUntagged(class) => settings.class_of_untagged = class & 7,
            Change::AtsClasses(mask) => settings.ats_classes = mask,
            Change::MaxFrameBytes(bytes) => {
                let way = if let Clock::Hardware(_) = self.clock { MAX_FRAME_CYCLES } else { 0 };
                self.max_frame_changes.push_back((at + way, bytes));
                settings.max_frame_until = settings.max_frame_until.min(at + way);
            }
            Change::OverheadBytes(bytes) => settings.overhead_bytes = i32::from(bytes),
            Change::ProcessingDelayMaxNs(ns) => settings.processing_delay_max_ns = ns,
            Change::AgingPeriodMs(ms) => self.fdb.set_aging_period_ms(at, ms),
            Change::Identify(identify) => settings.identify = identify,
            Change::Ipv4Mask(mask) => settings.ipv4_mask = mask,
            Change::QueueLimit { traffic_class, cells } => limits.queue[usize::from(traffic_class & 7)] = cells,
            Change::ClassLimit { traffic_class, cells } => limits.class[usize::from(traffic_class & 7)] = cells,
            Change::QueueGuarantee(cells) => limits.queue_guarantee = cells,
            Change::ReceptionGuarantee(cells) => limits.reception_guarantee = cells,
            Change::SharedLimit(cells) => limits.shared = cells,
            Change::Stream { table, slot, entry } => self.streams.write(usize::from(table), slot as usize, entry),
            Change::Rate { stream, ns_per_byte, empty_to_full } => {
                if let Some(scheduler) = self.schedulers.get_mut(usize::from(stream)) {
                    *scheduler = Scheduler::new(Rate::from_bits(ns_per_byte, empty_to_full));
                }
            }
            Change::Residence { port, traffic_class, ns } => {
                let group = usize::from(port) * CLASSES + usize::from(traffic_class & 7);
                if let Some(residence_ns) = self.residences_ns.get_mut(group) {
                    *residence_ns = ns;
                }
            }
            Change::Vlan { vlan, members } => drop(self.vlans.insert(vlan & 0xFFF, members)),
            Change::Fdb { way, set, entry } => self.fdb.write_at(at, usize::from(way), set as usize, entry),
            Change::CountGap(count) => settings.count_gap = count,
            Change::GateEnable(mask) => {
                for port in 0..self.ports() {
                    let enable = mask >> port & 1 == 1;
                    if self.ports[usize::from(port)].egress.is_gated() != enable {
                        self.change_gates(at, port).set_enabled(enable);
                        self.replan(at, port);
                    }
                }
            }
            Change::GateStates { port, states } => {
                if port < self.ports() {
                    self.change_gates(at, port).set_initial_states(states);
                    self.replan(at, port);
                }
            }
            Change::Credit { port, traffic_class, enable, idle_slope, gated } => {
                self.write_credit(at, port, traffic_class, enable, idle_slope, gated);
            }
            Change::MaxSdu { port, traffic_class, bytes } => {
                if port < self.ports() {
                    self.is_shaped = true;
                    self.ports[usize::from(port)].egress.set_max_bytes(usize::from(traffic_class & 7), bytes);
                }
            }
        }
    }

    /// Whether the hardware takes a rate of this stream in cycle `at`: not while a frame of it is being shaped.
    pub fn takes_rate(&mut self, at: Tick, stream: u16, headers: &Headers) -> bool {
        let Clock::Hardware(cycles) = self.clock else { return true };
        self.settle(at + 1, cycles, headers);
        let mut frames = self.ports.iter().flat_map(|port| port.pending.iter());
        !frames.any(|pending| {
            let Some(facts) = pending.facts.as_deref() else { return false };
            let of_stream = facts.stream() == Some(u32::from(stream));
            match at.saturating_sub(pending.received.turn) {
                5 | 6 => of_stream,
                7..=12 => of_stream && Self::is_shaped(facts),
                // Its state is stored, and there is one place to write.
                13 => of_stream && Self::is_shaped(facts) || facts.shape.is_some_and(|shape| shape.pass),
                _ => false,
            }
        })
    }

    /// Whether the hardware takes an entry of this set of addresses in cycle `at`: not while a learning is in its way.
    pub fn takes_address(&mut self, at: Tick, set: u32, headers: &Headers) -> bool {
        let Clock::Hardware(cycles) = self.clock else { return true };
        self.settle(at + 1, cycles, headers);
        if self.fdb.is_swept(at) {
            return false;
        }
        let mut frames = self.ports.iter().flat_map(|port| port.pending.iter());
        !frames.any(|pending| {
            let Some(facts) = pending.facts.as_deref() else { return false };
            if facts.learning != Some(true) {
                return false;
            }
            let allowed = facts.is_heard.unwrap_or(true);
            match at.saturating_sub(pending.received.turn + cycles.ports) {
                1 => true,
                2 | 3 => facts.source_set == set,
                4 => allowed && facts.source_set == set,
                5 => allowed,
                _ => false,
            }
        })
    }

    /// Reads all that frames on their way read before `until`, in the order of their turns.
    fn settle(&mut self, until: Tick, cycles: Cycles, headers: &Headers) {
        let mut steps: Vec<(Tick, usize, usize, bool)> = Vec::new();
        for (port, state) in self.ports.iter().enumerate() {
            for (index, pending) in state.pending.iter().enumerate() {
                let received = &pending.received;
                if received.taken < until {
                    steps.push((received.turn, port, index, false));
                    steps.push((received.turn + cycles.ports, port, index, true));
                }
            }
        }
        steps.sort_unstable();
        for (_, port, index, learns) in steps {
            let Some(pending) = self.ports[port].pending.get_mut(index) else { continue };
            let received = pending.received;
            let mut facts = pending.facts.take().unwrap_or_default();
            if learns {
                self.read_learning(port as u16, &received, &mut facts, until, cycles, headers);
            } else {
                if received.turn + TURN_TO_ADMISSION <= until {
                    self.place_in_row(&received, &mut facts);
                }
                self.read_facts(port as u16, &received, &mut facts, until, cycles, headers);
            }
            if let Some(pending) = self.ports[port].pending.get_mut(index) {
                pending.facts = Some(facts);
            }
        }
    }

    /// Gives a frame its place in the row of admission; those before it have theirs.
    fn place_in_row(&mut self, received: &Received, facts: &mut Facts) {
        if facts.begin.is_none() {
            let begin = (received.turn + TURN_TO_ADMISSION).max(self.next_decision);
            self.next_decision = begin + ADMISSION_INTERVAL;
            facts.begin = Some(begin);
        }
    }

    /// All that decides about a frame that was on its way when something changed.
    pub(super) fn all_facts(
        &mut self,
        port: u16,
        received: &Received,
        facts: &mut Facts,
        cycles: Cycles,
        headers: &Headers,
    ) {
        self.place_in_row(received, facts);
        self.read_facts(port, received, facts, Tick::MAX, cycles, headers);
        self.read_learning(port, received, facts, Tick::MAX, cycles, headers);
    }
}
