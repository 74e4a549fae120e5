// SPDX-License-Identifier: Apache-2.0
//! The trace of a run as a Parquet file, written while the network runs.
//!
//! Rows are encoded a chunk at a time, while they are in the processor's cache: numbers that move on by their differences,
//! all others by their places in a dictionary, bit-packed both. Nothing is compressed beyond that.
mod bits;
mod column;
mod deltas;
mod distinct;
mod file;
mod indices;

pub use column::Names;
pub use file::{TraceError, TraceFile};
