// SPDX-License-Identifier: Apache-2.0
//! Frames from the wire to their judgement: their lengths and faults, and when each is judged.
use std::collections::VecDeque;

use penstock_frame::MIN_FRAME_BYTES;
use penstock_shaper::reception::Reception;

use super::facts::Facts;
use super::fifo::Fifo;
use super::timing::Clock;
use super::{Arrival, Tick, NEVER};
use crate::header::HeaderId;
use crate::trace::Reason;

/// From a register's new value to the receive MAC's seeing it.
const MAX_FRAME_CYCLES: Tick = 4;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    pub frame: u32,
    pub header: HeaderId,
    pub memo: u32,
    /// Of one that is too long so many that it is, but all if it may leave before it is whole.
    pub bytes: u16,
    pub fault: Reason,
    /// Its header was not read yet, and it may leave before it is whole.
    pub is_header: bool,
    /// Hardware: the cycle in which the first byte is taken.
    pub taken: Tick,
    /// Hardware: the cycle in which the last byte is taken; else when the last bit has arrived.
    pub last: Tick,
    /// Hardware: the turn in which the record goes out; else when the frame is judged.
    pub turn: Tick,
}

/// A frame that has not been judged.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    pub received: Received,
    /// What it has read, if something changed while it was on its way.
    pub facts: Option<Box<Facts>>,
}

#[cfg(not(feature = "wide"))]
const _: () = assert!(size_of::<Fifo<Pending>>() == 64, "one line of the cache");

/// What every frame needs stands first and together.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Port {
    pending: Fifo<Pending>,
    reception: Reception,
}

/// What every frame needs stands first and together.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Arrivals {
    ports: Vec<Port>,
    /// Per reception port: when a frame that has arrived is judged next; `NEVER`: there is none.
    judgements: Vec<Tick>,
    /// The next change of the longest frame; `NEVER`: none is known.
    max_frame_until: Tick,
    max_frame_bytes: u16,
    /// Changes of the longest frame that the receivers have not seen yet.
    max_frame_changes: VecDeque<(Tick, u16)>,
}

impl Arrivals {
    pub fn new(ports: u16, max_frame_bytes: u16) -> Self {
        let port = |port| Port { pending: Fifo::default(), reception: Reception::new(ports, port) };
        Self {
            ports: (0..ports).map(port).collect(),
            judgements: vec![NEVER; ports.into()],
            max_frame_bytes,
            max_frame_until: NEVER,
            max_frame_changes: VecDeque::new(),
        }
    }

    /// The longest frame for one whose first byte behind the delimiter is at this tick; these are asked for in order.
    #[inline(always)]
    pub fn max_frame_bytes(&mut self, first: Tick) -> u16 {
        if first >= self.max_frame_until {
            self.see_max_frame(first);
        }
        self.max_frame_bytes
    }

    /// The longest frame for one that comes now.
    pub fn longest(&self) -> u16 {
        self.max_frame_bytes
    }

    #[cold]
    fn see_max_frame(&mut self, first: Tick) {
        while let Some((_, bytes)) = self.max_frame_changes.front().filter(|(at, _)| *at <= first) {
            self.max_frame_bytes = *bytes;
            self.max_frame_changes.pop_front();
        }
        self.max_frame_until = self.max_frame_changes.front().map_or(NEVER, |&(at, _)| at);
    }

    pub fn change_max_frame(&mut self, clock: &Clock, at: Tick, bytes: u16) {
        let seen = at + if let Clock::Hardware(_) = clock { MAX_FRAME_CYCLES } else { 0 };
        self.max_frame_changes.push_back((seen, bytes));
        self.max_frame_until = self.max_frame_until.min(seen);
    }

