// SPDX-License-Identifier: Apache-2.0
//! Asynchronous Traffic Shaping, IEEE 802.1Q-2022 8.6.11.3. Twin of `pen_ats`.
//!
//! Times are in *ticks* of 2^-16 ns. A rate is held as the time that a byte takes, in 2^-24 ns and rounded down, and the
//! burst's time is rounded up, so that a frame of a stream that keeps to its rate and burst is never held. So a shaper is
//! faster than its rate, by at most one part in 10^8 at 1 Gb/s, plus one tick a frame: less than one part in 10^6.
use penstock_frame::{BitsPerSecond, Bytes};
use thiserror::Error;

use crate::{signed, unsigned, Time};

pub const TICKS_PER_NS: i128 = 1 << 16;
/// Long before every frame: at this bucket empty time every bucket is full.
pub const LONG_AGO: i128 = -(1 << 78);
/// Until it is set, and the longest that acts: what is set beyond it acts as this.
pub const MAX_RESIDENCE_NS: u32 = 1_000_000_000;
/// The longest ProcessingDelayMax that acts in the hardware, likewise: no frame is due further ahead than half the range
/// of its cycles.
pub const MAX_PROCESSING_DELAY_NS: u32 = (1 << 26) - 1;

const NS_PER_BYTE_BITS: u32 = 44;
const EMPTY_TO_FULL_BITS: u32 = 52;

/// CommittedInformationRate and CommittedBurstSize as the hardware holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Of one byte, 20.24 bit.
    ns_per_byte: u64,
    /// EmptyToFullDuration in ticks.
    empty_to_full: u64,
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RateError {
    #[error("rate of {bps} b/s: {least} b/s to 1 Gb/s are allowed", least = Rate::LEAST.0)]
    Rate { bps: u64 },
    #[error("burst of {bytes} bytes: 1 to {most} bytes are allowed at this rate")]
    Burst { bytes: u64, most: u64 },
    #[error("{name} = {value} does not fit {bits} bit, or is zero")]
    Width { name: &'static str, value: u64, bits: u32 },
}

impl Rate {
    /// The slowest rate whose byte time fits 20 bit of nanoseconds is lower; this one is promised.
    pub const LEAST: BitsPerSecond = BitsPerSecond(10_000);
    pub const MOST: BitsPerSecond = BitsPerSecond(1_000_000_000);

    pub fn new(rate: BitsPerSecond, burst: Bytes) -> Result<Self, RateError> {
        if !(Self::LEAST..=Self::MOST).contains(&rate) {
            return Err(RateError::Rate { bps: rate.0 });
        }
        let ns_per_byte = (8_000_000_000_u64 << 24) / rate.0;
        let most = (((1_u64 << EMPTY_TO_FULL_BITS) - 1) << 8) / ns_per_byte;
        if !(1..=most).contains(&burst.0) {
            return Err(RateError::Burst { bytes: burst.0, most });
        }
        Ok(Self { ns_per_byte, empty_to_full: (burst.0 * ns_per_byte).div_ceil(1 << 8) })
    }

    /// From what a register holds.
    pub fn from_registers(ns_per_byte: u64, empty_to_full: u64) -> Result<Self, RateError> {
        let fits = |name, value: u64, bits| match value {
            0 => Err(RateError::Width { name, value, bits }),
            _ if value >> bits != 0 => Err(RateError::Width { name, value, bits }),
            _ => Ok(value),
        };
        Ok(Self {
            ns_per_byte: fits("ns_per_byte", ns_per_byte, NS_PER_BYTE_BITS)?,
            empty_to_full: fits("empty_to_full", empty_to_full, EMPTY_TO_FULL_BITS)?,
        })
    }

    /// What a table write leaves in the hardware, whatever it is; before the first one all is zero.
    pub fn from_bits(ns_per_byte: u64, empty_to_full: u64) -> Self {
        Self {
            ns_per_byte: ns_per_byte & ((1 << NS_PER_BYTE_BITS) - 1),
            empty_to_full: empty_to_full & ((1 << EMPTY_TO_FULL_BITS) - 1),
        }
    }

    pub fn ns_per_byte(self) -> u64 {
        self.ns_per_byte
    }

    pub fn empty_to_full(self) -> u64 {
        self.empty_to_full
    }

    /// LengthRecoveryDuration in ticks, rounded down.
    fn recovery(self, length: u32) -> i128 {
        (i128::from(length) * i128::from(self.ns_per_byte)) >> 8
    }
}

/// The state of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduler {
    rate: Rate,
    bucket_empty: i128,
}

