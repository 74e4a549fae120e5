// SPDX-License-Identifier: Apache-2.0
//! The credit-based shaper, 802.1Q 8.6.8.2. Twin of `pen_credit`.
//!
//! Credit is a whole number of *units* and time a whole number of *ticks*: in hardware 2^-24 bit and cycles of 8 ns, in
//! other bridges 10^-12 bit and picoseconds, so that a slope in b/s is one in units a tick. A class with credit of zero or
//! more may be selected. Its credit falls by sendSlope while it transmits, rises by idleSlope while it waits or is below
//! zero, is frozen while its gate is closed, and is zero when nothing waits.
use thiserror::Error;

use crate::{signed, unsigned, Time};

/// Fraction of a bit in hardware.
pub const FRACTION_BITS: u32 = 24;
/// 1 Gb/s: what a port sends in a cycle of 8 ns.
pub const PORT_RATE: u64 = 8 << FRACTION_BITS;
pub const PORT_RATE_BPS: u64 = 1_000_000_000;

/// Credit goes no further, once it is there: it rises from below `most` and falls from above `least` only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub least: i128,
    pub most: i128,
}

impl Bounds {
    /// A class with so much gains nothing more; below, none is selected without credit, so the 48 bit are enough.
    pub const HARDWARE: Self = Self { least: -(1 << 100), most: 1 << 46 };
    pub const NONE: Self = Self { least: -(1 << 100), most: 1 << 100 };
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("idleSlope of {idle} units a tick: more than 0 and at most the port's {port_rate} are allowed")]
pub struct SlopeError {
    pub idle: u64,
    pub port_rate: u64,
}

/// idleSlope in the hardware's units a cycle, rounded down: a class never gets more than it asked for.
pub fn idle_slope(bps: u64) -> u64 {
    (u128::from(bps) * u128::from(PORT_RATE) / u128::from(PORT_RATE_BPS)) as u64
}

/// What decides about a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inputs {
    pub transmitting: bool,
    pub gate_open: bool,
    /// A frame of the class waits only for credit, its gate, or the transmitter.
    pub waiting: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    idle: i128,
    /// Negative or zero.
    send: i128,
    credit: i128,
    hi: i128,
    lo: i128,
    bounds: Bounds,
}

impl Credit {
    /// sendSlope is idleSlope less the rate of the port.
    pub fn new(idle: u64, port_rate: u64, bounds: Bounds) -> Result<Self, SlopeError> {
        if idle == 0 || idle > port_rate {
            return Err(SlopeError { idle, port_rate });
        }
        let (idle, rate) = (i128::from(idle), i128::from(port_rate));
        Ok(Self { idle, send: idle - rate, credit: 0, hi: 0, lo: 0, bounds })
    }

    pub fn credit(&self) -> i128 {
        self.credit
    }

    pub fn idle_slope(&self) -> i128 {
        self.idle
    }

    pub fn send_slope(&self) -> i128 {
        self.send
    }

    /// The largest credit that the class was selected with, or has.
    pub fn hi(&self) -> i128 {
        self.hi.max(self.credit)
    }

    /// The least credit that a transmission left, or that there is.
    pub fn lo(&self) -> i128 {
        self.lo.min(self.credit)
    }

    /// Forgets what was observed.
    pub fn clear(&mut self) {
        (self.hi, self.lo) = (0, 0);
    }

    /// The class is selected in this tick.
    pub fn selected(&mut self) {
        self.hi = self.hi.max(self.credit);
    }

    /// The transmission has ended: this is the first tick in which the class no longer transmits.
    pub fn sent(&mut self) {
        self.lo = self.lo.min(self.credit);
    }

    /// To the next tick.
    pub fn step(&mut self, inputs: Inputs) {
        self.credit = if inputs.transmitting {
            if self.credit > self.bounds.least {
                self.credit + self.send
            } else {
                self.credit
            }
        } else if !inputs.waiting && self.credit > 0 {
            0
        } else if !inputs.gate_open {
            self.credit
        } else if inputs.waiting {
            if self.credit < self.bounds.most {
                self.credit + self.idle
            } else {
                self.credit
            }
        } else {
            (self.credit + self.idle).min(0)
        };
    }

