// SPDX-License-Identifier: Apache-2.0
//! Nodes and programs that are written in Python.
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use penstock_frame::FCS_BYTES;
use penstock_net::{Coming, Created, Due, Frame, Left, Node, NodeError, Outbox, Program, Rate, Reason, RunError};

/// Of a frame that no bridge has classified.
const NO_CLASS: u8 = 255;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What Python raised; the run ends by it.
pub type Raised = Arc<Mutex<Option<PyErr>>>;

/// A frame that Python still names; when it names it no more, the node is told.
struct Name {
    key: u64,
    gone: Arc<Mutex<Vec<u64>>>,
}

impl Drop for Name {
    fn drop(&mut self) {
        lock(&self.gone).push(self.key);
    }
}

/// A frame as Python sees it: without FCS.
#[pyclass(module = "penstock._engine", name = "Frame", frozen)]
pub struct PyFrame {
    /// None: it was delivered to a station, and can be read only.
    name: Option<Arc<Name>>,
    /// Unique in the run.
    #[pyo3(get)]
    id: u64,
    #[pyo3(get)]
    stream: String,
    /// When its first bit came.
    #[pyo3(get)]
    first_ps: u64,
    bytes: Py<PyBytes>,
    is_changed: bool,
}

#[pymethods]
impl PyFrame {
    #[getter]
    fn content(&self, py: Python<'_>) -> Py<PyBytes> {
        self.bytes.clone_ref(py)
    }

    fn __bytes__(&self, py: Python<'_>) -> Py<PyBytes> {
        self.bytes.clone_ref(py)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.bytes.bind(py).len()
    }

    /// The same frame with other bytes, from destination address to the last one before the FCS.
    fn changed(&self, content: Bound<'_, PyBytes>) -> PyResult<Self> {
        if content.as_bytes().len() > LONGEST {
            return Err(PyValueError::new_err(format!(
                "a frame of {} bytes; up to {LONGEST} are allowed",
                content.as_bytes().len()
            )));
        }
        let (name, stream) = (self.name.clone(), self.stream.clone());
        Ok(Self { name, id: self.id, stream, first_ps: self.first_ps, bytes: content.unbind(), is_changed: true })
    }
}

/// What waits at a port of a node at most, and what one call gives: more than that comes of a loop.
const MOST_WAITING_BYTES: u64 = 16 << 20;
const MOST_AT_ONCE: usize = 100_000;

/// Lengths are kept in 16 bits.
const LONGEST: usize = 65_535 - FCS_BYTES as usize;

fn without_fcs(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().saturating_sub(FCS_BYTES as usize)]
}

/// The object, and when it is called.
struct Script {
    name: String,
    object: Py<PyAny>,
    raised: Raised,
    wake: Option<u64>,
}

impl Script {
    fn broken(&self, what: impl Into<String>) -> NodeError {
        NodeError { node: self.name.clone(), what: what.into() }
    }

    /// One call has given so many frames.
    fn check_given(&self, count: usize) -> Result<(), NodeError> {
        if count < MOST_AT_ONCE {
            return Ok(());
        }
        Err(self.broken(format!("gives more than {MOST_AT_ONCE} frames at once")))
    }

    /// Keeps what Python raised.
    fn kept<T>(&self, result: PyResult<T>) -> Result<T, NodeError> {
        result.map_err(|error| {
            let told = self.broken(format!("raised {error}"));
            lock(&self.raised).get_or_insert(error);
            told
        })
    }

    /// Asks when it acts by itself, after it has done all up to a time.
    fn ask(&mut self, py: Python<'_>, done: Option<u64>) -> Result<(), NodeError> {
        let next = self.object.bind(py).call_method0("next").and_then(|next| next.extract::<Option<u64>>());
        let next = self.kept(next)?;
        if let (Some(next), Some(done)) = (next, done) {
            if next <= done {
                return Err(self.broken(format!("next() gives {next}, but it is advanced to {done}; later is allowed")));
            }
        }
        self.wake = next;
        Ok(())
    }
}

