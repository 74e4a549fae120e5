// SPDX-License-Identifier: Apache-2.0
//! The side that is set right: it answers, and says what its clock is to do.
use super::drift::SLOPE_BITS;
use super::{Message, Time};
use crate::egress::Tick;
use crate::ptp_clock::{Command, PtpClock, NS_PER_S};
use crate::signed;

const ONE_NS: Time = 1 << 32;
/// Of a slew, in 2^-32 ns a cycle: 1/16 ns.
const SLEW_RATE: u32 = 1 << 28;
/// No clock is so wrong: 1 % of a slope, 3 days.
const MOST_SLOPE: i64 = 1 << (SLOPE_BITS - 7);
const MOST_SPAN: Time = 1 << (48 + 32);

/// What becomes of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    /// For the clock, in this order, both in the cycle that was told.
    pub commands: [Option<Command>; 2],
    /// To be sent back; an answer with [`Message::leaving_at`].
    pub answer: Option<Message>,
}

/// What the clock is to show in a cycle and from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Course {
    cycle: Tick,
    time: Time,
    /// Of the clock as it was, before it was compensated.
    increment: u64,
    slope: i64,
}

impl Course {
    /// Exactly, where the clock's increment is rounded.
    fn at(&self, cycle: Tick) -> Time {
        let free = signed(cycle.saturating_sub(self.cycle)) * Time::from(self.increment);
        self.time + compensated(free, self.slope)
    }
}

/// So much of a clock that is fast by a slope, by one that is right: divided by one and the slope.
fn compensated(span: Time, slope: i64) -> Time {
    let slope = Time::from(slope);
    let one = (1 << SLOPE_BITS) + slope;
    // In two parts, of which each product has room however long the span is.
    span - span / one * slope - span % one * slope / one
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Follower {
    course: Option<Course>,
    /// The number of the last compensation, which is done once however often it comes.
    compensated: Option<u32>,
    is_set: bool,
}

impl Follower {
    /// Whether an origin has set its clock.
    pub fn is_set(&self) -> bool {
        self.is_set
    }

    pub fn is_compensated(&self) -> bool {
        self.course.is_some()
    }

    /// A message came at `received`, by the clock; what is to be done with the clock acts in `cycle`, now or later.
    pub fn receive(&mut self, message: &Message, received: Time, cycle: Tick, clock: &PtpClock) -> Reaction {
        let now = clock.time_at(cycle);
        match *message {
            Message::Probe { number, sent } => {
                let answer = Message::Answer { number, sent, received, answered: received };
                Reaction { answer: Some(answer), ..Reaction::default() }
            }
            Message::Set { number, time } => {
                let ns = (time + (now - received).max(0)) >> 32;
                let Ok(ns) = u64::try_from(ns) else { return Reaction::default() };
                let set = Command::Set { s: ns / NS_PER_S, ns: (ns % NS_PER_S) as u32 };
                (self.course, self.is_set) = (None, true);
                Reaction { commands: [Some(set), None], answer: Some(Message::Done { number }) }
            }
            Message::Compensate { number, at, intercept, slope } => {
                let answer = Some(Message::Done { number });
                if self.compensated == Some(number) && self.course.is_some() {
                    return Reaction { answer, ..Reaction::default() };
                }
                let since = now - at - intercept;
                if slope.abs() > MOST_SLOPE || since.abs() > MOST_SPAN {
                    return Reaction::default();
                }
                // By the origin's clock, in this cycle.
                let right = at + compensated(since, slope);
                let by_ns = (right - now + ONE_NS / 2) >> 32;
                let second = Time::from(NS_PER_S);
                let step = Command::Step { s: by_ns.div_euclid(second) as i64, ns: by_ns.rem_euclid(second) as u32 };
                let increment = compensated(Time::from(clock.increment()), slope) as u64;
                self.compensated = Some(number);
                self.course = Some(Course { cycle, time: right, increment: clock.increment(), slope });
                Reaction { commands: [Some(step), Some(Command::Increment(increment))], answer }
            }
            Message::Answer { .. } | Message::Done { .. } => Reaction::default(),
        }
    }

    /// What the clock is to do in a cycle since its increment is rounded: a slew, when that has come to 1 ns.
    pub fn trim(&self, cycle: Tick, clock: &PtpClock) -> Option<Command> {
        let course = self.course.filter(|_| !clock.is_slewing_at(cycle))?;
        let by_ns = i32::try_from((course.at(cycle) - clock.time_at(cycle)) / ONE_NS).ok()?;
        (by_ns != 0).then_some(Command::Slew { ns: by_ns, rate: SLEW_RATE })
    }
}
