// SPDX-License-Identifier: Apache-2.0
//! Arrivals from port to port, and the fixed point of all waits.
//!
//! The analysis begins with no wait at all and goes round until nothing changes: what it maps to itself is a bound, since
//! waits only make arrivals worse and these only waits. A wait that grows beyond [`crate::class::LONGEST`] has none.
use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::check::check;
use crate::class::{Served, View, LONGEST};
use crate::curve::{Curve, Line, Part};
use crate::describe::{Gates, Network, Port};
use crate::members::{queue, Class, Limit, Member, Queues};
use crate::outcome::{Hop, Outcome, Queue, Why};
use crate::phase::{repeated, Schedule, Window};
use crate::service::Above;
use crate::windows::List;
use crate::{ceil_div, Amount, Time, BYTE, CLASSES};

/// What a source may be early and still conforms.
pub(crate) const EARLY: Time = 16_000;
/// Of a cycle of streams whose waits go on growing.
const MOST_ROUNDS: usize = 1_000;

/// The bounds of a network.
pub fn analyse(network: &Network) -> Result<Outcome, String> {
    check(network)?;
    let mut analysis = Analysis::new(network);
    let rounds = analysis.settle();
    Ok(analysis.outcome(rounds))
}

/// What is known of a queue.
#[derive(Clone, Debug, PartialEq)]
struct Found {
    /// Of any of its frames.
    wait: Result<Time, Why>,
    /// By the lengths of its streams' shortest frames.
    own: Vec<Time>,
    /// All that comes within the longest time that a frame is in it.
    within: Option<Amount>,
}

struct Analysis<'a> {
    network: &'a Network,
    queues: Queues,
    /// By port.
    gates: Vec<Option<Rc<List>>>,
    /// By hop, for how long a stream may have been delayed since it had its limit; none: nobody knows.
    delays: Vec<Option<Time>>,
    /// By hop, whether it matters when a frame comes there.
    is_phased: Vec<bool>,
    /// By hop, the least and the most from a release until it may begin there; none: nobody knows.
    ways: Vec<Option<Window>>,
    found: Vec<[Option<Found>; CLASSES]>,
    /// How long their frames wait, by the number of the queue; none: without limit.
    waits: Vec<Option<Time>>,
    /// In which ports come after which.
    order: Vec<usize>,
}

impl<'a> Analysis<'a> {
    fn new(network: &'a Network) -> Self {
        let queues = Queues::new(network);
        let mut lists: HashMap<&Gates, Rc<List>> = HashMap::new();
        let mut list = |gates: &'a Gates| lists.entry(gates).or_insert_with(|| Rc::new(List::new(gates))).clone();
        let is_phased = is_phased(network, &queues);
        Self {
            network,
            gates: network.ports.iter().map(|port| port.gates.as_ref().map(&mut list)).collect(),
            delays: vec![None; queues.steps.len()],
            is_phased,
            ways: vec![None; queues.steps.len()],
            // Before it is worked out for the first time nothing waits.
            waits: vec![Some(0); queue(network.ports.len(), 0)],
            found: vec![const { [const { None }; CLASSES] }; network.ports.len()],
            order: in_order(&queues.next),
            queues,
        }
    }

    /// Goes round until nothing changes; how often it did.
    fn settle(&mut self) -> usize {
        // In a circle a queue is looked at before all that comes to it is known: nothing has waited there yet.
        if is_circular(&self.order, &self.queues.next) {
            for place in 0..self.queues.numbers.len() {
                let at = self.queues.numbers[place] as usize;
                (self.delays[at], self.ways[at]) = (self.delay(at), self.way(at));
            }
        }
        let mut due = vec![true; self.network.ports.len()];
        for round in 1..=MOST_ROUNDS {
            for place in 0..self.order.len() {
                let port = self.order[place];
                if std::mem::take(&mut due[port]) && self.renew(port) {
                    for &after in &self.queues.next[port] {
                        due[after] = true;
                    }
                }
            }
            if !due.iter().any(|&due| due) {
                return round;
            }
        }
        // What still grows has no bound; nor has what comes after it. All else is settled.
        let mut growing: Vec<usize> = (0..due.len()).filter(|&port| due[port]).collect();
        while let Some(port) = growing.pop() {
            for (class, found) in self.found[port].iter_mut().enumerate() {
                if let Some(found) = found {
                    found.wait = Err(Why::Growing);
                    self.waits[queue(port, class)] = None;
                }
            }
            for &after in &self.queues.next[port] {
                if !std::mem::replace(&mut due[after], true) {
                    growing.push(after);
                }
            }
        }
        MOST_ROUNDS
    }

