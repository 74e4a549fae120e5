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
    pub bytes: u16,
    pub fault: Reason,
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
        let mut received = Received { frame, header, memo, bytes, fault, taken: arrival.first, last: 0, turn: 0 };
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
                received.turn =
                    if ideal.cut_through { ideal.header(port, arrival.first, bytes) } else { received.last };
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
