// SPDX-License-Identifier: Apache-2.0
//! When a source would release its frames if it were exact.
use rand::RngExt;
use rand_distr::{Exp1, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::content::Content;
use super::SourceError;
use crate::describe::{Source, SourceKind};
use penstock_shaper::Time;

pub enum Schedule {
    Capture { start: Time },
    Periodic { start: Time, period: Time, frame_bytes: u32 },
    BackToBack { start: Time, frame_bytes: u32 },
    Burst { start: Time, size: u64, period: Time, frame_bytes: u32 },
    Poisson { start: Time, mean: Time, frame_bytes: u32 },
    Normal { start: Time, mean: Time, deviation: Time, frame_bytes: u32 },
    Pattern { start: Time, pattern: Pattern },
    Response { to_stream: usize, after: Time, frame_bytes: u32 },
}

/// The frames of all lists, one after the other.
pub struct Pattern {
    /// Since the start of the first list.
    offsets: Vec<Time>,
    sizes: Vec<u32>,
    /// The list of each frame.
    list: Vec<u32>,
    lists: u64,
    /// Of one list.
    period: Time,
}

impl Pattern {
    fn new(period: Time, lists: &[Vec<u32>], spread: Time) -> Result<Self, SourceError> {
        let mut pattern =
            Self { offsets: Vec::new(), sizes: Vec::new(), list: Vec::new(), lists: lists.len() as u64, period };
        for (n, list) in lists.iter().enumerate() {
            let whole = spread.saturating_mul(list.len().saturating_sub(1) as Time);
            if whole > period {
                return Err(SourceError::Spread { spread_ps: whole, period_ps: period });
            }
            for (place, &size) in list.iter().enumerate() {
                pattern.offsets.push(period.saturating_mul(n as Time).saturating_add(spread * place as Time));
                pattern.sizes.push(size);
                pattern.list.push(n as u32);
            }
        }
        if pattern.sizes.is_empty() {
            return Err(SourceError::Empty { key: "sizes" });
        }
        Ok(pattern)
    }

    /// Which frame of all lists frame `n` is.
    pub fn place(&self, n: u64) -> usize {
        (n % self.sizes.len() as u64) as usize
    }

    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Whether there are as many frames in each list as here.
    pub fn has_lists_like(&self, others: &[Vec<u32>]) -> bool {
        let places = others.iter().enumerate().flat_map(|(n, list)| list.iter().map(move |_| n as u32));
        others.len() as u64 == self.lists && places.eq(self.list.iter().copied())
    }

    /// The number of frame `n`'s list since the start, and whether the frame is its last.
    pub fn list(&self, n: u64) -> (u64, bool) {
        let place = self.place(n);
        let is_last = self.list.get(place + 1) != Some(&self.list[place]);
        ((n / self.sizes.len() as u64).saturating_mul(self.lists).saturating_add(u64::from(self.list[place])), is_last)
    }

    /// When a list begins, since the start.
    pub fn list_time(&self, list: u64) -> Time {
        self.period.saturating_mul(Time::from(list))
    }

    #[inline]
    fn is_first(&self, place: usize) -> bool {
        place == 0 || self.list[place] != self.list[place - 1]
    }

    pub fn size(&self, n: u64) -> u32 {
        self.sizes[self.place(n)]
    }

    /// When frame `n` is released, since the start.
    pub fn time(&self, n: u64) -> Time {
        let turn = n / self.sizes.len() as u64;
        self.list_time(self.lists.saturating_mul(turn)).saturating_add(self.offsets[self.place(n)])
    }
}

impl Schedule {
    pub fn of(source: &Source) -> Result<Self, SourceError> {
        let positive = |key, value: Time| if value == 0 { Err(SourceError::Zero { key }) } else { Ok(value) };
        let start = source.start_ps;
        Ok(match source.kind {
            SourceKind::Capture { .. } => Self::Capture { start },
            SourceKind::Periodic { frame_bytes, period_ps } => {
                Self::Periodic { start, period: positive("period_ps", period_ps)?, frame_bytes }
            }
            SourceKind::BackToBack { frame_bytes } => Self::BackToBack { start, frame_bytes },
            SourceKind::Burst { size: 0, .. } => return Err(SourceError::Zero { key: "size" }),
            SourceKind::Burst { frame_bytes, size, period_ps } => {
                Self::Burst { start, size, period: positive("period_ps", period_ps)?, frame_bytes }
            }
            SourceKind::Poisson { frame_bytes, mean_ps } => {
                Self::Poisson { start, mean: positive("mean_ps", mean_ps)?, frame_bytes }
            }
            SourceKind::Normal { frame_bytes, mean_ps, deviation_ps } => {
                Self::Normal { start, mean: positive("mean_ps", mean_ps)?, deviation: deviation_ps, frame_bytes }
            }
            SourceKind::Pattern { period_ps, ref sizes, spread_ps } => {
                Self::Pattern { start, pattern: Pattern::new(positive("period_ps", period_ps)?, sizes, spread_ps)? }
            }
            SourceKind::Response { to_stream, after_ps, frame_bytes } => {
                Self::Response { to_stream, after: after_ps, frame_bytes }
            }
        })
    }

    pub fn start(&self) -> Time {
        match self {
            Self::Capture { start }
            | Self::Periodic { start, .. }
            | Self::BackToBack { start, .. }
            | Self::Burst { start, .. }
            | Self::Poisson { start, .. }
            | Self::Normal { start, .. }
            | Self::Pattern { start, .. } => *start,
            Self::Response { .. } => 0,
        }
    }

    /// Of all frames that it makes.
    pub fn frame_sizes(&self) -> &[u32] {
        match self {
            Self::Periodic { frame_bytes, .. }
            | Self::BackToBack { frame_bytes, .. }
            | Self::Burst { frame_bytes, .. }
            | Self::Poisson { frame_bytes, .. }
            | Self::Normal { frame_bytes, .. }
            | Self::Response { frame_bytes, .. } => std::slice::from_ref(frame_bytes),
            Self::Pattern { pattern, .. } => &pattern.sizes,
            Self::Capture { .. } => &[],
        }
    }

    #[inline]
    pub fn frame_bytes(&self, n: u64) -> u32 {
        match self {
            Self::Pattern { pattern, .. } => pattern.size(n),
            _ => self.frame_sizes().first().copied().unwrap_or(0),
        }
    }

    /// Frame `n` is displaced by itself, not with the one before it.
    #[inline]
    pub fn begins_group(&self, n: u64) -> bool {
        match self {
            Self::Burst { size, .. } => n.is_multiple_of(*size),
            Self::Pattern { pattern, .. } => pattern.is_first(pattern.place(n)),
            _ => true,
        }
    }

    /// When frame `n` is released; `before` is when the one before it was.
    pub fn nominal(&self, n: u64, before: Time, content: &Content, random: &mut Xoshiro256PlusPlus) -> Time {
        let grid = |start: Time, period: Time, n: u64| start.saturating_add(period.saturating_mul(Time::from(n)));
        match self {
            Self::Capture { start } => start.saturating_add(content.time(n)),
            Self::Periodic { start, period, .. } => grid(*start, *period, n),
            Self::Burst { start, size, period, .. } => grid(*start, *period, n / size),
            Self::Pattern { start, pattern } => start.saturating_add(pattern.time(n)),
            Self::Poisson { mean, .. } => {
                let gap = if n == 0 { 0.0 } else { *mean as f64 * random.sample::<f64, _>(Exp1) };
                before.saturating_add(gap.round() as Time)
            }
            Self::Normal { mean, deviation, .. } => {
                let mut normal = || *mean as f64 + *deviation as f64 * random.sample::<f64, _>(StandardNormal);
                let gap = if n == 0 { 0.0 } else { normal() };
                before.saturating_add(gap.round() as Time) // a conversion from below zero gives zero
            }
            Self::BackToBack { start, .. } => *start,
            Self::Response { .. } => before,
        }
    }
}
