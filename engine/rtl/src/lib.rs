// SPDX-License-Identifier: Apache-2.0
//! Verilated hardware: the libraries of switch and network card, and the switch as a node of a network.

pub mod card;
mod library;
mod node;

pub use library::{HardwareError, Switch};
pub use node::SwitchNode;
