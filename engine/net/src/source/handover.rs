// SPDX-License-Identifier: Apache-2.0
//! From a frame's creation by a program to its controller, which may send it at its launch time.
//!
//! ```text
//!  nominal      created        reached the controller      launch time
//!     |--jitter---|------delay--------|-----------------------|      sent at its launch time
//!     |--jitter---|------delay------------------------------- | --|  missed it: sent at once
//!     |-----------------------offset--------------------------|
//! ```
use std::collections::VecDeque;

use rand_xoshiro::rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{jitter, SourceError};
use crate::clock::Clock;
use crate::describe;
use penstock_shaper::{SignedTime, Time};

/// Of its own, so that a stream's creations are the same with it and without it.
const SEED: u64 = 0x6C61_756E_6368_6572;

/// When a frame may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handed {
    pub at: Time,
    /// Its launch time, if the controller did not have it by then.
    pub missed: Option<Time>,
}

/// A frame that the talker's port has not been given yet.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    pub at: Time,
    pub slot: u32,
    pub class: u8,
    /// Of a frame that waits for it in the card.
    pub launch: Option<Time>,
}

pub struct Handover {
    described: describe::Handover,
    delays: Xoshiro256PlusPlus,
    errors: Xoshiro256PlusPlus,
    /// When the frame before reached the controller and when it was handed to the port: a stream never overtakes itself.
    reached: Time,
    handed: Time,
    pub waiting: VecDeque<Waiting>,
}

impl Handover {
    pub fn new(described: &describe::Handover, seed: u64) -> Result<Self, SourceError> {
        jitter::check(described.delay.as_ref())?;
        jitter::check(described.launch.as_ref().and_then(|launch| launch.error.as_ref()))?;
        let delays = Xoshiro256PlusPlus::seed_from_u64(seed ^ SEED);
        let mut errors = delays.clone();
        errors.jump();
        Ok(Self { described: described.clone(), delays, errors, reached: 0, handed: 0, waiting: VecDeque::new() })
    }

    /// Of the next frame, created at a time of the run; `nominal` is the time of its schedule.
    pub fn hand(&mut self, clock: &Clock, created: Time, nominal: Time) -> Handed {
        self.reach(clock, created);
        let Some(wanted) = self.launch_time(clock, nominal) else { return self.at(self.reached, None) };
        let Some(launch) = &self.described.launch else { return self.at(self.reached, None) };
        let error: SignedTime = launch.error.as_ref().map_or(0, |error| jitter::draw(error, &mut self.errors).into());
        let begin = wanted.saturating_sub(launch.lead_ps);
        if self.reached > begin {
            return self.at(self.reached, Some(wanted));
        }
        self.at(begin.saturating_add_signed(error).max(self.reached), None)
    }

    /// As [`Self::hand`], to a card that has the frame once it is there, and keeps it until its launch time.
    pub fn hand_to_card(&mut self, clock: &Clock, created: Time, nominal: Time) -> (Handed, Option<Time>) {
        self.reach(clock, created);
        (self.at(self.reached, None), self.launch_time(clock, nominal))
    }

    fn reach(&mut self, clock: &Clock, created: Time) {
        let delay: SignedTime =
            self.described.delay.as_ref().map_or(0, |delay| jitter::draw(delay, &mut self.delays).into());
        self.reached = clock.after(created, delay.max(0).unsigned_abs()).max(self.reached);
    }

    fn launch_time(&self, clock: &Clock, nominal: Time) -> Option<Time> {
        let launch = self.described.launch.as_ref()?;
        Some(clock.time_of_schedule(nominal.saturating_add(launch.offset_ps)).unwrap_or(0))
    }

    /// The next frame that may be sent by now.
    pub fn take(&mut self, now: Time) -> Option<Waiting> {
        self.waiting.front().filter(|waiting| waiting.at <= now)?;
        self.waiting.pop_front()
    }

    fn at(&mut self, at: Time, missed: Option<Time>) -> Handed {
        self.handed = at.max(self.handed);
        Handed { at: self.handed, missed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handed(described: &str, created: &[u64]) -> Vec<Handed> {
        let mut handover = Handover::new(&serde_json::from_str(described).unwrap(), 1).unwrap();
        let clock = Clock::fine(0, 0).unwrap();
        created.iter().enumerate().map(|(n, &at)| handover.hand(&clock, at, 1_000 * n as u64)).collect()
    }

    fn at(at: u64) -> Handed {
        Handed { at, missed: None }
    }

    #[test]
    fn a_frame_is_sent_at_its_launch_time_or_late() {
        let found = handed(r#"{"delay":{"values_ps":[50]},"launch":{"offset_ps":95}}"#, &[0, 1_045, 2_046, 3_000]);
        assert_eq!(found, [at(95), at(1_095), Handed { at: 2_096, missed: Some(2_095) }, at(3_095)]);
    }

    #[test]
    fn without_launch_times_a_frame_is_sent_when_it_is_ready() {
        assert_eq!(handed(r#"{"delay":{"values_ps":[50]}}"#, &[3, 1_001]), [at(53), at(1_051)]);
    }

    #[test]
    fn a_stream_never_overtakes_itself() {
        let late = handed(r#"{"delay":{"uniform_ps":5000}}"#, &[0, 10, 20, 30, 40, 50]);
        assert!(late.windows(2).all(|pair| pair[0].at <= pair[1].at));
        // The second is behind the first, and so misses its launch time.
        let behind = handed(r#"{"launch":{"offset_ps":10}}"#, &[2_000, 2_000]);
        assert_eq!(behind, [Handed { at: 2_000, missed: Some(10) }, Handed { at: 2_000, missed: Some(1_010) }]);
    }

    #[test]
    fn a_controller_that_is_off_sends_no_frame_before_it_has_it() {
        let found =
            handed(r#"{"delay":{"values_ps":[90]},"launch":{"offset_ps":95,"error":{"values_ps":[-9]}}}"#, &[0]);
        assert_eq!(found, [at(90)]);
    }

    #[test]
    fn quantiles_are_met() {
        let described = r#"{"delay":{"quantiles_ps":[[0,1000],[0.25,3000],[0.75,3000],[1,11000]]}}"#;
        let mut handover = Handover::new(&serde_json::from_str(described).unwrap(), 1).unwrap();
        let clock = Clock::fine(0, 0).unwrap();
        let delays: Vec<u64> = (0..40_000).map(|n| handover.hand(&clock, n * 100_000, 0).at - n * 100_000).collect();
        let part = |low, high| delays.iter().filter(|&&d| (low..high).contains(&d)).count() as f64 / 40_000.0;
        assert_eq!((part(0, 1000), part(11_001, u64::MAX)), (0.0, 0.0));
        for (low, high, wanted) in [(1000, 2000, 0.125), (2000, 3000, 0.125), (3000, 3001, 0.5), (7000, 11_000, 0.125)]
        {
            assert!((part(low, high) - wanted).abs() < 0.01, "{low} to {high}: {}", part(low, high));
        }
    }

    #[test]
    fn wrong_quantiles_are_refused() {
        for points in
            ["[]", "[[0,1]]", "[[0,1],[0.5,2]]", "[[0.1,1],[1,2]]", "[[0,2],[1,1]]", "[[0,1],[0.5,2],[0.5,3],[1,4]]"]
        {
            let described = format!(r#"{{"delay":{{"quantiles_ps":{points}}}}}"#);
            let error = Handover::new(&serde_json::from_str(&described).unwrap(), 1).err().unwrap().to_string();
            assert!(error.contains("from 0 to 1"), "{points}: {error}");
        }
    }
}
