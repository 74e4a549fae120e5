// SPDX-License-Identifier: Apache-2.0
//! Where a node tells what it did. What it says of a frame goes to the ledger and to the trace at once; frames that it
//! sends go onto their wires when it has told all.
use crate::bridge::{Judgement, Straight, Tick};
use crate::clock::Clock;
use crate::conservation::Violation;
use crate::error::RunError;
use crate::frame::Frame;
use crate::ledger::Ledger;
use crate::link::Wire;
use crate::node::Due;
use crate::queue;
use crate::surroundings::Surroundings;
use crate::trace::{Event, Reason, Trace};
use crate::wires::Transmission;
use penstock_shaper::Time;

/// A copy that leaves a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    /// The frame's place among those of the kernel.
    pub slot: u32,
    pub port: u16,
    pub traffic_class: u8,
    /// It leaves with an FCS that tells that it is bad.
    pub is_spoiled: bool,
    /// Of its first bit after the delimiter.
    pub first: Time,
}

/// What came out of a wire of a transmission that was cut.
pub(crate) struct Broken {
    pub wire: Wire,
    /// At the end of the wire.
    pub at: Time,
    pub bytes: Vec<u8>,
}

/// A frame on its way into a port. The kernel keeps it until the node takes it.
pub struct Coming<'a> {
    pub(crate) slot: u32,
    pub(crate) node: u32,
    /// Told by the node before.
    pub(crate) traffic_class: u8,
    /// The first bit that flips on the wire, from the destination address on.
    pub(crate) damaged: Option<u64>,
    pub(crate) around: &'a mut Surroundings,
}

impl Coming<'_> {
    /// From destination address to FCS, as they come out of the wire; they are made when somebody asks for them.
    pub fn bytes(&mut self) -> Result<&[u8], RunError> {
        self.around.fill(self.slot)?;
        if let Some(bit) = self.damaged {
            self.around.buffer.get_mut(bit as usize / 8).into_iter().for_each(|byte| *byte ^= 1 << (bit % 8));
        }
        Ok(&self.around.buffer)
    }

    /// The header before it on the stream of a host port, if its host gave one.
    pub fn host_header(&self) -> Option<[u8; 4]> {
        self.around.frames.get(self.slot).host_header()
    }

    /// The frame is the node's from now on.
    pub fn take(self) -> Frame {
        self.around.frames.remove(self.slot)
    }
}

/// Of one node, while it acts.
pub struct Outbox<'a> {
    pub(crate) node: u32,
    pub(crate) around: &'a mut Surroundings,
    /// How many more copies the node has than before; fewer: below zero.
    pub(crate) copies: i64,
    /// The one frame that a port of a model sends.
    pub(crate) leaving: Option<Leaving>,
}

impl<'a> Outbox<'a> {
    pub(crate) fn new(node: u32, around: &'a mut Surroundings) -> Self {
        Self { node, around, copies: 0, leaving: None }
    }

    /// A frame leaves a port, with the first bit after its delimiter at `first`.
    #[inline]
    pub fn send(&mut self, frame: Frame, port: u16, traffic_class: u8, first: Time) {
        self.copies -= 1;
        let slot = self.around.frames.insert(frame);
        self.around.sent.push(Leaving { slot, port, traffic_class, is_spoiled: false, first });
    }

    /// The same of one of the kernel's frames, once in an advance.
    #[inline(always)]
    pub(crate) fn send_held(&mut self, leaving: Leaving) {
        self.copies -= 1;
        self.leaving = Some(leaving);
    }

    /// Ends the transmission of a port at `at`, now or later, of a node that [`crate::Node::cuts`]: the frame is the node's again, to be
    /// sent once more, or dropped. None: nothing is being sent then.
    pub fn cut(&mut self, port: u16, at: Time) -> Result<Option<Frame>, RunError> {
        let Surroundings { wires, queue, .. } = &mut *self.around;
        let is_cut = |on: &Transmission| on.begin() <= at && at < on.sent();
        let Some(cut) = wires.cut((self.node, port), queue, is_cut) else { return Ok(None) };
        let Transmission { slot, wire, traffic_class, first, .. } = cut;
        self.around.row(slot, (self.node, port), Event::Cut, at, traffic_class, Reason::NONE);
        self.around.fill(slot)?;
        let came = wire.rate.bytes_within(at.saturating_sub(first)) as usize;
        let bytes = self.around.buffer[..came.min(self.around.buffer.len())].to_vec();
        self.around.broken.push(Broken { wire, at: at.saturating_add(wire.delay_ps), bytes });
        self.copies += 1;
        Ok(Some(self.around.frames.remove(slot)))
    }

