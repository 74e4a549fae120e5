// SPDX-License-Identifier: Apache-2.0
//! Faults of links and nodes.
use super::Kernel;
use crate::error::RunError;
use crate::faults::{Change, Moment, Told};
use crate::nodes::Member;
use crate::outbox::Outbox;
use crate::trace::{Row, Trace};
use penstock_shaper::Time;

impl Kernel {
    /// What happens up to a time.
    pub(super) fn break_things(&mut self, now: Time) -> Result<(), RunError> {
        self.hand_over_until(now)?;
        while let Some(Moment { at, until, change }) = self.faults.take(now) {
            let (node, port) = match change {
                Change::Told(told) => {
                    self.tell_fault(at, told);
                    continue;
                }
                Change::Dies { node } => (node, None),
                Change::Cut { node, port, reason } => {
                    self.cut_wire((node, port), at, until, reason);
                    (node, Some(port))
                }
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
        Ok(())
    }

    fn learn_link(&mut self, at: Time, node: u32, port: u16, is_up: bool) {
        if let Member::Bridge(bridge) = &mut self.members[node as usize] {
            bridge.learn_link(port, is_up, at, &mut Outbox::new(node, &mut self.around));
        }
    }

    /// A row of no frame, unless the network is silent for good by then.
    fn tell_fault(&mut self, time_ps: Time, Told { node, port, event, reason }: Told) {
        if time_ps <= self.around.duration || self.around.queue.next_time().is_some() {
            let (frame, stream) = (Row::NO_FRAME, self.around.origins.len() as u32);
            let (bytes, traffic_class) = (0, Trace::NO_CLASS);
            self.around.keep(Row { frame, stream, node, port, event, time_ps, bytes, traffic_class, reason });
        }
    }
}
