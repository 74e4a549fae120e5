// SPDX-License-Identifier: Apache-2.0
//! The nodes between the links.
mod advances;
mod bridge;

pub(crate) use advances::Advances;
pub(crate) use bridge::{BridgeNode, Leaving};

use crate::clock::Clock;
use crate::node::Node;

/// Models are known, since calls that are found out while running cost a part of what a network of them takes. Small, so
/// that all of a network lie near.
pub(crate) enum Member {
    Model(Box<BridgeNode>),
    Other(Box<Guest>),
    Foreign(Box<Foreign>),
}

const _: () = assert!(size_of::<Member>() == 16);

/// A model that another partition of the network simulates.
pub(crate) struct Foreign {
    pub clock: Clock,
    pub partition: u32,
}

/// A node of which only the trait is known.
pub(crate) struct Guest {
    pub node: Box<dyn Node>,
    /// The next advance that stands in the queue; `u64::MAX`: none.
    pub due: u64,
    /// Copies that it was given and that have not left it.
    pub copies: u64,
    /// The place of its first port among those of all bridges.
    pub first_port: u32,
    pub advances: Advances,
}

impl Guest {
    pub fn new(name: &str, node: Box<dyn Node>, first_port: u32) -> Self {
        Self { node, due: u64::MAX, copies: 0, first_port, advances: Advances::new(name) }
    }
}
