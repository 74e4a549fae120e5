// SPDX-License-Identifier: Apache-2.0
//! One row per event, handed out in chunks. Rows stand in the order in which they became known.
use penstock_shaper::Time;

/// What happened; the number stands in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Event {
    Created = 0,
    Received = 1,
    Queued = 2,
    Eligible = 3,
    Sent = 4,
    Delivered = 5,
    Dropped = 6,
    /// A frame's launch time came before the frame; the time is the launch time.
    Missed = 7,
    /// A link is cut, a node dies, or bits begin to flip: of no frame.
    FaultBegin = 8,
    /// It is over.
    FaultEnd = 9,
    /// A frame turned out bad that had begun to leave: the FCS of that copy was spoiled.
    Spoiled = 10,
    /// A transmission ended before its frame was whole, which is at its node again.
    Cut = 11,
}

impl Event {
    pub const NAMES: [&'static str; 12] = [
        "created",
        "received",
        "queued",
        "eligible",
        "sent",
        "delivered",
        "dropped",
        "missed",
        "fault_begin",
        "fault_end",
        "spoiled",
        "cut",
    ];
    /// By number.
    pub const ALL: [Self; Self::NAMES.len()] = [
        Self::Created,
        Self::Received,
        Self::Queued,
        Self::Eligible,
        Self::Sent,
        Self::Delivered,
        Self::Dropped,
        Self::Missed,
        Self::FaultBegin,
        Self::FaultEnd,
        Self::Spoiled,
        Self::Cut,
    ];
}

/// Why a frame was dropped: the number of `reason_e` in pen_pkg.sv, and after them what no hardware does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reason(pub u8);

impl Reason {
    pub const COUNT: usize = 23;
    /// Those of `reason_e`.
    pub const OF_HARDWARE: usize = 17;
    pub const NAMES: [&'static str; Self::COUNT] = [
        "none",
        "preamble",
        "rx_er",
        "giant",
        "runt",
        "fcs",
        "overrun",
        "port_disabled",
        "reserved_address",
        "vlan",
        "no_destination",
        "residence",
        "store_full",
        "queue_full",
        "class_full",
        "lifetime",
        "max_sdu",
        "swallowed",
        "link_down",
        "node_down",
        "bit_errors",
        "displaced",
        "hop_limit",
    ];
    pub const NONE: Self = Self(0);
    pub const PREAMBLE: Self = Self(1);
    pub const RX_ER: Self = Self(2);
    pub const GIANT: Self = Self(3);
    pub const RUNT: Self = Self(4);
    pub const FCS: Self = Self(5);
    pub const OVERRUN: Self = Self(6);
    pub const PORT_DISABLED: Self = Self(7);
    pub const RESERVED_ADDRESS: Self = Self(8);
    pub const VLAN: Self = Self(9);
    pub const NO_DESTINATION: Self = Self(10);
    pub const RESIDENCE: Self = Self(11);
    pub const STORE_FULL: Self = Self(12);
    pub const QUEUE_FULL: Self = Self(13);
    pub const CLASS_FULL: Self = Self(14);
    pub const LIFETIME: Self = Self(15);
    pub const MAX_SDU: Self = Self(16);
    /// A node kept it for itself.
    pub const SWALLOWED: Self = Self(17);
    /// On the wire of a link that was cut.
    pub const LINK_DOWN: Self = Self(18);
    /// In a node that died, or on its wires.
    pub const NODE_DOWN: Self = Self(19);
    /// Of a fault, not of a drop: what they hit is dropped by its FCS.
    pub const BIT_ERRORS: Self = Self(20);
    /// It was first in a full queue, and gave way to one that came.
    pub const DISPLACED: Self = Self(21);
    /// Two dead links led it in a circle.
    pub const HOP_LIMIT: Self = Self(22);

    pub fn name(self) -> &'static str {
        Self::NAMES.get(usize::from(self.0)).copied().unwrap_or("unknown")
    }
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// [`Row::NO_FRAME`]: of none.
    pub frame: u64,
    pub stream: u32,
    pub node: u32,
    pub port: u16,
    pub event: Event,
    pub time_ps: Time,
    pub bytes: u16,
    pub traffic_class: u8,
    pub reason: Reason,
}

impl Row {
    pub const NO_FRAME: u64 = u64::MAX;
}

/// Which rows are kept.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    /// A bit per event.
    pub events: u16,
    /// Per node; none: all of them.
    pub nodes: Option<Vec<bool>>,
}

impl Filter {
    #[inline(always)]
    pub fn wants(&self, event: Event, node: u32) -> bool {
        self.events >> event as u8 & 1 != 0 && self.nodes.as_ref().is_none_or(|nodes| nodes[node as usize])
    }

    /// Whether there is a trace at all.
    pub fn is_any(&self) -> bool {
        self.events != 0
    }

    pub fn is_all(&self) -> bool {
        self.events == u16::MAX && self.nodes.is_none()
    }
}

/// Rows that nobody has taken yet.
pub(crate) struct Trace {
    filter: Filter,
    pub chunk: Vec<Row>,
}

impl Trace {
    /// Of a frame that no bridge has classified yet.
    pub const NO_CLASS: u8 = 255;
    /// Rows of a chunk: few enough for the caches of a core, where they are still when they are handed out.
    pub const CHUNK: usize = 1 << 13;
    /// Rows that one event of the kernel can make beyond a full chunk, before there is a chance to hand it out.
    const SPARE: usize = 256;

    pub fn new(filter: Filter) -> Self {
        let mut trace = Self { filter, chunk: Vec::new() };
        trace.next_chunk();
        trace
    }

    /// Begins a new one.
    pub fn next_chunk(&mut self) {
        self.chunk.clear();
        self.chunk.reserve(if self.filter.is_any() { Self::CHUNK + Self::SPARE } else { 0 });
    }

    /// Out of the way of runs without a trace.
    #[inline(never)]
    pub fn keep(&mut self, row: Row) {
        self.chunk.push(row);
    }

    #[inline(always)]
    pub fn wants(&self, event: Event, node: u32) -> bool {
        self.filter.wants(event, node)
    }

    /// Whether there is a trace at all.
    pub fn is_wanted(&self) -> bool {
        self.filter.is_any()
    }

    pub fn is_full(&self) -> bool {
        self.chunk.len() >= Self::CHUNK
    }
}
