// SPDX-License-Identifier: Apache-2.0
//! A node of which only the trait is known.
use super::Advances;
use crate::conservation::Violation;
use crate::error::RunError;
use crate::frame::Frame;
use crate::node::{Due, Node};
use crate::outbox::{Coming, Outbox};
use penstock_shaper::Time;

pub(crate) struct Guest {
    node: Box<dyn Node>,
    /// Copies that it was given and that have not left it.
    copies: u64,
    /// The place of its first port among those of all nodes.
    pub first_port: u32,
    advances: Advances,
}

impl Guest {
    pub fn new(name: &str, node: Box<dyn Node>, first_port: u32) -> Self {
        Self { node, copies: 0, first_port, advances: Advances::new(name) }
    }

    /// It is to be advanced when it says, but not before a time.
    pub fn plan(&mut self, from: Time, out: &mut Outbox<'_>) {
        self.advances.plan(self.node.next().map(|next| next.max(from)), out);
    }

    /// At the end of the run, what it did since it was advanced last.
    pub fn end(&mut self, end: Time, out: &mut Outbox<'_>) -> Result<(), RunError> {
        if !self.advances.is_planned() {
            return Ok(());
        }
        self.go_on(end, out)
    }

    fn go_on(&mut self, now: Time, out: &mut Outbox<'_>) -> Result<(), RunError> {
        self.node.advance(now, Due::ALL, out)?;
        self.copies = self.copies.saturating_add_signed(out.copies);
        Ok(())
    }
}

impl Node for Guest {
    fn ports(&self) -> u16 {
        self.node.ports()
    }

    fn receive(&mut self, at: Time, port: u16, coming: Coming<'_>) -> Result<Time, RunError> {
        let Coming { node, around, .. } = coming;
        self.copies += 1;
        let received = self.node.receive(at, port, Coming { around: &mut *around, ..coming })?;
        self.plan(0, &mut Outbox::new(node, around));
        Ok(received)
    }

    fn broken_off(&mut self, at: Time, port: u16, bytes: &[u8]) -> Result<(), RunError> {
        self.node.broken_off(at, port, bytes)
    }

    fn next(&self) -> Option<Time> {
        self.node.next()
    }

    fn advance(&mut self, now: Time, _due: Due, out: &mut Outbox<'_>) -> Result<(), RunError> {
        self.advances.take(now)?;
        self.go_on(now, out)?;
        self.plan(now + 1, out);
        Ok(())
    }

    fn cuts(&self) -> bool {
        self.node.cuts()
    }

    fn reads_early(&self) -> bool {
        self.node.reads_early()
    }

    fn inside(&self, show: &mut dyn FnMut(&Frame, u32)) {
        self.node.inside(show);
    }

    fn audit(&self, node: u32, is_idle: bool) -> Option<Violation> {
        let mut holds = 0;
        self.node.inside(&mut |_, copies| holds += u64::from(copies));
        let given = self.copies;
        let lost = (holds != given).then_some(Violation::Count { node, holds, given });
        self.node.audit(node, is_idle).or(lost)
    }

    fn cycles(&self) -> (u64, u64) {
        self.node.cycles()
    }
}
