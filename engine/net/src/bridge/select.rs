// SPDX-License-Identifier: Apache-2.0
//! Selection for transmission.
use penstock_shaper::admission::cells_of;

use super::classes::Release;
use super::timing::Clock;
use super::{Bridge, Selection, Tick, NEVER};

impl Bridge {
    /// Lets an egress port select, at the tick that was told.
    pub fn select(&mut self, now: Tick, port: u16) -> Selection {
        let state = &mut self.ports[usize::from(port)];
        if now != state.due {
            return Selection::Stale;
        }
        let Some(copy) = state.queues.select(now) else {
            let next = state.queues.earliest().map(|earliest| earliest.max(state.free));
            state.due = next.unwrap_or(NEVER);
            return Selection::Idle { next };
        };
        let (first, free, release) = match &self.clock {
            Clock::Hardware(cycles) => {
                (cycles.first_byte(now), cycles.next_selection(now, copy.bytes), cycles.release(now, copy.bytes, port))
            }
            Clock::Ideal(ideal) => (
                ideal.first_bit(port, now),
                ideal.next_selection(port, now, copy.bytes),
                ideal.end(port, now, copy.bytes),
            ),
        };
        state.free = free;
        let next = state.queues.earliest().map(|earliest| earliest.max(free));
        state.due = next.unwrap_or(NEVER);
        self.inside -= 1;
        self.release(Release {
            at: release,
            cells: cells_of(u32::from(copy.bytes)),
            egress: port,
            reception: copy.reception,
            traffic_class: copy.traffic_class,
            pool: copy.pool,
        });
        Selection::Sent { frame: copy.frame, bytes: copy.bytes, traffic_class: copy.traffic_class, first, next }
    }

    /// Keeps the releases in order.
    fn release(&mut self, release: Release) {
        let mut at = self.releases.len();
        while at > 0 && self.releases[at - 1].at > release.at {
            at -= 1;
        }
        if at == self.releases.len() {
            self.releases.push_back(release);
        } else {
            self.releases.insert(at, release);
        }
    }
}
