// SPDX-License-Identifier: Apache-2.0
//! Writes the trace beside the plane's thread, which never waits for it.
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{sync_channel, SyncSender, TrySendError};
use std::thread::{self, JoinHandle};

use crate::trace::{Row, HEAD};

/// Portions that may wait to be written.
const PORTIONS: usize = 4096;

pub struct Writer {
    rows: Option<SyncSender<Vec<Row>>>,
    thread: Option<JoinHandle<io::Result<()>>>,
    lost: u64,
}

impl Writer {
    pub fn create(path: &Path, ports: Vec<String>, streams: Vec<String>) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        file.write_all(HEAD.as_bytes())?;
        let (rows, received) = sync_channel::<Vec<Row>>(PORTIONS);
        let thread = thread::spawn(move || {
            let mut text = String::new();
            for portion in received {
                text.clear();
                portion.iter().for_each(|row| row.append(&mut text, &ports, &streams));
                file.write_all(text.as_bytes())?;
            }
            file.flush()
        });
        Ok(Self { rows: Some(rows), thread: Some(thread), lost: 0 })
    }

    /// What finds no room is lost, and counted.
    pub fn write(&mut self, rows: Vec<Row>) {
        let Some(sender) = self.rows.as_ref().filter(|_| !rows.is_empty()) else { return };
        if let Err(TrySendError::Full(rows) | TrySendError::Disconnected(rows)) = sender.try_send(rows) {
            self.lost += rows.len() as u64;
        }
    }

    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Waits until all is in the file.
    pub fn finish(&mut self) -> io::Result<()> {
        self.rows = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(io::Error::other("the writer of the trace failed")),
            None => Ok(()),
        }
    }
}
