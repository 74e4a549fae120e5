// SPDX-License-Identifier: Apache-2.0
//! Networks: bridges, stations, links, traffic sources, the run, its trace, its statistics, the conservation of frames.
//!
//! A bridge is a model of this crate, or whatever implements [`Node`].
#![forbid(unsafe_code)]
// Times have two widths, and what is a conversion for the one is none for the other.
#![allow(clippy::useless_conversion, clippy::unnecessary_cast)]

pub mod bridge;
mod capture;
mod card;
mod clock;
mod conformance;
mod conservation;
pub mod describe;
mod error;
mod faults;
mod figures;
mod frame;
mod frames;
pub mod header;
mod kernel;
mod ledger;
mod limits;
mod link;
mod links;
mod near;
mod node;
mod nodes;
mod outbox;
mod partition;
mod picture;
mod places;
mod prepare;
mod program;
pub mod queue;
mod routes;
mod run;
mod signed;
mod simulation;
mod source;
mod station;
mod statistics;
mod surroundings;
mod trace;
mod wires;

pub use card::{Card, CardDone, CardSent};
pub use clock::{Clock, ClockError, CYCLE_PS};
pub use conformance::Conformance;
pub use conservation::{Fates, Violation};
pub use describe::Network;
pub use error::RunError;
pub use figures::{Figures, HopFigures, PortFigures};
pub use frame::Frame;
pub use kernel::Observer;
pub use limits::{LONGEST_DELAY_PS, LONGEST_PS};
pub use link::Rate;
pub use node::{Due, Node, NodeError};
pub use outbox::{Coming, Outbox};
pub use penstock_shaper::Time;
pub use picture::{Occupation, Picture, PictureConfig};
pub use places::Places;
pub use program::{Created, Left, Program};
pub use run::{run, run_on, Guests, Outcome};
pub use signed::Signed;
pub use simulation::Simulation;
pub use source::SourceError;
pub use statistics::{Distribution, StreamStatistics, Summary};
pub use trace::{Event, Reason, Row};
