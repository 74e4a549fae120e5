// SPDX-License-Identifier: Apache-2.0
//! The Verilated switch: its library, and the switch as a node of a network.

mod library;
mod node;

pub use library::{Event, Frame, HardwareError, Kind, State, Switch, FLAG_DAMAGED, FLAG_PREAMBLE, FLAG_SHAPED};
pub use library::{FLAG_SHORT_GAP, FLAG_STREAM, FLAG_TX_ER};
pub use node::SwitchNode;
