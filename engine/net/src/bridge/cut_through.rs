// SPDX-License-Identifier: Apache-2.0
//! Cut-through, as devices do it and as the draft of IEEE 802.1DU describes it: a copy leaves behind its frame's header, if
//! its port is idle in that instant and no faster than the one the frame comes by. Any other copy waits for the whole frame.
//!
//! ```text
//!  first bit ──header──► classified ──processing──► port idle: sent   ──► last bit: was it good?
//!                                                   port busy: waits  ──► last bit: admitted, queued, as any
//! ```
//!
//! What has begun to leave cannot be taken back: of a frame that turns out bad, too long or damaged, the copies that were
//! sent have their FCS spoiled, so that the next receiver drops them. Admission has no part in copies that do not wait.
//! A copy of a stream with ATS is never sent so: its eligibility time follows from its length and from its last bit.
use std::cmp::Reverse;

use penstock_frame::Edit;
use penstock_shaper::admission::Pool;
use penstock_shaper::egress::Queued;

use super::arrivals::Received;
use super::memos::{Memos, NO_STREAM};
use super::timing::{Clock, Ideal};
use super::{Bridge, Judgement, Passed, Selection, Tick};
use crate::header::Headers;
use crate::trace::Reason;

/// A copy that leaves at an instant, if its port is idle then.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    at: Tick,
    /// When its frame was classified.
    decided: Tick,
    egress: u16,
    copy: Queued,
    is_bad: bool,
    /// For its class at this port.
    is_too_long: bool,
}

/// Of the frame that is coming in by a port: bit e is the copy that has left by egress port e.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Left {
    pub ports: u64,
    /// Of those: too long for its class there.
    pub too_long: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct CutThrough {
    candidates: Vec<Candidate>,
    /// Per reception port.
    left: Vec<Left>,
}

impl CutThrough {
    pub fn new(ports: u16) -> Self {
        Self { candidates: Vec::new(), left: vec![Left::default(); ports.into()] }
    }

    /// The frame of a reception port is whole; what of it has left.
    pub fn end(&mut self, port: u16) -> Left {
        self.candidates.retain(|candidate| candidate.copy.reception != port);
        std::mem::take(&mut self.left[usize::from(port)])
    }

    /// As [`Self::end`], while it is still coming in.
    pub fn left(&self, port: u16) -> u64 {
        self.left.get(usize::from(port)).map_or(0, |left| left.ports)
    }

    /// Whether a copy of a frame that is not whole may yet leave by a port.
    #[inline(always)]
    pub fn may_leave_by(&self, egress: u16) -> bool {
        self.candidates.iter().any(|candidate| candidate.egress == egress)
    }

    /// The first instant up to `now` at which copies may leave by a port.
    fn next(&self, egress: u16, now: Tick) -> Option<Tick> {
        let of_port = self.candidates.iter().filter(|candidate| candidate.egress == egress && candidate.at <= now);
        of_port.map(|candidate| candidate.at).min()
    }

    /// Takes out those of a port and an instant, the highest class first.
    fn take(&mut self, egress: u16, at: Tick) -> Vec<Candidate> {
        let (mut taken, left) = self.candidates.iter().partition::<Vec<_>, _>(|c| c.egress == egress && c.at == at);
        self.candidates = left;
        taken.sort_by_key(|candidate| (Reverse(candidate.copy.traffic_class), candidate.copy.reception));
        taken
    }
}

