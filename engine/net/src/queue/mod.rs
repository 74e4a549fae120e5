// SPDX-License-Identifier: Apache-2.0
//! What happens next. A calendar of short days and of weeks; only the day that has come is kept in order.
//!
//! Time never goes back, so most events are touched three times whatever their number: put into their day, sorted
//! when it comes, taken; those of a later week once more, when that is divided into days. `benches/queue.rs` compares it with a binary heap and a radix heap.
mod ring;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::node::Due;
use penstock_shaper::Time;
use ring::Ring;

/// What an event is; at one instant the smaller one comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// A source releases frames.
    Release = 0,
    /// A frame is whole, which stayed on its wire until then.
    Arrive = 1,
    /// A bridge judges a received frame.
    Judge = 2,
    /// A port selects a frame.
    Select = 3,
    /// A node of which no more is known goes on.
    Advance = 4,
}

/// The order at one instant depends on what the event is, never on when it was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event(Order);

/// A time and the rest; of 64 bit each they are compared as one.
#[cfg(not(feature = "wide"))]
type Order = u128;
#[cfg(feature = "wide")]
type Order = (Time, u64);

const KIND_SHIFT: u32 = 61;
const NODE_SHIFT: u32 = 35;
/// Of the hop of a frame that is judged, below its port.
pub(crate) const HOP_BITS: u32 = 26;
pub const NO_HOP: u32 = (1 << HOP_BITS) - 1;
/// Nodes that an event can name.
pub const MOST_NODES: usize = 1 << (KIND_SHIFT - NODE_SHIFT);

impl Event {
    /// `index` is the port of a selection or an arrival, or the stream of a release.
    pub fn new(time: Time, kind: Kind, node: u32, index: u32) -> Self {
        let key = (kind as u64) << KIND_SHIFT | u64::from(node) << NODE_SHIFT | u64::from(index);
        Self::of(time, key)
    }

    #[cfg(not(feature = "wide"))]
    #[inline(always)]
    fn of(time: Time, key: u64) -> Self {
        Self(u128::from(time) << 64 | u128::from(key))
    }

    #[cfg(feature = "wide")]
    fn of(time: Time, key: u64) -> Self {
        Self((time, key))
    }

    #[cfg(not(feature = "wide"))]
    #[inline(always)]
    fn key(self) -> u64 {
        self.0 as u64
    }

    #[cfg(feature = "wide")]
    fn key(self) -> u64 {
        self.0 .1
    }

    #[cfg(not(feature = "wide"))]
    #[inline(always)]
    pub fn time(self) -> Time {
        (self.0 >> 64) as Time
    }

    #[cfg(feature = "wide")]
    pub fn time(self) -> Time {
        self.0 .0
    }

    /// A bridge judges a frame that came into one of its 64 ports; beside its port the event names the frame's hop, if that
    /// is one of the first 2^26.
    #[inline]
    pub fn judgement(time: Time, node: u32, port: u16, hop: u32) -> Self {
        Self::new(time, Kind::Judge, node, u32::from(port) << HOP_BITS | hop.min(NO_HOP))
    }

    /// What is due by it.
    #[inline]
    pub(crate) fn due(self) -> Due {
        Due { kind: self.kind(), index: self.index() }
    }

    /// Of a judgement or a selection of a bridge.
    #[inline]
    pub fn port(self) -> u16 {
        self.due().port()
    }

    /// Of the frame that is judged; [`NO_HOP`]: none that is named.
    #[inline]
    pub fn hop(self) -> u32 {
        self.index() & NO_HOP
    }

    pub fn kind(self) -> Kind {
        match self.key() >> KIND_SHIFT {
            0 => Kind::Release,
            1 => Kind::Arrive,
            2 => Kind::Judge,
            3 => Kind::Select,
            _ => Kind::Advance,
        }
    }

    pub fn node(self) -> u32 {
        (self.key() >> NODE_SHIFT) as u32 & (MOST_NODES as u32 - 1)
    }

    pub fn index(self) -> u32 {
        self.key() as u32
    }

    fn day(self) -> u64 {
        (self.time() >> DAY_SHIFT) as u64
    }
}

