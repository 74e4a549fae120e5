// SPDX-License-Identifier: Apache-2.0
//! Gates, credit and the PTP clock of egress ports as they are when a run begins.
use std::sync::Arc;

use penstock_shaper::credit::{self, Bounds, Credit};
use penstock_shaper::egress::{EgressPort, GateDelays, GateTime};
use penstock_shaper::gates::{AdminList, Capacity, Entry, List};
use penstock_shaper::ptp_clock::{PtpClock, NOMINAL_INCREMENT};

use super::config::{refuse, within, BridgeConfig, BridgeError, GatesConfig, PtpConfig, ShapersConfig};
use super::timing::{Clock, Line, GATE_DELAYS};
use super::{Bridge, Tick};

/// The hardware's clock gets its rate so many cycles before the run: by then the command is answered.
pub const RATE_BEFORE_START: Tick = 64;

impl Bridge {
    /// Gates and credit as they are configured.
    pub(super) fn shape_ports(&mut self, config: &BridgeConfig) -> Result<(), BridgeError> {
        let shapers = config.shapers();
        check_ports(&shapers, self.ports())?;
        for port in 0..self.ports() {
            let (state, line) = self.egress(port);
            shape(&mut state.egress, &line, &shapers)?;
            self.is_shaped |= self.ports[usize::from(port)].egress.is_shaped();
        }
        self.start_clock(0, config)
    }

    /// The PTP clock shows its start in this tick (with another rate than the bridge's, about that), and lists run as if
    /// they always had.
    pub fn start_clock(&mut self, tick: Tick, config: &BridgeConfig) -> Result<(), BridgeError> {
        self.gate_time = gate_time(&self.clock, config.ptp, tick)?;
        for gates in &config.gates {
            let (state, line) = self.egress(gates.port);
            start_list(&mut state.egress, &line, gates, tick)?;
        }
        Ok(())
    }
}

/// Whether what is configured is of ports and classes that there are.
pub fn check_ports(config: &ShapersConfig, ports: u16) -> Result<(), BridgeError> {
    for gates in &config.gates {
        within("port of gates", gates.port, 0, ports - 1)?;
    }
    for credit in &config.credit {
        within("port of credit", credit.port, 0, ports - 1)?;
        within("class of credit", credit.class, 0, 7)?;
    }
    for &(port, class, _) in &config.max_class_frame_bytes {
        within("port of a longest frame", port, 0, ports - 1)?;
        within("class of a longest frame", class, 0, 7)?;
    }
    for &(port, _) in &config.round_robin {
        within("port of a round robin", port, 0, ports - 1)?;
    }
    Ok(())
}

/// Sets the port of a line to what is configured of it and was checked; its list is still to be started.
pub fn shape(egress: &mut EgressPort, line: &Line, config: &ShapersConfig) -> Result<(), BridgeError> {
    for gates in config.gates.iter().filter(|gates| gates.port == line.port) {
        let made = egress.change_gates(line, 0);
        made.set_initial_states(gates.initial_states);
        made.set_enabled(gates.enabled);
    }
    for credit in config.credit.iter().filter(|credit| credit.port == line.port) {
        let made = match line.clock {
            Clock::Hardware(_) => {
                Credit::new(credit::idle_slope(credit.idle_slope_bps), credit::PORT_RATE, Bounds::HARDWARE)
            }
            Clock::Ideal(ideal) => Credit::new(credit.idle_slope_bps, ideal.rate_bps(line.port), Bounds::NONE),
        };
        let made = made.map_err(|error| refuse(format!("credit of class {}", credit.class), error.to_string()))?;
        egress.set_credit(line, 0, usize::from(credit.class), Some(made));
    }
    for &(_, class, bytes) in config.max_class_frame_bytes.iter().filter(|&&(port, ..)| port == line.port) {
        egress.set_max_bytes(usize::from(class), bytes);
    }
    for &(_, members) in config.round_robin.iter().filter(|&&(port, _)| port == line.port) {
        egress.set_round_robin(members);
    }
    Ok(())
}

