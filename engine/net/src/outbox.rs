// SPDX-License-Identifier: Apache-2.0
//! Where a node tells what it did. What it says of a frame goes to the ledger and to the trace at once; frames that it
//! sends go onto their wires when it has told all.
use crate::bridge::{Judgement, Tick};
use crate::clock::Clock;
use crate::conservation::Violation;
use crate::frame::Frame;
use crate::ledger::Ledger;
use crate::queue::{self, Kind, Queue};
use crate::simulation::Simulation;
use crate::trace::{Event, Reason, Trace};

/// A frame that leaves a port.
pub(crate) struct Departure {
    pub frame: Frame,
    pub port: u16,
    pub traffic_class: u8,
    /// Of its first bit after the delimiter.
    pub first: u64,
}

/// What surrounds the nodes of a kernel.
pub(crate) struct Surroundings {
    pub queue: Queue,
    pub ledger: Ledger,
    pub trace: Trace,
    pub simulation: Simulation,
    /// Memory that is used again.
    pub sent: Vec<Departure>,
}

impl Surroundings {
    pub fn new(ledger: Ledger, trace: Trace) -> Self {
        Self { queue: Queue::default(), ledger, trace, simulation: Simulation::default(), sent: Vec::new() }
    }
}

/// Of one node, while it acts.
pub struct Outbox<'a> {
    node: u32,
    around: &'a mut Surroundings,
    /// How many more copies the node has than before; fewer: below zero.
    pub(crate) copies: i64,
}

impl<'a> Outbox<'a> {
    pub(crate) fn new(node: u32, around: &'a mut Surroundings) -> Self {
        Self { node, around, copies: 0 }
    }

    /// A frame leaves a port, with the first bit after its delimiter at `first`.
    #[inline]
    pub fn send(&mut self, frame: Frame, port: u16, traffic_class: u8, first: u64) {
        self.copies -= 1;
        self.around.sent.push(Departure { frame, port, traffic_class, first });
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
    pub fn settle(&mut self, mut frame: Frame, port: u16, sent: u64, at: u64) {
        if sent == 0 {
            return self.swallow(frame, port, at);
        }
        let wanted = self.around.ledger.routes().ports(frame.hop);
        for egress in ports(wanted & !sent) {
            self.row(&frame, egress, Event::Dropped, at, Trace::NO_CLASS, Reason::NO_DESTINATION);
            let behind = self.around.ledger.routes().behind(frame.hop, egress);
            self.around.ledger.miss(&mut frame, behind, Reason::NO_DESTINATION);
        }
        self.leave(frame);
    }

    /// The node keeps a frame for itself that came into a port.
    pub fn swallow(&mut self, frame: Frame, port: u16, at: u64) {
        self.copies -= 1;
        let row = frame.row((self.node, port), Event::Dropped, at, Trace::NO_CLASS, Reason::SWALLOWED);
        if self.around.ledger.swallow(frame) && self.around.trace.wants(Event::Dropped, self.node) {
            self.around.trace.keep(row);
        }
    }

    /// A copy is dropped that waited for a port.
    pub fn drop(&mut self, mut frame: Frame, port: u16, traffic_class: u8, at: u64, reason: Reason) {
        self.around.simulation.passed(at);
        self.row(&frame, port, Event::Dropped, at, traffic_class, reason);
        let behind = self.around.ledger.routes().behind(frame.hop, port);
        self.around.ledger.miss(&mut frame, behind, reason);
        self.leave(frame);
    }

    /// A frame is lost that no bridge has judged, which came into a port.
    #[cold]
    pub(crate) fn lose(&mut self, mut frame: Frame, port: u16, at: u64, reason: Reason) {
        self.row(&frame, port, Event::Dropped, at, Trace::NO_CLASS, reason);
        let behind = self.around.ledger.routes().behind_all(frame.hop);
        self.around.ledger.miss(&mut frame, behind, reason);
        self.leave(frame);
    }

    /// A bridge has judged a frame that came into a port. Gives how many copies of it are queued, instead of the one that
    /// came ([`Frame::copy`]); if there are none, the caller has the frame leave.
    #[inline(always)]
    pub fn judged(&mut self, frame: &mut Frame, port: u16, clock: &Clock, judgement: &Judgement) -> u32 {
        if judgement.reason != Reason::NONE {
            let at = clock.time(judgement.decided);
            self.row(frame, port, Event::Dropped, at, Trace::NO_CLASS, judgement.reason);
            let behind = self.around.ledger.routes().behind_all(frame.hop);
            self.around.ledger.miss(frame, behind, judgement.reason);
            return 0;
        }
        let copies = judgement.destination.count_ones();
        self.around.ledger.fork(frame, copies);
        self.copies += i64::from(copies.max(1)) - 1;
        if self.around.trace.wants(Event::Queued, self.node) || self.around.trace.wants(Event::Eligible, self.node) {
            self.tell_queued(frame, clock, judgement);
        }
        let wanted = self.around.ledger.routes().ports(frame.hop);
        let without = judgement.refused() | (wanted & !judgement.destination);
        if without != 0 {
            self.refuse(frame, without, clock, judgement);
        }
        copies
    }

    fn tell_queued(&mut self, frame: &Frame, clock: &Clock, judgement: &Judgement) {
        let (at, visible) = (clock.time(judgement.decided), clock.time(judgement.visible));
        for egress in ports(judgement.destination) {
            self.row(frame, egress, Event::Queued, at, judgement.traffic_class, Reason::NONE);
            if judgement.shaped {
                self.row(frame, egress, Event::Eligible, visible, judgement.traffic_class, Reason::NONE);
            }
        }
    }

    /// Copies that were not queued, and listeners behind ports to which nothing was forwarded.
    #[cold]
    fn refuse(&mut self, frame: &mut Frame, without: u64, clock: &Clock, judgement: &Judgement) {
        let at = clock.time(judgement.decided);
        for egress in ports(without) {
            let refused = judgement.refused() >> egress & 1 != 0;
            let reason = if refused { judgement.refused_reason(egress) } else { Reason::NO_DESTINATION };
            self.row(frame, egress, Event::Dropped, at, judgement.traffic_class, reason);
            let behind = self.around.ledger.routes().behind(frame.hop, egress);
            self.around.ledger.miss(frame, behind, reason);
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
    pub(crate) fn acted(&mut self, at: u64) {
        self.around.simulation.events += 1;
        self.around.simulation.passed(at);
    }

    /// The node's clock, and when a port is to act by it.
    #[inline]
    pub(crate) fn wake(&mut self, clock: &Clock, kind: Kind, (port, due): (u16, Tick)) {
        self.around.queue.push(queue::Event::new(clock.time(due), kind, self.node, u32::from(port)));
    }

    #[inline]
    fn row(&mut self, frame: &Frame, port: u16, event: Event, time_ps: u64, traffic_class: u8, reason: Reason) {
        if self.around.trace.wants(event, self.node) {
            self.around.trace.keep(frame.row((self.node, port), event, time_ps, traffic_class, reason));
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
