// SPDX-License-Identifier: Apache-2.0
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

use penstock_frame::{BitsPerSecond, Bytes};
use penstock_shaper::ats::{self, Group, Rate, Scheduler};

const CLASSES: usize = 8;

/// The twin of `pen_ats`, frame by frame.
#[pyclass(module = "penstock._engine")]
struct Ats {
    groups: Vec<Group>,
    schedulers: Vec<Option<Scheduler>>,
}

#[pymethods]
impl Ats {
    #[new]
    #[pyo3(signature = (ports = 4, streams = 256))]
    fn new(ports: usize, streams: usize) -> PyResult<Self> {
        if !(1..=8).contains(&ports) || !(1..=4096).contains(&streams) {
            return Err(PyValueError::new_err("1 to 8 ports and 1 to 4096 streams are allowed"));
        }
        Ok(Self { groups: vec![Group::default(); ports * CLASSES], schedulers: vec![None; streams] })
    }

    /// As a write to TABLE_STREAM_RATE: the bucket becomes full.
    fn set_rate(&mut self, stream: usize, ns_per_byte: u64, empty_to_full: u64) -> PyResult<()> {
        let rate = Rate::from_registers(ns_per_byte, empty_to_full).map_err(value_error)?;
        let slot = self.schedulers.get_mut(stream).ok_or_else(|| no_stream(stream))?;
        *slot = Some(Scheduler::new(rate));
        Ok(())
    }

    /// As a write to TABLE_GROUP.
    fn set_group(&mut self, port: usize, traffic_class: usize, max_residence_ns: u32) -> PyResult<()> {
        self.group(port, traffic_class)?.set_max_residence_ns(max_residence_ns);
        Ok(())
    }

    /// The eligibility time in ticks of 2^-16 ns, or None if the frame is to be discarded.
    ///
    /// `wire_bytes` is the frame with the overhead that the shaper counts.
    fn frame(
        &mut self,
        port: usize,
        traffic_class: usize,
        stream: usize,
        arrival_ns: u64,
        wire_bytes: u32,
    ) -> PyResult<Option<i128>> {
        let mut group = *self.group(port, traffic_class)?;
        let scheduler = self.schedulers.get_mut(stream).ok_or_else(|| no_stream(stream))?;
        let scheduler = scheduler
            .as_mut()
            .ok_or_else(|| PyValueError::new_err(format!("stream {stream} has no rate: call set_rate first")))?;
        let eligibility = ats::process_frame(&mut group, scheduler, arrival_ns, wire_bytes);
        *self.group(port, traffic_class)? = group;
        Ok(eligibility)
    }
}

impl Ats {
    fn group(&mut self, port: usize, traffic_class: usize) -> PyResult<&mut Group> {
        let index = port * CLASSES + traffic_class;
        if traffic_class < CLASSES && index < self.groups.len() {
            return Ok(&mut self.groups[index]);
        }
        Err(PyIndexError::new_err(format!("no port {port} with traffic class {traffic_class}")))
    }
}

fn no_stream(stream: usize) -> PyErr {
    PyIndexError::new_err(format!("no stream {stream}"))
}

fn value_error(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// (ns_per_byte, empty_to_full) as the registers hold them.
#[pyfunction]
fn ats_rate(rate_bps: u64, burst_bytes: u64) -> PyResult<(u64, u64)> {
    let rate = Rate::new(BitsPerSecond(rate_bps), Bytes(burst_bytes)).map_err(value_error)?;
    Ok((rate.ns_per_byte(), rate.empty_to_full()))
}

/// The first cycle of 8 ns in which a frame of this eligibility time (in ticks) may be selected.
#[pyfunction]
#[pyo3(signature = (eligibility, processing_delay_max_ns = 0))]
fn ats_visible_cycle(eligibility: i128, processing_delay_max_ns: u32) -> u64 {
    ats::visible_cycle(eligibility, processing_delay_max_ns)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Ats>()?;
    module.add_function(wrap_pyfunction!(ats_rate, module)?)?;
    module.add_function(wrap_pyfunction!(ats_visible_cycle, module)?)?;
    Ok(())
}
