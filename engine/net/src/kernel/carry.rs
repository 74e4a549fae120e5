// SPDX-License-Identifier: Apache-2.0
//! From an egress port to the next node.
use super::Kernel;
use crate::error::{wrong, RunError};
use crate::frame::Frame;
use crate::link::Wire;
use crate::nodes::{Leaving, Member};
use crate::queue::{self, Kind};
use crate::trace::{Event, Reason, Row, Trace};

impl Kernel {
    /// What a node has sent goes onto its wire, if there is one.
    #[inline(always)]
    pub(super) fn depart(&mut self, node: u32, leaving: Leaving) -> Result<(), RunError> {
        let Leaving { slot, port, traffic_class, first } = leaving;
        let slot = self.frames.part(slot);
        self.row(slot, (node, port), Event::Sent, first, traffic_class, Reason::NONE);
        let wire = self.links.from(node, port);
        let mut damaged = None;
        if let Some(wire) = wire.filter(|_| !self.faults.is_empty()) {
            let Some(passed) = self.brave(slot, (node, port), wire, first, traffic_class) else { return Ok(()) };
            damaged = passed;
        }
        let Some(wire) = wire else {
            self.around.simulation.frame_hops += 1;
            self.around.ledger.leave(self.frames.remove(slot));
            return Ok(());
        };
        let frame = self.frames.get_mut(slot);
        frame.hop = self.around.ledger.routes().after(frame.hop, port);
        self.carry(slot, wire, first, traffic_class, damaged).map(drop)
    }

    /// A talker's frame goes into the network.
    #[inline]
    pub(super) fn enter(&mut self, slot: u32, from: u32, wire: Wire, first: u64) -> Result<(), RunError> {
        let frame = self.frames.get(slot);
        let (stream, bytes) = (frame.stream, u32::from(frame.bytes));
        let mut damaged = None;
        if !self.faults.is_empty() {
            let Some(passed) = self.brave(slot, (from, 0), wire, first, Trace::NO_CLASS) else { return Ok(()) };
            damaged = passed;
        }
        let received = self.carry(slot, wire, first, Trace::NO_CLASS, damaged)?;
        if let Some(conformance) = &mut self.around.ledger.statistics(stream).conformance {
            conformance.see(received + wire.rate.duration(bytes), bytes);
        }
        Ok(())
    }

    /// A copy goes over a wire; its first bit after the delimiter leaves at `first`. Gives when the next node has it. Of a
    /// damaged one, this bit flips.
    #[inline(always)]
    fn carry(
        &mut self,
        slot: u32,
        wire: Wire,
        first: u64,
        traffic_class: u8,
        damaged: Option<u64>,
    ) -> Result<u64, RunError> {
        self.around.simulation.frame_hops += 1;
        let arrives = first.saturating_add(wire.delay_ps);
        if wire.node as usize >= self.members.len() {
            match damaged {
                None => self.deliver(slot, wire, arrives, traffic_class)?,
                Some(_) => self.deliver_damaged(slot, wire, arrives, traffic_class),
            }
            return Ok(arrives);
        }
        let frame = self.frames.get_mut(slot);
        self.around.ledger.arrive(frame, wire.node);
        let is_traced = self.around.trace.wants(Event::Received, wire.node);
        let row =
            is_traced.then(|| frame.row((wire.node, wire.port), Event::Received, arrives, traffic_class, Reason::NONE));
        let (hop, stream) = (frame.hop, frame.stream);
        let told = frame.told_hop();
        let received = match &mut self.members[wire.node as usize] {
            Member::Model(model) => {
                let place = self.around.ledger.routes().hop(hop).map(|hop| hop.place);
                let fault = if damaged.is_some() { Reason::FCS } else { Reason::NONE };
                let (received, due) = model.receive(arrives, wire.port, (slot, frame), place, fault);
                self.around.queue.push(queue::Event::judgement(due, wire.node, wire.port, told));
                received
            }
            Member::Foreign { clock, partition } => {
                let (received, partition) = (clock.time(clock.at_or_after(arrives)), *partition);
                self.cross(slot, partition, wire, arrives);
                received
            }
            Member::Other(_) => {
                let frame = self.frames.remove(slot);
                self.receive_guest(frame, wire, arrives, damaged)?
            }
        };
        if self.is_large {
            self.bring_hops(hop, stream);
        }
        if let Some(row) = row {
            self.around.trace.keep(Row { time_ps: received, ..row });
        }
        Ok(received)
    }

    fn deliver(&mut self, slot: u32, wire: Wire, time: u64, traffic_class: u8) -> Result<(), RunError> {
        let mut frame = self.frames.remove(slot);
        let station = wire.node - self.members.len() as u32;
        self.around.simulation.passed(time);
        if self.captures.wants(station as usize) {
            self.fill(&frame)?;
            self.captures.add(station as usize, time, &self.buffer)?;
        }
        if self.around.ledger.deliver(&mut frame, station, time) {
            self.keep(frame.row((wire.node, 0), Event::Delivered, time, traffic_class, Reason::NONE));
            if !self.origins[frame.stream as usize].answers.is_empty() {
                self.answer(frame.stream, station, time + wire.rate.duration(u32::from(frame.bytes)));
            }
        }
        if self.programs.contains_key(&station) {
            self.hear(&frame, station, wire, time)?;
        }
        self.around.ledger.leave(frame);
        Ok(())
    }

    /// The bytes of a frame into the buffer: those that a node wrote, or those of its source again.
    pub(super) fn fill(&mut self, frame: &Frame) -> Result<(), RunError> {
        if let Some(content) = &frame.content {
            self.buffer.clear();
            self.buffer.extend_from_slice(&content.bytes);
            return Ok(());
        }
        let generator = &self.origins[frame.stream as usize].generator;
        generator
            .fill(frame.number, frame.bytes, &mut self.buffer)
            .map_err(|error| wrong(format!("frame {} of stream {}: {error}", frame.number, frame.stream)))
    }

    /// A frame has come whole to a listener; streams of this station may answer it.
    fn answer(&mut self, stream: u32, station: u32, came: u64) {
        if self.programs.contains_key(&station) {
            return; // which answers itself
        }
        for n in 0..self.origins[stream as usize].answers.len() {
            let index = self.origins[stream as usize].answers[n];
            let answer = &mut self.origins[index as usize];
            if answer.talker != station {
                continue;
            }
            let clock = self.stations[station as usize].clock;
            let Some(local) = answer.generator.answer(clock.schedule_at(came)) else { continue };
            let time = clock.time_of_schedule(local).unwrap_or(came).max(came);
            if time < self.duration {
                let node = self.node_of(station);
                self.around.queue.push(queue::Event::new(time, Kind::Release, node, index));
            }
        }
    }

    #[inline(always)]
    pub(super) fn row(
        &mut self,
        slot: u32,
        place: (u32, u16),
        event: Event,
        time_ps: u64,
        traffic_class: u8,
        reason: Reason,
    ) {
        if self.around.trace.wants(event, place.0) {
            self.around.trace.keep(self.frames.get(slot).row(place, event, time_ps, traffic_class, reason));
        }
    }

    /// A row that was made beforehand.
    pub(super) fn keep(&mut self, row: Row) {
        if self.around.trace.wants(row.event, row.node) {
            self.around.trace.keep(row);
        }
    }
}
