// SPDX-License-Identifier: Apache-2.0
//! A frame reads each setting in a cycle of its own, as `bridge/facts.rs` has them: a change that is seen from that cycle
//! on counts for it, and one that is seen from the next on does not. And tables take no entry while a frame is at it.
use penstock_net::bridge::{
    Arrival, Bridge, BridgeConfig, Change, Identify, Judgement, Memos, StreamConfig, StreamKey, Tick, Timing,
    Translation, NO_PLACE,
};
use penstock_net::header::{Header, Headers, Tag};
use penstock_net::Reason;
use penstock_shaper::forwarding::{address_of, Entry, Fdb};
use penstock_shaper::identification::{crc, destination_key, source_key, Key};

const PORTS: u16 = 4;
/// From a turn of a port to its next one.
const NEXT_TURN: Tick = PORTS as Tick;
const MAC: u64 = 0x0200_0000_0000;
const SOURCE: u64 = MAC + 2;
const FIRST: Tick = 10_000;
const BYTES: u16 = 200;
/// From the turn of a frame's record to its judgement.
const TURN_TO_JUDGE: Tick = 16 + NEXT_TURN;
/// And to the begin of the decision about it, if no other one is near.
const TURN_TO_ADMISSION: Tick = 13;

/// Of a key in the first of both tables, which have 512.
fn slot_of(key: Key) -> u32 {
    crc(&key.to_le_bytes()[..14]) & 511
}

fn by_destination() -> u32 {
    slot_of(destination_key(0, 10, MAC + 1))
}

fn by_source() -> u32 {
    slot_of(source_key(0, 10, SOURCE))
}

/// Of an address in the database.
fn set_of(address: u64) -> u32 {
    Fdb::new(512, 0, true).set_of(address_of(10, address))
}

fn stream(stream: u16, key: StreamKey, slot: u32) -> StreamConfig {
    StreamConfig {
        stream,
        port: 0,
        key,
        slot: Some((0, slot)),
        ns_per_byte: 1_000 << 24,
        empty_to_full: 1 << 16,
        numbered: false,
    }
}

/// At port 0, stream 1 is known by the address of station 1, and stream 2 by that of whoever sends. An ATS scheduler
/// holds each frame of class 5 but the first.
fn config() -> BridgeConfig {
    BridgeConfig {
        class_of_pcp: [0, 1, 2, 3, 4, 5, 6, 7],
        ats_classes: vec![5],
        identify: Identify { destination: true, ..Identify::default() },
        streams: vec![
            stream(1, StreamKey::Destination { mac: MAC + 1, vlan: 10 }, by_destination()),
            stream(2, StreamKey::Source { mac: SOURCE, vlan: 10 }, by_source()),
        ],
        vlans: vec![(10, 0b1111)],
        static_addresses: vec![(MAC + 1, 10, 0b10)],
        queue_guarantee: Some(4),
        max_residence_ns: vec![(0, 5, 10_000_000)],
        ..BridgeConfig::default()
    }
}

fn members(members: u64) -> Change {
    Change::Vlan { vlan: 10, members, untagged: 0, translation: Translation::default() }
}

struct Play {
    bridge: Bridge,
    headers: Headers,
}

impl Play {
    fn new(config: &BridgeConfig) -> Self {
        Self { bridge: Bridge::new(PORTS, config, &Timing::Hardware).unwrap(), headers: Headers::new() }
    }

    /// A frame comes; the turn of its record, if it is the next one of its port.
    fn arrive(
        &mut self,
        port: u16,
        (destination, source): (u64, u64),
        tag: Option<Tag>,
        bytes: u16,
        first: Tick,
    ) -> Tick {
        let header = self.headers.intern(&Header { destination, source, tag, ..Header::default() });
        let arrival = Arrival { frame: 1, header, bytes, first, fault: Reason::NONE, memo: NO_PLACE };
        self.bridge.arrive(port, arrival) - TURN_TO_JUDGE
    }

    fn judge(&mut self, port: u16, turn: Tick) -> Judgement {
        self.bridge.judge(turn + TURN_TO_JUDGE, port, &self.headers, &mut Memos::default(), 0)
    }

    fn change(&mut self, at: Tick, change: &Change) {
        self.bridge.change(at, change, &self.headers);
    }
}

const TO_ONE: (u64, u64) = (MAC + 1, SOURCE);

/// Two frames to station 1, with a change that is seen from a cycle on: what becomes of the second, and whether its
/// sender is known afterwards.
fn told(config: &BridgeConfig, tag: Option<Tag>, change: Option<(Tick, &Change)>) -> impl PartialEq + std::fmt::Debug {
    let mut play = Play::new(config);
    let turn = play.arrive(0, (MAC + 1, SOURCE), tag, BYTES, FIRST - 1_000);
    play.judge(0, turn);
    let turn = play.arrive(0, (MAC + 1, SOURCE + u64::from(config.learning_enable)), tag, BYTES, FIRST);
    change.iter().for_each(|(at, change)| play.change(*at, change));
    let judgement = play.judge(0, turn);
    for undone in [members(0b1111), Change::PortEnable(0b1111)] {
        play.change(FIRST + 1_000, &undone);
    }
    let turn = play.arrive(3, (SOURCE + 1, MAC + 9), Some(Tag { pcp: 0, vlan: 10 }), BYTES, FIRST + 2_000);
    let is_known = play.judge(3, turn).destination == 0b1;
    let Judgement { reason, destination, traffic_class, visible, stream, shaped, .. } = judgement;
    (reason, destination, traffic_class, visible, stream, shaped, judgement.refused(), is_known)
}

