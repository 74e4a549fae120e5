// SPDX-License-Identifier: Apache-2.0
//! What is asked of the kernel so that the program is on time, and what it said to that.
use std::hint::black_box;
use std::io;

use nix::sched::{sched_setaffinity, CpuSet};
use nix::sys::mman::{mlockall, MlockAllFlags};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::scheduling::use_fifo;

const HEAP_BYTES: usize = 4 << 20;

/// What is asked of the kernel so that the program is on time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RealTime {
    pub fifo_priority: Option<u32>,
    pub cpu: Option<usize>,
    pub lock_memory: bool,
    /// Whether a refusal ends the program before it sends or listens; else it is reported only.
    pub required: bool,
}

impl Default for RealTime {
    fn default() -> Self {
        RealTime { fifo_priority: None, cpu: None, lock_memory: false, required: true }
    }
}

/// One thing that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Grant {
    pub what: String,
    pub granted: bool,
    /// Why not, and what would help.
    pub refused: Option<String>,
}

/// Asks for all that is wanted, for the calling thread; memory for the whole program.
pub fn ask(wanted: &RealTime) -> Vec<Grant> {
    let mut grants = Vec::new();
    if wanted.lock_memory {
        let result = mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE);
        if result.is_ok() {
            grow_heap();
        }
        grants.push(grant("locked memory", result.map_err(io::Error::from), "CAP_IPC_LOCK or a higher `ulimit -l`"));
    }
    if let Some(cpu) = wanted.cpu {
        grants.push(grant(&format!("CPU {cpu}"), pin(cpu), "a CPU that exists and is in the program's cpuset"));
    }
    if let Some(priority) = wanted.fifo_priority {
        let result = use_fifo(priority);
        grants.push(grant(&format!("SCHED_FIFO {priority}"), result, "CAP_SYS_NICE or `ulimit -r`"));
    }
    grants
}

/// Grows the heap before it is needed: where memory is locked, all pages that are added to it are made at once, and a
/// frame that comes meanwhile waits.
fn grow_heap() {
    // Too long for the heap at first, it has pages of its own; freed, it makes the allocator keep what is shorter in
    // the heap, and the heap as long as it is.
    drop(black_box(vec![1u8; 2 * HEAP_BYTES]));
    drop(black_box(vec![1u8; HEAP_BYTES]));
}

fn pin(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

fn grant(what: &str, result: io::Result<()>, needs: &str) -> Grant {
    let refused = result.err().map(|error| format!("{error}; it takes {needs}"));
    Grant { what: what.to_owned(), granted: refused.is_none(), refused }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_why() {
        let wanted = RealTime { cpu: Some(1000), ..RealTime::default() };
        let grants = ask(&wanted);
        assert_eq!(grants.len(), 1);
        assert!(!grants[0].granted);
        assert!(grants[0].refused.as_ref().unwrap().contains("it takes a CPU that exists"), "{grants:?}");
    }

    #[test]
    fn nothing_is_asked_for_unless_wanted() {
        assert_eq!(ask(&RealTime::default()), []);
    }
}
