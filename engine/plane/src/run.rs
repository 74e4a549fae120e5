// SPDX-License-Identifier: Apache-2.0
//! The plane's thread: it sleeps until shortly before something is due, then it spins.
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use penstock_shaper::egress::Tick;
use penstock_sys as sys;

use crate::clock::{Ahead, MachineClock, StepWatch};
use crate::config::Refused;
use crate::control::{Command, Order, Orders, Outcome, Snapshot, Synchronization};
use crate::drive::{Clock, Driver};
use crate::interfaces::Interfaces;
use crate::line::TICK_NS;
use crate::pause::{pause, Pause};
use crate::plane::Plane;
use crate::port::ListRefused;
use crate::writer::Writer;

/// Requests are done when nothing is due for so long, or when they have waited for too long.
const ROOM_FOR_REQUESTS: Tick = 100_000 / TICK_NS;
const MOST_WAIT_OF_REQUESTS: Tick = 20_000_000 / TICK_NS;
const LOOK_FOR_INTERFACES: Tick = 500_000_000 / TICK_NS;
const LOOK_AT_TAI: Tick = 1_000_000 / TICK_NS;

pub struct Running {
    driver: Driver<Interfaces, MachineClock>,
    orders: Orders,
    writer: Option<Writer>,
    /// Since when requests wait.
    asked: Option<Tick>,
    looked: Tick,
    /// When CLOCK_TAI was looked at.
    looked_at_tai: Tick,
    steps: StepWatch,
    /// Since when the thread has not slept.
    awake: Tick,
    is_asked_to_stop: bool,
}

impl Running {
    pub fn new(plane: Plane, interfaces: Interfaces, orders: Orders, writer: Option<Writer>) -> Self {
        let mut clock = MachineClock;
        let now = clock.now();
        let driver = Driver::new(plane, interfaces, clock);
        let steps = StepWatch::new(Ahead::read());
        let (asked, is_asked_to_stop) = (None, false);
        Self { driver, orders, writer, asked, looked: now, looked_at_tai: now, steps, awake: now, is_asked_to_stop }
    }

    /// Until the flag says stop, or somebody asks for it.
    pub fn run(&mut self, stop: &AtomicBool) -> io::Result<Snapshot> {
        while !stop.load(Ordering::Relaxed) && !self.is_asked_to_stop {
            self.look_at_tai();
            let any = self.driver.round();
            if let Some(writer) = &mut self.writer {
                writer.write(self.driver.plane.take_rows());
            }
            let (now, next) = (self.driver.clock.now(), self.driver.plane.next_tick());
            self.perform_requests(now, next);
            if now >= self.looked + LOOK_FOR_INTERFACES {
                self.look_for_interfaces(now);
            }
            match pause(now, next, self.awake, any) {
                Pause::None => {}
                Pause::UntilTick(tick) => {
                    self.look_at_tai();
                    while self.driver.clock.now() < tick {
                        std::hint::spin_loop();
                    }
                }
                Pause::Sleep(ticks) => self.sleep(ticks)?,
                Pause::Rest(ticks) => {
                    sys::wait(&[], ticks * TICK_NS)?;
                    self.awake = self.driver.clock.now();
                }
            }
        }
        if let Some(writer) = &mut self.writer {
            writer.finish()?;
        }
        let now = self.driver.clock.now();
        Ok(self.snapshot(now))
    }

    fn sleep(&mut self, ticks: Tick) -> io::Result<()> {
        let plane = &self.driver.plane;
        let up = (0..plane.ports().len()).filter(|&port| !plane.ports()[port].is_down());
        let mut readable: Vec<_> = up.flat_map(|port| self.driver.ports.readable(port)).collect();
        readable.push(self.orders.as_fd());
        sys::wait(&readable, ticks * TICK_NS)?;
        self.awake = self.driver.clock.now();
        Ok(())
    }

    fn snapshot(&mut self, now: Tick) -> Snapshot {
        let Driver { plane, ports, .. } = &mut self.driver;
        let links = (0..plane.ports().len()).map(|port| (ports.overruns(port), ports.chosen(port).clone())).collect();
        Snapshot::of(plane, now, links, self.writer.as_ref().map_or(0, Writer::lost))
    }

    /// Follows steps of CLOCK_TAI, ahead of what is decided by it, and ahead of the last stretch before something is due.
    fn look_at_tai(&mut self) {
        let now = self.driver.clock.now();
        if now < self.looked_at_tai + LOOK_AT_TAI {
            return;
        }
        self.looked_at_tai = now;
        if let Some(by_ns) = self.steps.look(Ahead::read()) {
            // Beyond what a clock can show it stays as it is.
            let _ = self.driver.plane.step_clock(by_ns, now);
        }
    }

    fn look_for_interfaces(&mut self, now: Tick) {
        self.looked = now;
        let Driver { plane, ports, .. } = &mut self.driver;
        for port in 0..plane.ports().len() {
            if plane.ports()[port].is_down() {
                if ports.reopen(port) {
                    plane.set_down(port, false, now);
                }
            } else if !ports.is_up(port) {
                plane.set_down(port, true, now);
                ports.close(port);
            }
        }
    }

    /// Does what was asked, when there is time for it.
    fn perform_requests(&mut self, now: Tick, next: Tick) {
        if !self.orders.any() {
            return;
        }
        let since = *self.asked.get_or_insert(now);
        if next < now + ROOM_FOR_REQUESTS && now < since + MOST_WAIT_OF_REQUESTS {
            return;
        }
        self.asked = None;
        while let Some(Order { command, reply }) = self.orders.take() {
            let outcome = self.perform(command);
            // Whoever went away does not hear of it.
            let _ = reply.try_send(outcome);
        }
    }

    fn perform(&mut self, command: Command) -> Outcome {
        let now = self.driver.clock.now();
        let plane = &mut self.driver.plane;
        match command {
            Command::Gates { port, list } => match plane.commit(port, &list, now) {
                Ok(tai_ns) => return Outcome::Changes { tai_ns },
                Err(ListRefused::Locked) => return Outcome::Locked,
                Err(ListRefused::Wrong(refused)) => return Outcome::Refused(refused),
            },
            Command::Table(table) => {
                if self.writer.is_some() && !plane.table().has_streams_of(&table) {
                    return Outcome::Refused(Refused {
                        place: "streams".into(),
                        what: "are others, while a trace is written that has their names".into(),
                        allowed: "the streams that the plane began with".into(),
                    });
                }
                plane.replace_table(table);
            }
            Command::Limit { port, class, frames } => plane.set_limit(port, class, frames),
            Command::Counters => return Outcome::Counters(Box::new(self.snapshot(now))),
            Command::Occupancy => return Outcome::Occupancy(Box::new(crate::control::read_levels(plane, now))),
            Command::Watch { port, class } => plane.watch(port, class),
            Command::Arrivals => return Outcome::Arrivals(plane.watched()),
            Command::Synchronize { port, plan } => {
                if let Err(error) = plane.synchronize(port, plan, now) {
                    let allowed = "what it says".into();
                    return Outcome::Refused(Refused { place: "plan".into(), what: error.to_string(), allowed });
                }
            }
            Command::Synchronization { port } => {
                return Outcome::Synchronization(Box::new(Synchronization::of(plane, port, now)));
            }
            Command::Stop => self.is_asked_to_stop = true,
        }
        Outcome::Done
    }
}
