// SPDX-License-Identifier: Apache-2.0
//! A kernel of a part of a network. A frame that goes on in another one is handed over as a value.
use std::sync::Arc;

use super::Kernel;
use crate::error::RunError;
use crate::link::Wire;
use crate::nodes::Member;
use crate::outbox::Coming;
use crate::partition::exchange::{Crossing, Exchange};
use crate::partition::notes::{Batch, PARTITION_SHIFT};
use crate::queue::Event;
use crate::trace::Trace;
use penstock_shaper::Time;

pub(crate) struct Border {
    partition: usize,
    exchange: Arc<Exchange>,
    /// Stations of this partition.
    stations: Vec<bool>,
    /// By the event that was acted on last.
    has_crossed: bool,
}

impl Border {
    pub fn new(partition: usize, exchange: Arc<Exchange>, stations: Vec<bool>) -> Self {
        Self { partition, exchange, stations, has_crossed: false }
    }
}

impl Kernel {
    /// Before the first event of a partition.
    pub fn begin_part(&mut self) {
        if let Some(border) = &self.border {
            self.around.ledger.note(self.around.trace.is_wanted(), (border.partition as u64) << PARTITION_SHIFT);
        }
        self.begin();
    }

    pub fn has_trace(&self) -> bool {
        self.around.trace.is_wanted()
    }

    pub(super) fn is_own(&self, station: u32) -> bool {
        self.border.as_ref().is_none_or(|border| border.stations[station as usize])
    }

    pub(super) fn cross(&mut self, slot: u32, to: u32, wire: Wire, arrives: Time, is_damaged: bool) {
        let Some(border) = &mut self.border else { return };
        border.has_crossed = true;
        let mut frame = self.around.frames.remove(slot);
        self.around.ledger.part(&mut frame);
        let crossing = Crossing { frame, bridge: wire.node, port: wire.port, is_damaged, arrives, promised: 0 };
        border.exchange.post(border.partition, to as usize, crossing);
    }

    /// A copy comes from another partition; gives its judgement.
    pub fn come(&mut self, crossing: Crossing) -> Option<Event> {
        let Crossing { frame, bridge: node, port, is_damaged, arrives, .. } = crossing;
        let Member::Bridge(bridge) = &mut self.members[node as usize] else { return None };
        let slot = self.around.frames.insert(frame);
        let damaged = is_damaged.then_some(0);
        let mut coming = Coming { slot, node, traffic_class: Trace::NO_CLASS, damaged, around: &mut self.around };
        let (_, judgement) = bridge.take_in(arrives, port, &mut coming);
        Some(judgement)
    }

    /// Acts on some events before a time, up to one that makes a frame cross; on how many, and up to when.
    pub fn go_on(&mut self, until: Time, most: u32) -> Result<(u32, Time), RunError> {
        let mut day = self.around.queue.day();
        let mut now = until;
        for acted in 1..=most {
            let Some(event) = self.around.queue.pop_before(until) else { return Ok((acted - 1, until)) };
            if self.around.is_large && self.around.queue.day() != day {
                day = self.around.queue.day();
                self.bring_releases();
            }
            self.act(event)?;
            let created = self.around.ledger.created();
            if let Some(notes) = &mut self.around.ledger.notes {
                notes.mark(event, self.around.trace.chunk.len(), created);
            }
            now = event.time();
            if self.border.as_mut().is_some_and(|border| std::mem::take(&mut border.has_crossed)) {
                return Ok((acted, now));
            }
        }
        Ok((most, now))
    }

    pub fn next_time(&mut self) -> Option<Time> {
        self.around.queue.next_time()
    }

    /// See [`crate::queue::Queue::survey`].
    pub fn survey(&self, seen: impl FnMut(Event) -> Time) {
        self.around.queue.survey(seen);
    }

    /// Rows that were not handed out.
    pub fn rows(&self) -> usize {
        self.around.trace.chunk.len()
    }

    /// What was noted since the last one; none: nothing was.
    pub fn batch(&mut self) -> Option<Batch> {
        let from = self.border.as_ref()?.partition;
        let notes = self.around.ledger.notes.as_mut().filter(|notes| !notes.is_empty())?;
        Some(notes.batch(from, std::mem::take(&mut self.around.trace.chunk)))
    }

    pub fn flush(&mut self) -> Result<(), RunError> {
        self.around.captures.flush()
    }
}
