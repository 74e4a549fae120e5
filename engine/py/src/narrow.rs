// SPDX-License-Identifier: Apache-2.0
//! Runs whose times have 64 bit.
pub use penstock_net as net;

#[path = "told.rs"]
pub mod told;