/// A day is 2^18 ps, 262 ns: about what one frame hop takes.
const DAY_SHIFT: u32 = 18;
/// Days that have places; so few that all stay in the cache.
const DAYS: usize = 256;
const WEEKS: usize = 1024;
/// A week is half of the days that have places, so that all days of this week and the next one have one.
const WEEK_DAYS: u64 = DAYS as u64 / 2;
/// An event of today that comes before all but so many of those known gets its place among them.
const SOON: usize = 8;

#[derive(Default)]
pub struct Queue {
    /// What was known of the day when it came, and what comes soon, the first event last.
    today: Vec<Event>,
    /// What else was pushed for today since, and for days that are over.
    pushed: BinaryHeap<Reverse<Event>>,
    day: u64,
    /// Of this week and the next one, after today.
    days: Ring<DAYS>,
    /// After them.
    weeks: Ring<WEEKS>,
    /// After these.
    later: BinaryHeap<Reverse<Event>>,
    buffer: Vec<Event>,
}

impl Queue {
    /// An event that was pushed does not happen; false: it is not there any more.
    #[cold]
    pub fn remove(&mut self, event: Event) -> bool {
        let before = self.pushed.len() + self.later.len();
        self.pushed.retain(|Reverse(known)| *known != event);
        self.later.retain(|Reverse(known)| *known != event);
        if self.pushed.len() + self.later.len() < before {
            return true;
        }
        if let Some(place) = self.today.iter().position(|known| *known == event) {
            self.today.remove(place);
            return true;
        }
        self.days.remove(event.day(), event) || self.weeks.remove(event.day() / WEEK_DAYS, event)
    }

    /// Nothing that was to happen at a node happens any more.
    #[cold]
    pub fn cancel(&mut self, node: u32) {
        let mut known = std::mem::take(self);
        while let Some(event) = known.pop_before(Time::MAX) {
            if event.node() != node {
                self.push(event);
            }
        }
    }

    #[inline(always)]
    pub fn push(&mut self, event: Event) {
        let day = event.day();
        if day <= self.day {
            self.push_today(event);
        } else {
            self.put(event);
        }
    }

    /// The first event, if it comes before `end`.
    #[inline(always)]
    pub fn pop_before(&mut self, end: Time) -> Option<Event> {
        if self.today.is_empty() && self.pushed.is_empty() && !self.advance() {
            return None;
        }
        let is_pushed = match (self.today.last(), self.pushed.peek()) {
            (Some(known), Some(Reverse(pushed))) => pushed < known,
            (known, _) => known.is_none(),
        };
        if is_pushed {
            let first = self.pushed.peek().filter(|first| first.0.time() < end)?.0;
            self.pushed.pop();
            return Some(first);
        }
        let first = *self.today.last().filter(|first| first.time() < end)?;
        self.today.pop();
        Some(first)
    }

    /// Time of the first event.
    pub fn next_time(&mut self) -> Option<Time> {
        if self.today.is_empty() && self.pushed.is_empty() && !self.advance() {
            return None;
        }
        let pushed = self.pushed.peek().map(|first| first.0);
        self.today.last().copied().into_iter().chain(pushed).min().map(Event::time)
    }

    /// Whether nothing else happens up to a time of the day that has come.
    #[inline]
    pub fn is_over(&self, time: Time) -> bool {
        self.today.last().is_none_or(|event| event.time() > time)
            && self.pushed.peek().is_none_or(|event| event.0.time() > time)
    }

    /// Shows events, the near ones first, but in no order within a day; `seen` gives the time from which on none is
    /// wanted any more.
    pub fn survey(&self, mut seen: impl FnMut(Event) -> Time) {
        let mut until = Time::MAX;
        for event in self.today.iter().rev() {
            if event.time() >= until {
                break;
            }
            until = seen(*event);
        }
        for Reverse(event) in &self.pushed {
            until = seen(*event);
        }
        // Behind the last day that has events, the first one comes round again.
        let mut day = self.day + 1;
        while let Some(next) = self.days.next(day).filter(|next| *next < self.day + DAYS as u64) {
            if Time::from(next) << DAY_SHIFT >= until {
                return;
            }
            for event in self.days.of(next) {
                until = seen(*event);
            }
            day = next + 1;
        }
        let this_week = self.day / WEEK_DAYS;
        let mut week = this_week + 1;
        while let Some(next) = self.weeks.next(week).filter(|next| *next < this_week + WEEKS as u64) {
            if Time::from(next * WEEK_DAYS) << DAY_SHIFT >= until {
                return;
            }
            for event in self.weeks.of(next) {
                until = seen(*event);
            }
            week = next + 1;
        }
        if self.later.peek().is_some_and(|first| first.0.time() < until) {
            for Reverse(event) in &self.later {
                seen(*event);
            }
        }
    }

