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
    /// Of waiting for others, by the stretch in which frames of the class can begin, each later than the one before.
    phases: Vec<Phase>,
    /// Where each stretch ends in these.
    stretches: Vec<usize>,
    /// For how long a lower frame is on the wire at most that had begun when the gate was open.
    blocked: Time,
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

    fn ends(self, cycle: Time) -> [Time; 2] {
        [self.from, (self.from + self.length).rem_euclid(cycle)]
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
    let step = if others == 0 { PARTS } else { 1 };
    let way = move |part: Time| from + (to - from) * part / PARTS;
    let stretches = (0..PARTS).step_by(step as usize).map(move |part| (way(part), way(part + step)));
    stretches.filter(|(from, to)| to > from).map(move |(from, to)| Phase {
        begin: to,
        blocked,
        slack: to - from,
        others,
    })
}

/// At which of these times one of the stretches is; all their ends are among the times, which are sorted.
fn covered(stretches: &[Stretch], times: &[Time], cycle: Time) -> Vec<bool> {
    let mut found = vec![false; times.len()];
    for stretch in stretches {
        let [from, to] = stretch.ends(cycle).map(|end| times.partition_point(|&time| time < end));
        match stretch.length >= cycle || from >= to {
            true if stretch.length >= cycle => found.fill(true),
            true => {
                found[from..].fill(true);
                found[..to].fill(true);
            }
            false => found[from..to].fill(true),
        }
    }
    found
}

/// A gate control list, with what is the same for all classes and ports that have it.
#[derive(Debug)]
pub(crate) struct List {
    cycle: Time,
    edge: Time,
    late: bool,
    frozen: bool,
    windows: [Vec<Stretch>; CLASSES],
    /// By class and window, what the other classes may do as it opens.
    openings: [Vec<Opening>; CLASSES],
    /// When gates may open or shut, and which may be open from then on.
    changes: Vec<(Time, u8)>,
    /// By class, when its gate may open that was shut.
    opening: [Vec<Phase>; CLASSES],
}

/// What may be on the wire when a window opens.
#[derive(Debug)]
struct Opening {
    /// By class, for how long a frame of it may still last that began before.
    across: [Time; CLASSES],
    /// Bit k: a window of class k and this one meet.
    meeting: u8,
}

impl List {
    pub fn new(gates: &Gates) -> Self {
        let cycle: Time = gates.entries.iter().map(|&(_, interval)| interval).sum();
        let (edge, late) = (gates.edge_ps, gates.late);
        let windows: [Vec<Stretch>; CLASSES] = std::array::from_fn(|class| open(gates, cycle, class));
        let opening = |window: &Stretch| {
            let at = window.from;
            let lasting = |of: &Stretch| match of.length >= cycle {
                true => Time::MAX,
                false => of.length - (at - of.from).rem_euclid(cycle) + edge,
            };
            let across = |class: usize| {
                let still = windows[class].iter().filter(|of| of.holds(at - 1, cycle) && of.holds(at, cycle));
                still.map(lasting).max().unwrap_or(0)
            };
            let meets =
                |class: usize| windows[class].iter().any(|of| of.holds(at, cycle) || window.holds(of.from, cycle));
            match late {
                true => Opening { across: [Time::MAX; CLASSES], meeting: 0xFF },
                false => Opening {
                    across: std::array::from_fn(across),
                    meeting: (0..CLASSES).filter(|&class| meets(class)).fold(0, |mask, class| mask | 1 << class),
                },
            }
        };
        let openings = std::array::from_fn(|class| windows[class].iter().map(opening).collect());
        let mut found = Self {
            cycle,
            edge,
            late,
            frozen: gates.frozen,
            windows,
            openings,
            changes: Vec::new(),
            opening: Default::default(),
        };
        let wide: [Vec<Stretch>; CLASSES] = std::array::from_fn(|class| found.wide(class));
        let mut times: Vec<Time> = wide.iter().flatten().flat_map(|of| of.ends(cycle)).chain([0]).collect();
        times.sort_unstable();
        times.dedup();
        let mut masks = vec![0_u8; times.len()];
        for (class, of) in wide.iter().enumerate() {
            for (mask, is_open) in masks.iter_mut().zip(covered(of, &times, cycle)) {
                *mask |= u8::from(is_open) << class;
            }
        }
        found.changes = times.into_iter().zip(masks).collect();
        found.opening = wide.map(|of| {
            let opening = of.iter().filter(|of| of.length < cycle);
            opening.map(|of| Phase { begin: of.from, blocked: 0, slack: 0, others: 0 }).collect()
        });
        found
    }

    /// When the gate of a class may be open.
    fn wide(&self, class: usize) -> Vec<Stretch> {
        if self.late {
            return vec![Stretch { from: 0, length: self.cycle }];
        }
        let widened = |of: &Stretch| Stretch::of(of.from - self.edge, of.from + of.length + self.edge, self.cycle);
        self.windows[class].iter().filter_map(widened).collect()
    }
}

