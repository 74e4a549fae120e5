// SPDX-License-Identifier: Apache-2.0
//! Frames that have waited for too long (802.1Q 6.5.6). Twin of the part of `pen_queue` that gives them up.
//!
//! Every 128 cycles one class is looked at, each once in 1024. If its candidate has been visible for the lifetime, and
//! the queues are at rest in that cycle and the next, it is taken out. It is released in a turn of the port in which no
//! sent frame is; then the queues look for a new candidate of its class, of which none is selected meanwhile. A frame of
//! another class that is selected meanwhile goes its way after that.
mod port;

use crate::admission::CLASSES;
use crate::egress::{EgressPort, LineTime, Queued, Tick, NEVER};
pub use port::{Expired, GivingUp, Port};

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
    fn next_look(self, egress: &EgressPort, from: Tick) -> Option<Look> {
        let look = |traffic_class: usize| {
            let old = egress.eligible(traffic_class)?.saturating_add(self.lifetime()).max(from);
            Some(Look { at: self.look_at(traffic_class, old), traffic_class, is_long: None })
        };
        (0..CLASSES).filter_map(look).min_by_key(|look| look.at)
    }

    /// The next look at a candidate that is longer than any window of its gate then.
    fn next_look_at_long(self, egress: &EgressPort, line: &impl LineTime, from: Tick) -> Option<Look> {
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

/// One of the queues: reception port, class, of frames that are shaped.
type Queue = (u16, u8, bool);

fn queue_of(copy: &Queued) -> Queue {
    (copy.reception, copy.traffic_class, copy.shaped)
}

/// What a pop is followed by.
#[derive(Clone, Copy, Debug)]
struct Pop {
    /// The first cycle of what follows.
    at: Tick,
    /// When it was taken out.
    since: Tick,
    queue: Queue,
    /// It left its queue empty.
    last: bool,
}

/// An enqueue at this egress port.
#[derive(Clone, Copy, Debug)]
struct Enqueue {
    at: Tick,
    queue: Queue,
    head: bool,
}

/// A frame that was taken out to be dropped.
#[derive(Clone, Debug)]
pub struct GiveUp {
    pub copy: Queued,
    /// It was too long for its gate; else it had waited for too long.
    pub is_long: bool,
    /// When it was looked at.
    since: Tick,
    /// The turn in which it is released.
    pub turn: Tick,
    is_released: bool,
    /// It left its queue empty.
    last: bool,
    /// Its class is searched for its next frame up to this tick; the queues are at rest from that one on.
    until: Tick,
    rest: Tick,
    /// What was selected meanwhile.
    selected: Option<Pop>,
}

/// Of one egress port.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Lifetime {
    pub look: Option<Look>,
    give_up: Option<Box<GiveUp>>,
    pop: Option<Pop>,
    /// Since a look was planned or a search began.
    #[allow(clippy::box_collection)] // a whole vector would lie in another line of the cache
    enqueues: Option<Box<Vec<Enqueue>>>,
}

