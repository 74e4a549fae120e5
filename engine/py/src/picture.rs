// SPDX-License-Identifier: Apache-2.0
//! Gates and credit of an egress port, as a run has them.
use pyo3::prelude::*;

// Of a run of any length.
use penstock_net_wide::{Occupation, Picture, Time};

use crate::InputError;

/// An egress port whose gates and credit are looked at after a run; times are those of the run in ps.
#[pyclass(name = "PortPicture", module = "penstock._engine", frozen)]
struct PyPicture {
    inner: Picture,
}

#[pymethods]
impl PyPicture {
    #[new]
    fn new(port_json: &str) -> PyResult<Self> {
        let config = serde_json::from_str(port_json).map_err(|error| InputError::new_err(format!("port: {error}")))?;
        let inner = Picture::new(&config).map_err(|error| InputError::new_err(error.to_string()))?;
        Ok(Self { inner })
    }

    /// Begin, end and states of each entry that acts on the wire.
    fn gate_states(&self, start_ps: Time, stop_ps: Time) -> Vec<(Time, Time, u8)> {
        self.inner.gate_states(start_ps, stop_ps)
    }

    /// When the cycle that runs at a time began; before the first one, that time.
    fn cycle_start(&self, at_ps: Time) -> Time {
        self.inner.cycle_start(at_ps)
    }

    /// Time and credit in bits wherever its slope changes. Of each frame: when it could have been selected, when it was,
    /// and from when on it cost no credit any more.
    fn credit(
        &self,
        traffic_class: usize,
        frames: Vec<(Time, Option<Time>, Option<Time>)>,
        start_ps: Time,
        stop_ps: Time,
    ) -> Vec<(Time, f64)> {
        let frames = frames.into_iter();
        let frames: Vec<Occupation> = frames
            .map(|(ready_ps, selected, until)| Occupation { ready_ps, selected_ps: selected.zip(until) })
            .collect();
        self.inner.credit(traffic_class, &frames, start_ps, stop_ps)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyPicture>()
}
