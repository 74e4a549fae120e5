// SPDX-License-Identifier: Apache-2.0
//! The program of a station.
use super::StationNode;
use crate::error::{wrong, RunError};
use crate::node::{Due, NodeError};
use crate::nodes::Advances;
use crate::outbox::Outbox;
use crate::program::{Created, Program};
use crate::source::Release;

pub(crate) struct Hosted {
    program: Box<dyn Program>,
    /// The next advance that stands in the queue; `u64::MAX`: none.
    due: u64,
    advances: Advances,
}

impl Hosted {
    /// At the station with this name.
    pub fn new(name: &str, program: Box<dyn Program>) -> Self {
        Self { program, due: u64::MAX, advances: Advances::new(name) }
    }

    /// A frame will have come whole at a time.
    pub fn hear(&mut self, whole: u64, stream: u32, bytes: &[u8]) -> Result<(), NodeError> {
        self.program.receive(whole, stream, bytes)
    }

    /// Puts its next advance into the queue, if none that comes before stands there.
    pub fn plan(&mut self, from: u64, out: &mut Outbox<'_>) {
        let next = self.program.next().map(|next| next.max(from));
        let Some(next) = next.filter(|next| *next < self.due && *next < out.around.duration) else { return };
        self.due = next;
        out.wake(next, Due::ALL);
    }
}

impl StationNode {
    /// Before the run.
    pub fn begin_program(&mut self, out: &mut Outbox<'_>) {
        self.hosted.iter_mut().for_each(|hosted| hosted.plan(0, out));
    }

    pub(super) fn advance_program(&mut self, now: u64, out: &mut Outbox<'_>) -> Result<(), RunError> {
        let Some(hosted) = self.hosted.as_mut().filter(|hosted| hosted.due == now) else { return Ok(()) };
        hosted.due = u64::MAX;
        hosted.advances.count(now)?;
        let mut created = Vec::new();
        hosted.program.advance(now, &mut created)?;
        for Created { stream, bytes } in created {
            let origin = out.around.origins.get(stream as usize).filter(|origin| origin.talker == self.index);
            let answers = origin.map(|origin| origin.generator.next_release());
            if answers != Some(Some(Release::OnRequest)) {
                let station = self.index;
                return Err(wrong(format!(
                    "a program at station {station} gave a frame of stream {stream}, which is no answer of it"
                )));
            }
            self.queue_created(now, stream, bytes, out);
        }
        self.hosted.iter_mut().for_each(|hosted| hosted.plan(now + 1, out));
        Ok(())
    }
}
