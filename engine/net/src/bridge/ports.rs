// SPDX-License-Identifier: Apache-2.0
//! The egress ports of a bridge, the time by which their gates go, and when each is to select.
use penstock_shaper::credit::{self, Bounds, Credit};
use penstock_shaper::egress::{EgressPort, GateTime};
use penstock_shaper::gate_config::GatedPorts;
use penstock_shaper::gates::{Gates, Lists};
use penstock_shaper::lifetime::{Look, Port};
use penstock_shaper::ptp_clock::PtpClock;

use super::change::Change;
use super::config::{BridgeConfig, BridgeError};
use super::start::{check_ports, gate_time, shape, start_list};
use super::timing::{Clock, Counting, Line, GATE_DELAYS};
use super::Tick;

/// What every frame needs stands first and together.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Ports {
    ports: Vec<Port>,
    /// Some port is.
    is_shaped: bool,
    counting: Counting,
    gate_time: GateTime,
    /// Ports that are to select at another tick since something changed.
    wakes: Vec<(u16, Tick)>,
}

impl Ports {
    pub fn new(ports: u16, config: &BridgeConfig, clock: &Clock) -> Result<Self, BridgeError> {
        let shapers = config.shapers();
        let mut made = Self {
            ports: (0..ports).map(|_| Port::new(ports.into())).collect(),
            gate_time: GateTime::new(PtpClock::new(0, 0), GATE_DELAYS),
            counting: shapers.counting(),
            is_shaped: false,
            wakes: Vec::new(),
        };
        check_ports(&shapers, ports)?;
        for port in 0..ports {
            let (state, line) = made.at(clock, port);
            shape(&mut state.egress, &line, &shapers)?;
            made.is_shaped |= made.ports[usize::from(port)].egress.is_shaped();
        }
        made.start_clock(0, config, clock, &mut Lists::default())?;
        Ok(made)
    }

    /// The PTP clock shows its start in this tick (with another rate than the bridge's, about that), and lists run as if
    /// they always had.
    pub fn start_clock(
        &mut self,
        tick: Tick,
        config: &BridgeConfig,
        clock: &Clock,
        lists: &mut Lists,
    ) -> Result<(), BridgeError> {
        self.gate_time = gate_time(clock, config.ptp, tick)?;
        for gates in &config.gates {
            let (state, line) = self.at(clock, gates.port);
            start_list(&mut state.egress, &line, config.ptp, gates, tick, lists)?;
        }
        for port in 0..self.count() {
            let (state, line) = self.at(clock, port);
            state.egress.begin(&line, tick);
        }
        Ok(())
    }

    pub fn count(&self) -> u16 {
        self.ports.len() as u16
    }

    /// Copies that are queued, or given up and not yet released.
    pub fn queued(&self) -> usize {
        self.ports.iter().map(|port| port.egress.len() + usize::from(port.lifetime.given_up().is_some())).sum()
    }

    /// When a port selected that gives a frame up and of which that is not known, before a tick: the first.
    pub fn undecided(&self, until: Tick) -> Option<(Tick, u16)> {
        let ports = self.ports.iter().zip(0..).filter(|(port, _)| !port.lifetime.is_idle() && port.due < until);
        ports.map(|(port, number)| (port.due, number)).min()
    }

    pub fn get(&self, port: u16) -> &Port {
        &self.ports[usize::from(port)]
    }

