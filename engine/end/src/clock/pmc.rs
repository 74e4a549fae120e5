// SPDX-License-Identifier: Apache-2.0
//! The state of ptp4l, as its management client `pmc` prints it.
use std::io;
use std::process::Command;

use serde::Serialize;
use thiserror::Error;

const REQUESTS: [&str; 2] = ["GET PORT_DATA_SET", "GET TIME_STATUS_NP"];

/// State of a PTP port (IEEE 1588 8.2.15.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PortState {
    Master,
    Slave,
    Other,
}

/// What ptp4l says of itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct State {
    #[serde(serialize_with = "super::hexadecimal")]
    pub grandmaster: u64,
    /// It follows a grandmaster; else it is one itself, or nobody is.
    pub follows: bool,
    pub offset_ns: Option<f64>,
    pub ports: Vec<PortState>,
}

/// Why there is no state.
#[derive(Debug, Error)]
pub enum PmcError {
    #[error("{command} cannot be run: {error}")]
    Run { command: String, error: io::Error },
    #[error("{command} failed: {message}")]
    Failed { command: String, message: String },
    #[error("pmc got no answer with {0}; is ptp4l running, and may pmc reach its socket?")]
    Missing(&'static str),
    #[error("pmc says \"{0}\", which is not understood")]
    Form(String),
}

/// Runs pmc and gives what it prints.
pub fn ask(command: &[String]) -> Result<String, PmcError> {
    let shown = command.join(" ");
    let Some((program, options)) = command.split_first() else { return Err(PmcError::Form(shown)) };
    let output = Command::new(program).args(options).args(REQUESTS).output();
    let output = output.map_err(|error| PmcError::Run { command: shown.clone(), error })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(PmcError::Failed { command: shown, message })
}

/// Reads what pmc printed for `GET PORT_DATA_SET` and `GET TIME_STATUS_NP`.
pub fn parse(output: &str) -> Result<State, PmcError> {
    let (mut grandmaster, mut follows, mut offset_ns) = (None, None, None);
    let mut ports = Vec::new();
    for line in output.lines() {
        let mut words = line.split_whitespace();
        let (Some(key), Some(value)) = (words.next(), words.next()) else { continue };
        let form = || PmcError::Form(line.trim().to_owned());
        match key {
            "gmIdentity" => grandmaster = Some(identity(value).ok_or_else(form)?),
            "gmPresent" => follows = Some(value.parse::<bool>().map_err(|_| form())?),
            "master_offset" => offset_ns = Some(value.parse::<f64>().ok().filter(|n| n.is_finite()).ok_or_else(form)?),
            "portState" => ports.push(match value {
                "MASTER" | "GRAND_MASTER" => PortState::Master,
                "SLAVE" => PortState::Slave,
                _ => PortState::Other,
            }),
            _ => {}
        }
    }
    if ports.is_empty() {
        return Err(PmcError::Missing("portState"));
    }
    Ok(State {
        grandmaster: grandmaster.ok_or(PmcError::Missing("gmIdentity"))?,
        follows: follows.ok_or(PmcError::Missing("gmPresent"))?,
        offset_ns,
        ports,
    })
}

/// 001122.fffe.334455 as a number.
fn identity(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(|&c| c != '.').collect();
    let right = digits.len() == 16 && digits.chars().all(|c| c.is_ascii_hexdigit());
    right.then(|| u64::from_str_radix(&digits, 16).ok()).flatten()
}

impl State {
    /// Why this host is not synchronized; None when it is.
    pub fn fault(&self, threshold_ns: u64) -> Option<String> {
        if !self.follows {
            let master = self.ports.contains(&PortState::Master);
            return (!master).then(|| "ptp4l neither follows a grandmaster nor is one".to_owned());
        }
        if !self.ports.contains(&PortState::Slave) {
            return Some("no port of ptp4l is in the state SLAVE".to_owned());
        }
        match self.offset_ns {
            None => Some("pmc says nothing of master_offset".to_owned()),
            Some(offset) if offset.abs() > threshold_ns as f64 => {
                Some(format!("the offset from the master is {offset} ns, the threshold {threshold_ns} ns"))
            }
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLAVE: &str = "sending: GET PORT_DATA_SET
\t001122.fffe.334455-1 seq 0 RESPONSE MANAGEMENT PORT_DATA_SET
\t\tportIdentity            001122.fffe.334455-1
\t\tportState               SLAVE
\t\tlogMinDelayReqInterval  0
sending: GET TIME_STATUS_NP
\t001122.fffe.334455-1 seq 1 RESPONSE MANAGEMENT TIME_STATUS_NP
\t\tmaster_offset              -412
\t\tingress_time               1574123456789012345
\t\tcumulativeScaledRateOffset +0.000000000
\t\tgmPresent                  true
\t\tgmIdentity                 a0b1c2.fffe.d3e4f5
";

    #[test]
    fn a_slave_is_read() {
        let state = parse(SLAVE).unwrap();
        let wanted = State {
            grandmaster: 0xa0b1_c2ff_fed3_e4f5,
            follows: true,
            offset_ns: Some(-412.0),
            ports: vec![PortState::Slave],
        };
        assert_eq!(state, wanted);
        assert_eq!(state.fault(412), None);
        assert!(state.fault(411).unwrap().contains("-412"));
    }

    #[test]
    fn a_grandmaster_is_synchronized_with_itself() {
        let text = SLAVE.replace("SLAVE", "MASTER").replace("true", "false");
        assert_eq!(parse(&text).unwrap().fault(0), None);
        let text = SLAVE.replace("SLAVE", "LISTENING").replace("true", "false");
        assert!(parse(&text).unwrap().fault(1_000_000).unwrap().contains("neither"));
    }

    #[test]
    fn one_that_is_not_yet_calibrated_is_not() {
        let text = SLAVE.replace("SLAVE", "UNCALIBRATED");
        assert!(parse(&text).unwrap().fault(1_000_000).unwrap().contains("SLAVE"));
        let text = SLAVE.replace("master_offset", "else");
        assert!(parse(&text).unwrap().fault(1_000_000).is_some());
    }

    #[test]
    fn silence_and_nonsense_are_told() {
        assert!(matches!(parse("sending: GET PORT_DATA_SET\n"), Err(PmcError::Missing("portState"))));
        for wrong in [SLAVE.replace("-412", "NaN"), SLAVE.replace("d3e4f5", "d3e4"), SLAVE.replace("true", "yes")] {
            assert!(matches!(parse(&wrong), Err(PmcError::Form(_))));
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_told() {
        let error = ask(&["/nowhere/pmc".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("/nowhere/pmc cannot be run"), "{error}");
    }
}
