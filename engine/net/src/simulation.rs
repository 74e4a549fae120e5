// SPDX-License-Identifier: Apache-2.0
//! What a run says of itself.
use penstock_shaper::Time;

#[derive(Clone, Copy, Debug, Default)]
pub struct Simulation {
    /// Passages of a frame through an egress port of a bridge or a station.
    pub frame_hops: u64,
    pub events: u64,
    /// Of hardware.
    pub cycles_simulated: u64,
    pub cycles_jumped: u64,
    /// When nothing was left to do, or the run was over.
    pub end_ps: Time,
}

impl Simulation {
    /// Adds what other nodes of the same run did.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.frame_hops += other.frame_hops;
        self.events += other.events;
        self.cycles_simulated += other.cycles_simulated;
        self.cycles_jumped += other.cycles_jumped;
        self.end_ps = self.end_ps.max(other.end_ps);
    }

    /// Something happened at a time.
    #[inline]
    pub(crate) fn passed(&mut self, time: Time) {
        self.end_ps = self.end_ps.max(time);
    }
}
