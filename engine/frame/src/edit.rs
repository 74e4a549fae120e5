// SPDX-License-Identifier: Apache-2.0
//! What an egress port changes of a frame on its way out. Twin of `pen_editor`.
use crate::{ADDRESSES_BYTES, FCS_BYTES, MIN_FRAME_BYTES, R_TAG_BYTES, R_TAG_ETHERTYPE, TAG_BYTES, VLAN_ETHERTYPE};

/// What becomes of the VLAN tag of a frame (802.1Q 6.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TagAction {
    /// The frame leaves as it came, without a tag.
    #[default]
    KeepNone,
    /// And with one.
    Keep,
    /// It has one.
    Remove,
    /// It has none.
    Insert,
    /// It has one, and gets another of the same length.
    Rewrite,
}

/// What becomes of its R-TAG (802.1CB 7.8), which stands behind the VLAN tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RTagAction {
    /// The frame leaves as it came.
    #[default]
    Keep,
    /// It has none, and gets one with this sequence number.
    Insert(u16),
    /// It has one.
    Remove,
}

/// The edit of one copy of a frame: what becomes of its tags, and which it gets.
///
/// A copy in a queue has room for five bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// Priority code point and VLAN of the new tag; the drop eligible indicator stays, and its place has the sign of the
    /// growth: by so many bytes the port has the wire for longer than for the frame as it came.
    tag: [u8; 2],
    /// Of the new R-TAG.
    sequence_number: [u8; 2],
    /// Actions, and the growth modulo 16.
    code: u8,
}

const GROWS_LESS: u16 = 1 << 12;
const TAG_ACTIONS: [TagAction; 5] =
    [TagAction::KeepNone, TagAction::Keep, TagAction::Remove, TagAction::Insert, TagAction::Rewrite];

impl Edit {
    /// The frame leaves as it came.
    pub const NONE: Self = Self { tag: [0; 2], sequence_number: [0; 2], code: 0 };

    /// Of a frame of `bytes` bytes from destination address to FCS. If it gets a tag, that of this VLAN and priority code
    /// point. If it becomes too short it is padded to the shortest length.
    pub fn new(action: TagAction, (vlan, pcp): (u16, u8), r_tag: RTagAction, bytes: u16) -> Self {
        let (which, sequence_number) = match r_tag {
            RTagAction::Keep => (0, 0),
            RTagAction::Insert(number) => (1, number),
            RTagAction::Remove => (2, 0),
        };
        let edit = Self {
            tag: (u16::from(pcp) << 13 | vlan).to_be_bytes(),
            sequence_number: sequence_number.to_be_bytes(),
            code: (action as u8 * 3 + which) << 4,
        };
        let (came, growth) = (i32::from(bytes), i32::from(edit.length_change()));
        let shortest = (MIN_FRAME_BYTES as i32).min(came);
        edit.longer_by(if growth < 0 { (came + growth).max(shortest) - came } else { growth } as i8)
    }

    /// The same by which the port has the wire for so many bytes more.
    pub fn longer_by(self, bytes: i8) -> Self {
        let growth = self.growth() + bytes;
        let tag = u16::from_be_bytes(self.tag) & !GROWS_LESS | if growth < 0 { GROWS_LESS } else { 0 };
        Self { tag: tag.to_be_bytes(), code: self.code & 0xF0 | growth as u8 & 0xF, ..self }
    }

    /// By so many bytes the port has the wire for longer than for the frame as it came.
    #[inline(always)]
    pub fn growth(&self) -> i8 {
        let sign = if u16::from_be_bytes(self.tag) & GROWS_LESS == 0 { 0 } else { 16 };
        (self.code & 0xF) as i8 - sign
    }

    /// What becomes of the tag.
    pub fn action(&self) -> TagAction {
        TAG_ACTIONS[usize::from((self.code >> 4) / 3)]
    }

