// SPDX-License-Identifier: Apache-2.0
//! A bridge that is not a model of this crate, such as hardware under simulation.
use thiserror::Error;

use crate::bridge::{Judgement, Tick};
use crate::trace::Reason;

/// A frame on its way into a port.
#[derive(Clone, Copy, Debug)]
pub struct Push<'a> {
    /// Unique in the run.
    pub id: u64,
    /// How it is named in what is told; another frame may have the name once this one is gone.
    pub frame: u32,
    pub port: u16,
    /// Of the first byte after the delimiter. Arrivals of a port are given in order.
    pub first: Tick,
    pub bytes: &'a [u8],
}

/// What a node did, in the order in which it did it.
#[derive(Clone, Debug)]
pub enum Told {
    /// At the reception port.
    Verdict(u16, Judgement),
    /// A copy was selected; `first` is when its first byte after the delimiter will leave.
    Sent { frame: u32, port: u16, traffic_class: u8, first: Tick },
    /// A queued copy was dropped.
    Expired { frame: u32, port: u16, traffic_class: u8, reason: Reason, at: Tick },
    /// A copy went out that is not what came in: damaged, marked as in error, or with a wrong preamble or gap.
    Damaged { id: u64, port: u16 },
}

#[derive(Debug, Error, PartialEq, Eq)]
#[error("bridge \"{node}\": {what}")]
pub struct NodeError {
    pub node: String,
    pub what: String,
}

/// Takes frames with arrival times, gives frames with departure times. Time is in ticks of its clock.
pub trait Node: Send {
    fn ports(&self) -> u16;
    fn push(&mut self, push: Push) -> Result<(), NodeError>;
    /// Runs up to, not including, a tick.
    fn run_until(&mut self, tick: Tick, told: &mut Vec<Told>) -> Result<(), NodeError>;
    /// Whether something can happen without a further arrival.
    fn busy(&self) -> bool;
    /// Frames of which something is inside: by what was told, and by the node's own count.
    fn unfinished(&self) -> (u64, u64);
    /// Ticks that were simulated, and ticks that were jumped.
    fn cycles(&self) -> (u64, u64);
}

/// From the tick in which such a node tells of a selection to the first preamble byte, at the least; one less than it
/// is, for what clocks drift in a preamble.
pub const LEAD_TICKS: u64 = 1;
