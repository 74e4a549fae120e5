// SPDX-License-Identifier: Apache-2.0
//! What happens next. A calendar of short days; only the day that has come is kept in order.
//!
//! Time never goes back, so most events are touched three times whatever their number: put into their day, sorted
//! when it comes, taken. `benches/queue.rs` compares it with a binary heap and a radix heap.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What an event is; at one instant the smaller one comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// A source releases frames.
    Release = 0,
    /// A bridge judges a received frame.
    Judge = 1,
    /// A port selects a frame.
    Select = 2,
}

/// The order at one instant depends on what the event is, never on when it was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event(u128);

const KIND_SHIFT: u32 = 62;
const NODE_SHIFT: u32 = 36;
/// Nodes that an event can name.
pub const MOST_NODES: usize = 1 << (KIND_SHIFT - NODE_SHIFT);

impl Event {
    /// `index` is a port or, of a release, a stream.
    pub fn new(time: u64, kind: Kind, node: u32, index: u32) -> Self {
        let key = (kind as u64) << KIND_SHIFT | u64::from(node) << NODE_SHIFT | u64::from(index);
        Self(u128::from(time) << 64 | u128::from(key))
    }

    pub fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }

    pub fn kind(self) -> Kind {
        match self.0 as u64 >> KIND_SHIFT {
            0 => Kind::Release,
            1 => Kind::Judge,
            _ => Kind::Select,
        }
    }

    pub fn node(self) -> u32 {
        (self.0 as u64 >> NODE_SHIFT) as u32 & (MOST_NODES as u32 - 1)
    }

    pub fn index(self) -> u32 {
        self.0 as u32
    }

    fn day(self) -> u64 {
        self.time() >> DAY_SHIFT
    }
}

/// A day is 2^18 ps, 262 ns: about what one frame hop takes.
const DAY_SHIFT: u32 = 18;
/// Days that have a place of their own, about a quarter of a millisecond; what lies beyond waits in a heap. All places
/// together stay in the cache.
const DAYS: usize = 1024;
/// What waits in the heap is given a place this many days before.
const NEAR: u64 = DAYS as u64 / 2;

pub struct Queue {
    /// What was known of the day when it came, the first event last.
    today: Vec<Event>,
    /// What was pushed for it since, and for days that are over.
    pushed: BinaryHeap<Reverse<Event>>,
    day: u64,
    days: Vec<Vec<Event>>,
    /// A bit per day that has events, and one per word of these bits.
    occupied: [u64; DAYS / 64],
    words: u64,
    later: BinaryHeap<Reverse<Event>>,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            today: Vec::new(),
            pushed: BinaryHeap::new(),
            day: 0,
            days: vec![Vec::new(); DAYS],
            occupied: [0; DAYS / 64],
            words: 0,
            later: BinaryHeap::new(),
        }
    }
}

impl Queue {
    #[inline]
    pub fn push(&mut self, event: Event) {
        let day = event.day();
        if day <= self.day {
            self.pushed.push(Reverse(event));
        } else if day - self.day < DAYS as u64 {
            self.place(event);
        } else {
            self.later.push(Reverse(event));
        }
    }

    #[inline]
    fn place(&mut self, event: Event) {
        let place = event.day() as usize % DAYS;
        self.days[place].push(event);
        self.occupied[place / 64] |= 1 << (place % 64);
        self.words |= 1 << (place / 64);
    }

    /// The day that has come.
    #[inline]
    pub fn day(&self) -> u64 {
        self.day
    }

    /// What is known of the next day that has events, in no order.
    #[inline]
    pub fn tomorrow(&self) -> &[Event] {
        self.next_day().map_or(&[], |day| &self.days[day as usize % DAYS])
    }

    /// The first event, if it comes before `end`.
    #[inline]
    pub fn pop_before(&mut self, end: u64) -> Option<Event> {
        let first = self.first()?;
        if first.time() >= end {
            return None;
        }
        if self.today.last() == Some(&first) {
            self.today.pop();
        } else {
            self.pushed.pop();
        }
        Some(first)
    }

    /// Time of the first event.
    pub fn next_time(&mut self) -> Option<u64> {
        self.first().map(Event::time)
    }

    #[inline]
    fn first(&mut self) -> Option<Event> {
        if self.today.is_empty() && self.pushed.is_empty() && !self.advance() {
            return None;
        }
        let known = self.today.last().copied();
        match self.pushed.peek() {
            Some(Reverse(pushed)) => Some(known.map_or(*pushed, |known| known.min(*pushed))),
            None => known,
        }
    }

    /// Goes on to the next day that has events.
    fn advance(&mut self) -> bool {
        let near = self.next_day();
        let far = self.later.peek().map(|first| first.0.day());
        let Some(day) = near.into_iter().chain(far).min() else { return false };
        self.day = day;
        if near == Some(day) {
            let place = day as usize % DAYS;
            self.occupied[place / 64] &= !(1 << (place % 64));
            if self.occupied[place / 64] == 0 {
                self.words &= !(1 << (place / 64));
            }
            self.today.append(&mut self.days[place]);
        }
        while let Some(&Reverse(first)) = self.later.peek().filter(|first| first.0.day() - day < NEAR) {
            self.later.pop();
            if first.day() == day {
                self.today.push(first);
            } else {
                self.place(first);
            }
        }
        self.today.sort_unstable_by_key(|event| Reverse(*event));
        true
    }

    /// The next day after today with a place of its own that has events.
    fn next_day(&self) -> Option<u64> {
        if self.words == 0 {
            return None;
        }
        let start = (self.day + 1) as usize % DAYS;
        let (word, bit) = (start / 64, start % 64);
        let rest = self.occupied[word] & (u64::MAX << bit);
        let place = if rest != 0 {
            word * 64 + rest.trailing_zeros() as usize
        } else {
            // Words after this one, and then from the first; this one comes last, for the bits before the start.
            let after = u64::MAX.checked_shl(word as u32 + 1).map_or(0, |mask| self.words & mask);
            let word = if after != 0 { after } else { self.words }.trailing_zeros() as usize;
            word * 64 + self.occupied[word].trailing_zeros() as usize
        };
        Some(self.day + 1 + ((place + DAYS - start) % DAYS) as u64)
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
    }
}
