// SPDX-License-Identifier: Apache-2.0
use std::collections::HashMap;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use penstock_net::bridge::device::{self, Device, Event, Frame, Kind, Sizes};
use penstock_net::bridge::BridgeConfig;

use crate::arrays::{array, elements, Number};
use crate::driven::{device_error, hardware_error, Driven};
use crate::InputError;

/// A switch, cycle by cycle: Verilated, or its model.
#[pyclass(module = "penstock._engine")]
struct Switch {
    inner: Box<dyn Driven>,
}

#[pymethods]
impl Switch {
    #[new]
    fn new(library_path: PathBuf) -> PyResult<Self> {
        let switch = penstock_rtl::Switch::open(&library_path).map_err(hardware_error)?;
        Ok(Self { inner: Box::new(switch) })
    }

    /// The model of hardware of these sizes.
    #[staticmethod]
    #[pyo3(signature = (ports = 4, config_json = "{}", *, streams = 256, cells = 1024, fdb_sets = 512, host = false))]
    fn model(ports: u16, config_json: &str, streams: u32, cells: u32, fdb_sets: u32, host: bool) -> PyResult<Self> {
        let config: BridgeConfig =
            serde_json::from_str(config_json).map_err(|error| InputError::new_err(format!("bridge: {error}")))?;
        for (name, value, least, most) in
            [("streams", streams, 16, 4096), ("cells", cells, 256, 4096), ("fdb_sets", fdb_sets, 32, 4096)]
        {
            if !value.is_power_of_two() || !(least..=most).contains(&value) {
                let what = format!("{name} is {value}; a power of two from {least} to {most} is allowed");
                return Err(InputError::new_err(what));
            }
        }
        let sizes = Sizes { ports, streams, cells, fdb_sets, host };
        Ok(Self { inner: Box::new(Device::new(sizes, &config).map_err(device_error)?) })
    }

    #[getter]
    fn ports(&self) -> u32 {
        self.inner.state().ports
    }

    #[getter]
    fn cycle(&self) -> u64 {
        self.inner.state().cycle
    }

    #[getter]
    fn cycles_simulated(&self) -> u64 {
        self.inner.state().simulated
    }

    #[getter]
    fn cycles_jumped(&self) -> u64 {
        self.inner.state().jumped
    }

    #[getter]
    fn inside(&self) -> u64 {
        self.inner.state().inside
    }

    #[getter]
    fn waiting(&self) -> u64 {
        self.inner.state().waiting
    }

    #[getter]
    fn idle(&self) -> bool {
        self.inner.state().idle != 0
    }

    /// The wire into a port goes up or down; its receive clock is `rate_ppb` faster than the core's, None stops it.
    #[pyo3(signature = (port, *, up = true, rate_ppb = Some(0)))]
    fn link(&mut self, port: usize, up: bool, rate_ppb: Option<i64>) -> PyResult<()> {
        self.inner.link(port, up, rate_ppb)
    }

    fn write(&mut self, address: u32, value: u32) -> PyResult<()> {
        self.inner.write(address, value)
    }

    fn read(&mut self, address: u32) -> PyResult<u32> {
        self.inner.read(address)
    }

