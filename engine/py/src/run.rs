// SPDX-License-Identifier: Apache-2.0
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList};

use penstock_frame::FrameToWrite;
use penstock_net::bridge::Tagger;
use penstock_net::describe::{self, BridgeKind, Committed, Link};
use penstock_net::{Clock, Conformance, Guests, Network, Observer, Rate, Row};
use penstock_rtl::{CardNode, SwitchNode};
use serde::de::DeserializeOwned;
use serde::Deserialize;

use crate::arrays::array;
use crate::guest::{PyNode, PyProgram, Raised};
use crate::trace::Sink;
use crate::{HardwareError, InputError};

/// A bridge that is hardware, configured.
fn hardware(network: &Network, index: usize) -> PyResult<SwitchNode> {
    let bridge = &network.bridges[index];
    let refuse = |what: String| InputError::new_err(format!("bridge \"{}\": {what}", bridge.name));
    let library = bridge.library.as_ref().ok_or_else(|| refuse("the key \"library\" is missing".to_owned()))?;
    let clock = Clock::cycles(bridge.clock.offset_ps, bridge.clock.drift_ppb);
    let clock = clock.map_err(|error| refuse(error.to_string()))?;
    let has_gates = !bridge.config.gates.is_empty();
    let ptp = has_gates.then_some(bridge.config.ptp);
    let shortest_ps = ends(network, index).map(|(_, link)| link.delay_ps).min().unwrap_or(0);
    let tagger = Tagger::new(bridge.ports, &bridge.config).map_err(|error| refuse(error.to_string()))?;
    let node = SwitchNode::new(&bridge.name, library, &bridge.writes, tagger, clock, shortest_ps, ptp);
    let failed = |e| HardwareError::new_err(format!("bridge \"{}\": {e}", bridge.name));
    let mut node = node.map_err(failed)?;
    if bridge.config.host {
        node.set_host();
    }
    if let Some(wave) = &bridge.wave {
        let cycles = clock.at_or_before(wave.from_ps)..clock.at_or_after(wave.until_ps);
        node.wave(&wave.path, clock.at_or_after(0), cycles).map_err(failed)?;
    }
    Ok(node)
}

/// A network card in hardware at a station, set.
fn card(network: &Network, index: usize, card: &describe::Card) -> PyResult<CardNode> {
    let name = &network.stations[index].name;
    let delay_ps = ends(network, network.bridges.len() + index).map(|(_, link)| link.delay_ps).min().unwrap_or(0);
    CardNode::new(name, card, delay_ps).map_err(|error| HardwareError::new_err(format!("station \"{name}\": {error}")))
}

/// The links of a node, each with its port.
fn ends(network: &Network, node: usize) -> impl Iterator<Item = (u16, &Link)> {
    let ends = network.links.iter().flat_map(|link| [(link.a, link), (link.b, link)]);
    ends.filter(move |((end, _), _)| *end == node).map(|((_, port), link)| (port, link))
}

/// Of each port of a bridge; one without a link sends as the slowest does.
fn rates(network: &Network, bridge: usize) -> Vec<u64> {
    let mut rates = vec![SLOWEST_BPS; usize::from(network.bridges[bridge].ports)];
    for (port, link) in ends(network, bridge) {
        if let Some(rate) = rates.get_mut(usize::from(port)) {
            *rate = link.rate_bps.clamp(Rate::LEAST, Rate::MOST);
        }
    }
    rates
}

const SLOWEST_BPS: u64 = Rate::LEAST;

/// The bridges that are no models, and the programs of stations: objects of Python by the names of their nodes.
fn guests(
    py: Python<'_>,
    network: &Network,
    mut objects: BTreeMap<String, Py<PyAny>>,
    raised: &Raised,
) -> PyResult<Guests> {
    let streams: Arc<Vec<String>> = Arc::new(network.streams.iter().map(|stream| stream.name.clone()).collect());
    let mut guests = Guests::default();
    for (index, bridge) in network.bridges.iter().enumerate() {
        let name = &bridge.name;
        match bridge.kind {
            BridgeKind::Model => {}
            BridgeKind::Rtl => guests.nodes.push(Box::new(py.detach(|| hardware(network, index))?)),
            BridgeKind::Own => {
                let object = objects.remove(name);
                let object = object.ok_or_else(|| InputError::new_err(format!("bridge \"{name}\": no node for it")))?;
                let (rates, streams) = (rates(network, index), Arc::clone(&streams));
                guests.nodes.push(Box::new(PyNode::new(py, name, object, &rates, streams, raised)?));
            }
        }
    }
    for (index, station) in network.stations.iter().enumerate() {
        if let Some(described) = &station.card {
            let made = py.detach(|| card(network, index, described))?;
            guests.cards.insert(station.name.clone(), Box::new(made));
        }
    }
    for (name, object) in objects {
        let program = PyProgram::new(py, &name, object, Arc::clone(&streams), raised)?;
        guests.programs.insert(name, Box::new(program));
    }
    Ok(guests)
}

/// Hands chunks and progress to Python, and keeps what it raises.
struct Listener {
    sink: Option<Sink>,
    progress: Option<Py<PyAny>>,
    raised: Option<PyErr>,
}

impl Listener {
    fn keep<T>(&mut self, result: PyResult<T>, otherwise: T) -> T {
        result.unwrap_or_else(|error| {
            self.raised = Some(error);
            otherwise
        })
    }
}

