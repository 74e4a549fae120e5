// SPDX-License-Identifier: Apache-2.0
//! From an egress port to the next node.
use super::Kernel;
use crate::bridge::reason;
use crate::error::{wrong, RunError};
use crate::frame::Frame;
use crate::link::Wire;
use crate::nodes::Member;
use crate::outbox::Departure;
use crate::queue::{self, Kind};
use crate::trace::{Event, Reason, Row, Trace};

impl Kernel {
    /// What a node has sent goes onto its wire, if there is one.
    #[inline(always)]
    pub(super) fn depart(&mut self, node: u32, departure: Departure) -> Result<(), RunError> {
        let Departure { mut frame, port, traffic_class, first } = departure;
        self.row(&frame, (node, port), Event::Sent, first, traffic_class, Reason::NONE);
        let wire = self.links.from(node, port);
        let mut damaged = None;
        if let Some(wire) = wire.filter(|_| !self.faults.is_empty()) {
            let Some(passed) = self.brave(frame, (node, port), wire, first, traffic_class) else { return Ok(()) };
            (frame, damaged) = passed;
        }
        frame.hop = self.ledger.routes().after(frame.hop, port);
        let Some(wire) = wire else {
            self.simulation.frame_hops += 1;
            self.ledger.leave(frame);
            return Ok(());
        };
        self.carry(frame, wire, first, traffic_class, damaged).map(drop)
    }

    /// A talker's frame goes into the network.
    #[inline]
    pub(super) fn enter(&mut self, mut frame: Frame, from: u32, wire: Wire, first: u64) -> Result<(), RunError> {
        let (stream, bytes) = (frame.stream, u32::from(frame.bytes));
        let mut damaged = None;
        if !self.faults.is_empty() {
            let Some(passed) = self.brave(frame, (from, 0), wire, first, Trace::NO_CLASS) else { return Ok(()) };
            (frame, damaged) = passed;
        }
        let received = self.carry(frame, wire, first, Trace::NO_CLASS, damaged)?;
        if let Some(conformance) = &mut self.ledger.statistics(stream).conformance {
            conformance.see(received + wire.rate.duration(bytes), bytes);
        }
        Ok(())
    }

    /// A copy goes over a wire; its first bit after the delimiter leaves at `first`. Gives when the next node has it. Of a
    /// damaged one, this bit flips.
    #[inline(always)]
    fn carry(
        &mut self,
        mut frame: Frame,
        wire: Wire,
        first: u64,
        traffic_class: u8,
        damaged: Option<u64>,
    ) -> Result<u64, RunError> {
        self.simulation.frame_hops += 1;
        let arrives = first.saturating_add(wire.delay_ps);
        if wire.node as usize >= self.members.len() {
            match damaged {
                None => self.deliver(frame, wire, arrives, traffic_class)?,
                Some(_) => self.deliver_damaged(frame, wire, arrives, traffic_class),
            }
            return Ok(arrives);
        }
        self.ledger.arrive(&mut frame, wire.node);
        let is_traced = self.trace.wants(Event::Received, wire.node);
        let row =
            is_traced.then(|| frame.row((wire.node, wire.port), Event::Received, arrives, traffic_class, Reason::NONE));
        let (hop, stream) = (frame.hop, frame.stream);
        let told = frame.told_hop();
        let received = match &mut self.members[wire.node as usize] {
            Member::Model(model) => {
                let place = self.ledger.routes().hop(hop).map(|hop| hop.place);
                let fault = if damaged.is_some() { reason::FCS } else { Reason::NONE };
                let (received, due) = model.receive(arrives, wire.port, frame, place, fault);
                self.queue.push(queue::Event::judgement(due, wire.node, wire.port, told));
                received
            }
            Member::Foreign { clock, partition } => {
                let (received, partition) = (clock.time(clock.at_or_after(arrives)), *partition);
                self.cross(frame, partition, wire, arrives);
                received
            }
            Member::Other(_) => self.receive_guest(frame, wire, arrives, damaged)?,
        };
        if self.is_large {
            self.bring_hops(hop, stream);
        }
        if let Some(row) = row {
            self.trace.keep(Row { time_ps: received, ..row });
        }
        Ok(received)
    }

    fn deliver(&mut self, mut frame: Frame, wire: Wire, time: u64, traffic_class: u8) -> Result<(), RunError> {
        let station = wire.node - self.members.len() as u32;
        self.simulation.passed(time);
        if self.captures.wants(station as usize) {
            self.fill(&frame)?;
            self.captures.add(station as usize, time, &self.buffer)?;
        }
        if self.ledger.deliver(&mut frame, station, time) {
            self.row(&frame, (wire.node, 0), Event::Delivered, time, traffic_class, Reason::NONE);
            if !self.origins[frame.stream as usize].answers.is_empty() {
                self.answer(frame.stream, station, time + wire.rate.duration(u32::from(frame.bytes)));
            }
        }
        if self.programs.contains_key(&station) {
            self.hear(&frame, station, wire, time)?;
        }
        self.ledger.leave(frame);
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
                self.queue.push(queue::Event::new(time, Kind::Release, node, index));
            }
        }
    }

    #[inline(always)]
    pub(super) fn row(
        &mut self,
        frame: &Frame,
        place: (u32, u16),
        event: Event,
        time_ps: u64,
        traffic_class: u8,
        reason: Reason,
    ) {
        if self.trace.wants(event, place.0) {
            self.trace.keep(frame.row(place, event, time_ps, traffic_class, reason));
        }
    }

    /// A row that was made beforehand.
    pub(super) fn keep(&mut self, row: Row) {
        if self.trace.wants(row.event, row.node) {
            self.trace.keep(row);
        }
    }
}
