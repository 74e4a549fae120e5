// SPDX-License-Identifier: Apache-2.0
//! Sources in a known phase of the gates: when in the gate cycle of a port their frames come.
//!
//! A frame that is released within a window, and takes between the least and the most until it comes to a port, comes
//! within a window that is wider by the difference. Where the cycle of the gates and the period of the source have a common
//! measure, its windows are at the same places of each such measure. A class of nothing but such streams begins to wait in
//! one of them, and no more comes to it than frames whose windows have begun since.
use crate::describe::{Gates, Releases};
use crate::{Amount, Time};

/// Of a class; more of them are as good as any time.
const MOST_WINDOWS: usize = 64;

/// From when to when, both counted.
pub(crate) type Window = (Time, Time);

/// What comes to a class in each gate cycle at most, and when; what comes at once is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    pub cycle: Time,
    frames: Vec<(Window, Amount)>,
}

impl Schedule {
    /// Of streams with their longest frames on the wire, and what these take from their release on, if that is known of each;
    /// none: in any phase.
    pub fn new<'a>(
        gates: &Gates,
        streams: impl Iterator<Item = Option<(&'a Releases, Window, Amount)>>,
    ) -> Option<Self> {
        let cycle: Time = gates.entries.iter().map(|&(_, interval)| interval).sum();
        let begin = gates.begin_ps?;
        let mut frames: Vec<(Window, Amount)> = Vec::new();
        for stream in streams {
            let (releases, (least, most), longest) = stream?;
            let (measure, times) = repeated(releases, cycle)?;
            for &(first, last) in &releases.windows {
                let from = first + least - begin - gates.begin_error_ps;
                let to = last + most - begin + gates.begin_error_ps;
                if to - from >= measure {
                    return None;
                }
                frames.extend((0..times).map(|time| {
                    let at = (from + time * measure).rem_euclid(cycle);
                    ((at, at + to - from), longest)
                }));
            }
            frames = together(frames);
            if frames.len() > MOST_WINDOWS {
                return None;
            }
        }
        Some(Self { cycle, frames })
    }

    /// In which its class may begin to wait.
    pub fn windows(&self) -> Vec<Window> {
        joined(self.frames.iter().map(|&(window, _)| window).collect())
    }

    /// Of a whole cycle.
    pub fn amount(&self) -> Amount {
        self.frames.iter().map(|&(_, amount)| amount).sum()
    }

    /// Whole ones, rounded down; sooner where nothing has to be divided.
    fn cycles(&self, time: Time) -> Time {
        match time {
            _ if (0..self.cycle).contains(&time) => 0,
            _ if (-self.cycle..0).contains(&time) => -1,
            _ => time.div_euclid(self.cycle),
        }
    }

    /// What comes until `time` after waiting began at a phase, or earlier by the slack or less.
    pub fn until(&self, phase: Time, slack: Time, time: Time) -> Amount {
        let each = |&((from, to), amount): &(Window, Amount)| {
            let first = -self.cycles(to - phase + slack);
            let last = self.cycles(phase + time - from);
            amount * Amount::from((last - first + 1).max(0))
        };
        self.frames.iter().map(each).sum()
    }

    /// After which times more may have come, in their order, zero first and none that is not before `end`, and what comes
    /// from each until the next one, since waiting began at a phase or earlier by the slack or less.
    pub fn steps(&self, phase: Time, slack: Time, end: Time) -> Vec<(Time, Amount)> {
        let mut found = vec![(0, 0)];
        for &((from, _), amount) in &self.frames {
            let mut time = (from - phase).rem_euclid(self.cycle);
            while time < end && found.len() < MOST_STEPS {
                found.push((time, amount));
                time += self.cycle;
            }
        }
        let is_whole = found.len() < MOST_STEPS;
        found.sort_unstable_by_key(|&(time, _)| time);
        found.dedup_by(|next, step| {
            let is_same = next.0 == step.0;
            step.1 += if is_same { next.1 } else { 0 };
            is_same
        });
        let mut came = self.until(phase, slack, 0) - found[0].1;
        for place in 0..found.len() {
            came += found[place].1;
            let next = found.get(place + 1).map_or(end, |&(next, _)| next);
            found[place].1 = if is_whole { came } else { self.until(phase, slack, next - 1) };
        }
        found
    }
}

/// Of a time for which a class waits; those left out have one bound with the last.
const MOST_STEPS: usize = 10_000;

