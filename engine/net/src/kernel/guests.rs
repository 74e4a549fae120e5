// SPDX-License-Identifier: Apache-2.0
//! Nodes of which only the trait is known.
use super::Kernel;
use crate::error::RunError;
use crate::frame::Frame;
use crate::link::Wire;
use crate::nodes::{Leaving, Member};
use crate::outbox::{Departure, Outbox};
use crate::queue::{self, Kind};

impl Kernel {
    /// Before the run.
    pub(super) fn plan_guests(&mut self) {
        for node in 0..self.members.len() {
            self.plan_guest(0, node as u32);
        }
    }

    /// At the end of the run, what they did since they were advanced last.
    pub(super) fn end_guests(&mut self, end: u64) -> Result<(), RunError> {
        for node in 0..self.members.len() as u32 {
            let is_due = matches!(&self.members[node as usize], Member::Other(guest) if guest.due != u64::MAX);
            if is_due {
                self.let_advance(end, node)?;
            }
        }
        Ok(())
    }

    pub(super) fn receive_guest(
        &mut self,
        frame: Frame,
        wire: Wire,
        at: u64,
        damaged: Option<u64>,
    ) -> Result<u64, RunError> {
        self.fill(&frame)?;
        if let Some(bit) = damaged {
            self.buffer.get_mut(bit as usize / 8).into_iter().for_each(|byte| *byte ^= 1 << (bit % 8));
        }
        let Member::Other(guest) = &mut self.members[wire.node as usize] else { return Ok(at) };
        guest.copies += 1;
        let received = guest.node.receive(at, wire.port, frame, &self.buffer)?;
        self.plan_guest(0, wire.node);
        Ok(received)
    }

    /// Puts its next advance into the queue, if none that comes before stands there.
    fn plan_guest(&mut self, now: u64, node: u32) {
        let Member::Other(guest) = &mut self.members[node as usize] else { return };
        let Some(next) = guest.node.next().map(|next| next.max(now)).filter(|next| *next < guest.due) else { return };
        guest.due = next;
        self.around.queue.push(queue::Event::new(next, Kind::Advance, node, 0));
    }

    /// A node goes on, or the program of a station, unless an earlier advance has come since.
    pub(super) fn advance(&mut self, now: u64, node: u32) -> Result<(), RunError> {
        match self.members.get_mut(node as usize) {
            None => return self.advance_program(now, node - self.members.len() as u32),
            Some(Member::Other(guest)) if guest.due == now => {
                guest.due = u64::MAX;
                guest.advances.count(now)?;
            }
            Some(_) => return Ok(()),
        }
        self.let_advance(now, node)?;
        self.plan_guest(now + 1, node);
        Ok(())
    }

    fn let_advance(&mut self, now: u64, node: u32) -> Result<(), RunError> {
        let Member::Other(guest) = &mut self.members[node as usize] else { return Ok(()) };
        let mut out = Outbox::new(node, &mut self.around);
        guest.node.advance(now, &mut out)?;
        guest.copies = guest.copies.saturating_add_signed(out.copies);
        let first_port = guest.first_port;
        let mut sent = std::mem::take(&mut self.around.sent);
        let departed = sent.drain(..).try_for_each(|Departure { frame, port, traffic_class, first }| {
            let (slot, place) = (self.around.frames.insert(frame), first_port + u32::from(port));
            self.depart(node, Leaving { slot, port, traffic_class, place, first, is_spoiled: false })
        });
        self.around.sent = sent;
        departed
    }
}
