// SPDX-License-Identifier: Apache-2.0
//! The software gate control list: which frame of which stream is next, and when.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::plan::Plan;

/// A frame that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// When it is built and given to the kernel.
    pub wake_tai_ns: u64,
    /// Number of the stream in the plan; of two frames at once the one of the earlier stream is first.
    pub stream: usize,
    pub sequence: u64,
    pub due_tai_ns: u64,
}

/// All frames of a plan in the order in which they are built.
pub struct Schedule<'a> {
    plan: &'a Plan,
    base_tai_ns: u64,
    counts: Vec<Option<u64>>,
    next: BinaryHeap<Reverse<Slot>>,
}

impl<'a> Schedule<'a> {
    /// `base_tai_ns`: begin of the first cycle.
    pub fn new(plan: &'a Plan, base_tai_ns: u64) -> Schedule<'a> {
        let counts = plan.streams.iter().map(|stream| stream.count(plan)).collect();
        let mut schedule = Schedule { plan, base_tai_ns, counts, next: BinaryHeap::new() };
        (0..plan.streams.len()).for_each(|stream| schedule.plan_next(stream, 0));
        schedule
    }

    fn plan_next(&mut self, stream: usize, sequence: u64) {
        if self.counts[stream].is_none_or(|count| sequence < count) {
            let of = &self.plan.streams[stream];
            let due_tai_ns = self.base_tai_ns.saturating_add(of.due_ns(self.plan, sequence));
            let wake_tai_ns = due_tai_ns.saturating_sub(of.transmit_offset_ns(self.plan));
            self.next.push(Reverse(Slot { wake_tai_ns, stream, sequence, due_tai_ns }));
        }
    }

    /// Whether no frame of the stream comes after this one.
    pub fn is_last(&self, slot: Slot) -> bool {
        self.counts[slot.stream] == Some(slot.sequence + 1)
    }

    /// End of the frame's window, or without one of the time for which it may be late.
    pub fn closes_tai_ns(&self, slot: Slot) -> u64 {
        let stream = &self.plan.streams[slot.stream];
        let begin = slot.due_tai_ns.saturating_sub(stream.member_ns(slot.sequence));
        match stream.window_ns {
            Some(window) => begin + window,
            None => slot.due_tai_ns + self.plan.late.tolerance_ns,
        }
    }
}

impl Iterator for Schedule<'_> {
    type Item = Slot;

    fn next(&mut self) -> Option<Slot> {
        let Reverse(slot) = self.next.pop()?;
        self.plan_next(slot.stream, slot.sequence + 1);
        Some(slot)
    }
}

/// When the first cycle begins: at the base time moved on by whole cycles until it is far enough ahead.
pub fn first_cycle(plan: &Plan, now_tai_ns: u64) -> u64 {
    let ahead = plan.streams.iter().map(|stream| stream.transmit_offset_ns(plan)).max();
    let earliest = now_tai_ns.saturating_add(ahead.unwrap_or(0));
    match plan.base_time_tai_ns {
        Some(base) if base >= earliest => base,
        Some(base) => base + (earliest - base).div_ceil(plan.cycle_ns) * plan.cycle_ns,
        None => (earliest + plan.start_in_ns).div_ceil(plan.cycle_ns) * plan.cycle_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let text = r#"{"version": 1, "interface": "x", "cycle_ns": 1000, "streams": [
            {"name": "a", "id": 1, "mode": "raw", "bytes": 100, "count": 4, "offset_ns": 500, "window_ns": 200,
             "frames_per_period": 2, "spacing_ns": 30},
            {"name": "b", "id": 2, "mode": "raw", "bytes": 100, "count": 3, "period_ns": 530}]}"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn streams_take_turns_by_their_due_times() {
        let plan = plan();
        let slots: Vec<_> =
            Schedule::new(&plan, 10_000).map(|s| (s.due_tai_ns - 10_000, s.stream, s.sequence)).collect();
        let wanted = [(0, 1, 0), (500, 0, 0), (530, 0, 1), (530, 1, 1), (1060, 1, 2), (1500, 0, 2), (1530, 0, 3)];
        assert_eq!(slots, wanted);
    }

    #[test]
    fn a_frame_with_a_launch_time_is_built_before_one_that_is_due_earlier() {
        let mut plan = plan();
        plan.transmit_offset_ns = 10;
        (plan.streams[0].transmit_offset_ns, plan.streams[0].count) = (Some(600), Some(1));
        let built: Vec<_> =
            Schedule::new(&plan, 1000).take(3).map(|s| (s.wake_tai_ns, s.stream, s.due_tai_ns)).collect();
        assert_eq!(built, [(900, 0, 1500), (990, 1, 1000), (1520, 1, 1530)]);
        assert_eq!(first_cycle(&plan, 1_000_000), 1_000_000 + 500_001_000);
    }

    #[test]
    fn frames_of_a_period_may_each_have_their_time_and_length() {
        let mut plan = plan();
        plan.streams.truncate(1);
        let stream = &mut plan.streams[0];
        (stream.frames_per_period, stream.spacing_ns, stream.count) = (1, 0, Some(5));
        stream.frames = Some(vec![(0, 90), (10, 100), (70, 80)]);
        let due: Vec<_> = Schedule::new(&plan, 0).map(|slot| slot.due_tai_ns).collect();
        assert_eq!(due, [500, 510, 570, 1500, 1510]);
        let stream = &plan.streams[0];
        assert_eq!([0, 1, 2, 3, 4].map(|n| stream.bytes_of(n)), [90, 100, 80, 90, 100]);
        assert_eq!([1, 2, 3].map(|n| stream.ideal_period_ns(&plan, n)), [10, 60, 930]);
    }

    #[test]
    fn a_window_closes_for_all_frames_of_a_period() {
        let plan = plan();
        let mut schedule = Schedule::new(&plan, 0);
        let slots: Vec<_> = schedule.by_ref().take(3).collect();
        assert_eq!(slots.iter().map(|&slot| schedule.closes_tai_ns(slot)).collect::<Vec<_>>(), [100_000, 700, 700]);
        assert_eq!(slots.iter().map(|&slot| schedule.is_last(slot)).collect::<Vec<_>>(), [false; 3]);
    }

    #[test]
    fn a_base_time_in_the_past_moves_on_by_whole_cycles() {
        let mut plan = plan();
        plan.base_time_tai_ns = Some(123);
        assert_eq!(first_cycle(&plan, 100), 123);
        assert_eq!(first_cycle(&plan, 124), 1123);
        assert_eq!(first_cycle(&plan, 1123), 1123);
        plan.transmit_offset_ns = 10;
        assert_eq!(first_cycle(&plan, 1123), 2123);
        plan.base_time_tai_ns = None;
        plan.start_in_ns = 5;
        assert_eq!(first_cycle(&plan, 1986), 3000);
    }
}
