// SPDX-License-Identifier: Apache-2.0
//! When the filtering database is swept to age its entries, and which entry is in which cycle; as in `pen_fdb`.
//!
//! An entry that is read in cycle s is written in s + 3, and the next one read then, but for cycles in which a lookup or
//! a learning reads. An entry that is written meanwhile is taken again.
use std::collections::VecDeque;

use crate::egress::Tick;

/// From a new period to when the next sweep is known.
const PERIOD_KNOWN: Tick = 9;
/// Between two entries.
pub const STEP: Tick = 3;
/// From a sweep's last entry to when nothing of it is under way.
pub const SETTLED: Tick = 2 * STEP;
const NS_PER_MS: Tick = 1_000_000;

#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sweep {
    /// The first tick in which an entry may be read; `Tick::MAX`: none ever.
    pub from: Tick,
    /// Ticks of a nanosecond, and of how many.
    tick_ns: (Tick, Tick),
    period_ms: u32,
    swept: Tick,
    /// The next sweep does not begin before this.
    known: Tick,
    pub running: bool,
    /// Twice the set, and the way.
    pub entry: usize,
    /// When an entry was read last.
    pub read: Option<Tick>,
    /// The last entry that was read and is to be written, and when it was read.
    taken: Option<(usize, Tick)>,
    /// Cycles in which something else reads.
    pub reads: VecDeque<Tick>,
}

impl Sweep {
    /// With ticks of `tick_ns.0 / tick_ns.1` nanoseconds.
    pub fn new(tick_ns: (Tick, Tick), period_ms: u32) -> Self {
        let mut sweep = Self {
            tick_ns,
            period_ms,
            swept: 0,
            known: 0,
            from: 0,
            running: false,
            entry: 0,
            read: None,
            taken: None,
            reads: VecDeque::new(),
        };
        sweep.plan();
        sweep
    }

    pub fn period(&self) -> Tick {
        let (numerator, denominator) = self.tick_ns;
        Tick::from(self.period_ms) * NS_PER_MS * denominator / numerator
    }

    fn plan(&mut self) {
        self.from = match self.period_ms {
            0 => Tick::MAX,
            _ => self.swept.saturating_add(self.period()).max(self.known) + 1,
        };
    }

    pub fn set_period_ms(&mut self, at: Tick, period_ms: u32) {
        if period_ms != self.period_ms {
            self.period_ms = period_ms;
            self.known = at + PERIOD_KNOWN;
            if !self.running {
                self.plan();
            }
        }
    }

    /// A sweep begins; `from` says with which tick.
    pub fn start(&mut self) {
        self.swept = self.from - 1;
        self.running = true;
        self.entry = 0;
    }

    /// The last entry was read at `at`.
    pub fn finish(&mut self, at: Tick) {
        self.running = false;
        self.reads.clear();
        self.known = self.known.max(at + STEP);
        self.plan();
    }

    /// The entry whose turn it is was read at `at`.
    pub fn take(&mut self, at: Tick) {
        self.taken = Some((self.entry, at));
        self.entry += 1;
    }

    /// When an entry was read, if it was the last one.
    pub fn read_of(&self, entry: usize) -> Option<Tick> {
        self.taken.filter(|taken| taken.0 == entry).map(|taken| taken.1)
    }

    /// The last entry that was read is read again at `at`, even if the sweep ended with it.
    pub fn take_again(&mut self, at: Tick) {
        if let Some((entry, _)) = self.taken.take() {
            (self.running, self.entry, self.from) = (true, entry, at);
        }
    }

    /// Leaves out sweeps that are over before `until` and find nothing to do, each with so long from the first entry to the
    /// last.
    pub fn leave_out(&mut self, until: Tick, length: Tick) {
        let each = self.period().max(length + STEP + 1);
        let sweeps = until.saturating_sub(self.from.saturating_add(length + SETTLED)) / each;
        if sweeps > 0 {
            self.from += (sweeps - 1) * each;
            self.start();
            self.finish(self.from + length);
        }
    }
}
