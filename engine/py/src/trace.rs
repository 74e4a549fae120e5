// SPDX-License-Identifier: Apache-2.0
//! Where the rows of a trace go.
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use penstock_net::{Event, Reason, Row};
use penstock_trace::{Names, TraceError, TraceFile};

use crate::arrays::elements;
use crate::column::chunk;

/// Who takes rows while a network runs.
pub enum Sink {
    /// Without Python.
    File(Py<PyTraceFile>),
    Function(Py<PyAny>),
}

impl Sink {
    pub fn new(sink: Bound<'_, PyAny>) -> Self {
        match sink.cast_into::<PyTraceFile>() {
            Ok(file) => Self::File(file.unbind()),
            Err(error) => Self::Function(error.into_inner().unbind()),
        }
    }

    pub fn take(&self, rows: &[Row]) -> PyResult<()> {
        match self {
            Self::File(file) => file.get().on(|file| file.write(rows)),
            Self::Function(function) => Python::attach(|py| function.call1(py, (chunk(py, rows)?,)).map(drop)),
        }
    }
}

/// A trace as a Parquet file: what takes the rows of a run, and chunks of rows from whoever has them.
#[pyclass(frozen, name = "TraceFile", module = "penstock._engine")]
pub struct PyTraceFile(Mutex<Option<TraceFile>>);

impl PyTraceFile {
    fn on<T>(&self, act: impl FnOnce(&mut TraceFile) -> Result<T, TraceError>) -> PyResult<T> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let file = file.as_mut().ok_or_else(closed)?;
        act(file).map_err(raised)
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("the trace is closed")
}

fn raised(error: TraceError) -> PyErr {
    match error {
        TraceError::File(error) => error.into(),
        error => PyValueError::new_err(error.to_string()),
    }
}

#[pymethods]
impl PyTraceFile {
    /// The names are by number. What `metadata` says stands in the file beside the rows.
    #[new]
    fn new(
        path: PathBuf,
        streams: Vec<String>,
        nodes: Vec<String>,
        events: Vec<String>,
        reasons: Vec<String>,
        metadata: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let mut file = TraceFile::create(&path, Names { streams, nodes, events, reasons }).map_err(raised)?;
        metadata.into_iter().for_each(|(key, value)| file.tell(key, value));
        Ok(Self(Mutex::new(Some(file))))
    }

    /// Writes a chunk: a buffer of each column.
    fn __call__(&self, py: Python<'_>, chunk: &Bound<'_, PyDict>) -> PyResult<()> {
        let rows = rows_of(chunk)?;
        py.detach(|| self.on(|file| file.write(&rows)))
    }

    fn tell(&self, key: String, value: String) -> PyResult<()> {
        self.on(|file| {
            file.tell(key, value);
            Ok(())
        })
    }

    /// Completes the file, and gives how many rows it has; nothing can be written any more.
    fn close(&self, py: Python<'_>) -> PyResult<u64> {
        let file = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let file = file.ok_or_else(closed)?;
        py.detach(|| file.close()).map_err(raised)
    }
}

/// The numbers of a column, as the machine has them.
fn numbers<const BYTES: usize>(chunk: &Bound<'_, PyDict>, column: &str) -> PyResult<Vec<[u8; BYTES]>> {
    let missing = || PyValueError::new_err(format!("column \"{column}\" is missing"));
    let bytes: Vec<u8> = elements(column, &chunk.get_item(column)?.ok_or_else(missing)?)?;
    let (numbers, rest) = bytes.as_chunks();
    if rest.is_empty() {
        Ok(numbers.to_vec())
    } else {
        Err(PyValueError::new_err(format!("column \"{column}\": numbers of {BYTES} bytes are wanted")))
    }
}

fn rows_of(chunk: &Bound<'_, PyDict>) -> PyResult<Vec<Row>> {
    let (frame, time_ps) = (numbers(chunk, "frame_id")?, numbers(chunk, "time_ps")?);
    let (stream, node, bytes) = (numbers(chunk, "stream")?, numbers(chunk, "node")?, numbers(chunk, "bytes")?);
    let port = numbers(chunk, "port")?;
    let (event, traffic_class) = (numbers::<1>(chunk, "event")?, numbers::<1>(chunk, "traffic_class")?);
    let reason = numbers::<1>(chunk, "reason")?;
    let rows = frame.len();
    if [
        stream.len(),
        node.len(),
        port.len(),
        event.len(),
        time_ps.len(),
        bytes.len(),
        traffic_class.len(),
        reason.len(),
    ] != [rows; 8]
    {
        return Err(PyValueError::new_err("the columns of a chunk are not equally long"));
    }
    let event_of = |number: u8| {
        let event = Event::ALL.get(usize::from(number)).copied();
        event.ok_or_else(|| PyValueError::new_err(format!("{number} is no event")))
    };
    let length_of = |bytes: u32| {
        u16::try_from(bytes).map_err(|_| PyValueError::new_err(format!("{bytes} bytes are no frame of Ethernet")))
    };
    (0..rows)
        .map(|row| {
            Ok(Row {
                frame: u64::from_ne_bytes(frame[row]),
                stream: u32::from_ne_bytes(stream[row]),
                node: u32::from_ne_bytes(node[row]),
                port: u16::from_ne_bytes(port[row]),
                event: event_of(event[row][0])?,
                time_ps: u64::from_ne_bytes(time_ps[row]),
                bytes: length_of(u32::from_ne_bytes(bytes[row]))?,
                traffic_class: traffic_class[row][0],
                reason: Reason(reason[row][0]),
            })
        })
        .collect()
}
