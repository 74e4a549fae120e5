// SPDX-License-Identifier: Apache-2.0
//! The plane as a pure state machine: frames come at ticks, and leave at ticks. No clock, no input, no output.
//!
//! A frame is led by the first rule of the table that it matches, or else by a learning bridge; it waits in the queue of its
//! class; and the egress port, which is the engine's own, says when it leaves.
mod lead;
mod sync;
mod time;

use std::collections::BTreeMap;

use penstock_frame::{MIN_FRAME_BYTES, TAG_BYTES};
use penstock_shaper::admission::CLASSES;
use penstock_shaper::ats::Scheduler;
use penstock_shaper::egress::{GateDelays, GateTime, Queued, Tick, NEVER};
use penstock_shaper::forwarding::Fdb;
use penstock_shaper::gates::AdminList;
use penstock_shaper::ptp_clock::{PtpClock, NOMINAL_INCREMENT};

use crate::arrivals::{Watch, Watched};
use crate::config::{refuse, ClockConfig, Config, Refused};
use crate::count::{Level, Reason};
use crate::line::TICK_NS;
use crate::offload::Checksum;
use crate::port::{ListRefused, Port};
use crate::store::Store;
use crate::table::{Table, MOST_VLAN};
use crate::trace::{Event, Row};

pub use sync::{Role, Sync};

pub const MOST_PORTS: usize = 64;
const FDB_SETS: usize = 1024;
/// Frames that one port sends before the others have their turn.
const BURST: usize = 32;
const MOST_BUFFERS: usize = 1 << 20;
const MOST_FRAME_BYTES: u64 = 9022;
const MOST_OFFSET_NS: i64 = 1_000_000_000_000;
const MOST_DRIFT_PPB: i64 = 1_000_000;

/// A frame as it was received, without FCS.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    pub port: usize,
    pub bytes: &'a [u8],
    /// EtherType and control information of a tag that the kernel took out.
    pub tag: Option<(u16, u16)>,
    pub checksum: Option<Checksum>,
}

/// A copy that is to be sent now, and when it was due.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    pub port: usize,
    pub due: Tick,
    pub copy: Queued,
}

/// What is kept of a frame beside its bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Note {
    stream: Option<u16>,
    number: u64,
}

pub struct Plane {
    ports: Vec<Port>,
    time: GateTime,
    table: Table,
    /// Of the table's streams, as far as they have one.
    schedulers: Vec<Option<Scheduler>>,
    class_of_pcp: [u8; 8],
    class_of_untagged: u8,
    vlans: BTreeMap<u16, u64>,
    fdb: Fdb,
    /// Of the last lookup.
    looked: Tick,
    store: Store,
    notes: Vec<Note>,
    longest: u16,
    tolerance_ns: u64,
    clock_steps: u64,
    watch: Watch,
    sync: Sync,
    /// What happened, if anybody wants to know.
    rows: Option<Vec<Row>>,
}

impl Plane {
    /// With a clock that shows `tai_ns` in the tick `now`, and what its offset adds.
    pub fn new(config: &Config, now: Tick, tai_ns: u64) -> Result<Self, Refused> {
        check(config)?;
        let time = GateTime::new(own_clock(&config.clock, now, tai_ns), GateDelays::default());
        let tolerance_ns = config.tolerance.0;
        let count = config.ports.len();
        let mut ports = Vec::with_capacity(count);
        for (number, port) in config.ports.iter().enumerate() {
            let mut made = Port::new(number, count, port, tolerance_ns, now)?;
            made.shape(number, port, config.base_time_tai_ns, &time, now)?;
            ports.push(made);
        }
        let longest = config.max_frame_bytes.0 as u16;
        let aging_ms = u32::try_from(config.bridge.aging.0 / 1_000_000).unwrap_or(u32::MAX);
        let mut plane = Self {
            time,
            table: Table::default(),
            schedulers: Vec::new(),
            class_of_pcp: config.bridge.class_of_pcp,
            class_of_untagged: config.bridge.class_of_untagged,
            vlans: BTreeMap::new(),
            fdb: Fdb::new(FDB_SETS, aging_ms, true),
            looked: now,
            store: Store::new(config.buffers, usize::from(longest) + TAG_BYTES),
            notes: vec![Note::default(); config.buffers],
            longest,
            tolerance_ns,
            clock_steps: 0,
            watch: Watch::default(),
            sync: Sync::new(config.ports.iter().map(|port| port.follows), now),
            rows: None,
            ports,
        };
        for (&vlan, members) in &config.bridge.vlans {
            let place = format!("bridge.vlans.{vlan}");
            if !(1..=MOST_VLAN).contains(&vlan) {
                return refuse(place, format!("VLAN {vlan}"), format!("1 to {MOST_VLAN}"));
            }
            let mut mask = 0;
            for name in members {
                let Some(port) = plane.port_of(name) else {
                    return refuse(place, format!("\"{name}\" is no port"), plane.port_names());
                };
                mask |= 1 << port;
            }
            plane.vlans.insert(vlan, mask);
        }
        plane.replace_table(plane.checked_table(config)?);
        Ok(plane)
    }

