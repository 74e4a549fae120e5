// SPDX-License-Identifier: Apache-2.0
//! A column of the trace that Python reads where it lies.
use std::ffi::c_int;
use std::sync::Arc;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zerocopy::IntoBytes;

use penstock_net::Row;

/// Rows in columns.
#[derive(Default)]
struct Columns {
    frame_id: Vec<u64>,
    stream: Vec<u32>,
    node: Vec<u32>,
    port: Vec<u16>,
    event: Vec<u8>,
    time_ps: Vec<u64>,
    bytes: Vec<u32>,
    traffic_class: Vec<u8>,
    reason: Vec<u8>,
}

/// Rows as Python takes them: how many, and each column.
pub fn chunk<'py>(py: Python<'py>, rows: &[Row]) -> PyResult<Bound<'py, PyDict>> {
    let columns = Arc::new(Columns {
        frame_id: rows.iter().map(|row| row.frame).collect(),
        stream: rows.iter().map(|row| row.stream).collect(),
        node: rows.iter().map(|row| row.node).collect(),
        port: rows.iter().map(|row| row.port).collect(),
        event: rows.iter().map(|row| row.event as u8).collect(),
        time_ps: rows.iter().map(|row| row.time_ps).collect(),
        bytes: rows.iter().map(|row| u32::from(row.bytes)).collect(),
        traffic_class: rows.iter().map(|row| row.traffic_class).collect(),
        reason: rows.iter().map(|row| row.reason.0).collect(),
    });
    let dict = PyDict::new(py);
    dict.set_item("rows", rows.len())?;
    let column = |bytes| Column { rows: Arc::clone(&columns), bytes };
    dict.set_item("frame_id", column(|rows| rows.frame_id.as_bytes()))?;
    dict.set_item("stream", column(|rows| rows.stream.as_bytes()))?;
    dict.set_item("node", column(|rows| rows.node.as_bytes()))?;
    dict.set_item("port", column(|rows| rows.port.as_bytes()))?;
    dict.set_item("event", column(|rows| &rows.event))?;
    dict.set_item("time_ps", column(|rows| rows.time_ps.as_bytes()))?;
    dict.set_item("bytes", column(|rows| rows.bytes.as_bytes()))?;
    dict.set_item("traffic_class", column(|rows| &rows.traffic_class))?;
    dict.set_item("reason", column(|rows| &rows.reason))?;
    Ok(dict)
}

/// Numbers of the machine's byte order, behind Python's buffer protocol; read only.
#[pyclass(frozen, module = "penstock._engine")]
pub struct Column {
    rows: Arc<Columns>,
    bytes: fn(&Columns) -> &[u8],
}

impl Column {
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
