// SPDX-License-Identifier: Apache-2.0
//! The driver's side of a card's virtqueues without an operating system: a buffer for each descriptor, in memory of its own.
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::card::Memory;
use crate::queues::Queue;

const SIZE: u16 = 256;
/// Of a frame with its header.
const BUFFER: usize = 2048;
const HEADER: usize = 12;
const AVAILABLE: usize = 0x1000;
const USED: usize = 0x2000;
const BUFFERS: usize = 0x3000;
/// What a queue takes of the memory.
pub const QUEUE_BYTES: usize = BUFFERS + SIZE as usize * BUFFER;
/// Of a launch time, before the frame.
pub const LAUNCH_BYTES: usize = 8;
const WRITE: u16 = 2;
/// VIRTQ_AVAIL_F_NO_INTERRUPT: it interrupts when it stands still, and then only.
const NO_INTERRUPT: u16 = 1;

/// Memory of the host from address 0 on, which the card reads and writes.
#[derive(Clone)]
pub struct HostMemory(Arc<Mutex<Vec<u8>>>);

impl HostMemory {
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Mutex::new(vec![0; bytes])))
    }

    fn within<T>(&self, address: usize, bytes: usize, act: impl FnOnce(&mut [u8]) -> T) -> Option<T> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get_mut(address..address.checked_add(bytes)?).map(act)
    }

    fn put(&self, address: usize, bytes: &[u8]) {
        let done = self.within(address, bytes.len(), |place| place.copy_from_slice(bytes));
        debug_assert!(done.is_some(), "{address:#x}");
    }

    fn get<const N: usize>(&self, address: usize) -> [u8; N] {
        let mut found = [0; N];
        let done = self.within(address, N, |place| found.copy_from_slice(place));
        debug_assert!(done.is_some(), "{address:#x}");
        found
    }
}

impl Memory for HostMemory {
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        let bytes = into.len();
        usize::try_from(address).is_ok_and(|at| self.within(at, bytes, |place| into.copy_from_slice(place)).is_some())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> bool {
        usize::try_from(address)
            .is_ok_and(|at| self.within(at, bytes.len(), |place| place.copy_from_slice(bytes)).is_some())
    }
}

/// One virtqueue. Its chains have one descriptor each, and come back in their order.
struct Ring {
    memory: HostMemory,
    base: usize,
    /// Of the available ring; the index of the used ring up to which chains were taken back.
    next: u16,
    taken: u16,
}

impl Ring {
    fn new(memory: &HostMemory, base: usize) -> Self {
        memory.put(base + AVAILABLE, &NO_INTERRUPT.to_le_bytes());
        Self { memory: memory.clone(), base, next: 0, taken: 0 }
    }

    fn place(&self) -> Queue {
        let base = self.base as u64;
        Queue {
            descriptors: base,
            driver: base + AVAILABLE as u64,
            device: base + USED as u64,
            size: SIZE,
            next_available: 0,
            next_used: 0,
        }
    }

    fn buffer(&self, number: u16) -> usize {
        self.base + BUFFERS + usize::from(number) * BUFFER
    }

    fn offer(&mut self, bytes: usize, flags: u16) {
        let number = self.next % SIZE;
        let address = (self.buffer(number) as u64).to_le_bytes();
        let words = [&address[..], &(bytes as u32).to_le_bytes(), &flags.to_le_bytes(), &[0, 0]].concat();
        self.memory.put(self.base + 16 * usize::from(number), &words);
        self.memory.put(self.base + AVAILABLE + 4 + 2 * usize::from(number), &number.to_le_bytes());
        self.next = self.next.wrapping_add(1);
        self.memory.put(self.base + AVAILABLE + 2, &self.next.to_le_bytes());
    }

    /// Number and bytes of the next chain that was given back.
    fn take_back(&mut self) -> Option<(u16, usize)> {
        if self.taken == u16::from_le_bytes(self.memory.get(self.base + USED + 2)) {
            return None;
        }
        let [n0, n1, _, _, b0, b1, b2, b3] = self.memory.get(self.base + USED + 4 + 8 * usize::from(self.taken % SIZE));
        self.taken = self.taken.wrapping_add(1);
        Some((u16::from_le_bytes([n0, n1]), u32::from_le_bytes([b0, b1, b2, b3]) as usize))
    }
}

/// A transmit queue, and what waits for room in it.
pub struct TransmitQueue {
    ring: Ring,
    waiting: VecDeque<Vec<u8>>,
}

