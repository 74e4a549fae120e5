// SPDX-License-Identifier: Apache-2.0
//! The engine as the Python module `penstock._engine`.
// What a run leaves is told with each width of times.
#![allow(clippy::duplicate_mod)]

use pyo3::exceptions::PyException;
use pyo3::prelude::*;

mod arrays;
mod ats;
mod bound;
mod column;
mod driven;
mod guest;
mod in_band;
mod messages;
mod narrow;
mod picture;
mod run;
mod shapers;
mod switch;
mod toml;
mod trace;
mod wide;

/// A large network lies in large pages then, which it needs more than anything else.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pyo3::create_exception!(penstock._engine, EngineError, PyException, "Whatever the engine cannot do.");
pyo3::create_exception!(
    penstock._engine,
    InputError,
    EngineError,
    "What was handed over is wrong; the message says what is allowed."
);
pyo3::create_exception!(
    penstock._engine,
    HardwareError,
    EngineError,
    "A model of the hardware cannot be used, or broke a promise."
);
pyo3::create_exception!(penstock._engine, ConservationError, EngineError, "Frames were lost, doubled or damaged.");

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("EngineError", py.get_type::<EngineError>())?;
    module.add("InputError", py.get_type::<InputError>())?;
    module.add("HardwareError", py.get_type::<HardwareError>())?;
    module.add("ConservationError", py.get_type::<ConservationError>())?;
    ats::register(module)?;
    bound::register(module)?;
    module.add_class::<guest::PyFrame>()?;
    in_band::register(module)?;
    messages::register(module)?;
    run::register(module)?;
    picture::register(module)?;
    shapers::register(module)?;
    switch::register(module)?;
    toml::register(module)?;
    module.add_class::<trace::PyTraceFile>()?;
    Ok(())
}
