// SPDX-License-Identifier: Apache-2.0
//! What the plane is told: its ports, bridge, table and streams, as JSON. What it means together is checked where it is used.
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::str::FromStr;

use penstock_frame::MacAddress;
use penstock_sys::RealTime;
use serde::{de, Deserialize, Deserializer};
use thiserror::Error;

use crate::link::Sockets;
use crate::quantity::{Drift, Length, Nanoseconds, Rate, SignedNanoseconds};

/// What is wrong, where, and what is allowed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{place}: {what}; allowed: {allowed}")]
pub struct Refused {
    pub place: String,
    pub what: String,
    pub allowed: String,
}

pub fn refuse<T>(place: impl Into<String>, what: impl Into<String>, allowed: impl Into<String>) -> Result<T, Refused> {
    Err(Refused { place: place.into(), what: what.into(), allowed: allowed.into() })
}

/// Everything that a plane does.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    #[serde(default)]
    pub name: String,
    pub ports: Vec<PortConfig>,
    #[serde(default)]
    pub bridge: BridgeConfig,
    #[serde(default)]
    pub table: Vec<Rule>,
    #[serde(default)]
    pub streams: BTreeMap<String, StreamConfig>,
    /// From when on the base times of `gates` count, in ns of TAI.
    #[serde(default)]
    pub base_time_tai_ns: u64,
    #[serde(default)]
    pub clock: ClockConfig,
    /// A departure that is later than this is counted and marked; before a gate closes so much is kept free.
    #[serde(default = "tolerance")]
    pub tolerance: Nanoseconds,
    /// Frames that the plane holds at most.
    #[serde(default = "buffers")]
    pub buffers: usize,
    #[serde(default = "max_frame_bytes")]
    pub max_frame_bytes: Length,
    #[serde(default = "realtime")]
    pub realtime: RealTime,
}

fn tolerance() -> Nanoseconds {
    Nanoseconds(20_000)
}

fn buffers() -> usize {
    4096
}

fn max_frame_bytes() -> Length {
    Length(1522)
}

fn realtime() -> RealTime {
    RealTime { fifo_priority: Some(60), cpu: None, lock_memory: true, required: false }
}

/// How the plane's clock differs from CLOCK_TAI at the start, and from then on from the machine's rate.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClockConfig {
    pub offset: SignedNanoseconds,
    pub drift: Drift,
}

/// A port: an interface that is treated as a link of this rate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortConfig {
    pub interface: String,
    /// What tables and counters call it; the interface's name if not given.
    pub name: Option<String>,
    #[serde(default)]
    pub sockets: Sockets,
    pub rate: Rate,
    /// Whether an origin of in-band synchronization that is reached by it may set the plane's clock.
    #[serde(default)]
    pub follows: bool,
    /// VLAN of frames without a tag.
    #[serde(default = "default_vlan")]
    pub vlan: u16,
    #[serde(default)]
    pub classes: BTreeMap<u8, ClassConfig>,
    /// Classes that take turns on one level.
    #[serde(default)]
    pub round_robin: Vec<u8>,
    pub gates: Option<GatesConfig>,
}

impl PortConfig {
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.interface)
    }
}

fn default_vlan() -> u16 {
    1
}

/// The queue of a class at a port.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassConfig {
    /// Frames that may wait.
    pub limit: Option<u32>,
    /// idleSlope: the class is served by credit.
    pub idle_slope: Option<Rate>,
    /// queueMaxSDU as bytes of the frame, FCS included.
    pub max_frame_bytes: Option<u16>,
    /// Of frames that an ATS scheduler holds, which came by one port.
    pub max_residence: Option<Nanoseconds>,
}

/// A gate control list (802.1Q 8.6.9.4), by CLOCK_TAI.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatesConfig {
    #[serde(default)]
    pub base_time: Nanoseconds,
    /// The sum of the intervals if not given.
    pub cycle_time: Option<Nanoseconds>,
    #[serde(default)]
    pub cycle_time_extension: Nanoseconds,
    pub entries: Vec<GateEntry>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateEntry {
    /// Classes whose gates are open, or "all".
    pub open: Open,
    pub interval: Nanoseconds,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Open {
    Classes(Vec<u8>),
    Word(AllWord),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AllWord {
    All,
}

/// What is done with frames that no rule of the table leads.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BridgeConfig {
    pub class_of_pcp: [u8; 8],
    pub class_of_untagged: u8,
    /// Members by name; a VLAN that is not named has all ports.
    pub vlans: BTreeMap<u16, Vec<String>>,
    pub aging: Nanoseconds,
}

impl Default for BridgeConfig {
    fn default() -> Self {
        // Table 8-5 of 802.1Q.
        let class_of_pcp = [1, 0, 2, 3, 4, 5, 6, 7];
        let aging = Nanoseconds(300_000_000_000);
        Self { class_of_pcp, class_of_untagged: 1, vlans: BTreeMap::new(), aging }
    }
}

/// A stream that rules name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamConfig {
    /// Asynchronous traffic shaping.
    pub ats: Option<AtsConfig>,
    /// Where in a frame, its tag counted, the number stands that tells its frames apart in the trace.
    pub number: Option<NumberConfig>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtsConfig {
    pub rate: Rate,
    pub burst: Length,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct NumberConfig {
    pub offset: u16,
    /// 1 to 8, the first on the wire the highest.
    pub bytes: u8,
}

/// One line of the match-action table; the first that matches acts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    #[serde(rename = "match", default)]
    pub matching: Match,
    /// Egress ports; where the bridge would send it if not given.
    pub to: Option<Vec<String>>,
    /// The class, which is the queue at each egress port.
    pub queue: Option<u8>,
    pub tag: Option<TagAction>,
    pub stream: Option<String>,
    #[serde(default)]
    pub drop: bool,
}

/// What a frame has to have; what is not given may be anything.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Match {
    pub port: Option<String>,
    /// That of the tag, or else of the port.
    pub vlan: Option<u16>,
    pub pcp: Option<u8>,
    pub source: Option<MacAddress>,
    pub destination: Option<MacAddress>,
    pub ethertype: Option<u16>,
    pub ipv4: Option<Ipv4Match>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ipv4Match {
    pub source: Option<Prefix>,
    pub destination: Option<Prefix>,
    pub protocol: Option<u8>,
    pub source_port: Option<u16>,
    pub destination_port: Option<u16>,
}

/// `10.0.0.0/8`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    pub address: u32,
    pub mask: u32,
}

impl FromStr for Prefix {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, bits) = text.split_once('/').unwrap_or((text, "32"));
        let bits: u32 = bits.parse().ok().filter(|&bits| bits <= 32).ok_or(())?;
        let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
        let address = u32::from(address.parse::<Ipv4Addr>().map_err(drop)?);
        if address & !mask != 0 {
            return Err(());
        }
        Ok(Self { address, mask })
    }
}

impl<'de> Deserialize<'de> for Prefix {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let allowed = &"an IPv4 address, or a network as \"10.0.0.0/8\"";
        text.parse().map_err(|()| de::Error::invalid_value(de::Unexpected::Str(&text), allowed))
    }
}

/// What becomes of a frame's tag.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum TagAction {
    Remove,
    /// In place of the one that is there, or added.
    Set {
        vlan: u16,
        pcp: u8,
    },
}
