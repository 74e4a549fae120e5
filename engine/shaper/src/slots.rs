// SPDX-License-Identifier: Apache-2.0
//! The transmission schedule of a network card with time slots, as a gate control list: Scionti et al., section IV.
//!
//! The card's registers say for how long each queue may send (timeslot queue control register, TQCR) and in which order
//! queues have their slots (schedule control registers, SCR). An entry of the list opens one queue for its slot; what is
//! left of the cycle opens all queues without a slot, which take turns. The rest follows from gates (802.1Q 8.6.8.4):
//! a slot stays with its queue when that is empty, and no frame begins that would not end before its gate closes. Where
//! that is not enough, as with a device that sends later than its gates say, a guard closes the end of each slot.
use thiserror::Error;

/// Queues at most: a gate each.
pub const MOST_QUEUES: u8 = 16;
/// Slots at most in a cycle.
pub const MOST_SLOTS: usize = 128;

/// What the registers hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Schedule {
    /// By queue: how long its slot is, its guard included; 0 for a queue without one.
    pub slot_ns: Vec<u32>,
    /// The queue of each slot. None: no slots, all queues take turns.
    pub order: Vec<u8>,
    /// After so long the first slot begins again; what the slots leave of it is free.
    pub cycle_ns: u32,
    /// For so long no queue is open at the end of each slot and of free time, beyond what 802.1Q keeps free for each frame.
    pub guard_ns: u32,
}

/// An entry of the gate control list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Opening {
    /// Bit k: queue k may send.
    pub queues: u16,
    pub interval_ns: u32,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ScheduleError {
    #[error("the schedule is for {queues} queues; 1 to {most} are allowed")]
    Queues { queues: usize, most: usize },
    #[error("the schedule has {slots} slots; up to {most} are allowed")]
    Slots { slots: usize, most: usize },
    #[error("slot {slot} is of queue {queue}, which is not there; 0 to {last} are allowed")]
    UnknownQueue { slot: usize, queue: u8, last: usize },
    #[error("slot {slot} is of queue {queue}, which has no time; give it some, or no slot")]
    NoTime { slot: usize, queue: u8 },
    #[error("queue {queue} has {slot_ns} ns and no slot in the order; name it there, or give it 0 ns")]
    NotInOrder { queue: usize, slot_ns: u32 },
    #[error("the slots take {slots_ns} ns, more than the cycle of {cycle_ns} ns; shorter slots or a longer cycle are allowed")]
    TooLong { slots_ns: u64, cycle_ns: u32 },
    #[error(
        "a cycle of {cycle_ns} ns and {slots} slots; with slots 1 ns or more, without slots no cycle and no guard"
    )]
    Cycle { cycle_ns: u32, slots: usize },
    #[error("{what} takes {interval_ns} ns, less than the longest frame and its guard, so that none would begin; {least_ns} ns or more are allowed")]
    TooShort { what: Part, interval_ns: u64, least_ns: u64 },
    #[error(
        "queue {queue} has slots of {one_ns} ns and of {other_ns} ns; one length for all slots of a queue is allowed"
    )]
    TwoLengths { queue: usize, one_ns: u32, other_ns: u32 },
    #[error("entry {entry} opens queues {queues:#b} for {interval_ns} ns; one queue is allowed, and at the end of the list all without a slot")]
    NoSlot { entry: usize, queues: u16, interval_ns: u32 },
}

/// What is too short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    SlotOf(u8),
    Free,
}

impl std::fmt::Display for Part {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SlotOf(queue) => write!(formatter, "the slot of queue {queue}"),
            Self::Free => write!(formatter, "what is free of the cycle"),
        }
    }
}

impl Schedule {
    /// The gate control list, whose entries fill the cycle exactly; empty if there are no slots. The longest frame takes
    /// `frame_ns` with preamble, delimiter and gap.
    ///
    /// # Errors
    /// What no card could do, or a queue that would never send.
    pub fn compile(&self, frame_ns: u64) -> Result<Vec<Opening>, ScheduleError> {
        self.check()?;
        let least_ns = frame_ns.max(1) + u64::from(self.guard_ns);
        let mut list = Vec::with_capacity(2 * self.order.len() + 2);
        let mut unscheduled = all(self.slot_ns.len());
        for &queue in &self.order {
            let interval_ns = self.slot_ns[usize::from(queue)];
            if u64::from(interval_ns) < least_ns {
                return Err(ScheduleError::TooShort {
                    what: Part::SlotOf(queue),
                    interval_ns: interval_ns.into(),
                    least_ns,
                });
            }
            unscheduled &= !(1 << queue);
            self.open(&mut list, 1 << queue, interval_ns);
        }
        let free_ns = (u64::from(self.cycle_ns) - self.slots_ns()) as u32;
        if free_ns > 0 {
            if unscheduled == 0 {
                list.push(Opening { queues: 0, interval_ns: free_ns });
            } else if u64::from(free_ns) < least_ns {
                return Err(ScheduleError::TooShort { what: Part::Free, interval_ns: free_ns.into(), least_ns });
            } else {
                self.open(&mut list, unscheduled, free_ns);
            }
        }
        Ok(list)
    }

