// SPDX-License-Identifier: Apache-2.0
//! What becomes of a received frame: identification, forwarding, shaping, admission.
use penstock_shaper::admission::{cells_of, CLASSES};
use penstock_shaper::ats::{process_frame_at, TICKS_PER_NS};
use penstock_shaper::queue::Queued;

use super::classes::{Classified, NO_STREAM};
use super::fdb::address_of;
use super::identify::{destination_key, ipv4_key, source_key};
use super::timing::{Clock, ADMISSION_INTERVAL, ADMISSION_TO_VERDICT, CYCLE_NS, RX_LATENCY_CYCLES, TURN_TO_ADMISSION};
use super::{reason, Bridge, Judgement, Pending, Tick, NEVER};
use crate::header::{Header, HeaderId, Headers};
use crate::trace::Reason;

const NO_VLAN: u16 = 0xFFF;
const GROUP_ADDRESS: u64 = 1 << 40;
/// 01-80-C2-00-00-00 to -0F.
const RESERVED: u64 = 0x0180_C200_0000 >> 4;
const PS_PER_NS: i128 = 1_000;

impl Bridge {
    /// Judges the frame of a port whose turn it is; `out` is overwritten.
    pub fn judge(&mut self, now: Tick, port: u16, headers: &Headers, out: &mut Judgement) {
        out.wakes.clear();
        let Some(pending) = self.ports[usize::from(port)].pending.pop_front() else {
            *out = Judgement::default();
            return;
        };
        self.inside -= 1;
        let begin = match &self.clock {
            Clock::Hardware(_) => {
                let begin = (pending.turn + TURN_TO_ADMISSION).max(self.next_decision);
                self.next_decision = begin + ADMISSION_INTERVAL;
                begin
            }
            Clock::Ideal(_) => now + 1,
        };
        let earliest = match &self.clock {
            Clock::Hardware(cycles) => pending.last + cycles.visible(),
            Clock::Ideal(ideal) => pending.last + ideal.processing_delay_ps,
        };
        out.frame = pending.frame;
        out.bytes = pending.bytes;
        out.reason = pending.fault;
        out.destination = 0;
        (out.queue_full, out.class_full, out.store_full) = (0, 0, 0);
        out.visible = earliest;
        out.stream = None;
        out.shaped = false;
        out.decided = match &self.clock {
            Clock::Hardware(_) => begin + ADMISSION_TO_VERDICT,
            Clock::Ideal(_) => now,
        };
        if pending.fault != reason::NONE {
            out.traffic_class = self.class_of(headers.get(pending.header));
            return;
        }
        let seen = match self.classes.get(port, pending.header) {
            Some(seen) => *seen,
            None => self.classify(port, pending.header, headers),
        };
        out.traffic_class = seen.traffic_class;
        out.stream = (seen.stream != NO_STREAM).then_some(seen.stream);
        let header = headers.get(pending.header);
        let (reason, wanted) = self.forward(port, &pending, &seen, header);
        self.hear(port, &pending, &seen, header);
        out.reason = reason;
        if reason != reason::NONE {
            return;
        }
        if seen.stream != NO_STREAM && self.settings.ats_classes >> seen.traffic_class & 1 == 1 {
            out.shaped = true;
            match self.shape(port, &pending, &seen, earliest) {
                Some(visible) => out.visible = visible,
                None => {
                    out.reason = reason::RESIDENCE;
                    return;
                }
            }
        }
        self.admit(begin, port, &pending, wanted, out);
    }

    fn class_of(&self, header: &Header) -> u8 {
        header.tag.map_or(self.settings.class_of_untagged, |tag| self.settings.class_of_pcp[usize::from(tag.pcp & 7)])
    }

