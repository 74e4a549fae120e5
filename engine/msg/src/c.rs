// SPDX-License-Identifier: Apache-2.0
//! The functions of `penstock_msg.h`: one node for a process.
#![allow(unsafe_code)] // callers in C vouch for their pointers
use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_uint, CString};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use penstock_shaper::slots::{Schedule, ScheduleError, MOST_QUEUES, MOST_SLOTS};

use crate::card;
use crate::endpoint::{Endpoint, Options};
use crate::error::Error;
use crate::identity::{Identity, Tile};
use crate::inbox::held;
use crate::LONGEST;

static NODE: Mutex<Option<Arc<Endpoint>>> = Mutex::new(None);

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// `struct penstock_msg_options`.
#[repr(C)]
pub struct COptions {
    tile_rows: u8,
    tile_columns: u8,
    network: [u8; 2],
    port: u16,
    priority: c_int,
    timeout_ms: c_uint,
}

fn ended(result: Result<(), Error>) -> c_int {
    let Err(error) = result else { return 0 };
    LAST.with_borrow_mut(|last| *last = CString::new(error.to_string()).unwrap_or_default());
    error.code()
}

fn node() -> Result<Arc<Endpoint>, Error> {
    held(&NODE).clone().ok_or(Error::NotOpen)
}

/// Fills in what is usual.
///
/// # Safety
/// `options` points to a `struct penstock_msg_options`.
#[no_mangle]
pub unsafe extern "C" fn penstock_msg_defaults(options: *mut COptions) {
    let usual = Options::default();
    let Tile { rows, columns } = usual.tile;
    let Options { network, port, priority, .. } = usual;
    let filled = COptions { tile_rows: rows, tile_columns: columns, network, port, priority, timeout_ms: 0 };
    // SAFETY: the caller vouches for the pointer.
    unsafe { options.write(filled) };
}

/// Makes this process a node.
///
/// # Safety
/// `options` is null or points to a `struct penstock_msg_options`.
#[no_mangle]
pub unsafe extern "C" fn penstock_msg_open(own: u32, options: *const COptions) -> c_int {
    // SAFETY: the caller vouches for the pointer.
    let options = unsafe { options.as_ref() }.map_or_else(Options::default, |given| Options {
        tile: Tile { rows: given.tile_rows, columns: given.tile_columns },
        network: given.network,
        port: given.port,
        priority: given.priority,
        timeout: (given.timeout_ms > 0).then(|| Duration::from_millis(u64::from(given.timeout_ms))),
    });
    held(&NODE).take(); // its address is free again before it is asked for
    ended(Endpoint::open(Identity(own), options).map(|opened| *held(&NODE) = Some(Arc::new(opened))))
}

/// Ends the node of this process; who waits gets an error.
#[no_mangle]
pub extern "C" fn penstock_msg_close() {
    if let Some(node) = held(&NODE).take() {
        node.close();
    }
}

/// Sends `size` bytes to a node.
///
/// # Safety
/// `data` points to `size` bytes.
#[no_mangle]
pub unsafe extern "C" fn send_msg(data: *const u8, size: usize, to: u32) -> c_int {
    if size > LONGEST {
        return ended(Err(Error::Length { bytes: size as u64 }));
    }
    // SAFETY: the caller vouches for the pointer; without bytes it is not looked at.
    let message = if size == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(data, size) } };
    ended(node().and_then(|node| node.send(Identity(to), message)))
}

/// Waits for `size` bytes from a node.
///
/// # Safety
/// `buffer` points to `size` bytes that may be written.
#[no_mangle]
pub unsafe extern "C" fn recv_msg(buffer: *mut u8, size: usize, from: u32) -> c_int {
    if size > LONGEST {
        return ended(Err(Error::Length { bytes: size as u64 }));
    }
    // SAFETY: the caller vouches for the pointer; without bytes it is not looked at.
    let place = if size == 0 { &mut [][..] } else { unsafe { std::slice::from_raw_parts_mut(buffer, size) } };
    ended(node().and_then(|node| node.receive(Identity(from), place)))
}

/// Waits for the next message from a node and gives its bytes, 1 to 2^32 - 1; below zero a code.
#[no_mangle]
pub extern "C" fn penstock_msg_next(from: u32) -> i64 {
    match node().and_then(|node| node.next_bytes(Identity(from))) {
        Ok(bytes) => i64::from(bytes),
        Err(error) => i64::from(ended(Err(error))),
    }
}

/// `struct penstock_msg_schedule`.
#[repr(C)]
pub struct CSchedule {
    interface: [c_char; 16],
    slot_ns: [u32; MOST_QUEUES as usize],
    cycle_ns: u32,
    guard_ns: u32,
    queues: u8,
    slots: u8,
    order: [u8; MOST_SLOTS],
}

impl CSchedule {
    fn interface(&self) -> Result<String, Error> {
        let bytes: Vec<u8> = self.interface.iter().map(|&each| each as u8).take_while(|&each| each != 0).collect();
        String::from_utf8(bytes).map_err(|_| Error::NoCard)
    }

    fn schedule(&self) -> Result<Schedule, Error> {
        let (queues, slots) = (usize::from(self.queues), usize::from(self.slots));
        let most = self.slot_ns.len();
        let slot_ns = self.slot_ns.get(..queues).ok_or(ScheduleError::Queues { queues, most })?.to_vec();
        let order = self.order.get(..slots).ok_or(ScheduleError::Slots { slots, most: MOST_SLOTS })?.to_vec();
        Ok(Schedule { slot_ns, order, cycle_ns: self.cycle_ns, guard_ns: self.guard_ns })
    }

    fn fill(&mut self, schedule: &Schedule) {
        self.slot_ns = [0; MOST_QUEUES as usize];
        self.order = [0; MOST_SLOTS];
        self.slot_ns[..schedule.slot_ns.len()].copy_from_slice(&schedule.slot_ns);
        self.order[..schedule.order.len()].copy_from_slice(&schedule.order);
        (self.queues, self.slots) = (schedule.slot_ns.len() as u8, schedule.order.len() as u8);
        (self.cycle_ns, self.guard_ns) = (schedule.cycle_ns, schedule.guard_ns);
    }
}

/// Sets the interface that the schedule names to it, and returns when it acts.
///
/// # Safety
/// `schedule` points to a `struct penstock_msg_schedule`.
#[no_mangle]
pub unsafe extern "C" fn set_conf(schedule: *const CSchedule) -> c_int {
    // SAFETY: the caller vouches for the pointer.
    let given = unsafe { schedule.as_ref() }.ok_or(Error::NoCard);
    ended(given.and_then(|given| card::set_schedule(&given.interface()?, &given.schedule()?)))
}

/// Fills in the schedule that acts at the interface that it names.
///
/// # Safety
/// `schedule` points to a `struct penstock_msg_schedule` that may be written.
#[no_mangle]
pub unsafe extern "C" fn get_conf(schedule: *mut CSchedule) -> c_int {
    // SAFETY: the caller vouches for the pointer.
    let given = unsafe { schedule.as_mut() }.ok_or(Error::NoCard);
    ended(given.and_then(|given| {
        let found = card::schedule_of(&given.interface()?)?;
        given.fill(&found);
        Ok(())
    }))
}

/// What the last code of this thread means, in words; until its next call.
#[no_mangle]
pub extern "C" fn penstock_msg_error() -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}