    /// A port, and its line.
    #[inline(always)]
    pub fn at<'a>(&'a mut self, clock: &'a Clock, port: u16) -> (&'a mut Port, Line<'a>) {
        let line = Line { clock, gate_time: &self.gate_time, port, counting: self.counting };
        (&mut self.ports[usize::from(port)], line)
    }

    /// Whether a frame is too long for an egress port, as far as that is read at `at`.
    #[inline(always)]
    pub fn is_too_long(&self, clock: &Clock, at: Tick, egress: u16, traffic_class: usize, bytes: u16) -> bool {
        self.is_shaped && self.is_too_long_if_shaped(clock, at, egress, traffic_class, bytes)
    }

    #[inline]
    fn is_too_long_if_shaped(&self, clock: &Clock, at: Tick, port: u16, traffic_class: usize, bytes: u16) -> bool {
        let line = Line { clock, gate_time: &self.gate_time, port, counting: self.counting };
        self.ports.get(usize::from(port)).is_some_and(|state| state.egress.is_too_long(&line, at, traffic_class, bytes))
    }

    /// Of a mask of egress ports those for which a frame is too long, as far as that is read at `at`.
    #[inline(always)]
    pub fn too_long(&self, clock: &Clock, at: Tick, wanted: u64, traffic_class: usize, bytes: u16) -> u64 {
        if self.is_shaped {
            self.too_long_if_shaped(clock, at, wanted, traffic_class, bytes)
        } else {
            0
        }
    }

    /// As [`Self::too_long`], of a frame whose length is another one at some ports.
    pub fn too_long_as_sent(
        &self,
        clock: &Clock,
        at: Tick,
        wanted: u64,
        class: usize,
        bytes: impl Fn(u16) -> u16,
    ) -> u64 {
        let ports = (0..self.count()).filter(|port| wanted >> port & 1 == 1);
        ports
            .filter(|&port| self.is_too_long(clock, at, port, class, bytes(port)))
            .fold(0, |mask, port| mask | 1 << port)
    }

    #[inline(never)]
    fn too_long_if_shaped(&self, clock: &Clock, at: Tick, wanted: u64, traffic_class: usize, bytes: u16) -> u64 {
        let (mut left, mut too_long) = (wanted, 0);
        while left != 0 {
            let port = left.trailing_zeros() as u16;
            too_long |= u64::from(self.is_too_long_if_shaped(clock, at, port, traffic_class, bytes)) << port;
            left &= left - 1;
        }
        too_long
    }

    /// Ports that are to select at another tick since something changed.
    pub fn take_wakes(&mut self) -> std::vec::Drain<'_, (u16, Tick)> {
        self.wakes.drain(..)
    }

    /// Makes a change, if it is one of egress ports.
    pub fn change(&mut self, clock: &Clock, at: Tick, change: &Change) {
        match *change {
            Change::CountGap(count) => self.counting.gap_costs_credit = count,
            Change::GateEnable(mask) => {
                for port in 0..self.count() {
                    let enable = mask >> port & 1 == 1;
                    if self.ports[usize::from(port)].egress.is_gated() != enable {
                        self.change_gates(clock, at, port).set_enabled(enable);
                        self.replan(clock, at, port);
                    }
                }
            }
            Change::GateStates { port, states } if port < self.count() => {
                self.change_gates(clock, at, port).set_initial_states(states);
                self.replan(clock, at, port);
            }
            Change::Credit { port, traffic_class, enable, idle_slope, gated } if port < self.count() => {
                self.write_credit(clock, at, port, traffic_class, enable, idle_slope, gated);
            }
            Change::RoundRobin { port, members } if port < self.count() => {
                self.ports[usize::from(port)].egress.set_round_robin(members);
            }
            Change::MaxSdu { port, traffic_class, bytes } if port < self.count() => {
                self.is_shaped = true;
                self.ports[usize::from(port)].egress.set_max_bytes(usize::from(traffic_class & 7), bytes);
            }
            _ => {}
        }
    }

    /// A look at a port that has been is judged as it was, before something of the port changes.
    fn change_egress<'a>(&'a mut self, clock: &'a Clock, at: Tick, port: u16) -> (&'a mut EgressPort, Line<'a>) {
        self.is_shaped = true;
        let (state, line) = self.at(clock, port);
        if let Some(look) = state.lifetime.look.filter(|look| look.at < at && look.is_long.is_none()) {
            let is_long = Some(state.egress.never_fits(&line, look.at, look.traffic_class));
            state.lifetime.look = Some(Look { is_long, ..look });
        }
        (&mut state.egress, line)
    }

    /// The gates of a port, of which something changes.
    fn change_gates<'a>(&'a mut self, clock: &'a Clock, at: Tick, port: u16) -> &'a mut Gates {
        let (egress, line) = self.change_egress(clock, at, port);
        egress.change_gates(&line, at)
    }

    /// Nothing is selected at a port before a tick.
    pub fn hold(&mut self, clock: &Clock, now: Tick, port: u16, until: Tick) {
        self.ports[usize::from(port)].egress.hold(until);
        self.replan(clock, now, port);
    }

    /// When a port selects next, since something has changed.
    fn replan(&mut self, clock: &Clock, at: Tick, port: u16) {
        let (state, line) = self.at(clock, port);
        let before = state.due;
        let due = state.plan(&line, at);
        self.wakes.extend(due.filter(|due| *due != before).map(|due| (port, due)));
    }

    /// TABLE_CREDIT. Credit is zero from this tick on; an entry that the hardware refuses is without effect.
    #[allow(clippy::too_many_arguments)] // the entry's fields
    fn write_credit(&mut self, clock: &Clock, at: Tick, port: u16, class: u8, enable: bool, idle: u64, gated: bool) {
        let class = usize::from(class & 7);
        let credit = match Credit::new(idle, credit::PORT_RATE, Bounds::HARDWARE) {
            Ok(credit) => Some(credit),
            Err(_) if enable => return,
            Err(_) => None,
        };
        let (egress, line) = self.change_egress(clock, at, port);
        let sum = egress.idle_slopes_beside(class) + i128::from(idle);
        if enable && !gated && sum > i128::from(credit::PORT_RATE) {
            return;
        }
        egress.set_credit(&line, at, class, credit.filter(|_| enable));
        self.replan(clock, at, port);
    }

    pub fn gate_time(&self) -> &GateTime {
        &self.gate_time
    }

    /// For what sets their gates.
    pub fn with<'a>(&'a mut self, clock: &'a Clock) -> OfClock<'a> {
        OfClock { ports: self, clock }
    }
}

