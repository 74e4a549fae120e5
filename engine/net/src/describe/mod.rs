// SPDX-License-Identifier: Apache-2.0
//! The network as it is handed over, in JSON. Unknown keys are refused.
mod source;
mod stream;
mod time;

use std::path::PathBuf;

use serde::Deserialize;

use crate::bridge::{BridgeConfig, ShapersConfig};
use penstock_shaper::Time;
pub use source::{Handover, Jitter, Launch, Source, SourceKind};
pub use stream::{AudioDescription, Committed, FrameDescription, MediaDescription, PayloadDescription, Stream};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Sources create frames before this time.
    #[serde(deserialize_with = "time::time")]
    pub duration_ps: Time,
    /// How long the run goes on after that, at most, for what is still inside.
    #[serde(default = "Network::default_drain_ps", deserialize_with = "time::time")]
    pub drain_ps: Time,
    /// Times may be beyond 100 days, which those of 128 bit hold.
    #[serde(default)]
    pub years: bool,
    pub bridges: Vec<Bridge>,
    pub stations: Vec<Station>,
    pub links: Vec<Link>,
    pub streams: Vec<Stream>,
    /// What breaks, and when.
    #[serde(default)]
    pub faults: Vec<Fault>,
    #[serde(default)]
    pub trace: Trace,
    /// The folder for a capture of each listening station.
    #[serde(default)]
    pub captures: Option<PathBuf>,
    #[serde(default)]
    pub statistics: Statistics,
    /// What passes the ports of bridges is worked out while the network runs; none: it is not.
    #[serde(default)]
    pub figures: Option<Figures>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// The clock shows this much more than the time of the run at its beginning.
    #[serde(default)]
    pub offset_ps: i64,
    /// It is fast by this part of a billion.
    #[serde(default)]
    pub drift_ppb: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BridgeKind {
    Model,
    Rtl,
    /// The caller's own.
    Own,
}

/// When a model does what it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "snake_case")]
pub enum Timing {
    /// As the hardware, to the cycle.
    #[default]
    Hardware,
    Ideal {
        /// From last bit in to the instant at which it may be selected.
        #[serde(deserialize_with = "time::time")]
        processing_delay_ps: Time,
        /// Of its header, behind which a frame may be sent on; none: it has to be whole.
        #[serde(default)]
        cut_through_bytes: Option<u16>,
    },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bridge {
    pub name: String,
    pub kind: BridgeKind,
    pub ports: u16,
    #[serde(default)]
    pub clock: Clock,
    #[serde(default)]
    pub timing: Timing,
    pub config: BridgeConfig,
    /// Of hardware.
    #[serde(default)]
    pub library: Option<PathBuf>,
    /// Register writes (address, value) before the run, of hardware.
    #[serde(default)]
    pub writes: Vec<(u32, u32)>,
    /// Of hardware whose library was built with waves.
    #[serde(default)]
    pub wave: Option<Wave>,
}

/// A file of all signals within a time of the run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wave {
    pub path: PathBuf,
    #[serde(deserialize_with = "time::time")]
    pub from_ps: Time,
    #[serde(deserialize_with = "time::time")]
    pub until_ps: Time,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Station {
    pub name: String,
    #[serde(default)]
    pub clock: Clock,
    /// By the priority code point of a frame's tag; untagged frames have 0.
    #[serde(default = "Station::default_class_of_pcp")]
    pub class_of_pcp: [u8; 8],
    /// Of its port 0; none: the highest class first, and nothing else.
    #[serde(default)]
    pub shapers: Option<ShapersConfig>,
    /// Of its port; none: nothing is held before it is queued.
    #[serde(default)]
    pub ats: Option<Ats>,
    /// Of the queues of its port, where they are not as long as any may be.
    #[serde(default)]
    pub queue_limits: Vec<QueueLimit>,
    /// What its port is in place of a model.
    #[serde(default)]
    pub card: Option<Card>,
}

/// A network card in hardware, set before the run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    pub library: PathBuf,
    /// From an address to the first byte of the host's memory.
    pub latency_cycles: u32,
    /// What its own clock shows when the run begins, in cycles of 8 ns.
    pub start_cycle: u64,
    /// Register writes (address, value) before the run.
    pub writes: Vec<(u32, u32)>,
    /// Queues whose frames have launch times: bit k, queue k.
    #[serde(default)]
    pub launch_queues: u8,
}

