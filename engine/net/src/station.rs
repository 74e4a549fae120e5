// SPDX-License-Identifier: Apache-2.0
//! A station sends the frames of its streams, first released first, over one link.
use penstock_frame::{wire_length, BitsPerSecond, Bytes, Picoseconds, PREAMBLE_BYTES};

use crate::source::{Generator, Release, SourceError};

pub(crate) struct Talker {
    pub stream: usize,
    pub generator: Generator,
    /// For turns among sources that always have a frame.
    served: u64,
}

pub(crate) struct Sender {
    talkers: Vec<Talker>,
    rate: BitsPerSecond,
    delay: u64,
    /// Times of arrival at the bridge are multiples of this.
    grid: u64,
    /// The earliest next start of a frame, as the time of its first bit after the delimiter.
    free: u64,
    served: u64,
}

pub(crate) struct Departure {
    pub stream: usize,
    pub created: u64,
    /// At the bridge.
    pub arrival: Picoseconds,
    pub bytes: Vec<u8>,
}

impl Sender {
    pub fn new(rate: BitsPerSecond, delay: u64, grid: Picoseconds, earliest: Picoseconds) -> Self {
        Self { talkers: Vec::new(), rate, delay, grid: grid.0, free: earliest.0.saturating_sub(delay), served: 0 }
    }

    pub fn add(&mut self, stream: usize, generator: Generator) {
        self.talkers.push(Talker { stream, generator, served: 0 });
    }

    /// Which talker is next, and when its frame is created.
    fn next(&self) -> Option<(u64, usize)> {
        let candidates = self.talkers.iter().enumerate().filter_map(|(index, talker)| {
            let (time, greedy) = match talker.generator.next_release()? {
                Release::At(time) => (time, false),
                Release::WhenFree(time) => (time.max(self.free), true),
            };
            Some(((time, greedy, talker.served, index), index))
        });
        candidates.min().map(|((time, ..), index)| (time, index))
    }

    /// When the next frame is created.
    pub fn next_release(&self) -> Option<u64> {
        self.next().map(|(time, _)| time)
    }

    pub fn take(&mut self) -> Result<Option<Departure>, (usize, SourceError)> {
        let Some((created, index)) = self.next() else { return Ok(None) };
        let talker = &mut self.talkers[index];
        let bytes = talker.generator.take().map_err(|error| (talker.stream, error))?;
        self.served += 1;
        talker.served = self.served;
        let arrival = (created.max(self.free) + self.delay).div_ceil(self.grid) * self.grid;
        // Preamble and delimiter of the next frame follow this one and the gap.
        let busy = self.rate.duration(wire_length(Bytes(bytes.len() as u64)));
        self.free = (arrival - self.delay).saturating_add(busy.map_or(0, |b| b.0));
        Ok(Some(Departure { stream: talker.stream, created, arrival: Picoseconds(arrival), bytes }))
    }

    /// The least time from the start of a preamble to the first bit after the delimiter.
    pub fn lead(&self) -> u64 {
        self.rate.duration(Bytes(u64::from(PREAMBLE_BYTES))).map_or(0, |d| d.0)
    }
}
