// SPDX-License-Identifier: Apache-2.0
//! Addresses that lead to ports in an order, another one from each reception port: to the first of which the link is up,
//! or around it, if it is congested and another one leads nearer to the address as well.
use penstock_shaper::forwarding::address_of;

use super::config::{refuse, within, BridgeConfig, BridgeError};

#[derive(Clone, Debug)]
pub(super) struct Detours {
    /// With its VLAN, in order.
    addresses: Vec<u64>,
    /// Egress ports in order: of each address, and there of each reception port.
    orders: Vec<Order>,
    /// So many frames queued make a port congested; 0: none is.
    congestion_frames: usize,
    /// Ports of the bridge.
    ports: u16,
    /// Bit p: the link of port p is up, as far as the bridge knows.
    up: u64,
    /// Counts what it has learnt of its links.
    changes: u64,
}

#[derive(Clone, Debug, Default)]
struct Order {
    ports: Box<[u8]>,
    /// In place of the first one, if that is congested.
    nearer: Box<[u8]>,
}

impl Detours {
    pub fn new(ports: u16, config: &BridgeConfig) -> Result<Self, BridgeError> {
        let mut sorted: Vec<_> = config.detours.iter().collect();
        sorted.sort_by_key(|detour| address_of(detour.vlan, detour.address));
        let mut made = Self {
            addresses: Vec::new(),
            orders: Vec::new(),
            congestion_frames: config.congestion_frames as usize,
            ports,
            up: u64::MAX,
            changes: 0,
        };
        for detour in sorted {
            let address = address_of(detour.vlan, detour.address);
            if made.addresses.last() == Some(&address) {
                return Err(refuse(format!("two detours to {:012x}", detour.address), "one for each address and VLAN"));
            }
            within("reception ports of a detour", detour.ports.len(), usize::from(ports), usize::from(ports))?;
            if !detour.nearer.is_empty() {
                within("reception ports of a detour", detour.nearer.len(), usize::from(ports), usize::from(ports))?;
            }
            for (reception, order) in detour.ports.iter().enumerate() {
                let nearer = detour.nearer.get(reception).map_or(&[][..], Vec::as_slice);
                let (order, nearer) = (checked(ports, reception, order)?, checked(ports, reception, nearer)?);
                made.orders.push(Order { ports: order, nearer });
            }
            made.addresses.push(address);
        }
        Ok(made)
    }

    /// Where the orders of an address stand.
    pub fn place_of(&self, address: u64) -> Option<u64> {
        self.addresses.binary_search(&address).ok().map(|place| place as u64)
    }

    /// The port that frames of a reception port take; none if no link of the order is up. `queued` says how many frames
    /// wait at a port.
    pub fn find(&self, place: u64, reception: u16, queued: impl Fn(u16) -> usize) -> u64 {
        let place = place as usize * usize::from(self.ports) + usize::from(reception);
        let Some(order) = self.orders.get(place) else { return 0 };
        let Some(&first) = order.ports.iter().find(|&&egress| self.is_up(egress)) else { return 0 };
        let waiting = |egress: u8| queued(u16::from(egress));
        // Beside a dead link nothing is nearer.
        let is_congested = self.watches_queues() && order.ports.first() == Some(&first);
        let other = if is_congested && waiting(first) >= self.congestion_frames {
            let nearer = order.nearer.iter().copied().filter(|&egress| self.is_up(egress));
            nearer.min_by_key(|&egress| waiting(egress)).filter(|&egress| waiting(egress) < waiting(first))
        } else {
            None
        };
        1 << other.unwrap_or(first)
    }

    fn is_up(&self, port: u8) -> bool {
        self.up >> port & 1 == 1
    }

