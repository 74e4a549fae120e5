// SPDX-License-Identifier: Apache-2.0
//! Where an address leads to: static entries beside the database, and the database.
use penstock_shaper::forwarding::{address_of, Entry, Fdb};

use super::config::{refuse, within, BridgeConfig, BridgeError};
use super::Tick;

/// Where an address stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Of the database; [`STATIC`]: beside it.
    pub set: u32,
    /// Of a static entry.
    pub ports: u64,
}

const STATIC: u32 = u32::MAX;
const STATIC_AGE: u8 = 3;

#[derive(Clone, Debug)]
pub(super) struct Forwarding {
    fdb: Fdb,
    /// In order.
    static_addresses: Vec<(u64, u64)>,
}

impl Forwarding {
    /// With ticks that are the hardware's cycles, or picoseconds.
    pub fn new(config: &BridgeConfig, in_cycles: bool) -> Result<Self, BridgeError> {
        let sets = config.fdb_sets;
        if !sets.is_power_of_two() || !(2..=1 << 20).contains(&sets) {
            return Err(refuse(format!("{sets} sets of addresses"), "a power of two, 2 to 2^20, is allowed"));
        }
        let mut fdb = Fdb::new(sets as usize, config.aging_period_ms, in_cycles);
        for &(way, set, address, vlan, ports) in &config.fdb {
            within("way of an address", way, 0, 1)?;
            within("set of an address", set, 0, sets - 1)?;
            fdb.write(usize::from(way), set as usize, Entry::new(true, true, STATIC_AGE, ports, vlan, address));
        }
        let statics = config.static_addresses.iter();
        let mut static_addresses: Vec<_> =
            statics.map(|&(address, vlan, ports)| (address_of(vlan, address), ports)).collect();
        static_addresses.sort_unstable();
        Ok(Self { fdb, static_addresses })
    }

    pub fn write_at(&mut self, at: Tick, way: u8, set: u32, entry: Entry) {
        self.fdb.write_at(at, usize::from(way), set as usize, entry);
    }

    pub fn set_aging_period_ms(&mut self, at: Tick, period_ms: u32) {
        self.fdb.set_aging_period_ms(at, period_ms);
    }

    pub fn is_swept(&mut self, at: Tick) -> bool {
        self.fdb.is_swept(at)
    }

    pub fn place_of(&self, vlan: u16, address: u64) -> Place {
        let address = address_of(vlan, address);
        match self.static_addresses.binary_search_by_key(&address, |&(address, _)| address) {
            Ok(index) => Place { set: STATIC, ports: self.static_addresses[index].1 },
            Err(_) => Place { set: self.fdb.set_of(address), ports: 0 },
        }
    }

    pub fn source_set(&self, vlan: u16, address: u64) -> u32 {
        self.fdb.set_of(address_of(vlan, address))
    }

    /// The ports that lead to an address; all if it is not known.
    pub fn find(&mut self, turn: Tick, place: Place, vlan: u16, address: u64) -> u64 {
        match place.set {
            STATIC => place.ports,
            set => self.fdb.find(turn, set, address_of(vlan, address)).unwrap_or(u64::MAX),
        }
    }

    /// What [`Self::find`] says holds as long as this stays the same; none while something may change by itself.
    #[inline(always)]
    pub fn version(&self, now: Tick) -> Option<u64> {
        self.fdb.version(now)
    }

    /// Whether hearing a source address would change nothing.
    pub fn knows(&self, set: u32, vlan: u16, source: u64, port: u16) -> bool {
        self.fdb.knows(set, address_of(vlan, source), port)
    }

    /// A source address was heard; it is stored if that is allowed.
    pub fn learn(&mut self, turn: Tick, set: u32, vlan: u16, source: u64, port: u16, allowed: bool) {
        self.fdb.learn(turn, set, address_of(vlan, source), port, allowed);
    }
}
