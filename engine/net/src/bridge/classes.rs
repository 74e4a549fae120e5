// SPDX-License-Identifier: Apache-2.0
//! What follows from a header at a port, kept until a table changes.
use prefetch_index::prefetch_index;

use super::Tick;
use crate::header::HeaderId;

pub const NO_STREAM: u32 = u32::MAX;

/// One line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Classified {
    /// (port, header), and the version of the tables it follows from.
    pub key: u64,
    pub version: u32,
    /// [`NO_STREAM`]: none.
    pub stream: u32,
    pub members: u64,
    /// Static entries that have no place in the database; 0: none.
    pub ports: u64,
    /// Where frames to the destination went, as of a version of the database; 0: not looked up yet.
    pub found: u64,
    pub found_version: u32,
    pub destination_set: u32,
    pub source_set: u32,
    pub vlan: u16,
    pub traffic_class: u8,
    pub reserved_address: bool,
    /// A station's address, which can be learnt.
    pub from_station: bool,
    /// In that version: learning the source address again changes nothing.
    pub is_known: bool,
}

impl Default for Classified {
    fn default() -> Self {
        Self {
            key: u64::MAX,
            version: 0,
            stream: NO_STREAM,
            members: 0,
            ports: 0,
            found: 0,
            found_version: 0,
            destination_set: 0,
            source_set: 0,
            vlan: 0,
            traffic_class: 0,
            reserved_address: false,
            from_station: false,
            is_known: false,
        }
    }
}

/// An open hash table that grows with the headers seen.
#[derive(Clone, Debug)]
pub struct Classes {
    places: Vec<Classified>,
    used: usize,
    version: u32,
}

const LEAST: usize = 16;

fn key_of(port: u16, header: HeaderId) -> u64 {
    u64::from(port) << 32 | u64::from(header)
}

impl Classes {
    pub fn new() -> Self {
        Self { places: vec![Classified::default(); LEAST], used: 0, version: 1 }
    }

    /// A table has changed: all that was kept is to be made anew.
    pub fn forget(&mut self) {
        self.version = self.version.wrapping_add(1);
    }

    #[inline]
    fn first_place(&self, key: u64) -> usize {
        // The upper bits: in the lower ones, headers that are a power of two apart would meet.
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - (self.places.len() - 1).count_ones())) as usize
    }

    /// Has what follows from a header fetched into the cache.
    #[inline]
    pub fn bring(&self, port: u16, header: HeaderId) {
        prefetch_index(&self.places, self.first_place(key_of(port, header)));
    }

    #[inline]
    fn place(&self, key: u64) -> usize {
        let mask = self.places.len() - 1;
        let mut at = self.first_place(key);
        while self.places[at].key != key && self.places[at].key != u64::MAX {
            at = (at + 1) & mask;
        }
        at
    }

    /// The place of what is known, and a copy of it.
    #[inline]
    pub fn get(&self, port: u16, header: HeaderId) -> Option<(usize, Classified)> {
        let key = key_of(port, header);
        let place = self.place(key);
        let found = self.places[place];
        (found.key == key && found.version == self.version).then_some((place, found))
    }

    /// Keeps what the database said, in the place that `get` or `put` gave.
    pub fn note(&mut self, place: usize, found: u64, is_known: bool, version: u32) {
        let noted = &mut self.places[place];
        (noted.found, noted.is_known, noted.found_version) = (found, is_known, version);
    }

    pub fn put(&mut self, port: u16, header: HeaderId, classified: Classified) -> (usize, Classified) {
        let key = key_of(port, header);
        let mut at = self.place(key);
        if self.places[at].key == u64::MAX {
            self.used += 1;
            if 2 * self.used > self.places.len() {
                let old = std::mem::take(&mut self.places);
                self.places = vec![Classified::default(); 2 * old.len()];
                for entry in old.into_iter().filter(|entry| entry.key != u64::MAX) {
                    let at = self.place(entry.key);
                    self.places[at] = entry;
                }
                at = self.place(key);
            }
        }
        self.places[at] = Classified { key, version: self.version, ..classified };
        (at, self.places[at])
    }
}

/// A copy's cells on their way back.
#[derive(Clone, Copy, Debug)]
pub struct Release {
    pub at: Tick,
    pub cells: u32,
    pub egress: u16,
    pub reception: u16,
    pub traffic_class: u8,
    pub pool: penstock_shaper::admission::Pool,
}
