// SPDX-License-Identifier: Apache-2.0
//! The table of received frames, written by a thread of its own so that a slow disk delays no reception.
use std::io::{self, Write};
use std::sync::mpsc::{channel, Sender};
use std::thread::{self, JoinHandle};

use crate::station::{cell, kernel, EndError, Output};
use penstock_frame::{MacAddress, Tag};

const HEAD: &str = "arrival,stream,stream_id,sequence,kind,bytes,vlan,pcp,source_mac,construction_tai_ns,due_tai_ns,\
launch_time,user_tai_ns,kernel_realtime_ns,hardware_ns";

/// A received frame.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub stream: String,
    pub stream_id: u16,
    pub sequence: u64,
    pub kind: &'static str,
    pub bytes: u32,
    pub tag: Option<Tag>,
    pub source_mac: MacAddress,
    pub construction_tai_ns: u64,
    pub due_tai_ns: u64,
    pub launch_time: bool,
    pub user_tai_ns: u64,
    pub kernel_realtime_ns: Option<u64>,
    pub hardware_ns: Option<u64>,
}

/// Takes rows until it is finished.
pub struct Rows {
    sender: Sender<Row>,
    thread: JoinHandle<io::Result<Output>>,
}

impl Rows {
    pub fn start(mut output: Output) -> Rows {
        let (sender, receiver) = channel::<Row>();
        let thread = thread::spawn(move || {
            writeln!(output, "{HEAD}")?;
            for (arrival, row) in receiver.iter().enumerate() {
                write(&mut output, arrival, &row)?;
            }
            Ok(output)
        });
        Rows { sender, thread }
    }

    /// A row that the writer cannot take any more is told of at the end.
    pub fn put(&self, row: Row) {
        let _ = self.sender.send(row);
    }

    pub fn finish(self) -> Result<(), EndError> {
        drop(self.sender);
        let result = self.thread.join().unwrap_or_else(|_| Err(io::Error::other("its thread ended")));
        result.map_err(kernel("cannot write listen.csv"))?.finish()
    }
}

fn write(output: &mut impl Write, arrival: usize, row: &Row) -> io::Result<()> {
    let (vlan, pcp) = (row.tag.map(|t| t.vlan.into()), row.tag.map(|t| t.pcp.into()));
    writeln!(
        output,
        "{arrival},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
        row.stream,
        row.stream_id,
        row.sequence,
        row.kind,
        row.bytes,
        cell(vlan),
        cell(pcp),
        row.source_mac,
        row.construction_tai_ns,
        row.due_tai_ns,
        u8::from(row.launch_time),
        row.user_tai_ns,
        cell(row.kernel_realtime_ns),
        cell(row.hardware_ns),
    )
}
