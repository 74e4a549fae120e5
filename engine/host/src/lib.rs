// SPDX-License-Identifier: Apache-2.0
//! The machine's side of a network card: a virtual machine hands its queues over by vhost-user, its memory is the card's, and
//! the card is a model or the Verilated `pen_nic`.
//!
//! | module | what |
//! |---|---|
//! | `memory` | the guest's memory |
//! | `ring` | the device's side of a split virtqueue |
//! | `card` | what a card is to its host |
//! | `model` | the card as a model |
//! | `verilated` | the card in hardware, Verilated |
//! | `alone` | the card without a virtual machine: what each queue gets of its line |
//! | `both_ways` | the same with all ports full in both directions: what is lost |
//! | `differential` | one against the other |
//! | `hostile` | a guest that means harm |
//! | `ptp` | the clock of a card, and stamps, by their registers |
//! | `vhost_user` | the protocol by which QEMU hands queues over |
//! | `uart` | registers by the protocol of a board's serial line |
//! | `tally` | what left by the wire, frame by frame |
//! | `wire` | where the card's frames go |
//! | `steps` | what is asked of a card whose time is somebody else's |
//! | `run` | all of it together |
#![forbid(unsafe_code)]

pub mod alone;
pub mod both_ways;
pub mod card;
pub mod differential;
pub mod hostile;
pub mod memory;
pub mod model;
pub mod ptp;
pub mod ring;
pub mod run;
mod steps;
pub mod tally;
pub mod uart;
pub mod verilated;
pub mod vhost_user;
pub mod wire;
