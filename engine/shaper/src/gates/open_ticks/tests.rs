// SPDX-License-Identifier: Apache-2.0
use super::super::floors::sum_of_floors;
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
    let base_time = prop_oneof![1 => Just(0), 4 => 0_u64..900];
    (prop::collection::vec(entry, 1..8), base_time, 1_u64..120, 0_u64..60).prop_map(
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

/// From a gate time on; with those that have begun nobody asks what was before.
fn gates(initial: u8, admin: &AdminList, change: Option<&(AdminList, u64)>, is_begun: bool) -> (Gates, u64) {
    let mut gates = Gates::default();
    gates.set_enabled(true);
    gates.set_initial_states(initial);
    let mut from = gates.commit(0, 0, admin, &CAPACITY).unwrap();
    if is_begun {
        gates.begin(from);
    } else {
        from = 0;
    }
    if let Some((change, ahead)) = change {
        gates.commit(1_000, 1_000 + ahead, change, &CAPACITY).unwrap();
        from = 1_000;
    }
    (gates, from)
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
        is_enabled in prop::bool::weighted(0.8), is_begun in any::<bool>(), time in times(),
        from in prop_oneof![0_u64..5, 0_u64..3_000], ways in prop::collection::vec(0_u64..3_000, 3), class in 0..CLASSES,
    ) {
        let (mut gates, begins) = gates(initial, &admin, change.as_ref(), is_begun);
        gates.set_enabled(is_enabled);
        let mut open = OpenTicks::new(class);
        // One after the other, since what is prepared is kept.
        let mut from = from.max(time.tick_of(begins));
        for way in ways {
            let to = from + way;
            let each = (from..to).filter(|&tick| gates.states(time.at(tick)) >> class & 1 == 1).count() as u64;
            prop_assert_eq!(walk(&gates, &time, class, from, to), each);
            prop_assert_eq!(open.between(&gates, &time, from, to, 0), each);
            let mut left = each;
            let first = (from..to).find(|&tick| {
                left -= u64::from(gates.states(time.at(tick)) >> class & 1);
                left == 0
            });
            let reached = open.after(&gates, &time, from, each, 0);
            prop_assert_eq!(reached, if each == 0 { Some(from) } else { first.map(|tick| tick + 1) });
            from = to;
        }
    }

    /// About the end of a list's last cycle, which may be cut short or prolonged.
    #[test]
    fn counted_across_a_change(
        admin in lists(), change in lists(), ahead in 1_u64..900, before in 0_u64..80, way in 0_u64..120, time in times(),
        class in 0..CLASSES,
    ) {
        let (gates, begins) = gates(0, &admin, Some(&(change, ahead)), true);
        let (_, change_time) = gates.pending(1_000).unwrap();
        let from = time.tick_of(change_time.saturating_sub(before).max(begins));
        let each = (from..from + way).filter(|&tick| gates.states(time.at(tick)) >> class & 1 == 1).count() as u64;
        prop_assert_eq!(OpenTicks::new(class).between(&gates, &time, from, from + way, 0), each);
    }

    /// What waits needs the gate for some time more: ticks from which it stays open for so long.
    #[test]
    fn counted_with_a_guard_is_where_so_much_fits(
        initial in any::<u8>(), admin in lists(), is_enabled in prop::bool::weighted(0.9), is_begun in any::<bool>(),
        time in times(), from in 0_u64..3_000, ways in prop::collection::vec((0_u64..3_000, 0_u64..40), 3), class in 0..CLASSES,
    ) {
        let (mut gates, begins) = gates(initial, &admin, None, is_begun);
        gates.set_enabled(is_enabled);
        let mut open = OpenTicks::new(class);
        let mut from = from.max(time.tick_of(begins));
        for (way, guard) in ways {
            let is_open = |tick: &u64| gates.fits(time.at(*tick), class, guard.max(1));
            let each = (from..from + way).filter(is_open).count() as u64;
            prop_assert_eq!(open.between(&gates, &time, from, from + way, guard), each);
            if let Some(last) = (from..from + way).rfind(is_open) {
                prop_assert_eq!(open.after(&gates, &time, from, each, guard), Some(last + 1));
            }
            from += way;
        }
    }

    /// Windows that are whole ticks, and others in a cycle that is.
    #[test]
    fn cycles_of_whole_ticks(
        parts in prop::collection::vec((1_u64..40, 1_u64..40), 1..4), from in 0_u64..500, way in 0_u64..2_000, unit in 1_u64..3,
    ) {
        let entry = |states, interval| Entry { operation: 0, states, interval };
        let entries: Vec<Entry> =
            parts.iter().flat_map(|&(closed, open)| [entry(0, closed * unit), entry(1, open * unit)]).collect();
        let cycle_time = entries.iter().map(|entry| entry.interval).sum::<u64>().next_multiple_of(8) + 8;
        let entries = [entries, vec![entry(0, cycle_time)]].concat();
        let admin = AdminList { entries, base_time: 0, cycle_time, cycle_time_extension: 0 };
        let (gates, _) = gates(0, &admin, None, true);
        let time = GateTime::new(PtpClock::new(0, 0), GateDelays::default());
        let each = (from..from + way).filter(|&tick| gates.states(time.at(tick)) & 1 == 1).count() as u64;
        prop_assert_eq!(OpenTicks::new(0).between(&gates, &time, from, from + way, 0), each);
    }

    #[test]
    fn far_away_too(
        admin in lists(), time in times(), is_begun in any::<bool>(), from in 0_u64..3_000, way in 0_u64..200_000,
        class in 0..CLASSES,
    ) {
        let (gates, begins) = gates(0, &admin, None, is_begun);
        let from = from.max(time.tick_of(begins));
        let mut open = OpenTicks::new(class);
        let count = walk(&gates, &time, class, from, from + way);
        prop_assert_eq!(open.between(&gates, &time, from, from + way, 0), count);
        if count > 0 {
            let last = open.after(&gates, &time, from, count, 0).unwrap();
            prop_assert!(last <= from + way);
            prop_assert_eq!(walk(&gates, &time, class, from, last), count);
            prop_assert_eq!(walk(&gates, &time, class, from, last - 1), count - 1);
        }
    }

    /// Where no walk comes to an end: what is found is consistent.
    #[test]
    fn years_away(
        admin in lists(), time in times(), is_begun in any::<bool>(), from in 0_u64..3_000, count in 1_u64..1 << 50,
        class in 0..CLASSES,
    ) {
        let (gates, begins) = gates(0, &admin, None, is_begun);
        let from = from.max(time.tick_of(begins));
        let mut open = OpenTicks::new(class);
        match open.after(&gates, &time, from, count, 0) {
            Some(tick) => {
                prop_assert_eq!(open.between(&gates, &time, from, tick, 0), count);
                prop_assert_eq!(open.between(&gates, &time, from, tick - 1, 0), count - 1);
            }
            None => prop_assert!(open.between(&gates, &time, from, 1 << 60, 0) < count),
        }
    }

    #[test]
    fn sums_of_floors(n in 0_u128..200, m in 1_u128..500, a in 0_u128..500, b in 0_u128..2_000) {
        prop_assert_eq!(sum_of_floors(n, m, a, b), (0..n).map(|k| (a * k + b) / m).sum::<u128>());
    }
}

