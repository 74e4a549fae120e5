// SPDX-License-Identifier: Apache-2.0
//! The libraries that `src/penstock/hardware/model.py` builds, whatever they are of: found, checked, loaded.
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use libloading::Library;
use penstock_net::bridge::device::FrameError;
use thiserror::Error;

/// How far a receive clock may be off.
pub(crate) const MOST_PPB: i64 = 1_000_000;

#[derive(Debug, Error)]
pub enum HardwareError {
    #[error("{path}: not a model of this hardware: {source}")]
    Load { path: PathBuf, source: libloading::Error },
    #[error("{path}: not a model of this hardware: {what}")]
    Foreign { path: PathBuf, what: String },
    #[error("{path}: made for another version of the engine ({found}, this is {wanted}); build it anew")]
    Version { path: PathBuf, found: u32, wanted: u32 },
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("a receive clock that is {ppb} ppb off; up to {MOST_PPB} fast or slow are allowed")]
    Clock { ppb: i64 },
    #[error("a model without waves; build it with them")]
    NoWaves,
    #[error("{path}: no name for a file of waves")]
    WavePath { path: PathBuf },
    #[error("register {address:#06x} {what}")]
    Register { address: u32, what: &'static str },
}

#[repr(C)]
pub(crate) struct Opaque {
    _private: [u8; 0],
}

pub(crate) type Handle = NonNull<Opaque>;

/// A library in the version of this engine. What it gave may be used as long as it is there.
pub(crate) struct Loaded {
    path: PathBuf,
    library: Library,
}

impl Loaded {
    /// Any other file is refused before any of its code runs, unless somebody made it to have the very functions of such a
    /// library: `names`, of which the first one tells its version.
    ///
    /// # Safety
    ///
    /// The first function takes nothing and gives the version, in all versions there are.
    pub unsafe fn open(path: &Path, names: &[&str], wanted: u32) -> Result<Self, HardwareError> {
        check(path, names)?;
        // SAFETY: the file has all functions of a library of ours, whose constructors may run.
        let library = unsafe { Library::new(path) };
        let library = library.map_err(|source| HardwareError::Load { path: path.to_owned(), source })?;
        let loaded = Self { path: path.to_owned(), library };
        // SAFETY: as the caller promises; the version is checked before anything else is used.
        let found = unsafe { loaded.function::<unsafe extern "C" fn() -> u32>(names[0])?() };
        if found != wanted {
            return Err(HardwareError::Version { path: loaded.path, found, wanted });
        }
        Ok(loaded)
    }

    /// # Safety
    ///
    /// `Function` is the type of a pointer to the function of this name.
    pub unsafe fn function<Function: Copy>(&self, name: &str) -> Result<Function, HardwareError> {
        // SAFETY: as the caller promises.
        let symbol = unsafe { self.library.get::<Function>(name.as_bytes()) };
        symbol.map(|symbol| *symbol).map_err(|source| HardwareError::Load { path: self.path.clone(), source })
    }
}

/// Refuses a file that cannot be a library of ours, by its bytes alone: loading another one would run its code.
fn check(path: &Path, names: &[&str]) -> Result<(), HardwareError> {
    let foreign = |what: String| Err(HardwareError::Foreign { path: path.to_owned(), what });
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return foreign(error.to_string()),
    };
    let strings: HashSet<&[u8]> = bytes.split(|&byte| byte == 0).collect();
    match names.iter().find(|name| !strings.contains(name.as_bytes())) {
        Some(name) => foreign(format!("it has no {name}")),
        None => Ok(()),
    }
}

/// The registers of a model, over its bus.
pub(crate) struct Registers {
    write: unsafe extern "C" fn(Handle, u32, u32) -> i32,
    read: unsafe extern "C" fn(Handle, u32, *mut u32) -> i32,
}

impl Registers {
    /// # Safety
    ///
    /// The functions of these names have the types of the fields.
    pub unsafe fn of(library: &Loaded, write: &str, read: &str) -> Result<Self, HardwareError> {
        // SAFETY: as the caller promises.
        unsafe { Ok(Self { write: library.function(write)?, read: library.function(read)? }) }
    }

    /// # Safety
    ///
    /// The handle is one of the library, alive, and nobody else uses it or what its model reaches meanwhile.
    pub unsafe fn write(&self, handle: Handle, address: u32, data: u32) -> Result<(), HardwareError> {
        // SAFETY: as the caller promises.
        answer(address, unsafe { (self.write)(handle, address, data) })
    }

    /// # Safety
    ///
    /// As of [`Self::write`].
    pub unsafe fn read(&self, handle: Handle, address: u32) -> Result<u32, HardwareError> {
        let mut data = 0;
        // SAFETY: as the caller promises; the data is written before the call returns.
        answer(address, unsafe { (self.read)(handle, address, &mut data) })?;
        Ok(data)
    }
}

/// What the response to an access on the bus means.
fn answer(address: u32, response: i32) -> Result<(), HardwareError> {
    match response {
        0 => Ok(()),
        -1 => Err(HardwareError::Register { address, what: "does not answer" }),
        _ => Err(HardwareError::Register { address, what: "does not exist, or not for this access" }),
    }
}
