// SPDX-License-Identifier: Apache-2.0
//! Arrivals from port to port, and the fixed point of all waits.
//!
//! The analysis begins with no wait at all and goes round until nothing changes: what it maps to itself is a bound, since
//! waits only make arrivals worse and these only waits. A wait that grows beyond [`crate::class::LONGEST`] has none.
use std::collections::HashMap;

use crate::check::check;
use crate::class::{Class, Member, Served, View, LONGEST};
use crate::curve::{Curve, Line};
use crate::describe::{Bucket, Network, Port, Stream};
use crate::outcome::{Hop, Outcome, Queue, Why};
use crate::phase::{Schedule, Window};
use crate::service::Above;
use crate::{ceil_div, Amount, Time, BYTE, CLASSES};

/// What a source may be early and still conforms.
const EARLY: Time = 16_000;
/// Of a cycle of streams whose waits go on growing.
const MOST_ROUNDS: usize = 1_000;

/// The bounds of a network.
pub fn analyse(network: &Network) -> Result<Outcome, String> {
    check(network)?;
    let mut analysis = Analysis::new(network);
    let rounds = analysis.settle();
    Ok(analysis.outcome(rounds))
}

fn line(bucket: &Bucket) -> Line {
    Line { burst: Amount::from(bucket.burst_millibits) * 1_000_000_000, rate: bucket.rate_bps }
}

/// What comes by one link.
#[derive(Default)]
struct Entry<'a> {
    arrivals: Vec<&'a Curve>,
    has_unknown: bool,
    longest: Amount,
    jitter: Time,
}

struct Analysis<'a> {
    network: &'a Network,
    classes: Vec<[Option<Class>; CLASSES]>,
    /// By stream and hop; none: without limit.
    arrivals: Vec<Vec<Option<Curve>>>,
    /// By stream and hop: the least and the most from a release until it may begin there; none: nobody knows.
    ways: Vec<Vec<Option<Window>>>,
    waits: Vec<[Result<Time, Why>; CLASSES]>,
    /// In which ports come after which.
    order: Vec<usize>,
    next: Vec<Vec<usize>>,
}