    /// What becomes of the R-TAG.
    pub fn r_tag(&self) -> RTagAction {
        match (self.code >> 4) % 3 {
            0 => RTagAction::Keep,
            1 => RTagAction::Insert(u16::from_be_bytes(self.sequence_number)),
            _ => RTagAction::Remove,
        }
    }

    /// By so many bytes the frame becomes longer, padding not counted.
    pub fn length_change(&self) -> i8 {
        let tag = match self.action() {
            TagAction::Insert => TAG_BYTES as i8,
            TagAction::Remove => -(TAG_BYTES as i8),
            TagAction::KeepNone | TagAction::Keep | TagAction::Rewrite => 0,
        };
        tag + match self.r_tag() {
            RTagAction::Keep => 0,
            RTagAction::Insert(_) => R_TAG_BYTES as i8,
            RTagAction::Remove => -(R_TAG_BYTES as i8),
        }
    }

    /// The frame leaves as it came.
    #[inline(always)]
    pub fn is_none(&self) -> bool {
        // Neither tag: that of a frame that has none, or one.
        matches!(self.code >> 4, 0 | 3)
    }

    /// The frame as it leaves, from destination address to FCS; none: as it came. The FCS is changed by what the edit
    /// changes in it, so a frame with a wrong one has a wrong one still.
    pub fn apply(&self, frame: &[u8]) -> Option<Vec<u8>> {
        if self.is_none() {
            return None;
        }
        let addresses = ADDRESSES_BYTES;
        let body_bytes = frame.len().checked_sub(FCS_BYTES as usize).filter(|body| *body >= addresses)?;
        let (body, fcs) = frame.split_at(body_bytes);
        let (head, rest) = body.split_at(addresses);
        let has_tag = !matches!(self.action(), TagAction::KeepNone | TagAction::Insert);
        let (old, rest) = rest.split_at_checked(if has_tag { TAG_BYTES } else { 0 })?;
        let mut edited = head.to_vec();
        match self.action() {
            TagAction::KeepNone | TagAction::Remove => {}
            TagAction::Keep => edited.extend_from_slice(old),
            TagAction::Insert => edited.extend(self.new_tag(0)),
            TagAction::Rewrite => edited.extend(self.new_tag(old[2])),
        }
        match self.r_tag() {
            RTagAction::Keep => edited.extend_from_slice(rest),
            RTagAction::Insert(number) => {
                edited.extend(r_tag(number));
                edited.extend_from_slice(rest);
            }
            RTagAction::Remove => edited.extend_from_slice(rest.get(R_TAG_BYTES..)?),
        }
        let shortest = body.len().min((MIN_FRAME_BYTES - FCS_BYTES) as usize);
        if edited.len() < shortest {
            edited.resize(shortest, 0);
        }
        let change = crc32fast::hash(body) ^ crc32fast::hash(&edited);
        let fcs = fcs.iter().zip(change.to_le_bytes()).map(|(old, change)| old ^ change);
        edited.extend(fcs);
        Some(edited)
    }

    /// With the drop eligible indicator of this byte.
    fn new_tag(&self, eligible: u8) -> [u8; TAG_BYTES] {
        let [a, b] = VLAN_ETHERTYPE.to_be_bytes();
        let [c, d] = self.tag;
        [a, b, c & 0xEF | eligible & 0x10, d]
    }
}

