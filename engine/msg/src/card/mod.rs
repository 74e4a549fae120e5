// SPDX-License-Identifier: Apache-2.0
//! The transmission schedule of this host's card: the paper's `set_conf` and `get_conf`, at an ordinary interface.
//!
//! Priority k of sockets (SO_PRIORITY) goes into queue k, and a priority without a queue of its number into queue 0.
//! What the kernel is told is what it says again: nothing is kept here.
mod qdisc;

use std::io;
use std::time::{Duration, Instant};

use penstock_shaper::slots::Schedule;
use penstock_sys::netlink::{text, Attribute, Attributes, Body, Connection, NLM_F_CREATE, NLM_F_REPLACE};

use crate::error::Error;
use qdisc::Found;

const GET_LINK: u16 = 18; // RTM_*
const NEW_QDISC: u16 = 36;
const DELETE_QDISC: u16 = 37;
const GET_QDISC: u16 = 38;
const LINK_BYTES: usize = 16; // struct ifinfomsg
const QDISC_BYTES: usize = 20; // struct tcmsg
const LINK_NAME: u16 = 3; // IFLA_*
const LINK_MTU: u16 = 4;
const LINK_QUEUES: u16 = 31;
const ROOT: u32 = u32::MAX; // TC_H_ROOT
const HANDLE: u32 = 0x5080 << 16;
const LONGEST_NAME: usize = 15; // IFNAMSIZ, less what ends it

/// Beside a packet: addresses, tag and type, FCS, preamble, delimiter and gap.
const AROUND_BYTES: u64 = 18 + 4 + 20;
/// What the kernel takes an interface for that has no rate, such as a veth.
const USUAL_MBPS: u64 = 10_000;
/// Beside two cycles, until a schedule acts.
const PATIENCE: Duration = Duration::from_secs(2);
const PULSE: Duration = Duration::from_millis(1);

/// Sets an interface to a schedule, and waits until that acts: by taprio, or by mqprio where there are no slots.
///
/// # Errors
/// No card could have such a schedule, or this one not; there is no such interface, or the kernel refused. What was
/// there before still acts then.
pub fn set_schedule(interface: &str, schedule: &Schedule) -> Result<(), Error> {
    let mut kernel = Kernel::open(interface)?;
    let list = schedule.compile(kernel.longest_frame_ns())?;
    let (queues, has) = (schedule.slot_ns.len(), kernel.queues as usize);
    if queues > has {
        return Err(Error::Queues { interface: interface.into(), has, queues });
    }
    kernel.replace(schedule, &qdisc::attributes(schedule, &list))?;
    let until = Instant::now() + PATIENCE + 2 * Duration::from_nanos(schedule.cycle_ns.into());
    while !matches!(kernel.found()?, Found::Acts { is_waiting: false, .. }) {
        if Instant::now() > until {
            let why = io::Error::new(io::ErrorKind::TimedOut, "the schedule was taken and does not begin");
            return Err(Error::Kernel { interface: interface.into(), why });
        }
        std::thread::sleep(PULSE);
    }
    Ok(())
}

/// The schedule that acts at an interface.
///
/// # Errors
/// There is none, or no such interface.
pub fn schedule_of(interface: &str) -> Result<Schedule, Error> {
    let interface = interface.to_owned();
    match Kernel::open(&interface)?.found()? {
        Found::Acts { schedule, .. } => Ok(schedule),
        Found::Begins => Err(Error::NoSchedule { interface, why: "that which was set has not begun".into() }),
        Found::Foreign(why) => Err(Error::NoSchedule { interface, why }),
        Found::Other(kind) => Err(Error::NoSchedule { interface, why: format!("its qdisc is {kind}") }),
    }
}

/// An interface, as the kernel has it.
struct Kernel<'a> {
    interface: &'a str,
    connection: Connection,
    index: i32,
    queues: u32,
    mtu: u32,
}