impl Cycle {
    /// Of a class whose longest frame takes `own`; `lower` are the longest of the classes that it goes before.
    pub fn new(list: &List, class: usize, own: Time, lower: &[(usize, Time)]) -> Self {
        let (cycle, edge, windows) = (list.cycle, list.edge, &list.windows[class]);
        let is_always = windows.first().is_some_and(|window| window.length >= cycle);
        let narrow: Vec<Stretch> = match is_always {
            true => windows.clone(),
            false => {
                let frozen = if list.frozen { own } else { 0 };
                let narrowed = |of: &Stretch| Stretch::of(of.from + edge, of.from + of.length - edge - frozen, cycle);
                windows.iter().filter_map(narrowed).collect()
            }
        };
        let mut usable: Vec<Stretch> = Vec::with_capacity(windows.len());
        let mut blocked: Vec<Time> = Vec::with_capacity(windows.len());
        for (window, opening) in windows.iter().zip(&list.openings[class]) {
            // Of a lower class whose gate is open as this one opens: how long its frame may still last.
            let across = lower.iter().map(|&(low, longest)| longest.min(opening.across[low])).max().unwrap_or(0);
            let met = lower.iter().filter(|&&(low, _)| opening.meeting >> low & 1 == 1);
            let found = match is_always {
                true => Some(*window),
                // The very end still is a place to begin at.
                false => {
                    let to = window.from + window.length - edge - own;
                    Stretch::of(window.from + edge + across, to + 1, cycle)
                }
            };
            if let Some(found) = found {
                usable.push(found);
                blocked.push(met.map(|&(_, longest)| longest).max().unwrap_or(0) + edge);
            }
        }

        let mut cuts: Vec<Time> = Vec::with_capacity(list.changes.len() + 2 * (usable.len() + narrow.len()));
        cuts.extend(list.changes.iter().map(|&(time, _)| time));
        cuts.extend(usable.iter().chain(&narrow).flat_map(|of| of.ends(cycle)));
        cuts.sort_unstable();
        cuts.dedup();
        let (is_usable, is_open) = (covered(&usable, &cuts, cycle), covered(&narrow, &cuts, cycle));
        let mut pieces: Vec<Piece> = Vec::with_capacity(cuts.len());
        let mut changes = list.changes.iter().peekable();
        let mut others = 0;
        for (at, &from) in cuts.iter().enumerate() {
            while let Some((_, mask)) = changes.next_if(|&&(time, _)| time <= from) {
                others = *mask;
            }
            let to = cuts.get(at + 1).copied().unwrap_or(cycle);
            let may_open = others >> class & 1 == 1;
            pieces.push(Piece { length: to - from, usable: is_usable[at], may_open, is_open: is_open[at], others });
        }

        let mut phases = Vec::with_capacity(usable.len() + PARTS as usize * pieces.len());
        let mut stretches = Vec::with_capacity(usable.len());
        for (stretch, &blocked) in usable.iter().zip(&blocked) {
            phases.push(Phase { begin: stretch.from, blocked, slack: 0, others: 0 });
            let (mut at, mut place) = (cuts.partition_point(|&cut| cut < stretch.from), 0);
            // Up to the last instant in which a frame can begin.
            while place < stretch.length - 1 {
                let piece = pieces[at];
                let end = (place + piece.length).min(stretch.length - 1);
                let others = piece.others & !(1 << class);
                phases.extend(in_parts(stretch.from + place, stretch.from + end, blocked, others));
                (at, place) = ((at + 1) % pieces.len(), end);
            }
            stretches.push(phases.len());
        }
        let openings = list.opening[class].clone();
        let shut = narrow.iter().filter(|window| window.length < cycle);
        let closings = shut.map(|of| (of.from + of.length).rem_euclid(cycle)).collect();
        let blocked = blocked.into_iter().max().unwrap_or(edge);
        Self { length: cycle, pieces, phases, stretches, blocked, openings, closings }
    }

    /// Of a class whose frames come whether one can begin or not: who comes right after the last place of a stretch to begin at
    /// has nothing of the stretch left.
    pub fn whenever(mut self, class: usize) -> Self {
        let is_always = self.pieces.iter().all(|piece| piece.usable);
        for at in self.stretches.iter().map(|&end| end - 1).filter(|_| !is_always) {
            let last = self.phases[at];
            let others = last.others | self.piece_of(last.begin).others & !(1 << class);
            self.phases[at] = Phase { begin: last.begin + 1, blocked: last.blocked + 1, slack: last.slack + 1, others };
        }
        self
    }

    /// Of a class that begins to wait within these windows only, each of whose phases stands by itself.
    pub fn within(self, class: usize, windows: Vec<Window>) -> Self {
        if self.has_no_window() {
            return self;
        }
        let phases: Vec<Phase> = windows.into_iter().flat_map(|window| self.phases_within(class, window)).collect();
        let stretches = (1..=phases.len()).collect();
        Self { phases, stretches, ..self }
    }