impl Bridge {
    /// The header of the next frame of a port is there, and the frame is not; none: it is whole, or has to be. Copies may
    /// leave at the ticks that [`Self::leaving_early`] tells.
    #[inline(never)]
    pub(super) fn judge_header(
        &mut self,
        now: Tick,
        port: u16,
        headers: &Headers,
        memos: &mut Memos,
        before: Tick,
    ) -> Option<Judgement> {
        let Clock::Ideal(ideal) = &self.clock else { return None };
        let at = now + ideal.processing_delay_ps;
        let received = self.arrivals.read_header(port)?;
        let waits = Judgement { frame: received.frame, again: Some(received.last), ..Judgement::default() };
        let way = self.way(port, &received, headers, memos);
        if !way.is_forwarded() || way.is_shaped {
            return Some(waits);
        }
        let class = usize::from(way.traffic_class);
        let too_long = self.ports.too_long(&self.clock, at, way.wanted, class, received.bytes);
        let ports = self.no_faster(port, way.wanted);
        let candidate = |egress| Candidate {
            at,
            decided: now,
            egress,
            copy: Queued {
                visible: at,
                frame: received.frame,
                bytes: received.bytes,
                reception: port,
                edit: Edit::NONE,
                traffic_class: way.traffic_class,
                pool: Pool::Queue,
                shaped: false,
            },
            is_bad: received.fault != Reason::NONE,
            is_too_long: too_long >> egress & 1 == 1,
        };
        if received.fault == Reason::NONE && ports == way.wanted && ports.is_power_of_two() {
            let passed = self.leave_at_once(now, before, &candidate(ports.trailing_zeros() as u16));
            if passed.is_some() {
                self.arrivals.next(&self.clock, port);
                return Some(Judgement {
                    frame: received.frame,
                    bytes: received.bytes,
                    destination: ports,
                    traffic_class: way.traffic_class,
                    visible: at,
                    stream: (way.stream != NO_STREAM).then_some(way.stream),
                    decided: now,
                    passed,
                    ..Judgement::default()
                });
            }
        }
        self.cut_through.candidates.extend((0..self.ports()).filter(|egress| ports >> egress & 1 == 1).map(candidate));
        Some(waits)
    }

    /// When copies of the frame that is coming in by a port may leave by which egress ports, if those are idle then.
    pub fn leaving_early(&self, reception: u16) -> impl Iterator<Item = (u16, Tick)> + '_ {
        let candidates = self.cut_through.candidates.iter().filter(move |each| each.copy.reception == reception);
        candidates.map(|candidate| (candidate.egress, candidate.at))
    }

    /// Of a mask of egress ports, those that are no faster than a reception port.
    fn no_faster(&self, reception: u16, egress: u64) -> u64 {
        let Clock::Ideal(ideal) = &self.clock else { return 0 };
        let is_slow = |port: &u16| egress >> port & 1 == 1 && ideal.is_slower_or_equal(*port, reception);
        (0..self.ports()).filter(is_slow).fold(0, |mask, port| mask | 1 << port)
    }

    /// The only copy of a frame that is not damaged leaves, if nothing can come before it until then. A port that is shaped
    /// asks for more: frames can be too long for it, and its gate has to stay open for the longest.
    fn leave_at_once(&mut self, now: Tick, before: Tick, candidate: &Candidate) -> Option<Passed> {
        let Candidate { egress, copy, .. } = candidate;
        if self.ports.get(*egress).egress.is_shaped() {
            return None;
        }
        self.pass_by(now, now, before, *egress, copy).map(|(passed, _)| passed)
    }

    /// A copy leaves before its frame is whole, in an instant up to `now` in which its port is idle.
    #[inline(never)]
    pub(super) fn select_header(&mut self, now: Tick, egress: u16) -> Option<Selection> {
        while let Some(at) = self.cut_through.next(egress, now) {
            let longest = self.arrivals.max_frame_bytes(at);
            let (state, line) = self.ports.at(&self.clock, egress);
            if state.due < at {
                return None; // what is queued goes first
            }
            let is_sent = |candidate: &&Candidate| state.egress.pass_if_idle(&line, at, &candidate.copy, longest);
            let Some(sent) = self.cut_through.take(egress, at).iter().find(is_sent).copied() else { continue };
            let Candidate { decided, copy, is_bad, is_too_long, .. } = sent;
            let left = &mut self.cut_through.left[usize::from(copy.reception)];
            left.ports |= 1 << egress;
            left.too_long |= u64::from(is_too_long) << egress;
            let (first, _) = line.leaves(at, &copy);
            let next = state.plan(&line, at);
            let Queued { frame, bytes, traffic_class, .. } = copy;
            let is_spoiled = is_bad || is_too_long;
            return Some(Selection::CutThrough { frame, bytes, traffic_class, decided, first, is_spoiled, next });
        }
        None
    }
}

impl Received {
    /// With a header at this time, of a frame with so many bytes; of a bridge that may send it on behind that.
    pub(super) fn with_header(mut self, ideal: &Ideal, header: Tick, length: u16) -> Self {
        self.is_header = header + ideal.processing_delay_ps < self.last;
        self.bytes = if self.is_header { length } else { self.bytes };
        // Until it leaves, it is known whether it is good.
        let waits = !self.is_header && self.fault != Reason::NONE;
        self.turn = if waits { self.last } else { header };
        self
    }
}
