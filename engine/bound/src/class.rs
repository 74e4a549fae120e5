// SPDX-License-Identifier: Apache-2.0
//! A class of a port among the others, and how it is served.
use std::cell::OnceCell;
use std::rc::Rc;

use crate::credit::{by_credit, most_credit};
use crate::curve::{Curve, Line};
use crate::describe::{Credit, Port};
use crate::members::Class;
use crate::outcome::Why;
use crate::phase::Schedule;
use crate::service::{Above, Service};
use crate::wait::{by_service, Arrivals};
use crate::windows::{Cycle, List};
use crate::{ceil_div, Amount, Time, BYTE, CLASSES};

/// A wait beyond this is none: 10 s.
pub const LONGEST: Time = 10_000_000_000_000;

/// How a class is served.
pub enum Served {
    Not(Why),
    InOrder { service: Service, arrivals: Rc<Curve>, schedule: Option<Schedule>, each: Option<Amount> },
    InTurns { service: Service, arrivals: Rc<Curve>, others: Amount, shortest: Amount, plain: Option<Service> },
    ByCredit { cycle: Option<Rc<Cycle>>, idle: i64, most: Amount, arrivals: Rc<Curve>, scale: Scale },
}

impl Served {
    /// By the length of frames, or less, from the shortest on.
    pub fn waits(&self, lengths: &[Amount]) -> Result<Vec<Time>, Why> {
        let found = match self {
            Self::Not(why) => return Err(*why),
            Self::InOrder { service, .. } | Self::InTurns { service, .. } if service.has_no_window() => {
                return Err(Why::NoWindow)
            }
            Self::InOrder { service, arrivals, schedule, each } => {
                let arrivals = Arrivals { curve: arrivals, schedule: schedule.as_ref(), each: None };
                // Only behind its gate alone does it matter that its frames are whole.
                let each = each.filter(|_| schedule.is_some() && service.is_undisturbed());
                let by_frames =
                    each.and_then(|each| by_service(service, Arrivals { each: Some(each), ..arrivals }, lengths));
                least(by_service(service, arrivals, lengths), by_frames)
            }
            Self::InTurns { service, arrivals, others, shortest, plain } => {
                // Before each frame of its own one of each other.
                let scale = Scale { by: shortest + others, of: *shortest };
                let with_others = |curve: &Curve| curve.map(|line| Line { burst: line.burst + others, ..line });
                let by_turns = scale.each(arrivals, lengths, |spent, lengths| {
                    by_service(service, Arrivals::of(&with_others(spent)), lengths)
                });
                let by_sum = plain.as_ref().and_then(|plain| by_service(plain, Arrivals::of(arrivals), lengths));
                least(by_turns, by_sum)
            }
            Self::ByCredit { cycle, idle, most, arrivals, scale } => scale
                .each(arrivals, lengths, |spent, lengths| by_credit(cycle.as_deref(), *idle, *most, spent, lengths)),
        };
        let mut found = found.filter(|waits| waits.iter().all(|&wait| wait <= LONGEST)).ok_or(Why::Overload)?;
        for wait in &mut found {
            *wait = (*wait).max(0);
        }
        Ok(found)
    }
}

/// Of two bounds the less, length by length.
fn least(one: Option<Vec<Time>>, other: Option<Vec<Time>>) -> Option<Vec<Time>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.into_iter().zip(other).map(|(a, b)| a.min(b)).collect()),
        (one, other) => one.or(other),
    }
}

/// By how much more than itself an amount counts.
pub struct Scale {
    by: Amount,
    of: Amount,
}

impl Scale {
    fn up(&self, amount: Amount) -> Amount {
        ceil_div(amount * self.by, self.of)
    }

    fn line(&self, line: Line) -> Line {
        Line { burst: self.up(line.burst), rate: self.up(line.rate.into()) as i64 }
    }

    /// Asks with the arrivals that so count, and what of them is a frame itself, for all lengths at once. Where less than a
    /// frame comes, as of sources that always have one, nothing is before it, length by length.
    fn each(
        &self,
        arrivals: &Curve,
        lengths: &[Amount],
        wait: impl Fn(&Curve, &[Amount]) -> Option<Vec<Time>>,
    ) -> Option<Vec<Time>> {
        let longest = lengths.last().copied().unwrap_or(0);
        if arrivals.lines().all(|line| line.burst >= longest) {
            let own: Vec<Amount> = lengths.iter().map(|length| length * self.by / self.of).collect();
            return wait(&arrivals.map(|line| self.line(line)), &own);
        }
        let less = |line: Line, length: Amount| Line { burst: (line.burst - length).max(0), ..line };
        let one = |length: Amount| wait(&arrivals.map(|line| self.line(less(line, length))), &[0]);
        lengths.iter().map(|&length| one(length).map(|waits| waits[0])).collect()
    }
}

