// SPDX-License-Identifier: Apache-2.0
//! What a frame or a source needs soon is fetched into the cache: with many streams, the engine waits for memory more than
//! it computes.
//!
//! With few it would be in vain, and so it is with bridges: all streams share them, so that they stay in the cache.
use super::{Kernel, Origin};
use crate::near::near;
use crate::nodes::Member;
use crate::queue::Kind;
use crate::routes::Route;

/// About what a hop of a stream takes, and the cache of a core.
const HOP_BYTES: usize = 128;
const CACHE_BYTES: usize = 1 << 20;

/// Whether the routes of all streams do not fit into the cache of a core.
pub fn is_large(hops: usize) -> bool {
    hops * HOP_BYTES > CACHE_BYTES
}

impl Kernel {
    /// A new frame will come to the first hop of its route.
    #[inline]
    pub(super) fn bring_first(&self, stream: u32) {
        let Route { first, first_bridge, first_place, .. } = *self.around.ledger.route(stream);
        self.around.ledger.routes().bring(first);
        self.bring_place(first_bridge, first_place);
    }

    /// A frame is on its way to a hop.
    #[inline]
    pub(super) fn bring_hops(&self, hop: u32, stream: u32) {
        self.around.ledger.routes().bring(hop + 4);
        let Some([here, next, after]) = self.around.ledger.routes().from(hop) else { return };
        if let Some(Member::Model(model)) = self.members.get(here.bridge as usize) {
            model.bring_scheduler(here.place);
        }
        self.bring_place(next.bridge, next.place);
        if next.is_end() {
            self.around.ledger.bring_ends(stream);
        } else if after.is_end() {
            self.around.ledger.bring(stream);
            near(&self.origins[stream as usize].answers);
        }
    }

    #[inline]
    fn bring_place(&self, bridge: u32, place: u32) {
        if let Some(Member::Model(model)) = self.members.get(bridge as usize) {
            model.bring(place);
        }
    }

    /// Sources that release frames soon.
    #[inline]
    pub(super) fn bring_releases(&self) {
        for event in self.around.queue.tomorrow().iter().filter(|event| event.kind() == Kind::Release) {
            let talker = event.node() as usize - self.members.len();
            self.origins[event.index() as usize].bring();
            self.around.ledger.bring_wait(event.index());
            self.stations[talker].bring();
        }
    }
}

impl Origin {
    #[inline]
    fn bring(&self) {
        near(&self.talker);
        near(&self.handover);
        self.generator.bring();
    }
}
