// SPDX-License-Identifier: Apache-2.0
//! What talker and listener share: the interface, errors, files.
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use serde::Serialize;
use thiserror::Error;

use crate::clock;
use crate::plan::Plan;
use penstock_frame::MacAddress;
use penstock_sys as sys;
use penstock_sys::{Grant, RealTime};

/// What ends a talker or listener.
#[derive(Debug, Error)]
pub enum EndError {
    /// Something that the user can put right.
    #[error("{0}")]
    Input(String),
    /// The same, of a plan: all of it.
    #[error("{}", .0.join("\n"))]
    Faults(Vec<String>),
    /// The kernel refused something that is needed.
    #[error("{what}: {error}{hint}")]
    Kernel { what: String, error: io::Error, hint: &'static str },
    /// The kernel refused what makes the program punctual.
    #[error("{0}; allowed: --best-effort to go on without")]
    RealTime(String),
}

/// A system call failed that is needed for `what`.
pub fn kernel(what: impl Into<String>) -> impl FnOnce(io::Error) -> EndError {
    let what = what.into();
    move |error| {
        let hint = match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => " (needs root, or CAP_NET_RAW and CAP_NET_ADMIN)",
            Some(libc::ENODEV) => " (no such interface in this network namespace)",
            _ => "",
        };
        EndError::Kernel { what, error, hint }
    }
}

/// An interface.
#[derive(Debug, Serialize)]
pub struct Interface {
    pub name: String,
    #[serde(skip)]
    pub index: i32,
    pub address: MacAddress,
    pub driver: String,
    pub ptp_clock: Option<i32>,
    /// Least that was seen of the interface's clock less CLOCK_TAI.
    pub ptp_clock_minus_tai_ns: Option<i64>,
    /// Whether hardware stamps were asked for, and why they were refused.
    pub hardware_stamps: Option<Grant>,
    /// Puts the interface's setting back in the end.
    #[serde(skip)]
    _setting: Option<sys::StampSetting>,
}

impl Interface {
    /// Looks it up; asks for hardware stamps where the plan wants them.
    pub fn open(plan: &Plan) -> Result<Interface, EndError> {
        let name = &plan.interface;
        let index = sys::index(name).map_err(kernel(format!("interface {name}")))?;
        let address = sys::hardware_address(name).map_err(kernel(format!("interface {name}")))?;
        let asked = plan.hardware_stamps.then(|| sys::request_hardware_stamps(name));
        let (setting, refused) = match asked {
            Some(Ok(setting)) => (Some(setting), None),
            Some(Err(error)) => (None, Some(error)),
            None => (None, None),
        };
        let hardware_stamps = plan.hardware_stamps.then(|| {
            let refused =
                refused.map(|error| format!("{error}; it takes CAP_NET_ADMIN and an interface that has them"));
            Grant { what: "hardware time stamps".into(), granted: refused.is_none(), refused }
        });
        let clock = sys::ptp_clock(name);
        let driver = sys::driver(name).unwrap_or_else(|_| "unknown".into());
        Ok(Interface {
            name: name.clone(),
            index,
            address,
            driver,
            ptp_clock: clock.as_ref().map(|clock| clock.index),
            ptp_clock_minus_tai_ns: clock.as_ref().and_then(clock_difference),
            hardware_stamps,
            _setting: setting,
        })
    }
}

/// The interface's clock less CLOCK_TAI, from the reading that took least time of some.
fn clock_difference(ptp: &sys::PtpClock) -> Option<i64> {
    let readings = (0..9).filter_map(|_| {
        let before = clock::now_tai_ns();
        let there = ptp.now_ns()?;
        let after = clock::now_tai_ns();
        let middle = i128::from(before) + i128::from(after - before) / 2;
        Some((after - before, i64::try_from(there - middle).ok()?))
    });
    readings.min_by_key(|&(took, _)| took).map(|(_, difference)| difference)
}

/// Asks the kernel for real time; a refusal ends the program where the plan says so.
pub fn realtime(wanted: &RealTime) -> Result<Vec<Grant>, EndError> {
    let grants = sys::ask(wanted);
    let refused: Vec<String> =
        grants.iter().filter_map(|g| g.refused.as_ref().map(|why| format!("{} refused: {why}", g.what))).collect();
    if refused.is_empty() {
        return Ok(grants);
    }
    if wanted.required {
        return Err(EndError::RealTime(refused.join("; ")));
    }
    refused.iter().for_each(|each| eprintln!("penstock-end: {each}; going on without"));
    Ok(grants)
}

/// A flag that Ctrl-C and SIGTERM set; a second one ends the program at once.
pub fn stop_flag() -> Result<Arc<AtomicBool>, EndError> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .map_err(kernel("signals"))?;
    }
    Ok(flag)
}

/// Makes the folder for results.
pub fn prepare(out: &Path) -> Result<(), EndError> {
    fs::create_dir_all(out).map_err(kernel(format!("cannot make {}", out.display())))
}

/// A file that takes its name once it is complete.
pub struct Output {
    file: BufWriter<File>,
    partial: PathBuf,
    path: PathBuf,
}

impl Output {
    pub fn create(out: &Path, name: &str) -> Result<Output, EndError> {
        let (partial, path) = (out.join(format!(".{name}.partial")), out.join(name));
        let file = File::create(&partial).map_err(kernel(format!("cannot write {}", partial.display())))?;
        Ok(Output { file: BufWriter::with_capacity(1 << 20, file), partial, path })
    }

    pub fn finish(mut self) -> Result<(), EndError> {
        let result = self.file.flush().and_then(|()| fs::rename(&self.partial, &self.path));
        result.map_err(kernel(format!("cannot write {}", self.path.display())))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes a summary.
pub fn write_json(out: &Path, name: &str, value: &impl Serialize) -> Result<(), EndError> {
    let mut file = Output::create(out, name)?;
    serde_json::to_writer_pretty(&mut file, value)
        .map_err(|error| kernel(format!("cannot write {name}"))(error.into()))?;
    writeln!(file).map_err(kernel(format!("cannot write {name}")))?;
    file.finish()
}

/// A number in a table, or nothing.
pub fn cell(value: Option<u64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
