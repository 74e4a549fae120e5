// SPDX-License-Identifier: Apache-2.0
//! Credit of a class behind its gate (802.1Q 8.6.8.2), looked at when there is a reason to only.
//!
//! While nothing else changes, credit depends on the number of ticks in which the gate was open, and on nothing else.
use crate::credit::{Credit, Inputs};
use crate::gates::{GateTime, Gates, OpenTicks};
use crate::Time;

#[derive(Clone, Debug)]
pub struct GatedCredit {
    /// At tick `at`, with all that happened before.
    credit: Credit,
    at: Time,
    /// The first tick without debt, if it is known.
    without_debt: Option<Time>,
    open: OpenTicks,
}

impl GatedCredit {
    /// Of a traffic class, from a tick on.
    pub fn new(traffic_class: usize, at: Time, credit: Credit) -> Self {
        Self { credit, at, without_debt: None, open: OpenTicks::new(traffic_class) }
    }

    /// The tick up to which everything is known.
    pub fn at(&self) -> Time {
        self.at
    }

    pub fn credit(&self) -> &Credit {
        &self.credit
    }

    /// What is transmitted, the gates or their clock will be others than [`Self::without_debt_from`] went by.
    pub fn forget(&mut self) {
        self.without_debt = None;
    }

    /// The class transmits up to a tick.
    pub fn transmit(&mut self, to: Time) {
        self.credit = transmitted(self.credit, to.saturating_sub(self.at));
        self.at = self.at.max(to);
    }

    /// The class does not transmit up to a tick, and a frame of it waits all the time or not at all. While one waits whose
    /// gate does not stay open for the guard, credit stays as it is; see [`OpenTicks`].
    pub fn pass(&mut self, gates: &Gates, time: &GateTime, to: Time, waiting: bool, guard: Time) {
        let from = self.at;
        if to <= from {
            return;
        }
        self.at = to;
        // Credit that nothing waits for is given up behind a closed gate too.
        let is_without_debt = || self.without_debt.is_some_and(|at| at <= to);
        if !waiting && (self.credit.credit() >= 0 || is_without_debt()) {
            return self.credit.rest();
        }
        let guard = if waiting { guard } else { 0 };
        let open = if gates.is_enabled() { self.open.between(gates, time, from, to, guard) } else { to - from };
        self.credit.advance(open, Inputs { transmitting: false, gate_open: true, waiting });
    }

    /// The first tick without debt, if the class transmits up to `sending` and nothing else happens; `u64::MAX`: none.
    /// It is kept until [`Self::forget`].
    pub fn without_debt_from(&mut self, gates: &Gates, time: &GateTime, sending: Option<Time>) -> Time {
        if let Some(tick) = self.without_debt {
            return tick.max(self.at);
        }
        let from = sending.map_or(self.at, |until| until.max(self.at));
        let wanted = transmitted(self.credit, from - self.at).ticks_to_zero();
        let tick = match gates.is_enabled() {
            _ if wanted == 0 => from,
            true => self.open.after(gates, time, from, wanted, 0).unwrap_or(Time::MAX),
            false => from.saturating_add(wanted),
        };
        self.without_debt = Some(tick);
        tick
    }

    /// The first tick without debt, if a frame waits from now on that needs a guard; `u64::MAX`: none.
    pub fn without_debt_behind(&mut self, gates: &Gates, time: &GateTime, guard: Time) -> Time {
        match self.credit.ticks_to_zero() {
            0 => self.at,
            wanted => self.open.after(gates, time, self.at, wanted, guard).unwrap_or(Time::MAX),
        }
    }

    /// What would be found after some time, which has not passed.
    pub fn ahead<T>(&mut self, find: impl FnOnce(&mut Self) -> T) -> T {
        let (credit, at) = (self.credit, self.at);
        let found = find(self);
        (self.credit, self.at) = (credit, at);
        found
    }
}

