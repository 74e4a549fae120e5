// SPDX-License-Identifier: Apache-2.0
//! Gates, credit and the PTP clock of egress ports as they are when a run begins.
use std::sync::Arc;

use penstock_shaper::credit::{self, Bounds, Credit};
use penstock_shaper::egress::{EgressPort, GateTime};
use penstock_shaper::gates::{AdminList, Capacity, Entry, List, Lists};
use penstock_shaper::ptp_clock::{PtpClock, NOMINAL_INCREMENT, TIME_END_NS};
use penstock_shaper::{signed, Time};

use super::config::{refuse, within, BridgeError, CreditConfig, GatesConfig, PtpConfig, ShapersConfig};
use super::timing::{Clock, Line, GATE_DELAYS};
use super::Tick;

/// The hardware's clock gets its rate so many cycles before the run: by then the command is answered.
pub const RATE_BEFORE_START: Tick = 64;

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
        egress.set_credit(line, 0, usize::from(credit.class), Some(credit_of(line, credit)?));
    }
    for &(_, class, bytes) in config.max_class_frame_bytes.iter().filter(|&&(port, ..)| port == line.port) {
        egress.set_max_bytes(usize::from(class), bytes);
    }
    for &(_, members) in config.round_robin.iter().filter(|&&(port, _)| port == line.port) {
        egress.set_round_robin(members);
    }
    Ok(())
}

/// The credit of a class, in the units of the port.
pub fn credit_of(line: &Line, config: &CreditConfig) -> Result<Credit, BridgeError> {
    let made = match line.clock {
        Clock::Hardware(_) => {
            Credit::new(credit::idle_slope(config.idle_slope_bps), credit::PORT_RATE, Bounds::HARDWARE)
        }
        Clock::Ideal(ideal) => Credit::new(config.idle_slope_bps, ideal.rate_bps(line.port), Bounds::NONE),
    };
    made.map_err(|error| refuse(format!("credit of class {}", config.class), error.to_string()))
}

/// Lets the list of a port run as if it always had, when the run begins in this tick.
pub fn start_list(
    egress: &mut EgressPort,
    line: &Line,
    ptp: PtpConfig,
    gates: &GatesConfig,
    tick: Tick,
    lists: &mut Lists,
) -> Result<(), BridgeError> {
    let now = line.gate_time.at(tick);
    if let Some((list, change_time)) = list_at_start(line, ptp, gates, now, lists)? {
        egress.change_gates(line, 0).propose(now, list, change_time);
    }
    Ok(())
}

/// Units of gate time in a nanosecond.
fn unit(clock: &Clock) -> Time {
    match clock {
        Clock::Hardware(_) => 1,
        Clock::Ideal(_) => 1_000,
    }
}

/// Gate time ends before this where it counts picoseconds.
const END_PS: Time = Time::MAX / 2 + 1;
/// The gate time at which a run begins where it counts picoseconds: more than a cycle, so that one that runs has begun.
const ORIGIN_PS: Time = 1 << 53;

/// Gate time of a node whose PTP clock shows its start in a tick.
pub fn gate_time(clock: &Clock, ptp: PtpConfig, tick: Tick) -> Result<GateTime, BridgeError> {
    let start_ns = Time::from(ptp.start_ns);
    if start_ns >= TIME_END_NS {
        return Err(refuse(format!("the PTP clock starts at {} ns", ptp.start_ns), "less than 2^63 is allowed"));
    }
    if ptp.start_ps >= 1_000 {
        return Err(refuse(
            format!("the PTP clock starts at {} ps of a nanosecond", ptp.start_ps),
            "less than 1000 is allowed",
        ));
    }
    Ok(match clock {
        Clock::Hardware(_) => {
            let early = if ptp.increment == NOMINAL_INCREMENT { 0 } else { RATE_BEFORE_START };
            let lead = early.min(tick).min(start_ns / 8);
            let clock = PtpClock::new(tick - lead, start_ns - 8 * lead).with_increment(ptp.increment);
            GateTime::new(clock, GATE_DELAYS)
        }
        Clock::Ideal(_) => GateTime::of_picoseconds(tick, ORIGIN_PS, ptp.increment),
    })
}

