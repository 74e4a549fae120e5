// SPDX-License-Identifier: Apache-2.0
use std::sync::Arc;

use super::*;
use crate::admission::CLASSES;
use proptest::prelude::*;

const CAPACITY: Capacity = Capacity { entries: 16, least_interval: 4, time_end: 1 << 40, horizon: 64 };

/// Moves by one unit at a time and decides at each what the rules say, looking at nothing but what is known then.
#[derive(Clone, Debug)]
struct Walk {
    now: u64,
    states: u8,
    /// The list, the start of its cycle, the entry that holds.
    oper: Option<(AdminList, u64, usize)>,
    pending: Option<(AdminList, u64)>,
}

impl Walk {
    fn tick(&mut self) {
        let least = CAPACITY.least_interval;
        if let Some((admin, _)) = self.pending.take_if(|pending| pending.1 == self.now) {
            self.oper = Some((admin, self.now, 0));
        }
        let change = self.pending.as_ref().map(|pending| pending.1);
        if let Some((admin, start, entry)) = &mut self.oper {
            let extension = admin.cycle_time_extension.clamp(least - 1, admin.cycle_time - 1);
            if self.now == *start + admin.cycle_time && change.is_none_or(|at| at > self.now + extension) {
                (*start, *entry) = (self.now, 0);
            }
            let offset = self.now - *start;
            let end = change.filter(|&at| at <= *start + admin.cycle_time + extension);
            let end = end.unwrap_or(*start + admin.cycle_time);
            let mut begins = 0;
            for (index, candidate) in admin.entries.iter().enumerate() {
                if begins == offset && self.now + least <= end && offset + least <= admin.cycle_time {
                    *entry = index;
                }
                begins += candidate.interval;
            }
            self.states = admin.entries[*entry].states;
        }
        self.now += 1;
    }
}

fn lists() -> impl Strategy<Value = AdminList> {
    let entry = (0..OPERATIONS, prop_oneof![any::<u8>(), Just(0), Just(0xFF), Just(1)], 4_u64..40)
        .prop_map(|(operation, states, interval)| Entry { operation, states, interval });
    (prop::collection::vec(entry, 1..8), 0_u64..1_500, 4_u64..160, prop_oneof![Just(0), 0_u64..200]).prop_map(
        |(entries, base_time, cycle_time, cycle_time_extension)| AdminList {
            entries,
            base_time,
            cycle_time,
            cycle_time_extension,
        },
    )
}

