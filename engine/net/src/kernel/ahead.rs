// SPDX-License-Identifier: Apache-2.0
//! What a frame or a source needs soon is fetched into the cache: with many streams, the engine waits for memory more than
//! it computes.
//!
//! With few it would be in vain, and so it is with bridges: all streams share them, so that they stay in the cache.
use super::{Kernel, StreamState};
use crate::near::near;
use crate::queue::Kind;

/// About what a hop of a stream takes, and the cache of a core.
const HOP_BYTES: usize = 128;
const CACHE_BYTES: usize = 1 << 20;

/// Whether the routes of all streams do not fit into the cache of a core.
pub fn is_large(hops: usize) -> bool {
    hops * HOP_BYTES > CACHE_BYTES
}

impl Kernel {
    /// A frame is on its way to a hop.
    #[inline]
    pub(super) fn bring_hops(&self, hop: u32, stream: u32) {
        self.routes.bring(hop + 4);
        self.memos.bring(hop + 1);
        let Some([_, next, after]) = self.routes.from(hop) else { return };
        if next.is_end() {
            self.streams[stream as usize].statistics.bring_ends();
        } else if after.is_end() {
            self.streams[stream as usize].bring();
        }
    }

    /// Sources that release frames soon.
    #[inline]
    pub(super) fn bring_releases(&self) {
        for event in self.queue.tomorrow().iter().filter(|event| event.kind() == Kind::Release) {
            let talker = event.node() as usize - self.bridges.len();
            self.streams[event.index() as usize].bring_release();
            self.stations[talker].bring();
        }
    }
}

impl StreamState {
    /// What a delivery needs.
    #[inline]
    fn bring(&self) {
        near(&self.listeners);
        near(&self.fates);
        near(&self.answers);
        self.statistics.bring();
    }

    /// What a release needs.
    #[inline]
    fn bring_release(&self) {
        near(&self.talker);
        near(&self.handover);
        near(&self.listeners);
        self.generator.bring();
        self.statistics.bring_wait();
    }
}
