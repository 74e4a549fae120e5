// SPDX-License-Identifier: Apache-2.0
//! The network as it is handed over, in JSON. Unknown keys are refused.
use std::path::PathBuf;

use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Sources create frames before this time.
    pub duration_ps: u64,
    /// How long a run goes on after that, at most, for what is still inside.
    #[serde(default = "Network::default_drain_ps")]
    pub drain_ps: u64,
    #[serde(default)]
    pub clock: Option<Clock>,
    pub bridges: Vec<Bridge>,
    pub stations: Vec<Station>,
    pub streams: Vec<Stream>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    pub cycle_ps: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bridge {
    pub name: String,
    pub ports: u16,
    pub model: String,
    #[serde(default)]
    pub library: Option<PathBuf>,
    /// Register writes (address, value) before the run.
    #[serde(default)]
    pub writes: Vec<(u32, u32)>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Station {
    pub name: String,
    pub bridge: usize,
    pub port: u16,
    pub rate_bps: u64,
    pub delay_ps: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    pub name: String,
    pub from: String,
    pub to: Vec<String>,
    /// Not of a capture, whose frames are what they are.
    #[serde(default)]
    pub frame: Option<FrameDescription>,
    pub source: Source,
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

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Jitter {
    /// Each release is displaced by a normal deviate with this deviation, but never before the one before it.
    NormalPs(u64),
    /// Each release is displaced by 0 to this.
    UniformPs(u64),
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
    },
    Periodic {
        frame_bytes: u32,
        period_ps: u64,
        #[serde(default)]
        jitter: Option<Jitter>,
        #[serde(default)]
        seed: u64,
        #[serde(default)]
        count: Option<u64>,
        #[serde(default)]
        start_ps: u64,
    },
    /// A frame whenever the station's port is free.
    BackToBack {
        frame_bytes: u32,
        #[serde(default)]
        seed: u64,
        #[serde(default)]
        count: Option<u64>,
        #[serde(default)]
        start_ps: u64,
    },
    /// `size` frames at once, every `period_ps`; `count` counts frames.
    Burst {
        frame_bytes: u32,
        size: u64,
        period_ps: u64,
        #[serde(default)]
        seed: u64,
        #[serde(default)]
        count: Option<u64>,
        #[serde(default)]
        start_ps: u64,
    },
    /// Exponential time from release to release.
    Poisson {
        frame_bytes: u32,
        mean_ps: u64,
        #[serde(default)]
        seed: u64,
        #[serde(default)]
        count: Option<u64>,
        #[serde(default)]
        start_ps: u64,
    },
    /// Normal time from release to release; below zero counts as zero.
    Normal {
        frame_bytes: u32,
        mean_ps: u64,
        deviation_ps: u64,
        #[serde(default)]
        seed: u64,
        #[serde(default)]
        count: Option<u64>,
        #[serde(default)]
        start_ps: u64,
    },
}

impl Network {
    fn default_drain_ps() -> u64 {
        10_000_000_000
    }
}

impl PayloadDescription {
    fn default_ethertype() -> u16 {
        0x88B5
    }
}
