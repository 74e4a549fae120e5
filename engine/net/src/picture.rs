// SPDX-License-Identifier: Apache-2.0
//! What the gates and the credit of an egress port did in a run, worked out afterwards by the state machines of the run.
use penstock_shaper::admission::CLASSES;
use penstock_shaper::credit::{self, Credit, Inputs};
use penstock_shaper::egress::{EgressPort, GateTime};
use penstock_shaper::gates::Lists;
use penstock_shaper::Time;
use serde::Deserialize;

use crate::bridge::start::{credit_of, gate_time, shape, start_list};
use crate::bridge::timing::{Clock as Timing, Cycles, Ideal, Line};
use crate::bridge::ShapersConfig;
use crate::clock::Clock;
use crate::describe;
use crate::error::{wrong, RunError};
use crate::link::Rate;

/// A port as the run has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PictureConfig {
    pub clock: describe::Clock,
    /// Of a bridge with the hardware's timing.
    pub hardware: bool,
    pub port: u16,
    pub rate_bps: u64,
    /// Of this port.
    pub shapers: ShapersConfig,
}

/// A frame of a class at its port; times of the run.
#[derive(Clone, Copy, Debug)]
pub struct Occupation {
    /// When it could have been selected.
    pub ready_ps: Time,
    /// When it was, and from when on it cost no credit any more.
    pub selected_ps: Option<(Time, Time)>,
}

/// An egress port whose gates and credit are looked at.
#[derive(Clone, Debug)]
pub struct Picture {
    clock: Clock,
    gate_time: GateTime,
    egress: EgressPort,
    credit: [Option<Credit>; CLASSES],
    /// Of a unit of credit.
    bits: f64,
}

impl Picture {
    pub fn new(config: &PictureConfig) -> Result<Self, RunError> {
        let PictureConfig { clock: described, hardware, port, rate_bps, shapers } = config;
        if !(Rate::LEAST..=Rate::MOST).contains(rate_bps) {
            return Err(wrong(format!("rate_bps is {rate_bps}; {} to {} are allowed", Rate::LEAST, Rate::MOST)));
        }
        let make = if *hardware { Clock::cycles } else { Clock::fine };
        let clock = make(described.offset_ps, described.drift_ppb).map_err(refused)?;
        let timing = match hardware {
            true => Timing::Hardware(Cycles::new(2, false)),
            false => Timing::Ideal(Ideal::new(0, None, vec![*rate_bps; usize::from(*port) + 1])),
        };
        let start = clock.at_or_before(0);
        let gate_time = gate_time(&timing, shapers.ptp, start).map_err(refused)?;
        let line = Line { clock: &timing, gate_time: &gate_time, port: *port, counting: shapers.counting() };
        let mut egress = EgressPort::new(1);
        shape(&mut egress, &line, shapers).map_err(refused)?;
        for gates in shapers.gates.iter().filter(|gates| gates.port == *port) {
            start_list(&mut egress, &line, shapers.ptp, gates, start, &mut Lists::default()).map_err(refused)?;
        }
        let mut credit = [None; CLASSES];
        for of_class in shapers.credit.iter().filter(|credit| credit.port == *port) {
            let place = credit.get_mut(usize::from(of_class.class));
            *place.ok_or_else(|| wrong(format!("class {}; 0 to 7 are allowed", of_class.class)))? =
                Some(credit_of(&line, of_class).map_err(refused)?);
        }
        let bits = if *hardware { 0.5_f64.powi(credit::FRACTION_BITS as i32) } else { 1e-12 };
        Ok(Self { clock, gate_time, egress, credit, bits })
    }

