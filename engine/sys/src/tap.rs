// SPDX-License-Identifier: Apache-2.0
//! A TAP interface: Linux's side of a cable whose other side is a program.
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use libc::{c_int, c_short, c_void};

use super::checked;
use super::interface::request;

/// Makes an interface of a name, or takes one that is there, until the file is closed. Each read is a frame, each write too;
/// neither waits.
pub fn open_tap(name: &str) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    let mut request = request(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as c_short;
    let asked: c_int =
        // SAFETY: the request lives as long as the call.
        unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as libc::Ioctl, std::ptr::from_mut(&mut request).cast::<c_void>()) };
    checked(asked)?;
    Ok(file)
}
