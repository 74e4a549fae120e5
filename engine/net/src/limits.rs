// SPDX-License-Identifier: Apache-2.0
//! The longest times of a description. Sums of a run and a few others fit the width of times, so nothing wraps while a
//! network runs; what is multiplied saturates, and so do the times of sources, since what is after the run is not released.
//!
//! With 64 bit a run ends before 2^63 ps, 106 days: signed times hold it, in the trace's readers and in gates that count
//! picoseconds. With 128 bit it lasts as long as PTP clocks do.
use crate::describe::{Handover, Jitter, Network, Source, SourceKind, Stream, Timing};
use crate::error::{wrong, RunError};
use penstock_shaper::Time;

/// Of a run, and of what is counted from its begin: 8 640 000 s, 100 days.
#[cfg(not(feature = "wide"))]
pub const LONGEST_PS: Time = 8_640_000_000_000_000_000;
/// Of 100 years of 365 days.
#[cfg(feature = "wide")]
pub const LONGEST_PS: Time = 3_153_600_000_000_000_000_000;
/// Of delays and displacements: 1 000 000 s.
pub const LONGEST_DELAY_PS: Time = 1_000_000_000_000_000_000;
/// What may be counted around a frame; below zero a part of it, but of the shortest of 64 bytes one byte at least.
pub const OVERHEAD_BYTES: std::ops::RangeInclusive<i32> = -63..=255;

/// Refuses what is beyond, by its name.
pub fn check(network: &Network) -> Result<(), RunError> {
    if network.years && cfg!(not(feature = "wide")) {
        return Err(wrong("years; times of 64 bit hold 100 days".to_owned()));
    }
    time("duration_ps", network.duration_ps)?;
    delay("drain_ps", network.drain_ps)?;
    for link in &network.links {
        delay("delay_ps of a link", link.delay_ps)?;
    }
    for bridge in &network.bridges {
        if let Timing::Ideal { processing_delay_ps, .. } = bridge.timing {
            delay("processing_delay_ps", processing_delay_ps).map_err(|error| of("bridge", &bridge.name, &error))?;
        }
    }
    for stream in &network.streams {
        check_stream(stream).map_err(|error| of("stream", &stream.name, &error))?;
    }
    Ok(())
}

fn of(kind: &str, name: &str, error: &RunError) -> RunError {
    wrong(format!("{kind} \"{name}\": {error}"))
}

fn check_stream(stream: &Stream) -> Result<(), RunError> {
    let Source { start_ps, jitter, kind, .. } = &stream.source;
    let times: &[(&str, Time)] = match kind {
        SourceKind::Capture { .. } | SourceKind::BackToBack { .. } => &[],
        SourceKind::Periodic { period_ps, .. } | SourceKind::Burst { period_ps, .. } => &[("period_ps", *period_ps)],
        SourceKind::Poisson { mean_ps, .. } => &[("mean_ps", *mean_ps)],
        SourceKind::Normal { mean_ps, deviation_ps, .. } => &[("mean_ps", *mean_ps), ("deviation_ps", *deviation_ps)],
        SourceKind::Pattern { period_ps, spread_ps, .. } => &[("period_ps", *period_ps), ("spread_ps", *spread_ps)],
        SourceKind::Response { after_ps, .. } => {
            delay("after_ps", *after_ps)?;
            &[]
        }
    };
    for &(key, value) in [("start_ps", *start_ps)].iter().chain(times) {
        time(key, value)?;
    }
    displacement("jitter", jitter.as_ref())?;
    if let Some(Handover { delay, launch }) = &stream.handover {
        displacement("delay of a handover", delay.as_ref())?;
        if let Some(launch) = launch {
            self::delay("offset_ps of a launch", launch.offset_ps)?;
            self::delay("lead_ps of a launch", launch.lead_ps)?;
            displacement("error of a launch", launch.error.as_ref())?;
        }
    }
    match &stream.committed {
        Some(committed) if !OVERHEAD_BYTES.contains(&committed.overhead_bytes) => Err(wrong(format!(
            "overhead_bytes is {}; {} to {} are allowed",
            committed.overhead_bytes,
            OVERHEAD_BYTES.start(),
            OVERHEAD_BYTES.end()
        ))),
        _ => Ok(()),
    }
}

fn displacement(key: &str, jitter: Option<&Jitter>) -> Result<(), RunError> {
    let most = match jitter {
        None => 0,
        Some(Jitter::NormalPs(most) | Jitter::UniformPs(most) | Jitter::ExponentialPs(most)) => Time::from(*most),
        Some(Jitter::ValuesPs(values)) => values.iter().map(|value| value.unsigned_abs().into()).max().unwrap_or(0),
        Some(Jitter::QuantilesPs(points)) => {
            points.iter().map(|point| point.1.unsigned_abs().into()).max().unwrap_or(0)
        }
    };
    delay(key, most)
}

fn time(key: &str, value_ps: Time) -> Result<(), RunError> {
    up_to(LONGEST_PS, key, value_ps)
}

fn delay(key: &str, value_ps: Time) -> Result<(), RunError> {
    up_to(LONGEST_DELAY_PS, key, value_ps)
}

fn up_to(most: Time, key: &str, value_ps: Time) -> Result<(), RunError> {
    if value_ps <= most {
        return Ok(());
    }
    Err(wrong(format!("{key} is {value_ps}; up to {most} are allowed")))
}
