// SPDX-License-Identifier: Apache-2.0
//! From the wire to a frame's last byte taken: the receive FIFO and the port that empties it.
//!
//! A byte of cycle b can be taken in b + 5. A port takes a byte a cycle, but none from a frame's last one until the
//! frame's record and its source address have gone out in two of the port's turns.
use crate::egress::Tick;
use crate::turns::Turns;
use crate::Time;

/// From a byte's cycle on the wire to the write into the FIFO, and from there to its being taken.
const TO_FIFO: Tick = 2;
const THROUGH_FIFO: Tick = 3;
/// From a byte's being taken to the place's being free for another.
const BACK: Tick = 3;
const FIFO_BYTES: Time = 32;

/// Bytes that are taken one after the other.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    first: Tick,
    bytes: Time,
}

/// What becomes of a frame on its way through the FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Cycles in which the first and the last byte are taken.
    pub first: Tick,
    pub last: Tick,
    /// The turn in which its record goes out.
    pub turn: Tick,
    /// Bytes before the one that was lost, if the FIFO was full.
    pub overrun: Option<u16>,
}

/// What every frame needs is in one line of the cache.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Reception {
    turns: Turns,
    /// First cycle in which a next frame's byte can be taken.
    free: Tick,
    run: u32,
    port: u16,
    /// The last runs, as many as there may be in the FIFO; a ring.
    runs: [Run; FIFO_BYTES as usize],
}

impl Reception {
    pub fn new(ports: u16, port: u16) -> Self {
        Self { turns: Turns::new(ports), free: 0, run: 0, port, runs: [Run::default(); FIFO_BYTES as usize] }
    }

    /// Takes in a frame of `bytes` bytes, one or more, whose first is on the wire in cycle `first`.
    #[inline(always)]
    pub fn take(&mut self, first: Tick, bytes: u16) -> Taken {
        let write = first + TO_FIFO;
        let start = (write + THROUGH_FIFO).max(self.free);
        let is_late = start > write + THROUGH_FIFO;
        let length = Time::from(bytes);
        // Without a backlog nothing can be lost; this is always so with a gap of 12 and a whole preamble.
        let lost = if is_late { self.lost(write, start, length) } else { None };
        let Some(kept) = lost else {
            let last = start + length - 1;
            self.push(start, length);
            return Taken { first: start, last, turn: self.finish(last), overrun: None };
        };
        // The beat that ends the frame goes in as soon as there is room, which is before the port has come to it.
        let last = start + kept;
        self.push(start, kept + 1);
        Taken { first: start, last, turn: self.finish(last), overrun: Some(kept as u16) }
    }

    /// Gives the turn of the record.
    fn finish(&mut self, last: Tick) -> Tick {
        let turn = self.turns.turn(self.port, last + 1);
        self.free = turn + self.turns.ports + 1;
        turn
    }

    fn push(&mut self, first: Tick, bytes: Time) {
        if bytes >= FIFO_BYTES {
            // What came before has left the FIFO.
            self.run = 0;
            self.runs[0] = Run { first, bytes };
        } else {
            self.run = (self.run + 1) % FIFO_BYTES as u32;
            self.runs[self.run as usize] = Run { first, bytes };
        }
    }

    /// How many bytes go in before the first that finds no room, if any does not.
    fn lost(&self, write: Tick, start: Tick, bytes: Time) -> Option<Time> {
        (0..bytes).find(|&n| {
            let cycle = write + n;
            // The byte that has to be gone: 32 before this one.
            let taken = if n >= FIFO_BYTES { start + n - FIFO_BYTES } else { self.taken(FIFO_BYTES - n) };
            taken + BACK > cycle
        })
    }

