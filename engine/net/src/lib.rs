// SPDX-License-Identifier: Apache-2.0
//! Stations, traffic sources, the run of a network, its trace and the conservation of frames.
//!
//! What a bridge is made of, model or hardware, is behind the trait [`Node`].
#![forbid(unsafe_code)]

pub mod bridge;
mod conservation;
mod describe;
pub mod header;
mod node;
mod run;
mod source;
mod station;
mod trace;

pub use conservation::{Fates, Violation};
pub use describe::{Bridge, FrameDescription, Jitter, Network, PayloadDescription, Source, Station, Stream};
pub use node::{Arrival, Node, NodeError, NodeEvent, What};
pub use run::{run, Delivery, Outcome, RunError, Simulation};
pub use trace::{Event, Reason, Trace};