impl Listener {
    /// An interrupt from the keyboard ends the run early; what was simulated stays.
    fn goes_on(&mut self, done: f64) -> bool {
        let told = Python::attach(|py| -> PyResult<bool> {
            if let Err(error) = py.check_signals() {
                return if error.is_instance_of::<PyKeyboardInterrupt>(py) { Ok(false) } else { Err(error) };
            }
            match &self.progress {
                None => Ok(true),
                Some(call) => match call.call1(py, (done,)) {
                    Ok(answer) => Ok(answer.is_none(py) || answer.is_truthy(py)?),
                    Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => Ok(false),
                    Err(error) => Err(error),
                },
            }
        });
        self.keep(told, false)
    }
}

impl Observer for Listener {
    fn rows(&mut self, rows: &mut Vec<Row>) -> bool {
        let taken = self.sink.as_ref().map_or(Ok(()), |sink| sink.take(rows));
        self.keep(taken.map(|()| true), false)
    }

    fn progress(&mut self, done: f64) -> bool {
        self.goes_on(done)
    }
}

/// Of a run of years, which has no trace.
impl penstock_net_wide::Observer for Listener {
    fn rows(&mut self, _rows: &mut Vec<penstock_net_wide::Row>) -> bool {
        false
    }

    fn progress(&mut self, done: f64) -> bool {
        self.goes_on(done)
    }
}

/// Runs a network, and gives what it left. Rows of the trace go to a [`crate::trace::PyTraceFile`], or in chunks to whatever
/// can be called. One of `years` is of models, and leaves no trace.
#[pyfunction]
#[pyo3(signature = (network_json, sink = None, progress = None, nodes = None, cores = 1))]
fn run<'py>(
    py: Python<'py>,
    network_json: &str,
    sink: Option<Bound<'py, PyAny>>,
    progress: Option<Py<PyAny>>,
    nodes: Option<BTreeMap<String, Py<PyAny>>>,
    cores: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let nodes = nodes.unwrap_or_default();
    if described::<Head>(network_json)?.years {
        return run_years(py, network_json, progress, !nodes.is_empty() || sink.is_some(), cores);
    }
    let mut network: Network = described(network_json)?;
    // Rows that nobody takes need not be made.
    network.trace.enabled &= sink.is_some();
    let mut listener = Listener { sink: sink.map(Sink::new), progress, raised: None };
    let raised = Raised::default();
    let guests = guests(py, &network, nodes, &raised)?;
    let result = py.detach(|| penstock_net::run_on(cores, network, guests, &mut listener));
    let raised = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(error) = listener.raised.or(raised) {
        return Err(error);
    }
    let result = result.map_err(crate::narrow::told::run_error)?;
    without_collection(py, || crate::narrow::told::outcome(py, &result))
}

/// What tells which width of times a network needs.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    years: bool,
}

fn described<T: DeserializeOwned>(network_json: &str) -> PyResult<T> {
    serde_json::from_str(network_json).map_err(|error| InputError::new_err(format!("network: {error}")))
}

fn run_years<'py>(
    py: Python<'py>,
    network_json: &str,
    progress: Option<Py<PyAny>>,
    has_guests: bool,
    cores: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let mut network: penstock_net_wide::Network = described(network_json)?;
    let are_models = network.bridges.iter().all(|bridge| bridge.kind == penstock_net_wide::describe::BridgeKind::Model);
    if has_guests || !are_models || network.stations.iter().any(|station| station.card.is_some()) {
        return Err(InputError::new_err("a run of years is one of models, without a trace"));
    }
    network.trace.enabled = false;
    let mut listener = Listener { sink: None, progress, raised: None };
    let guests = penstock_net_wide::Guests::default();
    let result = py.detach(|| penstock_net_wide::run_on(cores, network, guests, &mut listener));
    if let Some(error) = listener.raised {
        return Err(error);
    }
    let result = result.map_err(crate::wide::told::run_error)?;
    without_collection(py, || crate::wide::told::outcome(py, &result))
}

/// Makes many objects of which none is garbage: what looks for garbage meanwhile would find all that there is in vain.
fn without_collection<T>(py: Python<'_>, make: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let collector = py.import("gc")?;
    let is_enabled: bool = collector.call_method0("isenabled")?.extract()?;
    collector.call_method0("disable")?;
    let made = make();
    if is_enabled {
        collector.call_method0("enable")?;
    }
    made
}

/// Whether frames keep to a committed rate and burst: of each when its last bit came (ps), and its bytes; and of others that
/// have to keep to it together with these.
#[pyfunction]
#[pyo3(signature = (arrivals, rate_bps, burst_bytes, overhead_bytes, others = Vec::new()))]
fn conformance<'py>(
    py: Python<'py>,
    arrivals: Vec<(u64, u32)>,
    rate_bps: u64,
    burst_bytes: u64,
    overhead_bytes: i32,
    others: Vec<(u64, u32)>,
) -> PyResult<Bound<'py, PyDict>> {
    let committed = Committed { rate_bps, burst_bytes, overhead_bytes, together: None };
    let mut seen = Conformance::new(&committed).map_err(|error| InputError::new_err(error.to_string()))?;
    let mut of_others = seen.clone();
    let mut others = others.into_iter().peekable();
    for (arrived_ps, bytes) in arrivals {
        while let Some((arrived_ps, bytes)) = others.next_if(|&(other, _)| other < arrived_ps) {
            of_others.follow(&seen);
            of_others.see(arrived_ps, bytes);
            seen.follow(&of_others);
        }
        seen.see(arrived_ps, bytes);
    }
    crate::narrow::told::of_source(py, &seen)
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
    module.add_function(wrap_pyfunction!(conformance, module)?)?;
    module.add_function(wrap_pyfunction!(read_capture, module)?)?;
    module.add_function(wrap_pyfunction!(write_pcapng, module)?)?;
    Ok(())
}
