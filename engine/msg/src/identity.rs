// SPDX-License-Identifier: Apache-2.0
//! Who a node is, and its address: the twin of `penstock.tiles.identity`.
use std::fmt;
use std::net::Ipv4Addr;

use crate::error::Error;

/// Rows and columns of nodes in a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    pub rows: u8,
    pub columns: u8,
}

impl Default for Tile {
    fn default() -> Self {
        Self { rows: 2, columns: 2 }
    }
}

/// ⟨Grc, Gcc, Lrc, Lcc⟩: the row and column of the tile, then those within it; a byte each, Grc the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity(pub u32);

impl Identity {
    /// The node's address: its row and column in the whole grid, counted from 1, behind two bytes of the network.
    ///
    /// # Errors
    /// The place is outside of a tile, or the row or column above 254.
    pub fn address(self, tile: Tile, network: [u8; 2]) -> Result<Ipv4Addr, Error> {
        let [tile_row, tile_column, row, column] = self.0.to_be_bytes();
        let place = |of_tile: u8, size: u8, within: u8| {
            let number = u16::from(of_tile) * u16::from(size) + u16::from(within) + 1;
            u8::try_from(number).ok().filter(|number| within < size && *number < u8::MAX)
        };
        let (row, column) = (place(tile_row, tile.rows, row), place(tile_column, tile.columns, column));
        let (Some(row), Some(column)) = (row, column) else { return Err(Error::NoSuchNode { node: self, tile }) };
        Ok(Ipv4Addr::new(network[0], network[1], row, column))
    }

    /// The node of an address, if it is of this network.
    #[must_use]
    pub fn of_address(address: Ipv4Addr, tile: Tile, network: [u8; 2]) -> Option<Self> {
        let [first, second, row, column] = address.octets();
        if [first, second] != network || tile.rows == 0 || tile.columns == 0 {
            return None;
        }
        let (row, column) = (row.checked_sub(1)?, column.checked_sub(1)?);
        let bytes = [row / tile.rows, column / tile.columns, row % tile.rows, column % tile.columns];
        Some(Self(u32::from_be_bytes(bytes)))
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [tile_row, tile_column, row, column] = self.0.to_be_bytes();
        write!(formatter, "{tile_row},{tile_column},{row},{column}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: [u8; 2] = [10, 0];

    #[test]
    fn an_identity_leads_to_an_address_and_back() {
        let tile = Tile::default();
        let address = Identity(0x0001_0100).address(tile, NETWORK).ok();
        assert_eq!(address, Some(Ipv4Addr::new(10, 0, 2, 3)));
        for node in [0, 0x0001_0100, 0x7e7e_0101, 0x7e7e_0001] {
            let address = Identity(node).address(tile, NETWORK).expect("a node");
            assert_eq!(Identity::of_address(address, tile, NETWORK), Some(Identity(node)));
        }
        let plain = Tile { rows: 1, columns: 1 };
        assert_eq!(Identity(0x0102_0000).address(plain, NETWORK).ok(), Some(Ipv4Addr::new(10, 0, 2, 3)));
    }

    #[test]
    fn what_is_outside_has_no_address() {
        for node in [0x0000_0200, 0x0000_0002, 0x7f00_0000, 0xff00_0000] {
            assert!(Identity(node).address(Tile::default(), NETWORK).is_err(), "{node:#x}");
        }
        for address in [[10, 0, 0, 1], [10, 0, 1, 0], [10, 1, 1, 1]] {
            assert_eq!(Identity::of_address(address.into(), Tile::default(), NETWORK), None);
        }
    }
}