    /// When the byte that stands `back` bytes before the next one in the FIFO is taken; long ago if it is not known.
    fn taken(&self, mut back: Time) -> Tick {
        for n in 0..self.runs.len() {
            let run = self.runs[(self.run as usize + self.runs.len() - n) % self.runs.len()];
            if back <= run.bytes {
                return run.first + run.bytes - back;
            }
            back -= run.bytes;
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    /// Of a frame, or the one that ends a frame of which bytes were lost.
    #[derive(Clone, Copy)]
    struct Beat {
        frame: usize,
        written: Tick,
        is_last: bool,
    }

    /// The FIFO and its port, cycle by cycle; frames are (first cycle on the wire, bytes).
    fn in_cycles(ports: u16, port: u16, frames: &[(Tick, u16)]) -> Vec<Taken> {
        let turns = Turns::new(ports);
        let mut taken = vec![Taken { first: 0, last: 0, turn: 0, overrun: None }; frames.len()];
        let mut fifo: VecDeque<Beat> = VecDeque::new();
        // Places that beats have left, by when they can be written again.
        let mut left: VecDeque<Tick> = VecDeque::new();
        let mut owed: VecDeque<(usize, Tick)> = VecDeque::new();
        let (mut free, mut next, mut taken_of) = (0, 0, 0);
        for cycle in 0.. {
            if let Some(&beat) = fifo.front().filter(|beat| beat.written + THROUGH_FIFO <= cycle && cycle >= free) {
                fifo.pop_front();
                left.push_back(cycle + BACK);
                let state = &mut taken[beat.frame];
                if taken_of == 0 {
                    state.first = cycle;
                }
                taken_of += 1;
                if beat.is_last {
                    let is_turn = |at: &Tick| turns.turn(port, *at) == *at;
                    let turn = (cycle + 1..).find(is_turn).unwrap();
                    (state.last, state.turn) = (cycle, turn);
                    free = (turn + 1..).find(is_turn).unwrap() + 1;
                    taken_of = 0;
                }
            }
            while left.front().is_some_and(|&back| back <= cycle) {
                left.pop_front();
            }
            let has_room = fifo.len() + left.len() < FIFO_BYTES as usize;
            let written = frames.get(next).map(|&(first, bytes)| (first + TO_FIFO, Tick::from(bytes)));
            if let Some((write, bytes)) = written.filter(|&(write, _)| write <= cycle) {
                let n = cycle - write;
                if taken[next].overrun.is_none() && (!has_room || (n == 0 && !owed.is_empty())) {
                    taken[next].overrun = Some(n as u16);
                    owed.push_back((next, cycle + 1));
                } else if taken[next].overrun.is_none() {
                    fifo.push_back(Beat { frame: next, written: cycle, is_last: n + 1 == bytes });
                }
                next += usize::from(n + 1 == bytes);
            }
            if let Some(&(frame, _)) = owed.front().filter(|(_, from)| *from <= cycle && has_room) {
                owed.pop_front();
                fifo.push_back(Beat { frame, written: cycle, is_last: true });
            }
            if next == frames.len() && fifo.is_empty() && owed.is_empty() {
                return taken;
            }
        }
        taken
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn as_in_cycles(
            ports in 2_u16..=8,
            port in 0_u16..8,
            drawn in prop::collection::vec(
                (prop_oneof![1_u64..4, 1_u64..40], prop_oneof![1_u16..4, 1_u16..90]), 1..80,
            ),
        ) {
            let mut next = 100;
            let frames: Vec<_> = drawn
                .into_iter()
                .map(|(gap, bytes)| {
                    let first = next + gap;
                    next = first + u64::from(bytes);
                    (first, bytes)
                })
                .collect();
            let mut reception = Reception::new(ports, port % ports);
            let taken: Vec<_> = frames.iter().map(|&(first, bytes)| reception.take(first, bytes)).collect();
            prop_assert_eq!(taken, in_cycles(ports, port % ports, &frames));
        }
    }

    #[test]
    fn a_frame_is_taken_five_cycles_after_it_is_on_the_wire() {
        let mut reception = Reception::new(4, 1);
        assert_eq!(reception.take(100, 64), Taken { first: 105, last: 168, turn: 169, overrun: None });
        // Turns 169 and 173; the next frame's first byte comes long after.
        assert_eq!(reception.free, 174);
        assert_eq!(reception.take(184, 64).first, 189);
    }

    #[test]
    fn what_follows_too_closely_waits() {
        let mut reception = Reception::new(8, 0);
        let first = reception.take(100, 64);
        // Turns 176 and 184.
        assert_eq!(first.last, 168);
        assert_eq!(reception.take(166, 64), Taken { first: 185, last: 248, turn: 256, overrun: None });
    }

    #[test]
    fn a_backlog_beyond_the_fifo_is_an_overrun() {
        let mut reception = Reception::new(8, 0);
        let taken: Vec<_> = (0..40).map(|n| reception.take(100 + 3 * n, 1)).collect();
        assert!(taken.iter().any(|t| t.overrun == Some(0)));
        let frames: Vec<_> = (0..40).map(|n| (100 + 3 * n, 1)).collect();
        assert_eq!(taken, in_cycles(8, 0, &frames));
        assert!(taken.windows(2).all(|pair| pair[1].last >= pair[0].last + 10));
    }
}
