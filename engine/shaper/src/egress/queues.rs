// SPDX-License-Identifier: Apache-2.0
//! The queues of one egress port: lists in one memory, which follows what is in them. Twin of `pen_queue`.
//!
//! Two queues for each traffic class and reception port: of frames that an ATS scheduler held, and of others. The frames of
//! a queue leave in order, which is also that of their eligibility times; which queue of a class goes first is said in `ats`.
use penstock_frame::Edit;

use crate::admission::{Pool, CLASSES};
use crate::Time;

use super::ats::{Eligible, Heads, QueueId};

/// A copy in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The first instant at which it may be selected.
    pub visible: Time,
    pub frame: u32,
    /// As long as it has the wire at this port, less preamble, delimiter and gap.
    pub bytes: u16,
    pub reception: u16,
    /// By which it leaves with another length than it came with.
    pub edit: Edit,
    pub traffic_class: u8,
    pub pool: Pool,
    /// An ATS scheduler assigned its eligibility time, which else is that of its arrival.
    pub shaped: bool,
}

const _: () = assert!(size_of::<Queued>() == size_of::<Time>() + 16);

impl Queued {
    /// With which it came, and stands in the store.
    #[inline(always)]
    pub fn stored_bytes(&self) -> u16 {
        self.bytes.wrapping_add_signed(-i16::from(self.edit.growth()))
    }

    #[inline(always)]
    fn queue(&self) -> QueueId {
        QueueId::new(self.reception, self.shaped)
    }
}

const NONE: u32 = u32::MAX;
/// So many nodes are kept, whatever is in them.
const KEPT: usize = 256;

#[derive(Clone, Copy, Debug)]
struct Node {
    copy: Queued,
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

const NOTHING: Queued = Queued {
    visible: 0,
    frame: 0,
    bytes: 0,
    reception: 0,
    edit: Edit::NONE,
    traffic_class: 0,
    pool: Pool::Queue,
    shaped: false,
};

/// Whether anything waits stands first, in the line of the cache in which what surrounds the queues ends.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Queues {
    count: u32,
    free: u32,
    /// Bit k: class k has frames.
    waiting: u8,
    /// The only copy is not in a list: most copies come and go alone.
    is_alone: bool,
    alone: Queued,
    lists: Vec<[List; CLASSES]>,
    nodes: Vec<Node>,
    classes: [Heads; CLASSES],
}

impl Queues {
    /// Of an egress port of a node with at most 64 reception ports.
    pub fn new(receptions: usize) -> Self {
        Self {
            lists: vec![[List { head: NONE, tail: NONE }; CLASSES]; 2 * receptions],
            nodes: Vec::new(),
            free: NONE,
            count: 0,
            waiting: 0,
            is_alone: false,
            alone: NOTHING,
            classes: [Heads::default(); CLASSES],
        }
    }