    /// What [`Self::find`] says changes with what is queued.
    #[inline(always)]
    pub fn watches_queues(&self) -> bool {
        self.congestion_frames > 0
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

    /// What [`Self::find`] says holds as long as this stays the same, but for what is queued.
    #[inline(always)]
    pub fn changes(&self) -> u64 {
        self.changes
    }
}

fn checked(ports: u16, reception: usize, order: &[u16]) -> Result<Box<[u8]>, BridgeError> {
    for &egress in order {
        within("egress port of a detour", egress, 0, ports - 1)?;
        if usize::from(egress) == reception {
            return Err(refuse(format!("a detour back by port {egress}"), "another port than that of reception"));
        }
    }
    Ok(order.iter().map(|&egress| egress as u8).collect())
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
            nearer: Vec::new(),
        };
        let config = BridgeConfig { detours: entries.iter().map(detour).collect(), ..BridgeConfig::default() };
        Detours::new(3, &config)
    }

    #[test]
    fn a_frame_takes_the_first_port_of_its_order_whose_link_is_up() {
        let made = detours(&[(MAC + 1, 1, &[&[], &[], &[0]]), (MAC, 1, &[&[1, 2], &[2, 0], &[]])]);
        let mut made = made.unwrap();
        let place = made.place_of(address_of(1, MAC)).unwrap();
        let find = |made: &Detours| [0, 1, 2].map(|reception| made.find(place, reception, |_| 0));
        assert_eq!(find(&made), [0b10, 0b100, 0]);
        let before = made.changes();
        made.set_link(2, false);
        assert_ne!(made.changes(), before);
        assert_eq!(find(&made), [0b10, 0b1, 0]);
        made.set_link(1, false);
        assert_eq!(find(&made), [0, 0b1, 0]);
        made.set_link(2, true);
        assert_eq!(find(&made), [0b100, 0b100, 0]);
        assert_eq!(made.find(made.place_of(address_of(1, MAC + 1)).unwrap(), 2, |_| 0), 0b1);
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

    #[test]
    fn a_congested_port_is_passed_by_where_another_leads_nearer_and_has_less() {
        let orders = |orders: &[&[u16]]| orders.iter().map(|order| order.to_vec()).collect::<Vec<_>>();
        let made_with = |congestion_frames, nearer: &[&[u16]]| {
            let (ports, nearer) = (orders(&[&[1, 2], &[2], &[], &[1]]), orders(nearer));
            let detours = vec![DetourConfig { address: MAC, vlan: 1, ports, nearer }];
            Detours::new(4, &BridgeConfig { detours, congestion_frames, ..BridgeConfig::default() })
        };
        let made = |nearer| made_with(5, nearer);
        let nearer: &[&[u16]] = &[&[2, 3], &[], &[], &[]];
        let (mut watching, blind) = (made(nearer).unwrap(), made_with(0, nearer).unwrap());
        assert!(watching.watches_queues() && !blind.watches_queues());
        let find = |made: &Detours, queued: [usize; 4]| made.find(0, 0, |port| queued[usize::from(port)]);
        for (queued, port) in
            [([9, 4, 0, 0], 1), ([9, 5, 0, 0], 2), ([0, 5, 4, 3], 3), ([0, 5, 5, 6], 1), ([0, 7, 6, 6], 2)]
        {
            assert_eq!(find(&watching, queued), 1 << port, "{queued:?}");
        }
        assert_eq!(watching.find(0, 3, |_| 100), 1 << 1, "it has no other");
        assert_eq!(find(&blind, [0, 100, 0, 0]), 1 << 1, "no queue makes it congested");
        watching.set_link(3, false);
        assert_eq!(find(&watching, [0, 5, 5, 3]), 1 << 1, "a link that is down leads nowhere");
        watching.set_link(1, false);
        assert_eq!(find(&watching, [0, 100, 100, 0]), 1 << 2, "around a dead link nothing else is tried");
        assert!(
            made(&[&[2]]).is_err() && made(&[&[0], &[], &[], &[]]).is_err() && made(&[&[4], &[], &[], &[]]).is_err()
        );
    }
}
