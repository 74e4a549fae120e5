// SPDX-License-Identifier: Apache-2.0
//! The most credit that a class can have, and the longest wait for it.
use crate::curve::Curve;
use crate::service::{Service, ANY};
use crate::wait::{GRID, MOST_SEGMENTS};
use crate::windows::{Cycle, Phase};
use crate::{ceil_div, floor_div, Amount, Time};

/// The most credit that a class can have whose slope is `idle`: what it earns while others keep it from being served. None:
/// without limit.
pub(crate) fn most_credit(service: &Service, idle: i64) -> Option<Amount> {
    match &service.cycle {
        None => credit_of_phase(service, ANY, idle),
        Some(cycle) => {
            let mut phases = cycle.phases().flatten().chain(&cycle.openings);
            phases.try_fold(0, |most, &phase| Some(credit_of_phase(service, phase, idle)?.max(most)))
        }
    }
}

fn credit_of_phase(service: &Service, phase: Phase, idle: i64) -> Option<Amount> {
    let idle = Amount::from(idle);
    let (mut most, mut served, mut count) = (idle * Amount::from(phase.slack), 0, 0);
    let mut is_over = false;
    let is_limited = service.walk(phase, |segment| {
        count += 1;
        let earned =
            |time: Time| idle * Amount::from(segment.opened + if segment.may_open { time - segment.from } else { 0 });
        served = segment.served.max(served);
        most = most.max(earned(segment.from) - served);
        // As long as no more is served than was before, all that is earned remains.
        if segment.slope > 0 && segment.served < served {
            let caught_up =
                segment.from + Time::try_from(ceil_div(served - segment.served, segment.slope.into())).unwrap_or(0);
            if caught_up <= segment.to {
                most = most.max(earned(caught_up) - served);
            }
        }
        if segment.to == Time::MAX {
            is_over = Amount::from(segment.slope) >= idle;
            return false;
        }
        served = segment.at(segment.to).max(served);
        most = most.max(earned(segment.to) - served);
        is_over = served > 0 && served >= earned(segment.to);
        !is_over && count < MOST_SEGMENTS
    });
    (is_limited && is_over).then_some(most + idle * Amount::from(GRID))
}

/// By the length of frames, or less, from the shortest on: the wait of a class for its credit, which is `most` at most:
/// idle * O(t) - most is what it is served.
pub(crate) fn by_credit(
    cycle: Option<&Cycle>,
    idle: i64,
    most: Amount,
    arrivals: &Curve,
    lengths: &[Amount],
) -> Option<Vec<Time>> {
    let openings = match cycle {
        None if idle < arrivals.last().rate => return None,
        None => Vec::new(),
        Some(cycle) => Opening::all(cycle, Amount::from(idle), arrivals)?,
    };
    let Some((&shortest, &longest)) = lengths.first().zip(lengths.last()) else { return Some(Vec::new()) };
    if openings.is_empty() {
        return lengths.iter().map(|&length| without_gates(idle, most, arrivals, length)).collect();
    }
    // The longest frames wait shortest. An opening at which no frame waits for longer than that is done with.
    let each: Option<Vec<Time>> = openings.iter().map(|opening| opening.wait(most - shortest, arrivals, 0)).collect();
    let each = each?;
    let worst = each.iter().zip(&openings).max_by_key(|&(wait, _)| wait);
    let least = worst.map_or(Some(0), |(_, opening)| opening.wait(most - longest, arrivals, 0))?;
    let mut left: Vec<&Opening> =
        openings.iter().zip(&each).filter(|&(_, &wait)| wait > least).map(|(of, _)| of).collect();
    if left.is_empty() {
        left = openings.iter().collect();
    }
    let mut found = Vec::with_capacity(lengths.len());
    found.push(each.iter().copied().max()?);
    for &length in &lengths[1..] {
        found.push(left.iter().try_fold(0, |known, opening| opening.wait(most - length, arrivals, known))?);
    }
    Some(found)
}

fn without_gates(idle: i64, most: Amount, arrivals: &Curve, length: Amount) -> Option<Time> {
    let wait = |time: Time| -> Option<Time> {
        let owed = arrivals.at(time) - length + most;
        Time::try_from(ceil_div(owed, idle.into())).ok().map(|earned| earned - time)
    };
    let mut longest = wait(0)?;
    for turn in arrivals.turns().filter(|&turn| turn > 0) {
        longest = longest.max(wait(turn - 1)? + GRID).max(wait(turn)? + GRID);
    }
    Some(longest)
}

