// SPDX-License-Identifier: Apache-2.0
//! The longest wait of a frame, from the instant in which it may be selected to its selection, and the most credit.
use crate::curve::Curve;
use crate::phase::Schedule;
use crate::service::{Segment, Service, ANY};
use crate::windows::{Cycle, Phase};
use crate::{ceil_div, Amount, Time};

/// Segments that are looked at for one phase; a class that has not caught up by then has no bound.
const MOST_SEGMENTS: usize = 20_000;
/// Between two whole picoseconds, and between two of the instants that are looked at.
const GRID: Time = 2;

/// Of frames of `shortest` on the wire or more, whose class is served as `service` says. None: it grows without limit.
///
/// A frame that comes at `t` after the class, or a class above, began to wait has arrivals(t) - shortest before it.
pub(crate) fn by_service(service: &Service, arrivals: Arrivals, shortest: Amount) -> Option<Time> {
    match &service.cycle {
        None => of_phase(service, ANY, arrivals, shortest),
        Some(cycle) if cycle.phases.is_empty() => None,
        Some(cycle) => {
            let mut longest = 0;
            for &phase in &cycle.phases {
                longest = longest.max(of_phase(service, phase, arrivals, shortest)?);
            }
            Some(longest)
        }
    }
}

/// All that comes to a class, and when in the gate cycle, where that is known.
#[derive(Clone, Copy)]
pub(crate) struct Arrivals<'a> {
    pub curve: &'a Curve,
    pub schedule: Option<&'a Schedule>,
    /// What each of its frames is on the wire, if all are as long.
    pub each: Option<Amount>,
}

impl<'a> Arrivals<'a> {
    pub fn of(curve: &'a Curve) -> Self {
        Self { curve, schedule: None, each: None }
    }

    /// Until a time after waiting began in a phase.
    fn at(&self, phase: Phase, time: Time) -> Amount {
        let came = self.curve.at(time);
        self.schedule.map_or(came, |schedule| came.min(schedule.until(phase.begin - phase.blocked, phase.slack, time)))
    }
}

fn of_phase(service: &Service, phase: Phase, arrivals: Arrivals, shortest: Amount) -> Option<Time> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut busy = Time::MAX;
    let mut count = 0;
    let mut whole = Whole::new(service, arrivals);
    let is_limited = service.walk(phase, |segment| {
        count += 1;
        let segment = &whole.with_last_frames(*segment);
        if segment.usable {
            segments.push(*segment);
            if busy == Time::MAX && whole.lasts_evenly(segment, arrivals) {
                busy = whole.enough;
            }
            if segment.to < Time::MAX && segment.at(segment.to) >= arrivals.at(phase, segment.to.min(busy)) {
                busy = busy.min(segment.to);
                return false;
            }
        }
        count < MOST_SEGMENTS
    });
    let last = segments.last()?;
    let is_endless = last.to == Time::MAX;
    if !is_limited || (busy == Time::MAX && !is_endless) || (is_endless && last.slope < arrivals.curve.last().rate) {
        return None;
    }
    let served = Served::new(segments);
    match arrivals.schedule {
        Some(schedule) => of_steps(&served, arrivals, schedule, phase, shortest, busy),
        None => deviation(&served, arrivals.curve, shortest, busy),
    }
}

/// Between two steps no frame comes that the curve does not let come until the second, and the first one waits longest.
fn of_steps(
    served: &Served,
    arrivals: Arrivals,
    schedule: &Schedule,
    phase: Phase,
    shortest: Amount,
    busy: Time,
) -> Option<Time> {
    let begin = phase.begin - phase.blocked;
    let steps = schedule.steps(begin, busy);
    // Whole frames of a window that had begun earlier would be no more, so that who began to wait then has no more time.
    let earlier = if arrivals.each.is_some() { phase.slack } else { 0 };
    let mut longest = 0;
    for (place, &step) in steps.iter().enumerate() {
        let next = steps.get(place + 1).copied().unwrap_or(busy);
        let came = schedule.until(begin, phase.slack, next - 1).min(arrivals.curve.at(next - 1));
        let sooner = if step == 0 { earlier } else { 0 };
        longest = longest.max(served.first(came - shortest)? - step + sooner);
    }
    Some(longest)
}

