// SPDX-License-Identifier: Apache-2.0
//! The Verilated network card. Twin of `shim/pen_nic_shim.h`, which says what each function means.
use std::ffi::c_void;
use std::path::Path;
use std::ptr::NonNull;

use crate::library::{Handle, HardwareError, Loaded, Registers};

const ABI: u32 = 7;
/// Registers of port p begin at p shifted by as many bits.
const PORT_BITS: u32 = 16;

/// Memory of the host. No access has more than 128 bytes, or crosses a page of 4 KiB.
pub trait Memory: Send {
    /// False: nothing is there, and the queue that asked stops.
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool;

    /// False: nothing is there, and nothing was written.
    fn write(&mut self, address: u64, bytes: &[u8]) -> bool;
}

/// A frame that has left by the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Of the first byte after the delimiter.
    pub cycle: u64,
    pub queue: u8,
    /// Not whole, or too close to the one before.
    pub is_damaged: bool,
    /// Destination address to FCS.
    pub bytes: Vec<u8>,
}

/// A frame that has come from the host's memory and waits at the port or for its launch time, or was refused.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queued {
    /// In which it entered its queue, was taken for its launch time, or was refused.
    pub cycle: u64,
    /// Its launch time by the PTP clock; zero: it has none.
    pub launch_ns: u64,
    /// When it arrived at its ATS scheduler, by the card's own clock; zero: it has none.
    pub arrival_ns: u64,
    /// Destination address to FCS.
    pub bytes: u32,
    pub queue: u8,
    refused: u8,
    /// The first one of the card's store that it lies in.
    pub cell: u16,
}

impl Queued {
    /// For its launch time, or as it would have waited for too long.
    pub fn is_refused(&self) -> bool {
        self.refused != 0
    }
}

/// A frame that its port has selected.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// In which it was told.
    pub cycle: u64,
    pub queue: u8,
    reserved: u8,
    /// As when it was queued.
    pub cell: u16,
    reserved2: [u8; 4],
}

/// A frame that has come by the wire whole, good, and not longer than any may be.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steered {
    /// In which it was decided where it goes.
    pub cycle: u64,
    pub queue: u8,
    accepted: u8,
    reserved: [u8; 6],
}

impl Steered {
    /// Whether somebody wants it.
    pub fn is_accepted(&self) -> bool {
        self.accepted != 0
    }
}

/// What lets [`Card::run`] return early; also what is the case then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stop {
    pub interrupt: bool,
    pub sent: bool,
    /// Nothing is in the card, and nothing will happen unless somebody comes.
    pub idle: bool,
}

impl Stop {
    fn mask(self) -> u32 {
        u32::from(self.interrupt) | u32::from(self.sent) << 1 | u32::from(self.idle) << 2
    }

    fn of(mask: u32) -> Self {
        Self { interrupt: mask & 1 != 0, sent: mask & 2 != 0, idle: mask & 4 != 0 }
    }
}

#[repr(C)]
struct RawMemory {
    user: *mut c_void,
    read: unsafe extern "C" fn(*mut c_void, u64, *mut u8, u32) -> i32,
    write: unsafe extern "C" fn(*mut c_void, u64, *const u8, u32) -> i32,
}

#[repr(C)]
struct RawSent {
    cycle: u64,
    bytes: *const u8,
    length: u32,
    queue: u8,
    damaged: u8,
    reserved: [u8; 2],
}

struct Functions {
    destroy: unsafe extern "C" fn(Handle),
    cycle: unsafe extern "C" fn(Handle) -> u64,
    run: unsafe extern "C" fn(Handle, u64, u32) -> u32,
    ports: unsafe extern "C" fn(Handle) -> u32,
    interrupts: unsafe extern "C" fn(Handle, u32) -> u32,
    sent: unsafe extern "C" fn(Handle, u32, *mut RawSent) -> i32,
    push: unsafe extern "C" fn(Handle, u32, *const u8, u32, u64),
    coming: unsafe extern "C" fn(Handle, u32) -> u32,
    queued: unsafe extern "C" fn(Handle, u32, *mut Queued) -> i32,
    selected: unsafe extern "C" fn(Handle, u32, *mut Selected) -> i32,
    steered: unsafe extern "C" fn(Handle, u32, *mut Steered) -> i32,
    registers: Registers,
}

