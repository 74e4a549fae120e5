// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::egress::GateDelays;
use crate::ptp_clock::PtpClock;

struct Port {
    time: GateTime,
    gates: Gates,
    changed: Vec<Tick>,
}

impl Port {
    fn new() -> Self {
        let delays = GateDelays { states: GATES_CYCLES, ..GateDelays::default() };
        let mut gates = Gates::default();
        gates.set_enabled(true);
        Self { time: GateTime::new(PtpClock::new(0, 0), delays), gates, changed: Vec::new() }
    }

    /// Lets the unit do all that it has to do up to a tick.
    fn run(&mut self, unit: &mut GateConfig, until: Tick) {
        while let Some(at) = unit.next_step(&self.time).filter(|&at| at <= until) {
            unit.step(at, self);
        }
    }
}

impl GatedPorts for Port {
    fn count(&self) -> u16 {
        1
    }
    fn is_shaped(&self, _: u16) -> bool {
        true
    }
    fn gate_time(&mut self) -> &mut GateTime {
        &mut self.time
    }
    fn gates(&self, _: u16) -> Option<&Gates> {
        Some(&self.gates)
    }
    fn change(&mut self, _: Tick, _: u16) -> &mut Gates {
        &mut self.gates
    }
    fn changed(&mut self, at: Tick, _: u16) {
        self.changed.push(at);
    }
}

fn unit() -> GateConfig {
    let mut unit = GateConfig::new(1);
    unit.write_entry(0, Entry { operation: 0, states: 1, interval: 500 });
    unit.write_entry(1, Entry { operation: 0, states: 2, interval: 500 });
    unit
}

fn registers(base_ns: u32) -> GateRegisters {
    GateRegisters { base_ns, cycle_time_ns: 1_000, length: 2, ..GateRegisters::default() }
}

#[test]
fn a_list_begins_after_it_was_prepared() {
    let (mut unit, mut port) = (unit(), Port::new());
    unit.commit(1_000, 0, &registers(0), &port.time);
    assert!(unit.takes_commit(1_001, &port.time) > 1_001, "it is being checked");
    port.run(&mut unit, 1_100);
    assert!(port.changed.is_empty());
    port.run(&mut unit, 20_000);
    // Committed at 8 us; told 2,047 ns before the 65,536 ns of its preparation are over.
    let told = port.changed[0];
    assert!((8 * told).abs_diff(8_000 + 65_536 - 2_047) < 8 * TOLD_CYCLES + 8, "{told}");
    let (_, change_time) = port.gates.pending(8_000 + 65_536).unwrap();
    assert_eq!(change_time, (8_000_u64 + 65_536 + 32_768).next_multiple_of(1_000));
    assert_eq!(unit.errors(0), (0, 0));
    let free = unit.takes_commit(1_001, &port.time);
    assert!(free < told && unit.takes_entry(1_001, &port.time) < free);
}

#[test]
fn a_list_takes_the_place_of_one_that_is_pending() {
    let (mut unit, mut port) = (unit(), Port::new());
    unit.commit(1_000, 0, &registers(0), &port.time);
    let far = GateRegisters { base_s: 1, ..registers(0) };
    unit.commit(1_000, 0, &far, &port.time);
    port.run(&mut unit, 20_000);
    assert_eq!(port.gates.pending(8 * 20_000).unwrap().1, 1_000_000_000);
    let free = unit.takes_commit(20_000, &port.time);
    unit.commit(free, 0, &registers(0), &port.time);
    port.run(&mut unit, free + 200);
    assert!(port.gates.pending(8 * (free + 200)).is_none(), "taken back");
    port.run(&mut unit, free + 20_000);
    assert!(port.gates.pending(8 * free + 65_536).unwrap().1 < 1_000_000_000);
}

#[test]
fn what_is_refused_has_the_code_of_the_hardware_and_takes_its_time() {
    let cases = [
        (GateRegisters { length: 0, ..registers(0) }, 1, CHECK_CYCLES),
        (GateRegisters { length: 129, ..registers(0) }, 2, CHECK_CYCLES),
        (GateRegisters { cycle_time_ns: 0, ..registers(0) }, 5, CHECK_CYCLES),
        (registers(1_000_000_000), 6, CHECK_CYCLES),
        (GateRegisters { base_s: u64::MAX, ..registers(0) }, 6, SUM_CYCLES),
    ];
    for (registers, code, found) in cases {
        let (mut unit, mut port) = (unit(), Port::new());
        unit.commit(1_000, 0, &registers, &port.time);
        assert_eq!(unit.errors(0), (1, code));
        assert_eq!(unit.takes_commit(0, &port.time), 1_000 + found + 1);
        port.run(&mut unit, Tick::MAX);
        assert!(port.changed.is_empty());
    }
    let (mut unit, port) = (unit(), Port::new());
    unit.write_entry(1, Entry { operation: 3, states: 2, interval: 500 });
    unit.commit(1_000, 0, &registers(0), &port.time);
    assert_eq!(unit.errors(0), (1, 4));
    assert_eq!(unit.takes_commit(0, &port.time), 1_000 + FIRST_ENTRY_CYCLES + ENTRY_CYCLES + 1);
}