/// States of each unit up to `until`, and where its cycle began, if it is of one, which ends with a change or not.
fn walk(walk: &Walk, until: u64) -> (Vec<u8>, Vec<Option<(u64, bool)>>) {
    let mut walk = walk.clone();
    let (mut states, mut cycles) = (Vec::new(), Vec::new());
    while walk.now < until {
        walk.tick();
        states.push(walk.states);
        cycles.push(walk.oper.as_ref().map(|(admin, start, _)| {
            let extension = admin.cycle_time_extension.clamp(CAPACITY.least_interval - 1, admin.cycle_time - 1);
            let change = walk.pending.as_ref().map(|pending| pending.1);
            (*start, change.is_some_and(|at| at <= start + admin.cycle_time + extension))
        }));
    }
    (states, cycles)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Lists that replace each other, against all units one after the other.
    #[test]
    fn lists_against_a_walk(
        initial_states in any::<u8>(),
        commits in prop::collection::vec((lists(), 1_u64..600, 8_u64..50), 1..5),
        wires in prop::collection::vec(1_u64..60, 8),
    ) {
        let mut gates = Gates::default();
        gates.set_enabled(true);
        gates.set_initial_states(initial_states);
        let mut reference = Walk { now: 0, states: initial_states, oper: None, pending: None };
        for (admin, units, ahead) in commits {
            let now = reference.now;
            if now > 0 && gates.is_last_cycle(now - 1) {
                for _ in 0..units {
                    reference.tick();
                }
                continue;
            }
            let change_time = gates.commit(now, now + ahead, &admin, &CAPACITY).unwrap();
            let past = (0..).map(|n| admin.base_time + n * admin.cycle_time).find(|&time| time >= now + ahead);
            prop_assert_eq!(Some(change_time), past);
            reference.pending = Some((admin, change_time));
            // From here on a short last cycle may be near.
            let near = gates.list(now).map_or(u64::MAX, |list| {
                change_time.saturating_sub(2 * list.cycle_time() + list.extension + 2 * CAPACITY.horizon)
            });
            let (states, cycles) = walk(&reference, now + 2_500);
            let open = |at: u64, class: usize, wire: u64| {
                states[(at - now) as usize..][..wire as usize].iter().all(|states| states >> class & 1 == 1)
            };
            for at in now..now + units {
                prop_assert_eq!(gates.list_states(at), states[(at - now) as usize], "at {}", at);
                let cycle = cycles[(at - now) as usize];
                prop_assert_eq!(gates.cycle_start(at), cycle.map(|(start, _)| start));
                prop_assert_eq!(gates.is_last_cycle(at), cycle.is_some_and(|(_, is_last)| is_last), "at {}", at);
                let edge = gates.next_edge(at).unwrap_or(u64::MAX);
                prop_assert!(edge > at);
                let quiet = edge.min(now + 2_400);
                prop_assert!(states[(at - now) as usize..(quiet - now) as usize].windows(2).all(|w| w[0] == w[1]));
                for (class, &wire) in wires.iter().enumerate() {
                    let fits = gates.fits(at, class, wire);
                    prop_assert_eq!(gates.close(at, class).is_some(), open(at, class, 1));
                    prop_assert!(!fits || open(at, class, wire), "{} at {}: goes on behind its gate", class, at);
                    if at < near || at >= change_time || gates.is_last_cycle(at) {
                        prop_assert_eq!(fits, open(at, class, wire), "{} at {}", class, at);
                    }
                }
            }
            for (class, &wire) in wires.iter().enumerate() {
                for at in (now..now + units).step_by(17) {
                    let first = (at..now + 2_400).find(|&at| gates.fits(at, class, wire));
                    let found = gates.fits_from(at, class, wire);
                    prop_assert_eq!(found.filter(|&at| at < now + 2_400), first, "{} at {}", class, at);
                    let Some(Starts { first, last }) = gates.starts_from(at, class, wire) else { continue };
                    let all = (first..=last.min(now + 2_400)).all(|at| gates.fits(at, class, wire));
                    prop_assert!(all, "{} from {} to {}", class, first, last);
                    let is_known = first >= change_time && last < now + 2_400;
                    prop_assert!(!is_known || !gates.fits(last + 1, class, wire), "{} to {}", class, last);
                }
            }
            prop_assert_eq!(gates.pending(change_time - 1).map(|(_, at)| at), Some(change_time));
            prop_assert_eq!(gates.pending(change_time), None);
            let list = Arc::clone(gates.list(now + 2_400).unwrap());
            let cycle = &states[(change_time - now) as usize..].iter().take(list.cycle_time() as usize);
            for class in 0..CLASSES {
                let open_time = cycle.clone().filter(|&&states| states >> class & 1 == 1).count() as u64;
                prop_assert_eq!(list.open_time(class), open_time);
            }
            // What never fits is known from the list alone.
            for (class, &wire) in wires.iter().enumerate() {
                let ever = (now + 2_400..).take(2 * list.cycle_time() as usize).any(|at| gates.fits(at, class, wire));
                prop_assert_eq!(ever, wire <= list.largest_window(class));
            }
            for _ in 0..units {
                reference.tick();
            }
        }
    }

    #[test]
    fn a_step_holds_the_states_until_a_cycle_begins(
        admin in lists(), change in prop::option::of(lists()), before in 1_500_u64..4_000, to in 0_u64..6_000,
        ahead in 1_u64..150,
    ) {
        let mut gates = Gates::default();
        gates.set_enabled(true);
        gates.commit(0, 0, &admin, &CAPACITY).unwrap();
        let change = change.map(|change| {
            let at = gates.commit(before, before + 1, &change, &CAPACITY).unwrap();
            (change, at)
        });
        let held = gates.list_states(before);
        let pending = gates.stepped(before, to + 50);
        prop_assert_eq!(pending.as_ref().map(|pending| pending.1), change.as_ref().map(|change| change.1));
        let next = |admin: &AdminList, earliest: u64| {
            (0..).map(|n| admin.base_time + n * admin.cycle_time).find(|&time| time >= earliest).unwrap()
        };
        let start = next(&admin, to + 50);
        let change_at = pending.map(|(list, at)| {
            let at = if at >= to + 200 { at } else { list.start_from(to + 200) };
            gates.propose(to + ahead, list, at);
            at
        });
        let until = match change_at {
            Some(at) if at < start + CAPACITY.least_interval => at,
            _ => start,
        };
        for at in (to..until).step_by(7) {
            prop_assert_eq!(gates.list_states(at), held);
        }
        prop_assert_eq!(gates.next_edge(to), Some(until));
        let acts = if Some(until) == change_at { &change.as_ref().unwrap().0 } else { &admin };
        prop_assert_eq!(gates.list_states(until), acts.entries[0].states);
        for class in 0..CLASSES {
            let open = (until..until + 200).take_while(|&at| gates.list_states(at) >> class & 1 == 1).count() as u64;
            let is_open = held >> class & 1 == 1;
            for ahead in [1, 2, 30] {
                prop_assert_eq!(gates.fits(until - ahead, class, ahead), is_open);
                prop_assert!(!gates.fits(until - ahead, class, ahead + open + 1) || open == 200);
                if change_at.is_none() {
                    prop_assert_eq!(gates.fits(until - ahead, class, ahead + open), is_open);
                }
            }
        }
    }
}

