// SPDX-License-Identifier: Apache-2.0
//! Traffic shapers as pure integer state machines: no clock, no input, no output.
//!
//! Each is the twin of a hardware module: the same integers, the same rounding, the same order.
#![forbid(unsafe_code)]
// Times have two widths, and what is a conversion for the one is none for the other.
#![allow(clippy::useless_conversion, clippy::unnecessary_cast)]

pub mod admission;
pub mod ats;
pub mod credit;
pub mod egress;
pub mod forwarding;
pub mod gate_config;
pub mod gated_credit;
pub mod gates;
pub mod identification;
pub mod in_band;
pub mod launch;
pub mod lifetime;
pub mod pace;
pub mod ptp_clock;
pub mod reception;
pub mod sequence_generation;
pub mod slots;
mod time;
pub mod turns;

pub use time::{signed, unsigned, SignedTime, Time};
