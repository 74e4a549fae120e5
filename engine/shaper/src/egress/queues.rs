// SPDX-License-Identifier: Apache-2.0
//! The queues of one egress port. Twin of `pen_queue`.
//!
//! Two queues for each traffic class and reception port: of frames that an ATS scheduler held, and of others, so that a
//! class is served in the order of eligibility times (802.1Q 8.6.8.5), which either queue keeps. A queue's frames leave
//! in order; among the heads of a class the one that is visible first goes first, of equals the one of the lower
//! reception port, then the one that is not shaped.
use crate::admission::{Pool, CLASSES};

/// A copy in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The first instant at which it may be selected.
    pub visible: u64,
    pub frame: u32,
    pub bytes: u16,
    pub reception: u16,
    pub traffic_class: u8,
    pub pool: Pool,
    /// An ATS scheduler assigned its eligibility time, which else is that of its arrival.
    pub shaped: bool,
}

impl Queued {
    /// The queue of its class that it goes to.
    #[inline(always)]
    fn list(&self) -> u16 {
        self.reception << 1 | u16::from(self.shaped)
    }
}

const NONE: u32 = u32::MAX;

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

/// The head of a class that goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    visible: u64,
    list: u16,
}

/// One class.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Class {
    candidate: Candidate,
    /// Bit p: the queue of reception port p has frames; of those that are not shaped, and of those that are.
    filled: [u64; 2],
}

impl Class {
    #[inline(always)]
    fn has(&self, list: u16) -> bool {
        self.filled[usize::from(list & 1)] >> (list >> 1) & 1 == 1
    }

    #[inline(always)]
    fn flip(&mut self, list: u16) {
        self.filled[usize::from(list & 1)] ^= 1 << (list >> 1);
    }
}

#[derive(Clone, Debug)]
#[repr(C)]
pub struct Queues {
    lists: Vec<[List; CLASSES]>,
    nodes: Vec<Node>,
    free: u32,
    count: u32,
    /// Bit k: class k has a candidate.
    waiting: u8,
    classes: [Class; CLASSES],
}

impl Queues {
    /// Of an egress port of a bridge with at most 64 ports.
    pub fn new(ports: usize) -> Self {
        Self {
            lists: vec![[List { head: NONE, tail: NONE }; CLASSES]; 2 * ports],
            nodes: Vec::new(),
            free: NONE,
            count: 0,
            waiting: 0,
            classes: [Class { candidate: Candidate { visible: 0, list: 0 }, filled: [0; 2] }; CLASSES],
        }
    }

    pub fn len(&self) -> usize {
        self.count as usize
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether the copy stands at the head of its queue.
    #[inline(always)]
    pub fn push(&mut self, copy: Queued) -> bool {
        let node = Node { copy, next: NONE };
        let index = if self.free == NONE {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        } else {
            let index = self.free;
            self.free = self.nodes[index as usize].next;
            self.nodes[index as usize] = node;
            index
        };
        self.count += 1;
        let class = usize::from(copy.traffic_class);
        let number = copy.list();
        let list = &mut self.lists[usize::from(number)][class];
        let state = &mut self.classes[class];
        if state.has(number) {
            self.nodes[list.tail as usize].next = index;
            list.tail = index;
            return false;
        }
        *list = List { head: index, tail: index };
        state.flip(number);
        let offer = Candidate { visible: copy.visible, list: number };
        if self.waiting >> class & 1 == 0 || offer < state.candidate {
            state.candidate = offer;
            self.waiting |= 1 << class;
        }
        true
    }

    /// The first instant at which any copy may be selected.
    #[inline]
    pub fn earliest(&self) -> Option<u64> {
        let mut classes = self.waiting;
        let mut earliest = None;
        while classes != 0 {
            let visible = self.classes[classes.trailing_zeros() as usize].candidate.visible;
            classes &= classes - 1;
            earliest = Some(earliest.map_or(visible, |e: u64| e.min(visible)));
        }
        earliest
    }

    /// Whether the queue that a copy is of, or was of, has frames.
    pub fn is_filled(&self, copy: &Queued) -> bool {
        self.classes[usize::from(copy.traffic_class)].has(copy.list())
    }

    /// Bit k: class k has frames.
    #[inline(always)]
    pub fn waiting(&self) -> u8 {
        self.waiting
    }

    /// Whether the head that goes first, of a class that has one, may be selected.
    #[inline(always)]
    pub fn is_eligible(&self, class: usize, now: u64) -> bool {
        self.classes[class].candidate.visible <= now
    }

    /// When the head of a class that goes first becomes visible.
    pub fn candidate(&self, traffic_class: usize) -> Option<u64> {
        (self.waiting >> traffic_class & 1 == 1).then(|| self.classes[traffic_class].candidate.visible)
    }

    /// The head of a class that goes first.
    pub fn head(&self, traffic_class: usize) -> Option<&Queued> {
        let list = &self.lists[usize::from(self.classes[traffic_class].candidate.list)][traffic_class];
        (self.waiting >> traffic_class & 1 == 1).then(|| &self.nodes[list.head as usize].copy)
    }

    /// Takes out the candidate of a class that has one.
    #[inline]
    pub fn take(&mut self, traffic_class: usize) -> Option<Queued> {
        (self.waiting >> traffic_class & 1 == 1).then(|| self.pop(traffic_class))
    }

    #[inline]
    fn pop(&mut self, class: usize) -> Queued {
        let state = &mut self.classes[class];
        let number = state.candidate.list;
        let list = &mut self.lists[usize::from(number)][class];
        let index = list.head;
        let node = self.nodes[index as usize];
        list.head = node.next;
        if node.next == NONE {
            state.flip(number);
        }
        self.nodes[index as usize].next = self.free;
        self.free = index;
        self.count -= 1;
        self.look(class);
        node.copy
    }

    /// Finds the candidate of a class among its heads.
    fn look(&mut self, class: usize) {
        let filled = self.classes[class].filled;
        if filled == [0; 2] {
            self.waiting &= !(1 << class);
            return;
        }
        let mut best = Candidate { visible: u64::MAX, list: u16::MAX };
        for (shaped, mut heads) in (0..).zip(filled) {
            while heads != 0 {
                let list = (heads.trailing_zeros() as u16) << 1 | shaped;
                heads &= heads - 1;
                let head = self.lists[usize::from(list)][class].head;
                best = best.min(Candidate { visible: self.nodes[head as usize].copy.visible, list });
            }
        }
        self.classes[class].candidate = best;
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
                if selects {
                    now += ahead;
                    let heads = |copy: &&Queued| all.iter().find(|c| of(c) == of(copy)) == Some(*copy);
                    let earliest = all.iter().filter(heads).map(|copy| copy.visible).min();
                    prop_assert_eq!(queues.earliest(), earliest);
                    let expected = all
                        .iter()
                        .filter(heads)
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
                        reception,
                        traffic_class,
                        pool: Pool::Shared,
                        shaped,
                    };
                    let first = !all.iter().any(|c| of(c) == of(&copy));
                    prop_assert_eq!(queues.push(copy), first);
                    all.push(copy);
                }
                prop_assert_eq!(queues.len(), all.len());
            }
        }
    }
}
