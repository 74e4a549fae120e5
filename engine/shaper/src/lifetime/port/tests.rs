// SPDX-License-Identifier: Apache-2.0
//! What a port gives up and what it sends, instant by instant.
use std::sync::Arc;

use penstock_frame::Edit;
use proptest::prelude::*;

use super::super::{LIFETIME_CYCLES, LIFETIME_PS, ROUND};
use super::*;
use crate::admission::Pool;
use crate::credit::{Bounds, Credit};
use crate::egress::GateTime;
use crate::gates::{AdminList, Capacity, Entry, List};
use crate::ptp_clock::NOMINAL_INCREMENT;

/// A byte takes a tick; ports of hardware have a turn each eight.
struct Line {
    time: GateTime,
    receptions: Option<u16>,
}

const GAP: Tick = 20;

impl LineTime for Line {
    fn gate_time(&self) -> &GateTime {
        &self.time
    }

    fn wire(&self, bytes: u16) -> u64 {
        u64::from(bytes) + GAP
    }

    fn next_selection(&self, selection: Tick, bytes: u16) -> Tick {
        selection + Tick::from(bytes) + GAP
    }

    fn spent(&self, selection: Tick, bytes: u16) -> Tick {
        selection + Tick::from(bytes)
    }
}

impl GivingUp for Line {
    fn receptions(&self) -> Option<u16> {
        self.receptions
    }

    fn free_turn(&self, from: Tick, busy: &[Tick]) -> Tick {
        (from.next_multiple_of(8)..).step_by(8).find(|turn| !busy.contains(turn)).unwrap()
    }
}

fn line(receptions: Option<u16>) -> Line {
    Line { time: GateTime::of_picoseconds(0, 0, NOMINAL_INCREMENT), receptions }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    Sent(u32, Tick),
    Expired(u32, Tick),
    TooLong(u32, Tick),
}

fn copy(frame: u32, visible: Tick, traffic_class: u8, bytes: u16) -> Queued {
    let (edit, pool) = (Edit::NONE, Pool::Queue);
    Queued { visible, frame, bytes, reception: 0, edit, traffic_class, pool, shaped: false }
}

/// A copy comes; what is planned with it is what would be without what was planned before.
fn enqueue(port: &mut Port, line: &Line, at: Tick, copy: Queued) {
    let head = port.egress.enqueue(copy);
    port.enqueued(line, at, &copy, head);
    if head {
        let mut anew = port.clone();
        let planned = port.plan_with(line, at, &copy);
        assert_eq!(planned, (port.due < NEVER).then_some(port.due));
        assert_eq!(planned, anew.plan(line, at));
    }
}

/// All that is done up to a tick, in whose turns `busy` others are.
fn run(port: &mut Port, line: &Line, until: Tick, busy: &[Tick]) -> Vec<Done> {
    let mut done = Vec::new();
    while port.due <= until {
        let now = port.due;
        let mut from = now;
        let expired = |expired: Expired| {
            let done = if expired.is_long { Done::TooLong } else { Done::Expired };
            done(expired.copy.frame, expired.at)
        };
        if let Some(look) = port.lifetime.look.filter(|look| look.at < now) {
            done.extend(port.look(line, look, busy).map(expired));
            from = now.max(look.at + 1);
        } else if port.lifetime.given_up().is_some_and(|give_up| give_up.turn < now) {
            done.extend(port.release_given_up(line).map(expired));
            assert!(port.lifetime.given_up().is_none());
        } else if let Some(copy) = port.egress.select(line, now) {
            port.lifetime.popped(now, &copy, port.egress.was_last(&copy));
            if !port.lifetime.is_idle() {
                port.selected_meanwhile(line, now, busy.iter().copied());
            }
            done.push(Done::Sent(copy.frame, now));
        }
        let planned = port.plan(line, from);
        assert_eq!(planned, (port.due < NEVER).then_some(port.due));
    }
    done
}

proptest! {
    /// A port that is held up for about as long as frames may wait, against a list: what is next, a selection or the end of
    /// the time of the first frame of a class.
    #[test]
    fn a_frame_waits_no_longer_than_its_time(
        frames in prop::collection::vec((0_u64..900, 0_u8..3, 1_u16..100), 1..20), held in 0_u64..1_200,
    ) {
        let line = line(None);
        let mut port = Port::new(1);
        prop_assert!(port.lifetime.is_idle());
        port.egress.hold(LIFETIME_PS + held);
        let mut waiting: Vec<Queued> =
            (0..).zip(&frames).map(|(n, &(visible, class, bytes))| copy(n, visible, class, bytes)).collect();
        waiting.sort_by_key(|copy| copy.visible);
        for &copy in &waiting {
            enqueue(&mut port, &line, copy.visible, copy);
        }
        let done = run(&mut port, &line, 2 * LIFETIME_PS, &[]);
        let (mut expected, mut now, mut free) = (Vec::new(), 0, LIFETIME_PS + held);
        while !waiting.is_empty() {
            let first = |class: u8| waiting.iter().position(|copy| copy.traffic_class == class);
            let heads: Vec<usize> = (0..3).filter_map(first).collect();
            let look = |at: usize| (waiting[at].visible + LIFETIME_PS).max(now);
            // Of those whose time has come the lowest class first.
            let old = heads.iter().copied().min_by_key(|&at| look(at)).unwrap();
            let look = look(old);
            if look + 1 < free {
                // One in a tick.
                now = look + 1;
                expected.push(Done::Expired(waiting.remove(old).frame, look));
                continue;
            }
            let next = waiting.remove(*heads.last().unwrap());
            expected.push(Done::Sent(next.frame, free));
            (now, free) = (free, line.next_selection(free, next.bytes));
        }
        prop_assert_eq!(done, expected);
    }
}

