// SPDX-License-Identifier: Apache-2.0
//! What the talker says in the end.
use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::records::{Outcome, Record, Records};
use crate::clock::Evidence;
use crate::distribution::{Description, Distribution};
use crate::measure::Window;
use crate::plan::{Plan, Send};
use crate::station::Interface;
use penstock_sys::Grant;

/// `talk.json`.
#[derive(Debug, Serialize)]
pub struct Summary {
    pub ok: bool,
    pub name: String,
    pub interrupted: bool,
    pub interface: Interface,
    pub send: Send,
    pub transmit_offset_ns: u64,
    pub late_tolerance_ns: u64,
    pub cycle_ns: u64,
    /// Begin of the first cycle.
    pub base_time_tai_ns: u64,
    pub streams: BTreeMap<String, Stream>,
    pub clock: Clock,
    pub realtime: Vec<Grant>,
}

#[derive(Debug, Serialize)]
pub struct Clock {
    pub evidence: Evidence,
    pub tai_minus_realtime_ns: i64,
}

/// What became of a stream's frames.
#[derive(Debug, Serialize)]
pub struct Stream {
    pub id: u16,
    pub send: Send,
    pub transmit_offset_ns: u64,
    /// None for a stream that ends when it is stopped.
    pub planned: Option<u64>,
    pub sent: u64,
    /// Not sent, since the window was over.
    pub skipped: u64,
    /// Not taken by the kernel.
    pub refused: u64,
    /// Dropped by the kernel: the launch time passed while it waited, or was not ahead enough when it came.
    pub missed: u64,
    pub invalid: u64,
    pub last_error: Option<String>,
    /// Messages of the error queue that are about no frame of the stream.
    pub stray_messages: u64,
    /// Woken later than the tolerance.
    pub woken_late: u64,
    pub wake_late_ns: Description,
    /// Given to the kernel when the frame was already due, by more than the tolerance unless it has a launch time.
    pub handed_late: u64,
    /// How long before the due time the kernel had the frame.
    pub ahead_ns: Description,
    /// The stamp of leaving less the due time, as the interface or else the kernel has it.
    pub left_after_due_ns: LeftAfterDue,
}

/// Both kinds of stamps of sent frames, each for itself.
#[derive(Debug, Serialize)]
pub struct LeftAfterDue {
    /// Compared with CLOCK_TAI as if the interface showed it; see `interface.ptp_clock_minus_tai_ns`.
    pub hardware: Option<Left>,
    pub kernel: Option<Left>,
}

/// When frames left.
#[derive(Debug, Serialize)]
pub struct Left {
    pub after_due_ns: Description,
    pub early: u64,
    pub window: Option<Window>,
}

pub fn summarize(
    plan: &Plan,
    records: &[Records],
    interface: Interface,
    evidence: Evidence,
    realtime: Vec<Grant>,
    (base_time_tai_ns, tai_minus_realtime_ns): (u64, i64),
    interrupted: bool,
) -> Summary {
    let each = plan.streams.iter().zip(records);
    let streams: BTreeMap<_, _> = each
        .map(|(stream, records)| (stream.name.clone(), describe(plan, stream, records, tai_minus_realtime_ns)))
        .collect();
    let sent_all = |stream: &Stream| stream.skipped + stream.refused + stream.missed + stream.invalid == 0;
    let in_time = |stream: &Stream| stream.handed_late == 0 || !plan.late.required;
    Summary {
        ok: streams.values().all(|stream| sent_all(stream) && in_time(stream)),
        name: plan.name.clone(),
        interrupted,
        interface,
        send: plan.send,
        transmit_offset_ns: plan.transmit_offset_ns,
        late_tolerance_ns: plan.late.tolerance_ns,
        cycle_ns: plan.cycle_ns,
        base_time_tai_ns,
        streams,
        clock: Clock { evidence, tai_minus_realtime_ns },
        realtime,
    }
}

