// SPDX-License-Identifier: Apache-2.0
//! Which time stamps are trusted for what, and why. Stamps of different kinds are never mixed in one number.
use serde::Serialize;

use crate::plan::StampChoice;

/// Who has read the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Hardware,
    Kernel,
    User,
}

pub const KINDS: [Kind; 3] = [Kind::Hardware, Kind::Kernel, Kind::User];

/// What is known of the stamps of all frames.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub driver: String,
    pub frames: u64,
    pub with_kernel: u64,
    pub with_hardware: u64,
    /// Frames whose talker gave the kernel a launch time.
    pub with_launch_time: u64,
    /// Of these, frames whose kernel's stamp is the launch time.
    pub stamped_as_asked: u64,
    /// The interface's clock less CLOCK_TAI, where it could be read.
    pub ptp_clock_minus_tai_ns: Option<i64>,
    pub threshold_ns: u64,
}

/// What one kind of stamps is good for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trust {
    pub frames: u64,
    /// For the time from one frame to the next.
    pub periods: bool,
    /// For the time since a frame was built.
    pub latency: bool,
    pub why: String,
}

/// The verdict on all kinds, and which is used.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    pub hardware: Trust,
    pub kernel: Trust,
    pub user: Trust,
    pub periods_from: Kind,
    pub latency_from: Kind,
    /// What is used though it is not trusted, since it was asked for.
    pub warning: Option<String>,
}

/// Decides which stamps are trusted and used.
pub fn judge(facts: &Facts, choice: StampChoice) -> Verdict {
    let (hardware, kernel, user) = (hardware(facts), kernel(facts), user(facts));
    let first = |good: fn(&Trust) -> bool| match () {
        () if good(&hardware) => Kind::Hardware,
        () if good(&kernel) => Kind::Kernel,
        () => Kind::User,
    };
    let (mut periods_from, mut latency_from) = (first(|t| t.periods), first(|t| t.latency));
    let mut warning = None;
    let asked = match choice {
        StampChoice::Auto => None,
        StampChoice::Hardware => Some((Kind::Hardware, &hardware)),
        StampChoice::Kernel => Some((Kind::Kernel, &kernel)),
        StampChoice::User => Some((Kind::User, &user)),
    };
    if let Some((kind, trust)) = asked {
        (periods_from, latency_from) = (kind, kind);
        if !(trust.periods && trust.latency) {
            warning = Some(format!("used because it was asked for, not because it is trusted: {}", trust.why));
        }
    }
    Verdict { hardware, kernel, user, periods_from, latency_from, warning }
}

fn hardware(facts: &Facts) -> Trust {
    let frames = facts.with_hardware;
    let (periods, latency, why) = if frames == 0 {
        (false, false, "the interface gave none".to_owned())
    } else if frames < facts.frames {
        (false, false, format!("only {frames} of {} frames have one", facts.frames))
    } else {
        match facts.ptp_clock_minus_tai_ns {
            Some(offset) if offset.unsigned_abs() <= facts.threshold_ns => {
                (true, true, format!("taken at the wire; the interface's clock is {offset} ns from CLOCK_TAI"))
            }
            Some(offset) => (
                true,
                false,
                format!("taken at the wire, but the interface's clock is {offset} ns from CLOCK_TAI; run phc2sys"),
            ),
            None => (true, false, "taken at the wire, but the interface's clock cannot be read".to_owned()),
        }
    };
    Trust { frames, periods, latency, why }
}

fn kernel(facts: &Facts) -> Trust {
    let frames = facts.with_kernel;
    let (good, why) = if frames == 0 {
        (false, "the kernel gave none".to_owned())
    } else if frames < facts.frames {
        (false, format!("only {frames} of {} frames have one", facts.frames))
    } else if facts.driver == "veth" && facts.with_launch_time > 0 {
        let why = format!(
            "over veth a frame may carry the launch time that was asked for into its stamp ({} of {} frames show \
             it), which then proves nothing",
            facts.stamped_as_asked, facts.with_launch_time
        );
        (false, why)
    } else {
        (true, "taken when the driver handed the frame to the kernel, before the program was woken".to_owned())
    };
    Trust { frames, periods: good, latency: good, why }
}

fn user(facts: &Facts) -> Trust {
    let why = "read by the program; has its wake-up in it, and is never earlier than the frame".to_owned();
    Trust { frames: facts.frames, periods: true, latency: true, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts { driver: "veth".into(), frames: 10, with_kernel: 10, threshold_ns: 100, ..Facts::default() }
    }

    #[test]
    fn the_kernel_is_trusted_over_veth_without_launch_times_only() {
        let plain = judge(&facts(), StampChoice::Auto);
        assert_eq!((plain.periods_from, plain.latency_from), (Kind::Kernel, Kind::Kernel));
        let launched = judge(&Facts { with_launch_time: 1, ..facts() }, StampChoice::Auto);
        assert_eq!((launched.periods_from, launched.latency_from), (Kind::User, Kind::User));
        assert!(launched.kernel.why.contains("proves nothing"));
        let wire = judge(&Facts { with_launch_time: 1, driver: "igb".into(), ..facts() }, StampChoice::Auto);
        assert_eq!(wire.latency_from, Kind::Kernel);
    }

    #[test]
    fn hardware_needs_a_clock_that_can_be_compared() {
        let near = Facts { driver: "igb".into(), with_hardware: 10, ptp_clock_minus_tai_ns: Some(-100), ..facts() };
        let verdict = judge(&near, StampChoice::Auto);
        assert_eq!((verdict.periods_from, verdict.latency_from), (Kind::Hardware, Kind::Hardware));
        for offset in [Some(101), None] {
            let verdict = judge(&Facts { ptp_clock_minus_tai_ns: offset, ..near.clone() }, StampChoice::Auto);
            assert_eq!((verdict.periods_from, verdict.latency_from), (Kind::Hardware, Kind::Kernel));
        }
    }

    #[test]
    fn a_kind_that_some_frames_lack_is_not_used() {
        let verdict = judge(&Facts { with_kernel: 9, with_hardware: 9, ..facts() }, StampChoice::Auto);
        assert_eq!((verdict.periods_from, verdict.latency_from), (Kind::User, Kind::User));
    }

    #[test]
    fn what_is_asked_for_is_used_with_a_warning() {
        let verdict = judge(&Facts { with_launch_time: 1, ..facts() }, StampChoice::Kernel);
        assert_eq!(verdict.latency_from, Kind::Kernel);
        assert!(verdict.warning.unwrap().contains("not because it is trusted"));
    }
}
