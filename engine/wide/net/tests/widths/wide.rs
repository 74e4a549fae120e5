// SPDX-License-Identifier: Apache-2.0
pub use penstock_net_wide as net;

#[path = "left.rs"]
pub mod left;
