// SPDX-License-Identifier: Apache-2.0
//! Messages against plain TCP, in turns: how fast they are one way, and how long one takes there and back.
//!
//! `throughput [NETWORK_BYTE]`: between two addresses of the loopback network, or 10 where namespaces have some.
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use penstock_msg::{Endpoint, Error, Identity, Options, Tile};

const ROUNDS: usize = 7;
const EACH: Duration = Duration::from_millis(300);

/// A way to send so many bytes and to receive them.
trait Way: Sync {
    fn send(&self, message: &[u8]);
    fn receive(&self, buffer: &mut [u8]);
    fn answer(&self, message: &[u8]);
    fn hear(&self, buffer: &mut [u8]);
}

struct Messages {
    a: Endpoint,
    b: Endpoint,
}

const A: Identity = Identity(0);
const B: Identity = Identity(1);

impl Way for Messages {
    fn send(&self, message: &[u8]) {
        self.a.send(B, message).expect("sent");
    }

    fn receive(&self, buffer: &mut [u8]) {
        self.b.receive(A, buffer).expect("received");
    }

    fn answer(&self, message: &[u8]) {
        self.b.send(A, message).expect("sent");
    }

    fn hear(&self, buffer: &mut [u8]) {
        self.a.receive(B, buffer).expect("received");
    }
}

struct Plain {
    a: TcpStream,
    b: TcpStream,
}

impl Way for Plain {
    fn send(&self, message: &[u8]) {
        (&self.a).write_all(message).expect("sent");
    }

    fn receive(&self, buffer: &mut [u8]) {
        (&self.b).read_exact(buffer).expect("received");
    }

    fn answer(&self, message: &[u8]) {
        (&self.b).write_all(message).expect("sent");
    }

    fn hear(&self, buffer: &mut [u8]) {
        (&self.a).read_exact(buffer).expect("received");
    }
}

/// Bytes a second.
fn throughput(way: &dyn Way, size: usize, count: usize) -> f64 {
    let message = vec![7; size];
    let begin = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| (0..count).for_each(|_| way.send(&message)));
        let mut buffer = vec![0; size];
        (0..count).for_each(|_| way.receive(&mut buffer));
    });
    (size * count) as f64 / begin.elapsed().as_secs_f64()
}

/// Seconds there and back.
fn round_trip(way: &dyn Way, size: usize, count: usize) -> f64 {
    let (message, mut buffer) = (vec![7; size], vec![0; size]);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = vec![0; size];
            for _ in 0..count {
                way.receive(&mut buffer);
                way.answer(&buffer);
            }
        });
        for _ in 0..count {
            way.send(&message);
            way.hear(&mut buffer);
        }
    });
    begin.elapsed().as_secs_f64() / count as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Result<(), Error> {
    let network = [std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(127), 0];
    let options = Options { network, ..Options::default() };
    let messages = Messages { a: Endpoint::open(A, options.clone())?, b: Endpoint::open(B, options.clone())? };
    let to: Ipv4Addr = B.address(Tile::default(), network)?;
    let listener = TcpListener::bind((to, 0)).expect("an address");
    let a = TcpStream::connect(listener.local_addr().expect("its own")).expect("connected");
    let plain = Plain { a, b: listener.accept().expect("accepted").0 };
    for stream in [&plain.a, &plain.b] {
        stream.set_nodelay(true).expect("an option");
    }
    println!(
        "| bytes | messages Mb/s | plain TCP Mb/s | ratio | messages us | plain TCP us |\n|--:|--:|--:|--:|--:|--:|"
    );
    for size in [64, 1 << 10, 1 << 14, 1 << 16, 1 << 18, 1 << 20] {
        let count = ((throughput(&plain, size, 100) * EACH.as_secs_f64()) as usize / size).clamp(100, 1_000_000);
        let (mut fast, mut times, mut ratios) = ([vec![], vec![]], [vec![], vec![]], vec![]);
        for round in 0..ROUNDS {
            let mut rates = [0.0; 2];
            for turn in 0..2 {
                let which = (turn + round) % 2;
                let way: &dyn Way = if which == 0 { &messages } else { &plain };
                rates[which] = throughput(way, size, count) * 8e-6;
                fast[which].push(rates[which]);
                times[which].push(round_trip(way, size, 200) * 1e6);
            }
            ratios.push(rates[0] / rates[1]);
        }
        let [m, p] = fast.map(median);
        let [there, back] = times.map(median);
        println!("| {size} | {m:.0} | {p:.0} | {:.2} | {there:.1} | {back:.1} |", median(ratios));
    }
    Ok(())
}
