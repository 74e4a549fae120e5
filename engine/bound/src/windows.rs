// SPDX-License-Identifier: Apache-2.0
//! A gate cycle from the view of one class: when a frame of it can begin whatever its length, when its gate is open, and when
//! those of others are. What may be early or late by an edge is taken the worse way.
use crate::describe::Gates;
use crate::phase::Window;
use crate::Time;

const CLASSES: usize = 8;
/// Of a stretch in which phases differ by what others may send.
const PARTS: Time = 4;

/// A part of the cycle in which nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub length: Time,
    /// The longest frame of the class can begin: its gate is open for as long as that takes, and no frame of a lower class
    /// that began while the gate was shut is still on the wire.
    pub usable: bool,
    /// Its gate may be open.
    pub may_open: bool,
    /// Its gate is open for certain, and its credit rises.
    pub is_open: bool,
    /// Bit k: the gate of class k may be open.
    pub others: u8,
}

/// A phase in which a class may begin to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Phase {
    /// In the cycle.
    pub begin: Time,
    /// For so long a lower frame is on the wire that had begun when the gate was open and nothing waited.
    pub blocked: Time,
    /// It stands for all that are earlier by so much or less.
    pub slack: Time,
    /// Bit k: the gate of class k may be open meanwhile.
    pub others: u8,
}

#[derive(Clone, Debug)]
pub(crate) struct Cycle {
    pub length: Time,
    pub pieces: Vec<Piece>,
    /// Of waiting for others.
    pub phases: Vec<Phase>,
    /// For how long a lower frame is on the wire at most that had begun when the gate was open.
    pub blocked: Time,
    /// When a gate that was shut may open: of waiting for credit, beside the others.
    pub openings: Vec<Phase>,
    /// When a gate that was open is shut for certain.
    pub closings: Vec<Time>,
}

/// A stretch of a circle.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from: Time,
    length: Time,
}

impl Stretch {
    fn of(from: Time, to: Time, cycle: Time) -> Option<Self> {
        (to > from).then(|| Self { from: from.rem_euclid(cycle), length: (to - from).min(cycle) })
    }

    fn holds(self, time: Time, cycle: Time) -> bool {
        (time - self.from).rem_euclid(cycle) < self.length
    }
}

/// When the gate of a class is open; neighbours are one, across the cycle's end too. A gate that is always open has one
/// stretch of the whole cycle.
fn open(gates: &Gates, cycle: Time, class: usize) -> Vec<Stretch> {
    let mut found: Vec<Stretch> = Vec::new();
    let mut at = 0;
    for &(states, interval) in &gates.entries {
        if states >> class & 1 == 1 {
            match found.last_mut() {
                Some(last) if last.from + last.length == at => last.length += interval,
                _ => found.push(Stretch { from: at, length: interval }),
            }
        }
        at += interval;
    }
    if found.len() > 1 && found[0].from == 0 && found[found.len() - 1].from + found[found.len() - 1].length == cycle {
        let first = found.remove(0);
        if let Some(last) = found.last_mut() {
            last.length += first.length;
        }
    }
    found
}

/// What stands for the phases of a stretch in which frames can begin and nothing changes; `others` may be open in it.
fn in_parts(from: Time, to: Time, blocked: Time, others: u8) -> impl Iterator<Item = Phase> {
    let parts = if others == 0 { 1 } else { PARTS };
    let way = move |part: Time| from + (to - from) * part / parts;
    let stretches = (0..parts).map(move |part| (way(part), way(part + 1)));
    stretches.filter(|(from, to)| to > from).map(move |(from, to)| Phase {
        begin: to,
        blocked,
        slack: to - from,
        others,
    })
}