/// A port that sends one frame after the other.
struct Line {
    rate: Rate,
    free_at: u64,
}

impl Line {
    /// Whether so much waits at a time that nothing else has room.
    fn is_full(&self, at: u64) -> bool {
        let waits_ps = u128::from(self.free_at.saturating_sub(at));
        waits_ps * u128::from(self.rate.bps()) > u128::from(MOST_WAITING_BYTES) * 8_000_000_000_000
    }

    /// When the first bit behind the delimiter leaves, of a frame that is given to it at a time.
    fn send(&mut self, at: u64, bytes: u16) -> u64 {
        let begin = at.max(self.free_at);
        self.free_at = begin + self.rate.occupancy(u32::from(bytes));
        begin + self.rate.lead()
    }
}

/// On its way into a port.
struct Arrived {
    whole: u64,
    first: u64,
    port: u16,
    frame: Frame,
    bytes: Vec<u8>,
}

/// In Python's hands.
struct Held {
    frame: Frame,
    port: u16,
    sent: u64,
}

/// A node whose object gets each frame when it has come whole, and gives what is sent. Its ports send one frame after the
/// other.
pub struct PyNode {
    script: Script,
    streams: Arc<Vec<String>>,
    lines: Vec<Line>,
    coming: VecDeque<Arrived>,
    held: HashMap<u64, Held>,
    next_key: u64,
    gone: Arc<Mutex<Vec<u64>>>,
}

impl PyNode {
    /// `rates_bps` of its ports.
    pub fn new(
        py: Python<'_>,
        name: &str,
        object: Py<PyAny>,
        rates_bps: &[u64],
        streams: Arc<Vec<String>>,
        raised: &Raised,
    ) -> PyResult<Self> {
        let mut script = Script { name: name.to_owned(), object, raised: Arc::clone(raised), wake: None };
        script
            .ask(py, None)
            .map_err(|error| lock(raised).take().unwrap_or_else(|| PyValueError::new_err(error.to_string())))?;
        let lines = rates_bps.iter().map(|&bps| Line { rate: Rate::new(bps), free_at: 0 }).collect();
        let (coming, held, gone) = (VecDeque::new(), HashMap::new(), Arc::default());
        Ok(Self { script, streams, lines, coming, held, next_key: 0, gone })
    }

    fn hand(&mut self, py: Python<'_>, coming: Arrived, out: &mut Outbox<'_>) -> Result<(), NodeError> {
        let Arrived { whole, first, port, frame, bytes } = coming;
        let key = self.next_key;
        self.next_key += 1;
        let stream = self.streams.get(frame.stream() as usize).cloned().unwrap_or_default();
        let seen = PyFrame {
            name: Some(Arc::new(Name { key, gone: Arc::clone(&self.gone) })),
            id: frame.id(),
            stream,
            first_ps: first,
            bytes: PyBytes::new(py, without_fcs(&bytes)).unbind(),
            is_changed: false,
        };
        self.held.insert(key, Held { frame, port, sent: 0 });
        let answer = self.script.object.bind(py).call_method1("receive", (seen, port, whole));
        self.take(answer, whole, out)
    }

