// SPDX-License-Identifier: Apache-2.0
//! The model of a bridge as a node. Its ports tell when they are to act by the kernel's queue, since a network of models
//! spends its time there.
use std::collections::HashMap;
use std::sync::Arc;

use penstock_frame::{add_residence, Edit};

use crate::bridge::{
    Arrival, Bridge, Displaced, Inside, Judgement, Passed, Selection, Straight, Tick, Verdict, NEVER, NO_PLACE,
};
use crate::clock::Clock;
use crate::conservation::Violation;
use crate::error::RunError;
use crate::faults::FOR_EVER;
use crate::frame::Content;
use crate::header::{Header, Headers};
use crate::kernel::ahead::bring_hops;
use crate::node::{Due, Node};
use crate::outbox::{Coming, Leaving, Outbox};
use crate::queue::{Event, Kind};
use crate::surroundings::Surroundings;
use crate::trace::Reason;
use penstock_shaper::Time;

/// What every frame needs stands first and together.
#[repr(C, align(64))]
pub(crate) struct BridgeNode {
    clock: Clock,
    /// Nothing is done ahead that comes at or after it.
    end: Tick,
    /// Of frames, that are inside.
    copies: u64,
    /// The place of its first port among those of all nodes.
    pub first_port: u32,
    bridge: Bridge,
    headers: Headers,
    /// As it is configured, of one that may die.
    fresh: Option<Box<Bridge>>,
    host: Option<Box<Host>>,
    /// When the first bits behind their delimiters came of frames that are inside, by their places; none: no frame gets the
    /// time that it was inside.
    came: Option<HashMap<u32, Tick>>,
}

/// What stands at the last port of a bridge that has a host port.
struct Host {
    port: u16,
    /// Where those frames were received that wait for it, by their places.
    came: HashMap<u32, u16>,
}

impl BridgeNode {
    /// Whose first port has this place among those of all nodes; the run is over at `end`.
    pub fn new(bridge: Bridge, clock: Clock, first_port: u32, headers: &Arc<[Header]>, end: Time) -> Self {
        let end = clock.at_or_before(end.saturating_sub(1));
        Self {
            bridge,
            clock,
            copies: 0,
            first_port,
            headers: Headers::over(headers),
            end,
            fresh: None,
            host: None,
            came: None,
        }
    }

    /// Some frames get the time that they were inside.
    pub fn set_correcting(&mut self) {
        self.came = Some(HashMap::new());
    }

    /// Its last port is its host's.
    pub fn set_host(&mut self) {
        self.host = Some(Box::new(Host { port: self.bridge.ports() - 1, came: HashMap::new() }));
    }

    /// It can die, and comes back as it is now.
    pub fn set_mortal(&mut self) {
        self.fresh = Some(Box::new(self.bridge.clone()));
    }

    /// A port is never selected for before its time has come: what comes by then is not known, and what is sent may be cut.
    pub fn do_nothing_ahead(&mut self) {
        self.end = 0;
    }

    /// When it reads a frame by its own clock that arrives at a time, or after that.
    pub fn reads_by(&self, arrives: Time, port: u16, bytes: u16) -> Time {
        self.clock.time(self.bridge.whole_at(port, self.clock.at_or_after(arrives), bytes))
    }

    /// Headers that are kept beside those of sources.
    pub fn headers(&self) -> usize {
        self.headers.len()
    }

    /// It loses all frames, and what it has learnt.
    pub fn die(&mut self, at: Time, out: &mut Outbox<'_>) {
        let Some(fresh) = self.fresh.clone() else { return };
        for Inside { frame: slot, port, traffic_class, forwarded } in self.bridge.lose_all(self.clock.at_or_before(at))
        {
            let frame = out.around.frames.remove(slot);
            match traffic_class {
                Some(class) => out.drop(frame, port, class, at, Reason::NODE_DOWN),
                None => {
                    let host = self.host.as_deref();
                    frame
                        .content
                        .iter()
                        .for_each(|content| release(&mut self.headers, &header_at(host, content, port)));
                    out.lose(frame, port, forwarded, at, Reason::NODE_DOWN);
                }
            }
        }
        self.copies = 0;
        let before = std::mem::replace(&mut self.bridge, *fresh);
        // By that, nothing that was kept of headers holds any more.
        self.bridge.know_links_of(&before);
    }

    /// The link of a port is down for some time.
    pub fn cut(&mut self, port: u16, at: Time, until: Time, out: &mut Outbox<'_>) {
        let until = if until == FOR_EVER { NEVER } else { self.clock.at_or_after(until) };
        if let Some(due) = self.bridge.cut(port, self.clock.at_or_after(at), until) {
            out.wake(self.clock.time(due), select(port));
        }
    }

    /// The node learns that the link of a port went down or up, if it has other ways then.
    pub fn learn_link(&mut self, port: u16, is_up: bool, at: Time, out: &mut Outbox<'_>) {
        for Inside { frame, port, traffic_class, .. } in self.bridge.set_link(port, is_up, self.clock.at_or_after(at)) {
            let frame = out.around.frames.remove(frame);
            out.drop(frame, port, traffic_class.unwrap_or_default(), at, Reason::LINK_DOWN);
            self.copies = self.copies.saturating_sub(1);
        }
    }