    #[pyo3(signature = (port, start_cycle, frame, *, preamble = 7, delimiter = true, gap = 12, rx_er_at = None,
                        host = None))]
    #[allow(clippy::too_many_arguments)] // each is a way in which a frame can be wrong
    fn push(
        &mut self,
        port: usize,
        start_cycle: u64,
        frame: &[u8],
        preamble: u32,
        delimiter: bool,
        gap: u32,
        rx_er_at: Option<u32>,
        host: Option<[u8; 4]>,
    ) -> PyResult<u64> {
        let frame = Frame { port, start_cycle, bytes: frame, preamble, delimiter, gap, rx_er_at, host };
        self.inner.push(frame)
    }

    #[pyo3(signature = (ports, start_cycles, offsets, data, *, preambles = None, delimiters = None, gaps = None,
                        rx_er_at = None))]
    #[allow(clippy::too_many_arguments)]
    fn push_many(
        &mut self,
        ports: &Bound<'_, PyAny>,
        start_cycles: &Bound<'_, PyAny>,
        offsets: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        preambles: Option<&Bound<'_, PyAny>>,
        delimiters: Option<&Bound<'_, PyAny>>,
        gaps: Option<&Bound<'_, PyAny>>,
        rx_er_at: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let ports: Vec<u8> = elements("ports", ports)?;
        let count = ports.len();
        let starts: Vec<u64> = elements("start_cycles", start_cycles)?;
        let offsets: Vec<u64> = elements("offsets", offsets)?;
        let data: Vec<u8> = elements("data", data)?;
        let preambles: Option<Vec<u8>> = preambles.map(|a| elements("preambles", a)).transpose()?;
        let delimiters: Option<Vec<u8>> = delimiters.map(|a| elements("delimiters", a)).transpose()?;
        let gaps: Option<Vec<u32>> = gaps.map(|a| elements("gaps", a)).transpose()?;
        let rx_er_at: Option<Vec<i32>> = rx_er_at.map(|a| elements("rx_er_at", a)).transpose()?;
        let wrong = |name, has, wanted| {
            Err(PyValueError::new_err(format!("{name} has {has} elements; for {count} frames {wanted} are wanted")))
        };
        for (name, length) in [
            ("start_cycles", Some(starts.len())),
            ("preambles", preambles.as_ref().map(Vec::len)),
            ("delimiters", delimiters.as_ref().map(Vec::len)),
            ("gaps", gaps.as_ref().map(Vec::len)),
            ("rx_er_at", rx_er_at.as_ref().map(Vec::len)),
        ] {
            if let Some(length) = length.filter(|length| *length != count) {
                return wrong(name, length, count);
            }
        }
        if offsets.len() != count + 1 {
            return wrong("offsets", offsets.len(), count + 1);
        }
        let first = self.inner.pushed();
        for n in 0..count {
            let range = offsets[n] as usize..offsets[n + 1] as usize;
            let bytes = data.get(range).ok_or_else(|| {
                PyValueError::new_err(format!("offsets {n} and {}: not in the data, or not in order", n + 1))
            })?;
            let mut frame = Frame::new(usize::from(ports[n]), starts[n], bytes);
            if let Some(preambles) = &preambles {
                frame.preamble = u32::from(preambles[n]);
            }
            if let Some(delimiters) = &delimiters {
                frame.delimiter = delimiters[n] != 0;
            }
            if let Some(gaps) = &gaps {
                frame.gap = gaps[n];
            }
            if let Some(rx_er_at) = &rx_er_at {
                frame.rx_er_at = u32::try_from(rx_er_at[n]).ok();
            }
            self.inner.push(frame)?;
        }
        Ok(first)
    }

    fn run(&mut self, py: Python<'_>, until_cycle: u64) -> PyResult<()> {
        loop {
            let state = self.inner.state();
            if state.cycle >= until_cycle {
                return Ok(());
            }
            // Time that can be jumped costs nothing, so that a slice need not be short then.
            let quiet = state.inside == 0 && state.waiting == 0;
            let slice = if quiet { until_cycle } else { until_cycle.min(state.cycle + self.inner.slice_cycles()) };
            let switch = &mut self.inner;
            py.detach(|| switch.run(slice));
            py.check_signals()?;
        }
    }

    /// How often the model judged frames each way; empty of hardware.
    fn judged(&self) -> HashMap<&'static str, u64> {
        let ways = self.inner.ways().into_iter();
        ways.flat_map(|ways| {
            [("staged", ways.staged), ("kept", ways.kept), ("read", ways.read), ("passed", ways.passed)]
        })
        .collect()
    }

    /// What happened since the last call, in columns.
    fn events<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        fn column<'py, T: Number>(
            into: &Bound<'py, PyDict>,
            name: &str,
            events: &[Event],
            field: impl Fn(&Event) -> T,
        ) -> PyResult<()> {
            into.set_item(name, array(into.py(), events.iter().map(field))?)
        }
        let dict = PyDict::new(py);
        let events = &self.inner.take_events();
        column(&dict, "kind", events, |e| e.kind() as u8)?;
        column(&dict, "cycle", events, |e| e.cycle)?;
        column(&dict, "frame", events, |e| e.frame)?;
        column(&dict, "port", events, |e| e.port)?;
        column(&dict, "length", events, |e| e.length)?;
        column(&dict, "reason", events, |e| e.reason)?;
        column(&dict, "traffic_class", events, |e| e.traffic_class)?;
        column(&dict, "visible", events, |e| e.visible)?;
        column(&dict, "destination", events, |e| e.destination)?;
        column(&dict, "refused", events, |e| e.refused)?;
        column(&dict, "refused_reasons", events, |e| e.refused_reasons)?;
        column(&dict, "stream", events, |e| e.stream)?;
        column(&dict, "flags", events, |e| e.flags)?;
        column(&dict, "fcs", events, |e| e.fcs)?;
        Ok(dict)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Switch>()?;
    module.add("KINDS", PyList::new(module.py(), Kind::NAMES)?.to_tuple())?;
    let reasons = PyList::new(module.py(), penstock_net::Reason::NAMES)?.to_tuple();
    module.add("HARDWARE_REASONS", reasons.get_slice(0, penstock_net::Reason::OF_HARDWARE))?;
    module.add("REASONS", reasons)?;
    module.add("EVENTS", PyList::new(module.py(), penstock_net::Event::NAMES)?.to_tuple())?;
    for (name, flag) in [
        ("FLAG_DAMAGED", device::FLAG_DAMAGED),
        ("FLAG_EDITED", device::FLAG_EDITED),
        ("FLAG_TX_ER", device::FLAG_TX_ER),
        ("FLAG_SHORT_GAP", device::FLAG_SHORT_GAP),
        ("FLAG_PREAMBLE", device::FLAG_PREAMBLE),
        ("FLAG_STREAM", device::FLAG_STREAM),
        ("FLAG_SHAPED", device::FLAG_SHAPED),
    ] {
        module.add(name, flag)?;
    }
    Ok(())
}
