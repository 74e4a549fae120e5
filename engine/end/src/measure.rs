// SPDX-License-Identifier: Apache-2.0
//! Latency, period jitter and frame delay variation of a stream, as equations (1) to (4) of the launch-time paper.
//!
//! With `r` the stamp of reception and `c` that of construction of the frames A, B, C that follow each other:
//! ```text
//! period jitter = (r_B - r_A) - ideal period                      (1)
//! latency X     = (r_B - c_B) - (r_A - c_A)                       (2)
//! latency Y     = (r_C - c_C) - (r_B - c_B)                       (3)
//! frame delay variation = latency Y - latency X                   (4)
//! ```
//! Frames follow each other when their sequence numbers do and nothing came between; what spans a loss or a reordering
//! is left out and counted. Equation (2) alone is the delay variation of RFC 5481 and is given beside (4).
use serde::Serialize;

use crate::distribution::{Description, Distribution};

/// A frame, as far as its times matter.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub sequence: u64,
    pub received_ns: i64,
    pub constructed_ns: i64,
    pub due_ns: i64,
    /// To the frame before, by plan.
    pub ideal_period_ns: i64,
    /// Begin and end of the window for arrival, where there is one.
    pub window_ns: Option<(i64, i64)>,
}

/// The measurements of one stream from one kind of time stamps.
#[derive(Debug, Default)]
pub struct Measurement {
    before: Option<Frame>,
    latency_before: Option<i64>,
    difference_before: Option<i64>,
    latency: Distribution,
    due_latency: Distribution,
    period_jitter: Distribution,
    latency_difference: Distribution,
    frame_delay_variation: Distribution,
    gap: Distribution,
    not_consecutive: u64,
    inside_window: u64,
    outside_window: u64,
}

/// What is said of a stream's times. `latency` and what follows from it is None where clocks cannot be compared.
#[derive(Clone, Debug, Serialize)]
pub struct Times {
    pub latency_ns: Option<Description>,
    /// From the due time instead of the construction.
    pub latency_from_due_ns: Option<Description>,
    pub period_jitter_ns: Description,
    pub latency_difference_ns: Option<Description>,
    pub frame_delay_variation_ns: Option<Description>,
    pub gap_ns: Description,
    /// Frames that followed a loss or came out of order, which have no period.
    pub not_consecutive: u64,
    pub window: Option<Window>,
}

/// Frames within their window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Window {
    pub inside: u64,
    pub outside: u64,
    pub share: f64,
}

impl Window {
    /// None when no frame had a window.
    pub fn new(inside: u64, outside: u64) -> Option<Window> {
        let all = inside + outside;
        (all > 0).then(|| Window { inside, outside, share: inside as f64 / all as f64 })
    }
}

impl Measurement {
    /// Takes the next frame in the order of arrival; no duplicates. Gives whether it was within its window.
    pub fn take(&mut self, frame: Frame) -> Option<bool> {
        let latency = frame.received_ns.saturating_sub(frame.constructed_ns);
        self.latency.add(latency);
        self.due_latency.add(frame.received_ns.saturating_sub(frame.due_ns));
        if let Some(before) = self.before {
            let period = frame.received_ns.saturating_sub(before.received_ns);
            self.gap.add(period);
            if frame.sequence == before.sequence.wrapping_add(1) {
                self.follow(period.saturating_sub(frame.ideal_period_ns), latency);
            } else {
                self.not_consecutive += 1;
                self.difference_before = None;
            }
        }
        self.before = Some(frame);
        self.latency_before = Some(latency);
        let inside = frame.window_ns.map(|(begin, end)| (begin..end).contains(&frame.received_ns));
        match inside {
            Some(true) => self.inside_window += 1,
            Some(false) => self.outside_window += 1,
            None => {}
        }
        inside
    }

