// SPDX-License-Identifier: Apache-2.0
//! SCHED_FIFO.
use std::io;

use super::checked;

/// Gives the calling thread's real-time priority back.
pub fn leave_fifo() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the structure lives as long as the call and 0 is the calling thread.
    checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &parameters) }).map(drop)
}

/// Puts the calling thread under SCHED_FIFO.
pub fn use_fifo(priority: u32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority as libc::c_int };
    // SAFETY: the structure lives as long as the call and 0 is the calling thread.
    checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) }).map(drop)
}