    /// Another copy of a frame that the node has, beside those that its way wants.
    pub fn duplicate(&mut self, frame: &mut Frame) -> Frame {
        self.copies += 1;
        self.around.ledger.duplicate(frame)
    }

    /// A copy of a frame that the node has and keeps, for a port; `sent` are the ports to which it was sent before. Where its
    /// way does not want it, the copy is one more, as of [`Self::duplicate`].
    pub fn forward(&mut self, frame: &mut Frame, port: u16, sent: u64) -> Frame {
        let wanted = self.around.ledger.routes().ports(frame.hop) & !sent;
        if wanted >> port & 1 == 0 {
            return self.duplicate(frame);
        }
        self.copies += 1;
        self.around.ledger.fork(frame, 2);
        frame.copy()
    }

    /// The node is done with a frame that came into `port`: what was sent nowhere is swallowed, what did not
    /// go to some port of its way is dropped there.
    pub fn settle(&mut self, mut frame: Frame, port: u16, sent: u64, at: Time) {
        if sent == 0 {
            return self.swallow(frame, port, at);
        }
        let wanted = self.around.ledger.routes().ports(frame.hop);
        for egress in ports(wanted & !sent) {
            self.row(&frame, egress, Event::Dropped, at, Trace::NO_CLASS, Reason::NO_DESTINATION);
            let behind = self.around.ledger.behind(&frame, egress);
            self.around.ledger.miss(&mut frame, behind, Reason::NO_DESTINATION);
        }
        self.leave(frame);
    }

    /// The node keeps a frame for itself that came into a port.
    pub fn swallow(&mut self, frame: Frame, port: u16, at: Time) {
        self.copies -= 1;
        let row = frame.row((self.node, port), Event::Dropped, at, Trace::NO_CLASS, Reason::SWALLOWED);
        if self.around.ledger.swallow(frame) && self.around.trace.wants(Event::Dropped, self.node) {
            self.around.trace.keep(row);
        }
    }

    /// A copy is dropped that waited for a port.
    pub fn drop(&mut self, mut frame: Frame, port: u16, traffic_class: u8, at: Time, reason: Reason) {
        self.around.simulation.passed(at);
        self.row(&frame, port, Event::Dropped, at, traffic_class, reason);
        let behind = self.around.ledger.behind(&frame, port);
        self.around.ledger.miss(&mut frame, behind, reason);
        self.leave(frame);
    }

    /// A frame is lost that no bridge has judged, which came into a port; copies of it left by `forwarded` before.
    #[cold]
    pub(crate) fn lose(&mut self, mut frame: Frame, port: u16, forwarded: u64, at: Time, reason: Reason) {
        let Surroundings { ledger, trace, .. } = &mut *self.around;
        Books { node: self.node, ledger, trace }.refuse_whole(&mut frame, port, forwarded, at, reason);
        self.leave(frame);
    }

    /// A copy leaves a port before its frame is whole, which stays; its header was read at `decided`.
    pub(crate) fn cut_through(&mut self, slot: u32, port: u16, traffic_class: u8, decided: Time) {
        let Surroundings { frames, ledger, trace, .. } = &mut *self.around;
        let frame = frames.get_mut(slot);
        frame.copies += 1;
        self.copies += 1;
        ledger.fork(frame, 2);
        Books { node: self.node, ledger, trace }.row(frame, port, Event::Queued, decided, traffic_class, Reason::NONE);
    }

    /// A port is to judge the same frame again.
    pub(crate) fn judge_again(&mut self, clock: &Clock, port: u16, due: Tick) {
        self.around.queue.push(queue::Event::judgement(clock.time(due), self.node, port, queue::NO_HOP));
    }

