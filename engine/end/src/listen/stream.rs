// SPDX-License-Identifier: Apache-2.0
//! What the listener keeps of a stream.
use serde::Serialize;

use super::rows::Row;
use crate::frame::{Carrier, Received};
use crate::header::{flags, Header};
use crate::measure::{Frame, Measurement, Times};
use crate::plan::{Mode, Plan, Stream};
use crate::sequence::{Arrival, Counts, Sequence};
use crate::stamps::{Kind, Verdict, KINDS};

/// A stream while frames come.
pub struct Heard<'a> {
    plan: &'a Plan,
    stream: &'a Stream,
    run: Option<u16>,
    last: Option<u64>,
    sequence: Sequence,
    /// In the order of `KINDS`.
    measurements: [Measurement; 3],
}

/// What is said of a stream.
#[derive(Debug, Serialize)]
pub struct Summary {
    pub id: u16,
    /// Frames that the talker sent as far as is known.
    pub expected: u64,
    #[serde(flatten)]
    pub counts: Counts,
    pub lost: u64,
    /// Frames in the statistics: the received ones but for the warm-up.
    pub measured: u64,
    #[serde(flatten)]
    pub times: Times,
    pub by_stamp: ByStamp,
    pub deadline_ns: Option<u64>,
    /// Whether no frame took longer; None without deadline or where clocks cannot be compared.
    pub deadline_met: Option<bool>,
    pub ok: bool,
}

/// The same from each kind of stamps that there was.
#[derive(Debug, Serialize)]
pub struct ByStamp {
    pub hardware: Option<Times>,
    pub kernel: Option<Times>,
    pub user: Option<Times>,
}

impl<'a> Heard<'a> {
    pub fn new(plan: &'a Plan, stream: &'a Stream) -> Heard<'a> {
        let sequence = Sequence::new(stream.count(plan));
        Heard { plan, stream, run: None, last: None, sequence, measurements: Default::default() }
    }

    /// Why a frame cannot be this stream's, as a kind of what is ignored. `tag_known`: the interface shows tags.
    pub fn refuses(&self, frame: &Received, bytes: usize, tag_known: bool) -> Option<&'static str> {
        let carried = match (self.stream.mode, frame.carrier) {
            (Mode::Raw, Carrier::Raw { ethertype }) => ethertype == self.stream.ethertype(),
            (Mode::Udp, Carrier::Udp { destination_port, .. }) => {
                Some(destination_port) == self.stream.destination_port
            }
            _ => false,
        };
        let tag = frame.tag.map(|tag| (tag.vlan, tag.pcp));
        let wanted = self.stream.vlan.map(|vlan| (vlan, self.stream.pcp));
        if !carried {
            Some("wrong_carrier")
        } else if tag_known && tag != wanted {
            Some("wrong_tag")
        } else if bytes != self.stream.bytes_of(self.sequence.extend(frame.header.sequence)) as usize {
            Some("wrong_length")
        } else {
            None
        }
    }

    /// Takes a frame with its stamps in CLOCK_TAI, in the order of `KINDS`. None for a frame of another talker's run.
    pub fn take(&mut self, header: &Header, stamps: [Option<u64>; 3]) -> Option<(u64, Arrival)> {
        if *self.run.get_or_insert(header.run) != header.run {
            return None;
        }
        let sequence = self.sequence.extend(header.sequence);
        let arrival = self.sequence.take(sequence);
        if arrival == Arrival::Implausible {
            return Some((sequence, arrival));
        }
        if header.has(flags::LAST) {
            self.last = Some(sequence);
        }
        let warm = sequence >= u64::from(self.plan.listen.warmup_frames);
        if warm && arrival != Arrival::Duplicate {
            for (measurement, stamp) in self.measurements.iter_mut().zip(stamps) {
                if let Some(received) = stamp {
                    measurement.take(times(self.plan, self.stream, header, sequence, received));
                }
            }
        }
        Some((sequence, arrival))
    }

    /// Whether no more frames are to come.
    pub fn is_over(&self) -> bool {
        self.sequence.is_complete() || self.last.is_some()
    }

    /// `to_the_end`: the listener waited for all frames of the plan.
    pub fn summarize(&self, verdict: &Verdict, one_clock: bool, to_the_end: bool) -> Summary {
        let counts = self.sequence.counts();
        let planned = self.stream.count(self.plan).filter(|_| to_the_end);
        let expected = self.last.map(|last| last + 1).or(planned).unwrap_or(0).max(self.sequence.next());
        let lost = expected - counts.received;
        let described = |kind: Kind| self.measurements[position(kind)].describe(one_clock);
        let mut chosen = described(verdict.latency_from);
        let periods = described(verdict.periods_from);
        (chosen.period_jitter_ns, chosen.gap_ns) = (periods.period_jitter_ns, periods.gap_ns);
        chosen.not_consecutive = periods.not_consecutive;
        let worst = chosen.latency_ns.as_ref().and_then(|latency| latency.max);
        let deadline = self.stream.deadline_ns;
        let deadline_met =
            deadline.zip(worst).map(|(deadline, worst)| worst <= i64::try_from(deadline).unwrap_or(i64::MAX));
        let there = |kind| Some(described(kind)).filter(|_| self.measurements[position(kind)].frames() > 0);
        Summary {
            id: self.stream.id,
            expected,
            counts,
            lost,
            measured: self.measurements[position(Kind::User)].frames(),
            times: chosen,
            by_stamp: ByStamp { hardware: there(Kind::Hardware), kernel: there(Kind::Kernel), user: there(Kind::User) },
            deadline_ns: deadline,
            deadline_met,
            ok: counts.received > 0 && lost == 0 && (deadline.is_none() || deadline_met == Some(true)),
        }
    }

    pub fn name(&self) -> &str {
        &self.stream.name
    }

    /// A row of the table for a frame.
    pub fn row(&self, frame: &Received, sequence: u64, arrival: Arrival) -> Row {
        Row {
            stream: self.stream.name.clone(),
            stream_id: self.stream.id,
            sequence,
            kind: arrival.name(),
            bytes: self.stream.bytes_of(sequence),
            tag: frame.tag,
            source_mac: frame.source,
            construction_tai_ns: frame.header.construction_tai_ns,
            due_tai_ns: frame.header.due_tai_ns,
            launch_time: frame.header.has(flags::LAUNCH_TIME),
            ..Row::default()
        }
    }
}

fn position(kind: Kind) -> usize {
    KINDS.iter().position(|&each| each == kind).unwrap_or(0)
}

fn times(plan: &Plan, stream: &Stream, header: &Header, sequence: u64, received: u64) -> Frame {
    let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let due_ns = signed(header.due_tai_ns);
    let begin = due_ns.saturating_sub(signed(stream.member_ns(sequence)));
    let begin = begin.saturating_add(plan.listen.window_offset_ns);
    Frame {
        sequence,
        received_ns: signed(received),
        constructed_ns: signed(header.construction_tai_ns),
        due_ns,
        ideal_period_ns: if sequence == 0 { 0 } else { signed(stream.ideal_period_ns(plan, sequence)) },
        window_ns: stream.window_ns.map(|window| (begin, begin.saturating_add(signed(window)))),
    }
}
