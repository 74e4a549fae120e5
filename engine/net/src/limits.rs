// SPDX-License-Identifier: Apache-2.0
//! The longest times of a description. Sums of a few of them fit 64 bit with room to spare, so nothing wraps while a
//! network runs; what is multiplied saturates.
use crate::describe::{Handover, Jitter, Network, Source, Stream, Timing};
use crate::error::{wrong, RunError};

/// 3 000 000 s, 34 days.
pub const LONGEST_PS: u64 = 3_000_000_000_000_000_000;
/// What may be counted around a frame; below zero a part of it, but of the shortest of 64 bytes one byte at least.
pub const OVERHEAD_BYTES: std::ops::RangeInclusive<i32> = -63..=255;

/// Refuses what is beyond, by its name.
pub fn check(network: &Network) -> Result<(), RunError> {
    time("duration_ps", network.duration_ps)?;
    time("drain_ps", network.drain_ps)?;
    for link in &network.links {
        time("delay_ps of a link", link.delay_ps)?;
    }
    for bridge in &network.bridges {
        if let Timing::Ideal { processing_delay_ps, .. } = bridge.timing {
            time("processing_delay_ps", processing_delay_ps).map_err(|error| of("bridge", &bridge.name, &error))?;
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
    let (times, own_jitter): (&[(&str, u64)], _) = match &stream.source {
        Source::Capture { start_ps, jitter, .. } | Source::BackToBack { start_ps, jitter, .. } => {
            (&[("start_ps", *start_ps)], jitter)
        }
        Source::Periodic { period_ps, start_ps, jitter, .. } | Source::Burst { period_ps, start_ps, jitter, .. } => {
            (&[("start_ps", *start_ps), ("period_ps", *period_ps)], jitter)
        }
        Source::Poisson { mean_ps, start_ps, jitter, .. } => {
            (&[("start_ps", *start_ps), ("mean_ps", *mean_ps)], jitter)
        }
        Source::Normal { mean_ps, deviation_ps, start_ps, jitter, .. } => {
            (&[("start_ps", *start_ps), ("mean_ps", *mean_ps), ("deviation_ps", *deviation_ps)], jitter)
        }
        Source::Pattern { period_ps, spread_ps, start_ps, jitter, .. } => {
            (&[("start_ps", *start_ps), ("period_ps", *period_ps), ("spread_ps", *spread_ps)], jitter)
        }
        Source::Response { after_ps, jitter, .. } => (&[("after_ps", *after_ps)], jitter),
    };
    for &(key, value) in times {
        time(key, value)?;
    }
    displacement("jitter", own_jitter.as_ref())?;
    if let Some(Handover { delay, launch }) = &stream.handover {
        displacement("delay of a handover", delay.as_ref())?;
        if let Some(launch) = launch {
            time("offset_ps of a launch", launch.offset_ps)?;
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
        Some(Jitter::NormalPs(most) | Jitter::UniformPs(most) | Jitter::ExponentialPs(most)) => *most,
        Some(Jitter::ValuesPs(values)) => values.iter().map(|value| value.unsigned_abs()).max().unwrap_or(0),
        Some(Jitter::QuantilesPs(points)) => points.iter().map(|point| point.1.unsigned_abs()).max().unwrap_or(0),
    };
    time(key, most)
}

fn time(key: &str, value_ps: u64) -> Result<(), RunError> {
    if value_ps <= LONGEST_PS {
        return Ok(());
    }
    Err(wrong(format!("{key} is {value_ps}; up to {LONGEST_PS} are allowed")))
}
