// SPDX-License-Identifier: Apache-2.0
//! The plane's clock while it runs: steps, slews and other rates, and what gates make of them.
use penstock_shaper::egress::Tick;
use penstock_shaper::ptp_clock::{ClockError, Command, PtpClock, NS_PER_S};

use super::Plane;

impl Plane {
    /// What its gates go by.
    pub fn clock(&self) -> &PtpClock {
        self.time.clock()
    }

    /// A command of the plane's clock that acts now. A step or a new time holds the gates as they are up to the next cycle of
    /// their lists (802.1Q 8.6.9.1.1 b). Refused, it changes nothing.
    pub fn command_clock(&mut self, command: Command, now: Tick) -> Result<(), ClockError> {
        let mut time = self.time;
        time.command(now, command)?;
        let is_step = matches!(command, Command::Set { .. } | Command::Step { .. });
        for port in &mut self.ports {
            port.clock_changes(&self.time, &time, is_step, now);
        }
        self.time = time;
        self.clock_steps += u64::from(is_step);
        Ok(())
    }

    /// What the clock follows was stepped by so many ns; one that was set in-band follows its origin.
    pub fn step_clock(&mut self, by_ns: i64, now: Tick) -> Result<(), ClockError> {
        if self.is_set_in_band() {
            return Ok(());
        }
        let (s, ns) = (by_ns.div_euclid(NS_PER_S as i64), by_ns.rem_euclid(NS_PER_S as i64));
        self.command_clock(Command::Step { s, ns: ns as u32 }, now)
    }

    /// Times that the clock was set or stepped.
    pub fn clock_steps(&self) -> u64 {
        self.clock_steps
    }
}
