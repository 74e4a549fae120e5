// SPDX-License-Identifier: Apache-2.0
//! A frame that finds its port free is selected together with its judgement, when nothing can come between: what would
//! be queued, planned and taken from the queue again is not.
use penstock_shaper::queue::Queued;

use super::{Bridge, Passed, Tick, NEVER};

impl Bridge {
    /// Sends the only copy of a frame, judged at `now` and decided on at `decided`, if it is selected before `before` and no
    /// other frame has a part in that.
    #[inline(always)]
    pub(super) fn pass(
        &mut self,
        now: Tick,
        decided: Tick,
        before: Tick,
        egress: u16,
        copy: &Queued,
    ) -> Option<Passed> {
        let state = &mut self.ports[usize::from(egress)];
        let due = copy.visible.max(state.free);
        let is_free = state.due == NEVER && state.shaping.is_none() && state.queues.is_empty();
        if !is_free || due >= before || !state.lifetime.is_idle() {
            return None;
        }
        let next = self.judgements.iter().copied().min().unwrap_or(NEVER);
        if !self.clock.is_settled(now, due, next) {
            return None;
        }
        state.lifetime.enqueued(decided, true);
        let (first, back) = state.send(&self.clock, self.settings.count_gap, egress, due, copy, true);
        self.release(egress, back, copy);
        Some(Passed { egress, at: due, first })
    }
}