    /// A frame comes, see [`Node::receive`]. Gives when the bridge has it, and its judgement.
    #[inline(always)]
    pub fn take_in(&mut self, at: Time, port: u16, coming: &mut Coming<'_>) -> (Time, Event) {
        let frame = coming.around.frames.get(coming.slot);
        let tick = self.clock.at_or_after(at);
        let (header, memo) = match &frame.content {
            None => (frame.header, frame.hop),
            Some(content) => (self.headers.intern(&header_at(self.host.as_deref(), content, port)), NO_PLACE),
        };
        self.copies += 1;
        if let Some(came) = &mut self.came {
            came.insert(coming.slot, tick);
        }
        let fault = match coming.damaged {
            Some(_) => Reason::FCS,
            None if frame.marks.is_spent() => Reason::HOP_LIMIT,
            None => Reason::NONE,
        };
        let arrival = Arrival { frame: coming.slot, header, bytes: frame.bytes, first: tick, fault, memo };
        let due = self.bridge.arrive(port, arrival);
        let judgement = Event::judgement(self.clock.time(due), coming.node, port, frame.told_hop());
        coming.around.queue.push(judgement);
        (self.clock.time(tick), judgement)
    }

    /// What a judgement needs is fetched into the cache, and what the next hop does.
    #[inline(always)]
    fn bring(&self, slot: u32, around: &Surroundings) {
        let Surroundings { frames, ledger, memos, origins, .. } = around;
        let frame = frames.get(slot);
        self.bridge.bring_scheduler(memos.stream(frame.hop));
        memos.bring(frame.hop.saturating_add(1));
        bring_hops(ledger, origins, frame.hop, frame.stream);
    }

    /// A port judges the frame that came to it.
    #[inline(always)]
    fn judge(&mut self, time: Time, port: u16, out: &mut Outbox<'_>) -> Result<(), RunError> {
        let now = self.clock.at_or_before(time);
        let straight = match self.bridge.verdict(now, port, &self.headers, &mut out.around.memos, self.end) {
            Verdict::Straight(straight) => straight,
            Verdict::Other(judgement) => return self.judged(port, judgement, out),
        };
        let Straight { frame: slot, egress, traffic_class, wakes, passed, .. } = straight;
        self.read(slot, port, 1 << egress, out);
        out.judged_straight(slot, &self.clock, straight);
        let Some(Passed { at, first, .. }) = passed else {
            if wakes {
                out.wake(self.clock.time(self.bridge.due(egress)), select(egress));
            }
            return Ok(());
        };
        out.acted(self.clock.time(at));
        self.leave(slot, egress, traffic_class, first, out)
    }

    /// A frame that came into a port is judged, and goes to others.
    #[inline(always)]
    fn read(&mut self, slot: u32, port: u16, destination: u64, out: &Outbox<'_>) {
        if let Some(content) = &out.around.frames.get(slot).content {
            release(&mut self.headers, &header_at(self.host.as_deref(), content, port));
        }
        if let Some(host) = self.host.as_deref_mut().filter(|host| destination >> host.port & 1 == 1) {
            host.came.insert(slot, port);
        }
    }

    #[inline(never)]
    fn judged(&mut self, port: u16, judgement: Judgement, out: &mut Outbox<'_>) -> Result<(), RunError> {
        let slot = judgement.frame;
        if let Some(again) = judgement.again {
            out.judge_again(&self.clock, port, again);
            for (egress, due) in self.bridge.leaving_early(port) {
                out.wake(self.clock.time(due), select(egress));
            }
            return Ok(());
        }
        self.read(slot, port, judgement.destination, out);
        if let Some(came) = self.came.as_mut().filter(|_| !judgement.is_corrected) {
            came.remove(&slot);
        }
        for Displaced { frame, egress, traffic_class } in self.bridge.take_displaced() {
            let (frame, at) = (out.around.frames.remove(frame), self.clock.time(judgement.decided));
            out.drop(frame, egress, traffic_class, at, Reason::DISPLACED);
        }
        out.judged_slot(slot, port, &self.clock, &judgement);
        if let Some(Passed { egress, at, first }) = judgement.passed {
            out.acted(self.clock.time(at));
            let slot = self.changed(slot, egress, Edit::NONE, first, out)?;
            return self.leave(slot, egress, judgement.traffic_class, first, out);
        }
        for (egress, due) in self.bridge.wakes(&judgement) {
            out.wake(self.clock.time(due), select(egress));
        }
        Ok(())
    }

