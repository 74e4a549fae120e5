// SPDX-License-Identifier: Apache-2.0
//! Against the crate `virtio-queue`, an independent judge, and against drivers that mean harm.
use proptest::prelude::*;
use virtio_queue::{Queue, QueueT};

use super::*;

const SIZE: u16 = 8;
const LAYOUT: Layout = Layout { size: SIZE, descriptors: 0x1000, available: 0x2000, used: 0x3000 };
const MEMORY: u64 = 0x10_0000;

fn memory() -> Memory {
    Memory::of_own(&[(0, MEMORY)]).unwrap()
}

fn descriptor(memory: &Memory, number: u16, address: u64, bytes: u32, flags: u16, next: u16) {
    let mut words = address.to_le_bytes().to_vec();
    words.extend(bytes.to_le_bytes());
    words.extend(flags.to_le_bytes());
    words.extend(next.to_le_bytes());
    assert!(memory.write(LAYOUT.descriptors + 16 * u64::from(number), &words));
}

/// Makes the chain that begins with a descriptor available, at an index.
fn offer(memory: &Memory, index: u16, head: u16) {
    assert!(memory.write(LAYOUT.available + 4 + 2 * u64::from(index % SIZE), &head.to_le_bytes()));
    assert!(memory.store(LAYOUT.available + 2, index.wrapping_add(1)));
}

fn ring(memory: &Memory, direction: Direction, next: u16) -> Ring {
    Ring::new(memory, LAYOUT, direction, next).unwrap()
}

fn judge(next: u16) -> Queue {
    let mut queue = Queue::new(SIZE).unwrap();
    queue.set_size(SIZE);
    queue.set_desc_table_address(Some(LAYOUT.descriptors as u32), Some(0));
    queue.set_avail_ring_address(Some(LAYOUT.available as u32), Some(0));
    queue.set_used_ring_address(Some(LAYOUT.used as u32), Some(0));
    queue.set_ready(true);
    queue.set_next_avail(next);
    queue.set_next_used(next);
    queue
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Chains of random parts, round and round the ring and past the wrap of its indices: both see the same, and what is given
    /// back is what was offered, once each.
    #[test]
    fn as_the_judge_sees_it(
        start in prop_oneof![Just(0_u16), Just(u16::MAX - 5), any::<u16>()],
        chains in prop::collection::vec(prop::collection::vec(1_u32..3000, 1..5), 1..60),
    ) {
        let memory = memory();
        prop_assert!(memory.store(LAYOUT.available + 2, start) && memory.store(LAYOUT.used + 2, start));
        let mut ours = ring(&memory, Direction::Read, start);
        let mut judge = judge(start);
        for (number, lengths) in chains.iter().enumerate() {
            let index = start.wrapping_add(number as u16);
            let head = (number as u16 * 3) % SIZE;
            for (part, &bytes) in lengths.iter().enumerate() {
                let at = (head + part as u16) % SIZE;
                let flags = if part + 1 < lengths.len() { FLAG_NEXT } else { 0 };
                descriptor(&memory, at, 0x8000 + 0x1000 * u64::from(at), bytes, flags, (at + 1) % SIZE);
            }
            offer(&memory, index, head);
            let mine = ours.take(&memory).unwrap().unwrap();
            let theirs = judge.pop_descriptor_chain(memory.mapped()).unwrap();
            prop_assert_eq!(mine.head, theirs.head_index());
            let parts: Vec<_> = theirs.map(|each| (each.addr().0, each.len())).collect();
            prop_assert_eq!(&mine.parts, &parts);
            prop_assert!(ours.take(&memory).unwrap().is_none());
            ours.give_back(&memory, mine.head, number as u32).unwrap();
            let mut entry = [0; 8];
            prop_assert!(memory.read(LAYOUT.used + 4 + 8 * u64::from(index % SIZE), &mut entry));
            let given = [u32::from(head).to_le_bytes(), (number as u32).to_le_bytes()].concat();
            prop_assert_eq!(&entry[..], &given[..]);
            prop_assert_eq!(memory.load(LAYOUT.used + 2), Some(index.wrapping_add(1)));
        }
    }

    /// Whatever stands in the rings: no panic, no end without an end, and nothing that is not the guest's.
    #[test]
    fn any_bytes_at_all(
        bytes in prop::collection::vec(any::<u8>(), 16 * usize::from(SIZE)),
        small in any::<bool>(),
        available in prop::collection::vec(0_u16..12, 2 + usize::from(SIZE)),
        next in any::<u16>(),
        is_receive in any::<bool>(),
    ) {
        let memory = memory();
        let mut table = bytes;
        if small {
            // Mostly well formed, so that chains go on.
            for words in table.chunks_mut(16) {
                words[2..8].fill(0);
                words[10..12].fill(0);
                words[12] &= 3;
                words[13] = 0;
                words[14] &= 15;
                words[15] = 0;
            }
        }
        prop_assert!(memory.write(LAYOUT.descriptors, &table));
        for (number, value) in available.iter().enumerate() {
            prop_assert!(memory.write(LAYOUT.available + 2 * number as u64, &value.to_le_bytes()));
        }
        prop_assert!(memory.store(LAYOUT.available + 2, next.wrapping_add(available[1])));
        let direction = if is_receive { Direction::Write } else { Direction::Read };
        let mut ring = ring(&memory, direction, next);
        for _ in 0..2 * SIZE {
            match ring.take(&memory) {
                Ok(None) | Err(_) => break,
                Ok(Some(chain)) => {
                    prop_assert!(chain.head < SIZE && chain.parts.len() <= usize::from(SIZE) && chain.bytes <= MOST_BYTES);
                    prop_assert!(chain.parts.iter().all(|&(at, bytes)| bytes > 0 && at + u64::from(bytes) <= MEMORY));
                    prop_assert!(ring.give_back(&memory, chain.head, 0).is_ok());
                }
            }
        }
    }
}