const NAMES: [&str; 15] = [
    "pen_nic_abi",
    "pen_nic_create",
    "pen_nic_destroy",
    "pen_nic_cycle",
    "pen_nic_run",
    "pen_nic_ports",
    "pen_nic_interrupts",
    "pen_nic_sent_take",
    "pen_nic_push",
    "pen_nic_coming",
    "pen_nic_queued_take",
    "pen_nic_selected_take",
    "pen_nic_steered_take",
    "pen_nic_write",
    "pen_nic_read",
];

/// One card, reset and ready. Time is that of the whole card; all else is of the port that is selected.
pub struct Card {
    handle: Handle,
    /// Below the number of ports.
    port: u32,
    functions: Functions,
    /// What the card's accesses go to; freed after the card is gone.
    memory: NonNull<Box<dyn Memory>>,
    /// Holds the code that `functions` points into; dropped last.
    _library: Loaded,
}

// SAFETY: a model has no state outside of its own object but Verilator's per-thread pointer to the context, which each
// evaluation sets; the memory is Send; `&mut self` keeps two threads from using either at once.
unsafe impl Send for Card {}

/// # Safety
///
/// `user` is a `Box<dyn Memory>` that nobody else uses now, and `data` has `length` bytes.
unsafe extern "C" fn read_memory(user: *mut c_void, address: u64, data: *mut u8, length: u32) -> i32 {
    // SAFETY: as the caller promises.
    let (memory, into) =
        unsafe { (&mut *user.cast::<Box<dyn Memory>>(), std::slice::from_raw_parts_mut(data, length as usize)) };
    -i32::from(!memory.read(address, into))
}

/// # Safety
///
/// As of [`read_memory`].
unsafe extern "C" fn write_memory(user: *mut c_void, address: u64, data: *const u8, length: u32) -> i32 {
    // SAFETY: as the caller promises.
    let (memory, bytes) =
        unsafe { (&mut *user.cast::<Box<dyn Memory>>(), std::slice::from_raw_parts(data, length as usize)) };
    -i32::from(!memory.write(address, bytes))
}

impl Card {
    /// A card of a library that `src/penstock/hardware/model.py` built, see [`crate::Switch::open`]. The first byte of a read comes so many cycles after its address, and so does the answer of a write.
    pub fn open(path: &Path, memory: Box<dyn Memory>, latency_cycles: u32) -> Result<Self, HardwareError> {
        // SAFETY: the signatures are those of `shim/pen_nic_shim.h` in the version that is asked for.
        unsafe {
            let library = Loaded::open(path, &NAMES, ABI)?;
            let functions = Functions {
                destroy: library.function("pen_nic_destroy")?,
                cycle: library.function("pen_nic_cycle")?,
                run: library.function("pen_nic_run")?,
                ports: library.function("pen_nic_ports")?,
                interrupts: library.function("pen_nic_interrupts")?,
                sent: library.function("pen_nic_sent_take")?,
                push: library.function("pen_nic_push")?,
                coming: library.function("pen_nic_coming")?,
                queued: library.function("pen_nic_queued_take")?,
                selected: library.function("pen_nic_selected_take")?,
                steered: library.function("pen_nic_steered_take")?,
                registers: Registers::of(&library, "pen_nic_write", "pen_nic_read")?,
            };
            let create: unsafe extern "C" fn(*const RawMemory, u32) -> Handle = library.function("pen_nic_create")?;
            let memory = NonNull::from(Box::leak(Box::new(memory)));
            let raw = RawMemory { user: memory.as_ptr().cast(), read: read_memory, write: write_memory };
            Ok(Self { handle: create(&raw, latency_cycles), port: 0, functions, memory, _library: library })
        }
    }

    pub fn ports(&self) -> u32 {
        // SAFETY: the handle is alive as long as self.
        unsafe { (self.functions.ports)(self.handle) }
    }

    /// From now on wire, virtqueues and registers are those of a port, which is 0 at first. False: there is none of that number.
    pub fn select(&mut self, port: u32) -> bool {
        let is_there = port < self.ports();
        if is_there {
            self.port = port;
        }
        is_there
    }

