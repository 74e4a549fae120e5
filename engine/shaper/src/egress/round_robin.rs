// SPDX-License-Identifier: Apache-2.0
//! Round robin among the classes of one level, frame by frame: a vendor-specific transmission selection algorithm in the
//! words of 802.1Q 8.6.8. Twin of `pen_selection`.
//!
//! Members of the level take turns; to all other classes the level is one class with the priority of its highest member.

/// The level of a port, and whose turn it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RoundRobin {
    /// Bit k: class k is a member.
    members: u8,
    /// The member that was served last. At first none was: the highest comes first.
    last: u8,
}

impl RoundRobin {
    /// The turn stays where it is, whatever the members are.
    pub fn set_members(&mut self, members: u8) {
        self.members = members;
    }

    pub fn members(self) -> u8 {
        self.members
    }

    /// Of classes that may be served, with strict priority among levels: the member to which the turn comes, if it is the
    /// level's, is the next one below the member served last, and after the lowest the highest.
    #[inline(always)]
    pub fn first(self, classes: u8) -> Option<usize> {
        let highest = super::strict::first(classes);
        if self.members == 0 {
            return highest;
        }
        self.of_level(classes, highest)
    }

    fn of_level(self, classes: u8, highest: Option<usize>) -> Option<usize> {
        let waiting = classes & self.members;
        let strict = classes & !self.members;
        if waiting == 0 || strict > self.members {
            return highest;
        }
        let below = waiting & ((1 << self.last) - 1);
        super::strict::first(if below == 0 { waiting } else { below })
    }

    /// A class is served.
    #[inline(always)]
    pub fn served(&mut self, class: u8) {
        if self.members >> class & 1 == 1 {
            self.last = class;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Serves one of these classes.
    fn serve(turns: &mut RoundRobin, classes: u8) -> Option<usize> {
        let class = turns.first(classes)?;
        turns.served(class as u8);
        Some(class)
    }

    #[test]
    fn members_take_turns_from_the_highest_down() {
        let mut turns = RoundRobin::default();
        turns.set_members(0b0000_1011);
        let served: Vec<_> = (0..7).map(|_| serve(&mut turns, 0b0000_1011).unwrap()).collect();
        assert_eq!(served, [3, 1, 0, 3, 1, 0, 3]);
        assert_eq!(serve(&mut turns, 0b0000_0001), Some(0), "who has nothing is passed over");
        assert_eq!(serve(&mut turns, 0b0000_0011), Some(1), "and the turn goes on behind the one served");
    }

    #[test]
    fn the_level_has_the_priority_of_its_highest_member() {
        let mut turns = RoundRobin::default();
        turns.set_members(0b0010_0010);
        assert_eq!(serve(&mut turns, 0b0100_0010), Some(6));
        assert_eq!(serve(&mut turns, 0b0001_0010), Some(1), "class 4 is below class 5, for which class 1 stands here");
        assert_eq!(serve(&mut turns, 0b0001_0000), Some(4));
        assert_eq!(serve(&mut turns, 0b0011_0010), Some(5), "class 4 took no turn");
    }

    #[test]
    fn a_change_of_members_keeps_the_turn() {
        let mut turns = RoundRobin::default();
        turns.set_members(0b1111);
        assert_eq!((serve(&mut turns, 0b1111), serve(&mut turns, 0b1111)), (Some(3), Some(2)));
        turns.set_members(0);
        assert_eq!(serve(&mut turns, 0b1111), Some(3), "strict");
        turns.set_members(0b0111);
        assert_eq!(serve(&mut turns, 0b0111), Some(1));
    }

    proptest! {
        /// Against a list of the members in the order of their turns.
        #[test]
        fn as_a_ring(steps in prop::collection::vec((any::<u8>(), prop::option::weighted(0.1, any::<u8>())), 1..200)) {
            let (mut turns, mut last, mut members) = (RoundRobin::default(), 0_u8, 0_u8);
            for (classes, change) in steps {
                if let Some(change) = change {
                    (turns, members) = ({ turns.set_members(change); turns }, change);
                }
                let ring = (1..=8).map(|step| (last + 8 - step) % 8);
                let is = |mask: u8, class: u8| mask >> class & 1 == 1;
                let member = ring.into_iter().find(|&class| is(members & classes, class));
                let rank = |class: u8| if is(members, class) { 7 - members.leading_zeros() as u8 } else { class };
                let others = (0..8).filter(|&class| is(classes & !members, class));
                let expected = others.chain(member).max_by_key(|&class| rank(class));
                prop_assert_eq!(serve(&mut turns, classes), expected.map(usize::from));
                if let Some(class) = expected.filter(|&class| is(members, class)) {
                    last = class;
                }
            }
        }
    }
}
