// SPDX-License-Identifier: Apache-2.0
//! Finds the stream of a key. Twin of `pen_stream_table`: two tables of slots given by the key's CRC-32. An entry is the key
//! less the bits that follow from its slot.
use std::collections::HashMap;

/// identify[108:107], port[106:104], fields[103:0]; ports beyond 7 go on above bit 108.
pub type Key = u128;

const IPV4: u128 = 0;
const DESTINATION: u128 = 1;
const SOURCE: u128 = 2;
pub const FIELDS: u128 = (1 << 104) - 1;

fn key(identify: u128, port: u16, fields: u128) -> Key {
    u128::from(port >> 3) << 109 | identify << 107 | u128::from(port & 7) << 104 | fields
}

/// By IPv4, of the fields that count: {source, destination, protocol, source port, destination port}.
pub fn ipv4_key(port: u16, fields: u128) -> Key {
    key(IPV4, port, fields)
}

pub fn destination_key(port: u16, vlan: u16, address: u64) -> Key {
    key(DESTINATION, port, u128::from(vlan) << 48 | u128::from(address))
}

pub fn source_key(port: u16, vlan: u16, address: u64) -> Key {
    key(SOURCE, port, u128::from(vlan) << 48 | u128::from(address))
}

#[derive(Clone, Debug, Default)]
pub struct StreamTable {
    slots: usize,
    /// By slot; most are empty.
    tables: [HashMap<usize, (Key, u16)>; 2],
    /// The bits of a key that follow from its slot in each table.
    implied: [Key; 2],
    /// Those that have no slot.
    elsewhere: HashMap<Key, u16>,
}

impl StreamTable {
    /// Slots are twice as many as streams, a power of two.
    pub fn new(slots: usize) -> Self {
        Self { slots, implied: [implied(slots, 0), implied(slots, 16)], ..Self::default() }
    }

    /// No key is looked for in a slot beyond the table.
    pub fn write(&mut self, table: usize, slot: usize, entry: Option<(Key, u16)>) {
        let table = &mut self.tables[table & 1];
        let _ = match entry {
            Some(entry) => table.insert(slot, entry),
            None => table.remove(&slot),
        };
    }

    pub fn add(&mut self, key: Key, stream: u16) {
        self.elsewhere.insert(key, stream);
    }

    pub fn find(&self, key: Key) -> Option<u16> {
        let crc = crc(&key.to_le_bytes()[..14]) as usize;
        for ((table, implied), slot) in self.tables.iter().zip(self.implied).zip([crc, crc >> 16]) {
            match table.get(&(slot & (self.slots - 1))) {
                Some(&(found, stream)) if (found ^ key) & !implied == 0 => return Some(stream),
                _ => {}
            }
        }
        self.elsewhere.get(&key).copied()
    }
}

/// As many bits of a key as the number of a slot has, which that and all others say: those from the first field on whose
/// parts in the CRC's bits from `low` on are independent of each other.
fn implied(slots: usize, low: u32) -> Key {
    let mut basis = [0; 16]; // by highest bit
    let mut implied = 0;
    let mut value = POLYNOMIAL; // what this bit of the key is in the CRC
    for bit in (0..112).rev() {
        let mut part = if 1 << bit <= FIELDS { (value >> low) as usize & (slots - 1) } else { 0 };
        while part != 0 {
            let highest = part.ilog2() as usize;
            if basis[highest] == 0 {
                basis[highest] = part;
                implied |= 1 << bit;
            }
            part ^= basis[highest];
        }
        value = step(value);
    }
    implied
}

const POLYNOMIAL: u32 = 0xEDB8_8320;

fn step(crc: u32) -> u32 {
    if crc & 1 == 1 {
        crc >> 1 ^ POLYNOMIAL
    } else {
        crc >> 1
    }
}

/// CRC-32 as Ethernet has it, of a few bytes.
pub fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crc_is_that_of_ethernet() {
        assert_eq!(crc(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn a_key_has_its_fields_where_the_hardware_has_them() {
        let address = 0xFEDC_BA98_7654_u64;
        assert_eq!(ipv4_key(5, FIELDS), (5 << 104) + ((1 << 104) - 1));
        assert_eq!(destination_key(3, 0xFFF, address), (0b01_011 << 104) + (0xFFF << 48) + u128::from(address));
        assert_eq!(source_key(7, 1, address), (0b10_111 << 104) + (1 << 48) + u128::from(address));
        assert_eq!(source_key(0x2E, 1, 0), (5 << 109) + (0b10_110 << 104) + (1 << 48));
    }

    /// Of all keys that differ in the bits that are not kept, each has a slot of its own.
    #[test]
    fn a_slot_and_what_is_kept_say_the_whole_key() {
        for slots in [4, 512, 8192] {
            for low in [0, 16] {
                let implied = implied(slots, low);
                assert_eq!(1 << implied.count_ones(), slots);
                assert_eq!(implied & !FIELDS, 0);
                let mut seen = vec![false; slots];
                let mut key = destination_key(3, 10, 0x0200_0000_0001) & !implied;
                for _ in 0..slots {
                    let slot = (crc(&key.to_le_bytes()[..14]) >> low) as usize & (slots - 1);
                    assert!(!std::mem::replace(&mut seen[slot], true));
                    key = ((key | !implied).wrapping_add(1) & implied) | (key & !implied);
                }
            }
        }
    }

    /// As in hardware: it stands for the key whose slot it is.
    #[test]
    fn a_key_in_a_slot_of_another_stands_for_it() {
        let mut table = StreamTable::new(512);
        let key = destination_key(3, 10, 0x0200_0000_0001);
        let other = key ^ (1 << table.implied[0].trailing_zeros());
        let slot = crc(&other.to_le_bytes()[..14]) as usize & 511;
        table.write(0, slot, Some((key, 4)));
        assert_eq!(table.find(key), None);
        assert_eq!(table.find(other), Some(4));
    }

    #[test]
    fn a_key_is_found_in_its_slots_only() {
        let mut table = StreamTable::new(512);
        let key = destination_key(3, 10, 0x0200_0000_0001);
        let slot = crc(&key.to_le_bytes()[..14]) as usize;
        table.write(0, slot & 511, Some((key ^ 1, 4)));
        assert_eq!(table.find(key), None, "another one is there");
        table.write(0, slot & 511, Some((key, 5)));
        assert_eq!(table.find(key), Some(5));
        table.write(0, slot & 511, None);
        table.write(1, slot & 511, Some((key, 6)));
        table.write(0, (slot + 1) & 511, Some((key, 7)));
        assert_eq!(table.find(key), None);
        table.write(1, (slot >> 16) & 511, Some((key, 7)));
        assert_eq!(table.find(key), Some(7));
        table.write(1, (slot >> 16) & 511, None);
        table.add(key, 9);
        assert_eq!(table.find(key), Some(9));
        assert_ne!(source_key(3, 10, 0x0200_0000_0001), key);
    }
}
