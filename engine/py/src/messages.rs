// SPDX-License-Identifier: Apache-2.0
//! Messages between nodes of tiles, for Python.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use penstock_msg::{Endpoint, Error, Identity, Options, Schedule, Tile};
use pyo3::exceptions::{PyException, PyTimeoutError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// How long Python's own signals wait while nothing comes.
const PULSE: Duration = Duration::from_millis(50);

pyo3::create_exception!(
    penstock._engine,
    MessageError,
    PyException,
    "A message was not sent or received. The first argument is the code of penstock_msg.h, the second says why."
);

#[pyclass(frozen, module = "penstock._engine")]
pub struct MessageNode {
    /// None: closed.
    endpoint: Mutex<Option<Arc<Endpoint>>>,
    timeout: Option<Duration>,
}

#[pymethods]
impl MessageNode {
    #[new]
    fn new(
        identity: u32,
        tile: (u8, u8),
        network: (u8, u8),
        port: u16,
        priority: i32,
        timeout_s: Option<f64>,
    ) -> PyResult<Self> {
        let timeout = timeout_s.map(Duration::try_from_secs_f64).transpose();
        let timeout = timeout.map_err(|error| MessageError::new_err((-9, error.to_string())))?;
        let options = Options {
            tile: Tile { rows: tile.0, columns: tile.1 },
            network: [network.0, network.1],
            port,
            priority,
            timeout,
        };
        let endpoint = Endpoint::open(Identity(identity), options).map_err(told)?;
        Ok(Self { endpoint: Mutex::new(Some(Arc::new(endpoint))), timeout })
    }

    fn send(&self, py: Python<'_>, message: &[u8], to: u32) -> PyResult<()> {
        let endpoint = self.endpoint()?;
        py.detach(|| endpoint.send(Identity(to), message)).map_err(told)
    }

    fn receive<'py>(&self, py: Python<'py>, from: u32) -> PyResult<Bound<'py, PyBytes>> {
        let endpoint = self.endpoint()?;
        let until = self.timeout.map(|timeout| Instant::now() + timeout);
        let bytes = loop {
            let pulse = Instant::now() + PULSE;
            let this = until.map_or(pulse, |until| until.min(pulse));
            match py.detach(|| endpoint.next_bytes_until(Identity(from), Some(this))) {
                Err(Error::TimedOut { .. }) if until != Some(this) => py.check_signals()?,
                other => break other.map_err(told)?,
            }
        };
        PyBytes::new_with(py, bytes as usize, |buffer| {
            py.detach(|| endpoint.receive(Identity(from), buffer)).map_err(told)
        })
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.end());
    }
}

impl MessageNode {
    fn end(&self) {
        // Who waits has it too, and ends.
        if let Some(endpoint) = self.held().take() {
            endpoint.close();
        }
    }

    fn held(&self) -> MutexGuard<'_, Option<Arc<Endpoint>>> {
        self.endpoint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn endpoint(&self) -> PyResult<Arc<Endpoint>> {
        self.held().clone().ok_or_else(|| told(Error::NotOpen))
    }
}

/// Sets an interface to a schedule: slots by queue, their order, cycle and guard, in nanoseconds.
#[pyfunction]
fn set_schedule(
    py: Python<'_>,
    interface: &str,
    slot_ns: Vec<u32>,
    order: Vec<u8>,
    cycle_ns: u32,
    guard_ns: u32,
) -> PyResult<()> {
    let schedule = Schedule { slot_ns, order, cycle_ns, guard_ns };
    py.detach(|| penstock_msg::set_schedule(interface, &schedule)).map_err(told)
}

/// What acts at an interface, as [`set_schedule`] takes it.
#[pyfunction]
fn schedule_of(py: Python<'_>, interface: &str) -> PyResult<(Vec<u32>, Vec<u32>, u32, u32)> {
    let found = py.detach(|| penstock_msg::schedule_of(interface)).map_err(told)?;
    Ok((found.slot_ns, found.order.into_iter().map(u32::from).collect(), found.cycle_ns, found.guard_ns))
}

fn told(error: Error) -> PyErr {
    match error {
        Error::TimedOut { .. } => PyTimeoutError::new_err(error.to_string()),
        other => MessageError::new_err((other.code(), other.to_string())),
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("MessageError", module.py().get_type::<MessageError>())?;
    module.add_function(wrap_pyfunction!(set_schedule, module)?)?;
    module.add_function(wrap_pyfunction!(schedule_of, module)?)?;
    module.add_class::<MessageNode>()
}
