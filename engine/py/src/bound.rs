// SPDX-License-Identifier: Apache-2.0
//! The bounds of a network, from JSON to JSON.
use pyo3::prelude::*;

use crate::InputError;

/// The bounds of a network that is described as `penstock-bound` has it.
#[pyfunction]
fn bounds(py: Python<'_>, network: &str) -> PyResult<String> {
    let refuse = |what: String| InputError::new_err(what);
    let described: penstock_bound::describe::Network =
        serde_json::from_str(network).map_err(|error| refuse(error.to_string()))?;
    let outcome = py.detach(|| penstock_bound::analyse(&described)).map_err(refuse)?;
    serde_json::to_string(&outcome).map_err(|error| refuse(error.to_string()))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(bounds, module)?)
}
