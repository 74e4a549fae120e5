// SPDX-License-Identifier: Apache-2.0
use penstock_frame::{BitsPerSecond, Picoseconds};
use thiserror::Error;

use crate::trace::Reason;

/// A frame on its way into a port.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    pub frame: u64,
    pub port: u16,
    /// Of the first bit after the delimiter; a multiple of the node's grid. Arrivals of a port are given in order.
    pub time: Picoseconds,
    pub bytes: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// First bit after the delimiter at a reception port.
    Received,
    /// A copy entered a queue of an egress port.
    Queued,
    /// From then on an ATS scheduler's copy may be selected.
    Eligible,
    /// First bit after the delimiter at an egress port.
    Sent,
    /// The whole frame was dropped; the port is the reception port.
    Dropped(Reason),
    /// The copy for an egress port was dropped before it was queued.
    Refused(Reason),
    /// A queued copy was given up.
    Expired(Reason),
    /// All that the node decided about a frame at its reception has been told.
    Judged,
    /// A copy went out that is not what came in: damaged, marked as in error, or with a wrong preamble or gap.
    Damaged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeEvent {
    pub time: Picoseconds,
    pub frame: u64,
    pub port: u16,
    pub what: What,
    /// Known from the judgement on.
    pub traffic_class: Option<u8>,
}

#[derive(Debug, Error)]
pub enum NodeError {
    #[error("{node}: {what}")]
    Broken { node: String, what: String },
}

/// A bridge: takes frames with arrival times, gives frames with departure times.
pub trait Node: Send {
    fn ports(&self) -> u16;
    /// Of every port.
    fn rate(&self) -> BitsPerSecond;
    /// Times of arrival are multiples of this.
    fn grid(&self) -> Picoseconds;
    /// The earliest possible time of an arrival.
    fn earliest(&self) -> Picoseconds;
    fn push(&mut self, arrival: Arrival) -> Result<(), NodeError>;
    /// Runs up to a time, and tells what happened; the events of one frame are in order.
    fn run_until(&mut self, time: Picoseconds, events: &mut Vec<NodeEvent>) -> Result<(), NodeError>;
    /// Frames that were pushed and are neither gone from all queues nor dropped.
    fn unfinished(&self) -> u64;
    /// Whether nothing will happen any more without a further arrival.
    fn idle(&self) -> bool;
    /// Cycles that were simulated, and cycles that were jumped.
    fn cycles(&self) -> (u64, u64);
}
