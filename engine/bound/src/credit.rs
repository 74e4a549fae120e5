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
            if caught_up < segment.to {
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
