// SPDX-License-Identifier: Apache-2.0
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
}

impl Event {
    pub const NAMES: [&'static str; 7] = ["created", "received", "queued", "eligible", "sent", "delivered", "dropped"];
}

/// Why a frame was dropped: the number of `reason_e` in pen_pkg.sv.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reason(pub u8);

impl Reason {
    pub const NAMES: [&'static str; 16] = [
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
    ];
    pub const NONE: Self = Self(0);
    pub const NO_DESTINATION: Self = Self(10);
    pub const LIFETIME: Self = Self(15);

    pub fn name(self) -> &'static str {
        Self::NAMES.get(usize::from(self.0)).copied().unwrap_or("unknown")
    }
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub frame: u64,
    pub stream: u32,
    pub node: u32,
    pub port: u16,
    pub event: Event,
    pub time_ps: u64,
    pub bytes: u32,
    pub traffic_class: u8,
    pub reason: Reason,
}

/// One row per event, in columns.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    pub frame_id: Vec<u64>,
    pub stream: Vec<u32>,
    pub node: Vec<u32>,
    pub port: Vec<u16>,
    pub event: Vec<u8>,
    pub time_ps: Vec<u64>,
    pub bytes: Vec<u32>,
    pub traffic_class: Vec<u8>,
    pub reason: Vec<u8>,
}

impl Trace {
    /// Of a frame that no bridge has classified yet.
    pub const NO_CLASS: u8 = 255;

    pub fn push(&mut self, row: Row) {
        self.frame_id.push(row.frame);
        self.stream.push(row.stream);
        self.node.push(row.node);
        self.port.push(row.port);
        self.event.push(row.event as u8);
        self.time_ps.push(row.time_ps);
        self.bytes.push(row.bytes);
        self.traffic_class.push(row.traffic_class);
        self.reason.push(row.reason.0);
    }

    pub fn len(&self) -> usize {
        self.frame_id.len()
    }

    pub fn is_empty(&self) -> bool {
        self.frame_id.is_empty()
    }

    /// Into the order of time; what happened at one instant stays as it was told.
    pub fn sort(&mut self) {
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_by_key(|&row| self.time_ps[row as usize]);
        fn pick<T: Copy>(column: &mut Vec<T>, order: &[u32]) {
            *column = order.iter().map(|&row| column[row as usize]).collect();
        }
        pick(&mut self.frame_id, &order);
        pick(&mut self.stream, &order);
        pick(&mut self.node, &order);
        pick(&mut self.port, &order);
        pick(&mut self.event, &order);
        pick(&mut self.time_ps, &order);
        pick(&mut self.bytes, &order);
        pick(&mut self.traffic_class, &order);
        pick(&mut self.reason, &order);
    }
}
