// SPDX-License-Identifier: Apache-2.0
//! Columns as numpy arrays, by way of bytes: without a dependency on numpy's C interface.
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

pub trait Number: Copy {
    const DTYPE: &'static str;
    fn write(self, to: &mut [u8]);
}

macro_rules! number {
    ($($type:ty => $dtype:literal),*) => {$(
        impl Number for $type {
            const DTYPE: &'static str = $dtype;
            fn write(self, to: &mut [u8]) {
                to.copy_from_slice(&self.to_ne_bytes());
            }
        }
    )*};
}
number!(u8 => "u1", u16 => "u2", u32 => "u4", u64 => "u8");

/// A read-only array.
pub fn array<T: Number>(py: Python<'_>, values: impl ExactSizeIterator<Item = T>) -> PyResult<Bound<'_, PyAny>> {
    let size = size_of::<T>();
    let bytes = PyBytes::new_with(py, values.len() * size, |buffer| {
        for (to, value) in buffer.chunks_exact_mut(size).zip(values) {
            value.write(to);
        }
        Ok(())
    })?;
    py.import("numpy")?.call_method1("frombuffer", (bytes, T::DTYPE))
}

/// The elements of an array of exactly this type.
pub fn elements<T: Element>(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    let buffer = PyBuffer::<T>::get(object)
        .map_err(|error| PyTypeError::new_err(format!("{name}: {error}; wanted is {}", std::any::type_name::<T>())))?;
    if buffer.dimensions() != 1 {
        return Err(PyValueError::new_err(format!("{name}: one dimension is wanted")));
    }
    buffer.to_vec(object.py())
}
