// SPDX-License-Identifier: Apache-2.0
//! A column of the trace that Python reads where it lies.
use std::ffi::c_int;
use std::sync::Arc;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

use penstock_net::Columns;

/// Numbers of the machine's byte order, behind Python's buffer protocol; read only.
#[pyclass(frozen, module = "penstock._engine")]
pub struct Column {
    rows: Arc<Columns>,
    bytes: fn(&Columns) -> &[u8],
}

impl Column {
    pub fn new(rows: &Arc<Columns>, bytes: fn(&Columns) -> &[u8]) -> Self {
        Self { rows: Arc::clone(rows), bytes }
    }

    fn bytes(&self) -> &[u8] {
        (self.bytes)(&self.rows)
    }
}

#[pymethods]
impl Column {
    fn __len__(&self) -> usize {
        self.bytes().len()
    }

    /// # Safety
    ///
    /// Python calls it with a view to fill.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let bytes = slf.get().bytes();
        let Ok(length) = ffi::Py_ssize_t::try_from(bytes.len()) else {
            return Err(PyBufferError::new_err("too long"));
        };
        // The view keeps the column alive, whose values never move.
        match ffi::PyBuffer_FillInfo(view, slf.as_ptr(), bytes.as_ptr().cast_mut().cast(), length, 1, flags) {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}
