// SPDX-License-Identifier: Apache-2.0
//! The plan: what talker and listener are told, as JSON. One plan serves both ends.
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use crate::frame::{self, MacAddress};
use crate::header::HEADER_BYTES;

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
}

impl Default for Late {
    fn default() -> Self {
        Late { tolerance_ns: 100_000, action: LateAction::Send }
    }
}

/// What becomes of a frame whose window, or without one its tolerance, is over before it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LateAction {
    Send,
    Drop,
}

/// What is asked of the kernel so that the program is on time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RealTime {
    pub fifo_priority: Option<u32>,
    pub cpu: Option<usize>,
    pub lock_memory: bool,
    /// Whether a refusal ends the program before it sends or listens; else it is reported only.
    pub required: bool,
}

impl Default for RealTime {
    fn default() -> Self {
        RealTime { fifo_priority: None, cpu: None, lock_memory: false, required: true }
    }
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

/// How frames of a stream travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    Raw,
    Udp,
}

/// Frames from the talker: `frames_per_period` of them in each period, the first at `offset_ns` of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    pub name: String,
    /// Stands in each frame; unique in the plan.
    pub id: u16,
    pub mode: Mode,
    /// From destination address to FCS, the tag included.
    pub bytes: u32,
    /// SO_PRIORITY; the PCP if not given.
    #[serde(default)]
    pub priority: Option<u32>,
    #[serde(default)]
    pub vlan: Option<u16>,
    #[serde(default)]
    pub pcp: u8,
    #[serde(default)]
    pub offset_ns: u64,
    /// The cycle if not given.
    #[serde(default)]
    pub period_ns: Option<u64>,
    /// How long after `offset_ns` the window lasts.
    #[serde(default)]
    pub window_ns: Option<u64>,
    #[serde(default = "one")]
    pub frames_per_period: u32,
    #[serde(default)]
    pub spacing_ns: u64,
    #[serde(default)]
    pub count: Option<u64>,
    #[serde(default)]
    pub deadline_ns: Option<u64>,
    #[serde(default)]
    pub destination_mac: Option<MacAddress>,
    /// That of the interface if not given.
    #[serde(default)]
    pub source_mac: Option<MacAddress>,
    #[serde(default)]
    pub ethertype: Option<u16>,
    #[serde(default)]
    pub destination: Option<Ipv4Addr>,
    #[serde(default)]
    pub source: Option<Ipv4Addr>,
    #[serde(default)]
    pub destination_port: Option<u16>,
    #[serde(default)]
    pub source_port: u16,
}

fn one() -> u32 {
    1
}

impl Stream {
    /// Time from one group of frames to the next.
    pub fn period_ns(&self, plan: &Plan) -> u64 {
        self.period_ns.unwrap_or(plan.cycle_ns)
    }

    /// EtherType of a raw stream.
    pub fn ethertype(&self) -> u16 {
        self.ethertype.unwrap_or(frame::LOCAL_ETHERTYPE)
    }

    /// How many frames it has; None when it goes on until it is stopped.
    pub fn count(&self, plan: &Plan) -> Option<u64> {
        let in_time = plan.duration_ns.map(|duration| {
            let period = self.period_ns(plan);
            let whole = duration.saturating_sub(self.offset_ns).div_ceil(period);
            whole.saturating_mul(u64::from(self.frames_per_period))
        });
        match (self.count, in_time) {
            (Some(count), Some(timed)) => Some(count.min(timed)),
            (count, timed) => count.or(timed),
        }
    }

    /// After the beginning of the first cycle.
    pub fn due_ns(&self, plan: &Plan, sequence: u64) -> u64 {
        let group = sequence / u64::from(self.frames_per_period);
        let member = sequence % u64::from(self.frames_per_period);
        let groups = group.saturating_mul(self.period_ns(plan));
        self.offset_ns.saturating_add(groups).saturating_add(member * self.spacing_ns)
    }

    /// What the sequence number's due time should follow the one before by: the ideal period of equation (1).
    pub fn ideal_period_ns(&self, plan: &Plan, sequence: u64) -> u64 {
        self.due_ns(plan, sequence) - self.due_ns(plan, sequence - 1)
    }

    /// Headers before the payload in what is counted as the frame, FCS included.
    pub fn overhead_bytes(&self) -> usize {
        let tag = if self.vlan.is_some() { frame::TAG_BYTES } else { 0 };
        let carrier = if self.mode == Mode::Udp { frame::IPV4_UDP_BYTES } else { 0 };
        frame::ADDRESSES_BYTES + frame::ETHERTYPE_BYTES + tag + carrier + frame::FCS_BYTES
    }

    /// Payload after all headers.
    pub fn payload_bytes(&self) -> usize {
        self.bytes as usize - self.overhead_bytes()
    }
}

/// Something in a plan is wrong: where, what, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub key: String,
    pub what: String,
    pub allowed: String,
}

