// SPDX-License-Identifier: Apache-2.0
//! What a bridge should do, in JSON: the registers and tables of the hardware by their meaning. Unknown keys are refused;
//! a key that is left out has the value that the hardware has after reset.
use super::timing::Counting;
use penstock_shaper::admission::CLASSES;
use penstock_shaper::identification::{destination_key, ipv4_key, source_key, Key};
use penstock_shaper::ptp_clock::NOMINAL_INCREMENT;
use penstock_shaper::Time;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::header::Ipv4Fields;

pub const MAX_PORTS: u16 = 64;

/// What the tag of a VLAN becomes where ports translate (802.1Q 6.9, egress VID translation).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Translation {
    /// 0: the VLAN itself.
    #[serde(default)]
    pub vlan: u16,
    /// None: that of the frame.
    #[serde(default)]
    pub pcp: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct BridgeConfig {
    /// Bit p: port p receives and sends.
    pub port_enable: u64,
    pub learning_enable: bool,
    /// The last port is the host's.
    pub host: bool,
    /// Bit n: frames to 01-80-C2-00-00-0n go to the host.
    pub reserved_to_host: u16,
    /// Per port; those that are missing have VLAN 1.
    pub port_vlan_id: Vec<u16>,
    pub class_of_pcp: [u8; 8],
    pub class_of_untagged: u8,
    /// That a frame without a tag gets with one.
    pub pcp_of_untagged: u8,
    /// Bit p: port p tags and untags what it sends, by its VLAN; from others frames leave as they came.
    pub vlan_tagging: u64,
    /// Bit p: port p, one of those, writes the tag that a VLAN is translated to.
    pub vlan_translation: u64,
    /// Bit p: frames leave port p without an R-TAG.
    pub r_tag_removal: u64,
    /// Bit p: event messages of PTP that come to port p get the time that they were inside.
    pub ptp_correction: u64,
    pub ats_classes: Vec<u8>,
    pub max_frame_bytes: u16,
    /// That ATS counts around a frame; the hardware knows none below zero.
    pub overhead_bytes: i16,
    /// None: the constant delay of the bridge.
    pub processing_delay_max_ns: Option<u32>,
    /// (VLAN, mask of member ports); VLAN 1 has all ports unless it is given.
    pub vlans: Vec<(u16, u64)>,
    /// (VLAN, mask of ports that send its frames without a tag); VLAN 1 has all ports unless it is given here or in `vlans`.
    pub untagged: Vec<(u16, u64)>,
    /// (VLAN, what its tag becomes where ports translate).
    pub translations: Vec<(u16, Translation)>,
    /// Sets of two entries, a power of two.
    pub fdb_sets: u32,
    /// Static entries where the hardware has them: (way, set, address, VLAN, mask of ports).
    pub fdb: Vec<(u8, u32, u64, u16, u64)>,
    /// Static entries for which the hardware's table has no room: (address, VLAN, mask of ports).
    pub static_addresses: Vec<(u64, u16, u64)>,
    /// Ways around links that are down; not in hardware.
    pub detours: Vec<DetourConfig>,
    /// How long after a link goes down or up the bridge knows of it, if it has detours.
    pub link_detection_ps: u64,
    /// So many frames queued make a port congested, where a detour has nearer ones; 0: none is.
    pub congestion_frames: u32,
    pub aging_period_ms: u32,
    pub identify: Identify,
    /// Which bits of the IPv4 fields count, 26 hexadecimal digits at most.
    pub ipv4_mask: String,
    pub streams: Vec<StreamConfig>,
    /// (reception port, class, nanoseconds).
    pub max_residence_ns: Vec<(u16, u8, u32)>,
    /// Cells, per class.
    pub queue_limit: [u32; CLASSES],
    pub class_limit: [u32; CLASSES],
    /// Classes whose full queues lose their first frames, not the one that comes; not in hardware.
    pub drop_oldest: Vec<u8>,
    /// None: what the hardware has after reset, by its size.
    pub queue_guarantee: Option<u32>,
    pub reception_guarantee: Option<u32>,
    pub shared_limit: Option<u32>,
    pub cells: u32,
    /// Ports with a gate control list.
    pub gates: Vec<GatesConfig>,
    /// Classes with a credit-based shaper.
    pub credit: Vec<CreditConfig>,
    /// The gap behind a frame costs credit, too.
    pub count_gap: bool,
    /// A frame has to end before its gate closes, but not the gap behind it.
    pub window_without_gap: bool,
    /// Credit does not rise while the first frame of a class waits for another window of its gate.
    pub credit_frozen_in_guard_band: bool,
    /// queueMaxSDU as bytes of the frame: (port, class, bytes).
    pub max_class_frame_bytes: Vec<(u16, u8, u16)>,
    /// Classes that take turns on one level: (port, mask of classes).
    pub round_robin: Vec<(u16, u8)>,
    pub ptp: PtpConfig,
}

