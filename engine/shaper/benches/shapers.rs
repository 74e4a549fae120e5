// SPDX-License-Identifier: Apache-2.0
//! The cost of a frame in each state machine.
use criterion::{criterion_group, criterion_main, Criterion};
use penstock_frame::Edit;
use penstock_frame::{BitsPerSecond, Bytes};
use penstock_shaper::admission::{Admission, Limits, Pool};
use penstock_shaper::ats::{process_frame, Group, Rate, Scheduler};
use penstock_shaper::egress::{EgressPort, GateDelays, GateTime, LineTime, Queued};
use penstock_shaper::ptp_clock::PtpClock;
use std::hint::black_box;

fn ats(c: &mut Criterion) {
    let rate = Rate::new(BitsPerSecond(100_000_000), Bytes(3_084)).unwrap();
    let (mut group, mut scheduler) = (Group::default(), Scheduler::new(rate));
    let mut arrival = 0;
    c.bench_function("ats", |b| {
        b.iter(|| {
            arrival += 120_000;
            process_frame(&mut group, &mut scheduler, black_box(arrival), black_box(1_542))
        });
    });
}

fn admission(c: &mut Criterion) {
    let limits = Limits { queue: [256; 8], class: [640; 8], queue_guarantee: 12, reception_guarantee: 24, shared: 400 };
    let mut admission = Admission::new(8, 0);
    for (name, wanted) in [("admission, one copy", 0b10_u64), ("admission, seven copies", 0xFE)] {
        c.bench_function(name, |b| {
            b.iter(|| {
                let decision = admission.decide(&limits, black_box(wanted), 0, 3, 0, 12);
                for egress in (0..8).filter(|egress| decision.accepted >> egress & 1 == 1) {
                    admission.release(egress, 3, 0, decision.pool_of(egress), 12);
                }
                decision
            });
        });
    }
}

struct Gigabit(GateTime);

impl LineTime for Gigabit {
    fn gate_time(&self) -> &GateTime {
        &self.0
    }

    fn wire(&self, bytes: u16) -> u64 {
        8 * (u64::from(bytes) + 20)
    }

    fn next_selection(&self, selection: u64, _: u16) -> u64 {
        selection
    }

    fn spent(&self, selection: u64, _: u16) -> u64 {
        selection
    }
}

fn egress(c: &mut Criterion) {
    let line = Gigabit(GateTime::new(PtpClock::new(0, 0), GateDelays::default()));
    let mut port = EgressPort::new(8);
    let mut at = 0;
    let copy = |at: u64, n: u64| Queued {
        visible: at,
        frame: 0,
        bytes: 200,
        reception: (n % 8) as u16,
        edit: Edit::NONE,
        traffic_class: (n / 8 % 8) as u8,
        pool: Pool::Shared,
        shaped: false,
    };
    for n in 0..200 {
        port.enqueue(copy(n, n));
    }
    c.bench_function("queue and selection among 64 queues", |b| {
        b.iter(|| {
            at += 1;
            port.enqueue(copy(at + 200, black_box(at)));
            port.select(&line, at + 200)
        });
    });
}

criterion_group!(benches, ats, admission, egress);
criterion_main!(benches);
