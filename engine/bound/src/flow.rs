// SPDX-License-Identifier: Apache-2.0
//! Arrivals from port to port, and the fixed point of all waits.
//!
//! The analysis begins with no wait at all and goes round until nothing changes: what it maps to itself is a bound, since
//! waits only make arrivals worse and these only waits. A wait that grows beyond [`LONGEST`] has none.
use std::collections::HashMap;

use serde::Serialize;

use crate::curve::{Curve, Line};
use crate::describe::{Bucket, Credit, Network, Port, Stream};
use crate::service::{Above, Service};
use crate::wait::{by_credit, by_service, most_credit};
use crate::windows::Cycle;
use crate::{ceil_div, Amount, Time, BYTE};

const CLASSES: usize = 8;
/// 10 s
const LONGEST: Time = 10_000_000_000_000;
/// What a source may be early and still conforms.
const EARLY: Time = 16_000;
/// Of a cycle of streams whose waits go on growing.
const MOST_ROUNDS: usize = 1_000;

/// Why a queue has no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Nothing is known of what comes to the port.
    UnknownPort,
    /// Of this stream, or of what a class above brings by it, nothing is known.
    NoContract { stream: usize },
    /// A class above has no limit, as something that it brings has none.
    Above {
        #[serde(rename = "class")]
        traffic_class: u8,
    },
    /// More comes than is served, as long as it lasts.
    Overload,
    /// No window of its gate is long enough.
    NoWindow,
    /// Its credit has no limit, or goes beyond what its port can hold.
    Credit,
    /// Waits go on growing around a cycle of streams.
    Growing,
}

/// A class of a port that streams pass.
#[derive(Clone, Debug, Serialize)]
pub struct Queue {
    pub port: usize,
    #[serde(rename = "class")]
    pub traffic_class: u8,
    /// Of any frame of it.
    pub wait_ps: Option<Time>,
    pub why: Option<Why>,
    /// The most that it holds on the wire, what a scheduler holds back and what is being sent counted; none: no limit.
    pub backlog_bytes: Option<i64>,
}

/// What a stream waits at most in a queue.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Hop {
    pub wait_ps: Option<Time>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    pub queues: Vec<Queue>,
    /// By stream.
    pub hops: Vec<Vec<Hop>>,
    pub rounds: usize,
}

/// The bounds of a network.
pub fn analyse(network: &Network) -> Result<Outcome, String> {
    check(network)?;
    let mut analysis = Analysis::new(network);
    let rounds = analysis.settle();
    Ok(analysis.outcome(rounds))
}

fn check(network: &Network) -> Result<(), String> {
    const MOST: i64 = 1 << 50;
    let fits = |value: i64| (0..=MOST).contains(&value);
    for (number, port) in network.ports.iter().enumerate() {
        let gates_fit = port.gates.as_ref().is_none_or(|gates| {
            let cycle = gates.entries.iter().map(|&(_, interval)| i128::from(interval)).sum::<i128>();
            let all_last = gates.entries.iter().all(|&(_, interval)| interval > 0);
            all_last && (1..=i128::from(MOST)).contains(&cycle) && (0..=1_000_000_000).contains(&gates.edge_ps)
        });
        let credit_fits = port.credit.iter().all(|credit| {
            let slopes = [credit.slowest_bps, credit.fastest_bps];
            usize::from(credit.traffic_class) < CLASSES
                && slopes.iter().all(|&slope| slope > 0 && slope <= port.fastest_bps)
                && (0..=20).contains(&credit.free_bytes)
                && fits(credit.most_bits)
        });
        if !(1..=port.fastest_bps).contains(&port.slowest_bps) || !fits(port.fastest_bps) || !gates_fit || !credit_fits
        {
            return Err(format!("port {number}: a rate, a slope or an interval is out of range"));
        }
    }
    let bucket_fits = |bucket: &Bucket| (0..=MOST * 1_000).contains(&bucket.burst_millibits) && fits(bucket.rate_bps);
    if !network.regulators.iter().all(bucket_fits) {
        return Err("a regulator's rate or burst is out of range".to_owned());
    }
    for (number, stream) in network.streams.iter().enumerate() {
        let hops_fit = stream.hops.iter().enumerate().all(|(place, hop)| {
            hop.port < network.ports.len()
                && usize::from(hop.traffic_class) < CLASSES
                && hop.from.is_none_or(|from| from < place)
                && fits(hop.jitter_ps)
                && hop.regulator.is_none_or(|regulator| regulator < network.regulators.len())
        });
        let lengths_fit = stream.min_bytes > 20 && stream.min_bytes <= stream.max_bytes && stream.max_bytes <= 1 << 20;
        if !hops_fit || !lengths_fit || !stream.buckets.iter().all(bucket_fits) {
            return Err(format!("stream {number}: a hop, a length or a bucket is out of range"));
        }
    }
    Ok(())
}

