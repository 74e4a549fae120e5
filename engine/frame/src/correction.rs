// SPDX-License-Identifier: Apache-2.0
//! The correctionField of PTP event messages (IEEE 1588 13.3.2.9), to which a transparent clock adds the time that a
//! message was inside. Twin of `pen_correction_begin` and `pen_correction_end`.
use crate::ptp::on_ethernet;
use crate::FCS_BYTES;

/// In the message.
const CORRECTION_AT: usize = 8;
const CORRECTION_BYTES: usize = 8;
/// The first two bytes of a correction that is too large to be told. A sum with less never becomes negative.
const TOO_LARGE: u16 = 0x7FFF;

/// Adds a time in units of 2^-16 ns to the correctionField of an event message, from destination address to FCS. The FCS is
/// changed by what that changes in it, so a frame with a wrong one has a wrong one still. What is no event message stays.
pub fn add_residence(frame: &mut [u8], units: u64) {
    let Some(at) = on_ethernet(frame).map(|message| message + CORRECTION_AT) else { return };
    let Some(body_bytes) = frame.len().checked_sub(FCS_BYTES as usize) else { return };
    let (body, fcs) = frame.split_at_mut(body_bytes);
    let before = crc32fast::hash(body);
    let Some(field) = body.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<CORRECTION_BYTES>()) else { return };
    if u16::from_be_bytes([field[0], field[1]]) == TOO_LARGE {
        return;
    }
    *field = u64::from_be_bytes(*field).wrapping_add(units).to_be_bytes();
    let change = before ^ crc32fast::hash(body);
    fcs.iter_mut().zip(change.to_le_bytes()).for_each(|(byte, change)| *byte ^= change);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fcs_is_good, finish, Edit, RTagAction, TagAction};

    const NS: u64 = 1 << 16;

    fn message(tag: Option<u16>, kind: u8, field: u64) -> Vec<u8> {
        let mut frame = vec![1, 0x1B, 0x19, 0, 0, 0, 2, 0, 0, 0, 0, 2];
        if let Some(tci) = tag {
            frame.extend([0x81, 0]);
            frame.extend(tci.to_be_bytes());
        }
        frame.extend([0x88, 0xF7, kind, 2, 0, 44, 0, 0, 0, 0]);
        frame.extend(field.to_be_bytes());
        frame.extend((0..28).map(|n| n as u8));
        finish(frame)
    }

    fn corrected(frame: &[u8], units: u64) -> Vec<u8> {
        let mut frame = frame.to_vec();
        add_residence(&mut frame, units);
        frame
    }

    #[test]
    fn the_time_is_added_to_the_field_of_event_messages() {
        for tag in [None, Some(0x600A)] {
            for kind in 0..16 {
                let wanted = message(tag, kind, if kind < 4 { 5 * NS + 7 } else { 7 });
                assert_eq!(corrected(&message(tag, kind, 7), 5 * NS), wanted, "messageType {kind}");
                assert_eq!(
                    corrected(&message(tag, 0x10 | kind, 7), 5 * NS)[14..22],
                    message(tag, 0x10 | kind, 7)[14..22]
                );
            }
        }
    }

    #[test]
    fn what_is_carried_goes_to_the_first_byte_and_over_zero() {
        for (field, units, sum) in [
            (0x00FF_FFFF_FFFF_FFFF, 1, 0x0100_0000_0000_0000),
            (0x0001_FFFF_FFF8_0005, 8 * NS, 0x0002_0000_0000_0005),
            (0xFFFF_FFFF_FFF8_0000, 8 * NS, 0),
            (0xFFFF_0000_0000_0001, 800 * NS, 0xFFFF_0000_0320_0001),
            (0x7FFE_FFFF_FFFF_FFFF, 8 * NS, 0x7FFF_0000_0007_FFFF),
        ] {
            assert_eq!(corrected(&message(None, 0, field), units), message(None, 0, sum), "{field:#x}");
        }
    }

    #[test]
    fn what_says_that_it_is_too_large_stays() {
        for field in [0x7FFF_FFFF_FFFF_FFFF, 0x7FFF_0000_0000_0000] {
            let came = message(None, 1, field);
            assert_eq!(corrected(&came, 8 * NS), came);
        }
    }

    #[test]
    fn damage_stays_visible_wherever_it_is() {
        let whole = message(Some(0x600A), 0, 0x0000_00FF_FFFF_FFFF);
        for bit in 0..8 * whole.len() {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(!fcs_is_good(&corrected(&damaged, 800 * NS)), "bit {bit}");
        }
    }

    #[test]
    fn it_makes_no_difference_whether_tags_change_before() {
        let came = message(None, 2, 0xFFFF_FFFF_FFFF_0000);
        let edit = Edit::new(TagAction::Insert, (10, 3), RTagAction::Keep, came.len() as u16);
        let both = edit.apply(&corrected(&came, 8 * NS));
        assert_eq!(both, edit.apply(&came).map(|tagged| corrected(&tagged, 8 * NS)));
        assert!(fcs_is_good(&both.unwrap()));
    }

    #[test]
    fn what_is_no_message_is_left_alone() {
        let whole = message(Some(10), 0, 0);
        for bytes in 0..whole.len() {
            corrected(&whole[..bytes], NS);
        }
        let mut other = message(None, 0, 0);
        other[12] = 0x08;
        assert_eq!(corrected(&other, NS), other);
        let twice = [&whole[..16], &whole[12..]].concat();
        assert_eq!(corrected(&twice, NS), twice, "one tag counts");
    }
}