    /// Places that there are for events.
    pub fn places(&self) -> usize {
        let near = self.today.capacity() + self.pushed.capacity() + self.later.capacity() + self.buffer.capacity();
        near + self.days.capacity() + self.weeks.capacity()
    }

    /// The day that has come.
    #[inline]
    pub fn day(&self) -> u64 {
        self.day
    }

    /// What is known of the next day that has events, in no order.
    #[inline]
    pub fn tomorrow(&self) -> &[Event] {
        self.days.next(self.day + 1).map_or(&[], |day| self.days.of(day))
    }

    #[inline]
    fn push_today(&mut self, event: Event) {
        let soon = self.today.len().saturating_sub(SOON);
        match self.today[soon..].iter().rposition(|known| *known > event) {
            Some(before) => self.today.insert(soon + before + 1, event),
            None if soon == 0 => self.today.insert(0, event),
            None => self.pushed.push(Reverse(event)),
        }
    }

    #[inline(always)]
    fn put(&mut self, event: Event) {
        let (day, this_week) = (event.day(), self.day / WEEK_DAYS);
        let week = day / WEEK_DAYS;
        if week <= this_week + 1 {
            self.days.put(day, event);
        } else if week - this_week < WEEKS as u64 {
            self.weeks.put(week, event);
        } else {
            self.later.push(Reverse(event));
        }
    }

    /// Goes on to the next day that has events.
    fn advance(&mut self) -> bool {
        let day = match self.days.next(self.day + 1) {
            Some(day) => day,
            None => {
                let near = self.weeks.next(self.day / WEEK_DAYS + 1);
                let far = self.later.peek().map(|first| first.0.day() / WEEK_DAYS);
                let Some(week) = near.into_iter().chain(far).min() else { return false };
                self.open(week * WEEK_DAYS);
                // Its first day may have events too.
                match self.days.next(self.day) {
                    Some(day) => day,
                    None => return false,
                }
            }
        };
        self.open(day);
        self.days.take(day, &mut self.today);
        self.today.sort_unstable_by_key(|event| Reverse(*event));
        true
    }