    /// Takes in a frame, and gives the tick at which the port's next judgement about a frame in order is due for it.
    #[inline(always)]
    pub fn take(&mut self, clock: &Clock, port: u16, arrival: Arrival) -> Tick {
        let longest = self.max_frame_bytes(arrival.first);
        let state = &mut self.ports[usize::from(port)];
        let bytes = arrival.bytes.min(longest + 1);
        let fault = match arrival.fault {
            Reason::PREAMBLE | Reason::RX_ER => arrival.fault,
            _ if bytes > longest => Reason::GIANT,
            _ if u32::from(bytes) < MIN_FRAME_BYTES => Reason::RUNT,
            fault => fault,
        };
        let Arrival { frame, header, memo, .. } = arrival;
        let taken = arrival.first;
        let mut received = Received { frame, header, memo, bytes, fault, taken, ..Received::default() };
        match clock {
            Clock::Hardware(_) => {
                // An end without content is handed on as one byte of no meaning.
                let first = if bytes == 0 { arrival.first.saturating_sub(1) } else { arrival.first };
                let taken = state.reception.take(first, bytes.max(1));
                if let Some(kept) = taken.overrun {
                    received.fault = Reason::OVERRUN;
                    received.bytes = kept + 1;
                }
                received.taken = taken.first;
                received.last = taken.last;
                received.turn = taken.turn;
            }
            Clock::Ideal(ideal) => {
                received.last = ideal.last_bit(port, arrival.first, bytes);
                received.turn = received.last;
                if let Some(header) = ideal.header(port, arrival.first, bytes) {
                    received = received.with_header(ideal, header, arrival.bytes);
                }
            }
        }
        let judge = clock.judge(received.turn);
        let next = &mut self.judgements[usize::from(port)];
        *next = judge.min(*next);
        state.pending.push_back(Pending { received, facts: None });
        judge
    }

    /// Takes out the frame of a port that is next to be judged.
    #[inline(always)]
    pub fn next(&mut self, clock: &Clock, port: u16) -> Option<Pending> {
        let pending = &mut self.ports[usize::from(port)].pending;
        let first = pending.get_mut(0)?;
        let next = Pending { received: first.received, facts: first.facts.take() };
        pending.drop_front();
        self.judgements[usize::from(port)] = pending.of_first(|next| clock.judge(next.received.turn), NEVER);
        Some(next)
    }

    /// The header of the next frame of a port is read, if it may leave before it is whole; it is judged again when it is.
    pub fn read_header(&mut self, port: u16) -> Option<Received> {
        let state = &mut self.ports[usize::from(port)];
        let received = &mut state.pending.get_mut(0).filter(|pending| pending.received.is_header)?.received;
        let read = *received;
        (received.is_header, received.turn) = (false, received.last);
        self.judgements[usize::from(port)] = received.last;
        Some(read)
    }

    /// When a frame that has arrived is judged next; `NEVER`: there is none.
    #[inline(always)]
    pub fn next_judgement(&self) -> Tick {
        self.judgements.iter().copied().min().unwrap_or(NEVER)
    }

    pub fn first(&self, port: u16) -> Option<&Pending> {
        self.get(port, 0)
    }

    pub fn get(&self, port: u16, index: usize) -> Option<&Pending> {
        self.ports[usize::from(port)].pending.get(index)
    }

    pub fn get_mut(&mut self, port: u16, index: usize) -> Option<&mut Pending> {
        self.ports[usize::from(port)].pending.get_mut(index)
    }

    /// With their port and their place in it.
    pub fn iter(&self) -> impl Iterator<Item = (u16, usize, &Pending)> {
        self.ports.iter().enumerate().flat_map(|(port, state)| {
            state.pending.iter().enumerate().map(move |(place, pending)| (port as u16, place, pending))
        })
    }

