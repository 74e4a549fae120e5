// SPDX-License-Identifier: Apache-2.0
//! What a run left, for Python. Compiled with each width of times: `super::net`.
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::net::{Conformance, Distribution, Event, Fates, Figures, HopFigures, Outcome, Reason, Simulation};
use super::net::{RunError, StreamStatistics, Summary};
use crate::{ConservationError, HardwareError, InputError};

pub fn run_error(error: RunError) -> PyErr {
    let text = error.to_string();
    match error {
        RunError::Node(_) => HardwareError::new_err(text),
        RunError::Conservation(_) | RunError::Late { .. } => ConservationError::new_err(text),
        RunError::Capture { source, .. } => PyErr::from(source),
        _ => InputError::new_err(text),
    }
}

pub fn outcome<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let conservation = PyDict::new(py);
    for (name, fates) in outcome.streams.iter().zip(&outcome.fates) {
        conservation.set_item(name, fate(py, fates)?)?;
    }
    let statistics = PyDict::new(py);
    for (name, stream) in outcome.streams.iter().zip(&outcome.statistics) {
        statistics.set_item(name, of_stream(py, stream)?)?;
    }
    dict.set_item("nodes", &outcome.nodes)?;
    dict.set_item("streams", &outcome.streams)?;
    dict.set_item("events", Event::NAMES)?;
    dict.set_item("reasons", Reason::NAMES)?;
    dict.set_item("conservation", conservation)?;
    dict.set_item("statistics", statistics)?;
    dict.set_item("simulation", simulation(py, &outcome.simulation)?)?;
    if let Some(figures) = &outcome.figures {
        dict.set_item("figures", figures_of(py, figures, outcome)?)?;
    }
    dict.set_item("interrupted", outcome.interrupted)?;
    Ok(dict)
}

fn simulation<'py>(py: Python<'py>, simulation: &Simulation) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("frame_hops", simulation.frame_hops)?;
    dict.set_item("events", simulation.events)?;
    dict.set_item("cycles_simulated", simulation.cycles_simulated)?;
    dict.set_item("cycles_jumped", simulation.cycles_jumped)?;
    dict.set_item("end_ps", simulation.end_ps)?;
    Ok(dict)
}

fn by_reason<'py>(py: Python<'py>, counts: impl IntoIterator<Item = (Reason, u64)>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (reason, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        dict.set_item(reason.name(), count)?;
    }
    Ok(dict)
}

fn fate<'py>(py: Python<'py>, fates: &Fates) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("created", fates.created)?;
    dict.set_item("delivered", fates.delivered)?;
    dict.set_item("dropped", by_reason(py, fates.dropped.iter().map(|(reason, count)| (*reason, *count)))?)?;
    dict.set_item("inside", fates.inside)?;
    Ok(dict)
}

fn of_stream<'py>(py: Python<'py>, stream: &StreamStatistics) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let dropped = (0_u8..).map(Reason).zip(stream.dropped);
    dict.set_item("frames", stream.frames)?;
    dict.set_item("copies", stream.copies)?;
    dict.set_item("delivered", stream.delivered)?;
    dict.set_item("inside", stream.inside)?;
    dict.set_item("launch_missed", stream.launch_missed)?;
    dict.set_item("duplicated", stream.duplicated)?;
    dict.set_item("eliminated", stream.eliminated)?;
    dict.set_item("repeated", stream.repeated)?;
    dict.set_item("spoiled", stream.spoiled)?;
    dict.set_item("dropped", by_reason(py, dropped)?)?;
    dict.set_item("latency_ps", distribution(py, &stream.latency_ps)?)?;
    dict.set_item("interval_ps", distribution(py, &stream.interval_ps)?)?;
    dict.set_item("talker_wait_ps", distribution(py, &stream.talker_wait_ps)?)?;
    dict.set_item("first_delivered_ps", stream.first_delivered_ps)?;
    dict.set_item("last_delivered_ps", stream.last_delivered_ps)?;
    dict.set_item("delivered_wire_bytes", stream.delivered_wire_bytes)?;
    dict.set_item("conformance", stream.conformance.as_ref().map(|seen| of_source(py, seen)).transpose()?)?;
    Ok(dict)
}

pub fn of_source<'py>(py: Python<'py>, seen: &Conformance) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("frames", seen.frames)?;
    dict.set_item("late_frames", seen.late)?;
    dict.set_item("worst_ps", seen.worst_ps)?;
    dict.set_item("first_late", seen.first_late)?;
    Ok(dict)
}

/// Without values all is None but the count.
fn distribution<'py>(py: Python<'py>, values: &Distribution) -> PyResult<Bound<'py, PyDict>> {
    summary(py, values.summary())
}

/// The same of what is told of one.
fn summary<'py, T: IntoPyObject<'py>>(py: Python<'py>, told: Option<Summary<T>>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("count", told.as_ref().map_or(0, |told| told.count))?;
    dict.set_item("mean", told.as_ref().map(|told| told.mean))?;
    dict.set_item("p50", told.as_ref().map(|told| told.p50))?;
    dict.set_item("p99", told.as_ref().map(|told| told.p99))?;
    dict.set_item("percentile_error", told.as_ref().map_or(0.0, |told| told.percentile_error))?;
    let (min, max) = told.map(|told| (told.min, told.max)).unzip();
    dict.set_item("min", min)?;
    dict.set_item("max", max)?;
    Ok(dict)
}

/// `ports`, those that streams came to; `hops`, the same per stream; `shaping_ps`, per stream.
fn figures_of<'py>(py: Python<'py>, figures: &Figures, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let seen = |hop: &&HopFigures| hop.first_received_ps.is_some();
    let mut places: Vec<_> = figures.hops().iter().filter(seen).map(|hop| (hop.bridge, hop.port)).collect();
    places.sort_unstable();
    places.dedup();
    let (ports, hops) = (PyList::empty(py), PyList::empty(py));
    for (bridge, port, of_port) in figures.ports() {
        if places.binary_search(&(bridge, port)).is_err() {
            continue;
        }
        let dict = PyDict::new(py);
        dict.set_item("bridge", &outcome.nodes[bridge as usize])?;
        dict.set_item("port", port)?;
        dict.set_item("frames", of_port.frames)?;
        dict.set_item("dropped", of_port.dropped)?;
        dict.set_item("wire_bytes", of_port.wire_bytes)?;
        dict.set_item("passing_ps", summary(py, of_port.passing_ps.summary())?)?;
        dict.set_item("queued_bytes_max", of_port.queued_bytes_max())?;
        ports.append(dict)?;
    }
    for hop in figures.hops().iter().filter(seen) {
        let dict = PyDict::new(py);
        dict.set_item("stream", &outcome.streams[hop.stream as usize])?;
        dict.set_item("bridge", &outcome.nodes[hop.bridge as usize])?;
        dict.set_item("port", hop.port)?;
        dict.set_item("frames", hop.frames)?;
        dict.set_item("dropped", hop.dropped)?;
        dict.set_item("first_received_ps", hop.first_received_ps)?;
        dict.set_item("idle_ps", hop.idle_ps)?;
        let passing = hop.passing_ps.as_ref().map(|passing| summary(py, passing.summary())).transpose()?;
        dict.set_item("passing_ps", passing)?;
        hops.append(dict)?;
    }
    let shaping = PyDict::new(py);
    for (stream, held) in outcome.streams.iter().zip(figures.shaping_ps()) {
        shaping.set_item(stream, summary(py, held.summary())?)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("ports", ports)?;
    dict.set_item("hops", hops)?;
    dict.set_item("shaping_ps", shaping)?;
    Ok(dict)
}
