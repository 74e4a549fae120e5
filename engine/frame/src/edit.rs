// SPDX-License-Identifier: Apache-2.0
//! What an egress port changes of a frame on its way out. Twin of `pen_editor`.
use crate::{ADDRESSES_BYTES, FCS_BYTES, MIN_FRAME_BYTES, TAG_BYTES, VLAN_ETHERTYPE};

/// What becomes of the VLAN tag of a frame (802.1Q 6.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum TagAction {
    /// The frame leaves as it came.
    #[default]
    Keep = 0,
    /// It has one.
    Remove = 1,
    /// It has none.
    Insert = 2,
    /// It has one, and gets another of the same length.
    Rewrite = 3,
}

/// The edit of one copy of a frame: what becomes of its tag, and which it gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// Of the new tag; the drop eligible indicator stays.
    pub vlan: u16,
    /// By so many bytes the port has the wire for longer than for the frame as it came.
    pub growth: i8,
    /// PCP and action: a copy in a queue has room for four bytes.
    code: u8,
}

impl Edit {
    /// The frame leaves as it came.
    pub const NONE: Self = Self { vlan: 0, growth: 0, code: 0 };

    /// Of a frame of `bytes` bytes from destination address to FCS, which gets this VLAN and priority code point, or
    /// loses them. Without its tag it is padded to the shortest length.
    pub fn new(action: TagAction, vlan: u16, pcp: u8, bytes: u16) -> Self {
        let growth = match action {
            TagAction::Keep | TagAction::Rewrite => 0,
            TagAction::Insert => TAG_BYTES as i8,
            TagAction::Remove => {
                let left = u32::from(bytes).saturating_sub(TAG_BYTES as u32);
                (left.max(MIN_FRAME_BYTES.min(bytes.into())) as i32 - i32::from(bytes)) as i8
            }
        };
        Self { vlan, growth, code: pcp << 2 | action as u8 }
    }

    /// The same by which the port has the wire for so many bytes more.
    pub fn longer_by(self, bytes: i8) -> Self {
        Self { growth: self.growth + bytes, ..self }
    }

    /// What becomes of the tag.
    pub fn action(&self) -> TagAction {
        match self.code & 3 {
            0 => TagAction::Keep,
            1 => TagAction::Remove,
            2 => TagAction::Insert,
            _ => TagAction::Rewrite,
        }
    }

    /// The frame leaves as it came.
    #[inline(always)]
    pub fn is_none(&self) -> bool {
        self.code & 3 == TagAction::Keep as u8
    }

    /// The frame as it leaves, from destination address to FCS; none: as it came. The FCS is changed by what the edit
    /// changes in it, so a frame with a wrong one has a wrong one still.
    pub fn apply(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let addresses = ADDRESSES_BYTES;
        let body_bytes = frame.len().checked_sub(FCS_BYTES as usize).filter(|body| *body >= addresses)?;
        let (body, fcs) = frame.split_at(body_bytes);
        let (head, rest) = body.split_at(addresses);
        let tag = |tci: u16| {
            let [a, b] = VLAN_ETHERTYPE.to_be_bytes();
            let [c, d] = tci.to_be_bytes();
            [a, b, c, d]
        };
        let tci = |eligible: u8| u16::from(self.code >> 2) << 13 | u16::from(eligible & 0x10) << 8 | self.vlan;
        let old = rest.split_at_checked(TAG_BYTES);
        let mut edited = head.to_vec();
        match (self.action(), old) {
            (TagAction::Keep, _) | (TagAction::Remove | TagAction::Rewrite, None) => return None,
            (TagAction::Remove, Some((_, rest))) => {
                edited.extend_from_slice(rest);
                let shortest = (MIN_FRAME_BYTES - FCS_BYTES) as usize;
                if edited.len() < shortest.min(body.len()) {
                    edited.resize(shortest.min(body.len()), 0);
                }
            }
            (TagAction::Insert, _) => {
                edited.extend_from_slice(&tag(tci(0)));
                edited.extend_from_slice(rest);
            }
            (TagAction::Rewrite, Some((old, rest))) => {
                edited.extend_from_slice(&tag(tci(old[2])));
                edited.extend_from_slice(rest);
            }
        }
        let change = crc32fast::hash(body) ^ crc32fast::hash(&edited);
        let fcs = fcs.iter().zip(change.to_le_bytes()).map(|(old, change)| old ^ change);
        edited.extend(fcs);
        Some(edited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fcs_is_good, finish, Header, Tag};

    fn frame(tci: Option<u16>, payload: usize) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        if let Some(tci) = tci {
            frame.extend([0x81, 0]);
            frame.extend(tci.to_be_bytes());
        }
        frame.extend([0x88, 0xB5]);
        frame.extend((0..payload).map(|n| n as u8));
        finish(frame)
    }

    fn edited(frame: &[u8], action: TagAction) -> Vec<u8> {
        let edit = Edit::new(action, 10, 3, frame.len() as u16);
        let edited = edit.apply(frame).unwrap();
        assert_eq!(edited.len() as i32, frame.len() as i32 + i32::from(edit.growth));
        edited
    }

    #[test]
    fn a_tag_that_comes_and_goes_leaves_the_frame_as_it_was() {
        for payload in [46, 47, 100, 1500] {
            let untagged = frame(None, payload);
            let tagged = edited(&untagged, TagAction::Insert);
            assert_eq!(Header::parse(&tagged).tag, Some(Tag { vlan: 10, pcp: 3 }));
            assert!(fcs_is_good(&tagged));
            assert_eq!(edited(&tagged, TagAction::Remove), untagged);
        }
    }

    #[test]
    fn a_frame_that_is_too_short_without_its_tag_is_padded() {
        for payload in [40, 42, 45, 46] {
            let tagged = frame(Some(0x600A), payload);
            let bare = edited(&tagged, TagAction::Remove);
            assert_eq!((bare.len(), fcs_is_good(&bare)), (64, true));
            assert_eq!(bare[14..14 + payload], tagged[18..18 + payload]);
            assert!(bare[14 + payload..60].iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn the_drop_eligible_indicator_stays() {
        let tagged = frame(Some(0xF000), 100);
        assert_eq!(edited(&tagged, TagAction::Rewrite)[12..16], [0x81, 0, 0x70, 10]);
    }

    #[test]
    fn damage_stays_visible_wherever_it_is() {
        for action in [TagAction::Insert, TagAction::Remove, TagAction::Rewrite] {
            let whole = frame(Some(0x600A), 80);
            for bit in (0..8 * whole.len()).step_by(3) {
                let mut damaged = whole.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert!(!fcs_is_good(&edited(&damaged, action)), "{action:?}, bit {bit}");
            }
        }
    }

    #[test]
    fn what_is_no_frame_is_left_alone() {
        for bytes in 0..16 {
            assert_eq!(Edit::new(TagAction::Insert, 1, 0, bytes).apply(&vec![0; bytes.into()]), None);
        }
        assert_eq!(Edit::NONE.apply(&frame(None, 46)), None);
        assert_eq!(size_of::<Edit>(), 4);
    }
}