impl Lifetime {
    /// No class is looked at or searched.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.look.is_none() && self.give_up.is_none()
    }

    /// A frame that is taken out and not yet released.
    pub fn given_up(&self) -> Option<&GiveUp> {
        self.give_up.as_deref().filter(|give_up| !give_up.is_released)
    }

    /// The candidate that was looked at is taken out; `last`: it left its queue empty.
    fn give_up(&mut self, copy: Queued, is_long: bool, since: Tick, turn: Tick, last: bool) {
        let (until, rest) = (NEVER, NEVER);
        let give_up = GiveUp { copy, is_long, since, turn, last, until, rest, is_released: false, selected: None };
        self.give_up = Some(Box::new(give_up));
    }

    /// It is not released before another turn.
    fn put_off(&mut self, turn: Tick) {
        if let Some(give_up) = &mut self.give_up {
            give_up.turn = turn;
        }
    }

    /// It is released in its turn.
    fn released(&mut self) {
        if let Some(give_up) = &mut self.give_up {
            give_up.is_released = true;
        }
    }

    /// The cycle of the last enqueue that decides about what happens at `due`: those before the look do, and those that
    /// hold off the search for a candidate, up to its last step but one.
    pub fn last_enqueue(&self, due: Tick) -> Option<Tick> {
        let look = self.look.filter(|look| look.at < due).map(|look| look.at.saturating_sub(1));
        let search = self.give_up.as_ref().filter(|give_up| give_up.until <= due).map(|g| g.until.saturating_sub(2));
        look.max(search)
    }

    /// A selection at `at`; `last`: it left its queue empty.
    #[inline(always)]
    pub fn popped(&mut self, at: Tick, copy: &Queued, last: bool) {
        let pop = Pop { at: at + 3, since: at, queue: queue_of(copy), last };
        match &mut self.give_up {
            Some(give_up) if at < give_up.until => give_up.selected = Some(pop),
            _ => self.pop = Some(pop),
        }
    }

    #[inline(always)]
    pub fn enqueued(&mut self, at: Tick, copy: &Queued, head: bool) {
        if !self.is_idle() || self.enqueues.is_some() {
            self.note(Enqueue { at, queue: queue_of(copy), head });
        }
    }

    /// What matters to nobody any more is forgotten.
    #[cold]
    fn note(&mut self, enqueue: Enqueue) {
        // One that was looked at before may still be judged by what it was.
        if self.give_up.as_ref().is_some_and(|give_up| give_up.rest.saturating_add(ROUND) <= enqueue.at) {
            self.give_up = None;
        }
        if self.is_idle() {
            self.enqueues = None;
        } else {
            self.enqueues.get_or_insert_default().push(enqueue);
        }
    }

    fn enqueues(&self) -> impl Iterator<Item = &Enqueue> {
        self.enqueues.iter().flat_map(|enqueues| enqueues.iter())
    }

    /// When the queues are at rest again after a pop. An enqueue goes first and holds off most steps; a selection takes the
    /// place of the read of what follows.
    fn rest_after(&self, pop: Pop, selection: Option<Tick>, ports: u16) -> Tick {
        let is_held_off = |at: Tick| self.enqueues().any(|enqueue| enqueue.at == at);
        let free_from = |mut at: Tick| {
            while is_held_off(at) {
                at += 1;
            }
            at
        };
        // LAST, then UNLINK.
        let unlink = free_from(pop.at + 1);
        // What was queued behind it before is the next head.
        let follows = |e: &Enqueue| e.head && e.queue == pop.queue && (pop.since..unlink).contains(&e.at);
        let mut at = unlink + 1;
        if !pop.last || self.enqueues().any(follows) {
            // NEXT; INFO, the read of the next head; TAKE; HEAD, in which it is written.
            at += 1;
            at += if selection.is_some_and(|selection| selection + 1 == at) { 2 } else { 1 };
            at = free_from(at + 1) + 1;
        }
        for _ in 0..2 * ports {
            at = free_from(at) + 1;
        }
        at + 1
    }

    /// The class that is searched for its next frame after one was given up, and until when, as far as is known.
    fn search(&mut self, ports: u16) -> Option<(usize, Tick)> {
        let give_up = self.give_up.as_deref().filter(|give_up| give_up.is_released)?;
        let pop =
            Pop { at: give_up.turn + 1, since: give_up.since, queue: queue_of(&give_up.copy), last: give_up.last };
        let selected = give_up.selected;
        let until = self.rest_after(pop, selected.map(|pop| pop.since), ports);
        let rest = selected.map_or(until, |pop| self.rest_after(Pop { at: pop.at.max(until + 1), ..pop }, None, ports));
        let give_up = self.give_up.as_deref_mut()?;
        (give_up.until, give_up.rest) = (until, rest);
        Some((usize::from(give_up.copy.traffic_class), until))
    }

    /// Whether a look leads to a pop, in the cycle after it.
    fn is_taken(&self, look: Look, ports: u16) -> bool {
        let offered = self.enqueues().any(|enqueue| enqueue.at + 1 == look.at);
        let is_at_rest = match self.pop {
            Some(pop) if pop.since > look.at + 1 => true,
            Some(pop) if pop.at + LONGEST_POP > look.at => self.rest_after(pop, None, ports) <= look.at,
            _ => true,
        };
        let is_given_up = self.give_up.as_ref().is_none_or(|give_up| give_up.rest <= look.at);
        is_at_rest && is_given_up && !offered
    }
}

#[cfg(test)]
mod tests {
    use penstock_frame::Edit;

    use super::*;
    use crate::admission::Pool;

    fn copy(visible: Tick, traffic_class: u8) -> Queued {
        let pool = Pool::Queue;
        Queued { visible, frame: 0, bytes: 64, reception: 0, edit: Edit::NONE, traffic_class, pool, shaped: false }
    }