/// The ATS schedulers of a talker.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ats {
    /// Frames of others pass.
    pub classes: Vec<u8>,
    /// That is counted around a frame.
    pub overhead_bytes: i16,
    /// (class, nanoseconds): MaxResidenceTime, where it is not the longest.
    #[serde(default)]
    pub max_residence_ns: Vec<(u8, u32)>,
    pub schedulers: Vec<AtsScheduler>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtsScheduler {
    /// Among the streams, all of this talker: those that share it.
    pub streams: Vec<u32>,
    pub rate_bps: u64,
    pub burst_bytes: u64,
}

/// What the queue of a traffic class holds at most; what comes beyond it is dropped.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueLimit {
    pub class: u8,
    #[serde(default)]
    pub frames: Option<u64>,
    /// From destination address to FCS.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// What is first in it gives way, not what comes.
    #[serde(default)]
    pub drop_oldest: bool,
}

/// Node and port; nodes are the bridges and then the stations, and a station has port 0.
pub type Place = (usize, u16);

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub a: Place,
    pub b: Place,
    pub rate_bps: u64,
    #[serde(deserialize_with = "time::time")]
    pub delay_ps: Time,
}

/// Lasts for ever without an end. A link is a place among the links; nodes are the bridges and then the stations.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "snake_case")]
pub enum Fault {
    LinkDown {
        link: usize,
        #[serde(deserialize_with = "time::time")]
        at_ps: Time,
        #[serde(default, deserialize_with = "time::time_if_told")]
        until_ps: Option<Time>,
    },
    NodeDown {
        node: usize,
        #[serde(deserialize_with = "time::time")]
        at_ps: Time,
        #[serde(default, deserialize_with = "time::time_if_told")]
        until_ps: Option<Time>,
    },
    /// Each bit flips with this probability.
    BitErrors {
        link: usize,
        #[serde(deserialize_with = "time::time")]
        at_ps: Time,
        #[serde(default, deserialize_with = "time::time_if_told")]
        until_ps: Option<Time>,
        rate: f64,
        seed: u64,
    },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    #[serde(default = "Trace::default_enabled")]
    pub enabled: bool,
    /// Names of events; none: all.
    #[serde(default)]
    pub events: Option<Vec<String>>,
    /// Bridges, then stations; none: all.
    #[serde(default)]
    pub nodes: Option<Vec<usize>>,
}

/// Of the ports of bridges, of how long frames took to pass them, and of how long ATS held them.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// The times of each stream at each port too.
    pub hops: bool,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statistics {
    /// Percentiles of so many values are exact.
    pub exact_up_to: usize,
}

impl Network {
    /// Whether the stations of a stream are there.
    pub(crate) fn has_stations(&self, stream: &Stream) -> bool {
        stream.to.iter().chain([&stream.from]).all(|&station| station < self.stations.len()) && !stream.to.is_empty()
    }

    fn default_drain_ps() -> Time {
        10_000_000_000
    }
}

impl Station {
    fn default_class_of_pcp() -> [u8; 8] {
        [1, 0, 2, 3, 4, 5, 6, 7]
    }
}

impl Trace {
    fn default_enabled() -> bool {
        true
    }
}

impl Default for Trace {
    fn default() -> Self {
        Self { enabled: true, events: None, nodes: None }
    }
}

impl Default for Statistics {
    fn default() -> Self {
        Self { exact_up_to: 10_000 }
    }
}
