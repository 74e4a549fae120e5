// SPDX-License-Identifier: Apache-2.0
//! Faults of links and nodes.
use super::Kernel;
use crate::faults::{Change, Fate, Moment, Told};
use crate::link::Wire;
use crate::nodes::Member;
use crate::outbox::Outbox;
use crate::trace::{Event, Row, Trace};

impl Kernel {
    /// Nodes do nothing ahead that a fault at `stop` could change.
    pub(super) fn look_no_further(&mut self, stop: u64) {
        for member in &mut self.members {
            if let Member::Bridge(bridge) = member {
                bridge.set_end(stop);
            }
        }
    }

    /// What happens up to a time.
    pub(super) fn break_things(&mut self, now: u64) {
        while let Some(Moment { at, until, change }) = self.faults.take(now) {
            let (node, port) = match change {
                Change::Told(told) => {
                    self.tell_fault(at, told);
                    continue;
                }
                Change::Dies { node } => (node, None),
                Change::Cut { node, port } => (node, Some(port)),
                Change::Learnt { node, port, is_up } => {
                    self.learn_link(at, node, port, is_up);
                    continue;
                }
            };
            self.around.simulation.events += 1;
            let member = &mut self.members[node as usize];
            if matches!((&member, port), (Member::Bridge(_), None)) {
                self.around.queue.cancel(node);
            }
            let mut out = Outbox::new(node, &mut self.around);
            match (member, port) {
                (Member::Bridge(bridge), None) => bridge.die(at, &mut out),
                (Member::Bridge(bridge), Some(port)) => bridge.cut(port, at, until, &mut out),
                (Member::Station(station), None) => station.die(at, until, &mut out),
                (Member::Station(station), Some(_)) => station.cut(at, until, &mut out),
                // Hardware sends into nothing.
                (Member::Guest(_) | Member::Foreign(_), _) => {}
            }
        }
    }

    fn learn_link(&mut self, at: u64, node: u32, port: u16, is_up: bool) {
        if let Member::Bridge(bridge) = &mut self.members[node as usize] {
            bridge.learn_link(port, is_up, at, &mut Outbox::new(node, &mut self.around));
        }
    }

    /// A row of no frame, unless the network is silent for good by then.
    fn tell_fault(&mut self, time_ps: u64, Told { node, port, event, reason }: Told) {
        if time_ps <= self.around.duration || self.around.queue.next_time().is_some() {
            let (frame, stream) = (Row::NO_FRAME, self.around.origins.len() as u32);
            let (bytes, traffic_class) = (0, Trace::NO_CLASS);
            self.around.keep(Row { frame, stream, node, port, event, time_ps, bytes, traffic_class, reason });
        }
    }

    /// What becomes of a frame that leaves a port: which bit of it is damaged, if one is; none: it is lost on the wire.
    #[cold]
    pub(super) fn brave(
        &mut self,
        slot: u32,
        from: (u32, u16),
        wire: Wire,
        first: u64,
        traffic_class: u8,
    ) -> Option<Option<u64>> {
        match self.faults.fate(from, wire, first, u32::from(self.around.frames.get(slot).bytes)) {
            Fate::Whole => Some(None),
            Fate::Damaged(bit) => Some(Some(bit)),
            Fate::Lost { at, reason } => {
                self.around.simulation.frame_hops += 1;
                self.around.simulation.passed(at);
                self.around.row(slot, from, Event::Dropped, at, traffic_class, reason);
                let mut frame = self.around.frames.remove(slot);
                let is_bridge = !matches!(self.members[from.0 as usize], Member::Station(_));
                let behind = if is_bridge { self.around.ledger.behind(&frame, from.1) } else { frame.open };
                self.around.ledger.miss(&mut frame, behind, reason);
                self.around.ledger.leave(frame);
                None
            }
        }
    }
}
