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
mod arrivals;
mod change;
mod classify;
mod config;
mod cut_through;
mod decide;
mod detours;
// It stands beside hardware, for hours at most.
#[cfg(not(feature = "wide"))]
pub mod device;
mod displace;
mod facts;
mod fifo;
mod forwarding;
mod judge;
mod memos;
pub(crate) mod meters;
mod outage;
mod pass;
mod ports;
mod select;
pub(crate) mod start;
mod store;
mod straight;
mod tables;
mod tagger;
pub(crate) mod timing;

use penstock_frame::Edit;
use penstock_shaper::gate_config::GateConfig;
use penstock_shaper::gates::Lists;

pub use change::Change;
pub use config::{
    BridgeConfig, BridgeError, CreditConfig, DetourConfig, GatesConfig, Identify, PtpConfig, ShapersConfig,
    StreamConfig, StreamKey, Timing, Translation, MAX_PORTS,
};
pub use displace::Displaced;
pub use memos::{Memos, NO_PLACE};
pub use outage::Inside;
pub use penstock_shaper::gate_config::GateRegisters;
pub use penstock_shaper::ptp_clock::NOMINAL_INCREMENT;
pub use start::RATE_BEFORE_START;
pub use straight::{Straight, Verdict};
pub use tagger::{Came, Tagger};
pub use timing::chain_cycles;

use crate::header::HeaderId;
use crate::trace::Reason;
use arrivals::Arrivals;
pub(crate) use config::{refuse, within};
use cut_through::CutThrough;
use forwarding::Forwarding;
use meters::Meters;
use ports::Ports;
use store::Store;
use tables::Tables;
use timing::{Clock, Row, RELEASE_TO_ADMISSION};

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
    /// The place in [`Memos`] of frames of its kind at this bridge, or [`NO_PLACE`].
    pub memo: u32,
}

/// What became of a received frame. Bit e of a mask is the copy for egress port e.
#[derive(Clone, Copy, Debug, Default)]
pub struct Judgement {
    pub frame: u32,
    pub bytes: u16,
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
    /// Its address has detours: where it goes counts, whatever the route of its stream.
    pub is_led: bool,
    /// Its copies for other ports than the host's get the time that it was inside.
    pub is_corrected: bool,
    /// When it was decided.
    pub decided: Tick,
    /// Egress ports that are to select at another tick than before, which [`Bridge::wakes`] tells.
    pub wakes: u64,
    /// The copy was sent at once.
    pub passed: Option<Passed>,
    /// Only its header was read: nothing is decided yet, and it is judged again at this tick, when it is whole.
    pub again: Option<Tick>,
    /// Copies that left by cut-through before the frame was whole.
    pub forwarded: u64,
    /// Of those: copies of which the FCS is spoiled, for the frame turned out bad.
    pub spoiled: u64,
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

    /// Why copies that had begun to leave were spoiled.
    pub fn spoiled_reason(&self) -> Reason {
        if self.reason == Reason::NONE {
            Reason::MAX_SDU
        } else {
            self.reason
        }
    }

    /// Why the copy for an egress port was refused.
    pub fn refused_reason(&self, egress: u16) -> Reason {
        let has = |mask: u64| mask >> egress & 1 == 1;
        match () {
            () if has(self.max_sdu) => Reason::MAX_SDU,
            () if has(self.queue_full) => Reason::QUEUE_FULL,
            () if has(self.class_full) => Reason::CLASS_FULL,
            () if has(self.store_full) => Reason::STORE_FULL,
            () => Reason::NONE,
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
        /// By which it leaves otherwise than it came.
        edit: Edit,
        /// When it was selected.
        at: Tick,
        /// First byte behind the delimiter.
        first: Tick,
        /// When to select again.
        next: Option<Tick>,
    },
    /// A copy leaves before its frame is whole, which is judged later.
    CutThrough {
        frame: u32,
        bytes: u16,
        traffic_class: u8,
        /// When its header was read.
        decided: Tick,
        first: Tick,
        /// Its frame will turn out bad.
        is_spoiled: bool,
        next: Option<Tick>,
    },
    /// A copy was dropped: after its lifetime, or because it is too long for its gate.
    Expired { frame: u32, traffic_class: u8, reason: Reason, at: Tick, next: Option<Tick> },
}

/// The parts of a bridge, each with a state of its own. What every frame needs stands first and together: in a network of
/// many bridges, lines of the cache are what a hop takes.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Bridge {
    arrivals: Arrivals,
    row: Row,
    /// Bit k: where a queue of class k is full, its first frames give way.
    drops_oldest: u8,
    ports: Ports,
    clock: Clock,
    store: Store,
    /// By which a frame is classified, and where it is forwarded to.
    tables: Tables,
    forwarding: Forwarding,
    meters: Meters,
    gate_config: GateConfig,
    cut_through: CutThrough,
    /// Copies that gave way.
    displaced: Vec<Displaced>,
    /// What ports did before a change, as far as that was not known before it.
    decided: Vec<(u16, Selection)>,
}

