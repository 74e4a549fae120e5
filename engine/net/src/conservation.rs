// SPDX-License-Identifier: Apache-2.0
//! Every copy created is delivered, dropped with a reason, or inside; nothing else, and nothing twice.
use std::collections::BTreeMap;

use thiserror::Error;

use crate::statistics::StreamStatistics;
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

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    #[error("frame {frame} of stream {stream} was {what} twice")]
    Twice { frame: u64, stream: u32, what: &'static str },
    #[error("frame {frame} left port {port} of node {node} damaged")]
    Damaged { frame: u64, node: u32, port: u16 },
    #[error("frame {frame} of stream {stream} is nowhere any more, and {copies} of its listeners neither got it nor missed it")]
    Lost { frame: u64, stream: u32, copies: u32 },
    #[error("node {node} has nothing to do any more, and {copies} copies that it was given have not left it")]
    Stuck { node: u32, copies: u64 },
    #[error("node {node} holds {holds} frames, but by what it told {given} have not left it")]
    Count { node: u32, holds: u64, given: u64 },
    #[error("stream {stream}: {created} copies were created, but {delivered} delivered, {dropped} dropped and {inside} inside")]
    Sum { stream: u32, created: u64, delivered: u64, dropped: u64, inside: u64 },
}

/// More of them say no more.
const TOLD: usize = 20;

#[derive(Debug, Default)]
pub(crate) struct Violations(Vec<Violation>);

impl Fates {
    /// Adds what became of other frames of the stream.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.created += other.created;
        self.delivered += other.delivered;
        self.inside += other.inside;
        for (reason, frames) in &other.dropped {
            *self.dropped.entry(*reason).or_default() += frames;
        }
    }
}

impl Violations {
    /// Of all copies of each stream.
    pub fn check_sums(&mut self, statistics: &[StreamStatistics]) {
        for (stream, of) in (0..).zip(statistics) {
            let dropped = of.dropped.iter().sum();
            let (created, delivered, inside) = (of.copies, of.delivered, of.inside);
            if created != delivered + dropped + inside {
                self.add(Violation::Sum { stream, created, delivered, dropped, inside });
            }
        }
    }

    pub fn absorb(&mut self, others: Self) {
        others.0.into_iter().for_each(|violation| self.add(violation));
    }

    #[cold]
    pub fn add(&mut self, violation: Violation) {
        if self.0.len() < TOLD {
            self.0.push(violation);
        }
    }

    pub fn into_inner(self) -> Vec<Violation> {
        self.0
    }
}
