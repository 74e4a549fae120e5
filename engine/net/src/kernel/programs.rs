// SPDX-License-Identifier: Apache-2.0
//! Programs at stations.
use super::Kernel;
use crate::error::{wrong, RunError};
use crate::frame::Frame;
use crate::link::Wire;
use crate::nodes::Advances;
use crate::program::{Created, Program};
use crate::queue::{self, Kind};
use crate::source::Release;

/// At one station.
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
}

impl Kernel {
    /// Before the run.
    pub(super) fn plan_programs(&mut self) {
        let stations: Vec<u32> = self.programs.keys().copied().collect();
        stations.into_iter().for_each(|station| self.plan_program(0, station));
    }

    /// A frame comes to a station, with its first bit at a time.
    pub(super) fn hear(&mut self, frame: &Frame, station: u32, wire: Wire, time: u64) -> Result<(), RunError> {
        self.fill(frame)?;
        let Some(hosted) = self.programs.get_mut(&station) else { return Ok(()) };
        let whole = time + wire.rate.duration(u32::from(frame.bytes));
        hosted.program.receive(whole, frame.stream, &self.buffer)?;
        self.plan_program(0, station);
        Ok(())
    }

    fn plan_program(&mut self, from: u64, station: u32) {
        let node = self.node_of(station);
        let Some(hosted) = self.programs.get_mut(&station) else { return };
        let next = hosted.program.next().map(|next| next.max(from));
        let Some(next) = next.filter(|next| *next < hosted.due && *next < self.duration) else { return };
        hosted.due = next;
        self.around.queue.push(queue::Event::new(next, Kind::Advance, node, 0));
    }

    pub(super) fn advance_program(&mut self, now: u64, station: u32) -> Result<(), RunError> {
        let Some(hosted) = self.programs.get_mut(&station).filter(|hosted| hosted.due == now) else { return Ok(()) };
        hosted.due = u64::MAX;
        hosted.advances.count(now)?;
        let mut created = Vec::new();
        hosted.program.advance(now, &mut created)?;
        for Created { stream, bytes } in created {
            let origin = self.origins.get(stream as usize).filter(|origin| origin.talker == station);
            let answers = origin.map(|origin| origin.generator.next_release());
            if answers != Some(Some(Release::OnRequest)) {
                return Err(wrong(format!(
                    "a program at station {station} gave a frame of stream {stream}, which is no answer of it"
                )));
            }
            self.queue_created(now, stream, bytes);
        }
        self.plan_program(now + 1, station);
        Ok(())
    }
}