    /// Works a port out; whether that changed anything for those behind it.
    fn renew(&mut self, port: usize) -> bool {
        let mut changed = false;
        for class in self.queues.classes[port].iter().flatten() {
            for at in class.members.clone() {
                let (delay, way) = (self.delay(at), self.way(at));
                changed |= self.delays[at] != delay || self.ways[at] != way;
                (self.delays[at], self.ways[at]) = (delay, way);
            }
        }
        let found = self.serve(port);
        changed |= self.found[port] != found;
        for (class, found) in found.iter().enumerate() {
            if let Some(found) = found {
                self.waits[queue(port, class)] = found.wait.ok();
            }
        }
        self.found[port] = found;
        changed
    }

    fn delay(&self, at: usize) -> Option<Time> {
        let step = &self.queues.steps[at];
        let Some((before, queue)) = step.before().filter(|_| !step.is_regulated) else { return Some(0) };
        Some(self.delays[before]?.saturating_add(self.waits[queue]?).saturating_add(step.jitter))
    }

    /// How long a frame takes from its release until it may begin at a queue.
    fn way(&self, at: usize) -> Option<Window> {
        if !self.is_phased[at] {
            return None;
        }
        let step = &self.queues.steps[at];
        if step.is_regulated {
            return None;
        }
        let Some((before, queue)) = step.before() else { return Some((0, 0)) };
        let ((least, most), waited) = (self.ways[before]?, self.waits[queue]?);
        let reach = self.queues.reach[at]?;
        Some((least.checked_add(reach.0)?, most.checked_add(reach.1)?.checked_add(waited)?))
            .filter(|way| way.1 <= LONGEST)
    }

    /// When in the gate cycle the frames of a class come, if that is known of all its streams.
    fn schedule(&self, port: &Port, class: &Class) -> Option<Schedule> {
        let gates = port.gates.as_ref().filter(|gates| gates.begin_ps.is_some() && class.filling == 0)?;
        let known = |at: usize| {
            let way = self.ways[at]?;
            let stream = &self.network.streams[self.queues.members[at].stream()];
            let longest = Amount::from(self.queues.steps[at].longest) * BYTE;
            Some((stream.releases.as_ref()?, way, longest))
        };
        Schedule::new(gates, class.members.clone().map(known))
    }

    /// What comes by a hop, and by how much it is displaced.
    fn arrivals(&self, at: usize) -> Option<(Part<'_>, Time)> {
        let part = match self.queues.steps[at].limit {
            Limit::Line(line) => Part::Line(self.queues.lines[line as usize]),
            Limit::Source(source) => Part::Curve(&self.queues.sources[source as usize]),
            Limit::None => return None,
        };
        Some((part, self.delays[at]?))
    }

    /// Of a class at a port: all that comes by one link is no more than that carries.
    fn together(&self, class: &Class) -> Result<Curve, Why> {
        let mut curves: Vec<Curve> = Vec::with_capacity(class.entries.len());
        for entry in &class.entries {
            let rate = self.network.ports[entry.port].fastest_bps;
            // Whole frames come, each as long after the one before as it is on the wire.
            let burst = entry.longest + Amount::from(rate) * Amount::from(entry.jitter);
            let link = entry.growth.line(Line { burst, rate });
            let arrivals = Curve::sum(entry.members.clone().map(|at| self.arrivals(at)));
            curves.push(arrivals.map_or_else(|| Curve::line(link), |arrivals| arrivals.capped(link)));
        }
        let regulators =
            class.regulators.iter().map(|&(regulator, growth)| Part::Line(growth.line(self.queues.lines[regulator])));
        let shaped = curves.iter().map(Part::Curve).chain(regulators).map(|part| Some((part, 0)));
        Curve::sum(shaped.chain(class.own.clone().map(|at| self.arrivals(at)))).ok_or_else(|| {
            let unknown = class.own.clone().find(|&at| self.arrivals(at).is_none());
            Why::NoContract { stream: unknown.map_or(0, |at| self.queues.members[at].stream()) }
        })
    }

    /// What a queue holds at most, in bytes: all that has come within the longest time that a frame is in it.
    fn backlog(&self, port: usize, class: &Class, found: &Found) -> Option<i64> {
        let lasts = found.wait.ok()?.checked_add(stay(class, &self.network.ports[port]))?;
        let each: Option<Amount> = class.members.clone().map(|at| self.held(at, lasts)).sum();
        let is_held = self.queues.steps[class.members.clone()].iter().any(|step| step.is_regulated);
        let most = each.into_iter().chain(found.within.filter(|_| !is_held)).min()?;
        i64::try_from(ceil_div(most, BYTE)).ok()
    }