    /// A port selects.
    #[inline(always)]
    fn select(&mut self, time: Time, port: u16, out: &mut Outbox<'_>) -> Result<(), RunError> {
        let selection = self.bridge.select(self.clock.at_or_before(time), port);
        let next = match selection {
            Selection::Stale => return Ok(()),
            Selection::Idle { next }
            | Selection::Sent { next, .. }
            | Selection::CutThrough { next, .. }
            | Selection::Expired { next, .. } => next,
        };
        if let Some(next) = next {
            out.wake(self.clock.time(next), select(port));
        }
        match selection {
            Selection::Sent { frame, traffic_class, first, edit, .. } => {
                let slot = self.changed(frame, port, edit, first, out)?;
                self.leave(slot, port, traffic_class, first, out)?;
            }
            Selection::CutThrough { frame: slot, traffic_class, decided, first, is_spoiled, .. } => {
                out.cut_through(slot, port, traffic_class, self.clock.time(decided));
                out.send_held(Leaving { slot, port, traffic_class, is_spoiled, first: self.clock.time(first) });
            }
            Selection::Expired { frame, traffic_class, reason, at, .. } => {
                let frame = out.around.frames.remove(frame);
                out.drop(frame, port, traffic_class, self.clock.time(at), reason);
            }
            Selection::Stale | Selection::Idle { .. } => {}
        }
        Ok(())
    }

    /// One copy of a frame as it leaves a port; its place.
    #[inline(always)]
    fn changed(&self, slot: u32, port: u16, edit: Edit, first: Tick, out: &mut Outbox<'_>) -> Result<u32, RunError> {
        let came = self.came.as_ref().and_then(|came| came.get(&slot));
        let came = came.filter(|_| self.host.as_ref().is_none_or(|host| host.port != port));
        match came.map(|came| self.bridge.residence(*came, first)) {
            None if edit.is_none() => Ok(slot),
            residence => changed(slot, edit, residence, out),
        }
    }

    #[inline(always)]
    fn leave(
        &mut self,
        slot: u32,
        port: u16,
        traffic_class: u8,
        first: Tick,
        out: &mut Outbox<'_>,
    ) -> Result<(), RunError> {
        let slot = match self.host.as_deref_mut() {
            Some(host) if host.port == port => host.take(slot, out)?,
            _ => slot,
        };
        out.send_held(Leaving { slot, port, traffic_class, is_spoiled: false, first: self.clock.time(first) });
        Ok(())
    }
}

impl Host {
    /// It gets a copy of a frame, and is told where that was received; its place.
    fn take(&mut self, slot: u32, out: &mut Outbox<'_>) -> Result<u32, RunError> {
        out.around.fill(slot)?;
        let came = self.came.get(&slot).copied().unwrap_or_default();
        let slot = out.around.frames.part(slot);
        out.around.frames.get_mut(slot).set_received(out.around.buffer.as_slice().into(), came);
        Ok(slot)
    }
}

impl Node for BridgeNode {
    fn ports(&self) -> u16 {
        self.bridge.ports()
    }

    #[inline(always)]
    fn receive(&mut self, at: Time, port: u16, mut coming: Coming<'_>) -> Result<Time, RunError> {
        let (received, _) = self.take_in(at, port, &mut coming);
        if coming.around.is_large {
            self.bring(coming.slot, coming.around);
        }
        Ok(received)
    }

    /// A port judges what it received, or selects what it sends.
    #[inline(always)]
    fn advance(&mut self, now: Time, due: Due, out: &mut Outbox<'_>) -> Result<(), RunError> {
        match due.kind {
            Kind::Judge => self.judge(now, due.port(), out)?,
            Kind::Select => self.select(now, due.port(), out)?,
            Kind::Release | Kind::Arrive | Kind::Advance => {}
        }
        self.copies = self.copies.wrapping_add_signed(out.copies);
        Ok(())
    }

    fn reads_early(&self) -> bool {
        self.bridge.cuts_through()
    }

    /// At the end of a run: what is wrong by the bridge's own books.
    fn audit(&self, node: u32, is_idle: bool) -> Option<Violation> {
        let given = self.copies;
        let holds = self.bridge.inside();
        if holds != given {
            return Some(Violation::Count { node, holds, given });
        }
        (is_idle && holds > 0).then_some(Violation::Stuck { node, copies: holds })
    }
}

/// One copy of a frame with the time that it was inside, if it gets that, and what an edit makes of it; its place.
#[cold]
fn changed(slot: u32, edit: Edit, residence: Option<u64>, out: &mut Outbox<'_>) -> Result<u32, RunError> {
    out.around.fill(slot)?;
    let slot = out.around.frames.part(slot);
    let mut bytes = out.around.buffer.clone();
    residence.into_iter().for_each(|units| add_residence(&mut bytes, units));
    let bytes = edit.apply(&bytes).unwrap_or(bytes);
    out.around.frames.get_mut(slot).set_bytes(bytes.into());
    Ok(slot)
}

/// How a bridge reads what a node has written, that comes into a port.
fn header_at(host: Option<&Host>, content: &Content, port: u16) -> Header {
    match host {
        Some(host) if host.port == port => content.header_from_host(port + 1),
        _ => content.header,
    }
}

/// What a port selects is due.
fn select(port: u16) -> Due {
    Due { kind: Kind::Select, index: u32::from(port) }
}

/// What was kept of a header that a node has written, and that was judged.
#[cold]
fn release(headers: &mut Headers, header: &Header) {
    let header = headers.find(header);
    header.into_iter().for_each(|header| headers.release(header));
}
