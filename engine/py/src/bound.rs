// SPDX-License-Identifier: Apache-2.0
//! The bounds of a network, from JSON to JSON.
use pyo3::prelude::*;

use crate::InputError;

fn refused(what: impl ToString) -> PyErr {
    InputError::new_err(what.to_string())
}

/// A network that is described as `penstock-bound` has it.
#[pyclass(frozen)]
struct BoundNetwork(penstock_bound::describe::Network);

#[pymethods]
impl BoundNetwork {
    #[new]
    fn new(network: &str) -> PyResult<Self> {
        serde_json::from_str(network).map(Self).map_err(refused)
    }

    /// One that is told in few words.
    #[staticmethod]
    fn told(text: &str) -> PyResult<Self> {
        let told: penstock_bound::told::Told = serde_json::from_str(text).map_err(refused)?;
        told.network().map(Self).map_err(refused)
    }

    /// As the constructor takes it.
    fn text(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(refused)
    }

    /// The bounds of all queues and streams.
    fn analyse(&self, py: Python<'_>) -> PyResult<BoundOutcome> {
        py.detach(|| penstock_bound::analyse(&self.0)).map(BoundOutcome).map_err(refused)
    }
}

/// What the analysis found.
#[pyclass(frozen)]
struct BoundOutcome(penstock_bound::Outcome);

#[pymethods]
impl BoundOutcome {
    /// As JSON.
    fn text(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(refused)
    }
}

/// The bounds of a network that is described as `penstock-bound` has it.
#[pyfunction]
fn bounds(py: Python<'_>, network: &str) -> PyResult<String> {
    BoundNetwork::new(network)?.analyse(py)?.text()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<BoundNetwork>()?;
    module.add_class::<BoundOutcome>()?;
    module.add_function(wrap_pyfunction!(bounds, module)?)
}