/// Ports, and the clock of their bridge.
pub(super) struct OfClock<'a> {
    ports: &'a mut Ports,
    clock: &'a Clock,
}

impl GatedPorts for OfClock<'_> {
    fn count(&self) -> u16 {
        self.ports.count()
    }

    fn is_shaped(&self, port: u16) -> bool {
        self.ports.ports[usize::from(port)].egress.is_shaped()
    }

    fn gate_time(&mut self) -> &mut GateTime {
        &mut self.ports.gate_time
    }

    fn gates(&self, port: u16) -> Option<&Gates> {
        self.ports.ports[usize::from(port)].egress.gates()
    }

    fn change(&mut self, at: Tick, port: u16) -> &mut Gates {
        self.ports.change_gates(self.clock, at, port)
    }

    fn changed(&mut self, at: Tick, port: u16) {
        self.ports.replan(self.clock, at, port);
    }
}

#[cfg(test)]
mod tests {
    use penstock_frame::Edit;
    use penstock_shaper::admission::Pool;
    use penstock_shaper::egress::{LineTime, Queued, NEVER};

    use super::*;
    use crate::bridge::Timing;

    fn made() -> (Clock, Ports) {
        let clock = Clock::new(3, false, &Timing::Hardware).unwrap();
        let ports = Ports::new(3, &BridgeConfig::default(), &clock).unwrap();
        (clock, ports)
    }

    /// Of class 3, visible in cycle 1000.
    fn queue(ports: &mut Ports, clock: &Clock, port: u16) -> Option<Tick> {
        let (state, line) = ports.at(clock, port);
        let copy = Queued {
            visible: 1_000,
            frame: 0,
            bytes: 64,
            reception: 0,
            edit: Edit::NONE,
            traffic_class: 3,
            pool: Pool::Queue,
            shaped: false,
        };
        state.egress.enqueue(copy);
        state.plan(&line, 900)
    }

    fn wakes(ports: &mut Ports) -> Vec<(u16, Tick)> {
        ports.take_wakes().collect()
    }

    #[test]
    fn a_port_is_told_of_when_a_gate_makes_it_select_at_another_tick() {
        let (clock, mut ports) = made();
        assert_eq!(queue(&mut ports, &clock, 1), Some(1_000));
        assert_eq!((ports.count(), ports.queued(), ports.get(1).due, ports.get(0).due), (3, 1, 1_000, NEVER));
        ports.change(&clock, 900, &Change::GateStates { port: 1, states: 0b1111_0111 });
        ports.change(&clock, 900, &Change::GateEnable(0b010));
        let given_up = ports.get(1).due;
        assert!(given_up > 120 << 20, "its gate is closed, and nothing opens it");
        assert_eq!(wakes(&mut ports), [(1, given_up)]);
        assert_eq!([0, 1, 2].map(|port| ports.get(port).egress.is_gated()), [false, true, false]);
        ports.change(&clock, 950, &Change::GateStates { port: 3, states: 0 });
        ports.change(&clock, 950, &Change::GateStates { port: 1, states: 0b0000_1000 });
        assert_eq!((wakes(&mut ports), ports.get(1).due), (vec![(1, 1_000)], 1_000));
        ports.change(&clock, 960, &Change::GateStates { port: 1, states: 0 });
        ports.change(&clock, 2_000, &Change::GateEnable(0b100));
        assert_eq!(wakes(&mut ports), [(1, given_up), (1, 2_000)], "without gates it may go at once");
        ports.change(&clock, 2_100, &Change::GateEnable(0b100));
        assert_eq!(wakes(&mut ports), []);
    }