fn line(bucket: &Bucket) -> Line {
    Line { burst: Amount::from(bucket.burst_millibits) * 1_000_000_000, rate: bucket.rate_bps }
}

/// A stream in a queue.
#[derive(Clone, Copy, Debug)]
struct Member {
    stream: usize,
    hop: usize,
}

/// A class of a port: who is in it, and how long their frames are on the wire.
#[derive(Clone, Debug)]
struct Class {
    members: Vec<Member>,
    shortest: Amount,
    longest: Amount,
    /// Of sources that always have a frame, the longest, which goes after all others of the class.
    filling: Amount,
}

/// What comes by one link.
#[derive(Default)]
struct Entry<'a> {
    arrivals: Vec<&'a Curve>,
    has_unknown: bool,
    longest: Amount,
    jitter: Time,
}

/// How a class is served.
enum Served {
    Not(Why),
    InOrder { service: Service, arrivals: Curve },
    InTurns { service: Service, arrivals: Curve, others: Amount, shortest: Amount, plain: Option<Service> },
    ByCredit { cycle: Option<Cycle>, idle: i64, most: Amount, arrivals: Curve, scale: (Amount, Amount) },
}

impl Served {
    /// Of frames of a length or more.
    fn wait(&self, shortest: Amount) -> Result<Time, Why> {
        let found = match self {
            Self::Not(why) => return Err(*why),
            Self::InOrder { service, arrivals } => {
                if service.cycle.as_ref().is_some_and(|cycle| cycle.phases.is_empty()) {
                    return Err(Why::NoWindow);
                }
                by_service(service, arrivals, shortest)
            }
            Self::InTurns { service, arrivals, others, shortest: least, plain } => {
                if service.cycle.as_ref().is_some_and(|cycle| cycle.phases.is_empty()) {
                    return Err(Why::NoWindow);
                }
                // Before each frame of its own one of each other.
                let scaled = |amount: Amount| ceil_div(amount * (least + others), *least);
                let with_others = arrivals.map(|line| Line {
                    burst: scaled((line.burst - shortest).max(0)) + others,
                    rate: scaled(line.rate.into()) as i64,
                });
                let by_turns = by_service(service, &with_others, 0);
                let by_sum = plain.as_ref().and_then(|plain| by_service(plain, arrivals, shortest));
                by_turns.into_iter().chain(by_sum).min()
            }
            Self::ByCredit { cycle, idle, most, arrivals, scale: (fast, slow) } => {
                let spent = arrivals.map(|line| Line {
                    burst: ceil_div((line.burst - shortest).max(0) * fast, *slow),
                    rate: ceil_div(Amount::from(line.rate) * fast, *slow) as i64,
                });
                by_credit(cycle.as_ref(), *idle, *most, &spent, 0)
            }
        };
        match found {
            Some(wait) if wait <= LONGEST => Ok(wait.max(0)),
            _ => Err(Why::Overload),
        }
    }
}

struct Analysis<'a> {
    network: &'a Network,
    classes: Vec<[Option<Class>; CLASSES]>,
    /// By stream and hop; none: without limit.
    arrivals: Vec<Vec<Option<Curve>>>,
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
            waits: vec![[Ok(0); CLASSES]; network.ports.len()],
            order: in_order(&next),
            next,
        }
    }

    /// Goes round until nothing changes; how often it did.
    fn settle(&mut self) -> usize {
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
            let view = View { port, classes, rank: &rank, class: class_number };
            let credit = port.credit.iter().find(|credit| usize::from(credit.traffic_class) == class_number);
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
                (Ok(arrivals), None) => {
                    Served::InOrder { service: view.service(higher, view.low()), arrivals: arrivals.clone() }
                }
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

/// A class of a port among the others.
struct View<'a, R: Fn(usize) -> usize> {
    port: &'a Port,
    classes: &'a [Option<Class>; CLASSES],
    rank: &'a R,
    class: usize,
}

