// SPDX-License-Identifier: Apache-2.0
//! A data plane on real packets: a bridge whose every decision is a state machine of the engine.
//!
//! `plane` is pure; `drive` brings it together with a clock and with ports, which are interfaces or a test's.
#![forbid(unsafe_code)]

pub mod arrivals;
pub mod clock;
pub mod config;
pub mod control;
pub mod count;
pub mod drive;
pub mod gating;
pub mod interfaces;
pub use penstock_shaper::pace as line;
pub mod link;
pub mod offload;
pub mod pause;
pub mod plane;
pub mod port;
pub mod quantity;
pub mod run;
pub mod store;
pub mod table;
pub mod trace;
pub mod writer;