/// With this sequence number.
fn r_tag(number: u16) -> [u8; R_TAG_BYTES] {
    let ([a, b], [c, d]) = (R_TAG_ETHERTYPE.to_be_bytes(), number.to_be_bytes());
    [a, b, 0, 0, c, d]
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

    fn edited_both(frame: &[u8], action: TagAction, r_tag: RTagAction) -> Vec<u8> {
        let edit = Edit::new(action, (10, 3), r_tag, frame.len() as u16);
        assert_eq!((edit.action(), edit.r_tag()), (action, r_tag));
        let edited = edit.apply(frame).unwrap();
        assert_eq!(edited.len() as i32, frame.len() as i32 + i32::from(edit.growth()));
        edited
    }

    fn edited(frame: &[u8], action: TagAction) -> Vec<u8> {
        edited_both(frame, action, RTagAction::Keep)
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
    fn an_r_tag_stands_behind_the_tag_and_comes_and_goes() {
        let number = RTagAction::Insert(0xABCD);
        for (came, action, back) in [
            (frame(None, 46), TagAction::KeepNone, TagAction::KeepNone),
            (frame(Some(0x600A), 42), TagAction::Keep, TagAction::Keep),
            (frame(Some(0x600A), 100), TagAction::Rewrite, TagAction::Rewrite),
            (frame(None, 46), TagAction::Insert, TagAction::Remove),
            (frame(Some(0x600A), 42), TagAction::Remove, TagAction::Insert),
        ] {
            let numbered = edited_both(&came, action, number);
            let at = if matches!(action, TagAction::KeepNone | TagAction::Remove) { 12 } else { 16 };
            assert_eq!(numbered[at..at + 6], [0xF1, 0xC1, 0, 0, 0xAB, 0xCD], "{action:?}");
            assert!(fcs_is_good(&numbered) && Header::parse(&numbered).has_r_tag);
            assert_eq!(edited_both(&numbered, back, RTagAction::Remove), came, "{action:?}");
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
        let numbered = edited_both(&frame(None, 40), TagAction::Insert, RTagAction::Insert(7));
        let bare = edited_both(&numbered, TagAction::Remove, RTagAction::Remove);
        assert_eq!((numbered.len(), bare.len(), fcs_is_good(&bare)), (74, 64, true));
    }

    #[test]
    fn the_drop_eligible_indicator_stays() {
        let tagged = frame(Some(0xF000), 100);
        assert_eq!(edited(&tagged, TagAction::Rewrite)[12..16], [0x81, 0, 0x70, 10]);
        let shorter = edited_both(
            &edited_both(&tagged, TagAction::Keep, RTagAction::Insert(1)),
            TagAction::Rewrite,
            RTagAction::Remove,
        );
        assert_eq!(shorter[12..16], [0x81, 0, 0x70, 10]);
    }

    #[test]
    fn damage_stays_visible_wherever_it_is() {
        for action in [TagAction::Insert, TagAction::Remove, TagAction::Rewrite] {
            for r_tag in [RTagAction::Keep, RTagAction::Insert(9), RTagAction::Remove] {
                let whole = frame(Some(0x600A), 80);
                for bit in (0..8 * whole.len()).step_by(3) {
                    let mut damaged = whole.clone();
                    damaged[bit / 8] ^= 1 << (bit % 8);
                    assert!(!fcs_is_good(&edited_both(&damaged, action, r_tag)), "{action:?}, {r_tag:?}, bit {bit}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_frame_is_left_alone() {
        for bytes in 0..16 {
            assert_eq!(
                Edit::new(TagAction::Insert, (1, 0), RTagAction::Keep, bytes).apply(&vec![0; bytes.into()]),
                None
            );
        }
        assert_eq!(Edit::NONE.apply(&frame(None, 46)), None);
        assert_eq!(size_of::<Edit>(), 5);
    }

    #[test]
    fn the_wire_is_taken_for_longer_or_shorter() {
        for bytes in [64, 66, 1000] {
            for action in TAG_ACTIONS {
                for r_tag in [RTagAction::Keep, RTagAction::Insert(0xFFFF), RTagAction::Remove] {
                    let edit = Edit::new(action, (0xFFF, 7), r_tag, bytes);
                    let more = edit.length_change();
                    assert!(edit.growth() == more || more < 0 && i32::from(edit.growth()) == 64 - i32::from(bytes));
                    let longer = edit.longer_by(-edit.growth());
                    assert_eq!((longer.growth(), longer.action(), longer.r_tag()), (0, action, r_tag));
                    assert_eq!(edit.new_tag(0x10)[2..], [0xFF, 0xFF]);
                }
            }
        }
    }
}
