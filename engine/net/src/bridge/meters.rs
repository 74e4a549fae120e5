// SPDX-License-Identifier: Apache-2.0
//! The ATS schedulers of a bridge, or of a talker, and when a frame of theirs may be selected.
use penstock_shaper::admission::CLASSES;
use penstock_shaper::ats::{
    process_frame_at, Group, Rate, Scheduler, MAX_PROCESSING_DELAY_NS, MAX_RESIDENCE_NS, TICKS_PER_NS,
};
use penstock_shaper::{signed, Time};
use prefetch_index::prefetch_index;

use super::change::Change;
use super::config::{within, BridgeConfig, BridgeError};
use super::timing::{visible_cycles, CYCLE_NS, RX_LATENCY_CYCLES};
use super::{Tick, NEVER};
use crate::limits::OVERHEAD_BYTES;

const PS_PER_NS: Time = 1_000;

/// What an ATS scheduler says of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub visible: Tick,
    /// It does not stay too long.
    pub pass: bool,
}

/// What counts for a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metering {
    pub overhead_bytes: i32,
    pub residence_ns: u32,
    pub delay_ns: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Meters {
    groups: Vec<Group>,
    residences_ns: Vec<u32>,
    schedulers: Vec<Scheduler>,
    overhead_bytes: i32,
    processing_delay_max_ns: u32,
}

/// One for each reception port and class.
fn group_of(port: u16, traffic_class: u8) -> usize {
    usize::from(port) * CLASSES + usize::from(traffic_class)
}

impl Meters {
    /// With full buckets: so many schedulers, which count these bytes around a frame, and a group for each reception port
    /// and class of a node that delays frames by this.
    pub fn new(ports: u16, schedulers: usize, overhead_bytes: i16, delay_ns: u32) -> Result<Self, BridgeError> {
        let groups = usize::from(ports) * CLASSES;
        let (least, most) = OVERHEAD_BYTES.into_inner();
        Ok(Self {
            groups: vec![Group::default(); groups],
            residences_ns: vec![MAX_RESIDENCE_NS; groups],
            schedulers: vec![Scheduler::new(Rate::from_bits(0, 0)); schedulers],
            overhead_bytes: within("overhead in bytes", i32::from(overhead_bytes), least, most)?,
            processing_delay_max_ns: delay_ns,
        })
    }

    /// Those of a bridge with so many streams, that delays frames by this unless it is said.
    pub fn of_bridge(ports: u16, config: &BridgeConfig, streams: u32, delay_ns: u32) -> Result<Self, BridgeError> {
        let highest = config.streams.iter().map(|s| usize::from(s.stream) + 1).max().unwrap_or(0);
        let delay_ns = config.processing_delay_max_ns.unwrap_or(delay_ns);
        let mut meters = Self::new(ports, highest.max(streams as usize), config.overhead_bytes, delay_ns)?;
        for &(port, class, ns) in &config.max_residence_ns {
            within("reception port of a group", port, 0, ports - 1)?;
            meters.set_residence_ns(port, within("traffic class of a group", class, 0, 7)?, ns);
        }
        for entry in &config.streams {
            meters.set_rate(entry.stream, Rate::from_bits(entry.ns_per_byte, entry.empty_to_full));
        }
        Ok(meters)
    }

    pub fn processing_delay_max_ns(&self) -> u32 {
        self.processing_delay_max_ns
    }

    /// As after a start: all buckets are full, and nothing has passed.
    pub fn restart(&mut self) {
        self.groups.fill(Group::default());
        for scheduler in &mut self.schedulers {
            *scheduler = Scheduler::new(scheduler.rate());
        }
    }

    /// One that does not exist is left out.
    pub fn set_rate(&mut self, stream: u16, rate: Rate) {
        if let Some(scheduler) = self.schedulers.get_mut(usize::from(stream)) {
            *scheduler = Scheduler::new(rate);
        }
    }

    /// One that does not exist is left out.
    pub fn set_residence_ns(&mut self, port: u16, traffic_class: u8, ns: u32) {
        if let Some(residence_ns) = self.residences_ns.get_mut(group_of(port, traffic_class & 7)) {
            *residence_ns = ns;
        }
    }

