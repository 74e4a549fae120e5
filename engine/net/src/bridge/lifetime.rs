// SPDX-License-Identifier: Apache-2.0
//! Frames that have waited for too long (802.1Q 6.5.6), as `pen_queue` gives them up.
//!
//! Every 128 cycles one class is looked at, each once in 1024. If its candidate has been visible for the lifetime, and
//! the queues are at rest in that cycle and the next, it is taken out. It is released in a turn of the port in which no
//! sent frame is; then the queues look for a new candidate, and nothing is selected meanwhile.
use penstock_shaper::admission::CLASSES;
use penstock_shaper::egress::EgressPort;

use super::timing::{Clock, Cycles, Line};
use super::Tick;

/// In the hardware's cycles, and in picoseconds.
const LIFETIME_CYCLES: Tick = 120 << 20;
const LIFETIME_PS: Tick = LIFETIME_CYCLES * 8_000;
const LOOK_INTERVAL: Tick = 128;
const ROUND: Tick = LOOK_INTERVAL * CLASSES as Tick;
/// No pop keeps the queues from rest for longer.
const LONGEST_POP: Tick = 40;

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

pub fn lifetime(clock: &Clock) -> Tick {
    match clock {
        Clock::Hardware(_) => LIFETIME_CYCLES,
        Clock::Ideal(_) => LIFETIME_PS,
    }
}

/// The next look at a candidate that will be too old then, not before `from`.
pub fn next_look(clock: &Clock, egress: &EgressPort, from: Tick) -> Option<Look> {
    let look = |traffic_class: usize| {
        let old = egress.eligible(traffic_class)?.saturating_add(lifetime(clock)).max(from);
        Some(Look { at: look_at(clock, traffic_class, old), traffic_class, is_long: None })
    };
    (0..CLASSES).filter_map(look).min_by_key(|look| look.at)
}

/// The first look at a class from a tick on.
fn look_at(clock: &Clock, traffic_class: usize, from: Tick) -> Tick {
    match clock {
        Clock::Hardware(_) => {
            let phase = traffic_class as Tick * LOOK_INTERVAL;
            from + (phase + ROUND - from % ROUND) % ROUND
        }
        Clock::Ideal(_) => from,
    }
}

/// The next look at a candidate that is longer than any window of its gate then.
pub fn next_look_at_long(egress: &EgressPort, line: &Line, from: Tick) -> Option<Look> {
    let look = |traffic_class: usize| {
        let long = egress.never_fits_from(line, from, traffic_class)?;
        let at = look_at(line.clock, traffic_class, long);
        egress.never_fits(line, at, traffic_class).then_some(Look { at, traffic_class, is_long: None })
    };
    (0..CLASSES).filter_map(look).min_by_key(|look| look.at)
}

impl Lifetime {
    /// No class is looked at or searched.
    pub fn is_idle(&self) -> bool {
        self.look.is_none() && self.search.is_none()
    }

    /// When all enqueues are known that decide about what happens at `due`: those before the look, and those that hold
    /// off the search for a candidate, up to its last step but one.
    pub fn known(&self, cycles: Cycles, due: Tick) -> Tick {
        let look = self.look.filter(|look| look.at < due).map(|look| look.at.saturating_sub(1));
        let search = self.search.map(|(_, until)| until.saturating_sub(2));
        look.max(search).map_or(0, |at| cycles.enqueues_known(at))
    }

    /// A selection at `at`.
    pub fn popped(&mut self, at: Tick, last: bool) {
        self.pop = Some(Pop { at: at + 1, last });
    }

    pub fn enqueued(&mut self, at: Tick, head: bool) {
        if self.look.is_some() || self.search.is_some() {
            self.enqueues.get_or_insert_default().push(Enqueue { at, head });
        } else {
            self.enqueues = None;
        }
    }

    fn enqueues(&self) -> impl Iterator<Item = &Enqueue> {
        self.enqueues.iter().flat_map(|enqueues| enqueues.iter())
    }

    /// When the queues are at rest again after the last pop. An enqueue goes first and holds off most steps.
    pub fn rest(&self, cycles: Cycles) -> Tick {
        let Some(pop) = self.pop else { return 0 };
        // How long each step takes, and whether an enqueue holds it off.
        let scan = std::iter::repeat_n(true, 2 * cycles.ports as usize);
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
    pub fn is_taken(&self, look: Look, cycles: Cycles) -> bool {
        let offered = self.enqueues().any(|enqueue| enqueue.head && enqueue.at + 1 == look.at);
        let resting = match self.pop {
            Some(pop) if pop.at > look.at + 2 => true,
            Some(pop) if pop.at + LONGEST_POP > look.at => pop.at <= look.at && self.rest(cycles) <= look.at,
            _ => true,
        };
        resting && !offered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_shaper::admission::Pool;
    use penstock_shaper::egress::Queued;

    #[test]
    fn a_class_is_looked_at_once_in_a_round() {
        let mut egress = EgressPort::new(2);
        let clock = Clock::Hardware(Cycles::new(2));
        assert_eq!(next_look(&clock, &egress, 0), None);
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
            next_look(&clock, &egress, 0),
            Some(Look { at: LIFETIME_CYCLES + 384, traffic_class: 3, is_long: None })
        );
        egress.enqueue(copy(129, 1));
        assert_eq!(next_look(&clock, &egress, 0).unwrap().traffic_class, 3);
        assert_eq!(next_look(&clock, &egress, LIFETIME_CYCLES + 385).unwrap().traffic_class, 1);
    }

    #[test]
    fn enegress_hold_off_what_follows_a_pop() {
        let cycles = Cycles::new(4);
        let mut lifetime =
            Lifetime { look: Some(Look { at: 0, traffic_class: 0, is_long: None }), ..Lifetime::default() };
        lifetime.popped(99, true);
        // UNLINK, eight of SCAN, SETTLE.
        assert_eq!(lifetime.rest(cycles), 110);
        lifetime.popped(99, false);
        assert_eq!(lifetime.rest(cycles), 113);
        lifetime.enqueued(100, true);
        assert_eq!(lifetime.rest(cycles), 114);
        assert!(!lifetime.is_taken(Look { at: 101, traffic_class: 0, is_long: None }, cycles));
        assert!(lifetime.is_taken(Look { at: 114, traffic_class: 0, is_long: None }, cycles));
    }
}
