// SPDX-License-Identifier: Apache-2.0
//! Streams that have a frame whenever the port is free, at a port where nothing holds a frame that is selected: there it
//! is made in that instant. Behind ATS, gates and credit one frame of such a stream stands in the queue, like others.
use std::cmp::Reverse;

#[derive(Clone, Copy, Debug)]
struct Stream {
    index: u32,
    traffic_class: u8,
    ready: bool,
    /// For turns among those of one class.
    served: u64,
}

/// Of one station.
#[derive(Clone, Debug, Default)]
pub struct Greedy {
    streams: Vec<Stream>,
    served: u64,
}

impl Greedy {
    pub fn add(&mut self, index: u32, traffic_class: u8) {
        self.streams.push(Stream { index, traffic_class, ready: false, served: 0 });
    }

    pub fn set_ready(&mut self, index: u32, ready: bool) {
        if let Some(stream) = self.streams.iter_mut().find(|stream| stream.index == index) {
            stream.ready = ready;
        }
    }

    /// No more frames are made.
    pub fn end(&mut self) {
        self.streams.clear();
    }

    #[inline]
    pub fn is_ready(&self) -> bool {
        self.streams.iter().any(|stream| stream.ready)
    }

    /// The stream that is served: of a class above the highest one that has a frame queued, since of one class, what was
    /// released goes before what is made now.
    #[inline]
    pub fn serve(&mut self, queued: Option<usize>) -> Option<u32> {
        if self.streams.is_empty() {
            return None;
        }
        let above =
            |stream: &&mut Stream| stream.ready && queued.is_none_or(|class| usize::from(stream.traffic_class) > class);
        let order = |stream: &&mut Stream| (Reverse(stream.traffic_class), stream.served);
        let next = self.streams.iter_mut().filter(above).min_by_key(order)?;
        self.served += 1;
        next.served = self.served;
        Some(next.index)
    }
}