impl Cycle {
    /// Of a class whose longest frame takes `own`; `lower` are the longest of the classes that it goes before.
    pub fn new(gates: &Gates, class: usize, own: Time, lower: &[(usize, Time)]) -> Self {
        let cycle: Time = gates.entries.iter().map(|&(_, interval)| interval).sum();
        let edge = gates.edge_ps;
        let windows: [Vec<Stretch>; CLASSES] = std::array::from_fn(|each| open(gates, cycle, each));
        let wide = |class: usize| -> Vec<Stretch> {
            let widened = |of: &Stretch| Stretch::of(of.from - edge, of.from + of.length + edge, cycle);
            windows[class].iter().filter_map(widened).collect()
        };
        let is_always = windows[class].first().is_some_and(|window| window.length >= cycle);
        let narrow: Vec<Stretch> = match is_always {
            true => windows[class].clone(),
            false => {
                let frozen = if gates.frozen { own } else { 0 };
                let narrowed = |of: &Stretch| Stretch::of(of.from + edge, of.from + of.length - edge - frozen, cycle);
                windows[class].iter().filter_map(narrowed).collect()
            }
        };
        // Of a lower class whose gate is open across a time: how long its frame may still last.
        let across = |at: Time| {
            if gates.late {
                return lower.iter().map(|&(_, longest)| longest).max().unwrap_or(0);
            }
            let lasting = |&(low, longest): &(usize, Time)| {
                let still = windows[low].iter().filter(|of| of.holds(at - 1, cycle) && of.holds(at, cycle));
                still.map(|of| longest.min(of.length - (at - of.from).rem_euclid(cycle) + edge)).max()
            };
            lower.iter().filter_map(lasting).max().unwrap_or(0)
        };
        let blocking = |window: &Stretch| {
            let meets =
                |low: usize| windows[low].iter().any(|of| of.holds(window.from, cycle) || window.holds(of.from, cycle));
            lower.iter().filter(|&&(low, _)| gates.late || meets(low)).map(|&(_, longest)| longest).max().unwrap_or(0)
        };
        let usable: Vec<(Stretch, Time)> = windows[class]
            .iter()
            .filter_map(|window| match is_always {
                true => Some((*window, blocking(window))),
                false => {
                    let from = window.from + edge + across(window.from);
                    let to = window.from + window.length - edge - own;
                    // The very end still is a place to begin at.
                    Stretch::of(from, to + 1, cycle).map(|found| (found, blocking(window)))
                }
            })
            .collect();

        let always = |_| vec![Stretch { from: 0, length: cycle }];
        let masks: [Vec<Stretch>; CLASSES] =
            if gates.late { std::array::from_fn(always) } else { std::array::from_fn(wide) };
        let ends = |of: &Stretch| [of.from, (of.from + of.length).rem_euclid(cycle)];
        let mut cuts: Vec<Time> = vec![0];
        cuts.extend(usable.iter().flat_map(|(of, _)| ends(of)));
        cuts.extend(narrow.iter().chain(masks.iter().flatten()).flat_map(ends));
        cuts.sort_unstable();
        cuts.dedup();
        let holds = |stretches: &[Stretch], at: Time| stretches.iter().any(|of| of.holds(at, cycle));
        let others = |at: Time| (0..CLASSES).filter(|&k| holds(&masks[k], at)).fold(0, |mask, k| mask | 1 << k);
        let pieces = cuts
            .iter()
            .zip(cuts[1..].iter().chain([&cycle]))
            .map(|(&from, &to)| Piece {
                length: to - from,
                usable: usable.iter().any(|(of, _)| of.holds(from, cycle)),
                may_open: holds(&masks[class], from),
                is_open: holds(&narrow, from),
                others: others(from),
            })
            .collect();

        let mut phases = Vec::new();
        for &(stretch, blocked) in &usable {
            // In the order in which they come from the stretch's begin on.
            let mut places: Vec<Time> = cuts.iter().map(|&cut| (cut - stretch.from).rem_euclid(cycle)).collect();
            places.retain(|&place| place < stretch.length);
            places.extend([0, stretch.length - 1]);
            places.sort_unstable();
            places.dedup();
            phases.push(Phase { begin: stretch.from, blocked: blocked + edge, slack: 0, others: 0 });
            for pair in places.windows(2) {
                let mask = others((stretch.from + pair[0]).rem_euclid(cycle)) & !(1 << class);
                let (from, to) = (stretch.from + pair[0], stretch.from + pair[1]);
                phases.extend(in_parts(from, to, blocked + edge, mask));
            }
        }
        let of_windows = |windows: &[Stretch]| -> Vec<Stretch> {
            windows.iter().filter(|window| window.length < cycle).copied().collect()
        };
        let openings = of_windows(&masks[class])
            .iter()
            .map(|of| Phase { begin: of.from, blocked: 0, slack: 0, others: 0 })
            .collect();
        let closings = of_windows(&narrow).iter().map(|of| (of.from + of.length).rem_euclid(cycle)).collect();
        let blocked = usable.iter().map(|&(_, blocked)| blocked).max().unwrap_or(0) + edge;
        Self { length: cycle, pieces, phases, blocked, openings, closings }
    }

