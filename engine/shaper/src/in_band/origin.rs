// SPDX-License-Identifier: Apache-2.0
//! The side whose clock is right: it probes, reckons, sets and compensates.
use thiserror::Error;

use super::{Drift, Message, Sample, Time};

/// Of a message that has to be done before it goes on.
const MOST_TRIES: u32 = 10;
const MOST_PROBES: u32 = 1_000_000;
const LEAST_INTERVAL: Time = 100_000 << 32;

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum PlanError {
    #[error("{0} probes; 8 to 1000000 are allowed")]
    Probes(u32),
    #[error("an interval of {0} ns; 100000 or more are allowed")]
    Interval(i64),
}

/// How much is sent, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// From one message to the next, in 2^-32 ns.
    pub interval: Time,
    /// From which the drift is reckoned.
    pub probes: u32,
    /// After the clock was set: from which the intercept is reckoned.
    pub probes_after_set: u32,
    /// After all, to see what error is left.
    pub checks: u32,
}

impl Plan {
    pub fn check(&self) -> Result<(), PlanError> {
        for probes in [self.probes, self.probes_after_set] {
            if !(8..=MOST_PROBES).contains(&probes) {
                return Err(PlanError::Probes(probes));
            }
        }
        if self.checks > MOST_PROBES {
            return Err(PlanError::Probes(self.checks));
        }
        if self.interval < LEAST_INTERVAL {
            return Err(PlanError::Interval((self.interval >> 32) as i64));
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Collecting,
    Setting,
    Levelling,
    Compensating,
    Checking,
    Done,
    /// The follower gives no answer, or too few to reckon with.
    Failed,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Self::Collecting => "collecting",
            Self::Setting => "setting",
            Self::Levelling => "levelling",
            Self::Compensating => "compensating",
            Self::Checking => "checking",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Origin {
    plan: Plan,
    phase: Phase,
    /// Probes that are still to be sent in this phase, or tries.
    left: u32,
    next: Time,
    number: u32,
    /// What is waited for, and when it left.
    outstanding: Option<(u32, Time)>,
    samples: Vec<(Phase, Sample)>,
    drift: Option<Drift>,
    given: Option<Drift>,
    lost: u32,
}

impl Origin {
    /// Begins at a time of its clock.
    pub fn new(plan: Plan, begin: Time) -> Result<Self, PlanError> {
        plan.check()?;
        Ok(Self {
            plan,
            phase: Phase::Collecting,
            left: plan.probes,
            next: begin,
            number: 0,
            outstanding: None,
            samples: Vec::new(),
            drift: None,
            given: None,
            lost: 0,
        })
    }

    pub fn phase(&self) -> Phase {
        self.phase
    }

    pub fn is_over(&self) -> bool {
        self.phase >= Phase::Done
    }

    /// Each with the phase that it is of, in their order.
    pub fn samples(&self) -> &[(Phase, Sample)] {
        &self.samples
    }

    /// What the collection phase found.
    pub fn drift(&self) -> Option<Drift> {
        self.drift
    }

    /// What the follower was told to compensate.
    pub fn given(&self) -> Option<Drift> {
        self.given
    }

    /// Messages that had no answer.
    pub fn lost(&self) -> u32 {
        self.lost
    }

    /// When the next message is to be sent, by its clock; none: never again.
    pub fn next(&self) -> Option<Time> {
        (!self.is_over()).then_some(self.next)
    }

    /// The message that leaves now, if one is due.
    pub fn send(&mut self, now: Time) -> Option<Message> {
        if self.is_over() || now < self.next {
            return None;
        }
        self.next = now + self.plan.interval;
        self.lost += u32::from(self.outstanding.take().is_some());
        if self.left == 0 {
            self.go_on();
        }
        if self.is_over() {
            return None;
        }
        self.left -= 1;
        if self.phase != Phase::Compensating || self.left + 1 == MOST_TRIES {
            self.number = self.number.wrapping_add(1);
        }
        let number = self.number;
        self.outstanding = Some((number, now));
        match (self.phase, self.given) {
            (Phase::Setting, _) => Some(Message::Set { number, time: now }),
            (Phase::Compensating, Some(Drift { at, intercept, slope })) => {
                Some(Message::Compensate { number, at, intercept, slope })
            }
            _ => Some(Message::Probe { number, sent: now }),
        }
    }

    /// The hardware says when a message left: later than it was sent for.
    pub fn left_at(&mut self, number: u32, at: Time) {
        if let Some(outstanding) = self.outstanding.as_mut().filter(|known| known.0 == number) {
            outstanding.1 = at;
        }
    }

    /// A message has come; what nobody waits for is passed over.
    pub fn receive(&mut self, message: &Message, now: Time) {
        let (Message::Answer { number, .. } | Message::Done { number }) = *message else { return };
        let Some((_, sent)) = self.outstanding.take_if(|known| known.0 == number) else { return };
        match (*message, self.phase) {
            (Message::Answer { received, answered, .. }, Phase::Collecting | Phase::Levelling | Phase::Checking) => {
                self.samples.push((self.phase, Sample::new(sent, received, answered, now)))
            }
            (Message::Done { .. }, Phase::Setting | Phase::Compensating) => {
                self.left = 0;
                self.advance_from(self.phase);
            }
            _ => {}
        }
    }

    /// All of a phase was sent.
    fn go_on(&mut self) {
        match self.phase {
            // Nobody says that it was done.
            Phase::Setting | Phase::Compensating => self.phase = Phase::Failed,
            phase => self.advance_from(phase),
        }
    }

    fn advance_from(&mut self, phase: Phase) {
        let of = |phase| {
            let own = self.samples.iter().filter(|sample| sample.0 == phase);
            own.map(|sample| sample.1).collect::<Vec<_>>()
        };
        (self.phase, self.left) = match phase {
            Phase::Collecting => {
                self.drift = Drift::of(&of(phase));
                self.drift.map_or((Phase::Failed, 0), |_| (Phase::Setting, MOST_TRIES))
            }
            Phase::Setting => (Phase::Levelling, self.plan.probes_after_set),
            Phase::Levelling => {
                self.given = self.drift.and_then(|drift| Drift::through(drift.slope, &of(phase)));
                self.given.map_or((Phase::Failed, 0), |_| (Phase::Compensating, MOST_TRIES))
            }
            Phase::Compensating if self.plan.checks > 0 => (Phase::Checking, self.plan.checks),
            Phase::Compensating | Phase::Checking | Phase::Done => (Phase::Done, 0),
            Phase::Failed => (Phase::Failed, 0),
        };
    }
}
