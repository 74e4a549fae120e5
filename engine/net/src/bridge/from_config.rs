// SPDX-License-Identifier: Apache-2.0
//! A bridge from its configuration.
use std::collections::VecDeque;

use penstock_shaper::admission::{Admission, Limits, CLASSES};
use penstock_shaper::egress::{EgressPort, GateTime};
use penstock_shaper::ptp_clock::PtpClock;
use penstock_shaper::reception::Reception;

use super::config::{within, BridgeConfig, BridgeError, Timing, MAX_PORTS};
use super::fifo::Fifo;
use super::forwarding::Forwarding;
use super::gate_config::GateConfig;
use super::lifetime::Lifetime;
use super::meters::Meters;
use super::tables::Tables;
use super::timing::{Clock, Row, GATE_DELAYS};
use super::{Bridge, Port, Settings, NEVER};

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

impl Bridge {
    pub fn new(ports: u16, config: &BridgeConfig, timing: &Timing) -> Result<Self, BridgeError> {
        Self::with_streams(ports, config, timing, config.streams_of_hardware())
    }

    /// With tables for so many streams, as the hardware was built with; a power of two.
    pub fn with_streams(ports: u16, config: &BridgeConfig, timing: &Timing, streams: u32) -> Result<Self, BridgeError> {
        within("number of ports", ports, 2, MAX_PORTS)?;
        let clock = Clock::new(ports, timing)?;
        let count = usize::from(ports);
        let delay_ns = match &clock {
            Clock::Hardware(cycles) => cycles.delay_ns(),
            Clock::Ideal(ideal) => ideal.processing_delay_ps.div_ceil(1_000),
        };
        let delay_ns = u32::try_from(delay_ns).unwrap_or(u32::MAX);
        let mut bridge = Self {
            clock,
            ports: (0..ports)
                .map(|port| Port {
                    reception: Reception::new(ports, port),
                    pending: Fifo::default(),
                    due: NEVER,
                    lifetime: Lifetime::default(),
                    egress: EgressPort::new(count),
                })
                .collect(),
            settings: settings(ports, config)?,
            tables: Tables::new(ports, config, streams)?,
            meters: Meters::new(ports, config, streams, delay_ns)?,
            forwarding: Forwarding::new(config, matches!(timing, Timing::Hardware))?,
            row: Row::default(),
            admission: Admission::new(count),
            releases: Vec::with_capacity(2 * count),
            next_release: NEVER,
            judgements: vec![NEVER; usize::from(ports)],
            max_frame_changes: VecDeque::new(),
            is_shaped: false,
            gate_time: GateTime::new(PtpClock::new(0, 0), GATE_DELAYS),
            gate_config: GateConfig::new(ports),
            wakes: Vec::new(),
        };
        bridge.shape_ports(config)?;
        Ok(bridge)
    }
}

fn settings(ports: u16, config: &BridgeConfig) -> Result<Settings, BridgeError> {
    within("longest frame in bytes", config.max_frame_bytes, 64, 16_000)?;
    let (queue, reception, shared) = shares(u32::from(ports), config.cells);
    let limits = Limits {
        queue: config.queue_limit,
        class: config.class_limit,
        queue_guarantee: config.queue_guarantee.unwrap_or(queue),
        reception_guarantee: config.reception_guarantee.unwrap_or(reception),
        shared: config.shared_limit.unwrap_or(shared),
    };
    Ok(Settings {
        max_frame_bytes: config.max_frame_bytes,
        max_frame_until: NEVER,
        limits,
        count_gap: config.count_gap,
    })
}
