// SPDX-License-Identifier: Apache-2.0
//! Stations: releases, and what is sent when.
use super::Kernel;
use crate::bridge::reason;
use crate::error::RunError;
use crate::queue::{self, Kind};
use crate::source::Release;
use crate::station::Next;
use crate::trace::{Event, Reason, Trace};

impl Kernel {
    /// Tells stations without shapers which streams always have a frame for them.
    pub(super) fn add_greedy(&mut self) {
        for (index, origin) in self.origins.iter().enumerate() {
            let station = &mut self.stations[origin.talker as usize];
            if station.shaped.is_some() {
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
            self.queue.push(queue::Event::new(time, Kind::Release, node, index));
        }
    }

    pub(super) fn release(&mut self, now: u64, index: u32) {
        let stream = &mut self.origins[index as usize];
        let talker = stream.talker;
        if stream.handover.is_some() {
            self.hand_over(now, index);
            return self.await_selection(now, talker);
        }
        match stream.generator.next_release() {
            None => return,
            Some(Release::WhenFree(_)) if self.stations[talker as usize].shaped.is_some() => {
                self.queue_frame(now, index)
            }
            Some(Release::WhenFree(_)) => self.stations[talker as usize].set_ready(index, true),
            Some(Release::OnRequest) => self.queue_frame(now, index),
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
        self.await_selection(now, talker);
    }

    /// A station that has something to send selects once its port is free.
    fn await_selection(&mut self, now: u64, talker: u32) {
        let node = self.node_of(talker);
        let station = &mut self.stations[talker as usize];
        if !station.awaited && station.has_next() {
            station.awaited = true;
            self.queue.push(queue::Event::new(now.max(station.free_at), Kind::Select, node, 0));
        }
    }

    pub(super) fn queue_frame(&mut self, now: u64, index: u32) {
        let (slot, class) = self.create(now, index);
        self.enqueue(now, self.origins[index as usize].talker, slot, class);
    }

    /// A frame comes to its talker's port.
    #[inline]
    pub(super) fn enqueue(&mut self, now: u64, talker: u32, slot: u32, class: u8) {
        let station = &mut self.stations[talker as usize];
        if station.shaped.is_some() {
            return self.queue_shaped(now, talker, slot, class);
        }
        if !station.queue(&mut self.frames, slot, class) {
            self.drop_at_talker(self.node_of(talker), slot, now, class, reason::QUEUE_FULL);
        }
    }

    /// A frame ends at its talker's port.
    #[cold]
    pub(super) fn drop_at_talker(&mut self, node: u32, slot: u32, at: u64, traffic_class: u8, reason: Reason) {
        let mut frame = self.frames.remove(slot);
        self.row(&frame, (node, 0), Event::Dropped, at, traffic_class, reason);
        let open = frame.open;
        self.ledger.miss(&mut frame, open, reason);
        self.ledger.leave(frame);
    }

    /// A new frame of a stream, and its class at the talker.
    pub(super) fn create(&mut self, now: u64, index: u32) -> (u32, u8) {
        let origin = &mut self.origins[index as usize];
        let released = origin.generator.take();
        let talker = origin.talker;
        let frame = self.ledger.create(now, index, &released);
        self.bring_first(index);
        self.row(&frame, (self.node_of(talker), 0), Event::Created, now, Trace::NO_CLASS, Reason::NONE);
        let slot = self.frames.insert(frame);
        (slot, self.stations[talker as usize].class_of_pcp[usize::from(released.pcp & 7)])
    }

    /// A station selects what it sends.
    pub(super) fn talk(&mut self, now: u64, index: u32) -> Result<(), RunError> {
        let node = self.node_of(index);
        let station = &mut self.stations[index as usize];
        if station.shaped.is_some() {
            return self.talk_shaped(now, index);
        }
        station.awaited = false;
        let slot = match station.select(&self.frames) {
            None => return Ok(()),
            Some(Next::Queued(slot)) => slot,
            Some(Next::Greedy(stream)) if now < self.duration => self.create(now, stream).0,
            Some(Next::Greedy(stream)) => {
                station.set_ready(stream, false);
                station.awaited = true;
                self.queue.push(queue::Event::new(now, Kind::Select, node, 0));
                return Ok(());
            }
        };
        let mut frame = self.frames.remove(slot);
        let (bytes, stream) = (u32::from(frame.bytes), frame.stream);
        let station = &mut self.stations[index as usize];
        let wire = station.wire;
        let first = station.clock.after(now, wire.rate.lead());
        station.free_at = station.clock.after(now, wire.rate.occupancy(bytes));
        let free_at = station.free_at;
        self.ledger.send(&mut frame, first);
        if let Some(Release::WhenFree(_)) | None = self.origins[stream as usize].generator.next_release() {
            self.refill(stream, free_at);
        }
        let station = &mut self.stations[index as usize];
        if station.has_next() {
            station.awaited = true;
            self.queue.push(queue::Event::new(free_at, Kind::Select, node, 0));
        }
        self.row(&frame, (node, 0), Event::Sent, first, Trace::NO_CLASS, Reason::NONE);
        self.enter(frame, wire, first)
    }

    /// A stream that sends whenever the port is free has sent a frame, and may have no more, or pause.
    pub(super) fn refill(&mut self, index: u32, free_at: u64) {
        let stream = &mut self.origins[index as usize];
        let talker = stream.talker as usize;
        match stream.generator.next_release() {
            Some(Release::WhenFree(_)) if stream.generator.has_jitter() => {
                let pause = stream.generator.pause();
                let again = self.stations[talker].clock.after(free_at, pause);
                self.stations[talker].set_ready(index, false);
                if again < self.duration {
                    let node = self.node_of(talker as u32);
                    self.queue.push(queue::Event::new(again, Kind::Release, node, index));
                }
            }
            Some(Release::WhenFree(_)) => {}
            _ => self.stations[talker].set_ready(index, false),
        }
    }
}
