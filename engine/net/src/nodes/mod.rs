// SPDX-License-Identifier: Apache-2.0
//! The nodes between the links, each with a [`Node`] of its kind.
mod advances;
mod bridge;
mod guest;
mod station;

pub(crate) use advances::Advances;
pub(crate) use bridge::BridgeNode;
pub(crate) use guest::Guest;
pub(crate) use station::{Carded, Hosted, StationNode};

use crate::clock::Clock;
use crate::node::Node;

/// What networks consist of is known, since calls that are found out while running cost a part of what a network of them
/// takes. Small, so that all of a network lie near.
pub(crate) enum Member {
    Bridge(Box<BridgeNode>),
    Station(Box<StationNode>),
    Guest(Box<Guest>),
    Foreign(Box<Foreign>),
}

const _: () = assert!(size_of::<Member>() == 16);

/// A bridge that another partition of the network simulates.
pub(crate) struct Foreign {
    pub clock: Clock,
    pub partition: u32,
}

impl Member {
    /// As a node, where that it takes time to find it out does not matter.
    pub fn node(&self) -> Option<&dyn Node> {
        match self {
            Self::Bridge(bridge) => Some(&**bridge),
            Self::Station(station) => Some(&**station),
            Self::Guest(guest) => Some(&**guest),
            Self::Foreign(_) => None,
        }
    }
}