/// In a cycle, after how long the windows of a source come again, and how often; none: too often, or they are as wide.
pub(crate) fn repeated(releases: &Releases, cycle: Time) -> Option<(Time, Time)> {
    let measure = releases.period_ps.map_or(cycle, |period| common_measure(period, cycle));
    let times = cycle / measure;
    let fits = times.saturating_mul(releases.windows.len() as Time) <= MOST_WINDOWS as Time;
    (fits && releases.windows.iter().all(|(from, to)| to - from < measure)).then_some((measure, times))
}

/// What comes in the same window, as one.
fn together(mut frames: Vec<(Window, Amount)>) -> Vec<(Window, Amount)> {
    frames.sort_unstable();
    let mut found: Vec<(Window, Amount)> = Vec::with_capacity(frames.len());
    for (window, amount) in frames {
        match found.last_mut() {
            Some(last) if last.0 == window => last.1 += amount,
            _ => found.push((window, amount)),
        }
    }
    found
}

fn joined(mut windows: Vec<Window>) -> Vec<Window> {
    windows.sort_unstable();
    let mut found: Vec<Window> = Vec::with_capacity(windows.len());
    for (from, to) in windows {
        match found.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => found.push((from, to)),
        }
    }
    found
}

fn common_measure(one: Time, other: Time) -> Time {
    match other {
        0 => one,
        _ => common_measure(other, one % other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gates(cycle: Time, begin: Time, error: Time) -> Gates {
        let entries = vec![(0xFF, cycle)];
        Gates { entries, edge_ps: 0, late: false, begin_ps: Some(begin), begin_error_ps: error, frozen: false }
    }

    proptest! {
        /// Each frame of many periods, as early and as late as it may come, is within a window, and is counted.
        #[test]
        fn frames_come_in_their_windows(
            cycle in 1_i64..200, begin in 0_i64..200, error in 0_i64..4, period in 1_i64..200,
            frames in prop::collection::vec((0_i64..300, 0_i64..5), 1..4), least in 0_i64..50, more in 0_i64..5,
            slack in 0_i64..5, pick in any::<prop::sample::Index>(),
        ) {
            let windows: Vec<Window> = frames.iter().map(|&(from, width)| (from, from + width)).collect();
            let releases = Releases { period_ps: Some(period), windows };
            let found = Schedule::new(&gates(cycle, begin, error), [Some((&releases, (least, least + more), 1))].into_iter());
            let Some(found) = found else { return Ok(()) };
            let windows = found.windows();
            let mut early: Vec<Time> = Vec::new();
            for turn in 0..300 {
                for &(from, to) in &releases.windows {
                    for time in from + least - error..=to + least + more + error {
                        let phase = (time + turn * period - begin).rem_euclid(cycle);
                        let is_inside = |&(from, to): &Window| (from..=to).contains(&phase) || (from..=to).contains(&(phase + cycle));
                        prop_assert!(windows.iter().any(is_inside), "{phase} is in none of {windows:?}");
                    }
                    early.push(from + least - error + turn * period);
                }
            }
            // Waiting begins with a frame, and all come as early as they may from then on.
            let start = early[pick.index(early.len() / 2)];
            for time in [0, 1, 7, cycle - 1, cycle, 3 * cycle] {
                let came = early.iter().filter(|&&at| (start - slack..=start - slack + time).contains(&at)).count();
                let counted = found.until((start - begin).rem_euclid(cycle), slack, time);
                prop_assert!(counted >= came as Amount, "{counted} of {came}");
                let steps = found.steps((start - begin).rem_euclid(cycle), slack, time + 1);
                prop_assert_eq!(steps.last().map(|&(_, came)| came), Some(counted));
            }
        }
    }

    #[test]
    fn what_has_no_common_measure_comes_in_any_phase() {
        let releases = |period_ps| Releases { period_ps, windows: vec![(5, 6)] };
        let schedule =
            |period_ps| Schedule::new(&gates(250, 0, 0), [Some((&releases(period_ps), (10, 12), 1))].into_iter());
        let found = |period_ps| schedule(period_ps).map(|schedule| schedule.windows());
        assert_eq!(found(Some(250)), Some(vec![(15, 18)]));
        assert_eq!(found(Some(125)), Some(vec![(15, 18), (140, 143)]));
        assert_eq!(found(None), Some(vec![(15, 18)]));
        assert_eq!(found(Some(249)), None);
    }
}