/// The cycle from an instant on in which the gate shuts for certain.
struct Opening {
    /// When it is open: begin, how much was open before, and for how long.
    stretches: Vec<(Time, Time, Time)>,
    idle: Amount,
    open: Time,
    cycle: Time,
}

impl Opening {
    /// None: more comes than the gate lets through.
    fn all(cycle: &Cycle, idle: Amount, arrivals: &Curve) -> Option<Vec<Self>> {
        let open: Time = cycle.pieces.iter().filter(|piece| piece.is_open).map(|piece| piece.length).sum();
        if open == 0 || idle * Amount::from(open) < Amount::from(arrivals.last().rate) * Amount::from(cycle.length) {
            return None;
        }
        let always = [0];
        let closings = if cycle.closings.is_empty() { &always[..] } else { &cycle.closings[..] };
        let from = |&begin: &Time| {
            let (mut stretches, mut before): (Vec<(Time, Time, Time)>, Time) =
                (Vec::with_capacity(cycle.pieces.len()), 0);
            let (mut index, mut passed) = cycle.piece_at(begin);
            let mut at = 0;
            while at < cycle.length {
                let piece = cycle.pieces[index];
                let length = (piece.length - passed).min(cycle.length - at);
                if piece.is_open {
                    match stretches.last_mut() {
                        Some(last) if last.0 + last.2 == at => last.2 += length,
                        _ => stretches.push((at, before, length)),
                    }
                    before += length;
                }
                at += length;
                (index, passed) = (cycle.next(index), 0);
            }
            Self { stretches, idle, open, cycle: cycle.length }
        };
        Some(closings.iter().map(from).collect())
    }

    /// When so much has been earned.
    fn earned(&self, amount: Amount) -> Option<Time> {
        let needed = floor_div(amount.max(0), self.idle) + 1;
        let whole = floor_div(needed - 1, self.open.into());
        let rest = Time::try_from(needed - whole * Amount::from(self.open)).ok()?;
        let &(at, before, _) = self.stretches.iter().find(|&&(_, before, length)| rest <= before + length)?;
        Time::try_from(Amount::from(self.cycle) * whole + Amount::from(at + rest - before)).ok()
    }

    /// When the gate has been open for so much longer than at the end of a stretch, if that is in the next one.
    fn after(&self, turn: Amount, place: usize, longer: Amount) -> Option<Time> {
        let (next, turn) = match self.stretches.get(place + 1) {
            Some(next) => (next, turn),
            None => (self.stretches.first()?, turn + 1),
        };
        let begin = turn * Amount::from(self.cycle) + Amount::from(next.0);
        Time::try_from(begin + longer).ok().filter(|_| longer <= Amount::from(next.2))
    }

