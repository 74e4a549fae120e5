// SPDX-License-Identifier: Apache-2.0
//! TOML with the line of every key, read once.
use std::collections::HashMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use toml::de::{DeInteger, DeTable, DeValue};
use toml::Spanned;

/// Where something stands, and what is in it.
struct Place {
    line: usize,
    inside: Inside,
}

enum Inside {
    Nothing,
    Table(HashMap<String, Place>),
    List(Vec<Place>),
}

/// Where each key of a text and each element of its lists stands.
#[pyclass(frozen, name = "TomlLines", module = "penstock._engine")]
pub struct PyLines(Inside);

#[derive(FromPyObject)]
enum Part {
    Key(String),
    Index(usize),
}

impl PyLines {
    /// The line of the last part of a path that is there, and how many of its parts are.
    fn nearest(&self, path: &[Part]) -> (Option<usize>, usize) {
        let (mut line, mut inside) = (None, &self.0);
        for (known, part) in path.iter().enumerate() {
            let next = match (inside, part) {
                (Inside::Table(table), Part::Key(key)) => table.get(key),
                (Inside::List(list), Part::Index(index)) => list.get(*index),
                _ => None,
            };
            let Some(place) = next else { return (line, known) };
            (line, inside) = (Some(place.line), &place.inside);
        }
        (line, path.len())
    }
}

#[pymethods]
impl PyLines {
    /// The line (from 1) of a key path, or of the nearest table around it; None of what is in none.
    fn near(&self, path: Vec<Part>) -> Option<usize> {
        self.nearest(&path).0
    }

    fn __contains__(&self, path: Vec<Part>) -> bool {
        self.nearest(&path).1 == path.len()
    }
}

/// The values of a text, as Python's own `tomllib` gives them, and where they stand.
///
/// Raises ValueError where it is not TOML 1.0.
#[pyfunction]
fn parse_toml<'py>(py: Python<'py>, text: &str) -> PyResult<(Bound<'py, PyDict>, PyLines)> {
    let table = DeTable::parse(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let breaks = text.match_indices('\n').map(|(at, _)| at).collect();
    let (values, inside, _) = Reader { py, breaks }.table(table.get_ref())?;
    Ok((values, PyLines(inside)))
}

struct Reader<'py> {
    py: Python<'py>,
    /// Where lines end.
    breaks: Vec<usize>,
}

impl<'py> Reader<'py> {
    fn line(&self, at: usize) -> usize {
        self.breaks.partition_point(|&end| end < at) + 1
    }

    /// The values, their places, and where the first of them stands: tables are in the order in which they are first named.
    fn table(&self, table: &DeTable) -> PyResult<(Bound<'py, PyDict>, Inside, usize)> {
        let mut entries = Vec::with_capacity(table.len());
        for (key, value) in table {
            // A table stands where its header does, everything else where its key does.
            let stands = key.span().start.min(value.span().start);
            let (object, inside, first) = self.value(value)?;
            entries.push((first.min(stands), key.get_ref(), object, Place { line: self.line(stands), inside }));
        }
        entries.sort_by_key(|&(first, ..)| first);
        let first = entries.first().map_or(usize::MAX, |entry| entry.0);
        let (values, mut places) = (PyDict::new(self.py), HashMap::with_capacity(entries.len()));
        for (_, key, object, place) in entries {
            values.set_item(PyString::intern(self.py, key), object)?;
            places.insert(key.to_string(), place);
        }
        Ok((values, Inside::Table(places), first))
    }

    fn value(&self, value: &Spanned<DeValue>) -> PyResult<(Bound<'py, PyAny>, Inside, usize)> {
        let (py, start) = (self.py, value.span().start);
        let object = match value.get_ref() {
            DeValue::String(text) => PyString::new(py, text).into_any(),
            DeValue::Integer(number) => self.integer(number)?,
            DeValue::Float(number) => {
                let number = number.as_str().parse().map_err(|_| PyValueError::new_err("a number that is none"))?;
                PyFloat::new(py, number).into_any()
            }
            DeValue::Boolean(is) => PyBool::new(py, *is).to_owned().into_any(),
            DeValue::Datetime(instant) => {
                let kind = match (instant.date.is_some(), instant.time.is_some()) {
                    (true, false) => "date",
                    (false, _) => "time",
                    (true, true) => "datetime",
                };
                py.import("datetime")?.getattr(kind)?.call_method1("fromisoformat", (instant.to_string(),))?
            }
            DeValue::Array(values) => {
                let (list, mut places) = (PyList::empty(py), Vec::with_capacity(values.len()));
                let mut earliest = start;
                for value in values {
                    let (object, inside, first) = self.value(value)?;
                    list.append(object)?;
                    earliest = earliest.min(first);
                    places.push(Place { line: self.line(value.span().start), inside });
                }
                return Ok((list.into_any(), Inside::List(places), earliest));
            }
            DeValue::Table(table) => {
                let (values, inside, first) = self.table(table)?;
                return Ok((values.into_any(), inside, first.min(start)));
            }
        };
        Ok((object, Inside::Nothing, start))
    }

    fn integer(&self, number: &DeInteger) -> PyResult<Bound<'py, PyAny>> {
        match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Ok(PyInt::new(self.py, number).into_any()),
            Err(_) => self.py.get_type::<PyInt>().call1((number.as_str(), number.radix())),
        }
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyLines>()?;
    module.add_function(wrap_pyfunction!(parse_toml, module)?)
}
