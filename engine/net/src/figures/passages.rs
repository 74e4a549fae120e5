// SPDX-License-Identifier: Apache-2.0
//! Frames that are at a bridge, and what is known of each of their copies there.
use std::collections::hash_map::{Entry, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use crate::trace::Row;
use penstock_shaper::Time;

/// Of a copy for an egress port.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Step {
    pub queued: Option<Time>,
    pub eligible: Option<Time>,
}

/// A frame at a bridge.
#[derive(Debug)]
pub(super) struct Passage {
    pub way: u32,
    /// Its last bit.
    pub arrived: Time,
    /// Egress ports that neither sent nor dropped it, by their places.
    open: u64,
    first: Step,
    /// Of the egress ports after the first one.
    others: Box<[Step]>,
}

impl Passage {
    pub fn new(way: u32, ports: u64, arrived: Time) -> Self {
        let copies = ports.count_ones();
        let open = u64::MAX.checked_shr(64 - copies).unwrap_or(0);
        let others = vec![Step::default(); (copies as usize).saturating_sub(1)].into();
        Self { way, arrived, open, first: Step::default(), others }
    }

    #[inline]
    pub fn step(&mut self, place: usize) -> &mut Step {
        match place.checked_sub(1) {
            None => &mut self.first,
            Some(other) => &mut self.others[other],
        }
    }

    fn waits(&self) -> bool {
        let steps = [self.first].into_iter().chain(self.others.iter().copied());
        (0..64).zip(steps).any(|(place, step)| self.open >> place & 1 != 0 && step.queued.is_some())
    }
}

/// Frame and bridge in one number. Two frames of one place would have to be 2^38 frames apart.
fn key((frame, node): (u64, u32)) -> u64 {
    frame << 26 | u64::from(node)
}

/// Numbers are spread by one multiplication.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        let product = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }
}

/// A frame of which so long nothing was heard, and which waits in no queue, is not there any more: a node of the user's own
/// keeps what it swallows to itself. No bridge of ours holds a frame for more than two seconds.
const SILENT_PS: Time = 10_000_000_000_000;
const FEW: usize = 4_096;

#[derive(Default)]
pub(super) struct Passages {
    all: HashMap<u64, Passage, BuildHasherDefault<Spread>>,
    latest: Time,
    /// After silent ones were last looked for.
    kept: usize,
}

impl Passages {
    /// False: the frame is there already.
    pub fn begin(&mut self, place: (u64, u32), passage: Passage) -> bool {
        self.latest = self.latest.max(passage.arrived);
        if self.all.len() > FEW.max(2 * self.kept) {
            let latest = self.latest;
            self.all.retain(|_, passage| passage.waits() || passage.arrived.saturating_add(SILENT_PS) > latest);
            self.kept = self.all.len();
        }
        match self.all.entry(key(place)) {
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                known.arrived = known.arrived.min(passage.arrived);
                false
            }
            Entry::Vacant(free) => {
                free.insert(passage);
                true
            }
        }
    }

    #[inline]
    pub fn get(&mut self, row: &Row) -> Option<&mut Passage> {
        self.all.get_mut(&key((row.frame, row.node)))
    }

    /// A copy has left its port or was dropped there; none: it had before.
    #[inline]
    pub fn close(&mut self, row: &Row, place: usize) -> Option<Step> {
        let key = key((row.frame, row.node));
        let passage = self.all.get_mut(&key)?;
        let bit = 1 << place;
        if passage.open & bit == 0 {
            return None;
        }
        let step = *passage.step(place);
        passage.open &= !bit;
        if passage.open == 0 {
            self.all.remove(&key);
        }
        Some(step)
    }

    /// Nothing of a frame comes any more.
    pub fn end(&mut self, row: &Row) {
        self.all.remove(&key((row.frame, row.node)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Event, Reason};

    fn row(frame: u64) -> Row {
        let (event, reason) = (Event::Sent, Reason::NONE);
        Row { frame, stream: 0, node: 3, port: 1, event, time_ps: 0, bytes: 64, traffic_class: 0, reason }
    }

    #[test]
    fn a_frame_is_there_until_all_its_copies_are_closed() {
        let mut passages = Passages::default();
        assert!(passages.begin((7, 3), Passage::new(0, 0b110, 50)));
        assert!(!passages.begin((7, 3), Passage::new(0, 0b110, 40)));
        assert_eq!(passages.get(&row(7)).map(|passage| passage.arrived), Some(40));
        passages.get(&row(7)).unwrap().step(1).queued = Some(60);
        assert!(passages.close(&row(7), 0).is_some_and(|step| step.queued.is_none()));
        assert!(passages.close(&row(7), 0).is_none(), "it has left there");
        assert_eq!(passages.close(&row(7), 1).and_then(|step| step.queued), Some(60));
        assert!(passages.all.is_empty());
    }

    #[test]
    fn what_nothing_is_heard_of_is_forgotten_unless_it_waits() {
        let mut passages = Passages::default();
        for frame in 0..100_000 {
            passages.begin((frame, 3), Passage::new(0, 0b10, frame * 1_000_000_000));
            if frame.is_multiple_of(1_000) {
                passages.get(&row(frame)).unwrap().step(0).queued = Some(0);
            }
        }
        // Ten seconds of a thousand frames each, as many again until the next look, and a hundred that wait.
        assert!(passages.all.len() <= 2 * 10_000 + 200, "{}", passages.all.len());
        assert_eq!((0..100).filter(|n| passages.get(&row(n * 1_000)).is_some()).count(), 100);
        assert!(passages.get(&row(5)).is_none());
    }
}