    /// Of 8 ns each; it goes on in [`Self::run`], [`Self::write`] and [`Self::read`] alone.
    pub fn cycle(&self) -> u64 {
        // SAFETY: the handle is alive as long as self.
        unsafe { (self.functions.cycle)(self.handle) }
    }

    /// Until a cycle, or until something of `stop` is the case, of any port. Gives what is.
    pub fn run(&mut self, until_cycle: u64, stop: Stop) -> Stop {
        // SAFETY: the handle is alive, and nobody else uses it or its memory.
        Stop::of(unsafe { (self.functions.run)(self.handle, until_cycle, stop.mask()) })
    }

    /// Virtqueues that have interrupted since this was asked last: bit v is virtqueue v.
    pub fn take_interrupts(&mut self) -> u32 {
        // SAFETY: the handle is alive, and nobody else uses it.
        unsafe { (self.functions.interrupts)(self.handle, self.port) }
    }

    /// The oldest frame that has left and was not taken.
    pub fn take_sent(&mut self) -> Option<Sent> {
        let mut raw = RawSent { cycle: 0, bytes: std::ptr::null(), length: 0, queue: 0, damaged: 0, reserved: [0; 2] };
        // SAFETY: the handle is alive, and nobody else uses it; the bytes stay where they are until the next call.
        let bytes = unsafe {
            if (self.functions.sent)(self.handle, self.port, &mut raw) == 0 {
                return None;
            }
            match NonNull::new(raw.bytes.cast_mut()) {
                Some(first) => std::slice::from_raw_parts(first.as_ptr(), raw.length as usize).to_vec(),
                None => Vec::new(),
            }
        };
        Some(Sent { cycle: raw.cycle, queue: raw.queue, is_damaged: raw.damaged != 0, bytes })
    }

    /// A frame, destination address to FCS, comes by the wire: the first byte of its preamble in a cycle, or as soon as the gap
    /// after the frame before allows.
    pub fn push(&mut self, bytes: &[u8], start_cycle: u64) {
        // SAFETY: the handle is alive, and nobody else uses it; the bytes are copied before the call returns.
        unsafe { (self.functions.push)(self.handle, self.port, bytes.as_ptr(), bytes.len() as u32, start_cycle) };
    }

    /// How many frames have not come whole yet.
    pub fn coming(&self) -> usize {
        // SAFETY: the handle is alive as long as self.
        unsafe { (self.functions.coming)(self.handle, self.port) as usize }
    }

    /// The oldest frame that has been queued and was not taken.
    pub fn take_queued(&mut self) -> Option<Queued> {
        let mut queued = Queued::default();
        // SAFETY: the handle is alive, and nobody else uses it; the frame is written by value.
        (unsafe { (self.functions.queued)(self.handle, self.port, &mut queued) } != 0).then_some(queued)
    }

    /// The oldest selection that was not taken.
    pub fn take_selected(&mut self) -> Option<Selected> {
        let mut selected = Selected::default();
        // SAFETY: as above.
        (unsafe { (self.functions.selected)(self.handle, self.port, &mut selected) } != 0).then_some(selected)
    }

    /// Where the oldest received frame goes of which that was not taken.
    pub fn take_steered(&mut self) -> Option<Steered> {
        let mut steered = Steered::default();
        // SAFETY: as above.
        (unsafe { (self.functions.steered)(self.handle, self.port, &mut steered) } != 0).then_some(steered)
    }

    pub fn write(&mut self, address: u32, data: u32) -> Result<(), HardwareError> {
        // SAFETY: the handle is alive, and nobody else uses it or its memory.
        unsafe { self.functions.registers.write(self.handle, self.port << PORT_BITS | address, data) }
    }

    pub fn read(&mut self, address: u32) -> Result<u32, HardwareError> {
        // SAFETY: as above.
        unsafe { self.functions.registers.read(self.handle, self.port << PORT_BITS | address) }
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        // SAFETY: neither handle nor memory is used after this, and the memory came from a box.
        unsafe {
            (self.functions.destroy)(self.handle);
            drop(Box::from_raw(self.memory.as_ptr()));
        }
    }
}