/// Each way to get a descriptor wrong has its error, and the ring is where it was.
#[test]
fn what_is_wrong_is_said() {
    type Case = (&'static str, Direction, [(u64, u32, u16, u16); 2], u32);
    let cases: [Case; 9] = [
        ("outside", Direction::Read, [(MEMORY - 10, 20, 0, 0), (0, 0, 0, 0)], 8),
        ("beyond all", Direction::Read, [(u64::MAX - 1, 20, 0, 0), (0, 0, 0, 0)], 8),
        ("a loop", Direction::Read, [(0x8000, 20, FLAG_NEXT, 1), (0x8000, 20, FLAG_NEXT, 0)], 4),
        ("no bytes", Direction::Read, [(0x8000, 0, 0, 0), (0, 0, 0, 0)], 5),
        ("64 KiB and more", Direction::Read, [(0x8000, 1 << 16, FLAG_NEXT, 1), (0x8000, 1, 0, 0)], 6),
        ("no such number", Direction::Read, [(0x8000, 20, FLAG_NEXT, SIZE), (0, 0, 0, 0)], 3),
        ("indirect", Direction::Read, [(0x8000, 32, FLAG_INDIRECT, 0), (0, 0, 0, 0)], 7),
        ("to be written by who reads", Direction::Read, [(0x8000, 32, FLAG_WRITE, 0), (0, 0, 0, 0)], 7),
        ("to be read by who writes", Direction::Write, [(0x8000, 32, 0, 0), (0, 0, 0, 0)], 7),
    ];
    for (name, direction, descriptors, code) in cases {
        let memory = memory();
        for (number, (address, bytes, flags, next)) in descriptors.into_iter().enumerate() {
            descriptor(&memory, number as u16, address, bytes, flags, next);
        }
        offer(&memory, 0, 0);
        let mut ring = ring(&memory, direction, 0);
        assert_eq!(ring.take(&memory).unwrap_err().code(), code, "{name}");
        assert_eq!(ring.next_available(), 0, "{name}");
    }
}

#[test]
fn an_index_that_jumps_and_a_head_that_is_none() {
    let memory = memory();
    let mut ring = ring(&memory, Direction::Read, 0);
    assert!(memory.store(LAYOUT.available + 2, SIZE + 1));
    assert_eq!(ring.take(&memory), Err(RingError::Jump { from: 0, to: SIZE + 1, size: SIZE }));
    offer(&memory, 0, SIZE);
    assert_eq!(ring.take(&memory).unwrap_err().code(), 3);
}

#[test]
fn rings_that_are_none() {
    let memory = memory();
    let refused = |layout| Ring::new(&memory, layout, Direction::Read, 0).unwrap_err().code();
    for size in [0, 1, 3, 65535] {
        assert_eq!(refused(Layout { size, ..LAYOUT }), 1, "{size}");
    }
    assert_eq!(refused(Layout { descriptors: 0x1008, ..LAYOUT }), 1);
    assert_eq!(refused(Layout { available: 0x2001, ..LAYOUT }), 1);
    assert_eq!(refused(Layout { used: 0x3002, ..LAYOUT }), 1);
    assert_eq!(refused(Layout { used: MEMORY - 16, ..LAYOUT }), 8);
    assert_eq!(refused(Layout { descriptors: u64::MAX - 15, ..LAYOUT }), 8);
}

#[test]
fn who_wants_no_interrupt_gets_none() {
    let memory = memory();
    let mut ring = ring(&memory, Direction::Read, 0);
    ring.give_back(&memory, 0, 0).unwrap();
    assert!(ring.take_interrupt(&memory));
    assert!(!ring.take_interrupt(&memory), "once is enough");
    ring.give_back(&memory, 0, 0).unwrap();
    assert!(memory.write(LAYOUT.available, &NO_INTERRUPT.to_le_bytes()));
    assert!(!ring.take_interrupt(&memory));
}
