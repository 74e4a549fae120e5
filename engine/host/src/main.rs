// SPDX-License-Identifier: Apache-2.0
//! The command line. Exit status 0: it ran until it was told to stop; 2: bad input; 3: the system cannot.
#![forbid(unsafe_code)]
use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand};

use penstock_host::alone::{follow, measure, schedule, AloneError};
use penstock_host::both_ways::{both_ways, BothWays, SIZES};
use penstock_host::card::{Card, MOST_PAIRS, MOST_PORTS};
use penstock_host::differential::{compare, Compared, DifferenceError};
use penstock_host::hostile::{survive, Survived};
use penstock_host::model::{Model, Ports};
use penstock_host::run::Host;
use penstock_host::verilated::{Verilated, LATENCY_CYCLES};
use penstock_host::wire::Wire;

const LINE_BPS: u64 = 1_000_000_000;
const BAD_INPUT: u8 = 2;
const MACHINE: u8 = 3;

/// Serves a virtual machine with a network card. Each line on standard input is answered by what was counted, as JSON.
#[derive(Parser)]
#[command(name = "penstock-host", version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Program {
    #[command(flatten)]
    serve: Option<Options>,
    #[command(subcommand)]
    other: Option<Other>,
}

#[derive(Subcommand)]
enum Other {
    /// The card alone, its queues kept full; prints what each queue gets of the line, as JSON.
    Alone {
        /// A library of penstock.hardware.model.build_card; the model, if there is none.
        library: Option<PathBuf>,
    },
    /// As `alone`, with a schedule of its own for each port of a card; prints what each queue gets of its line, as JSON.
    Schedules {
        /// A library of penstock.hardware.model.build_card; the model with four ports, if there is none.
        library: Option<PathBuf>,
    },
    /// As `alone`, with slots, while the PTP clock is set, stepped, slewed and sped up; prints what was seen by its time, as JSON.
    Clock {
        /// A library of penstock.hardware.model.build_card; the model, if there is none.
        library: Option<PathBuf>,
    },
    /// All ports full in both directions, by size of frames; prints what each received and sent, as JSON.
    BothWays {
        /// A library of penstock.hardware.model.build_card.
        library: PathBuf,
        /// From an address to the first byte of memory, in cycles of 8 ns.
        #[arg(long, default_value_t = LATENCY_CYCLES)]
        latency_cycles: u32,
    },
    /// A guest that means harm, against the model or the card in hardware; prints what it did, as JSON.
    Hostile {
        /// A library of penstock.hardware.model.build_card; the model, if there is none.
        library: Option<PathBuf>,
        /// The first guest's seed; the others have those after it.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Guests.
        #[arg(long, default_value_t = 100)]
        count: u64,
    },
    /// The model against the card in hardware, on random rings, frames and settings; prints what was compared, as JSON.
    Differ {
        /// A library of penstock.hardware.model.build_card.
        library: PathBuf,
        /// The first scenario's seed; the others have those after it.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Scenarios.
        #[arg(long, default_value_t = 100)]
        count: u64,
    },
}

#[derive(Args)]
struct Options {
    /// The Unix socket for the virtual machine (vhost-user).
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// A Unix socket for registers, by the protocol of a board's serial line.
    #[arg(long, value_name = "PATH")]
    registers: Option<PathBuf>,
    /// Queue pairs, 1 to 16.
    #[arg(long, value_name = "N", default_value_t = 4)]
    pairs: usize,
    /// The card in hardware: a library of penstock.hardware.model.build_card, which says how many queue pairs it has.
    #[arg(long, value_name = "LIBRARY", conflicts_with = "pairs")]
    rtl: Option<PathBuf>,
    /// What passes on the line in a second, in b/s. Hardware's own line has 1 Gb/s, and its clock goes as much more slowly.
    #[arg(long, value_name = "B/S", default_value_t = 1_000_000_000)]
    rate: u64,
    /// The wire goes to a TAP interface of this name, which is made.
    #[arg(long, value_name = "NAME", conflicts_with = "cable")]
    tap: Option<String>,
    /// The wire goes to another card: this one's socket and that of the other.
    #[arg(long, value_name = "PATH", num_args = 2)]
    cable: Option<Vec<PathBuf>>,
    /// Writes all frames of the wire, as pcapng.
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,
    /// The card's clock goes as far as it is told by lines on standard input: "run NS", "receive NS HEX" or nothing.
    #[arg(long, requires = "rtl", conflicts_with_all = ["tap", "cable"])]
    steps: bool,
}

fn main() -> ExitCode {
    let program = Program::parse();
    match program.other {
        Some(Other::Differ { library, seed, count }) => return differ(&library, seed, count),
        Some(Other::Hostile { library, seed, count }) => return hostile(library.as_deref(), seed, count),
        Some(Other::Alone { library }) => return tell(alone(library.as_deref(), 1, measure)),
        Some(Other::Schedules { library }) => return tell(alone(library.as_deref(), MOST_PORTS, schedule)),
        Some(Other::Clock { library }) => return tell(alone(library.as_deref(), 1, follow)),
        Some(Other::BothWays { library, latency_cycles }) => return tell(full(&library, latency_cycles)),
        None => {}
    }
    let Some(options) = program.serve else { return ExitCode::from(BAD_INPUT) };
    if !(1..=MOST_PAIRS).contains(&options.pairs) {
        eprintln!("penstock-host: {} queue pairs; 1 to {MOST_PAIRS} are allowed", options.pairs);
        return ExitCode::from(BAD_INPUT);
    }
    if options.rate == 0 {
        eprintln!("penstock-host: a rate of 0 b/s; 1 or more is allowed");
        return ExitCode::from(BAD_INPUT);
    }
    match serve(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("penstock-host: {error}");
            ExitCode::from(MACHINE)
        }
    }
}