fn list(cycle_time: u64, entries: &[(u8, u64)]) -> AdminList {
    let entries = entries.iter().map(|&(states, interval)| Entry { operation: 0, states, interval }).collect();
    AdminList { entries, base_time: 0, cycle_time, cycle_time_extension: 0 }
}

fn refused(admin: &AdminList) -> ListError {
    List::compile(admin, &Capacity::HARDWARE).unwrap_err()
}

#[test]
fn what_is_refused() {
    assert_eq!(refused(&list(1_000, &[])), ListError::Empty { most: 1024 });
    assert_eq!(refused(&list(1_000, &[(1, 100); 1025])), ListError::TooMany { entries: 1025, most: 1024 });
    assert_eq!(refused(&list(0, &[(1, 100)])), ListError::Cycle { cycle_time: 0, least: 64 });
    let interval = ListError::Interval { entry: 1, interval: 63, least: 64 };
    assert_eq!(refused(&list(1_000, &[(1, 64), (2, 63)])), interval);
    let mut late = list(1_000, &[(1, 64)]);
    late.base_time = 1 << 63;
    assert!(matches!(refused(&late), ListError::BaseTime { .. }));
    let mut odd = list(1_000, &[(1, 64)]);
    odd.entries[0].operation = 3;
    assert_eq!(refused(&odd), ListError::Operation { entry: 0, operation: 3 });
    let message = "entry 1 has an interval of 63; 64 or more is allowed";
    assert_eq!(refused(&list(1_000, &[(1, 64), (2, 63)])).to_string(), message);
}

#[test]
fn a_list_is_fitted_to_its_cycle() {
    let entries = |cycle, entries: &[(u8, u64)]| -> Vec<(u64, u8, u64)> {
        List::compile(&list(cycle, entries), &Capacity::HARDWARE).unwrap().entries().collect()
    };
    assert_eq!(entries(1_000, &[(1, 400), (2, 400)]), [(0, 1, 400), (400, 2, 600)], "prolonged");
    assert_eq!(entries(1_000, &[(1, 400), (2, 700), (4, 100)]), [(0, 1, 400), (400, 2, 600)], "cut");
    assert_eq!(entries(1_000, &[(1, 936), (2, 700)]), [(0, 1, 936), (936, 2, 64)]);
    assert_eq!(entries(1_000, &[(1, 937), (2, 700)]), [(0, 1, 1_000)], "63 ns go to the entry before");
}