    /// What of a stream is in a queue that its frames leave after so long at most. A scheduler holds back only what the
    /// queue before did not delay for as long, so that all of it was released within both times.
    fn held(&self, at: usize, lasts: Time) -> Option<Amount> {
        let step = &self.queues.steps[at];
        let came = |(part, late): (Part, Time), time: Time| part.at(late.saturating_add(time));
        match step.before() {
            None if step.is_regulated => None,
            None => self.arrivals(at).map(|arrivals| came(arrivals, lasts)),
            // Where it enters the network, a source that conforms is held back by no more than it may be early.
            Some(_) if step.is_regulated && step.is_first => Some(came((self.arrivals(at)?.0, 0), lasts + EARLY)),
            Some((before, queue)) => {
                let waited = self.waits[queue]?;
                Some(step.growth.amount(came(self.arrivals(before)?, lasts + waited + step.jitter)))
            }
        }
    }

    /// How long each class of a port waits, the first ones first.
    fn serve(&self, number: usize) -> [Option<Found>; CLASSES] {
        let port = &self.network.ports[number];
        let classes = &self.queues.classes[number];
        let rank = |class: usize| match port.turns >> class & 1 {
            1 => 7 - port.turns.leading_zeros() as usize,
            _ => class,
        };
        let mut all = [const { None }; CLASSES];
        let mut above: Vec<(usize, Above)> = Vec::new();
        let mut ranked: Vec<usize> = (0..CLASSES).filter(|&class| classes[class].is_some()).collect();
        ranked.sort_by_key(|&class| (rank(class), class));
        for &class_number in ranked.iter().rev() {
            let Some(class) = &classes[class_number] else { continue };
            let credit = port.credit.iter().find(|credit| usize::from(credit.traffic_class) == class_number);
            // Credit may have been spent by frames of other times.
            let schedule = if credit.is_none() { self.schedule(port, class) } else { None };
            let list = self.gates[number].as_deref();
            let view = View { port, list, classes, rank: &rank, class: class_number, schedule, cycle: OnceCell::new() };
            let together = if port.unknown { Err(Why::UnknownPort) } else { self.together(class).map(Rc::new) };
            let higher: Vec<Above> =
                above.iter().filter(|(of, _)| *of > rank(class_number)).map(|(_, above)| above.clone()).collect();
            let limit = credit.and_then(|credit| view.credit_limit(credit, &higher));
            let endless = higher.iter().find(|above| above.arrivals.is_none() && above.credit.is_none());
            let served = match (&together, credit) {
                (Err(why), _) => Served::Not(*why),
                _ if port.gates.is_none() && endless.is_some() => {
                    Served::Not(Why::Above { traffic_class: endless.and_then(|above| above.class).unwrap_or(0) as u8 })
                }
                (Ok(arrivals), Some(credit)) => match limit {
                    Some((most, _)) => view.by_credit(credit, most, arrivals.clone()),
                    None => Served::Not(Why::Credit),
                },
                (Ok(arrivals), None) if port.turns >> class_number & 1 == 1 => {
                    view.in_turns(arrivals.clone(), higher, |class| self.together(class).ok())
                }
                (Ok(arrivals), None) => Served::InOrder {
                    service: view.service(higher, view.low()),
                    arrivals: arrivals.clone(),
                    schedule: view.schedule.clone(),
                    each: (class.shortest() == class.longest).then_some(class.longest),
                },
            };
            let own = served.waits(&class.lengths);
            let wait = own.as_ref().map(|own| own[0]).map_err(|why| *why);
            // Behind gates and credit a queue may be full when another one begins to wait.
            let sent = sent(class, port.slowest_bps);
            let waited = wait.ok().map(|wait| wait.saturating_add(sent));
            let lasts = wait.ok().map(|wait| wait.saturating_add(stay(class, port)));
            let within = together.as_ref().ok().zip(lasts).map(|(arrivals, lasts)| arrivals.at(lasts));
            let arrivals = together.ok().and_then(|arrivals| match port.gates.is_some() || credit.is_some() {
                true => waited.map(|waited| Rc::new(arrivals.jittered(waited))),
                false => Some(arrivals),
            });
            let arrivals = arrivals.filter(|_| class.filling == 0);
            let credit = limit.map(|(_, line)| line);
            above.push((rank(class_number), Above { class: Some(class_number), arrivals, credit }));
            all[class_number] = Some(Found { wait, own: own.unwrap_or_default(), within });
        }
        all
    }

    fn outcome(&self, rounds: usize) -> Outcome {
        let mut waits = vec![None; self.queues.members.len()];
        let mut queues = Vec::new();
        for (port, classes) in self.queues.classes.iter().enumerate() {
            for (number, (class, found)) in classes.iter().zip(&self.found[port]).enumerate() {
                let Some((class, found)) = class.as_ref().zip(found.as_ref()) else { continue };
                for at in class.members.clone().filter(|_| found.wait.is_ok()) {
                    waits[at] = Some(found.own[self.queues.members[at].length()]);
                }
                let (wait_ps, why) = (found.wait.ok(), found.wait.err());
                let backlog_bytes = self.backlog(port, class, found);
                queues.push(Queue { port, traffic_class: number as u8, wait_ps, why, backlog_bytes });
            }
        }
        let mut numbers = self.queues.numbers.iter();
        let mut hops_of = |count| numbers.by_ref().take(count).map(|&at| Hop { wait_ps: waits[at as usize] }).collect();
        let hops = self.network.streams.iter().map(|stream| hops_of(stream.hops.len())).collect();
        Outcome { queues, hops, rounds }
    }
}

