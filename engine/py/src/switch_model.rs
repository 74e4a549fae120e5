// SPDX-License-Identifier: Apache-2.0
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use penstock_net::bridge::device::{Carrier, Device, DeviceError, DeviceEvent, Sizes};
use penstock_net::bridge::BridgeConfig;

use crate::arrays::{array, elements, Number};
use crate::{HardwareError, InputError};

/// Between two looks at whether the user wants to stop.
const SLICE_CYCLES: u64 = 50_000_000;

/// The model of the switch, with what `Switch` has.
#[pyclass(module = "penstock._engine")]
struct SwitchModel {
    inner: Device,
}

fn device_error(error: DeviceError) -> PyErr {
    match error {
        DeviceError::Bridge(error) => InputError::new_err(error.to_string()),
        error => HardwareError::new_err(error.to_string()),
    }
}

#[pymethods]
impl SwitchModel {
    #[new]
    #[pyo3(signature = (ports = 4, config_json = "{}", *, streams = 256, cells = 1024, fdb_sets = 512))]
    fn new(ports: u16, config_json: &str, streams: u32, cells: u32, fdb_sets: u32) -> PyResult<Self> {
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
        let sizes = Sizes { ports, streams, cells, fdb_sets };
        Ok(Self { inner: Device::new(sizes, &config).map_err(device_error)? })
    }

    #[getter]
    fn ports(&self) -> u16 {
        self.inner.ports()
    }

    #[getter]
    fn cycle(&self) -> u64 {
        self.inner.cycle()
    }

    #[getter]
    fn cycles_simulated(&self) -> u64 {
        self.inner.cycle() - self.inner.first_cycle()
    }

    #[getter]
    fn cycles_jumped(&self) -> u64 {
        0
    }

    #[getter]
    fn inside(&self) -> u64 {
        self.inner.inside()
    }

    #[getter]
    fn waiting(&self) -> u64 {
        self.inner.waiting()
    }

    #[getter]
    fn idle(&self) -> bool {
        self.inner.idle()
    }

    fn write(&mut self, address: u32, value: u32) -> PyResult<()> {
        self.inner.write(address, value).map_err(device_error)
    }

    fn read(&mut self, address: u32) -> PyResult<u32> {
        self.inner.read(address).map_err(device_error)
    }

    #[pyo3(signature = (port, start_cycle, frame, *, preamble = 7, delimiter = true, gap = 12, rx_er_at = None))]
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
    ) -> PyResult<u64> {
        let carrier = Carrier { bytes: frame.to_vec(), preamble, delimiter, gap, rx_er_at };
        self.inner.push(port, start_cycle, carrier).map_err(device_error)
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
        for (name, has, wanted) in [
            ("start_cycles", Some(starts.len()), count),
            ("preambles", preambles.as_ref().map(Vec::len), count),
            ("delimiters", delimiters.as_ref().map(Vec::len), count),
            ("gaps", gaps.as_ref().map(Vec::len), count),
            ("rx_er_at", rx_er_at.as_ref().map(Vec::len), count),
            ("offsets", Some(offsets.len()), count + 1),
        ] {
            if let Some(has) = has.filter(|has| *has != wanted) {
                let what = format!("{name} has {has} elements; for {count} frames {wanted} are wanted");
                return Err(PyValueError::new_err(what));
            }
        }
        let first = self.inner.pushed();
        for n in 0..count {
            let range = offsets[n] as usize..offsets[n + 1] as usize;
            let bytes = data.get(range).ok_or_else(|| {
                PyValueError::new_err(format!("offsets {n} and {}: not in the data, or not in order", n + 1))
            })?;
            let carrier = Carrier {
                bytes: bytes.to_vec(),
                preamble: preambles.as_ref().map_or(7, |all| u32::from(all[n])),
                delimiter: delimiters.as_ref().is_none_or(|all| all[n] != 0),
                gap: gaps.as_ref().map_or(12, |all| all[n]),
                rx_er_at: rx_er_at.as_ref().and_then(|all| u32::try_from(all[n]).ok()),
            };
            self.inner.push(usize::from(ports[n]), starts[n], carrier).map_err(device_error)?;
        }
        Ok(first)
    }

    fn run(&mut self, py: Python<'_>, until_cycle: u64) -> PyResult<()> {
        while self.inner.cycle() < until_cycle {
            let slice = until_cycle.min(self.inner.cycle() + SLICE_CYCLES);
            let device = &mut self.inner;
            py.detach(|| device.run(slice));
            py.check_signals()?;
        }
        Ok(())
    }

    /// What happened since the last call, in columns.
    fn events<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        fn column<'py, T: Number>(
            into: &Bound<'py, PyDict>,
            name: &str,
            events: &[DeviceEvent],
            field: impl Fn(&DeviceEvent) -> T,
        ) -> PyResult<()> {
            into.set_item(name, array(into.py(), events.iter().map(field))?)
        }
        let dict = PyDict::new(py);
        let events = &self.inner.take_events();
        column(&dict, "kind", events, |e| e.kind as u8)?;
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
        Ok(dict)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SwitchModel>()
}