    fn phases_within(&self, class: usize, (from, to): Window) -> Vec<Phase> {
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

    /// The phases of waiting for others, by stretch; none: no frame of the class can ever begin.
    pub fn phases(&self) -> impl Iterator<Item = &[Phase]> {
        let mut from = 0;
        self.stretches.iter().map(move |&to| &self.phases[std::mem::replace(&mut from, to)..to])
    }

    pub fn has_no_window(&self) -> bool {
        self.stretches.is_empty()
    }

    /// A piece with all that follow and differ in no more than gates of which nobody asks; no longer than the cycle.
    #[inline]
    pub fn stretch(&self, index: usize, known: u8) -> Piece {
        let mut found = self.pieces[index];
        let is_same = |next: &Piece| {
            (next.usable, next.may_open, next.others & known) == (found.usable, found.may_open, found.others & known)
        };
        let after = self.pieces[index + 1..].iter().take_while(|next| is_same(next));
        found.length += after.map(|next| next.length).sum::<Time>();
        found
    }

    /// The piece after one.
    pub fn next(&self, index: usize) -> usize {
        if index + 1 < self.pieces.len() {
            index + 1
        } else {
            0
        }
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

        /// Against the gates of a run, in each unit of time: where a frame fits, and where its gate and others are open, whatever
        /// they are early or late.
        #[test]
        fn a_cycle_is_what_the_gates_do(
            entries in prop::collection::vec((any::<u8>(), prop_oneof![1_i64..4, 1_i64..60]), 1..6),
            class in 0_usize..8,
            own in prop_oneof![1_i64..4, 1_i64..40],
            lower in prop::collection::vec((0_usize..8, 1_i64..40), 0..3),
            edge in prop_oneof![Just(0_i64), 0_i64..4],
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
            let gates = Gates { entries, edge_ps: edge, late: false, begin_ps: None, begin_error_ps: 0, frozen: false };
            let found = Cycle::new(&List::new(&gates), class, own, &lower);
            prop_assert_eq!(found.pieces.iter().map(|piece| piece.length).sum::<i64>(), cycle);
            for time in 0..cycle {
                let piece = found.pieces[found.piece_at(time).0];
                let (mut some_open, mut all_open) = (0_u8, 0xFF_u8);
                for off in -edge..=edge {
                    // After so many cycles that lower frames may have begun in the ones before.
                    let now = (time + 44 * cycle + off) as u64;
                    // A lower frame that began while the gate was shut, and was on the wire so long ago.
                    let is_blocked = |before: i64| {
                        lower.iter().any(|&(low, longest)| {
                            (1..longest + before).any(|ago| {
                                let begun = now - ago as u64;
                                let lasts = (ago + 1 - before) as u64;
                                machine.states(begun) >> class & 1 == 0 && machine.fits(begun, low, lasts)
                            })
                        })
                    };
                    let fits = machine.fits(now, class, own as u64);
                    prop_assert!(!piece.usable || fits, "{time}: a frame does not fit");
                    prop_assert!(!piece.usable || !is_blocked(0), "{time}: a lower frame is on the wire");
                    prop_assert!(piece.usable || !fits || is_blocked(1) || edge > 0, "{time}: it would fit");
                    some_open |= machine.states(now);
                    all_open &= machine.states(now);
                }
                prop_assert_eq!(piece.others & some_open, some_open);
                prop_assert!(piece.others == some_open || edge > 0);
                prop_assert_eq!(piece.may_open, piece.others >> class & 1 == 1);
                prop_assert!(!piece.is_open || all_open >> class & 1 == 1);
                prop_assert!(piece.is_open == piece.may_open || edge > 0);
            }
        }
    }

    proptest! {
        /// All that is the same for those who ask, up to the cycle's end.
        #[test]
        fn a_stretch_ends_where_anything_changes_that_somebody_asks_for(
            entries in prop::collection::vec((any::<u8>(), 1_i64..9), 1..9),
            class in 0_usize..8,
            known in any::<u8>(),
        ) {
            let gates = Gates { entries, edge_ps: 0, late: false, begin_ps: None, begin_error_ps: 0, frozen: false };
            let cycle = Cycle::new(&List::new(&gates), class, 1, &[]);
            let seen = |index: usize| {
                let piece = cycle.pieces[index];
                (piece.usable, piece.may_open, piece.others & known)
            };
            for index in 0..cycle.pieces.len() {
                let end = (index..cycle.pieces.len()).find(|&at| seen(at) != seen(index)).unwrap_or(cycle.pieces.len());
                let length: Time = cycle.pieces[index..end].iter().map(|piece| piece.length).sum();
                prop_assert_eq!(cycle.stretch(index, known), Piece { length, ..cycle.pieces[index] });
            }
        }
    }

    /// A frame of a class whose gate never shuts may last across the cycle's end.
    #[test]
    fn a_lower_frame_lasts_across_the_end_of_the_cycle() {
        let entries = vec![(0b11, 30), (0b01, 60), (0b11, 10)];
        let gates = Gates { entries, edge_ps: 0, late: false, begin_ps: None, begin_error_ps: 0, frozen: false };
        let found = Cycle::new(&List::new(&gates), 1, 5, &[(0, 25)]);
        for (time, usable) in [(0, false), (14, false), (15, true), (25, true), (26, false), (90, false), (99, false)] {
            assert_eq!(found.pieces[found.piece_at(time).0].usable, usable, "{time}");
        }
    }
}
