// SPDX-License-Identifier: Apache-2.0
//! A network card as its host sees it: rings in the guest's memory, registers, a wire.
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::memory::Memory;
use crate::ring::{Layout, RingError};

/// Queue pairs at most. Those from the ninth on share the traffic classes of the first eight.
pub const MOST_PAIRS: usize = 16;

pub const MOST_PORTS: usize = 4;

/// Features of virtio (5.1.3, 6) that a card has.
pub const FEATURE_MRG_RXBUF: u64 = 1 << 15;
pub const FEATURE_CTRL_VQ: u64 = 1 << 17;
pub const FEATURE_MQ: u64 = 1 << 22;
pub const FEATURE_VERSION_1: u64 = 1 << 32;

/// The ring of a queue pair k is 2k for reception, 2k + 1 for transmission (5.1.2).
pub fn ring_of(pair: usize, is_transmit: bool) -> usize {
    2 * pair + usize::from(is_transmit)
}

/// A frame that has left by the wire, without FCS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub queue: usize,
    /// When the first bit of its preamble left, in ns of the card's clock.
    pub at_ns: u64,
    pub frame: Vec<u8>,
}

/// What a card did.
#[derive(Debug, Default)]
pub struct Outcome {
    pub sent: Vec<Sent>,
    /// Of those, how many had no good FCS, or were not whole, or too close to the one before.
    pub damaged: u64,
    /// Rings whose driver is to be told.
    pub interrupts: Vec<usize>,
    /// Rings that have stopped, and why.
    pub errors: Vec<(usize, String)>,
}

/// An access that no register takes.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("there is no register at {address:#06x} that can be accessed so")]
pub struct NoRegister {
    pub address: u16,
}

/// Time is that of the whole card; all else is of the port that is selected, which is 0 at first.
pub trait Card {
    fn ports(&self) -> usize;

    /// All that follows is of a port, of which there is one.
    fn select(&mut self, port: usize);

    /// How many queue pairs each port has.
    fn pairs(&self) -> usize;

    /// The virtual machine's memory; all rings are stopped.
    fn set_memory(&mut self, memory: Arc<Memory>);

    /// What the driver has accepted of the features.
    fn set_features(&mut self, features: u64);

    /// A ring begins or goes on at an index.
    ///
    /// # Errors
    /// A ring that the card cannot work with; it stays stopped.
    fn start(&mut self, ring: usize, layout: Layout, next: u16) -> Result<(), RingError>;

    /// A ring stops: the card touches nothing of it any more, and sends what it has of its frames, which were given back. Gives
    /// the index at which it would go on.
    fn stop(&mut self, ring: usize) -> u16;

    /// The driver has made chains available.
    fn kick(&mut self, ring: usize);

    /// Whether another frame may come by the wire now.
    fn can_receive(&self) -> bool {
        true
    }

    /// A frame without FCS has come by the wire.
    fn receive(&mut self, frame: &[u8]);

    /// Brings the card to a time since the host began, if it goes by it. Gives how long nothing happens unless somebody
    /// comes; None: for ever.
    fn advance(&mut self, since_begin: Duration, outcome: &mut Outcome) -> Option<Duration>;

    /// # Errors
    /// There is no such register.
    fn read(&mut self, address: u16) -> Result<u32, NoRegister>;

    /// # Errors
    /// There is no such register.
    fn write(&mut self, address: u16, value: u32) -> Result<(), NoRegister>;
}
