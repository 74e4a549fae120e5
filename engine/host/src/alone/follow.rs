// SPDX-License-Identifier: Apache-2.0
//! Slots follow the PTP clock: it is set, stepped, slewed and sped up while the queues are full. Every frame is an event message of
//! PTP, so that the card's own stamps say when it left, by the clock that its slots are of.
use std::collections::VecDeque;

use penstock_shaper::ptp_clock::{Command, NOMINAL_INCREMENT};
use serde::Serialize;

use super::{is_inside, AloneError, Bench, BUFFER, CYCLE_NS, QUEUES, SETTLE, THREE};
use crate::card::{Card, Sent};
use crate::ptp::{self, Stamp};

/// Parts of a nanosecond in which times are counted here, those of a stamp.
const PARTS: i128 = 256;
/// A stamp is of the byte behind preamble and delimiter.
const PREAMBLE_NS: i128 = 64;
/// Schedule cycles in which is counted; the slew ends within them.
const COUNTED: u32 = 12;
/// A Sync message by its own EtherType: messageType and all behind it are zero.
const SYNC: [u8; 14] = [0x01, 0x1B, 0x19, 0, 0, 0, 0x02, 0, 0, 0, 0, 0x02, 0x88, 0xF7];

/// 15 January 2027, not at the begin of a cycle.
const SET: Command = Command::Set { s: 1_800_000_000, ns: 123_456_789 };
const FORWARD_NS: u32 = 2_345_678;
/// Back by 0.7 s: nanoseconds of a step are positive.
const BACK: Command = Command::Step { s: -1, ns: 300_000_400 };
/// 2000 ppm, so 10 ms of the slew below.
const SLEW_RATE: u32 = (NOMINAL_INCREMENT / 500) as u32;
const SLEW_NS: i32 = -20_000;
const FASTER: u64 = NOMINAL_INCREMENT + NOMINAL_INCREMENT / 1000;

/// What the clock is told, one behind the other, and whether the list begins anew then.
const COMMANDS: [(&str, Command, bool); 5] = [
    ("set", SET, true),
    ("forward", Command::Step { s: 0, ns: FORWARD_NS }, true),
    ("back", BACK, true),
    ("slew", Command::Slew { ns: SLEW_NS, rate: SLEW_RATE }, false),
    ("faster", Command::Increment(FASTER), false),
];

/// What was seen behind a command of the clock, by its own time.
#[derive(Clone, Debug, Serialize)]
pub struct Followed {
    pub command: &'static str,
    /// How much further the clock went than the line since the frames before the command.
    pub moved_ns: f64,
    /// By how much it was faster than the line while it was counted, in ppm.
    pub faster_ppm: f64,
    /// Frames of each queue in a cycle of the schedule.
    pub frames: [f64; QUEUES],
    /// Frames that were on the wire outside of their slot.
    pub outside: u64,
}

/// A frame that has left.
#[derive(Clone, Copy, Debug)]
struct Stamped {
    queue: usize,
    /// Of the first bit of its preamble in parts of a ns, by the cycles of the line and by the PTP clock.
    line: i128,
    clock: i128,
}

impl Stamped {
    fn new(sent: &Sent, clock: i128) -> Self {
        Self { queue: sent.queue, line: i128::from(sent.at_ns) * PARTS, clock: clock - PREAMBLE_NS * PARTS }
    }

    /// Rounded up: a gate that opens in a fraction of a nanosecond has opened then.
    fn clock_ns(&self) -> u64 {
        (self.clock + PARTS - 1).div_euclid(PARTS) as u64
    }

    fn ahead(&self) -> i128 {
        self.clock - self.line
    }
}

/// Frames and stamps of the first port, each in their order.
#[derive(Default)]
struct Both {
    sent: VecDeque<Sent>,
    stamps: VecDeque<i128>,
}

