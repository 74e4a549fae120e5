// SPDX-License-Identifier: Apache-2.0
//! Transmission gates at a port: which frames they let start when, and which are too long for them or for their class.
use crate::admission::CLASSES;
use crate::gates::Gates;
use crate::Time;

use super::{GateTime, LineTime, Tick};

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

/// Ticks in which a frame of some length may start, from when on it was asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Starts {
    pub bytes: u16,
    /// It is the first from this tick on; [`Tick::MAX`]: nothing is known.
    pub asked: Tick,
    /// [`Tick::MAX`]: never.
    pub first: Tick,
    /// The gate time until which each later tick will do.
    last: Time,
}

impl Starts {
    pub const UNKNOWN: Self = Self { bytes: 0, asked: Tick::MAX, first: 0, last: 0 };

    /// The first of them from a tick on for a frame of this length, if that is known.
    #[inline]
    pub fn from(&self, time: &GateTime, tick: Tick, bytes: u16) -> Option<Tick> {
        match *self {
            Self { asked, .. } if tick < asked || bytes != self.bytes => None,
            Self { first, .. } if tick <= first => Some(first),
            Self { last, .. } => (last == Time::MAX || time.at(tick) <= last).then_some(tick),
        }
    }
}

impl Gated {
    /// The first ticks from `asked` on in which a frame may start that may not before `from`, if nothing is changed. Of many
    /// windows that all lie between two ticks only some are looked at; then `first` is a tick in which to ask again.
    pub fn starts_from(&self, line: &impl LineTime, asked: Tick, from: Tick, class: usize, bytes: u16) -> Starts {
        let (time, wire) = (line.gate_time(), line.wire(bytes));
        let never = Starts { bytes, asked, first: Tick::MAX, last: 0 };
        if from == Tick::MAX {
            return never;
        }
        if !self.gates.is_enabled() {
            return Starts { bytes, asked, first: from, last: Time::MAX };
        }
        // A tick may lie beyond the time at which the frame would still have fitted, of each window. After some of them
        // the port looks again, so that time goes on.
        let mut at = from;
        for _ in 0..MOST_WINDOWS {
            let now = time.at(at);
            let Some(starts) = self.gates.starts_from(now, class, wire) else { return never };
            let first = if starts.first == now { at } else { time.tick_of(starts.first).max(at) };
            let is_shown = || time.shows_some_of(starts.last - starts.first) || time.at(first) <= starts.last;
            if first == at || is_shown() {
                return Starts { bytes, asked, first, last: starts.last };
            }
            at = first;
        }
        Starts { first: at, ..Starts::UNKNOWN }
    }

    /// Per class the longest frame that is not too long for it or for its gate, if the list that runs does so for ever.
    pub fn longest(&self, line: &impl LineTime) -> Option<[u16; CLASSES]> {
        if !self.gates.is_enabled() {
            return Some(self.max_bytes);
        }
        let list = self.gates.lasting_list()?;
        Some(std::array::from_fn(|class| {
            let (mut fits, mut is_beyond) = (0, u32::from(self.max_bytes[class]) + 1);
            while is_beyond - fits > 1 {
                let bytes = fits + (is_beyond - fits) / 2;
                if line.wire(bytes as u16) <= list.largest_window(class) {
                    fits = bytes;
                } else {
                    is_beyond = bytes;
                }
            }
            fits as u16
        }))
    }

    /// Whether a frame is longer than any window of its gate.
    pub fn never_fits(&self, time: &GateTime, at: Tick, class: usize, wire: Time) -> bool {
        let list = || self.gates.lasting_list().or_else(|| self.gates.list(time.of_windows(at)));
        self.gates.is_enabled() && list().is_some_and(|list| list.largest_window(class) < wire)
    }

    /// The first tick from `from` on in which windows are looked at that the frame does not fit into.
    pub fn never_fits_from(&self, time: &GateTime, from: Tick, class: usize, wire: Time) -> Option<Tick> {
        if self.never_fits(time, from, class, wire) {
            return Some(from);
        }
        let (_, change_time) = self.gates.pending(time.of_windows(from))?;
        let at = time.windows_tick(change_time);
        self.never_fits(time, at, class, wire).then_some(at)
    }
}