#[test]
fn a_change_counts_up_to_the_cycle_in_which_a_frame_reads_it() {
    let tag = Some(Tag { pcp: 5, vlan: 10 });
    let turn = Play::new(&config()).arrive(0, TO_ONE, tag, BYTES, FIRST);
    // Five cycles through the receive FIFO.
    let taken = FIRST + 5;
    // The port's first turn when addresses and tag have been read.
    let header_turn = (taken + 17..).find(|cycle| cycle % NEXT_TURN == turn % NEXT_TURN).unwrap();
    let begin = turn + TURN_TO_ADMISSION;
    let plain = BridgeConfig { learning_enable: false, ..config() };
    let identify = |destination, source| Identify { destination, source, ipv4: false };
    let by = |destination, source| BridgeConfig { identify: identify(destination, source), ..plain.clone() };
    let learning = config();
    let not_guaranteed = |class_limit: u32, reception_guarantee, shared_limit| BridgeConfig {
        queue_guarantee: Some(0),
        class_limit: [class_limit; 8],
        reception_guarantee: Some(reception_guarantee),
        shared_limit: Some(shared_limit),
        ..plain.clone()
    };
    let guaranteed = BridgeConfig { class_limit: [0; 8], ..plain.clone() };
    let forget = |slot| Change::Stream { table: 0, slot, entry: None };
    let unknown = BridgeConfig { static_addresses: Vec::new(), ..plain.clone() };
    let entry = Entry::new(true, true, 3, 0b100, 10, MAC + 1);
    let address = Change::Fdb { way: 0, set: set_of(MAC + 1), entry };
    let rate = Change::Rate { stream: 1, ns_per_byte: 1_000 << 24, empty_to_full: 1 << 16 };
    let cases = [
        (&plain, tag, taken, Change::Identify(identify(false, false))),
        (&plain, None, taken, Change::PortVlan { port: 0, vlan: 10 }),
        (&plain, None, taken, Change::ClassOfUntagged(2)),
        (&plain, tag, taken + 14, Change::ClassOfPcp([0; 8])),
        (&plain, tag, header_turn + 2, forget(by_destination())),
        (&by(false, true), tag, header_turn + 2, forget(by_source())),
        (&by(true, true), tag, header_turn + 2, forget(by_destination())),
        (&plain, tag, turn + 1, members(0)),
        (&plain, tag, turn + 1, Change::PortEnable(0b1110)),
        (&unknown, tag, turn + 2, address),
        (&plain, tag, turn + 5, Change::PortEnable(0b1101)),
        (&plain, tag, turn + 5, Change::AtsClasses(0)),
        (&plain, tag, turn + 6, Change::OverheadBytes(255)),
        (&plain, tag, turn + 7, Change::Residence { port: 0, traffic_class: 5, ns: 1 }),
        (&plain, tag, turn + 8, Change::ProcessingDelayMaxNs(10_000)),
        (&plain, tag, turn + 10, rate),
        (&learning, tag, turn + NEXT_TURN, Change::Learning(false)),
        (&learning, tag, turn + NEXT_TURN + 1, members(0b1110)),
        (&plain, tag, begin + 1, Change::QueueLimit { traffic_class: 5, cells: 1 }),
        (&plain, tag, begin + 1, Change::MaxSdu { port: 1, traffic_class: 5, bytes: 100 }),
        (&guaranteed, tag, begin + 1, Change::QueueGuarantee(1)),
        (&not_guaranteed(4, 24, 24), tag, begin + 2, Change::ClassLimit { traffic_class: 5, cells: 1 }),
        (&not_guaranteed(4, 0, 4), tag, begin + 3, Change::SharedLimit(1)),
        (&not_guaranteed(4, 4, 0), tag, begin + 3, Change::ReceptionGuarantee(1)),
    ];
    for (config, tag, last, change) in &cases {
        let plain = told(config, *tag, None);
        let counts = |at: &Tick| told(config, *tag, Some((*at, change))) != plain;
        let counted: Vec<Tick> = (FIRST..begin + 20).filter(counts).collect();
        assert_eq!(counted, (FIRST..=*last).collect::<Vec<_>>(), "{change:?}, of a turn in {turn}");
    }
}

