// SPDX-License-Identifier: Apache-2.0
//! The Verilated switch: its library, and the switch as a node of a network.

mod library;
mod node;

pub use library::{HardwareError, Switch};
pub use node::SwitchNode;
