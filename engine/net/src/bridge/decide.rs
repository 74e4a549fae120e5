// SPDX-License-Identifier: Apache-2.0
//! What ports do before a change, where that is known only after it.
//!
//! While a frame is given up, the enqueue of another one holds off the search for the next (`shaper/lifetime`), and in a
//! switch of more than four ports a frame is judged some cycles after its enqueue. So a port may have selected in a cycle
//! before a change, and nobody has told of it yet. All that it depends on has been read by then.
use super::timing::ADMISSION_TO_VERDICT;
use super::{Bridge, Selection, Tick};
use crate::header::Headers;

impl Bridge {
    /// Decides what ports do before `until`, up to which frames on their way have read what they read;
    /// [`Self::take_decided`] tells of it.
    pub(super) fn decide_until(&mut self, until: Tick, headers: &Headers) {
        while let Some((due, port)) = self.ports.undecided(until) {
            let last = self.ports.get(port).lifetime.last_enqueue(due);
            if let Some((reception, index)) = last.and_then(|last| self.first_enqueued(last)) {
                self.judge_ahead(until, reception, index, headers);
                continue;
            }
            match self.select_at(due, port) {
                Selection::Stale => {}
                // One before that comes next here.
                Selection::Idle { next } if next.is_none_or(|next| next < until) => {}
                selection => self.decided.push((port, selection)),
            }
        }
    }

    /// Selections that were decided before a change, with their ports, in the order of their ticks at each.
    pub fn take_decided(&mut self) -> Vec<(u16, Selection)> {
        std::mem::take(&mut self.decided)
    }

    /// Of the frames that are enqueued up to a cycle and not judged yet the first, by its port and its place there.
    fn first_enqueued(&self, last: Tick) -> Option<(u16, usize)> {
        let begins = self.arrivals.iter().filter_map(|(port, index, pending)| {
            let facts = pending.facts.as_ref().filter(|facts| facts.judged.is_none())?;
            Some((facts.begin?, port, index))
        });
        let first = begins.filter(|(begin, ..)| begin + ADMISSION_TO_VERDICT <= last).min()?;
        Some((first.1, first.2))
    }

    /// Judges a frame that has read all, which is told when its time comes.
    fn judge_ahead(&mut self, now: Tick, port: u16, index: usize, headers: &Headers) {
        let Some(pending) = self.arrivals.get(port, index) else { return };
        let (received, facts) = (pending.received, pending.facts.clone());
        let judged = self.judge_any(now, port, received, facts, None, headers, 0);
        let facts = self.arrivals.get_mut(port, index).and_then(|pending| pending.facts.as_mut());
        facts.into_iter().for_each(|facts| facts.judged = Some(judged));
    }
}
