// SPDX-License-Identifier: Apache-2.0
//! Which frames of a stream came, how often and in which order.
use serde::Serialize;

/// A sequence number so far above the highest one that came is not believed.
pub const FARTHEST_JUMP: u64 = 1 << 22;

/// What a frame is among those of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Higher than all before.
    InOrder,
    /// For the first time, after a higher one (RFC 4737).
    Reordered,
    /// Once more.
    Duplicate,
    /// Above the stream's count or far above all before.
    Implausible,
}

impl Arrival {
    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            Arrival::InOrder => "in_order",
            Arrival::Reordered => "reordered",
            Arrival::Duplicate => "duplicate",
            Arrival::Implausible => "implausible",
        }
    }
}

/// The frames of one run of a stream.
#[derive(Debug, Default)]
pub struct Sequence {
    seen: Vec<u64>,
    next: u64,
    limit: Option<u64>,
    counts: Counts,
}

/// How many frames of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Different frames that came.
    pub received: u64,
    pub duplicates: u64,
    pub reordered: u64,
    pub implausible: u64,
}

impl Sequence {
    /// A stream of so many frames, if that is known.
    pub fn new(limit: Option<u64>) -> Sequence {
        Sequence { limit, ..Sequence::default() }
    }

    /// The whole number to one of 32 bits: the one nearest to the highest that came.
    pub fn extend(&self, sequence: u32) -> u64 {
        let difference = sequence.wrapping_sub(self.next as u32) as i32;
        self.next.checked_add_signed(i64::from(difference)).unwrap_or(u64::from(sequence))
    }

    /// Takes a frame.
    pub fn take(&mut self, sequence: u64) -> Arrival {
        let arrival = self.place(sequence);
        match arrival {
            Arrival::InOrder => self.next = sequence + 1,
            Arrival::Reordered => self.counts.reordered += 1,
            Arrival::Duplicate => self.counts.duplicates += 1,
            Arrival::Implausible => self.counts.implausible += 1,
        }
        if matches!(arrival, Arrival::InOrder | Arrival::Reordered) {
            self.counts.received += 1;
            let (word, bit) = place(sequence);
            if word >= self.seen.len() {
                self.seen.resize(word + 1, 0);
            }
            self.seen[word] |= bit;
        }
        arrival
    }

    fn place(&self, sequence: u64) -> Arrival {
        let (word, bit) = place(sequence);
        if self.limit.map_or(sequence >= self.next + FARTHEST_JUMP, |limit| sequence >= limit) {
            Arrival::Implausible
        } else if sequence >= self.next {
            Arrival::InOrder
        } else if self.seen.get(word).is_some_and(|seen| seen & bit != 0) {
            Arrival::Duplicate
        } else {
            Arrival::Reordered
        }
    }

    /// One above the highest number that came.
    pub fn next(&self) -> u64 {
        self.next
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether no frame is missing.
    pub fn is_complete(&self) -> bool {
        self.limit == Some(self.counts.received)
    }
}

fn place(sequence: u64) -> (usize, u64) {
    ((sequence / 64) as usize, 1 << (sequence % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_frame_has_its_kind() {
        let mut sequence = Sequence::new(Some(6));
        let kinds = [0, 1, 4, 2, 4, 2, 6].map(|n| sequence.take(n));
        use Arrival::*;
        assert_eq!(kinds, [InOrder, InOrder, InOrder, Reordered, Duplicate, Duplicate, Implausible]);
        assert_eq!(sequence.counts(), Counts { received: 4, duplicates: 2, reordered: 1, implausible: 1 });
        assert_eq!(sequence.next(), 5);
    }

    #[test]
    fn a_number_of_32_bits_wraps() {
        let mut sequence = Sequence::new(None);
        sequence.next = u64::from(u32::MAX);
        assert_eq!(sequence.extend(u32::MAX), u64::from(u32::MAX));
        assert_eq!(sequence.extend(1), (1 << 32) + 1);
        assert_eq!(sequence.extend(u32::MAX - 5), u64::from(u32::MAX) - 5);
    }

    #[test]
    fn a_wild_number_takes_no_memory() {
        let mut sequence = Sequence::new(None);
        assert_eq!(sequence.take(FARTHEST_JUMP), Arrival::Implausible);
        assert_eq!(sequence.take(FARTHEST_JUMP - 1), Arrival::InOrder);
    }
}
