// SPDX-License-Identifier: Apache-2.0
//! The kernel's description of its own types (BTF), in which programs find its functions by their numbers.

const MAGIC: u32 = 0xEB9F;
const KIND_OF_FUNCTION: u32 = 12;

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

/// Bytes behind the three words that each type has (linux/btf.h); None: a kind that is not known.
fn bytes_behind(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        1 | 14 | 17 => 4,              // integer, variable, tag of a declaration
        2 | 7..=12 | 16 | 18 => 0,     // pointer, forward, typedef and qualifiers, function, float, tag of a type
        3 => 12,                       // array
        4 | 5 | 15 | 19 => 12 * count, // struct, union, section, enum of 64 bit
        6 | 13 => 8 * count,           // enum, prototype
        _ => return None,
    })
}

/// The number of a function; None: it is not there, or the description is not understood.
pub(super) fn function(description: &[u8], name: &str) -> Option<u32> {
    if word(description, 0)? & 0xFFFF != MAGIC {
        return None;
    }
    let at = |place| word(description, place).map(|value| value as usize);
    let (head, types, types_bytes, strings) = (at(4)?, at(8)?, at(12)?, at(16)?);
    let mut place = head.checked_add(types)?;
    let (end, names) = (place.checked_add(types_bytes)?, description.get(head.checked_add(strings)?..)?);
    let mut number = 1;
    while place < end {
        let (name_at, told) = (at(place)?, word(description, place + 4)?);
        let kind = told >> 24 & 0x1F;
        let is_named = || names.get(name_at..)?.strip_prefix(name.as_bytes())?.first().filter(|&&byte| byte == 0);
        if kind == KIND_OF_FUNCTION && is_named().is_some() {
            return Some(number);
        }
        place += 12 + bytes_behind(kind, (told & 0xFFFF) as usize)?;
        number += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types of (name, kind, count, bytes behind), and their names.
    fn description(types: &[(u32, u32, u32, usize)], names: &[u8]) -> Vec<u8> {
        let mut told = Vec::new();
        for &(name, kind, count, behind) in types {
            [name, kind << 24 | count, 0].iter().for_each(|value| told.extend(value.to_ne_bytes()));
            told.extend(vec![0xAA; behind]);
        }
        let (length, strings) = (told.len() as u32, names.len() as u32);
        let head = [MAGIC | 1 << 16, 24, 0, length, length, strings];
        head.iter().flat_map(|value| value.to_ne_bytes()).chain(told).chain(names.iter().copied()).collect()
    }

    #[test]
    fn a_function_is_found_behind_types_of_all_lengths() {
        let types = [(1, 4, 2, 24), (3, 6, 3, 24), (0, 13, 1, 8), (5, 12, 0, 0), (1, 12, 0, 0)];
        let made = description(&types, b"\0a\0b\0ab\0");
        assert_eq!((function(&made, "ab"), function(&made, "a"), function(&made, "b")), (Some(4), Some(5), None));
        assert!((0..made.len()).all(|length| function(&made[..length], "zz").is_none()), "nothing is read outside");
        assert_eq!(function(&description(&[(1, 31, 0, 0), (1, 12, 0, 0)], b"\0a\0"), "a"), None);
    }
}
