// SPDX-License-Identifier: Apache-2.0
//! What the frames of a stream carry: zeros, sound, or what was captured.
use std::path::Path;

use crate::plan::{Plan, Stream};
use crate::rtp::Sound;
use crate::station::EndError;
use penstock_frame::FCS_BYTES;

/// Shortest frame without FCS.
const LEAST_BYTES: usize = 60;
const PS_PER_NS: u64 = 1000;

pub enum Content {
    Zeros,
    /// And how many samples of each channel a packet has.
    Sound(Sound, u64),
    /// Whole frames without FCS.
    Captured(Vec<Vec<u8>>),
}

impl Content {
    pub fn of(plan: &Plan, stream: &Stream) -> Result<Content, EndError> {
        if let Some(file) = &stream.capture {
            return Ok(Content::Captured(frames(file)?.into_iter().map(|(_, bytes)| bytes).collect()));
        }
        let Some(audio) = &stream.audio else { return Ok(Content::Zeros) };
        let name = audio.wav.as_ref().map_or_else(|| "the tone".to_owned(), |file| file.display().to_string());
        let sound = Sound::new(audio).map_err(|error| EndError::Input(format!("{name}: {error}")))?;
        Ok(Content::Sound(sound, audio.samples_in(stream.period_ns(plan)).unwrap_or(0)))
    }
}

/// Puts times and lengths of captures into a plan, where they count as any others.
pub fn with_captures(plan: &Plan) -> Result<Plan, EndError> {
    let mut plan = plan.clone();
    for stream in &mut plan.streams {
        let Some(file) = &stream.capture else { continue };
        let times: Vec<(u64, u32)> =
            frames(file)?.iter().map(|(at, bytes)| (*at, bytes.len() as u32 + FCS_BYTES)).collect();
        stream.bytes = times.iter().map(|&(_, bytes)| bytes).max().unwrap_or(0);
        stream.count = Some(stream.count.unwrap_or(u64::MAX).min(times.len() as u64));
        stream.period_ns = times.last().map(|&(at, _)| at + 1);
        stream.frames = Some(times);
    }
    Ok(plan)
}

/// Time after the first in ns, and bytes; what the capture cut off is sent as zeros.
fn frames(file: &Path) -> Result<Vec<(u64, Vec<u8>)>, EndError> {
    let capture = penstock_frame::read_capture(file).map_err(|error| EndError::Input(error.to_string()))?;
    let whole = capture.frames.into_iter().map(|frame| {
        let mut bytes = frame.bytes;
        bytes.resize(LEAST_BYTES.max(frame.original_bytes as usize), 0);
        (frame.time.0 / PS_PER_NS, bytes)
    });
    Ok(whole.collect())
}
