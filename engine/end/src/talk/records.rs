// SPDX-License-Identifier: Apache-2.0
//! What is kept of each frame that the talker handled.
use std::io::{self, Write};

use super::schedule::Slot;
use crate::plan::Stream;
use crate::station::{cell, Output};
use penstock_sys::ErrorMessage;

pub const HEAD: &str =
    "stream,stream_id,sequence,outcome,bytes,due_tai_ns,wake_late_ns,construction_tai_ns,handed_tai_ns,\
kernel_realtime_ns,hardware_ns";

/// What became of a frame, as far as the talker knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Sent,
    /// Not sent, since its window was over.
    Skipped,
    /// Not taken by the kernel.
    Refused,
    /// Taken, and dropped later since the launch time had passed.
    Missed,
    /// Dropped at once, since the launch time had passed or was too near for the queue.
    Invalid,
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Sent => "sent",
            Outcome::Skipped => "skipped",
            Outcome::Refused => "refused",
            Outcome::Missed => "missed",
            Outcome::Invalid => "invalid",
        }
    }
}

/// A frame. Zero where there is no stamp.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub due_tai_ns: u64,
    pub construction_tai_ns: u64,
    pub handed_tai_ns: u64,
    pub kernel_realtime_ns: u64,
    pub hardware_ns: u64,
    pub wake_late_ns: i64,
    pub outcome: Outcome,
}

/// The frames of a stream in their order.
#[derive(Debug, Default)]
pub struct Records {
    pub frames: Vec<Record>,
    /// Position of the frames that the kernel counted, by its own count.
    handed: Vec<u32>,
    stamped: u64,
    /// Messages of the error queue that are about no frame.
    pub stray: u64,
    pub last_error: Option<String>,
}

impl Records {
    pub fn with_room_for(frames: usize) -> Records {
        let (frames, handed) = (Vec::with_capacity(frames), Vec::with_capacity(frames));
        Records { frames, handed, ..Records::default() }
    }

    /// A frame; `numbered` when the kernel counted it, even if it was then dropped.
    pub fn add(&mut self, record: Record, numbered: bool) {
        if numbered {
            self.handed.push(self.frames.len() as u32);
        }
        self.frames.push(record);
    }

    /// What the error queue says of a frame.
    pub fn note(&mut self, message: ErrorMessage) {
        match message {
            ErrorMessage::Stamp { frame, kernel_realtime_ns, hardware_ns } => {
                let Some(&position) = self.handed.get(frame as usize) else {
                    self.stray += 1;
                    return;
                };
                let record = &mut self.frames[position as usize];
                if let Some(ns) = kernel_realtime_ns {
                    self.stamped += u64::from(record.kernel_realtime_ns == 0);
                    record.kernel_realtime_ns = ns;
                }
                record.hardware_ns = hardware_ns.unwrap_or(record.hardware_ns);
            }
            ErrorMessage::Launch { missed, launch_tai_ns } => match self.launched_at(launch_tai_ns) {
                Some(record) => record.outcome = if missed { Outcome::Missed } else { Outcome::Invalid },
                None => self.stray += 1,
            },
            ErrorMessage::Other { errno } => {
                self.stray += 1;
                self.last_error = Some(io::Error::from_raw_os_error(errno as i32).to_string());
            }
        }
    }

    /// The first frame with this launch time of which nothing bad is known yet.
    fn launched_at(&mut self, launch_tai_ns: u64) -> Option<&mut Record> {
        let first = self.frames.partition_point(|record| record.due_tai_ns < launch_tai_ns);
        let same = self.frames[first..].iter_mut().take_while(|record| record.due_tai_ns == launch_tai_ns);
        same.into_iter().find(|record| matches!(record.outcome, Outcome::Sent | Outcome::Refused))
    }

    /// Whether each frame that the kernel took has been stamped or reported as dropped.
    pub fn are_settled(&self) -> bool {
        let dropped = |r: &&Record| matches!(r.outcome, Outcome::Missed | Outcome::Invalid | Outcome::Refused);
        self.stamped as usize + self.frames.iter().filter(dropped).count() >= self.handed.len()
    }

