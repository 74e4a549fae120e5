// SPDX-License-Identifier: Apache-2.0
//! Where a frame goes that is received: rules, the bridge, ATS, and the queues of its egress ports.
use penstock_frame::Edit;
use penstock_frame::{Header, FCS_BYTES, GAP_BYTES, MIN_FRAME_BYTES, PREAMBLE_BYTES, TAG_BYTES};
use penstock_shaper::admission::Pool;
use penstock_shaper::ats::{process_frame_at, visible_cycle, TICKS_PER_NS};
use penstock_shaper::egress::{Queued, Tick};
use penstock_shaper::forwarding::address_of;

use super::{Arrival, Note, Plane};
use crate::arrivals::{Flow, Noted};
use crate::count::Reason;
use crate::line::TICK_NS;
use crate::table::{ethertype_of, number_in, Action, Seen};
use crate::trace::Event;

/// Ticks between the lookups of two frames, so that what is learnt of one is seen by the next.
const LEARNT_WITHIN: Tick = 8;
const SHORTEST_HEADER: usize = 14;

impl Plane {
    /// Queues a frame at each port that it is to leave by.
    pub fn receive(&mut self, arrival: &Arrival, now: Tick) {
        let port = arrival.port;
        let length = arrival.bytes.len() + if arrival.tag.is_some() { TAG_BYTES } else { 0 };
        let bytes = (length + FCS_BYTES as usize).max(MIN_FRAME_BYTES as usize);
        self.ports[port].counters.received.add(u16::try_from(bytes).unwrap_or(u16::MAX));
        if arrival.bytes.len() < SHORTEST_HEADER {
            return self.refuse(port, Reason::Runt);
        }
        if bytes > usize::from(self.longest) {
            return self.refuse(port, Reason::Giant);
        }
        if arrival.tag.is_none() && self.receive_sync(port, arrival.bytes, now) {
            return;
        }
        let Some(frame) = self.store.put(arrival.bytes, arrival.tag) else {
            return self.refuse(port, Reason::StoreFull);
        };
        let tag_bytes = length - arrival.bytes.len();
        if arrival.checksum.is_some_and(|checksum| !checksum.complete(self.store.frame_mut(frame), tag_bytes)) {
            self.store.free_if_unused(frame);
            return self.refuse(port, Reason::Runt);
        }
        if let Err(reason) = self.lead(port, frame, now) {
            self.refuse(port, reason);
            self.note(Event::Dropped, port, 0, 0, frame, now, now, Some(reason));
        }
        self.store.free_if_unused(frame);
    }

    /// Classifies a frame and queues its copies.
    fn lead(&mut self, port: usize, frame: u32, now: Tick) -> Result<(), Reason> {
        let bytes = self.store.frame(frame);
        let header = header_of(bytes);
        if header.is_reserved() {
            return Err(Reason::ReservedAddress);
        }
        let vlan = header.tag.map(|tag| tag.vlan).filter(|&vlan| vlan != 0).unwrap_or(self.ports[port].vlan);
        let seen = Seen { port, vlan, ethertype: ethertype_of(bytes, header.tag.is_some()), header: &header };
        let action = self.table.find(&seen);
        let stream = action.stream.and_then(|stream| self.table.streams().get(usize::from(stream)));
        let number = stream.and_then(|stream| stream.number).map_or(0, |at| number_in(bytes, at));
        self.notes[frame as usize] = Note { stream: action.stream, number };
        if action.drop {
            return Err(Reason::Rule);
        }
        let egress = self.egress_of(&action, port, vlan, &header, now)?;
        let class = usize::from(action.class.unwrap_or_else(|| match header.tag {
            Some(tag) => self.class_of_pcp[usize::from(tag.pcp & 7)],
            None => self.class_of_untagged,
        }));
        if action.tag.is_some_and(|tag| !self.store.edit(frame, tag)) {
            return Err(Reason::Giant);
        }
        let bytes = (self.store.frame(frame).len() + FCS_BYTES as usize).max(MIN_FRAME_BYTES as usize) as u16;
        self.note(Event::Received, port, class, bytes, frame, now, now, None);
        let (visible, shaped) = self.eligible(&action, port, class, bytes, now)?;
        let mut left = egress;
        while left != 0 {
            let to = left.trailing_zeros() as usize;
            left &= left - 1;
            if self.watch.wants(to, class) {
                self.watch.note(Noted { time_tai_ns: self.time.at(now), bytes, flow: flow_of(vlan, &header) });
            }
            if let Err(reason) = self.ports[to].judge(&self.time, now, class, bytes) {
                self.ports[to].counters.drop(reason);
                self.note(Event::Dropped, to, class, bytes, frame, now, now, Some(reason));
                continue;
            }
            let (reception, traffic_class) = (port as u16, class as u8);
            let copy = Queued {
                visible,
                frame,
                bytes,
                reception,
                edit: Edit::NONE,
                traffic_class,
                pool: Pool::Shared,
                shaped,
            };
            self.ports[to].enqueue(copy, now);
            self.store.copied(frame);
            self.note(Event::Queued, to, class, bytes, frame, now, now, None);
        }
        Ok(())
    }

