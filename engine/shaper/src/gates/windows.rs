// SPDX-License-Identifier: Apache-2.0
//! When the gate of one class is open in each cycle of a list, prepared so that every question is a search.
use std::sync::OnceLock;

use super::borders::Borders;
use super::gate_time::Line;
use super::list::HORIZON;
use crate::Time;

/// A time in which the gate is open, from the cycle's start; neighbours that are both open are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub from: Time,
    pub to: Time,
}

#[derive(Clone, Debug)]
pub(super) struct Windows {
    windows: Vec<Window>,
    cycle: Time,
    initial: Time,
    /// A heap of maxima: the lengths stand in its second half, those across the cycle's end joined.
    longest: Vec<Time>,
    /// How many windows have ended by the begin of each part of the cycle, and by its end. Parts are of 2^`part_bits`, and
    /// about as many as windows.
    ended: Vec<u32>,
    part_bits: u32,
    /// Prepared when they are first asked for; all ports whose clocks run at that rate share them.
    borders: OnceLock<Borders>,
}

impl Windows {
    /// Of (start, states) of the entries that fill a cycle.
    pub fn new(entries: &[(Time, u8)], cycle: Time, class: usize) -> Self {
        let mut windows: Vec<Window> = Vec::new();
        for (index, &(from, states)) in entries.iter().enumerate() {
            let to = entries.get(index + 1).map_or(cycle, |&(start, _)| start);
            match windows.last_mut() {
                _ if states >> class & 1 == 0 => {}
                Some(last) if last.to == from => last.to = to,
                _ => windows.push(Window { from, to }),
            }
        }
        Self::of(windows, cycle)
    }

    /// What is left of them for what takes so long that it has to begin before a gate closes: times at which it may.
    pub fn for_starts(&self, wire: Time) -> Self {
        let left = |window: &Window| {
            let to = window.to.min((self.close_of(*window) + 1).saturating_sub(wire.max(1)));
            (window.from < to).then_some(Window { to, ..*window })
        };
        Self::of(self.windows.iter().filter_map(left).collect(), self.cycle)
    }

    fn of(windows: Vec<Window>, cycle: Time) -> Self {
        let initial = match windows.first() {
            Some(&Window { from: 0, to }) if to == cycle => HORIZON,
            Some(&Window { from: 0, to }) => to,
            _ => 0,
        };
        let size = windows.len().next_power_of_two();
        let mut longest = vec![0; 2 * size];
        for (place, window) in longest[size..].iter_mut().zip(&windows) {
            let joined = if window.to == cycle { initial } else { 0 };
            *place = (window.to - window.from).saturating_add(joined).min(HORIZON);
        }
        for node in (1..size).rev() {
            longest[node] = longest[2 * node].max(longest[2 * node + 1]);
        }
        let count = windows.len() as Time;
        let part_bits = (0..Time::BITS - 1).find(|bits| cycle >> bits <= 2 * count).unwrap_or(Time::BITS - 1);
        let parts = 0..=(cycle - 1) >> part_bits;
        let ended_by = |at: Time| windows.partition_point(|window| window.to <= at) as u32;
        let ended = parts.map(|part| ended_by(part << part_bits)).chain([windows.len() as u32]).collect();
        Self { windows, cycle, initial, longest, ended, part_bits, borders: OnceLock::new() }
    }

    pub fn cycle(&self) -> Time {
        self.cycle
    }

    /// In ticks, of the rate of the line that asked first.
    #[inline]
    pub fn borders(&self, line: &Line) -> &Borders {
        self.borders.get_or_init(|| Borders::new(self, line))
    }

    pub fn all(&self) -> &[Window] {
        &self.windows
    }

    /// How long it is open from the cycle's start on; [`HORIZON`] when it never closes.
    pub fn initial(&self) -> Time {
        self.initial
    }

    /// The longest, also across the cycle's end; [`HORIZON`] when it never closes.
    pub fn largest(&self) -> Time {
        self.longest[1]
    }

