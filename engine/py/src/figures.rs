// SPDX-License-Identifier: Apache-2.0
//! What passed the ports of bridges, for Python.
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use penstock_net::{Figures, HopFigures, Outcome};

use crate::run::summary;

/// `ports`, those that streams came to; `hops`, the same per stream; `shaping_ps`, per stream.
pub fn told<'py>(py: Python<'py>, figures: &Figures, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
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
