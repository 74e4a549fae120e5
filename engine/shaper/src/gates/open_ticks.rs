// SPDX-License-Identifier: Apache-2.0
//! How many ticks a gate is open for: counted by cycles of its list, whatever lies between two ticks.
//!
//! The first tick of a gate time is a division rounded up, ⌈(a + x)/i⌉ with x from the cycle's start and i what a tick
//! adds. With x = q·i + r and 0 <= a, r < i that is q + ⌈(a + r)/i⌉, so that q and r are prepared for each border of a
//! window, and a cycle's phase a only says which borders come a tick later. Where the phase changes from cycle to cycle,
//! many cycles are a sum of floors, which Euclid's algorithm gives.
use std::sync::Arc;

use super::gate_time::{GateTime, Line};
use super::list::List;
use super::port::{Gates, Pattern};

/// So many cycles are counted one by one before a sum of floors costs less.
const FEW_CYCLES: u128 = 64;

/// Of one class at a port; what it keeps is prepared again when another list runs, or the clock runs at another rate.
#[derive(Clone, Debug)]
pub struct OpenTicks {
    class: usize,
    borders: Option<Box<Borders>>,
}

impl OpenTicks {
    pub fn new(class: usize) -> Self {
        Self { class, borders: None }
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
                Pattern::Cycles { list, start } => self.borders(list, &part.line).after(&part.line, start, at, left),
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
                self.borders(list, &part.line).between(&part.line, start, from, part.end)
            }
        }
    }

    fn borders(&mut self, list: &Arc<List>, line: &Line) -> &Borders {
        let kept = self.borders.take();
        let kept = kept.filter(|kept| {
            Arc::ptr_eq(&kept.list, list)
                && (kept.increment, kept.fraction_bits) == (line.increment, line.fraction_bits)
        });
        self.borders.insert(kept.unwrap_or_else(|| Box::new(Borders::new(list, self.class, line))))
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

/// The first ticks of a class's windows, for what a tick adds.
#[derive(Clone, Debug)]
struct Borders {
    list: Arc<List>,
    class: usize,
    increment: u64,
    fraction_bits: u32,
    /// Of each window's begin.
    begins: Vec<Border>,
    ends: Vec<Border>,
    /// Whole ticks of all windows before, for each and for the end.
    before: Vec<u64>,
    /// No border has a rest.
    is_whole: bool,
    /// What a cycle adds to the phase.
    turn: u64,
}

/// A time from the cycle's start, as whole ticks and a rest.
#[derive(Clone, Copy, Debug)]
struct Border {
    ticks: u64,
    rest: u64,
}

/// Of a cycle: a rest above `above` makes a border one tick later.
#[derive(Clone, Copy, Debug)]
struct Phase {
    /// The tick that whole ticks are counted from.
    tick: i128,
    /// In [0, increment).
    rest: u64,
    above: u64,
}

/// A tick's place in the cycles.
struct Place {
    cycle: u64,
    phase: Phase,
    /// Open ticks from the cycle's start to before it.
    open: u128,
}

impl Borders {
    fn new(list: &Arc<List>, class: usize, line: &Line) -> Self {
        let increment = line.increment;
        let parts = |time: u64| u128::from(time) << line.fraction_bits;
        let border = |time: u64| Border {
            ticks: (parts(time) / u128::from(increment)) as u64,
            rest: (parts(time) % u128::from(increment)) as u64,
        };
        let windows = list.windows(class).all();
        let begins: Vec<Border> = windows.iter().map(|window| border(window.from)).collect();
        let ends: Vec<Border> = windows.iter().map(|window| border(window.to)).collect();
        let mut before = vec![0];
        for (begin, end) in begins.iter().zip(&ends) {
            before.push(before[before.len() - 1] + end.ticks - begin.ticks);
        }
        Self {
            list: Arc::clone(list),
            class,
            increment,
            fraction_bits: line.fraction_bits,
            is_whole: begins.iter().chain(&ends).all(|border| border.rest == 0),
            begins,
            ends,
            before,
            turn: border(list.cycle_time()).rest,
        }
    }

    fn between(&self, line: &Line, start: u64, from: u64, to: u64) -> u64 {
        let (first, last) = (self.place(line, start, from), self.place(line, start, to));
        let cycles = self.of_cycles(first.phase, u128::from(last.cycle - first.cycle));
        (cycles + last.open - first.open) as u64
    }

    fn after(&self, line: &Line, start: u64, from: u64, count: u64) -> Option<u64> {
        let first = self.place(line, start, from);
        let (cycles, left) = self.cycles_to(first.phase, first.open + u128::from(count))?;
        let cycle = u128::from(first.cycle) + cycles;
        let phase = self.phase(line, start, i128::try_from(cycle).ok()?)?;
        // The window in which the last of them is.
        let place = partition(self.begins.len(), |ended| self.ended(ended + 1, phase) < left);
        let ticks = (left - self.ended(place, phase)) as i128;
        u64::try_from(phase.tick_of(self.begins[place]) + ticks).ok()
    }

    fn phase(&self, line: &Line, start: u64, cycle: i128) -> Option<Phase> {
        let begin = cycle.checked_mul(i128::from(self.list.cycle_time()))?.checked_add(i128::from(start))?;
        let way = begin.checked_mul(1 << line.fraction_bits)? - line.time;
        let increment = i128::from(self.increment);
        let ticks = i128::from(line.tick) + way.div_euclid(increment);
        Some(self.of_rest(ticks, way.rem_euclid(increment) as u64))
    }

    fn of_rest(&self, ticks: i128, rest: u64) -> Phase {
        Phase { tick: ticks + i128::from(rest > 0), rest, above: if rest == 0 { 0 } else { self.increment - rest } }
    }

    /// The phase of the cycle that follows; its tick is not known.
    fn next(&self, phase: Phase) -> Phase {
        let rest = phase.rest + self.turn;
        self.of_rest(0, if rest >= self.increment { rest - self.increment } else { rest })
    }

    fn place(&self, line: &Line, start: u64, tick: u64) -> Place {
        let since = line.at(tick) - start;
        let (cycle, offset) = (since / self.list.cycle_time(), since % self.list.cycle_time());
        let phase = self.phase(line, start, i128::from(cycle)).unwrap_or_else(|| self.of_rest(0, 0));
        let windows = self.list.windows(self.class);
        let ended = windows.ended_by(offset);
        let is_open = windows.all().get(ended).is_some_and(|window| window.from <= offset);
        let here = if is_open { i128::from(tick) - phase.tick_of(self.begins[ended]) } else { 0 };
        Place { cycle, phase, open: self.ended(ended, phase) + here as u128 }
    }

    /// Open ticks of so many windows from a cycle's start.
    fn ended(&self, windows: usize, phase: Phase) -> u128 {
        let ticks = self.before[windows];
        if self.is_whole {
            return ticks.into();
        }
        let later = |borders: &[Border]| borders[..windows].iter().filter(|border| border.rest > phase.above).count();
        (ticks + later(&self.ends) as u64 - later(&self.begins) as u64).into()
    }

    fn of_cycle(&self, phase: Phase) -> u128 {
        self.ended(self.begins.len(), phase)
    }

    /// Open ticks of so many cycles, the first one of this phase.
    fn of_cycles(&self, mut phase: Phase, cycles: u128) -> u128 {
        if self.turn == 0 || self.is_whole {
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
        let (increment, turn) = (u128::from(self.increment), u128::from(self.turn));
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
        if self.turn == 0 || self.is_whole {
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
        let period = u128::from(self.increment / greatest_common_divisor(self.increment, self.turn));
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
        self.tick + i128::from(border.ticks) + i128::from(border.rest > self.above)
    }
}

/// Σ ⌊(a·k + b)/m⌋ for k from 0 to before n, with the steps of Euclid's algorithm.
fn sum_of_floors(mut n: u128, mut m: u128, mut a: u128, mut b: u128) -> u128 {
    let mut sum = 0;
    loop {
        sum += n * n.saturating_sub(1) / 2 * (a / m) + n * (b / m);
        (a, b) = (a % m, b % m);
        let most = a * n + b;
        if most < m {
            return sum;
        }
        // The same points, counted along the other axis.
        (n, b) = (most / m, most % m);
        (m, a) = (a, m);
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
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

#[cfg(test)]
mod tests {
    use super::super::{AdminList, Capacity, Entry, GateDelays};
    use super::*;
    use crate::admission::CLASSES;
    use crate::ptp_clock::{Command, PtpClock, FRACTION_BITS};
    use proptest::prelude::*;

    const CAPACITY: Capacity = Capacity { entries: 16, least_interval: 1, time_end: 1 << 40, horizon: 64 };

    /// Lists that are shorter and longer than their cycle, with entries of one unit.
    fn lists() -> impl Strategy<Value = AdminList> {
        let interval = prop_oneof![Just(1_u64), 1_u64..5, 1_u64..60];
        let entry = (prop_oneof![any::<u8>(), Just(0), Just(0xFF)], interval).prop_map(|(states, interval)| Entry {
            operation: 0,
            states,
            interval,
        });
        (prop::collection::vec(entry, 1..8), 0_u64..900, 1_u64..120, 0_u64..60).prop_map(
            |(entries, base_time, cycle_time, cycle_time_extension)| AdminList {
                entries,
                base_time,
                cycle_time,
                cycle_time_extension,
            },
        )
    }

    fn increments() -> impl Strategy<Value = u64> {
        let unit = 1_u64 << FRACTION_BITS;
        prop_oneof![
            Just(8 * unit),
            Just(unit),
            Just(unit * 3 / 2),
            8 * unit - 100_000..8 * unit + 100_000,
            unit - 50_000_000..unit + 50_000_000,
            unit..40 * unit,
        ]
    }

    fn times() -> impl Strategy<Value = GateTime> {
        let slew = prop::option::of((-60_i32..60, 1_u32..=u32::MAX));
        (increments(), 0_u64..40, slew, 0..3).prop_map(|(increment, ns, slew, delays)| {
            let mut clock = PtpClock::new(20, ns).with_increment(increment);
            if let Some((ns, rate)) = slew.filter(|_| increment > 2 << FRACTION_BITS) {
                clock.command(30, Command::Slew { ns, rate }).unwrap();
            }
            match delays {
                0 => GateTime::new(clock, GateDelays { lead: 56, states: 3, windows: 4 }),
                1 => GateTime::new(clock, GateDelays::default()),
                _ => GateTime::of_picoseconds(20, ns, increment),
            }
        })
    }

    fn gates(initial: u8, admin: &AdminList, change: Option<&(AdminList, u64)>, is_enabled: bool) -> Gates {
        let mut gates = Gates::default();
        gates.set_enabled(is_enabled);
        gates.set_initial_states(initial);
        gates.commit(0, 0, admin, &CAPACITY).unwrap();
        if let Some((change, ahead)) = change {
            gates.commit(1_000, 1_000 + ahead, change, &CAPACITY).unwrap();
        }
        gates
    }

    /// From edge to edge.
    fn walk(gates: &Gates, time: &GateTime, class: usize, from: u64, to: u64) -> u64 {
        let (mut at, mut count) = (from, 0);
        while at < to {
            let now = time.at(at);
            let edge = gates.next_edge(now).filter(|_| gates.is_enabled());
            let end = edge.map_or(to, |edge| time.tick_of(edge).max(at + 1).min(to));
            count += (end - at) * u64::from(gates.states(now) >> class & 1);
            at = end;
        }
        count
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn counted_is_what_a_walk_counts(
            initial in any::<u8>(), admin in lists(), change in prop::option::of((lists(), 1_u64..900)),
            is_enabled in prop::bool::weighted(0.95), time in times(),
            from in 0_u64..3_000, ways in prop::collection::vec(0_u64..3_000, 3), class in 0..CLASSES,
        ) {
            let gates = gates(initial, &admin, change.as_ref(), is_enabled);
            let mut open = OpenTicks::new(class);
            // One after the other, since what is prepared is kept.
            let mut from = if change.is_some() { from.max(time.tick_of(1_000)) } else { from };
            for way in ways {
                let to = from + way;
                let each = (from..to).filter(|&tick| gates.states(time.at(tick)) >> class & 1 == 1).count() as u64;
                prop_assert_eq!(walk(&gates, &time, class, from, to), each);
                prop_assert_eq!(open.between(&gates, &time, from, to), each);
                let mut left = each;
                let first = (from..to).find(|&tick| {
                    left -= u64::from(gates.states(time.at(tick)) >> class & 1);
                    left == 0
                });
                let reached = open.after(&gates, &time, from, each);
                prop_assert_eq!(reached, if each == 0 { Some(from) } else { first.map(|tick| tick + 1) });
                from = to;
            }
        }

        #[test]
        fn far_away_too(
            admin in lists(), time in times(), from in 0_u64..3_000, way in 0_u64..200_000, class in 0..CLASSES,
        ) {
            let gates = gates(0, &admin, None, true);
            let mut open = OpenTicks::new(class);
            let count = walk(&gates, &time, class, from, from + way);
            prop_assert_eq!(open.between(&gates, &time, from, from + way), count);
            if count > 0 {
                let last = open.after(&gates, &time, from, count).unwrap();
                prop_assert!(last <= from + way);
                prop_assert_eq!(walk(&gates, &time, class, from, last), count);
                prop_assert_eq!(walk(&gates, &time, class, from, last - 1), count - 1);
            }
        }

        /// Where no walk comes to an end: what is found is consistent.
        #[test]
        fn years_away(
            admin in lists(), time in times(), from in 0_u64..3_000, count in 1_u64..1 << 50, class in 0..CLASSES,
        ) {
            let gates = gates(0, &admin, None, true);
            let mut open = OpenTicks::new(class);
            match open.after(&gates, &time, from, count) {
                Some(tick) => {
                    prop_assert_eq!(open.between(&gates, &time, from, tick), count);
                    prop_assert_eq!(open.between(&gates, &time, from, tick - 1), count - 1);
                }
                None => prop_assert!(open.between(&gates, &time, from, 1 << 60) < count),
            }
        }

        #[test]
        fn sums_of_floors(n in 0_u128..200, m in 1_u128..500, a in 0_u128..500, b in 0_u128..2_000) {
            prop_assert_eq!(sum_of_floors(n, m, a, b), (0..n).map(|k| (a * k + b) / m).sum::<u128>());
        }
    }
}