impl Scheduler {
    /// With a full bucket.
    pub fn new(rate: Rate) -> Self {
        Self { rate, bucket_empty: LONG_AGO }
    }

    pub fn rate(&self) -> Rate {
        self.rate
    }
}

/// The state that the streams of one reception port and traffic class share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    max_residence_ns: u32,
    eligibility: i128,
}

impl Default for Group {
    fn default() -> Self {
        Self::new(MAX_RESIDENCE_NS)
    }
}

impl Group {
    pub fn new(max_residence_ns: u32) -> Self {
        Self { max_residence_ns: max_residence_ns.min(MAX_RESIDENCE_NS), eligibility: LONG_AGO }
    }

    /// As the table write does: the group eligibility time stays.
    pub fn set_max_residence_ns(&mut self, max_residence_ns: u32) {
        self.max_residence_ns = max_residence_ns.min(MAX_RESIDENCE_NS);
    }
}

/// ProcessFrame: the eligibility time in ticks, or none for a frame that is to be discarded (MaxResidenceTime); a
/// discarded frame changes nothing.
///
/// `arrival_ns` is when the last bit arrived, `length` counts the overhead on the wire.
pub fn process_frame(group: &mut Group, scheduler: &mut Scheduler, arrival_ns: Time, length: u32) -> Option<i128> {
    let (eligibility, pass) = process_frame_at(group, scheduler, signed(arrival_ns) * TICKS_PER_NS, length);
    pass.then_some(eligibility)
}

/// As [`process_frame`], with the arrival in ticks; gives the eligibility time also of a frame that does not pass.
#[inline]
pub fn process_frame_at(group: &mut Group, scheduler: &mut Scheduler, arrival: i128, length: u32) -> (i128, bool) {
    let scheduler_eligibility = scheduler.bucket_empty + scheduler.rate.recovery(length);
    let bucket_full = scheduler.bucket_empty + i128::from(scheduler.rate.empty_to_full);
    let eligibility = arrival.max(group.eligibility).max(scheduler_eligibility);
    if eligibility > arrival + i128::from(group.max_residence_ns) * TICKS_PER_NS {
        return (eligibility, false);
    }
    group.eligibility = eligibility;
    scheduler.bucket_empty = if eligibility < bucket_full {
        scheduler_eligibility
    } else {
        scheduler_eligibility + eligibility - bucket_full
    };
    (eligibility, true)
}