    /// Makes a change, if it is one of the schedulers.
    pub fn change(&mut self, change: &Change) {
        match *change {
            Change::OverheadBytes(bytes) => self.overhead_bytes = i32::from(bytes),
            Change::ProcessingDelayMaxNs(ns) => self.processing_delay_max_ns = ns,
            Change::Rate { stream, ns_per_byte, empty_to_full } => {
                self.set_rate(stream, Rate::from_bits(ns_per_byte, empty_to_full));
            }
            Change::Residence { port, traffic_class, ns } => self.set_residence_ns(port, traffic_class, ns),
            _ => {}
        }
    }

    /// Has the scheduler of a stream fetched into the cache.
    #[inline]
    pub fn bring(&self, stream: u32) {
        prefetch_index(&self.schedulers, (stream as usize).min(self.schedulers.len()));
    }

    pub fn metering(&self, port: u16, traffic_class: u8) -> Metering {
        Metering {
            overhead_bytes: self.overhead_bytes,
            residence_ns: self.residences_ns[group_of(port, traffic_class)],
            delay_ns: self.processing_delay_max_ns,
        }
    }

    /// The frame's eligibility time, and whether it stays no longer than it may.
    fn process(
        &mut self,
        (port, traffic_class): (u16, u8),
        stream: u32,
        arrival: i128,
        bytes: u16,
        metering: &Metering,
    ) -> Option<(i128, bool)> {
        let group = &mut self.groups[group_of(port, traffic_class)];
        group.set_max_residence_ns(metering.residence_ns);
        let scheduler = self.schedulers.get_mut(stream as usize)?;
        let length = u32::from(bytes).saturating_add_signed(metering.overhead_bytes);
        Some(process_frame_at(group, scheduler, arrival, length))
    }

    /// When a frame of a stream, which has so many bytes and came at `last`, may be selected, in picoseconds and not before
    /// `earliest`.
    pub fn shape(
        &mut self,
        group: (u16, u8),
        stream: u32,
        (last, bytes): (Tick, u16),
        metering: &Metering,
        earliest: Tick,
    ) -> Shape {
        // Rounded down; a division of 128 bit would take long.
        let (ns, ps) = (last / PS_PER_NS, last % PS_PER_NS);
        let arrival = signed(ns) * TICKS_PER_NS + signed((ps << TICKS_PER_NS.trailing_zeros()) / PS_PER_NS);
        let Some((eligible, pass)) = self.process(group, stream, arrival, bytes, metering) else {
            return Shape { visible: NEVER, pass: false };
        };
        let wait_ps = ((eligible - arrival) * signed(PS_PER_NS) + TICKS_PER_NS - 1) / TICKS_PER_NS;
        let delay_ps = Time::from(metering.delay_ns) * PS_PER_NS;
        let visible = signed(last) + wait_ps + signed(delay_ps);
        Shape { visible: earliest.max(Tick::try_from(visible).unwrap_or(NEVER)), pass }
    }