/// Before a list that closes at 1,000, what needs 100 may begin at 900 at the latest; a tick is a nanosecond.
#[test]
fn the_last_tick_before_a_list_that_leaves_enough() {
    let closed = AdminList {
        entries: vec![Entry { operation: 0, states: 0, interval: 50 }],
        base_time: 1_000,
        cycle_time: 50,
        cycle_time_extension: 0,
    };
    let (gates, _) = gates(0xFF, &closed, None, false);
    let time = GateTime::new(PtpClock::new(0, 0).with_increment(1 << FRACTION_BITS), GateDelays::default());
    let open = |from| OpenTicks::new(0).between(&gates, &time, from, 2_000, 100);
    assert_eq!([890, 899, 900, 901].map(open), [11, 2, 1, 0]);
    // And that of the eleventh is over in 901, behind which there is none.
    let after = |count| OpenTicks::new(0).after(&gates, &time, 890, count, 100);
    assert_eq!([10, 11, 12].map(after), [Some(900), Some(901), None]);
}

/// Before its delays reach back to the first tick, time stands still, and gates with it, in a list that runs too.
#[test]
fn time_that_stands_still_shows_one_state() {
    let entry = |states, interval| Entry { operation: 0, states, interval };
    let admin = AdminList {
        entries: vec![entry(1, 500), entry(2, 500)],
        base_time: 0,
        cycle_time: 1_000,
        cycle_time_extension: 0,
    };
    let (gates, _) = gates(0, &admin, None, true);
    let time = GateTime::new(PtpClock::new(0, 100), GateDelays { lead: 0, states: 3, windows: 0 });
    let open = |class, to| OpenTicks::new(class).between(&gates, &time, 0, to, 0);
    // From tick 3 on a tick is 8 ns: open for 400 ns more.
    assert_eq!([open(0, 3), open(1, 3), open(0, 100), open(1, 100)], [3, 0, 3 + 50, 100 - 53]);
}
