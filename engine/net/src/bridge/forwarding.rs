// SPDX-License-Identifier: Apache-2.0
//! Where an address leads to: detours, static entries beside the database, and the database.
use penstock_shaper::forwarding::{address_of, Entry, Fdb};

use super::config::{refuse, within, BridgeConfig, BridgeError};
use super::detours::Detours;
use super::Tick;

/// Where an address stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Of the database; [`STATIC`] or [`DETOUR`]: beside it.
    pub set: u32,
    /// Of a static entry; of a detour, its place among them.
    pub ports: u64,
}

impl Place {
    /// Where frames go is decided here, whatever ports the routes of their streams have.
    pub fn is_detour(&self) -> bool {
        self.set == DETOUR
    }
}

const STATIC: u32 = u32::MAX;
const DETOUR: u32 = u32::MAX - 1;
const STATIC_AGE: u8 = 3;

#[derive(Clone, Debug)]
pub(super) struct Forwarding {
    fdb: Fdb,
    pub detours: Detours,
    /// In order.
    static_addresses: Vec<(u64, u64)>,
}

impl Forwarding {
    /// With ticks that are the hardware's cycles, or picoseconds.
    pub fn new(ports: u16, config: &BridgeConfig, in_cycles: bool) -> Result<Self, BridgeError> {
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
        Ok(Self { fdb, detours: Detours::new(ports, config)?, static_addresses })
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
        if let Some(place) = self.detours.place_of(address) {
            return Place { set: DETOUR, ports: place };
        }
        match self.static_addresses.binary_search_by_key(&address, |&(address, _)| address) {
            Ok(index) => Place { set: STATIC, ports: self.static_addresses[index].1 },
            Err(_) => Place { set: self.fdb.set_of(address), ports: 0 },
        }
    }

    pub fn source_set(&self, vlan: u16, address: u64) -> u32 {
        self.fdb.set_of(address_of(vlan, address))
    }

    /// The ports that lead to an address, of a frame from a reception port; all if it is not known. `queued` says how many
    /// frames wait at a port.
    pub fn find(
        &mut self,
        turn: Tick,
        reception: u16,
        place: Place,
        vlan: u16,
        address: u64,
        queued: impl Fn(u16) -> usize,
    ) -> u64 {
        match place.set {
            DETOUR => self.detours.find(place.ports, reception, queued),
            STATIC => place.ports,
            set => self.fdb.find(turn, set, address_of(vlan, address)).unwrap_or(u64::MAX),
        }
    }

    /// What [`Self::find`] says holds as long as this stays the same; none while something may change by itself.
    #[inline(always)]
    pub fn version(&self, now: Tick) -> Option<u64> {
        if self.detours.watches_queues() {
            return None;
        }
        self.fdb.version(now).map(|version| version + (self.detours.changes() << 40))
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

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: u64 = 0x0200_0000_0001;

    fn forwarding(config: &BridgeConfig) -> Forwarding {
        Forwarding::new(4, config, true).unwrap()
    }

    #[test]
    fn static_entries_go_before_what_is_learnt() {
        let static_addresses = vec![(MAC + 2, 1, 0b100), (MAC, 2, 0b10), (MAC, 1, 0b1)];
        let mut forwarding = forwarding(&BridgeConfig { static_addresses, ..BridgeConfig::default() });
        let mut find = |vlan, address| {
            let place = forwarding.place_of(vlan, address);
            forwarding.find(0, 0, place, vlan, address, |_| 0)
        };
        assert_eq!([find(1, MAC), find(2, MAC), find(1, MAC + 2)], [0b1, 0b10, 0b100]);
        assert_eq!([find(3, MAC), find(1, MAC + 1)], [u64::MAX; 2]);
    }

    #[test]
    fn an_address_that_was_heard_leads_to_its_port() {
        let mut forwarding = forwarding(&BridgeConfig::default());
        let set = forwarding.source_set(1, MAC);
        assert_eq!(forwarding.place_of(1, MAC), Place { set, ports: 0 });
        assert!(!forwarding.knows(set, 1, MAC, 2));
        let before = forwarding.version(1_000);
        forwarding.learn(1_000, set, 1, MAC, 2, false);
        assert_eq!(forwarding.find(1_100, 0, Place { set, ports: 0 }, 1, MAC, |_| 0), u64::MAX, "not allowed");
        forwarding.learn(2_000, set, 1, MAC, 2, true);
        assert_eq!(forwarding.find(2_100, 0, Place { set, ports: 0 }, 1, MAC, |_| 0), 0b100);
        assert!(forwarding.knows(set, 1, MAC, 2) && !forwarding.knows(set, 1, MAC, 1));
        assert!(before.is_some() && forwarding.version(2_100) != before);
    }

    #[test]
    fn entries_of_the_tables_stand_where_they_are_put() {
        let mut config = BridgeConfig { fdb_sets: 4, ..BridgeConfig::default() };
        let set = forwarding(&config).source_set(1, MAC);
        config.fdb = vec![(1, set, MAC, 1, 0b1000)];
        let mut made = forwarding(&config);
        assert_eq!(made.find(0, 0, Place { set, ports: 0 }, 1, MAC, |_| 0), 0b1000);
        config.fdb = vec![(0, set ^ 1, MAC, 1, 0b1000)];
        assert_eq!(forwarding(&config).find(0, 0, Place { set, ports: 0 }, 1, MAC, |_| 0), u64::MAX);
        made.write_at(10, 1, set, Entry::new(true, true, STATIC_AGE, 0b10, 1, MAC));
        assert_eq!(made.find(100, 0, Place { set, ports: 0 }, 1, MAC, |_| 0), 0b10);
    }

    #[test]
    fn tables_that_cannot_be_are_refused() {
        let refused = |config: BridgeConfig| Forwarding::new(4, &config, true).err().map(|error| error.to_string());
        for (sets, is_refused) in [(0, true), (1, true), (2, false), (3, true), (1 << 20, false), (1 << 21, true)] {
            let config = BridgeConfig { fdb_sets: sets, ..BridgeConfig::default() };
            assert_eq!(refused(config).is_some(), is_refused, "{sets}");
        }
        let with = |way, set| BridgeConfig { fdb_sets: 4, fdb: vec![(way, set, MAC, 1, 1)], ..BridgeConfig::default() };
        assert_eq!(refused(with(1, 3)), None);
        assert!(refused(with(2, 3)).unwrap().contains("way of an address is 2"));
        assert!(refused(with(1, 4)).unwrap().contains("set of an address is 4"));
    }
}
