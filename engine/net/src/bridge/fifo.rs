// SPDX-License-Identifier: Apache-2.0
//! First in, first out. The place of the next one is known, so that it can be fetched ahead.
use prefetch_index::prefetch_index;

#[derive(Clone, Debug)]
pub struct Fifo<T> {
    /// A power of two.
    slots: Vec<T>,
    head: usize,
    len: usize,
}

impl<T: Clone + Default> Fifo<T> {
    pub fn new() -> Self {
        Self { slots: vec![T::default(); 4], head: 0, len: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn place(&self, index: usize) -> usize {
        (self.head + index) & (self.slots.len() - 1)
    }

    #[inline]
    pub fn push_back(&mut self, value: T) {
        if self.len == self.slots.len() {
            self.slots.rotate_left(self.head);
            self.head = 0;
            self.slots.resize(2 * self.len, T::default());
        }
        let place = self.place(self.len);
        self.slots[place] = value;
        self.len += 1;
    }

    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let value = std::mem::take(&mut self.slots[self.head]);
        self.head = self.place(1);
        self.len -= 1;
        Some(value)
    }

    pub fn get(&self, index: usize) -> Option<&T> {
        (index < self.len).then(|| &self.slots[self.place(index)])
    }

    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let place = self.place(index);
        (index < self.len).then(|| &mut self.slots[place])
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).map(|index| &self.slots[self.place(index)])
    }

    /// Something of the first one, or else what is given; without a branch.
    #[inline]
    pub fn of_first<R: Copy>(&self, of: impl FnOnce(&T) -> R, none: R) -> R {
        let first = of(&self.slots[self.head]);
        if self.len == 0 {
            none
        } else {
            first
        }
    }

    /// Has the place of the next one fetched into the cache.
    #[inline]
    pub fn bring_place(&self) {
        prefetch_index(&self.slots, self.place(self.len));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn equal_to_a_deque(pushes in prop::collection::vec(any::<bool>(), 1..200)) {
            let (mut fifo, mut deque) = (Fifo::new(), VecDeque::new());
            for (number, push) in pushes.into_iter().enumerate() {
                if push {
                    fifo.push_back(number);
                    deque.push_back(number);
                } else {
                    prop_assert_eq!(fifo.pop_front(), deque.pop_front());
                }
                prop_assert!(fifo.iter().eq(deque.iter()));
                prop_assert_eq!((fifo.len(), fifo.get(1)), (deque.len(), deque.get(1)));
                prop_assert_eq!(fifo.of_first(|first| Some(*first), None), deque.front().copied());
            }
        }
    }
}
