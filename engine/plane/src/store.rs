// SPDX-License-Identifier: Apache-2.0
//! The frames that a plane holds: each once, whatever the number of its copies, in memory that never grows.
use penstock_frame::{ADDRESSES_BYTES, TAG_BYTES, VLAN_ETHERTYPE};

use crate::config::TagAction;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    length: u16,
    copies: u16,
}

#[derive(Debug)]
pub struct Store {
    bytes: Vec<u8>,
    room: usize,
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Store {
    /// For so many frames of so many bytes each.
    pub fn new(frames: usize, room: usize) -> Self {
        let room = room.next_multiple_of(64);
        let free = (0..frames as u32).rev().collect();
        // Ones, so that the memory is there before the first frame.
        Self { bytes: vec![1; frames * room], room, slots: vec![Slot::default(); frames], free }
    }

    /// Frames that are held.
    pub fn held(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Keeps a frame, with a tag of this EtherType and control information behind its addresses; it has no copies yet. None: all
    /// is full, or the frame is too long.
    pub fn put(&mut self, frame: &[u8], tag: Option<(u16, u16)>) -> Option<u32> {
        let length = frame.len() + if tag.is_some() { TAG_BYTES } else { 0 };
        if length > self.room || frame.len() < ADDRESSES_BYTES {
            return None;
        }
        let index = self.free.pop()?;
        self.slots[index as usize] = Slot { length: length as u16, copies: 0 };
        let (addresses, rest) = frame.split_at(ADDRESSES_BYTES);
        let place = self.frame_mut(index);
        place[..ADDRESSES_BYTES].copy_from_slice(addresses);
        let from = length - rest.len();
        place[from..].copy_from_slice(rest);
        if let Some((ethertype, control)) = tag {
            place[ADDRESSES_BYTES..][..2].copy_from_slice(&ethertype.to_be_bytes());
            place[ADDRESSES_BYTES + 2..][..2].copy_from_slice(&control.to_be_bytes());
        }
        Some(index)
    }

    pub fn frame(&self, index: u32) -> &[u8] {
        &self.bytes[index as usize * self.room..][..usize::from(self.slots[index as usize].length)]
    }

    pub fn frame_mut(&mut self, index: u32) -> &mut [u8] {
        &mut self.bytes[index as usize * self.room..][..usize::from(self.slots[index as usize].length)]
    }

    /// Changes the tag of a frame; false: there is no room for one.
    pub fn edit(&mut self, index: u32, action: TagAction) -> bool {
        let is_tagged =
            self.frame(index).get(ADDRESSES_BYTES..ADDRESSES_BYTES + 2) == Some(&VLAN_ETHERTYPE.to_be_bytes());
        let (at, length) = (index as usize * self.room, usize::from(self.slots[index as usize].length));
        let behind = ADDRESSES_BYTES + TAG_BYTES;
        let place = &mut self.bytes[at..at + self.room];
        match action {
            TagAction::Remove if is_tagged && length >= behind => {
                place.copy_within(behind..length, ADDRESSES_BYTES);
                self.slots[index as usize].length -= TAG_BYTES as u16;
            }
            TagAction::Remove => {}
            TagAction::Set { vlan, pcp } => {
                if !is_tagged {
                    if length + TAG_BYTES > self.room {
                        return false;
                    }
                    place.copy_within(ADDRESSES_BYTES..length, behind);
                    place[ADDRESSES_BYTES..][..2].copy_from_slice(&VLAN_ETHERTYPE.to_be_bytes());
                    self.slots[index as usize].length += TAG_BYTES as u16;
                }
                let control = u16::from(pcp) << 13 | vlan;
                place[ADDRESSES_BYTES + 2..behind].copy_from_slice(&control.to_be_bytes());
            }
        }
        true
    }

    /// Another copy of it is queued.
    pub fn copied(&mut self, index: u32) {
        self.slots[index as usize].copies += 1;
    }

    /// A copy is gone.
    pub fn release(&mut self, index: u32) {
        self.slots[index as usize].copies -= 1;
        self.free_if_unused(index);
    }

    /// Forgets a frame that has no copies.
    pub fn free_if_unused(&mut self, index: u32) {
        if self.slots[index as usize].copies == 0 {
            self.free.push(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Vec<u8> {
        (0..60).collect()
    }

    #[test]
    fn a_tag_is_put_back_where_it_was_set_and_removed() {
        let mut store = Store::new(2, 64);
        let index = store.put(&frame(), Some((VLAN_ETHERTYPE, 0xE00A))).unwrap();
        assert_eq!(store.frame(index)[10..18], [10, 11, 0x81, 0, 0xE0, 0x0A, 12, 13]);
        assert!(store.edit(index, TagAction::Set { vlan: 3, pcp: 1 }));
        assert_eq!(store.frame(index)[12..16], [0x81, 0, 0x20, 3]);
        assert!(store.edit(index, TagAction::Remove) && store.edit(index, TagAction::Remove));
        assert_eq!(store.frame(index), frame());
        assert!(store.edit(index, TagAction::Set { vlan: 4, pcp: 7 }));
        assert_eq!((store.frame(index).len(), &store.frame(index)[14..18]), (64, &[0xE0, 4, 12, 13][..]));
    }

    #[test]
    fn what_has_no_room_is_refused_and_room_comes_back() {
        let mut store = Store::new(1, 64);
        assert!(store.put(&[0; 65], None).is_none() && store.put(&[0; 61], Some((VLAN_ETHERTYPE, 0))).is_none());
        let index = store.put(&[0; 62], None).unwrap();
        assert!(store.put(&frame(), None).is_none() && !store.edit(index, TagAction::Set { vlan: 1, pcp: 0 }));
        store.copied(index);
        store.copied(index);
        store.release(index);
        assert_eq!(store.held(), 1);
        store.release(index);
        assert_eq!(store.held(), 0);
        let index = store.put(&frame(), None).unwrap();
        store.free_if_unused(index);
        assert_eq!(store.held(), 0);
    }
}