/// By hop, whether it matters when in a gate cycle a frame comes there: the sources of all streams of a queue that it
/// passes there, or later, are in a known phase of its gates.
fn is_phased(network: &Network, queues: &Queues) -> Vec<bool> {
    let mut found = vec![false; queues.steps.len()];
    // By cycle and stream.
    let mut known: HashMap<Time, Vec<Option<bool>>> = HashMap::new();
    for (port, classes) in network.ports.iter().zip(&queues.classes) {
        let Some(gates) = port.gates.as_ref().filter(|gates| gates.begin_ps.is_some()) else { continue };
        let cycle: Time = gates.entries.iter().map(|&(_, interval)| interval).sum();
        let known = known.entry(cycle).or_insert_with(|| vec![None; network.streams.len()]);
        for class in classes.iter().flatten().filter(|class| class.filling == 0) {
            let is_known = |member: &Member| {
                let releases = || network.streams[member.stream()].releases.as_ref();
                let is_repeated = || releases().is_some_and(|releases| repeated(releases, cycle).is_some());
                *known[member.stream()].get_or_insert_with(is_repeated)
            };
            if !queues.members[class.members.clone()].iter().all(is_known) {
                continue;
            }
            for at in class.members.clone() {
                let mut at = Some(at);
                while let Some(hop) = at.filter(|&hop| !found[hop]) {
                    found[hop] = true;
                    at = queues.steps[hop].before().map(|(before, _)| before);
                }
            }
        }
    }
    found
}

/// For how long a frame of the class is sent.
fn sent(class: &Class, rate: i64) -> Time {
    Time::try_from(ceil_div(class.longest, rate.into())).unwrap_or(LONGEST)
}

/// For how long it is in its queue beside its wait.
fn stay(class: &Class, port: &Port) -> Time {
    sent(class, port.slowest_bps).saturating_add(port.held_ps)
}

/// Whether a port of that order comes after one that is behind it.
fn is_circular(order: &[usize], next: &[Vec<usize>]) -> bool {
    let mut is_over = vec![false; next.len()];
    order.iter().any(|&port| {
        is_over[port] = true;
        next[port].iter().any(|&after| is_over[after])
    })
}

