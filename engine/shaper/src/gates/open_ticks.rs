// SPDX-License-Identifier: Apache-2.0
//! How many ticks a gate is open for: counted by cycles of its list, whatever lies between two ticks.
//!
//! The first tick of a gate time is a division rounded up, ⌈(a + x)/i⌉ with x from the cycle's start and i what a tick
//! adds. With x = q·i + r and 0 <= a, r < i that is q + ⌈(a + r)/i⌉, so that q and r are prepared for each border of a
//! window, and a cycle's phase a only says which borders come a tick later. Where the phase changes from cycle to cycle,
//! many cycles are a sum of floors, which Euclid's algorithm gives.
use std::sync::Arc;

use super::borders::{Borders, Cycles};
use super::gate_time::{GateTime, Line};
use super::list::List;
use super::port::Gates;
use super::view::Pattern;

/// Of one class at a port.
#[derive(Clone, Debug)]
pub struct OpenTicks {
    class: usize,
    /// Of the last list, where the clock runs at another rate than that for which they were prepared first.
    own: Option<Box<(Arc<List>, Borders)>>,
}

impl OpenTicks {
    pub fn new(class: usize) -> Self {
        Self { class, own: None }
    }

    /// How many ticks from `from` to before `to` its gate is open in.
    pub fn between(&mut self, gates: &Gates, time: &GateTime, from: u64, to: u64) -> u64 {
        let (mut at, mut count) = (from, 0);
        while at < to {
            let part = Part::new(gates, time, at, to);
            count += self.of_part(&part, at);
            at = part.end;
        }
        count
    }

    /// The first tick with so many open ones from `from` to before it; none: there never are.
    pub fn after(&mut self, gates: &Gates, time: &GateTime, from: u64, count: u64) -> Option<u64> {
        let (mut at, mut left) = (from, count);
        while left > 0 {
            let part = Part::new(gates, time, at, u64::MAX);
            let reached = match part.pattern {
                Pattern::States(states) if states >> self.class & 1 == 0 => None,
                Pattern::States(_) => at.checked_add(left),
                Pattern::Cycles { list, start } => {
                    let windows = list.windows(self.class);
                    let cycles = Cycles { windows, line: &part.line, start };
                    self.borders(list, &part.line).after(&cycles, at, left)
                }
            };
            if let Some(tick) = reached.filter(|&tick| tick <= part.end) {
                return Some(tick);
            }
            if part.end == u64::MAX {
                return None;
            }
            left -= self.of_part(&part, at);
            at = part.end;
        }
        Some(at)
    }

    fn of_part(&mut self, part: &Part, from: u64) -> u64 {
        match part.pattern {
            Pattern::States(states) => (part.end - from) * u64::from(states >> self.class & 1),
            Pattern::Cycles { list, start } => {
                let cycles = Cycles { windows: list.windows(self.class), line: &part.line, start };
                self.borders(list, &part.line).between(&cycles, from, part.end)
            }
        }
    }

    fn borders<'a>(&'a mut self, list: &'a Arc<List>, line: &Line) -> &'a Borders {
        let windows = list.windows(self.class);
        let shared = windows.borders(line);
        if shared.are_of(line) {
            return shared;
        }
        let kept = self.own.take().filter(|kept| Arc::ptr_eq(&kept.0, list) && kept.1.are_of(line));
        let kept = kept.unwrap_or_else(|| Box::new((Arc::clone(list), Borders::new(windows, line))));
        &self.own.insert(kept).1
    }
}

/// Ticks in which gate time follows one line, and the gates one pattern.
struct Part<'a> {
    line: Line,
    pattern: Pattern<'a>,
    /// The first tick behind it.
    end: u64,
}

impl<'a> Part<'a> {
    fn new(gates: &'a Gates, time: &GateTime, at: u64, to: u64) -> Self {
        let line = time.line(at);
        let (pattern, until) = gates.pattern(line.at(at));
        let next = until.map_or(u64::MAX, |until| line.tick_of(until)).min(line.until);
        // Time that stands still shows one state.
        let pattern = match pattern {
            Pattern::Cycles { .. } if line.increment == 0 => Pattern::States(gates.states(line.at(at))),
            pattern => pattern,
        };
        Self { line, pattern, end: to.min(next.max(at + 1)) }
    }
}

#[cfg(test)]
mod tests;
