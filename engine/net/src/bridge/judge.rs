// SPDX-License-Identifier: Apache-2.0
//! What becomes of a received frame: identification, forwarding, shaping, admission.
use penstock_frame::Edit;
use penstock_shaper::admission::Limits;
use penstock_shaper::egress::Queued;

use super::arrivals::{Pending, Received};
use super::classify::{Classification, Seen, Tagging};
use super::displace;
use super::facts::Facts;
use super::memos::{key_of, Classified, Memos, Way, NOT_FOUND, NO_STREAM};
use super::meters::Shape;
use super::tables::received_at;
use super::timing::{Clock, ADMISSION_TO_VERDICT};
use super::{Bridge, Judged, Judgement, Tick};
use crate::header::Headers;
use crate::trace::Reason;

impl Bridge {
    /// Judges the frame of a port that is next. A frame that finds its port free is sent at once when its selection comes
    /// before `before` and nothing can come between.
    pub fn judge(&mut self, now: Tick, port: u16, headers: &Headers, memos: &mut Memos, before: Tick) -> Judgement {
        self.verdict(now, port, headers, memos, before).into()
    }

    /// Judges a frame, whatever is to be said of it. `known`: where it goes, if it has not read that in its stages; of a
    /// frame with a fault that is not asked.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)] // what was kept of the frame, and what is kept of its kind
    pub(super) fn judge_any(
        &mut self,
        now: Tick,
        port: u16,
        received: Received,
        mut facts: Option<Box<Facts>>,
        known: Option<Way>,
        headers: &Headers,
        before: Tick,
    ) -> Judgement {
        if let Some(judged) = facts.as_ref().and_then(|facts| facts.judged) {
            return judged;
        }
        let mut out = Judgement { frame: received.frame, bytes: received.bytes, ..Judgement::default() };
        let begin = match &self.clock {
            Clock::Hardware(cycles) => {
                out.visible = received.last + cycles.visible();
                let placed = facts.as_ref().and_then(|facts| facts.begin);
                let begin = placed.unwrap_or_else(|| self.row.place(received.turn));
                out.decided = begin + ADMISSION_TO_VERDICT;
                begin
            }
            Clock::Ideal(ideal) => {
                if ideal.cut_through_bytes.is_some() {
                    let left = self.cut_through.end(port);
                    out.forwarded = left.ports;
                    out.spoiled = if received.fault == Reason::NONE { left.too_long } else { left.ports };
                }
                out.visible = received.last + ideal.processing_delay_ps;
                out.decided = now;
                now + 1
            }
        };
        if let Some(facts) = &mut facts {
            self.finish(port, &received, facts, begin, headers);
        }
        out.reason = received.fault;
        if received.fault != Reason::NONE {
            let seen = Seen::new(port, &received, headers.get(received.header));
            out.traffic_class = match &facts {
                Some(facts) => facts.classification.traffic_class(),
                None => Classification::now(&seen, &self.tables).traffic_class(),
            };
            return out;
        }
        let staged = facts.as_ref().map(|facts| facts.way(headers.get(received.header)));
        let Some(way) = staged.or(known) else { return out };
        out.traffic_class = way.traffic_class;
        out.stream = (way.stream != NO_STREAM).then_some(way.stream);
        out.is_led = way.is_led;
        out.reason = way.reason();
        if out.reason != Reason::NONE {
            return out;
        }
        let seen = || Seen::new(port, &received, headers.get(received.header));
        let tagging = match &facts {
            Some(facts) => facts.tagging(&seen()),
            None if self.tables.edits() => {
                let classification = Classification::now(&seen(), &self.tables);
                let stream = classification.numbered_stream(&seen());
                let number = stream.and_then(|stream| self.tables.take_number(stream));
                classification.tagging(&seen()).with_number(number)
            }
            None => Tagging::default(),
        };
        out.is_corrected = tagging.is_corrected;
        if way.is_shaped {
            let shape = match facts.as_ref().and_then(|facts| facts.shape) {
                Some(shape) => shape,
                None => self.shape(port, received.last, received.bytes, &way, out.visible),
            };
            out.shaped = true;
            out.visible = shape.visible;
            if !shape.pass {
                out.reason = Reason::RESIDENCE;
                return out;
            }
        }
        let limits = facts.map(|facts| (facts.limits(self.store.limits()), facts.too_long()));
        let wanted = way.wanted & !out.forwarded;
        if wanted != 0 {
            self.admit(now, begin, port, &received, wanted, limits.as_ref(), &tagging, before, &mut out);
        }
        out
    }

