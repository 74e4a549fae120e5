// SPDX-License-Identifier: Apache-2.0
//! From an egress port to the next node.
use super::Kernel;
use crate::error::RunError;
use crate::link::Wire;
use crate::node::Node;
use crate::nodes::Member;
use crate::outbox::{Coming, Leaving, Outbox};
use crate::program::Left;
use crate::trace::{Event, Reason, Trace};
use penstock_shaper::Time;

impl Kernel {
    /// What a bridge has sent goes onto its wire, if there is one.
    #[inline(always)]
    pub(super) fn depart(&mut self, node: u32, place: u32, leaving: Leaving) -> Result<(), RunError> {
        let slot = self.around.frames.part(leaving.slot);
        let Leaving { port, traffic_class, is_spoiled, first, .. } = leaving;
        self.around.row(slot, (node, port), Event::Sent, first, traffic_class, Reason::NONE);
        self.around.simulation.frame_hops += 1;
        let Some(wire) = self.links.at(place as usize) else {
            self.end_nowhere(slot);
            return Ok(());
        };
        // The last bit of its FCS.
        let mut damaged = is_spoiled.then(|| (u64::from(self.around.frames.get(slot).bytes) * 8).saturating_sub(1));
        if self.is_brave {
            let passed = self.brave((node, port), place, wire, Leaving { slot, ..leaving });
            let Some(passed) = passed else { return Ok(()) };
            damaged = passed.or(damaged);
        }
        if self.around.frames.get(slot).content.is_some() {
            self.tell_host(slot, (node, place - u32::from(port)), port, first)?;
        }
        let frame = self.around.frames.get_mut(slot);
        frame.hop = self.around.ledger.routes().after(frame.hop, port);
        self.carry(slot, wire, first, traffic_class, damaged).map(drop)
    }