fn describe(plan: &Plan, stream: &crate::plan::Stream, records: &Records, tai_offset_ns: i64) -> Stream {
    let count = |outcome: Outcome| records.frames.iter().filter(|record| record.outcome == outcome).count() as u64;
    let (mut wake_late, mut ahead) = (Distribution::default(), Distribution::default());
    let allowed = if stream.send(plan) == Send::LaunchTime { 0 } else { plan.late.tolerance_ns as i64 };
    let (mut woken_late, mut handed_late) = (0, 0);
    for record in &records.frames {
        wake_late.add(record.wake_late_ns);
        woken_late += u64::from(record.wake_late_ns > plan.late.tolerance_ns as i64);
        if record.handed_tai_ns > 0 {
            let before = record.due_tai_ns as i64 - record.handed_tai_ns as i64;
            ahead.add(before);
            handed_late += u64::from(-before > allowed);
        }
    }
    let kernel =
        |record: &Record| (record.kernel_realtime_ns != 0).then(|| record.kernel_realtime_ns as i64 + tai_offset_ns);
    let hardware = |record: &Record| (record.hardware_ns != 0).then_some(record.hardware_ns as i64);
    Stream {
        id: stream.id,
        send: stream.send(plan),
        transmit_offset_ns: stream.transmit_offset_ns(plan),
        planned: stream.count(plan),
        sent: count(Outcome::Sent),
        skipped: count(Outcome::Skipped),
        refused: count(Outcome::Refused),
        missed: count(Outcome::Missed),
        invalid: count(Outcome::Invalid),
        last_error: records.last_error.clone(),
        stray_messages: records.stray,
        woken_late,
        wake_late_ns: wake_late.describe(),
        handed_late,
        ahead_ns: ahead.describe(),
        left_after_due_ns: LeftAfterDue {
            hardware: left(stream, records, hardware),
            kernel: left(stream, records, kernel),
        },
    }
}

/// None when no frame has such a stamp.
fn left(stream: &crate::plan::Stream, records: &Records, stamp: impl Fn(&Record) -> Option<i64>) -> Option<Left> {
    let mut after_due = Distribution::default();
    let (mut early, mut inside, mut outside) = (0, 0, 0);
    for (sequence, record) in records.frames.iter().enumerate() {
        let Some(left) = stamp(record) else { continue };
        let after = left - record.due_tai_ns as i64;
        after_due.add(after);
        early += u64::from(after < 0);
        if let Some(window) = stream.window_ns {
            let after_opening = after + stream.member_ns(sequence as u64) as i64;
            let within = (0..window as i64).contains(&after_opening);
            *(if within { &mut inside } else { &mut outside }) += 1;
        }
    }
    (after_due.count() > 0).then(|| Left {
        after_due_ns: after_due.describe(),
        early,
        window: Window::new(inside, outside),
    })
}

impl Summary {
    /// For a terminal.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "sent on {} with a cycle of {} us", self.interface.name, us(self.cycle_ns as i64));
        for (name, stream) in &self.streams {
            let _ = writeln!(
                text,
                "{name} ({:?}, transmit offset {} us): {} sent, {} skipped, {} refused, {} missed, {} invalid",
                stream.send,
                us(stream.transmit_offset_ns as i64),
                stream.sent,
                stream.skipped,
                stream.refused,
                stream.missed,
                stream.invalid
            );
            let late = stream.wake_late_ns.max.unwrap_or(0);
            let _ = writeln!(
                text,
                "  woken late {} times, {} us at most; handed late {}",
                stream.woken_late,
                us(late),
                stream.handed_late
            );
            let stamped =
                [("interface", &stream.left_after_due_ns.hardware), ("kernel", &stream.left_after_due_ns.kernel)];
            for (who, left) in stamped.into_iter().filter_map(|(who, left)| Some((who, left.as_ref()?))) {
                let times = &left.after_due_ns;
                let (min, max) = (times.min.unwrap_or(0), times.max.unwrap_or(0));
                let mean = times.mean.unwrap_or(0.0) / 1000.0;
                let _ = writeln!(
                    text,
                    "  left after due ({who}): {} to {} us, mean {mean:.3} us, {} early",
                    us(min),
                    us(max),
                    left.early
                );
            }
            if let Some(error) = &stream.last_error {
                let _ = writeln!(text, "  the kernel said: {error}");
            }
        }
        text
    }
}

fn us(ns: i64) -> f64 {
    ns as f64 / 1000.0
}