/// The first cycle of 8 ns in which a frame may be selected.
pub fn visible_cycle(eligibility: i128, processing_delay_max_ns: u32) -> Time {
    let ticks_per_cycle = 8 * TICKS_PER_NS;
    let delay_ns = processing_delay_max_ns.min(MAX_PROCESSING_DELAY_NS);
    let assigned = eligibility + i128::from(delay_ns) * TICKS_PER_NS;
    unsigned((assigned + ticks_per_cycle - 1).div_euclid(ticks_per_cycle)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rate(bps: u64, burst: u64) -> Rate {
        Rate::new(BitsPerSecond(bps), Bytes(burst)).unwrap()
    }

    #[test]
    fn the_paper_s_burst_passes_at_once_and_the_rest_at_the_rate() {
        let mut group = Group::default();
        let mut scheduler = Scheduler::new(rate(100_000_000, 16 * 1542));
        let arrivals = (0..40_u64).map(|n| 1_000_000 + n * 12_336);
        let eligible: Vec<_> =
            arrivals.clone().map(|at| process_frame(&mut group, &mut scheduler, at, 1542).unwrap()).collect();
        let at_once = eligible.iter().zip(arrivals).filter(|(e, at)| **e == i128::from(*at) * TICKS_PER_NS).count();
        // While 16 frames pass, the bucket regains 1.6 frames; a frame needs a whole one.
        assert_eq!(at_once, 17);
        for pair in eligible[17..].windows(2) {
            assert_eq!((pair[1] - pair[0]) / TICKS_PER_NS, 123_360);
        }
    }

    #[test]
    fn a_frame_that_would_stay_too_long_changes_nothing() {
        let mut group = Group::new(1_000);
        let mut scheduler = Scheduler::new(rate(1_000_000, 100));
        assert!(process_frame(&mut group, &mut scheduler, 5_000, 100).is_some());
        let before = (group, scheduler);
        assert_eq!(process_frame(&mut group, &mut scheduler, 6_000, 100), None);
        assert_eq!((group, scheduler), before);
        // Exactly at the limit it stays.
        let recovered = 5_000 + 800_000 - 1_000;
        assert!(process_frame(&mut group, &mut scheduler, recovered - 1, 100).is_none());
        assert!(process_frame(&mut group, &mut scheduler, recovered, 100).is_some());
    }

    /// A byte at 900 Mb/s is no whole number of 2^-24 ns: what is rounded up adds up.
    #[test]
    fn a_source_at_exactly_its_rate_is_not_held_after_a_day() {
        let frames_a_day = 86_400_000_000_u64 / 12;
        let mut group = Group::default();
        let mut scheduler = Scheduler::new(rate(900_000_000, 1350));
        for n in (0..2_000_000).chain(frames_a_day..frames_a_day + 10) {
            assert_eq!(process_frame(&mut group, &mut scheduler, 12_000 * n, 1350), Some(i128::from(12_000 * n) << 16));
        }
    }

    #[test]
    fn a_residence_beyond_the_longest_acts_as_the_longest() {
        let mut group = Group::new(u32::MAX);
        let mut scheduler = Scheduler::new(rate(10_000, 2020));
        assert!(process_frame(&mut group, &mut scheduler, 0, 2020).is_some());
        assert_eq!(process_frame(&mut group, &mut scheduler, 0, 1251), None, "it would stay for 1.0008 s");
        group.set_max_residence_ns(u32::MAX);
        assert_eq!(process_frame(&mut group, &mut scheduler, 0, 1251), None);
        let most = process_frame(&mut group, &mut scheduler, 0, 1250);
        assert_eq!(most, Some(i128::from(MAX_RESIDENCE_NS) * TICKS_PER_NS));
    }

    #[test]
    fn limits_are_stated() {
        assert_eq!(Rate::new(BitsPerSecond(9_999), Bytes(1)), Err(RateError::Rate { bps: 9_999 }));
        assert!(Rate::new(BitsPerSecond(1_000_000_001), Bytes(1)).is_err());
        let Err(RateError::Burst { most, .. }) = Rate::new(BitsPerSecond(10_000), Bytes(0)) else { panic!() };
        assert!(most > 80_000);
        let at_most = rate(10_000, most);
        assert!(at_most.empty_to_full() >> EMPTY_TO_FULL_BITS == 0 && at_most.ns_per_byte() >> NS_PER_BYTE_BITS == 0);
        assert!(Rate::new(BitsPerSecond(10_000), Bytes(most + 1)).is_err());
        assert_eq!(rate(1_000_000_000, 1).ns_per_byte(), 8 << 24);
        assert!(Rate::from_registers(0, 1).is_err());
        assert!(Rate::from_registers(1 << 44, 1).is_err());
        assert!(Rate::from_registers(1, 1 << 52).is_err());
        let widest = Rate::from_bits((1 << 44) - 1, (1 << 52) - 1);
        assert_eq!(Rate::from_registers((1 << 44) - 1, (1 << 52) - 1), Ok(widest));
        assert_eq!(Rate::from_bits(u64::MAX, u64::MAX), widest);
        assert_eq!(Rate::from_bits(5 << 44 | 7, 3 << 52 | 9), Rate::from_bits(7, 9));
    }

    proptest! {
        /// A byte takes a power of two at the rates beside the random ones, of which the widths are a multiple.
        #[test]
        fn the_longest_burst_is_the_longest_that_fits(
            bps in prop_oneof![Rate::LEAST.0..=Rate::MOST.0, (0..10_u32).prop_map(|half| Rate::MOST.0 >> half)],
        ) {
            let Err(RateError::Burst { most, .. }) = Rate::new(BitsPerSecond(bps), Bytes(0)) else { panic!() };
            let ns_per_byte = rate(bps, 1).ns_per_byte();
            prop_assert_eq!(rate(bps, most).empty_to_full(), (most * ns_per_byte).div_ceil(1 << 8));
            prop_assert!(rate(bps, most).empty_to_full() >> EMPTY_TO_FULL_BITS == 0);
            prop_assert!(((most + 1) * ns_per_byte).div_ceil(1 << 8) >> EMPTY_TO_FULL_BITS != 0);
        }
    }

    #[test]
    fn another_residence_acts_from_the_next_frame_on() {
        let (mut group, mut scheduler) = (Group::new(0), Scheduler::new(rate(1_000_000, 100)));
        assert!(process_frame(&mut group, &mut scheduler, 0, 100).is_some());
        assert_eq!(process_frame(&mut group, &mut scheduler, 0, 100), None);
        group.set_max_residence_ns(800_000);
        assert_eq!(process_frame(&mut group, &mut scheduler, 0, 100), Some(800_000 * TICKS_PER_NS));
    }

    #[test]
    fn visible_is_rounded_up_to_the_cycle() {
        assert_eq!(visible_cycle(0, 0), 0);
        assert_eq!(visible_cycle(1, 0), 1);
        assert_eq!(visible_cycle(8 * TICKS_PER_NS, 0), 1);
        assert_eq!(visible_cycle(8 * TICKS_PER_NS, 9), 3);
        assert_eq!(visible_cycle(LONG_AGO, 9), 0);
        // A tick more than the longest delay, 2^26 - 1 ns.
        assert_eq!(visible_cycle(1, u32::MAX), 1 << 23);
        assert_eq!(visible_cycle(0, u32::MAX), 1 << 23, "what acts is limited");
    }

    #[test]
    fn the_rate_holds_to_one_part_in_a_million() {
        for bps in [10_000, 10_007, 64_000, 999_999, 1_544_000, 33_333_333, 100_000_000, 999_999_999, 1_000_000_000] {
            for length in [84_u32, 147, 1542, 2020] {
                let mut group = Group::default();
                let mut scheduler = Scheduler::new(rate(bps, 2020));
                let mut arrival = 1_000_000;
                let mut at = Vec::new();
                for _ in 0..5_000 {
                    // A greedy stream: there is always a frame, but none that would stay too long.
                    let e = loop {
                        match process_frame(&mut group, &mut scheduler, arrival, length) {
                            Some(e) => break e,
                            None => arrival += 900_000_000,
                        }
                    };
                    at.push(e);
                }
                let (from, to) = (100, at.len() - 1);
                let ns = (at[to] - at[from]) as f64 / TICKS_PER_NS as f64;
                let measured = f64::from(length) * 8.0 * (to - from) as f64 / (ns * 1e-9);
                let error = (measured / bps as f64 - 1.0).abs();
                assert!(error < 1e-6, "{bps} b/s, {length} bytes: {error:e}");
            }
        }
    }

    prop_compose! {
        /// Streams of one group and their frames: (stream, time since the frame before, length).
        fn traffic()(streams in 1_usize..5)(
            rates in prop::collection::vec((10_000_u64..=1_000_000_000, 0_u64..40_000), streams),
            frames in prop::collection::vec((0..streams, prop_oneof![Just(0_u64), 0..20_000_u64, 0..50_000_000_u64],
                                             84_u32..=2020), 1..200),
            residence in prop_oneof![Just(MAX_RESIDENCE_NS), 0..MAX_RESIDENCE_NS],
            start in prop_oneof![Just(0_u64), 0..=(1_u64 << 62)],
        ) -> (Vec<Rate>, Vec<(usize, u64, u32)>, u32, u64) {
            // A burst size below the longest frame is legal but says nothing: see `bursts_below_a_frame`.
            let rates = rates.into_iter().map(|(bps, burst)| rate(bps, burst + 2020)).collect();
            (rates, frames, residence, start)
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn contract((rates, frames, residence, start) in traffic()) {
            let mut group = Group::new(residence);
            let mut schedulers: Vec<_> = rates.iter().copied().map(Scheduler::new).collect();
            let mut arrival = start;
            let mut last = i128::MIN;
            let mut eligible: Vec<Vec<(i128, u32)>> = vec![Vec::new(); rates.len()];
            for (stream, gap, length) in frames {
                arrival += gap;
                let before = (group, schedulers[stream]);
                let Some(e) = process_frame(&mut group, &mut schedulers[stream], arrival, length) else {
                    prop_assert_eq!(before, (group, schedulers[stream]));
                    continue;
                };
                let arrived = i128::from(arrival) * TICKS_PER_NS;
                prop_assert!(e >= arrived, "eligible before arrival");
                prop_assert!(e <= arrived + i128::from(residence) * TICKS_PER_NS);
                prop_assert!(e >= last, "the group went back");
                // The state fits the hardware's 80 bit.
                prop_assert!(schedulers[stream].bucket_empty.abs() < 1 << 79 && e < 1 << 79);
                last = e;
                eligible[stream].push((e, length));
            }
            // Eligible bytes of any window [from, to] stay within CBS + CIR·(to - from), in whole numbers:
            // bytes · 8e9 · 2^16 ≤ CBS · 8e9 · 2^16 + bps · ticks, with the rate as held, and a tick for each frame.
            for (frames, rate) in eligible.iter().zip(&rates) {
                for from in 0..frames.len() {
                    let mut bytes = 0;
                    for (number, (e, length)) in frames[from..].iter().enumerate() {
                        bytes += i128::from(*length);
                        let ticks = e - frames[from].0;
                        let allowed = i128::from(rate.empty_to_full()) + ticks + number as i128 + 1;
                        prop_assert!(bytes * i128::from(rate.ns_per_byte()) <= allowed << 8);
                    }
                }
            }
        }

        #[test]
        fn the_held_rate_is_never_below_the_one_asked_for(bps in 10_000_u64..=1_000_000_000, burst in 1_u64..80_000) {
            let rate = rate(bps, burst);
            let exact = (8e9 * f64::from(1 << 24)) / bps as f64;
            prop_assert!(u128::from(rate.ns_per_byte()) * u128::from(bps) <= 8_000_000_000_u128 << 24);
            prop_assert!(1.0 - (rate.ns_per_byte() as f64 / exact) < 1e-7);
            prop_assert!(u128::from(rate.empty_to_full()) << 8 >= u128::from(burst) * u128::from(rate.ns_per_byte()));
        }

        /// However long it goes on: frames that come as early as rate and burst allow, in whole numbers, are not held.
        #[test]
        fn a_stream_that_keeps_to_its_rate_is_never_held(
            bps in 10_000_u64..=1_000_000_000,
            burst in 0_u64..20_000,
            frames in prop::collection::vec((84_u32..=2020, prop_oneof![3 => Just(0_u64), 1 => 0..50_000_000_u64]), 1..300),
        ) {
            let mut group = Group::default();
            let mut scheduler = Scheduler::new(rate(bps, burst + 2020));
            let capacity = i128::from(burst + 2020) * 8_000_000_000 * TICKS_PER_NS;
            let byte = 8_000_000_000 * TICKS_PER_NS;
            // What the bucket holds, in bytes times 8e9 ticks: a tick earns `bps` of it.
            let (mut now, mut tokens) = (0_i128, capacity);
            for (length, pause_ns) in frames {
                let missing = (i128::from(length) * byte - tokens).max(0);
                let wait = (missing + i128::from(bps) - 1) / i128::from(bps) + i128::from(pause_ns) * TICKS_PER_NS;
                now += wait;
                tokens = capacity.min(tokens + wait * i128::from(bps)) - i128::from(length) * byte;
                let (eligible, passes) = process_frame_at(&mut group, &mut scheduler, now, length);
                prop_assert!(passes && eligible == now, "held by {} ticks", eligible - now);
            }
        }

        #[test]
        fn bursts_below_a_frame(gaps in prop::collection::vec(0_u64..100_000, 2..50)) {
            // A frame longer than the bucket waits until it is earned in full; the long-run rate still holds.
            let mut group = Group::default();
            let mut scheduler = Scheduler::new(rate(100_000_000, 500));
            let mut arrival = 0;
            let mut last = None;
            for gap in gaps {
                arrival += gap;
                if let Some(e) = process_frame(&mut group, &mut scheduler, arrival, 1542) {
                    if let Some(last) = last {
                        prop_assert!(e - last >= i128::from((1542 - 500) * 80) * TICKS_PER_NS);
                    }
                    last = Some(e);
                }
            }
        }
    }
}
