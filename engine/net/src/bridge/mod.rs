// SPDX-License-Identifier: Apache-2.0
//! A bridge, frame by frame: identification, forwarding, ATS, admission, queues and selection, as in `pen_switch`.
//!
//! It knows its own clock only, in ticks, and neither reads nor writes anything. Whoever drives it calls
//!
//! - [`Bridge::arrive`] when it is known that a frame will arrive; it gives the tick of the judgement,
//! - [`Bridge::judge`] at that tick; it tells what became of the frame, and which ports are to select when,
//! - [`Bridge::select`] at those ticks.
//!
//! Calls are made in the order of ticks; of one tick, judgements in the order in which they became due, then selections.
mod change;
mod classify;
mod config;
pub mod device;
mod facts;
mod fifo;
mod forwarding;
mod from_config;
mod gate_config;
mod judge;
pub(crate) mod lifetime;
mod memos;
mod meters;
mod pass;
pub mod reason;
mod select;
pub(crate) mod start;
mod tables;
pub(crate) mod timing;

use std::collections::VecDeque;

use penstock_shaper::admission::{Admission, Limits, Pool};
use penstock_shaper::egress::{EgressPort, GateTime};
use penstock_shaper::gates::Gates;
use penstock_shaper::reception::Reception;

pub use change::Change;
pub use config::{
    BridgeConfig, BridgeError, CreditConfig, GatesConfig, Identify, PtpConfig, ShapersConfig, StreamConfig, StreamKey,
    Timing, MAX_PORTS,
};
pub use gate_config::GateRegisters;
pub use memos::Memos;
pub use penstock_shaper::ptp_clock::NOMINAL_INCREMENT;
pub use start::RATE_BEFORE_START;

use crate::header::HeaderId;
use crate::trace::Reason;
use facts::Facts;
use fifo::Fifo;
use forwarding::Forwarding;
use gate_config::GateConfig;
use lifetime::Lifetime;
use meters::Meters;
use tables::Tables;
use timing::{Clock, Line, Row};

pub use penstock_shaper::egress::{Tick, NEVER};

/// A frame on its way into a port; those of a port are given in order.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The caller's name for it.
    pub frame: u32,
    pub header: HeaderId,
    /// From destination address to FCS.
    pub bytes: u16,
    /// First byte behind the delimiter; with none, the tick after the carrier or the delimiter.
    pub first: Tick,
    /// What is wrong with it: none, preamble, rx_er, giant, runt or FCS. Length is checked by the bridge too.
    pub fault: Reason,
    /// The place in [`Memos`] of frames of its kind at this bridge.
    pub memo: Option<u32>,
    /// There is no other copy of it, so that this one may be sent ahead of what others do.
    pub is_alone: bool,
}

/// What became of a received frame. Bit e of a mask is the copy for egress port e.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    pub frame: u32,
    pub bytes: u16,
    /// As of its arrival.
    pub memo: Option<u32>,
    /// Why the whole frame was dropped.
    pub reason: Reason,
    /// Copies queued.
    pub destination: u64,
    /// Copies refused, by reason.
    pub queue_full: u64,
    pub class_full: u64,
    pub max_sdu: u64,
    pub store_full: u64,
    pub traffic_class: u8,
    /// The first tick at which it may be selected; by cut-through, of the copies that are forwarded as they come.
    pub visible: Tick,
    pub stream: Option<u32>,
    /// An ATS scheduler assigned the eligibility time.
    pub shaped: bool,
    /// When it was decided.
    pub decided: Tick,
    /// Egress ports, and when [`Bridge::select`] is to be called for each.
    pub wakes: Vec<(u16, Tick)>,
    /// The copy was sent at once.
    pub passed: Option<Passed>,
}

/// By what a frame is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// By what it read in its stages, as something changed on its way.
    Staged,
    /// By what is kept of its header.
    Kept,
    /// By what the tables say.
    Read,
}

/// A copy that found its port free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    pub egress: u16,
    /// When it was selected.
    pub at: Tick,
    /// When its first bit after the delimiter leaves.
    pub first: Tick,
}

impl Judgement {
    pub fn refused(&self) -> u64 {
        self.max_sdu | self.queue_full | self.class_full | self.store_full
    }

    /// Why the copy for an egress port was refused.
    pub fn refused_reason(&self, egress: u16) -> Reason {
        let has = |mask: u64| mask >> egress & 1 == 1;
        match () {
            () if has(self.max_sdu) => reason::MAX_SDU,
            () if has(self.queue_full) => reason::QUEUE_FULL,
            () if has(self.class_full) => reason::CLASS_FULL,
            () if has(self.store_full) => reason::STORE_FULL,
            () => reason::NONE,
        }
    }
}

/// What an egress port did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The port is to select at another tick, of which the caller has been told.
    Stale,
    /// Nothing can be sent yet.
    Idle { next: Option<Tick> },
    Sent {
        frame: u32,
        bytes: u16,
        traffic_class: u8,
        /// When it was selected.
        at: Tick,
        /// First byte behind the delimiter.
        first: Tick,
        /// When to select again.
        next: Option<Tick>,
    },
    /// A copy was dropped: after its lifetime, or because it is too long for its gate.
    Expired { frame: u32, traffic_class: u8, reason: Reason, at: Tick, next: Option<Tick> },
}

#[derive(Clone, Copy, Debug, Default)]
struct Received {
    frame: u32,
    header: HeaderId,
    memo: Option<u32>,
    bytes: u16,
    fault: Reason,
    is_alone: bool,
    /// Hardware: the cycle in which the first byte is taken.
    taken: Tick,
    /// Hardware: the cycle in which the last byte is taken; else when the last bit has arrived.
    last: Tick,
    /// Hardware: the turn in which the record goes out; else when the frame is judged.
    turn: Tick,
}

