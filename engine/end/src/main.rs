// SPDX-License-Identifier: Apache-2.0
//! The command line of the end station. Exit status 0: done; 1: done, but a requirement was not met; 2: bad input;
//! 3: the system cannot.
#![forbid(unsafe_code)]
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;

use penstock_end::options::{Command, Common, Options};
use penstock_end::plan::Plan;
use penstock_end::station::EndError;
use penstock_end::{listen, talk, watch};

const NOT_MET: u8 = 1;
const BAD_INPUT: u8 = 2;
const MACHINE: u8 = 3;

fn main() -> ExitCode {
    let result = match &Options::parse().command {
        Command::Talk(common) => station(common, false, |plan| {
            talk::run(plan, &common.out).map(|s| (s.ok, shown(common.json, &s, s.text())))
        }),
        Command::Listen(common) => station(common, true, |plan| {
            listen::run(plan, &common.out).map(|s| (s.ok, shown(common.json, &s, s.text())))
        }),
        Command::Watch { plan } => watched(plan).map(|()| (true, String::new())),
    };
    finish(result)
}

type Ended = Result<(bool, String), EndError>;

fn station(common: &Common, listening: bool, run: impl FnOnce(&Plan) -> Ended) -> Ended {
    common.plan(listening).map_err(EndError::Faults).and_then(|plan| run(&plan))
}

fn watched(file: &Path) -> Result<(), EndError> {
    let name = file.display();
    let text = fs::read_to_string(file).map_err(|error| EndError::Input(format!("{name}: cannot be read: {error}")))?;
    let node = watch::Node::parse(&text).map_err(|error| EndError::Input(format!("{name}: {error}")))?;
    watch::run(&node, |line| {
        // Nobody may be reading any more.
        _ = writeln!(io::stdout(), "{line}");
    })
}

fn shown(json: bool, summary: &impl Serialize, text: String) -> String {
    if json {
        serde_json::to_string(summary).map_or(text, |line| line + "\n")
    } else {
        text
    }
}

fn finish(result: Ended) -> ExitCode {
    match result {
        Ok((ok, text)) => {
            // Nobody may be reading any more.
            let _ = io::stdout().write_all(text.as_bytes());
            ExitCode::from(if ok { 0 } else { NOT_MET })
        }
        Err(error) => {
            error.to_string().lines().for_each(|line| eprintln!("penstock-end: {line}"));
            ExitCode::from(match error {
                EndError::Input(_) | EndError::Faults(_) => BAD_INPUT,
                EndError::Kernel { .. } | EndError::RealTime(_) => MACHINE,
            })
        }
    }
}