    /// How many have ended by this time of the cycle.
    #[inline]
    pub fn ended_by(&self, offset: Time) -> usize {
        let part = (offset >> self.part_bits) as usize;
        let Some(&[least, most]) = self.ended.get(part..part + 2) else { return self.windows.len() };
        let of_part = &self.windows[least as usize..most as usize];
        least as usize + of_part.iter().take_while(|window| window.to <= offset).count()
    }

    /// When a window closes, which may be in the next cycle.
    #[inline]
    fn close_of(&self, window: Window) -> Time {
        if window.to < self.cycle {
            window.to
        } else {
            self.cycle.saturating_add(self.initial)
        }
    }

    /// When it closes that is open at a time of a cycle, which others follow; none: it is closed.
    pub fn closes(&self, offset: Time) -> Option<Time> {
        let window = self.windows.get(self.ended_by(offset)).filter(|window| window.from <= offset)?;
        Some(self.close_of(*window))
    }

    /// The first and the last of the first times from an offset on at which what takes so long may start and is over when
    /// the gate closes; none: no cycle has one. What takes no time needs an open gate.
    #[inline]
    pub fn starts_from(&self, offset: Time, wire: Time) -> Option<(Time, Time)> {
        let wire = wire.max(1);
        let ended = self.ended_by(offset);
        let open = self.windows.get(ended).filter(|window| window.from <= offset);
        if let Some(last) = open.and_then(|window| self.close_of(*window).checked_sub(wire)) {
            if offset <= last {
                return Some((offset, last));
            }
        }
        let of = |index: usize| {
            let window = self.windows[index];
            (window.from, self.close_of(window) - wire)
        };
        match self.first_of(wire, ended + usize::from(open.is_some())) {
            Some(index) => Some(of(index)),
            None => self.first_of(wire, 0).map(|index| {
                let (first, last) = of(index);
                (self.cycle.saturating_add(first), self.cycle.saturating_add(last))
            }),
        }
    }

    /// How long it stays open from an entry's end on, in a whole cycle; the end itself when it is closed then.
    pub fn open_until(&self, offset: Time) -> Time {
        let next = self.windows.get(self.ended_by(offset));
        next.filter(|window| window.from <= offset).map_or(offset, |window| window.to)
    }

    /// From when on, after a time of a cycle, the first window is open that lasts so long; of the next cycle, if it is
    /// none of this one. None: no cycle has one.
    pub fn opens_for(&self, wire: Time, offset: Time) -> Option<Time> {
        // A gate that never opens has no place for what takes no time either.
        let wire = wire.max(1);
        let later = self.windows.partition_point(|window| window.from <= offset);
        match self.first_of(wire, later) {
            Some(index) => Some(self.windows[index].from),
            None => self.first_of(wire, 0).map(|index| self.cycle.saturating_add(self.windows[index].from)),
        }
    }

    /// The same in a cycle whose end is another one's begin: what reaches beyond `last` may be open for longer.
    pub fn opens_before(&self, wire: Time, offset: Time, last: Time) -> Option<Time> {
        let later = self.windows.partition_point(|window| window.from <= offset);
        let tail = self.ended_by(last).max(later);
        let found = self.first_of(wire.max(1), later).map_or(tail, |index| index.min(tail));
        self.windows.get(found).map(|window| window.from).filter(|&from| from <= last)
    }

    /// The first window from an index on that is so long.
    fn first_of(&self, least: Time, index: usize) -> Option<usize> {
        if index >= self.windows.len() {
            return None;
        }
        let size = self.longest.len() / 2;
        let mut node = size + index;
        while self.longest[node] < least {
            // To the part that follows: out of all whose last it is, then beside.
            node >>= node.trailing_ones();
            if node == 0 {
                return None;
            }
            node += 1;
        }
        while node < size {
            node *= 2;
            node += usize::from(self.longest[node] < least);
        }
        Some(node - size)
    }
}