    /// A schedule for so many queues that a gate control list is of. Where several are, as of free time for a single queue,
    /// they act alike.
    ///
    /// # Errors
    /// The list is of none.
    pub fn of_gates(queues: usize, list: &[Opening]) -> Result<Self, ScheduleError> {
        if queues == 0 || queues > usize::from(MOST_QUEUES) {
            return Err(ScheduleError::Queues { queues, most: MOST_QUEUES.into() });
        }
        let guard_ns = guard_of(list);
        let mut found = Self { slot_ns: vec![0; queues], guard_ns, ..Self::default() };
        let mut unscheduled = all(queues);
        let mut cycle_ns = 0_u32;
        let step = if guard_ns > 0 { 2 } else { 1 };
        for (number, part) in list.chunks(step).enumerate() {
            let Opening { queues: mask, interval_ns } = part[0];
            let no_slot = ScheduleError::NoSlot { entry: number * step, queues: mask, interval_ns };
            let whole_ns = part.iter().try_fold(0_u32, |sum, each| sum.checked_add(each.interval_ns));
            let whole_ns = whole_ns.filter(|&ns| ns > 0).ok_or_else(|| no_slot.clone())?;
            cycle_ns = cycle_ns.checked_add(whole_ns).ok_or_else(|| no_slot.clone())?;
            let queue = mask.trailing_zeros() as usize;
            let is_last = (number + 1) * step >= list.len() && number > 0;
            if mask.is_power_of_two() && queue < queues {
                let slot_ns = &mut found.slot_ns[queue];
                if *slot_ns != 0 && *slot_ns != whole_ns {
                    return Err(ScheduleError::TwoLengths { queue, one_ns: *slot_ns, other_ns: whole_ns });
                }
                *slot_ns = whole_ns;
                unscheduled &= !mask;
                found.order.push(queue as u8);
            } else if !is_last || mask != unscheduled {
                return Err(no_slot);
            }
        }
        found.cycle_ns = cycle_ns;
        found.check()?;
        Ok(found)
    }

    fn open(&self, list: &mut Vec<Opening>, queues: u16, interval_ns: u32) {
        list.push(Opening { queues, interval_ns: interval_ns - self.guard_ns });
        if self.guard_ns > 0 {
            list.push(Opening { queues: 0, interval_ns: self.guard_ns });
        }
    }

    fn slots_ns(&self) -> u64 {
        self.order.iter().map(|&queue| u64::from(self.slot_ns[usize::from(queue)])).sum()
    }

    /// What can be said without a frame.
    fn check(&self) -> Result<(), ScheduleError> {
        let (queues, most) = (self.slot_ns.len(), usize::from(MOST_QUEUES));
        if queues == 0 || queues > most {
            return Err(ScheduleError::Queues { queues, most });
        }
        let slots = self.order.len();
        if slots > MOST_SLOTS {
            return Err(ScheduleError::Slots { slots, most: MOST_SLOTS });
        }
        for (slot, &queue) in self.order.iter().enumerate() {
            match self.slot_ns.get(usize::from(queue)) {
                None => return Err(ScheduleError::UnknownQueue { slot, queue, last: queues - 1 }),
                Some(0) => return Err(ScheduleError::NoTime { slot, queue }),
                Some(_) => {}
            }
        }
        for (queue, &slot_ns) in self.slot_ns.iter().enumerate() {
            if slot_ns > 0 && !self.order.iter().any(|&named| usize::from(named) == queue) {
                return Err(ScheduleError::NotInOrder { queue, slot_ns });
            }
        }
        let (slots_ns, cycle_ns) = (self.slots_ns(), self.cycle_ns);
        if (cycle_ns == 0) != self.order.is_empty() || (self.order.is_empty() && self.guard_ns > 0) {
            return Err(ScheduleError::Cycle { cycle_ns, slots });
        }
        if slots_ns > u64::from(cycle_ns) {
            return Err(ScheduleError::TooLong { slots_ns, cycle_ns });
        }
        Ok(())
    }
}

fn all(queues: usize) -> u16 {
    u16::MAX >> (usize::from(MOST_QUEUES) - queues)
}

/// The guard of a list in which each entry is followed by one that closes all, equally long; what nobody may use can be
/// behind them. 0: it has none.
fn guard_of(list: &[Opening]) -> u32 {
    let (pairs, rest) = list.split_at(list.len() / 2 * 2);
    let Some(&[_, Opening { interval_ns, .. }]) = pairs.first_chunk::<2>() else { return 0 };
    let is_guard = |pair: &[Opening]| pair[0].queues != 0 && pair[1] == Opening { queues: 0, interval_ns };
    let is_of_guards = pairs.chunks(2).all(is_guard) && rest.iter().all(|free| free.queues == 0);
    if is_of_guards {
        interval_ns
    } else {
        0
    }
}

#[cfg(test)]
mod tests;
