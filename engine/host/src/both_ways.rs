// SPDX-License-Identifier: Apache-2.0
//! The card without a virtual machine, all ports full in both directions: what is lost, and what each sends of its line.
use std::sync::Arc;
use std::time::Duration;

use penstock_frame::{FCS_BYTES, GAP_BYTES, PREAMBLE_BYTES};
use serde::Serialize;

use crate::alone::AloneError;
use crate::card::{ring_of, Card, Outcome};
use crate::memory::Memory;
use crate::ring::{Layout, HEADER_BYTES};

/// Without FCS: the shortest and the longest frame, and two between them.
pub const SIZES: [usize; 4] = [60, 124, 508, 1514];
const QUEUES: usize = 4;
const SIZE: u16 = 64;
const BYTE_NS: u64 = 8;
const BUFFER_BYTES: u64 = 2048;
/// Of a ring: its three parts, then its buffers.
const RING_BYTES: u64 = 0x3000 + SIZE as u64 * BUFFER_BYTES;
/// In which a queue can neither run out of chains nor of buffers.
const STEP: Duration = Duration::from_micros(20);
const STEPS: u32 = 50;
/// Until what came last is in memory.
const QUIET_STEPS: u32 = 10;

/// What was seen of a port.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BothWays {
    /// Without FCS.
    pub frame_bytes: usize,
    /// Frames that came by the wire, back to back.
    pub came: u64,
    /// Of them, those that the host has, whole.
    pub received: u64,
    /// From the first to the last frame, in percent of the line.
    pub sent: f64,
}

struct Bench<'a> {
    card: &'a mut dyn Card,
    memory: Arc<Memory>,
    now: Duration,
    frame: Vec<u8>,
    ports: Vec<Port>,
}

#[derive(Clone, Default)]
struct Port {
    came: u64,
    received: u64,
    /// When each frame began.
    sent_ns: Vec<u64>,
    /// Of each queue's reception, up to which entry of the used ring all is known.
    seen: [u16; QUEUES],
}

fn layout(port: usize, ring: usize) -> Layout {
    let base = RING_BYTES * (2 * QUEUES * port + ring) as u64;
    Layout { size: SIZE, descriptors: base, available: base + 0x1000, used: base + 0x2000 }
}

fn buffer(layout: &Layout, number: u16) -> u64 {
    layout.descriptors + 0x3000 + BUFFER_BYTES * u64::from(number)
}

/// A packet of UDP between addresses that its number gives, so that its hash goes to any queue.
fn frame(bytes: usize, number: u64) -> Vec<u8> {
    let mut frame = vec![0; bytes];
    frame[12..16].copy_from_slice(&[0x08, 0x00, 0x45, 0x00]);
    frame[22..24].copy_from_slice(&[64, 17]);
    frame[34..38].copy_from_slice(&(number as u32).to_be_bytes());
    frame
}

impl<'a> Bench<'a> {
    fn new(card: &'a mut dyn Card, frame_bytes: usize, now: Duration) -> Result<Self, AloneError> {
        let pairs = card.pairs();
        if pairs < QUEUES {
            return Err(AloneError::Pairs { pairs });
        }
        let ports = vec![Port::default(); card.ports()];
        let memory = Arc::new(Memory::of_own(&[(0, RING_BYTES * (2 * QUEUES * ports.len()) as u64)])?);
        let mut bench = Self { card, memory, now, frame: frame(frame_bytes, 0), ports };
        for port in 0..bench.ports.len() {
            bench.card.select(port);
            bench.card.set_memory(Arc::clone(&bench.memory));
            for queue in 0..QUEUES {
                bench.set_up(port, ring_of(queue, false))?;
                bench.set_up(port, ring_of(queue, true))?;
            }
        }
        Ok(bench)
    }

    fn set_up(&mut self, port: usize, ring: usize) -> Result<(), AloneError> {
        const WRITE: u64 = 2 << 32; // flags of a descriptor, behind its length
        let at = layout(port, ring);
        let is_transmit = ring % 2 == 1;
        let length = if is_transmit { (HEADER_BYTES + self.frame.len()) as u64 } else { BUFFER_BYTES | WRITE };
        for number in 0..SIZE {
            let descriptor = [buffer(&at, number), length].map(u64::to_le_bytes).concat();
            let place = u64::from(number);
            self.put(at.descriptors + 16 * place, &descriptor)?;
            self.put(at.available + 4 + 2 * place, &number.to_le_bytes())?;
            if is_transmit {
                let frame = self.frame.clone();
                self.put(buffer(&at, number) + HEADER_BYTES as u64, &frame)?;
            }
        }
        Ok(self.card.start(ring, at, 0)?)
    }

