// SPDX-License-Identifier: Apache-2.0
//! A frame on its way: a value, which one place at a time holds.
use std::sync::Arc;

use crate::header::{Header, HeaderId, HostWay};
use crate::trace::{Event, Reason, Row};
use penstock_shaper::Time;

/// No place in a table.
pub(crate) const NONE: u32 = u32::MAX;

/// What a node has written, where it is not what the source describes.
#[derive(Debug)]
pub(crate) struct Content {
    pub header: Header,
    /// From destination address to FCS.
    pub bytes: Box<[u8]>,
    /// At a host port.
    pub beside: Beside,
}

/// What goes with a frame on the streams of a host port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Beside {
    #[default]
    Nothing,
    /// How it goes on, as its host says: the header before it.
    FromHost([u8; 4]),
    /// The port at which the bridge received it.
    ToHost(u16),
}

/// Of the header before a frame of the host: it is to be told when the frame leaves.
pub(crate) const STAMPED: u8 = 2;

impl Content {
    pub fn new(bytes: Box<[u8]>, beside: Beside) -> Arc<Self> {
        Arc::new(Self { header: Header::parse(&bytes), bytes, beside })
    }

    /// As a bridge of so many ports reads it that has it of its host.
    pub fn header_from_host(&self, ports: u16) -> Header {
        let host = match self.beside {
            Beside::FromHost(header) => Some(HostWay::parse(header, ports)),
            Beside::Nothing | Beside::ToHost(_) => None,
        };
        Header { host, ..self.header }
    }
}

/// One copy of a frame. Whoever has it sends it on, or tells the outbox what became of it.
#[derive(Debug)]
pub struct Frame {
    /// Unique in the run.
    pub(crate) id: u64,
    /// Which frame of its stream it is.
    pub(crate) number: u64,
    /// When it was created; once the talker has sent it, when its first bit after the delimiter left.
    pub(crate) since: Time,
    /// None: the source gives its bytes again when somebody wants to see them.
    pub(crate) content: Option<Arc<Content>>,
    pub(crate) stream: u32,
    /// As its source made it.
    pub(crate) header: HeaderId,
    /// Its place in its stream's route: on a wire the expected one, in a node the true one; [`NONE`]: beside the route.
    pub(crate) hop: u32,
    /// What it shares with other copies; [`NONE`]: it is the only one, and `open` and `reason` hold.
    pub(crate) account: u32,
    /// Listeners that it has neither reached nor missed.
    pub(crate) open: u32,
    pub(crate) bytes: u16,
    /// Of the first listener that it missed.
    pub(crate) reason: Reason,
    pub(crate) marks: Marks,
}

/// Whether other copies of a frame are, or were, in other partitions of the network; and by how many bridges with detours
/// it was led. In one byte, for the sake of the frame's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks(u8);

impl Marks {
    const PARTED: u8 = 0x80;
    /// So many links may a frame take, as Linux sends its packets (`net.ipv4.ip_default_ttl`).
    const HOP_LIMIT: u8 = 64;

    pub fn is_parted(self) -> bool {
        self.0 & Self::PARTED != 0
    }

    pub fn set_parted(&mut self, is_parted: bool) {
        self.0 = self.0 & !Self::PARTED | u8::from(is_parted) << 7;
    }

    /// A bridge with detours has found it a way.
    pub fn lead(&mut self) {
        let led = self.0 & !Self::PARTED;
        self.0 = self.0 & Self::PARTED | (led + 1).min(Self::HOP_LIMIT + 1);
    }

    /// It may take no further link: two dead links have led it in a circle.
    pub fn is_spent(self) -> bool {
        self.0 & !Self::PARTED > Self::HOP_LIMIT
    }
}

#[cfg(not(feature = "wide"))]
const _: () = assert!(size_of::<Frame>() == 56);

impl Frame {
    /// Unique in the run; copies of one frame have the same.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Its stream's place among the streams of the network.
    pub fn stream(&self) -> u32 {
        self.stream
    }

    /// From destination address to FCS.
    pub fn length(&self) -> u16 {
        self.bytes
    }

    /// Gives it other bytes, from destination address to FCS; they are what is seen of it from then on.
    pub fn set_bytes(&mut self, bytes: Box<[u8]>) {
        self.bytes = bytes.len().min(usize::from(u16::MAX)) as u16;
        self.content = Some(Content::new(bytes, Beside::Nothing));
    }

    /// It goes to the host of a bridge, which received these bytes at a port.
    pub fn set_received(&mut self, bytes: Box<[u8]>, port: u16) {
        self.content = Some(Content::new(bytes, Beside::ToHost(port)));
    }

    /// The header before it, if it comes from the host of a bridge that says how it goes on.
    pub fn host_header(&self) -> Option<[u8; 4]> {
        match self.content.as_ref()?.beside {
            Beside::FromHost(header) => Some(header),
            _ => None,
        }
    }

    /// The tag by which its host wants to be told when it leaves.
    pub(crate) fn stamp_tag(&self) -> Option<u8> {
        let [kind, .., tag] = self.host_header()?;
        (kind & STAMPED != 0).then_some(tag)
    }

    /// The port at which the bridge received it to whose host it comes; elsewhere the only one.
    pub(crate) fn received_at(&self) -> u16 {
        match self.content.as_ref().map(|content| content.beside) {
            Some(Beside::ToHost(port)) => port,
            _ => 0,
        }
    }

    /// Another one of the same frame; of those that the outbox was told of.
    #[inline]
    pub fn copy(&self) -> Self {
        Self { content: self.content.clone(), ..*self }
    }

    /// Its hop, if its bytes are those that its source describes, by which bridges lead it.
    #[inline]
    pub(crate) fn told_hop(&self) -> u32 {
        if self.content.is_none() {
            self.hop
        } else {
            NONE
        }
    }

    /// Moves it out of a place that is used again.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Self {
        Self { content: self.content.take(), ..*self }
    }

    pub(crate) fn row(
        &self,
        (node, port): (u32, u16),
        event: Event,
        time_ps: Time,
        traffic_class: u8,
        reason: Reason,
    ) -> Row {
        let (frame, stream, bytes) = (self.id, self.stream, self.bytes);
        Row { frame, stream, node, port, event, time_ps, bytes, traffic_class, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_takes_no_more_links_than_its_hop_limit() {
        for is_parted in [false, true] {
            let mut marks = Marks::default();
            marks.set_parted(is_parted);
            for _ in 0..Marks::HOP_LIMIT {
                marks.lead();
                assert_eq!((marks.is_spent(), marks.is_parted()), (false, is_parted));
            }
            (0..300).for_each(|_| marks.lead());
            assert_eq!((marks.is_spent(), marks.is_parted()), (true, is_parted));
            marks.set_parted(!is_parted);
            assert_eq!((marks.is_spent(), marks.is_parted()), (true, !is_parted));
        }
    }
}