impl Both {
    /// Those of the queues, always full, for so many cycles of the schedule.
    fn run(&mut self, bench: &mut Bench, cycles: u32) -> Result<Vec<Stamped>, AloneError> {
        let mut stamped = Vec::new();
        for _ in 0..cycles * super::STEPS {
            bench.step(&[0, 1, 2])?;
            self.sent.extend(bench.sent[0].drain(..));
            while let Some(stamp) = ptp::take_stamp(bench.card, 0)? {
                self.stamps.push_back(time(stamp));
            }
            let pairs = self.sent.len().min(self.stamps.len());
            stamped.extend(
                self.sent.drain(..pairs).zip(self.stamps.drain(..pairs)).map(|(sent, at)| Stamped::new(&sent, at)),
            );
        }
        if bench.card.read(ptp::STAMP_LOST)? != 0 {
            return Err(AloneError::StampLost);
        }
        Ok(stamped)
    }
}

/// In parts of a ns.
fn time(stamp: Stamp) -> i128 {
    (i128::from(stamp.seconds) * 1_000_000_000 + i128::from(stamp.ns)) * PARTS + i128::from(stamp.fraction)
}

/// Of frames behind a command, and of the last one before it.
fn followed(command: &'static str, frames: &[Stamped], before: Option<Stamped>) -> Result<Followed, AloneError> {
    let (Some(first), Some(last)) = (frames.first(), frames.last()) else { return Err(AloneError::Silent) };
    let whole = first.clock_ns().div_ceil(CYCLE_NS)..last.clock_ns() / CYCLE_NS;
    let counted: Vec<_> = frames.iter().filter(|frame| whole.contains(&(frame.clock_ns() / CYCLE_NS))).collect();
    let [begin, .., end] = counted[..] else { return Err(AloneError::Silent) };
    let of_queue = |queue| counted.iter().filter(|frame| frame.queue == queue).count() as f64;
    let is_outside = |frame: &&Stamped| !is_inside(&THREE, 0, frame.queue, frame.clock_ns());
    Ok(Followed {
        command,
        moved_ns: before.map_or(0.0, |before| (last.ahead() - before.ahead()) as f64 / PARTS as f64),
        faster_ppm: 1e6 * (end.ahead() - begin.ahead()) as f64 / (end.line - begin.line) as f64,
        frames: std::array::from_fn(|queue| of_queue(queue) / (whole.end - whole.start) as f64),
        outside: frames.iter().filter(is_outside).count() as u64,
    })
}

/// Brings a card that has just begun, with a line of 1 Gb/s and slots of 90, 5 and 5 %, through commands of its PTP clock.
///
/// # Errors
/// The card does not do what a card does.
pub fn follow(card: &mut dyn Card) -> Result<Vec<Followed>, AloneError> {
    let mut bench = Bench::new(card)?;
    bench.memory.write(BUFFER + 12, &SYNC).then_some(()).ok_or(AloneError::Lost)?;
    bench.set_slots(&THREE, 0, CYCLE_NS)?;
    let (mut both, mut before, mut seen) = (Both::default(), None, Vec::new());
    both.run(&mut bench, SETTLE)?;
    for (what, command, begins_anew) in COMMANDS {
        match ptp::tell(bench.card, command)? {
            0 => {}
            code => return Err(AloneError::Clock { code }),
        }
        if begins_anew {
            both.run(&mut bench, SETTLE)?;
        }
        let frames = both.run(&mut bench, COUNTED)?;
        seen.push(followed(what, &frames, before)?);
        before = frames.last().copied();
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alone::FRAME_NS;
    use crate::model::Model;

    #[test]
    fn the_models_slots_follow_its_clock() {
        let seen = follow(&mut Model::new(4, 1_000_000_000)).unwrap();
        let moved = seen.iter().map(|seen| seen.moved_ns).collect::<Vec<_>>();
        assert_eq!(moved[1..4], [2_345_678.0, -699_999_600.0, -20_000.0], "{seen:?}");
        let rates = seen.iter().map(|seen| seen.faster_ppm).collect::<Vec<_>>();
        assert!(rates[..3].iter().all(|&rate| rate == 0.0) && (rates[4] - 1000.0).abs() < 0.1, "{seen:?}");
        for seen in seen {
            let [high, low, _] = THREE.map(|(_, slot_ns)| (slot_ns / FRAME_NS) as f64);
            assert_eq!((seen.frames, seen.outside), ([low, low, high], 0), "{seen:?}");
        }
    }
}
