// SPDX-License-Identifier: Apache-2.0
//! The registers of the PTP clock, of a card with one port. Twin of `pen_clock`.
use penstock_shaper::egress::Tick;
use penstock_shaper::ptp_clock::{ClockError, PtpClock, FRACTION_BITS, NS_PER_S};

use super::stamps::Stamps;

pub const FIRST: u16 = 0x304;
pub const LAST: u16 = 0x39C;
pub const STAMP_TAKE: u16 = 0x388;

const STATUS: u16 = FIRST;
const NANOSECONDS: u16 = 0x308;
const FRACTION: u16 = 0x30C;
const SECONDS_LOW: u16 = 0x310;
const SECONDS_HIGH: u16 = 0x314;
const INCREMENT_FRACTION: u16 = 0x318;
const INCREMENT_NS: u16 = 0x31C;
const STAMP_WAITING: u16 = 0x380;
const STAMP_LOST: u16 = 0x384;
const STAMP_TAG: u16 = 0x38C;
const STAMP_NANOSECONDS: u16 = 0x390;
const STAMP_FRACTION: u16 = 0x394;
const STAMP_SECONDS_LOW: u16 = 0x398;
const STAMP_SECONDS_HIGH: u16 = LAST;

const NO_COMMAND: u8 = 5;
const SLEWING: u32 = 1 << 8;
/// Of the sources of stamps what port 0 has sent.
const SENT: u32 = 8;

/// A time as registers have it.
#[derive(Clone, Copy, Debug, Default)]
struct Words {
    ns: u32,
    /// In 2^-32 ns.
    fraction: u32,
    seconds: u64,
}

impl Words {
    /// Of a time in 2^-32 ns.
    fn of(time: i128) -> Self {
        let ns = (time >> FRACTION_BITS) as u64;
        Self { ns: (ns % NS_PER_S) as u32, fraction: time as u32, seconds: ns / NS_PER_S }
    }
}

#[derive(Clone, Debug, Default)]
pub struct ClockRegisters {
    pub stamps: Stamps,
    /// When its nanoseconds were read.
    latched: Words,
    error: u8,
}

impl ClockRegisters {
    /// What came of a command; None: there is none of this number.
    pub fn set_error(&mut self, done: Option<Result<(), ClockError>>) {
        self.error = done.map_or(NO_COMMAND, |done| done.err().map_or(0, ClockError::code));
    }

    /// The oldest stamp of a source is read from now on.
    pub fn take_stamp(&mut self, source: u32) {
        self.stamps.take(source & 0x1F == SENT);
    }

    /// None: there is no such register.
    pub fn read(&mut self, address: u16, clock: &PtpClock, now: Tick) -> Option<u32> {
        let stamp = Words::of(self.stamps.taken_time());
        Some(match address {
            STATUS => u32::from(self.error) | if clock.is_slewing_at(now) { SLEWING } else { 0 },
            NANOSECONDS => {
                self.latched = Words::of(clock.time_at(now));
                self.latched.ns
            }
            FRACTION => self.latched.fraction,
            SECONDS_LOW => self.latched.seconds as u32,
            SECONDS_HIGH => (self.latched.seconds >> 32) as u32,
            INCREMENT_FRACTION => clock.increment() as u32,
            INCREMENT_NS => (clock.increment() >> FRACTION_BITS) as u32,
            STAMP_WAITING => u32::from(self.stamps.is_waiting()) << SENT,
            STAMP_LOST => u32::from(self.stamps.take_lost()) << SENT,
            STAMP_TAKE => 0,
            STAMP_TAG => self.stamps.tag(),
            STAMP_NANOSECONDS => stamp.ns,
            STAMP_FRACTION => stamp.fraction,
            STAMP_SECONDS_LOW => stamp.seconds as u32,
            STAMP_SECONDS_HIGH => (stamp.seconds >> 32) as u32,
            _ => return None,
        })
    }
}
