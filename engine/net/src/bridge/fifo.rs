// SPDX-License-Identifier: Apache-2.0
//! First in, first out. The first one lies in the queue itself, since there is seldom another.
use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Fifo<T> {
    len: u32,
    first: T,
    /// Those after the first, if there ever were any.
    #[allow(clippy::box_collection)] // a whole deque would take half a line of the cache
    more: Option<Box<VecDeque<T>>>,
}

impl<T: Default> Fifo<T> {
    pub fn len(&self) -> usize {
        self.len as usize
    }

    #[inline(always)]
    pub fn push_back(&mut self, value: T) {
        if self.len == 0 {
            self.first = value;
        } else {
            self.more.get_or_insert_default().push_back(value);
        }
        self.len += 1;
    }

    /// The place of the last one keeps what it was left with.
    #[inline(always)]
    pub fn drop_front(&mut self) {
        self.len = self.len.saturating_sub(1);
        if self.len > 0 {
            self.first = self.more.as_mut().and_then(|more| more.pop_front()).unwrap_or_default();
        }
    }

    pub fn get(&self, index: usize) -> Option<&T> {
        match index {
            0 => (self.len > 0).then_some(&self.first),
            _ => self.more.as_ref()?.get(index - 1),
        }
    }

    #[inline(always)]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        match index {
            0 => (self.len > 0).then_some(&mut self.first),
            _ => self.more.as_mut()?.get_mut(index - 1),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.get(0).into_iter().chain(self.more.iter().flat_map(|more| more.iter()))
    }

    /// Something of the first one, or else what is given; without a branch.
    #[inline]
    pub fn of_first<R: Copy>(&self, of: impl FnOnce(&T) -> R, none: R) -> R {
        let first = of(&self.first);
        if self.len == 0 {
            none
        } else {
            first
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equal_to_a_deque(pushes in prop::collection::vec(any::<bool>(), 1..200)) {
            let (mut fifo, mut deque) = (Fifo::default(), VecDeque::new());
            for (number, push) in pushes.into_iter().enumerate() {
                if push {
                    fifo.push_back(number);
                    deque.push_back(number);
                } else {
                    prop_assert_eq!(fifo.get_mut(0), deque.front_mut());
                    fifo.drop_front();
                    deque.pop_front();
                }
                prop_assert!(fifo.iter().eq(deque.iter()));
                prop_assert_eq!((fifo.len(), fifo.get(1)), (deque.len(), deque.get(1)));
                prop_assert_eq!(fifo.of_first(|first| Some(*first), None), deque.front().copied());
            }
        }
    }
}