/// All that is wrong with a plan that could be read.
pub fn check(plan: &Plan) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut refuse = |key: String, what: String, allowed: &str| {
        faults.push(Fault { key, what, allowed: allowed.to_owned() });
    };
    if plan.version != VERSION {
        refuse("version".into(), format!("{} is not known", plan.version), "1");
    }
    if plan.interface.is_empty() || plan.interface.len() > 15 {
        refuse("interface".into(), format!("\"{}\" is no name", plan.interface), "1 to 15 characters");
    }
    if plan.cycle_ns == 0 || plan.cycle_ns > MAX_TIME_NS {
        refuse("cycle_ns".into(), format!("is {}", plan.cycle_ns), "1 ns or more");
    }
    if plan.realtime.fifo_priority.is_some_and(|p| !(1..=99).contains(&p)) {
        refuse("realtime.fifo_priority".into(), "is no priority of SCHED_FIFO".into(), "1 to 99");
    }
    if plan.clock.pmc.as_ref().is_some_and(|pmc| pmc.command.is_empty()) {
        refuse("clock.pmc.command".into(), "is empty".into(), "a program and its options");
    }
    if plan.streams.is_empty() {
        refuse("streams".into(), "there is none".into(), "at least one");
    }
    for (n, stream) in plan.streams.iter().enumerate() {
        for (key, what, allowed) in stream_faults(plan, stream) {
            refuse(format!("streams[{n}].{key}"), what, allowed);
        }
        let twin = |other: &Stream| other.id == stream.id || other.name == stream.name;
        if plan.streams[..n].iter().any(twin) {
            refuse(format!("streams[{n}]"), "has the id or the name of another".into(), "ids and names once");
        }
    }
    let frames: u64 = plan.streams.iter().filter_map(|s| s.count(plan)).fold(0, u64::saturating_add);
    if plan.cycle_ns > 0 && frames > MAX_FRAMES {
        refuse("streams".into(), format!("have {frames} frames in all"), "50,000,000 in one run");
    }
    faults
}

fn stream_faults(plan: &Plan, stream: &Stream) -> Vec<(&'static str, String, &'static str)> {
    let mut faults = Vec::new();
    let least = stream.overhead_bytes() + HEADER_BYTES;
    if (stream.bytes as usize) < least.max(64) || stream.bytes > MAX_FRAME_BYTES {
        let what = format!("{} is too short or too long; the headers need {}", stream.bytes, least.max(64));
        faults.push(("bytes", what, "up to 9018, FCS included"));
    }
    if stream.name.is_empty() || stream.name.chars().any(|c| c.is_control() || c == ',' || c == '"') {
        faults.push(("name", format!("{:?} cannot stand in a table", stream.name), "no comma, quote or line end"));
    }
    if stream.vlan.is_some_and(|vlan| vlan > 4094) {
        faults.push(("vlan", "is no VLAN".into(), "0 to 4094"));
    }
    if stream.pcp > 7 {
        faults.push(("pcp", format!("is {}", stream.pcp), "0 to 7"));
    }
    let period = stream.period_ns(plan);
    if period == 0 || period > MAX_TIME_NS {
        faults.push(("period_ns", format!("is {period}"), "1 ns or more"));
    }
    if stream.frames_per_period == 0 {
        faults.push(("frames_per_period", "is 0".into(), "1 or more"));
    }
    let last = stream.spacing_ns.saturating_mul(u64::from(stream.frames_per_period.saturating_sub(1)));
    if stream.window_ns.is_some_and(|window| window == 0 || window > period || last >= window) {
        faults.push(("window_ns", "does not hold the frames of a period".into(), "up to the period"));
    } else if last >= period {
        faults.push(("spacing_ns", "spreads frames over more than a period".into(), "frames within a period"));
    }
    if stream.offset_ns >= MAX_TIME_NS {
        faults.push(("offset_ns", "is out of range".into(), "less than 2^62"));
    }
    if stream.count == Some(0) || stream.count.is_some_and(|count| count > u64::from(u32::MAX)) {
        faults.push(("count", "is out of range".into(), "1 to 4294967295"));
    }
    match stream.mode {
        Mode::Raw => {
            if stream.destination_mac.is_none() {
                faults.push(("destination_mac", "is missing".into(), "an address, for a raw stream"));
            }
            if stream.ethertype().lt(&0x0600)
                || [frame::VLAN_ETHERTYPE, frame::IPV4_ETHERTYPE].contains(&stream.ethertype())
            {
                faults.push((
                    "ethertype",
                    format!("{:#06x} has a meaning of its own", stream.ethertype()),
                    "0x88b5 and others",
                ));
            }
        }
        Mode::Udp => {
            if stream.destination.is_none() {
                faults.push(("destination", "is missing".into(), "an IPv4 address, for a UDP stream"));
            }
            if stream.destination_port.is_none_or(|port| port == 0) {
                faults.push(("destination_port", "is missing".into(), "1 to 65535, for a UDP stream"));
            }
        }
    }
    if plan.listen.receive == Receive::Udp && stream.mode == Mode::Raw {
        faults.push(("mode", "a raw stream cannot be received by UDP sockets".into(), "listen.receive = \"packet\""));
    }
    faults
}
