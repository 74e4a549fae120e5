// SPDX-License-Identifier: Apache-2.0
//! How a frame is classified (802.1Q 8.6), in stages, each of which reads some of the tables at one instant.
//!
//! A bridge reads all stages at once, and keeps what came of them ([`Memos`](super::Memos)). While something changes under
//! way, the hardware's twin reads stage by stage, each in its cycle. With T the turn of the frame's record:
//!
//! ```text
//!     first byte taken   VLAN and class of untagged frames, identification by address in use or not
//!     15th byte taken    class of the priority code point
//!     turn + 2           stream by address; the turns follow the header
//!     T + 1              port in use, identification by IPv4 and its mask, members of the VLAN
//!     T + 2              stream by IPv4
//!     T + 5              ports in use, ATS classes, whether frames of the stream are numbered
//!     T', T' + 1         of the port's next turn T': learning in use, members
//! ```
use penstock_frame::{Edit, RTagAction, TagAction};

use super::arrivals::Received;
use super::config::Translation;
use super::tables::{received_at, Egress, Filter, Ingress, Tables};
use super::timing::Cycles;
use super::Tick;
use crate::header::{Header, HostWay, Tag};
use crate::trace::Reason;

/// Place of the priority code point.
pub const PCP_AT: u16 = 14;

/// A frame at the port that received it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    pub port: u16,
    pub header: &'a Header,
    pub bytes: u16,
    pub fault: Reason,
}

impl<'a> Seen<'a> {
    pub fn new(port: u16, received: &Received, header: &'a Header) -> Self {
        Self { port, header, bytes: received.bytes, fault: received.fault }
    }

    pub fn is_whole(&self) -> bool {
        self.fault == Reason::NONE
    }

    /// As where it is forwarded.
    pub fn received_at(&self) -> u16 {
        received_at(self.port, self.header)
    }

    /// If it was received.
    fn tag(&self) -> Option<Tag> {
        // The byte that ends a frame of which the rest was lost reads as zero.
        let lost_at = self.bytes - u16::from(self.fault == Reason::OVERRUN);
        let tag = self.header.tag.filter(|_| self.bytes > PCP_AT)?;
        Some(if lost_at == PCP_AT { Tag { pcp: 0, ..tag } } else { tag })
    }
}

/// The cycles in which the hardware reads the stages of a frame; all zero where they are read at once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pipeline {
    taken: Tick,
    last: Tick,
    /// The port's first turn in which the header has been read, a cycle after its bytes.
    header_turn: Tick,
    turn: Tick,
    ports: Tick,
}

impl Pipeline {
    pub fn new(port: u16, received: &Received, header: &Header, cycles: Cycles) -> Self {
        let header_read = received.taken + if header.tag.is_some() { 17 } else { 15 };
        Self {
            taken: received.taken,
            last: received.last,
            header_turn: cycles.turn(port, header_read),
            turn: received.turn,
            ports: cycles.ports,
        }
    }

    /// The turn in which the source address goes out.
    fn learning_turn(&self) -> Tick {
        self.turn + self.ports
    }
}

/// What is read before `until`, once.
pub(super) fn read<T>(stage: &mut Option<T>, at: Tick, until: Tick, value: impl FnOnce() -> T) {
    if stage.is_none() && at < until {
        *stage = Some(value());
    }
}

/// What was read so far; none: not yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Classification {
    port: u16,
    host: Option<HostWay>,
    ingress: Option<Ingress>,
    class_of_pcp: Option<u8>,
    by_destination: Option<Option<u16>>,
    by_source: Option<Option<u16>>,
    filter: Option<Filter>,
    by_ipv4: Option<Option<u16>>,
    egress: Option<Egress>,
    is_numbered: Option<bool>,
    learns: Option<bool>,
    is_heard: Option<bool>,
}

/// A frame as the bridge understands it, and which ports send it with its VLAN and priority or without (802.1Q 6.9).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tagging {
    has_tag: bool,
    vlan: u16,
    pcp: u8,
    /// That tag and untag; from others it leaves as it came.
    ports: u64,
    untagged: u64,
    /// That write the tag which it is translated to.
    translating: u64,
    translation: Translation,
    has_r_tag: bool,
    /// That its R-TAG gets.
    number: Option<u16>,
    /// That send without an R-TAG.
    r_tag_removal: u64,
    /// Its copies get the time that it was inside.
    pub is_corrected: bool,
}

