// SPDX-License-Identifier: Apache-2.0
//! Transmission gates at a port: which frames they let start when, and which are too long for them or for their class.
use crate::admission::CLASSES;
use crate::gates::Gates;

use super::{GateTime, Tick};

/// Windows of a gate that are looked at for a frame at a time.
const MOST_WINDOWS: u32 = 64;

#[derive(Clone, Debug)]
pub(super) struct Gated {
    pub gates: Gates,
    /// queueMaxSDU per class, as bytes of the frame.
    pub max_bytes: [u16; CLASSES],
}

impl Default for Gated {
    fn default() -> Self {
        Self { gates: Gates::default(), max_bytes: [u16::MAX; CLASSES] }
    }
}

impl Gated {
    pub fn fits(&self, time: &GateTime, at: Tick, class: usize, wire: u64) -> bool {
        self.gates.fits(time.at(at), class, wire)
    }

    /// The first tick from `from` on in which a frame may start, if nothing is changed; `Tick::MAX`: none.
    pub fn fits_from(&self, time: &GateTime, from: Tick, class: usize, wire: u64) -> Tick {
        if from == Tick::MAX || !self.gates.is_enabled() {
            return from;
        }
        // A tick may lie beyond the time at which the frame would still have fitted, of each window. After some of them
        // the port looks again, so that time goes on.
        let mut at = from;
        for _ in 0..MOST_WINDOWS {
            let now = time.at(at);
            let Some(fits) = self.gates.fits_from(now, class, wire) else { return Tick::MAX };
            let tick = if fits == now { at } else { time.tick_of(fits).max(at) };
            if tick == at || self.fits(time, tick, class, wire) {
                return tick;
            }
            at = tick;
        }
        at
    }

    /// Whether a frame is longer than any window of its gate.
    pub fn never_fits(&self, time: &GateTime, at: Tick, class: usize, wire: u64) -> bool {
        let list = || self.gates.list(time.of_windows(at));
        self.gates.is_enabled() && list().is_some_and(|list| list.largest_window(class) < wire)
    }

    /// The first tick from `from` on in which windows are looked at that the frame does not fit into.
    pub fn never_fits_from(&self, time: &GateTime, from: Tick, class: usize, wire: u64) -> Option<Tick> {
        if self.never_fits(time, from, class, wire) {
            return Some(from);
        }
        let (_, change_time) = self.gates.pending(time.of_windows(from))?;
        let at = time.windows_tick(change_time);
        self.never_fits(time, at, class, wire).then_some(at)
    }
}