    #[test]
    fn a_class_is_looked_at_once_in_a_round() {
        let mut egress = EgressPort::new(2);
        let pace = Pace::InRounds;
        assert_eq!(pace.next_look(&egress, 0), None);
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
        let rest = |lifetime: &Lifetime| lifetime.rest_after(lifetime.pop.unwrap(), None, ports);
        lifetime.popped(99, &copy(1, 3), true);
        // LAST, UNLINK, eight of SCAN, SETTLE.
        assert_eq!(rest(&lifetime), 113);
        lifetime.popped(99, &copy(1, 3), false);
        assert_eq!(rest(&lifetime), 117);
        lifetime.enqueued(103, &copy(1, 2), true);
        assert_eq!(rest(&lifetime), 118);
        assert!(!lifetime.is_taken(Look { at: 117, traffic_class: 0, is_long: None }, ports));
        assert!(lifetime.is_taken(Look { at: 118, traffic_class: 0, is_long: None }, ports));
    }

    #[test]
    fn what_is_selected_while_a_frame_is_given_up_goes_its_way_after_it() {
        let ports = 4;
        let mut lifetime = Lifetime::default();
        lifetime.give_up(copy(1, 3), false, 97, 99, false);
        lifetime.popped(98, &copy(1, 7), true);
        assert_eq!(lifetime.search(ports), None);
        lifetime.released();
        // LAST at 100, UNLINK, NEXT, INFO, TAKE, HEAD, eight of SCAN, SETTLE.
        assert_eq!(lifetime.search(ports), Some((3, 115)));
        // IDLE, then LAST at 116, UNLINK, eight of SCAN, SETTLE.
        let look = |at| Look { at, traffic_class: 0, is_long: None };
        assert!(!lifetime.is_taken(look(126), ports));
        assert!(lifetime.is_taken(look(127), ports));
        // A selection in the cycle before takes the place of the read that INFO makes; an enqueue holds off HEAD.
        for (selected, enqueued, until) in
            [(102, None, 116), (103, None, 115), (103, Some(104), 115), (103, Some(105), 116), (102, Some(106), 117)]
        {
            let mut lifetime = Lifetime::default();
            lifetime.give_up(copy(1, 3), false, 97, 99, false);
            lifetime.released();
            lifetime.search(ports);
            lifetime.popped(selected, &copy(1, 7), true);
            if let Some(at) = enqueued {
                lifetime.enqueued(at, &copy(1, 2), true);
            }
            assert_eq!(lifetime.search(ports), Some((3, until)), "{selected} {enqueued:?}");
        }
    }
    /// An enqueue at the head of the queue that a pop left empty, before its list is unlinked, is the next head.
    #[test]
    fn what_is_queued_behind_a_pop_follows_it() {
        let ports = 4;
        let head = |at, class, head| {
            let look = Some(Look { at: 0, traffic_class: 0, is_long: None });
            let mut lifetime = Lifetime { look, ..Lifetime::default() };
            lifetime.popped(99, &copy(1, 3), true);
            lifetime.enqueued(at, &copy(1, class), head);
            lifetime.rest_after(lifetime.pop.unwrap(), None, ports)
        };
        // UNLINK, held off to 104, then eight of SCAN, SETTLE; before those NEXT, INFO, TAKE, HEAD.
        assert_eq!([head(103, 2, true), head(103, 3, false), head(103, 3, true)], [114, 114, 118]);
        // It is taken out in 99, and unlinked in 103.
        assert_eq!([head(98, 3, true), head(99, 3, true), head(104, 3, true)], [113, 117, 114]);
    }

    /// What is known of enqueues decides about a look from the cycle after it on, and about a search from its end on.
    #[test]
    fn enqueues_are_waited_for() {
        let mut lifetime = Lifetime::default();
        assert!(lifetime.is_idle() && lifetime.last_enqueue(NEVER).is_none());
        lifetime.look = Some(Look { at: 100, traffic_class: 0, is_long: None });
        assert_eq!([100, 101].map(|due| lifetime.last_enqueue(due)), [None, Some(99)]);
        lifetime.look = None;
        lifetime.give_up(copy(1, 3), false, 97, 99, false);
        assert!(lifetime.given_up().is_some());
        lifetime.released();
        assert!(lifetime.given_up().is_none() && !lifetime.is_idle());
        assert_eq!(lifetime.search(4), Some((3, 115)));
        assert_eq!([114, 115].map(|due| lifetime.last_enqueue(due)), [None, Some(113)]);
        // What is selected before the class has been searched goes its way after that, what is selected then at once.
        lifetime.popped(115, &copy(1, 7), true);
        assert!(lifetime.pop.is_some());
        lifetime.pop = None;
        lifetime.popped(112, &copy(1, 7), true);
        assert!(lifetime.pop.is_none());
    }
}