/// Where an address leads to, whatever is known of it otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DetourConfig {
    pub address: u64,
    pub vlan: u16,
    /// By reception port: the egress ports in order. A frame takes the first of which the link is up.
    pub ports: Vec<Vec<u16>>,
    /// By reception port, or none at all: egress ports that lead nearer too, for frames that find the first one congested.
    #[serde(default)]
    pub nearer: Vec<Vec<u16>>,
}

/// The gates of a port; times are those of the PTP clock.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GatesConfig {
    pub port: u16,
    #[serde(default = "enabled")]
    pub enabled: bool,
    /// Bit k: class k is open until the list begins.
    #[serde(default = "all_open")]
    pub initial_states: u8,
    /// (states, nanoseconds); none: the initial states stay.
    pub entries: Vec<(u8, u64)>,
    pub cycle_time_ns: u64,
    #[serde(default)]
    pub base_time_ns: u64,
    #[serde(default)]
    pub cycle_time_extension_ns: u64,
}

fn enabled() -> bool {
    true
}

fn all_open() -> u8 {
    0xFF
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CreditConfig {
    pub port: u16,
    pub class: u8,
    pub idle_slope_bps: u64,
}

/// The PTP clock of a bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct PtpConfig {
    /// What it shows when the run begins.
    pub start_ns: u64,
    /// And beyond that, below 1000; a clock of the hardware is set to whole nanoseconds.
    pub start_ps: u16,
    /// For each 8 ns of the bridge's own clock, in 2^-32 ns.
    pub increment: u64,
}

impl Default for PtpConfig {
    fn default() -> Self {
        Self { start_ns: 0, start_ps: 0, increment: NOMINAL_INCREMENT }
    }
}

/// Which stream identification functions are in use; the first that finds a stream wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Identify {
    pub ipv4: bool,
    pub destination: bool,
    pub source: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StreamConfig {
    /// Handle of the stream and of its scheduler.
    pub stream: u16,
    /// Reception port.
    pub port: u16,
    pub key: StreamKey,
    /// (table, slot) of the hardware; None: found wherever it may stand.
    #[serde(default)]
    pub slot: Option<(u8, u32)>,
    /// Its frames get an R-TAG with their sequence number.
    #[serde(default)]
    pub numbered: bool,
    /// In units of 2^-24 ns.
    pub ns_per_byte: u64,
    /// In units of 2^-16 ns.
    pub empty_to_full: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, tag = "identify", rename_all = "snake_case")]
pub enum StreamKey {
    Ipv4 { source: u32, destination: u32, protocol: u8, source_port: u16, destination_port: u16 },
    Destination { mac: u64, vlan: u16 },
    Source { mac: u64, vlan: u16 },
}

impl StreamKey {
    /// As the table holds it: at a port, of the IPv4 fields those that count.
    pub(super) fn at(&self, port: u16, ipv4_mask: u128) -> Key {
        match *self {
            Self::Ipv4 { source, destination, protocol, source_port, destination_port } => {
                let fields = Ipv4Fields { source, destination, protocol, source_port, destination_port };
                ipv4_key(port, fields.key() & ipv4_mask)
            }
            Self::Destination { mac, vlan } => destination_key(port, vlan, mac),
            Self::Source { mac, vlan } => source_key(port, vlan, mac),
        }
    }
}

/// How long things take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Timing {
    /// The twin of `pen_switch`: ticks are cycles of 8 ns, all ports have 1 Gb/s.
    Hardware,
    /// Ticks are picoseconds.
    Ideal {
        /// From the last bit (cut-through: the header's) to the first instant at which the frame may be selected.
        processing_delay_ps: Time,
        /// Of its header, behind which a frame may be sent on; none: it has to be whole.
        cut_through_bytes: Option<u16>,
        /// Of each port.
        rates_bps: Vec<u64>,
    },
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum BridgeError {
    #[error("{what}; {allowed}")]
    Config { what: String, allowed: String },
}

pub(crate) fn refuse(what: String, allowed: impl Into<String>) -> BridgeError {
    BridgeError::Config { what, allowed: allowed.into() }
}

pub(crate) fn within<T: PartialOrd + std::fmt::Display>(
    what: &str,
    value: T,
    least: T,
    most: T,
) -> Result<T, BridgeError> {
    if value < least || value > most {
        return Err(refuse(format!("{what} is {value}"), format!("allowed are {least} to {most}")));
    }
    Ok(value)
}

