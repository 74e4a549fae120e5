// SPDX-License-Identifier: Apache-2.0
//! The talker: sends the frames of a plan, each at its time, and keeps what became of each.
mod content;
mod records;
mod schedule;
mod sender;
mod summary;

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::time::{clock_nanosleep, ClockId, ClockNanosleepFlags};

use crate::clock::{self, Evidence};
use crate::header::flags;
use crate::plan::{LateAction, Plan, Send};
use crate::station::{self, kernel, EndError, Interface, Output};
use penstock_sys as sys;
use records::{begun, Outcome, Records, HEAD};
use schedule::{first_cycle, Schedule, Slot};
use sender::Sender;

pub use summary::Summary;

/// Without so much time before the next frame, the error queue waits.
const TIME_TO_READ_NS: u64 = 50_000;
/// So many frames are sent at most before it is read all the same.
const MOST_UNREAD: u32 = 256;
/// Room for the frames of a stream that ends only when it is stopped.
const ROOM: u64 = 1 << 16;
/// How long after the last frame its stamps are waited for.
const SETTLE_NS: u64 = 200_000_000;

/// Sends all frames of a plan; writes `talk.csv` and `talk.json`.
pub fn run(plan: &Plan, out: &Path) -> Result<Summary, EndError> {
    let plan = &content::with_captures(plan)?;
    let interface = Interface::open(plan)?;
    let evidence = Evidence::gather(plan.clock.pmc.as_ref()).map_err(kernel("the clock's identity"))?;
    let mut talker = Talker::new(plan, &interface, &evidence)?;
    let stop = station::stop_flag()?;
    station::prepare(out)?;
    let grants = station::realtime(&plan.realtime)?;
    let base = first_cycle(plan, clock::now_tai_ns());
    let interrupted = talker.talk(base, &stop)?;
    // What is still in a qdisc needs the processor more than the tables do: on a real-time kernel the threads that send
    // it have no such priority.
    if plan.realtime.fifo_priority.is_some() {
        sys::leave_fifo().map_err(kernel("the priority given back"))?;
    }
    talker.settle(&stop);
    let offset = clock::tai_minus_realtime_ns();
    talker.write(out)?;
    let summary = summary::summarize(plan, &talker.records, interface, evidence, grants, (base, offset), interrupted);
    station::write_json(out, "talk.json", &summary)?;
    Ok(summary)
}

struct Talker<'a> {
    plan: &'a Plan,
    senders: Vec<Sender>,
    records: Vec<Records>,
    /// Of all frames.
    flags: u8,
}

impl<'a> Talker<'a> {
    fn new(plan: &'a Plan, interface: &Interface, evidence: &Evidence) -> Result<Talker<'a>, EndError> {
        let identity = evidence.identity();
        let run = (clock::now_tai_ns() / 1000) as u16 ^ std::process::id() as u16;
        let senders = plan.streams.iter().map(|stream| Sender::open(plan, stream, interface, run, identity.value));
        let room = |stream: &crate::plan::Stream| stream.count(plan).unwrap_or(ROOM) as usize;
        let synchronized = if identity.synchronized { flags::SYNCHRONIZED } else { 0 };
        Ok(Talker {
            plan,
            senders: senders.collect::<Result<_, _>>()?,
            records: plan.streams.iter().map(|stream| Records::with_room_for(room(stream))).collect(),
            flags: synchronized,
        })
    }

    /// Gives whether it was stopped.
    fn talk(&mut self, base: u64, stop: &AtomicBool) -> Result<bool, EndError> {
        let mut schedule = Schedule::new(self.plan, base);
        let mut unread = 0;
        while let Some(slot) = schedule.next() {
            unread += 1;
            if unread > MOST_UNREAD || slot.wake_tai_ns > clock::now_tai_ns() + TIME_TO_READ_NS {
                self.read_errors();
                unread = 0;
            }
            sleep_until(slot.wake_tai_ns, stop)?;
            if stop.load(Ordering::Relaxed) {
                return Ok(true);
            }
            self.handle(slot, &schedule);
        }
        Ok(false)
    }

    fn handle(&mut self, slot: Slot, schedule: &Schedule<'_>) {
        let now = clock::now_tai_ns();
        let mut record = begun(slot, now as i64 - slot.wake_tai_ns as i64, now);
        let records = &mut self.records[slot.stream];
        if self.plan.late.action == LateAction::Drop && now > schedule.closes_tai_ns(slot) {
            records.add(record, false);
            return;
        }
        let stream = &self.plan.streams[slot.stream];
        let bytes = stream.bytes_of(slot.sequence);
        let last = if schedule.is_last(slot) { flags::LAST } else { 0 };
        let launch = (stream.send(self.plan) == Send::LaunchTime).then_some(slot.due_tai_ns);
        let launched = if launch.is_some() { flags::LAUNCH_TIME } else { 0 };
        let result = self.senders[slot.stream].send(slot, bytes, now, self.flags | last | launched, launch);
        record.handed_tai_ns = clock::now_tai_ns();
        let mut numbered = true;
        record.outcome = match result {
            Ok(()) => Outcome::Sent,
            Err(error) => {
                // A queue that drops a frame does so after the kernel has given it a number.
                numbered = error.raw_os_error() == Some(libc::ENOBUFS);
                records.last_error = Some(error.to_string());
                Outcome::Refused
            }
        };
        records.add(record, numbered);
    }

    fn read_errors(&mut self) {
        for (sender, records) in self.senders.iter().zip(&mut self.records) {
            while let Ok(Some(message)) = sender.error_message() {
                records.note(message);
            }
        }
    }

    /// Reads what the error queue says until all is known or enough time has passed.
    fn settle(&mut self, stop: &AtomicBool) {
        let last =
            self.records.iter().filter_map(|records| records.frames.last()).map(|record| record.due_tai_ns).max();
        let until = last.unwrap_or(0).max(clock::now_tai_ns()) + SETTLE_NS;
        loop {
            self.read_errors();
            if self.records.iter().all(Records::are_settled) || clock::now_tai_ns() > until {
                return;
            }
            let _ = sleep_until(clock::now_tai_ns() + 1_000_000, stop);
        }
    }

    fn write(&self, out: &Path) -> Result<(), EndError> {
        let mut output = Output::create(out, "talk.csv")?;
        self.write_rows(&mut output).map_err(kernel("cannot write talk.csv"))?;
        output.finish()
    }

    fn write_rows(&self, output: &mut Output) -> io::Result<()> {
        writeln!(output, "{HEAD}")?;
        let mut each = self.plan.streams.iter().zip(&self.records);
        each.try_for_each(|(stream, records)| records.write(stream, output))
    }
}

/// Sleeps until a time of CLOCK_TAI; a signal ends it early.
fn sleep_until(tai_ns: u64, stop: &AtomicBool) -> Result<(), EndError> {
    let time = nix::sys::time::TimeSpec::new((tai_ns / 1_000_000_000) as i64, (tai_ns % 1_000_000_000) as i64);
    loop {
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        match clock_nanosleep(ClockId::CLOCK_TAI, ClockNanosleepFlags::TIMER_ABSTIME, &time) {
            Ok(_) => return Ok(()),
            Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(kernel("clock_nanosleep on CLOCK_TAI")(error.into())),
        }
    }
}
