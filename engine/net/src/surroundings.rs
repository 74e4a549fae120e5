// SPDX-License-Identifier: Apache-2.0
//! What surrounds the nodes of a kernel.
use crate::bridge::Memos;
use crate::capture::Captures;
use crate::error::{wrong, RunError};
use crate::frames::Frames;
use crate::ledger::Ledger;
use crate::outbox::{Broken, Leaving};
use crate::queue::Queue;
use crate::simulation::Simulation;
use crate::source::Origin;
use crate::trace::{Event, Reason, Row, Trace};
use crate::wires::Wires;
use penstock_shaper::Time;

pub(crate) struct Surroundings {
    pub queue: Queue,
    pub frames: Frames,
    pub ledger: Ledger,
    /// What bridges keep of headers, by hop.
    pub memos: Memos,
    pub trace: Trace,
    pub simulation: Simulation,
    /// What a guest has sent and the kernel has not put onto wires yet.
    pub sent: Vec<Leaving>,
    /// Transmissions that it has cut, of which the next node is to be told.
    pub broken: Vec<Broken>,
    /// What is on wires that may be cut.
    pub wires: Wires,
    /// Per stream.
    pub origins: Vec<Origin>,
    pub captures: Captures,
    /// Sources create frames before this.
    pub duration: Time,
    /// Whether it is worth while to fetch ahead.
    pub is_large: bool,
    /// Memory that is used again.
    pub buffer: Vec<u8>,
}

impl Surroundings {
    pub fn new(ledger: Ledger, trace: Trace, origins: Vec<Origin>, captures: Captures, duration: Time) -> Self {
        Self {
            queue: Queue::default(),
            frames: Frames::default(),
            memos: Memos::new(ledger.routes().hops()),
            is_large: crate::kernel::ahead::is_large(ledger.routes().hops()),
            ledger,
            trace,
            simulation: Simulation::default(),
            sent: Vec::new(),
            broken: Vec::new(),
            wires: Wires::default(),
            origins,
            captures,
            duration,
            buffer: Vec::new(),
        }
    }

    /// The bytes of a frame into the buffer: those that a node wrote, or those of its source again.
    pub fn fill(&mut self, slot: u32) -> Result<(), RunError> {
        let Self { frames, origins, buffer, .. } = self;
        let frame = frames.get(slot);
        if let Some(content) = &frame.content {
            buffer.clear();
            buffer.extend_from_slice(&content.bytes);
            return Ok(());
        }
        let generator = &origins[frame.stream as usize].generator;
        generator
            .fill(frame.number, frame.bytes, buffer)
            .map_err(|error| wrong(format!("frame {} of stream {}: {error}", frame.number, frame.stream)))
    }

    #[inline(always)]
    pub fn row(
        &mut self,
        slot: u32,
        place: (u32, u16),
        event: Event,
        time_ps: Time,
        traffic_class: u8,
        reason: Reason,
    ) {
        if self.trace.wants(event, place.0) {
            self.trace.keep(self.frames.get(slot).row(place, event, time_ps, traffic_class, reason));
        }
    }

    /// A row that was made beforehand.
    pub fn keep(&mut self, row: Row) {
        if self.trace.wants(row.event, row.node) {
            self.trace.keep(row);
        }
    }
}
