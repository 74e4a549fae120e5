// SPDX-License-Identifier: Apache-2.0
//! The ticks in which the windows of a class begin and end, prepared for a rate of the clock.
use super::floors::{greatest_common_divisor, sum_of_floors};
use super::gate_time::Line;
use super::windows::Windows;
use crate::{signed, unsigned, Time};

/// So many cycles are counted one by one before a sum of floors costs less.
const FEW_CYCLES: u128 = 64;

/// The first ticks of a class's windows, for what a tick adds.
#[derive(Clone, Debug)]
pub(super) struct Borders {
    increment: Time,
    fraction_bits: u32,
    /// Of each window's begin.
    begins: Vec<Border>,
    ends: Vec<Border>,
    /// Whole ticks of all windows before, for each and for the end.
    before: Vec<Time>,
    /// No border has a rest.
    is_whole: bool,
    cycle_time: Time,
    /// A cycle, whose rest is what it adds to the phase.
    cycle: Border,
}

/// Cycles of a list, one of which begins at a gate time, while the clock follows one line.
#[derive(Clone, Copy)]
pub(super) struct Cycles<'a> {
    pub windows: &'a Windows,
    pub line: &'a Line,
    pub start: Time,
}

/// A time from the cycle's start, as whole ticks and a rest.
#[derive(Clone, Copy, Debug)]
struct Border {
    ticks: Time,
    rest: Time,
}

/// Of a cycle: a rest above `above` makes a border one tick later.
#[derive(Clone, Copy, Debug)]
struct Phase {
    /// The tick that whole ticks are counted from.
    tick: i128,
    /// In [0, increment).
    rest: Time,
    above: Time,
}

/// A tick's place in the cycles.
struct Place {
    cycle: Time,
    phase: Phase,
    /// Open ticks from the cycle's start to before it.
    open: u128,
}

impl Borders {
    pub fn new(windows: &Windows, line: &Line) -> Self {
        let increment = Time::from(line.increment);
        let parts = |time: Time| u128::from(time) << line.fraction_bits;
        let border = |time: Time| Border {
            ticks: (parts(time) / u128::from(increment)) as Time,
            rest: (parts(time) % u128::from(increment)) as Time,
        };
        let begins: Vec<Border> = windows.all().iter().map(|window| border(window.from)).collect();
        let ends: Vec<Border> = windows.all().iter().map(|window| border(window.to)).collect();
        let mut before = vec![0];
        for (begin, end) in begins.iter().zip(&ends) {
            before.push(before[before.len() - 1] + end.ticks - begin.ticks);
        }
        let cycle = border(windows.cycle());
        Self {
            increment,
            fraction_bits: line.fraction_bits,
            is_whole: cycle.rest == 0 && begins.iter().chain(&ends).all(|border| border.rest == 0),
            begins,
            ends,
            before,
            cycle_time: windows.cycle(),
            cycle,
        }
    }

    /// Whether they are for the rate of a line.
    pub fn are_of(&self, line: &Line) -> bool {
        (self.increment, self.fraction_bits) == (Time::from(line.increment), line.fraction_bits)
    }

    /// How many ticks from `from` to before `to` are open.
    pub fn between(&self, of: &Cycles, from: Time, to: Time) -> Time {
        if self.is_whole {
            let first_tick = of.line.first_tick(of.start);
            return self.open_before(of, first_tick, to) - self.open_before(of, first_tick, from);
        }
        let (first, last) = (self.place(of, from), self.place(of, to));
        let cycles = self.of_cycles(first.phase, u128::from(last.cycle - first.cycle));
        (cycles + last.open - first.open) as Time
    }

    /// The first tick with so many open ones from `from` to before it; none: there never are.
    pub fn after(&self, of: &Cycles, from: Time, count: Time) -> Option<Time> {
        if self.is_whole {
            return self.after_whole(of, from, count);
        }
        let first = self.place(of, from);
        let (cycles, left) = self.cycles_to(first.phase, first.open + u128::from(count))?;
        let cycle = u128::from(first.cycle) + cycles;
        let phase = self.phase(of, i128::try_from(cycle).ok()?)?;
        // The window in which the last of them is.
        let place = partition(self.begins.len(), |ended| self.ended(ended + 1, phase) < left);
        let ticks = (left - self.ended(place, phase)) as i128;
        unsigned(phase.tick_of(self.begins[place]) + ticks)
    }

    /// Where borders are whole ticks, all cycles are the same: open ticks of all of them before a tick.
    fn open_before(&self, of: &Cycles, first_tick: i128, tick: Time) -> Time {
        let since = (signed(tick) - first_tick) as Time;
        let (cycles, ticks) = (since / self.cycle.ticks, since % self.cycle.ticks);
        let offset = (u128::from(ticks) * u128::from(self.increment)) >> self.fraction_bits;
        let ended = of.windows.ended_by(offset as Time);
        let here = self.begins.get(ended).map_or(0, |begin| ticks.saturating_sub(begin.ticks));
        cycles * self.before[self.begins.len()] + self.before[ended] + here
    }

