// SPDX-License-Identifier: Apache-2.0
//! To which queue pair a received frame goes: one flow stays on one pair, so that its frames stay in order.
use penstock_frame::Header;

/// The pair of those that can take it; none, if there are none. Frames of IPv4 by a hash of addresses, protocol and ports,
/// all others to the first.
pub fn pair_of(frame: &[u8], open: impl Iterator<Item = usize> + Clone) -> Option<usize> {
    let count = open.clone().count();
    let flow = Header::parse(frame).ipv4.map_or(0, |ipv4| crc32fast::hash(&ipv4.key().to_be_bytes()));
    let number = (flow as usize).checked_rem(count)?;
    open.clone().nth(number)
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
        let mut used = [0; 4];
        for port in 0..400 {
            let pair = pair_of(&udp(port), 0..4).unwrap();
            assert_eq!(pair_of(&udp(port), 0..4), Some(pair));
            used[pair] += 1;
        }
        assert!(used.iter().all(|&count| count > 50), "{used:?}");
    }

    #[test]
    fn only_open_pairs_are_used() {
        assert!((0..50).all(|port| pair_of(&udp(port), [1, 3].into_iter()).is_some_and(|pair| pair % 2 == 1)));
        assert_eq!(pair_of(&udp(1), std::iter::empty()), None);
        assert_eq!(pair_of(&[0xFF; 60], 0..4), Some(0), "no IPv4");
        assert_eq!(pair_of(&[], 2..4), Some(2), "not even a header");
    }
}