    fn follow(&mut self, jitter: i64, latency: i64) {
        self.period_jitter.add(jitter);
        let Some(latency_before) = self.latency_before else { return };
        let difference = latency.saturating_sub(latency_before);
        self.latency_difference.add(difference);
        if let Some(before) = self.difference_before {
            self.frame_delay_variation.add(difference.saturating_sub(before));
        }
        self.difference_before = Some(difference);
    }

    /// How many frames there were.
    pub fn frames(&self) -> u64 {
        self.latency.count()
    }

    /// All of it; with `one_clock` what compares the talker's clock with the listener's too.
    pub fn describe(&self, one_clock: bool) -> Times {
        let compared = |distribution: &Distribution| one_clock.then(|| distribution.describe());
        Times {
            latency_ns: compared(&self.latency),
            latency_from_due_ns: compared(&self.due_latency),
            period_jitter_ns: self.period_jitter.describe(),
            latency_difference_ns: compared(&self.latency_difference),
            frame_delay_variation_ns: compared(&self.frame_delay_variation),
            gap_ns: self.gap.describe(),
            not_consecutive: self.not_consecutive,
            window: if one_clock { Window::new(self.inside_window, self.outside_window) } else { None },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(sequence: u64, constructed_ns: i64, received_ns: i64) -> Frame {
        let due_ns = constructed_ns + 50;
        Frame {
            sequence,
            received_ns,
            constructed_ns,
            due_ns,
            ideal_period_ns: 1000,
            window_ns: Some((due_ns, due_ns + 60)),
        }
    }

    #[test]
    fn equations_1_to_4_by_hand() {
        let mut stream = Measurement::default();
        // Latencies 100, 130, 90: X = 30, Y = -40, variation -70. Periods 1040 and 950.
        stream.take(frame(0, 0, 100));
        stream.take(frame(1, 1010, 1140));
        stream.take(frame(2, 2000, 2090));
        let times = stream.describe(true);
        let jitter = times.period_jitter_ns;
        assert_eq!((jitter.count, jitter.min, jitter.max, jitter.mean_of_sizes), (2, Some(-50), Some(40), Some(45.0)));
        let latency = times.latency_ns.unwrap();
        assert_eq!((latency.min, latency.max, latency.peak_to_peak), (Some(90), Some(130), Some(40)));
        let difference = times.latency_difference_ns.unwrap();
        assert_eq!((difference.count, difference.min, difference.max), (2, Some(-40), Some(30)));
        let variation = times.frame_delay_variation_ns.unwrap();
        assert_eq!((variation.count, variation.min), (1, Some(-70)));
        assert_eq!(times.gap_ns.mean, Some(995.0));
        // 100 in [50, 110), 1140 not in [1060, 1120), 2090 in [2050, 2110).
        assert_eq!(times.window, Some(Window { inside: 2, outside: 1, share: 2.0 / 3.0 }));
        assert_eq!(times.latency_from_due_ns.unwrap().max, Some(80));
    }

    #[test]
    fn a_loss_is_no_jitter() {
        let mut stream = Measurement::default();
        for sequence in [0, 1, 3, 4, 5] {
            stream.take(frame(sequence, sequence as i64 * 1000, sequence as i64 * 1000 + 100));
        }
        let times = stream.describe(true);
        assert_eq!((times.period_jitter_ns.count, times.not_consecutive), (3, 1));
        assert_eq!((times.period_jitter_ns.min, times.period_jitter_ns.max), (Some(0), Some(0)));
        // Only frames 3, 4 and 5 follow each other.
        assert_eq!(times.frame_delay_variation_ns.unwrap().count, 1);
        assert_eq!(times.gap_ns.max, Some(2000));
    }

    #[test]
    fn clocks_that_cannot_be_compared_give_no_latency() {
        let mut stream = Measurement::default();
        for n in 0..4 {
            stream.take(frame(n, n as i64 * 1000, 5));
        }
        let times = stream.describe(false);
        assert!(times.latency_ns.is_none() && times.frame_delay_variation_ns.is_none() && times.window.is_none());
        assert_eq!(times.period_jitter_ns.count, 3);
    }
}
