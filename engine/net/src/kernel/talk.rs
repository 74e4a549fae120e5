// SPDX-License-Identifier: Apache-2.0
//! Stations: releases, and what is sent when.
use super::Kernel;
use crate::error::RunError;
use crate::frame::Content;
use crate::queue::{self, Kind};
use crate::source::{Release, Released};
use crate::station::{Enqueued, Selected, Sent};
use crate::trace::{Event, Reason, Trace};

impl Kernel {
    /// Tells stations that make them on selection which streams always have a frame for them.
    pub(super) fn add_greedy(&mut self) {
        for (index, origin) in self.origins.iter().enumerate() {
            let station = &mut self.stations[origin.talker as usize];
            if !station.makes_frames() {
                continue; // one frame of it is always in the queue
            }
            if let Some(Release::WhenFree(_)) = origin.generator.next_release() {
                let class = station.class_of_pcp[usize::from(origin.generator.pcp() & 7)];
                station.add_greedy(index as u32, class);
            }
        }
    }

    /// Puts the next release of a stream into the queue, if it is in this run.
    pub(super) fn plan_release(&mut self, index: u32) {
        let stream = &mut self.origins[index as usize];
        let clock = self.stations[stream.talker as usize].clock;
        let time = loop {
            match stream.generator.next_release() {
                None | Some(Release::OnRequest) => return,
                Some(Release::WhenFree(start)) => {
                    let pause = stream.generator.pause();
                    break clock.time_of_schedule(start.saturating_add(pause)).unwrap_or(0);
                }
                Some(Release::At(local)) => match clock.time_of_schedule(local) {
                    Some(time) => break time,
                    // Before the run; nobody saw it.
                    None => _ = stream.generator.take(),
                },
            }
        };
        let node = self.node_of(self.origins[index as usize].talker);
        if time < self.duration {
            self.around.queue.push(queue::Event::new(time, Kind::Release, node, index));
        }
    }

    pub(super) fn release(&mut self, now: u64, index: u32) {
        if !self.faults.is_empty() && self.is_silent(now, index) {
            return;
        }
        let stream = &mut self.origins[index as usize];
        let talker = stream.talker;
        if stream.handover.is_some() {
            return self.hand_over(now, index);
        }
        match stream.generator.next_release() {
            None => {}
            Some(Release::WhenFree(_)) if self.stations[talker as usize].makes_frames() => {
                let wake = self.stations[talker as usize].set_ready(now, index, true);
                self.await_selection(talker, wake);
            }
            Some(Release::WhenFree(_) | Release::OnRequest) => self.queue_frame(now, index),
            Some(Release::At(local)) => {
                let mut local = local;
                loop {
                    self.queue_frame(now, index);
                    // What is released at the same instant needs no event of its own.
                    match self.origins[index as usize].generator.next_release() {
                        Some(Release::At(next)) if next == local => local = next,
                        _ => break,
                    }
                }
                self.plan_release(index);
            }
        }
    }

    /// A station is to select at a time.
    #[inline(always)]
    pub(super) fn await_selection(&mut self, station: u32, at: Option<u64>) {
        if let Some(at) = at {
            self.around.queue.push(queue::Event::new(at, Kind::Select, self.node_of(station), 0));
        }
    }

    pub(super) fn queue_frame(&mut self, now: u64, index: u32) {
        let (slot, class) = self.create(now, index);
        self.enqueue(now, self.origins[index as usize].talker, slot, class);
    }

    /// A frame comes to its talker's port.
    #[inline]
    pub(super) fn enqueue(&mut self, now: u64, talker: u32, slot: u32, class: u8) {
        let (stream, bytes) = {
            let frame = self.around.frames.get(slot);
            (frame.stream, frame.bytes)
        };
        let enqueued = self.stations[talker as usize].enqueue(now, slot, stream, class, bytes);
        for (slot, class) in self.stations[talker as usize].take_displaced() {
            self.drop_at_talker(talker, slot, now, class, Reason::DISPLACED);
        }
        match enqueued {
            Ok(Enqueued { select, eligible }) => {
                self.await_selection(talker, select);
                if let Some(at) = eligible {
                    self.row(slot, (self.node_of(talker), 0), Event::Eligible, at, class, Reason::NONE);
                }
            }
            Err(reason) => self.drop_at_talker(talker, slot, now, class, reason),
        }
    }