#[test]
fn a_redundant_reopening_makes_no_guard_band() {
    let mut gates = Gates::default();
    gates.set_enabled(true);
    gates.commit(0, 0, &list(1_000, &[(1, 300), (3, 300), (2, 400)]), &Capacity::HARDWARE).unwrap();
    assert_eq!(gates.close(100, 0), Some(600));
    assert!(gates.fits(100, 0, 500) && !gates.fits(100, 0, 501));
    assert_eq!(gates.close(700, 1), Some(1_000), "the next cycle begins with its gate closed");
    assert_eq!(gates.fits_from(100, 0, 501), Some(1_000));
    assert_eq!(gates.fits_from(100, 0, 601), None);
    assert_eq!((gates.fits_from(100, 5, 1), gates.fits_from(100, 5, 0)), (None, None));
    gates.set_enabled(false);
    assert_eq!((gates.states(700), gates.fits_from(100, 5, 10_000)), (0xFF, Some(100)));
}

/// A list of so many entries that a search which steps through them would not end.
#[test]
fn no_answer_walks_through_the_list() {
    let length = 100_000;
    let capacity = Capacity { entries: length, ..Capacity::HARDWARE };
    let mut entries = vec![(1, 64); length];
    for (index, entry) in entries.iter_mut().enumerate() {
        entry.0 = 1 + index as u8 % 2;
    }
    // One window in each cycle is longer than the others.
    entries[length - 3].1 = 128;
    let mut gates = Gates::default();
    gates.set_enabled(true);
    // Due at once, as when a run begins.
    gates.commit(0, 0, &list(64 * (length as u64 + 1), &entries), &capacity).unwrap();
    let cycle = 64 * (length as u64 + 1);
    let began = std::time::Instant::now();
    for query in 0..20_000 {
        let now = query * cycle / 7 + query;
        let start = now / cycle * cycle;
        let place = start + 64 * (length as u64 - 3);
        let expected = if now <= place + 28 { now.max(place) } else { place + cycle };
        assert_eq!(gates.fits_from(now, 1, 100), Some(expected), "at {now}");
        assert_eq!(gates.fits_from(now, 0, 129), None);
    }
    assert!(began.elapsed().as_secs() < 20);
}

proptest! {
    /// Lists are equal that are fitted to the same.
    #[test]
    fn lists_are_equal_that_do_the_same(admin in lists(), change in 0..5, more in 1_u64..9) {
        let mut other = admin.clone();
        match change {
            0 => other.base_time += more,
            1 => other.cycle_time += more,
            2 => other.cycle_time_extension = 1_000,
            3 => other.entries[0].states ^= 1,
            _ => other.entries[0].operation = (other.entries[0].operation + 1) % OPERATIONS,
        }
        let compiled = |admin: &AdminList| List::compile(admin, &CAPACITY).unwrap();
        let (a, b) = (compiled(&admin), compiled(&other));
        let is_same = change == 4 || change == 2 && admin.cycle_time_extension.max(3) >= admin.cycle_time - 1;
        prop_assert_eq!(&a, &compiled(&admin));
        prop_assert_eq!(a == b, is_same);
    }
}

