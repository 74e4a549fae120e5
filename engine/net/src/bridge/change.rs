// SPDX-License-Identifier: Apache-2.0
//! Changes of settings and tables while frames are on their way.
//!
//! A frame reads each setting in a cycle of its own (`facts.rs`). A change says from which cycle on it is seen; what was
//! to be read before is read when the change is made.
use penstock_shaper::forwarding::Entry;
use penstock_shaper::identification::Key;

use super::config::Identify;
use super::timing::Clock;
use super::{Bridge, Tick};
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
    /// Bit k: class k takes turns with the others.
    RoundRobin {
        port: u16,
        members: u8,
    },
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
        let limits = &mut self.settings.limits;
        match *change {
            Change::PortEnable(_)
            | Change::Learning(_)
            | Change::PortVlan { .. }
            | Change::ClassOfPcp(_)
            | Change::ClassOfUntagged(_)
            | Change::AtsClasses(_)
            | Change::Identify(_)
            | Change::Ipv4Mask(_)
            | Change::Stream { .. }
            | Change::Vlan { .. } => self.tables.change(change),
            Change::OverheadBytes(_)
            | Change::ProcessingDelayMaxNs(_)
            | Change::Rate { .. }
            | Change::Residence { .. } => self.meters.change(change),
            Change::AgingPeriodMs(ms) => self.forwarding.set_aging_period_ms(at, ms),
            Change::Fdb { way, set, entry } => self.forwarding.write_at(at, way, set, entry),
            Change::MaxFrameBytes(bytes) => {
                let way = if let Clock::Hardware(_) = self.clock { MAX_FRAME_CYCLES } else { 0 };
                self.max_frame_changes.push_back((at + way, bytes));
                self.settings.max_frame_until = self.settings.max_frame_until.min(at + way);
            }
            Change::QueueLimit { traffic_class, cells } => limits.queue[usize::from(traffic_class & 7)] = cells,
            Change::ClassLimit { traffic_class, cells } => limits.class[usize::from(traffic_class & 7)] = cells,
            Change::QueueGuarantee(cells) => limits.queue_guarantee = cells,
            Change::ReceptionGuarantee(cells) => limits.reception_guarantee = cells,
            Change::SharedLimit(cells) => limits.shared = cells,
            Change::CountGap(count) => self.settings.count_gap = count,
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
            Change::RoundRobin { port, members } => {
                if let Some(state) = self.ports.get_mut(usize::from(port)) {
                    state.egress.set_round_robin(members);
                }
            }
            Change::MaxSdu { port, traffic_class, bytes } => {
                if port < self.ports() {
                    self.is_shaped = true;
                    self.ports[usize::from(port)].egress.set_max_bytes(usize::from(traffic_class & 7), bytes);
                }
            }
        }
    }
}
