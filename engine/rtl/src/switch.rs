// SPDX-License-Identifier: Apache-2.0
//! The Verilated switch. Twin of `shim/pen_switch_shim.h`, which says what each field and function means.
use std::ffi::{c_char, CString};
use std::ops::Range;
use std::path::Path;

use penstock_net::bridge::device::{Event, Frame, FrameError, State};

use crate::library::{Handle, HardwareError, Loaded, Registers, MOST_PPB};

const ABI: u32 = 6;

#[repr(C)]
struct RawFrame {
    bytes: *const u8,
    start: u64,
    length: u32,
    gap: u32,
    preamble: u32,
    rx_er_at: i32,
    port: u8,
    delimiter: u8,
    host: [u8; 4],
    reserved: [u8; 2],
}

struct Functions {
    destroy: unsafe extern "C" fn(Handle),
    push: unsafe extern "C" fn(Handle, *const RawFrame) -> u64,
    link: unsafe extern "C" fn(Handle, u32, u32, i64),
    run: unsafe extern "C" fn(Handle, u64),
    state: unsafe extern "C" fn(Handle, *mut State),
    events: unsafe extern "C" fn(Handle, *mut u64) -> *const Event,
    clear: unsafe extern "C" fn(Handle),
    registers: Registers,
    /// Of a library that was built with waves.
    wave: Option<unsafe extern "C" fn(Handle, *const c_char, u64, u64, u64)>,
}

/// One switch, reset and ready for frames.
pub struct Switch {
    handle: Handle,
    functions: Functions,
    ports: u32,
    pushed: u64,
    /// Holds the code that `functions` points into; dropped last.
    _library: Loaded,
}

// SAFETY: a model has no state outside of its own object but Verilator's per-thread pointer to the context, which each
// evaluation sets; `&mut self` keeps two threads from using it at once.
unsafe impl Send for Switch {}
// SAFETY: what takes `&self` only reads.
unsafe impl Sync for Switch {}

/// What a library of ours gives to the linker, beside what those with waves have.
const NAMES: [&str; 11] = [
    "pen_abi",
    "pen_create",
    "pen_destroy",
    "pen_push",
    "pen_link",
    "pen_run",
    "pen_state_read",
    "pen_events",
    "pen_events_clear",
    "pen_axi_write",
    "pen_axi_read",
];

impl Switch {
    /// A switch of a library that `src/penstock/hardware/model.py` built, in the version of this engine.
    ///
    /// Any other file is refused before any of its code runs, unless somebody made it to have the very functions of
    /// such a library; so do not name a file that others may write.
    pub fn open(path: &Path) -> Result<Self, HardwareError> {
        // SAFETY: the signatures are those of `shim/pen_switch_shim.h` in the version that is asked for.
        unsafe {
            let library = Loaded::open(path, &NAMES, ABI)?;
            let functions = Functions {
                destroy: library.function("pen_destroy")?,
                push: library.function("pen_push")?,
                link: library.function("pen_link")?,
                run: library.function("pen_run")?,
                state: library.function("pen_state_read")?,
                events: library.function("pen_events")?,
                clear: library.function("pen_events_clear")?,
                registers: Registers::of(&library, "pen_axi_write", "pen_axi_read")?,
                wave: library.function("pen_wave").ok(),
            };
            let create: unsafe extern "C" fn() -> Handle = library.function("pen_create")?;
            let mut switch = Self { handle: create(), functions, ports: 0, pushed: 0, _library: library };
            switch.ports = switch.state().ports;
            Ok(switch)
        }
    }

    pub fn ports(&self) -> u32 {
        self.ports
    }

    /// Frames pushed so far, which is the number of the next one.
    pub fn pushed(&self) -> u64 {
        self.pushed
    }

    pub fn state(&self) -> State {
        let mut state = State::default();
        // SAFETY: the handle is alive as long as self; the state is written by value.
        unsafe { (self.functions.state)(self.handle, &mut state) };
        state
    }