    /// The edit of the copy for an egress port, and how long it has the wire there.
    #[inline(always)]
    pub(super) fn sent_as(&self, tagging: &Tagging, egress: u16, bytes: u16) -> (Edit, u16) {
        if !tagging.is_any() {
            return (Edit::NONE, bytes);
        }
        let edit = self.clock.edit(tagging.edit(egress, bytes));
        (edit, bytes.wrapping_add_signed(edit.growth().into()))
    }

    /// Where a frame goes: what is kept of its header, or else what the tables say.
    #[inline(always)]
    pub(super) fn way(&mut self, port: u16, received: &Received, headers: &Headers, memos: &mut Memos) -> Way {
        match self.kept(port, received, memos) {
            Some(way) => way,
            None => self.find_way(port, received, headers, memos),
        }
    }

    /// What is kept of a header, if nothing of it has changed.
    #[inline(always)]
    fn kept(&self, port: u16, received: &Received, memos: &Memos) -> Option<Way> {
        let version = self.forwarding.version(received.turn);
        let known = memos.get(received.memo, key_of(port, received.header), self.tables.version());
        known.filter(|seen| version == Some(seen.found_version)).map(|seen| seen.way)
    }

    /// By what the next frame of a port will be judged.
    pub fn next_judged(&self, port: u16, memos: &Memos) -> Judged {
        match self.arrivals.first(port) {
            Some(Pending { facts: Some(_), .. }) => Judged::Staged,
            Some(Pending { received, .. }) if self.kept(port, received, memos).is_some() => Judged::Kept,
            _ => Judged::Read,
        }
    }

    /// Asks the database, and notes the answer while it does not change.
    #[cold]
    fn find_way(&mut self, port: u16, received: &Received, headers: &Headers, memos: &mut Memos) -> Way {
        let header = headers.get(received.header);
        let key = key_of(port, received.header);
        let known = memos.get(received.memo, key, self.tables.version());
        let mut seen = known.copied().unwrap_or_else(|| {
            let frame = Seen::new(port, received, header);
            Classified::new(&frame, key, &self.tables, &self.forwarding)
        });
        // Looked up whatever comes of it, for the sweep makes way for that.
        let (ports, place, vlan) = (&self.ports, seen.place(), seen.vlan);
        let queued = |egress| ports.get(egress).egress.len();
        let found = self.forwarding.find(received.turn, port, place, vlan, header.destination, queued);
        seen.lead_to(self.tables.led_to(header).unwrap_or(found));
        let from = received_at(port, header);
        let is_known = !seen.is_learnt || self.forwarding.knows(seen.source_set, seen.vlan, header.source, from);
        seen.found_version = self.forwarding.version(received.turn).filter(|_| is_known).unwrap_or(NOT_FOUND);
        memos.put(received.memo, seen);
        if seen.is_learnt && seen.found_version == NOT_FOUND {
            // In the port's next turn.
            let at = match &self.clock {
                Clock::Hardware(cycles) => received.turn + cycles.ports,
                Clock::Ideal(_) => received.turn,
            };
            self.forwarding.learn(at, seen.source_set, seen.vlan, header.source, from, seen.is_member);
        }
        seen.way
    }

    /// When a frame of a shaped stream may be selected, whose last bit came at `last`.
    pub(super) fn shape(&mut self, port: u16, last: Tick, bytes: u16, way: &Way, earliest: Tick) -> Shape {
        let group = (port, way.traffic_class);
        let metering = self.meters.metering(port, way.traffic_class);
        match &self.clock {
            Clock::Hardware(_) => {
                let ports = self.ports();
                self.meters.shape_in_cycles(group, way.stream, (last, bytes), &metering, ports)
            }
            Clock::Ideal(_) => self.meters.shape(group, way.stream, (last, bytes), &metering, earliest),
        }
    }