    /// The day becomes this one; when a week begins, the next one is divided into days.
    fn open(&mut self, day: u64) {
        let (before, week) = (self.day / WEEK_DAYS, day / WEEK_DAYS);
        self.day = day;
        if week == before {
            return;
        }
        let mut events = std::mem::take(&mut self.buffer);
        while let Some(&Reverse(first)) =
            self.later.peek().filter(|first| first.0.day() / WEEK_DAYS - week < WEEKS as u64)
        {
            self.later.pop();
            events.push(first);
        }
        self.weeks.take(week, &mut events);
        self.weeks.take(week + 1, &mut events);
        events.drain(..).for_each(|event| self.put(event));
        self.buffer = events;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_order_at_one_instant_is_kind_node_port() {
        let mut events = vec![
            Event::new(5, Kind::Release, 9, 9),
            Event::new(5, Kind::Judge, 0, 1),
            Event::new(5, Kind::Judge, 1, 0),
            Event::new(5, Kind::Select, 0, 0),
            Event::new(6, Kind::Release, 0, 0),
        ];
        assert!(events.is_sorted());
        let mut queue = Queue::default();
        for event in events.iter().rev() {
            queue.push(*event);
        }
        assert_eq!(queue.next_time(), Some(5));
        assert_eq!(queue.pop_before(5), None);
        for event in events.drain(..) {
            assert_eq!(queue.pop_before(u64::MAX), Some(event));
        }
        assert_eq!(queue.pop_before(u64::MAX), None);
    }

    #[test]
    fn an_event_says_what_it_was_made_of() {
        let event = Event::new(u64::MAX - 1, Kind::Select, MOST_NODES as u32 - 1, u32::MAX);
        assert_eq!((event.time(), event.kind()), (u64::MAX - 1, Kind::Select));
        assert_eq!((event.node(), event.index()), (MOST_NODES as u32 - 1, u32::MAX));
    }

    proptest! {
        /// The calendar and a plain heap agree, over all scales of time and with ends of slices between.
        #[test]
        fn equal_to_a_heap(steps in proptest::collection::vec((0_u32..44, any::<u64>(), 0_u32..4, 0_usize..4), 1..600)) {
            let (mut queue, mut heap) = (Queue::default(), BinaryHeap::new());
            let mut now = 0;
            for (scale, random, node, pops) in steps {
                let time = now + random % (1 << scale);
                let kind = [Kind::Release, Kind::Judge, Kind::Select][random as usize % 3];
                let event = Event::new(time, kind, node, scale);
                queue.push(event);
                heap.push(Reverse(event));
                for _ in 0..pops {
                    let end = now + (random >> 7) % (1 << scale);
                    let wanted = heap.peek().map(|first: &Reverse<Event>| first.0).filter(|first| first.time() < end);
                    prop_assert_eq!(queue.pop_before(end), wanted);
                    if let Some(event) = wanted {
                        heap.pop();
                        now = event.time();
                    }
                    prop_assert_eq!(queue.next_time(), heap.peek().map(|first| first.0.time()));
                }
            }
            while let Some(Reverse(event)) = heap.pop() {
                prop_assert_eq!(queue.pop_before(u64::MAX), Some(event));
            }
            prop_assert_eq!(queue.pop_before(u64::MAX), None);
        }

        /// What is taken out does not come, and all else does, whatever day it is of.
        #[test]
        fn a_cancelled_event_never_comes(
            events in proptest::collection::btree_set((0_u32..46, any::<u64>(), 0_u32..4, 0_u32..3), 1..200),
            pops in 0_usize..40,
            order in any::<u64>(),
        ) {
            let events = events.into_iter().map(|(scale, random, node, port)| {
                Event::new(random % (1 << scale), Kind::Select, node, port)
            });
            let mut left: Vec<Event> = events.collect();
            left.sort_unstable();
            left.dedup();
            let mut queue = Queue::default();
            left.iter().for_each(|event| queue.push(*event));
            for event in left.drain(..pops.min(left.len())) {
                prop_assert_eq!(queue.pop_before(u64::MAX), Some(event));
            }
            let chosen = |event: &Event| (event.time() ^ u64::from(event.index())).wrapping_mul(order | 1) >> 62 == 0;
            for event in left.iter().copied().filter(chosen) {
                prop_assert!(queue.remove(event));
                prop_assert!(!queue.remove(event), "it is there once");
            }
            left.retain(|event| !chosen(event));
            for event in left {
                prop_assert_eq!(queue.next_time(), Some(event.time()));
                prop_assert_eq!(queue.pop_before(u64::MAX), Some(event));
            }
            prop_assert_eq!(queue.pop_before(u64::MAX), None);
        }

        /// Whatever the order in which events were pushed, they come in one order; and what is asked for early is seen.
        #[test]
        fn the_order_is_that_of_what_events_are(
            events in proptest::collection::vec((0_u32..46, any::<u64>(), 0_u32..4), 1..300),
            order in any::<u64>(),
            until in 0_u32..46,
            pops in 0_usize..40,
        ) {
            let kinds = [Kind::Release, Kind::Judge, Kind::Select];
            let events = events.into_iter().map(|(scale, random, node)| {
                Event::new(random % (1 << scale), kinds[random as usize % 3], node, scale)
            });
            let mut sorted: Vec<Event> = events.collect();
            let mut queue = Queue::default();
            let mut shuffled = sorted.clone();
            shuffled.sort_by_key(|event| (event.time() ^ u64::from(event.index())).wrapping_mul(order | 1));
            shuffled.iter().for_each(|event| queue.push(*event));
            sorted.sort_unstable();
            let pops = pops.min(sorted.len());
            for event in sorted.drain(..pops) {
                prop_assert_eq!(queue.pop_before(u64::MAX), Some(event));
            }
            let mut seen = Vec::new();
            queue.survey(|event| {
                seen.push(event);
                1 << until
            });
            // The first one is always shown.
            seen.sort_unstable();
            seen.retain(|event| event.time() < 1 << until);
            sorted.retain(|event| event.time() < 1 << until);
            prop_assert_eq!(seen, sorted);
        }
    }
}
