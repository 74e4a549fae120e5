// SPDX-License-Identifier: Apache-2.0
//! What a frame reads on its way through the hardware's pipeline, and in which cycle, while settings change.
//!
//! With T the turn of the frame's record and B the begin of its admission:
//!
//! ```text
//!     first byte taken   VLAN and class of untagged frames, identification by address in use or not
//!     15th byte taken    class of the priority code point
//!     turn + 2           stream by address; the turns follow the header
//!     T + 1              port in use, identification by IPv4 and its mask, members of the VLAN
//!     T + 2              stream by IPv4, forwarding database
//!     T + 5              ports in use, ATS classes, rate
//!     T + 6 .. T + 9     overhead, residence time, ProcessingDelayMax (twice: to compare, and to add)
//!     T' .. T' + 2       of the port's next turn T': learning in use, members, forwarding database
//!     B + 1              queueMaxSDU and the largest windows of the gates
//!     B + 1 .. B + 3     limits: of the queue, of the class, of reception port and store
//! ```
use penstock_shaper::admission::Limits;

use super::fdb::address_of;
use super::identify::{destination_key, ipv4_key, source_key, Key};
use super::judge::{Shape, GROUP_ADDRESS, NO_VLAN, PCP_AT, RESERVED};
use super::timing::Cycles;
use super::{reason, Bridge, Identify, Received, Tick};
use crate::header::Headers;
use crate::trace::Reason;

/// None: not read yet.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    base: Option<Base>,
    class_of_pcp: Option<u8>,
    by_destination: Option<Option<u16>>,
    by_source: Option<Option<u16>>,
    record: Option<Record>,
    by_ipv4: Option<Option<u16>>,
    found: Option<Option<u64>>,
    decision: Option<Forwarding>,
    overhead_bytes: Option<i32>,
    residence_ns: Option<u32>,
    delay_to_compare_ns: Option<u32>,
    delay_ns: Option<u32>,
    /// Of a shaped frame.
    pub shape: Option<Shape>,
    is_shaped: bool,
    /// The source address goes to the database, and is it stored?
    pub learning: Option<bool>,
    pub is_heard: Option<bool>,
    is_learnt: bool,
    pub source_set: u32,
    pub begin: Option<Tick>,
    queue_limits: Option<(u32, u32)>,
    too_long: Option<u64>,
    class_limit: Option<u32>,
    store_limits: Option<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Base {
    vlan: u16,
    class: u8,
    identify: Identify,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    disabled: bool,
    key: Option<Key>,
    members: u64,
}

#[derive(Clone, Copy, Debug)]
struct Forwarding {
    port_enable: u64,
    ats_classes: u8,
}

fn read<T>(fact: &mut Option<T>, at: Tick, until: Tick, value: impl FnOnce() -> T) {
    if fact.is_none() && at < until {
        *fact = Some(value());
    }
}

impl Facts {
    /// The stream that was found, also of a frame that is in error.
    pub fn stream(&self) -> Option<u32> {
        let by_address = || self.by_destination.flatten().or(self.by_source.flatten());
        self.by_ipv4.flatten().or_else(by_address).map(u32::from)
    }

    pub fn traffic_class(&self) -> u8 {
        self.class_of_pcp.or(self.base.map(|base| base.class)).unwrap_or(0)
    }

    /// Egress ports for which it is too long.
    pub fn too_long(&self) -> u64 {
        self.too_long.unwrap_or(0)
    }

    pub fn limits(&self, now: &Limits) -> Limits {
        let mut limits = *now;
        let class = usize::from(self.traffic_class());
        if let Some((queue, guarantee)) = self.queue_limits {
            limits.queue[class] = queue;
            limits.queue_guarantee = guarantee;
        }
        if let Some(cells) = self.class_limit {
            limits.class[class] = cells;
        }
        if let Some((reception, shared)) = self.store_limits {
            limits.reception_guarantee = reception;
            limits.shared = shared;
        }
        limits
    }
}

impl Bridge {
    /// Where the frame goes, or why it goes nowhere; as far as it is known.
    pub(super) fn way(&self, port: u16, received: &Received, facts: &Facts, headers: &Headers) -> (Reason, u64) {
        let header = headers.get(received.header);
        let record = facts.record.unwrap_or(Record { disabled: true, key: None, members: 0 });
        if received.fault != reason::NONE {
            return (received.fault, 0);
        }
        if record.disabled {
            return (reason::PORT_DISABLED, 0);
        }
        if header.destination >> 4 == RESERVED {
            return (reason::RESERVED_ADDRESS, 0);
        }
        if self.vlan_of(facts, received, headers) == NO_VLAN || record.members >> port & 1 == 0 {
            return (reason::VLAN, 0);
        }
        let enabled = facts.decision.map_or(0, |decision| decision.port_enable);
        let ports = facts.found.flatten().unwrap_or(u64::MAX);
        let wanted = ports & record.members & enabled & self.all_ports & !(1 << port);
        (if wanted == 0 { reason::NO_DESTINATION } else { reason::NONE }, wanted)
    }

    fn vlan_of(&self, facts: &Facts, received: &Received, headers: &Headers) -> u16 {
        match headers.get(received.header).tag {
            Some(tag) if tag.vlan != 0 => tag.vlan & 0xFFF,
            _ => facts.base.map_or(0, |base| base.vlan),
        }
    }