    /// Credit after so many ticks with the same inputs.
    #[inline]
    pub fn after(&self, ticks: Time, inputs: Inputs) -> i128 {
        let ticks = signed(ticks);
        if ticks == 0 {
            return self.credit;
        }
        if inputs.transmitting {
            return towards(self.credit, self.bounds.least, self.send, ticks);
        }
        if !inputs.waiting && self.credit > 0 {
            return 0;
        }
        if !inputs.gate_open {
            return self.credit;
        }
        if inputs.waiting {
            return towards(self.credit, self.bounds.most, self.idle, ticks);
        }
        (self.credit + ticks * self.idle).min(0)
    }

    /// Nothing has waited for so long that there is neither credit nor debt.
    #[inline]
    pub fn rest(&mut self) {
        self.credit = 0;
    }

    /// So many ticks with the same inputs.
    #[inline]
    pub fn advance(&mut self, ticks: Time, inputs: Inputs) {
        self.credit = self.after(ticks, inputs);
    }

    /// Ticks of rising until the class may be selected: its gate open, and not transmitting.
    #[inline]
    pub fn ticks_to_zero(&self) -> Time {
        if self.credit >= 0 {
            return 0;
        }
        // A division of 64 bit costs a fraction of one of 128.
        match (u64::try_from(-self.credit), u64::try_from(self.idle)) {
            (Ok(debt), Ok(idle)) => Time::from(debt.div_ceil(idle)),
            _ => unsigned((-self.credit + self.idle - 1) / self.idle).unwrap_or(Time::MAX),
        }
    }
}

