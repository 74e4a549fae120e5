// SPDX-License-Identifier: Apache-2.0
//! Brings a plane together with ports and a clock: what is due is sent, then what has come is taken.
use std::io;

use penstock_shaper::egress::Tick;

use crate::count::Reason;
use crate::offload::Offload;
use crate::plane::{Arrival, Departure, Plane};

/// A frame as a port gives it.
#[derive(Clone, Copy, Debug)]
pub struct Got<'a> {
    pub bytes: &'a [u8],
    /// It is longer than `bytes`.
    pub is_cut: bool,
    pub tag: Option<(u16, u16)>,
    pub offload: Offload,
}

/// Interfaces, or what stands for them in tests. Nothing waits.
pub trait Ports {
    /// Gives some of the frames that have come, in their order; how many there were.
    fn receive(&mut self, port: usize, take: &mut dyn FnMut(&Got)) -> io::Result<usize>;

    /// Sends frames in their order; how many of them, one at least unless the first was refused.
    fn send(&mut self, port: usize, frames: &mut dyn Iterator<Item = &[u8]>) -> io::Result<usize>;
}

/// Counts ticks and never goes back.
pub trait Clock {
    fn now(&mut self) -> Tick;
}

pub struct Driver<P: Ports, C: Clock> {
    pub plane: Plane,
    pub ports: P,
    pub clock: C,
    departures: Vec<Departure>,
}

impl<P: Ports, C: Clock> Driver<P, C> {
    pub fn new(plane: Plane, ports: P, clock: C) -> Self {
        Self { plane, ports, clock, departures: Vec::with_capacity(1024) }
    }

    /// Sends what is due and takes some of what has come; whether there was anything.
    pub fn round(&mut self) -> bool {
        let sent = self.send();
        let mut received = 0;
        for port in 0..self.plane.ports().len() {
            if !self.plane.ports()[port].is_down() {
                received += self.receive(port);
            }
        }
        // What came to an idle port is due at once.
        if received > 0 {
            self.send();
        }
        received > 0 || sent
    }

    fn receive(&mut self, port: usize) -> usize {
        let Self { plane, ports, clock, .. } = self;
        let now = clock.now();
        let mut take = |got: &Got| {
            if got.offload.is_foreign {
                return plane.refuse_unread(port, got.bytes.len(), Reason::Offload);
            }
            if got.is_cut {
                return plane.refuse_unread(port, got.bytes.len(), Reason::Giant);
            }
            plane.receive(&Arrival { port, bytes: got.bytes, tag: got.tag, checksum: got.offload.checksum }, now);
        };
        match ports.receive(port, &mut take) {
            Ok(count) => count,
            Err(error) => {
                if is_down(&error) {
                    plane.set_down(port, true, now);
                }
                0
            }
        }
    }

    fn send(&mut self) -> bool {
        let Self { plane, ports, clock, departures } = self;
        plane.advance(clock.now(), departures);
        let mut rest = &departures[..];
        while let Some(&Departure { port, .. }) = rest.first() {
            let count = rest.iter().take_while(|departure| departure.port == port).count();
            let (mut own, others) = rest.split_at(count);
            rest = others;
            while !own.is_empty() {
                let before = clock.now();
                own.iter().for_each(|departure| plane.stamp(departure, before));
                let result = ports.send(port, &mut own.iter().map(|departure| plane.bytes(departure)));
                let at = clock.now();
                let sent = result.as_ref().copied().unwrap_or(0).min(own.len());
                let (gone, left) = own.split_at(sent);
                for (place, departure) in (0..).zip(gone) {
                    // The kernel sends one after the other; what it does behind the last is the receiver's work.
                    plane.departed(departure, Ok(()), before + (at - before) * place / sent as Tick);
                }
                own = left;
                if let (Err(error), Some((refused, left))) = (result, own.split_first()) {
                    let down = is_down(&error);
                    plane.departed(refused, Err(if down { Reason::LinkDown } else { Reason::Refused }), at);
                    own = left;
                    if down {
                        left.iter().for_each(|departure| plane.departed(departure, Err(Reason::LinkDown), at));
                        plane.set_down(port, true, at);
                        own = &[];
                    }
                }
            }
        }
        let any = !departures.is_empty();
        departures.clear();
        any
    }
}

/// The interface is down or does not exist any more.
fn is_down(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENETDOWN | libc::ENODEV | libc::ENXIO))
}