impl Bridge {
    pub fn new(ports: u16, config: &BridgeConfig, timing: &Timing) -> Result<Self, BridgeError> {
        Self::with_streams(ports, config, timing, config.streams_of_hardware())
    }

    /// With tables for so many streams, as the hardware was built with; a power of two.
    pub fn with_streams(ports: u16, config: &BridgeConfig, timing: &Timing, streams: u32) -> Result<Self, BridgeError> {
        within("number of ports", ports, 2, MAX_PORTS)?;
        let clock = Clock::new(ports, config.host, timing)?;
        let delay_ns = match &clock {
            Clock::Hardware(cycles) => cycles.delay_ns(),
            Clock::Ideal(ideal) => ideal.processing_delay_ps.div_ceil(1_000),
        };
        let delay_ns = u32::try_from(delay_ns).unwrap_or(u32::MAX);
        let max_frame_bytes = within("longest frame in bytes", config.max_frame_bytes, 64, 16_000)?;
        let way = match &clock {
            Clock::Hardware(_) => RELEASE_TO_ADMISSION,
            Clock::Ideal(_) => 0,
        };
        Ok(Self {
            arrivals: Arrivals::new(ports, max_frame_bytes),
            tables: Tables::new(ports, config, streams)?,
            forwarding: Forwarding::new(ports, config, matches!(timing, Timing::Hardware))?,
            meters: Meters::of_bridge(ports, config, streams, delay_ns)?,
            row: Row::default(),
            store: Store::new(ports, config, way),
            ports: Ports::new(ports, config, &clock)?,
            gate_config: GateConfig::new(ports),
            cut_through: CutThrough::new(ports),
            drops_oldest: displace::classes_of(config, timing)?,
            displaced: Vec::new(),
            decided: Vec::new(),
            clock,
        })
    }

    /// The PTP clock shows its start in this tick (with another rate than the bridge's, about that), and lists run as if
    /// they always had.
    pub fn start_clock(&mut self, tick: Tick, config: &BridgeConfig, lists: &mut Lists) -> Result<(), BridgeError> {
        self.ports.start_clock(tick, config, &self.clock, lists)
    }

    pub fn ports(&self) -> u16 {
        self.ports.count()
    }

    pub fn processing_delay_max_ns(&self) -> u32 {
        self.meters.processing_delay_max_ns()
    }

    /// Cells guaranteed to each queue, to each reception port, and shared.
    pub fn shares(&self) -> [u32; 3] {
        let limits = self.store.limits();
        [limits.queue_guarantee, limits.reception_guarantee, limits.shared]
    }

    /// The longest frame for one whose first byte behind the delimiter is at this tick; these are asked for in order.
    pub fn max_frame_bytes(&mut self, first: Tick) -> u16 {
        self.arrivals.max_frame_bytes(first)
    }

    /// Has the scheduler of a stream fetched into the cache.
    #[inline]
    pub fn bring_scheduler(&self, stream: u32) {
        self.meters.bring(stream);
    }

    /// When [`Self::select`] is to be called for which egress ports, after a judgement.
    #[inline(always)]
    pub fn wakes(&self, judgement: &Judgement) -> impl Iterator<Item = (u16, Tick)> + '_ {
        let mut left = judgement.wakes;
        std::iter::from_fn(move || {
            let port = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (port < 64).then(|| (port as u16, self.due(port as u16)))
        })
    }

    /// When [`Self::select`] is to be called for an egress port; [`NEVER`]: not known.
    #[inline(always)]
    pub fn due(&self, egress: u16) -> Tick {
        self.ports.get(egress).due
    }

    /// How long a frame was inside, in units of 2^-16 ns, from its first byte behind the delimiter at one port to that at
    /// another.
    pub fn residence(&self, came: Tick, leaves: Tick) -> u64 {
        self.clock.units(leaves.saturating_sub(came))
    }

    /// Frames that have arrived and are not judged, and copies that are queued.
    pub fn inside(&self) -> u64 {
        (self.arrivals.len() + self.ports.queued()) as u64
    }

    /// Whether it reads headers before their frames are whole.
    pub fn cuts_through(&self) -> bool {
        self.clock.cuts_through()
    }

    /// The earliest tick in which what is read of a frame is there, whose first byte behind the delimiter is at a tick.
    pub fn whole_at(&self, port: u16, first: Tick, bytes: u16) -> Tick {
        let read = bytes.min(self.arrivals.longest() + 1);
        match &self.clock {
            Clock::Hardware(_) => first + Tick::from(read),
            Clock::Ideal(ideal) => ideal.last_bit(port, first, read),
        }
    }

    /// Takes in a frame, and gives the tick at which the port's next judgement about a frame in order is due for it.
    #[inline(always)]
    pub fn arrive(&mut self, port: u16, arrival: Arrival) -> Tick {
        self.arrivals.take(&self.clock, port, arrival)
    }
}
