// SPDX-License-Identifier: Apache-2.0
//! Changes of settings and tables while frames are on their way.
//!
//! A frame reads each setting in a cycle of its own (`facts.rs`). A change says from which cycle on it is seen; what was
//! to be read before is read when the change is made.
use penstock_shaper::forwarding::Entry;
use penstock_shaper::gate_config::{GateRegisters, GATES_CYCLES};
use penstock_shaper::gates::Entry as GateEntry;
use penstock_shaper::identification::Key;
use penstock_shaper::ptp_clock::{Command, FRACTION_BITS};

use super::config::{Identify, Translation};
use super::timing::Clock;
use super::{Bridge, Tick};
use crate::header::Headers;

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
    /// That a frame without a tag gets with one.
    PcpOfUntagged(u8),
    /// Ports that tag and untag what they send.
    VlanTagging(u64),
    /// And they write the tags that VLANs are translated to.
    VlanTranslation(u64),
    /// Ports from which frames leave without an R-TAG.
    RTagRemoval(u64),
    /// Ports of which event messages of PTP get the time that they were inside.
    PtpCorrection(u64),
    /// Bit k: class k.
    AtsClasses(u8),
    MaxFrameBytes(u16),
    OverheadBytes(u8),
    ProcessingDelayMaxNs(u32),
    AgingPeriodMs(u32),
    Identify(Identify),
    /// Bit n: frames to 01-80-C2-00-00-0n go to the host.
    ReservedToHost(u16),
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
    /// Whether frames of a stream get an R-TAG with their sequence number.
    Numbering {
        stream: u16,
        numbered: bool,
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
        untagged: u64,
        translation: Translation,
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
    /// Hardware: what is read and decided before a tick is so before something changes in it.
    fn settle_and_decide(&mut self, at: Tick, headers: &Headers) {
        if let Clock::Hardware(cycles) = self.clock {
            self.settle(at, cycles, headers);
            self.decide_until(at, headers);
        }
    }

    /// Makes a change that is seen from tick `at` on, which is not before anything that has been judged.
    ///
    /// What names a port, class, stream or slot that does not exist is without effect.
    pub fn change(&mut self, at: Tick, change: &Change, headers: &Headers) {
        self.settle_and_decide(at, headers);
        match *change {
            Change::PortEnable(_)
            | Change::Learning(_)
            | Change::PortVlan { .. }
            | Change::ClassOfPcp(_)
            | Change::ClassOfUntagged(_)
            | Change::PcpOfUntagged(_)
            | Change::VlanTagging(_)
            | Change::VlanTranslation(_)
            | Change::RTagRemoval(_)
            | Change::PtpCorrection(_)
            | Change::Numbering { .. }
            | Change::AtsClasses(_)
            | Change::Identify(_)
            | Change::ReservedToHost(_)
            | Change::Ipv4Mask(_)
            | Change::Stream { .. }
            | Change::Vlan { .. } => self.tables.change(change),
            Change::OverheadBytes(_)
            | Change::ProcessingDelayMaxNs(_)
            | Change::Rate { .. }
            | Change::Residence { .. } => self.meters.change(change),
            Change::AgingPeriodMs(ms) => self.forwarding.set_aging_period_ms(at, ms),
            Change::Fdb { way, set, entry } => self.forwarding.write_at(at, way, set, entry),
            Change::MaxFrameBytes(bytes) => self.arrivals.change_max_frame(&self.clock, at, bytes),
            Change::QueueLimit { .. }
            | Change::ClassLimit { .. }
            | Change::QueueGuarantee(_)
            | Change::ReceptionGuarantee(_)
            | Change::SharedLimit(_) => self.store.change(change),
            Change::CountGap(_)
            | Change::GateEnable(_)
            | Change::GateStates { .. }
            | Change::Credit { .. }
            | Change::RoundRobin { .. }
            | Change::MaxSdu { .. } => self.ports.change(&self.clock, at, change),
        }
    }

    /// Ports that are to select at another tick since something changed.
    pub fn take_wakes(&mut self) -> std::vec::Drain<'_, (u16, Tick)> {
        self.ports.take_wakes()
    }

    /// When an entry of the staged list can be written, from a cycle on; or when that is to be asked again.
    pub fn takes_gate_entry(&self, from: Tick) -> Tick {
        self.gate_config.takes_entry(from, self.ports.gate_time())
    }

    pub fn write_gate_entry(&mut self, index: u16, entry: GateEntry) {
        self.gate_config.write_entry(index, entry);
    }

    /// When a list can be committed, from a cycle on; or when that is to be asked again.
    pub fn takes_gate_commit(&self, from: Tick) -> Tick {
        self.gate_config.takes_commit(from, self.ports.gate_time())
    }

    /// Commits the staged list in a cycle in which it can be; what follows is done by [`Bridge::gate_step`].
    pub fn commit_gates(&mut self, at: Tick, port: u16, registers: &GateRegisters) {
        self.gate_config.commit(at, port, registers, self.ports.gate_time());
    }

    /// When [`Bridge::gate_step`] is to be called next.
    pub fn next_gate_step(&self) -> Option<Tick> {
        self.gate_config.next_step(self.ports.gate_time())
    }

    /// What becomes of lists that were committed, at a tick.
    pub fn gate_step(&mut self, at: Tick, headers: &Headers) {
        self.settle_and_decide(at, headers);
        self.gate_config.step(at, &mut self.ports.with(&self.clock));
    }

    /// What the PTP clock shows in a cycle: nanoseconds of TAI, and 2^-8 of one beside them.
    pub fn clock_time(&self, cycle: Tick) -> (u64, u8) {
        let time = self.ports.gate_time().clock().time_at(cycle);
        ((time >> FRACTION_BITS) as u64, (time >> (FRACTION_BITS - 8)) as u8)
    }

    /// A command of the PTP clock that acts in a cycle of it: its error code, zero for none.
    pub fn clock_command(&mut self, cycle: Tick, command: Command, headers: &Headers) -> u8 {
        self.settle_and_decide(cycle + GATES_CYCLES, headers);
        self.gate_config.clock_command(cycle, command, &mut self.ports.with(&self.clock))
    }
}
