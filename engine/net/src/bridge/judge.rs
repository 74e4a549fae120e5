// SPDX-License-Identifier: Apache-2.0
//! What becomes of a received frame: identification, forwarding, shaping, admission.
use penstock_shaper::admission::{cells_of, Limits, CLASSES};
use penstock_shaper::ats::{process_frame_at, TICKS_PER_NS};
use penstock_shaper::egress::Queued;

use super::facts::Facts;
use super::fdb::address_of;
use super::identify::{destination_key, ipv4_key, source_key};
use super::memos::{key_of, Classified, Memos, NOT_FOUND, NO_STREAM};
use super::timing::{
    visible_cycles, Clock, Cycles, ADMISSION_INTERVAL, ADMISSION_TO_VERDICT, CYCLE_NS, RX_LATENCY_CYCLES,
    TURN_TO_ADMISSION,
};
use super::{reason, Bridge, Judgement, Pending, Port, Received, Tick, NEVER};
use crate::header::{Header, Headers};
use crate::trace::Reason;

pub const NO_VLAN: u16 = 0xFFF;
pub const GROUP_ADDRESS: u64 = 1 << 40;
/// 01-80-C2-00-00-00 to -0F.
pub const RESERVED: u64 = 0x0180_C200_0000 >> 4;
/// Place of the priority code point.
pub const PCP_AT: u16 = 14;
const PS_PER_NS: u64 = 1_000;

/// What an ATS scheduler says of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub visible: Tick,
    /// It does not stay too long.
    pub pass: bool,
}

/// Of what a header says, what decides about each frame.
#[derive(Clone, Copy, Debug)]
struct Way {
    wanted: u64,
    stream: u32,
    traffic_class: u8,
    refused: Reason,
    is_shaped: bool,
}

impl Way {
    #[inline(always)]
    fn new(seen: &Classified) -> Self {
        let &Classified { wanted, stream, traffic_class, refused, is_shaped, .. } = seen;
        Self { wanted, stream, traffic_class, refused, is_shaped }
    }

    #[inline(always)]
    fn reason(&self) -> Reason {
        if self.wanted == 0 && self.refused == reason::NONE {
            return reason::NO_DESTINATION;
        }
        self.refused
    }
}

impl Bridge {
    /// Judges the frame of a port that is next; `out` is overwritten. A frame that finds its port free is sent at once
    /// when its selection comes before `before` and nothing can come between.
    #[inline(always)]
    pub fn judge(
        &mut self,
        now: Tick,
        port: u16,
        headers: &Headers,
        memos: &mut Memos,
        before: Tick,
        out: &mut Judgement,
    ) {
        out.wakes.clear();
        out.passed = None;
        out.destination = 0;
        (out.queue_full, out.class_full, out.store_full, out.max_sdu) = (0, 0, 0, 0);
        out.stream = None;
        out.shaped = false;
        let pending = &mut self.ports[usize::from(port)].pending;
        let Some(Pending { received, facts }) = pending.get_mut(0) else {
            *out = Judgement::default();
            return;
        };
        let (received, facts) = (*received, facts.take());
        pending.drop_front();
        self.judgements[usize::from(port)] = pending.of_first(|next| self.clock.judge(next.received.turn), NEVER);
        (out.frame, out.bytes, out.memo) = (received.frame, received.bytes, received.memo);
        if let (Some(facts), Clock::Hardware(cycles)) = (facts, &self.clock) {
            let cycles = *cycles;
            return self.judge_by_facts(now, port, &received, *facts, cycles, headers, out);
        }
        let begin = match &self.clock {
            Clock::Hardware(cycles) => {
                let begin = (received.turn + TURN_TO_ADMISSION).max(self.next_decision);
                self.next_decision = begin + ADMISSION_INTERVAL;
                out.visible = received.last + cycles.visible();
                out.decided = begin + ADMISSION_TO_VERDICT;
                begin
            }
            Clock::Ideal(ideal) => {
                out.visible = received.last + ideal.processing_delay_ps;
                out.decided = now;
                now + 1
            }
        };
        out.reason = received.fault;
        if received.fault != reason::NONE {
            out.traffic_class = self.class_of(headers.get(received.header), &received);
            return;
        }
        let version = self.fdb.version(received.turn);
        let known = memos.get(received.memo, key_of(port, received.header), self.version);
        let way = match known.filter(|seen| version == Some(seen.found_version)) {
            Some(seen) => Way::new(seen),
            None => self.find_way(port, &received, headers, memos),
        };
        out.traffic_class = way.traffic_class;
        out.stream = (way.stream != NO_STREAM).then_some(way.stream);
        out.reason = way.reason();
        if out.reason != reason::NONE {
            return;
        }
        if way.is_shaped {
            let shape = self.shape(port, &received, &way, out.visible);
            out.shaped = true;
            out.visible = shape.visible;
            if !shape.pass {
                out.reason = reason::RESIDENCE;
                return;
            }
        }
        self.admit(now, begin, port, &received, way.wanted, None, before, out);
    }

