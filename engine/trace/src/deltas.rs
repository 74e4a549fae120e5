// SPDX-License-Identifier: Apache-2.0
//! Numbers that rise or fall a little from row to row: Parquet's DELTA_BINARY_PACKED.
use crate::bits::{pack, varint, width, zigzag};

const BLOCK: usize = 128;
/// Numbers of a block that share a width.
const PART: usize = 32;
const PARTS: usize = BLOCK / PART;

/// Of each row, a number; the result stands for itself.
#[inline(always)]
pub fn encode<R>(rows: &[R], number: impl Fn(&R) -> u64, out: &mut Vec<u8>) {
    varint(BLOCK as u64, out);
    varint(PARTS as u64, out);
    varint(rows.len() as u64, out);
    let Some((first, others)) = rows.split_first() else { return zigzag(0, out) };
    let mut last = number(first);
    zigzag(last as i64, out);
    for block in others.chunks(BLOCK) {
        let mut deltas = [0_i64; BLOCK];
        let mut least = i64::MAX;
        for (delta, row) in deltas.iter_mut().zip(block) {
            let value = number(row);
            *delta = value.wrapping_sub(last) as i64;
            least = least.min(*delta);
            last = value;
        }
        zigzag(least, out);
        let mut above = [0_u64; BLOCK];
        for (above, delta) in above.iter_mut().zip(&deltas[..block.len()]) {
            *above = delta.wrapping_sub(least) as u64;
        }
        let mut widths = [0_u8; PARTS];
        for (bits, part) in widths.iter_mut().zip(above.chunks_exact(PART)) {
            *bits = width(part.iter().fold(0, |all, value| all | value)) as u8;
        }
        out.extend_from_slice(&widths);
        for ((bits, part), from) in widths.iter().zip(above.chunks_exact(PART)).zip((0..).step_by(PART)) {
            if from < block.len() {
                pack(part, u32::from(*bits), out);
            }
        }
    }
}
