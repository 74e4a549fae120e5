// SPDX-License-Identifier: Apache-2.0
//! Whose clock a host shows: its own, known by the boot, or that of a grandmaster which it follows.
use std::fs;
use std::io;

use serde::Serialize;

use super::pmc::{self, State};
use crate::plan::Pmc;

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// What stands in each frame: equal numbers mean one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    pub value: u64,
    /// The number is a grandmaster's and synchronization to it was shown.
    pub synchronized: bool,
}

/// What is known of this host's clock.
#[derive(Clone, Debug, Serialize)]
pub struct Evidence {
    /// First half of the boot id: one kernel, one clock, whatever its network namespaces.
    #[serde(serialize_with = "super::hexadecimal")]
    pub boot: u64,
    /// What ptp4l says, where it was asked.
    pub ptp: Option<State>,
    /// Why synchronization is not shown, where it was to be.
    pub refused: Option<String>,
}

impl Evidence {
    /// Reads the boot id and, where asked, ptp4l's state.
    pub fn gather(asked: Option<&Pmc>) -> io::Result<Evidence> {
        let text = fs::read_to_string(BOOT_ID)?;
        let boot = boot_identity(&text).ok_or_else(|| io::Error::other(format!("{BOOT_ID} has no identity")))?;
        let Some(asked) = asked else { return Ok(Evidence { boot, ptp: None, refused: None }) };
        let found = pmc::ask(&asked.command).and_then(|output| pmc::parse(&output));
        Ok(match found {
            Err(error) => Evidence { boot, ptp: None, refused: Some(error.to_string()) },
            Ok(state) => {
                let refused = state.fault(asked.threshold_ns);
                Evidence { boot, ptp: Some(state), refused }
            }
        })
    }

    /// What a talker writes into its frames.
    pub fn identity(&self) -> Identity {
        match (&self.ptp, &self.refused) {
            (Some(state), None) => Identity { value: state.grandmaster, synchronized: true },
            _ => Identity { value: self.boot, synchronized: false },
        }
    }

    /// Why frames with this identity carry times of another clock than this host's; None when they do not.
    pub fn other_clock(&self, talker: Identity) -> Option<String> {
        if !talker.synchronized {
            let own = talker.value == self.boot;
            return (!own).then(|| {
                "the talker runs on another machine and showed no synchronization; let both ends ask pmc".to_owned()
            });
        }
        match (&self.ptp, &self.refused) {
            (_, Some(fault)) => Some(format!("this host is not shown to be synchronized: {fault}")),
            (None, None) => Some("this host's synchronization is not shown; let the listener ask pmc".to_owned()),
            (Some(state), None) if state.grandmaster == talker.value => None,
            (Some(state), None) => Some(format!(
                "the talker follows grandmaster {:016x} and this host {:016x}",
                talker.value, state.grandmaster
            )),
        }
    }
}

/// The first half of a UUID as text.
fn boot_identity(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).take(16).collect();
    (digits.len() == 16).then(|| u64::from_str_radix(&digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::pmc::PortState;

    fn evidence(grandmaster: Option<u64>) -> Evidence {
        let ptp = grandmaster.map(|grandmaster| State {
            grandmaster,
            follows: true,
            offset_ns: Some(3.0),
            ports: vec![PortState::Slave],
        });
        Evidence { boot: 7, ptp, refused: None }
    }

    #[test]
    fn the_boot_id_is_read() {
        assert_eq!(boot_identity("01234567-89ab-cdef-0000-000000000000\n"), Some(0x0123_4567_89ab_cdef));
        assert_eq!(boot_identity("0123"), None);
    }

    #[test]
    fn one_machine_has_one_clock() {
        assert_eq!(evidence(None).other_clock(Identity { value: 7, synchronized: false }), None);
        let other = evidence(None).other_clock(Identity { value: 8, synchronized: false }).unwrap();
        assert!(other.contains("another machine"), "{other}");
    }

    #[test]
    fn two_machines_need_one_grandmaster() {
        let talker = Identity { value: 9, synchronized: true };
        assert_eq!(evidence(Some(9)).other_clock(talker), None);
        assert!(evidence(Some(8)).other_clock(talker).unwrap().contains("grandmaster"));
        assert!(evidence(None).other_clock(talker).unwrap().contains("pmc"));
        let lost = Evidence { refused: Some("far away".into()), ..evidence(Some(9)) };
        assert!(lost.other_clock(talker).unwrap().contains("far away"));
        // An unsynchronized talker's number is never taken for a grandmaster's.
        assert!(evidence(Some(9)).other_clock(Identity { value: 9, synchronized: false }).is_some());
    }
}
