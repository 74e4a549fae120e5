// SPDX-License-Identifier: Apache-2.0
//! A stream: from where to where, and what its frames are.
use serde::Deserialize;

use super::{Handover, Source};

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
    /// A number that streams of one talker have in common which promise it together.
    #[serde(default)]
    pub together: Option<u32>,
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

impl PayloadDescription {
    fn default_ethertype() -> u16 {
        0x88B5
    }
}
