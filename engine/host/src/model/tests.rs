// SPDX-License-Identifier: Apache-2.0
//! The card at the line's rate, with a driver that keeps its rings full.
use super::transmit::FETCHED;
use super::*;

const LAUNCH_ENABLE: u16 = 0x680;
const RATE_BPS: u64 = 1_000_000_000;
const SIZE: u16 = 64;
const FRAME_BYTES: u32 = 1518;
const BUFFERS: u64 = 0x10_0000;

/// Where the rings of a number are.
fn layout(ring: usize) -> Layout {
    let base = 0x1_0000 * ring as u64;
    Layout { size: SIZE, descriptors: base, available: base + 0x1000, used: base + 0x2000 }
}

struct Driver {
    card: Model,
    memory: Arc<Memory>,
    sent: Vec<Sent>,
    errors: Vec<(usize, String)>,
    now: Duration,
}

impl Driver {
    fn new(rings: &[usize]) -> Self {
        Self::with_pairs(4, rings)
    }

    fn with_pairs(pairs: usize, rings: &[usize]) -> Self {
        let memory = Arc::new(Memory::of_own(&[(0, 0x20_0000)]).unwrap());
        let mut card = Model::new(pairs, RATE_BPS);
        card.set_memory(Arc::clone(&memory));
        card.set_features(FEATURE_MRG_RXBUF);
        for &ring in rings {
            card.start(ring, layout(ring), 0).unwrap();
        }
        Self { card, memory, sent: Vec::new(), errors: Vec::new(), now: Duration::ZERO }
    }

    fn describe(&self, ring: usize, number: u16, address: u64, bytes: u32, flags: u16) {
        let words = [&address.to_le_bytes()[..], &bytes.to_le_bytes(), &flags.to_le_bytes(), &[0, 0]].concat();
        assert!(self.memory.write(layout(ring).descriptors + 16 * u64::from(number), &words));
    }

    /// As many chains as the ring takes, of one buffer each.
    fn fill(&self, ring: usize, bytes: u32) {
        let at = layout(ring);
        let used = self.memory.load(at.used + 2).unwrap();
        let flags = if ring % 2 == 1 { 0 } else { 2 };
        for index in 0..SIZE {
            self.describe(ring, index, BUFFERS + 0x800 * u64::from(index), bytes, flags);
            assert!(self.memory.write(at.available + 4 + 2 * u64::from(index), &index.to_le_bytes()));
        }
        assert!(self.memory.store(at.available + 2, used.wrapping_add(SIZE)));
    }

    fn run(&mut self, full: &[usize], micros: u64) {
        for _ in 0..micros / 100 {
            full.iter().for_each(|&queue| self.fill(ring_of(queue, true), FRAME_BYTES - FCS_BYTES + 12));
            self.now += Duration::from_micros(100);
            let mut outcome = Outcome::default();
            self.card.advance(self.now, &mut outcome);
            self.sent.append(&mut outcome.sent);
            self.errors.append(&mut outcome.errors);
        }
    }

    fn frames(&self, queue: usize) -> usize {
        self.sent.iter().filter(|sent| sent.queue == queue).count()
    }

    fn write(&mut self, words: &[(u16, u32)]) {
        words.iter().for_each(|&(address, value)| self.card.write(address, value).unwrap());
    }
}

const SLOTS: [(u16, u32); 8] = [
    (0x500, 900),
    (0x504, 50),
    (0x508, 50),
    (0x580, 1_000_000),
    (0x584, 0),
    (0x588, 3),
    (0x600, 0x0002_0100),
    (0x58C, 0),
];
const FRAME_NS: u64 = (FRAME_BYTES as u64 + 20) * 8;

#[test]
fn queues_take_turns_without_a_gap() {
    let mut driver = Driver::new(&[1, 3]);
    driver.run(&[0, 1], 20_000);
    let (one, other) = (driver.frames(0), driver.frames(1));
    assert!(one.abs_diff(other) <= 1, "{one} and {other}");
    assert!(driver.sent.windows(2).all(|pair| pair[1].at_ns - pair[0].at_ns == FRAME_NS), "line rate");
}

#[test]
fn queues_that_share_a_class_share_its_turns() {
    let mut driver = Driver::with_pairs(16, &[3, 5, 19]);
    driver.run(&[1, 2, 9], 20_000);
    let [one, own, other] = [1, 2, 9].map(|queue| driver.frames(queue));
    assert!(one.abs_diff(other) <= FETCHED && own.abs_diff(one + other) <= 1, "{one}, {own}, {other}");
    assert!(driver.sent.windows(2).all(|pair| pair[1].at_ns - pair[0].at_ns == FRAME_NS), "line rate");
    driver.write(&[(0x460, 0)]);
    driver.run(&[1, 2, 9], 1_000);
    driver.sent.clear();
    driver.run(&[1, 2, 9], 10_000);
    assert_eq!([1, 9].map(|queue| driver.frames(queue)), [0, 0], "the higher class first");
}