/// Of frames of one length that nothing goes before, the last one of a window is sent whole.
struct Whole {
    each: Option<Amount>,
    rate: Amount,
    /// Of the window: what is served of it so far, and whether it has just begun.
    window: Amount,
    begins: bool,
    /// Beyond what the windows before have served.
    more: Amount,
    /// A frame of a later time waits no longer than one of a cycle before, once a cycle serves what comes in it.
    enough: Time,
    /// When a window of the second cycle begins, and what has been served.
    second: Option<(Time, Amount)>,
}

impl Whole {
    fn new(service: &Service, arrivals: Arrivals) -> Self {
        let each = arrivals.each.filter(|_| arrivals.schedule.is_some() && service.is_undisturbed());
        let enough = arrivals.schedule.map_or(Time::MAX, |schedule| 2 * schedule.cycle);
        Self { each, rate: service.rate.into(), window: 0, more: 0, begins: false, enough, second: None }
    }

    fn with_last_frames(&mut self, segment: Segment) -> Segment {
        let Some(each) = self.each else { return segment };
        self.begins = segment.usable && self.window == 0;
        if segment.usable {
            self.window += self.rate * Amount::from(segment.to - segment.from);
        } else if self.window > 0 {
            self.more += ceil_div(self.window, each) * each - self.window;
            self.window = 0;
        }
        Segment { served: segment.served + self.more, ..segment }
    }

    /// Whether a cycle later, in the same place of a window, all that comes in a cycle has been served.
    fn lasts_evenly(&mut self, segment: &Segment, arrivals: Arrivals) -> bool {
        let is_due = |schedule: &&Schedule| self.each.is_some() && self.begins && segment.from >= schedule.cycle;
        let Some(schedule) = arrivals.schedule.filter(is_due) else { return false };
        let (begin, served) = *self.second.get_or_insert((segment.from, segment.served));
        segment.from == begin + schedule.cycle && segment.served - served >= schedule.amount()
    }
}

/// The usable segments, and the most that is served by the end of each.
struct Served {
    segments: Vec<Segment>,
    most: Vec<Amount>,
}

impl Served {
    fn new(segments: Vec<Segment>) -> Self {
        let mut most = Vec::with_capacity(segments.len());
        let mut so_far = Amount::MIN;
        for segment in &segments {
            let end = match segment.to {
                Time::MAX if segment.slope > 0 => Amount::MAX,
                Time::MAX => segment.served,
                // A frame begins in a whole picosecond, and no longer when the segment is over.
                to => segment.at(to - 1),
            };
            so_far = so_far.max(segment.served).max(end);
            most.push(so_far);
        }
        Self { segments, most }
    }

    /// The first time from which on more than this is served, at which a frame can begin: as long as no more is, those that
    /// go first may still be sent.
    fn first(&self, amount: Amount) -> Option<Time> {
        let place = self.most.partition_point(|&most| most < amount);
        self.segments.get(place..)?.iter().find_map(|segment| {
            let missing = amount - segment.served;
            if missing < 0 {
                return Some(segment.from);
            }
            if segment.slope <= 0 {
                return None;
            }
            let time = segment.from + Time::try_from(ceil_div(missing, Amount::from(segment.slope))).ok()?;
            (time < segment.to).then_some(time)
        })
    }
}

fn deviation(served: &Served, arrivals: &Curve, shortest: Amount, busy: Time) -> Option<Time> {
    let wait = |time: Time| served.first(arrivals.at(time) - shortest).map(|served| served - time);
    let mut longest = wait(0)?;
    let mut look = |time: Time| -> Option<()> {
        for near in [time - 1, time] {
            if near > 0 && near < busy {
                longest = longest.max(wait(near)? + GRID);
            }
        }
        Some(())
    };
    for turn in arrivals.turns() {
        look(turn)?;
    }
    for segment in &served.segments {
        // What is served by the last begin: a frame with more before it waits for the next segment.
        let end = (segment.to < Time::MAX).then(|| segment.at(segment.to - 1));
        for level in [Some(segment.served), end].into_iter().flatten() {
            if let Some(time) = arrivals.first_above(level + shortest) {
                look(time)?;
            }
        }
    }
    Some(longest)
}