    /// As [`Self::judge`], of a frame that was on its way when something changed.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)] // as those of a judgement
    fn judge_by_facts(
        &mut self,
        now: Tick,
        port: u16,
        received: &Received,
        mut facts: Facts,
        cycles: Cycles,
        headers: &Headers,
        out: &mut Judgement,
    ) {
        self.all_facts(port, received, &mut facts, cycles, headers);
        let begin = facts.begin.unwrap_or(NEVER);
        let (reason, wanted) = self.way(port, received, &facts, headers);
        out.reason = reason;
        out.visible = received.last + cycles.visible();
        out.decided = begin + ADMISSION_TO_VERDICT;
        out.traffic_class = facts.traffic_class();
        out.stream = facts.stream().filter(|_| received.fault == reason::NONE);
        if let Some(shape) = facts.shape {
            out.shaped = true;
            out.visible = shape.visible;
            if !shape.pass {
                out.reason = reason::RESIDENCE;
            }
        }
        if out.reason == reason::NONE {
            let limits = facts.limits(&self.settings.limits);
            self.admit(now, begin, port, received, wanted, Some((&limits, facts.too_long())), 0, out);
        }
    }

    pub(super) fn group(&self, port: u16, traffic_class: u8) -> usize {
        usize::from(port) * CLASSES + usize::from(traffic_class)
    }

    pub(super) fn find(&mut self, turn: Tick, address: u64) -> Option<u64> {
        let known = self.static_addresses.binary_search_by_key(&address, |&(address, _)| address);
        match known {
            Ok(index) => Some(self.static_addresses[index].1),
            Err(_) => self.fdb.find(turn, self.fdb.set_of(address), address),
        }
    }

    fn class_of(&self, header: &Header, received: &Received) -> u8 {
        // The byte that ends a frame of which the rest was lost reads as zero.
        let lost_at = received.bytes - u16::from(received.fault == reason::OVERRUN);
        match header.tag.filter(|_| received.bytes > PCP_AT) {
            Some(_) if lost_at == PCP_AT => self.settings.class_of_pcp[0],
            Some(tag) => self.settings.class_of_pcp[usize::from(tag.pcp & 7)],
            None => self.settings.class_of_untagged,
        }
    }

    #[cold]
    fn classify(&self, port: u16, received: &Received, headers: &Headers) -> Classified {
        let header = headers.get(received.header);
        let settings = &self.settings;
        let vlan = match header.tag {
            Some(tag) if tag.vlan != 0 => tag.vlan & 0xFFF,
            _ => settings.port_vlan_id[usize::from(port)],
        };
        let members = self.members(vlan);
        let is_member = members >> port & 1 == 1;
        let is_enabled = settings.port_enable >> port & 1 == 1;
        let refused = match () {
            () if !is_enabled => reason::PORT_DISABLED,
            () if header.destination >> 4 == RESERVED => reason::RESERVED_ADDRESS,
            () if vlan == NO_VLAN || !is_member => reason::VLAN,
            () => reason::NONE,
        };
        let destination = address_of(vlan, header.destination);
        let known = self.static_addresses.binary_search_by_key(&destination, |&(address, _)| address);
        let stream = self.stream_of(port, vlan, header).map_or(NO_STREAM, u32::from);
        let traffic_class = self.class_of(header, received);
        Classified {
            key: key_of(port, received.header),
            version: self.version,
            stream,
            reach: members & settings.port_enable & self.all_ports & !(1 << port),
            ports: known.map_or(0, |index| self.static_addresses[index].1),
            destination_set: self.fdb.set_of(destination),
            source_set: self.fdb.set_of(address_of(vlan, header.source)),
            vlan,
            traffic_class,
            refused,
            is_shaped: stream != NO_STREAM && settings.ats_classes >> traffic_class & 1 == 1,
            is_learnt: settings.learning_enable && is_enabled && header.source & GROUP_ADDRESS == 0 && vlan != NO_VLAN,
            is_member,
            ..Classified::default()
        }
    }

