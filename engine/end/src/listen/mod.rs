// SPDX-License-Identifier: Apache-2.0
//! The listener: takes every frame, measures those of the plan's streams and counts the others by kind.
mod rows;
mod sockets;
mod stream;
mod summary;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use penstock_frame::{FCS_BYTES, TAG_BYTES};

use crate::clock::{self, Evidence, Identity};
use crate::frame::{self, Fault, Received};
use crate::header::{flags, Header, HeaderError};
use crate::plan::{Plan, StampChoice};
use crate::rtp;
use crate::sequence::Arrival;
use crate::stamps::{self, Facts};
use crate::station::{self, kernel, EndError, Interface, Output};
use rows::Rows;
use sockets::{Arrived, Sockets};
use stream::Heard;

pub use summary::Summary;

/// Interfaces of these drivers show frames without their tag.
const TAKES_TAGS_OUT: &str = "802.1Q VLAN Support";
/// Without pmc, an interface's clock may be so far from CLOCK_TAI and its stamps still give latencies.
const PTP_CLOCK_THRESHOLD_NS: u64 = 1000;

/// Listens until the streams are over or something else ends it; writes `listen.csv` and `listen.json`.
pub fn run(plan: &Plan, out: &Path) -> Result<Summary, EndError> {
    let interface = Interface::open(plan)?;
    let evidence = Evidence::gather(plan.clock.pmc.as_ref()).map_err(kernel("the clock's identity"))?;
    let sockets = Sockets::open(plan, &interface)?;
    let stop = station::stop_flag()?;
    station::prepare(out)?;
    let rows = Rows::start(Output::create(out, "listen.csv")?);
    let grants = station::realtime(&plan.realtime)?;
    let mut listener = Listener::new(plan, interface, evidence, rows);
    eprintln!("penstock-end: listening on {}", plan.interface);
    let end = listener.listen(&sockets, &stop)?;
    let drops = sockets.drops();
    let summary = listener.finish(end, drops, grants)?;
    station::write_json(out, "listen.json", &summary)?;
    Ok(summary)
}

/// Why listening ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Complete,
    Duration,
    NothingCame,
    Silence,
    Stopped,
}

struct Listener<'a> {
    plan: &'a Plan,
    interface: Interface,
    evidence: Evidence,
    tai_offset_ns: i64,
    tag_known: bool,
    streams: Vec<Heard<'a>>,
    by_id: HashMap<u16, usize>,
    ignored: BTreeMap<&'static str, u64>,
    facts: Facts,
    other_clock: Option<String>,
    known_clock: Option<Identity>,
    rows: Rows,
    last_frame_ns: Option<u64>,
}

