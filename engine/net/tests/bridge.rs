// SPDX-License-Identifier: Apache-2.0
//! The bridge as its callers use it.
use penstock_net::bridge::{reason, Arrival, Bridge, BridgeConfig, Judgement, Selection, Tick, Timing};
use penstock_net::header::{Header, HeaderId, Headers};

const STATION: u64 = 0x0200_0000_0000;

fn header(destination: u64, source: u64) -> Header {
    Header { destination: STATION + destination, source: STATION + source, ..Header::default() }
}

fn arrival(frame: u32, header: HeaderId, bytes: u16, first: Tick) -> Arrival {
    Arrival { frame, header, bytes, first, fault: reason::NONE }
}

fn sent(selection: Selection) -> (u32, Tick) {
    match selection {
        Selection::Sent { frame, first, .. } => (frame, first),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_idle_hardware_bridge_takes_a_constant_time() {
    for ports in 2..=8 {
        for phase in 0..8 {
            let mut bridge = Bridge::new(ports, &BridgeConfig::default(), &Timing::Hardware).unwrap();
            let mut headers = Headers::new();
            let id = headers.intern(&header(1, 2));
            let mut out = Judgement::default();
            let at = bridge.arrive(0, arrival(7, id, 100, 1000 + phase));
            bridge.judge(at, 0, &headers, &mut out);
            assert_eq!((out.frame, out.reason, out.destination), (7, reason::NONE, (1 << ports) - 2));
            let visible = 1000 + phase + 100 + 4 + 2 * u64::from(ports) + 19;
            assert_eq!(out.visible, visible);
            assert!(at < visible && out.decided <= visible - 2);
            for &(port, due) in &out.wakes {
                assert_eq!(sent(bridge.select(due, port)), (7, visible + 12));
            }
            assert_eq!(bridge.inside(), 0);
        }
    }
}

#[test]
fn other_makers_store_and_forward_or_cut_through() {
    let ideal = |cut_through| Timing::Ideal {
        processing_delay_ps: 1_000_000,
        cut_through,
        rates_bps: vec![1_000_000_000, 100_000_000, 10_000_000_000],
    };
    for (cut_through, fast, slow) in [(false, 1_000_000, 1_000_000), (true, 1_000_000, 1_000_000 - 936 * 8_000)] {
        let mut bridge = Bridge::new(3, &BridgeConfig::default(), &ideal(cut_through)).unwrap();
        let mut headers = Headers::new();
        let id = headers.intern(&header(1, 2));
        let mut out = Judgement::default();
        let first = 50_000_000;
        let at = bridge.arrive(0, arrival(1, id, 1000, first));
        bridge.judge(at, 0, &headers, &mut out);
        let last = first + 8_000_000;
        let mut first_bits: Vec<_> = out.wakes.iter().map(|&(p, due)| (p, sent(bridge.select(due, p)).1)).collect();
        first_bits.sort_unstable();
        let slow_at = (last as i64 + slow + 640_000) as Tick;
        assert_eq!(first_bits, [(1, slow_at), (2, last + fast + 6_400)]);
    }
}
