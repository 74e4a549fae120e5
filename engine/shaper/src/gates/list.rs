// SPDX-License-Identifier: Apache-2.0
//! Gate control lists: what is refused, how a list is fitted to its cycle, and for how long each class stays open. Twin of
//! `pen_gate_config`.
use std::collections::HashMap;
use std::sync::Arc;

use thiserror::Error;

use super::port::Starts;
use super::windows::Windows;
use crate::admission::CLASSES;
use crate::Time;

/// Farther away than anything is compared with.
pub const HORIZON: Time = Time::MAX / 4;
/// What the hardware promises; also the shortest cycle.
pub const LEAST_INTERVAL_NS: Time = 64;
pub const MOST_ENTRIES: usize = 1024;
/// Set-Gate-States, Set-And-Hold-MAC, Set-And-Release-MAC (Table 8-7). Without preemption they do the same.
pub const OPERATIONS: u8 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    pub operation: u8,
    /// Bit k: the gate of class k is open.
    pub states: u8,
    pub interval: Time,
}

/// The administrative parameters of a port (8.6.9.4).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AdminList {
    pub entries: Vec<Entry>,
    pub base_time: Time,
    pub cycle_time: Time,
    pub cycle_time_extension: Time,
}

/// What a list may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Capacity {
    pub entries: usize,
    /// Of an interval, and of the cycle.
    pub least_interval: Time,
    /// The first base time that is beyond the clock.
    pub time_end: Time,
    /// More than any frame takes. So long before a last cycle that is shorter than this, nothing is promised beyond the
    /// end of an entry.
    pub horizon: Time,
}

impl Capacity {
    /// Of the hardware, in nanoseconds.
    pub const HARDWARE: Self = Self {
        entries: MOST_ENTRIES,
        least_interval: LEAST_INTERVAL_NS,
        time_end: crate::ptp_clock::TIME_END_NS,
        horizon: 1 << 15,
    };
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ListError {
    #[error("the gate control list has no entries; 1 to {most} are allowed")]
    Empty { most: usize },
    #[error("the gate control list has {entries} entries; 1 to {most} are allowed")]
    TooMany { entries: usize, most: usize },
    #[error("entry {entry} has an interval of {interval}; {least} or more is allowed")]
    Interval { entry: usize, interval: Time, least: Time },
    #[error("the cycle time is {cycle_time}; {least} or more is allowed")]
    Cycle { cycle_time: Time, least: Time },
    #[error("the base time is {base_time}; times before {end} are allowed")]
    BaseTime { base_time: Time, end: Time },
    #[error("entry {entry} has operation {operation}; 0 to {most} are allowed", most = OPERATIONS - 1)]
    Operation { entry: usize, operation: u8 },
}

/// A list that can run: its entries fill the cycle exactly.
#[derive(Clone, Debug)]
pub struct List {
    pub(super) base_time: Time,
    pub(super) cycle_time: Time,
    pub(super) extension: Time,
    pub(super) least: Time,
    pub(super) horizon: Time,
    /// For each class the longest that it is open without a break.
    largest: [Time; CLASSES],
    /// (start in the cycle, states).
    pub(super) entries: Vec<(Time, u8)>,
    windows: [Windows; CLASSES],
}

impl PartialEq for List {
    /// Windows follow from the entries.
    fn eq(&self, other: &Self) -> bool {
        let key = |list: &Self| (list.base_time, list.cycle_time, list.extension, list.least, list.horizon);
        key(self) == key(other) && self.entries == other.entries
    }
}

impl Eq for List {}

impl List {
    /// Checks a list and fits it to its cycle (8.6.9.1.2): what goes beyond is cut off, and the last entry of a shorter list
    /// holds until the cycle ends. An entry that the cut leaves shorter than the least interval is given to the one before.
    pub fn compile(admin: &AdminList, capacity: &Capacity) -> Result<Self, ListError> {
        let least = capacity.least_interval;
        match admin.entries.len() {
            0 => return Err(ListError::Empty { most: capacity.entries }),
            entries if entries > capacity.entries => {
                return Err(ListError::TooMany { entries, most: capacity.entries });
            }
            _ => {}
        }
        if admin.cycle_time < least {
            return Err(ListError::Cycle { cycle_time: admin.cycle_time, least });
        }
        if admin.base_time >= capacity.time_end {
            return Err(ListError::BaseTime { base_time: admin.base_time, end: capacity.time_end });
        }
        for (entry, &Entry { operation, interval, .. }) in admin.entries.iter().enumerate() {
            if interval < least {
                return Err(ListError::Interval { entry, interval, least });
            }
            if operation >= OPERATIONS {
                return Err(ListError::Operation { entry, operation });
            }
        }
        let cycle = admin.cycle_time;
        let mut entries: Vec<(Time, u8)> = Vec::with_capacity(admin.entries.len());
        let mut start = 0;
        for &Entry { states, interval, .. } in &admin.entries {
            if start >= cycle || (!entries.is_empty() && cycle - start < least) {
                break;
            }
            entries.push((start, states));
            start = start.saturating_add(interval);
        }
        let windows: [Windows; CLASSES] = std::array::from_fn(|class| Windows::new(&entries, cycle, class));
        Ok(Self {
            base_time: admin.base_time,
            cycle_time: cycle,
            // A cycle that a change would cut shorter than the least interval does not begin.
            extension: admin.cycle_time_extension.clamp(least.saturating_sub(1), cycle - 1),
            least,
            horizon: capacity.horizon,
            largest: std::array::from_fn(|class| windows[class].largest()),
            windows,
            entries,
        })
    }

