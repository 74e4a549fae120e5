// SPDX-License-Identifier: Apache-2.0
//! Addresses that lead to ports in an order, another one from each reception port: to the first of which the link is up.
use penstock_shaper::forwarding::address_of;

use super::config::{refuse, within, BridgeConfig, BridgeError};

#[derive(Clone, Debug)]
pub(super) struct Detours {
    /// With its VLAN, in order.
    addresses: Vec<u64>,
    /// Egress ports in order: of each address, and there of each reception port.
    orders: Vec<Box<[u8]>>,
    /// Ports of the bridge.
    ports: u16,
    /// Bit p: the link of port p is up, as far as the bridge knows.
    up: u64,
    /// Counts what it has learnt of its links.
    changes: u64,
}

impl Detours {
    pub fn new(ports: u16, config: &BridgeConfig) -> Result<Self, BridgeError> {
        let mut sorted: Vec<_> = config.detours.iter().collect();
        sorted.sort_by_key(|detour| address_of(detour.vlan, detour.address));
        let mut made = Self { addresses: Vec::new(), orders: Vec::new(), ports, up: u64::MAX, changes: 0 };
        for detour in sorted {
            let address = address_of(detour.vlan, detour.address);
            if made.addresses.last() == Some(&address) {
                return Err(refuse(format!("two detours to {:012x}", detour.address), "one for each address and VLAN"));
            }
            within("reception ports of a detour", detour.ports.len(), usize::from(ports), usize::from(ports))?;
            for (reception, order) in detour.ports.iter().enumerate() {
                for &egress in order {
                    within("egress port of a detour", egress, 0, ports - 1)?;
                    if usize::from(egress) == reception {
                        return Err(refuse(
                            format!("a detour back by port {egress}"),
                            "another port than that of reception",
                        ));
                    }
                }
                made.orders.push(order.iter().map(|&egress| egress as u8).collect());
            }
            made.addresses.push(address);
        }
        Ok(made)
    }

    /// Where the orders of an address stand.
    pub fn place_of(&self, address: u64) -> Option<u64> {
        self.addresses.binary_search(&address).ok().map(|place| place as u64)
    }

    /// The port that frames of a reception port take; none if no link of the order is up.
    pub fn find(&self, place: u64, reception: u16) -> u64 {
        let order = self.orders.get(place as usize * usize::from(self.ports) + usize::from(reception));
        let first = order.into_iter().flatten().find(|&&egress| self.up >> egress & 1 == 1);
        first.map_or(0, |egress| 1 << egress)
    }

    /// Without any, a bridge need not know of its links.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    pub fn set_link(&mut self, port: u16, is_up: bool) {
        self.up = self.up & !(1 << port) | u64::from(is_up) << port;
        self.changes += 1;
    }

    /// Links are as another bridge knows them.
    pub fn know_links_of(&mut self, other: &Self) {
        (self.up, self.changes) = (other.up, other.changes + 1);
    }

    /// What [`Self::find`] says holds as long as this stays the same.
    #[inline(always)]
    pub fn changes(&self) -> u64 {
        self.changes
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::DetourConfig;
    use super::*;

    const MAC: u64 = 0x0200_0000_0001;

    fn detours(entries: &[(u64, u16, &[&[u16]])]) -> Result<Detours, BridgeError> {
        let detour = |&(address, vlan, ports): &(u64, u16, &[&[u16]])| DetourConfig {
            address,
            vlan,
            ports: ports.iter().map(|order| order.to_vec()).collect(),
        };
        let config = BridgeConfig { detours: entries.iter().map(detour).collect(), ..BridgeConfig::default() };
        Detours::new(3, &config)
    }

    #[test]
    fn a_frame_takes_the_first_port_of_its_order_whose_link_is_up() {
        let made = detours(&[(MAC + 1, 1, &[&[], &[], &[0]]), (MAC, 1, &[&[1, 2], &[2, 0], &[]])]);
        let mut made = made.unwrap();
        let place = made.place_of(address_of(1, MAC)).unwrap();
        let find = |made: &Detours| [0, 1, 2].map(|reception| made.find(place, reception));
        assert_eq!(find(&made), [0b10, 0b100, 0]);
        let before = made.changes();
        made.set_link(2, false);
        assert_ne!(made.changes(), before);
        assert_eq!(find(&made), [0b10, 0b1, 0]);
        made.set_link(1, false);
        assert_eq!(find(&made), [0, 0b1, 0]);
        made.set_link(2, true);
        assert_eq!(find(&made), [0b100, 0b100, 0]);
        assert_eq!(made.find(made.place_of(address_of(1, MAC + 1)).unwrap(), 2), 0b1);
        assert_eq!([made.place_of(address_of(2, MAC)), made.place_of(address_of(1, MAC + 2))], [None, None]);
    }

    #[test]
    fn orders_that_cannot_be_are_refused() {
        let refused = |entries| detours(entries).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused(&[(MAC, 1, &[&[1], &[0]])]).contains("reception ports of a detour is 2"));
        assert!(refused(&[(MAC, 1, &[&[3], &[], &[]])]).contains("egress port of a detour is 3"));
        assert!(refused(&[(MAC, 1, &[&[1], &[2, 1], &[]])]).contains("a detour back by port 1"));
        let twice: [(u64, u16, &[&[u16]]); 2] = [(MAC, 1, &[&[], &[], &[]]); 2];
        assert!(refused(&twice).contains("two detours to 020000000001"));
        assert!(refused(&[(MAC, 1, &[&[], &[], &[]]), (MAC, 2, &[&[], &[], &[]])]).is_empty());
    }
}
