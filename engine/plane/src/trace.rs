// SPDX-License-Identifier: Apache-2.0
//! What happened to each frame, as rows of a table.
use std::fmt::Write;

use crate::count::Reason;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Received,
    Queued,
    Sent,
    Dropped,
}

impl Event {
    pub fn name(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Queued => "queued",
            Self::Sent => "sent",
            Self::Dropped => "dropped",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub time_tai_ns: u64,
    /// Of a departure: how much later it was than it was due.
    pub late_ns: u64,
    pub number: u64,
    pub stream: Option<u16>,
    pub port: u16,
    pub traffic_class: u8,
    pub bytes: u16,
    pub event: Event,
    pub reason: Option<Reason>,
}

pub const HEAD: &str = "event,port,stream,number,time_tai_ns,bytes,traffic_class,reason,late_ns\n";

impl Row {
    /// As a line of CSV.
    pub fn append(&self, text: &mut String, ports: &[String], streams: &[String]) {
        let port = ports.get(usize::from(self.port)).map_or("", String::as_str);
        let stream = self.stream.and_then(|stream| streams.get(usize::from(stream))).map_or("", String::as_str);
        let reason = self.reason.map_or("none", Reason::name);
        let Self { time_tai_ns, late_ns, number, traffic_class, bytes, event, .. } = self;
        let event = event.name();
        // A String takes everything.
        let _ =
            writeln!(text, "{event},{port},{stream},{number},{time_tai_ns},{bytes},{traffic_class},{reason},{late_ns}");
    }
}