    /// The phases of a class that begins to wait within a window only.
    pub fn phases_within(&self, class: usize, (from, to): Window) -> Vec<Phase> {
        // Up to each of these nothing changes, neither then nor when a lower frame is over.
        let mut cuts = vec![from, to + 1];
        let mut at = 0;
        for piece in &self.pieces {
            for edge in [at, at - self.blocked] {
                cuts.push(from + (edge - from).rem_euclid(self.length));
            }
            at += piece.length;
        }
        cuts.retain(|&cut| cut <= to + 1);
        cuts.sort_unstable();
        cuts.dedup();
        let mut found = Vec::new();
        for pair in cuts.windows(2) {
            let (first, last) = (pair[0], pair[1] - 1);
            let blocked = if self.piece_of(first).may_open { self.blocked } else { 0 };
            let there = self.piece_of(first + blocked);
            // As long as no frame can begin, who comes first waits longest.
            found.push(Phase { begin: first + blocked, blocked, slack: 0, others: 0 });
            if there.usable {
                found.extend(in_parts(first + blocked, last + blocked, blocked, there.others & !(1 << class)));
            }
        }
        found
    }

    fn piece_of(&self, time: Time) -> Piece {
        self.pieces[self.piece_at(time).0]
    }

    /// The piece that holds at a time of the cycle, and what has passed of it.
    pub fn piece_at(&self, time: Time) -> (usize, Time) {
        let mut rest = time.rem_euclid(self.length);
        for (index, piece) in self.pieces.iter().enumerate() {
            if rest < piece.length {
                return (index, rest);
            }
            rest -= piece.length;
        }
        (0, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_shaper::gates::{AdminList, Capacity, Entry, Gates as Machine};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Against the gates of a run, in each unit of time: where a frame fits, and where its gate and others are open.
        #[test]
        fn a_cycle_is_what_the_gates_do(
            entries in prop::collection::vec((any::<u8>(), 1_i64..60), 1..6),
            class in 0_usize..8,
            own in 1_i64..40,
            lower in prop::collection::vec((0_usize..8, 1_i64..40), 0..3),
        ) {
            let cycle: i64 = entries.iter().map(|&(_, interval)| interval).sum();
            let list: Vec<Entry> = entries
                .iter()
                .map(|&(states, interval)| Entry { operation: 0, states, interval: interval as u64 })
                .collect();
            let admin = AdminList { entries: list, base_time: 0, cycle_time: cycle as u64, cycle_time_extension: 0 };
            let mut machine = Machine::default();
            machine.set_enabled(true);
            machine.commit(0, 0, &admin, &Capacity { least_interval: 1, ..Capacity::HARDWARE }).unwrap();
            let described = Gates { entries, edge_ps: 0, late: false, begin_ps: None, begin_error_ps: 0, frozen: false };
            let found = Cycle::new(&described, class, own, &lower);
            prop_assert_eq!(found.pieces.iter().map(|piece| piece.length).sum::<i64>(), cycle);
            for time in 0..cycle {
                let piece = found.pieces[found.piece_at(time).0];
                // After the first cycle, as lower frames may have begun in the one before.
                let now = (time + cycle) as u64;
                // A lower frame that began while the gate was shut, and is on the wire now.
                let is_blocked = lower.iter().any(|&(low, longest)| {
                    (1..longest).any(|ago| {
                        let begun = now.saturating_sub(ago as u64);
                        machine.states(begun) >> class & 1 == 0 && machine.fits(begun, low, ago as u64 + 1)
                    })
                });
                let fits = machine.fits(now, class, own as u64);
                prop_assert!(!piece.usable || fits, "{time}: a frame does not fit");
                prop_assert!(!piece.usable || !is_blocked, "{time}: a lower frame is on the wire");
                prop_assert!(piece.usable || !fits || !lower.is_empty(), "{time}: it would fit");
                prop_assert_eq!(piece.others, machine.states(now));
                prop_assert_eq!(piece.may_open, machine.states(now) >> class & 1 == 1);
                prop_assert_eq!(piece.is_open, piece.may_open);
            }
        }
    }
}
