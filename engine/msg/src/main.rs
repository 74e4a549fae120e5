// SPDX-License-Identifier: Apache-2.0
//! Messages and schedules from a shell, for hosts without Python.
use std::process::ExitCode;
use std::time::{Duration, Instant};

use penstock_msg::{schedule_of, set_schedule, Endpoint, Error, Identity, Options, Schedule};

const USAGE: &str = "\
penstock-msg send SELF OTHER SIZE,SIZE,... [PRIORITY]      messages of these sizes, nodes as 0x00010100
penstock-msg receive SELF OTHER SIZE,SIZE,...              says how many came whole and in order
penstock-msg set INTERFACE SLOT_NS,... QUEUE,... CYCLE_NS [GUARD_NS]   slots by queue (TQCR), and their order (SCR)
penstock-msg get INTERFACE                                 says what acts, in the same words";
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Some(Ok(said)) => println!("{said}"),
        Some(Err(error)) => {
            eprintln!("error: {error}");
            return ExitCode::from(1);
        }
        None => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// None: the words are none of the usage.
fn run(words: &[&str]) -> Option<Result<String, Error>> {
    match *words {
        ["send", own, other, sizes] => Some(send(node(own)?, node(other)?, &numbers(sizes)?, 0)),
        ["send", own, other, sizes, priority] => {
            Some(send(node(own)?, node(other)?, &numbers(sizes)?, priority.parse().ok()?))
        }
        ["receive", own, other, sizes] => Some(receive(node(own)?, node(other)?, &numbers(sizes)?)),
        ["set", interface, slots, order, cycle] => set(interface, slots, order, cycle, "0"),
        ["set", interface, slots, order, cycle, guard] => set(interface, slots, order, cycle, guard),
        ["get", interface] => Some(schedule_of(interface).map(|found| {
            format!("{} {} {} {}", joined(&found.slot_ns), joined(&found.order), found.cycle_ns, found.guard_ns)
        })),
        _ => None,
    }
}

fn set(interface: &str, slots: &str, order: &str, cycle: &str, guard: &str) -> Option<Result<String, Error>> {
    let (cycle_ns, guard_ns) = (cycle.parse().ok()?, guard.parse().ok()?);
    let schedule = Schedule { slot_ns: numbers(slots)?, order: numbers(order)?, cycle_ns, guard_ns };
    Some(set_schedule(interface, &schedule).map(|()| format!("{interface} has the schedule")))
}

fn node(word: &str) -> Option<Identity> {
    u32::from_str_radix(word.strip_prefix("0x")?, 16).ok().map(Identity)
}

/// None of an empty word.
fn numbers<T: std::str::FromStr>(word: &str) -> Option<Vec<T>> {
    word.split(',').filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect()
}

fn joined<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

/// What the message that is sent as number so and so holds: follows from place and size.
fn content(number: usize, size: usize) -> Vec<u8> {
    let mut state = (number as u32) << 16 ^ size as u32;
    (0..size)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect()
}

/// The first is tried until the other node listens; the end is its answer to all of them.
fn send(own: Identity, other: Identity, sizes: &[usize], priority: i32) -> Result<String, Error> {
    let node = Endpoint::open(own, Options { priority, ..Options::default() })?;
    let until = Instant::now() + PATIENCE;
    for (number, &size) in sizes.iter().enumerate() {
        while let Err(error) = node.send(other, &content(number, size)) {
            if number > 0 || !matches!(error, Error::Unreachable { .. }) || Instant::now() > until {
                return Err(error);
            }
            std::thread::sleep(PAUSE);
        }
    }
    node.receive(other, &mut [0])?;
    Ok(sizes.len().to_string())
}

fn receive(own: Identity, other: Identity, sizes: &[usize]) -> Result<String, Error> {
    let node = Endpoint::open(own, Options::default())?;
    let mut whole = 0;
    for (number, &size) in sizes.iter().enumerate() {
        let mut came = vec![0; size];
        node.receive(other, &mut came)?;
        whole += usize::from(came == content(number, size));
    }
    node.send(other, &[1])?;
    Ok(whole.to_string())
}
