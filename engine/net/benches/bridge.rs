// SPDX-License-Identifier: Apache-2.0
//! A frame's way through a bridge: arrival, judgement and selection.
use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};
use penstock_net::bridge::{
    Arrival, Bridge, BridgeConfig, Identify, Memos, Selection, StreamConfig, StreamKey, Tick, Timing,
};
use penstock_net::header::{Header, HeaderId, Headers, Tag};
use penstock_net::Reason;
use std::hint::black_box;

const PORTS: u16 = 4;
const FRAMES: u32 = 1_000;
const BYTES: u16 = 200;
const STATION: u64 = 0x0200_0000_0000;

fn config(shaped: bool) -> BridgeConfig {
    let streams = (0..if shaped { PORTS } else { 0 }).map(|port| StreamConfig {
        stream: port,
        port,
        key: StreamKey::Source { mac: STATION + u64::from(port), vlan: 10 },
        slot: None,
        ns_per_byte: 8 << 24,
        empty_to_full: 1 << 40,
        numbered: false,
    });
    BridgeConfig {
        vlans: vec![(10, 0xF)],
        static_addresses: (0..PORTS).map(|port| (STATION + u64::from(port), 10, 1 << port)).collect(),
        identify: Identify { source: shaped, ..Identify::default() },
        streams: streams.collect(),
        ..BridgeConfig::default()
    }
}

struct Bench {
    bridge: Bridge,
    headers: Headers,
    memos: Memos,
    of_port: Vec<HeaderId>,
    now: Tick,
    selections: Vec<(Tick, u16)>,
}

impl Bench {
    fn new(shaped: bool) -> Self {
        let mut headers = Headers::new();
        let of_port = (0..PORTS).map(|port| {
            headers.intern(&Header {
                destination: STATION + u64::from((port + 1) % PORTS),
                source: STATION + u64::from(port),
                tag: Some(Tag { pcp: 3, vlan: 10 }),
                ..Header::default()
            })
        });
        let of_port = of_port.collect();
        Self {
            bridge: Bridge::new(PORTS, &config(shaped), &Timing::Hardware).unwrap(),
            headers,
            memos: Memos::new(usize::from(PORTS)),
            of_port,
            now: 1_000,
            selections: Vec::new(),
        }
    }

    /// A frame at each port at once, until it has left.
    fn round(&mut self) -> u32 {
        let mut due = [(0, 0); PORTS as usize];
        for port in 0..PORTS {
            let header = self.of_port[usize::from(port)];
            let arrival =
                Arrival { frame: 0, header, bytes: BYTES, first: self.now, fault: Reason::NONE, memo: port.into() };
            due[usize::from(port)] = (self.bridge.arrive(port, arrival), port);
        }
        due.sort_unstable();
        self.selections.clear();
        for (at, port) in due {
            let judgement = self.bridge.judge(at, port, &self.headers, &mut self.memos, 0);
            self.selections.extend(self.bridge.wakes(&judgement).map(|(port, at)| (at, port)));
        }
        let mut sent = 0;
        for &(at, port) in &self.selections {
            sent += u32::from(matches!(self.bridge.select(at, port), Selection::Sent { .. }));
        }
        self.now += Tick::from(BYTES) + 20;
        sent
    }
}

fn frames(c: &mut Criterion) {
    let mut group = c.benchmark_group("bridge");
    group.throughput(Throughput::Elements(u64::from(FRAMES)));
    for (name, shaped) in [("strict priority", false), ("shaped", true)] {
        let mut bench = Bench::new(shaped);
        group.bench_function(BenchmarkId::new("frames", name), |b| {
            b.iter(|| {
                let mut sent = 0;
                while sent < FRAMES {
                    sent += black_box(bench.round());
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, frames);
criterion_main!(benches);