fn transmitted(mut credit: Credit, ticks: Time) -> Credit {
    credit.advance(ticks, Inputs { transmitting: true, gate_open: true, waiting: true });
    credit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credit::{Bounds, PORT_RATE};
    use crate::gates::{AdminList, Capacity, Entry, GateDelays};
    use crate::ptp_clock::{PtpClock, NOMINAL_INCREMENT};
    use proptest::prelude::*;

    const CLASS: usize = 5;

    #[derive(Clone, Copy, Debug)]
    enum Act {
        Transmit,
        Wait,
        Rest,
    }

    fn gates(entries: &[(u8, u64)], cycle_time: u64) -> Gates {
        let capacity = Capacity { least_interval: 1, ..Capacity::HARDWARE };
        let entries = entries.iter().map(|&(states, interval)| Entry { operation: 0, states, interval }).collect();
        let admin = AdminList { entries, base_time: 0, cycle_time, cycle_time_extension: 0 };
        let mut gates = Gates::default();
        gates.set_enabled(true);
        gates.commit(0, 0, &admin, &capacity).unwrap();
        gates
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        /// Credit, and when it is zero, against one tick after the other.
        #[test]
        fn closed_form_is_what_steps_give(
            entries in prop::collection::vec((prop_oneof![Just(0_u8), any::<u8>()], 1_u64..90), 1..6),
            cycle_time in 1_u64..300,
            slope in prop_oneof![1..=PORT_RATE, 20_000_u64..2_000_000],
            bounds in prop_oneof![Just(Bounds::HARDWARE), Just(Bounds { least: -1 << 31, most: 1 << 28 })],
            drift in prop_oneof![Just(0_i64), -90_000_000_i64..90_000_000],
            script in prop::collection::vec(
                (
                    prop_oneof![Just(Act::Transmit), Just(Act::Wait), Just(Act::Rest)],
                    prop_oneof![1 => Just(0), 4 => 0_u64..500],
                    any::<bool>(),
                ),
                1..12,
            ),
        ) {
            let gates = gates(&entries, cycle_time);
            let increment = NOMINAL_INCREMENT.wrapping_add_signed(drift);
            let time = GateTime::new(PtpClock::new(0, 0).with_increment(increment), GateDelays::default());
            let mut credit = GatedCredit::new(CLASS, 3, Credit::new(slope, PORT_RATE, bounds).unwrap());
            let mut stepped = *credit.credit();
            let mut at = 3;
            for (act, ticks, asks) in script {
                let transmitting = matches!(act, Act::Transmit);
                let waiting = !matches!(act, Act::Rest);
                let sending = Some(at + ticks).filter(|_| transmitting);
                if transmitting {
                    credit.forget();
                }
                let free = asks.then(|| credit.without_debt_from(&gates, &time, sending));
                for _ in 0..ticks {
                    let gate_open = gates.states(time.at(at)) >> CLASS & 1 == 1;
                    stepped.step(Inputs { transmitting, gate_open, waiting });
                    at += 1;
                }
                match act {
                    Act::Transmit => credit.transmit(at),
                    Act::Wait | Act::Rest => credit.pass(&gates, &time, at, waiting, 0),
                }
                prop_assert_eq!(credit.credit(), &stepped, "{:?} to {}", act, at);
                let mut rising = stepped;
                let mut tick = at;
                while rising.credit() < 0 && tick < at + 3_000 {
                    let gate_open = gates.states(time.at(tick)) >> CLASS & 1 == 1;
                    rising.step(Inputs { transmitting: false, gate_open, waiting: true });
                    tick += 1;
                }
                if let Some(free) = free.filter(|_| transmitting && rising.credit() >= 0) {
                    prop_assert_eq!(free, tick);
                }
                if !asks {
                    continue;
                }
                if rising.credit() < 0 {
                    prop_assert!(credit.without_debt_from(&gates, &time, None) > tick);
                } else {
                    prop_assert_eq!(credit.without_debt_from(&gates, &time, None), tick);
                }
            }
        }
    }

    /// Credit that nothing waits for is given up behind a closed gate, whether or not anybody has asked for it.
    #[test]
    fn credit_that_nothing_waits_for_is_given_up() {
        let gates = gates(&[(0xFF, 1_000), (0, 9_000)], 10_000);
        let time = GateTime::new(PtpClock::new(0, 0), GateDelays::default());
        for asks in [false, true] {
            let mut credit = GatedCredit::new(CLASS, 0, Credit::new(1_000, PORT_RATE, Bounds::HARDWARE).unwrap());
            credit.pass(&gates, &time, 100, true, 0);
            assert_eq!(credit.credit().credit(), 100 * 1_000);
            if asks {
                credit.without_debt_from(&gates, &time, None);
            }
            // From 1,600 ns on to 2,400 ns.
            credit.pass(&gates, &time, 200, true, 0);
            credit.pass(&gates, &time, 300, false, 0);
            assert_eq!(credit.credit().credit(), 0);
        }
    }

    /// A frame of 1542 bytes at 1 kb/s behind a gate that is open for one of ten microseconds: ten times 12.3 s, less
    /// what it takes itself.
    #[test]
    fn the_smallest_slope_behind_a_short_window() {
        let gates = gates(&[(0xFF, 1_000), (0, 9_000)], 10_000);
        for (increment, rate) in [(NOMINAL_INCREMENT, 1.0), (NOMINAL_INCREMENT + 3_435_977, 1.0001)] {
            let time = GateTime::new(PtpClock::new(0, 0).with_increment(increment), GateDelays::default());
            let slope = crate::credit::idle_slope(1_000);
            let mut credit = GatedCredit::new(CLASS, 0, Credit::new(slope, PORT_RATE, Bounds::HARDWARE).unwrap());
            credit.transmit(1_542);
            let free = credit.without_debt_from(&gates, &time, None);
            let seconds = (free - 1_542) as f64 * 8e-9;
            // The slope is rounded down to whole units.
            let earned = 1_542.0 * 8.0 / (slope as f64 / PORT_RATE as f64 * 1e9);
            assert!((seconds / (10.0 * earned) - 1.0).abs() < 1e-5, "{seconds} s at {rate}");
            credit.pass(&gates, &time, free - 1, true, 0);
            assert!(credit.credit().credit() < 0);
            credit.pass(&gates, &time, free, true, 0);
            assert!((0..i128::from(slope)).contains(&credit.credit().credit()));
        }
    }
}
