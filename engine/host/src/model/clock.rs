// SPDX-License-Identifier: Apache-2.0
//! The registers of the PTP clock, of a card with one port. Twin of `pen_clock`.
use penstock_shaper::egress::Tick;
use penstock_shaper::ptp_clock::{ClockError, PtpClock, FRACTION_BITS, NS_PER_S};

use super::stamps::Stamps;
use crate::ptp;

const NO_COMMAND: u8 = 5;
const SLEWING: u32 = 1 << 8;

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
    stamp_all: u32,
}

impl ClockRegisters {
    /// What came of a command; None: there is none of this number.
    pub fn set_error(&mut self, done: Option<Result<(), ClockError>>) {
        self.error = done.map_or(NO_COMMAND, |done| done.err().map_or(0, ClockError::code));
    }

    /// Of what the only port sends; what it receives gets no stamps here.
    pub fn stamp_all(&mut self, mask: u32) {
        self.stamp_all = mask & (1 | 1 << ptp::SENT);
        self.stamps.of_all = mask >> ptp::SENT & 1 == 1;
    }

    /// The oldest stamp of a source is read from now on.
    pub fn take_stamp(&mut self, source: u32) {
        self.stamps.take(source & 0x1F == ptp::SENT);
    }

    /// None: there is no such register.
    pub fn read(&mut self, address: u16, clock: &PtpClock, now: Tick) -> Option<u32> {
        let stamp = Words::of(self.stamps.taken_time());
        Some(match address {
            ptp::STATUS => u32::from(self.error) | if clock.is_slewing_at(now) { SLEWING } else { 0 },
            ptp::NANOSECONDS => {
                self.latched = Words::of(clock.time_at(now));
                self.latched.ns
            }
            ptp::FRACTION => self.latched.fraction,
            ptp::SECONDS_LOW => self.latched.seconds as u32,
            ptp::SECONDS_HIGH => (self.latched.seconds >> 32) as u32,
            ptp::INCREMENT_FRACTION => clock.increment() as u32,
            ptp::INCREMENT_NS => (clock.increment() >> FRACTION_BITS) as u32,
            ptp::STAMP_WAITING => u32::from(self.stamps.is_waiting()) << ptp::SENT,
            ptp::STAMP_LOST => u32::from(self.stamps.take_lost()) << ptp::SENT,
            ptp::STAMP_TAKE => 0,
            ptp::STAMP_TAG => self.stamps.tag(),
            ptp::STAMP_NANOSECONDS => stamp.ns,
            ptp::STAMP_FRACTION => stamp.fraction,
            ptp::STAMP_SECONDS_LOW => stamp.seconds as u32,
            ptp::STAMP_SECONDS_HIGH => (stamp.seconds >> 32) as u32,
            ptp::STAMP_ALL => self.stamp_all,
            _ => return None,
        })
    }
}
