// SPDX-License-Identifier: Apache-2.0
//! What stands between a station's programs and its cable, where that is no model: a network card in hardware.
use crate::conservation::Violation;
use crate::node::NodeError;
use penstock_shaper::Time;

/// A frame that a card sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardSent {
    /// By the number that it was given with.
    pub frame: u32,
    pub traffic_class: u8,
    /// When its first bit behind the delimiter leaves, in picoseconds of the run.
    pub first: Time,
    /// Its launch time, if it leaves after it.
    pub missed: Option<Time>,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardDone {
    Sent(CardSent),
    /// At a time, in picoseconds of the run: it would have waited for its eligibility time for too long.
    Refused {
        /// By the number that it was given with.
        frame: u32,
        traffic_class: u8,
        at: Time,
    },
}

/// Has frames of its host, each in the queue of its traffic class, and sends them; takes what comes by the wire. As a
/// [`crate::Node`] it is told the time, in picoseconds of the run.
pub trait Card: Send {
    /// The host has a frame, destination address to FCS, for the queue of a class; with its launch time, in picoseconds of
    /// the run, if it has one.
    fn send(&mut self, now: Time, frame: u32, traffic_class: u8, launch: Option<Time>, bytes: &[u8]);

    /// A frame comes by the wire, whose first bit after the delimiter is there at `at`. A good one has to reach the host, a
    /// damaged one must not.
    fn receive(&mut self, at: Time, bytes: &[u8], is_damaged: bool) -> Result<(), NodeError>;

    /// When it is to be advanced though nothing further comes; none: never. What it sends before that time has no effect
    /// on others before that time.
    fn next(&self) -> Option<Time>;

    /// Does all that comes before or at `now`; gives one of the frames that it has selected or refused, in their order. It
    /// says by [`Self::next`] that there are more.
    fn advance(&mut self, now: Time) -> Result<Option<CardDone>, NodeError>;

    /// At the end of a run, as of a [`crate::Node`].
    fn audit(&self, node: u32, is_idle: bool) -> Option<Violation>;

    /// Cycles that were simulated.
    fn cycles(&self) -> u64;
}
