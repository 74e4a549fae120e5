// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::egress::GateDelays;
use crate::ptp_clock::{PtpClock, NOMINAL_INCREMENT};
use proptest::prelude::*;

struct Ports {
    time: GateTime,
    gates: Vec<Gates>,
    changed: Vec<Tick>,
}

impl Ports {
    fn new() -> Self {
        Self::of(1)
    }

    fn of(count: usize) -> Self {
        let delays = GateDelays { states: GATES_CYCLES, ..GateDelays::default() };
        let mut gates = Gates::default();
        gates.set_enabled(true);
        Self { time: GateTime::new(PtpClock::new(0, 0), delays), gates: vec![gates; count], changed: Vec::new() }
    }

    /// Lets the unit do all that it has to do up to a tick.
    fn run(&mut self, unit: &mut GateConfig, until: Tick) {
        while let Some(at) = unit.next_step(&self.time).filter(|&at| at <= until) {
            unit.step(at, self);
        }
    }
}

impl GatedPorts for Ports {
    fn count(&self) -> u16 {
        self.gates.len() as u16
    }
    fn is_shaped(&self, _: u16) -> bool {
        true
    }
    fn gate_time(&mut self) -> &mut GateTime {
        &mut self.time
    }
    fn gates(&self, port: u16) -> Option<&Gates> {
        self.gates.get(usize::from(port))
    }
    fn change(&mut self, _: Tick, port: u16) -> &mut Gates {
        &mut self.gates[usize::from(port)]
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
    let (mut unit, mut port) = (unit(), Ports::new());
    unit.commit(1_000, 0, &registers(0), &port.time);
    assert!(unit.takes_commit(1_001, &port.time) > 1_001, "it is being checked");
    port.run(&mut unit, 1_100);
    assert!(port.changed.is_empty());
    port.run(&mut unit, 20_000);
    // Committed at 8 us; told 2,047 ns before the 65,536 ns of its preparation are over.
    let told = port.changed[0];
    assert!((8 * told).abs_diff(8_000 + 65_536 - 2_047) < 8 * TOLD_CYCLES + 8, "{told}");
    let (_, change_time) = port.gates[0].pending(8_000 + 65_536).unwrap();
    assert_eq!(change_time, (8_000_u64 + 65_536 + 32_768).next_multiple_of(1_000));
    assert_eq!(unit.errors(0), (0, 0));
    let free = unit.takes_commit(1_001, &port.time);
    assert!(free < told && unit.takes_entry(1_001, &port.time) < free);
}

#[test]
fn a_list_takes_the_place_of_one_that_is_pending() {
    let (mut unit, mut port) = (unit(), Ports::new());
    unit.commit(1_000, 0, &registers(0), &port.time);
    let far = GateRegisters { base_s: 1, ..registers(0) };
    unit.commit(1_000, 0, &far, &port.time);
    port.run(&mut unit, 20_000);
    assert_eq!(port.gates[0].pending(8 * 20_000).unwrap().1, 1_000_000_000);
    let free = unit.takes_commit(20_000, &port.time);
    unit.commit(free, 0, &registers(0), &port.time);
    port.run(&mut unit, free + 200);
    assert!(port.gates[0].pending(8 * (free + 200)).is_none(), "taken back");
    port.run(&mut unit, free + 20_000);
    assert!(port.gates[0].pending(8 * free + 65_536).unwrap().1 < 1_000_000_000);
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
        let (mut unit, mut port) = (unit(), Ports::new());
        unit.commit(1_000, 0, &registers, &port.time);
        assert_eq!(unit.errors(0), (1, code));
        assert_eq!(unit.takes_commit(0, &port.time), 1_000 + found + 1);
        assert_eq!(unit.takes_entry(1, &port.time), 1_000 + found + 1);
        port.run(&mut unit, Tick::MAX);
        assert!(port.changed.is_empty());
    }
    let (mut unit, port) = (unit(), Ports::new());
    unit.write_entry(1, Entry { operation: 3, states: 2, interval: 500 });
    unit.commit(1_000, 0, &registers(0), &port.time);
    assert_eq!(unit.errors(0), (1, 4));
    assert_eq!(unit.takes_commit(0, &port.time), 1_000 + FIRST_ENTRY_CYCLES + ENTRY_CYCLES + 1);
}

