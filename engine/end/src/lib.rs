// SPDX-License-Identifier: Apache-2.0
//! An end station on Linux: a talker with a software gate control list and launch times, a listener with statistics;
//! and who watches over a host that is a node of tiles.
#![forbid(unsafe_code)]

pub mod clock;
pub mod distribution;
pub mod frame;
pub mod header;
pub mod listen;
pub mod measure;
pub mod options;
pub mod plan;
pub mod rtp;
pub mod sequence;
pub mod stamps;
pub mod station;
pub mod talk;
pub mod watch;