    /// The ports by which a frame leaves; the source of a frame that the bridge leads is learnt.
    fn egress_of(
        &mut self,
        action: &Action,
        port: usize,
        vlan: u16,
        header: &Header,
        now: Tick,
    ) -> Result<u64, Reason> {
        let all = u64::MAX >> (64 - self.ports.len());
        let members = self.vlans.get(&vlan).copied().unwrap_or(all);
        if members >> port & 1 == 0 {
            return Err(Reason::Vlan);
        }
        self.looked = now.max(self.looked + LEARNT_WITHIN);
        if !header.is_from_group() {
            let source = address_of(vlan, header.source);
            self.fdb.learn(self.looked, self.fdb.set_of(source), source, port as u16, true);
        }
        if let Some(egress) = action.egress {
            return if egress == 0 { Err(Reason::NoDestination) } else { Ok(egress) };
        }
        let destination = address_of(vlan, header.destination);
        let known = self.fdb.find(self.looked, self.fdb.set_of(destination), destination).unwrap_or(all);
        match known & members & !(1 << port) {
            0 => Err(Reason::NoDestination),
            egress => Ok(egress),
        }
    }

    /// From when on a frame may be selected, and whether an ATS scheduler said so.
    fn eligible(
        &mut self,
        action: &Action,
        port: usize,
        class: usize,
        bytes: u16,
        now: Tick,
    ) -> Result<(Tick, bool), Reason> {
        let scheduler = action.stream.and_then(|stream| self.schedulers.get_mut(usize::from(stream))?.as_mut());
        let Some(scheduler) = scheduler else { return Ok((now, false)) };
        let arrival = i128::from(now * TICK_NS) * TICKS_PER_NS;
        let length = PREAMBLE_BYTES + u32::from(bytes) + GAP_BYTES;
        match process_frame_at(&mut self.ports[port].groups[class], scheduler, arrival, length) {
            (eligibility, true) => Ok((visible_cycle(eligibility, 0), true)),
            (_, false) => Err(Reason::Residence),
        }
    }
}

fn flow_of(vlan: u16, header: &Header) -> Flow {
    let destination_port = header.ipv4.map_or(0, |fields| fields.destination_port);
    Flow { vlan, source: header.source, destination: header.destination, destination_port }
}

/// A frame as the parser wants it: with the FCS behind, which it does not look into.
fn header_of(bytes: &[u8]) -> Header {
    /// Addresses, tag, EtherType, the longest header of IPv4, ports and the FCS.
    const LOOKED_AT: usize = 12 + 4 + 2 + 60 + 4 + 4;
    let mut head = [0; LOOKED_AT];
    let length = bytes.len().min(LOOKED_AT - FCS_BYTES as usize);
    head[..length].copy_from_slice(&bytes[..length]);
    Header::parse(&head[..length + FCS_BYTES as usize])
}
