// SPDX-License-Identifier: Apache-2.0
//! Control while the plane runs: requests by a Unix socket, a line of JSON each. They are read and checked here, beside the
//! plane's own thread, which only gets what it can do at once.
mod metrics;
mod request;
mod server;
mod snapshot;

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{sync_channel, Receiver, Sender, SyncSender};
use std::time::Duration;

use penstock_shaper::gates::AdminList;

use crate::table::Table;

pub use request::{answer, MOST_REQUEST_BYTES};
pub use server::Server;
pub use snapshot::{read_levels, LevelShown, PortShown, Snapshot};

/// What the plane's thread is asked to do between two frames.
#[derive(Debug)]
pub enum Command {
    Gates { port: usize, list: AdminList },
    Table(Table),
    Limit { port: usize, class: usize, frames: u32 },
    Counters,
    Occupancy,
    Stop,
}

/// What came of it.
#[derive(Debug)]
pub enum Outcome {
    Done,
    /// The ConfigChangeTime of a list.
    Changes {
        tai_ns: u64,
    },
    /// A list cannot become pending before the one that is pending has taken over.
    Locked,
    Refused(crate::config::Refused),
    Counters(Box<Snapshot>),
    Occupancy(Box<snapshot::Levels>),
}

/// A command, and who waits for its outcome.
pub struct Order {
    pub command: Command,
    pub reply: SyncSender<Outcome>,
}

/// How connections reach the plane's thread: a queue, and a pipe that wakes it.
#[derive(Clone)]
pub struct Line {
    orders: Sender<Order>,
    wake: std::sync::Arc<UnixStream>,
}

/// The thread is busy with frames, or has ended.
const PATIENCE: Duration = Duration::from_secs(5);

impl Line {
    /// And what the plane's thread listens to.
    pub fn new() -> std::io::Result<(Self, Receiver<Order>, UnixStream)> {
        let (orders, received) = std::sync::mpsc::channel();
        let (wake, woken) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        Ok((Self { orders, wake: std::sync::Arc::new(wake) }, received, woken))
    }

    /// None: the plane gave no answer.
    pub fn ask(&self, command: Command) -> Option<Outcome> {
        let (reply, outcome) = sync_channel(1);
        self.orders.send(Order { command, reply }).ok()?;
        // A full pipe wakes it as well.
        let _ = (&*self.wake).write(&[1]);
        outcome.recv_timeout(PATIENCE).ok()
    }
}
