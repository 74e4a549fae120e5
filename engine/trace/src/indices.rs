// SPDX-License-Identifier: Apache-2.0
//! Places in a dictionary: Parquet's RLE_DICTIONARY.
use crate::bits::{pack, varint};

/// So many are packed, or stand as one if they are equal.
const BLOCK: usize = 256;

/// Of each row, a place; gives the greatest. The result stands for them if that is below `2^width`.
#[inline(always)]
pub fn encode<R>(rows: &[R], place: impl Fn(&R) -> u64, width: u32, out: &mut Vec<u8>) -> u64 {
    out.push(width as u8);
    let mut most = 0;
    for block in rows.chunks(BLOCK) {
        let mut places = [0_u64; BLOCK];
        let (mut low, mut high) = (u64::MAX, 0);
        for (to, row) in places.iter_mut().zip(block) {
            *to = place(row);
            low = low.min(*to);
            high = high.max(*to);
        }
        most = most.max(high);
        if low == high {
            varint((block.len() as u64) << 1, out);
            out.extend_from_slice(&high.to_le_bytes()[..width.div_ceil(8) as usize]);
        } else {
            let groups = block.len().div_ceil(8);
            varint((groups as u64) << 1 | 1, out);
            pack(&places[..groups * 8], width, out);
        }
    }
    most
}
