// SPDX-License-Identifier: Apache-2.0
//! How deep the queues of a port were.
use penstock_shaper::Time;
use std::collections::VecDeque;

/// Changes that are kept until later ones have come: what a node tells of one port is nearly in the order of time, a
/// departure comes before it happens by as much as its preamble takes.
const WINDOW: usize = 256;

/// The most bytes that waited for a port at once. At one instant frames leave before others come.
#[derive(Clone, Debug, Default)]
pub(super) struct Depth {
    /// In the order of time: so many bytes came (above zero) or left.
    changes: VecDeque<(Time, i64)>,
    now: i64,
    most: i64,
}

impl Depth {
    #[inline]
    pub fn change(&mut self, time_ps: Time, bytes: i64) {
        let change = (time_ps, bytes);
        let after = self.changes.iter().rev().take_while(|known| **known > change).count();
        self.changes.insert(self.changes.len() - after, change);
        if self.changes.len() > WINDOW {
            let first = self.changes.pop_front();
            first.into_iter().for_each(|(_, bytes)| self.settle(bytes));
        }
    }

    #[inline]
    fn settle(&mut self, bytes: i64) {
        self.now += bytes;
        self.most = self.most.max(self.now);
    }

    pub fn most(&self) -> u64 {
        let mut whole = Self { changes: VecDeque::new(), ..*self };
        self.changes.iter().for_each(|&(_, bytes)| whole.settle(bytes));
        whole.most.unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_telling_is_not_that_of_time() {
        let mut depth = Depth::default();
        // The first is told to leave at 30 before the second comes at 20; the third comes as the second leaves.
        for (time, bytes) in [(10, 100), (30, -100), (20, 60), (40, -60), (40, 90), (50, -90)] {
            depth.change(time, bytes);
        }
        assert_eq!(depth.most(), 160);
    }

    #[test]
    fn of_long_runs_the_greatest_stays_though_the_changes_do_not() {
        let mut depth = Depth::default();
        for round in 0..1_000_u64 {
            let bytes = if round == 300 { 1_500 } else { 64 };
            depth.change(round * 100, bytes);
            depth.change(round * 100 + 150, -bytes);
        }
        assert_eq!(depth.most(), 1_564);
        assert!(depth.changes.len() <= WINDOW);
    }
}
