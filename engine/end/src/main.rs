// SPDX-License-Identifier: Apache-2.0
//! The command line of the end station. Exit status 0: done; 1: done, but a requirement was not met; 2: bad input;
//! 3: the system cannot.
#![forbid(unsafe_code)]
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;

use penstock_end::options::{Command, Options};
use penstock_end::station::EndError;
use penstock_end::{listen, talk};

const NOT_MET: u8 = 1;
const BAD_INPUT: u8 = 2;
const MACHINE: u8 = 3;

fn main() -> ExitCode {
    let command = Options::parse().command;
    let (Command::Talk(common) | Command::Listen(common)) = &command;
    let plan = match common.plan(matches!(command, Command::Listen(_))) {
        Ok(plan) => plan,
        Err(faults) => {
            faults.iter().for_each(|fault| eprintln!("penstock-end: {fault}"));
            return ExitCode::from(BAD_INPUT);
        }
    };
    let result = match &command {
        Command::Talk(common) => talk::run(&plan, &common.out).map(|s| (s.ok, shown(common.json, &s, s.text()))),
        Command::Listen(common) => listen::run(&plan, &common.out).map(|s| (s.ok, shown(common.json, &s, s.text()))),
    };
    finish(result)
}

fn shown(json: bool, summary: &impl Serialize, text: String) -> String {
    if json {
        serde_json::to_string(summary).map_or(text, |line| line + "\n")
    } else {
        text
    }
}

fn finish(result: Result<(bool, String), EndError>) -> ExitCode {
    match result {
        Ok((ok, text)) => {
            // Nobody may be reading any more.
            let _ = io::stdout().write_all(text.as_bytes());
            ExitCode::from(if ok { 0 } else { NOT_MET })
        }
        Err(error) => {
            eprintln!("penstock-end: {error}");
            ExitCode::from(match error {
                EndError::Input(_) => BAD_INPUT,
                EndError::Kernel { .. } | EndError::RealTime(_) => MACHINE,
            })
        }
    }
}