/// Lets the list of a port run as if it always had, when the run begins in this tick.
pub fn start_list(egress: &mut EgressPort, line: &Line, gates: &GatesConfig, tick: Tick) -> Result<(), BridgeError> {
    let now = line.gate_time.at(tick);
    if let Some((list, change_time)) = list_at_start(line.clock, gates, now)? {
        egress.change_gates(line, 0).propose(now, list, change_time);
    }
    Ok(())
}

/// Units of gate time in a nanosecond.
fn unit(clock: &Clock) -> u64 {
    match clock {
        Clock::Hardware(_) => 1,
        Clock::Ideal(_) => 1_000,
    }
}

/// Gate time of a node whose PTP clock shows its start in a tick.
pub fn gate_time(clock: &Clock, ptp: PtpConfig, tick: Tick) -> Result<GateTime, BridgeError> {
    let beyond = || refuse(format!("the PTP clock starts at {} ns", ptp.start_ns), "less than 2^63 is allowed");
    let start = ptp.start_ns.checked_mul(unit(clock)).filter(|start| *start < 1 << 63).ok_or_else(beyond)?;
    Ok(match clock {
        Clock::Hardware(_) => {
            let early = if ptp.increment == NOMINAL_INCREMENT { 0 } else { RATE_BEFORE_START };
            let lead = early.min(tick).min(start / 8);
            let clock = PtpClock::new(tick - lead, start - 8 * lead).with_increment(ptp.increment);
            GateTime::new(clock, GATE_DELAYS)
        }
        // What is added to 8 ns, to 1 ps.
        Clock::Ideal(_) => {
            let clock = PtpClock::new(tick, start).with_increment(ptp.increment / 8);
            GateTime::new(clock, GateDelays::default())
        }
    })
}

/// The list of a port, if it has entries, and when the cycle begins that runs at gate time `now`, or the first one.
fn list_at_start(clock: &Clock, gates: &GatesConfig, now: u64) -> Result<Option<(Arc<List>, u64)>, BridgeError> {
    if gates.entries.is_empty() {
        return Ok(None);
    }
    let unit = unit(clock);
    let what = || format!("gates of port {}", gates.port);
    let beyond = || refuse(what(), "times of less than 2^63 units of gate time are allowed");
    let units = |ns: u64| ns.checked_mul(unit).filter(|time| *time < 1 << 63).ok_or_else(beyond);
    let mut entries = Vec::with_capacity(gates.entries.len());
    for &(states, interval_ns) in &gates.entries {
        entries.push(Entry { operation: 0, states, interval: units(interval_ns)? });
    }
    let admin = AdminList {
        entries,
        base_time: units(gates.base_time_ns)?,
        cycle_time: units(gates.cycle_time_ns)?,
        cycle_time_extension: units(gates.cycle_time_extension_ns)?,
    };
    let hardware = Capacity::HARDWARE;
    let rate = match clock {
        Clock::Hardware(_) => credit::PORT_RATE_BPS,
        Clock::Ideal(ideal) => ideal.rate_bps(gates.port).min(credit::PORT_RATE_BPS),
    };
    let intervals = admin.entries.iter().map(|entry| entry.interval);
    let shortest = match clock {
        Clock::Hardware(_) => hardware.least_interval,
        Clock::Ideal(_) => intervals.fold(admin.cycle_time, u64::min),
    };
    let capacity = Capacity {
        // Of lists that the hardware could not run: as short as they are.
        least_interval: shortest.clamp(1, hardware.least_interval * unit),
        horizon: (hardware.horizon * unit).saturating_mul(credit::PORT_RATE_BPS.div_ceil(rate)),
        ..hardware
    };
    let list = List::compile(&admin, &capacity).map_err(|error| refuse(what(), error.to_string()))?;
    let past = now.saturating_sub(list.base_time());
    let change_time = list.base_time() + past / list.cycle_time() * list.cycle_time();
    Ok(Some((Arc::new(list), change_time)))
}
