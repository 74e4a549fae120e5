// SPDX-License-Identifier: Apache-2.0
//! Why a message was not sent or received, or a schedule not set: a code for C, a sentence for people.
use std::io;

use penstock_shaper::slots::ScheduleError;
use thiserror::Error as ThisError;

use crate::identity::{Identity, Tile};

#[derive(Debug, ThisError)]
pub enum Error {
    #[error("{node} is outside of a tile of {} x {} or of the addresses; rows and columns up to 254 are allowed", tile.rows, tile.columns)]
    NoSuchNode { node: Identity, tile: Tile },
    #[error("a message of {bytes} bytes; 1 to 4294967295 are allowed")]
    Length { bytes: u64 },
    #[error("the message from {node} has {has} bytes, and {wanted} were asked for; it is kept")]
    OtherLength { node: Identity, has: u64, wanted: u64 },
    #[error("nothing came from {node}, or went to it, in time")]
    TimedOut { node: Identity },
    #[error("{node} was lost in the middle of a message")]
    Lost { node: Identity },
    #[error("{node} cannot be reached: {why}")]
    Unreachable { node: Identity, why: io::Error },
    #[error("{node} sent what is no message")]
    Strange { node: Identity },
    #[error("this node is not open; penstock_msg_open comes first")]
    NotOpen,
    #[error("this node has no card with time slots in hardware; the name of an interface is allowed, such as eth0")]
    NoCard,
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    #[error("{interface} has {has} transmission queues and the schedule is for {queues}; up to {has} are allowed")]
    Queues { interface: String, has: usize, queues: usize },
    #[error("{interface}: {why}")]
    Kernel { interface: String, why: io::Error },
    #[error("{interface} has no schedule: {why}")]
    NoSchedule { interface: String, why: String },
    #[error("{what}: {why}")]
    System { what: &'static str, why: io::Error },
}

impl Error {
    /// Below zero, as the functions of C return it; `penstock_msg.h` names them.
    #[must_use]
    pub fn code(&self) -> i32 {
        match self {
            Self::NoSuchNode { .. } => -1,
            Self::Length { .. } => -2,
            Self::OtherLength { .. } => -3,
            Self::TimedOut { .. } => -4,
            Self::Lost { .. } => -5,
            Self::Unreachable { .. } => -6,
            Self::Strange { .. } => -7,
            Self::NotOpen => -8,
            Self::System { .. } => -9,
            Self::NoCard => -10,
            Self::Schedule(_) | Self::Queues { .. } => -11,
            Self::Kernel { .. } => -12,
            Self::NoSchedule { .. } => -13,
        }
    }
}
