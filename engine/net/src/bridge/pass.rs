// SPDX-License-Identifier: Apache-2.0
//! A frame that finds its port free is selected together with its judgement, when nothing can come between: what would
//! be queued, planned and taken from the queue again is not.
use penstock_shaper::egress::Queued;

use super::timing::Line;
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
        let count_gap = self.settings.count_gap;
        let state = &mut self.ports[usize::from(egress)];
        let due = copy.visible.max(state.egress.free());
        let is_free = state.due == NEVER && state.egress.is_idle();
        if !is_free || due >= before || !state.lifetime.is_idle() {
            return None;
        }
        let next = self.judgements.iter().copied().min().unwrap_or(NEVER);
        if !self.clock.is_settled(now, due, next) {
            return None;
        }
        state.lifetime.enqueued(decided, true);
        let line = Line { clock: &self.clock, gate_time: &self.gate_time, port: egress, count_gap };
        state.egress.pass(&line, due, copy);
        state.lifetime.popped(due, true);
        let (first, back) = line.leaves(due, copy.bytes);
        self.release(egress, back, copy);
        Some(Passed { egress, at: due, first })
    }
}
