// SPDX-License-Identifier: Apache-2.0
//! ATS of a card: a scheduler for each transmit queue, a group for each class of its port. The state machines are the engine's;
//! twin of `pen_nic_ats`, which joins those of hardware.
use penstock_shaper::admission::CLASSES;
use penstock_shaper::ats::{process_frame, visible_cycle, Group, Rate, Scheduler};
use penstock_shaper::egress::Tick;

use crate::card::MOST_PAIRS;

/// Preamble, delimiter and gap.
pub const OVERHEAD_BYTES: u32 = 20;

#[derive(Clone, Debug)]
pub struct Schedulers {
    /// Is added to eligibility times.
    processing_delay_max_ns: u32,
    enabled: u16,
    overhead_bytes: u32,
    schedulers: [Scheduler; MOST_PAIRS],
    groups: [Group; CLASSES],
}

impl Schedulers {
    /// Of no queue yet.
    pub fn new(processing_delay_max_ns: u32) -> Self {
        Self {
            processing_delay_max_ns,
            enabled: 0,
            overhead_bytes: OVERHEAD_BYTES,
            schedulers: [Scheduler::new(Rate::from_bits(0, 0)); MOST_PAIRS],
            groups: [Group::default(); CLASSES],
        }
    }

    /// Queues with ATS, bit k for queue k, and what counts of a frame beside itself.
    pub fn set(&mut self, enabled: u16, overhead_bytes: u32) {
        (self.enabled, self.overhead_bytes) = (enabled, overhead_bytes);
    }

    pub fn is_enabled(&self, queue: usize) -> bool {
        self.enabled >> queue & 1 == 1
    }

    /// The bucket becomes full.
    pub fn set_rate(&mut self, queue: usize, rate: Rate) {
        self.schedulers[queue] = Scheduler::new(rate);
    }

    pub fn set_max_residence_ns(&mut self, class: usize, max_residence_ns: u32) {
        self.groups[class].set_max_residence_ns(max_residence_ns);
    }

    /// The first cycle in which a frame may be selected that is whole in the card at a time; None: it would wait for too long.
    pub fn process(&mut self, queue: usize, arrival_ns: u64, bytes: u16) -> Option<Tick> {
        let group = &mut self.groups[queue % CLASSES];
        let length = u32::from(bytes) + self.overhead_bytes;
        let eligible = process_frame(group, &mut self.schedulers[queue], arrival_ns, length)?;
        Some(visible_cycle(eligible, self.processing_delay_max_ns))
    }
}