impl<R: Fn(usize) -> usize> View<'_, R> {
    /// Of so much on the wire.
    fn lasts(&self, amount: Amount) -> Time {
        Time::try_from(ceil_div(amount, self.port.slowest_bps.into())).unwrap_or(LONGEST)
    }

    /// The classes that it goes before, with their longest frames.
    fn lower(&self) -> impl Iterator<Item = (usize, Amount)> + '_ {
        let own = (self.rank)(self.class);
        let below = move |&(class, _): &(usize, Amount)| (self.rank)(class) < own;
        self.classes.iter().enumerate().filter_map(|(class, of)| Some((class, of.as_ref()?.longest))).filter(below)
    }

    fn low(&self) -> Amount {
        let filling = self.classes[self.class].as_ref().map_or(0, |class| class.filling);
        self.lower().map(|(_, longest)| longest).max().unwrap_or(0).max(filling)
    }

    /// The other classes of its level.
    fn beside(&self) -> impl Iterator<Item = (usize, &Class)> + '_ {
        let is_beside = |class: usize| class != self.class && (self.rank)(class) == (self.rank)(self.class);
        self.classes
            .iter()
            .enumerate()
            .filter_map(move |(class, of)| Some((class, of.as_ref()?)).filter(|_| is_beside(class)))
    }

    fn cycle(&self) -> Option<Cycle> {
        let own = self.classes[self.class].as_ref().map_or(0, |class| class.longest);
        let beside = self.beside().map(|(class, of)| (class, of.longest));
        let filling = self.classes[self.class].as_ref().map(|class| (self.class, class.filling));
        let lower = self.lower().chain(beside).chain(filling.filter(|&(_, longest)| longest > 0));
        let lower: Vec<(usize, Time)> = lower.map(|(class, longest)| (class, self.lasts(longest))).collect();
        self.port.gates.as_ref().map(|gates| Cycle::new(gates, self.class, self.lasts(own), &lower))
    }

    fn service(&self, above: Vec<Above>, low: Amount) -> Service {
        let cycle = self.cycle();
        Service { rate: self.port.slowest_bps, low: if cycle.is_some() { 0 } else { low }, above, cycle }
    }

    /// The most credit of the class, and what that lets it send.
    fn credit_limit(&self, credit: &Credit, above: &[Above]) -> Option<(Amount, Line)> {
        let class = self.classes[self.class].as_ref()?;
        let service = self.service(above.to_vec(), self.low());
        if service.cycle.as_ref().is_some_and(|cycle| cycle.phases.is_empty()) {
            return None;
        }
        let most = most_credit(&service, credit.fastest_bps)?;
        let (idle, rate) = (Amount::from(credit.slowest_bps), Amount::from(self.port.fastest_bps));
        let least = ceil_div(class.longest * (rate - idle), rate);
        let (whole, paid) = (class.shortest, class.shortest - Amount::from(credit.free_bytes) * BYTE);
        let burst = ceil_div((most + least) * whole, paid);
        let slope = ceil_div(Amount::from(credit.fastest_bps) * whole, paid);
        Some((most, Line { burst, rate: slope.min(rate) as i64 }))
    }

    fn by_credit(&self, credit: &Credit, most: Amount, arrivals: Curve) -> Served {
        if most > Amount::from(credit.most_bits) * 1_000_000_000_000 {
            return Served::Not(Why::Credit);
        }
        let scale = (self.port.fastest_bps.into(), self.port.slowest_bps.into());
        Served::ByCredit { cycle: self.cycle(), idle: credit.slowest_bps, most, arrivals, scale }
    }

    fn in_turns(&self, arrivals: Curve, above: Vec<Above>, together: impl Fn(&Class) -> Option<Curve>) -> Served {
        let others = self.beside().map(|(_, class)| class.longest).sum();
        let begun = self.beside().map(|(_, class)| class.longest).max().unwrap_or(0);
        let shortest = self.classes[self.class].as_ref().map_or(1, |class| class.shortest);
        let service = self.service(above.clone(), self.low().max(begun));
        // Without gates, as if all that the others bring went first.
        let all: Option<Vec<Above>> = self
            .beside()
            .map(|(class, of)| if of.filling > 0 { (class, None) } else { (class, together(of)) })
            .map(|(class, of)| of.map(|arrivals| Above { class, arrivals: Some(arrivals), credit: None }))
            .collect();
        let plain = all.filter(|_| self.port.gates.is_none()).map(|beside| Service {
            rate: self.port.slowest_bps,
            low: self.low(),
            above: above.into_iter().chain(beside).collect(),
            cycle: None,
        });
        Served::InTurns { service, arrivals, others, shortest, plain }
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