    fn stream_of(&self, port: u16, vlan: u16, header: &Header) -> Option<u16> {
        let identify = self.settings.identify;
        let mask = self.settings.ipv4_mask;
        let ipv4 = header.ipv4.filter(|_| identify.ipv4);
        ipv4.and_then(|fields| self.streams.find(ipv4_key(port, fields.key() & mask)))
            .or_else(|| {
                let key = destination_key(port, vlan, header);
                identify.destination.then(|| self.streams.find(key)).flatten()
            })
            .or_else(|| identify.source.then(|| self.streams.find(source_key(port, vlan, header))).flatten())
    }

    /// Asks the database, and notes the answer while it does not change.
    #[cold]
    fn find_way(&mut self, port: u16, received: &Received, headers: &Headers, memos: &mut Memos) -> Way {
        let known = memos.get(received.memo, key_of(port, received.header), self.version);
        let mut seen = known.copied().unwrap_or_else(|| self.classify(port, received, headers));
        let header = headers.get(received.header);
        // Looked up whatever comes of it, for the sweep makes way for that.
        let ports = match seen.ports {
            0 => {
                let address = address_of(seen.vlan, header.destination);
                self.fdb.find(received.turn, seen.destination_set, address).unwrap_or(u64::MAX)
            }
            ports => ports,
        };
        seen.wanted = ports & seen.reach;
        let source = address_of(seen.vlan, header.source);
        let is_known = !seen.is_learnt || self.fdb.knows(seen.source_set, source, port);
        seen.found_version = self.fdb.version(received.turn).filter(|_| is_known).unwrap_or(NOT_FOUND);
        memos.put(received.memo, seen);
        if seen.is_learnt && seen.found_version == NOT_FOUND {
            // In the port's next turn.
            let at = match &self.clock {
                Clock::Hardware(cycles) => received.turn + cycles.ports,
                Clock::Ideal(_) => received.turn,
            };
            self.fdb.learn(at, seen.source_set, source, port, seen.is_member);
        }
        Way::new(&seen)
    }

    /// When a frame of a shaped stream may be selected.
    fn shape(&mut self, port: u16, received: &Received, way: &Way, earliest: Tick) -> Shape {
        let group = self.group(port, way.traffic_class);
        let residence_ns = self.residences_ns[group];
        let overhead = self.settings.overhead_bytes;
        let delay_ns = self.settings.processing_delay_max_ns;
        if let Clock::Hardware(_) = &self.clock {
            return self.shape_in_cycles(received, group, way.stream, overhead, residence_ns, delay_ns, delay_ns);
        }
        let group = &mut self.groups[group];
        group.set_max_residence_ns(residence_ns);
        let scheduler = &mut self.schedulers[way.stream as usize];
        let last = i128::from(received.last);
        // Rounded down; a division of 128 bit would take long.
        let (ns, ps) = (received.last / PS_PER_NS, received.last % PS_PER_NS);
        let arrival = i128::from(ns) * TICKS_PER_NS + i128::from((ps << TICKS_PER_NS.trailing_zeros()) / PS_PER_NS);
        let length = u32::from(received.bytes).saturating_add_signed(overhead);
        let (eligible, pass) = process_frame_at(group, scheduler, arrival, length);
        let wait_ps = ((eligible - arrival) * i128::from(PS_PER_NS) + TICKS_PER_NS - 1) / TICKS_PER_NS;
        let visible = last + wait_ps + i128::from(u64::from(delay_ns) * PS_PER_NS);
        Shape { visible: earliest.max(Tick::try_from(visible).unwrap_or(NEVER)), pass }
    }