/// Before a last cycle that is shorter than the horizon, here of 64, nothing is promised beyond the ends of entries that
/// are less than a horizon before it.
#[test]
fn before_a_short_last_cycle_each_entry_is_for_itself() {
    let gates = |first: u64, change: u64| {
        let open = list(200, &[(0xFF, first), (0xFF, 200 - first)]);
        let mut gates = Gates::default();
        gates.set_enabled(true);
        gates.commit(0, 0, &open, &CAPACITY).unwrap();
        gates.begin(0);
        gates.propose(1, Arc::new(List::compile(&list(100, &[(0, 100)]), &CAPACITY).unwrap()), change);
        gates
    };
    // Cycles begin at 800 and 1,000; entries end there and where the first one does. All stay open up to the change.
    let cases = [
        (136, 1_063, 900, 936),
        (136, 1_063, 936, 1_000),
        (136, 1_064, 900, 1_064),
        (135, 1_063, 900, 1_063),
        (135, 1_063, 940, 1_000),
        (136, 1_063, 1_000, 1_063),
    ];
    for (first, change, now, close) in cases {
        let gates = gates(first, change);
        let fits = [close - now, close - now + 1].map(|wire| gates.fits(now, 0, wire));
        assert_eq!(fits, [true, false], "at {now}, entries end by {first}, change at {change}");
    }
}

/// The same behind the states that a step of the clock has left, and what a gate that closes with the change is open for.
#[test]
fn what_states_that_are_held_promise() {
    for (change, more) in [(1_063, 0), (1_064, 64)] {
        let mut gates = Gates::default();
        gates.set_enabled(true);
        gates.commit(0, 0, &list(200, &[(0xFF, 200)]), &CAPACITY).unwrap();
        gates.stepped(10, 1_000);
        gates.propose(500, Arc::new(List::compile(&list(100, &[(0, 100)]), &CAPACITY).unwrap()), change);
        let fits = [100 + more, 101 + more].map(|wire| gates.fits(900, 0, wire));
        assert_eq!(fits, [true, false], "change at {change}");
    }
    // Open from 190 on up to 100 of the next cycle, where a list takes over that begins with 30 more.
    let mut gates = Gates::default();
    gates.set_enabled(true);
    gates.commit(0, 0, &list(200, &[(1, 100), (0, 90), (1, 10)]), &CAPACITY).unwrap();
    gates.begin(0);
    gates.propose(1, Arc::new(List::compile(&list(100, &[(1, 30), (0, 70)]), &CAPACITY).unwrap()), 1_100);
    assert_eq!([135, 136].map(|wire| gates.fits(995, 0, wire)), [true, false]);
}

/// A change so long behind a cycle's end as the extension prolongs that cycle, if that is known in time.
#[test]
fn an_extension_reaches_to_the_change() {
    for (since, change, is_prolonged) in
        [(1, 1_030, true), (1, 1_031, false), (1_000, 1_030, true), (1_001, 1_030, false)]
    {
        let mut gates = Gates::default();
        gates.set_enabled(true);
        let extended = AdminList { cycle_time_extension: 30, ..list(200, &[(0xFF, 100), (1, 100)]) };
        gates.commit(0, 0, &extended, &CAPACITY).unwrap();
        gates.begin(0);
        gates.propose(since, Arc::new(List::compile(&list(100, &[(0, 100)]), &CAPACITY).unwrap()), change);
        assert_eq!(gates.list_states(1_010), if is_prolonged { 1 } else { 0xFF }, "{since} {change}");
        assert_eq!(gates.is_last_cycle(999), is_prolonged);
    }
}

proptest! {
    /// Of many windows of few lengths, the first that is long enough.
    #[test]
    fn the_first_window_that_is_long_enough_is_found(
        entries in prop::collection::vec((0_u8..2, 4_u64..8), 1..60), wire in 1_u64..20, froms in prop::collection::vec(0_u64..500, 8),
    ) {
        let cycle_time = entries.iter().map(|entry| entry.1).sum();
        let capacity = Capacity { entries: 60, ..CAPACITY };
        let mut gates = Gates::default();
        gates.set_enabled(true);
        gates.commit(0, 0, &list(cycle_time, &entries), &capacity).unwrap();
        for from in froms {
            let first = (from..from + 2 * cycle_time).find(|&at| gates.fits(at, 0, wire));
            prop_assert_eq!(gates.fits_from(from, 0, wire), first);
        }
    }
}
