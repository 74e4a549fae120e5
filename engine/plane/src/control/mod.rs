// SPDX-License-Identifier: Apache-2.0
//! Control while the plane runs: requests by a Unix socket, a line of JSON each. They are read and checked here, beside the
//! plane's own thread, which only gets what it can do at once.
mod metrics;
mod request;
mod server;
mod snapshot;
mod synchronization;

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, Sender, SyncSender};
use std::sync::Arc;
use std::time::Duration;

use penstock_shaper::gates::AdminList;
use penstock_shaper::in_band::Plan;

use crate::arrivals::Watched;
use crate::table::Table;

pub use request::{answer, MOST_REQUEST_BYTES};
pub use server::Server;
pub use snapshot::{read_levels, LevelShown, PortShown, Snapshot};
pub use synchronization::Synchronization;

/// What the plane's thread is asked to do between two frames.
#[derive(Debug)]
pub enum Command {
    Gates {
        port: usize,
        list: AdminList,
    },
    Table(Table),
    Limit {
        port: usize,
        class: usize,
        frames: u32,
    },
    Counters,
    Occupancy,
    Watch {
        port: usize,
        class: usize,
    },
    Arrivals,
    /// Begins to synchronize who follows behind a port.
    Synchronize {
        port: usize,
        plan: Plan,
    },
    /// How far that is.
    Synchronization {
        port: usize,
    },
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
    /// None: nobody asked to watch.
    Arrivals(Option<Watched>),
    Synchronization(Box<Synchronization>),
}

/// A command, and who waits for its outcome.
pub struct Order {
    pub command: Command,
    pub reply: SyncSender<Outcome>,
}

/// How connections reach the plane's thread: a queue, a flag that it looks at, and a pipe that wakes it.
#[derive(Clone)]
pub struct Line {
    orders: Sender<Order>,
    any: Arc<AtomicBool>,
    wake: Arc<UnixStream>,
}

/// The plane's end of a [`Line`].
pub struct Orders {
    received: Receiver<Order>,
    any: Arc<AtomicBool>,
    woken: UnixStream,
}

impl Orders {
    /// Whether there are some.
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// The next one; none: the flag is down until another comes.
    pub fn take(&mut self) -> Option<Order> {
        if self.any.swap(false, Ordering::AcqRel) {
            // What is left in the pipe wakes the thread once more, to no harm.
            let _ = self.woken.read(&mut [0; 64]);
        }
        self.received.try_recv().ok()
    }
}

impl AsFd for Orders {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }
}

/// The thread is busy with frames, or has ended.
const PATIENCE: Duration = Duration::from_secs(5);

impl Line {
    /// And what the plane's thread listens to.
    pub fn new() -> io::Result<(Self, Orders)> {
        let (orders, received) = std::sync::mpsc::channel();
        let any = Arc::new(AtomicBool::new(false));
        let (wake, woken) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        Ok((Self { orders, any: Arc::clone(&any), wake: Arc::new(wake) }, Orders { received, any, woken }))
    }

    /// None: the plane gave no answer.
    pub fn ask(&self, command: Command) -> Option<Outcome> {
        let (reply, outcome) = sync_channel(1);
        self.orders.send(Order { command, reply }).ok()?;
        self.any.store(true, Ordering::Release);
        // A full pipe wakes it as well.
        let _ = (&*self.wake).write(&[1]);
        outcome.recv_timeout(PATIENCE).ok()
    }
}