    pub fn len(&self) -> usize {
        self.count as usize
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether the copy stands at the head of its queue. Once in the program: copies of it cost the processor's cache of
    /// instructions more than the call does.
    #[inline(never)]
    pub fn push(&mut self, copy: Queued) -> bool {
        let (class, queue) = (usize::from(copy.traffic_class), copy.queue());
        if self.count == 0 {
            (self.count, self.waiting) = (1, 1 << class);
            (self.is_alone, self.alone) = (true, copy);
            self.classes[class].fill(Eligible { time: copy.visible, queue });
            return true;
        }
        if std::mem::take(&mut self.is_alone) {
            let (alone, index) = (self.alone, self.insert(self.alone));
            self.lists[alone.queue().index()][usize::from(alone.traffic_class)] = List { head: index, tail: index };
        }
        let index = self.insert(copy);
        self.count += 1;
        let list = &mut self.lists[queue.index()][class];
        let heads = &mut self.classes[class];
        if heads.has(queue) {
            self.nodes[list.tail as usize].next = index;
            list.tail = index;
            return false;
        }
        *list = List { head: index, tail: index };
        heads.fill(Eligible { time: copy.visible, queue });
        self.waiting |= 1 << class;
        true
    }

    fn insert(&mut self, copy: Queued) -> u32 {
        let node = Node { copy, next: NONE };
        if self.free == NONE {
            self.nodes.push(node);
            return self.nodes.len() as u32 - 1;
        }
        let index = self.free;
        self.free = self.nodes[index as usize].next;
        self.nodes[index as usize] = node;
        index
    }

    /// The first instant at which any copy may be selected.
    #[inline]
    pub fn earliest(&self) -> Option<Time> {
        let mut classes = self.waiting;
        let mut earliest = None;
        while classes != 0 {
            let visible = self.classes[classes.trailing_zeros() as usize].first().time;
            classes &= classes - 1;
            earliest = Some(earliest.map_or(visible, |e: Time| e.min(visible)));
        }
        earliest
    }

    /// Whether the queue that a copy is of, or was of, has frames.
    pub fn is_filled(&self, copy: &Queued) -> bool {
        self.classes[usize::from(copy.traffic_class)].has(copy.queue())
    }

    /// Whether the queue of a copy goes first of its class.
    #[inline(always)]
    pub fn goes_first(&self, copy: &Queued) -> bool {
        self.classes[usize::from(copy.traffic_class)].first().queue == copy.queue()
    }

    /// Bit k: class k has frames.
    #[inline(always)]
    pub fn waiting(&self) -> u8 {
        self.waiting
    }

    /// Whether the head that goes first, of a class that has one, may be selected.
    #[inline(always)]
    pub fn is_eligible(&self, class: usize, now: Time) -> bool {
        self.classes[class].first().time <= now
    }

    /// When the head of a class that goes first becomes visible.
    pub fn candidate(&self, traffic_class: usize) -> Option<Time> {
        (self.waiting >> traffic_class & 1 == 1).then(|| self.classes[traffic_class].first().time)
    }

    /// The head of a class that goes first.
    #[inline]
    pub fn head(&self, traffic_class: usize) -> Option<&Queued> {
        if self.is_alone {
            return (self.waiting >> traffic_class & 1 == 1).then_some(&self.alone);
        }
        let list = &self.lists[self.classes[traffic_class].first().queue.index()][traffic_class];
        (self.waiting >> traffic_class & 1 == 1).then(|| &self.nodes[list.head as usize].copy)
    }

    /// All copies of a class: those of a queue in their order, queue by queue.
    pub fn of_class(&self, class: usize) -> impl Iterator<Item = &Queued> {
        let in_lists = if self.is_alone { 0 } else { self.lists.len() };
        let filled = (0..in_lists).filter(move |&queue| self.classes[class].has(QueueId::of_index(queue)));
        let listed = filled.flat_map(move |queue| {
            let node = |index: u32| (index != NONE).then(|| &self.nodes[index as usize]);
            let first = node(self.lists[queue][class].head);
            std::iter::successors(first, move |last| node(last.next)).map(|node| &node.copy)
        });
        (self.is_alone && self.waiting >> class & 1 == 1).then_some(&self.alone).into_iter().chain(listed)
    }

    /// Takes out the candidate of a class that has one.
    #[inline]
    pub fn take(&mut self, traffic_class: usize) -> Option<Queued> {
        (self.waiting >> traffic_class & 1 == 1).then(|| self.pop(traffic_class))
    }

    #[inline(never)]
    fn pop(&mut self, class: usize) -> Queued {
        if std::mem::take(&mut self.is_alone) {
            (self.count, self.waiting) = (0, 0);
            self.classes[class].take(true, |_| 0);
            return self.alone;
        }
        let Self { lists, nodes, classes, .. } = self;
        let heads = &mut classes[class];
        let list = &mut lists[heads.first().queue.index()][class];
        let index = list.head;
        let node = nodes[index as usize];
        list.head = node.next;
        nodes[index as usize].next = self.free;
        self.free = index;
        self.count -= 1;
        heads.take(node.next == NONE, |queue| nodes[lists[queue.index()][class].head as usize].copy.visible);
        if heads.is_empty() {
            self.waiting &= !(1 << class);
        }
        if self.nodes.len() > KEPT.max(4 * self.count as usize) {
            self.shrink();
        }
        node.copy
    }

    /// Gives back the memory of a burst that has left: what is queued moves together.
    #[cold]
    fn shrink(&mut self) {
        let mut nodes = Vec::with_capacity(KEPT.max(2 * self.count as usize));
        for (number, lists) in self.lists.iter_mut().enumerate() {
            for (list, heads) in lists.iter_mut().zip(&self.classes) {
                if !heads.has(QueueId::of_index(number)) {
                    continue;
                }
                let mut old = list.head;
                list.head = nodes.len() as u32;
                while old != NONE {
                    let Node { copy, next } = self.nodes[old as usize];
                    nodes.push(Node { copy, next: if next == NONE { NONE } else { nodes.len() as u32 + 1 } });
                    old = next;
                }
                list.tail = nodes.len() as u32 - 1;
            }
        }
        (self.nodes, self.free) = (nodes, NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PORTS: usize = 4;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        /// Against all copies in one list.
        #[test]
        fn contract(
            steps in prop::collection::vec(
                (0..PORTS as u16, 0_u8..8, 0_u64..300, any::<bool>(), any::<bool>()), 1..300,
            ),
        ) {
            let of = |copy: &Queued| (copy.reception, copy.traffic_class, copy.shaped);
            let mut queues = Queues::new(PORTS);
            let mut all: Vec<Queued> = Vec::new();
            let mut now = 0;
            for (number, (reception, traffic_class, ahead, selects, shaped)) in steps.into_iter().enumerate() {
                let is_head = |copy: &&Queued| all.iter().find(|c| of(c) == of(copy)) == Some(*copy);
                let heads: Vec<Queued> = all.iter().filter(is_head).copied().collect();
                for class in 0..CLASSES {
                    let of_class = heads.iter().filter(|copy| usize::from(copy.traffic_class) == class);
                    let first = of_class.min_by_key(|copy| (copy.visible, copy.reception, copy.shaped));
                    prop_assert_eq!(queues.head(class), first);
                }
                if selects {
                    now += ahead;
                    prop_assert_eq!(queues.earliest(), heads.iter().map(|copy| copy.visible).min());
                    let expected = heads
                        .iter()
                        .filter(|copy| copy.visible <= now)
                        .min_by_key(|copy| (7 - copy.traffic_class, copy.visible, copy.reception, copy.shaped))
                        .copied();
                    let eligible = (0..CLASSES).rev().find(|&k| queues.candidate(k).is_some_and(|at| at <= now));
                    let selected = eligible.and_then(|class| queues.take(class));
                    prop_assert_eq!(selected, expected);
                    if let Some(copy) = selected {
                        all.retain(|other| *other != copy);
                    }
                } else {
                    let copy = Queued {
                        visible: now + ahead,
                        frame: number as u32,
                        bytes: 64,
                        reception, edit: Edit::NONE,
                        traffic_class,
                        pool: Pool::Shared,
                        shaped,
                    };
                    let first = !all.iter().any(|c| of(c) == of(&copy));
                    prop_assert_eq!(queues.push(copy), first);
                    all.push(copy);
                }
                prop_assert_eq!(queues.len(), all.len());
                for class in 0..CLASSES {
                    let mut found: Vec<Queued> = queues.of_class(class).copied().collect();
                    found.sort_by_key(|copy| copy.frame);
                    let expected: Vec<Queued> =
                        all.iter().filter(|copy| usize::from(copy.traffic_class) == class).copied().collect();
                    prop_assert_eq!(found, expected);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_copy_is_stored_with_the_length_that_it_came_with(stored in 64_u16..2000, growth in -8_i8..=8) {
            let edit = Edit::NONE.longer_by(growth);
            let bytes = stored.wrapping_add_signed(growth.into());
            prop_assert_eq!(Queued { bytes, edit, ..NOTHING }.stored_bytes(), stored);
        }
    }

    /// What a burst took is given back when it has left, whatever has stayed.
    #[test]
    fn memory_follows_what_is_queued() {
        let copy = |frame: u32, traffic_class: u8| Queued {
            visible: u64::from(frame),
            frame,
            bytes: 64,
            reception: (frame % 4) as u16,
            edit: Edit::NONE,
            traffic_class,
            pool: Pool::Shared,
            shaped: frame.is_multiple_of(3),
        };
        let mut queues = Queues::new(PORTS);
        let mut expected = Vec::new();
        for frame in 0..100_000 {
            let class = if frame % 1000 == 7 { 2 } else { 5 };
            queues.push(copy(frame, class));
            expected.extend((class == 2).then(|| copy(frame, class)));
        }
        let before = queues.nodes.capacity();
        while queues.take(5).is_some() {}
        assert!(before >= 100_000 && queues.nodes.capacity() <= 4 * KEPT, "{}", queues.nodes.capacity());
        // Behind those of the same queue.
        queues.push(copy(100_007, 2));
        expected.push(copy(100_007, 2));
        let left: Vec<Queued> = std::iter::from_fn(|| queues.take(2)).collect();
        assert_eq!(left, expected);
        assert!(queues.is_empty() && queues.nodes.capacity() <= 4 * KEPT);
    }
}