#[test]
fn a_base_time_in_the_past_of_a_running_list_is_counted() {
    let (mut unit, mut port) = (unit(), Port::new());
    unit.commit(1_000, 0, &registers(0), &port.time);
    port.run(&mut unit, 100_000);
    unit.commit(100_000, 0, &registers(0), &port.time);
    port.run(&mut unit, 200_000);
    assert_eq!(unit.errors(0), (1, PAST_CODE));
}

/// 802.1Q 8.6.9.3: AdminBaseTime is in the past if it is below CurrentTime.
#[test]
fn a_base_time_that_is_ahead_is_not_in_the_past() {
    let now = Port::new().time.at(200_000 + GATES_CYCLES);
    for (base, errors) in [(now - 1, 1), (now, 0), (now + 1, 0), (now + PREPARE_NS + LEAD_NS - 1, 0)] {
        let (mut unit, mut port) = (unit(), Port::new());
        unit.commit(1_000, 0, &registers(0), &port.time);
        port.run(&mut unit, 100_000);
        unit.commit(200_000, 0, &registers(base as u32), &port.time);
        port.run(&mut unit, 300_000);
        assert_eq!(unit.errors(0).0, errors, "{base}");
        // It begins with a cycle counted from its base time, the first that leaves the time that it needs.
        let list = port.gates.list(8 * 300_000).unwrap();
        assert_eq!(list.base_time(), base);
    }
}

/// A clock that is set while a commit is worked on: the commit begins again, and counts from the new time.
#[test]
fn a_step_of_the_clock_begins_a_commit_again() {
    for (base, errors) in [(0, (0, 0)), (1_000_000_000, (1, 6))] {
        let (mut unit, mut port) = (unit(), Port::new());
        port.run(&mut unit, 200_000);
        let registers = registers(base);
        unit.commit(200_000, 0, &registers, &port.time);
        let set = Command::Set { s: 0, ns: 1_000 };
        assert_eq!(unit.clock_command(200_001, set, &mut port), 0);
        let writable = unit.takes_entry(200_002, &port.time);
        port.run(&mut unit, 220_000);
        assert_eq!(unit.errors(0), errors, "counted once");
        if errors.0 == 0 {
            let (list, change_time) =
                port.gates.pending(port.time.at(209_000)).expect("told after its preparation anew");
            assert!((1_000 + PREPARE_NS + LEAD_NS..1_000 + 2 * PREPARE_NS).contains(&change_time), "{change_time}");
            assert_eq!(list.cycle_time(), 1_000);
            assert!(writable > 200_000, "entries stay as they are");
        }
        assert!(unit.takes_entry(220_000, &port.time) == 220_000);
    }
}

/// Nor is it lost when the clock is stepped once more, about the cycle in which it begins again.
#[test]
fn a_second_step_of_the_clock_begins_a_commit_again() {
    for late in 0..8 {
        let (mut unit, mut port) = (unit(), Port::new());
        unit.commit(1_000, 0, &registers(0), &port.time);
        let step = Command::Step { s: 0, ns: 1_000 };
        port.run(&mut unit, 1_001 + GATES_CYCLES);
        assert_eq!(unit.clock_command(1_001, step, &mut port), 0);
        let again = unit.next_step(&port.time).expect("it begins again");
        let cycle = again - 4 + late;
        port.run(&mut unit, cycle + GATES_CYCLES);
        assert_eq!(unit.clock_command(cycle, step, &mut port), 0);
        port.run(&mut unit, 20_000);
        assert!(port.gates.pending(port.time.at(cycle + 8_400)).is_some(), "{late}");
    }
}

