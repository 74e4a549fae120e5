// SPDX-License-Identifier: Apache-2.0
//! When a stream's frames are released, and what is between that and its talker's port.
use penstock_shaper::Time;
use std::path::PathBuf;

use serde::Deserialize;

use super::time;

/// How far each release is displaced; a stream never overtakes itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Jitter {
    /// By a normal deviate with this deviation.
    NormalPs(u64),
    /// By 0 to this.
    UniformPs(u64),
    /// By an exponential deviate with this mean.
    ExponentialPs(u64),
    /// By one of these, each as likely.
    ValuesPs(Vec<i64>),
    /// By what is at this part of the distribution, straight between two of them; from 0 to 1.
    QuantilesPs(Vec<(f64, i64)>),
}

/// From a frame's creation by a program to its controller, which sends it at its launch time.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handover {
    /// What the software takes.
    #[serde(default)]
    pub delay: Option<Jitter>,
    /// Without it a frame may be sent once the controller has it.
    #[serde(default)]
    pub launch: Option<Launch>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// After the time at which the source would release the frame without jitter.
    #[serde(deserialize_with = "time::time")]
    pub offset_ps: Time,
    /// By so much earlier the port is to select the frame: launch times may be those of the first bit behind the delimiter.
    #[serde(default, deserialize_with = "time::time")]
    pub lead_ps: Time,
    /// By how much the controller is off that time.
    #[serde(default)]
    pub error: Option<Jitter>,
}

/// What a talker sends of a stream, and when.
#[derive(Clone, Debug, Deserialize)]
pub struct Source {
    /// Of the first frame; a response has none of its own.
    #[serde(default, deserialize_with = "time::time")]
    pub start_ps: Time,
    /// Of frames.
    #[serde(default)]
    pub count: Option<u64>,
    #[serde(default)]
    pub seed: u64,
    #[serde(default)]
    pub jitter: Option<Jitter>,
    /// It refuses what neither it nor the source has.
    #[serde(flatten)]
    pub kind: SourceKind,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "snake_case")]
pub enum SourceKind {
    /// Frames of a file at their times, the first at `start_ps`.
    Capture { path: PathBuf },
    Periodic {
        frame_bytes: u32,
        #[serde(deserialize_with = "time::time")]
        period_ps: Time,
    },
    /// A frame whenever the station's port is free.
    BackToBack { frame_bytes: u32 },
    /// `size` frames at once, every `period_ps`.
    Burst {
        frame_bytes: u32,
        size: u64,
        #[serde(deserialize_with = "time::time")]
        period_ps: Time,
    },
    /// Exponential time from release to release.
    Poisson {
        frame_bytes: u32,
        #[serde(deserialize_with = "time::time")]
        mean_ps: Time,
    },
    /// Normal time from release to release; below zero counts as zero.
    Normal {
        frame_bytes: u32,
        #[serde(deserialize_with = "time::time")]
        mean_ps: Time,
        #[serde(deserialize_with = "time::time")]
        deviation_ps: Time,
    },
    /// In each period the frames of one list, the lists in turn: audio packets, the packets of video pictures.
    Pattern {
        #[serde(deserialize_with = "time::time")]
        period_ps: Time,
        sizes: Vec<Vec<u32>>,
        /// From one frame of a list to the next.
        #[serde(default, deserialize_with = "time::time")]
        spread_ps: Time,
    },
    /// A frame for each frame of another stream that this talker listens to, after its last bit.
    Response {
        /// Among the streams.
        to_stream: usize,
        #[serde(deserialize_with = "time::time")]
        after_ps: Time,
        frame_bytes: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_no_source_has_is_refused() {
        let source = |more: &str| {
            let text = format!(r#"{{"kind": "periodic", "frame_bytes": 64, "period_ps": 1, "count": 2{more}}}"#);
            serde_json::from_str::<Source>(&text)
        };
        assert_eq!(source("").unwrap().count, Some(2));
        for more in [r#", "mean_ps": 1"#, r#", "begin_ps": 1"#] {
            assert!(source(more).unwrap_err().to_string().contains("unknown field"), "{more}");
        }
    }
}
