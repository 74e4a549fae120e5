// SPDX-License-Identifier: Apache-2.0
//! Frames on their way from a program to the port of its station.
use super::StationNode;
use crate::node::Due;
use crate::outbox::Outbox;
use crate::queue::Kind;
use crate::source::{Release, Waiting};
use crate::trace::{Event, Reason, Trace};
use penstock_shaper::Time;

impl StationNode {
    /// Gives the port what may be sent by now, and creates what is to be created now.
    pub(super) fn hand_over(&mut self, now: Time, index: u32, out: &mut Outbox<'_>) {
        let mut created = false;
        while let Some(Release::At(local)) = out.around.origins[index as usize].generator.next_release() {
            if self.port.clock.time_of_schedule(local) != Some(now) {
                break;
            }
            created = true;
            let nominal = out.around.origins[index as usize].generator.nominal();
            let (slot, class) = self.create(now, index, out);
            let Some(handover) = &mut out.around.origins[index as usize].handover else { return };
            let (handed, launch) = match self.carded {
                Some(_) => handover.hand_to_card(&self.port.clock, now, nominal),
                None => (handover.hand(&self.port.clock, now, nominal), None),
            };
            handover.waiting.push_back(Waiting { at: handed.at, slot, class, launch });
            out.around.ledger.statistics(index).launch_missed += u64::from(handed.missed.is_some());
            if let Some(launch) = handed.missed {
                out.tell(slot, Event::Missed, launch, Trace::NO_CLASS, Reason::NONE);
            }
            if handed.at > now {
                out.wake(handed.at, Due { kind: Kind::Release, index });
            }
        }
        if created {
            self.plan_release(index, out);
        }
        let take = |out: &mut Outbox<'_>| out.around.origins[index as usize].handover.as_mut()?.take(now);
        while let Some(ready) = take(out) {
            match ready.launch {
                Some(_) => self.enqueue_at_card(now, ready.slot, ready.class, ready.launch, out),
                None => self.enqueue(now, ready.slot, ready.class, out),
            }
        }
    }
}