    /// Begin, end and states of each entry that acts on the wire between two times of the run.
    pub fn gate_states(&self, start_ps: Time, stop_ps: Time) -> Vec<(Time, Time, u8)> {
        let Some(gates) = self.egress.gates() else { return vec![(start_ps, stop_ps, 0xFF)] };
        let time = self.gate_time.of_wire();
        let (mut begin, mut at) = (start_ps, time.at(self.clock.at_or_before(start_ps)));
        let mut found = Vec::new();
        while begin < stop_ps {
            let edge = gates.next_edge(at);
            let end = edge.map_or(stop_ps, |edge| self.clock.time(time.tick_of(edge)).min(stop_ps));
            if end > begin {
                found.push((begin, end, gates.states(at)));
            }
            let Some(edge) = edge else { break };
            (begin, at) = (end.max(begin), edge);
        }
        found
    }

    /// When the cycle began that runs at a time of the run; before the first one, that time.
    pub fn cycle_start(&self, at_ps: Time) -> Time {
        let time = self.gate_time.of_wire();
        let start = self.egress.gates().and_then(|gates| gates.cycle_start(time.at(self.clock.at_or_before(at_ps))));
        start.map_or(at_ps, |start| self.clock.time(time.tick_of(start)))
    }

    /// Time and credit in bits wherever its slope changes; none of a class without credit. The first frame is ready at
    /// the start or later.
    pub fn credit(&self, class: usize, frames: &[Occupation], start_ps: Time, stop_ps: Time) -> Vec<(Time, f64)> {
        let Some(mut credit) = self.credit.get(class).copied().flatten() else { return Vec::new() };
        let mut points = Vec::new();
        let mut point = |at_ps: Time, credit: &Credit| points.push((at_ps, credit.credit() as f64 * self.bits));
        // Time, one more that waits, one more that is sent.
        let mut changes: Vec<(Time, i64, i64)> = Vec::new();
        for frame in frames {
            changes.push((frame.ready_ps, 1, 0));
            if let Some((selected, until)) = frame.selected_ps {
                changes.extend([(selected, -1, 1), (until, 0, -1)]);
            }
        }
        changes.sort_unstable();
        let mut times: Vec<Time> = changes.iter().map(|change| change.0).chain([start_ps, stop_ps]).collect();
        times.extend(self.edges(start_ps, stop_ps));
        times.retain(|at| (start_ps..=stop_ps).contains(at));
        times.sort_unstable();
        times.dedup();
        let mut changes = changes.into_iter().peekable();
        let (mut waiting, mut sending) = (0, 0);
        for pair in times.windows(2) {
            while let Some((_, waits, sends)) = changes.next_if(|change| change.0 <= pair[0]) {
                (waiting, sending) = (waiting + waits, sending + sends);
            }
            let (from, to) = (self.clock.at_or_before(pair[0]), self.clock.at_or_before(pair[1]));
            let gates = self.egress.gates();
            let gate_open = gates.is_none_or(|gates| gates.states(self.gate_time.at(from)) >> class & 1 == 1);
            let inputs = Inputs { transmitting: sending > 0, gate_open, waiting: waiting > 0 };
            point(pair[0], &credit);
            let mut left = to - from;
            if !inputs.transmitting && !inputs.waiting && left > 0 {
                let rises = credit.ticks_to_zero();
                if credit.credit() > 0 {
                    // It is lost at once.
                    credit.advance(1, inputs);
                    left -= 1;
                    point(pair[0], &credit);
                } else if gate_open && (1..left).contains(&rises) {
                    // It rises to zero and stays there.
                    credit.advance(rises, inputs);
                    left -= rises;
                    point(self.clock.time(to - left), &credit);
                }
            }
            credit.advance(left, inputs);
            point(pair[1], &credit);
        }
        points
    }

    /// When the states of the gates change that selections go by.
    fn edges(&self, start_ps: Time, stop_ps: Time) -> Vec<Time> {
        let mut found = Vec::new();
        let mut edge = self.gate_time.at(self.clock.at_or_before(start_ps));
        while let Some(next) = self.egress.gates().and_then(|gates| gates.next_edge(edge)) {
            let at_ps = self.clock.time(self.gate_time.tick_of(next));
            if at_ps >= stop_ps {
                break;
            }
            found.push(at_ps);
            edge = next;
        }
        found
    }
}

fn refused(error: impl std::fmt::Display) -> RunError {
    wrong(error.to_string())
}