/// 90, 5 and 5 % set while all queues are full: the first gets what whole frames take of its slot, and each frame ends in
/// the slot of its queue.
#[test]
fn slots_hold_to_the_bit() {
    let mut driver = Driver::new(&[1, 3, 5]);
    driver.run(&[0, 1, 2], 3_000);
    driver.write(&SLOTS);
    driver.run(&[0, 1, 2], 2_000);
    driver.sent.clear();
    driver.run(&[0, 1, 2], 20_000);
    for sent in &driver.sent {
        let at = sent.at_ns % 1_000_000;
        let (from, to) = [(0, 900_000), (900_000, 950_000), (950_000, 1_000_000)][sent.queue];
        assert!(at >= from && at + FRAME_NS <= to, "queue {} at {at}", sent.queue);
    }
    let per_cycle = (driver.frames(0) as u64 + 10) / 20;
    assert_eq!(per_cycle, 900_000 / FRAME_NS);
    let alone = 1_000_000 / FRAME_NS;
    assert!(100 * per_cycle >= 89 * alone, "{per_cycle} of {alone}");
}

#[test]
fn a_slot_stays_with_its_queue_when_that_is_empty() {
    let mut driver = Driver::new(&[1, 3, 5]);
    driver.write(&SLOTS);
    driver.run(&[], 1_000);
    driver.run(&[1], 20_000);
    assert!(driver.sent.iter().all(|sent| sent.at_ns % 1_000_000 >= 900_000));
    assert!(driver.frames(1) > 50);
}

#[test]
fn slots_that_cannot_be_are_refused_with_a_code() {
    let mut driver = Driver::new(&[1]);
    for ((address, value), code) in
        [((0x580, 900_000), 6), ((0x600, 0x0009_0100), 3), ((0x508, 10), 8), ((0x588, 500), 2), ((0x588, 2), 5)]
    {
        driver.write(&SLOTS[..7]);
        driver.write(&[(address, value), (0x58C, 0)]);
        assert_eq!(driver.card.read(0x590), Ok(code), "{address:#x}");
        assert!(!driver.card.transmit.egress().is_gated(), "nothing has changed");
    }
    driver.write(&SLOTS);
    assert_eq!((driver.card.read(0x590), driver.card.read(0x540)), (Ok(0), Ok(900_000)), "and read back");
    driver.write(&[(0x500, 0), (0x504, 0), (0x508, 0), (0x580, 0), (0x588, 0), (0x58C, 0)]);
    assert!(!driver.card.transmit.egress().is_gated(), "without slots queues take turns again");
}

/// Queue 1 may send for 5 us of each 1 ms, which is 625 octets.
#[test]
fn a_frame_longer_than_any_window_of_its_gate_is_given_up_and_what_follows_it_goes() {
    let mut driver = Driver::new(&[]);
    let list =
        [(0x200, 5_000), (0x204, 2), (0x210, 0), (0x214, 6), (0x200, 995_000), (0x204, 1), (0x210, 1), (0x214, 6)];
    driver.write(&list);
    let admin =
        [(0x400, 0), (0x404, 0), (0x408, 0), (0x40C, 1_000_000), (0x410, 0), (0x414, 2), (0x418, 0), (0x440, 1)];
    driver.write(&admin);
    driver.run(&[], 1_100);
    for bytes in [1_000, 601, 602, 80] {
        driver.card.queue(1, vec![0; bytes], 137_500);
    }
    driver.run(&[], 2_000);
    let sent: Vec<usize> = driver.sent.iter().map(|sent| sent.frame.len()).collect();
    assert_eq!((sent, driver.card.read(0x1008)), (vec![601, 80], Ok(2)), "601 + FCS + 20 is 625");
}

/// Frames of queue 2 go first for 1.1 s, 1.23 ms each, so that one of queue 1 waits for 120 * 2^20 cycles of 8 ns, and then up
/// to 1024 until it is looked at.
#[test]
fn a_frame_that_has_waited_for_a_second_is_given_up() {
    let mut card = Model::new(4, RATE_BPS / 100);
    card.write(0x460, 0).unwrap();
    for number in 0..900 {
        card.queue(2, vec![0; 1_514], number * 100_000);
    }
    card.queue(1, vec![0; 100], 0);
    let mut outcome = Outcome::default();
    card.advance_to(120 << 20, &mut outcome);
    assert_eq!(card.read(0x1008), Ok(0));
    card.advance_to((120 << 20) + 1_100, &mut outcome);
    assert_eq!(card.read(0x1008), Ok(1));
    card.advance_to(200 << 20, &mut outcome);
    assert_eq!((card.read(0x1008), outcome.sent.len()), (Ok(1), 900));
}

