// SPDX-License-Identifier: Apache-2.0
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList};

use penstock_frame::FrameToWrite;
use penstock_net::{Delivery, Event, Fates, Network, Node, Outcome, Reason, RunError, Trace};
use penstock_rtl::SwitchNode;

use crate::arrays::{array, Number};
use crate::{ConservationError, HardwareError, InputError};

fn run_error(error: RunError) -> PyErr {
    let text = error.to_string();
    match error {
        RunError::Description { .. } | RunError::Source { .. } => InputError::new_err(text),
        RunError::Node(_) => HardwareError::new_err(text),
        RunError::Conservation(_) => ConservationError::new_err(text),
        RunError::Interrupted => pyo3::exceptions::PyKeyboardInterrupt::new_err(text),
    }
}

fn nodes(network: &Network) -> PyResult<Vec<Box<dyn Node>>> {
    let mut nodes: Vec<Box<dyn Node>> = Vec::new();
    for bridge in &network.bridges {
        let refuse = |what: &str| InputError::new_err(format!("bridge \"{}\": {what}", bridge.name));
        if bridge.model != "rtl" {
            return Err(refuse(&format!("model \"{}\"; \"rtl\" is allowed", bridge.model)));
        }
        let library = bridge.library.as_ref().ok_or_else(|| refuse("the key \"library\" is missing"))?;
        let node = SwitchNode::new(&bridge.name, library, &bridge.writes);
        nodes.push(Box::new(node.map_err(|e| HardwareError::new_err(format!("bridge \"{}\": {e}", bridge.name)))?));
    }
    Ok(nodes)
}

/// Runs a network, and gives what it left.
#[pyfunction]
#[pyo3(signature = (network_json, progress = None))]
fn run<'py>(py: Python<'py>, network_json: &str, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyDict>> {
    let network: Network =
        serde_json::from_str(network_json).map_err(|error| InputError::new_err(format!("network: {error}")))?;
    let mut raised = None;
    let result = py.detach(|| -> PyResult<_> {
        let mut nodes = nodes(&network)?;
        let mut tell = |done: f64| {
            let told = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map_or(Ok(()), |call| call.call1(py, (done,)).map(drop))
            });
            told.map_err(|error| raised = Some(error)).is_ok()
        };
        Ok(penstock_net::run(&network, &mut nodes, &mut tell))
    })?;
    if let Some(error) = raised {
        return Err(error);
    }
    outcome(py, &network, result.map_err(run_error)?)
}

fn outcome<'py>(py: Python<'py>, network: &Network, outcome: Outcome) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let delivered = PyDict::new(py);
    for (station, frames) in &outcome.deliveries {
        delivered.set_item(&network.stations[*station].name, deliveries(py, frames)?)?;
    }
    let conservation = PyDict::new(py);
    for (name, fates) in outcome.streams.iter().zip(&outcome.fates) {
        conservation.set_item(name, fate(py, fates)?)?;
    }
    let simulation = PyDict::new(py);
    simulation.set_item("cycles_simulated", outcome.simulation.cycles_simulated)?;
    simulation.set_item("cycles_jumped", outcome.simulation.cycles_jumped)?;
    simulation.set_item("end_ps", outcome.simulation.end_ps)?;
    dict.set_item("trace", columns(py, &outcome.trace)?)?;
    dict.set_item("nodes", outcome.nodes)?;
    dict.set_item("streams", outcome.streams)?;
    dict.set_item("events", Event::NAMES)?;
    dict.set_item("reasons", Reason::NAMES)?;
    dict.set_item("delivered", delivered)?;
    dict.set_item("conservation", conservation)?;
    dict.set_item("simulation", simulation)?;
    Ok(dict)
}

fn columns<'py>(py: Python<'py>, trace: &Trace) -> PyResult<Bound<'py, PyDict>> {
    fn column<T: Number>(into: &Bound<'_, PyDict>, name: &str, values: &[T]) -> PyResult<()> {
        into.set_item(name, array(into.py(), values.iter().copied())?)
    }
    let dict = PyDict::new(py);
    column(&dict, "frame_id", &trace.frame_id)?;
    column(&dict, "stream", &trace.stream)?;
    column(&dict, "node", &trace.node)?;
    column(&dict, "port", &trace.port)?;
    column(&dict, "event", &trace.event)?;
    column(&dict, "time_ps", &trace.time_ps)?;
    column(&dict, "bytes", &trace.bytes)?;
    column(&dict, "traffic_class", &trace.traffic_class)?;
    column(&dict, "reason", &trace.reason)?;
    Ok(dict)
}

fn deliveries<'py>(py: Python<'py>, frames: &[Delivery]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, frames.iter().map(|frame| (frame.time_ps, PyBytes::new(py, &frame.bytes))))
}

fn fate<'py>(py: Python<'py>, fates: &Fates) -> PyResult<Bound<'py, PyDict>> {
    let dropped = PyDict::new(py);
    for (reason, count) in &fates.dropped {
        dropped.set_item(reason.name(), count)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("created", fates.created)?;
    dict.set_item("delivered", fates.delivered)?;
    dict.set_item("dropped", dropped)?;
    dict.set_item("inside", fates.inside)?;
    Ok(dict)
}

/// The frames of a capture: their times since the first, their lengths on the wire without FCS, their bytes.
#[pyfunction]
fn read_capture(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let capture = penstock_frame::read_capture(&path).map_err(|error| InputError::new_err(error.to_string()))?;
    let dict = PyDict::new(py);
    dict.set_item("start_ps", capture.start_ps)?;
    dict.set_item("in_order", capture.in_order)?;
    dict.set_item("time_ps", array(py, capture.frames.iter().map(|frame| frame.time.0))?)?;
    dict.set_item("original_bytes", array(py, capture.frames.iter().map(|frame| frame.original_bytes))?)?;
    dict.set_item("frames", PyList::new(py, capture.frames.iter().map(|frame| PyBytes::new(py, &frame.bytes)))?)?;
    Ok(dict)
}

/// Writes frames, each its time since 1970, its bytes and its length on the wire without FCS.
#[pyfunction]
fn write_pcapng(
    path: PathBuf,
    interface: &str,
    application: &str,
    frames: Vec<(u64, PyBackedBytes, u32)>,
) -> PyResult<()> {
    let frames = frames.iter().map(|(time_ns, bytes, original_bytes)| FrameToWrite {
        time_ns: *time_ns,
        original_bytes: *original_bytes,
        bytes,
    });
    Ok(penstock_frame::write_pcapng(&path, interface, application, frames)?)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(read_capture, module)?)?;
    module.add_function(wrap_pyfunction!(write_pcapng, module)?)?;
    Ok(())
}