/// The list of a port, if it has entries, and when the cycle begins that runs when the run does, or the first one.
fn list_at_start(
    line: &Line,
    ptp: PtpConfig,
    gates: &GatesConfig,
    now: Time,
    lists: &mut Lists,
) -> Result<Option<(Arc<List>, Time)>, BridgeError> {
    if gates.entries.is_empty() {
        return Ok(None);
    }
    let clock = line.clock;
    let unit = unit(clock);
    let what = || format!("gates of port {}", gates.port);
    let units = |name: &str, ns: u64| {
        let beyond = || refuse(format!("{name} of {ns} ns of {}", what()), "up to 2^32 - 1 ns is allowed");
        if ns < 1 << 32 {
            Ok(Time::from(ns) * unit)
        } else {
            Err(beyond())
        }
    };
    if Time::from(gates.base_time_ns) >= TIME_END_NS {
        let beyond = format!("a base time of {} ns of {}", gates.base_time_ns, what());
        return Err(refuse(beyond, "less than 2^63 ns is allowed"));
    }
    let mut entries = Vec::with_capacity(gates.entries.len());
    for &(states, interval_ns) in &gates.entries {
        entries.push(Entry { operation: 0, states, interval: units("an interval", interval_ns)? });
    }
    let cycle_time = units("a cycle time", gates.cycle_time_ns)?;
    let base_time = match clock {
        Clock::Hardware(_) => Time::from(gates.base_time_ns),
        // Counted from the begin of the run: what is years ahead does not come in it, cycles may have begun years ago.
        Clock::Ideal(_) => {
            let ahead = (i128::from(gates.base_time_ns) - i128::from(ptp.start_ns)) * signed(unit);
            let ahead = ahead - i128::from(ptp.start_ps);
            let first = if ahead < 0 && cycle_time > 0 { ahead % signed(cycle_time) } else { ahead };
            (signed(now) + first).clamp(0, signed(END_PS - 1)) as Time
        }
    };
    let cycle_time_extension = units("a cycle time extension", gates.cycle_time_extension_ns)?;
    let admin = AdminList { entries, base_time, cycle_time, cycle_time_extension };
    let hardware = Capacity::HARDWARE;
    let rate = match clock {
        Clock::Hardware(_) => credit::PORT_RATE_BPS,
        Clock::Ideal(ideal) => ideal.rate_bps(gates.port).min(credit::PORT_RATE_BPS),
    };
    let intervals = admin.entries.iter().map(|entry| entry.interval);
    let shortest = match clock {
        Clock::Hardware(_) => hardware.least_interval,
        Clock::Ideal(_) => intervals.fold(admin.cycle_time, Time::min),
    };
    let capacity = Capacity {
        // Of lists that the hardware could not run: as short as they are.
        least_interval: shortest.clamp(1, hardware.least_interval * unit),
        horizon: (hardware.horizon * unit).saturating_mul(Time::from(credit::PORT_RATE_BPS.div_ceil(rate))),
        time_end: if matches!(clock, Clock::Hardware(_)) { hardware.time_end } else { END_PS },
        ..hardware
    };
    let list = lists.compile(admin, capacity).map_err(|error| refuse(what(), error.to_string()))?;
    let past = now.saturating_sub(list.base_time());
    let change_time = list.base_time() + past / list.cycle_time() * list.cycle_time();
    Ok(Some((list, change_time)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::timing::Counting;

    const YEAR_NS: u64 = 365 * 86_400 * 1_000_000_000;
    const TICK: Tick = 500;

    fn ideal() -> Clock {
        let timing = super::super::Timing::Ideal {
            processing_delay_ps: 0,
            cut_through_bytes: None,
            rates_bps: vec![1_000_000_000; 2],
        };
        Clock::new(2, false, &timing).unwrap()
    }

    /// Open for 30 us of 100 us.
    fn gates(base_time_ns: u64) -> GatesConfig {
        serde_json::from_value(serde_json::json!({
            "port": 0, "entries": [[1, 30_000], [2, 70_000]], "cycle_time_ns": 100_000, "base_time_ns": base_time_ns,
        }))
        .unwrap()
    }

    /// States at times of the run, of a port whose clock shows `start_ns` when it begins.
    fn states(clock: &Clock, start_ns: u64, base_time_ns: u64, after_ns: &[u64]) -> Vec<u8> {
        let ptp = PtpConfig { start_ns, ..PtpConfig::default() };
        let gate_time = gate_time(clock, ptp, TICK).unwrap();
        let line = Line { clock, gate_time: &gate_time, port: 0, counting: Counting::default() };
        let mut egress = EgressPort::new(2);
        egress.change_gates(&line, 0).set_enabled(true);
        start_list(&mut egress, &line, ptp, &gates(base_time_ns), TICK, &mut Lists::default()).unwrap();
        let ticks = |ns: Time| if matches!(clock, Clock::Hardware(_)) { ns / 8 } else { ns * 1_000 };
        let lead = if matches!(clock, Clock::Hardware(_)) { 3 - 7 } else { 0 };
        let at = |ns: &u64| gate_time.at((TICK + ticks(*ns)).wrapping_add_signed(lead));
        after_ns.iter().map(|ns| egress.gates().unwrap().states(at(ns))).collect()
    }

    #[test]
    fn gates_run_at_the_time_of_real_networks_and_for_years() {
        let hardware = Clock::new(2, false, &super::super::Timing::Hardware).unwrap();
        for clock in [&ideal(), &hardware] {
            // Now is 1.8 · 10^18 ns of TAI; the list began years ago, with cycles of 100 us, 40 us before.
            for past in [0, 1, 56] {
                let (start, base) = (1_800_000_000_000_000_000, 1_800_000_000_000_000_000 - past * YEAR_NS - 40_000);
                let found = states(clock, start, base, &[0, 59_992, 60_000, 89_992, 90_000, 30 * 86_400_000_000_000]);
                assert_eq!(found, [2, 2, 1, 1, 2, 2], "{past} years ago");
            }
            // It begins in the run, or long after it; until then all are open.
            for ahead in [1_000, 2 * YEAR_NS, 100 * YEAR_NS] {
                let start = 56 * YEAR_NS;
                let month = 30 * 86_400_000_000_000;
                let found = states(clock, start, start + ahead, &[0, 992, 1_000, 31_000, month]);
                let expected = if ahead == 1_000 { [0xFF, 0xFF, 1, 2, 2] } else { [0xFF; 5] };
                assert_eq!(found[..4], expected[..4]);
                assert_eq!(found[4] == 0xFF, ahead > 1_000);
            }
        }
    }

    #[test]
    fn a_clock_that_counts_picoseconds_begins_between_nanoseconds() {
        let clock = ideal();
        let at = |start_ps, after_ps| {
            let ptp = PtpConfig { start_ns: 1_000_000, start_ps, ..PtpConfig::default() };
            let gate_time = gate_time(&clock, ptp, TICK).unwrap();
            let line = Line { clock: &clock, gate_time: &gate_time, port: 0, counting: Counting::default() };
            let mut egress = EgressPort::new(2);
            egress.change_gates(&line, 0).set_enabled(true);
            start_list(&mut egress, &line, ptp, &gates(0), TICK, &mut Lists::default()).unwrap();
            egress.gates().unwrap().states(gate_time.at(TICK + after_ps))
        };
        // The first of a hundred microseconds that begin with the run, which is 999 ps in.
        assert_eq!([at(0, 29_999_999), at(0, 30_000_000)], [1, 2]);
        assert_eq!([at(999, 29_999_000), at(999, 29_999_001)], [1, 2]);
        let ptp = PtpConfig { start_ps: 1_000, ..PtpConfig::default() };
        assert!(gate_time(&clock, ptp, 0).unwrap_err().to_string().contains("1000 ps"));
    }

    /// The rate is set some cycles before the run, when the clock shows as much less as so many nominal cycles have.
    #[test]
    fn a_clock_of_hardware_gets_its_rate_before_the_run() {
        let hardware = Clock::new(2, false, &super::super::Timing::Hardware).unwrap();
        let shows = |start_ns, increment, tick| {
            let ptp = PtpConfig { start_ns, increment, ..PtpConfig::default() };
            let time = gate_time(&hardware, ptp, tick).unwrap().clock().time_at(tick);
            (time >> penstock_shaper::ptp_clock::FRACTION_BITS) as Time
        };
        assert_eq!([0, 10, TICK].map(|tick| shows(1_000, NOMINAL_INCREMENT, tick)), [1_000; 3]);
        // Of 16 ns a cycle: 64 cycles, or as many as there are before, or as the clock has shown.
        let fast = 2 * NOMINAL_INCREMENT;
        assert_eq!([0, 10, TICK].map(|tick| shows(1_000, fast, tick)), [1_000, 1_000 + 10 * 8, 1_000 + 64 * 8]);
        assert_eq!([0, 7, 8, 87].map(|start| shows(start, fast, TICK)), [0, 7, 8 + 8, 87 + 10 * 8]);
    }

    #[test]
    fn lists_that_cannot_be_are_refused_by_what_is_wrong() {
        let refused = |change: fn(&mut GatesConfig)| {
            let mut gates = gates(0);
            change(&mut gates);
            let (clock, ptp) = (ideal(), PtpConfig { start_ns: 1_000_000, ..PtpConfig::default() });
            let gate_time = gate_time(&clock, ptp, TICK).unwrap();
            let line = Line { clock: &clock, gate_time: &gate_time, port: 0, counting: Counting::default() };
            let made = start_list(&mut EgressPort::new(2), &line, ptp, &gates, TICK, &mut Lists::default());
            made.err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(refused(|gates| gates.entries[0].1 = (1 << 32) - 1), "");
        assert!(refused(|gates| gates.entries[0].1 = 1 << 32).contains("an interval of 4294967296 ns"));
        assert!(refused(|gates| gates.cycle_time_ns = 1 << 32).contains("a cycle time of 4294967296 ns"));
        assert!(refused(|gates| gates.cycle_time_extension_ns = 1 << 32).contains("extension of 4294967296 ns"));
        assert!(refused(|gates| gates.cycle_time_ns = 0).contains("the cycle time is 0"));
        assert_eq!(refused(|gates| gates.base_time_ns = TIME_END_NS - 1), "");
        assert!(refused(|gates| gates.base_time_ns = TIME_END_NS).contains("a base time of 9223372036854775808 ns"));
    }

    /// What the cycle leaves of an entry is given to the one before where the hardware could not run it.
    #[test]
    fn the_rest_of_an_entry_is_as_long_as_the_hardware_asks_for() {
        let clock = ideal();
        let second = |rest_ns: Time| {
            let cycle_time_ns = 30_000 + rest_ns;
            let (gates, ptp) = (GatesConfig { cycle_time_ns, ..gates(0) }, PtpConfig::default());
            let gate_time = gate_time(&clock, ptp, TICK).unwrap();
            let line = Line { clock: &clock, gate_time: &gate_time, port: 0, counting: Counting::default() };
            let mut egress = EgressPort::new(2);
            egress.change_gates(&line, 0).set_enabled(true);
            start_list(&mut egress, &line, ptp, &gates, TICK, &mut Lists::default()).unwrap();
            egress.gates().unwrap().states(gate_time.at(TICK + 30_000_000))
        };
        assert_eq!([63, 64].map(second), [1, 2]);
    }

    #[test]
    fn nothing_of_an_increment_is_lost() {
        for more in [1, 4, 7, 8] {
            let ptp = PtpConfig { increment: NOMINAL_INCREMENT + more, ..PtpConfig::default() };
            let time = gate_time(&ideal(), ptp, 0).unwrap();
            // A day of 2^-35 for each unit in a picosecond.
            let day = 86_400_000_000_000_000;
            assert_eq!(time.at(day) - time.at(0) - day, (day * more) >> 35);
        }
    }

    #[test]
    fn what_is_beyond_is_refused_by_its_name() {
        let timing = |processing_delay_ps| super::super::Timing::Ideal {
            processing_delay_ps,
            cut_through_bytes: None,
            rates_bps: vec![1_000_000_000; 2],
        };
        assert!(Clock::new(2, false, &timing(crate::limits::LONGEST_DELAY_PS)).is_ok());
        let refused = Clock::new(2, false, &timing(u64::MAX - 1)).unwrap_err().to_string();
        assert!(refused.contains("processing delay of 18446744073709551614 ps"), "{refused}");
        let ptp = PtpConfig { start_ns: TIME_END_NS, ..PtpConfig::default() };
        assert!(gate_time(&ideal(), ptp, 0).unwrap_err().to_string().contains("PTP clock starts"));
    }
}
