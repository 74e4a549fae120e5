// SPDX-License-Identifier: Apache-2.0
//! What left by the wire, frame by frame.
use serde::Serialize;

use penstock_frame::{Header, FCS_BYTES, GAP_BYTES, MIN_FRAME_BYTES, PREAMBLE_BYTES};

use crate::card::Sent;

/// Of one queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Queue {
    pub frames: u64,
    /// With preamble, FCS and gap.
    pub wire_bytes: u64,
    /// Frames of each priority code point.
    pub pcp: [u64; 8],
    pub untagged: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub queues: Vec<Queue>,
    pub received: u64,
    /// Frames that left without a good FCS, or not whole, or too close to the one before.
    pub damaged: u64,
    /// Frames that the other side of the wire did not take.
    pub lost: u64,
    /// When the last frame began, by the card's clock.
    pub last_ns: u64,
    /// Rings that have stopped, and why.
    pub errors: Vec<(usize, String)>,
}

impl Tally {
    pub fn new(pairs: usize) -> Self {
        Self { queues: vec![Queue::default(); pairs], ..Self::default() }
    }

    pub fn count(&mut self, sent: &Sent) {
        self.last_ns = sent.at_ns;
        let Some(queue) = self.queues.get_mut(sent.queue) else { return };
        let bytes = (sent.frame.len() as u32 + FCS_BYTES).max(MIN_FRAME_BYTES);
        queue.frames += 1;
        queue.wire_bytes += u64::from(PREAMBLE_BYTES + bytes + GAP_BYTES);
        match Header::parse(&sent.frame).tag {
            Some(tag) => queue.pcp[usize::from(tag.pcp & 7)] += 1,
            None => queue.untagged += 1,
        }
    }
}
