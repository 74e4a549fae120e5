// SPDX-License-Identifier: Apache-2.0
//! What every node of a network can do, whatever it is: a model, a station, hardware under simulation, a program.
use thiserror::Error;

use crate::conservation::Violation;
use crate::error::RunError;
use crate::frame::Frame;
use crate::outbox::{Coming, Outbox};
use crate::queue::{Kind, HOP_BITS};
use penstock_shaper::Time;

#[derive(Debug, Error, PartialEq, Eq)]
#[error("node \"{node}\": {what}")]
pub struct NodeError {
    pub node: String,
    pub what: String,
}

/// What of a node is due. A node of one part has nothing to tell apart; one of several, such as a bridge with its ports,
/// asks for each of them by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Its place among what is due at one instant.
    pub(crate) kind: Kind,
    pub(crate) index: u32,
}

impl Due {
    /// The whole node.
    pub const ALL: Self = Self { kind: Kind::Advance, index: 0 };

    /// Of a bridge.
    #[inline]
    pub(crate) fn port(self) -> u16 {
        (if self.kind == Kind::Judge { self.index >> HOP_BITS } else { self.index }) as u16
    }
}

/// Takes frames and gives frames. It does no I/O and has no clock but the times that it is told, in picoseconds of the run;
/// a node with a clock of its own converts them.
///
/// Calls come in the order of `now`; of frames, `at` may be later than what was advanced to, never earlier, and those of a
/// port come in order.
pub trait Node: Send {
    fn ports(&self) -> u16;

    /// A frame, whose first bit after the delimiter will come into a port at `at`. Gives the time at which the node has it
    /// by its own clock, not before `at`.
    fn receive(&mut self, at: Time, port: u16, coming: Coming<'_>) -> Result<Time, RunError>;

    /// What was coming into a port ended at `at`, before it was whole: nothing but these bytes came, and the frame is at its
    /// sender again.
    fn broken_off(&mut self, at: Time, port: u16, bytes: &[u8]) -> Result<(), RunError> {
        let _ = (at, port, bytes);
        Ok(())
    }

    /// When it is to be advanced as a whole though no further frame comes; none: never. What the node would do before that
    /// time has no effect on others before that time.
    fn next(&self) -> Option<Time> {
        None
    }

    /// Does all that comes before or at `now` in what is due, and tells it.
    fn advance(&mut self, now: Time, due: Due, out: &mut Outbox<'_>) -> Result<(), RunError>;

    /// Whether it may cut what it sends ([`Outbox::cut`]). The next node gets such a frame when it is whole.
    fn cuts(&self) -> bool {
        false
    }

    /// Whether it reads frames before they are whole, as hardware does and a bridge that cuts through.
    fn reads_early(&self) -> bool {
        false
    }

    /// At the end of a run: shows each frame that it holds as a value, with the number of its copies.
    fn inside(&self, show: &mut dyn FnMut(&Frame, u32)) {
        let _ = show;
    }

    /// At the end of a run: what is wrong by the node's own books. `node` is its number in the run; when it is idle, nothing
    /// will happen any more.
    fn audit(&self, node: u32, is_idle: bool) -> Option<Violation> {
        let _ = (node, is_idle);
        None
    }

    /// Cycles that were simulated, and cycles that were jumped.
    fn cycles(&self) -> (u64, u64) {
        (0, 0)
    }
}
