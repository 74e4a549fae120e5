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
use super::list::{List, HORIZON};
use super::port::Gates;
use super::view::Pattern;
use super::windows::Windows;
use crate::Time;

/// Of one class at a port. Counted are ticks in which its gate is open and stays open for the `guard`, a time that what
/// waits needs; with a guard of zero it only has to be open. With a guard, the windows of a list are its own, whatever
/// list is to take its place.
#[derive(Clone, Debug)]
pub struct OpenTicks {
    class: usize,
    /// What was prepared last that ports do not share.
    own: Option<Box<Own>>,
}

/// Windows for a guard, or borders for another rate of the clock than that of the port which asked first.
#[derive(Clone, Debug)]
struct Own {
    list: Arc<List>,
    guard: Time,
    windows: Windows,
    borders: Borders,
}

impl OpenTicks {
    pub fn new(class: usize) -> Self {
        Self { class, own: None }
    }

    /// How many ticks from `from` to before `to` are open.
    pub fn between(&mut self, gates: &Gates, time: &GateTime, from: Time, to: Time, guard: Time) -> Time {
        let (mut at, mut count) = (from, 0);
        while at < to {
            let part = Part::new(gates, time, at, to);
            count += self.of_part(&part, gates, at, guard);
            at = part.end;
        }
        count
    }

    /// The first tick with so many open ones from `from` to before it; none: there never are.
    pub fn after(&mut self, gates: &Gates, time: &GateTime, from: Time, count: Time, guard: Time) -> Option<Time> {
        let (mut at, mut left) = (from, count);
        while left > 0 {
            let part = Part::new(gates, time, at, Time::MAX);
            let reached = match part.pattern {
                Pattern::States(_) => at.checked_add(left).filter(|&to| to <= self.open_to(&part, gates, at, guard)),
                Pattern::Cycles { list, start } => {
                    let (windows, borders) = self.prepared(list, &part.line, guard);
                    borders.after(&Cycles { windows, line: &part.line, start }, at, left)
                }
            };
            if let Some(tick) = reached.filter(|&tick| tick <= part.end) {
                return Some(tick);
            }
            if part.end == Time::MAX {
                return None;
            }
            left -= self.of_part(&part, gates, at, guard);
            at = part.end;
        }
        Some(at)
    }

    fn of_part(&mut self, part: &Part, gates: &Gates, from: Time, guard: Time) -> Time {
        match part.pattern {
            Pattern::States(_) => self.open_to(part, gates, from, guard) - from,
            Pattern::Cycles { list, start } => {
                let (windows, borders) = self.prepared(list, &part.line, guard);
                borders.between(&Cycles { windows, line: &part.line, start }, from, part.end)
            }
        }
    }

    /// Up to where ticks are open from `from` on, in a part whose states stay.
    fn open_to(&self, part: &Part, gates: &Gates, from: Time, guard: Time) -> Time {
        match (part.pattern, guard) {
            (Pattern::States(states), _) if states >> self.class & 1 == 0 => from,
            (_, 0) => part.end,
            _ => {
                let now = part.line.at(from);
                let close = gates.close(now, self.class).unwrap_or(now);
                match close.checked_sub(guard) {
                    _ if close - now > HORIZON / 2 => part.end,
                    Some(last) if now <= last => part.line.tick_of(last + 1).clamp(from, part.end),
                    _ => from,
                }
            }
        }
    }

    fn prepared<'a>(&'a mut self, list: &'a Arc<List>, line: &Line, guard: Time) -> (&'a Windows, &'a Borders) {
        let windows = list.windows(self.class);
        let shared = windows.borders(line);
        if guard == 0 && shared.are_of(line) {
            return (windows, shared);
        }
        let is_same = |own: &Own| Arc::ptr_eq(&own.list, list) && own.guard == guard && own.borders.are_of(line);
        let kept = self.own.take().filter(|own| is_same(own));
        let own = self.own.insert(kept.unwrap_or_else(|| {
            let windows = windows.for_starts(guard);
            let borders = Borders::new(&windows, line);
            Box::new(Own { list: Arc::clone(list), guard, windows, borders })
        }));
        (&own.windows, &own.borders)
    }
}

/// Ticks in which gate time follows one line, and the gates one pattern.
struct Part<'a> {
    line: Line,
    pattern: Pattern<'a>,
    /// The first tick behind it.
    end: Time,
}

impl<'a> Part<'a> {
    #[inline]
    fn new(gates: &'a Gates, time: &GateTime, at: Time, to: Time) -> Self {
        let line = time.line(at);
        if let (Some((list, start)), Time::MAX, 1..) = (gates.lasting_cycles(), line.until, line.increment) {
            return Self { line, pattern: Pattern::Cycles { list, start }, end: to };
        }
        Self::until_change(line, gates, at, to)
    }

    #[inline(never)]
    fn until_change(line: Line, gates: &'a Gates, at: Time, to: Time) -> Self {
        let (pattern, until) = gates.pattern(line.at(at));
        let next = until.map_or(Time::MAX, |until| line.tick_of(until)).min(line.until);
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