    fn checked_table(&self, config: &Config) -> Result<Table, Refused> {
        Table::new(&config.table, &config.streams, &|name| self.port_of(name), &self.port_names())
    }

    pub fn port_of(&self, name: &str) -> Option<usize> {
        self.ports.iter().position(|port| port.name == name)
    }

    pub fn port_names(&self) -> String {
        self.ports.iter().map(|port| port.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    pub fn time(&self) -> &GateTime {
        &self.time
    }

    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Frames that are held.
    pub fn held(&self) -> usize {
        self.store.held()
    }

    /// From now on what happens is written down.
    pub fn keep_rows(&mut self) {
        self.rows = Some(Vec::new());
    }

    /// What happened since the last call.
    pub fn take_rows(&mut self) -> Vec<Row> {
        self.rows.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Another table holds from the next frame on. An ATS scheduler whose stream keeps its name and rate keeps its state.
    pub fn replace_table(&mut self, table: Table) {
        let kept = table.streams().iter().map(|stream| {
            let old = self.table.streams().iter().position(|known| known == stream);
            let scheduler = old.and_then(|old| self.schedulers.get(old).copied().flatten());
            stream.ats.map(|rate| scheduler.unwrap_or_else(|| Scheduler::new(rate)))
        });
        self.schedulers = kept.collect();
        // Frames that wait belong to streams of the table before.
        let renamed: Vec<_> = self.table.streams().iter().map(|old| position(&table, &old.name)).collect();
        for note in &mut self.notes {
            note.stream = note.stream.and_then(|stream| renamed.get(usize::from(stream)).copied().flatten());
        }
        self.table = table;
    }

    /// A port gets another gate control list; gives its ConfigChangeTime in ns of TAI.
    pub fn commit(&mut self, port: usize, list: &AdminList, now: Tick) -> Result<u64, ListRefused> {
        self.ports[port].commit(list, &self.time, now, self.longest)
    }

    pub fn set_limit(&mut self, port: usize, class: usize, frames: u32) {
        self.ports[port].limits[class] = frames;
    }

    /// How full a queue is and was.
    pub fn read_level(&mut self, port: usize, class: usize, now: Tick) -> Level {
        self.ports[port].queues[class].read(now)
    }

    /// From now on it is noted when frames of a class come to an egress port, and to no other.
    pub fn watch(&mut self, port: usize, class: usize) {
        self.watch.begin(port, class);
    }

    /// What was noted since, once.
    pub fn watched(&mut self) -> Option<Watched> {
        self.watch.end()
    }

    /// The interface of a port is gone, or there again: what waits for it is dropped.
    pub fn set_down(&mut self, port: usize, is_down: bool, now: Tick) {
        for copy in self.ports[port].set_down(is_down, &self.time, now) {
            self.lose(port, &copy, Reason::LinkDown, now);
        }
    }

    /// The next tick in which [`Self::advance`] has something to do; [`NEVER`]: none before another frame comes.
    pub fn next_tick(&mut self) -> Tick {
        let time = &self.time;
        let next = self.ports.iter_mut().map(|port| port.next_tick(time)).min().unwrap_or(NEVER);
        next.min(self.next_sync())
    }

    /// Selects the frames that are due up to now, some of each port; they are to be sent in this order at once.
    pub fn advance(&mut self, now: Tick, departures: &mut Vec<Departure>) {
        let patience = self.tolerance_ns / TICK_NS;
        self.advance_sync(now);
        for number in 0..self.ports.len() {
            for copy in self.ports[number].drop_too_long(&self.time, now) {
                self.lose(number, &copy, Reason::MaxSdu, now);
            }
            for _ in 0..BURST {
                if self.ports[number].egress.is_empty() {
                    break;
                }
                let Some(selected) = self.ports[number].select(&self.time, now, patience) else { break };
                departures.push(Departure { port: number, due: selected.due, copy: selected.copy });
            }
        }
    }

    /// The bytes of a frame that is to be sent, without FCS.
    pub fn bytes(&self, departure: &Departure) -> &[u8] {
        self.store.frame(departure.copy.frame)
    }

    /// A frame has been handed to the kernel, or was refused.
    pub fn departed(&mut self, departure: &Departure, result: Result<(), Reason>, at: Tick) {
        let Departure { port, due, copy } = *departure;
        if let Err(reason) = result {
            return self.lose(port, &copy, reason, at);
        }
        let class = usize::from(copy.traffic_class);
        let is_open = self.ports[port].is_open(&self.time, at, class);
        let counters = &mut self.ports[port].counters;
        counters.sent[class].add(copy.bytes);
        counters.lateness.record(at.saturating_sub(due) * TICK_NS, self.tolerance_ns);
        counters.lateness.outside += u64::from(!is_open);
        self.note(Event::Sent, port, class, copy.bytes, copy.frame, at, due, None);
        self.store.release(copy.frame);
    }

    fn refuse(&mut self, port: usize, reason: Reason) {
        self.ports[port].counters.drop(reason);
    }

    /// A frame that is not looked into: its sender has left too much to the device, or there was no room for all of it.
    pub fn refuse_unread(&mut self, port: usize, bytes: usize, reason: Reason) {
        self.ports[port].counters.received.add(u16::try_from(bytes).unwrap_or(u16::MAX));
        self.refuse(port, reason);
    }

    fn lose(&mut self, port: usize, copy: &Queued, reason: Reason, now: Tick) {
        self.ports[port].counters.drop(reason);
        self.note(
            Event::Dropped,
            port,
            usize::from(copy.traffic_class),
            copy.bytes,
            copy.frame,
            now,
            now,
            Some(reason),
        );
        self.store.release(copy.frame);
    }

    #[allow(clippy::too_many_arguments)]
    fn note(
        &mut self,
        event: Event,
        port: usize,
        class: usize,
        bytes: u16,
        frame: u32,
        at: Tick,
        due: Tick,
        reason: Option<Reason>,
    ) {
        let Some(rows) = &mut self.rows else { return };
        let Note { stream, number } = self.notes[frame as usize];
        rows.push(Row {
            time_tai_ns: self.time.at(at),
            late_ns: at.saturating_sub(due) * TICK_NS,
            number,
            stream,
            port: port as u16,
            traffic_class: class as u8,
            bytes,
            event,
            reason,
        });
    }
}

fn position(table: &Table, name: &str) -> Option<u16> {
    table.streams().iter().position(|stream| stream.name == name).map(|position| position as u16)
}

fn own_clock(config: &ClockConfig, now: Tick, tai_ns: u64) -> PtpClock {
    let drift = i128::from(NOMINAL_INCREMENT) * i128::from(config.drift.0) / 1_000_000_000;
    PtpClock::new(now, tai_ns.saturating_add_signed(config.offset.0))
        .with_increment(NOMINAL_INCREMENT.saturating_add_signed(drift as i64))
}

fn check(config: &Config) -> Result<(), Refused> {
    let count = config.ports.len();
    if !(2..=MOST_PORTS).contains(&count) {
        return refuse("ports", format!("{count} ports"), format!("2 to {MOST_PORTS}"));
    }
    for (number, port) in config.ports.iter().enumerate() {
        if config.ports[..number].iter().any(|other| other.name() == port.name() || other.interface == port.interface) {
            return refuse(format!("ports.{number}"), format!("\"{}\" is there twice", port.name()), "each once");
        }
    }
    if !(1..=MOST_BUFFERS).contains(&config.buffers) {
        return refuse("buffers", config.buffers.to_string(), format!("1 to {MOST_BUFFERS}"));
    }
    let longest = config.max_frame_bytes.0;
    if !(u64::from(MIN_FRAME_BYTES)..=MOST_FRAME_BYTES).contains(&longest) {
        return refuse("max_frame_bytes", longest.to_string(), format!("{MIN_FRAME_BYTES} to {MOST_FRAME_BYTES}"));
    }
    if !(1_000..=1_000_000_000).contains(&config.tolerance.0) {
        return refuse("tolerance", format!("{} ns", config.tolerance.0), "1us to 1s");
    }
    if config.clock.offset.0.abs() > MOST_OFFSET_NS {
        return refuse("clock.offset", format!("{} ns", config.clock.offset.0), "-1000s to 1000s");
    }
    if config.clock.drift.0.abs() > MOST_DRIFT_PPB {
        return refuse("clock.drift", format!("{} ppb", config.clock.drift.0), "-1000ppm to 1000ppm");
    }
    let classes = config.bridge.class_of_pcp.iter().chain([&config.bridge.class_of_untagged]);
    if let Some(class) = classes.into_iter().find(|&&class| usize::from(class) >= CLASSES) {
        return refuse("bridge.class_of_pcp", format!("class {class}"), "0 to 7");
    }
    Ok(())
}