    pub fn write(&self, stream: &Stream, output: &mut Output) -> io::Result<()> {
        let stamp = |ns: u64| cell(Some(ns).filter(|&ns| ns != 0));
        for (sequence, record) in self.frames.iter().enumerate() {
            writeln!(
                output,
                "{},{},{sequence},{},{},{},{},{},{},{},{}",
                stream.name,
                stream.id,
                record.outcome.name(),
                stream.bytes_of(sequence as u64),
                record.due_tai_ns,
                record.wake_late_ns,
                record.construction_tai_ns,
                stamp(record.handed_tai_ns),
                stamp(record.kernel_realtime_ns),
                stamp(record.hardware_ns),
            )?;
        }
        Ok(())
    }
}

/// A frame that is not yet handed to the kernel.
pub fn begun(slot: Slot, wake_late_ns: i64, construction_tai_ns: u64) -> Record {
    Record {
        due_tai_ns: slot.due_tai_ns,
        construction_tai_ns,
        handed_tai_ns: 0,
        kernel_realtime_ns: 0,
        hardware_ns: 0,
        wake_late_ns,
        outcome: Outcome::Skipped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Records {
        let mut records = Records::default();
        for (n, outcome) in [Outcome::Sent, Outcome::Refused, Outcome::Sent, Outcome::Sent].into_iter().enumerate() {
            let slot = Slot { wake_tai_ns: 0, due_tai_ns: 1000 * n as u64, stream: 0, sequence: n as u64 };
            records.add(Record { outcome, ..begun(slot, 0, 1) }, outcome == Outcome::Sent);
        }
        records
    }

    #[test]
    fn stamps_count_the_frames_that_the_kernel_took() {
        let mut records = records();
        let stamp = |frame, ns| ErrorMessage::Stamp { frame, kernel_realtime_ns: Some(ns), hardware_ns: None };
        records.note(stamp(1, 77));
        assert_eq!(records.frames.iter().map(|r| r.kernel_realtime_ns).collect::<Vec<_>>(), [0, 0, 77, 0]);
        records.note(ErrorMessage::Stamp { frame: 1, kernel_realtime_ns: None, hardware_ns: Some(5) });
        assert_eq!((records.frames[2].kernel_realtime_ns, records.frames[2].hardware_ns), (77, 5));
        records.note(stamp(9, 1));
        assert_eq!(records.stray, 1);
        assert!(!records.are_settled());
    }

    #[test]
    fn a_frame_that_the_queue_dropped_at_once_has_a_number_too() {
        let mut records = Records::default();
        for (n, outcome) in [Outcome::Refused, Outcome::Sent].into_iter().enumerate() {
            let slot = Slot { wake_tai_ns: 0, due_tai_ns: 1000 * n as u64, stream: 0, sequence: n as u64 };
            records.add(Record { outcome, ..begun(slot, 0, 1) }, true);
        }
        records.note(ErrorMessage::Stamp { frame: 1, kernel_realtime_ns: Some(8), hardware_ns: None });
        records.note(ErrorMessage::Launch { missed: false, launch_tai_ns: 0 });
        assert_eq!((records.frames[0].outcome, records.frames[1].kernel_realtime_ns), (Outcome::Invalid, 8));
        assert!(records.are_settled());
    }

    #[test]
    fn a_missed_launch_time_is_the_frames_that_had_it() {
        let mut records = records();
        records.note(ErrorMessage::Launch { missed: true, launch_tai_ns: 3000 });
        records.note(ErrorMessage::Launch { missed: false, launch_tai_ns: 0 });
        records.note(ErrorMessage::Launch { missed: true, launch_tai_ns: 17 });
        use Outcome::*;
        assert_eq!(records.frames.iter().map(|r| r.outcome).collect::<Vec<_>>(), [Invalid, Refused, Sent, Missed]);
        assert_eq!(records.stray, 1);
        records.note(ErrorMessage::Stamp { frame: 1, kernel_realtime_ns: Some(4), hardware_ns: None });
        assert!(records.are_settled());
    }
}
