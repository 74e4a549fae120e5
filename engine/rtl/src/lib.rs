// SPDX-License-Identifier: Apache-2.0
//! Verilated hardware: the libraries of switch and network card, the switch as a node of a network, and the card as the port of
//! a station.

pub mod card;
mod card_driver;
mod card_node;
mod library;
mod node;
pub mod queues;
mod switch;

pub use card_node::CardNode;
pub use library::HardwareError;
pub use node::SwitchNode;
pub use switch::Switch;
