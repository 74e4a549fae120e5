// SPDX-License-Identifier: Apache-2.0
//! When the unit does something: by its own cycles, or by what the clock shows it.
use super::GATES_CYCLES;
use crate::egress::{GateTime, Tick};
use crate::Time;

/// A tick, or so many after the unit sees a gate time: then a command to the clock moves it.
#[derive(Clone, Copy, Debug)]
pub(super) struct When {
    gate_time: Option<Time>,
    ticks: Tick,
}

impl When {
    pub fn tick(ticks: Tick) -> Self {
        Self { gate_time: None, ticks }
    }

    pub fn seen(gate_time: Time, ticks: Tick) -> Self {
        Self { gate_time: Some(gate_time), ticks }
    }

    pub fn at(self, time: &GateTime) -> Tick {
        let seen = self.gate_time.map(|gate_time| time.tick_of(gate_time).saturating_sub(GATES_CYCLES));
        seen.unwrap_or(0).saturating_add(self.ticks)
    }

    pub fn later(self, ticks: Tick) -> Self {
        Self { ticks: self.ticks + ticks, ..self }
    }

    /// What the unit has seen before this cycle stays as it is, whatever the clock does from now on.
    pub fn keep(&mut self, time: &GateTime, cycle: Tick) {
        let seen = self.gate_time.map(|gate_time| time.tick_of(gate_time).saturating_sub(GATES_CYCLES));
        if let Some(seen) = seen.filter(|&seen| seen < cycle) {
            *self = Self::tick(seen + self.ticks);
        }
    }
}
