// SPDX-License-Identifier: Apache-2.0
//! The engine as the Python module `penstock._engine`.
use pyo3::prelude::*;

mod ats;

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    ats::register(module)?;
    Ok(())
}