    #[test]
    fn a_frame_is_too_long_for_ports_that_say_so() {
        let (clock, mut ports) = made();
        assert_eq!(ports.too_long(&clock, 0, 0b111, 3, 2_000), 0);
        ports.change(&clock, 0, &Change::MaxSdu { port: 3, traffic_class: 3, bytes: 10 });
        assert!(!ports.is_shaped);
        ports.change(&clock, 0, &Change::MaxSdu { port: 2, traffic_class: 3 + 8, bytes: 100 });
        ports.change(&clock, 0, &Change::MaxSdu { port: 0, traffic_class: 3, bytes: 99 });
        let of = |wanted, class, bytes| ports.too_long(&clock, 0, wanted, class, bytes);
        assert_eq!([of(0b111, 3, 99), of(0b111, 3, 100), of(0b111, 3, 101)], [0, 0b001, 0b101]);
        assert_eq!([of(0b110, 3, 101), of(0b011, 3, 101), of(0b111, 2, 101)], [0b100, 0b001, 0]);
        let single = |port, bytes| ports.is_too_long(&clock, 0, port, 3, bytes);
        assert_eq!([single(2, 100), single(2, 101), single(1, 101)], [false, true, false]);
    }

    #[test]
    fn slopes_above_the_rate_of_a_port_are_without_effect_but_for_gated_ones() {
        let (clock, mut ports) = made();
        let mut write = |traffic_class, enable, idle_slope, gated| {
            ports.change(&clock, 0, &Change::Credit { port: 1, traffic_class, enable, idle_slope, gated });
            [7, 6].map(|class| ports.get(1).egress.idle_slopes_beside(class))
        };
        let most = credit::PORT_RATE;
        let sums = |six: u64, seven: u64| [i128::from(six), i128::from(seven)];
        assert_eq!(write(6, true, most - 10, false), sums(most - 10, 0));
        assert_eq!(write(7, true, 11, false), sums(most - 10, 0), "a unit above");
        assert_eq!(write(7 + 8, true, 10, false), sums(most - 10, 10), "three bits count");
        assert_eq!(write(7, true, 11, true), sums(most - 10, 11));
        assert_eq!(write(6, true, most + 1, true), sums(most - 10, 11), "none is above the rate by itself");
        assert_eq!(write(6, false, most + 1, false), sums(0, 11));
        assert_eq!(write(7, false, 5, false), sums(0, 0));
        ports.change(&clock, 0, &Change::RoundRobin { port: 1, members: 0b110 });
        ports.change(&clock, 0, &Change::RoundRobin { port: 3, members: 0b110 });
        assert_eq!([0, 1, 2].map(|port| ports.get(port).egress.round_robin()), [0, 0b110, 0]);
    }

    #[test]
    fn what_is_configured_is_of_its_port_alone() {
        let config = serde_json::json!({"credit": [{"port": 1, "class": 6, "idle_slope_bps": 1_000_000}],
            "max_class_frame_bytes": [[2, 3, 100]], "round_robin": [[0, 6]],
            "gates": [{"port": 2, "entries": [], "initial_states": 1, "cycle_time_ns": 0}]});
        let clock = Clock::new(3, false, &Timing::Hardware).unwrap();
        let ports = Ports::new(3, &serde_json::from_value(config).unwrap(), &clock).unwrap();
        let each = |of: fn(&EgressPort) -> bool| [0, 1, 2].map(|port| of(&ports.get(port).egress));
        assert_eq!(each(|egress| egress.idle_slopes_beside(7) != 0), [false, true, false]);
        assert_eq!(each(|egress| egress.idle_slopes_beside(6) != 0), [false; 3]);
        assert_eq!(each(|egress| egress.round_robin() == 6), [true, false, false]);
        assert_eq!(each(EgressPort::is_gated), [false, false, true]);
        assert_eq!([0, 1, 2].map(|port| ports.is_too_long(&clock, 0, port, 3, 101)), [false, false, true]);
    }

    #[test]
    fn the_gap_counts_from_the_change_on() {
        let (clock, mut ports) = made();
        let spent = |ports: &mut Ports| LineTime::spent(&ports.at(&clock, 0).1, 100, 64);
        assert_eq!(spent(&mut ports), 100 + 64 + 8);
        ports.change(&clock, 0, &Change::CountGap(true));
        assert_eq!(spent(&mut ports), 100 + 64 + 20);
    }
}
