// SPDX-License-Identifier: Apache-2.0
//! The card in hardware, Verilated. Its clock stands still while nothing is in it, and goes more slowly than the host's: a
//! second of the host is `rate` bits of its line.
use std::path::Path;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use penstock_frame::{FCS_BYTES, MIN_FRAME_BYTES, PREAMBLE_BYTES};
use penstock_rtl::card::{self, Stop};
use penstock_rtl::queues::{Queue, PAGE_BITS, SELECT, STATE, WINDOWS};
use penstock_rtl::HardwareError;
use thiserror::Error;

use crate::card::{Card, NoRegister, Outcome, Sent};
use crate::memory::Memory;
use crate::ring::{error_of, Direction, Layout, Ring, RingError};

const CYCLE_NS: u64 = 8;
/// What passes on the wire in a cycle.
const CYCLE_BITS: u64 = 8;
/// From an address to the first byte of the host's memory.
pub const LATENCY_CYCLES: u32 = 32;
/// Frames on the wire to the card; others wait where they are.
const MOST_COMING: usize = 32;
/// What the card falls behind beyond this is not made up for.
const MOST_BEHIND: Duration = Duration::from_millis(20);

/// Of the queues, which are the host's to set.
const QUEUES: std::ops::Range<u16> = 0x030..0x090;

/// The guest's memory, which may be another one while the card is there.
#[derive(Clone, Default)]
struct Shared(Arc<RwLock<Option<Arc<Memory>>>>);

impl Shared {
    fn now(&self) -> Option<Arc<Memory>> {
        self.0.read().ok()?.clone()
    }
}

impl card::Memory for Shared {
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        self.now().is_some_and(|memory| memory.read(address, into))
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> bool {
        self.now().is_some_and(|memory| memory.write(address, bytes))
    }
}

pub struct Verilated {
    pub(crate) card: card::Card,
    memory: Shared,
    pairs: usize,
    rate_bps: u64,
    /// Of the host, up to which the card has been brought.
    brought: Duration,
    /// Of each port, what the host knows.
    ports: Vec<Known>,
    port: usize,
}

/// What the host knows of a port.
#[derive(Clone, Copy, Default)]
struct Known {
    /// Rings that stand still, as the host was told.
    errors: u32,
    /// Selected by whoever asks by registers.
    selected: u32,
}

/// A frame whose time to come by the wire is over.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("a frame is to come at {at_ns} ns, but the card is at {now_ns} ns; that or later is allowed")]
pub struct TooLate {
    pub at_ns: u64,
    pub now_ns: u64,
}

/// Of registers of which this file knows that they are there and answer.
fn answered(done: Result<(), HardwareError>) {
    debug_assert!(done.is_ok(), "{done:?}");
}

impl Verilated {
    /// Of a library that `penstock.hardware.model.build_card` built. A second of the host is so many bits of the line; the
    /// card's own clock knows nothing of that.
    ///
    /// # Errors
    /// No such library, or not one of a card.
    pub fn open(library: &Path, rate_bps: u64) -> Result<Self, HardwareError> {
        Self::with_latency(library, rate_bps, LATENCY_CYCLES)
    }

    /// As [`Self::open`]; from an address to the first byte of the host's memory there are so many cycles.
    pub fn with_latency(library: &Path, rate_bps: u64, latency_cycles: u32) -> Result<Self, HardwareError> {
        let memory = Shared::default();
        let mut card = card::Card::open(library, Box::new(memory.clone()), latency_cycles)?;
        let pairs = card.pairs()?;
        let brought = Duration::ZERO;
        let ports = vec![Known::default(); card.ports() as usize];
        Ok(Self { card, memory, pairs, rate_bps, brought, ports, port: 0 })
    }

    fn known(&mut self) -> &mut Known {
        &mut self.ports[self.port]
    }

    /// Why a ring stands still, the next index, and whether it runs.
    fn state(&mut self, ring: u32) -> u32 {
        self.card.queue_state(ring).unwrap_or(0)
    }

    /// What its clock shows.
    pub fn now_ns(&self) -> u64 {
        self.card.cycle() * CYCLE_NS
    }

    /// Goes on until its own clock shows a time, whatever the host's clock says. True: nothing is in it then.
    pub fn step(&mut self, until_ns: u64, outcome: &mut Outcome) -> bool {
        let is_idle = self.card.run(until_ns / CYCLE_NS, Stop::default()).idle;
        self.look(outcome);
        is_idle
    }

    /// A frame without FCS comes by the wire, with the first bit of its preamble at a time by the card's clock.
    ///
    /// # Errors
    /// That time is over.
    pub fn receive_at(&mut self, frame: &[u8], at_ns: u64) -> Result<(), TooLate> {
        let (start, cycle) = (at_ns.div_ceil(CYCLE_NS), self.card.cycle());
        if start < cycle {
            return Err(TooLate { at_ns, now_ns: self.now_ns() });
        }
        self.push(frame, start);
        Ok(())
    }

    fn push(&mut self, frame: &[u8], start_cycle: u64) {
        let least = (MIN_FRAME_BYTES - FCS_BYTES) as usize;
        let mut bytes = frame.to_vec();
        bytes.resize(bytes.len().max(least), 0);
        let fcs = crc32fast::hash(&bytes);
        bytes.extend(fcs.to_le_bytes());
        self.card.push(&bytes, start_cycle);
    }