/// The commit that is through when the clock is stepped is pending again; a second step begins that anew.
#[test]
fn steps_of_the_clock_work_out_again_what_is_pending() {
    let (mut unit, mut port) = (unit(), Port::new());
    unit.commit(1_000, 0, &registers(0), &port.time);
    port.run(&mut unit, 9_500);
    assert!(port.gates.pending(port.time.at(9_500)).is_some());
    for at in [10_000, 30_000] {
        let step = Command::Step { s: 0, ns: 1_000_000 };
        assert_eq!(unit.clock_command(at, step, &mut port), 0);
        assert!(port.gates.pending(port.time.at(at + GATES_CYCLES)).is_none());
        let now = port.time.at(at + GATES_CYCLES);
        assert!(unit.takes_commit(at + 1, &port.time).abs_diff(at + AGAIN_NS / 8) < 1_000);
        if at == 30_000 {
            port.run(&mut unit, at + 70_000);
            let (_, change_time) = port.gates.pending(now + AGAIN_NS).unwrap();
            assert_eq!(change_time, (now + AGAIN_NS + LEAD_NS).next_multiple_of(1_000));
        }
    }
}

/// Until its port is told of the time that a step has moved it to, a change is worked out from the one before.
#[test]
fn a_second_step_moves_a_change_from_where_it_stood_before_the_first() {
    // The first step puts the clock far beyond the change, the second back behind it; the port is told in between or not.
    for (second, kept) in [(10_600, true), (77_000, false)] {
        let (mut unit, mut port) = (unit(), Port::new());
        let far = GateRegisters { base_s: 5, ..registers(0) };
        unit.commit(1_000, 0, &far, &port.time);
        port.run(&mut unit, 9_500);
        assert_eq!(unit.clock_command(10_000, Command::Set { s: 8, ns: 0 }, &mut port), 0);
        port.run(&mut unit, second);
        assert_eq!(unit.clock_command(second, Command::Set { s: 1, ns: 0 }, &mut port), 0);
        port.run(&mut unit, second + 70_000);
        let now = port.time.at(second + 70_000);
        let (_, change_time) = port.gates.pending(now).unwrap();
        assert_eq!(change_time == 5_000_000_000, kept, "{change_time}");
    }
}

/// A commit waits until each port has been told of the time that it waits for after a step.
#[test]
fn all_times_are_looked_at_before_a_commit_after_a_step() {
    let (mut unit, mut port) = (unit(), Port::new());
    unit.commit(1_000, 0, &registers(0), &port.time);
    port.run(&mut unit, 9_500);
    assert_eq!(unit.clock_command(10_000, Command::Set { s: 8, ns: 0 }, &mut port), 0);
    let told = port.time.tick_of(8_000_000_000 + AGAIN_NS - TOLD_NS);
    let free = unit.takes_commit(10_001, &port.time);
    assert!(free.abs_diff(told + LOOK_CYCLES * TIMES + FOUND_CYCLES) < 8, "{free} {told}");
}

/// A list whose first cycle after a step would come too late gives way to the change, which then cannot be taken back.
#[test]
fn a_change_that_the_states_of_a_step_are_held_for_is_locked() {
    let list = |cycle_time| {
        let entries = vec![Entry { operation: 0, states: 1, interval: cycle_time }];
        let admin = AdminList { entries, base_time: 0, cycle_time, cycle_time_extension: 0 };
        Arc::new(List::compile(&admin, &Capacity::HARDWARE).unwrap())
    };
    for (change_time, locked) in [(1_000_063, true), (1_000_064, false)] {
        let mut gates = Gates::default();
        gates.propose(0, list(1_000_000), 0);
        gates.stepped(10, 500_000);
        gates.propose(20, list(1_000), change_time);
        assert_eq!(gates.is_locked(900_000, LEAD_NS), locked, "{change_time}");
    }
}

/// A list that a commit has just taken back is worked out again if the clock is stepped then, and the commit after it.
#[test]
fn a_list_that_is_taken_back_while_the_clock_is_stepped_stays() {
    let cancelled = 10_000 + FIRST_ENTRY_CYCLES + ENTRY_CYCLES + 1;
    for (late, kept) in [(0, true), (1, true), (2, true), (3, false)] {
        let (mut unit, mut port) = (unit(), Port::new());
        let far = GateRegisters { base_s: 5, ..registers(0) };
        unit.commit(1_000, 0, &far, &port.time);
        port.run(&mut unit, 10_000);
        unit.commit(10_000, 0, &registers(0), &port.time);
        let cycle = cancelled + late;
        port.run(&mut unit, cycle + GATES_CYCLES);
        assert_eq!(unit.clock_command(cycle, Command::Step { s: 0, ns: 1_000 }, &mut port), 0);
        let again = unit.takes_commit(cycle + 1, &port.time);
        assert_eq!(again > cycle + 60_000, kept, "{late}");
    }
}