#[test]
fn a_port_that_is_not_there_is_left_out() {
    let (mut unit, port) = (unit(), Ports::new());
    unit.commit(1_000, 1, &GateRegisters { length: 0, ..registers(0) }, &port.time);
    assert_eq!((unit.errors(0), unit.takes_commit(0, &port.time)), ((0, 0), 0));
}

#[test]
fn a_base_time_in_the_past_of_a_running_list_is_counted() {
    let (mut unit, mut port) = (unit(), Ports::new());
    unit.commit(1_000, 0, &registers(0), &port.time);
    port.run(&mut unit, 100_000);
    unit.commit(100_000, 0, &registers(0), &port.time);
    port.run(&mut unit, 200_000);
    assert_eq!(unit.errors(0), (1, PAST_CODE));
}

/// 802.1Q 8.6.9.3: AdminBaseTime is in the past if it is below CurrentTime.
#[test]
fn a_base_time_that_is_ahead_is_not_in_the_past() {
    let now = Ports::new().time.at(200_000 + GATES_CYCLES);
    for (base, errors) in [(now - 1, 1), (now, 0), (now + 1, 0), (now + PREPARE_NS + LEAD_NS - 1, 0)] {
        let (mut unit, mut port) = (unit(), Ports::new());
        unit.commit(1_000, 0, &registers(0), &port.time);
        port.run(&mut unit, 100_000);
        unit.commit(200_000, 0, &registers(base as u32), &port.time);
        port.run(&mut unit, 300_000);
        assert_eq!(unit.errors(0).0, errors, "{base}");
        // It begins with a cycle counted from its base time, the first that leaves the time that it needs.
        let list = port.gates[0].list(8 * 300_000).unwrap();
        assert_eq!(list.base_time(), base);
    }
}

/// A clock that is set while a commit is worked on: the commit begins again, and counts from the new time.
#[test]
fn a_step_of_the_clock_begins_a_commit_again() {
    for (base, errors) in [(0, (0, 0)), (1_000_000_000, (1, 6))] {
        let (mut unit, mut port) = (unit(), Ports::new());
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
                port.gates[0].pending(port.time.at(209_000)).expect("told after its preparation anew");
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
        let (mut unit, mut port) = (unit(), Ports::new());
        unit.commit(1_000, 0, &registers(0), &port.time);
        let step = Command::Step { s: 0, ns: 1_000 };
        port.run(&mut unit, 1_001 + GATES_CYCLES);
        assert_eq!(unit.clock_command(1_001, step, &mut port), 0);
        let again = unit.next_step(&port.time).expect("it begins again");
        let cycle = again - 4 + late;
        port.run(&mut unit, cycle + GATES_CYCLES);
        assert_eq!(unit.clock_command(cycle, step, &mut port), 0);
        port.run(&mut unit, 20_000);
        assert!(port.gates[0].pending(port.time.at(cycle + 8_400)).is_some(), "{late}");
    }
}

/// The commit that is through when the clock is stepped is pending again; a second step begins that anew.
#[test]
fn steps_of_the_clock_work_out_again_what_is_pending() {
    let (mut unit, mut port) = (unit(), Ports::new());
    unit.commit(1_000, 0, &registers(0), &port.time);
    port.run(&mut unit, 9_500);
    assert!(port.gates[0].pending(port.time.at(9_500)).is_some());
    for at in [10_000, 30_000] {
        let step = Command::Step { s: 0, ns: 1_000_000 };
        assert_eq!(unit.clock_command(at, step, &mut port), 0);
        assert!(port.gates[0].pending(port.time.at(at + GATES_CYCLES)).is_none());
        let now = port.time.at(at + GATES_CYCLES);
        assert!(unit.takes_commit(at + 1, &port.time).abs_diff(at + AGAIN_NS / 8) < 1_000);
        if at == 30_000 {
            port.run(&mut unit, at + 70_000);
            let (_, change_time) = port.gates[0].pending(now + AGAIN_NS).unwrap();
            assert_eq!(change_time, (now + AGAIN_NS + LEAD_NS).next_multiple_of(1_000));
        }
    }
}