impl TransmitQueue {
    /// In [`QUEUE_BYTES`] of memory, of which the first has this address.
    pub fn new(memory: &HostMemory, base: usize) -> Self {
        Self { ring: Ring::new(memory, base), waiting: VecDeque::new() }
    }

    pub fn place(&self) -> Queue {
        self.ring.place()
    }

    /// A frame without FCS, behind its launch time where the queue has them; see [`Self::refill`].
    pub fn push(&mut self, frame: &[u8]) {
        self.waiting.push_back(frame.to_vec());
    }

    /// Offers what waits, as far as there is room. True: the card is to be told.
    pub fn refill(&mut self) -> bool {
        if self.waiting.is_empty() {
            return false;
        }
        while self.ring.take_back().is_some() {}
        let mut is_new = false;
        while self.ring.next.wrapping_sub(self.ring.taken) < SIZE {
            let Some(frame) = self.waiting.pop_front() else { break };
            let at = self.ring.buffer(self.ring.next % SIZE);
            self.ring.memory.put(at, &[0; HEADER]);
            self.ring.memory.put(at + HEADER, &frame);
            self.ring.offer(HEADER + frame.len(), 0);
            is_new = true;
        }
        is_new
    }
}

/// A receive queue, whose buffers are offered again as soon as they were looked at.
pub struct ReceiveQueue {
    ring: Ring,
}

impl ReceiveQueue {
    pub fn new(memory: &HostMemory, base: usize) -> Self {
        let mut ring = Ring::new(memory, base);
        (0..SIZE).for_each(|_| ring.offer(BUFFER, WRITE));
        Self { ring }
    }

    pub fn place(&self) -> Queue {
        self.ring.place()
    }

    /// The next frame that has come, without FCS. The card is to be told.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        let (number, bytes) = self.ring.take_back()?;
        let mut frame = vec![0; bytes.saturating_sub(HEADER)];
        let at = self.ring.buffer(number % SIZE) + HEADER;
        let done = self.ring.memory.within(at, frame.len(), |place| frame.copy_from_slice(place));
        // Chains come back in their order, so that its number is that of the next one.
        self.ring.offer(BUFFER, WRITE);
        done.map(|()| frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A card that takes what is offered, in place of one.
    fn give_back(memory: &HostMemory, queue: &Queue, index: u16, bytes: u32) {
        let device = queue.device as usize;
        let number: [u8; 2] = memory.get(queue.driver as usize + 4 + 2 * usize::from(index % SIZE));
        let entry = [&number[..], &[0, 0], &bytes.to_le_bytes()].concat();
        memory.put(device + 4 + 8 * usize::from(index % SIZE), &entry);
        memory.put(device + 2, &(index + 1).to_le_bytes());
    }

    #[test]
    fn what_finds_no_room_waits() {
        let memory = HostMemory::new(QUEUE_BYTES);
        let mut queue = TransmitQueue::new(&memory, 0);
        assert!(!queue.refill(), "nothing to send");
        (0..SIZE + 10).for_each(|n| queue.push(&[n as u8; 60]));
        assert!(queue.refill());
        assert_eq!(queue.waiting.len(), 10);
        assert!(!queue.refill(), "the ring is full");
        (0..4).for_each(|index| give_back(&memory, &queue.place(), index, 0));
        assert!(queue.refill());
        assert_eq!((queue.waiting.len(), queue.ring.next), (6, SIZE + 4));
        assert_eq!(memory.get::<1>(queue.ring.buffer(3) + HEADER), [3], "of number 259");
    }

    #[test]
    fn a_buffer_is_offered_again() {
        let memory = HostMemory::new(QUEUE_BYTES);
        let mut queue = ReceiveQueue::new(&memory, 0);
        assert_eq!(queue.take(), None);
        for index in 0..2 * SIZE {
            memory.put(queue.ring.buffer(index % SIZE) + HEADER, &index.to_le_bytes());
            give_back(&memory, &queue.place(), index, HEADER as u32 + 2);
            assert_eq!(queue.take(), Some(index.to_le_bytes().to_vec()));
            assert_eq!(queue.ring.next, SIZE + index + 1);
        }
    }

    #[test]
    fn nothing_outside_is_touched() {
        let mut memory = HostMemory::new(16);
        assert!(memory.write(8, &[1; 8]) && memory.read(8, &mut [0; 8]));
        assert!(!memory.write(9, &[1; 8]) && !memory.read(u64::MAX, &mut [0; 2]));
    }
}
