// SPDX-License-Identifier: Apache-2.0
//! The program of a station.
use super::StationNode;
use crate::error::{wrong, RunError};
use crate::node::NodeError;
use crate::nodes::Advances;
use crate::outbox::Outbox;
use crate::program::{Created, Left, Program};
use crate::source::Release;
use penstock_shaper::Time;

pub(crate) struct Hosted {
    program: Box<dyn Program>,
    advances: Advances,
    /// At the host port of a bridge.
    is_host: bool,
}

impl Hosted {
    /// At the station with this name.
    pub fn new(name: &str, program: Box<dyn Program>, is_host: bool) -> Self {
        Self { program, advances: Advances::new(name), is_host }
    }

    /// A frame will have come whole at a time.
    pub fn hear(&mut self, whole: Time, stream: u32, port: u16, bytes: &[u8]) -> Result<(), NodeError> {
        self.program.receive(whole, stream, port, bytes)
    }

    /// It is to be advanced when it says, but not before a time; what it would do after the run is not done.
    pub fn plan(&mut self, from: Time, out: &mut Outbox<'_>) {
        let next = self.program.next().map(|next| next.max(from));
        self.advances.plan(next.filter(|next| *next < out.around.duration), out);
    }
}

impl StationNode {
    /// A frame of its program left the bridge, see [`Program::left`].
    pub fn tell_left(&mut self, at: Time, left: Left, out: &mut Outbox<'_>) -> Result<(), RunError> {
        let Some(hosted) = &mut self.hosted else { return Ok(()) };
        hosted.program.left(at, left)?;
        hosted.plan(0, out);
        Ok(())
    }

    /// Whether it is the talker of a stream, by its number among the stations.
    pub fn is(&self, talker: u32) -> bool {
        self.index == talker
    }

    /// Before the run.
    pub fn begin_program(&mut self, out: &mut Outbox<'_>) {
        self.hosted.iter_mut().for_each(|hosted| hosted.plan(0, out));
        self.begin_card(out);
    }

    pub(super) fn advance_program(&mut self, now: Time, out: &mut Outbox<'_>) -> Result<(), RunError> {
        let Some(hosted) = &mut self.hosted else { return Ok(()) };
        hosted.advances.take(now)?;
        let mut created = Vec::new();
        hosted.program.advance(now, &mut created)?;
        let is_host = hosted.is_host;
        for frame in created {
            let stream = frame.stream;
            let origin = out.around.origins.get(stream as usize).filter(|origin| origin.talker == self.index);
            let answers = origin.map(|origin| origin.generator.next_release());
            if answers != Some(Some(Release::OnRequest)) {
                let station = self.index;
                return Err(wrong(format!(
                    "a program at station {station} gave a frame of stream {stream}, which is no answer of it"
                )));
            }
            check_way(&frame, self.index, is_host)?;
            self.queue_created(now, stream, frame, out);
        }
        self.hosted.iter_mut().for_each(|hosted| hosted.plan(now + 1, out));
        Ok(())
    }
}

/// Only the host of a bridge says how its frames go on.
fn check_way(frame: &Created, station: u32, is_host: bool) -> Result<(), RunError> {
    if frame.host.is_some() && !is_host {
        return Err(wrong(format!("a program at station {station} says how a frame goes on, but is at no host port")));
    }
    Ok(())
}
