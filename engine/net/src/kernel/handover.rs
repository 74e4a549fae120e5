// SPDX-License-Identifier: Apache-2.0
//! Frames on their way from a program to the port of its station.
use super::Kernel;
use crate::queue::{self, Kind};
use crate::source::{Release, Waiting};
use crate::trace::{Event, Reason, Trace};

impl Kernel {
    /// Gives the port what may be sent by now, and creates what is to be created now.
    pub(super) fn hand_over(&mut self, now: u64, index: u32) {
        let talker = self.origins[index as usize].talker;
        let clock = self.stations[talker as usize].clock;
        let mut created = false;
        while let Some(Release::At(local)) = self.origins[index as usize].generator.next_release() {
            if clock.time_of_schedule(local) != Some(now) {
                break;
            }
            created = true;
            let nominal = self.origins[index as usize].generator.nominal();
            let (slot, class) = self.create(now, index);
            let Some(handover) = &mut self.origins[index as usize].handover else { return };
            let handed = handover.hand(&clock, now, nominal);
            handover.waiting.push_back(Waiting { at: handed.at, slot, class });
            self.around.ledger.statistics(index).launch_missed += u64::from(handed.missed.is_some());
            let node = self.node_of(talker);
            if let Some(launch) = handed.missed {
                let row =
                    self.around.frames.get(slot).row((node, 0), Event::Missed, launch, Trace::NO_CLASS, Reason::NONE);
                self.keep(row);
            }
            if handed.at > now {
                self.around.queue.push(queue::Event::new(handed.at, Kind::Release, node, index));
            }
        }
        if created {
            self.plan_release(index);
        }
        while let Some(ready) = self.origins[index as usize].handover.as_mut().and_then(|handover| handover.take(now)) {
            self.enqueue(now, talker, ready.slot, ready.class);
        }
    }
}
