// SPDX-License-Identifier: Apache-2.0
//! Frames that have waited for too long (802.1Q 6.5.6). Twin of the part of `pen_queue` that gives them up.
//!
//! Every 128 cycles one class is looked at, each once in 1024. If its candidate has been visible for the lifetime, and
//! the queues are at rest in that cycle and the next, it is taken out. It is released in a turn of the port in which no
//! sent frame is; then the queues look for a new candidate, and nothing is selected meanwhile.
use crate::admission::CLASSES;
use crate::egress::{EgressPort, LineTime, Tick};

/// In the hardware's cycles, and in picoseconds.
const LIFETIME_CYCLES: Tick = 120 << 20;
const LIFETIME_PS: Tick = LIFETIME_CYCLES * 8_000;
const LOOK_INTERVAL: Tick = 128;
const ROUND: Tick = LOOK_INTERVAL * CLASSES as Tick;
/// No pop keeps the queues from rest for longer.
const LONGEST_POP: Tick = 40;

/// When a port looks for frames to give up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// At one class after the other, as the hardware does; ticks are its cycles.
    InRounds,
    /// When it is time; ticks are picoseconds.
    AtOnce,
}

impl Pace {
    /// How long a frame may wait.
    pub fn lifetime(self) -> Tick {
        match self {
            Self::InRounds => LIFETIME_CYCLES,
            Self::AtOnce => LIFETIME_PS,
        }
    }

    /// The first look at a class from a tick on.
    fn look_at(self, traffic_class: usize, from: Tick) -> Tick {
        match self {
            Self::InRounds => {
                let phase = traffic_class as Tick * LOOK_INTERVAL;
                from + (phase + ROUND - from % ROUND) % ROUND
            }
            Self::AtOnce => from,
        }
    }

    /// The next look at a candidate that will be too old then, not before `from`.
    pub fn next_look(self, egress: &EgressPort, from: Tick) -> Option<Look> {
        let look = |traffic_class: usize| {
            let old = egress.eligible(traffic_class)?.saturating_add(self.lifetime()).max(from);
            Some(Look { at: self.look_at(traffic_class, old), traffic_class, is_long: None })
        };
        (0..CLASSES).filter_map(look).min_by_key(|look| look.at)
    }

    /// The next look at a candidate that is longer than any window of its gate then.
    pub fn next_look_at_long(self, egress: &EgressPort, line: &impl LineTime, from: Tick) -> Option<Look> {
        let look = |traffic_class: usize| {
            let long = egress.never_fits_from(line, from, traffic_class)?;
            let at = self.look_at(traffic_class, long);
            egress.never_fits(line, at, traffic_class).then_some(Look { at, traffic_class, is_long: None })
        };
        (0..CLASSES).filter_map(look).min_by_key(|look| look.at)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The cycle in which the class is looked at.
    pub at: Tick,
    pub traffic_class: usize,
    /// Whether its candidate was too long for its gate then, if the gates have changed since.
    pub is_long: Option<bool>,
}

/// What a pop is followed by.
#[derive(Clone, Copy, Debug)]
struct Pop {
    /// The first cycle after it.
    at: Tick,
    /// It left its queue empty.
    last: bool,
}

/// An enqueue at this egress port.
#[derive(Clone, Copy, Debug)]
struct Enqueue {
    at: Tick,
    head: bool,
}

/// Of one egress port.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Lifetime {
    pub look: Option<Look>,
    /// After a frame was dropped, the class that is searched for its next one, and until when.
    pub search: Option<(usize, Tick)>,
    pop: Option<Pop>,
    /// Since a look was planned or a search began.
    #[allow(clippy::box_collection)] // a whole vector would lie in another line of the cache
    enqueues: Option<Box<Vec<Enqueue>>>,
}