    /// The longest wait where all that comes and `more` has to be earned, but no less than is known.
    fn wait(&self, more: Amount, arrivals: &Curve, known: Time) -> Option<Time> {
        let mut longest = known;
        let last = arrivals.turns().last().unwrap_or(0).saturating_add(self.cycle);
        let look = |time: Time, longest: &mut Time| -> Option<()> {
            for near in [time - 1, time] {
                if (0..=last).contains(&near) {
                    *longest = (*longest).max(self.earned(arrivals.at(near) + more)? - near + GRID);
                }
            }
            Some(())
        };
        look(0, &mut longest)?;
        for turn in arrivals.turns() {
            look(turn, &mut longest)?;
        }
        // Where one more picosecond of open time has to be waited for until the gate opens again.
        let in_cycle = self.idle * Amount::from(self.open);
        let from = floor_div((arrivals.at(0) + more).max(0), in_cycle);
        let to = floor_div((arrivals.at(last) + more).max(0), in_cycle) + 1;
        if to - from > MOST_SEGMENTS as Amount {
            return None;
        }
        // No more comes within a picosecond than is earned in so long.
        let step = Amount::from(arrivals.fastest()) / self.idle + 1;
        for turn in from..=to {
            for (place, &(_, before, length)) in self.stretches.iter().enumerate() {
                let level = self.idle * (turn * Amount::from(self.open) + Amount::from(before + length)) - 1;
                // It comes no sooner than when it would wait no longer than others do.
                let earned = self.after(turn, place, step);
                let latest = earned.map(|earned| earned + GRID - longest);
                if latest.is_some_and(|latest| latest < 0 || arrivals.at(latest) <= level - more) {
                    continue;
                }
                if let Some(time) = arrivals.first_above(level - more) {
                    look(time, &mut longest)?;
                }
            }
        }
        Some(longest)
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::curve::Line;
    use crate::describe::Gates;
    use crate::service::Above;
    use crate::windows::List;
    use proptest::prelude::*;

    /// The class that waits.
    const OWN: usize = 3;
    const ALWAYS_OPEN: [(u8, i64); 1] = [(0xFF, 20)];

    fn cycle(entries: Vec<(u8, i64)>, own: Time) -> Rc<Cycle> {
        let gates = Gates { entries, edge_ps: 0, late: false, begin_ps: None, begin_error_ps: 0, frozen: false };
        Rc::new(Cycle::new(&List::new(&gates), OWN, own, &[]))
    }

    fn entries() -> impl Strategy<Value = Vec<(u8, i64)>> {
        prop::collection::vec((any::<u8>(), 1_i64..20), 1..5)
    }

    fn curve(fastest: i64) -> impl Strategy<Value = Curve> {
        let line = (0_i128..200, 0..=fastest).prop_map(|(burst, rate)| Line { burst, rate });
        prop::collection::vec(line, 1..3).prop_map(|lines| Curve::least(lines).unwrap())
    }

    fn above() -> impl Strategy<Value = Above> {
        let credit = prop::option::of((0_i128..100, 1_i64..4).prop_map(|(burst, rate)| Line { burst, rate }));
        (4_usize..8, curve(3), credit).prop_map(|(class, arrivals, credit)| Above {
            class: Some(class),
            arrivals: Some(Rc::new(arrivals)),
            credit,
        })
    }

    /// Picosecond by picosecond: the most that is earned and not served until that is no more, and whether it ever is.
    fn most_of(service: &Service, cycle: &Cycle, phase: Phase, idle: i64, until: Time) -> (Amount, bool) {
        let piece = |at: Time| cycle.pieces[cycle.piece_at(phase.begin - phase.blocked + at).0];
        let slack_of = |class: usize| if phase.others >> class & 1 == 1 { phase.slack } else { 0 };
        let classes: Vec<usize> = service.above.iter().map(|above| above.class.unwrap()).collect();
        let (mut usable, mut open) = (0, phase.slack);
        let mut shared: Vec<Time> = classes.iter().map(|&class| slack_of(class)).collect();
        let mut opened: Vec<Time> = vec![phase.slack; classes.len()];
        let (mut served, mut most): (Amount, Amount) = (0, 0);
        for at in 0..until {
            let here = piece(at);
            let sent = service.above.iter().enumerate().map(|(place, above)| {
                let came = above.arrivals.as_ref().unwrap().at(at);
                let by_gate = Amount::from(service.rate) * Amount::from(shared[place]);
                let by_credit = above.credit.map_or(Amount::MAX, |line| line.at(opened[place]));
                came.min(by_gate).min(by_credit)
            });
            let left = Amount::from(service.rate) * Amount::from(usable) - service.low - sent.sum::<Amount>();
            served = served.max(left);
            let earned = Amount::from(idle) * Amount::from(open);
            most = most.max(earned - served);
            if served > 0 && served >= earned {
                return (most, true);
            }
            let is_usable = here.usable && at >= phase.blocked;
            for (place, &class) in classes.iter().enumerate() {
                if here.others >> class & 1 == 1 {
                    opened[place] += 1;
                    shared[place] += Time::from(is_usable);
                }
            }
            usable += Time::from(is_usable);
            open += Time::from(here.may_open);
        }
        (most, false)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        /// No class earns more, from whatever phase on, and what has a limit comes to an end.
        #[test]
        fn no_credit_is_above_the_most(
            entries in entries(),
            own in 1_i64..8,
            rate in 5_i64..12,
            idle in 1_i64..6,
            above in prop::collection::vec(above(), 0..3),
            low in prop::option::of(0_i128..50),
        ) {
            // A port has gates, or of a lower class the longest frame may have begun.
            let cycle = cycle(if low.is_some() { ALWAYS_OPEN.to_vec() } else { entries }, own);
            prop_assume!(!cycle.has_no_window());
            let service = match low {
                Some(low) => Service { rate, low, above, cycle: None },
                None => Service { rate, low: 0, above, cycle: Some(cycle.clone()) },
            };
            let found = most_credit(&service, idle);
            // With one unit left over in each cycle all bursts are served by then.
            let until = 1_200 * cycle.length;
            let sent = |above: &Above| {
                let came = above.arrivals.as_ref().unwrap().last().rate;
                above.credit.map_or(came, |line| came.min(line.rate))
            };
            let is_enough = low.is_some() && rate - service.above.iter().map(sent).sum::<i64>() >= idle;
            prop_assert!(!is_enough || found.is_some());
            let phases: Vec<Phase> = match low {
                Some(_) => vec![ANY],
                None => cycle.phases().flatten().chain(&cycle.openings).copied().collect(),
            };
            for phase in phases {
                let (most, is_over) = most_of(&service, &cycle, phase, idle, until);
                prop_assert!(found.is_none() || is_over || is_enough, "{phase:?} does not come to an end");
                prop_assert!(found.is_none_or(|found| most <= found), "{phase:?}: {most} is more than {found:?}");
            }
        }

        /// Without gates: no longer at any instant, and not much longer than at the worst one.
        #[test]
        fn the_longest_wait_without_gates_is_that_of_any_instant(
            idle in 1_i64..12,
            most in 0_i128..300,
            arrivals in curve(40),
            part in 0_i128..=100,
        ) {
            let length = arrivals.at(0) * part / 100;
            let found = by_credit(None, idle, most, &arrivals, &[length]);
            prop_assert_eq!(found.is_some(), idle >= arrivals.last().rate);
            let Some(found) = found else { return Ok(()) };
            let last = arrivals.turns().last().unwrap() + 1;
            let wait = |at: Time| Time::try_from(ceil_div(arrivals.at(at) - length + most, idle.into())).unwrap() - at;
            let longest = (0..=last).map(wait).max().unwrap();
            prop_assert!(longest <= found[0] && found[0] <= longest + GRID, "{} is not {longest}", found[0]);
        }

        /// No frame waits longer for credit, whenever it comes and whenever its class began to wait; and one nearly so.
        #[test]
        fn the_longest_wait_for_credit_is_that_of_any_phase(
            entries in prop::collection::vec((any::<u8>(), 1_i64..20), 1..9),
            own in 1_i64..8,
            idle in 1_i64..12,
            most in prop_oneof![0_i128..40, 0_i128..300],
            arrivals in curve(6),
            part in 0_i128..=100,
            shorter in 0_i128..20,
            is_gated in prop::bool::weighted(0.8),
        ) {
            let cycle = cycle(if is_gated { entries } else { ALWAYS_OPEN.to_vec() }, own);
            prop_assume!(arrivals.at(0) >= 20);
            let longest = (arrivals.at(0) * part / 100).max(20);
            let lengths = [longest - shorter, longest];
            let found = by_credit(Some(&*cycle).filter(|_| is_gated), idle, most, &arrivals, &lengths);
            let open: Time = cycle.pieces.iter().filter(|piece| piece.is_open).map(|piece| piece.length).sum();
            let is_enough = open > 0 && idle * open >= arrivals.last().rate * cycle.length;
            prop_assert_eq!(found.is_some(), is_enough);
            let Some(found) = found else { return Ok(()) };
            let last = arrivals.turns().last().unwrap() + 2 * cycle.length;
            for (length, found) in lengths.into_iter().zip(found) {
                let (mut least, mut longest) = (0, 0);
                for begin in 0..cycle.length {
                    // For how long the gate has been open until a time, which only grows.
                    let (mut time, mut open) = (0, 0);
                    let mut earned = |amount: Amount| {
                        while Amount::from(idle) * Amount::from(open) < amount {
                            open += Time::from(cycle.pieces[cycle.piece_at(begin + time).0].is_open);
                            time += 1;
                        }
                        time
                    };
                    for at in 0..last {
                        let owed = |at: Time| arrivals.at(at) + most - length;
                        // Just after that instant some of what comes until the next one is there, and the gate may have shut.
                        longest = longest.max(earned(owed(at + Time::from(is_gated))) - at);
                        least = least.max(earned(owed(at) + 1) - at);
                    }
                }
                prop_assert!(longest <= found, "{longest} is more than {found}");
                prop_assert!(found <= least + GRID, "{found} is much more than {least}");
            }
        }
    }

    /// What is served catches up with what was before within the last unit of a segment: until then all is earned.
    #[test]
    fn what_is_earned_in_the_last_unit_of_a_segment_counts() {
        let cycle = cycle(vec![(32, 5), (184, 4), (32, 7), (64, 12)], 1);
        let above = |burst, rate| Above {
            class: Some(4),
            arrivals: Some(Rc::new(Curve::line(Line { burst, rate }))),
            credit: None,
        };
        let service = Service { rate: 9, low: 0, above: vec![above(148, 1), above(61, 0)], cycle: Some(cycle.clone()) };
        let found = most_credit(&service, 1).unwrap();
        for &phase in cycle.phases().flatten() {
            let (most, is_over) = most_of(&service, &cycle, phase, 1, 10_000);
            assert!(is_over && most <= found, "{phase:?}: {most} is more than {found}");
        }
    }
}