    /// The same in the hardware's cycles. The delay is read twice: to compare, and to add.
    #[allow(clippy::too_many_arguments)] // each may be of another time
    pub(super) fn shape_in_cycles(
        &mut self,
        received: &Received,
        group: usize,
        stream: u32,
        overhead_bytes: i32,
        residence_ns: u32,
        delay_to_compare_ns: u32,
        delay_ns: u32,
    ) -> Shape {
        let ticks = |ns: u64| i128::from(ns) * TICKS_PER_NS;
        let group = &mut self.groups[group];
        group.set_max_residence_ns(residence_ns);
        let arrival = ticks(CYCLE_NS * (received.last - RX_LATENCY_CYCLES));
        let length = u32::from(received.bytes).saturating_add_signed(overhead_bytes);
        let Some(scheduler) = self.schedulers.get_mut(stream as usize) else {
            return Shape { visible: NEVER, pass: false };
        };
        let (eligible, pass) = process_frame_at(group, scheduler, arrival, length);
        let visible = received.last + visible_cycles(self.ports());
        if eligible <= ticks(CYCLE_NS * visible) - ticks(u64::from(delay_to_compare_ns)) {
            return Shape { visible, pass };
        }
        let cycle = ticks(CYCLE_NS);
        let assigned = (eligible + ticks(u64::from(delay_ns)) + cycle - 1).div_euclid(cycle);
        Shape { visible: Tick::try_from(assigned).unwrap_or(NEVER), pass }
    }

    /// Egress ports for which a frame is too long, as far as that is read at `at`.
    pub(super) fn too_long(&self, at: Tick, traffic_class: usize, bytes: u16) -> u64 {
        if !self.is_shaped {
            return 0;
        }
        let is_long = |(egress, port): &(usize, &Port)| {
            port.egress.is_too_long(&self.line(*egress as u16), at, traffic_class, bytes)
        };
        self.ports.iter().enumerate().filter(is_long).fold(0, |mask, (egress, _)| mask | 1 << egress)
    }

    /// Queues the copies that are accepted.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)] // limits and lengths may be of another time
    fn admit(
        &mut self,
        now: Tick,
        begin: Tick,
        port: u16,
        received: &Received,
        wanted: u64,
        limits: Option<(&Limits, u64)>,
        before: Tick,
        out: &mut Judgement,
    ) {
        if self.next_release < begin {
            self.release_before(begin);
        }
        let cells = cells_of(u32::from(received.bytes));
        let class = usize::from(out.traffic_class);
        let (limits, too_long) = match limits {
            Some(read) => read,
            None => (&self.settings.limits, self.too_long(begin + 1, class, received.bytes)),
        };
        let decision = self.admission.decide(limits, wanted, too_long, class, usize::from(port), cells);
        out.destination = decision.accepted;
        out.max_sdu = decision.max_sdu;
        (out.queue_full, out.class_full) = (decision.queue_full, decision.class_full);
        out.store_full = decision.store_full;
        let whole = out.visible;
        let visible_at = |clock: &Clock, shaped: bool, egress: u16| match clock {
            Clock::Ideal(ideal) if ideal.cut_through && !shaped && ideal.is_slower_or_equal(egress, port) => {
                received.turn + ideal.processing_delay_ps
            }
            _ => whole,
        };
        let is_only = wanted.is_power_of_two();
        let mut left = decision.accepted;
        while left != 0 {
            let egress = left.trailing_zeros() as u16;
            left &= left - 1;
            let visible = visible_at(&self.clock, out.shaped, egress);
            out.visible = out.visible.min(visible);
            let copy = Queued {
                visible,
                frame: received.frame,
                bytes: received.bytes,
                reception: port,
                traffic_class: out.traffic_class,
                pool: decision.pool_of(usize::from(egress)),
            };
            if is_only && received.is_alone {
                out.passed = self.pass(now, out.decided, before, egress, &copy);
                if out.passed.is_some() {
                    return;
                }
            }
            let (state, line) = self.egress(egress);
            let head = state.egress.enqueue(copy);
            state.enqueued(&line, out.decided, head);
            if state.egress.is_shaped() {
                let before = state.due;
                let due = if head { state.plan(&line, now) } else { None };
                out.wakes.extend(due.filter(|due| *due != before).map(|due| (egress, due)));
                continue;
            }
            let due = visible.max(state.egress.free());
            if head && due < state.due {
                state.due = due;
                out.wakes.push((egress, due));
            }
        }
    }
}
