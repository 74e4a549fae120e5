// SPDX-License-Identifier: Apache-2.0
//! A frame that finds its port free is selected together with its judgement, when nothing can come between: what would
//! be queued, planned and taken from the queue again is not.
use penstock_shaper::egress::Queued;

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
        if self.drops_oldest >> copy.traffic_class & 1 == 1 {
            return None; // until it is selected, it may have to give way
        }
        let (passed, back) = self.pass_by(now, decided, before, egress, copy)?;
        self.store.release(egress, back, copy);
        Some(passed)
    }

    /// As [`Self::pass`], of a copy that is not in the store; with when its cells would come back.
    #[inline(always)]
    pub(super) fn pass_by(
        &mut self,
        now: Tick,
        decided: Tick,
        before: Tick,
        egress: u16,
        copy: &Queued,
    ) -> Option<(Passed, Tick)> {
        let (state, line) = self.ports.at(&self.clock, egress);
        let due = copy.visible.max(state.egress.free());
        let is_free = state.due == NEVER && state.egress.is_empty() && !self.cut_through.may_leave_by(egress);
        if !is_free || due >= before || !state.lifetime.is_idle() {
            return None;
        }
        if !self.clock.is_settled(now, due, self.arrivals.next_judgement())
            || !state.egress.would_select(&line, due, copy)
        {
            return None;
        }
        state.lifetime.enqueued(decided, copy, true);
        state.egress.pass(&line, due, copy);
        state.lifetime.popped(due, copy, true);
        let (first, back) = line.leaves(due, copy);
        Some((Passed { egress, at: due, first }, back))
    }
}
