// SPDX-License-Identifier: Apache-2.0
//! The model of a bridge as a node. Its ports tell when they are to act by the kernel's queue, since a network of models
//! spends its time there.
use std::sync::Arc;

use crate::bridge::{Arrival, Bridge, Inside, Judgement, Memos, Passed, Selection, Tick, NEVER};
use crate::clock::Clock;
use crate::conservation::Violation;
use crate::faults::FOR_EVER;
use crate::frame::Frame;
use crate::frames::Frames;
use crate::header::{Header, Headers};
use crate::outbox::Outbox;
use crate::queue::Kind;
use crate::trace::Reason;

/// A copy that leaves a port.
pub(crate) struct Leaving {
    pub slot: u32,
    pub port: u16,
    pub traffic_class: u8,
    /// Of its first bit after the delimiter.
    pub first: u64,
}

/// What every frame needs stands first and together.
#[repr(C, align(64))]
pub(crate) struct BridgeNode {
    clock: Clock,
    /// Nothing is done ahead that comes at or after it.
    end: Tick,
    /// Of frames, that are inside.
    copies: u64,
    memos: Memos,
    bridge: Bridge,
    headers: Headers,
    /// As it is configured, of one that may die.
    fresh: Option<Box<Bridge>>,
    /// By which so many streams come.
    streams: usize,
}

impl BridgeNode {
    /// By which so many streams come; the run is over at `end`.
    pub fn new(bridge: Bridge, clock: Clock, streams: usize, headers: &Arc<[Header]>, end: u64) -> Self {
        let memos = Memos::new(streams);
        let end = clock.at_or_before(end.saturating_sub(1));
        Self { bridge, clock, copies: 0, memos, headers: Headers::over(headers), end, fresh: None, streams }
    }

    /// It can die, and comes back as it is now.
    pub fn set_mortal(&mut self) {
        self.fresh = Some(Box::new(self.bridge.clone()));
    }

    /// Nothing is done ahead that comes at or after a time.
    pub fn set_end(&mut self, end: u64) {
        self.end = self.clock.at_or_before(end.saturating_sub(1));
    }

    /// It loses all frames, and what it has learnt.
    pub fn die(&mut self, at: u64, frames: &mut Frames, out: &mut Outbox<'_>) {
        let Some(fresh) = self.fresh.clone() else { return };
        for Inside { frame: slot, port, traffic_class } in self.bridge.lose_all(self.clock.at_or_before(at)) {
            let frame = frames.remove(slot);
            match traffic_class {
                Some(class) => out.drop(frame, port, class, at, Reason::NODE_DOWN),
                None => {
                    self.release_header(&frame);
                    out.lose(frame, port, at, Reason::NODE_DOWN);
                }
            }
        }
        self.copies = 0;
        self.bridge = *fresh;
        self.memos = Memos::new(self.streams);
    }

    /// The link of a port is down for some time.
    pub fn cut(&mut self, port: u16, at: u64, until: u64, out: &mut Outbox<'_>) {
        let until = if until == FOR_EVER { NEVER } else { self.clock.at_or_after(until) };
        if let Some(due) = self.bridge.cut(port, self.clock.at_or_after(at), until) {
            out.wake(&self.clock, Kind::Select, (port, due));
        }
    }

    /// What was kept of a header that a node has written, and that was judged.
    #[inline]
    fn release_header(&mut self, frame: &Frame) {
        if let Some(content) = &frame.content {
            let header = self.headers.find(&content.header);
            header.into_iter().for_each(|header| self.headers.release(header));
        }
    }

    /// A frame comes, see [`crate::Node::receive`]; one that its way leads here has a place among those that come by; `fault`
    /// is what is wrong with it. Gives
    /// when the bridge has it, and when its port is to judge.
    #[inline(always)]
    pub fn receive(
        &mut self,
        at: u64,
        port: u16,
        (slot, frame): (u32, &Frame),
        place: Option<u32>,
        fault: Reason,
    ) -> (u64, u64) {
        let tick = self.clock.at_or_after(at);
        let bytes = frame.bytes;
        let (header, memo) = match &frame.content {
            None => (frame.header, place),
            Some(content) => (self.headers.intern(&content.header), None),
        };
        self.copies += 1;
        let arrival = Arrival { frame: slot, header, bytes, first: tick, fault, memo };
        let due = self.bridge.arrive(port, arrival);
        (self.clock.time(tick), self.clock.time(due))
    }

    /// A port judges the frame that came to it. `judgement` is memory that is used again.
    #[inline(always)]
    pub fn judge(
        &mut self,
        time: u64,
        port: u16,
        frames: &mut Frames,
        judgement: &mut Judgement,
        out: &mut Outbox<'_>,
    ) -> Option<Leaving> {
        let now = self.clock.at_or_before(time);
        self.bridge.judge(now, port, &self.headers, &mut self.memos, self.end, judgement);
        let slot = judgement.frame;
        let frame = frames.get_mut(slot);
        self.release_header(frame);
        let copies = out.judged(frame, port, &self.clock, judgement);
        frame.copies = copies.max(1);
        if copies == 0 {
            out.leave(frames.remove(slot));
        }
        self.copies = self.copies.saturating_add_signed(out.copies);
        if let Some(Passed { egress, at, first }) = judgement.passed {
            out.acted(self.clock.time(at));
            return Some(self.leaving(slot, egress, judgement.traffic_class, first));
        }
        for &wake in &judgement.wakes {
            out.wake(&self.clock, Kind::Select, wake);
        }
        None
    }

    /// A port selects.
    #[inline(always)]
    pub fn select(&mut self, time: u64, port: u16, frames: &mut Frames, out: &mut Outbox<'_>) -> Option<Leaving> {
        let selection = self.bridge.select(self.clock.at_or_before(time), port);
        let (Selection::Idle { next } | Selection::Sent { next, .. } | Selection::Expired { next, .. }) = selection
        else {
            return None;
        };
        if let Some(next) = next {
            out.wake(&self.clock, Kind::Select, (port, next));
        }
        match selection {
            Selection::Sent { frame, traffic_class, first, .. } => {
                Some(self.leaving(frame, port, traffic_class, first))
            }
            Selection::Expired { frame, traffic_class, reason, at, .. } => {
                out.drop(frames.remove(frame), port, traffic_class, self.clock.time(at), reason);
                self.copies = self.copies.saturating_sub(1);
                None
            }
            Selection::Stale | Selection::Idle { .. } => None,
        }
    }

    #[inline]
    fn leaving(&mut self, slot: u32, port: u16, traffic_class: u8, first: Tick) -> Leaving {
        self.copies = self.copies.saturating_sub(1);
        Leaving { slot, port, traffic_class, first: self.clock.time(first) }
    }

    /// At the end of a run: what is wrong by the bridge's own books.
    pub fn audit(&self, node: u32, is_idle: bool) -> Option<Violation> {
        let given = self.copies;
        let holds = self.bridge.inside();
        if holds != given {
            return Some(Violation::Count { node, holds, given });
        }
        (is_idle && holds > 0).then_some(Violation::Stuck { node, copies: holds })
    }

    /// A frame with this place is on its way here: has what a judgement needs fetched into the cache.
    #[inline]
    pub fn bring(&self, place: u32) {
        self.memos.bring(place);
    }

    /// As [`Self::bring`], of the scheduler that frames of this place had last.
    #[inline]
    pub fn bring_scheduler(&self, place: u32) {
        self.bridge.bring_scheduler(self.memos.stream(place));
    }
}