impl Tagging {
    /// And the frame gets this number.
    pub fn with_number(self, number: Option<u16>) -> Self {
        Self { number, ..self }
    }

    /// The edit of the copy for an egress port.
    pub fn edit(&self, egress: u16, bytes: u16) -> Edit {
        let action = match (self.ports >> egress & 1 == 1, self.untagged >> egress & 1 == 1) {
            (true, true) if self.has_tag => TagAction::Remove,
            (true, false) if self.has_tag => TagAction::Rewrite,
            (true, false) => TagAction::Insert,
            _ if self.has_tag => TagAction::Keep,
            _ => TagAction::KeepNone,
        };
        let (mut vlan, mut pcp) = (self.vlan, self.pcp);
        if self.translating >> egress & 1 == 1 && matches!(action, TagAction::Insert | TagAction::Rewrite) {
            vlan = Some(self.translation.vlan).filter(|vlan| *vlan != 0).unwrap_or(vlan);
            pcp = self.translation.pcp.unwrap_or(pcp);
        }
        let r_tag = match (self.r_tag_removal >> egress & 1 == 1, self.number) {
            (true, _) if self.has_r_tag => RTagAction::Remove,
            (false, Some(number)) => RTagAction::Insert(number),
            _ => RTagAction::Keep,
        };
        Edit::new(action, (vlan, pcp), r_tag, bytes)
    }

    /// Some port edits it.
    pub fn is_any(&self) -> bool {
        self.ports != 0 || self.number.is_some() || (self.has_r_tag && self.r_tag_removal != 0)
    }
}

impl Classification {
    /// All stages at once.
    pub fn now(seen: &Seen, tables: &Tables) -> Self {
        let mut all = Self::default();
        all.read_until(seen, tables, &Pipeline::default(), Tick::MAX);
        all
    }

    /// The stages that the pipeline reads before `until`.
    pub fn read_until(&mut self, seen: &Seen, tables: &Tables, pipeline: &Pipeline, until: Tick) {
        let Seen { port, header, .. } = *seen;
        (self.port, self.host) = (port, header.host);
        read(&mut self.ingress, pipeline.taken, until, || tables.ingress(port, header));
        let Some(Ingress { vlan, identify, .. }) = self.ingress else { return };
        if let Some(tag) = seen.tag() {
            read(&mut self.class_of_pcp, pipeline.taken + Tick::from(PCP_AT), until, || tables.class_of_pcp(tag.pcp));
        }

        let by_destination = pipeline.header_turn;
        let by_source = by_destination + if identify.destination { pipeline.ports } else { 0 };
        // What ends before its turn is not asked for.
        read(&mut self.by_destination, by_destination + 2, until, || {
            let asked = identify.destination && by_destination <= pipeline.last;
            asked.then(|| tables.stream_by_destination(port, vlan, header)).flatten()
        });
        read(&mut self.by_source, by_source + 2, until, || {
            let asked = identify.source && by_source <= pipeline.last;
            asked.then(|| tables.stream_by_source(port, vlan, header)).flatten()
        });

        read(&mut self.filter, pipeline.turn + 1, until, || tables.filter(seen, vlan));
        let key = self.filter.and_then(|filter| filter.ipv4_key);
        read(&mut self.by_ipv4, pipeline.turn + 2, until, || key.and_then(|key| tables.stream(key)));
        read(&mut self.egress, pipeline.turn + 5, until, || tables.egress());
        let stream = self.stream();
        read(&mut self.is_numbered, pipeline.turn + 5, until, || {
            stream.is_some_and(|stream| tables.is_numbered(stream))
        });

        let learning_turn = pipeline.learning_turn();
        read(&mut self.learns, learning_turn, until, || tables.learns(seen, vlan));
        let learns = self.learns == Some(true);
        read(&mut self.is_heard, learning_turn + 1, until, || learns && tables.is_member(vlan, seen.received_at()));
    }

    pub fn vlan(&self) -> u16 {
        self.ingress.map_or(0, |ingress| ingress.vlan)
    }

    pub fn traffic_class(&self) -> u8 {
        if let Some(HostWay::Direct { traffic_class, .. }) = self.host {
            return traffic_class;
        }
        self.class_of_pcp.or(self.ingress.map(|ingress| ingress.class_of_untagged)).unwrap_or(0)
    }

    /// The stream that was found, also of a frame that is in error: by IPv4, else by destination, else by source.
    pub fn stream(&self) -> Option<u16> {
        self.by_ipv4.flatten().or(self.by_destination.flatten()).or(self.by_source.flatten())
    }

