// SPDX-License-Identifier: Apache-2.0
//! The plan: what talker and listener are told, as JSON. One plan serves both ends.
use serde::{Deserialize, Serialize};

mod check;
mod stream;

pub use check::{check, Fault};
pub use penstock_sys::RealTime;
pub use stream::{Audio, Mode, Stream};

/// The plan's format; raised when a key changes its meaning.
pub const VERSION: u32 = 1;
/// Longest frame, from destination address to FCS; above that no usual interface goes.
pub const MAX_FRAME_BYTES: u32 = 9018;
/// What is kept of each frame until the end needs memory.
pub const MAX_FRAMES: u64 = 50_000_000;
const MAX_TIME_NS: u64 = 1 << 62;

/// Everything that a talker and a listener do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub version: u32,
    #[serde(default)]
    pub name: String,
    /// Each end may have its own, by option.
    pub interface: String,
    /// Of the software gate control list.
    pub cycle_ns: u64,
    /// When the first cycle begins, CLOCK_TAI; one in the past is moved on by whole cycles.
    #[serde(default)]
    pub base_time_tai_ns: Option<u64>,
    /// Without a base time: the first cycle begins so long after the start, at a whole cycle.
    #[serde(default = "default_start_in")]
    pub start_in_ns: u64,
    /// For how long streams without a count are sent.
    #[serde(default)]
    pub duration_ns: Option<u64>,
    /// How long before its due time a frame is built and given to the kernel.
    #[serde(default)]
    pub transmit_offset_ns: u64,
    #[serde(default)]
    pub send: Send,
    #[serde(default)]
    pub launch: Launch,
    #[serde(default)]
    pub late: Late,
    #[serde(default)]
    pub realtime: RealTime,
    /// Asks the interface for hardware time stamps, which changes its setting.
    #[serde(default)]
    pub hardware_stamps: bool,
    #[serde(default)]
    pub clock: Clock,
    #[serde(default)]
    pub listen: Listen,
    pub streams: Vec<Stream>,
}

fn default_start_in() -> u64 {
    500_000_000
}

/// Who holds a frame back until it is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Send {
    /// The talker: it sleeps until then.
    #[default]
    Plain,
    /// The kernel or the interface, told by SO_TXTIME.
    LaunchTime,
}

/// Flags of SO_TXTIME.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Launch {
    pub deadline_mode: bool,
    pub report_errors: bool,
}

impl Default for Launch {
    fn default() -> Self {
        Launch { deadline_mode: false, report_errors: true }
    }
}

/// What is late, and what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Late {
    /// A frame that is given to the kernel more than this after the planned time counts as late.
    pub tolerance_ns: u64,
    pub action: LateAction,
    /// Whether such a frame makes the run a failure; it is counted in any case.
    pub required: bool,
}

impl Default for Late {
    fn default() -> Self {
        Late { tolerance_ns: 100_000, action: LateAction::Send, required: false }
    }
}

/// What becomes of a frame whose window, or without one its tolerance, is over before it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LateAction {
    Send,
    Drop,
}

/// How synchronization with the other host is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Clock {
    /// Asks ptp4l by pmc; None: only one machine's clock is trusted.
    pub pmc: Option<Pmc>,
}

/// How ptp4l is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pmc {
    /// The program and its options, without the requests.
    pub command: Vec<String>,
    /// Largest offset from the master that still counts as synchronized.
    pub threshold_ns: u64,
}

impl Default for Pmc {
    fn default() -> Self {
        let command = ["pmc", "-u", "-b", "0"].map(str::to_owned).to_vec();
        Pmc { command, threshold_ns: 1000 }
    }
}

/// What the listener does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Listen {
    pub receive: Receive,
    /// Ends after so long, whatever comes.
    pub duration_ns: Option<u64>,
    /// Ends when no frame of any stream came for so long from the start.
    pub wait_ns: u64,
    /// Ends when none came for so long after the last one.
    pub idle_ns: u64,
    /// Goes on for so long after all streams are complete, so that duplicates are seen.
    pub linger_ns: u64,
    pub stamp: StampChoice,
    /// The first sequence numbers of each stream that statistics leave out.
    pub warmup_frames: u32,
    /// By how much the windows of arrival are later than those of sending.
    pub window_offset_ns: i64,
}

impl Default for Listen {
    fn default() -> Self {
        Listen {
            receive: Receive::Packet,
            duration_ns: None,
            wait_ns: 30_000_000_000,
            idle_ns: 5_000_000_000,
            linger_ns: 300_000_000,
            stamp: StampChoice::Auto,
            warmup_frames: 0,
            window_offset_ns: 0,
        }
    }
}

/// By which sockets frames are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Receive {
    /// All that the interface gets, by a packet socket; needs CAP_NET_RAW.
    Packet,
    /// By a UDP socket for each port: no tags, nothing foreign, no root.
    Udp,
}

/// Which time stamps statistics are computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StampChoice {
    Auto,
    Hardware,
    Kernel,
    User,
}