    /// The number of the frame.
    pub fn push(&mut self, frame: Frame) -> Result<u64, HardwareError> {
        frame.check(self.ports)?;
        let raw = RawFrame {
            bytes: frame.bytes.as_ptr(),
            start: frame.start_cycle,
            length: frame.bytes.len() as u32,
            gap: frame.gap,
            preamble: frame.preamble,
            rx_er_at: frame.rx_er_at.and_then(|at| i32::try_from(at).ok()).unwrap_or(-1),
            port: frame.port as u8,
            delimiter: u8::from(frame.delimiter),
            host: frame.host.unwrap_or([0, frame.port as u8, 0, 0]),
            reserved: [0; 2],
        };
        // SAFETY: the bytes outlive the call, which copies them.
        let number = unsafe { (self.functions.push)(self.handle, &raw) };
        self.pushed = number + 1;
        Ok(number)
    }

    /// The wire into a port goes up or down, with a receive clock that is so many parts per thousand million faster than
    /// the core's, or stands still.
    pub fn link(&mut self, port: usize, up: bool, rate_ppb: Option<i64>) -> Result<(), HardwareError> {
        if port >= self.ports as usize {
            return Err(FrameError::Port { port, last: self.ports - 1 }.into());
        }
        if let Some(ppb) = rate_ppb.filter(|ppb| !(-MOST_PPB..=MOST_PPB).contains(ppb)) {
            return Err(HardwareError::Clock { ppb });
        }
        // SAFETY: the handle is alive, and nobody else uses it.
        unsafe { (self.functions.link)(self.handle, port as u32, u32::from(up), rate_ppb.unwrap_or(i64::MIN)) };
        Ok(())
    }

    /// Writes all signals of these cycles, once they come, to a file in FST format whose time begins with cycle `zero`.
    pub fn wave(&mut self, path: &Path, zero: u64, cycles: Range<u64>) -> Result<(), HardwareError> {
        let wave = self.functions.wave.ok_or(HardwareError::NoWaves)?;
        let name = CString::new(path.as_os_str().as_encoded_bytes());
        let name = name.map_err(|_| HardwareError::WavePath { path: path.to_owned() })?;
        // SAFETY: the handle is alive, and nobody else uses it; the name is copied before the call returns.
        unsafe { wave(self.handle, name.as_ptr(), zero, cycles.start.max(zero + 1), cycles.end) };
        Ok(())
    }

    pub fn run(&mut self, until_cycle: u64) {
        // SAFETY: the handle is alive, and nobody else uses it.
        unsafe { (self.functions.run)(self.handle, until_cycle) };
    }

    /// What happened since the last call of [`Self::clear_events`].
    pub fn events(&self) -> &[Event] {
        let mut count = 0;
        // SAFETY: the events stay where they are until the switch is changed, which needs `&mut self`.
        unsafe {
            let first = (self.functions.events)(self.handle, &mut count);
            if count == 0 {
                return &[];
            }
            std::slice::from_raw_parts(first, count as usize)
        }
    }

    pub fn clear_events(&mut self) {
        // SAFETY: no slice of events lives on, since they borrow self.
        unsafe { (self.functions.clear)(self.handle) };
    }

    pub fn write(&mut self, address: u32, data: u32) -> Result<(), HardwareError> {
        // SAFETY: the handle is alive, and nobody else uses it.
        unsafe { self.functions.registers.write(self.handle, address, data) }
    }

    pub fn read(&mut self, address: u32) -> Result<u32, HardwareError> {
        // SAFETY: as above.
        unsafe { self.functions.registers.read(self.handle, address) }
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        // SAFETY: the handle is not used after this.
        unsafe { (self.functions.destroy)(self.handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_of_others_is_refused_before_its_code_runs() {
        let loaded = std::fs::read_to_string("/proc/self/maps").unwrap();
        let libc =
            loaded.lines().filter_map(|line| line.split_whitespace().nth(5)).find(|path| path.contains("libc.so"));
        let plain = std::env::temp_dir().join(format!("penstock-no-library-{}", std::process::id()));
        std::fs::write(&plain, "pen_abi\0pen_create\0").unwrap();
        for path in [Path::new(libc.unwrap()), plain.as_path(), Path::new("/nowhere")] {
            assert!(matches!(Switch::open(path), Err(HardwareError::Foreign { .. })), "{}", path.display());
        }
        std::fs::remove_file(plain).unwrap();
    }
}