    /// Reads what is read before `until`: of the record, or of the learning that follows it.
    pub(super) fn read_facts(
        &mut self,
        port: u16,
        received: &Received,
        facts: &mut Facts,
        until: Tick,
        cycles: Cycles,
        headers: &Headers,
    ) {
        let header = headers.get(received.header);
        let turn = received.turn;
        let whole = received.fault == reason::NONE;
        let settings = &self.settings;
        read(&mut facts.base, received.taken, until, || Base {
            vlan: settings.port_vlan_id[usize::from(port)],
            class: settings.class_of_untagged,
            identify: settings.identify,
        });
        let lost_at = received.bytes - u16::from(received.fault == reason::OVERRUN);
        if let Some(tag) = header.tag.filter(|_| received.bytes > PCP_AT) {
            let pcp = if lost_at == PCP_AT { 0 } else { tag.pcp & 7 };
            let at = received.taken + Tick::from(PCP_AT);
            read(&mut facts.class_of_pcp, at, until, || settings.class_of_pcp[usize::from(pcp)]);
        }
        let Some(base) = facts.base else { return };
        let vlan = self.vlan_of(facts, received, headers);
        let streams = &self.streams;
        let known = received.taken + if header.tag.is_some() { 16 } else { 14 };
        let first_turn = cycles.turn(port, known);
        let second_turn = first_turn + cycles.ports;
        let source_turn = if base.identify.destination { second_turn } else { first_turn };
        read(&mut facts.by_destination, first_turn + 2, until, || {
            let asked = base.identify.destination && first_turn <= received.last;
            asked.then(|| streams.find(destination_key(port, vlan, header))).flatten()
        });
        read(&mut facts.by_source, source_turn + 2, until, || {
            let asked = base.identify.source && source_turn <= received.last;
            asked.then(|| streams.find(source_key(port, vlan, header))).flatten()
        });
        read(&mut facts.record, turn + 1, until, || Record {
            disabled: settings.port_enable >> port & 1 == 0,
            key: header
                .ipv4
                .filter(|_| whole && settings.identify.ipv4)
                .map(|fields| ipv4_key(port, fields.key() & settings.ipv4_mask)),
            members: self.members(vlan),
        });
        let key = facts.record.and_then(|record| record.key);
        read(&mut facts.by_ipv4, turn + 2, until, || key.and_then(|key| streams.find(key)));
        if whole && facts.found.is_none() && turn + 2 < until {
            let address = address_of(vlan, header.destination);
            facts.found = Some(self.find(turn, address));
        }
        let settings = &self.settings;
        read(&mut facts.decision, turn + 5, until, || Forwarding {
            port_enable: settings.port_enable,
            ats_classes: settings.ats_classes,
        });
        read(&mut facts.overhead_bytes, turn + 6, until, || settings.overhead_bytes);
        let class = facts.traffic_class();
        let group = self.group(port, class);
        read(&mut facts.residence_ns, turn + 7, until, || self.residences_ns[group]);
        read(&mut facts.delay_to_compare_ns, turn + 8, until, || settings.processing_delay_max_ns);
        read(&mut facts.delay_ns, turn + 9, until, || settings.processing_delay_max_ns);
        self.shape_by_facts(port, received, facts, until, headers);
        let limits = &self.settings.limits;
        if let Some(begin) = facts.begin {
            let class = usize::from(class);
            read(&mut facts.too_long, begin + 1, until, || self.too_long(begin + 1, class, received.bytes));
            read(&mut facts.queue_limits, begin + 1, until, || (limits.queue[class], limits.queue_guarantee));
            read(&mut facts.class_limit, begin + 2, until, || limits.class[class]);
            read(&mut facts.store_limits, begin + 3, until, || (limits.reception_guarantee, limits.shared));
        }
    }

    fn shape_by_facts(&mut self, port: u16, received: &Received, facts: &mut Facts, until: Tick, headers: &Headers) {
        let (Some(decision), Some(stream)) = (facts.decision, facts.stream()) else { return };
        facts.is_shaped = decision.ats_classes >> facts.traffic_class() & 1 == 1
            && self.way(port, received, facts, headers).0 == reason::NONE;
        let (Some(overhead), Some(residence_ns)) = (facts.overhead_bytes, facts.residence_ns) else { return };
        let (Some(compared), Some(added)) = (facts.delay_to_compare_ns, facts.delay_ns) else { return };
        if facts.is_shaped && facts.shape.is_none() && received.turn + 9 < until {
            let group = self.group(port, facts.traffic_class());
            facts.shape = Some(self.shape_in_cycles(received, group, stream, overhead, residence_ns, compared, added));
        }
    }

    /// Whether an ATS scheduler gives the frame its time.
    pub(super) fn is_shaped(facts: &Facts) -> bool {
        facts.is_shaped
    }

    /// Reads what the learning of the source address reads before `until`.
    pub(super) fn read_learning(
        &mut self,
        port: u16,
        received: &Received,
        facts: &mut Facts,
        until: Tick,
        cycles: Cycles,
        headers: &Headers,
    ) {
        let header = headers.get(received.header);
        let turn = received.turn + cycles.ports;
        if facts.base.is_none() {
            return;
        }
        let vlan = self.vlan_of(facts, received, headers);
        let address = address_of(vlan, header.source);
        facts.source_set = self.fdb.set_of(address);
        let settings = &self.settings;
        let may = received.fault == reason::NONE && header.source & GROUP_ADDRESS == 0 && vlan != NO_VLAN;
        read(&mut facts.learning, turn, until, || {
            may && settings.learning_enable && settings.port_enable >> port & 1 == 1
        });
        let learning = facts.learning == Some(true);
        let members = self.members(vlan);
        read(&mut facts.is_heard, turn + 1, until, || learning && members >> port & 1 == 1);
        if let Some(allowed) = facts.is_heard.filter(|_| learning && !facts.is_learnt && turn + 2 < until) {
            facts.is_learnt = true;
            self.fdb.learn(turn, facts.source_set, address, port, allowed);
        }
    }
}
