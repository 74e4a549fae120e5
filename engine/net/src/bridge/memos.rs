// SPDX-License-Identifier: Apache-2.0
//! What follows from a header at a port, kept until a table changes. The caller knows which frames are of one kind: in a
//! network those of a stream, so that what its bridges need lies side by side in the order of its way.
use prefetch_index::prefetch_index;

use crate::header::HeaderId;
use crate::trace::Reason;

pub const NO_STREAM: u32 = u32::MAX;
/// No version of the database.
pub const NOT_FOUND: u64 = 0;

/// One line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Classified {
    /// (port, header), and the version of the tables it follows from.
    pub key: u64,
    pub version: u32,
    /// [`NO_STREAM`]: none.
    pub stream: u32,
    /// Ports that frames may go to, wherever the database says that they go.
    pub reach: u64,
    /// Static entries that have no place in the database; 0: none.
    pub ports: u64,
    /// Ports that frames went to, as of a version of the database in which their source address was known, or is not to be
    /// learnt; or [`NOT_FOUND`].
    pub wanted: u64,
    pub found_version: u64,
    pub destination_set: u32,
    pub source_set: u32,
    pub vlan: u16,
    pub traffic_class: u8,
    /// Why frames go nowhere, wherever the database says that they go.
    pub refused: Reason,
    /// An ATS scheduler gives them their times.
    pub is_shaped: bool,
    /// Their source address is to be learnt, and the port is in their VLAN.
    pub is_learnt: bool,
    pub is_member: bool,
}

const _: () = assert!(size_of::<Classified>() == 64);

impl Default for Classified {
    fn default() -> Self {
        Self {
            key: u64::MAX,
            version: 0,
            stream: NO_STREAM,
            reach: 0,
            ports: 0,
            wanted: 0,
            found_version: NOT_FOUND,
            destination_set: 0,
            source_set: 0,
            vlan: 0,
            traffic_class: 0,
            refused: Reason::NONE,
            is_shaped: false,
            is_learnt: false,
            is_member: false,
        }
    }
}

pub(super) fn key_of(port: u16, header: HeaderId) -> u64 {
    u64::from(port) << 32 | u64::from(header)
}

/// What the caller keeps of frames of one kind at one bridge, by places that it gives to them.
#[derive(Clone, Debug, Default)]
pub struct Memos(Vec<Classified>);

impl Memos {
    pub fn new(places: usize) -> Self {
        Self(vec![Classified::default(); places])
    }

    /// Has a place fetched into the cache.
    #[inline]
    pub fn bring(&self, place: u32) {
        prefetch_index(&self.0, place as usize);
    }

    /// The stream that frames of a place had last; [`NO_STREAM`]: none.
    #[inline]
    pub fn stream(&self, place: u32) -> u32 {
        self.0[place as usize].stream
    }

    /// What is kept, if it follows from this header at this port and these tables.
    #[inline]
    pub(super) fn get(&self, place: Option<u32>, key: u64, version: u32) -> Option<&Classified> {
        self.0.get(place? as usize).filter(|found| found.key == key && found.version == version)
    }

    pub(super) fn put(&mut self, place: Option<u32>, classified: Classified) {
        if let Some(kept) = place.and_then(|place| self.0.get_mut(place as usize)) {
            *kept = classified;
        }
    }
}