    pub fn base_time(&self) -> Time {
        self.base_time
    }

    pub fn cycle_time(&self) -> Time {
        self.cycle_time
    }

    /// (start, states, interval) of what runs in a cycle.
    pub fn entries(&self) -> impl Iterator<Item = (Time, u8, Time)> + '_ {
        let ends = self.entries.iter().skip(1).map(|&(start, _)| start).chain([self.cycle_time]);
        self.entries.iter().zip(ends).map(|(&(start, states), end)| (start, states, end - start))
    }

    /// How long a class stays open from the cycle's start on; [`HORIZON`] when it never closes.
    pub fn initial_window(&self, class: usize) -> Time {
        self.windows[class].initial()
    }

    /// The longest that a class is open without a break, also across the cycle's end; [`HORIZON`] when it never closes.
    #[inline]
    pub fn largest_window(&self, class: usize) -> Time {
        self.largest[class]
    }

    /// How long a class is open in each cycle.
    pub fn open_time(&self, class: usize) -> Time {
        self.windows[class].all().iter().map(|window| window.to - window.from).sum()
    }

    /// ConfigChangeTime or CycleStartTime (8.6.9.1.1, 8.6.9.3.1): the base time, or the first later start of a cycle
    /// counted from it, that is not before `earliest`.
    pub fn start_from(&self, earliest: Time) -> Time {
        let past = earliest.saturating_sub(self.base_time);
        self.base_time.saturating_add(past.div_ceil(self.cycle_time).saturating_mul(self.cycle_time))
    }

    /// The entry that holds at an offset in a cycle of this length: one that the end would leave shorter than the least
    /// interval does not begin.
    pub(super) fn entry(&self, offset: Time, length: Time) -> usize {
        let begun = |&(start, _): &(Time, u8)| start <= offset && (start == 0 || start + self.least <= length);
        self.entries.partition_point(begun) - 1
    }

    /// The first times from `now` on at which a frame may start, of cycles one of which begins at `start` or began then.
    #[inline]
    pub(super) fn starts_from(&self, start: Time, now: Time, class: usize, wire: Time) -> Option<Starts> {
        let since = now.saturating_sub(start);
        let offset = since % self.cycle_time;
        let cycle = start + (since - offset);
        let (first, last) = self.windows[class].starts_from(offset, wire)?;
        Some(Starts { first: cycle.saturating_add(first), last: cycle.saturating_add(last) })
    }

    /// When the gate of a class is open.
    pub(super) fn windows(&self, class: usize) -> &Windows {
        &self.windows[class]
    }

    /// The end of an entry, in a cycle of this length.
    pub(super) fn entry_end(&self, entry: usize, length: Time) -> Time {
        match self.entries.get(entry + 1) {
            Some(&(start, _)) if start + self.least <= length => start,
            _ => length,
        }
    }
}

/// Lists of ports that all may have the same one: what is equal is compiled once and shared, so that the lists of a large
/// network stay in the cache of a processor.
#[derive(Debug, Default)]
pub struct Lists {
    compiled: HashMap<(AdminList, Capacity), Arc<List>>,
}

impl Lists {
    /// As [`List::compile`].
    pub fn compile(&mut self, admin: AdminList, capacity: Capacity) -> Result<Arc<List>, ListError> {
        let key = (admin, capacity);
        if let Some(list) = self.compiled.get(&key) {
            return Ok(Arc::clone(list));
        }
        let list = Arc::new(List::compile(&key.0, &key.1)?);
        self.compiled.insert(key, Arc::clone(&list));
        Ok(list)
    }
}