/// The look at class 3 in the round after a frame that was visible in tick 1 has waited for its time, and the turn in
/// which it is released.
const LOOK: Tick = LIFETIME_CYCLES + 3 * 128;
const TURN: Tick = LOOK + 8;

/// With a frame of class 3 that is old by then, and held until a tick.
fn old(line: &Line, held: Tick) -> Port {
    let mut port = Port::new(4);
    port.egress.hold(held);
    enqueue(&mut port, line, 0, copy(0, 1, 3, 64));
    port
}

#[test]
fn hardware_gives_up_what_cannot_be_sent_in_the_cycle_of_its_pop() {
    let line = line(Some(4));
    for is_shaped in [false, true] {
        for (held, done) in [(LOOK + 1, Done::Sent(0, LOOK + 1)), (LOOK + 2, Done::Expired(0, TURN))] {
            let mut port = old(&line, held);
            if is_shaped {
                let credit = Credit::new(1, 2, Bounds::NONE).unwrap();
                port.egress.set_credit(&line, 2, 5, Some(credit));
            }
            assert_eq!(run(&mut port, &line, 2 * LIFETIME_CYCLES, &[]), [done], "{held} {is_shaped}");
        }
    }
}

/// The next one of the class is found 14 cycles after the release.
#[test]
fn the_next_frame_of_the_class_is_looked_for() {
    let line = line(Some(4));
    let mut port = old(&line, TURN + 5);
    enqueue(&mut port, &line, 2, copy(1, TURN - 100, 3, 64));
    let done = run(&mut port, &line, 2 * LIFETIME_CYCLES, &[]);
    assert_eq!(done, [Done::Expired(0, TURN), Done::Sent(1, TURN + 16)]);
    // What is queued meanwhile holds that off by a cycle.
    let mut port = old(&line, TURN + 5);
    enqueue(&mut port, &line, 2, copy(1, TURN - 100, 3, 64));
    let mut done = run(&mut port, &line, TURN + 6, &[]);
    enqueue(&mut port, &line, TURN + 6, copy(2, NEVER - 1, 6, 64));
    done.extend(run(&mut port, &line, 2 * LIFETIME_CYCLES, &[]));
    assert_eq!(done[..2], [Done::Expired(0, TURN), Done::Sent(1, TURN + 17)]);
}

/// A frame of another class that is selected just before puts the release off, to a turn in which nothing else is released.
#[test]
fn a_release_makes_way_for_a_frame_that_is_sent() {
    let line = line(Some(4));
    let cases = [(TURN - 3, &[][..], TURN), (TURN - 2, &[], TURN + 8), (TURN - 1, &[TURN + 8], TURN + 16)];
    for (held, busy, turn) in cases {
        let mut port = old(&line, held);
        enqueue(&mut port, &line, 2, copy(1, held, 7, 64));
        let done = run(&mut port, &line, 2 * LIFETIME_CYCLES, busy);
        assert_eq!(done, [Done::Sent(1, held), Done::Expired(0, turn)]);
    }
}

/// A look takes out a frame only if the queues are at rest: 14 cycles after a selection that left its queue empty.
#[test]
fn a_look_needs_queues_at_rest() {
    let line = line(Some(4));
    for (sent, done) in [(LOOK - 14, Done::Expired(0, TURN)), (LOOK - 13, Done::Sent(0, LOOK - 13 + 84))] {
        let mut port = old(&line, sent);
        enqueue(&mut port, &line, 2, copy(1, sent, 7, 64));
        let all = run(&mut port, &line, 2 * LIFETIME_CYCLES, &[]);
        assert_eq!(all, [Done::Sent(1, sent), done]);
    }
}

/// Nor if a frame is queued in the cycle before, of whatever class: this one is looked at again in the next round.
#[test]
fn a_look_makes_way_for_a_frame_that_is_queued() {
    let line = line(Some(4));
    let queued = [(LOOK - 1, 1, TURN + ROUND), (LOOK - 2, 1, TURN), (LOOK - 1, 3, TURN + ROUND)];
    for (at, class, turn) in queued {
        let mut port = old(&line, 2 * LIFETIME_CYCLES);
        let mut done = run(&mut port, &line, at - 1, &[]);
        enqueue(&mut port, &line, at, copy(1, at + 6, class, 64));
        done.extend(run(&mut port, &line, LIFETIME_CYCLES + 3 * ROUND, &[]));
        assert_eq!(done, [Done::Expired(0, turn)], "{} {class}", LOOK - at);
    }
}

/// A frame longer than any window of its gate goes as soon as it is eligible and the list has begun.
#[test]
fn what_fits_no_window_is_given_up() {
    let line = line(None);
    for (visible, bytes, given_up) in [(500, 81, Some(1_000)), (1_500, 81, Some(1_500)), (500, 80, None)] {
        let mut port = Port::new(1);
        let entry = |states, interval| Entry { operation: 0, states, interval };
        let admin = AdminList {
            entries: vec![entry(1 << 3, 100), entry(0, 900)],
            base_time: 1_000,
            cycle_time: 1_000,
            cycle_time_extension: 0,
        };
        let gates = port.egress.change_gates(&line, 1);
        gates.set_enabled(true);
        gates.set_initial_states(0);
        let list = List::compile(&admin, &Capacity { least_interval: 1, ..Capacity::HARDWARE }).unwrap();
        gates.propose(1, Arc::new(list), 1_000);
        enqueue(&mut port, &line, 400, copy(0, visible, 3, bytes));
        let done = given_up.map_or(Done::Sent(0, 1_000), |at| Done::TooLong(0, at));
        assert_eq!(run(&mut port, &line, 100_000, &[]), [done]);
    }
}
