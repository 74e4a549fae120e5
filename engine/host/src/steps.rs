// SPDX-License-Identifier: Apache-2.0
//! What is asked of a card whose time is somebody else's, a line each, and what it answers.
use std::str::FromStr;

use serde::Serialize;
use thiserror::Error;

use crate::card::Sent;

/// Times are of the card's clock, frames are without FCS, and begin with the first bit of their preamble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// An empty line: what was counted.
    Counts,
    /// `run NS`: goes on until then; the answer is a [`Step`].
    Run { until_ns: u64 },
    /// `receive NS HEX`: a frame comes by the wire at a time that is not over.
    Receive { at_ns: u64, frame: Vec<u8> },
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("\"{line}\" is not understood; nothing, \"run NS\" or \"receive NS HEX\" are allowed")]
pub struct NotUnderstood {
    line: String,
}

impl FromStr for Asked {
    type Err = NotUnderstood;

    fn from_str(line: &str) -> Result<Self, NotUnderstood> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let found = match words[..] {
            [] => Some(Self::Counts),
            ["run", until] => until.parse().ok().map(|until_ns| Self::Run { until_ns }),
            ["receive", at, hex] => {
                at.parse().ok().zip(of_hex(hex)).map(|(at_ns, frame)| Self::Receive { at_ns, frame })
            }
            _ => None,
        };
        found.ok_or_else(|| NotUnderstood { line: line.to_owned() })
    }
}

fn of_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.chars().map(|digit| digit.to_digit(16).map(|n| n as u8)).collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// What a card did until it was to stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Where its clock is: a little later than it was asked for, if registers were accessed.
    now_ns: u64,
    /// Nothing is in it.
    is_idle: bool,
    /// What left whole: when it began, by which queue, and its bytes.
    sent: Vec<(u64, usize, String)>,
}

impl Step {
    pub fn new(now_ns: u64, is_idle: bool, sent: &[Sent]) -> Self {
        let hex = |frame: &[u8]| frame.iter().map(|byte| format!("{byte:02x}")).collect();
        let sent = sent.iter().map(|sent| (sent.at_ns, sent.queue, hex(&sent.frame))).collect();
        Self { now_ns, is_idle, sent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_what_they_say() {
        let frame = vec![0x02, 0xFF, 0x0a];
        assert_eq!("".parse(), Ok(Asked::Counts));
        assert_eq!("run 4096".parse(), Ok(Asked::Run { until_ns: 4096 }));
        assert_eq!("receive 8 02ff0A".parse(), Ok(Asked::Receive { at_ns: 8, frame: frame.clone() }));
        for line in ["run", "run -1", "receive 8 02f", "receive 8 0x", "receive 8", "stop"] {
            assert!(line.parse::<Asked>().is_err(), "{line}");
        }
        let step = Step::new(16, true, &[Sent { queue: 2, at_ns: 8, frame }]);
        let told = serde_json::to_string(&step).unwrap();
        assert_eq!(told, r#"{"now_ns":16,"is_idle":true,"sent":[[8,2,"02ff0a"]]}"#);
    }
}