/// The most credit that a class can have whose slope is `idle`: what it earns while others keep it from being served. None:
/// without limit.
pub(crate) fn most_credit(service: &Service, idle: i64) -> Option<Amount> {
    match &service.cycle {
        None => credit_of_phase(service, ANY, idle),
        Some(cycle) => {
            let mut most = 0;
            for &phase in cycle.phases.iter().chain(&cycle.openings) {
                most = most.max(credit_of_phase(service, phase, idle)?);
            }
            Some(most)
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

/// The wait of a class for its credit, which is `most` at most: idle * O(t) - most is what it is served.
pub(crate) fn by_credit(
    cycle: Option<&Cycle>,
    idle: i64,
    most: Amount,
    arrivals: &Curve,
    shortest: Amount,
) -> Option<Time> {
    let idle_wide = Amount::from(idle);
    let Some(cycle) = cycle else {
        if idle < arrivals.last().rate {
            return None;
        }
        let wait = |time: Time| {
            let owed = arrivals.at(time) - shortest + most;
            Time::try_from(ceil_div(owed, idle_wide)).ok().map(|earned| earned - time)
        };
        let mut longest = wait(0)?;
        for turn in arrivals.turns().filter(|&turn| turn > 0) {
            longest = longest.max(wait(turn - 1)? + GRID).max(wait(turn)? + GRID);
        }
        return Some(longest);
    };
    let open: Time = cycle.pieces.iter().filter(|piece| piece.is_open).map(|piece| piece.length).sum();
    if open == 0 || idle_wide * Amount::from(open) < Amount::from(arrivals.last().rate) * Amount::from(cycle.length) {
        return None;
    }
    let mut longest = 0;
    let always = [0];
    let closings = if cycle.closings.is_empty() { &always[..] } else { &cycle.closings[..] };
    for &begin in closings {
        // Open stretches from there on: begin, and how much was open before.
        let mut stretches: Vec<(Time, Time, Time)> = Vec::new();
        let (mut index, mut passed) = cycle.piece_at(begin);
        let (mut at, mut before) = (0, 0);
        while at < cycle.length {
            let piece = cycle.pieces[index];
            let length = (piece.length - passed).min(cycle.length - at);
            if piece.is_open {
                stretches.push((at, before, length));
                before += length;
            }
            at += length;
            (index, passed) = ((index + 1) % cycle.pieces.len(), 0);
        }
        let wait = |time: Time| -> Option<Time> {
            let owed = arrivals.at(time) - shortest + most;
            let needed = owed.max(0) / idle_wide + 1;
            let whole = (needed - 1) / Amount::from(open);
            let rest = Time::try_from(needed - whole * Amount::from(open)).ok()?;
            let &(at, before, _) = stretches.iter().find(|&&(_, before, length)| rest <= before + length)?;
            let earned = Amount::from(cycle.length) * whole + Amount::from(at + rest - before);
            Some(Time::try_from(earned).ok()? - time)
        };
        let last = arrivals.turns().last().unwrap_or(0).saturating_add(cycle.length);
        let mut look = |time: Time| -> Option<()> {
            for near in [time - 1, time] {
                if (0..=last).contains(&near) {
                    longest = longest.max(wait(near)? + GRID);
                }
            }
            Some(())
        };
        look(0)?;
        for turn in arrivals.turns() {
            look(turn)?;
        }
        // Where one more picosecond of open time has to be waited for until the gate opens again.
        let from = (arrivals.at(0) - shortest + most).max(0) / (idle_wide * Amount::from(open));
        let to = (arrivals.at(last) - shortest + most).max(0) / (idle_wide * Amount::from(open)) + 1;
        if to - from > MOST_SEGMENTS as Amount {
            return None;
        }
        for turn in from..=to {
            for &(_, before, length) in &stretches {
                let level = idle_wide * (turn * Amount::from(open) + Amount::from(before + length)) - most - 1;
                if let Some(time) = arrivals.first_above(level + shortest) {
                    look(time)?;
                }
            }
        }
    }
    Some(longest)
}
