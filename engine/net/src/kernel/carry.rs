// SPDX-License-Identifier: Apache-2.0
//! From an egress port to the next node.
use super::{BridgeNode, Kernel};
use crate::bridge::Arrival;
use crate::conservation::Violation;
use crate::error::RunError;
use crate::link::Wire;
use crate::node::Push;
use crate::queue::{self, Kind};
use crate::trace::{Event, Reason, Trace};

impl Kernel {
    /// A talker's frame goes into the network.
    #[inline]
    pub(super) fn enter(&mut self, slot: u32, wire: Wire, first: u64) -> Result<(), RunError> {
        let frame = self.frames.get(slot);
        let (stream, bytes) = (frame.stream, u32::from(frame.bytes));
        let received = self.carry(slot, wire, first, Trace::NO_CLASS)?;
        if let Some(conformance) = &mut self.streams[stream as usize].statistics.conformance {
            conformance.see(received + wire.rate.duration(bytes), bytes);
        }
        Ok(())
    }

    /// A copy goes over a wire; its first bit after the delimiter leaves at `first`. Gives when the next node has it.
    #[inline(always)]
    pub(super) fn carry(&mut self, slot: u32, wire: Wire, first: u64, traffic_class: u8) -> Result<u64, RunError> {
        self.simulation.frame_hops += 1;
        let arrives = first.saturating_add(wire.delay_ps);
        let Some(node) = self.bridges.get_mut(wire.node as usize) else {
            self.deliver(slot, wire, arrives, traffic_class)?;
            return Ok(arrives);
        };
        let received = match node {
            BridgeNode::Model { bridge, clock, copies, .. } => {
                let tick = clock.at_or_after(arrives);
                let frame = self.frames.get_mut(slot);
                let hop = if self.routes.is_at(frame.hop, wire.node) {
                    frame.hop += 1;
                    Some(frame.hop - 1)
                } else {
                    self.routes.find(&self.streams[frame.stream as usize].route, wire.node)
                };
                let stream = frame.stream;
                let arrival = Arrival {
                    frame: slot,
                    header: frame.header,
                    bytes: frame.bytes,
                    first: tick,
                    fault: Reason::NONE,
                    memo: hop,
                    is_alone: frame.copies == 1,
                };
                let due = bridge.arrive(wire.port, arrival);
                *copies += 1;
                self.queue.push(queue::Event::new(clock.time(due), Kind::Judge, wire.node, u32::from(wire.port)));
                let received = clock.time(tick);
                if let Some(hop) = hop.filter(|_| self.is_large) {
                    bridge.bring_scheduler(self.memos.stream(hop));
                    self.bring_hops(hop, stream);
                }
                received
            }
            BridgeNode::External { node, clock, copies, .. } => {
                *copies += 1;
                let tick = clock.at_or_after(arrives);
                let frame = self.frames.get(slot);
                let stream = &self.streams[frame.stream as usize];
                // What was built once can be built again.
                if stream.generator.fill(frame.number, frame.bytes, &mut self.buffer).is_ok() {
                    node.push(Push { id: frame.id, frame: slot, port: wire.port, first: tick, bytes: &self.buffer })?;
                }
                clock.time(tick)
            }
        };
        self.row(slot, (wire.node, wire.port), Event::Received, received, traffic_class, Reason::NONE);
        Ok(received)
    }

    pub(super) fn deliver(&mut self, slot: u32, wire: Wire, time: u64, traffic_class: u8) -> Result<(), RunError> {
        let station = wire.node - self.bridges.len() as u32;
        self.passed(time);
        let frame = self.frames.get_mut(slot);
        let stream = &mut self.streams[frame.stream as usize];
        if self.captures.wants(station as usize)
            && stream.generator.fill(frame.number, frame.bytes, &mut self.buffer).is_ok()
        {
            self.captures.add(station as usize, time, &self.buffer)?;
        }
        if let Some((place, listener)) = stream.listeners.find(station) {
            let twice = place < 64 && frame.reached >> place & 1 != 0;
            if twice || frame.open == 0 {
                self.violations.add(Violation::Twice { frame: frame.id, stream: frame.stream, what: "delivered" });
            } else {
                frame.open -= 1;
            }
            frame.reached |= 1_u64.checked_shl(place as u32).unwrap_or(0);
            let statistics = &mut stream.statistics;
            statistics.delivered += 1;
            statistics.delivered_wire_bytes += u64::from(frame.bytes) + 20;
            statistics.latency_ps.add(time - frame.since, self.exact_up_to);
            let last = listener.last_delivered.replace(time);
            if let Some(last) = last {
                statistics.interval_ps.add(time - last, self.exact_up_to);
            }
            statistics.first_delivered_ps = Some(statistics.first_delivered_ps.map_or(time, |first| first.min(time)));
            statistics.last_delivered_ps = Some(statistics.last_delivered_ps.map_or(time, |last| last.max(time)));
            let (stream_index, bytes) = (frame.stream, frame.bytes);
            self.row(slot, (wire.node, 0), Event::Delivered, time, traffic_class, Reason::NONE);
            if !self.streams[stream_index as usize].answers.is_empty() {
                self.answer(stream_index, station, time + wire.rate.duration(u32::from(bytes)));
            }
        }
        self.leave(slot);
        Ok(())
    }

    /// A frame has come whole to a listener; streams of this station may answer it.
    pub(super) fn answer(&mut self, stream: u32, station: u32, came: u64) {
        for n in 0..self.streams[stream as usize].answers.len() {
            let index = self.streams[stream as usize].answers[n];
            let answer = &mut self.streams[index as usize];
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
}
