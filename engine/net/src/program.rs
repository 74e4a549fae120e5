// SPDX-License-Identifier: Apache-2.0
//! What a protocol does at a station: it hears what comes there, and gives frames that the station's port then sends.
use crate::node::NodeError;
use penstock_shaper::Time;

/// A frame of a stream of the program's station that answers another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// Its place among the streams of the network.
    pub stream: u32,
    /// From destination address to FCS.
    pub bytes: Box<[u8]>,
    /// Of a program at the host port of a bridge: the header before the frame, which says how it goes on.
    pub host: Option<[u8; 4]>,
}

/// A frame of a host left its bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    pub stream: u32,
    pub port: u16,
    /// By which the host knows it.
    pub tag: u8,
    /// Its first bit behind the delimiter.
    pub first: Time,
}

/// It does no I/O and has no clock but the times that it is told, in picoseconds of the run.
pub trait Program: Send {
    /// A frame will have come whole at `at`. Calls come in the order of these times. Of a program at the host port of a
    /// bridge, `port` is where the bridge received it; else the station's only one.
    fn receive(&mut self, at: Time, stream: u32, port: u16, bytes: &[u8]) -> Result<(), NodeError>;

    /// A program at a host port learns at `at` that a frame of its own left the bridge. Such calls come before that time, and
    /// between those of frames.
    fn left(&mut self, at: Time, left: Left) -> Result<(), NodeError> {
        let _ = (at, left);
        Ok(())
    }

    /// When it is to be advanced though no further frame comes; none: never.
    fn next(&self) -> Option<Time>;

    /// Does all that comes before or at `now`, and gives the frames that come to the station's port then.
    fn advance(&mut self, now: Time, created: &mut Vec<Created>) -> Result<(), NodeError>;
}
