// SPDX-License-Identifier: Apache-2.0
//! From an egress port to the next node.
use super::ahead::bring_hops;
use super::Kernel;
use crate::error::{wrong, RunError};
use crate::frame::Frame;
use crate::link::Wire;
use crate::nodes::{Leaving, Member};
use crate::outbox::Surroundings;
use crate::queue::{self, Kind};
use crate::trace::{Event, Reason, Row, Trace};

impl Kernel {
    /// What a node has sent goes onto its wire, if there is one.
    #[inline(always)]
    pub(super) fn depart(&mut self, node: u32, leaving: Leaving) -> Result<(), RunError> {
        let Leaving { slot, port, traffic_class, place, first, is_spoiled } = leaving;
        let slot = self.around.frames.part(slot);
        self.row(slot, (node, port), Event::Sent, first, traffic_class, Reason::NONE);
        let Some(wire) = self.links.at(place as usize) else {
            self.end_nowhere(slot);
            return Ok(());
        };
        // The last bit of its FCS.
        let mut damaged = is_spoiled.then(|| (u64::from(self.around.frames.get(slot).bytes) * 8).saturating_sub(1));
        if !self.faults.is_empty() {
            let Some(passed) = self.brave(slot, (node, port), wire, first, traffic_class) else { return Ok(()) };
            damaged = passed.or(damaged);
        }
        let frame = self.around.frames.get_mut(slot);
        frame.hop = self.around.ledger.routes().after(frame.hop, port);
        self.carry(slot, wire, first, traffic_class, damaged).map(drop)
    }

    #[cold]
    fn end_nowhere(&mut self, slot: u32) {
        self.around.simulation.frame_hops += 1;
        self.around.ledger.leave(self.around.frames.remove(slot));
    }

    /// A talker's frame goes into the network.
    #[inline]
    pub(super) fn enter(&mut self, slot: u32, from: u32, wire: Wire, first: u64) -> Result<(), RunError> {
        let frame = self.around.frames.get(slot);
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
    ///
    /// One for all that send: where it was part of each, the loop did not fit into the processor's cache of instructions.
    #[inline(never)]
    fn carry(
        &mut self,
        slot: u32,
        wire: Wire,
        first: u64,
        traffic_class: u8,
        damaged: Option<u64>,
    ) -> Result<u64, RunError> {
        let around = &mut self.around;
        around.simulation.frame_hops += 1;
        let arrives = first.saturating_add(wire.delay_ps);
        let Some(member) = self.members.get_mut(wire.node as usize) else {
            match damaged {
                None => self.deliver(slot, wire, arrives, traffic_class)?,
                Some(_) => self.deliver_damaged(slot, wire, arrives, traffic_class),
            }
            return Ok(arrives);
        };
        let frame = around.frames.get_mut(slot);
        around.ledger.arrive(frame, wire.node);
        let Member::Model(model) = member else {
            return self.carry_to_other(slot, wire, arrives, traffic_class, damaged);
        };
        let fault = if damaged.is_some() { Reason::FCS } else { Reason::NONE };
        let (received, due) = model.receive(arrives, wire.port, (slot, frame), fault);
        around.queue.push(queue::Event::judgement(due, wire.node, wire.port, frame.told_hop()));
        if self.is_large {
            let Surroundings { ledger, memos, .. } = around;
            model.bring_scheduler(memos.stream(frame.hop));
            memos.bring(frame.hop.saturating_add(1));
            bring_hops(ledger, &self.origins, frame.hop, frame.stream);
        }
        self.row(slot, (wire.node, wire.port), Event::Received, received, traffic_class, Reason::NONE);
        Ok(received)
    }

    /// As [`Self::carry`], to a node that is no model of this kernel.
    #[cold]
    fn carry_to_other(
        &mut self,
        slot: u32,
        wire: Wire,
        arrives: u64,
        traffic_class: u8,
        damaged: Option<u64>,
    ) -> Result<u64, RunError> {
        let frame = self.around.frames.get(slot);
        let row = frame.row((wire.node, wire.port), Event::Received, arrives, traffic_class, Reason::NONE);
        let received = match &self.members[wire.node as usize] {
            Member::Foreign(foreign) => {
                let (clock, partition) = (foreign.clock, foreign.partition);
                self.cross(slot, partition, wire, arrives, damaged.is_some());
                clock.time(clock.at_or_after(arrives))
            }
            _ => {
                let frame = self.around.frames.remove(slot);
                self.receive_guest(frame, wire, arrives, damaged)?
            }
        };
        self.keep(Row { time_ps: received, ..row });
        Ok(received)
    }

    fn deliver(&mut self, slot: u32, wire: Wire, time: u64, traffic_class: u8) -> Result<(), RunError> {
        let mut frame = self.around.frames.remove(slot);
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
            self.around.trace.keep(self.around.frames.get(slot).row(place, event, time_ps, traffic_class, reason));
        }
    }

    /// A row that was made beforehand.
    pub(super) fn keep(&mut self, row: Row) {
        if self.around.trace.wants(row.event, row.node) {
            self.around.trace.keep(row);
        }
    }
}
