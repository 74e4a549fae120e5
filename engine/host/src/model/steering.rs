// SPDX-License-Identifier: Apache-2.0
//! Whether the host gets a received frame, and by which queue pair. Twin of `pen_steering`, which says what decides in which
//! order; one flow stays on one pair, so that its frames stay in order.
use penstock_frame::Header;

pub const RULES: usize = 8;
const VLAN: u16 = 0x8100;
const GROUP: u64 = 1 << 40;
const BROADCAST: u64 = (1 << 48) - 1;

/// A frame that has all `parts` that count, of its IPv4 key or of what is before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    acts: bool,
    drops: bool,
    pair: usize,
    is_ipv4: bool,
    parts: u8,
    fields: u128,
}

impl Rule {
    /// From the words of its table, the lowest first.
    pub fn of_words(words: [u32; 4]) -> Self {
        let bits = words.iter().rev().fold(0, |bits: u128, &word| bits << 32 | u128::from(word));
        Self {
            acts: bits >> 115 & 1 != 0,
            drops: bits >> 114 & 1 != 0,
            pair: (bits >> 110 & 0xF) as usize,
            is_ipv4: bits >> 109 & 1 != 0,
            parts: (bits >> 104 & 0x1F) as u8,
            fields: bits & ((1 << 104) - 1),
        }
    }

    fn fits(&self, layer2: u128, ipv4: Option<u128>) -> bool {
        // Bits of the fields of each part, the part with the highest number first.
        let (fields, masks) = match (self.is_ipv4, ipv4) {
            (false, _) => (layer2, [0, 0, 0xFFFF << 60, 0xFFF << 48, u128::from(BROADCAST)]),
            (true, Some(key)) => (key, [0xFFFF_FFFF << 72, 0xFFFF_FFFF << 40, 0xFF << 32, 0xFFFF << 16, 0xFFFF]),
            (true, None) => return false,
        };
        let counts = |part: usize| self.parts >> (4 - part) & 1 != 0;
        self.acts && (0..5).all(|part| !counts(part) || (fields ^ self.fields) & masks[part] == 0)
    }
}

#[derive(Clone, Debug)]
pub struct Steering {
    /// Destination addresses that pass: bit 0: all, bit 1: all groups.
    pub filter: u32,
    /// Bit 0: the priority code point finds a pair; bit 1: the hash of IPv4.
    pub ways: u32,
    /// Of each priority code point, four bits.
    pub pair_of_pcp: u32,
    /// Octets 3 to 6 of the station's address, and the first two.
    pub address: [u32; 2],
    rules: [Rule; RULES],
}

impl Default for Steering {
    fn default() -> Self {
        Self { filter: 3, ways: 2, pair_of_pcp: 0x7654_3210, address: [0; 2], rules: [Rule::default(); RULES] }
    }
}

impl Steering {
    pub fn set_rule(&mut self, number: usize, rule: Rule) {
        if let Some(place) = self.rules.get_mut(number) {
            *place = rule;
        }
    }

    /// The pair of a frame without FCS, where bit k of `running` says that pair k can take one; none: nobody wants it.
    pub fn pair_of(&self, frame: &[u8], running: u32) -> Option<usize> {
        let word = |at: usize| frame.get(at..at + 2).map_or(0, |two| u16::from_be_bytes([two[0], two[1]]));
        let destination = frame.iter().take(6).fold(0, |address: u64, &byte| address << 8 | u64::from(byte));
        let tag = (word(12) == VLAN).then(|| word(14));
        let ethertype = if tag.is_some() { word(16) } else { word(12) };
        let ipv4 = Header::parse(frame).ipv4.map(|ipv4| ipv4.key());
        let vlan = u128::from(tag.unwrap_or(0) & 0xFFF);
        let layer2 = u128::from(ethertype) << 60 | vlan << 48 | u128::from(destination);
        let rule = self.rules.iter().find(|rule| rule.fits(layer2, ipv4));
        if !rule.map_or_else(|| self.passes(destination), |rule| !rule.drops) {
            return None;
        }
        let first = if running == 0 { 0 } else { running.trailing_zeros() as usize };
        let wanted = match (rule, tag, ipv4) {
            (Some(rule), ..) => rule.pair,
            (None, Some(tag), _) if self.ways & 1 != 0 => (self.pair_of_pcp >> (4 * (tag >> 13)) & 0xF) as usize,
            (None, _, Some(key)) if self.ways & 2 != 0 => spread(key, running).unwrap_or(first),
            _ => first,
        };
        Some(if running >> wanted & 1 != 0 { wanted } else { first })
    }

    fn passes(&self, destination: u64) -> bool {
        let own = u64::from(self.address[1] & 0xFFFF) << 32 | u64::from(self.address[0]);
        self.filter & 1 != 0
            || if destination & GROUP != 0 {
                self.filter & 2 != 0 || destination == BROADCAST
            } else {
                destination == own
            }
    }
}

/// By the first eight bits of the CRC-32 of a key, evenly over the pairs that run.
fn spread(key: u128, running: u32) -> Option<usize> {
    let bytes = key.to_be_bytes();
    let number = ((crc32fast::hash(&bytes[3..]) >> 24) * running.count_ones()) >> 8;
    (0..32).filter(|pair| running >> pair & 1 != 0).nth(number as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn udp(source_port: u16) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14] = 0x45;
        frame[17] = 46;
        frame[23] = 17;
        frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        frame[34..36].copy_from_slice(&source_port.to_be_bytes());
        frame
    }

    #[test]
    fn flows_spread_and_each_stays() {
        let (steering, mut used) = (Steering::default(), [0; 4]);
        for port in 0..400 {
            let pair = steering.pair_of(&udp(port), 0xF).unwrap();
            assert_eq!(steering.pair_of(&udp(port), 0xF), Some(pair));
            used[pair] += 1;
        }
        assert!(used.iter().all(|&count| count > 50), "{used:?}");
    }

    #[test]
    fn only_pairs_that_run_are_used() {
        let steering = Steering::default();
        assert!((0..50).all(|port| steering.pair_of(&udp(port), 0b1010).is_some_and(|pair| pair % 2 == 1)));
        assert_eq!(steering.pair_of(&udp(1), 0), Some(0), "where it is lost");
        assert_eq!(steering.pair_of(&[0xFF; 60], 0b1110), Some(1), "no IPv4");
        assert_eq!(steering.pair_of(&[], 0b1100), Some(2), "not even a header");
    }

    #[test]
    fn the_filter_and_the_lowest_rule() {
        let mut steering = Steering { filter: 0, address: [2, 0x0200], ..Steering::default() };
        let to = |address: u64| [&address.to_be_bytes()[2..], &[0; 54]].concat();
        assert_eq!(steering.pair_of(&to(0x0200_0000_0002), 0xF), Some(0));
        assert_eq!(steering.pair_of(&to(0x0200_0000_0003), 0xF), None);
        assert_eq!(steering.pair_of(&to(GROUP), 0xF), None);
        assert_eq!(steering.pair_of(&to(BROADCAST), 0xF), Some(0));
        // acts, to pair 2, by the destination address.
        steering.set_rule(5, Rule::of_words([3, 0x0200, 0, 1 << 19 | 2 << 14 | 1 << 8]));
        assert_eq!(steering.pair_of(&to(0x0200_0000_0003), 0xF), Some(2));
        steering.set_rule(4, Rule::of_words([3, 0x0200, 0, 1 << 19 | 1 << 18 | 1 << 8]));
        assert_eq!(steering.pair_of(&to(0x0200_0000_0003), 0xF), None, "the lower one drops it");
    }
}
