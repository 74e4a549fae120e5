// SPDX-License-Identifier: Apache-2.0
//! Every frame created is delivered, dropped with a reason, or inside; nothing else, and nothing twice.
use std::collections::BTreeMap;
use std::fmt;

use crate::trace::Reason;

/// What became of a stream's frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fates {
    pub created: u64,
    /// To all listeners.
    pub delivered: u64,
    /// On the way to one listener at least; the first reason counts.
    pub dropped: BTreeMap<Reason, u64>,
    pub inside: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    Twice { frame: u64, what: &'static str },
    Order { frame: u64, what: &'static str },
    Damaged { frame: u64, port: u16 },
    Lost { frames: u64 },
    Count { trace: u64, nodes: u64 },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Twice { frame, what } => write!(f, "frame {frame} was {what} twice"),
            Self::Order { frame, what } => write!(f, "frame {frame} was {what}"),
            Self::Damaged { frame, port } => write!(f, "frame {frame} left port {port} damaged"),
            Self::Lost { frames } => {
                write!(f, "{frames} frames are lost: the bridge is empty, and they did not leave it")
            }
            Self::Count { trace, nodes } => {
                write!(f, "{trace} frames are inside by the trace, but {nodes} by the bridges")
            }
        }
    }
}

/// The way of one frame.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub stream: u32,
    pub bytes: u32,
    pub traffic_class: u8,
    entered: bool,
    judged: bool,
    /// Egress ports in whose queues a copy is.
    queued: u64,
    /// Listeners that the frame has reached or missed, by their number in the stream.
    reached: u64,
    missed: u64,
    reason: Reason,
}

impl Way {
    pub fn new(stream: u32, bytes: u32, no_class: u8) -> Self {
        Self {
            stream,
            bytes,
            traffic_class: no_class,
            entered: false,
            judged: false,
            queued: 0,
            reached: 0,
            missed: 0,
            reason: Reason::NONE,
        }
    }

    pub fn enter(&mut self) -> Result<(), &'static str> {
        if std::mem::replace(&mut self.entered, true) {
            return Err("received");
        }
        Ok(())
    }

    pub fn queue(&mut self, port: u16) -> Result<(), &'static str> {
        let bit = 1 << port;
        if self.queued & bit != 0 {
            return Err("queued");
        }
        self.queued |= bit;
        Ok(())
    }

    /// A copy left a queue. False: there was none.
    pub fn unqueue(&mut self, port: u16) -> bool {
        let was = self.queued >> port & 1 != 0;
        self.queued &= !(1 << port);
        was
    }

    pub fn judge(&mut self) -> Result<(), &'static str> {
        if std::mem::replace(&mut self.judged, true) {
            return Err("judged");
        }
        Ok(())
    }

    pub fn miss(&mut self, listeners: u64, reason: Reason) {
        self.missed |= listeners;
        if self.reason == Reason::NONE {
            self.reason = reason;
        }
    }

    pub fn reach(&mut self, listener: u32) -> Result<(), &'static str> {
        let bit = 1 << listener;
        if self.reached & bit != 0 {
            return Err("delivered");
        }
        self.reached |= bit;
        Ok(())
    }

    pub fn has_missed(&self, listener: u32) -> bool {
        self.missed >> listener & 1 != 0
    }

    pub fn is_queued(&self, port: u16) -> bool {
        self.queued >> port & 1 != 0
    }

    /// Whether a node, or the station before it, still holds it.
    pub fn is_unfinished(&self) -> bool {
        !self.judged || self.queued != 0
    }

    pub fn count(&self, listeners: u64, fates: &mut Fates) {
        fates.created += 1;
        if self.reached & listeners == listeners {
            fates.delivered += 1;
        } else if self.missed & listeners != 0 {
            *fates.dropped.entry(self.reason).or_default() += 1;
        } else {
            fates.inside += 1;
        }
    }
}
