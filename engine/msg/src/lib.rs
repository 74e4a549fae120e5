// SPDX-License-Identifier: Apache-2.0
//! Messages between nodes of tiles, addressed by their 32-bit identities (Scionti et al., section III).
//!
//! A message is whole or it is not there. Between two nodes messages come in the order in which they were sent. What makes them
//! reliable is TCP, one connection for each direction of each pair; their class on the way is the priority of its socket.
mod c;
mod card;
mod connection;
mod endpoint;
mod error;
mod identity;
mod inbox;

pub use card::{schedule_of, set_schedule};
pub use endpoint::{Endpoint, Options};
pub use error::Error;
pub use identity::{Identity, Tile};
pub use penstock_shaper::slots::{Schedule, ScheduleError};

/// Bytes of the longest message.
pub const LONGEST: usize = u32::MAX as usize;