/// Measures the model with so many ports, or hardware with as many as it has.
fn alone<Seen>(
    library: Option<&Path>,
    ports: usize,
    measure: impl Fn(&mut dyn Card) -> Result<Seen, AloneError>,
) -> Result<Seen, String> {
    match library {
        None => measure(&mut Ports::new(ports, MOST_PAIRS, LINE_BPS)).map_err(|error| error.to_string()),
        Some(path) => Verilated::open(path, LINE_BPS)
            .map_err(|error| error.to_string())
            .and_then(|mut card| measure(&mut card).map_err(|error| error.to_string())),
    }
}

/// Each size of frames with hardware that has just begun.
fn full(library: &Path, latency_cycles: u32) -> Result<Vec<BothWays>, String> {
    let of_size = |bytes| {
        let mut card = Verilated::with_latency(library, LINE_BPS, latency_cycles).map_err(|error| error.to_string())?;
        both_ways(&mut card, bytes).map_err(|error| error.to_string())
    };
    Ok(SIZES.into_iter().map(of_size).collect::<Result<Vec<_>, _>>()?.concat())
}

fn tell<Seen: serde::Serialize>(seen: Result<Seen, String>) -> ExitCode {
    match seen.and_then(|seen| serde_json::to_string(&seen).map_err(|error| error.to_string())) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("penstock-host: {error}");
            ExitCode::from(MACHINE)
        }
    }
}

fn hostile(library: Option<&Path>, seed: u64, count: u64) -> ExitCode {
    let (mut all, mut harmed) = (Survived::default(), Vec::new());
    for seed in seed..seed.saturating_add(count) {
        let card: Result<Box<dyn Card>, _> = match library {
            None => Ok(Box::new(Model::new(MOST_PAIRS, LINE_BPS))),
            Some(path) => Verilated::open(path, LINE_BPS).map(|card| Box::new(card) as Box<dyn Card>),
        };
        let mut card = match card {
            Ok(card) => card,
            Err(error) => {
                eprintln!("penstock-host: {error}");
                return ExitCode::from(BAD_INPUT);
            }
        };
        match survive(&mut *card, seed) {
            Ok(survived) => all.add(&survived),
            Err(error) => {
                eprintln!("penstock-host: {error}");
                harmed.push(seed);
            }
        }
    }
    println!("{}", serde_json::json!({ "guests": count, "harmed": harmed, "survived": all }));
    if harmed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn differ(library: &Path, seed: u64, count: u64) -> ExitCode {
    let mut all = Compared::default();
    let mut status = ExitCode::SUCCESS;
    let mut differing = Vec::new();
    for seed in seed..seed.saturating_add(count) {
        match compare(library, seed) {
            Ok(found) => all.add(&found),
            Err(error) => {
                eprintln!("penstock-host: {error}");
                differing.push(seed);
                status = ExitCode::FAILURE;
                if matches!(error, DifferenceError::Hardware(_)) {
                    return ExitCode::from(BAD_INPUT);
                }
            }
        }
    }
    println!("{}", serde_json::json!({ "scenarios": count, "differing": differing, "compared": all }));
    status
}

fn serve(options: &Options) -> std::io::Result<()> {
    let mut wire = match (&options.tap, options.cable.as_deref()) {
        (Some(name), _) => Wire::to_tap(name)?,
        (None, Some([own, peer])) => Wire::to_card(own, peer)?,
        (None, _) => Wire::to_nobody(),
    };
    if let Some(path) = &options.capture {
        wire.capture(path, options.tap.as_deref().unwrap_or("card"))?;
    }
    let stop = stopping()?;
    let (asking, mut told) = (std::io::stdin(), std::io::stdout().lock());
    let sockets = (options.socket.as_path(), options.registers.as_deref());
    let counted = match &options.rtl {
        Some(library) => {
            let card = Verilated::open(library, options.rate).map_err(std::io::Error::other)?;
            let mut host = Host::new(card, wire, sockets.0, sockets.1)?;
            eprintln!("penstock-host: ready");
            if options.steps {
                host.run_by_steps(&stop, asking.as_fd(), &mut told)?;
            } else {
                host.run(&stop, asking.as_fd(), &mut told)?;
            }
            host.counted()
        }
        None => {
            let mut host = Host::new(Model::new(options.pairs, options.rate), wire, sockets.0, sockets.1)?;
            eprintln!("penstock-host: ready");
            host.run(&stop, asking.as_fd(), &mut told)?;
            host.counted()
        }
    };
    writeln!(told, "{counted}")
}

/// Set when the program is told to stop; told once more, it ends at once.
fn stopping() -> std::io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}