/// Until its port is told of the time that a step has moved it to, a change is worked out from the one before.
#[test]
fn a_second_step_moves_a_change_from_where_it_stood_before_the_first() {
    // The first step puts the clock far beyond the change, the second back behind it; the port is told in between or not.
    for (second, kept) in [(10_600, true), (77_000, false)] {
        let (mut unit, mut port) = (unit(), Ports::new());
        let far = GateRegisters { base_s: 5, ..registers(0) };
        unit.commit(1_000, 0, &far, &port.time);
        port.run(&mut unit, 9_500);
        assert_eq!(unit.clock_command(10_000, Command::Set { s: 8, ns: 0 }, &mut port), 0);
        port.run(&mut unit, second);
        assert_eq!(unit.clock_command(second, Command::Set { s: 1, ns: 0 }, &mut port), 0);
        port.run(&mut unit, second + 70_000);
        let now = port.time.at(second + 70_000);
        let (_, change_time) = port.gates[0].pending(now).unwrap();
        assert_eq!(change_time == 5_000_000_000, kept, "{change_time}");
    }
}

/// A commit waits until each port has been told of the time that it waits for after a step.
#[test]
fn all_times_are_looked_at_before_a_commit_after_a_step() {
    let (mut unit, mut port) = (unit(), Ports::new());
    unit.commit(1_000, 0, &registers(0), &port.time);
    port.run(&mut unit, 9_500);
    assert_eq!(unit.clock_command(10_000, Command::Set { s: 8, ns: 0 }, &mut port), 0);
    let told = port.time.tick_of(8_000_000_000 + AGAIN_NS - TOLD_NS);
    // The unit sees the time three cycles before the selections that go by it; four times are looked at, two cycles each,
    // and the one found takes eight more.
    assert_eq!(unit.takes_commit(10_001, &port.time), told - 3 + 4 * 2 + 8 + 1);
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
        let (mut unit, mut port) = (unit(), Ports::new());
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

/// A list of these ports that began with its base time or, if that is ahead, with the clock.
fn begun(base_time: u64) -> Arc<List> {
    let entries = vec![Entry { operation: 0, states: 1, interval: 1_000 }];
    let admin = AdminList { entries, base_time, cycle_time: 1_000, cycle_time_extension: 0 };
    Arc::new(List::compile(&admin, &Capacity::HARDWARE).unwrap())
}

/// The cycles from a step of the clock until an entry and a commit are taken, with what is found at each port: no list is
/// one cycle, one whose base time is ahead 33, one that is to be divided 97, with a remainder 113. Then each of four times
/// of a power of two of ports takes two cycles, and eight more for each that is found.
#[test]
fn a_step_keeps_the_unit_busy_for_what_it_finds() {
    let (ahead, divided, with_rest) = (Some(500_000), Some(768), Some(769));
    let cases = [
        (vec![None], 1 + 1, 4 * 2),
        (vec![None; 3], 1 + 3, 4 * 4 * 2),
        (vec![ahead], 1 + 33, 4 * 2 + 8),
        (vec![divided], 1 + 97, 4 * 2 + 8),
        (vec![with_rest], 1 + 113, 4 * 2 + 8),
        (vec![ahead, None, with_rest], 1 + 33 + 1 + 113, 4 * 4 * 2 + 2 * 8),
    ];
    for (bases, started, looked) in cases {
        let (mut unit, mut ports) = (GateConfig::new(bases.len() as u16), Ports::of(bases.len()));
        for (gates, base) in ports.gates.iter_mut().zip(bases) {
            base.into_iter().for_each(|base| gates.propose(0, begun(base), base));
        }
        let cycle = 100_000;
        assert_eq!(unit.clock_command(cycle, Command::Set { s: 0, ns: 1_000 }, &mut ports), 0);
        assert_eq!(ports.time.at(cycle + GATES_CYCLES), 1_000);
        assert_eq!(ports.changed, vec![cycle + GATES_CYCLES; ports.gates.len()]);
        assert_eq!(unit.takes_entry(cycle + 1, &ports.time), cycle + started);
        assert_eq!(unit.takes_commit(cycle + 1, &ports.time), cycle + started + looked);
    }
}

/// The list that begins as the clock is stepped: whether it has begun, and whether the unit counts it as running.
#[test]
fn what_begins_as_the_clock_is_stepped() {
    // Gate time of a tick is eight times what comes three cycles later.
    let cycle = 100_000;
    let cases = [(8 * (cycle - 2), true, true), (8 * (cycle - 2) + 1, true, false), (8 * (cycle - 1), true, false)];
    for (change_time, begins, is_counted) in cases.into_iter().chain([(8 * (cycle - 1) + 1, false, false)]) {
        let (mut unit, mut ports) = (GateConfig::new(1), Ports::new());
        ports.gates[0].propose(0, begun(0), change_time);
        assert_eq!(unit.clock_command(cycle, Command::Set { s: 0, ns: 1_000 }, &mut ports), 0);
        assert_eq!(ports.gates[0].hold_end().is_some(), begins, "{change_time}");
        let busy = unit.takes_entry(cycle + 1, &ports.time) - cycle;
        assert_eq!(busy > 2, is_counted, "{change_time}");
    }
}

/// After a step entries are taken until the times have been looked at, and not again before the ports have been told of
/// a time that was found.
#[test]
fn entries_are_taken_between_two_looks_after_a_step() {
    let (mut unit, mut ports) = (GateConfig::new(2), Ports::of(2));
    for gates in &mut ports.gates {
        gates.propose(0, begun(0), 5_000_000_000);
    }
    let cycle = 100_000;
    assert_eq!(unit.clock_command(cycle, Command::Set { s: 0, ns: 1_000 }, &mut ports), 0);
    let looked = cycle + 1 + 2 + 4 * 2 * 2;
    assert_eq!(unit.takes_entry(cycle + 1, &ports.time), cycle + 3);
    assert_eq!(unit.takes_entry(looked - 1, &ports.time), looked - 1);
    let told = ports.time.tick_of(1_000 + AGAIN_NS - TOLD_NS) - GATES_CYCLES;
    assert_eq!(unit.takes_entry(looked, &ports.time), told + 2);
    assert_eq!(unit.takes_commit(looked, &ports.time), told + 4 * 2 * 2 + 2 * 8 + 1);
}

/// A change is decided 32,768 ns ahead, as the unit sees it when it could take it back: then a commit waits until it
/// has acted.
#[test]
fn a_change_is_taken_back_up_to_the_cycle_in_which_it_is_decided() {
    let acts = 125_000_003;
    // Up to 57 cycles before it sees that time the unit takes the commit that would take the change back.
    let decided = (1_000_000_000 - 32_768) / 8 - 57;
    let commits = [decided, decided + 1, acts - 62, acts - 61, acts - 60];
    let free = [None, Some(acts + 3), Some(acts + 3), Some(acts + 3), Some(acts + 4)];
    for (commit, free) in commits.into_iter().zip(free) {
        let (mut unit, mut port) = (unit(), Ports::new());
        port.gates[0].propose(0, begun(0), 1_000_000_000);
        assert_eq!(port.time.tick_of(1_000_000_000), acts);
        unit.commit(commit, 0, &registers(0), &port.time);
        port.run(&mut unit, commit + 62);
        assert_eq!(port.gates[0].pending(port.time.at(commit)).is_none(), free.is_none(), "{}", commit - decided);
        if let Some(free) = free {
            assert_eq!(unit.takes_commit(commit, &port.time), free, "{}", commit - decided);
        }
    }
}

/// A step interrupts a commit up to the cycle in which its port is told; then that is worked out again.
#[test]
fn a_step_interrupts_a_commit_until_the_next_entry_is_taken() {
    for late in [0, 1] {
        let (mut unit, mut port) = (unit(), Ports::new());
        unit.commit(1_000, 0, &registers(0), &port.time);
        port.run(&mut unit, 2_000);
        let cycle = unit.takes_entry(2_000, &port.time) - 1 + late;
        port.run(&mut unit, cycle + GATES_CYCLES);
        assert_eq!(unit.clock_command(cycle, Command::Set { s: 0, ns: 1_000 }, &mut port), 0);
        let takes_entries = unit.takes_entry(cycle + 1, &port.time) == cycle + 2;
        assert_eq!(takes_entries, late == 1);
    }
}

/// A commit that is taken before the port knows what it was told before leaves that as it is, whatever becomes of it.
#[test]
fn what_was_told_before_the_commit_that_a_step_interrupts_stays() {
    let (mut unit, mut port) = (unit(), Ports::new());
    unit.commit(1_000, 0, &registers(0), &port.time);
    port.run(&mut unit, 2_000);
    let commit = unit.takes_commit(2_000, &port.time);
    let bad = GateRegisters { length: 0, ..registers(0) };
    unit.commit(commit, 0, &bad, &port.time);
    let set = Command::Set { s: 0, ns: 1_000 };
    assert_eq!(unit.clock_command(commit + 1, set, &mut port), 0);
    assert_eq!(unit.clock_command(commit + 20, set, &mut port), 0);
    port.run(&mut unit, commit + 80_000);
    assert_eq!(unit.errors(0), (1, 1), "the other one is refused, once");
    assert!(port.gates[0].pending(1_000 + AGAIN_NS).is_some());
}

/// The port is told ten cycles after it could take an entry again; in those a second step finds the time that the first
/// one has moved the change to.
#[test]
fn a_change_is_where_a_step_has_moved_it_as_soon_as_it_is_told() {
    for (late, kept) in [(1, true), (2, false)] {
        let (mut unit, mut port) = (unit(), Ports::new());
        port.gates[0].propose(0, begun(0), 5_000_000_000);
        assert_eq!(unit.clock_command(10_000, Command::Set { s: 8, ns: 0 }, &mut port), 0);
        let second = port.time.tick_of(8_000_000_000 + AGAIN_NS - TOLD_NS) - GATES_CYCLES + late;
        port.run(&mut unit, second + GATES_CYCLES);
        assert_eq!(unit.clock_command(second, Command::Set { s: 1, ns: 0 }, &mut port), 0);
        port.run(&mut unit, second + 70_000);
        let (_, change_time) = port.gates[0].pending(port.time.at(second + 70_000)).unwrap();
        assert_eq!(change_time == 5_000_000_000, kept, "{change_time}");
    }
}

/// What the unit has seen it has seen, also where the clock runs at another rate from then on.
#[test]
fn another_rate_of_the_clock_does_not_move_what_was_seen() {
    for late in 1..TOLD_CYCLES {
        let (mut unit, mut port) = (unit(), Ports::new());
        unit.commit(1_000, 0, &registers(0), &port.time);
        port.run(&mut unit, 2_000);
        let seen = unit.takes_entry(2_000, &port.time) - WRITABLE_CYCLES;
        let next = unit.next_step(&port.time);
        assert_eq!(unit.clock_command(seen + late, Command::Increment(NOMINAL_INCREMENT / 4), &mut port), 0);
        assert_eq!(unit.takes_entry(2_000, &port.time), seen + WRITABLE_CYCLES);
        assert_eq!((unit.takes_commit(2_000, &port.time), unit.next_step(&port.time)), (seen + FREE_CYCLES, next));
    }
}

proptest! {
    #[test]
    fn what_is_seen_moves_with_the_clock_and_what_was_seen_stays(
        ahead in 0_u64..64, ticks in 0_u64..100, later in 0_u64..100, set in 0_u64..2_000,
    ) {
        let (mut time, cycle) = (Ports::new().time, 100);
        let when = When::seen(time.at(cycle) + ahead, ticks);
        prop_assert_eq!(when.later(later).at(&time), when.at(&time) + later);
        let mut kept = when;
        kept.keep(&time, cycle);
        let (seen, before) = (time.tick_of(time.at(cycle) + ahead) - GATES_CYCLES, when.at(&time));
        prop_assert_eq!(before, seen + ticks);
        time.command(cycle, Command::Set { s: 0, ns: set as u32 }).unwrap();
        prop_assert_eq!(kept.at(&time), if seen < cycle { before } else { when.at(&time) });
    }
}
