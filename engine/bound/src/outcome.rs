// SPDX-License-Identifier: Apache-2.0
//! What the analysis finds: of each queue and each stream how long it waits, or why nobody can say.
use serde::Serialize;

use crate::Time;

/// Why a queue has no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Nothing is known of what comes to the port.
    UnknownPort,
    /// Of this stream, or of what a class above brings by it, nothing is known.
    NoContract { stream: usize },
    /// A class above has no limit, as something that it brings has none.
    Above {
        #[serde(rename = "class")]
        traffic_class: u8,
    },
    /// More comes than is served, as long as it lasts.
    Overload,
    /// No window of its gate is long enough.
    NoWindow,
    /// Its credit has no limit, or goes beyond what its port can hold.
    Credit,
    /// Waits go on growing around a cycle of streams.
    Growing,
}

/// A class of a port that streams pass.
#[derive(Clone, Debug, Serialize)]
pub struct Queue {
    pub port: usize,
    #[serde(rename = "class")]
    pub traffic_class: u8,
    /// Of any frame of it.
    pub wait_ps: Option<Time>,
    pub why: Option<Why>,
    /// The most that it holds on the wire, what a scheduler holds back and what is being sent counted; none: no limit.
    pub backlog_bytes: Option<i64>,
}

/// What a stream waits at most in a queue.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Hop {
    pub wait_ps: Option<Time>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    pub queues: Vec<Queue>,
    /// By stream.
    pub hops: Vec<Vec<Hop>>,
    pub rounds: usize,
}
