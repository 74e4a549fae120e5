// SPDX-License-Identifier: Apache-2.0
//! What follows from a header at a port, kept until a table changes.
use super::Tick;
use crate::header::HeaderId;

pub const NO_STREAM: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub struct Classified {
    /// (port, header), and the version of the tables it follows from.
    pub key: u64,
    pub version: u32,
    /// [`NO_STREAM`]: none.
    pub stream: u32,
    pub members: u64,
    /// Static entries that have no place in the database; 0: none.
    pub ports: u64,
    pub destination_set: u32,
    pub source_set: u32,
    pub vlan: u16,
    pub traffic_class: u8,
    pub reserved_address: bool,
    /// A station's address, which can be learnt.
    pub from_station: bool,
}

impl Default for Classified {
    fn default() -> Self {
        Self {
            key: u64::MAX,
            version: 0,
            stream: NO_STREAM,
            members: 0,
            ports: 0,
            destination_set: 0,
            source_set: 0,
            vlan: 0,
            traffic_class: 0,
            reserved_address: false,
            from_station: false,
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

    fn place(&self, key: u64) -> usize {
        let mask = self.places.len() - 1;
        let mut at = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & mask;
        while self.places[at].key != key && self.places[at].key != u64::MAX {
            at = (at + 1) & mask;
        }
        at
    }

    pub fn get(&self, port: u16, header: HeaderId) -> Option<&Classified> {
        let key = key_of(port, header);
        let found = &self.places[self.place(key)];
        (found.key == key && found.version == self.version).then_some(found)
    }

    pub fn put(&mut self, port: u16, header: HeaderId, classified: Classified) -> &Classified {
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
        &self.places[at]
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
