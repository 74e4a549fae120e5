// SPDX-License-Identifier: Apache-2.0
//! The frames between origin and follower. All numbers have their highest byte first.
//!
//! | byte | what |
//! |---|---|
//! | 0 | destination: nearest bridge (802.1Q table 8-1), which nobody forwards |
//! | 6 | source |
//! | 12 | EtherType 0x88B6, for local experiments (IEEE 802) |
//! | 14 | version 1 |
//! | 15 | kind: probe 0, answer 1, set 2, compensate 3, done 4 |
//! | 16 | number |
//! | 20, 32, 44 | times, of 8 bytes in ns and 4 in 2^-32 ns; a slope has 8 bytes in place of the third |
use super::Time;

pub const ETHERTYPE: u16 = 0x88B6;
pub const DESTINATION: [u8; 6] = [0x01, 0x80, 0xC2, 0, 0, 0x0E];
/// Without FCS.
pub const FRAME_BYTES: usize = 60;

const VERSION: u8 = 1;
const TIME_BYTES: usize = 12;
const FIRST_TIME: usize = 20;
const FRACTION_BITS: u32 = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Left the origin at `sent`.
    Probe { number: u32, sent: Time },
    /// A probe that came to the follower at `received`, by its own clock, and left it at `answered`.
    Answer { number: u32, sent: Time, received: Time, answered: Time },
    /// The follower's clock is to show this time when the message comes.
    Set { number: u32, time: Time },
    /// When the origin's clock shows `at`, the follower's shows `intercept` more; each unit of time `slope` more, in 2^-50.
    Compensate { number: u32, at: Time, intercept: Time, slope: i64 },
    /// The follower did what it was told.
    Done { number: u32 },
}

/// Whether a frame, without FCS, is of this protocol.
pub fn is_ours(frame: &[u8]) -> bool {
    frame.starts_with(&DESTINATION) && frame.get(12..14) == Some(&ETHERTYPE.to_be_bytes())
}

impl Message {
    /// An answer that leaves now.
    pub fn leaving_at(self, now: Time) -> Self {
        match self {
            Self::Answer { number, sent, received, .. } => Self::Answer { number, sent, received, answered: now },
            other => other,
        }
    }

    pub fn encode(&self, source: [u8; 6]) -> [u8; FRAME_BYTES] {
        let (kind, number, times, slope) = match *self {
            Self::Probe { number, sent } => (0, number, [sent, 0, 0], None),
            Self::Answer { number, sent, received, answered } => (1, number, [sent, received, answered], None),
            Self::Set { number, time } => (2, number, [time, 0, 0], None),
            Self::Compensate { number, at, intercept, slope } => (3, number, [at, intercept, 0], Some(slope)),
            Self::Done { number } => (4, number, [0; 3], None),
        };
        let mut frame = [0; FRAME_BYTES];
        frame[..6].copy_from_slice(&DESTINATION);
        frame[6..12].copy_from_slice(&source);
        frame[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
        frame[14..16].copy_from_slice(&[VERSION, kind]);
        frame[16..FIRST_TIME].copy_from_slice(&number.to_be_bytes());
        for (time, place) in times.iter().zip(frame[FIRST_TIME..].chunks_exact_mut(TIME_BYTES)) {
            place[..8].copy_from_slice(&((time >> FRACTION_BITS) as i64).to_be_bytes());
            place[8..].copy_from_slice(&(*time as u32).to_be_bytes());
        }
        if let Some(slope) = slope {
            frame[FIRST_TIME + 2 * TIME_BYTES..][..8].copy_from_slice(&slope.to_be_bytes());
        }
        frame
    }

    /// None: it is no message of this version.
    pub fn decode(frame: &[u8]) -> Option<Self> {
        let frame = frame.get(..FRAME_BYTES).filter(|frame| is_ours(frame) && frame[14] == VERSION)?;
        let number = u32::from_be_bytes(frame[16..FIRST_TIME].try_into().ok()?);
        let long = |at: usize| frame[at..at + 8].try_into().ok().map(i64::from_be_bytes);
        let time = |place: usize| {
            let at = FIRST_TIME + place * TIME_BYTES;
            let fraction = u32::from_be_bytes(frame[at + 8..at + TIME_BYTES].try_into().ok()?);
            Some(Time::from(long(at)?) << FRACTION_BITS | Time::from(fraction))
        };
        Some(match frame[15] {
            0 => Self::Probe { number, sent: time(0)? },
            1 => Self::Answer { number, sent: time(0)?, received: time(1)?, answered: time(2)? },
            2 => Self::Set { number, time: time(0)? },
            3 => {
                let slope = long(FIRST_TIME + 2 * TIME_BYTES)?;
                Self::Compensate { number, at: time(0)?, intercept: time(1)?, slope }
            }
            4 => Self::Done { number },
            _ => return None,
        })
    }
}
