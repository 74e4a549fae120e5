// SPDX-License-Identifier: Apache-2.0
use proptest::prelude::*;

use super::*;

const FRAME_NS: u64 = 1_231; // 1538 bytes at 10 Gb/s

fn schedule(slot_ns: &[u32], order: &[u8], cycle_ns: u32) -> Schedule {
    Schedule { slot_ns: slot_ns.to_vec(), order: order.to_vec(), cycle_ns, guard_ns: 0 }
}

fn opening(queues: u16, interval_ns: u32) -> Opening {
    Opening { queues, interval_ns }
}

#[test]
fn the_papers_schedule_is_three_entries() {
    let paper = schedule(&[50_000, 50_000, 900_000], &[2, 1, 0], 1_000_000);
    let list = paper.compile(FRAME_NS).expect("it can be done");
    assert_eq!(list, [opening(4, 900_000), opening(2, 50_000), opening(1, 50_000)]);
    assert_eq!(Schedule::of_gates(3, &list), Ok(paper));
}

#[test]
fn free_time_is_for_all_queues_without_a_slot() {
    let half = schedule(&[0, 0, 5000, 0], &[2], 10_000);
    let list = half.compile(FRAME_NS).expect("it can be done");
    assert_eq!(list, [opening(4, 5000), opening(0b1011, 5000)]);
    assert_eq!(Schedule::of_gates(4, &list), Ok(half));
    // Where each queue has a slot, nobody sends in what is left.
    let rest = schedule(&[2000, 2500], &[0, 1], 10_000).compile(FRAME_NS).expect("it can be done");
    assert_eq!(rest.last(), Some(&opening(0, 5500)));
}

#[test]
fn a_guard_closes_the_end_of_each_slot() {
    let guarded = Schedule { guard_ns: 1300, ..schedule(&[0, 4000, 0], &[1, 1], 20_000) };
    let list = guarded.compile(FRAME_NS).expect("it can be done");
    assert_eq!(
        list,
        [opening(2, 2700), opening(0, 1300), opening(2, 2700), opening(0, 1300), opening(5, 10_700), opening(0, 1300)]
    );
    assert_eq!(Schedule::of_gates(3, &list), Ok(guarded.clone()));
    let longer = guarded.compile(2701).expect_err("no frame fits before the guard").to_string();
    assert_eq!(
        longer,
        "the slot of queue 1 takes 4000 ns, less than the longest frame and its guard, so that none would begin; \
         4001 ns or more are allowed"
    );
}

#[test]
fn without_slots_there_are_no_gates() {
    assert_eq!(schedule(&[0, 0], &[], 0).compile(FRAME_NS), Ok(vec![]));
    assert_eq!(Schedule::of_gates(2, &[]), Ok(schedule(&[0, 0], &[], 0)));
}

#[test]
fn what_cannot_be_is_refused_with_what_can() {
    let refused = |slots: &[u32], order: &[u8], cycle: u32| {
        schedule(slots, order, cycle).compile(FRAME_NS).expect_err("it cannot be").to_string()
    };
    for (said, why) in [
        (refused(&[], &[], 0), "for 0 queues; 1 to 16"),
        (refused(&[0; 17], &[], 0), "for 17 queues; 1 to 16"),
        (refused(&[9], &[0; 129], 2000), "has 129 slots; up to 128"),
        (refused(&[9, 9], &[0, 2], 20), "slot 1 is of queue 2, which is not there; 0 to 1"),
        (refused(&[9, 0], &[0, 1], 20), "slot 1 is of queue 1, which has no time"),
        (refused(&[9, 9], &[0], 20), "queue 1 has 9 ns and no slot in the order"),
        (refused(&[900, 101], &[0, 1], 1000), "take 1001 ns, more than the cycle of 1000 ns"),
        (refused(&[u32::MAX], &[0, 0], u32::MAX), "take 8589934590 ns"),
        (refused(&[9], &[0], 0), "a cycle of 0 ns and 1 slots"),
        (refused(&[0], &[], 5), "a cycle of 5 ns and 0 slots"),
        (refused(&[1230], &[0], 9000), "the slot of queue 0 takes 1230 ns, less than"),
        (refused(&[8000, 0], &[0], 9000), "what is free of the cycle takes 1000 ns, less than"),
    ] {
        assert!(said.contains(why), "{said}");
    }
    let unguarded = Schedule { guard_ns: 1, ..schedule(&[0], &[], 0) };
    assert!(matches!(unguarded.compile(0), Err(ScheduleError::Cycle { .. })));
}

#[test]
fn other_lists_are_of_no_schedule() {
    for list in [
        &[opening(3, 10)][..],
        &[opening(1, 10), opening(6, 10), opening(2, 10)],
        &[opening(1, 10), opening(0b1010, 10)],
        &[opening(1, 10), opening(2, 0)],
        &[opening(8, 10)],
        &[opening(0, 10)],
        &[opening(1, u32::MAX), opening(2, 1)],
        &[opening(1, 10), opening(0, 10), opening(2, 10), opening(0, 9)],
    ] {
        assert!(matches!(Schedule::of_gates(3, list), Err(ScheduleError::NoSlot { .. })), "{list:?}");
    }
    let two = [opening(1, 10), opening(1, 20)];
    assert_eq!(Schedule::of_gates(1, &two), Err(ScheduleError::TwoLengths { queue: 0, one_ns: 10, other_ns: 20 }));
    for queues in [0, 17] {
        assert!(matches!(Schedule::of_gates(queues, &[]), Err(ScheduleError::Queues { .. })));
    }
}