    fn put(&self, address: u64, bytes: &[u8]) -> Result<(), AloneError> {
        self.memory.write(address, bytes).then_some(()).ok_or(AloneError::Lost)
    }

    fn frame_ns(&self) -> u64 {
        BYTE_NS * (u64::from(PREAMBLE_BYTES + FCS_BYTES + GAP_BYTES) + self.frame.len() as u64)
    }

    /// Chains that the card has given back are there again, and a step's frames come.
    fn fill(&mut self, port: usize, is_full: bool) -> Result<(), AloneError> {
        self.card.select(port);
        for queue in 0..QUEUES {
            self.take(port, queue)?;
            for is_transmit in [false, true].into_iter().filter(|is_transmit| is_full || !is_transmit) {
                let ring = ring_of(queue, is_transmit);
                let at = layout(port, ring);
                let used = self.memory.load(at.used + 2).ok_or(AloneError::Lost)?;
                self.memory.store(at.available + 2, used.wrapping_add(SIZE)).then_some(()).ok_or(AloneError::Lost)?;
                self.card.kick(ring);
            }
        }
        let most = (self.now + STEP).as_nanos() as u64 / self.frame_ns() + 1;
        let begin = self.ports[port].came;
        if is_full {
            for number in begin..most.max(begin) {
                let frame = frame(self.frame.len(), number);
                self.card.receive(&frame);
                self.ports[port].came += 1;
            }
        }
        Ok(())
    }

    /// Counts what has been received, if it is whole.
    fn take(&mut self, port: usize, queue: usize) -> Result<(), AloneError> {
        let at = layout(port, ring_of(queue, false));
        let used = self.memory.load(at.used + 2).ok_or(AloneError::Lost)?;
        while self.ports[port].seen[queue] != used {
            let place = u64::from(self.ports[port].seen[queue] % SIZE);
            let mut entry = [0; 8];
            let mut bytes = vec![0; self.frame.len()];
            let is_there = self.memory.read(at.used + 4 + 8 * place, &mut entry);
            let [number, length] =
                [0, 4].map(|from| u32::from_le_bytes(entry[from..from + 4].try_into().unwrap_or_default()));
            let is_read = self.memory.read(buffer(&at, number as u16) + HEADER_BYTES as u64, &mut bytes);
            (is_there && is_read).then_some(()).ok_or(AloneError::Lost)?;
            bytes[34..38].fill(0);
            self.ports[port].received +=
                u64::from(length as usize == HEADER_BYTES + bytes.len() && bytes == self.frame);
            self.ports[port].seen[queue] = self.ports[port].seen[queue].wrapping_add(1);
        }
        Ok(())
    }

    fn run(&mut self, steps: u32, is_full: bool) -> Result<(), AloneError> {
        for _ in 0..steps {
            for port in 0..self.ports.len() {
                self.fill(port, is_full)?;
            }
            self.now += STEP;
            for port in 0..self.ports.len() {
                self.card.select(port);
                let mut outcome = Outcome::default();
                self.card.advance(self.now, &mut outcome);
                self.ports[port].sent_ns.extend(outcome.sent.iter().map(|sent| sent.at_ns));
                if let Some((ring, why)) = outcome.errors.pop() {
                    return Err(AloneError::Stopped { ring, why });
                }
            }
        }
        Ok(())
    }
}

/// All ports of a card that has just begun, with a line of 1 Gb/s and frames of so many bytes without FCS.
///
/// # Errors
/// The card does not do what a card does.
pub fn both_ways(card: &mut dyn Card, bytes: usize) -> Result<Vec<BothWays>, AloneError> {
    let mut bench = Bench::new(card, bytes, Duration::ZERO)?;
    bench.run(STEPS, true)?;
    bench.run(QUIET_STEPS, false)?;
    let frame_ns = bench.frame_ns();
    let seen = |port: &Port| {
        let span_ns = port.sent_ns.last().zip(port.sent_ns.first()).map_or(0, |(last, first)| last - first);
        let sent = 100.0 * (frame_ns * (port.sent_ns.len() as u64).saturating_sub(1)) as f64 / span_ns.max(1) as f64;
        BothWays { frame_bytes: bytes, came: port.came, received: port.received, sent }
    };
    Ok(bench.ports.iter().map(seen).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::MOST_PORTS;
    use crate::model::Ports;

    #[test]
    fn the_model_has_all_that_came_and_sends_all_the_time() {
        for bytes in SIZES {
            for port in both_ways(&mut Ports::new(MOST_PORTS, QUEUES, 1_000_000_000), bytes).unwrap() {
                assert!(port.came > 80 && port.received == port.came && port.sent > 99.9, "{port:?}");
            }
        }
    }
}
