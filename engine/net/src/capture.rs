// SPDX-License-Identifier: Apache-2.0
//! What arrives at each listening station, written while the run goes on.
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use penstock_frame::{append_frame, pcapng_header, FrameToWrite, FCS_BYTES};

use crate::error::RunError;
use penstock_shaper::Time;

/// Written out when a station has this much.
const BUFFER_BYTES: usize = 1 << 16;
/// Written out when all stations have this much.
const ALL_BYTES: usize = 1 << 26;

struct File {
    path: PathBuf,
    buffer: Vec<u8>,
}

/// Files are open only while they are written to, since there may be more stations than a process may have files.
#[derive(Default)]
pub(crate) struct Captures {
    /// By station; none where nobody listens.
    files: Vec<Option<File>>,
    bytes: usize,
}

impl Captures {
    pub fn new<'a>(folder: Option<&Path>, stations: impl Iterator<Item = (&'a str, bool)>) -> Result<Self, RunError> {
        let Some(folder) = folder else { return Ok(Self::default()) };
        let mut captures = Self::default();
        for (name, listens) in stations {
            let path = folder.join(format!("{name}.pcapng"));
            let failed = |source| RunError::Capture { path: path.clone(), source };
            captures.files.push(if listens {
                let header = pcapng_header(name, "penstock").map_err(failed)?;
                std::fs::write(&path, header).map_err(failed)?;
                Some(File { path, buffer: Vec::new() })
            } else {
                None
            });
        }
        Ok(captures)
    }

    #[inline]
    pub fn wants(&self, station: usize) -> bool {
        self.files.get(station).is_some_and(Option::is_some)
    }

    /// A frame with FCS, which is not written. Stamps below a nanosecond are rounded down.
    pub fn add(&mut self, station: usize, time_ps: Time, frame: &[u8]) -> Result<(), RunError> {
        let Some(Some(file)) = self.files.get_mut(station) else { return Ok(()) };
        let bytes = &frame[..frame.len().saturating_sub(FCS_BYTES as usize)];
        let before = file.buffer.len();
        let frame = FrameToWrite { time_ns: (time_ps / 1_000) as u64, original_bytes: bytes.len() as u32, bytes };
        append_frame(&mut file.buffer, &frame);
        self.bytes += file.buffer.len() - before;
        if file.buffer.len() >= BUFFER_BYTES {
            self.bytes -= file.buffer.len();
            file.write()?;
        } else if self.bytes >= ALL_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    pub fn flush(&mut self) -> Result<(), RunError> {
        self.bytes = 0;
        self.files.iter_mut().flatten().try_for_each(File::write)
    }
}

impl File {
    fn write(&mut self) -> Result<(), RunError> {
        let opened = OpenOptions::new().append(true).open(&self.path);
        let written = opened.and_then(|mut file| file.write_all(&self.buffer));
        written.map_err(|source| RunError::Capture { path: self.path.clone(), source })?;
        self.buffer.clear();
        Ok(())
    }
}