/// The first bit behind the delimiter leaves in the first cycle of 8 ns at or after the launch time: 10 000 003 ns is shown in
/// that of 10 000 008 ns, and the eight octets before it take 64 ns. What came first leaves last.
#[test]
fn frames_leave_at_their_launch_times() {
    const LAUNCHES: [(u64, u64); 4] =
        [(10_100_000, 10_099_936), (10_080_001, 10_079_944), (10_000_003, 9_999_944), (10_040_008, 10_039_944)];
    let mut driver = Driver::new(&[1]);
    driver.write(&[(LAUNCH_ENABLE, 1)]);
    for (number, (launch_ns, _)) in LAUNCHES.into_iter().enumerate() {
        let buffer = BUFFERS + 0x800 * number as u64;
        assert!(driver.memory.write(buffer + 12, &launch_ns.to_le_bytes()));
        assert!(driver.memory.write(buffer + 20, &[number as u8; 100]));
        driver.describe(1, number as u16, buffer, 120, 0);
        assert!(driver.memory.write(layout(1).available + 4 + 2 * number as u64, &(number as u16).to_le_bytes()));
    }
    assert!(driver.memory.store(layout(1).available + 2, 4));
    driver.run(&[], 9_900);
    assert!(driver.sent.is_empty() && driver.memory.load(layout(1).used + 2) == Some(4), "held, and given back");
    assert_eq!(driver.card.read(FRAMES), Ok(4), "as many as can be sorted");
    driver.run(&[], 1_000);
    let seen: Vec<(usize, u64)> = driver.sent.iter().map(|sent| (usize::from(sent.frame[0]), sent.at_ns)).collect();
    assert_eq!(seen, [2, 3, 1, 0].map(|number| (number, LAUNCHES[number].1)));
    assert!(driver.sent.iter().all(|sent| sent.frame.len() == 100));
    assert_eq!([LATE, DROPPED, BEYOND].map(|count| driver.card.read(count)), [Ok(0); 3]);
}

/// A bad descriptor stops its queue with an error, and no other; after a start it goes on.
#[test]
fn a_hostile_queue_stops_alone() {
    let mut driver = Driver::new(&[1, 3]);
    driver.run(&[0, 1], 500);
    driver.fill(1, FRAME_BYTES);
    (0..SIZE).for_each(|number| driver.describe(1, number, u64::MAX - 5, 100, 0));
    driver.run(&[1], 2_000);
    assert_eq!(driver.errors.len(), 1);
    assert_eq!(driver.errors[0].0, 1);
    assert_eq!(driver.card.read(0x38), Ok(0b10));
    driver.write(&[(0x40, 1)]);
    assert_eq!(driver.card.read(0x68).unwrap() >> 20, 8);
    let before = driver.frames(1);
    driver.run(&[1], 2_000);
    assert!(driver.frames(1) > before + 100, "the other goes on");
    let used = driver.memory.load(layout(1).used + 2).unwrap();
    driver.card.start(1, layout(1), used).unwrap();
    let before = driver.frames(0);
    driver.run(&[0, 1], 2_000);
    assert!(driver.frames(0) > before + 50 && driver.card.read(0x38) == Ok(0));
}

/// A ring that stops while its frame is on the wire: that frame and those that were given back are sent, and nothing more.
#[test]
fn a_reset_in_mid_frame() {
    let mut driver = Driver::new(&[1]);
    driver.run(&[0], 100);
    let before = driver.sent.len();
    driver.card.stop(1);
    let given_back = usize::from(driver.memory.load(layout(1).used + 2).unwrap());
    driver.run(&[], 1_000);
    assert_eq!(driver.sent.len(), given_back);
    assert!((before + 1..before + 8).contains(&given_back), "{before} {given_back}");
    assert!(driver.sent.iter().all(|sent| sent.frame.len() == (FRAME_BYTES - FCS_BYTES) as usize));
    driver.card.set_memory(Arc::clone(&driver.memory));
    driver.card.start(1, layout(1), driver.memory.load(layout(1).used + 2).unwrap()).unwrap();
    driver.run(&[0], 1_000);
    assert!(driver.sent.len() > before + 50);
}

