// SPDX-License-Identifier: Apache-2.0
//! The command line of the plane. Exit status 0: it ran until it was told to stop; 2: bad input; 3: the system cannot.
#![forbid(unsafe_code)]
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use clap::Parser;
use serde_json::json;

use penstock_plane::clock::{tai_of_tick, thread_time_ns};
use penstock_plane::config::Config;
use penstock_plane::control::{Line, Server};
use penstock_plane::interfaces::{of_default_route, Interfaces};
use penstock_plane::link::{Chosen, Sockets};
use penstock_plane::plane::Plane;
use penstock_plane::run::Running;
use penstock_plane::writer::Writer;
use penstock_sys as sys;

const BAD_INPUT: u8 = 2;
const MACHINE: u8 = 3;

/// A bridge on real packets: a table, queues, gates, credit and pace for each port.
#[derive(Parser)]
#[command(name = "penstock-plane", version)]
struct Options {
    /// What it does, as JSON, - for standard input; docs/plane.md has the keys.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// A Unix socket for control while it runs.
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
    /// Writes what happened to each frame, as CSV.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// How frames of a port come and go, in place of what the file says: auto, zero_copy, native, generic or packet.
    #[arg(long, value_name = "NAME=SOCKETS", value_parser = port_and_sockets)]
    port: Vec<(String, Sockets)>,
    /// Takes interfaces too by which a default route leads.
    #[arg(long)]
    yes: bool,
}

/// What ends the program, with its status.
struct Ended(u8, String);

fn input(what: impl std::fmt::Display) -> Ended {
    Ended(BAD_INPUT, what.to_string())
}

fn machine(what: impl std::fmt::Display) -> Ended {
    Ended(MACHINE, what.to_string())
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Ended(status, what)) => {
            eprintln!("penstock-plane: {what}");
            ExitCode::from(status)
        }
    }
}

fn run(options: &Options) -> Result<(), Ended> {
    let (file, text) = read(&options.config)?;
    let mut config: Config = serde_json::from_slice(&text).map_err(|error| input(format!("{file}: {error}")))?;
    for (name, sockets) in &options.port {
        let known: Vec<_> = config.ports.iter().map(|port| port.name().to_owned()).collect();
        let Some(port) = config.ports.iter_mut().find(|port| port.name() == name) else {
            return Err(input(format!("--port: \"{name}\" is no port; allowed: {}", known.join(", "))));
        };
        port.sockets = *sockets;
    }
    check_default_route(&config, options.yes)?;
    let (now, tai_ns) = tai_of_tick();
    let mut plane = Plane::new(&config, now, tai_ns).map_err(|error| input(format!("{file}: {error}")))?;
    let names: Vec<_> = config.ports.iter().map(|port| port.name().to_owned()).collect();
    let streams = plane.table().streams().iter().map(|stream| stream.name.clone()).collect();
    let writer = options.trace.as_ref().map(|path| {
        plane.keep_rows();
        Writer::create(path, names.clone(), streams).map_err(|error| machine(format!("{}: {error}", path.display())))
    });
    let writer = writer.transpose()?;
    let stop = stop_flag().map_err(|error| machine(format!("signals: {error}")))?;
    let interfaces: Vec<_> = config.ports.iter().map(|port| (port.interface.clone(), port.sockets)).collect();
    let opened = Interfaces::open(&interfaces, config.max_frame_bytes.0 as usize).map_err(|(name, error)| {
        let hint = match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => " (needs root, or CAP_NET_RAW and CAP_NET_ADMIN)",
            Some(libc::ENODEV) => " (no such interface in this network namespace)",
            _ => "",
        };
        machine(format!("interface {name}: {error}{hint}"))
    })?;
    for (number, port) in config.ports.iter().enumerate() {
        let Chosen { sockets, why } = opened.chosen(number);
        let why = why.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
        eprintln!("penstock-plane: port {}: {sockets}{why}", port.name());
    }
    let (line, orders) = Line::new().map_err(machine)?;
    let server = options.control.as_ref().map(|path| {
        Server::start(path, names, line.clone()).map_err(|error| machine(format!("{}: {error}", path.display())))
    });
    let _server = server.transpose()?;
    // Last, so that only this thread is of real time.
    let grants = sys::ask(&config.realtime);
    for grant in &grants {
        if let Some(why) = &grant.refused {
            if config.realtime.required {
                return Err(machine(format!("{} refused: {why}", grant.what)));
            }
            eprintln!("penstock-plane: {} refused: {why}; going on without", grant.what);
        }
    }
    eprintln!("penstock-plane: {} ports, ready", interfaces.len());
    let before = thread_time_ns();
    let snapshot = Running::new(plane, opened, orders, writer).run(&stop).map_err(machine)?;
    let spent_ns = thread_time_ns() - before;
    let told = json!({"ok": true, "realtime": grants, "processor_ns": spent_ns, "counters": snapshot.shown()});
    // Nobody may be reading any more.
    let _ = writeln!(std::io::stdout(), "{told}");
    Ok(())
}

/// A file, or standard input, and what it is called.
fn read(path: &Path) -> Result<(String, Vec<u8>), Ended> {
    if path == Path::new("-") {
        let mut text = Vec::new();
        let read = std::io::stdin().read_to_end(&mut text);
        return read
            .map(|_| ("standard input".into(), text))
            .map_err(|error| input(format!("standard input: {error}")));
    }
    let file = path.display().to_string();
    fs::read(path).map(|text| (file.clone(), text)).map_err(|error| input(format!("{file}: {error}")))
}

fn port_and_sockets(text: &str) -> Result<(String, Sockets), String> {
    let (name, sockets) = text.split_once('=').ok_or("allowed: NAME=SOCKETS")?;
    Ok((name.to_owned(), sockets.parse()?))
}

fn check_default_route(config: &Config, yes: bool) -> Result<(), Ended> {
    let taken = of_default_route();
    match config.ports.iter().find(|port| taken.contains(&port.interface)) {
        Some(port) if !yes => {
            let name = &port.interface;
            Err(input(format!(
                "interface {name}: this machine's default route leads by it; allowed: another one, or --yes"
            )))
        }
        _ => Ok(()),
    }
}

/// A flag that Ctrl-C and SIGTERM set; a second one ends the program at once.
fn stop_flag() -> std::io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))?;
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(flag)
}