    fn after_whole(&self, of: &Cycles, from: Time, count: Time) -> Option<Time> {
        let first_tick = of.line.first_tick(of.start);
        let each = self.before[self.begins.len()];
        let wanted = self.open_before(of, first_tick, from).checked_add(count)?;
        let cycles = (wanted - 1).checked_div(each)?;
        let left = wanted - cycles * each;
        let place = self.before[1..].partition_point(|&open| open < left);
        let ticks = self.begins[place].ticks + left - self.before[place];
        let ticks = cycles.checked_mul(self.cycle.ticks)?.checked_add(ticks)?;
        unsigned(first_tick.checked_add(signed(ticks))?)
    }

    fn phase(&self, of: &Cycles, cycle: i128) -> Option<Phase> {
        let line = of.line;
        let begin = cycle.checked_mul(signed(self.cycle_time))?.checked_add(signed(of.start))?;
        let way = begin.checked_mul(1 << line.fraction_bits)? - line.time;
        let increment = signed(self.increment);
        let ticks = signed(line.tick) + way.div_euclid(increment);
        Some(self.of_rest(ticks, way.rem_euclid(increment) as Time))
    }

    fn of_rest(&self, ticks: i128, rest: Time) -> Phase {
        Phase { tick: ticks + i128::from(rest > 0), rest, above: if rest == 0 { 0 } else { self.increment - rest } }
    }

    /// The phase of the cycle that follows; its tick is not known.
    fn next(&self, phase: Phase) -> Phase {
        let rest = phase.rest + self.cycle.rest;
        self.of_rest(0, if rest >= self.increment { rest - self.increment } else { rest })
    }

    fn place(&self, of: &Cycles, tick: Time) -> Place {
        let since = of.line.at(tick) - of.start;
        let (cycle, offset) = (since / self.cycle_time, since % self.cycle_time);
        let phase = self.phase(of, signed(cycle)).unwrap_or_else(|| self.of_rest(0, 0));
        let ended = of.windows.ended_by(offset);
        let is_open = of.windows.all().get(ended).is_some_and(|window| window.from <= offset);
        let here = if is_open { signed(tick) - phase.tick_of(self.begins[ended]) } else { 0 };
        Place { cycle, phase, open: self.ended(ended, phase) + here as u128 }
    }

    /// Open ticks of so many windows from a cycle's start.
    fn ended(&self, windows: usize, phase: Phase) -> u128 {
        let ticks = self.before[windows];
        let later = |borders: &[Border]| borders[..windows].iter().filter(|border| border.rest > phase.above).count();
        (ticks + later(&self.ends) as Time - later(&self.begins) as Time).into()
    }

    fn of_cycle(&self, phase: Phase) -> u128 {
        self.ended(self.begins.len(), phase)
    }

    /// Open ticks of so many cycles, the first one of this phase.
    fn of_cycles(&self, mut phase: Phase, cycles: u128) -> u128 {
        if self.cycle.rest == 0 {
            return cycles * self.of_cycle(phase);
        }
        if cycles > FEW_CYCLES {
            return self.of_many_cycles(phase, cycles);
        }
        let mut count = 0;
        for _ in 0..cycles {
            count += self.of_cycle(phase);
            phase = self.next(phase);
        }
        count
    }

    fn of_many_cycles(&self, phase: Phase, cycles: u128) -> u128 {
        let (increment, turn) = (u128::from(self.increment), u128::from(self.cycle.rest));
        let later = |borders: &[Border]| -> u128 {
            let of = |border: &Border| {
                let from = u128::from(phase.rest) + u128::from(border.rest) + increment - 1;
                sum_of_floors(cycles, increment, turn, from)
            };
            borders.iter().map(of).sum()
        };
        cycles * u128::from(self.before[self.before.len() - 1]) + later(&self.ends) - later(&self.begins)
    }

    /// The cycle in which the open ticks from the first one's start reach a count above zero: how many are before it, and
    /// how many open ticks of it are still wanted.
    fn cycles_to(&self, first: Phase, count: u128) -> Option<(u128, u128)> {
        if self.cycle.rest == 0 {
            let each = self.of_cycle(first);
            let cycles = (count - 1).checked_div(each)?;
            return Some((cycles, count - cycles * each));
        }
        let (mut phase, mut left) = (first, count);
        for cycle in 0..FEW_CYCLES {
            let open = self.of_cycle(phase);
            if left <= open {
                return Some((cycle, left));
            }
            left -= open;
            phase = self.next(phase);
        }
        // Phases come again after so many cycles.
        let period = u128::from(self.increment / greatest_common_divisor(self.increment, self.cycle.rest));
        let each = self.of_many_cycles(first, period);
        let periods = (count - 1).checked_div(each)?;
        let wanted = count - periods * each;
        // Fewer than `wanted` before `low`, not fewer before `high`; the guess is what time says.
        let (mut low, mut high) = (0, period);
        let (mut guess, mut reach) = (wanted * period / each, 1);
        while high - low > 1 {
            let cycles = if low < guess && guess < high { guess } else { low + (high - low) / 2 };
            if self.of_many_cycles(first, cycles) < wanted {
                (low, guess) = (cycles, cycles + reach);
            } else {
                (high, guess) = (cycles, cycles.saturating_sub(reach));
            }
            reach *= 2;
        }
        Some((periods * period + low, wanted - self.of_many_cycles(first, low)))
    }
}

impl Phase {
    fn tick_of(&self, border: Border) -> i128 {
        self.tick + signed(border.ticks) + i128::from(border.rest > self.above)
    }
}

/// The first of `0..count` for which it is false; it holds for all before.
fn partition(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = (low + high) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