/// Ports before those that come after them; those of a cycle in any order.
fn in_order(next: &[Vec<usize>]) -> Vec<usize> {
    let mut waiting: Vec<usize> = vec![0; next.len()];
    for &after in next.iter().flatten() {
        waiting[after] += 1;
    }
    let mut order: Vec<usize> = Vec::with_capacity(next.len());
    let mut is_placed = vec![false; next.len()];
    let mut ready: Vec<usize> = (0..next.len()).rev().filter(|&port| waiting[port] == 0).collect();
    let mut first = 0;
    loop {
        let port = match ready.pop() {
            Some(port) => port,
            None => match (first..next.len()).find(|&port| !is_placed[port]) {
                Some(port) => {
                    first = port;
                    port
                }
                None => return order,
            },
        };
        if std::mem::replace(&mut is_placed[port], true) {
            continue;
        }
        order.push(port);
        for &after in &next[port] {
            waiting[after] -= 1;
            if waiting[after] == 0 && !is_placed[after] {
                ready.push(after);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::{Bucket, Credit, Gates, Hop, Network, Port, Stream};

    const RATE: i64 = 1_000_000_000;
    const BYTES: i64 = 1_000;
    const FRAME_PS: i64 = BYTES * 8 * 1_000;

    fn port() -> Port {
        Port {
            slowest_bps: RATE,
            fastest_bps: RATE,
            unknown: false,
            credit: Vec::new(),
            turns: 0,
            gates: None,
            held_ps: 0,
        }
    }

    /// A stream of one class, a frame at once and so much, through ports one after the other.
    fn stream(rate_bps: i64, ports: impl IntoIterator<Item = usize>) -> Stream {
        let hop = |(place, port): (usize, usize)| Hop {
            port,
            traffic_class: 0,
            from: place.checked_sub(1),
            jitter_ps: 0,
            regulator: None,
            conforms: false,
            reach_ps: None,
            lengths_bytes: None,
        };
        Stream {
            buckets: vec![Bucket { burst_millibits: BYTES * 8_000, rate_bps }],
            min_bytes: BYTES,
            max_bytes: BYTES,
            fills: false,
            releases: None,
            hops: ports.into_iter().enumerate().map(hop).collect(),
        }
    }

    fn waits(ports: usize, streams: Vec<Stream>) -> (usize, Vec<Option<i64>>) {
        let network = Network { ports: vec![port(); ports], regulators: Vec::new(), streams };
        let found = analyse(&network).unwrap();
        (found.rounds, found.queues.iter().map(|queue| queue.wait_ps).collect())
    }

    /// Each port has a stream that begins there and one from the port before, which has waited for d: b + r d at once, but no
    /// faster than the link before it. With as much at once as a frame is long the longest wait is where both lines meet, at
    /// t = r d / (R - r), and d = b / R + r / R * t, so that d = (b / R) / (1 - r^2 / (R (R - r))).
    #[test]
    fn waits_in_a_circle_are_where_nothing_changes() {
        for ports in [3, 5] {
            let (rounds, waits) =
                waits(ports, (0..ports).map(|at| stream(RATE * 2 / 5, [at, (at + 1) % ports])).collect());
            assert!(rounds > 3, "{rounds}");
            assert_eq!(waits.len(), ports);
            let exact = FRAME_PS * 15 / 11;
            for wait in waits {
                assert!((exact..exact + 40).contains(&wait.unwrap()), "{wait:?} is not {exact}");
            }
        }
    }

    /// A frame waits for one of each other stream, and no longer for those that come behind it by one link.
    #[test]
    fn a_frame_waits_for_one_of_each_other_stream() {
        let (rounds, found) = waits(2, vec![stream(RATE / 4, [0, 1]), stream(RATE / 4, [0, 1]), stream(RATE / 4, [1])]);
        assert_eq!(rounds, 1);
        assert!((FRAME_PS..FRAME_PS + 4).contains(&found[0].unwrap()), "{found:?}");
        // Both have waited for up to a frame: 2 b + 2 r d at once, by a link, beside b.
        let together = 2 * FRAME_PS + FRAME_PS / 2;
        let met = (together - FRAME_PS) * 2;
        let exact = together + FRAME_PS + met * 3 / 4 - FRAME_PS - met;
        assert!((exact..exact + 8).contains(&found[1].unwrap()), "{found:?} is not {exact}");
    }

    /// Behind it, what comes by that link alone finds a port that is as fast, and never waits.
    #[test]
    fn more_than_the_link_carries_has_no_bound() {
        let (_, found) = waits(2, vec![stream(RATE * 3 / 5, [0, 1]), stream(RATE / 2, [0])]);
        assert_eq!(found, [None, Some(0)]);
    }

    /// In bytes: a byte takes 8 ns, and a stream brings a quarter of that.
    fn backlogs(held_ps: i64, regulators: Vec<Bucket>, streams: Vec<Stream>) -> Vec<Option<i64>> {
        let ports = vec![Port { held_ps, ..port() }; 3];
        analyse(&Network { ports, regulators, streams })
            .unwrap()
            .queues
            .iter()
            .map(|queue| queue.backlog_bytes)
            .collect()
    }

    /// One through three ports, 1 us more or less from one to the next, and one more at each of them.
    fn row(regulators: [Option<usize>; 3]) -> Vec<Stream> {
        let mut long = stream(RATE / 4, 0..3);
        for (hop, regulator) in long.hops.iter_mut().zip(regulators) {
            (hop.regulator, hop.jitter_ps) = (regulator, 1_000_000);
        }
        [long].into_iter().chain((0..3).map(|port| stream(RATE / 4, [port]))).collect()
    }

    fn is_about(found: Option<i64>, exact: i64) {
        assert!(found.is_some_and(|found| (exact..=exact + 1).contains(&found)), "{found:?} is not {exact}");
    }

    /// What has come since the oldest frame left the queue before, or was released where it is the first.
    #[test]
    fn a_queue_holds_what_comes_while_a_frame_is_in_it() {
        let found = backlogs(0, Vec::new(), row([None; 3]));
        // Waits of 8, 9.417 and 10.285 us, and 8 us for a frame itself.
        is_about(found[0], 2 * 1_000 + 1_000);
        is_about(found[1], 1_544 + 1_826);
        is_about(found[2], 1_572 + 2_178);
        // 4 us more in each queue, in which 250 B come.
        is_about(backlogs(4_000_000, Vec::new(), row([None; 3]))[0], 2 * 1_000 + 1_250);
    }

    /// A stream of each of these classes at one port, a frame at once and a tenth of the rate, and how long each waits, in
    /// frames.
    fn of_classes(port: Port, classes: &[u8]) -> Vec<f64> {
        let each = |&class: &u8| {
            let mut stream = stream(RATE / 10, [0]);
            stream.hops[0].traffic_class = class;
            stream
        };
        let streams = classes.iter().map(each).collect();
        let found = analyse(&Network { ports: vec![port], regulators: Vec::new(), streams }).unwrap();
        let numbers: Vec<u8> = found.queues.iter().map(|queue| queue.traffic_class).collect();
        assert_eq!(numbers, classes);
        found.queues.iter().map(|queue| queue.wait_ps.unwrap() as f64 / FRAME_PS as f64).collect()
    }

    fn are_about(found: &[f64], exact: &[f64]) {
        let is_near = |(found, exact): (&f64, &f64)| (0.0..1e-5).contains(&(found - exact));
        assert!(found.len() == exact.len() && found.iter().zip(exact).all(is_near), "{found:?} is not {exact:?}");
    }

    /// What comes of the classes above, and a frame of a lower one.
    #[test]
    fn a_class_waits_for_those_above_and_for_a_frame_of_a_lower_one() {
        are_about(&of_classes(port(), &[0, 4, 7]), &[2.0 / 0.8, 2.0 / 0.9, 1.0]);
    }

    /// The two that take turns wait for what is above both, for a frame that has begun, and for one of the other; what is below
    /// waits for all of them.
    #[test]
    fn classes_that_take_turns_are_of_one_level() {
        let turns = Port { turns: 0b0110_0000, ..port() };
        are_about(&of_classes(turns.clone(), &[0, 5, 6, 7]), &[3.0 / 0.7, 3.0 / 0.9, 3.0 / 0.9, 1.0]);
        // No more of the other than comes.
        are_about(&of_classes(turns, &[5, 6]), &[1.0 / 0.9, 1.0 / 0.9]);
    }

    /// Its gate is open for 7.5 of 12.5 frames, that of the lower class always. It comes as a frame of that has begun that lasts
    /// until none of its own fits any more, and as the gate opens one has begun just before: from 5.5 until 13.5.
    #[test]
    fn a_class_waits_from_the_last_frame_that_does_not_let_it_begin() {
        let gated = |edge_ps: i64| {
            let entries = vec![(0b10_0100, FRAME_PS * 15 / 2), (0b00_0100, FRAME_PS * 5)];
            Gates { entries, edge_ps, late: false, begin_ps: None, begin_error_ps: 0, frozen: false }
        };
        let waits = |edge_ps| of_classes(Port { gates: Some(gated(edge_ps)), ..port() }, &[2, 5]);
        are_about(&waits(0)[1..], &[8.0]);
        // Gates that are off by an eighth of a frame shut sooner and open later.
        let found = waits(FRAME_PS / 8)[1];
        assert!((8.25..8.4).contains(&found), "{found}");
        // One that opens later has begun no frame as the own one opens, and may as it shuts.
        let entries = vec![(0b10_0000, FRAME_PS * 2), (0b10_0100, FRAME_PS * 11 / 2), (0b00_0100, FRAME_PS * 5)];
        let later = Gates { entries, ..gated(0) };
        are_about(&of_classes(Port { gates: Some(later), ..port() }, &[2, 5])[1..], &[7.0]);
    }

    /// It earns as long as a lower frame and all that is above keep it from being served. What is below it meets the frames
    /// that it has kept meanwhile, if its credit lets them go.
    #[test]
    fn a_class_with_credit_is_in_the_way_with_what_it_has_kept() {
        let credit = Credit {
            traffic_class: 5,
            slowest_bps: RATE / 4,
            fastest_bps: RATE / 4,
            free_bytes: 0,
            most_bits: 1 << 40,
        };
        let served = Port { credit: vec![credit], ..port() };
        let wait = 2.0 / 0.9;
        let kept = 1.0 + (wait + 1.0) / 10.0;
        are_about(&of_classes(served.clone(), &[2, 5, 7]), &[(1.0 + kept) / 0.8, wait, 1.0]);
        // With less than it earns it sends no more than that lets through.
        let slow = Credit { slowest_bps: RATE / 10, fastest_bps: RATE / 10, ..served.credit[0] };
        let spared = wait / 10.0 + 0.9;
        let served = Port { credit: vec![slow], ..port() };
        are_about(&of_classes(served.clone(), &[2, 5, 7]), &[(1.0 + spared) / 0.8, wait, 1.0]);
        // More, where a fiftieth of each frame spends none.
        let free = Credit { free_bytes: BYTES / 50, ..served.credit[0] };
        let served = Port { credit: vec![free], ..port() };
        are_about(&of_classes(served, &[2, 5, 7]), &[(1.0 + spared / 0.98) / (0.9 - 0.1 / 0.98), wait, 1.0]);
    }

    /// Streams through ports one after the other, a tenth longer behind the first.
    fn grown(bucket: Bucket, ports: impl IntoIterator<Item = usize>) -> Stream {
        let mut found = Stream { buckets: vec![bucket], ..stream(0, ports) };
        for hop in &mut found.hops[1..] {
            hop.lengths_bytes = Some((BYTES * 11 / 10, BYTES * 11 / 10));
        }
        found
    }

    fn in_frames(network: &Network) -> Vec<f64> {
        let found = analyse(network).unwrap();
        found.queues.iter().map(|queue| queue.wait_ps.unwrap() as f64 / FRAME_PS as f64).collect()
    }

    /// One of them waits for the other, which is longer than as it came, and holds more bytes.
    #[test]
    fn a_frame_waits_for_others_as_long_as_they_leave() {
        let bucket = Bucket { burst_millibits: BYTES * 8_000, rate_bps: RATE / 4 };
        let streams = vec![grown(bucket, 0..2), stream(RATE / 4, [1])];
        let network = Network { ports: vec![port(); 2], regulators: Vec::new(), streams };
        are_about(&in_frames(&network), &[0.0, 1.1]);
        let found = analyse(&network).unwrap();
        let own = found.hops.iter().map(|hops| hops[hops.len() - 1].wait_ps.unwrap());
        are_about(&own.map(|wait| wait as f64 / FRAME_PS as f64).collect::<Vec<_>>(), &[1.0, 1.1]);
        // In 2.2 frames 1550 B of each come, and one leaves with a tenth more.
        is_about(found.queues[1].backlog_bytes, 1_550 + 1_705);
    }

    /// And a higher class for one of a lower class, once it has begun.
    #[test]
    fn a_frame_that_has_begun_lasts_as_long_as_it_leaves() {
        let bucket = Bucket { burst_millibits: BYTES * 8_000, rate_bps: RATE / 10 };
        let mut high = stream(RATE / 10, [1]);
        high.hops[0].traffic_class = 7;
        let network =
            Network { ports: vec![port(); 2], regulators: Vec::new(), streams: vec![grown(bucket, 0..2), high] };
        // The higher class brings a tenth of the rate.
        are_about(&in_frames(&network), &[0.0, 1.0 / 0.9, 1.1]);
    }

    /// Four frames come one after the other by a link, and each takes a tenth longer to leave.
    #[test]
    fn what_grows_leaves_slower_than_its_link_brings_it() {
        let bucket = Bucket { burst_millibits: 2 * BYTES * 8_000, rate_bps: 0 };
        let streams = vec![grown(bucket, 0..2), grown(bucket, 0..2)];
        let mut network = Network { ports: vec![port(); 2], regulators: Vec::new(), streams };
        are_about(&in_frames(&network), &[3.0, 0.3]);
        // As long as they came once more behind it: the last one finds three of these just sent.
        for stream in &mut network.streams {
            stream.hops.push(Hop { port: 2, from: Some(1), lengths_bytes: None, ..stream.hops[1].clone() });
        }
        network.ports.push(port());
        are_about(&in_frames(&network), &[3.0, 0.3, 0.0]);
    }

    /// What comes without an end by a link as fast has no bound where it grows.
    #[test]
    fn what_fills_a_link_and_grows_has_no_bound() {
        let mut endless = grown(Bucket { burst_millibits: 0, rate_bps: 0 }, 0..2);
        (endless.buckets, endless.fills) = (Vec::new(), true);
        let network = Network { ports: vec![port(); 2], regulators: Vec::new(), streams: vec![endless.clone()] };
        assert_eq!(analyse(&network).unwrap().queues[1].why, Some(Why::Overload));
        endless.hops[1].lengths_bytes = None;
        let network = Network { streams: vec![endless], ..network };
        assert_eq!(analyse(&network).unwrap().queues[1].wait_ps, Some(0));
    }

    /// A scheduler counts frames as they come; two streams that share one bring no more than if both had grown.
    #[test]
    fn schedulers_let_through_what_then_grows() {
        let regulators = vec![Bucket { burst_millibits: 2 * BYTES * 8_000, rate_bps: 0 }];
        let bucket = Bucket { burst_millibits: 2 * BYTES * 8_000, rate_bps: 0 };
        let mut streams = vec![grown(bucket, [0, 1, 2]), grown(bucket, [0, 1, 2])];
        for stream in &mut streams {
            stream.hops[1].regulator = Some(0);
        }
        streams[1].hops[1].lengths_bytes = None;
        let of = |streams: &[Stream]| {
            in_frames(&Network { ports: vec![port(); 3], regulators: regulators.clone(), streams: streams.to_vec() })
        };
        // Two frames that have grown, and a frame that has not does not wait for itself.
        are_about(&of(&streams)[1..2], &[1.2]);
        streams.truncate(1);
        are_about(&of(&streams)[1..], &[1.1, 0.0]);
    }

    /// Frames in a known phase of the gates take as long as they leave.
    #[test]
    fn frames_in_a_window_are_counted_as_they_leave() {
        let entries = vec![(0xFF, 10 * FRAME_PS), (0, FRAME_PS)];
        let gates = Gates { entries, edge_ps: 0, late: false, begin_ps: Some(0), begin_error_ps: 0, frozen: false };
        let bucket = Bucket { burst_millibits: BYTES * 8_000, rate_bps: RATE / 11 };
        let mut streams = vec![grown(bucket, [0, 2]), grown(bucket, [1, 2])];
        for stream in &mut streams {
            let windows = vec![(FRAME_PS, FRAME_PS)];
            stream.releases = Some(crate::describe::Releases { period_ps: Some(11 * FRAME_PS), windows });
            stream.hops[1].reach_ps = Some((FRAME_PS, FRAME_PS));
        }
        let ports = vec![port(), port(), Port { gates: Some(gates), ..port() }];
        are_about(&in_frames(&Network { ports, regulators: Vec::new(), streams })[2..], &[1.1]);
    }

    /// Behind gates what the others bring is not summed: before each of its own frames one of theirs, and one that has begun.
    #[test]
    fn turns_behind_gates_are_counted_frame_by_frame() {
        let entries = vec![(0xFF, 10 * FRAME_PS)];
        let gates = Gates { entries, edge_ps: 0, late: false, begin_ps: None, begin_error_ps: 0, frozen: false };
        let of = |class: u8, mut stream: Stream| {
            stream.hops[0].traffic_class = class;
            stream
        };
        let twice = vec![Bucket { burst_millibits: 2 * BYTES * 8_000, rate_bps: RATE / 10 }];
        let short = vec![Bucket { burst_millibits: BYTES * 4_000, rate_bps: RATE / 10 }];
        let short = Stream { buckets: short, min_bytes: BYTES / 2, max_bytes: BYTES / 2, ..stream(0, [0]) };
        let streams = vec![of(5, Stream { buckets: twice, ..stream(0, [0]) }), of(6, short)];
        let ports = vec![Port { turns: 0b0110_0000, gates: Some(gates), ..port() }];
        let found = analyse(&Network { ports, regulators: Vec::new(), streams }).unwrap();
        let waits: Vec<f64> =
            found.queues.iter().map(|queue| queue.wait_ps.unwrap() as f64 / FRAME_PS as f64).collect();
        // A half that has begun, an own one, and two halves; one that has begun, and one more.
        are_about(&waits, &[0.5 + 1.0 + 2.0 * 0.5, 1.0 + 1.0]);
    }

    /// Nothing is served below a class that always has a frame; beside its own frames, of which one may have begun.
    #[test]
    fn below_what_never_ends_there_is_no_bound() {
        let endless = Stream { buckets: Vec::new(), fills: true, ..stream(0, [0]) };
        let of = |class: u8, mut stream: Stream| {
            stream.hops[0].traffic_class = class;
            stream
        };
        let streams = vec![of(0, stream(RATE / 10, [0])), of(3, endless), of(3, stream(RATE / 10, [0]))];
        let found = analyse(&Network { ports: vec![port()], regulators: Vec::new(), streams }).unwrap();
        assert_eq!(found.queues[0].why, Some(Why::Above { traffic_class: 3 }));
        assert_eq!((found.queues.len(), found.queues[0].wait_ps), (2, None));
        assert!(found.hops[2][0].wait_ps.is_some_and(|wait| wait >= FRAME_PS), "{:?}", found.hops);
    }

    /// As much as comes in the time by which its source may be early, on links that are fast enough to see it.
    #[test]
    fn the_first_scheduler_holds_back_what_is_early() {
        let ports = vec![Port { slowest_bps: 100 * RATE, fastest_bps: 100 * RATE, ..port() }; 2];
        let regulators = vec![Bucket { burst_millibits: BYTES * 8_000, rate_bps: 25 * RATE }];
        let mut long = stream(25 * RATE, [0, 1]);
        long.hops[1].regulator = Some(0);
        let streams = vec![long, stream(25 * RATE, [1])];
        let found = analyse(&Network { ports, regulators, streams }).unwrap();
        // 80 ns for the other's frame and 80 ns for its own, in which 500 B come of each, and 50 B in 16 ns.
        is_about(found.queues[1].backlog_bytes, 1_500 + 1_500 + 50);
    }

    /// By rate and burst what a scheduler lets pass, and what it may still hold back of what the queue before let go.
    #[test]
    fn a_queue_holds_what_its_schedulers_hold_back() {
        let regulators = vec![Bucket { burst_millibits: 2 * BYTES * 8_000, rate_bps: RATE / 4 }];
        let found = backlogs(0, regulators.clone(), row([None, Some(0), Some(0)]));
        // 24 us in each queue; the first scheduler only holds back what is too early.
        is_about(found[1], 1_750 + 2_750 + EARLY * 125 / 4_000_000);
        // Behind the second queue's wait of 16 us, and 1 us.
        is_about(found[2], 1_750 + 3_281);
        // What a scheduler of the talker holds back nobody knows.
        assert_eq!(backlogs(0, regulators, row([Some(0), None, None]))[0], None);
    }
}
