// SPDX-License-Identifier: Apache-2.0
//! The longest wait of a frame, from the instant in which it may be selected to its selection.
use std::cell::OnceCell;

use crate::curve::Curve;
use crate::phase::Schedule;
use crate::search::Search;
use crate::service::{Segment, Service, ANY};
use crate::windows::Phase;
use crate::{ceil_div, Amount, Time};

/// Segments that are looked at for one phase; a class that has not caught up by then has no bound.
pub(crate) const MOST_SEGMENTS: usize = 20_000;
/// Between two whole picoseconds, and between two of the instants that are looked at.
pub(crate) const GRID: Time = 2;

/// Less than anything that is served.
const NOTHING: Amount = Amount::MIN / 4;

/// By the length of frames on the wire, or less, from the shortest on: how long those wait whose class is served as
/// `service` says. None: it grows without limit.
///
/// A frame that comes at `t` after the class, or a class above, began to wait has arrivals(t) less its length before it.
pub(crate) fn by_service(service: &Service, arrivals: Arrivals, lengths: &[Amount]) -> Option<Vec<Time>> {
    let see = |phase| Served::new(service, phase, arrivals);
    let Some(cycle) = &service.cycle else {
        let served = see(ANY)?;
        return lengths.iter().map(|&length| served.wait(arrivals.curve, length, 0)).collect();
    };
    if let Some(schedule) = arrivals.schedule {
        // What comes is another from phase to phase, and these are few.
        let each = cycle.phases().flatten().map(|&phase| Some(see(phase)?.in_steps(arrivals, schedule, phase)));
        let seen: Vec<InSteps> = each.collect::<Option<_>>()?;
        let wait = |&length: &Amount| -> Option<Time> {
            seen.iter().try_fold(0, |longest, seen| Some(longest.max(seen.wait(length)?)))
        };
        return lengths.iter().map(wait).collect();
    }
    // Of several stretches, against all that the classes above bring a frame waits for no less, and the longer the later in a
    // stretch the class begins to wait: it has less of this stretch before it.
    let rough = if cycle.phases().nth(1).is_some() { service.against_all() } else { None };
    let limit =
        |phases: &[Phase]| Served::new(rough.as_ref()?, *phases.last()?, arrivals)?.wait(arrivals.curve, lengths[0], 0);
    let mut search = Search::new(cycle.phases().map(|phases| (limit(phases), phases)), see);
    let (&shortest, longer) = lengths.split_first()?;
    let wait = |seen: &Option<Served>, length, known| seen.as_ref()?.wait(arrivals.curve, length, known);
    let mut found = Vec::with_capacity(lengths.len());
    found.push(search.greatest(0, |seen, known| wait(seen, shortest, known).map(|wait| (wait, Some(wait))))?);
    // The longer frames are, the shorter they wait: a phase in which some wait no longer than the last ones of all, or of a
    // few, is done with until then.
    let Some((&longest, between)) = longer.split_last() else { return Some(found) };
    let least = search.greatest(0, |seen, known| Some((wait(seen, longest, known)?, None)))?;
    for &length in between {
        let value = |seen: &Option<Served>, known| {
            let seen = seen.as_ref()?;
            let at_once = seen.at_once(arrivals.curve, length)?;
            // Who may not wait for longer than what is known is asked for how long at most.
            if known > least && known >= at_once {
                let limit = seen.looked_for(arrivals.curve, length, least.max(at_once))?;
                if limit <= known || seen.keeps(arrivals.curve, length, known) {
                    return Some((known, Some(limit.min(known))));
                }
            }
            let found = seen.no_less(arrivals.curve, length, known.max(at_once))?;
            Some((found, Some(if found > known { found } else { known.max(least) })))
        };
        // By what lies between two of the instants that are looked at, longer frames may seem to wait for longer.
        found.push(search.greatest((least - GRID).max(0), value)?);
    }
    found.push(least);
    Some(found)
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

    /// Whether no more than this comes until a time after waiting began in a phase.
    fn is_all(&self, amount: Amount, phase: Phase, time: Time) -> bool {
        let came = |schedule: &Schedule| schedule.until(phase.begin - phase.blocked, phase.slack, time);
        amount >= self.curve.at(time) || self.schedule.is_some_and(|schedule| amount >= came(schedule))
    }
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
        let enough = arrivals.schedule.map_or(Time::MAX, |schedule| 2 * schedule.cycle);
        Self { each: arrivals.each, rate: service.rate.into(), window: 0, more: 0, begins: false, enough, second: None }
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

/// What a class is served from a phase on, until nothing of it waits.
struct Served {
    /// Those in which its frames can begin, each with the most that is served by its end.
    segments: Vec<(Segment, Amount)>,
    /// When nothing waits any more; `Time::MAX`: never.
    busy: Time,
    places: OnceCell<Places>,
    /// What is served by the end of some time in which frames begin, and when a little more is.
    levels: OnceCell<Vec<(Amount, Option<Time>)>>,
}

/// Where it is looked for the longest wait: of frames of any length.
struct Places {
    /// What is served by a time, where what is missing may be least: one time after the other.
    points: Vec<(Amount, Time)>,
    /// The segments in which it rises, from the time on that is not counted, and what was served before.
    rises: Vec<(usize, Time, Amount)>,
    /// It never catches up.
    lags: bool,
}

/// Of a phase in which it is known when frames come.
struct InSteps {
    served: Served,
    /// Since when the first frame waits of those that come from a step to the next, and all that has come by then.
    came: Vec<(Time, Amount)>,
}

impl InSteps {
    /// The longest wait of frames of a length.
    fn wait(&self, length: Amount) -> Option<Time> {
        self.came
            .iter()
            .try_fold(0, |longest, (since, came)| Some(longest.max(self.served.first(came - length)? - since)))
    }
}

impl Served {
    /// None: more comes than is served.
    fn new(service: &Service, phase: Phase, arrivals: Arrivals) -> Option<Self> {
        let mut segments: Vec<(Segment, Amount)> = Vec::with_capacity(8);
        let (mut busy, mut count, mut most) = (Time::MAX, 0, NOTHING);
        let mut whole = Whole::new(service, arrivals);
        let is_limited = service.walk(phase, |segment| {
            count += 1;
            let segment = &whole.with_last_frames(*segment);
            if segment.usable {
                let end = match segment.to {
                    Time::MAX if segment.slope > 0 => Amount::MAX,
                    Time::MAX => segment.served,
                    // A frame begins in a whole picosecond, and no longer when the segment is over.
                    to => segment.at(to - 1),
                };
                most = most.max(segment.served).max(end);
                segments.push((*segment, most));
                if busy == Time::MAX && whole.lasts_evenly(segment, arrivals) {
                    busy = whole.enough;
                }
                if segment.to < Time::MAX && arrivals.is_all(segment.at(segment.to), phase, segment.to.min(busy)) {
                    busy = busy.min(segment.to);
                    return false;
                }
            }
            count < MOST_SEGMENTS
        });
        let (last, _) = segments.last()?;
        let is_endless = last.to == Time::MAX;
        let is_over = busy < Time::MAX || (is_endless && last.slope >= arrivals.curve.last().rate);
        (is_limited && is_over).then_some(Self { segments, busy, places: OnceCell::new(), levels: OnceCell::new() })
    }

    /// The first time from which on more than this is served, at which a frame can begin: as long as no more is, those that
    /// go first may still be sent.
    fn first(&self, amount: Amount) -> Option<Time> {
        let place = self.segments.partition_point(|&(_, most)| most < amount);
        self.segments.get(place..)?.iter().find_map(|(segment, _)| {
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

    /// Between two steps no frame comes that the curve does not let come until the second, and the first one waits longest.
    fn in_steps(self, arrivals: Arrivals, schedule: &Schedule, phase: Phase) -> InSteps {
        let steps = schedule.steps(phase.begin - phase.blocked, phase.slack, self.busy);
        // Whole frames of a window that had begun earlier would be no more, so that who began to wait then has no more time.
        let earlier = if arrivals.each.is_some() { phase.slack } else { 0 };
        let ends = steps.iter().skip(1).map(|&(step, _)| step).chain([self.busy]);
        let came = steps.iter().zip(ends).map(|(&(step, came), end)| {
            let sooner = if step == 0 { earlier } else { 0 };
            (step - sooner, came.min(arrivals.curve.at(end - 1)))
        });
        InSteps { came: came.collect(), served: self }
    }

    /// The longest wait of frames of a length, but no less than is known.
    fn wait(&self, arrivals: &Curve, length: Amount, known: Time) -> Option<Time> {
        self.no_less(arrivals, length, known.max(self.at_once(arrivals, length)?))
    }

    /// The same, of frames that come at once it is known that they wait no longer.
    fn no_less(&self, arrivals: &Curve, length: Amount, known: Time) -> Option<Time> {
        match self.keeps(arrivals, length, known) {
            true => Some(known),
            false => self.looked_for(arrivals, length, known),
        }
    }

    /// How long one of a length waits that comes as waiting begins.
    fn at_once(&self, arrivals: &Curve, length: Amount) -> Option<Time> {
        self.first(arrivals.at(0) - length)
    }

    /// The longest wait of frames of a length that do not come at once, but no less than of those that do.
    fn looked_for(&self, arrivals: &Curve, length: Amount, at_once: Time) -> Option<Time> {
        let wait = |time: Time| self.first(arrivals.at(time) - length).map(|served| served - time);
        let mut longest = at_once;
        let look = |time: Time, longest: &mut Time| -> Option<()> {
            for near in [time - 1, time] {
                if near > 0 && near < self.busy {
                    *longest = (*longest).max(wait(near)? + GRID);
                }
            }
            Some(())
        };
        for turn in arrivals.turns() {
            look(turn, &mut longest)?;
        }
        // A frame with more before it than this waits for the next segment.
        for &(level, more) in self.levels(arrivals) {
            // It comes no sooner than when it would wait no longer than others do.
            let latest = more.map(|more| more + GRID - longest);
            if latest.is_some_and(|latest| latest < 0 || arrivals.at(latest) <= level + length) {
                continue;
            }
            if let Some(time) = arrivals.first_above(level + length) {
                look(time, &mut longest)?;
            }
        }
        Some(longest)
    }

    fn places(&self) -> &Places {
        self.places.get_or_init(|| {
            let mut places = Places { points: Vec::new(), rises: Vec::new(), lags: false };
            places.points.reserve_exact(2 * self.segments.len() + 1);
            places.rises.reserve_exact(self.segments.len());
            let mut before = NOTHING;
            for (place, (segment, _)) in self.segments.iter().enumerate() {
                // Until the segment begins no more is served, and within it not before it has caught up.
                let caught_up = match before - segment.served {
                    missing if missing > 0 && segment.slope > 0 => {
                        let way = ceil_div(missing, Amount::from(segment.slope));
                        segment.from.saturating_add(Time::try_from(way).unwrap_or(Time::MAX)).min(segment.to)
                    }
                    missing if missing > 0 => segment.to,
                    _ => segment.from,
                };
                if caught_up == Time::MAX {
                    places.lags = true;
                    break;
                }
                places.points.push((before, caught_up - 1));
                // What is served no more of for some time may not all be on the wire yet.
                let still = |served: Amount| if segment.slope > 0 { served } else { served - 1 };
                let at = |time: Time| still(segment.at(time).max(segment.served)).max(before);
                // No less is missing later, until the next one has caught up.
                if caught_up < segment.to {
                    places.points.push((at(caught_up), caught_up));
                    places.rises.push((place, caught_up, before));
                }
                let end = if segment.to < Time::MAX { segment.at(segment.to - 1) } else { segment.served };
                before = before.max(still(end.max(segment.served)));
            }
            // All that comes as long as anything waits.
            if self.busy < Time::MAX {
                places.points.push((before, Time::MAX));
            }
            places
        })
    }

    fn levels(&self, arrivals: &Curve) -> &[(Amount, Option<Time>)] {
        self.levels.get_or_init(|| {
            // No more comes within a picosecond.
            let step = Amount::from(arrivals.fastest());
            let mut levels: Vec<(Amount, Option<Time>)> = Vec::with_capacity(2 * self.segments.len());
            for (segment, _) in &self.segments {
                // What is served by the last begin.
                let end = (segment.to < Time::MAX).then(|| segment.at(segment.to - 1));
                for level in [Some(segment.served), end].into_iter().flatten() {
                    if levels.last().is_none_or(|last| last.0 != level) {
                        levels.push((level, self.first(level + step)));
                    }
                }
            }
            levels
        })
    }

    /// Whether no frame of a length waits for longer: at each time, as much has been served as came before frames that came so
    /// long ago. Between the places that are looked at, what is missing is least at one of them.
    fn keeps(&self, arrivals: &Curve, length: Amount, wait: Time) -> bool {
        let places = self.places();
        if places.lags {
            return false;
        }
        let mut piece = 0;
        let is_enough = |&(served, time): &(Amount, Time)| {
            let came = (time - wait).min(self.busy - 1);
            came < 0 || served >= arrivals.piece_from(came, &mut piece).0.at(came) - length
        };
        if !places.points.iter().all(is_enough) {
            return false;
        }
        let (mut piece, mut after) = (0, 0);
        for turn in arrivals.turns() {
            for came in [turn - 1, turn] {
                let time = came + wait;
                after += places.rises[after..].iter().take_while(|&&(_, from, _)| from < time).count();
                let Some(&(place, _, before)) = after.checked_sub(1).map(|place| &places.rises[place]) else {
                    continue;
                };
                let segment = &self.segments[place].0;
                let came = came.min(self.busy - 1);
                if time >= segment.to || came < 0 {
                    continue;
                }
                let still = if segment.slope > 0 { 0 } else { 1 };
                let served = (segment.at(time).max(segment.served) - still).max(before);
                if served < arrivals.piece_from(came, &mut piece).0.at(came) - length {
                    return false;
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::curve::Line;
    use crate::describe::Gates;
    use crate::service::Above;
    use crate::windows::{Cycle, List};
    use proptest::prelude::*;

    const RATE: i64 = 1_000_000_000;

    fn curve() -> impl Strategy<Value = Curve> {
        let line = (0_i64..100_000, 0_i64..20).prop_map(|(burst, part): (i64, i64)| Line {
            burst: Amount::from(burst) * Amount::from(RATE),
            rate: RATE * part / 200,
        });
        prop::collection::vec(line, 1..4).prop_map(|lines| Curve::least(lines).unwrap())
    }

    fn above() -> impl Strategy<Value = Above> {
        (4_usize..8, curve(), prop::option::of((0_i64..50_000, 1_i64..10)), any::<bool>()).prop_map(
            |(class, arrivals, credit, is_known)| {
                let line = |(burst, part): (i64, i64)| Line {
                    burst: Amount::from(RATE) * Amount::from(burst),
                    rate: RATE * part / 20,
                };
                let credit = credit.map(line);
                Above {
                    class: Some(class),
                    arrivals: (is_known || credit.is_none()).then(|| Rc::new(arrivals)),
                    credit,
                }
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// The search finds what a look at each phase finds, and no frame of any of them waits for longer: time by time.
        #[test]
        fn the_longest_wait_is_that_of_any_phase(
            entries in prop::collection::vec((any::<u8>(), 1_000_i64..200_000), 1..6),
            arrivals in curve(),
            above in prop::collection::vec(above(), 0..3),
            lower in prop::collection::vec((0_usize..3, 1_i64..20_000), 0..2),
        ) {
            let own = 8_000;
            let gates = Gates { entries, edge_ps: 5, late: false, begin_ps: None, begin_error_ps: 0, frozen: false };
            let cycle = Rc::new(Cycle::new(&List::new(&gates), 3, own, &lower));
            prop_assume!(!cycle.has_no_window());
            let phases: Vec<Phase> = cycle.phases().flatten().copied().collect();
            let service = Service { rate: RATE, low: 0, above, cycle: Some(cycle) };
            let lengths = [1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 8_000].map(|bits| Amount::from(RATE) * bits);
            let found = by_service(&service, Arrivals::of(&arrivals), &lengths);
            let seen: Option<Vec<Served>> = phases.iter().map(|&phase| Served::new(&service, phase, Arrivals::of(&arrivals))).collect();
            prop_assert_eq!(found.is_some(), seen.is_some());
            for (at, length) in lengths.into_iter().enumerate() {
                let (Some(found), Some(seen)) = (&found, &seen) else { break };
                let each: Vec<Time> = seen.iter().map(|seen| seen.wait(&arrivals, length, 0).unwrap()).collect();
                let longest = *each.iter().max().unwrap();
                prop_assert!(found[at] <= longest && longest <= found[at] + GRID, "{} is not {longest}", found[at]);
                for seen in seen {
                    let most = seen.busy.min(3_000_000) as u64;
                    for time in (0..most).step_by(997).map(|time| time as Time) {
                        let served = seen.first(arrivals.at(time) - length).unwrap();
                        prop_assert!(served - time <= found[at], "at {time}: {served}");
                    }
                }
            }
        }

        /// No frame waits for longer, whenever its class begins to wait and whatever lower frame is on the wire then: gates and
        /// what goes first are counted unit by unit.
        #[test]
        fn no_frame_waits_longer_whenever_its_class_begins_to_wait(
            entries in prop::collection::vec((any::<u8>(), 1_i64..30), 1..6),
            arrivals in prop::collection::vec((20_i128..60, 0_i64..8).prop_map(|(burst, rate)| Line { burst, rate }), 1..3),
            above in prop::collection::vec((4_usize..8, 0_i128..80, 0_i64..6), 0..3),
            lower in prop::collection::vec((0_usize..3, 1_i64..9), 0..3),
            edge in 0_i64..2,
        ) {
            let (own, rate, length) = (2, 10, 20);
            let gates = Gates { entries, edge_ps: edge, late: false, begin_ps: None, begin_error_ps: 0, frozen: false };
            let list = List::new(&gates);
            let cycle = Rc::new(Cycle::new(&list, 3, own, &lower).whenever(3));
            prop_assume!(!cycle.has_no_window());
            let arrivals = Curve::least(arrivals).unwrap();
            let before: Vec<Above> = above
                .iter()
                .map(|&(class, burst, rate)| {
                    let arrivals = Some(Rc::new(Curve::line(Line { burst, rate })));
                    Above { class: Some(class), arrivals, credit: None }
                })
                .collect();
            let service = Service { rate, low: 0, above: before, cycle: Some(cycle.clone()) };
            let Some(found) = by_service(&service, Arrivals::of(&arrivals), &[length]) else { return Ok(()) };
            let piece = |time: Time| cycle.pieces[cycle.piece_at(time).0];
            // Who comes after the last place to begin at waits a unit less than who comes there.
            for begin in (0..cycle.length).filter(|&begin| piece(begin).usable) {
                // What began just before, where its own gate lets it end.
                let lasts = |&(low, longest): &(usize, Time)| {
                    let is_open = (0..longest).all(|at| piece(begin - 1 + at).others >> low & 1 == 1);
                    if is_open { longest - 1 } else { 0 }
                };
                let blocked = lower.iter().map(lasts).max().unwrap_or(0);
                let blocked = (0..=blocked).rev().find(|&at| piece(begin + at).usable).unwrap_or(0);
                let (mut usable, mut most, mut shared) = (0, NOTHING, vec![0; above.len()]);
                let mut due = 0;
                for at in 0..20 * cycle.length {
                    let here = piece(begin + at);
                    let is_usable = here.usable && at >= blocked;
                    let sent = above.iter().zip(&shared).map(|(&(_, burst, pace), &shared)| {
                        (burst + Amount::from(pace * at)).min(Amount::from(rate) * Amount::from(shared))
                    });
                    let served = Amount::from(rate) * Amount::from(usable) - sent.sum::<Amount>();
                    most = most.max(served);
                    // The first time at which so much is served.
                    while is_usable && due < 20 * cycle.length && served >= arrivals.at(due) - length {
                        prop_assert!(at - due <= found[0], "from {begin} on, {due}: {} is more than {}", at - due, found[0]);
                        due += 1;
                    }
                    if is_usable && most >= arrivals.at(at) {
                        break;
                    }
                    for (&(class, ..), shared) in above.iter().zip(&mut shared) {
                        *shared += Time::from(is_usable && here.others >> class & 1 == 1);
                    }
                    usable += Time::from(is_usable);
                }
            }
        }
    }
}
