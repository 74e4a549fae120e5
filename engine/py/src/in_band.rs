// SPDX-License-Identifier: Apache-2.0
//! In-band synchronization, for programs of nodes: frames in, frames out, by a clock of cycles.
use std::borrow::Cow;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use penstock_shaper::in_band::{Drift, Follower, Message, Origin, Phase, Plan, Sample, Time, SLOPE_BITS};

use crate::shapers::PyPtpClock;

const FRACTION_BITS: u32 = 32;

fn nanoseconds(time: Time) -> f64 {
    time as f64 / 2_f64.powi(FRACTION_BITS as i32)
}

/// (what the follower is ahead at the middle, in ns; what it gains, as a part)
fn line(drift: Drift) -> (f64, f64) {
    (nanoseconds(drift.intercept), drift.slope as f64 / 2_f64.powi(SLOPE_BITS as i32))
}

/// Phase, time by the origin's clock in ns, round trip in ns, what the follower is ahead in ns.
type SampleSeen = (&'static str, i64, f64, f64);

type Source = [u8; 6];

/// The side whose clock is right.
#[pyclass(name = "InBandOrigin", module = "penstock._engine")]
struct PyOrigin {
    inner: Origin,
    source: Source,
}

#[pymethods]
impl PyOrigin {
    #[new]
    #[pyo3(signature = (clock, cycle, source, *, interval_ns, probes, probes_after_set, checks))]
    fn new(
        clock: &PyPtpClock,
        cycle: u64,
        source: Source,
        interval_ns: u32,
        probes: u32,
        probes_after_set: u32,
        checks: u32,
    ) -> PyResult<Self> {
        let plan = Plan { interval: Time::from(interval_ns) << FRACTION_BITS, probes, probes_after_set, checks };
        let inner =
            Origin::new(plan, clock.inner.time_at(cycle)).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { inner, source })
    }

    #[getter]
    fn phase(&self) -> &'static str {
        self.inner.phase().name()
    }

    #[getter]
    fn is_over(&self) -> bool {
        self.inner.is_over()
    }

    #[getter]
    fn lost(&self) -> u32 {
        self.inner.lost()
    }

    /// What the collection phase found: (intercept in ns, slope).
    #[getter]
    fn drift(&self) -> Option<(f64, f64)> {
        self.inner.drift().map(line)
    }

    /// What the follower was told to compensate: (intercept in ns, slope).
    #[getter]
    fn given(&self) -> Option<(f64, f64)> {
        self.inner.given().map(line)
    }

    /// Of each frame that came back.
    #[getter]
    fn samples(&self) -> Vec<SampleSeen> {
        let of = |&(phase, Sample { at, round_trip, error }): &(Phase, Sample)| {
            (phase.name(), (at >> FRACTION_BITS) as i64, nanoseconds(round_trip), nanoseconds(error))
        };
        self.inner.samples().iter().map(of).collect()
    }

    /// The cycle in which a message is to be sent; None: never again.
    fn next(&self, clock: &PyPtpClock) -> Option<u64> {
        self.inner.next().map(|time| clock.inner.cycle_of(time))
    }

    /// The frame that leaves in a cycle, without FCS, if one is due.
    fn send(&mut self, clock: &PyPtpClock, cycle: u64) -> Option<Cow<'static, [u8]>> {
        let message = self.inner.send(clock.inner.time_at(cycle))?;
        Some(message.encode(self.source).to_vec().into())
    }

    /// A frame has come; one of another protocol is passed over.
    fn receive(&mut self, frame: &[u8], clock: &PyPtpClock, cycle: u64) {
        if let Some(message) = Message::decode(frame) {
            self.inner.receive(&message, clock.inner.time_at(cycle));
        }
    }
}

/// The side whose clock is set right.
#[pyclass(name = "InBandFollower", module = "penstock._engine")]
struct PyFollower {
    inner: Follower,
    source: Source,
}

#[pymethods]
impl PyFollower {
    #[new]
    fn new(source: Source) -> Self {
        Self { inner: Follower::default(), source }
    }

    #[getter]
    fn is_set(&self) -> bool {
        self.inner.is_set()
    }

    #[getter]
    fn is_compensated(&self) -> bool {
        self.inner.is_compensated()
    }

    /// A frame came in a cycle, and is answered in another one, in which the clock does what it says. Gives the answer.
    fn receive(
        &mut self,
        frame: &[u8],
        clock: &mut PyPtpClock,
        received: u64,
        answered: u64,
    ) -> Option<Cow<'static, [u8]>> {
        let message = Message::decode(frame)?;
        let came = clock.inner.time_at(received);
        let reaction = self.inner.receive(&message, came, answered, &clock.inner);
        for command in reaction.commands.into_iter().flatten() {
            // What a clock cannot do it does not.
            let _ = clock.inner.command(answered, command);
        }
        let answer = reaction.answer?.leaving_at(clock.inner.time_at(answered));
        Some(answer.encode(self.source).to_vec().into())
    }

    /// Makes good what the clock's increment is rounded by; to be called each second or so.
    fn trim(&mut self, clock: &mut PyPtpClock, cycle: u64) {
        if let Some(command) = self.inner.trim(cycle, &clock.inner) {
            let _ = clock.inner.command(cycle, command);
        }
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyOrigin>()?;
    module.add_class::<PyFollower>()
}