    /// Why the frame goes nowhere, wherever the database says that it goes.
    pub fn refused(&self, header: &Header) -> Reason {
        match self.filter {
            Some(filter) if filter.is_enabled => match () {
                () if filter.led_to.is_some() => Reason::NONE,
                () if header.is_reserved() => Reason::RESERVED_ADDRESS,
                () if !filter.is_member(received_at(self.port, header)) => Reason::VLAN,
                () => Reason::NONE,
            },
            _ => Reason::PORT_DISABLED,
        }
    }

    /// Ports that it may go to, wherever the database says that it goes.
    pub fn reach(&self) -> u64 {
        let ports = self.egress.map_or(0, |egress| egress.ports) & !(1 << self.port);
        let Some(filter) = self.filter.filter(|filter| filter.led_to.is_none()) else { return ports };
        let from = match self.host {
            Some(HostWay::ReceivedAt(port)) => port,
            _ => self.port,
        };
        filter.members & ports & !(1 << from)
    }

    /// Ports that it goes to, whatever the database says.
    pub fn led_to(&self) -> Option<u64> {
        self.filter.and_then(|filter| filter.led_to)
    }

    /// An ATS scheduler gives it its time, if it goes anywhere.
    pub fn is_shaped(&self) -> bool {
        self.stream().is_some() && self.egress.is_some_and(|egress| egress.ats_classes >> self.traffic_class() & 1 == 1)
    }

    /// The stream by which it gets a number, if it is forwarded: one that has an R-TAG keeps its own, and what is led gets
    /// none.
    pub fn numbered_stream(&self, seen: &Seen) -> Option<u16> {
        let gets_one = self.is_numbered == Some(true) && !seen.header.has_r_tag && self.led_to().is_none();
        self.stream().filter(|_| gets_one)
    }

    /// What the egress ports do with its tags: nothing where it is led, for it is the host's business or that of a neighbour.
    /// Its number, if it gets one, is for the caller to say.
    pub fn tagging(&self, seen: &Seen) -> Tagging {
        let tag = seen.tag();
        let egress = self.egress.filter(|_| self.led_to().is_none());
        Tagging {
            has_tag: tag.is_some(),
            vlan: self.vlan(),
            pcp: tag.map_or(self.ingress.map_or(0, |ingress| ingress.pcp_of_untagged), |tag| tag.pcp),
            ports: egress.map_or(0, |egress| egress.vlan_tagging),
            untagged: self.filter.map_or(0, |filter| filter.untagged),
            translating: self.egress.map_or(0, |egress| egress.vlan_translation),
            translation: self.filter.map(|filter| filter.translation).unwrap_or_default(),
            has_r_tag: seen.header.has_r_tag,
            number: None,
            r_tag_removal: egress.map_or(0, |egress| egress.r_tag_removal),
            is_corrected: self.is_corrected(seen),
        }
    }

    /// Whether its copies get the time that it was inside: an event message that came from a wire and is not led.
    pub fn is_corrected(&self, seen: &Seen) -> bool {
        let egress = self.egress.filter(|_| self.led_to().is_none() && seen.header.host.is_none());
        seen.header.is_ptp_event && egress.is_some_and(|egress| egress.ptp_correction >> seen.port & 1 == 1)
    }

    /// Whether its source address goes to the database.
    pub fn learns(&self) -> Option<bool> {
        self.learns
    }

    /// Whether the database may store that.
    pub fn is_heard(&self) -> Option<bool> {
        self.is_heard
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tag's priority is the byte behind its type: a frame that ends before has none, and the byte that stands for what
    /// was lost reads as zero.
    #[test]
    fn a_frame_that_ends_at_its_priority() {
        let tag = Tag { pcp: 5, vlan: 10 };
        let header = Header { tag: Some(tag), ..Header::default() };
        let seen = |bytes, fault| Seen { port: 0, header: &header, bytes, fault }.tag().map(|tag| tag.pcp);
        assert_eq!([PCP_AT, PCP_AT + 1].map(|bytes| seen(bytes, Reason::NONE)), [None, Some(5)]);
        let lost = [PCP_AT, PCP_AT + 1, PCP_AT + 2].map(|bytes| seen(bytes, Reason::OVERRUN));
        assert_eq!(lost, [None, Some(0), Some(5)]);
    }
}