/// Steps of `slope` from `credit` that end at the first value which is not on this side of `bound`.
#[inline]
fn towards(credit: i128, bound: i128, slope: i128, ticks: i128) -> i128 {
    let end = credit + ticks * slope;
    // What there was one tick before tells whether the last one was still made.
    let inside = |value: i128| if slope < 0 { value > bound } else { value < bound };
    if slope == 0 || inside(end - slope) {
        return end;
    }
    if !inside(credit) {
        return credit;
    }
    let way = (bound - credit).abs();
    credit + (way + slope.abs() - 1) / slope.abs() * slope
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn inputs() -> impl Strategy<Value = Inputs> {
        (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(transmitting, gate_open, waiting)| Inputs {
            transmitting,
            gate_open,
            waiting,
        })
    }

    fn bounds() -> impl Strategy<Value = Bounds> {
        let near = (1_i128..1 << 34, 1_i128..1 << 34).prop_map(|(least, most)| Bounds { least: -least, most });
        prop_oneof![Just(Bounds::HARDWARE), Just(Bounds::NONE), near]
    }

    const RISING: Inputs = Inputs { transmitting: false, gate_open: true, waiting: true };

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn closed_form_is_what_steps_give(
            idle in prop_oneof![1..=PORT_RATE, 1_u64..1_000_000],
            bounds in bounds(),
            script in prop::collection::vec((inputs(), 0_u64..600), 1..30),
        ) {
            let mut stepped = Credit::new(idle, PORT_RATE, bounds).unwrap();
            for (inputs, ticks) in script {
                let from = stepped;
                for n in 0..ticks {
                    prop_assert_eq!(from.after(n, inputs), stepped.credit());
                    stepped.step(inputs);
                }
                prop_assert_eq!(from.after(ticks, inputs), stepped.credit());
                let mut rising = stepped;
                let wanted = stepped.ticks_to_zero();
                if wanted < 5_000 && bounds.most > 0 {
                    for _ in 0..wanted {
                        prop_assert!(rising.credit() < 0);
                        rising.step(RISING);
                    }
                    prop_assert!(rising.credit() >= 0);
                }
                prop_assert!(stepped.credit() < 1 << 47 || bounds == Bounds::NONE);
            }
        }

        /// hiCredit and loCredit of one class (802.1Q L.1): loCredit is what its longest frame costs.
        #[test]
        fn a_greedy_class_keeps_its_rate(idle in 1_u64 << 20..PORT_RATE, bytes in 72_u64..2_000) {
            let mut credit = Credit::new(idle, PORT_RATE, Bounds::HARDWARE).unwrap();
            let sending = Inputs { transmitting: true, gate_open: true, waiting: true };
            let mut ticks = 0;
            let frames = 200;
            for _ in 0..frames {
                credit.selected();
                credit.advance(bytes, sending);
                credit.sent();
                let wait = credit.ticks_to_zero();
                credit.advance(wait, RISING);
                ticks += bytes + wait;
            }
            prop_assert_eq!(credit.lo(), i128::from(bytes) * credit.send_slope());
            prop_assert!(credit.hi() < i128::from(idle));
            // All that was earned was spent but for what is left.
            let earned = u128::from(ticks) * u128::from(idle);
            let spent = u128::from(frames * bytes) * u128::from(PORT_RATE);
            prop_assert_eq!(earned - spent, u128::try_from(credit.credit()).unwrap());
        }
    }

    /// Where a bound is reached exactly nothing more is added, and what was observed is what was there.
    #[test]
    fn bounds_and_observations() {
        let sending = Inputs { transmitting: true, gate_open: true, waiting: true };
        let mut credit = Credit::new(4, 10, Bounds { least: -18, most: 12 }).unwrap();
        assert_eq!((credit.idle_slope(), credit.send_slope()), (4, -6));
        assert_eq!([0, 3, 4].map(|ticks| credit.after(ticks, RISING)), [0, 12, 12]);
        assert_eq!([0, 3, 4].map(|ticks| credit.after(ticks, sending)), [0, -18, -18]);
        for _ in 0..4 {
            credit.step(RISING);
        }
        credit.selected();
        assert_eq!((credit.credit(), credit.hi(), credit.lo()), (12, 12, 0));
        for _ in 0..6 {
            credit.step(sending);
        }
        assert_eq!((credit.credit(), credit.hi(), credit.lo()), (-18, 12, -18));
        credit.sent();
        credit.rest();
        assert_eq!((credit.hi(), credit.lo()), (12, -18));
        credit.clear();
        assert_eq!((credit.hi(), credit.lo()), (0, 0));
    }

    /// In hardware credit stops at 2^46 units, and debt is as deep as it comes.
    #[test]
    fn debt_of_any_depth_is_paid() {
        let sending = Inputs { transmitting: true, gate_open: true, waiting: true };
        for (idle, sent) in [(70, 1 << 40), (PORT_RATE / 3, 1 << 50), (PORT_RATE / 2, 1 << 50)] {
            let mut credit = Credit::new(idle, PORT_RATE, Bounds::HARDWARE).unwrap();
            let idle = i128::from(idle);
            assert_eq!(credit.after(1 << 50, RISING) - (1 << 46), (idle - (1 << 46) % idle) % idle);
            credit.advance(sent, sending);
            assert_eq!(-credit.credit(), (i128::from(PORT_RATE) - idle) * i128::from(sent));
            let ticks = credit.ticks_to_zero();
            assert_eq!((credit.after(ticks - 1, RISING) < 0, credit.after(ticks, RISING) >= 0), (true, true));
        }
    }

    #[test]
    fn nothing_is_kept_when_nothing_waits_even_behind_a_closed_gate() {
        let mut credit = Credit::new(1_000, PORT_RATE, Bounds::HARDWARE).unwrap();
        credit.advance(10, RISING);
        assert_eq!(credit.credit(), 10_000);
        credit.step(Inputs { transmitting: false, gate_open: false, waiting: true });
        assert_eq!(credit.credit(), 10_000, "frozen");
        credit.step(Inputs { transmitting: false, gate_open: false, waiting: false });
        assert_eq!(credit.credit(), 0);
    }

    #[test]
    fn slopes_are_rounded_down_and_refused_beyond_the_port() {
        assert_eq!(idle_slope(PORT_RATE_BPS), PORT_RATE);
        assert_eq!(idle_slope(1), 0);
        assert_eq!(idle_slope(100_000_000), PORT_RATE / 10);
        assert!(Credit::new(0, PORT_RATE, Bounds::HARDWARE).is_err());
        assert!(Credit::new(PORT_RATE + 1, PORT_RATE, Bounds::HARDWARE).is_err());
        assert!(Credit::new(PORT_RATE, PORT_RATE, Bounds::HARDWARE).is_ok());
    }
}
