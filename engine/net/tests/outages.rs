// SPDX-License-Identifier: Apache-2.0
//! What a bridge does where a link of it goes down or where it dies itself, and how its detours lead around that.
use penstock_net::bridge::{
    Arrival, Bridge, BridgeConfig, DetourConfig, Inside, Judged, Judgement, Memos, Selection, Tick, Timing,
};
use penstock_net::header::{Header, HeaderId, Headers, Tag};
use penstock_net::Reason;

const PORTS: u16 = 4;
const MAC: u64 = 0x0200_0000_0001;
const PROCESSING_PS: u64 = 1_000_000;
/// Of 1000 bytes at 1 Gb/s.
const FRAME_PS: u64 = 8_000_000;

/// From port 0 an address leads to port 1, or else to port 2.
fn detours() -> BridgeConfig {
    let ports = vec![vec![1, 2], vec![2], vec![1], vec![1]];
    let detour = DetourConfig { address: MAC, vlan: 1, ports, nearer: Vec::new() };
    BridgeConfig { detours: vec![detour], learning_enable: false, ..BridgeConfig::default() }
}

fn made(config: &BridgeConfig, cut_through_bytes: Option<u16>) -> Bridge {
    let rates_bps = vec![1_000_000_000; PORTS.into()];
    let timing = Timing::Ideal { processing_delay_ps: PROCESSING_PS, cut_through_bytes, rates_bps };
    Bridge::new(PORTS, config, &timing).unwrap()
}

fn header(headers: &mut Headers, destination: u64, pcp: u8) -> HeaderId {
    let tag = Some(Tag { pcp, vlan: 1 });
    headers.intern(&Header { destination, source: MAC + 0x100, tag, ..Header::default() })
}

/// Of 1000 bytes, the only one of its kind that is kept.
fn arrival(frame: u32, header: HeaderId, first: Tick) -> Arrival {
    Arrival { frame, header, bytes: 1000, first, fault: Reason::NONE, memo: header }
}

/// A frame that comes by port 0.
fn judge(bridge: &mut Bridge, headers: &Headers, memos: &mut Memos, arrival: Arrival) -> (Judged, Judgement) {
    let due = bridge.arrive(0, arrival);
    (bridge.next_judged(0, memos), bridge.judge(due, 0, headers, memos, 0))
}

#[test]
fn a_detour_is_taken_once_the_bridge_knows_of_its_link_whatever_it_has_kept() {
    let (mut bridge, mut headers, mut memos) = (made(&detours(), None), Headers::new(), Memos::new(2));
    let (led, other) = (header(&mut headers, MAC, 0), header(&mut headers, MAC + 1, 0));
    assert!(bridge.has_detours() && !made(&BridgeConfig::default(), None).has_detours());
    let mut next = |bridge: &mut Bridge, n: u64, id| {
        let (by, out) = judge(bridge, &headers, &mut memos, arrival(n as u32, id, n * 20_000_000));
        (by, out.destination, out.is_led)
    };
    assert_eq!(next(&mut bridge, 1, led), (Judged::Read, 0b10, true));
    assert_eq!(next(&mut bridge, 2, led), (Judged::Kept, 0b10, true));
    assert_eq!(next(&mut bridge, 3, other), (Judged::Read, 0b1110, false), "it has none");
    bridge.set_link(1, false, 70_000_000);
    assert_eq!(next(&mut bridge, 4, led), (Judged::Read, 0b100, true));
    assert_eq!(next(&mut bridge, 5, led), (Judged::Kept, 0b100, true));
    // Another bridge in its place knows the links, and nothing else of what was kept holds.
    let mut fresh = made(&detours(), None);
    fresh.know_links_of(&bridge);
    assert_eq!(next(&mut fresh, 6, led), (Judged::Read, 0b100, true));
    fresh.set_link(1, true, 130_000_000);
    assert_eq!(next(&mut fresh, 7, led), (Judged::Read, 0b10, true));
}

