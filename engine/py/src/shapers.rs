// SPDX-License-Identifier: Apache-2.0
//! The state machines of the clock, the gates and the credit, for benches that hold the hardware against them.
use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

use penstock_shaper::admission::CLASSES;
use penstock_shaper::credit::{self, Bounds, Credit, Inputs};
use penstock_shaper::gates::{AdminList, Capacity, Entry, Gates, List};
use penstock_shaper::ptp_clock::{Command, PtpClock};
use penstock_shaper::slots::Schedule;

use crate::InputError;

fn class(traffic_class: usize) -> PyResult<usize> {
    if traffic_class < CLASSES {
        return Ok(traffic_class);
    }
    Err(PyIndexError::new_err(format!("no traffic class {traffic_class}; 0 to 7 are allowed")))
}

#[pyclass(name = "PtpClock", module = "penstock._engine")]
pub struct PyPtpClock {
    pub inner: PtpClock,
}

#[pymethods]
impl PyPtpClock {
    #[new]
    #[pyo3(signature = (cycle = 0, ns = 0))]
    fn new(cycle: u64, ns: u64) -> Self {
        Self { inner: PtpClock::new(cycle, ns) }
    }

    /// 0, or the error code of a command that is refused.
    fn set(&mut self, cycle: u64, s: u64, ns: u32) -> u8 {
        self.command(cycle, Command::Set { s, ns })
    }

    fn step(&mut self, cycle: u64, s: i64, ns: u32) -> u8 {
        self.command(cycle, Command::Step { s, ns })
    }

    fn slew(&mut self, cycle: u64, ns: i32, rate: u32) -> u8 {
        self.command(cycle, Command::Slew { ns, rate })
    }

    fn set_increment(&mut self, cycle: u64, increment: u64) -> u8 {
        self.command(cycle, Command::Increment(increment))
    }

    #[getter]
    fn increment(&self) -> u64 {
        self.inner.increment()
    }

    /// (s, ns, fraction in 2^-32 ns)
    fn time(&self, cycle: u64) -> (u64, u32, u32) {
        let (ns, fraction) = (self.inner.ns_at(cycle), self.inner.time_at(cycle) as u32);
        (ns / 1_000_000_000, (ns % 1_000_000_000) as u32, fraction)
    }

    fn ns(&self, cycle: u64) -> u64 {
        self.inner.ns_at(cycle)
    }

    fn is_slewing(&self, cycle: u64) -> bool {
        self.inner.is_slewing_at(cycle)
    }

    fn cycle_of_ns(&self, ns: u64) -> u64 {
        self.inner.cycle_of_ns(ns)
    }
}

impl PyPtpClock {
    fn command(&mut self, cycle: u64, command: Command) -> u8 {
        self.inner.command(cycle, command).map_or_else(|error| error.code(), |()| 0)
    }
}

/// A list that was checked and fitted to its cycle.
#[pyclass(name = "GateList", module = "penstock._engine", frozen)]
struct PyGateList {
    inner: Arc<List>,
}

#[pymethods]
impl PyGateList {
    #[new]
    #[pyo3(signature = (entries, cycle_time, *, base_time = 0, extension = 0, most_entries = None, least_interval = None))]
    fn new(
        entries: Vec<(u8, u8, u64)>,
        cycle_time: u64,
        base_time: u64,
        extension: u64,
        most_entries: Option<usize>,
        least_interval: Option<u64>,
    ) -> PyResult<Self> {
        let entries = entries.into_iter().map(|(operation, states, interval)| Entry { operation, states, interval });
        let admin = AdminList { entries: entries.collect(), base_time, cycle_time, cycle_time_extension: extension };
        let capacity = Capacity {
            entries: most_entries.unwrap_or(Capacity::HARDWARE.entries),
            least_interval: least_interval.unwrap_or(Capacity::HARDWARE.least_interval),
            ..Capacity::HARDWARE
        };
        let list = List::compile(&admin, &capacity).map_err(|error| InputError::new_err(error.to_string()))?;
        Ok(Self { inner: Arc::new(list) })
    }

    /// (start in the cycle, states, interval)
    #[getter]
    fn entries(&self) -> Vec<(u64, u8, u64)> {
        self.inner.entries().collect()
    }

    #[getter]
    fn cycle_time(&self) -> u64 {
        self.inner.cycle_time()
    }

    #[getter]
    fn base_time(&self) -> u64 {
        self.inner.base_time()
    }

    /// How long the class stays open from the cycle's start on; None: always.
    fn initial_window(&self, traffic_class: usize) -> PyResult<Option<u64>> {
        Ok(finite(self.inner.initial_window(class(traffic_class)?)))
    }

    /// The longest that the class is open without a break; None: always.
    fn largest_window(&self, traffic_class: usize) -> PyResult<Option<u64>> {
        Ok(finite(self.inner.largest_window(class(traffic_class)?)))
    }

    fn open_time(&self, traffic_class: usize) -> PyResult<u64> {
        Ok(self.inner.open_time(class(traffic_class)?))
    }

    fn start_from(&self, earliest: u64) -> u64 {
        self.inner.start_from(earliest)
    }
}

fn finite(window: u64) -> Option<u64> {
    (window < penstock_shaper::gates::HORIZON).then_some(window)
}

/// The twin of `pen_gates`, in gate time.
#[pyclass(name = "Gates", module = "penstock._engine")]
struct PyGates {
    inner: Gates,
}

