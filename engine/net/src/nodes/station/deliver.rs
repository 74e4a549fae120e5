// SPDX-License-Identifier: Apache-2.0
//! A frame has come to a station.
use super::StationNode;
use crate::error::RunError;
use crate::node::Due;
use crate::outbox::{Coming, Outbox};
use crate::queue::Kind;
use crate::surroundings::Surroundings;
use crate::trace::{Event, Reason};
use penstock_shaper::Time;

impl StationNode {
    #[inline(always)]
    pub(super) fn deliver(&mut self, time: Time, coming: Coming<'_>) -> Result<(), RunError> {
        let Coming { slot, node, traffic_class, around, .. } = coming;
        around.simulation.passed(time);
        if around.captures.wants(self.index as usize) {
            around.fill(slot)?;
            around.captures.add(self.index as usize, time, &around.buffer)?;
        }
        if self.hosted.is_some() {
            around.fill(slot)?;
        }
        let mut frame = around.frames.remove(slot);
        let whole = time + self.port.wire.rate.duration(u32::from(frame.bytes));
        if around.ledger.deliver(&mut frame, self.index, time) {
            around.keep(frame.row((node, 0), Event::Delivered, time, traffic_class, Reason::NONE));
            if !around.origins[frame.stream as usize].answers.is_empty() && self.hosted.is_none() {
                self.answer(frame.stream, whole, node, around);
            }
        }
        if let Some(hosted) = &mut self.hosted {
            hosted.hear(whole, frame.stream, frame.received_at(), &around.buffer)?;
            hosted.plan(0, &mut Outbox::new(node, around));
        }
        around.ledger.leave(frame);
        Ok(())
    }

    /// It sees by the FCS of a frame that it is damaged.
    #[cold]
    pub(super) fn refuse(&mut self, time: Time, coming: Coming<'_>) {
        let Coming { slot, node, traffic_class, around, .. } = coming;
        let mut frame = around.frames.remove(slot);
        let at = time + self.port.wire.rate.duration(u32::from(frame.bytes));
        around.simulation.passed(at);
        around.keep(frame.row((node, 0), Event::Dropped, at, traffic_class, Reason::FCS));
        let listeners = u32::from(around.ledger.listens(frame.stream, self.index));
        around.ledger.miss(&mut frame, listeners, Reason::FCS);
        around.ledger.leave(frame);
    }

    /// A frame has come whole; streams of this station may answer it.
    #[inline(never)]
    fn answer(&mut self, stream: u32, came: Time, node: u32, around: &mut Surroundings) {
        for n in 0..around.origins[stream as usize].answers.len() {
            let index = around.origins[stream as usize].answers[n];
            let answer = &mut around.origins[index as usize];
            if answer.talker != self.index {
                continue;
            }
            let clock = &self.port.clock;
            let Some(local) = answer.generator.answer(clock.schedule_at(came)) else { continue };
            let time = clock.time_of_schedule(local).unwrap_or(came).max(came);
            if time < around.duration {
                Outbox::new(node, around).wake(time, Due { kind: Kind::Release, index });
            }
        }
    }
}