impl<'a> Analysis<'a> {
    fn new(network: &'a Network) -> Self {
        let mut classes: Vec<[Option<Class>; CLASSES]> = vec![const { [const { None }; CLASSES] }; network.ports.len()];
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); network.ports.len()];
        for (number, stream) in network.streams.iter().enumerate() {
            for (place, hop) in stream.hops.iter().enumerate() {
                let (shortest, longest) =
                    (Amount::from(stream.min_bytes) * BYTE, Amount::from(stream.max_bytes) * BYTE);
                let class = classes[hop.port][usize::from(hop.traffic_class)].get_or_insert_with(|| Class {
                    members: Vec::new(),
                    shortest,
                    longest,
                    filling: 0,
                });
                class.members.push(Member { stream: number, hop: place });
                class.shortest = class.shortest.min(shortest);
                class.longest = class.longest.max(longest);
                if stream.fills && hop.from.is_none() {
                    class.filling = class.filling.max(longest);
                }
                if let Some(from) = hop.from {
                    next[stream.hops[from].port].push(hop.port);
                }
            }
        }
        for after in &mut next {
            after.sort_unstable();
            after.dedup();
        }
        Self {
            network,
            classes,
            arrivals: network.streams.iter().map(|stream| vec![None; stream.hops.len()]).collect(),
            ways: network.streams.iter().map(|stream| vec![None; stream.hops.len()]).collect(),
            waits: vec![[Ok(0); CLASSES]; network.ports.len()],
            order: in_order(&next),
            next,
        }
    }

    /// Goes round until nothing changes; how often it did.
    fn settle(&mut self) -> usize {
        // In a circle a queue is looked at before all that comes to it is known: nothing has waited there yet.
        for stream in 0..self.network.streams.len() {
            for hop in 0..self.network.streams[stream].hops.len() {
                self.arrivals[stream][hop] = self.arrival(stream, hop);
                self.ways[stream][hop] = self.way(stream, hop);
            }
        }
        let mut due = vec![true; self.network.ports.len()];
        for round in 1..=MOST_ROUNDS {
            for place in 0..self.order.len() {
                let port = self.order[place];
                if std::mem::take(&mut due[port]) && self.renew(port) {
                    for &after in &self.next[port] {
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
            self.waits[port] = [Err(Why::Growing); CLASSES];
            for &after in &self.next[port] {
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
        for class in self.classes[port].iter().flatten() {
            for &Member { stream, hop } in &class.members {
                let found = self.arrival(stream, hop);
                if self.arrivals[stream][hop] != found {
                    changed = true;
                    self.arrivals[stream][hop] = found;
                }
                let found = self.way(stream, hop);
                if self.ways[stream][hop] != found {
                    changed = true;
                    self.ways[stream][hop] = found;
                }
            }
        }
        let mut waits = [Ok(0); CLASSES];
        self.serve(port, |number, class, served| {
            waits[number] = served.wait(class.shortest);
            waits[number]
        });
        changed |= self.waits[port] != waits;
        self.waits[port] = waits;
        changed
    }

    /// Of a stream to a queue.
    fn arrival(&self, stream: usize, hop: usize) -> Option<Curve> {
        let of: &Stream = &self.network.streams[stream];
        let there = &of.hops[hop];
        let before = match there.from {
            None => Curve::least(of.buckets.iter().map(line).collect()),
            Some(from) => {
                let waited = self.waits[of.hops[from].port][usize::from(of.hops[from].traffic_class)];
                let came = self.arrivals[stream][from].as_ref();
                came.zip(waited.ok()).map(|(came, waited)| came.jittered(waited + there.jitter_ps))
            }
        };
        // Whatever a stream does, behind its scheduler it keeps to rate and burst.
        there.regulator.map(|regulator| Curve::line(line(&self.network.regulators[regulator]))).or(before)
    }

    /// How long a frame takes from its release until it may begin at a queue.
    fn way(&self, stream: usize, hop: usize) -> Option<Window> {
        let of = &self.network.streams[stream];
        of.releases.as_ref()?;
        let there = &of.hops[hop];
        if there.regulator.is_some() {
            return None;
        }
        let Some(from) = there.from else { return Some((0, 0)) };
        let (least, most) = self.ways[stream][from]?;
        let waited = self.waits[of.hops[from].port][usize::from(of.hops[from].traffic_class)].ok()?;
        let reach = there.reach_ps?;
        Some((least.checked_add(reach.0)?, most.checked_add(reach.1)?.checked_add(waited)?))
            .filter(|way| way.1 <= LONGEST)
    }

    /// When in the gate cycle the frames of a class come, if that is known of all its streams.
    fn schedule(&self, port: &Port, class: &Class) -> Option<Schedule> {
        let gates = port.gates.as_ref().filter(|gates| gates.begin_ps.is_some() && class.filling == 0)?;
        let known = |member: &Member| {
            let stream = &self.network.streams[member.stream];
            let longest = Amount::from(stream.max_bytes) * BYTE;
            Some((stream.releases.as_ref()?, self.ways[member.stream][member.hop]?, longest))
        };
        let streams: Option<Vec<_>> = class.members.iter().map(known).collect();
        Schedule::new(gates, streams?.into_iter())
    }

    /// Of a class at a port: all that comes by one link is no more than that carries.
    fn together(&self, class: &Class) -> Result<Curve, Why> {
        let mut by_entry: HashMap<usize, Entry> = HashMap::new();
        let mut curves: Vec<Curve> = Vec::new();
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for member in &class.members {
            if let Some(regulator) = self.hop(*member).regulator {
                *shared.entry(regulator).or_default() += 1;
            }
        }
        for member in &class.members {
            let hop = self.hop(*member);
            let arrivals = self.arrivals[member.stream][member.hop].as_ref();
            if let Some(regulator) = hop.regulator {
                if !hop.conforms || shared[&regulator] > 1 {
                    if shared.insert(regulator, 0) != Some(0) {
                        curves.push(Curve::line(line(&self.network.regulators[regulator])));
                    }
                    continue;
                }
            }
            let stream = &self.network.streams[member.stream];
            match (hop.from, arrivals) {
                (None, _) if stream.fills => {}
                (None, None) => return Err(Why::NoContract { stream: member.stream }),
                (None, Some(arrivals)) => curves.push(arrivals.clone()),
                (Some(from), arrivals) => {
                    let entry = by_entry.entry(stream.hops[from].port).or_default();
                    entry.has_unknown |= arrivals.is_none();
                    entry.arrivals.extend(arrivals);
                    entry.longest = entry.longest.max(Amount::from(stream.max_bytes) * BYTE);
                    entry.jitter = entry.jitter.max(hop.jitter_ps);
                }
            }
        }
        for (number, entry) in by_entry {
            let rate = self.network.ports[number].fastest_bps;
            // Whole frames come, each as long after the one before as it is on the wire.
            let link = Line { burst: entry.longest + Amount::from(rate) * Amount::from(entry.jitter), rate };
            curves.push(match entry.has_unknown {
                true => Curve::line(link),
                false => Curve::sum(entry.arrivals).capped(link),
            });
        }
        Ok(Curve::sum(&curves))
    }

    /// The shortest frame of a stream.
    fn shortest(&self, member: Member) -> Amount {
        Amount::from(self.network.streams[member.stream].min_bytes) * BYTE
    }

    /// What a queue holds at most, in bytes: all that has come within the longest time that a frame is in it.
    fn backlog(&self, port: usize, class: &Class, wait: Time) -> Option<i64> {
        let sent = ceil_div(class.longest, self.network.ports[port].slowest_bps.into());
        let lasts = wait.checked_add(Time::try_from(sent).ok()?)?;
        let each: Option<Amount> = class.members.iter().map(|&member| self.held(member, lasts)).sum();
        let is_held = class.members.iter().any(|&member| self.hop(member).regulator.is_some());
        let together = (!is_held).then(|| self.together(class).ok()).flatten().map(|arrivals| arrivals.at(lasts));
        let most = each.into_iter().chain(together).min()?;
        i64::try_from(ceil_div(most, BYTE)).ok()
    }

    /// What of a stream is in a queue that its frames leave after so long at most. A scheduler holds back only what the
    /// queue before did not delay for as long, so that all of it was released within both times.
    fn held(&self, member: Member, lasts: Time) -> Option<Amount> {
        let (hop, stream) = (self.hop(member), &self.network.streams[member.stream]);
        let committed = hop.regulator.map(|regulator| line(&self.network.regulators[regulator]));
        match (hop.from, committed) {
            (None, Some(_)) => None,
            (None, None) => self.arrivals[member.stream][member.hop].as_ref().map(|arrivals| arrivals.at(lasts)),
            // Where it enters the network, a source that conforms is held back by no more than it may be early.
            (Some(0), Some(committed)) => Some(committed.at(lasts + EARLY)),
            (Some(from), _) => {
                let waited = self.waits[stream.hops[from].port][usize::from(stream.hops[from].traffic_class)].ok()?;
                let came = self.arrivals[member.stream][from].as_ref()?;
                Some(came.at(lasts + waited + hop.jitter_ps))
            }
        }
    }

    fn hop(&self, member: Member) -> &'a crate::describe::Hop {
        &self.network.streams[member.stream].hops[member.hop]
    }

    /// How each class of a port is served, the first ones first; `told` gives back how long it may wait.
    fn serve(&self, number: usize, mut told: impl FnMut(usize, &Class, &Served) -> Result<Time, Why>) {
        let port = &self.network.ports[number];
        let classes = &self.classes[number];
        let rank = |class: usize| match port.turns >> class & 1 {
            1 => 7 - port.turns.leading_zeros() as usize,
            _ => class,
        };
        let mut above: Vec<(usize, Above)> = Vec::new();
        let mut ranked: Vec<usize> = (0..CLASSES).filter(|&class| classes[class].is_some()).collect();
        ranked.sort_by_key(|&class| (rank(class), class));
        for &class_number in ranked.iter().rev() {
            let Some(class) = &classes[class_number] else { continue };
            let credit = port.credit.iter().find(|credit| usize::from(credit.traffic_class) == class_number);
            // Credit may have been spent by frames of other times.
            let schedule = if credit.is_none() { self.schedule(port, class) } else { None };
            let view = View { port, classes, rank: &rank, class: class_number, schedule };
            let together = if port.unknown { Err(Why::UnknownPort) } else { self.together(class) };
            let higher: Vec<Above> =
                above.iter().filter(|(of, _)| *of > rank(class_number)).map(|(_, above)| above.clone()).collect();
            let limit = credit.and_then(|credit| view.credit_limit(credit, &higher));
            let endless = higher.iter().find(|above| above.arrivals.is_none() && above.credit.is_none());
            let served = match (&together, credit) {
                (Err(why), _) => Served::Not(*why),
                _ if port.gates.is_none() && endless.is_some() => {
                    Served::Not(Why::Above { traffic_class: endless.map_or(0, |above| above.class as u8) })
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
                    each: (class.shortest == class.longest).then_some(class.longest),
                },
            };
            let wait = told(class_number, class, &served);
            // Behind gates and credit a queue may be full when another one begins to wait.
            let waited = wait.ok().map(|wait| wait.saturating_add(view.lasts(class.longest)));
            let arrivals = together.ok().and_then(|arrivals| match port.gates.is_some() || credit.is_some() {
                true => waited.map(|waited| arrivals.jittered(waited)),
                false => Some(arrivals),
            });
            let arrivals = arrivals.filter(|_| class.filling == 0);
            let credit = limit.map(|(_, line)| line);
            above.push((rank(class_number), Above { class: class_number, arrivals, credit }));
        }
    }

    fn outcome(&self, rounds: usize) -> Outcome {
        let mut hops: Vec<Vec<Hop>> =
            self.network.streams.iter().map(|stream| vec![Hop { wait_ps: None }; stream.hops.len()]).collect();
        let mut queues = Vec::new();
        for port in 0..self.network.ports.len() {
            let mut differs = false;
            for (number, class) in self.classes[port].iter().enumerate() {
                let Some(class) = class else { continue };
                let wait = self.waits[port][number];
                for member in &class.members {
                    hops[member.stream][member.hop].wait_ps = wait.ok();
                    differs |= wait.is_ok() && self.shortest(*member) > class.shortest;
                }
                let backlog_bytes = wait.ok().and_then(|wait| self.backlog(port, class, wait));
                let (wait_ps, why) = (wait.ok(), wait.err());
                queues.push(Queue { port, traffic_class: number as u8, wait_ps, why, backlog_bytes });
            }
            if !differs {
                continue;
            }
            self.serve(port, |number, class, served| {
                let wait = self.waits[port][number];
                let mut known: HashMap<Amount, Option<Time>> = HashMap::new();
                for member in class.members.iter().filter(|_| wait.is_ok()) {
                    let least = self.shortest(*member);
                    let own = || served.wait(least).ok().into_iter().chain(wait.ok()).min();
                    hops[member.stream][member.hop].wait_ps = *known.entry(least).or_insert_with(own);
                }
                wait
            });
        }
        Outcome { queues, hops, rounds }
    }
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
