// SPDX-License-Identifier: Apache-2.0
//! The network as it is handed over, in JSON. Unknown keys are refused.
use std::path::PathBuf;

use serde::Deserialize;

use crate::bridge::{BridgeConfig, ShapersConfig};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Sources create frames before this time.
    pub duration_ps: u64,
    /// How long the run goes on after that, at most, for what is still inside.
    #[serde(default = "Network::default_drain_ps")]
    pub drain_ps: u64,
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
        processing_delay_ps: u64,
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
    pub from_ps: u64,
    pub until_ps: u64,
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
    pub delay_ps: u64,
}

/// Lasts for ever without an end. A link is a place among the links; nodes are the bridges and then the stations.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "snake_case")]
pub enum Fault {
    LinkDown {
        link: usize,
        at_ps: u64,
        until_ps: Option<u64>,
    },
    NodeDown {
        node: usize,
        at_ps: u64,
        until_ps: Option<u64>,
    },
    /// Each bit flips with this probability.
    BitErrors {
        link: usize,
        at_ps: u64,
        until_ps: Option<u64>,
        rate: f64,
        seed: u64,
    },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    pub name: String,
    /// Among the stations.
    pub from: usize,
    pub to: Vec<usize>,
    /// Not of a capture, whose frames are what they are.
    #[serde(default)]
    pub frame: Option<FrameDescription>,
    pub source: Source,
    /// What its source promises; nothing is checked if not given.
    #[serde(default)]
    pub committed: Option<Committed>,
    /// What is between a frame's creation and its talker's port; nothing if not given.
    #[serde(default)]
    pub handover: Option<Handover>,
    /// Bridge, egress port, and how many listeners are behind it. Without it, the network must have no loop.
    #[serde(default)]
    pub downstream: Option<Vec<(usize, u16, u32)>>,
}

/// CommittedInformationRate and CommittedBurstSize.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Committed {
    pub rate_bps: u64,
    pub burst_bytes: u64,
    /// That the first bridge counts around a frame; below zero where it counts a part of it only.
    pub overhead_bytes: i32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameDescription {
    pub destination_mac: String,
    pub source_mac: String,
    #[serde(default)]
    pub vlan: Option<u16>,
    #[serde(default)]
    pub pcp: Option<u8>,
    pub payload: PayloadDescription,
    /// Of the frames of a pattern: their headers of RTP behind UDP, else of AVTP.
    #[serde(default)]
    pub media: Option<MediaDescription>,
}

/// Sound or pictures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MediaDescription {
    /// Tells the streams of a talker apart.
    pub unique_id: u16,
    /// What is behind the media's header, frame by frame of the pattern's lists.
    pub payload_bytes: Vec<Vec<u32>>,
    /// None: pictures, a list each.
    #[serde(default)]
    pub audio: Option<AudioDescription>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AudioDescription {
    pub sample_rate_millihertz: u64,
    pub channels: u16,
    /// Of a sample: 16, 24 or 32.
    pub bits: u8,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "snake_case")]
pub enum PayloadDescription {
    Ipv4Udp {
        source: String,
        destination: String,
        source_port: u16,
        destination_port: u16,
    },
    Raw {
        /// 88-B5: for local experiments.
        #[serde(default = "PayloadDescription::default_ethertype")]
        ethertype: u16,
    },
}

/// How far each release is displaced; a stream never overtakes itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Jitter {
    /// By a normal deviate with this deviation.
    NormalPs(u64),
    /// By 0 to this.
    UniformPs(u64),
    /// By an exponential deviate with this mean.
    ExponentialPs(u64),
    /// By one of these, each as likely.
    ValuesPs(Vec<i64>),
    /// By what is at this part of the distribution, straight between two of them; from 0 to 1.
    QuantilesPs(Vec<(f64, i64)>),
}

/// From a frame's creation by a program to its controller, which sends it at its launch time.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handover {
    /// What the software takes.
    #[serde(default)]
    pub delay: Option<Jitter>,
    /// Without it a frame may be sent once the controller has it.
    #[serde(default)]
    pub launch: Option<Launch>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// After the time at which the source would release the frame without jitter.
    pub offset_ps: u64,
    /// By how much the controller is off that time.
    #[serde(default)]
    pub error: Option<Jitter>,
}

/// What all sources but captures and responses share.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Common {
    #[serde(default)]
    pub start_ps: u64,
    /// Of frames.
    #[serde(default)]
    pub count: Option<u64>,
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub jitter: Option<Jitter>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "snake_case")]
pub enum Source {
    /// Frames of a file at their times, the first at `start_ps`.
    Capture {
        path: PathBuf,
        #[serde(default)]
        start_ps: u64,
        #[serde(default)]
        count: Option<u64>,
        #[serde(default)]
        seed: u64,
        #[serde(default)]
        jitter: Option<Jitter>,
    },
    Periodic {
        frame_bytes: u32,
        period_ps: u64,
        #[serde(default)]
        start_ps: u64,
        #[serde(default)]
        count: Option<u64>,
        #[serde(default)]
        seed: u64,
        #[serde(default)]
        jitter: Option<Jitter>,
    },
    /// A frame whenever the station's port is free.
    BackToBack {
        frame_bytes: u32,
        #[serde(default)]
        start_ps: u64,
        #[serde(default)]
        count: Option<u64>,
        #[serde(default)]
        seed: u64,
        #[serde(default)]
        jitter: Option<Jitter>,
    },
    /// `size` frames at once, every `period_ps`.
    Burst {
        frame_bytes: u32,
        size: u64,
        period_ps: u64,
        #[serde(default)]
        start_ps: u64,
        #[serde(default)]
        count: Option<u64>,
        #[serde(default)]
        seed: u64,
        #[serde(default)]
        jitter: Option<Jitter>,
    },
    /// Exponential time from release to release.
    Poisson {
        frame_bytes: u32,
        mean_ps: u64,
        #[serde(default)]
        start_ps: u64,
        #[serde(default)]
        count: Option<u64>,
        #[serde(default)]
        seed: u64,
        #[serde(default)]
        jitter: Option<Jitter>,
    },
    /// Normal time from release to release; below zero counts as zero.
    Normal {
        frame_bytes: u32,
        mean_ps: u64,
        deviation_ps: u64,
        #[serde(default)]
        start_ps: u64,
        #[serde(default)]
        count: Option<u64>,
        #[serde(default)]
        seed: u64,
        #[serde(default)]
        jitter: Option<Jitter>,
    },
    /// In each period the frames of one list, the lists in turn: audio packets, the packets of video pictures.
    Pattern {
        period_ps: u64,
        sizes: Vec<Vec<u32>>,
        /// From one frame of a list to the next.
        #[serde(default)]
        spread_ps: u64,
        #[serde(default)]
        start_ps: u64,
        #[serde(default)]
        count: Option<u64>,
        #[serde(default)]
        seed: u64,
        #[serde(default)]
        jitter: Option<Jitter>,
    },
    /// A frame for each frame of another stream that this talker listens to, after its last bit.
    Response {
        /// Among the streams.
        to_stream: usize,
        after_ps: u64,
        frame_bytes: u32,
        #[serde(default)]
        count: Option<u64>,
        #[serde(default)]
        seed: u64,
        #[serde(default)]
        jitter: Option<Jitter>,
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

    fn default_drain_ps() -> u64 {
        10_000_000_000
    }
}

impl Station {
    fn default_class_of_pcp() -> [u8; 8] {
        [1, 0, 2, 3, 4, 5, 6, 7]
    }
}

impl PayloadDescription {
    fn default_ethertype() -> u16 {
        0x88B5
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
