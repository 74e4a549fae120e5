// SPDX-License-Identifier: Apache-2.0
//! In-band synchronization by linear drift compensation, after Pal and others, "µTAS" (section IV-C).
//!
//! The origin sends frames that the follower stamps and sends back (the data collection phase). From the samples it knows by how
//! much the follower's clock is ahead, and by regression how much faster it goes. Then it sets the follower's clock, measures
//! what that left, since the frame that set it was on its way as long as any other, and gives slope and intercept of
//! the error, by which the follower compensates from then on (the configuration phase).
//!
//! Pure: whoever has a clock and a port, a model, hardware by its host port, or a data plane, stamps messages and does commands.
mod drift;
mod follower;
mod message;
mod origin;
#[cfg(test)]
mod tests;

pub use drift::{Drift, Sample, SLOPE_BITS};
pub use follower::{Follower, Reaction};
pub use message::{is_ours, Message, DESTINATION, ETHERTYPE, FRAME_BYTES};
pub use origin::{Origin, Phase, Plan, PlanError};

/// What a clock shows, in 2^-32 ns, as [`crate::ptp_clock::PtpClock`] counts.
pub type Time = i128;
