// SPDX-License-Identifier: Apache-2.0
//! A frame that finds its port free is selected together with its judgement, when nothing can come between: what would
//! be queued, planned and taken from the queue again is not.
use penstock_shaper::queue::Queued;

use super::{Bridge, Passed, Tick, NEVER};

impl Bridge {
    /// When the only copy of a frame that is judged at `now` will be selected, if that is before `before` and no other
    /// frame has a part in it.
    #[inline(always)]
    pub(super) fn passes(&self, now: Tick, egress: u16, visible: Tick, before: Tick) -> Option<Tick> {
        let state = &self.ports[usize::from(egress)];
        let due = visible.max(state.free);
        let is_free = state.due == NEVER && state.shaping.is_none() && state.queues.is_empty();
        if !is_free || due >= before || !state.lifetime.is_idle() {
            return None;
        }
        let next = self.judgements.iter().copied().min().unwrap_or(NEVER);
        self.clock.is_settled(now, due, next).then_some(due)
    }

    /// Sends a copy that [`Self::passes`], and was decided on at `decided`.
    #[inline(always)]
    pub(super) fn pass(&mut self, egress: u16, decided: Tick, at: Tick, copy: &Queued) -> Passed {
        self.ports[usize::from(egress)].lifetime.enqueued(decided, true);
        Passed { egress, at, first: self.send(egress, at, copy, true) }
    }
}