impl<'a> Kernel<'a> {
    fn open(interface: &'a str) -> Result<Self, Error> {
        if interface.is_empty() {
            return Err(Error::NoCard);
        }
        let failed = |why| Error::Kernel { interface: interface.into(), why };
        if interface.len() > LONGEST_NAME {
            return Err(failed(io::Error::from_raw_os_error(nix::libc::ENODEV)));
        }
        let mut connection = Connection::open().map_err(failed)?;
        let question = Body(vec![0; LINK_BYTES]).with(&[text(LINK_NAME, interface)]);
        let answer = connection.one(GET_LINK, &question).map_err(failed)?;
        let index = answer.get(4..8).and_then(|bytes| bytes.first_chunk().copied()).map_or(0, i32::from_ne_bytes);
        let told = Attributes(answer.get(LINK_BYTES..).unwrap_or_default());
        let (queues, mtu) = (told.number(LINK_QUEUES).unwrap_or(1), told.number(LINK_MTU).unwrap_or(1500));
        Ok(Self { interface, connection, index, queues, mtu })
    }

    /// What the interface's longest frame takes with what is around it.
    fn longest_frame_ns(&self) -> u64 {
        let speed = std::fs::read_to_string(format!("/sys/class/net/{}/speed", self.interface));
        let said_mbps = speed.ok().and_then(|text| text.trim().parse::<u64>().ok()).filter(|&mbps| mbps > 0);
        ((u64::from(self.mtu) + AROUND_BYTES) * 8 * 1000).div_ceil(said_mbps.unwrap_or(USUAL_MBPS))
    }

    fn found(&mut self) -> Result<Found, Error> {
        let listed = self.connection.dump(GET_QDISC, &self.body(0, 0)).map_err(|why| self.failed(why))?;
        let root =
            listed.iter().find(|each| each.get(4..8) == Some(&self.index.to_ne_bytes()) && parent(each) == Some(ROOT));
        let told = root.and_then(|each| each.get(QDISC_BYTES..)).unwrap_or_default();
        Ok(qdisc::found(Attributes(told)))
    }

    /// A running taprio takes another list; else the qdisc is made anew, and what was there is put back if that fails.
    fn replace(&mut self, schedule: &Schedule, attributes: &[Attribute]) -> Result<(), Error> {
        let before = match self.found()? {
            Found::Acts { schedule, .. } => Some(schedule),
            _ => None,
        };
        let is_change = |before: &Schedule| {
            before.slot_ns.len() == schedule.slot_ns.len() && !before.order.is_empty() && !schedule.order.is_empty()
        };
        let is_anew = before.as_ref().is_some_and(|before| !is_change(before));
        if is_anew {
            self.connection.request(DELETE_QDISC, 0, &self.body(0, ROOT)).map_err(|why| self.failed(why))?;
        }
        let made = self.make(attributes);
        if let (Err(_), true, Some(before)) = (&made, is_anew, before) {
            let list = before.compile(0)?;
            self.make(&qdisc::attributes(&before, &list))?;
        }
        made
    }

    fn make(&mut self, attributes: &[Attribute]) -> Result<(), Error> {
        let body = self.body(HANDLE, ROOT).with(attributes);
        self.connection.request(NEW_QDISC, NLM_F_CREATE | NLM_F_REPLACE, &body).map_err(|why| self.failed(why))
    }

    /// struct tcmsg.
    fn body(&self, handle: u32, parent: u32) -> Body {
        let words = [0, self.index as u32, handle, parent, 0];
        Body(words.iter().flat_map(|word| word.to_ne_bytes()).collect())
    }

    fn failed(&self, why: io::Error) -> Error {
        Error::Kernel { interface: self.interface.into(), why }
    }
}

fn parent(message: &[u8]) -> Option<u32> {
    message.get(12..16)?.first_chunk().map(|&bytes| u32::from_ne_bytes(bytes))
}
