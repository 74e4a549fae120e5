// SPDX-License-Identifier: Apache-2.0
//! What bridges do with frames.
use super::{BridgeNode, Kernel};
use crate::bridge::{Judgement, Passed, Selection};
use crate::clock::Clock;
use crate::error::RunError;
use crate::queue::{self, Kind};
use crate::trace::{Event, Reason, Trace};

impl Kernel {
    #[inline(always)]
    pub(super) fn judge(&mut self, time: u64, node: u32, port: u16, judgement: &mut Judgement) -> Result<(), RunError> {
        let BridgeNode::Model { bridge, clock, .. } = &self.bridges[node as usize] else { return Ok(()) };
        let clock = *clock;
        let now = clock.at_or_before(time);
        let expected = bridge.expected(port);
        if let Some((frame, Some(hop))) = expected.filter(|_| self.is_large) {
            self.bring_delivery(hop, frame);
        }
        // What is sent at once is ahead of other copies of the frame.
        let is_alone = expected.is_some_and(|(frame, _)| self.frames.get(frame).copies == 1);
        let before = if is_alone { clock.at_or_before(self.until.saturating_sub(1)) } else { 0 };
        let BridgeNode::Model { bridge, copies, .. } = &mut self.bridges[node as usize] else { return Ok(()) };
        bridge.judge(now, port, &self.headers, &mut self.memos, before, judgement);
        *copies = *copies + u64::from(judgement.destination.count_ones()) - 1;
        if let Some(Passed { egress, at, first }) = judgement.passed {
            *copies -= 1;
            self.verdict(node, port, clock, judgement);
            self.simulation.events += 1;
            self.passed(clock.time(at));
            return self.sent(node, egress, judgement.frame, clock.time(first), judgement.traffic_class);
        }
        self.verdict(node, port, clock, judgement);
        for &(egress, due) in &judgement.wakes {
            self.queue.push(queue::Event::new(clock.time(due), Kind::Select, node, u32::from(egress)));
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn verdict(&mut self, node: u32, port: u16, clock: Clock, verdict: &Judgement) {
        let slot = verdict.frame;
        let frame = self.frames.get_mut(slot);
        let hop = verdict.memo.or_else(|| self.routes.find(&self.streams[frame.stream as usize].route, node));
        if verdict.reason != Reason::NONE {
            let behind = hop.map_or(0, |hop| self.routes.behind_all(hop));
            self.row(slot, (node, port), Event::Dropped, clock.time(verdict.decided), Trace::NO_CLASS, verdict.reason);
            self.miss(slot, behind, verdict.reason);
            self.leave(slot);
            return;
        }
        let wanted = hop.map_or(0, |hop| self.routes.ports(hop));
        let copies = verdict.destination.count_ones();
        frame.copies += copies;
        if self.trace.wants(Event::Queued, node) || self.trace.wants(Event::Eligible, node) {
            let (at, visible) = (clock.time(verdict.decided), clock.time(verdict.visible));
            for egress in ports(verdict.destination) {
                self.row(slot, (node, egress), Event::Queued, at, verdict.traffic_class, Reason::NONE);
                if verdict.shaped {
                    self.row(slot, (node, egress), Event::Eligible, visible, verdict.traffic_class, Reason::NONE);
                }
            }
        }
        if verdict.refused() | (wanted & !verdict.destination) != 0 {
            self.refuse(node, clock, verdict, hop, wanted);
        }
        self.leave(slot); // the copy that came in
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
        let BridgeNode::Model { bridge, clock, copies } = &mut self.bridges[node as usize] else { return Ok(()) };
        let clock = *clock;
        let now = clock.at_or_before(time);
        match bridge.select(now, port) {
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
                self.sent(node, port, frame, clock.time(first), traffic_class)
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

    #[inline(always)]
    pub(super) fn sent(
        &mut self,
        node: u32,
        port: u16,
        slot: u32,
        first: u64,
        traffic_class: u8,
    ) -> Result<(), RunError> {
        self.row(slot, (node, port), Event::Sent, first, traffic_class, Reason::NONE);
        match self.wires[self.first_wire[node as usize] as usize + usize::from(port)] {
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