    /// A frame ends at its talker's port.
    #[cold]
    pub(super) fn drop_at_talker(&mut self, talker: u32, slot: u32, at: u64, traffic_class: u8, reason: Reason) {
        self.row(slot, (self.node_of(talker), 0), Event::Dropped, at, traffic_class, reason);
        let mut frame = self.around.frames.remove(slot);
        let (open, stream, bytes) = (frame.open, frame.stream, u32::from(frame.bytes));
        self.around.ledger.miss(&mut frame, open, reason);
        self.around.ledger.leave(frame);
        let station = &self.stations[talker as usize];
        let again = station.clock.after(at, station.wire.rate.occupancy(bytes));
        self.have_next(stream, again);
    }

    /// A frame that a program made comes to its talker's port.
    pub(super) fn queue_created(&mut self, now: u64, index: u32, bytes: Box<[u8]>) {
        let content = Content::new(bytes);
        let mut released = self.origins[index as usize].generator.take();
        released.bytes = content.bytes.len().min(usize::from(u16::MAX)) as u16;
        released.pcp = content.header.tag.map_or(0, |tag| tag.pcp);
        let (slot, class) = self.create_released(now, index, &released);
        self.around.frames.get_mut(slot).content = Some(content);
        self.enqueue(now, self.origins[index as usize].talker, slot, class);
    }

    /// A new frame of a stream, and its class at the talker.
    pub(super) fn create(&mut self, now: u64, index: u32) -> (u32, u8) {
        let released = self.origins[index as usize].generator.take();
        self.create_released(now, index, &released)
    }

    #[inline(always)]
    fn create_released(&mut self, now: u64, index: u32, released: &Released) -> (u32, u8) {
        let talker = self.origins[index as usize].talker;
        let frame = self.around.ledger.create(now, index, released);
        self.bring_first(index);
        let slot = self.around.frames.insert(frame);
        self.row(slot, (self.node_of(talker), 0), Event::Created, now, Trace::NO_CLASS, Reason::NONE);
        (slot, self.stations[talker as usize].class_of_pcp[usize::from(released.pcp & 7)])
    }

    /// A station selects what it sends.
    pub(super) fn talk(&mut self, now: u64, index: u32) -> Result<(), RunError> {
        let station = &mut self.stations[index as usize];
        let sent = match station.select(now, now < self.duration) {
            Selected::Stale => return Ok(()),
            Selected::Nothing => {
                self.await_next(index);
                return Ok(());
            }
            Selected::Sent(sent) => sent,
            Selected::Make(stream) => {
                let (slot, class) = self.create(now, stream);
                let bytes = self.around.frames.get(slot).bytes;
                self.stations[index as usize].send(slot, class, bytes)
            }
            Selected::Dropped { frame, traffic_class, reason, at } => {
                self.drop_at_talker(index, frame, at, traffic_class, reason);
                self.await_next(index);
                return Ok(());
            }
        };
        let Sent { frame, traffic_class, first, again } = sent;
        let slot = frame;
        let frame = self.around.frames.get_mut(slot);
        let stream = frame.stream;
        self.around.ledger.send(frame, first);
        if let Some(Release::WhenFree(_)) | None = self.origins[stream as usize].generator.next_release() {
            self.have_next(stream, again);
        }
        self.await_next(index);
        self.row(slot, (self.node_of(index), 0), Event::Sent, first, traffic_class, Reason::NONE);
        let wire = self.stations[index as usize].wire;
        self.enter(slot, self.node_of(index), wire, first)
    }

    /// A station that selected tells when it does so again.
    #[inline(always)]
    fn await_next(&mut self, station: u32) {
        self.await_selection(station, self.stations[station as usize].next());
    }

    /// A stream that always has a frame has sent one or lost it, and has the next one at a time, or none.
    fn have_next(&mut self, index: u32, at: u64) {
        let origin = &mut self.origins[index as usize];
        let talker = origin.talker;
        let station = &mut self.stations[talker as usize];
        let Some(Release::WhenFree(_)) = origin.generator.next_release() else {
            station.set_ready(at, index, false);
            return;
        };
        let pauses = origin.generator.has_jitter();
        if station.makes_frames() {
            if !pauses {
                return;
            }
            station.set_ready(at, index, false);
        }
        let again = station.clock.after(at, if pauses { origin.generator.pause() } else { 0 });
        if again < self.duration {
            let node = self.node_of(talker);
            self.around.queue.push(queue::Event::new(again, Kind::Release, node, index));
        }
    }
}