#[pymethods]
impl PyGates {
    #[new]
    #[pyo3(signature = (initial_states = 0xFF, enabled = true))]
    fn new(initial_states: u8, enabled: bool) -> Self {
        let mut inner = Gates::default();
        inner.set_initial_states(initial_states);
        inner.set_enabled(enabled);
        Self { inner }
    }

    fn set_enabled(&mut self, enabled: bool) {
        self.inner.set_enabled(enabled);
    }

    fn set_initial_states(&mut self, states: u8) {
        self.inner.set_initial_states(states);
    }

    fn propose(&mut self, since: u64, list: &PyGateList, change_time: u64) {
        self.inner.propose(since, Arc::clone(&list.inner), change_time);
    }

    fn withdraw(&mut self, since: u64) {
        self.inner.withdraw(since);
    }

    /// What was pending and its ConfigChangeTime.
    fn stepped(&mut self, last: u64, earliest: u64) -> Option<(PyGateList, u64)> {
        self.inner.stepped(last, earliest).map(|(inner, change_time)| (PyGateList { inner }, change_time))
    }

    fn states(&self, now: u64) -> u8 {
        self.inner.states(now)
    }

    /// When the gate closes; None: it is closed.
    fn close(&self, now: u64, traffic_class: usize) -> PyResult<Option<u64>> {
        Ok(self.inner.close(now, class(traffic_class)?))
    }

    fn fits(&self, now: u64, traffic_class: usize, wire: u64) -> PyResult<bool> {
        Ok(self.inner.fits(now, class(traffic_class)?, wire))
    }

    fn fits_from(&self, now: u64, traffic_class: usize, wire: u64) -> PyResult<Option<u64>> {
        Ok(self.inner.fits_from(now, class(traffic_class)?, wire))
    }

    fn next_edge(&self, now: u64) -> Option<u64> {
        self.inner.next_edge(now)
    }

    /// ConfigChangeTime of the list that waits.
    fn pending(&self, now: u64) -> Option<u64> {
        self.inner.pending(now).map(|(_, change_time)| change_time)
    }

    fn is_last_cycle(&self, now: u64) -> bool {
        self.inner.is_last_cycle(now)
    }

    fn running(&self, now: u64) -> Option<PyGateList> {
        self.inner.list(now).map(|list| PyGateList { inner: Arc::clone(list) })
    }
}

/// The twin of `pen_credit`, for one class.
#[pyclass(name = "Credit", module = "penstock._engine")]
struct PyCredit {
    inner: Credit,
}

#[pymethods]
impl PyCredit {
    #[new]
    #[pyo3(signature = (idle_slope, port_rate = credit::PORT_RATE, *, bounded = true))]
    fn new(idle_slope: u64, port_rate: u64, bounded: bool) -> PyResult<Self> {
        match Credit::new(idle_slope, port_rate, if bounded { Bounds::HARDWARE } else { Bounds::NONE }) {
            Ok(inner) => Ok(Self { inner }),
            Err(error) => Err(InputError::new_err(error.to_string())),
        }
    }

    #[pyo3(signature = (ticks = 1, *, transmitting, gate_open, waiting))]
    fn advance(&mut self, ticks: u64, transmitting: bool, gate_open: bool, waiting: bool) -> i128 {
        self.inner.advance(ticks, Inputs { transmitting, gate_open, waiting });
        self.inner.credit()
    }

    #[getter]
    fn credit(&self) -> i128 {
        self.inner.credit()
    }

    #[getter]
    fn send_slope(&self) -> i128 {
        self.inner.send_slope()
    }

    #[getter]
    fn hi(&self) -> i128 {
        self.inner.hi()
    }

    #[getter]
    fn lo(&self) -> i128 {
        self.inner.lo()
    }

    #[getter]
    fn ticks_to_zero(&self) -> u64 {
        self.inner.ticks_to_zero()
    }

    fn selected(&mut self) {
        self.inner.selected();
    }

    fn sent(&mut self) {
        self.inner.sent();
    }

    fn clear(&mut self) {
        self.inner.clear();
    }
}

/// idleSlope as the register holds it, rounded down.
#[pyfunction]
fn idle_slope(bps: u64) -> PyResult<u64> {
    if bps > credit::PORT_RATE_BPS {
        return Err(PyValueError::new_err(format!("idleSlope of {bps} b/s; at most the port's 1 Gb/s is allowed")));
    }
    Ok(credit::idle_slope(bps))
}

/// The gate control list of a schedule of slots, given by queue in nanoseconds: what is open, and for how long.
#[pyfunction]
fn slots(slot_ns: Vec<u32>, order: Vec<u8>, cycle_ns: u32, guard_ns: u32) -> PyResult<Vec<(u16, u32)>> {
    let schedule = Schedule { slot_ns, order, cycle_ns, guard_ns };
    let list = schedule.compile(0).map_err(|error| InputError::new_err(error.to_string()))?;
    Ok(list.into_iter().map(|each| (each.queues, each.interval_ns)).collect())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(slots, module)?)?;
    module.add_class::<PyPtpClock>()?;
    module.add_class::<PyGateList>()?;
    module.add_class::<PyGates>()?;
    module.add_class::<PyCredit>()?;
    module.add_function(wrap_pyfunction!(idle_slope, module)?)?;
    Ok(())
}