/// A copy's cells on their way back. Small, as a bridge looks through all of them.
#[derive(Clone, Copy, Debug)]
struct Release {
    at: Tick,
    cells: u16,
    egress: u8,
    reception: u8,
    traffic_class: u8,
    pool: Pool,
}

const _: () = assert!(size_of::<Release>() == 16 && MAX_PORTS <= 256);

/// A frame that has not been judged.
#[derive(Clone, Debug, Default)]
struct Pending {
    received: Received,
    /// What it has read, if something changed while it was on its way.
    facts: Option<Box<Facts>>,
}

/// What every frame needs stands first and together.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Port {
    pending: Fifo<Pending>,
    /// When the port is to select; `NEVER`: not known.
    due: Tick,
    lifetime: Lifetime,
    egress: EgressPort,
    reception: Reception,
}

/// Settings, as they are now.
#[derive(Clone, Debug)]
struct Settings {
    max_frame_bytes: u16,
    /// What credit is spent on.
    count_gap: bool,
    /// The next change of the longest frame; `NEVER`: none is known.
    max_frame_until: Tick,
    limits: Limits,
}

/// What every frame needs stands first and together, in as few lines of the cache as may be.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Bridge {
    ports: Vec<Port>,
    /// Per reception port: when a frame that has arrived is judged next; `NEVER`: there is none.
    judgements: Vec<Tick>,
    row: Row,
    /// Some port is.
    is_shaped: bool,
    /// The first tick of one of the releases.
    next_release: Tick,
    admission: Admission,
    /// In no order.
    releases: Vec<Release>,
    clock: Clock,
    /// Changes of the longest frame that the receivers have not seen yet.
    max_frame_changes: VecDeque<(Tick, u16)>,
    tables: Tables,
    forwarding: Forwarding,
    meters: Meters,
    settings: Settings,
    gate_time: GateTime,
    gate_config: GateConfig,
    /// Ports that are to select at another tick since something changed.
    wakes: Vec<(u16, Tick)>,
}

impl Bridge {
    pub fn ports(&self) -> u16 {
        self.ports.len() as u16
    }

    /// A port, and its line.
    #[inline(always)]
    fn egress(&mut self, port: u16) -> (&mut Port, Line<'_>) {
        let (clock, gate_time, count_gap) = (&self.clock, &self.gate_time, self.settings.count_gap);
        (&mut self.ports[usize::from(port)], Line { clock, gate_time, port, count_gap })
    }

    /// The line of a port.
    fn line(&self, port: u16) -> Line<'_> {
        Line { clock: &self.clock, gate_time: &self.gate_time, port, count_gap: self.settings.count_gap }
    }

    fn gates(&self, port: u16) -> Option<&Gates> {
        self.ports[usize::from(port)].egress.gates()
    }

    pub fn processing_delay_max_ns(&self) -> u32 {
        self.meters.processing_delay_max_ns()
    }

    /// Cells guaranteed to each queue, to each reception port, and shared.
    pub fn shares(&self) -> [u32; 3] {
        let limits = &self.settings.limits;
        [limits.queue_guarantee, limits.reception_guarantee, limits.shared]
    }

    /// The longest frame for one whose first byte behind the delimiter is at this tick; these are asked for in order.
    #[inline(always)]
    pub fn max_frame_bytes(&mut self, first: Tick) -> u16 {
        if first >= self.settings.max_frame_until {
            self.change_max_frame(first);
        }
        self.settings.max_frame_bytes
    }

    #[cold]
    fn change_max_frame(&mut self, first: Tick) {
        while let Some((_, bytes)) = self.max_frame_changes.front().filter(|(at, _)| *at <= first) {
            self.settings.max_frame_bytes = *bytes;
            self.max_frame_changes.pop_front();
        }
        self.settings.max_frame_until = self.max_frame_changes.front().map_or(NEVER, |&(at, _)| at);
    }

    /// Has the scheduler of a stream fetched into the cache.
    #[inline]
    pub fn bring_scheduler(&self, stream: u32) {
        self.meters.bring(stream);
    }

    /// Frames that have arrived and are not judged, and copies that are queued.
    pub fn inside(&self) -> u64 {
        self.ports.iter().map(|port| (port.pending.len() + port.egress.len()) as u64).sum()
    }

    /// Takes in a frame, and gives the tick at which the port's next judgement about a frame in order is due for it.
    #[inline(always)]
    pub fn arrive(&mut self, port: u16, arrival: Arrival) -> Tick {
        let longest = self.max_frame_bytes(arrival.first);
        let state = &mut self.ports[usize::from(port)];
        let bytes = arrival.bytes.min(longest + 1);
        let fault = match arrival.fault {
            reason::PREAMBLE | reason::RX_ER => arrival.fault,
            _ if bytes > longest => reason::GIANT,
            _ if bytes < 64 => reason::RUNT,
            fault => fault,
        };
        let Arrival { frame, header, memo, is_alone, .. } = arrival;
        let mut received =
            Received { frame, header, memo, bytes, fault, is_alone, taken: arrival.first, last: 0, turn: 0 };
        match &self.clock {
            Clock::Hardware(_) => {
                // An end without content is handed on as one byte of no meaning.
                let first = if bytes == 0 { arrival.first.saturating_sub(1) } else { arrival.first };
                let taken = state.reception.take(first, bytes.max(1));
                if let Some(kept) = taken.overrun {
                    received.fault = reason::OVERRUN;
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
        let judge = self.clock.judge(received.turn);
        let next = &mut self.judgements[usize::from(port)];
        *next = judge.min(*next);
        state.pending.push_back(Pending { received, facts: None });
        judge
    }
}
