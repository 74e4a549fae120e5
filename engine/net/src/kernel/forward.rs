// SPDX-License-Identifier: Apache-2.0
//! What bridges do with frames.
use super::{BridgeNode, Kernel};
use crate::bridge::{Judgement, Passed, Selection};
use crate::clock::Clock;
use crate::error::RunError;
use crate::link::Wire;
use crate::queue::{self, Kind};
use crate::trace::{Event, Reason, Trace};

impl Kernel {
    #[inline(always)]
    pub(super) fn judge(&mut self, time: u64, node: u32, port: u16, judgement: &mut Judgement) -> Result<(), RunError> {
        let BridgeNode::Model { bridge, clock, copies, first_wire } = &mut self.bridges[node as usize] else {
            return Ok(());
        };
        let (clock, first_wire) = (*clock, *first_wire);
        let before = clock.at_or_before(self.until.saturating_sub(1));
        bridge.judge(clock.at_or_before(time), port, &self.headers, &mut self.memos, before, judgement);
        if let Some(Passed { egress, at, first }) = judgement.passed {
            *copies -= 1;
            // One copy came, and one has gone.
            self.queued(node, clock, judgement);
            self.simulation.events += 1;
            self.passed(clock.time(at));
            let wire = self.wires[first_wire as usize + usize::from(egress)];
            return self.sent((node, egress), wire, judgement.frame, clock.time(first), judgement.traffic_class);
        }
        *copies = *copies + u64::from(judgement.destination.count_ones()) - 1;
        self.verdict(node, port, clock, judgement);
        for &(egress, due) in &judgement.wakes {
            self.queue.push(queue::Event::new(clock.time(due), Kind::Select, node, u32::from(egress)));
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn verdict(&mut self, node: u32, port: u16, clock: Clock, verdict: &Judgement) {
        let slot = verdict.frame;
        if verdict.reason != Reason::NONE {
            let behind = self.hop(node, verdict).map_or(0, |hop| self.routes.behind_all(hop));
            self.row(slot, (node, port), Event::Dropped, clock.time(verdict.decided), Trace::NO_CLASS, verdict.reason);
            self.miss(slot, behind, verdict.reason);
            self.leave(slot);
            return;
        }
        self.frames.get_mut(slot).copies += verdict.destination.count_ones();
        self.queued(node, clock, verdict);
        self.leave(slot); // the copy that came in
    }

    /// Its place in the route of the stream.
    #[inline(always)]
    fn hop(&self, node: u32, verdict: &Judgement) -> Option<u32> {
        match verdict.memo {
            None => {
                let stream = self.frames.get(verdict.frame).stream;
                self.routes.find(&self.streams[stream as usize].route, node)
            }
            known => known,
        }
    }

    /// Copies were queued, and some may not have been.
    #[inline(always)]
    fn queued(&mut self, node: u32, clock: Clock, verdict: &Judgement) {
        let slot = verdict.frame;
        if self.trace.wants(Event::Queued, node) || self.trace.wants(Event::Eligible, node) {
            let (at, visible) = (clock.time(verdict.decided), clock.time(verdict.visible));
            for egress in ports(verdict.destination) {
                self.row(slot, (node, egress), Event::Queued, at, verdict.traffic_class, Reason::NONE);
                if verdict.shaped {
                    self.row(slot, (node, egress), Event::Eligible, visible, verdict.traffic_class, Reason::NONE);
                }
            }
        }
        let hop = self.hop(node, verdict);
        let wanted = hop.map_or(0, |hop| self.routes.ports(hop));
        if verdict.refused() | (wanted & !verdict.destination) != 0 {
            self.refuse(node, clock, verdict, hop, wanted);
        }
    }

    /// Copies that were not queued, and listeners behind ports to which nothing was forwarded.
    #[cold]
    pub(super) fn refuse(&mut self, node: u32, clock: Clock, verdict: &Judgement, hop: Option<u32>, wanted: u64) {
        let at = clock.time(verdict.decided);
        let slot = verdict.frame;
        for egress in ports(verdict.refused() | (wanted & !verdict.destination)) {
            let refused = verdict.refused() >> egress & 1 != 0;
            let reason = if refused { verdict.refused_reason(egress) } else { Reason::NO_DESTINATION };
            self.row(slot, (node, egress), Event::Dropped, at, verdict.traffic_class, reason);
            let behind = hop.map_or(0, |hop| self.routes.behind(hop, egress));
            self.miss(slot, behind, reason);
        }
    }

    #[inline]
    pub(super) fn select(&mut self, time: u64, node: u32, port: u16) -> Result<(), RunError> {
        self.simulation.events += 1;
        self.passed(time);
        let BridgeNode::Model { bridge, clock, copies, first_wire } = &mut self.bridges[node as usize] else {
            return Ok(());
        };
        let (clock, first_wire) = (*clock, *first_wire);
        match bridge.select(clock.at_or_before(time), port) {
            Selection::Stale => Ok(()),
            Selection::Idle { next } => {
                if let Some(next) = next {
                    self.queue.push(queue::Event::new(clock.time(next), Kind::Select, node, u32::from(port)));
                }
                Ok(())
            }
            Selection::Sent { frame, traffic_class, first, next, .. } => {
                *copies -= 1;
                if let Some(next) = next {
                    self.queue.push(queue::Event::new(clock.time(next), Kind::Select, node, u32::from(port)));
                }
                let wire = self.wires[first_wire as usize + usize::from(port)];
                self.sent((node, port), wire, frame, clock.time(first), traffic_class)
            }
            Selection::Expired { frame, traffic_class, reason, at, next } => {
                *copies -= 1;
                if let Some(next) = next {
                    self.queue.push(queue::Event::new(clock.time(next), Kind::Select, node, u32::from(port)));
                }
                self.expired(node, port, frame, clock.time(at), traffic_class, reason);
                Ok(())
            }
        }
    }

    /// A copy leaves a port of a node, over a wire if there is one.
    #[inline(always)]
    pub(super) fn sent(
        &mut self,
        from: (u32, u16),
        wire: Option<Wire>,
        slot: u32,
        first: u64,
        traffic_class: u8,
    ) -> Result<(), RunError> {
        self.row(slot, from, Event::Sent, first, traffic_class, Reason::NONE);
        match wire {
            Some(wire) => self.carry(slot, wire, first, traffic_class).map(drop),
            None => {
                self.simulation.frame_hops += 1;
                self.leave(slot);
                Ok(())
            }
        }
    }

    pub(super) fn expired(&mut self, node: u32, port: u16, slot: u32, at: u64, traffic_class: u8, reason: Reason) {
        self.row(slot, (node, port), Event::Dropped, at, traffic_class, reason);
        let route = &self.streams[self.frames.get(slot).stream as usize].route;
        let behind = self.routes.find(route, node).map_or(0, |hop| self.routes.behind(hop, port));
        self.miss(slot, behind, reason);
        self.leave(slot);
    }
}

/// The ports of a mask.
fn ports(mut mask: u64) -> impl Iterator<Item = u16> {
    std::iter::from_fn(move || {
        let port = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (port < 64).then_some(port as u16)
    })
}