fn any_schedule() -> impl Strategy<Value = Schedule> {
    let slots = proptest::collection::vec(0_u32..300, 0..18);
    let order = proptest::collection::vec(0_u8..18, 0..10);
    (slots, order, 0_u32..3000, 0_u32..30, any::<bool>(), any::<bool>()).prop_map(
        |(mut slot_ns, mut order, mut cycle_ns, mut guard_ns, is_tidy, is_unguarded)| {
            if is_unguarded {
                guard_ns = 0;
            }
            if is_tidy {
                // Mostly what can be: each queue with time is named, and no other; the cycle is there and long enough.
                order.retain(|&queue| slot_ns.get(usize::from(queue)).is_some_and(|&ns| ns > 0));
                for (queue, ns) in slot_ns.iter_mut().enumerate() {
                    *ns *= u32::from(order.contains(&(queue as u8)));
                }
                cycle_ns += order.iter().map(|&queue| slot_ns[usize::from(queue)]).sum::<u32>();
                if order.is_empty() {
                    (cycle_ns, guard_ns) = (0, 0);
                }
            }
            Schedule { slot_ns, order, cycle_ns, guard_ns }
        },
    )
}

/// Which queues may send at each nanosecond of a cycle, as the schedule says it.
fn meant(given: &Schedule) -> Vec<u16> {
    let mut found = Vec::new();
    let unscheduled = given.slot_ns.iter().enumerate().filter(|&(_, &ns)| ns == 0).map(|(queue, _)| 1 << queue).sum();
    let slots = given.order.iter().map(|&queue| (1_u16 << queue, given.slot_ns[usize::from(queue)]));
    let used: u32 = slots.clone().map(|(_, ns)| ns).sum();
    for (queues, ns) in slots.chain([(unscheduled, given.cycle_ns - used)]) {
        found.extend((0..ns).map(|at| if at + given.guard_ns < ns { queues } else { 0 }));
    }
    found
}

proptest! {
    /// The list opens what the schedule means at each nanosecond, and is read back as one that means the same.
    #[test]
    fn a_list_is_the_schedule(given in any_schedule(), frame_ns in 0_u64..60) {
        let queues = given.slot_ns.len();
        if let Ok(list) = given.compile(frame_ns) {
            prop_assert!(list.iter().all(|each| each.interval_ns > 0));
            prop_assert!(list.iter().all(|each| each.queues == 0 || u64::from(each.interval_ns) >= frame_ns));
            let opened: Vec<u16> =
                list.iter().flat_map(|each| std::iter::repeat_n(each.queues, each.interval_ns as usize)).collect();
            prop_assert_eq!(&opened, &meant(&given));
            let back = Schedule::of_gates(queues, &list).expect("it was made of one");
            prop_assert_eq!(meant(&back), opened);
        }
    }

    /// What is refused breaks a rule, and what breaks one is refused.
    #[test]
    fn exactly_what_breaks_a_rule_is_refused(given in any_schedule(), frame_ns in 0_u64..60) {
        let slot = |queue: u8| given.slot_ns.get(usize::from(queue)).copied().unwrap_or(0);
        let sum: u64 = given.order.iter().map(|&queue| u64::from(slot(queue))).sum();
        let is_named = |queue: usize| given.order.iter().any(|&named| usize::from(named) == queue);
        let least = frame_ns.max(1) + u64::from(given.guard_ns);
        let free = u64::from(given.cycle_ns).checked_sub(sum);
        let is_right = (1..=16).contains(&given.slot_ns.len())
            && given.order.iter().all(|&queue| slot(queue) > 0 && u64::from(slot(queue)) >= least)
            && given.slot_ns.iter().enumerate().all(|(queue, &ns)| ns == 0 || is_named(queue))
            && (given.cycle_ns == 0) == given.order.is_empty()
            && (given.guard_ns == 0 || !given.order.is_empty())
            && free.is_some_and(|ns| ns == 0 || ns >= least || given.slot_ns.iter().all(|&ns| ns > 0));
        prop_assert_eq!(given.compile(frame_ns).is_ok(), is_right);
    }

    /// Whatever list a kernel shows: no panic, and what is read of it compiles to what acts alike.
    #[test]
    fn any_list_is_read_or_refused(
        queues in 0_usize..20,
        parts in proptest::collection::vec((0_u16..20, 0_u32..8), 0..8),
    ) {
        let list: Vec<_> = parts.iter().map(|&(queues, interval_ns)| opening(queues, interval_ns)).collect();
        if let Ok(found) = Schedule::of_gates(queues, &list) {
            let opened: Vec<u16> =
                list.iter().flat_map(|each| std::iter::repeat_n(each.queues, each.interval_ns as usize)).collect();
            prop_assert_eq!(meant(&found), opened);
        }
    }
}

/// Free time for exactly the longest frame is enough; and which entry it is that is of no slot.
#[test]
fn limits_are_to_the_nanosecond() {
    let compiled = |free: u32| schedule(&[8000, 0], &[0], 8000 + free).compile(FRAME_NS);
    assert_eq!(compiled(1231), Ok(vec![opening(1, 8000), opening(2, 1231)]));
    assert!(matches!(compiled(1230), Err(ScheduleError::TooShort { what: Part::Free, interval_ns: 1230, .. })));
    let guarded = [1, 2, 4, 3, 4].map(|queues| [opening(queues, 2700), opening(0, 1300)]).concat();
    let error = Schedule::of_gates(3, &guarded).unwrap_err();
    assert_eq!(error, ScheduleError::NoSlot { entry: 6, queues: 3, interval_ns: 2700 });
    let single = Schedule::of_gates(2, &[opening(3, 500)]).unwrap_err();
    assert_eq!(single, ScheduleError::NoSlot { entry: 0, queues: 3, interval_ns: 500 }, "there is no slot before it");
    assert!(schedule(&[20], &[0; 128], 3000).compile(20).is_ok());
}
