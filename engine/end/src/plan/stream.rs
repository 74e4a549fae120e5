// SPDX-License-Identifier: Apache-2.0
//! A stream of a plan: which frames, when and where to.
use std::net::Ipv4Addr;
use std::path::PathBuf;

use penstock_frame::{link_header_bytes, MacAddress, FCS_BYTES, IPV4_UDP_BYTES};
use serde::{Deserialize, Serialize};

use super::{Plan, Send};
use crate::frame;
use crate::header::HEADER_BYTES;
use crate::rtp;

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
    /// From destination address to FCS, the tag included; of the longest where `frames` says more.
    #[serde(default)]
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
    /// Time after `offset_ns` and length of each frame of a period, in their order; instead of the two keys above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<Vec<(u64, u32)>>,
    /// Sound in the payload, as RTP with 24 bits a sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio: Option<Audio>,
    /// Sends the frames of a capture as they are, at their times; nothing in them can be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<PathBuf>,
    #[serde(default)]
    pub count: Option<u64>,
    #[serde(default)]
    pub deadline_ns: Option<u64>,
    /// The plan's if not given, as the next.
    #[serde(default)]
    pub send: Option<Send>,
    #[serde(default)]
    pub transmit_offset_ns: Option<u64>,
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

/// Where sound comes from: a WAV file, played again and again, or a tone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Audio {
    #[serde(default)]
    pub wav: Option<PathBuf>,
    #[serde(default = "default_tone")]
    pub tone_hz: u32,
    /// Those of the file have to be the same.
    #[serde(default = "default_rate")]
    pub sample_rate: u32,
    #[serde(default = "default_channels")]
    pub channels: u16,
}

fn default_tone() -> u32 {
    1000
}

fn default_rate() -> u32 {
    48_000
}

fn default_channels() -> u16 {
    2
}

impl Audio {
    /// Samples of each channel within a time; None when they are not whole, or none.
    pub fn samples_in(&self, time_ns: u64) -> Option<u64> {
        let product = u128::from(time_ns) * u128::from(self.sample_rate);
        let whole = product % 1_000_000_000 == 0 && product > 0;
        whole.then(|| u64::try_from(product / 1_000_000_000).ok()).flatten()
    }

    /// Payload of a packet: headers and samples. None when a period has no whole number of samples.
    pub fn packet_bytes(&self, period_ns: u64) -> Option<usize> {
        let samples = usize::try_from(self.samples_in(period_ns)?).ok()?;
        let bytes = samples.checked_mul(usize::from(self.channels))?.checked_mul(rtp::SAMPLE_BYTES)?;
        bytes.checked_add(rtp::AROUND_BYTES)
    }
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

    /// Who holds its frames back.
    pub fn send(&self, plan: &Plan) -> Send {
        self.send.unwrap_or(plan.send)
    }

    /// How long before its due time a frame is built and given to the kernel.
    pub fn transmit_offset_ns(&self, plan: &Plan) -> u64 {
        self.transmit_offset_ns.unwrap_or(plan.transmit_offset_ns)
    }

    /// How many frames it has; None when it goes on until it is stopped.
    pub fn count(&self, plan: &Plan) -> Option<u64> {
        let in_time = plan.duration_ns.map(|duration| {
            let period = self.period_ns(plan).max(1);
            let whole = duration.saturating_sub(self.offset_ns).div_ceil(period);
            whole.saturating_mul(self.members())
        });
        match (self.count, in_time) {
            (Some(count), Some(timed)) => Some(count.min(timed)),
            (count, timed) => count.or(timed),
        }
    }

    /// How many frames a period has.
    pub fn members(&self) -> u64 {
        self.frames.as_ref().map_or(u64::from(self.frames_per_period), |frames| frames.len() as u64)
    }

    /// How long after the first possible time of its period a frame is due.
    pub fn member_ns(&self, sequence: u64) -> u64 {
        let member = sequence % self.members();
        match &self.frames {
            Some(frames) => frames[member as usize].0,
            None => member.saturating_mul(self.spacing_ns),
        }
    }

    /// Length of a frame.
    pub fn bytes_of(&self, sequence: u64) -> u32 {
        self.frames.as_ref().map_or(self.bytes, |frames| frames[(sequence % self.members()) as usize].1)
    }

    /// After the beginning of the first cycle.
    pub fn due_ns(&self, plan: &Plan, sequence: u64) -> u64 {
        let groups = (sequence / self.members()).saturating_mul(self.period_ns(plan));
        self.offset_ns.saturating_add(groups).saturating_add(self.member_ns(sequence))
    }

    /// What the sequence number's due time should follow the one before by: the ideal period of equation (1).
    pub fn ideal_period_ns(&self, plan: &Plan, sequence: u64) -> u64 {
        self.due_ns(plan, sequence) - self.due_ns(plan, sequence - 1)
    }

    /// Least length of a frame.
    pub fn least_bytes(&self) -> usize {
        let header = match (&self.capture, &self.audio) {
            (Some(_), _) => return 0, // they are as long as they are
            (None, Some(_)) => rtp::AROUND_BYTES,
            (None, None) => HEADER_BYTES,
        };
        (self.overhead_bytes() + header).max(64)
    }

    /// Headers before the payload in what is counted as the frame, FCS included.
    pub fn overhead_bytes(&self) -> usize {
        let carrier = if self.mode == Mode::Udp { IPV4_UDP_BYTES } else { 0 };
        link_header_bytes(self.vlan.is_some()) + (carrier + FCS_BYTES) as usize
    }
}
