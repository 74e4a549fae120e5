// SPDX-License-Identifier: Apache-2.0
//! Stations whose port has shapers.
use super::Kernel;
use crate::bridge::{reason, Selection};
use crate::error::RunError;
use crate::queue::{self, Kind};
use crate::source::Release;
use crate::station::CLASSES;
use crate::trace::{Event, Reason};

impl Kernel {
    /// A frame comes to the port of a shaped station.
    #[cold]
    pub(super) fn queue_shaped(&mut self, now: u64, talker: u32, slot: u32, traffic_class: u8) {
        let node = self.node_of(talker);
        let bytes = self.frames.get(slot).bytes;
        let station = &mut self.stations[talker as usize];
        let clock = station.clock;
        let Some(port) = &mut station.shaped else { return };
        let tick = clock.at_or_after(now);
        if port.is_too_long(tick, traffic_class, bytes) {
            self.drop_shaped(node, slot, now, traffic_class, reason::MAX_SDU);
            return;
        }
        let class = usize::from(traffic_class) % CLASSES;
        if !station.room[class].take(bytes) {
            self.drop_shaped(node, slot, now, traffic_class, reason::QUEUE_FULL);
            return;
        }
        if let Some(due) = port.queue(tick, slot, traffic_class, bytes) {
            self.queue.push(queue::Event::new(clock.time(due), Kind::Select, node, 0));
        }
    }

    /// The port of a shaped station selects.
    #[cold]
    pub(super) fn talk_shaped(&mut self, now: u64, index: u32) -> Result<(), RunError> {
        let node = self.node_of(index);
        let station = &mut self.stations[index as usize];
        let (clock, wire) = (station.clock, station.wire);
        let Some(port) = &mut station.shaped else { return Ok(()) };
        let selection = port.select(clock.at_or_before(now));
        let next = match selection {
            Selection::Stale => None,
            Selection::Idle { next } | Selection::Sent { next, .. } | Selection::Expired { next, .. } => next,
        };
        if let Some(next) = next {
            self.queue.push(queue::Event::new(clock.time(next), Kind::Select, node, 0));
        }
        match selection {
            Selection::Sent { frame: slot, traffic_class, first, bytes, .. } => {
                station.room[usize::from(traffic_class) % CLASSES].give(bytes);
                let again = clock.time(port.spent());
                let first = clock.time(first);
                let mut frame = self.frames.remove(slot);
                self.ledger.send(&mut frame, first);
                self.release_again(frame.stream, again);
                self.row(&frame, (node, 0), Event::Sent, first, traffic_class, Reason::NONE);
                self.enter(frame, wire, first)
            }
            Selection::Expired { frame, traffic_class, reason, at, .. } => {
                station.room[usize::from(traffic_class) % CLASSES].give(self.frames.get(frame).bytes);
                self.drop_shaped(node, frame, clock.time(at), traffic_class, reason);
                Ok(())
            }
            Selection::Stale | Selection::Idle { .. } => Ok(()),
        }
    }

    fn drop_shaped(&mut self, node: u32, slot: u32, at: u64, traffic_class: u8, reason: Reason) {
        let frame = self.frames.get(slot);
        let (stream, bytes) = (frame.stream, u32::from(frame.bytes));
        self.drop_at_talker(node, slot, at, traffic_class, reason);
        let station = &self.stations[self.origins[stream as usize].talker as usize];
        let again = station.clock.after(at, station.wire.rate.occupancy(bytes));
        self.release_again(stream, again);
    }

    /// A stream that always has a frame has its next one at a time, so that one of it is always in the queue.
    fn release_again(&mut self, index: u32, at: u64) {
        let stream = &mut self.origins[index as usize];
        let Some(Release::WhenFree(_)) = stream.generator.next_release() else { return };
        let pause = if stream.generator.has_jitter() { stream.generator.pause() } else { 0 };
        let talker = stream.talker;
        let again = self.stations[talker as usize].clock.after(at, pause);
        if again < self.duration {
            let node = self.node_of(talker);
            self.queue.push(queue::Event::new(again, Kind::Release, node, index));
        }
    }
}
