// SPDX-License-Identifier: Apache-2.0
//! The calendar against a binary heap and a radix heap: so many events wait, the first is taken, and one as far ahead
//! as events of networks are is put in.
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};
use penstock_net::queue::{Event, Kind, Queue};

const TAKEN: u64 = 100_000;

trait Line {
    fn put(&mut self, event: Event);
    fn take(&mut self) -> Event;
}

impl Line for Queue {
    fn put(&mut self, event: Event) {
        self.push(event);
    }
    fn take(&mut self) -> Event {
        self.pop_before(u64::MAX).unwrap()
    }
}

#[derive(Default)]
struct Heap(BinaryHeap<Reverse<Event>>);

impl Line for Heap {
    fn put(&mut self, event: Event) {
        self.0.push(Reverse(event));
    }
    fn take(&mut self) -> Event {
        self.0.pop().unwrap().0
    }
}

/// Buckets by the highest bit in which a time differs from the last one taken.
struct Radix {
    last: u64,
    now: BinaryHeap<Reverse<Event>>,
    buckets: Vec<Vec<Event>>,
}

impl Default for Radix {
    fn default() -> Self {
        Self { last: 0, now: BinaryHeap::new(), buckets: vec![Vec::new(); 64] }
    }
}

impl Line for Radix {
    fn put(&mut self, event: Event) {
        match (event.time() ^ self.last).checked_ilog2() {
            None => self.now.push(Reverse(event)),
            Some(bit) => self.buckets[bit as usize].push(event),
        }
    }
    fn take(&mut self) -> Event {
        if self.now.is_empty() {
            let first = self.buckets.iter().position(|bucket| !bucket.is_empty()).unwrap();
            let mut bucket = std::mem::take(&mut self.buckets[first]);
            self.last = bucket.iter().map(|event| event.time()).min().unwrap();
            for event in bucket.drain(..) {
                self.put(event);
            }
            self.buckets[first] = bucket;
        }
        self.now.pop().unwrap().0
    }
}

/// Times from one event to what it causes: a frame, a link, a period.
fn ahead(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let random = *state >> 33;
    match random % 8 {
        0 => 125_000_000 + random % 1_000_000,
        1..=3 => 50_000 + random % 10_000,
        _ => 672_000 + random % 12_000_000,
    }
}

fn hold<L: Line + Default>(waiting: u32) -> impl FnMut() {
    let mut state = 1;
    let mut line = L::default();
    for node in 0..waiting {
        line.put(Event::new(ahead(&mut state), Kind::Judge, node, 0));
    }
    move || {
        for _ in 0..TAKEN {
            let event = line.take();
            line.put(Event::new(event.time() + ahead(&mut state), event.kind(), event.node(), 1));
            black_box(event);
        }
    }
}

fn queues(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("queue");
    group.throughput(Throughput::Elements(TAKEN)).sample_size(20);
    for waiting in [16, 1_000, 20_000] {
        group.bench_function(BenchmarkId::new("calendar", waiting), |b| b.iter(hold::<Queue>(waiting)));
        group.bench_function(BenchmarkId::new("binary_heap", waiting), |b| b.iter(hold::<Heap>(waiting)));
        group.bench_function(BenchmarkId::new("radix_heap", waiting), |b| b.iter(hold::<Radix>(waiting)));
    }
    group.finish();
}

criterion_group!(benches, queues);
criterion_main!(benches);
