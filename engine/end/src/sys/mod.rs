// SPDX-License-Identifier: Apache-2.0
//! The border to the kernel: sockets with ancillary data, interface requests, scheduling. All that is unsafe is here.
#![allow(unsafe_code)]

mod ancillary;
mod interface;
mod scheduling;
mod socket;

pub use ancillary::{ErrorMessage, Message};
pub use interface::{driver, hardware_address, index, ptp_clock, request_hardware_stamps, PtpClock, StampSetting};
pub use scheduling::{leave_fifo, use_fifo};
pub use socket::{Socket, TxTimeFlags};

use std::io;
use std::os::raw::c_int;

/// The result of a system call that gives -1 when it fails.
fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