    /// The same in the hardware's cycles.
    pub fn shape_in_cycles(
        &mut self,
        group: (u16, u8),
        stream: u32,
        (last, bytes): (Tick, u16),
        metering: &Metering,
        ports: u16,
    ) -> Shape {
        let ticks = |ns: Time| signed(ns) * TICKS_PER_NS;
        let arrival = ticks(CYCLE_NS * (last - RX_LATENCY_CYCLES));
        let Some((eligible, pass)) = self.process(group, stream, arrival, bytes, metering) else {
            return Shape { visible: NEVER, pass: false };
        };
        let visible = last + visible_cycles(ports);
        let delay = ticks(Time::from(metering.delay_ns.min(MAX_PROCESSING_DELAY_NS)));
        let cycle = ticks(CYCLE_NS);
        let assigned = (eligible + delay + cycle - 1).div_euclid(cycle);
        Shape { visible: visible.max(Tick::try_from(assigned).unwrap_or(NEVER)), pass }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A byte in 80 ns, 100 Mb/s, and a bucket of 1000 of them.
    fn rate() -> Rate {
        Rate::from_bits(80 << 24, (1000 * 80) << 16)
    }

    fn meters(overhead_bytes: i16, delay_ns: u32) -> Meters {
        let mut meters = Meters::new(2, 2, overhead_bytes, delay_ns).unwrap();
        meters.set_rate(0, rate());
        meters.set_rate(1, rate());
        meters
    }

    /// When a frame of 1000 bytes that comes at `last` may be selected, by its group and stream.
    fn shape(meters: &mut Meters, group: (u16, u8), stream: u32, last: Tick) -> (Tick, bool) {
        let metering = meters.metering(group.0, group.1);
        let shape = meters.shape(group, stream, (last, 1000), &metering, last);
        (shape.visible, shape.pass)
    }

    #[test]
    fn a_wait_is_counted_from_the_picosecond_of_the_arrival() {
        let mut meters = meters(0, 3);
        assert_eq!(shape(&mut meters, (0, 7), 0, 1_000_500), (1_003_500, true));
        // 80 us after the first, which came at 1000.5 ns, as far as 2^-16 ns tell it.
        let (visible, pass) = shape(&mut meters, (0, 7), 0, 2_000_000);
        assert!(pass && visible.abs_diff(1_000_500 + 80_000_000 + 3_000) < 16, "{visible}");
    }

    #[test]
    fn what_is_counted_around_a_frame_is_earned_too() {
        for (overhead, wait) in [(-63, 937 - 63), (0, 1000), (255, 1255 + 255)] {
            let mut meters = meters(overhead, 0);
            shape(&mut meters, (0, 7), 0, 0);
            // The second is there when 2 · length - burst is earned.
            assert_eq!(shape(&mut meters, (0, 7), 0, 200_000).0.max(200_000), wait * 80_000, "{overhead}");
        }
        assert!(Meters::new(2, 2, -64, 0).is_err() && Meters::new(2, 2, 256, 0).is_err());
    }

    #[test]
    fn a_group_is_of_one_port_and_class() {
        let mut meters = meters(0, 0);
        shape(&mut meters, (0, 7), 0, 0);
        assert_eq!(shape(&mut meters, (0, 7), 0, 0), (80_000_000, true));
        // Another stream with a full bucket waits in the same group only.
        let with_bucket = meters.clone();
        for (group, visible) in [((0, 7), 80_000_000), ((1, 7), 0), ((0, 6), 0)] {
            assert_eq!(shape(&mut with_bucket.clone(), group, 1, 0), (visible, true));
        }
    }

    #[test]
    fn each_setting_can_change() {
        let mut meters = meters(0, 0);
        shape(&mut meters, (0, 7), 0, 0);
        let second = |meters: &Meters| shape(&mut meters.clone(), (0, 7), 0, 0);
        assert_eq!(second(&meters), (80_000_000, true));
        let changed = |change: Change| {
            let mut changed = meters.clone();
            changed.change(&change);
            second(&changed)
        };
        assert_eq!(changed(Change::OverheadBytes(10)), (1010 * 80_000, true));
        assert_eq!(changed(Change::ProcessingDelayMaxNs(7)), (80_007_000, true));
        let residence = |traffic_class, ns| Change::Residence { port: 0, traffic_class, ns };
        assert!(!changed(residence(7, 79_999)).1 && changed(residence(7, 80_000)).1 && changed(residence(6, 0)).1);
        let (ns_per_byte, empty_to_full) = (rate().ns_per_byte(), rate().empty_to_full());
        assert_eq!(changed(Change::Rate { stream: 0, ns_per_byte, empty_to_full }), (0, true), "a full bucket");
        assert_eq!(changed(Change::Rate { stream: 1, ns_per_byte, empty_to_full }), (80_000_000, true));
        let mut restarted = meters.clone();
        restarted.restart();
        assert_eq!(second(&restarted), (0, true));
    }

    #[test]
    fn what_there_is_none_of_is_left_out() {
        let mut meters = meters(0, 0);
        meters.set_rate(2, rate());
        meters.set_residence_ns(2, 7, 0);
        assert_eq!(shape(&mut meters, (0, 7), 2, 0), (NEVER, false));
        let metering = meters.metering(0, 7);
        assert!(!meters.shape_in_cycles((0, 7), 2, (2_000, 1000), &metering, 4).pass);
    }

    #[test]
    fn in_cycles_a_frame_that_is_not_held_is_visible_at_once() {
        let mut meters = meters(0, 248);
        let metering = meters.metering(0, 7);
        let mut at = |last| meters.shape_in_cycles((0, 7), 0, (last, 1000), &metering, 4);
        let first = at(2_000);
        assert_eq!((first.visible, first.pass), (2_000 + 27, true));
        // 80 us, 10 000 cycles, after the first frame's last byte was taken four cycles late; 248 ns are 31 cycles.
        assert_eq!(at(2_100).visible, 2_000 - 4 + 10_000 + 31);
    }
}
