// SPDX-License-Identifier: Apache-2.0
//! Places in a row for events of the near future, in days of one length.
use super::Event;

/// One place for each of the next days, by their numbers; up to 1024 of them.
pub struct Ring<const PLACES: usize> {
    places: Vec<Vec<Event>>,
    /// A bit per place that has events, and one per word of these bits.
    occupied: [u64; 16],
    words: u64,
}

impl<const PLACES: usize> Default for Ring<PLACES> {
    fn default() -> Self {
        Self { places: vec![Vec::new(); PLACES], occupied: [0; 16], words: 0 }
    }
}

impl<const PLACES: usize> Ring<PLACES> {
    /// All days that have events lie within as many days as there are places.
    #[inline(always)]
    pub fn put(&mut self, day: u64, event: Event) {
        let place = day as usize % PLACES;
        self.places[place].push(event);
        self.occupied[place / 64] |= 1 << (place % 64);
        self.words |= 1 << (place / 64);
    }

    /// The events of a day, in no order.
    #[inline]
    pub fn of(&self, day: u64) -> &[Event] {
        &self.places[day as usize % PLACES]
    }

    /// Moves the events of a day to the end of others.
    #[inline]
    pub fn take(&mut self, day: u64, to: &mut Vec<Event>) {
        let place = day as usize % PLACES;
        self.clear(place);
        to.append(&mut self.places[place]);
    }

    /// Of all days together.
    pub fn capacity(&self) -> usize {
        self.places.iter().map(Vec::capacity).sum()
    }

    /// Takes an event of a day out; false: it is not there.
    pub fn remove(&mut self, day: u64, event: Event) -> bool {
        let place = day as usize % PLACES;
        let events = &mut self.places[place];
        let Some(found) = events.iter().position(|known| *known == event) else { return false };
        events.swap_remove(found);
        if events.is_empty() {
            self.clear(place);
        }
        true
    }

    #[inline]
    fn clear(&mut self, place: usize) {
        self.occupied[place / 64] &= !(1 << (place % 64));
        if self.occupied[place / 64] == 0 {
            self.words &= !(1 << (place / 64));
        }
    }

    /// The first day from this one on that has events.
    #[inline]
    pub fn next(&self, from: u64) -> Option<u64> {
        if self.words == 0 {
            return None;
        }
        let start = from as usize % PLACES;
        let (word, bit) = (start / 64, start % 64);
        let rest = self.occupied[word] & (u64::MAX << bit);
        let place = if rest != 0 {
            word * 64 + rest.trailing_zeros() as usize
        } else {
            // Words after this one, and then from the first; this one comes last, for the bits before the start.
            let after = u64::MAX.checked_shl(word as u32 + 1).map_or(0, |mask| self.words & mask);
            let word = if after != 0 { after } else { self.words }.trailing_zeros() as usize;
            word * 64 + self.occupied[word].trailing_zeros() as usize
        };
        Some(from + ((place + PLACES - start) % PLACES) as u64)
    }
}