    /// What Python gives is sent; what it names no more ends here.
    fn take(&mut self, answer: PyResult<Bound<'_, PyAny>>, at: u64, out: &mut Outbox<'_>) -> Result<(), NodeError> {
        let answer = self.script.kept(answer)?;
        if !answer.is_none() {
            for (given, each) in self.script.kept(answer.try_iter())?.enumerate() {
                self.script.check_given(given)?;
                let each = self.script.kept(each)?;
                let (port, frame) = self.script.kept(each.extract::<(u16, PyRef<'_, PyFrame>)>())?;
                self.send(&frame, frame.bytes.bind(each.py()).as_bytes(), port, at, out)?;
            }
        }
        drop(answer);
        let gone = std::mem::take(&mut *lock(&self.gone));
        for held in gone.into_iter().filter_map(|key| self.held.remove(&key)) {
            out.settle(held.frame, held.port, held.sent, at);
        }
        Ok(())
    }

    fn send(
        &mut self,
        frame: &PyFrame,
        bytes: &[u8],
        port: u16,
        at: u64,
        out: &mut Outbox<'_>,
    ) -> Result<(), NodeError> {
        let ports = self.lines.len();
        let Some(line) = self.lines.get_mut(usize::from(port)) else {
            return Err(self.script.broken(format!("sends to port {port}; 0 to {} are there", ports - 1)));
        };
        let held = frame.name.as_ref().and_then(|name| self.held.get_mut(&name.key));
        let Some(held) = held else {
            return Err(self.script.broken(format!("sends frame {}, which it has not received", frame.id)));
        };
        let mut copy = out.forward(&mut held.frame, port, held.sent);
        held.sent |= 1 << port;
        if frame.is_changed {
            copy.set_bytes(penstock_frame::finish(bytes.to_vec()).into());
        }
        if line.is_full(at) {
            out.drop(copy, port, NO_CLASS, at, Reason::QUEUE_FULL);
            return Ok(());
        }
        let first = line.send(at, copy.length());
        out.send(copy, port, NO_CLASS, first);
        Ok(())
    }
}

impl Node for PyNode {
    fn ports(&self) -> u16 {
        self.lines.len() as u16
    }

    fn receive(&mut self, at: u64, port: u16, mut coming: Coming<'_>) -> Result<u64, RunError> {
        let bytes = coming.bytes()?.to_vec();
        let frame = coming.take();
        let duration =
            self.lines.get(usize::from(port)).map_or(0, |line| line.rate.duration(u32::from(frame.length())));
        let whole = at + duration;
        let place = self.coming.partition_point(|before| before.whole <= whole);
        self.coming.insert(place, Arrived { whole, first: at, port, frame, bytes });
        Ok(at)
    }

    fn next(&self) -> Option<u64> {
        let whole = self.coming.front().map(|coming| coming.whole);
        whole.into_iter().chain(self.script.wake).min()
    }

    fn advance(&mut self, now: u64, _due: Due, out: &mut Outbox<'_>) -> Result<(), RunError> {
        Python::attach(|py| {
            while let Some(at) = self.next().filter(|at| *at <= now) {
                let is_whole = self.coming.front().is_some_and(|coming| coming.whole == at);
                if let Some(coming) = if is_whole { self.coming.pop_front() } else { None } {
                    self.hand(py, coming, out)?;
                    self.script.ask(py, at.checked_sub(1))?;
                } else {
                    let answer = self.script.object.bind(py).call_method1("advance", (at,));
                    self.take(answer, at, out)?;
                    self.script.ask(py, Some(at))?;
                }
            }
            Ok(())
        })
    }

    fn inside(&self, show: &mut dyn FnMut(&Frame, u32)) {
        let coming = self.coming.iter().map(|coming| &coming.frame);
        coming.chain(self.held.values().map(|held| &held.frame)).for_each(|frame| show(frame, 1));
    }
}

/// The stream of a frame, its bytes, and of a host what it says of how the frame goes on.
fn given_frame(each: &Bound<'_, PyAny>) -> PyResult<(String, Vec<u8>, Option<[u8; 4]>)> {
    if let Ok((stream, bytes, way)) = each.extract::<(String, Vec<u8>, Bound<'_, PyAny>)>() {
        return Ok((stream, bytes, Some(way.getattr("header")?.extract()?)));
    }
    let (stream, bytes) = each.extract()?;
    Ok((stream, bytes, None))
}

/// What a program is told at a time.
struct Told {
    at: u64,
    stream: u32,
    port: u16,
    what: What,
}

enum What {
    /// A frame has come whole.
    Came(Vec<u8>),
    /// One of its own left.
    Left { tag: u8, first: u64 },
}

/// A program whose object gets each frame that comes to its station, and gives those that answer it.
pub struct PyProgram {
    script: Script,
    streams: Arc<Vec<String>>,
    /// By their times.
    coming: VecDeque<Told>,
    frames: u64,
}

impl PyProgram {
    pub fn new(
        py: Python<'_>,
        name: &str,
        object: Py<PyAny>,
        streams: Arc<Vec<String>>,
        raised: &Raised,
    ) -> PyResult<Self> {
        let mut script = Script { name: name.to_owned(), object, raised: Arc::clone(raised), wake: None };
        script
            .ask(py, None)
            .map_err(|error| lock(raised).take().unwrap_or_else(|| PyValueError::new_err(error.to_string())))?;
        Ok(Self { script, streams, coming: VecDeque::new(), frames: 0 })
    }

    fn keep(&mut self, told: Told) {
        let place = self.coming.partition_point(|before| before.at <= told.at);
        self.coming.insert(place, told);
    }

    fn take(&self, answer: PyResult<Bound<'_, PyAny>>, created: &mut Vec<Created>) -> Result<(), NodeError> {
        let answer = self.script.kept(answer)?;
        if answer.is_none() {
            return Ok(());
        }
        for (given, each) in self.script.kept(answer.try_iter())?.enumerate() {
            self.script.check_given(given)?;
            let each = self.script.kept(each)?;
            let (stream, bytes, host) = self.script.kept(given_frame(&each))?;
            let Some(place) = self.streams.iter().position(|known| *known == stream) else {
                return Err(self.script.broken(format!("gives a frame of stream \"{stream}\", which does not exist")));
            };
            if bytes.len() > LONGEST {
                let length = bytes.len();
                return Err(self
                    .script
                    .broken(format!("gives a frame of {length} bytes; up to {LONGEST} are allowed")));
            }
            created.push(Created { stream: place as u32, bytes: penstock_frame::finish(bytes).into(), host });
        }
        Ok(())
    }
}

impl Program for PyProgram {
    fn receive(&mut self, at: u64, stream: u32, port: u16, bytes: &[u8]) -> Result<(), NodeError> {
        self.keep(Told { at, stream, port, what: What::Came(bytes.to_vec()) });
        Ok(())
    }

    fn left(&mut self, at: u64, left: Left) -> Result<(), NodeError> {
        let Left { stream, port, tag, first } = left;
        self.keep(Told { at, stream, port, what: What::Left { tag, first } });
        Ok(())
    }

    fn next(&self) -> Option<u64> {
        let whole = self.coming.front().map(|told| told.at);
        whole.into_iter().chain(self.script.wake).min()
    }

    fn advance(&mut self, now: u64, created: &mut Vec<Created>) -> Result<(), NodeError> {
        Python::attach(|py| {
            while let Some(at) = self.next().filter(|at| *at <= now) {
                let is_told = self.coming.front().is_some_and(|told| told.at == at);
                if let Some(Told { stream, port, what, .. }) = if is_told { self.coming.pop_front() } else { None } {
                    let stream = self.streams.get(stream as usize).cloned().unwrap_or_default();
                    let object = self.script.object.bind(py);
                    let bytes = match what {
                        What::Came(bytes) => bytes,
                        What::Left { tag, first } => {
                            let answer = object.call_method1("left", (stream, port, tag, first));
                            self.take(answer, created)?;
                            self.script.ask(py, at.checked_sub(1))?;
                            continue;
                        }
                    };
                    let bytes = PyBytes::new(py, without_fcs(&bytes)).unbind();
                    let seen = PyFrame { name: None, id: self.frames, stream, first_ps: at, bytes, is_changed: false };
                    self.frames += 1;
                    let answer = self.script.object.bind(py).call_method1("receive", (seen, port, at));
                    self.take(answer, created)?;
                    self.script.ask(py, at.checked_sub(1))?;
                } else {
                    let answer = self.script.object.bind(py).call_method1("advance", (at,));
                    self.take(answer, created)?;
                    self.script.ask(py, Some(at))?;
                }
            }
            Ok(())
        })
    }
}
