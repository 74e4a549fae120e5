// SPDX-License-Identifier: Apache-2.0
//! A bridge from its configuration.
use std::collections::{HashMap, VecDeque};

use penstock_shaper::admission::{Admission, Limits, CLASSES};
use penstock_shaper::ats::{Group, Rate, Scheduler, MAX_RESIDENCE_NS};
use penstock_shaper::egress::{EgressPort, GateTime};
use penstock_shaper::ptp_clock::PtpClock;

use super::config::{BridgeConfig, BridgeError, Timing, MAX_PORTS};
use super::fdb::{address_of, Entry, Fdb};
use super::fifo::Fifo;
use super::gate_config::GateConfig;
use super::identify::{key_of, StreamTable, FIELDS};
use super::lifetime::Lifetime;
use super::reception::Reception;
use super::timing::{Clock, GATE_DELAYS};
use super::{Bridge, Port, Settings, NEVER};
use crate::limits::OVERHEAD_BYTES;

const STATIC_AGE: u8 = 3;
/// As `pen_registers` divides the store after reset.
const TRANSIT_CELLS: u32 = 36;
const RECEPTION_GUARANTEE: u32 = 24;
const QUEUE_GUARANTEE_MOST: u32 = 12;

/// Guarantee of a queue, guarantee of a reception port, and what is shared.
fn shares(ports: u32, cells: u32) -> (u32, u32, u32) {
    let per_port = TRANSIT_CELLS + RECEPTION_GUARANTEE;
    let room = (3 * cells / 4).saturating_sub(ports * per_port);
    let queue = (room / (ports * CLASSES as u32)).min(QUEUE_GUARANTEE_MOST);
    (queue, RECEPTION_GUARANTEE, cells.saturating_sub(ports * (per_port + CLASSES as u32 * queue)))
}

pub(super) fn refuse(what: String, allowed: impl Into<String>) -> BridgeError {
    BridgeError::Config { what, allowed: allowed.into() }
}

