// SPDX-License-Identifier: Apache-2.0
//! A dictionary of small numbers, which grows as they appear.

const NONE: u32 = u32::MAX;

pub struct Distinct {
    /// By number.
    places: Box<[u32; 1 << 16]>,
    numbers: Vec<u16>,
}

impl Default for Distinct {
    fn default() -> Self {
        Self { places: Box::new([NONE; 1 << 16]), numbers: Vec::new() }
    }
}

impl Distinct {
    /// By place.
    pub fn numbers(&self) -> &[u16] {
        &self.numbers
    }

    /// Of a number, which has one from now on.
    #[inline]
    pub fn place(&mut self, number: u16) -> u32 {
        let place = &mut self.places[usize::from(number)];
        if *place == NONE {
            *place = self.numbers.len() as u32;
            self.numbers.push(number);
        }
        *place
    }

    pub fn clear(&mut self) {
        for number in self.numbers.drain(..) {
            self.places[usize::from(number)] = NONE;
        }
    }
}
