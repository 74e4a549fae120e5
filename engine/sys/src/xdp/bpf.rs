// SPDX-License-Identifier: Apache-2.0
//! bpf(2): as much of it as a program needs that leads frames to sockets.
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const MAP_CREATE: libc::c_long = 0;
const MAP_UPDATE_ELEMENT: libc::c_long = 2;
const PROGRAM_LOAD: libc::c_long = 5;
const LINK_CREATE: libc::c_long = 28;
const MAP_OF_SOCKETS: u32 = 17; // BPF_MAP_TYPE_XSKMAP
const PROGRAM_OF_XDP: u32 = 6; // BPF_PROG_TYPE_XDP
const ATTACHED_TO_XDP: u32 = 37; // BPF_XDP
const BOUND_TO_DEVICE: u32 = 1 << 6; // BPF_F_XDP_DEV_BOUND_ONLY

#[repr(C)]
#[derive(Default)]
struct MapCreate {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    most_entries: u32,
    flags: u32,
}

#[repr(C)]
struct MapUpdate {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct ProgramLoad {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_type: u32,
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

fn bpf<T>(command: libc::c_long, attributes: &T) -> io::Result<i64> {
    // SAFETY: the attributes, and what they point to, live as long as the call, and their length is told.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), std::mem::size_of::<T>()) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn descriptor<T>(command: libc::c_long, attributes: &T) -> io::Result<OwnedFd> {
    let found = bpf(command, attributes)? as libc::c_int;
    // SAFETY: a new descriptor, owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(found) })
}

/// An XSKMAP: a socket for each queue of an interface.
pub(super) fn map_of_sockets(queues: u32) -> io::Result<OwnedFd> {
    let map =
        MapCreate { kind: MAP_OF_SOCKETS, key_bytes: 4, value_bytes: 4, most_entries: queues, ..MapCreate::default() };
    descriptor(MAP_CREATE, &map)
}

pub(super) fn put_socket(map: &OwnedFd, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
    let socket = socket.as_raw_fd();
    let (key, value) = (std::ptr::from_ref(&queue) as u64, std::ptr::from_ref(&socket) as u64);
    bpf(MAP_UPDATE_ELEMENT, &MapUpdate { map: map.as_raw_fd() as u32, padding: 0, key, value, flags: 0 }).map(drop)
}

/// Loads a program of XDP; one that asks the device about frames is `bound_to` it.
pub(super) fn load(instructions: &[u64], license: &CStr, bound_to: Option<u32>) -> io::Result<OwnedFd> {
    let program = ProgramLoad {
        kind: PROGRAM_OF_XDP,
        count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        license: license.as_ptr() as u64,
        flags: bound_to.map_or(0, |_| BOUND_TO_DEVICE),
        name: *b"penstock_plane\0\0",
        interface: bound_to.unwrap_or(0),
        attach_type: ATTACHED_TO_XDP,
        ..ProgramLoad::default()
    };
    descriptor(PROGRAM_LOAD, &program)
}

/// Runs a program for each frame that comes by an interface, until the link is closed, however its owner ends.
pub(super) fn attach(program: &OwnedFd, interface: u32, flags: u32) -> io::Result<OwnedFd> {
    let program = program.as_raw_fd() as u32;
    descriptor(LINK_CREATE, &LinkCreate { program, interface, attach_type: ATTACHED_TO_XDP, flags })
}
