// SPDX-License-Identifier: Apache-2.0
//! When event messages of PTP, or all frames, left by the PTP clock. Twin of the sending half of `pen_time_stamp`, of one port.
use std::collections::VecDeque;

use penstock_frame::{finish, StampTag};
use penstock_shaper::egress::Tick;
use penstock_shaper::ptp_clock::PtpClock;

/// Stamps that wait for the host; those that come then are lost.
const MOST: usize = 15;
const VALID: u32 = 1 << 31;
const OTHER: u32 = 1 << 20;
/// Of the fraction of a nanosecond.
const DROPPED_BITS: u32 = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    tag: StampTag,
    /// Of the first byte behind the delimiter, in 2^-32 ns.
    time: i128,
}

/// A frame that is on the wire.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    tag: StampTag,
    first_byte: Tick,
    /// As soon as it is known.
    time: Option<i128>,
}

#[derive(Clone, Debug, Default)]
pub struct Stamps {
    /// All frames get one.
    pub of_all: bool,
    leaving: Option<Leaving>,
    waiting: VecDeque<Stamp>,
    taken: Option<Stamp>,
    has_lost: bool,
}

impl Stamps {
    /// A frame without FCS leaves, its first byte behind the delimiter in a tick.
    pub fn begins(&mut self, frame: &[u8], first_byte: Tick) {
        let frame = finish(frame.to_vec());
        let tag = if self.of_all { StampTag::of_frame(&frame) } else { StampTag::of_event(&frame) };
        self.leaving = tag.map(|tag| Leaving { tag, first_byte, time: None });
    }

    /// In the tick behind this one the clock may be another.
    pub fn clock_changes(&mut self, clock: &PtpClock, now: Tick) {
        if let Some(leaving) = self.leaving.as_mut().filter(|leaving| leaving.first_byte <= now) {
            leaving.time.get_or_insert_with(|| clock.time_at(leaving.first_byte));
        }
    }

    /// What began last has left.
    pub fn left(&mut self, clock: &PtpClock) {
        let Some(Leaving { tag, first_byte, time }) = self.leaving.take() else { return };
        if self.waiting.len() == MOST {
            self.has_lost = true;
        } else {
            let time = time.unwrap_or_else(|| clock.time_at(first_byte));
            self.waiting.push_back(Stamp { tag, time });
        }
    }

    /// The oldest is the one that is told from now on; none, if what was sent is not asked for.
    pub fn take(&mut self, is_sent: bool) {
        self.taken = if is_sent { self.waiting.pop_front() } else { None };
    }

    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether one was lost since this was asked last.
    pub fn take_lost(&mut self) -> bool {
        std::mem::take(&mut self.has_lost)
    }

    /// The frame that was taken, as `stamp_tag` has it; zero: none was waiting.
    pub fn tag(&self) -> u32 {
        self.taken.map_or(0, |Stamp { tag: StampTag { message_type, sequence_id }, .. }| {
            VALID | message_type.map_or(OTHER, |message_type| u32::from(message_type) << 16) | u32::from(sequence_id)
        })
    }

    /// Its time in 2^-32 ns, of whose fraction eight bits are kept.
    pub fn taken_time(&self) -> i128 {
        self.taken.map_or(0, |stamp| stamp.time) >> DROPPED_BITS << DROPPED_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sync(sequence_id: u16) -> Vec<u8> {
        let mut frame = [&[0; 12][..], &[0x88, 0xF7]].concat();
        frame.resize(60, 0);
        frame[44..46].copy_from_slice(&sequence_id.to_be_bytes());
        frame
    }

    fn taken(stamps: &mut Stamps) -> Option<(u32, i128)> {
        stamps.take(true);
        (stamps.tag() != 0).then(|| (stamps.tag() & 0xFFFF, stamps.taken_time()))
    }

    #[test]
    fn the_oldest_are_kept_in_order() {
        let (clock, mut stamps) = (PtpClock::new(0, 5), Stamps::default());
        for number in 0..17 {
            stamps.begins(&sync(number), 100 * Tick::from(number));
            stamps.left(&clock);
            stamps.begins(&[0; 60], 100 * Tick::from(number) + 50);
            stamps.left(&clock);
        }
        assert!(stamps.take_lost() && !stamps.take_lost());
        stamps.take(false);
        assert_eq!(stamps.tag(), 0);
        for number in 0..15 {
            assert!(stamps.is_waiting());
            assert_eq!(taken(&mut stamps), Some((number, i128::from(800 * number + 5) << 32)));
        }
        assert!(!stamps.is_waiting());
        assert_eq!((taken(&mut stamps), stamps.taken_time()), (None, 0));
    }

    #[test]
    fn all_frames_have_one_if_they_are_to() {
        let (clock, mut stamps) = (PtpClock::new(0, 0), Stamps::default());
        for (of_all, message_type, wanted) in [(false, 4, 0), (true, 4, 0x8010_0007), (true, 3, 0x8003_0007)] {
            stamps.of_all = of_all;
            let mut frame = sync(7);
            frame[14] = message_type;
            stamps.begins(&frame, 10);
            stamps.left(&clock);
            stamps.take(true);
            assert_eq!(stamps.tag(), wanted);
        }
    }

    #[test]
    fn a_message_has_the_time_of_its_own_moment() {
        let (old, new) = (PtpClock::new(0, 0).with_increment(0x8_0123_4567), PtpClock::new(0, 1000));
        for (first_byte, wanted) in [(20, 0xA0_1600_0000), (21, 1168 << 32)] {
            let mut stamps = Stamps::default();
            stamps.begins(&sync(1), first_byte);
            stamps.clock_changes(&old, 20);
            stamps.clock_changes(&new, 60);
            stamps.left(&PtpClock::new(0, 0));
            assert_eq!(taken(&mut stamps), Some((1, wanted)));
        }
    }
}