    /// The host of a bridge, whose last port it is, is told of a frame of its own that leaves.
    #[cold]
    fn tell_host(&mut self, slot: u32, (node, first_port): (u32, u32), port: u16, first: Time) -> Result<(), RunError> {
        let frame = self.around.frames.get(slot);
        let Some(tag) = frame.stamp_tag() else { return Ok(()) };
        let (stream, talker) = (frame.stream, self.around.origins[frame.stream as usize].talker);
        let last = self.members[node as usize].node().map_or(0, |node| node.ports() - 1);
        let wire = self.links.at((first_port + u32::from(last)) as usize).filter(|_| port != last);
        let Some(Wire { node: host, delay_ps, .. }) = wire else { return Ok(()) };
        match &mut self.members[host as usize] {
            // By then as a frame would come: what hardware does is not known at once.
            Member::Station(station) if station.is(talker) => {
                let left = Left { stream, port, tag, first };
                station.tell_left(first + delay_ps, left, &mut Outbox::new(host, &mut self.around))
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn end_nowhere(&mut self, slot: u32) {
        self.around.ledger.leave(self.around.frames.remove(slot));
    }

    /// A talker's frame goes into the network.
    #[inline]
    pub(super) fn enter(&mut self, node: u32, place: u32, leaving: Leaving) -> Result<(), RunError> {
        let Leaving { slot, port, traffic_class, first, .. } = leaving;
        self.around.row(slot, (node, port), Event::Sent, first, traffic_class, Reason::NONE);
        self.around.simulation.frame_hops += 1;
        let Some(wire) = self.links.at(place as usize) else {
            self.end_nowhere(slot);
            return Ok(());
        };
        let mut damaged = None;
        if self.is_brave {
            let leaving = Leaving { traffic_class: Trace::NO_CLASS, ..leaving };
            let Some(passed) = self.brave((node, port), place, wire, leaving) else { return Ok(()) };
            damaged = passed;
        }
        self.come_in(slot, wire, first, damaged)
    }

    /// A talker's frame comes to the first node of the network.
    #[inline]
    fn come_in(&mut self, slot: u32, wire: Wire, first: Time, damaged: Option<u64>) -> Result<(), RunError> {
        let frame = self.around.frames.get(slot);
        let (stream, bytes) = (frame.stream, u32::from(frame.bytes));
        let received = self.carry(slot, wire, first, Trace::NO_CLASS, damaged)?;
        let arrived = received + wire.rate.duration(bytes);
        let Some(conformance) = &mut self.around.ledger.statistics(stream).conformance else { return Ok(()) };
        match conformance.shared() {
            None => conformance.see(arrived, bytes),
            Some(first) => self.see_together(stream, first, arrived, bytes),
        }
        Ok(())
    }

    /// A frame of a stream that promises rate and burst together with others, whose scheduler is kept by the first of them.
    fn see_together(&mut self, stream: u32, first: u32, arrived: Time, bytes: u32) {
        let ledger = &mut self.around.ledger;
        let kept = ledger.statistics(first).conformance.clone();
        let own = ledger.statistics(stream).conformance.as_mut().zip(kept.as_ref()).map(|(own, kept)| {
            own.follow(kept);
            own.see(arrived, bytes);
            own.clone()
        });
        if let Some((kept, own)) = ledger.statistics(first).conformance.as_mut().zip(own) {
            kept.follow(&own);
        }
    }

    /// What was held on its wire comes to the next node.
    pub(super) fn travel(
        &mut self,
        from: (u32, u16),
        slot: u32,
        wire: Wire,
        (first, traffic_class): (Time, u8),
        damaged: Option<u64>,
    ) -> Result<(), RunError> {
        if matches!(self.members[from.0 as usize], Member::Station(_)) {
            return self.come_in(slot, wire, first, damaged);
        }
        let frame = self.around.frames.get_mut(slot);
        frame.hop = self.around.ledger.routes().after(frame.hop, from.1);
        self.carry(slot, wire, first, traffic_class, damaged).map(drop)
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
        first: Time,
        traffic_class: u8,
        damaged: Option<u64>,
    ) -> Result<Time, RunError> {
        let Self { around, members, .. } = self;
        let arrives = first.saturating_add(wire.delay_ps);
        let Some(member) = members.get_mut(wire.node as usize) else { return Ok(arrives) };
        if let Member::Station(station) = member {
            return station.receive(
                arrives,
                wire.port,
                Coming { slot, node: wire.node, traffic_class, damaged, around },
            );
        }
        let frame = around.frames.get_mut(slot);
        around.ledger.arrive(frame, wire.node);
        let Member::Bridge(bridge) = member else {
            return self.carry_to_other(slot, wire, arrives, traffic_class, damaged);
        };
        let coming = Coming { slot, node: wire.node, traffic_class, damaged, around };
        let received = bridge.receive(arrives, wire.port, coming)?;
        around.row(slot, (wire.node, wire.port), Event::Received, received, traffic_class, Reason::NONE);
        Ok(received)
    }

    /// As [`Self::carry`], to a node that is no model of this kernel.
    #[cold]
    fn carry_to_other(
        &mut self,
        slot: u32,
        wire: Wire,
        arrives: Time,
        traffic_class: u8,
        damaged: Option<u64>,
    ) -> Result<Time, RunError> {
        let (node, port) = (wire.node, wire.port);
        let frame = self.around.frames.get(slot);
        let mut row = frame.row((node, port), Event::Received, arrives, traffic_class, Reason::NONE);
        row.time_ps = match &mut self.members[node as usize] {
            Member::Foreign(foreign) => {
                let (clock, partition) = (foreign.clock, foreign.partition);
                self.cross(slot, partition, wire, arrives, damaged.is_some());
                clock.time(clock.at_or_after(arrives))
            }
            Member::Guest(guest) => {
                let coming = Coming { slot, node, traffic_class, damaged, around: &mut self.around };
                guest.receive(arrives, port, coming)?
            }
            Member::Bridge(_) | Member::Station(_) => arrives,
        };
        self.around.keep(row);
        Ok(row.time_ps)
    }
}
