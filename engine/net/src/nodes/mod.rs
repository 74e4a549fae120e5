// SPDX-License-Identifier: Apache-2.0
//! The nodes between the links.
mod bridge;

pub(crate) use bridge::{BridgeNode, Leaving};

use crate::clock::Clock;
use crate::node::Node;

/// Models are known, since calls that are found out while running cost a part of what a network of them takes.
pub(crate) enum Member {
    Model(Box<BridgeNode>),
    Other(Guest),
    /// A model that another partition of the network simulates.
    Foreign {
        clock: Clock,
        partition: u32,
    },
}

/// A node of which only the trait is known.
pub(crate) struct Guest {
    pub node: Box<dyn Node>,
    /// The next advance that stands in the queue; `u64::MAX`: none.
    pub due: u64,
    /// Copies that it was given and that have not left it.
    pub copies: u64,
}

impl Guest {
    pub fn new(node: Box<dyn Node>) -> Self {
        Self { node, due: u64::MAX, copies: 0 }
    }
}