    /// Decides about a frame that finds no room as it is, and of which all else is known.
    #[cold]
    #[allow(clippy::too_many_arguments)] // as of `admit`
    pub(super) fn admit_rest(
        &mut self,
        now: Tick,
        begin: Tick,
        port: u16,
        received: Received,
        wanted: u64,
        before: Tick,
        mut known: Judgement,
    ) -> Judgement {
        self.admit(now, begin, port, &received, wanted, None, &Tagging::default(), before, &mut known);
        known
    }

    /// Queues the copies that are accepted.
    #[allow(clippy::too_many_arguments)] // limits and lengths may be of another time
    fn admit(
        &mut self,
        now: Tick,
        begin: Tick,
        port: u16,
        received: &Received,
        wanted: u64,
        limits: Option<&(Limits, u64)>,
        tagging: &Tagging,
        before: Tick,
        out: &mut Judgement,
    ) {
        let class = usize::from(out.traffic_class);
        let (limits, too_long) = match limits {
            Some((limits, too_long)) => (Some(limits), *too_long),
            None if tagging.is_any() => {
                let bytes = |egress| self.sent_as(tagging, egress, received.bytes).1;
                (None, self.ports.too_long_as_sent(&self.clock, begin + 1, wanted, class, bytes))
            }
            None => (None, self.ports.too_long(&self.clock, begin + 1, wanted, class, received.bytes)),
        };
        let decision = self.store.decide(begin, limits, wanted, too_long, class, port, received.bytes);
        out.destination = decision.accepted;
        out.max_sdu = decision.max_sdu;
        (out.queue_full, out.class_full) = (decision.queue_full, decision.class_full);
        out.store_full = decision.store_full;
        let mut pools = Vec::new();
        if out.queue_full != 0 && self.drops_oldest >> class & 1 == 1 {
            pools = self.make_room(begin, port, received, out);
        }
        let whole = out.visible;
        let visible_at = |clock: &Clock, shaped: bool, egress: u16| match clock {
            Clock::Ideal(ideal)
                if ideal.cut_through_bytes.is_some() && !shaped && ideal.is_slower_or_equal(egress, port) =>
            {
                received.turn + ideal.processing_delay_ps
            }
            _ => whole,
        };
        let is_only = wanted.is_power_of_two();
        let mut left = out.destination;
        while left != 0 {
            let egress = left.trailing_zeros() as u16;
            left &= left - 1;
            let visible = visible_at(&self.clock, out.shaped, egress);
            let (edit, bytes) = self.sent_as(tagging, egress, received.bytes);
            out.visible = out.visible.min(visible);
            let copy = Queued {
                visible,
                frame: received.frame,
                bytes,
                reception: port,
                edit,
                traffic_class: out.traffic_class,
                pool: displace::pool_of(&pools, egress).unwrap_or_else(|| decision.pool_of(usize::from(egress))),
                shaped: out.shaped,
            };
            if is_only && edit.is_none() {
                out.passed = self.pass(now, out.decided, before, egress, &copy);
                if out.passed.is_some() {
                    return;
                }
            }
            let wakes = self.enqueue(now, out.decided, egress, copy);
            let wakes = if pools.is_empty() { wakes } else { self.replan(now, egress) };
            out.wakes |= u64::from(wakes) << egress;
        }
    }

    /// Queues a copy. True: its port is to select at another tick than before.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, now: Tick, decided: Tick, egress: u16, copy: Queued) -> bool {
        let (state, line) = self.ports.at(&self.clock, egress);
        let head = state.egress.enqueue(copy);
        state.enqueued(&line, decided, &copy, head);
        // What the port does before is known later where a frame is given up.
        let now = now.min(state.due);
        if state.egress.is_shaped() {
            let before = state.due;
            return head && state.plan_with(&line, now, &copy).is_some_and(|due| due != before);
        }
        let due = copy.visible.max(state.egress.free());
        let is_sooner = head && due < state.due;
        if is_sooner {
            state.due = due;
        }
        is_sooner
    }
}
