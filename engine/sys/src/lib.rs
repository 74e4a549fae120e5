// SPDX-License-Identifier: Apache-2.0
//! The border to the Linux kernel: sockets with ancillary data, interface requests, netlink, real time. All that is unsafe is here.

mod ancillary;
mod batch;
mod interface;
pub mod netlink;
mod realtime;
mod scheduling;
mod socket;
mod tap;
mod xdp;

pub use ancillary::{ErrorMessage, Message};
pub use batch::{wait, Arrivals, BATCH};
pub use interface::{
    driver, hardware_address, index, is_up, ptp_clock, request_hardware_stamps, PtpClock, StampSetting,
};
pub use realtime::{ask, Grant, RealTime};
pub use scheduling::{leave_fifo, use_fifo};
pub use socket::{Socket, TxTimeFlags, VIRTUAL_HEADER_BYTES};
pub use tap::open_tap;
pub use xdp::{XdpMode, XdpPort, MOST_XDP_BYTES};

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