    pub fn len(&self) -> usize {
        self.ports.iter().map(|port| port.pending.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::{Timing, NO_PLACE};

    fn ideal(cut_through_bytes: Option<u16>) -> Clock {
        let rates_bps = vec![1_000_000_000; 3];
        Clock::new(3, false, &Timing::Ideal { processing_delay_ps: 0, cut_through_bytes, rates_bps }).unwrap()
    }

    fn arrival(bytes: u16, first: Tick, fault: Reason) -> Arrival {
        Arrival { frame: 7, header: 0, bytes, first, fault, memo: NO_PLACE }
    }

    fn received(clock: &Clock, arrival: Arrival) -> Received {
        let mut arrivals = Arrivals::new(2, 1522);
        let judge = arrivals.take(clock, 1, arrival);
        assert_eq!((arrivals.next_judgement(), arrivals.len()), (judge, 1));
        assert!(arrivals.next(clock, 0).is_none());
        let next = arrivals.next(clock, 1).unwrap();
        assert_eq!((arrivals.next_judgement(), arrivals.len()), (NEVER, 0));
        next.received
    }

    #[test]
    fn what_is_wrong_with_a_frame_first_is_told() {
        let fault = |bytes, fault| received(&ideal(None), arrival(bytes, 0, fault)).fault;
        for (bytes, expected) in [(63, Reason::RUNT), (64, Reason::FCS), (1522, Reason::FCS), (1523, Reason::GIANT)] {
            assert_eq!(fault(bytes, Reason::FCS), expected);
            assert_eq!(fault(bytes, Reason::PREAMBLE), Reason::PREAMBLE);
            assert_eq!(fault(bytes, Reason::RX_ER), Reason::RX_ER);
        }
        assert_eq!([64, 1522].map(|bytes| fault(bytes, Reason::NONE)), [Reason::NONE; 2]);
        assert_eq!(received(&ideal(None), arrival(2000, 0, Reason::NONE)).bytes, 1523, "no more of it is taken");
    }

    #[test]
    fn a_frame_is_judged_when_it_is_whole_or_its_header_is() {
        let whole = received(&ideal(None), arrival(1000, 500, Reason::NONE));
        assert_eq!((whole.last, whole.turn), (500 + 8_000_000, 500 + 8_000_000));
        let cut = received(&ideal(Some(64)), arrival(1000, 500, Reason::NONE));
        assert_eq!((cut.last, cut.turn), (500 + 8_000_000, 500 + 512_000));
        // Five cycles to the last byte taken, then its port's next turn.
        let hardware = received(&Clock::new(2, false, &Timing::Hardware).unwrap(), arrival(1000, 500, Reason::NONE));
        assert_eq!((hardware.taken, hardware.last, hardware.turn), (505, 1504, 1505));
    }

    /// 32 bytes of the receive FIFO are full when a port cannot follow.
    #[test]
    fn of_an_overrun_what_was_taken_counts() {
        let clock = Clock::new(2, false, &Timing::Hardware).unwrap();
        let mut arrivals = Arrivals::new(2, 1522);
        for n in 0..200 {
            arrivals.take(&clock, 0, arrival(1, 100 + 2 * n, Reason::NONE));
        }
        let faults: Vec<_> = (0..200).map(|_| arrivals.next(&clock, 0).unwrap().received).collect();
        let first = faults.iter().position(|frame| frame.fault == Reason::OVERRUN).unwrap();
        assert!(first > 32 && faults[..first].iter().all(|frame| frame.fault == Reason::RUNT));
        assert_eq!(faults[first].bytes, 1);
    }

    #[test]
    fn another_longest_frame_is_seen_when_the_receiver_sees_it() {
        for (clock, delay) in [(ideal(None), 0), (Clock::new(2, false, &Timing::Hardware).unwrap(), 4)] {
            let mut arrivals = Arrivals::new(2, 1522);
            arrivals.change_max_frame(&clock, 1_000, 100);
            arrivals.change_max_frame(&clock, 2_000, 200);
            let seen = [0, 999 + delay, 1_000 + delay, 1_999 + delay, 2_000 + delay, 9_000];
            assert_eq!(seen.map(|first| arrivals.max_frame_bytes(first)), [1522, 1522, 100, 100, 200, 200]);
        }
    }

    #[test]
    fn frames_are_given_in_their_order_and_the_next_judgement_is_that_of_any_port() {
        let clock = ideal(None);
        let mut arrivals = Arrivals::new(3, 1522);
        let late = arrivals.take(&clock, 2, arrival(1000, 0, Reason::NONE));
        let early = arrivals.take(&clock, 0, arrival(64, 0, Reason::NONE));
        let second = arrivals.take(&clock, 0, Arrival { frame: 8, ..arrival(64, 600_000, Reason::NONE) });
        assert_eq!((early, second, late), (512_000, 1_112_000, 8_000_000));
        assert_eq!((arrivals.next_judgement(), arrivals.len()), (early, 3));
        let places: Vec<_> = arrivals.iter().map(|(port, place, of)| (port, place, of.received.frame)).collect();
        assert_eq!(places, [(0, 0, 7), (0, 1, 8), (2, 0, 7)]);
        assert_eq!(arrivals.get(0, 1).unwrap().received.frame, 8);
        arrivals.get_mut(0, 1).unwrap().facts = Some(Box::default());
        assert_eq!(arrivals.next(&clock, 0).unwrap().received.frame, 7);
        assert_eq!(arrivals.next_judgement(), second);
        assert!(arrivals.first(0).unwrap().facts.is_some() && arrivals.next(&clock, 0).unwrap().facts.is_some());
        assert_eq!(arrivals.next_judgement(), late);
    }
}
