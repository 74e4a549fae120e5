// SPDX-License-Identifier: Apache-2.0
//! Enhancements for scheduled traffic: transmission gates (802.1Q 8.6.8.4) and the cycle timer, list execute and list
//! config state machines (8.6.9). Twin of `pen_gates` and `pen_gate_config`.
//!
//! Gate time is counted in *units*: nanoseconds in hardware, picoseconds in bridges of other makers. Between two changes
//! (a commit, a clock step) the state at any later time follows from that time alone, so nothing has to be done at a gate
//! edge. At one instant gates change first: a state holds from its time on, up to the next one's.
mod borders;
mod floors;
mod gate_time;
mod list;
mod open_ticks;
mod port;
#[cfg(test)]
mod tests;
mod view;
mod windows;

pub use gate_time::{GateDelays, GateTime};
pub use list::{
    AdminList, Capacity, Entry, List, ListError, Lists, HORIZON, LEAST_INTERVAL_NS, MOST_ENTRIES, OPERATIONS,
};
pub use open_ticks::OpenTicks;
pub use port::{Gates, Starts};