#[test]
fn a_received_frame_may_lie_in_several_buffers() {
    let mut driver = Driver::new(&[0]);
    driver.fill(0, 500);
    let frame: Vec<u8> = (0..1400).map(|byte| byte as u8).collect();
    driver.card.receive(&frame);
    assert_eq!(driver.memory.load(layout(0).used + 2), Some(3), "1412 bytes in buffers of 500");
    let mut first = [0; 500];
    assert!(driver.memory.read(BUFFERS, &mut first));
    assert_eq!(u16::from_le_bytes([first[10], first[11]]), 3, "num_buffers");
    assert_eq!(first[12..], frame[..488]);
    for _ in 0..100 {
        driver.card.receive(&frame);
    }
    assert_eq!(driver.memory.load(layout(0).used + 2), Some(63), "a frame that finds no room takes none");
    assert_eq!(driver.card.read(NO_BUFFER), Ok(101 - 21));
}

/// The header has to stand in one chain; what follows may be as short as it likes.
#[test]
fn a_first_chain_below_the_header_stops_its_ring() {
    let mut driver = Driver::new(&[0]);
    driver.fill(0, 11);
    driver.card.receive(&[0; 60]);
    driver.write(&[(0x40, 0)]);
    assert_eq!(driver.card.read(0x68).unwrap() >> 20, 9);
    let mut driver = Driver::new(&[0]);
    driver.fill(0, 11);
    driver.describe(0, 0, BUFFERS, 12, 2);
    driver.card.receive(&[0; 60]);
    assert_eq!(driver.memory.load(layout(0).used + 2), Some(1 + 6), "12 bytes, and six times 11");
}

#[test]
fn frames_that_are_none_are_given_back_and_not_sent() {
    let mut driver = Driver::new(&[1]);
    for bytes in [1, 12, 25, 12 + 1519, 60_000] {
        driver.describe(1, 0, BUFFERS, bytes, 0);
        let index = driver.memory.load(layout(1).available + 2).unwrap();
        assert!(driver.memory.write(layout(1).available + 4 + 2 * u64::from(index % SIZE), &[0, 0]));
        assert!(driver.memory.store(layout(1).available + 2, index + 1));
        driver.run(&[], 100);
        assert_eq!(driver.memory.load(layout(1).used + 2), Some(index + 1), "{bytes}");
    }
    assert_eq!((driver.sent.len(), driver.card.read(NOT_SENT)), (0, Ok(5)));
}

/// 100 Mb/s, and a burst of a frame with what it takes on the wire.
const RATE_OF_0: [(u16, u32); 7] = [
    (0x200, 80 << 24),
    (0x204, ((1538 * 80) << 16 & 0xF_FFFF) << 12),
    (0x208, ((1538_u64 * 80) << 16 >> 20) as u32),
    (0x210, 0),
    (0x214, 1),
    (0x694, 20),
    (0x690, 1),
];

#[test]
fn a_queue_with_ats_keeps_to_its_rate_and_others_have_the_rest() {
    let mut driver = Driver::new(&[1, 3]);
    driver.write(&RATE_OF_0);
    driver.run(&[0, 1], 20_000);
    let leaves: Vec<u64> = driver.sent.iter().filter(|sent| sent.queue == 0).map(|sent| sent.at_ns).collect();
    let recovery_ns = 1538 * 80;
    // Each at its time, or after the one frame that was on the wire then.
    for (number, at) in leaves.iter().enumerate() {
        let late = at - number as u64 * recovery_ns;
        assert!(late <= 1538 * 8, "frame {number} leaves {late} ns late");
    }
    assert_eq!(leaves.len() as u64, 20_000_000_u64.div_ceil(recovery_ns));
    let whole = 20_000_000 / (1538 * 8);
    assert!((whole - 2..=whole).contains(&(leaves.len() + driver.frames(1))), "the line is never idle");
}

#[test]
fn what_would_wait_for_too_long_is_not_sent() {
    let mut driver = Driver::new(&[1]);
    driver.write(&RATE_OF_0);
    driver.write(&[(0x200, 100_000), (0x204, 0), (0x208, 0), (0x210, 0), (0x214, 2)]);
    driver.fill(1, FRAME_BYTES - FCS_BYTES + 12);
    driver.run(&[], 1_000);
    assert_eq!(driver.frames(0), 1);
    assert_eq!(driver.card.read(0x1380).unwrap(), u32::from(SIZE) - 1);
    // The longest that it can wait, as the bucket is empty.
    driver.write(&[(0x200, 123_040), (0x210, 0), (0x214, 2)]);
    driver.fill(1, FRAME_BYTES - FCS_BYTES + 12);
    driver.run(&[], 1_000);
    assert_eq!(driver.frames(0), 3);
}
