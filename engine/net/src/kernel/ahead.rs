// SPDX-License-Identifier: Apache-2.0
//! What a frame or a source needs soon is fetched into the cache: with many streams, the engine waits for memory more than
//! it computes.
//!
//! With few it would be in vain, and so it is with bridges: all streams share them, so that they stay in the cache.
use super::Kernel;
use crate::ledger::Ledger;
use crate::near::near;
use crate::nodes::Member;
use crate::queue::Kind;
use crate::source::Origin;
use crate::surroundings::Surroundings;

/// About what a hop of a stream takes, and the cache of a core.
const HOP_BYTES: usize = 128;
const CACHE_BYTES: usize = 1 << 20;

/// Whether the routes of all streams do not fit into the cache of a core.
pub fn is_large(hops: usize) -> bool {
    hops * HOP_BYTES > CACHE_BYTES
}

/// A frame of a stream is on its way to a hop.
#[inline]
pub fn bring_hops(ledger: &Ledger, origins: &[Origin], hop: u32, stream: u32) {
    ledger.routes().bring(hop.saturating_add(4));
    let Some([_, next, after]) = ledger.routes().from(hop) else { return };
    if next.is_end() {
        ledger.bring_ends(stream);
    } else if after.is_end() {
        ledger.bring(stream);
        near(&origins[stream as usize].answers);
    }
}

/// A new frame will come to the first hop of its route.
#[inline]
pub fn bring_first(around: &Surroundings, stream: u32) {
    let first = around.ledger.route(stream).first;
    around.ledger.routes().bring(first);
    around.memos.bring(first);
}

impl Kernel {
    /// Sources that release frames soon.
    #[inline]
    pub(super) fn bring_releases(&self) {
        for event in self.around.queue.tomorrow().iter().filter(|event| event.kind() == Kind::Release) {
            self.around.origins[event.index() as usize].bring();
            self.around.ledger.bring_wait(event.index());
            if let Member::Station(station) = &self.members[event.node() as usize] {
                station.bring();
            }
        }
    }
}