    fn classify(&mut self, port: u16, id: HeaderId, headers: &Headers) -> Classified {
        let header = headers.get(id);
        let vlan = match header.tag {
            Some(tag) if tag.vlan != 0 => tag.vlan & 0xFFF,
            _ => self.settings.port_vlan_id[usize::from(port)],
        };
        let destination = address_of(vlan, header.destination);
        let known = self.static_addresses.binary_search_by_key(&destination, |&(address, _)| address);
        let classified = Classified {
            stream: self.stream_of(port, vlan, header).map_or(NO_STREAM, u32::from),
            members: self.vlans[usize::from(vlan)],
            ports: known.map_or(0, |index| self.static_addresses[index].1),
            destination_set: self.fdb.set_of(destination),
            source_set: self.fdb.set_of(address_of(vlan, header.source)),
            vlan,
            traffic_class: self.class_of(header),
            reserved_address: header.destination >> 4 == RESERVED,
            from_station: header.source & GROUP_ADDRESS == 0,
            ..Classified::default()
        };
        *self.classes.put(port, id, classified)
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

    /// Where the frame goes, or why it goes nowhere.
    fn forward(&mut self, port: u16, pending: &Pending, seen: &Classified, header: &Header) -> (Reason, u64) {
        if self.settings.port_enable >> port & 1 == 0 {
            return (reason::PORT_DISABLED, 0);
        }
        if seen.reserved_address {
            return (reason::RESERVED_ADDRESS, 0);
        }
        if seen.vlan == NO_VLAN || seen.members >> port & 1 == 0 {
            return (reason::VLAN, 0);
        }
        let ports = match seen.ports {
            0 => {
                let address = address_of(seen.vlan, header.destination);
                self.fdb.find(pending.turn, seen.destination_set, address).unwrap_or(u64::MAX)
            }
            ports => ports,
        };
        let wanted = ports & seen.members & self.settings.port_enable & self.all_ports & !(1 << port);
        (if wanted == 0 { reason::NO_DESTINATION } else { reason::NONE }, wanted)
    }

    /// Learns the source address in the port's next turn.
    fn hear(&mut self, port: u16, pending: &Pending, seen: &Classified, header: &Header) {
        let settings = &self.settings;
        if settings.learning_enable
            && seen.from_station
            && seen.vlan != NO_VLAN
            && settings.port_enable & seen.members & 1 << port != 0
        {
            let at = match &self.clock {
                Clock::Hardware(cycles) => pending.turn + cycles.ports,
                Clock::Ideal(_) => pending.turn,
            };
            self.fdb.learn(at, seen.source_set, address_of(seen.vlan, header.source), port);
        }
    }

    /// When a frame of a shaped stream may be selected; none if it would stay too long.
    fn shape(&mut self, port: u16, pending: &Pending, seen: &Classified, earliest: Tick) -> Option<Tick> {
        let group = &mut self.groups[usize::from(port) * CLASSES + usize::from(seen.traffic_class)];
        let scheduler = &mut self.schedulers[seen.stream as usize];
        let length = u32::from(pending.bytes) + self.settings.overhead_bytes;
        let delay_ns = i128::from(self.settings.processing_delay_max_ns);
        let visible = match &self.clock {
            Clock::Hardware(_) => {
                let arrival_ns = CYCLE_NS * (pending.last - RX_LATENCY_CYCLES);
                let arrival = i128::from(arrival_ns) * TICKS_PER_NS;
                let eligible = process_frame_at(group, scheduler, arrival, length)?;
                let cycle = TICKS_PER_NS * i128::from(CYCLE_NS);
                (eligible + delay_ns * TICKS_PER_NS + cycle - 1).div_euclid(cycle)
            }
            Clock::Ideal(_) => {
                let last = i128::from(pending.last);
                let arrival = last * TICKS_PER_NS / PS_PER_NS;
                let eligible = process_frame_at(group, scheduler, arrival, length)?;
                let wait_ps = ((eligible - arrival) * PS_PER_NS + TICKS_PER_NS - 1) / TICKS_PER_NS;
                last + wait_ps + delay_ns * PS_PER_NS
            }
        };
        Some(earliest.max(Tick::try_from(visible).unwrap_or(NEVER)))
    }

    /// Queues the copies that are accepted.
    fn admit(&mut self, begin: Tick, port: u16, pending: &Pending, wanted: u64, out: &mut Judgement) {
        while let Some(release) = self.releases.front().filter(|release| release.at < begin) {
            let (egress, class) = (usize::from(release.egress), usize::from(release.traffic_class));
            self.admission.release(egress, class, usize::from(release.reception), release.pool, release.cells);
            self.releases.pop_front();
        }
        let cells = cells_of(u32::from(pending.bytes));
        let class = usize::from(out.traffic_class);
        let decision = self.admission.decide(&self.settings.limits, wanted, class, usize::from(port), cells);
        out.destination = decision.accepted;
        (out.queue_full, out.class_full) = (decision.queue_full, decision.class_full);
        out.store_full = decision.store_full;
        let whole = out.visible;
        let mut left = decision.accepted;
        while left != 0 {
            let egress = left.trailing_zeros() as u16;
            left &= left - 1;
            let mut visible = whole;
            if let Clock::Ideal(ideal) = &self.clock {
                if ideal.cut_through && !out.shaped && ideal.is_slower_or_equal(egress, port) {
                    visible = pending.turn + ideal.processing_delay_ps;
                    out.visible = out.visible.min(visible);
                }
            }
            let state = &mut self.ports[usize::from(egress)];
            let head = state.queues.push(Queued {
                visible,
                frame: pending.frame,
                bytes: pending.bytes,
                reception: port,
                traffic_class: out.traffic_class,
                pool: decision.pool_of(usize::from(egress)),
            });
            self.inside += 1;
            let due = visible.max(state.free);
            if head && due < state.due {
                state.due = due;
                out.wakes.push((egress, due));
            }
        }
    }
}