/// With the queue of a class that has room for two of them.
#[test]
fn what_waits_for_a_link_that_went_down_is_lost_and_gives_its_room_back() {
    let config = BridgeConfig { class_of_pcp: [0, 1, 2, 3, 4, 5, 6, 7], queue_limit: [16; 8], ..detours() };
    let (mut bridge, mut headers) = (made(&config, None), Headers::new());
    let ids = [0, 5].map(|pcp| header(&mut headers, MAC, pcp));
    let mut memos = Memos::default();
    let mut next = |bridge: &mut Bridge, n: u64, id: usize| {
        judge(bridge, &headers, &mut memos, arrival(n as u32, ids[id], n * 10_000_000)).1
    };
    for (n, id) in [(1, 0), (2, 0), (3, 1)] {
        assert_eq!(next(&mut bridge, n, id).destination, 0b10);
    }
    assert_eq!((next(&mut bridge, 4, 0).queue_full, bridge.inside()), (0b10, 3));
    let now = 4 * 10_000_000 + FRAME_PS;
    assert_eq!(bridge.set_link(2, true, now), []);
    let inside = |frame, class| Inside { frame, port: 1, traffic_class: Some(class), forwarded: 0 };
    assert_eq!(bridge.set_link(1, false, now), [inside(3, 5), inside(1, 0), inside(2, 0)]);
    assert_eq!(bridge.inside(), 0);
    bridge.set_link(1, true, now + 1);
    for (n, refused) in [(5, 0), (6, 0), (7, 0b10)] {
        assert_eq!(next(&mut bridge, n, 0).queue_full, refused, "frame {n}");
    }
}

#[test]
fn a_port_whose_link_is_down_selects_when_it_is_up_again_and_says_so_once() {
    let (mut bridge, mut headers) = (made(&detours(), None), Headers::new());
    let id = header(&mut headers, MAC, 0);
    let out = judge(&mut bridge, &headers, &mut Memos::default(), arrival(1, id, 0)).1;
    let due = FRAME_PS + PROCESSING_PS;
    assert_eq!(bridge.wakes(&out).collect::<Vec<_>>(), [(1, due)]);
    let until = due + 5_000_000;
    assert_eq!(bridge.cut(2, due - 10, until), None, "nothing waits there");
    assert_eq!(bridge.cut(1, due - 10, until), Some(until));
    assert_eq!(bridge.cut(1, due - 5, until), None, "it was told");
    assert_eq!(bridge.select(due, 1), Selection::Stale);
    assert!(matches!(bridge.select(until, 1), Selection::Sent { frame: 1, at, .. } if at == until));
}

/// One waits for a port, one comes whose first copy has left by cut-through, and another one behind it.
#[test]
fn a_bridge_that_dies_loses_all_and_knows_of_each_what_has_left() {
    let statics = vec![(MAC, 1, 0b110), (MAC + 1, 1, 0b100)];
    let config = BridgeConfig { static_addresses: statics, ..BridgeConfig::default() };
    let (mut bridge, mut headers, mut memos) = (made(&config, Some(64)), Headers::new(), Memos::default());
    let (both, one) = (header(&mut headers, MAC, 0), header(&mut headers, MAC + 1, 0));
    // Port 2 is busy as the other ones come.
    let due = bridge.arrive(3, arrival(1, one, 0));
    assert!(bridge.judge(due, 3, &headers, &mut memos, Tick::MAX).passed.is_some());
    let first = 2_000_000;
    let header_read = bridge.arrive(0, arrival(2, both, first));
    assert_eq!(header_read, first + 64 * 8_000);
    bridge.arrive(0, arrival(3, both, first + FRAME_PS + 160_000));
    assert_eq!(bridge.judge(header_read, 0, &headers, &mut memos, 0).again, Some(first + FRAME_PS));
    let early: Vec<_> = bridge.leaving_early(0).collect();
    assert_eq!(early, [1, 2].map(|port| (port, header_read + PROCESSING_PS)));
    assert!(matches!(bridge.select(early[0].1, 1), Selection::CutThrough { frame: 2, is_spoiled: false, .. }));
    assert_eq!(bridge.select(early[1].1, 2), Selection::Stale);
    // Another one comes by port 1, and waits there too.
    let header_read = bridge.arrive(1, arrival(4, one, first));
    let whole = bridge.judge(header_read, 1, &headers, &mut memos, 0).again.unwrap();
    assert_eq!(bridge.judge(whole, 1, &headers, &mut memos, 0).destination, 0b100);
    let unjudged = |frame, forwarded| Inside { frame, port: 0, traffic_class: None, forwarded };
    let waiting = Inside { frame: 4, port: 2, traffic_class: Some(1), forwarded: 0 };
    assert_eq!(bridge.inside(), 3);
    assert_eq!(bridge.lose_all(whole), [unjudged(2, 0b10), unjudged(3, 0), waiting]);
}
