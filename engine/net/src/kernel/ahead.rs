// SPDX-License-Identifier: Apache-2.0
//! What is needed soon is fetched into the cache: a large network waits for memory more than it computes.
//!
//! In a small one it would be in vain. A frame's way is known. What a bridge needs is fetched while the frame is still two hops before it, in steps, since
//! where the later ones lie stands in what the earlier ones fetched.
use penstock_shaper::near::near;
use prefetch_index::prefetch_index;

use super::{BridgeNode, Kernel, StreamState};
use crate::bridge::Bridge;
use crate::queue::Kind;
use crate::routes::Hop;

/// About what a hop of a stream and a port of a bridge take, and the cache of a core.
const HOP_BYTES: usize = 128;
const PORT_BYTES: usize = 1024;
const CACHE_BYTES: usize = 1 << 20;

/// What of a network does not fit into the cache of a core, so that it is worth while to fetch it ahead.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    pub bridges: bool,
    /// Routes and streams.
    pub routes: bool,
}

impl Ahead {
    pub fn new(hops: usize, ports: usize) -> Self {
        Self { bridges: ports * PORT_BYTES > CACHE_BYTES, routes: hops * HOP_BYTES > CACHE_BYTES }
    }
}

impl Kernel {
    /// A frame is on its way to a hop.
    #[inline]
    pub(super) fn bring_hops(&self, hop: u32, stream: u32) {
        self.routes.bring(hop + 4);
        self.memos.bring(hop + 1);
        let Some([this, next, after]) = self.routes.from(hop) else { return };
        if let Some(bridge) = self.model(this) {
            bridge.bring_stream(self.memos.stream(hop));
        }
        if next.is_end() {
            return self.streams[stream as usize].statistics.bring_ends();
        }
        if after.is_end() {
            self.streams[stream as usize].bring();
        }
        if self.ahead.bridges {
            self.bring_bridges(hop, this, next, after);
        }
    }

    fn bring_bridges(&self, hop: u32, this: &Hop, next: &Hop, after: &Hop) {
        if let Some(bridge) = self.model(this) {
            bridge.bring_way(this.reception, this.egress(), self.memos.traffic_class(hop));
        }
        if let Some(BridgeNode::Model { bridge, first_wire, .. }) = self.bridges.get(next.bridge as usize) {
            bridge.bring_ports(next.reception, next.egress());
            prefetch_index(&self.wires, *first_wire as usize + usize::from(next.egress()));
        }
        if let Some(bridge) = self.model(after) {
            bridge.bring();
        }
    }

    /// A talker sends a frame.
    #[inline]
    pub(super) fn bring_first(&self, hop: u32) {
        let first = self.routes.hop(hop);
        if let Some(bridge) = self.model(first) {
            bridge.bring();
            bridge.bring_ports(first.reception, first.egress());
        }
    }

    /// The port of the bridge that acts next.
    #[inline]
    pub(super) fn bring_soon(&self) {
        let Some(event) = self.queue.soon() else { return };
        if let Some(BridgeNode::Model { bridge, .. }) = self.bridges.get(event.node() as usize) {
            bridge.bring_port(event.index() as u16);
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

    #[inline]
    fn model(&self, hop: &Hop) -> Option<&Bridge> {
        match self.bridges.get(hop.bridge as usize)? {
            BridgeNode::Model { bridge, .. } => Some(bridge),
            BridgeNode::External { .. } => None,
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