    /// A bridge has judged a frame that came into a port. Gives how many copies of it are queued, instead of the one that
    /// came ([`Frame::copy`]); if there are none, the caller has the frame leave.
    #[inline(always)]
    pub fn judged(&mut self, frame: &mut Frame, port: u16, clock: &Clock, judgement: &Judgement) -> u32 {
        let Surroundings { ledger, trace, .. } = &mut *self.around;
        if judgement.is_led {
            frame.marks.lead();
        }
        let copies = Books { node: self.node, ledger, trace }.tell(frame, port, clock, judgement);
        self.copies += i64::from(copies.max(1)) - 1;
        copies
    }

    /// The same of one of the kernel's frames, of which one copy is queued or sent.
    #[inline(always)]
    pub(crate) fn judged_straight(&mut self, slot: u32, clock: &Clock, straight: Straight) {
        let Surroundings { frames, ledger, trace, .. } = &mut *self.around;
        let wanted = ledger.routes().ports(frames.get(slot).hop);
        if straight.is_led {
            frames.get_mut(slot).marks.lead();
        }
        if trace.wants(Event::Queued, self.node)
            || trace.wants(Event::Eligible, self.node)
            || wanted & !(1 << straight.egress) != 0
        {
            let frame = frames.get_mut(slot);
            Books { node: self.node, ledger, trace }.tell(frame, 0, clock, &straight.into());
        }
    }

    /// The same of one of the kernel's frames.
    pub(crate) fn judged_slot(&mut self, slot: u32, port: u16, clock: &Clock, judgement: &Judgement) {
        let Surroundings { frames, ledger, trace, .. } = &mut *self.around;
        let frame = frames.get_mut(slot);
        if judgement.is_led {
            frame.marks.lead();
        }
        match (Books { node: self.node, ledger, trace }).tell(frame, port, clock, judgement) {
            1 => {}
            0 => {
                let frame = frames.remove(slot);
                self.leave(frame);
            }
            copies => {
                frame.copies = copies;
                self.copies += i64::from(copies) - 1;
            }
        }
    }

    /// A frame of which nothing was queued ends here.
    #[inline]
    pub fn leave(&mut self, frame: Frame) {
        self.copies -= 1;
        self.around.ledger.leave(frame);
    }

    /// Something happened that must never be.
    pub fn violated(&mut self, violation: Violation) {
        self.around.ledger.violated(violation);
    }

    /// The node's number in the run.
    pub fn node(&self) -> u32 {
        self.node
    }

    /// Something was done in this instant, though no event said so.
    #[inline]
    pub(crate) fn acted(&mut self, at: Time) {
        self.around.simulation.events += 1;
        self.around.simulation.passed(at);
    }

    /// Whether what this node does now is the last that happens in this instant, so far. Of a part of a network nobody
    /// knows: others may have something to do.
    #[inline]
    pub(crate) fn is_last(&self, now: Time) -> bool {
        self.around.queue.is_over(now) && self.around.ledger.notes.is_none()
    }

    /// A part of the node is to be advanced at a time.
    #[inline(always)]
    pub(crate) fn wake(&mut self, at: Time, Due { kind, index }: Due) {
        self.around.queue.push(queue::Event::new(at, kind, self.node, index));
    }

    /// It is not to be advanced at that time, which was asked for.
    pub(crate) fn cancel(&mut self, at: Time, Due { kind, index }: Due) {
        self.around.queue.remove(queue::Event::new(at, kind, self.node, index));
    }

    /// A row of one of the kernel's frames.
    #[inline(always)]
    pub(crate) fn tell(&mut self, slot: u32, event: Event, time_ps: Time, traffic_class: u8, reason: Reason) {
        self.around.row(slot, (self.node, 0), event, time_ps, traffic_class, reason);
    }

    #[inline]
    fn row(&mut self, frame: &Frame, port: u16, event: Event, time_ps: Time, traffic_class: u8, reason: Reason) {
        if self.around.trace.wants(event, self.node) {
            self.around.trace.keep(frame.row((self.node, port), event, time_ps, traffic_class, reason));
        }
    }
}

/// Where it is written down what a bridge said of a frame.
struct Books<'a> {
    node: u32,
    ledger: &'a mut Ledger,
    trace: &'a mut Trace,
}

