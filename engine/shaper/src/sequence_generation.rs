// SPDX-License-Identifier: Apache-2.0
//! The sequence numbers that frames of streams get (802.1CB 7.4.1, the sequence generation function). Twin of
//! `pen_sequence_generator`.

/// Of the streams of a bridge.
#[derive(Clone, Debug)]
pub struct SequenceGenerator {
    numbered: Vec<bool>,
    /// That the next frame of a stream gets.
    next: Vec<u16>,
    /// Some stream is numbered.
    is_any: bool,
}

impl SequenceGenerator {
    /// Of so many streams, none of which is numbered.
    pub fn new(streams: usize) -> Self {
        Self { numbered: vec![false; streams], next: vec![0; streams], is_any: false }
    }

    /// Whether frames of a stream are numbered from now on; one that does not exist is left out. It goes on with the number
    /// that it had.
    pub fn set(&mut self, stream: u16, numbered: bool) {
        if let Some(place) = self.numbered.get_mut(usize::from(stream)) {
            *place = numbered;
        }
        self.is_any = self.numbered.contains(&true);
    }

    #[inline(always)]
    /// Of some stream frames are numbered.
    pub fn is_any(&self) -> bool {
        self.is_any
    }

    /// Whether frames of a stream are.
    pub fn is_numbered(&self, stream: u16) -> bool {
        self.numbered.get(usize::from(stream)).copied().unwrap_or(false)
    }

    /// The number of a frame; the next one follows, behind the last one 0.
    pub fn take(&mut self, stream: u16) -> Option<u16> {
        let next = self.next.get_mut(usize::from(stream))?;
        let number = *next;
        *next = number.wrapping_add(1);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_has_its_numbers_and_begins_anew_behind_the_last() {
        let mut generator = SequenceGenerator::new(2);
        let first: Vec<_> = (0..0x1_0001).filter_map(|_| generator.take(0)).collect();
        assert_eq!((first[0], first[1], first[0xFFFF], first[0x1_0000]), (0, 1, 0xFFFF, 0));
        assert_eq!((generator.take(1), generator.take(2)), (Some(0), None));
    }

    #[test]
    fn what_is_numbered_is_said_of_each_stream() {
        let mut generator = SequenceGenerator::new(2);
        generator.set(2, true);
        assert!(!generator.is_any() && !generator.is_numbered(2));
        generator.set(1, true);
        assert!(generator.is_any() && generator.is_numbered(1) && !generator.is_numbered(0));
        generator.set(1, false);
        assert!(!generator.is_any());
    }
}
