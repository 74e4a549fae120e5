// SPDX-License-Identifier: Apache-2.0
//! Runs whose times have 128 bit.
pub use penstock_net_wide as net;

#[path = "told.rs"]
pub mod told;