impl<'a> Listener<'a> {
    fn new(plan: &'a Plan, interface: Interface, evidence: Evidence, rows: Rows) -> Listener<'a> {
        let threshold_ns = plan.clock.pmc.as_ref().map_or(PTP_CLOCK_THRESHOLD_NS, |pmc| pmc.threshold_ns);
        let facts = Facts {
            driver: interface.driver.clone(),
            ptp_clock_minus_tai_ns: interface.ptp_clock_minus_tai_ns,
            threshold_ns,
            ..Facts::default()
        };
        Listener {
            plan,
            tag_known: interface.driver != TAKES_TAGS_OUT,
            interface,
            evidence,
            tai_offset_ns: clock::tai_minus_realtime_ns(),
            streams: plan.streams.iter().map(|stream| Heard::new(plan, stream)).collect(),
            by_id: plan.streams.iter().enumerate().map(|(n, stream)| (stream.id, n)).collect(),
            ignored: BTreeMap::new(),
            facts,
            other_clock: None,
            known_clock: None,
            rows,
            last_frame_ns: None,
        }
    }

    fn listen(&mut self, sockets: &Sockets, stop: &AtomicBool) -> Result<End, EndError> {
        let begin = clock::now_tai_ns();
        let mut buffer = vec![0; 1 << 16];
        loop {
            if stop.load(Ordering::Relaxed) {
                // What has come until now counts.
                sockets.drain(&mut buffer, &mut |arrived| self.take(&arrived))?;
                return Ok(End::Stopped);
            }
            let now = clock::now_tai_ns();
            let (ends, why) = self.ends(begin);
            if now >= ends {
                return Ok(why);
            }
            sockets.wait((ends - now).min(100_000_000))?;
            sockets.drain(&mut buffer, &mut |arrived| self.take(&arrived))?;
        }
    }

    /// When listening ends if nothing more comes, and why.
    fn ends(&self, begin: u64) -> (u64, End) {
        let listen = &self.plan.listen;
        let quiet = match self.last_frame_ns {
            None => (begin.saturating_add(listen.wait_ns), End::NothingCame),
            Some(last) if self.streams.iter().all(Heard::is_over) => {
                (last.saturating_add(listen.linger_ns), End::Complete)
            }
            Some(last) => (last.saturating_add(listen.idle_ns), End::Silence),
        };
        match listen.duration_ns.map(|duration| begin.saturating_add(duration)) {
            Some(limit) if limit < quiet.0 => (limit, End::Duration),
            _ => quiet,
        }
    }

    fn take(&mut self, arrived: &Arrived<'_>) {
        if let Err(kind) = self.admit(arrived) {
            *self.ignored.entry(kind).or_default() += 1;
        }
    }

    fn admit(&mut self, arrived: &Arrived<'_>) -> Result<(), &'static str> {
        if arrived.bytes.len() < arrived.message.length {
            return Err("longer_than_the_buffer");
        }
        let (frame, bytes) = match arrived.datagram {
            None => {
                let frame = frame::parse(arrived.bytes, arrived.message.stripped_tci).map_err(kind)?;
                let tag = if arrived.message.stripped_tci.is_some() { TAG_BYTES } else { 0 };
                (frame, arrived.bytes.len() + tag + FCS_BYTES as usize)
            }
            Some(carrier) => {
                let header = rtp::find_header(arrived.bytes).map_err(|error| match error {
                    HeaderError::NotOurs => "foreign",
                    error => kind(Fault::Header(error)),
                })?;
                let frame = Received {
                    carrier,
                    header,
                    tag: None,
                    destination: Default::default(),
                    source: Default::default(),
                };
                (frame, 0)
            }
        };
        let n = *self.by_id.get(&frame.header.stream).ok_or("unknown_stream")?;
        let stream = &self.plan.streams[n];
        // A datagram shows neither headers nor tag.
        let bytes = if bytes == 0 { arrived.bytes.len() + stream.overhead_bytes() } else { bytes };
        let tag_known = self.tag_known && arrived.datagram.is_none();
        let bytes =
            if tag_known || stream.vlan.is_none() || arrived.datagram.is_some() { bytes } else { bytes + TAG_BYTES };
        if let Some(kind) = self.streams[n].refuses(&frame, bytes, tag_known) {
            return Err(kind);
        }
        let kernel_tai_ns = arrived.message.kernel_realtime_ns.and_then(|ns| ns.checked_add_signed(self.tai_offset_ns));
        let stamps = [arrived.message.hardware_ns, kernel_tai_ns, Some(arrived.user_tai_ns)];
        let (sequence, arrival) = self.streams[n].take(&frame.header, stamps).ok_or("other_run")?;
        if arrival == Arrival::Implausible {
            return Err("implausible_sequence");
        }
        self.last_frame_ns = Some(arrived.user_tai_ns);
        self.note(&frame.header, arrived);
        let mut row = self.streams[n].row(&frame, sequence, arrival);
        row.user_tai_ns = arrived.user_tai_ns;
        row.kernel_realtime_ns = arrived.message.kernel_realtime_ns;
        row.hardware_ns = arrived.message.hardware_ns;
        self.rows.put(row);
        Ok(())
    }

    /// What a frame tells of stamps and clocks.
    fn note(&mut self, header: &Header, arrived: &Arrived<'_>) {
        self.facts.frames += 1;
        self.facts.with_kernel += u64::from(arrived.message.kernel_realtime_ns.is_some());
        self.facts.with_hardware += u64::from(arrived.message.hardware_ns.is_some());
        self.facts.with_launch_time += u64::from(header.has(flags::LAUNCH_TIME));
        // The kernel hands on the asked time as it stands, whatever clock it was of.
        let asked = [Some(header.due_tai_ns), header.due_tai_ns.checked_add_signed(-self.tai_offset_ns)];
        let as_asked = header.has(flags::LAUNCH_TIME) && asked.contains(&arrived.message.kernel_realtime_ns);
        self.facts.stamped_as_asked += u64::from(as_asked);
        let identity = Identity { value: header.clock, synchronized: header.has(flags::SYNCHRONIZED) };
        if self.known_clock != Some(identity) {
            self.known_clock = Some(identity);
            self.other_clock = self.other_clock.take().or_else(|| self.evidence.other_clock(identity));
        }
    }

    fn finish(self, end: End, drops: u64, grants: Vec<penstock_sys::Grant>) -> Result<Summary, EndError> {
        self.rows.finish()?;
        let verdict = stamps::judge(&self.facts, self.plan.listen.stamp);
        let whole = !matches!(end, End::Stopped | End::Duration);
        let one_clock = self.other_clock.is_none();
        let described =
            self.streams.iter().map(|heard| (heard.name().to_owned(), heard.summarize(&verdict, one_clock, whole)));
        let streams: BTreeMap<String, stream::Summary> = described.collect();
        let forced = (self.plan.listen.stamp != StampChoice::Auto).then_some(self.plan.listen.stamp);
        Ok(Summary {
            ok: streams.values().all(|stream| stream.ok),
            name: self.plan.name.clone(),
            ended: match end {
                End::Complete => "all streams were complete",
                End::Duration => "the duration was over",
                End::NothingCame => "nothing came",
                End::Silence => "no more frames came",
                End::Stopped => "it was stopped",
            },
            interface: self.interface,
            streams,
            ignored: self.ignored,
            dropped_at_the_socket: drops,
            stamps: verdict,
            stamps_asked_for: forced,
            clock: summary::Clock {
                one_clock,
                refused: self.other_clock,
                evidence: self.evidence,
                tai_minus_realtime_ns: self.tai_offset_ns,
            },
            realtime: grants,
        })
    }
}

fn kind(fault: Fault) -> &'static str {
    match fault {
        Fault::Truncated | Fault::Header(HeaderError::Truncated) => "truncated",
        Fault::DoubleTag => "double_tag",
        Fault::Foreign | Fault::Header(HeaderError::NotOurs) => "foreign",
        Fault::Ipv4Form => "ipv4_form",
        Fault::Header(HeaderError::Version(_)) => "other_version",
        Fault::Header(HeaderError::Damaged) => "damaged",
    }
}
