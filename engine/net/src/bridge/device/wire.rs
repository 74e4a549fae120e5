// SPDX-License-Identifier: Apache-2.0
//! What goes over the wires of a switch, and what it tells: the same of the model and of the hardware under simulation.
use penstock_frame::GAP_BYTES;
use thiserror::Error;

use super::Tick;

pub const FLAG_DAMAGED: u8 = 1;
pub const FLAG_TX_ER: u8 = 2;
pub const FLAG_SHORT_GAP: u8 = 4;
pub const FLAG_PREAMBLE: u8 = 8;
pub const FLAG_STREAM: u8 = 16;
pub const FLAG_SHAPED: u8 = 32;
pub const FLAG_EDITED: u8 = 64;

/// What the wire may carry in one piece, in tests of a switch that must cut it.
const LONGEST: usize = 65_536;

/// A frame for the wire, and how it is to be wrong.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    pub port: usize,
    /// Of its first preamble byte, or as soon after it as the wire is free.
    pub start_cycle: Tick,
    /// Destination address to FCS.
    pub bytes: &'a [u8],
    pub preamble: u32,
    pub delimiter: bool,
    /// Idle byte times before it, at least.
    pub gap: u32,
    pub rx_er_at: Option<u32>,
    /// What goes before one from the host; none: it came as if received at the host's own port.
    pub host: Option<[u8; 4]>,
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum FrameError {
    #[error("port {port} does not exist; 0 to {last} are there")]
    Port { port: usize, last: u32 },
    #[error("a gap of 0 would make one carrier of two frames; 1 byte time or more is allowed")]
    Gap,
    #[error("a frame of {bytes} bytes; up to {LONGEST} are allowed")]
    Length { bytes: usize },
    #[error("a carrier without preamble, delimiter and content is none")]
    NoCarrier,
    #[error("a frame from the host comes with preamble, delimiter and content, and without errors of a PHY")]
    Host,
    #[error("a frame from the host with a short gap, which its model counts; 12 byte times or more are allowed")]
    HostGap,
}

impl<'a> Frame<'a> {
    /// With nothing wrong.
    pub fn new(port: usize, start_cycle: Tick, bytes: &'a [u8]) -> Self {
        Self { port, start_cycle, bytes, preamble: 7, delimiter: true, gap: GAP_BYTES, rx_er_at: None, host: None }
    }

    /// Whether a switch with so many ports can be given it.
    pub fn check(&self, ports: u32) -> Result<(), FrameError> {
        match self {
            Self { port, .. } if *port >= ports as usize => Err(FrameError::Port { port: *port, last: ports - 1 }),
            Self { gap: 0, .. } => Err(FrameError::Gap),
            Self { bytes, .. } if bytes.len() > LONGEST => Err(FrameError::Length { bytes: bytes.len() }),
            Self { preamble: 0, delimiter: false, bytes: [], .. } => Err(FrameError::NoCarrier),
            Self { host: Some(_), preamble, delimiter, bytes, rx_er_at, .. }
                if *preamble < 7 || !delimiter || bytes.is_empty() || rx_er_at.is_some() =>
            {
                Err(FrameError::Host)
            }
            _ => Ok(()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    Input = 0,
    Verdict = 1,
    Selected = 2,
    Expired = 3,
    Output = 4,
    Fault = 5,
    Stamp = 6,
}

impl Kind {
    pub const NAMES: [&'static str; 7] = ["input", "verdict", "selected", "dropped", "output", "fault", "stamp"];
}

/// As `pen_event` of `engine/rtl/shim/pen_switch_shim.h`, which says what each field means.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Event {
    pub cycle: u64,
    pub frame: u64,
    pub visible: u64,
    pub refused_reasons: u64,
    pub length: u32,
    pub stream: u16,
    kind: u8,
    pub port: u8,
    pub reason: u8,
    pub traffic_class: u8,
    pub destination: u8,
    pub refused: u8,
    pub flags: u8,
    reserved: u8,
    pub fcs: u32,
}

impl Event {
    pub fn new(kind: Kind, cycle: Tick, port: u16, frame: u64, length: u32) -> Self {
        Self { kind: kind as u8, cycle, port: port as u8, frame, length, ..Self::default() }
    }

    pub fn kind(&self) -> Kind {
        match self.kind {
            0 => Kind::Input,
            1 => Kind::Verdict,
            2 => Kind::Selected,
            3 => Kind::Expired,
            4 => Kind::Output,
            6 => Kind::Stamp,
            _ => Kind::Fault,
        }
    }
}

/// As `pen_state` of the same file.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct State {
    pub cycle: u64,
    pub simulated: u64,
    pub jumped: u64,
    /// Frames that have begun and whose last copy has neither left nor been dropped.
    pub inside: u64,
    /// Frames that have not begun.
    pub waiting: u64,
    pub idle: u32,
    pub ports: u32,
}