impl Lifetime {
    /// No class is looked at or searched.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.look.is_none() && self.search.is_none()
    }

    /// The cycle of the last enqueue that decides about what happens at `due`: those before the look do, and those that
    /// hold off the search for a candidate, up to its last step but one.
    pub fn last_enqueue(&self, due: Tick) -> Option<Tick> {
        let look = self.look.filter(|look| look.at < due).map(|look| look.at.saturating_sub(1));
        let search = self.search.map(|(_, until)| until.saturating_sub(2));
        look.max(search)
    }

    /// A selection at `at`.
    #[inline(always)]
    pub fn popped(&mut self, at: Tick, last: bool) {
        self.pop = Some(Pop { at: at + 1, last });
    }

    #[inline(always)]
    pub fn enqueued(&mut self, at: Tick, head: bool) {
        if !self.is_idle() || self.enqueues.is_some() {
            self.note(Enqueue { at, head });
        }
    }

    /// What matters to nobody any more is forgotten.
    #[cold]
    fn note(&mut self, enqueue: Enqueue) {
        if self.is_idle() {
            self.enqueues = None;
        } else {
            self.enqueues.get_or_insert_default().push(enqueue);
        }
    }

    fn enqueues(&self) -> impl Iterator<Item = &Enqueue> {
        self.enqueues.iter().flat_map(|enqueues| enqueues.iter())
    }

    /// When the queues of a port, of so many reception ports each, are at rest again after the last pop. An enqueue goes
    /// first and holds off most steps.
    pub fn rest(&self, ports: u16) -> Tick {
        let Some(pop) = self.pop else { return 0 };
        // How long each step takes, and whether an enqueue holds it off.
        let scan = std::iter::repeat_n(true, 2 * usize::from(ports));
        let next = [false, false, true];
        let steps = std::iter::once(true).chain(next.into_iter().filter(|_| !pop.last)).chain(scan);
        let mut at = pop.at;
        for held_off in steps {
            while held_off && self.enqueues().any(|enqueue| enqueue.at == at) {
                at += 1;
            }
            at += 1;
        }
        at + 1
    }

    /// Whether a look leads to a pop, in the cycle after it.
    pub fn is_taken(&self, look: Look, ports: u16) -> bool {
        let offered = self.enqueues().any(|enqueue| enqueue.head && enqueue.at + 1 == look.at);
        let resting = match self.pop {
            Some(pop) if pop.at > look.at + 2 => true,
            Some(pop) if pop.at + LONGEST_POP > look.at => pop.at <= look.at && self.rest(ports) <= look.at,
            _ => true,
        };
        resting && !offered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Pool;
    use crate::egress::Queued;

    #[test]
    fn a_class_is_looked_at_once_in_a_round() {
        let mut egress = EgressPort::new(2);
        let pace = Pace::InRounds;
        assert_eq!(pace.next_look(&egress, 0), None);
        let copy = |visible, traffic_class| Queued {
            visible,
            frame: 0,
            bytes: 64,
            reception: 0,
            traffic_class,
            pool: Pool::Queue,
            shaped: false,
        };
        egress.enqueue(copy(1, 3));
        assert_eq!(
            pace.next_look(&egress, 0),
            Some(Look { at: LIFETIME_CYCLES + 384, traffic_class: 3, is_long: None })
        );
        egress.enqueue(copy(129, 1));
        assert_eq!(pace.next_look(&egress, 0).unwrap().traffic_class, 3);
        assert_eq!(pace.next_look(&egress, LIFETIME_CYCLES + 385).unwrap().traffic_class, 1);
    }

    #[test]
    fn enqueues_hold_off_what_follows_a_pop() {
        let ports = 4;
        let mut lifetime =
            Lifetime { look: Some(Look { at: 0, traffic_class: 0, is_long: None }), ..Lifetime::default() };
        lifetime.popped(99, true);
        // UNLINK, eight of SCAN, SETTLE.
        assert_eq!(lifetime.rest(ports), 110);
        lifetime.popped(99, false);
        assert_eq!(lifetime.rest(ports), 113);
        lifetime.enqueued(100, true);
        assert_eq!(lifetime.rest(ports), 114);
        assert!(!lifetime.is_taken(Look { at: 101, traffic_class: 0, is_long: None }, ports));
        assert!(lifetime.is_taken(Look { at: 114, traffic_class: 0, is_long: None }, ports));
    }
}
