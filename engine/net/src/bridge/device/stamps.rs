// SPDX-License-Identifier: Apache-2.0
//! Tells the host when frames of its own left. Twin of `pen_egress_stamps`, and of what `pen_host_tx` makes of it.
use std::cmp::Reverse;
use std::collections::VecDeque;

use penstock_shaper::gate_config::GATES_CYCLES;

use super::{Device, Event, Kind, Step, Tick, QUIET_CYCLES};

/// Of the header before a frame of the host: it is to be told when the frame leaves.
const STAMPED: u8 = 2;
/// Stamps that wait for the host.
const WAITING: usize = 16;
/// From the turn behind the first byte to when the stamp waits.
const TURN_TO_WAITING: Tick = 2;
/// For how long a stamp has the port, its bytes from the second cycle on.
const STAMP_CYCLES: Tick = 17;

/// The tag by which the host knows a frame, if it wants to be told of it.
pub fn tag_of(header: [u8; 4]) -> Option<u8> {
    (header[0] & STAMPED != 0).then_some(header[3])
}

/// A frame of the host has left a port.
#[derive(Clone, Debug)]
struct Stamp {
    port: u16,
    tag: u8,
    frame: u64,
    /// Of the first byte behind the delimiter.
    first: Tick,
    /// What the PTP clock showed then: nanoseconds, and 2^-8 of one; as soon as it is known.
    moment: (u64, u8),
    /// Those that were lost just before it.
    lost: u8,
}

/// Stamps on their way.
#[derive(Clone, Debug, Default)]
pub struct Stamps {
    /// With when each comes to those that wait, the earliest first.
    coming: VecDeque<(Tick, Stamp)>,
    waiting: VecDeque<Stamp>,
    lost: u8,
    /// The first of those that wait has the port of the host up to here.
    until: Option<Tick>,
    /// The port is not free before.
    tries: Option<Tick>,
}

impl Stamps {
    /// The next cycle in which one of them may take the port.
    pub fn next(&self) -> Option<Tick> {
        let comes = self.coming.front().map(|(comes, _)| *comes);
        [comes, self.until, self.tries].into_iter().flatten().min()
    }
}

impl Device {
    /// The port of the host.
    pub(super) fn host_port(&self) -> u16 {
        self.sizes.ports - 1
    }

    /// A frame leaves a port, its first byte behind the delimiter in a cycle.
    pub(super) fn stamp(&mut self, port: u16, frame: u64, first: Tick) {
        let tag = self.frames.get(&frame).and_then(|frame| frame.tag);
        let Some(tag) = tag.filter(|_| port != self.host_port()) else { return };
        let comes = self.turns.turn(port, first) + TURN_TO_WAITING;
        let coming = &mut self.stamps.coming;
        let place = coming.partition_point(|(other, _)| *other < comes);
        coming.insert(place, (comes, Stamp { port, tag, frame, first, moment: (0, 0), lost: 0 }));
        // By then the clock has taken each command that acted before the frame.
        self.steps.push(Reverse((first + GATES_CYCLES, Step::Moment { port, first })));
        self.steps.push(Reverse((comes, Step::Stamp)));
    }

    /// It is known what the clock showed as a frame left.
    pub(super) fn stamp_moment(&mut self, port: u16, first: Tick) {
        let moment = self.bridge.clock_time(first);
        let Stamps { coming, waiting, .. } = &mut self.stamps;
        let mut all = coming.iter_mut().map(|(_, stamp)| stamp).chain(waiting);
        if let Some(stamp) = all.find(|stamp| stamp.port == port && stamp.first == first) {
            stamp.moment = moment;
        }
    }

    /// A stamp comes to those that wait, or is lost.
    pub(super) fn stamp_comes(&mut self, at: Tick) {
        let Some((_, stamp)) = self.stamps.coming.pop_front() else { return };
        let Stamps { waiting, lost, .. } = &mut self.stamps;
        if waiting.len() == WAITING {
            *lost = lost.saturating_add(1);
        } else {
            waiting.push_back(Stamp { lost: std::mem::take(lost), ..stamp });
        }
        self.tell_host(at);
    }

    /// The port of the host may be free for a stamp.
    pub(super) fn tell_host(&mut self, at: Tick) {
        if self.stamps.until.is_some_and(|until| until <= at) {
            self.stamps.until = None;
            if let Some(told) = self.stamps.waiting.pop_front() {
                self.told_host(at, &told);
            }
        }
        if self.stamps.waiting.is_empty() || self.stamps.until.is_some() {
            return;
        }
        let free = self.bridge.hold(at, self.host_port(), STAMP_CYCLES);
        self.stamps.tries = (free > at).then_some(free);
        let next = if free > at { free } else { at + STAMP_CYCLES };
        if free <= at {
            self.stamps.until = Some(next);
            self.wake();
        }
        self.steps.push(Reverse((next, Step::Host)));
    }

    /// The last byte of a stamp was on the stream in the cycle before.
    fn told_host(&mut self, at: Tick, told: &Stamp) {
        let (ns, fraction) = told.moment;
        let mut event = Event::new(Kind::Stamp, at + 1 - STAMP_CYCLES, told.port, told.frame, 0);
        event.visible = ns;
        event.fcs = u32::from_le_bytes([fraction, told.tag, told.lost, 0]);
        self.tell(at - 1, event);
        self.quiet_at = self.quiet_at.max(at + QUIET_CYCLES);
    }
}
