// SPDX-License-Identifier: Apache-2.0
use std::path::PathBuf;

use thiserror::Error;

use crate::bridge::BridgeError;
use crate::clock::ClockError;
use crate::conservation::Violation;
use crate::node::NodeError;
use crate::source::SourceError;
use penstock_shaper::Time;

#[derive(Debug, Error)]
pub enum RunError {
    #[error("{what}")]
    Description { what: String },
    #[error("stream \"{stream}\": {source}")]
    Source { stream: String, source: SourceError },
    #[error("bridge \"{bridge}\": {source}")]
    Bridge { bridge: String, source: BridgeError },
    #[error("station \"{station}\": {source}")]
    Station { station: String, source: BridgeError },
    #[error("clock of \"{node}\": {source}")]
    Clock { node: String, source: ClockError },
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error("frames are not conserved: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Conservation(Vec<Violation>),
    #[error("{}: cannot be written: {source}", path.display())]
    Capture { path: PathBuf, source: std::io::Error },
    #[error("a frame came to bridge {bridge} for {due_ps} ps, when nothing was to come before {promised_ps} ps")]
    Late { bridge: u32, due_ps: Time, promised_ps: Time },
    #[error("the rows of the trace were not taken")]
    Refused,
}

pub(crate) fn wrong(what: String) -> RunError {
    RunError::Description { what }
}
