// SPDX-License-Identifier: Apache-2.0
//! A class of a port among the others, and how it is served.
use crate::curve::{Curve, Line};
use crate::describe::{Credit, Port};
use crate::outcome::Why;
use crate::phase::Schedule;
use crate::service::{Above, Service};
use crate::wait::{by_credit, by_service, most_credit, Arrivals};
use crate::windows::Cycle;
use crate::{ceil_div, Amount, Time, BYTE, CLASSES};

/// A wait beyond this is none: 10 s.
pub const LONGEST: Time = 10_000_000_000_000;

/// A stream in a queue.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    pub stream: usize,
    pub hop: usize,
}

/// A class of a port: who is in it, and how long their frames are on the wire.
#[derive(Clone, Debug)]
pub struct Class {
    pub members: Vec<Member>,
    pub shortest: Amount,
    pub longest: Amount,
    /// Of sources that always have a frame, the longest, which goes after all others of the class.
    pub filling: Amount,
}

/// How a class is served.
pub enum Served {
    Not(Why),
    InOrder { service: Service, arrivals: Curve, schedule: Option<Schedule>, each: Option<Amount> },
    InTurns { service: Service, arrivals: Curve, others: Amount, shortest: Amount, plain: Option<Service> },
    ByCredit { cycle: Option<Cycle>, idle: i64, most: Amount, arrivals: Curve, scale: (Amount, Amount) },
}

impl Served {
    /// Of frames of a length or more.
    pub fn wait(&self, shortest: Amount) -> Result<Time, Why> {
        let found = match self {
            Self::Not(why) => return Err(*why),
            Self::InOrder { service, arrivals, schedule, each } => {
                if service.cycle.as_ref().is_some_and(|cycle| cycle.phases.is_empty()) {
                    return Err(Why::NoWindow);
                }
                let arrivals = Arrivals { curve: arrivals, schedule: schedule.as_ref(), each: None };
                let by_time = by_service(service, arrivals, shortest);
                let by_frames = each.and_then(|_| by_service(service, Arrivals { each: *each, ..arrivals }, shortest));
                by_time.into_iter().chain(by_frames).min()
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
                let by_turns = by_service(service, Arrivals::of(&with_others), 0);
                let by_sum = plain.as_ref().and_then(|plain| by_service(plain, Arrivals::of(arrivals), shortest));
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

/// A class of a port among the others.
pub struct View<'a, R: Fn(usize) -> usize> {
    pub port: &'a Port,
    pub classes: &'a [Option<Class>; CLASSES],
    pub rank: &'a R,
    pub class: usize,
    /// When its frames come; none: at any time.
    pub schedule: Option<Schedule>,
}

impl<R: Fn(usize) -> usize> View<'_, R> {
    /// Of so much on the wire.
    pub fn lasts(&self, amount: Amount) -> Time {
        Time::try_from(ceil_div(amount, self.port.slowest_bps.into())).unwrap_or(LONGEST)
    }

    /// The classes that it goes before, with their longest frames.
    fn lower(&self) -> impl Iterator<Item = (usize, Amount)> + '_ {
        let own = (self.rank)(self.class);
        let below = move |&(class, _): &(usize, Amount)| (self.rank)(class) < own;
        self.classes.iter().enumerate().filter_map(|(class, of)| Some((class, of.as_ref()?.longest))).filter(below)
    }

    pub fn low(&self) -> Amount {
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

    pub fn service(&self, above: Vec<Above>, low: Amount) -> Service {
        let mut cycle = self.cycle();
        if let (Some(cycle), Some(schedule)) = (&mut cycle, &self.schedule) {
            if !cycle.phases.is_empty() {
                let within = |window| cycle.phases_within(self.class, window);
                cycle.phases = schedule.windows().into_iter().flat_map(within).collect();
            }
        }
        Service { rate: self.port.slowest_bps, low: if cycle.is_some() { 0 } else { low }, above, cycle }
    }

    /// The most credit of the class, and what that lets it send.
    pub fn credit_limit(&self, credit: &Credit, above: &[Above]) -> Option<(Amount, Line)> {
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

    pub fn by_credit(&self, credit: &Credit, most: Amount, arrivals: Curve) -> Served {
        if most > Amount::from(credit.most_bits) * 1_000_000_000_000 {
            return Served::Not(Why::Credit);
        }
        let scale = (self.port.fastest_bps.into(), self.port.slowest_bps.into());
        Served::ByCredit { cycle: self.cycle(), idle: credit.slowest_bps, most, arrivals, scale }
    }

    pub fn in_turns(&self, arrivals: Curve, above: Vec<Above>, together: impl Fn(&Class) -> Option<Curve>) -> Served {
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