impl Books<'_> {
    /// Gives how many copies are queued.
    #[inline(never)]
    fn tell(&mut self, frame: &mut Frame, port: u16, clock: &Clock, judgement: &Judgement) -> u32 {
        if judgement.spoiled != 0 {
            self.tell_spoiled(frame, clock, *judgement);
        }
        if judgement.reason != Reason::NONE {
            self.refuse_whole(frame, port, judgement.forwarded, clock.time(judgement.decided), judgement.reason);
            return 0;
        }
        let destination = judgement.destination;
        if judgement.is_led {
            self.ledger.lead(frame, destination | judgement.refused());
        }
        let copies = if destination.is_power_of_two() { 1 } else { destination.count_ones() };
        if copies > 1 {
            self.ledger.fork(frame, copies);
        }
        if self.trace.wants(Event::Queued, self.node) || self.trace.wants(Event::Eligible, self.node) {
            self.tell_queued(frame, clock, *judgement);
        }
        let wanted = self.ledger.routes().ports(frame.hop);
        let without = judgement.refused() | (wanted & !destination & !judgement.forwarded);
        if without != 0 {
            self.refuse(frame, without, clock, *judgement);
        }
        copies
    }

    /// Out of the way of runs without a trace.
    #[inline(never)]
    fn tell_queued(&mut self, frame: &Frame, clock: &Clock, judgement: Judgement) {
        let (at, visible) = (clock.time(judgement.decided), clock.time(judgement.visible));
        for egress in ports(judgement.destination) {
            self.row(frame, egress, Event::Queued, at, judgement.traffic_class, Reason::NONE);
            if judgement.shaped {
                self.row(frame, egress, Event::Eligible, visible, judgement.traffic_class, Reason::NONE);
            }
        }
    }

    /// Copies that left before their frame was whole turned out bad.
    #[cold]
    fn tell_spoiled(&mut self, frame: &Frame, clock: &Clock, judgement: Judgement) {
        let (at, reason) = (clock.time(judgement.decided), judgement.spoiled_reason());
        for egress in ports(judgement.spoiled) {
            self.row(frame, egress, Event::Spoiled, at, judgement.traffic_class, reason);
        }
        self.ledger.statistics(frame.stream).spoiled += u64::from(judgement.spoiled.count_ones());
    }

    /// All miss a frame that came into a port, but those behind `forwarded`, by which copies of it have left.
    #[cold]
    fn refuse_whole(&mut self, frame: &mut Frame, port: u16, forwarded: u64, at: Time, reason: Reason) {
        if forwarded != 0 {
            let rest = self.ledger.routes().ports(frame.hop) & !forwarded;
            ports(rest).for_each(|egress| self.miss(frame, egress, at, Trace::NO_CLASS, reason));
            return;
        }
        self.row(frame, port, Event::Dropped, at, Trace::NO_CLASS, reason);
        let behind = self.ledger.behind_all(frame);
        self.ledger.miss(frame, behind, reason);
    }

    /// Copies that were not queued, and listeners behind ports to which nothing was forwarded.
    #[cold]
    fn refuse(&mut self, frame: &mut Frame, without: u64, clock: &Clock, judgement: Judgement) {
        let at = clock.time(judgement.decided);
        for egress in ports(without) {
            let refused = judgement.refused() >> egress & 1 != 0;
            let reason = if refused { judgement.refused_reason(egress) } else { Reason::NO_DESTINATION };
            self.miss(frame, egress, at, judgement.traffic_class, reason);
        }
    }

    /// Those behind a port miss a frame.
    fn miss(&mut self, frame: &mut Frame, egress: u16, at: Time, traffic_class: u8, reason: Reason) {
        self.row(frame, egress, Event::Dropped, at, traffic_class, reason);
        let behind = self.ledger.behind(frame, egress);
        self.ledger.miss(frame, behind, reason);
    }

    fn row(&mut self, frame: &Frame, port: u16, event: Event, time_ps: Time, traffic_class: u8, reason: Reason) {
        if self.trace.wants(event, self.node) {
            self.trace.keep(frame.row((self.node, port), event, time_ps, traffic_class, reason));
        }
    }
}

/// The ports of a mask.
fn ports(mut mask: u64) -> impl Iterator<Item = u16> {
    std::iter::from_fn(move || {
        let port = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (port < 64).then_some(port as u16)
    })
}