/// By source it is looked for in the turn behind that by destination, if it is looked for by both.
#[test]
fn a_source_is_looked_up_in_the_next_turn() {
    let tag = Some(Tag { pcp: 5, vlan: 10 });
    let identify = Identify { destination: true, source: true, ipv4: false };
    let config = BridgeConfig { identify, streams: config().streams.split_off(1), ..config() };
    let counts = |at: Tick| {
        let mut play = Play::new(&config);
        let turn = play.arrive(0, TO_ONE, tag, BYTES, FIRST);
        play.change(at, &Change::Stream { table: 0, slot: by_source(), entry: None });
        play.judge(0, turn).stream.is_none()
    };
    let turn = Play::new(&config).arrive(0, TO_ONE, tag, BYTES, FIRST);
    let header_turn = (FIRST + 5 + 17..).find(|cycle| cycle % NEXT_TURN == turn % NEXT_TURN).unwrap();
    let counted: Vec<Tick> = (FIRST..turn + 20).filter(|&at| counts(at)).collect();
    assert_eq!(counted, (FIRST..=header_turn + NEXT_TURN + 2).collect::<Vec<_>>());
}

/// A carrier of one byte comes by another port while a frame is nearly whole, and its turn is before that frame's.
#[test]
fn frames_are_decided_in_the_order_of_their_turns_whenever_something_changes() {
    let changed = |first: Tick, at: Option<Tick>| {
        let mut play = Play::new(&config());
        let long = play.arrive(0, TO_ONE, None, BYTES, FIRST);
        at.iter().filter(|at| **at < first).for_each(|&at| play.change(at, &Change::CountGap(false)));
        let short = play.arrive(2, TO_ONE, None, 1, first);
        at.iter().filter(|at| **at >= first).for_each(|&at| play.change(at, &Change::CountGap(false)));
        let mut order = [(short, 2), (long, 0)];
        order.sort_unstable();
        order.map(|(turn, port)| (port, play.judge(port, turn).decided))
    };
    let turn = Play::new(&config()).arrive(0, TO_ONE, None, BYTES, FIRST);
    for first in turn - 20..turn + 5 {
        let plain = changed(first, None);
        for at in turn - 40..turn + TURN_TO_JUDGE {
            assert_eq!(changed(first, Some(at)), plain, "of one that comes in {first}, and a change in {at}");
        }
    }
}

/// Cycles behind a turn in which what a table is asked for is refused.
fn refused(turn: Tick, taken: impl Fn(Tick) -> bool) -> Vec<Tick> {
    (0..30).filter(|after| !taken(turn + after)).collect()
}

#[test]
fn a_rate_is_taken_but_while_its_stream_is_being_shaped() {
    let of_stream = |config: &BridgeConfig, pcp, stream| {
        let start = || {
            let mut play = Play::new(config);
            let turn = play.arrive(0, TO_ONE, Some(Tag { pcp, vlan: 10 }), BYTES, FIRST);
            (play, turn)
        };
        refused(start().1, |at| {
            let Play { mut bridge, headers } = start().0;
            bridge.takes_rate(at, stream, &headers)
        })
    };
    let plain = config();
    assert_eq!(of_stream(&plain, 5, 1), (5..=13).collect::<Vec<_>>());
    assert_eq!(
        of_stream(&plain, 5, 2),
        [5, 13],
        "of another one: while its rate is read, and while its state is written"
    );
    assert_eq!(of_stream(&plain, 4, 1), [5, 6], "of a class without ATS");
    let nowhere = BridgeConfig { static_addresses: vec![(MAC + 1, 10, 0)], ..config() };
    assert_eq!([1, 2].map(|stream| of_stream(&nowhere, 5, stream)), [vec![5, 6], vec![5]]);
    let too_late = BridgeConfig { max_residence_ns: vec![(0, 5, 0)], ..config() };
    let mut busy = Play::new(&too_late);
    let turn = busy.arrive(0, TO_ONE, Some(Tag { pcp: 5, vlan: 10 }), BYTES, FIRST - 1_000);
    busy.judge(0, turn);
    let turn = busy.arrive(0, TO_ONE, Some(Tag { pcp: 5, vlan: 10 }), BYTES, FIRST);
    let taken = |stream| refused(turn, |at| busy.bridge.clone().takes_rate(at, stream, &busy.headers));
    assert_eq!(
        [taken(1), taken(2)],
        [(5..=13).collect::<Vec<_>>(), vec![5]],
        "of what stays too long nothing is written"
    );
}

/// Of the set in which it will stand, and of another one.
#[test]
fn an_address_is_taken_but_while_one_is_being_learnt() {
    let of_sets = |config: &BridgeConfig| {
        let own = set_of(SOURCE);
        [own, own ^ 1].map(|set| {
            let mut play = Play::new(config);
            let turn = play.arrive(0, TO_ONE, Some(Tag { pcp: 5, vlan: 10 }), BYTES, FIRST);
            refused(turn + NEXT_TURN, |at| play.bridge.clone().takes_address(at, set, &play.headers))
        })
    };
    assert_eq!(of_sets(&config()), [vec![1, 2, 3, 4, 5], vec![1, 5]]);
    let no_member = BridgeConfig { vlans: vec![(10, 0b1110)], ..config() };
    assert_eq!(of_sets(&no_member), [vec![1, 2, 3], vec![1]]);
    let off = BridgeConfig { learning_enable: false, ..config() };
    assert_eq!(of_sets(&off), [vec![], vec![]]);
}