/// A class of a port among the others.
pub struct View<'a, R: Fn(usize) -> usize> {
    pub port: &'a Port,
    pub list: Option<&'a List>,
    pub classes: &'a [Option<Class>; CLASSES],
    pub rank: &'a R,
    pub class: usize,
    /// When its frames come; none: at any time.
    pub schedule: Option<Schedule>,
    pub cycle: OnceCell<Option<Rc<Cycle>>>,
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

    fn cycle(&self) -> Option<Rc<Cycle>> {
        self.cycle.get_or_init(|| self.new_cycle()).clone()
    }

    fn new_cycle(&self) -> Option<Rc<Cycle>> {
        let own = self.classes[self.class].as_ref().map_or(0, |class| class.longest);
        let beside = self.beside().map(|(class, of)| (class, of.longest));
        let filling = self.classes[self.class].as_ref().map(|class| (self.class, class.filling));
        let lower = self.lower().chain(beside).chain(filling.filter(|&(_, longest)| longest > 0));
        let lower: Vec<(usize, Time)> = lower.map(|(class, longest)| (class, self.lasts(longest))).collect();
        let cycle = Cycle::new(self.list?, self.class, self.lasts(own), &lower);
        Some(Rc::new(match &self.schedule {
            Some(schedule) => cycle.within(self.class, schedule.windows()),
            None if self.classes[self.class].as_ref().is_some_and(Class::is_only_filled) => cycle,
            None => cycle.whenever(self.class),
        }))
    }

    pub fn service(&self, above: Vec<Above>, low: Amount) -> Service {
        let cycle = self.cycle();
        Service { rate: self.port.slowest_bps, low: if cycle.is_some() { 0 } else { low }, above, cycle }
    }

    /// The most credit of the class, and what that lets it send.
    pub fn credit_limit(&self, credit: &Credit, above: &[Above]) -> Option<(Amount, Line)> {
        let class = self.classes[self.class].as_ref()?;
        let service = self.service(above.to_vec(), self.low());
        if service.has_no_window() {
            return None;
        }
        let most = most_credit(&service, credit.fastest_bps)?;
        let (idle, rate) = (Amount::from(credit.slowest_bps), Amount::from(self.port.fastest_bps));
        let least = ceil_div(class.longest * (rate - idle), rate);
        let (whole, paid) = (class.shortest(), class.shortest() - Amount::from(credit.free_bytes) * BYTE);
        let burst = ceil_div((most + least) * whole, paid);
        let slope = ceil_div(Amount::from(credit.fastest_bps) * whole, paid);
        Some((most, Line { burst, rate: slope.min(rate) as i64 }))
    }

    pub fn by_credit(&self, credit: &Credit, most: Amount, arrivals: Rc<Curve>) -> Served {
        if most > Amount::from(credit.most_bits) * 1_000_000_000_000 {
            return Served::Not(Why::Credit);
        }
        let scale = Scale { by: self.port.fastest_bps.into(), of: self.port.slowest_bps.into() };
        Served::ByCredit { cycle: self.cycle(), idle: credit.slowest_bps, most, arrivals, scale }
    }

    pub fn in_turns(
        &self,
        arrivals: Rc<Curve>,
        above: Vec<Above>,
        together: impl Fn(&Class) -> Option<Curve>,
    ) -> Served {
        let others = self.beside().map(|(_, class)| class.longest).sum();
        let begun = self.beside().map(|(_, class)| class.longest).max().unwrap_or(0);
        let shortest = self.classes[self.class].as_ref().map_or(1, Class::shortest);
        let service = self.service(above.clone(), self.low().max(begun));
        // Without gates, as if all that the others bring went first.
        let all: Option<Vec<Above>> = self
            .beside()
            .map(|(class, of)| if of.filling > 0 { (class, None) } else { (class, together(of)) })
            .map(|(class, of)| {
                of.map(|arrivals| Above { class: Some(class), arrivals: Some(Rc::new(arrivals)), credit: None })
            })
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
