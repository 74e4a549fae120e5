// SPDX-License-Identifier: Apache-2.0
//! Worst cases of a network by network calculus: how long a frame may wait at each port, whatever else conforms to its
//! contract. Total flow analysis: every class of every port is one queue, whose arrivals follow from what its streams were
//! promised at their sources and from how long they may have waited before; a fixed point closes the circle, cycles of
//! streams too. Any vector of delays that the analysis maps to nothing larger is a bound (FP-TFA: Thomas, Le Boudec,
//! Mifdaoui, RTSS 2019).
//!
//! Integers decide: times are whole picoseconds, amounts 10^-12 bit, so that a rate in b/s times a time in ps is exact.
//! What does not divide is rounded towards the larger bound.
//!
//! | file | what it knows |
//! |---|---|
//! | `describe` | the network as plain data: ports, their classes and gates, streams, contracts, regulators |
//! | `told` | the same in few words, as it is handed over |
//! | `check` | what of that is out of range |
//! | `curve` | arrival curves: the least of some token buckets, sums, what a link lets through, jitter |
//! | `growth` | by how much more of a stream is on one link than on another, where its frames get tags |
//! | `phase` | when in the gate cycle frames of sources come that are synchronized with it |
//! | `windows` | the gate cycle of a port from the view of one class: when it can be served, and when others can |
//! | `service` | what a class gets from a phase of that cycle on, against all that goes before it |
//! | `wait` | the longest wait of a class: the horizontal deviation of its arrivals from that service |
//! | `credit` | the most credit of a class, and the longest wait for it |
//! | `search` | the worst of all phases of a gate cycle, without a look at each |
//! | `members` | which streams come to each queue, and by which links |
//! | `class` | a class of a port among the others, and how it is served |
//! | `flow` | arrivals from port to port, and the fixed point |
//! | `outcome` | what is found of queues and streams |
//!
//! Not there yet: cut-through, and answers whose contract follows from what they answer.
//!
//! A class is served by strict priority, by credit, in turns with others of its level, behind gates or not. What comes by
//! an ATS scheduler comes by its rate and burst. All lengths are on the wire: frame, preamble, delimiter and gap.
#![forbid(unsafe_code)]

mod check;
mod class;
mod credit;
mod curve;
pub mod describe;
mod flow;
mod growth;
mod members;
mod outcome;
mod phase;
mod search;
mod service;
pub mod told;
mod wait;
mod windows;

pub use flow::analyse;
pub use outcome::{Hop, Outcome, Queue, Why};

/// Traffic classes of a port.
const CLASSES: usize = 8;

/// 10^-12 bit.
pub type Amount = i128;
/// Picoseconds.
pub type Time = i64;

/// Of a byte.
const BYTE: Amount = 8_000_000_000_000;

/// The quotient, rounded up; what divides is above zero. What fits into machine words is divided many times as fast.
#[inline]
fn ceil_div(numerator: Amount, denominator: Amount) -> Amount {
    -floor_div(-numerator, denominator)
}

/// The quotient, rounded down; what divides is above zero.
#[inline]
fn floor_div(numerator: Amount, denominator: Amount) -> Amount {
    match (i64::try_from(numerator), i64::try_from(denominator)) {
        (Ok(numerator), Ok(denominator)) => numerator.div_euclid(denominator).into(),
        _ => numerator.div_euclid(denominator),
    }
}
