// SPDX-License-Identifier: Apache-2.0
//! What a port counts: frames, drops by reason, lateness, and how full its queues are.
use hdrhistogram::Histogram;
use penstock_shaper::admission::CLASSES;
use penstock_shaper::egress::Tick;
use serde::Serialize;

use crate::line::TICK_NS;

/// Why a frame, or a copy of it, goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Shorter than addresses and EtherType.
    Runt,
    /// Longer than the plane takes.
    Giant,
    /// Several frames in one, which their sender has left to the device to cut.
    Offload,
    /// 802.1Q table 8-1.
    ReservedAddress,
    /// The port is no member of the VLAN.
    Vlan,
    NoDestination,
    Rule,
    /// An ATS scheduler would hold it for too long.
    Residence,
    StoreFull,
    QueueFull,
    /// Longer than its class allows, or than any window of its gate.
    MaxSdu,
    /// The kernel did not take it.
    Refused,
    /// The interface is down or gone.
    LinkDown,
}

impl Reason {
    pub const NAMES: [&'static str; 13] = [
        "runt",
        "giant",
        "offload",
        "reserved_address",
        "vlan",
        "no_destination",
        "rule",
        "residence",
        "store_full",
        "queue_full",
        "max_sdu",
        "refused",
        "link_down",
    ];

    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Passed {
    pub frames: u64,
    pub bytes: u64,
}

impl Passed {
    pub fn add(&mut self, bytes: u16) {
        self.frames += 1;
        self.bytes += u64::from(bytes);
    }
}

/// A queue's occupancy, integrated over time: nothing of it is missed, however rarely it is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Occupancy {
    frames: u32,
    changed: Tick,
    /// In frames times ticks.
    integral: u128,
    most: u32,
}

impl Occupancy {
    pub fn frames(&self) -> u32 {
        self.frames
    }

    fn settle(&mut self, now: Tick) {
        let now = now.max(self.changed);
        self.integral += u128::from(self.frames) * u128::from(now - self.changed);
        self.changed = now;
    }

    pub fn came(&mut self, now: Tick) {
        self.settle(now);
        self.frames += 1;
        self.most = self.most.max(self.frames);
    }

    pub fn left(&mut self, now: Tick) {
        self.settle(now);
        self.frames -= 1;
    }

    /// The integral in frames times ns, and the most frames since the last reading.
    pub fn read(&mut self, now: Tick) -> Level {
        self.settle(now);
        let most = std::mem::replace(&mut self.most, self.frames);
        Level {
            frames: self.frames,
            integral_frame_ns: u64::try_from(self.integral * u128::from(TICK_NS)).unwrap_or(u64::MAX),
            most,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Level {
    pub frames: u32,
    /// From the plane's start on.
    pub integral_frame_ns: u64,
    /// Since it was read before.
    pub most: u32,
}

/// How much later frames departed than they were due.
#[derive(Clone, Debug)]
pub struct Lateness {
    /// Beyond the tolerance.
    pub late: u64,
    /// Frames that the plane came too late for, so that their gate had closed: they waited for another window.
    pub missed: u64,
    /// Frames whose gate was closed when they had left.
    pub outside: u64,
    nanoseconds: Histogram<u64>,
}

const MOST_LATE_NS: u64 = 10_000_000_000;

impl Default for Lateness {
    fn default() -> Self {
        let made = Histogram::new_with_bounds(1, MOST_LATE_NS, 2).or_else(|_| Histogram::new(2));
        Self { late: 0, missed: 0, outside: 0, nanoseconds: made.expect("two digits are allowed") }
    }
}

/// Of all departures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LatenessShown {
    pub late: u64,
    pub missed: u64,
    pub outside: u64,
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub max_ns: u64,
}

impl Lateness {
    pub fn record(&mut self, late_ns: u64, tolerance_ns: u64) {
        self.nanoseconds.saturating_record(late_ns);
        self.late += u64::from(late_ns > tolerance_ns);
    }

    pub fn shown(&self) -> LatenessShown {
        let at = |part: f64| self.nanoseconds.value_at_quantile(part);
        LatenessShown {
            late: self.late,
            missed: self.missed,
            outside: self.outside,
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            max_ns: self.nanoseconds.max(),
        }
    }
}

/// Of one port.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    pub received: Passed,
    pub sent: [Passed; CLASSES],
    /// Of frames that came by this port, or were to leave by it.
    pub dropped: [u64; Reason::NAMES.len()],
    pub lateness: Lateness,
}

impl Counters {
    pub fn drop(&mut self, reason: Reason) {
        self.dropped[reason as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a sample in every tick.
        #[test]
        fn the_integral_is_the_sum_of_all_ticks(steps in prop::collection::vec((0_u64..20, any::<bool>(), any::<bool>()), 1..60)) {
            let (mut queue, mut now, mut frames, mut sum, mut most) = (Occupancy::default(), 0, 0_u32, 0_u128, 0);
            for (ahead, comes, reads) in steps {
                sum += u128::from(ahead) * u128::from(frames);
                now += ahead;
                if comes { queue.came(now); frames += 1; } else if frames > 0 { queue.left(now); frames -= 1; }
                most = most.max(frames);
                if reads {
                    let found = queue.read(now);
                    prop_assert_eq!(found, Level { frames, integral_frame_ns: sum as u64 * 8, most });
                    most = frames;
                }
            }
        }
    }
}
