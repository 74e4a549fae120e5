// SPDX-License-Identifier: Apache-2.0
//! Numbers of few bits, as all of Parquet's encodings pack them.

/// The bits that a number needs.
pub fn width(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

/// Packs a multiple of eight numbers below `2^width`, from the lowest bit of the first byte on.
#[inline]
pub fn pack(values: &[u64], width: u32, out: &mut Vec<u8>) {
    let (mut word, mut filled) = (0_u64, 0);
    if width == 0 {
        return;
    }
    for &value in values {
        word |= value << filled;
        filled += width;
        if filled >= u64::BITS {
            out.extend_from_slice(&word.to_le_bytes());
            filled -= u64::BITS;
            // What did not fit; nothing of a number whose bits all did.
            word = value.checked_shr(width - filled).unwrap_or(0);
        }
    }
    out.extend_from_slice(&word.to_le_bytes()[..filled as usize / 8]);
}

/// Seven bits a byte, the lowest first.
pub fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// As [`varint`], short also for small numbers below zero.
pub fn zigzag(value: i64, out: &mut Vec<u8>) {
    varint((value << 1 ^ value >> 63) as u64, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bit(bytes: &[u8], at: usize) -> u64 {
        u64::from(bytes[at / 8] >> (at % 8) & 1)
    }

    proptest! {
        #[test]
        fn numbers_stand_bit_by_bit(width in 0_u32..=64, values in prop::collection::vec(any::<u64>(), 0..12)) {
            let all: Vec<u64> = values
                .iter()
                .flat_map(|value| (0..8).map(|turn| value.rotate_left(turn * 8)))
                .map(|value| value & 1_u64.checked_shl(width).map_or(u64::MAX, |bound| bound - 1))
                .collect();
            let mut bytes = Vec::new();
            pack(&all, width, &mut bytes);
            let width = width as usize;
            prop_assert_eq!(bytes.len(), all.len() * width / 8);
            for (n, &value) in all.iter().enumerate() {
                let found = (0..width).map(|at| bit(&bytes, n * width + at) << at).sum::<u64>();
                prop_assert_eq!(found, value);
            }
        }
    }

    #[test]
    fn small_numbers_are_short() {
        let mut bytes = Vec::new();
        for value in [0, -1, 1, -64, 64, i64::MIN] {
            zigzag(value, &mut bytes);
        }
        assert_eq!(bytes[..6], [0, 1, 2, 127, 0x80, 1]);
        assert_eq!(bytes[6..], [0xff; 9].into_iter().chain([1]).collect::<Vec<_>>());
    }
}
