// SPDX-License-Identifier: Apache-2.0
//! What follows from a header at a port, kept until a table changes. The caller knows which frames are of one kind: in a
//! network those of a stream, so that what its bridges need lies side by side in the order of its way.
use prefetch_index::prefetch_index;

use super::classify::{Classification, Seen};
use super::forwarding::{Forwarding, Place};
use super::tables::Tables;
use crate::header::{Header, HeaderId};
use crate::trace::Reason;

pub const NO_STREAM: u32 = u32::MAX;
/// No version of the database.
pub const NOT_FOUND: u64 = 0;

/// What becomes of a frame by its header and the tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// Ports that it is to be forwarded to.
    pub wanted: u64,
    /// [`NO_STREAM`]: none.
    pub stream: u32,
    pub traffic_class: u8,
    /// Why it goes nowhere, wherever the database says that it goes.
    refused: Reason,
    /// An ATS scheduler gives it its time.
    pub is_shaped: bool,
    /// Its address has detours: it may leave the route of its stream.
    pub is_led: bool,
}

impl Way {
    /// Of a frame whose address leads to `ports`.
    pub fn new(classification: &Classification, header: &Header, ports: u64) -> Self {
        Self {
            wanted: classification.led_to().unwrap_or(ports) & classification.reach(),
            stream: classification.stream().map_or(NO_STREAM, u32::from),
            traffic_class: classification.traffic_class(),
            refused: classification.refused(header),
            is_shaped: classification.is_shaped(),
            is_led: false,
        }
    }

    /// Why it goes nowhere.
    #[inline(always)]
    pub fn reason(&self) -> Reason {
        if self.wanted == 0 && self.refused == Reason::NONE {
            return Reason::NO_DESTINATION;
        }
        self.refused
    }

    /// It goes to one port.
    #[inline(always)]
    pub fn is_single(&self) -> bool {
        self.refused == Reason::NONE && self.wanted.is_power_of_two()
    }

    pub fn is_forwarded(&self) -> bool {
        self.reason() == Reason::NONE
    }
}

/// What a header says at a port. One line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Classified {
    /// (port, header), and the version of the tables it follows from.
    key: u64,
    version: u32,
    pub vlan: u16,
    /// Their source address is to be learnt, and the port is in their VLAN.
    pub is_learnt: bool,
    pub is_member: bool,
    /// Ports that frames may go to, wherever the database says that they go.
    reach: u64,
    static_ports: u64,
    destination_set: u32,
    pub source_set: u32,
    /// As of a version of the database in which their source address was known, or is not to be learnt; or [`NOT_FOUND`].
    pub way: Way,
    pub found_version: u64,
}

const _: () = assert!(size_of::<Classified>() == 64);

impl Classified {
    /// Of no header.
    const NONE: Self = Self {
        key: u64::MAX,
        version: 0,
        vlan: 0,
        is_learnt: false,
        is_member: false,
        reach: 0,
        static_ports: 0,
        destination_set: 0,
        source_set: 0,
        way: Way {
            wanted: 0,
            stream: NO_STREAM,
            traffic_class: 0,
            refused: Reason::NONE,
            is_shaped: false,
            is_led: false,
        },
        found_version: NOT_FOUND,
    };

    pub fn new(seen: &Seen, key: u64, tables: &Tables, forwarding: &Forwarding) -> Self {
        let classification = Classification::now(seen, tables);
        let vlan = classification.vlan();
        let place @ Place { set, ports } = forwarding.place_of(vlan, seen.header.destination);
        let way = Way::new(&classification, seen.header, u64::MAX);
        Self {
            key,
            version: tables.version(),
            vlan,
            is_learnt: classification.learns() == Some(true),
            is_member: classification.is_heard() == Some(true),
            reach: classification.reach(),
            static_ports: ports,
            destination_set: set,
            source_set: forwarding.source_set(vlan, seen.header.source),
            way: Way { is_led: place.is_detour(), ..way },
            found_version: NOT_FOUND,
        }
    }

    /// Where the destination address stands.
    pub fn place(&self) -> Place {
        Place { set: self.destination_set, ports: self.static_ports }
    }

    /// The address leads to these ports.
    pub fn lead_to(&mut self, ports: u64) {
        self.way.wanted = ports & self.reach;
    }
}

pub(super) fn key_of(port: u16, header: HeaderId) -> u64 {
    u64::from(port) << 32 | u64::from(header)
}

/// No place: of frames of such a kind nothing is kept.
pub const NO_PLACE: u32 = u32::MAX;

/// What is kept of frames of one kind at one bridge, by places that the caller gives to them.
#[derive(Clone, Debug, Default)]
pub struct Memos(Vec<Classified>);

impl Memos {
    pub fn new(places: usize) -> Self {
        Self(vec![Classified::NONE; places])
    }

    /// Has a place fetched into the cache.
    #[inline]
    pub fn bring(&self, place: u32) {
        prefetch_index(&self.0, place as usize);
    }

    /// The stream that frames of a place had last; [`NO_STREAM`]: none.
    #[inline]
    pub fn stream(&self, place: u32) -> u32 {
        self.0.get(place as usize).map_or(NO_STREAM, |kept| kept.way.stream)
    }

    /// What is kept, if it follows from this header at this port and these tables.
    #[inline]
    pub(super) fn get(&self, place: u32, key: u64, version: u32) -> Option<&Classified> {
        self.0.get(place as usize).filter(|found| found.key == key && found.version == version)
    }

    pub(super) fn put(&mut self, place: u32, classified: Classified) {
        if let Some(kept) = self.0.get_mut(place as usize) {
            *kept = classified;
        }
    }
}