    fn look(&mut self, outcome: &mut Outcome) {
        while let Some(sent) = self.card.take_sent() {
            let mut frame = sent.bytes;
            let fcs = frame.split_off(frame.len().saturating_sub(FCS_BYTES as usize));
            outcome.damaged += u64::from(sent.is_damaged || fcs != crc32fast::hash(&frame).to_le_bytes());
            outcome.sent.push(Sent {
                queue: sent.queue.into(),
                at_ns: sent.cycle.saturating_sub(PREAMBLE_BYTES.into()) * CYCLE_NS,
                frame,
            });
        }
        // Nobody asks for them here.
        while self.card.take_queued().is_some()
            || self.card.take_selected().is_some()
            || self.card.take_steered().is_some()
        {}
        let interrupts = self.card.take_interrupts();
        if interrupts == 0 {
            return;
        }
        outcome.interrupts.extend((0..2 * self.pairs).filter(|ring| interrupts >> ring & 1 != 0));
        let errors = self.card.queue_errors().unwrap_or(0);
        let fresh = errors & !self.known().errors;
        for ring in (0..32).filter(|ring| fresh >> ring & 1 != 0) {
            let why = error_of(self.state(ring) >> 20 & 0xF);
            outcome.errors.push((ring as usize, why.into()));
        }
        self.known().errors = errors;
    }
}

impl Card for Verilated {
    fn ports(&self) -> usize {
        self.ports.len()
    }

    fn select(&mut self, port: usize) {
        if self.card.select(port as u32) {
            self.port = port;
        }
    }

    fn pairs(&self) -> usize {
        self.pairs
    }

    fn set_memory(&mut self, memory: Arc<Memory>) {
        (0..2 * self.pairs).for_each(|ring| _ = self.stop(ring));
        let mut pages: Vec<_> = memory
            .regions()
            .iter()
            .map(|region| (region.guest >> PAGE_BITS, (region.guest + (region.bytes - 1)) >> PAGE_BITS))
            .collect();
        pages.sort_unstable();
        // The nearest regions share a window; what is between them is refused by the memory itself.
        while pages.len() > WINDOWS {
            let nearest = (1..pages.len()).min_by_key(|&at| pages[at].0 - pages[at - 1].1).unwrap_or(1);
            let (_, last) = pages.remove(nearest);
            pages[nearest - 1].1 = last;
        }
        answered(self.card.set_windows(&pages));
        if let Ok(mut shared) = self.memory.0.write() {
            *shared = Some(memory);
        }
    }

    fn set_features(&mut self, _features: u64) {
        // Buffers are merged whether the driver asks for it or not.
    }

    fn start(&mut self, ring: usize, layout: Layout, next: u16) -> Result<(), RingError> {
        let outside = RingError::Outside { address: layout.descriptors, bytes: 0 };
        let (Some(memory), true) = (self.memory.now(), ring < 2 * self.pairs) else { return Err(outside) };
        let direction = if ring % 2 == 1 { Direction::Read } else { Direction::Write };
        let used = Ring::new(&memory, layout, direction, next)?.next_used();
        answered(self.card.start_queue(
            ring as u32,
            &Queue {
                descriptors: layout.descriptors,
                driver: layout.available,
                device: layout.used,
                size: layout.size,
                next_available: next,
                next_used: used,
            },
        ));
        self.known().errors &= !(1 << ring);
        Ok(())
    }

    fn stop(&mut self, ring: usize) -> u16 {
        self.card.stop_queue(ring as u32).unwrap_or(0)
    }

    fn kick(&mut self, ring: usize) {
        answered(self.card.notify(ring as u32));
    }

    fn can_receive(&self) -> bool {
        self.card.coming() < MOST_COMING
    }

    fn receive(&mut self, frame: &[u8]) {
        self.push(frame, self.card.cycle());
    }

    fn advance(&mut self, since_begin: Duration, outcome: &mut Outcome) -> Option<Duration> {
        let passed = since_begin.saturating_sub(self.brought);
        let whole_ns = passed.min(MOST_BEHIND).as_nanos() as u64;
        let cycles = (u128::from(whole_ns) * u128::from(self.rate_bps) / u128::from(1_000_000_000 * CYCLE_BITS)) as u64;
        let mut is_idle = self.card.run(self.card.cycle(), Stop { idle: true, ..Stop::default() }).idle;
        if is_idle || cycles > 0 {
            self.brought = since_begin;
        }
        if !is_idle {
            let until = self.card.cycle() + cycles;
            is_idle = self.card.run(until, Stop { idle: true, ..Stop::default() }).idle;
        }
        self.look(outcome);
        (!is_idle).then_some(Duration::from_millis(1))
    }

    fn read(&mut self, address: u16) -> Result<u32, NoRegister> {
        let wanted = u32::from(address & 0xFFFC);
        match address & 0xFFFC {
            _ if wanted == SELECT => Ok(self.known().selected),
            _ if wanted == STATE => {
                let ring = self.known().selected;
                Ok(self.state(ring))
            }
            _ => self.card.read(wanted).map_err(|_| NoRegister { address }),
        }
    }

    fn write(&mut self, address: u16, value: u32) -> Result<(), NoRegister> {
        let wanted = u32::from(address & 0xFFFC);
        match address & 0xFFFC {
            _ if wanted == SELECT => {
                self.known().selected = value & 0x1F;
                Ok(())
            }
            queue if QUEUES.contains(&queue) => Err(NoRegister { address }),
            _ => self.card.write(wanted, value).map_err(|_| NoRegister { address }),
        }
    }
}
