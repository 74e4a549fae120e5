// SPDX-License-Identifier: Apache-2.0
//! Where the frames of a stream come from.
use super::{Generator, Handover};
use crate::near::near;

pub struct Origin {
    pub generator: Generator,
    pub handover: Option<Handover>,
    /// Streams that answer this one.
    pub answers: Vec<u32>,
    /// Among the stations.
    pub talker: u32,
}

impl Origin {
    /// Has what a release needs fetched into the cache.
    #[inline]
    pub fn bring(&self) {
        near(&self.talker);
        near(&self.handover);
        self.generator.bring();
    }
}
