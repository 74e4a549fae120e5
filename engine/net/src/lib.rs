// SPDX-License-Identifier: Apache-2.0
//! Networks: bridges, stations, links, traffic sources, the run, its trace, its statistics, the conservation of frames.
//!
//! A bridge is a model of this crate, or whatever implements [`Node`].
#![forbid(unsafe_code)]

pub mod bridge;
mod capture;
mod clock;
mod conformance;
mod conservation;
pub mod describe;
mod error;
mod frames;
pub mod header;
mod kernel;
mod limits;
mod link;
mod near;
mod node;
pub mod queue;
mod routes;
mod run;
mod source;
mod station;
mod statistics;
mod trace;

pub use clock::{Clock, ClockError, CYCLE_PS};
pub use conformance::Conformance;
pub use conservation::{Fates, Violation};
pub use describe::Network;
pub use error::RunError;
pub use kernel::{Observer, Simulation};
pub use limits::LONGEST_PS;
pub use node::{Node, NodeError, Push, Told};
pub use run::{run, Outcome};
pub use source::SourceError;
pub use statistics::{Distribution, StreamStatistics, Summary};
pub use trace::{Columns, Event, Reason, Row};
