// SPDX-License-Identifier: Apache-2.0
//! Whether a source keeps to its committed rate and burst where its frames enter the network.
use penstock_frame::{BitsPerSecond, Bytes};
use penstock_shaper::ats::{process_frame, Group, Rate, RateError, Scheduler, MAX_RESIDENCE_NS};
use penstock_shaper::Time;

use crate::clock::CYCLE_PS;
use crate::describe::Committed;

/// A frame that comes early by no more than the grid of the clocks is not held against its source.
const GRID_PS: Time = 2 * CYCLE_PS;
const LONGEST_PS: Time = MAX_RESIDENCE_NS as Time * 1000;

/// What a scheduler of its talker's streams alone would make of its frames: of the stream's own, or of those that promise
/// rate and burst together. What each frame needs stands together.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Conformance {
    /// The number of the first that would be held, from 1.
    pub first_late: Option<u64>,
    /// That were seen.
    pub frames: u64,
    overhead_bytes: i32,
    /// The stream whose scheduler it is, if that is another one.
    shared: Option<u32>,
    group: Group,
    scheduler: Scheduler,
    /// That would be held by more than the grid.
    pub late: u64,
    /// For how long the worst of them.
    pub worst_ps: Time,
}

impl Conformance {
    pub fn new(committed: &Committed) -> Result<Self, RateError> {
        let rate = Rate::new(BitsPerSecond(committed.rate_bps), Bytes(committed.burst_bytes))?;
        Ok(Self {
            group: Group::default(),
            scheduler: Scheduler::new(rate),
            overhead_bytes: committed.overhead_bytes,
            shared: None,
            frames: 0,
            late: 0,
            worst_ps: 0,
            first_late: None,
        })
    }

    /// One of several streams that share the scheduler of this stream.
    pub fn sharing(self, stream: u32) -> Self {
        Self { shared: Some(stream), ..self }
    }

    /// The stream whose scheduler it shares.
    pub fn shared(&self) -> Option<u32> {
        self.shared
    }

    /// Makes the scheduler's state that of another one, who has seen its last frame.
    pub fn follow(&mut self, other: &Self) {
        (self.group, self.scheduler) = (other.group, other.scheduler);
    }

    /// A frame whose last bit came at this time.
    pub fn see(&mut self, arrived_ps: Time, frame_bytes: u32) {
        let arrived_ns = arrived_ps.div_ceil(1000);
        let length = frame_bytes.saturating_add_signed(self.overhead_bytes);
        self.frames += 1;
        let held_ps = match process_frame(&mut self.group, &mut self.scheduler, arrived_ns, length) {
            Some(eligible) => ((eligible * 1000) >> 16) as Time - arrived_ns * 1000,
            None => LONGEST_PS,
        };
        if held_ps > GRID_PS {
            self.late += 1;
            self.worst_ps = self.worst_ps.max(held_ps);
            self.first_late.get_or_insert(self.frames);
        }
    }
}