pub(super) fn within<T: PartialOrd + std::fmt::Display>(
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

impl Bridge {
    pub fn new(ports: u16, config: &BridgeConfig, timing: &Timing) -> Result<Self, BridgeError> {
        Self::with_streams(ports, config, timing, config.streams_of_hardware())
    }

    /// With tables for so many streams, as the hardware was built with; a power of two.
    pub fn with_streams(ports: u16, config: &BridgeConfig, timing: &Timing, streams: u32) -> Result<Self, BridgeError> {
        within("number of ports", ports, 2, MAX_PORTS)?;
        let clock = Clock::new(ports, timing)?;
        let count = usize::from(ports);
        let all_ports = u64::MAX >> (64 - u32::from(ports));
        let delay_ns = match &clock {
            Clock::Hardware(cycles) => cycles.delay_ns(),
            Clock::Ideal(ideal) => ideal.processing_delay_ps.div_ceil(1_000),
        };
        let settings = settings(ports, config, u32::try_from(delay_ns).unwrap_or(u32::MAX))?;
        if !config.fdb_sets.is_power_of_two() || config.fdb_sets > 1 << 20 || config.fdb_sets < 2 {
            return Err(refuse(
                format!("{} sets of addresses", config.fdb_sets),
                "a power of two, 2 to 2^20, is allowed",
            ));
        }
        let mut bridge = Self {
            clock,
            all_ports,
            ports: (0..ports)
                .map(|port| Port {
                    reception: Reception::new(ports, port),
                    pending: Fifo::default(),
                    due: NEVER,
                    lifetime: Lifetime::default(),
                    egress: EgressPort::new(count),
                })
                .collect(),
            settings,
            version: 1,
            streams: StreamTable::new(2 * streams as usize),
            vlans: HashMap::from([(1, all_ports)]),
            fdb: Fdb::new(config.fdb_sets as usize, config.aging_period_ms, matches!(timing, Timing::Hardware)),
            static_addresses: Vec::new(),
            groups: vec![Group::default(); count * CLASSES],
            residences_ns: vec![MAX_RESIDENCE_NS; count * CLASSES],
            schedulers: Vec::new(),
            admission: Admission::new(count),
            releases: Vec::with_capacity(2 * count),
            next_release: NEVER,
            next_decision: 0,
            judgements: vec![NEVER; usize::from(ports)],
            max_frame_changes: VecDeque::new(),
            is_shaped: false,
            gate_time: GateTime::new(PtpClock::new(0, 0), GATE_DELAYS),
            gate_config: GateConfig::new(ports),
            wakes: Vec::new(),
        };
        bridge.fill(config)?;
        bridge.shape_ports(config)?;
        Ok(bridge)
    }

    fn fill(&mut self, config: &BridgeConfig) -> Result<(), BridgeError> {
        let last_port = self.ports() - 1;
        for &(vlan, members) in &config.vlans {
            self.vlans.insert(within("VLAN id", vlan, 1, 4094)?, members & self.all_ports);
        }
        for &(way, set, address, vlan, ports) in &config.fdb {
            within("way of an address", way, 0, 1)?;
            within("set of an address", set, 0, config.fdb_sets - 1)?;
            self.fdb.write(usize::from(way), set as usize, Entry::new(true, true, STATIC_AGE, ports, vlan, address));
        }
        self.static_addresses =
            config.static_addresses.iter().map(|&(address, vlan, ports)| (address_of(vlan, address), ports)).collect();
        self.static_addresses.sort_unstable();
        for &(port, class, ns) in &config.max_residence_ns {
            within("reception port of a group", port, 0, last_port)?;
            within("traffic class of a group", class, 0, 7)?;
            let group = self.group(port, class);
            self.residences_ns[group] = ns;
        }
        let highest = config.streams.iter().map(|s| usize::from(s.stream) + 1).max().unwrap_or(0);
        self.schedulers = vec![Scheduler::new(Rate::from_bits(0, 0)); highest.max(self.streams.streams())];
        for entry in &config.streams {
            within("reception port of a stream", entry.port, 0, last_port)?;
            let key = key_of(entry.port, &entry.key, self.settings.ipv4_mask);
            match entry.slot {
                Some((table, slot)) => {
                    within("table of a stream", table, 0, 1)?;
                    within("slot of a stream", slot as usize, 0, 2 * self.streams.streams() - 1)?;
                    self.streams.write(usize::from(table), slot as usize, Some((key, entry.stream)));
                }
                None => self.streams.add(key, entry.stream),
            }
            let rate = Rate::from_bits(entry.ns_per_byte, entry.empty_to_full);
            self.schedulers[usize::from(entry.stream)] = Scheduler::new(rate);
        }
        Ok(())
    }
}

fn settings(ports: u16, config: &BridgeConfig, delay_ns: u32) -> Result<Settings, BridgeError> {
    within("longest frame in bytes", config.max_frame_bytes, 64, 16_000)?;
    within("class of untagged frames", config.class_of_untagged, 0, 7)?;
    for &class in config.class_of_pcp.iter().chain(&config.ats_classes) {
        within("traffic class", class, 0, 7)?;
    }
    let (least, most) = OVERHEAD_BYTES.into_inner();
    let overhead_bytes = within("overhead in bytes", i32::from(config.overhead_bytes), least, most)?;
    let mut port_vlan_id = config.port_vlan_id.clone();
    within("number of port VLAN ids", port_vlan_id.len(), 0, usize::from(ports))?;
    port_vlan_id.resize(usize::from(ports), 1);
    for &vlan in &port_vlan_id {
        within("VLAN id of a port", vlan, 1, 4094)?;
    }
    let ipv4_mask = u128::from_str_radix(&config.ipv4_mask, 16)
        .ok()
        .filter(|mask| mask & !FIELDS == 0)
        .ok_or_else(|| refuse(format!("ipv4_mask is {:?}", config.ipv4_mask), "26 hexadecimal digits are allowed"))?;
    let (queue, reception, shared) = shares(u32::from(ports), config.cells);
    let limits = Limits {
        queue: config.queue_limit,
        class: config.class_limit,
        queue_guarantee: config.queue_guarantee.unwrap_or(queue),
        reception_guarantee: config.reception_guarantee.unwrap_or(reception),
        shared: config.shared_limit.unwrap_or(shared),
    };
    Ok(Settings {
        port_enable: config.port_enable,
        learning_enable: config.learning_enable,
        port_vlan_id,
        class_of_pcp: config.class_of_pcp,
        class_of_untagged: config.class_of_untagged,
        ats_classes: config.ats_classes.iter().fold(0, |mask, class| mask | 1 << class),
        max_frame_bytes: config.max_frame_bytes,
        max_frame_until: NEVER,
        overhead_bytes,
        processing_delay_max_ns: config.processing_delay_max_ns.unwrap_or(delay_ns),
        identify: config.identify,
        ipv4_mask,
        limits,
        count_gap: config.count_gap,
    })
}