/// What egress ports do beside strict priority and ATS: those of a bridge, or port 0 of a station.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ShapersConfig {
    pub gates: Vec<GatesConfig>,
    pub credit: Vec<CreditConfig>,
    pub count_gap: bool,
    /// A frame has to end before its gate closes, but not the gap behind it.
    pub window_without_gap: bool,
    /// Credit does not rise while the first frame of a class waits for another window of its gate.
    pub credit_frozen_in_guard_band: bool,
    pub max_class_frame_bytes: Vec<(u16, u8, u16)>,
    pub round_robin: Vec<(u16, u8)>,
    pub ptp: PtpConfig,
}

impl ShapersConfig {
    pub fn counting(&self) -> Counting {
        Counting {
            gap_costs_credit: self.count_gap,
            window_without_gap: self.window_without_gap,
            credit_frozen_in_guard_band: self.credit_frozen_in_guard_band,
        }
    }
}

impl BridgeConfig {
    pub(super) fn shapers(&self) -> ShapersConfig {
        ShapersConfig {
            gates: self.gates.clone(),
            credit: self.credit.clone(),
            count_gap: self.count_gap,
            window_without_gap: self.window_without_gap,
            credit_frozen_in_guard_band: self.credit_frozen_in_guard_band,
            max_class_frame_bytes: self.max_class_frame_bytes.clone(),
            round_robin: self.round_robin.clone(),
            ptp: self.ptp,
        }
    }

    /// The smallest number of streams, 256 at least, whose tables have all the slots that are named.
    pub(super) fn streams_of_hardware(&self) -> u32 {
        let slots = self.streams.iter().filter_map(|stream| stream.slot).map(|(_, slot)| slot.saturating_add(1));
        slots.max().unwrap_or(0).clamp(512, 1 << 16).next_power_of_two() / 2
    }
}

impl Default for BridgeConfig {
    fn default() -> Self {
        Self {
            port_enable: u64::MAX,
            learning_enable: true,
            host: false,
            reserved_to_host: 0,
            port_vlan_id: Vec::new(),
            class_of_pcp: [1, 0, 6, 7, 2, 3, 4, 5],
            class_of_untagged: 5,
            pcp_of_untagged: 0,
            vlan_tagging: 0,
            vlan_translation: 0,
            r_tag_removal: 0,
            ptp_correction: 0,
            ats_classes: vec![6, 7],
            max_frame_bytes: 1522,
            overhead_bytes: 20,
            processing_delay_max_ns: None,
            vlans: Vec::new(),
            untagged: Vec::new(),
            translations: Vec::new(),
            fdb_sets: 512,
            fdb: Vec::new(),
            static_addresses: Vec::new(),
            detours: Vec::new(),
            link_detection_ps: 0,
            congestion_frames: 0,
            aging_period_ms: 100_000,
            identify: Identify::default(),
            ipv4_mask: "f".repeat(26),
            streams: Vec::new(),
            max_residence_ns: Vec::new(),
            queue_limit: [256; CLASSES],
            class_limit: [640; CLASSES],
            drop_oldest: Vec::new(),
            queue_guarantee: None,
            reception_guarantee: None,
            shared_limit: None,
            cells: 1024,
            gates: Vec::new(),
            credit: Vec::new(),
            count_gap: false,
            window_without_gap: false,
            credit_frozen_in_guard_band: false,
            max_class_frame_bytes: Vec::new(),
            round_robin: Vec::new(),
            ptp: PtpConfig::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn gates_of_which_nothing_else_is_said_act_and_are_open() {
        let gates: GatesConfig = from_value(json!({"port": 1, "entries": [], "cycle_time_ns": 1000})).unwrap();
        assert_eq!((gates.enabled, gates.initial_states, gates.base_time_ns), (true, 0xFF, 0));
    }

    /// Two slots a stream, a power of two of them.
    #[test]
    fn tables_have_all_slots_that_are_named() {
        let streams = |slot| {
            let key = StreamKey::Source { mac: 1, vlan: 1 };
            let stream =
                StreamConfig { stream: 0, port: 0, key, slot, ns_per_byte: 1, empty_to_full: 1, numbered: false };
            BridgeConfig { streams: vec![stream], ..BridgeConfig::default() }.streams_of_hardware()
        };
        let slots = [None, Some(511), Some(512), Some(1_024), Some(65_535), Some(u32::MAX)];
        assert_eq!(slots.map(|slot| streams(slot.map(|slot| (0, slot)))), [256, 256, 512, 1_024, 32_768, 32_768]);
    }
}
