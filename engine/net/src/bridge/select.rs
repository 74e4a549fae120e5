// SPDX-License-Identifier: Apache-2.0
//! Selection for transmission.
use penstock_shaper::admission::cells_of;
use penstock_shaper::queue::Queued;

use super::lifetime::{lifetime, next_look, next_look_at_long, Look};
use super::shaping::{GateTime, Sending};
use super::timing::Clock;
use super::{reason, Bridge, Port, Release, Selection, Tick, NEVER};

/// By then all that was queued when a class was looked at is known.
const LOOK_KNOWN: Tick = 10;

impl Bridge {
    /// Lets an egress port select, at the tick that was told.
    pub fn select(&mut self, now: Tick, port: u16) -> Selection {
        let state = &mut self.ports[usize::from(port)];
        // A fast clock shows several ticks in one picosecond, of which `now` may be a later one.
        if now < state.due {
            return Selection::Stale;
        }
        let now = state.due;
        if let Some(look) = state.lifetime.look.filter(|look| look.at < now) {
            return self.look(now, port, look);
        }
        if now < state.free {
            return Selection::Idle { next: state.plan(&self.clock, &self.gate_time, port, now) };
        }
        let copy = match state.shaping {
            None => state.queues.select(now),
            Some(ref mut shaping) => {
                let (clock, time, gap) = (&self.clock, &self.gate_time, self.settings.count_gap);
                shaping.select(clock, time, port, &mut state.queues, now, gap)
            }
        };
        let Some(copy) = copy else {
            return Selection::Idle { next: state.plan(&self.clock, &self.gate_time, port, now) };
        };
        let last = !state.queues.is_filled(copy.reception, copy.traffic_class);
        let (first, back) = state.send(&self.clock, self.settings.count_gap, port, now, &copy, last);
        let next = state.plan(&self.clock, &self.gate_time, port, now);
        self.release(port, back, &copy);
        Selection::Sent { frame: copy.frame, bytes: copy.bytes, traffic_class: copy.traffic_class, first, next }
    }

    /// Gives up the candidate of a class that was looked at, if it still is too old.
    fn look(&mut self, now: Tick, port: u16, look: Look) -> Selection {
        let age = lifetime(&self.clock);
        let sent_until = |release: &&Release| u16::from(release.egress) == port;
        let busy: Vec<Tick> = self.releases.iter().filter(sent_until).map(|release| release.at).collect();
        let state = &mut self.ports[usize::from(port)];
        let head = state.queues.head(look.traffic_class).filter(|head| head.visible <= look.at).copied();
        let is_long = look.is_long.unwrap_or_else(|| state.is_long(&self.clock, &self.gate_time, port, look));
        let old = is_long || head.is_some_and(|head| head.visible + age <= look.at);
        // Without gates and credit, one that could have been sent was.
        let is_held = state.shaping.is_some() || state.free > look.at + 1;
        let taken = match &self.clock {
            Clock::Hardware(cycles) => old && state.lifetime.is_taken(look, *cycles) && is_held,
            Clock::Ideal(_) => old,
        };
        if let Some(shaping) = state.shaping.as_mut().filter(|_| taken) {
            shaping.settle_all(&self.gate_time, look.at, &state.queues);
        }
        let copy = if taken { state.queues.take(look.traffic_class) } else { None };
        let Some(copy) = copy else {
            state.lifetime.look = None;
            return Selection::Idle { next: state.plan(&self.clock, &self.gate_time, port, now.max(look.at + 1)) };
        };
        let released = match &self.clock {
            Clock::Hardware(cycles) => {
                let mut turn = cycles.turn(port, look.at + 2);
                while busy.contains(&turn) {
                    turn += cycles.ports;
                }
                let last = !state.queues.is_filled(copy.reception, copy.traffic_class);
                state.lifetime.popped(turn, last);
                let rest = state.lifetime.rest(*cycles);
                state.search(look.traffic_class, rest);
                turn
            }
            Clock::Ideal(_) => look.at,
        };
        let at = match &self.clock {
            Clock::Hardware(_) => released + 1,
            Clock::Ideal(_) => released,
        };
        state.lifetime.look = None;
        let next = state.plan(&self.clock, &self.gate_time, port, now.max(look.at + 1));
        self.release(port, released, &copy);
        let reason = if is_long { reason::MAX_SDU } else { reason::LIFETIME };
        Selection::Expired { frame: copy.frame, traffic_class: copy.traffic_class, reason, at, next }
    }

    /// The cells of a copy come back at a tick.
    #[inline(always)]
    pub(super) fn release(&mut self, egress: u16, at: Tick, copy: &Queued) {
        self.next_release = self.next_release.min(at);
        self.releases.push(Release {
            at,
            cells: cells_of(u32::from(copy.bytes)) as u16,
            egress: egress as u8,
            reception: copy.reception as u8,
            traffic_class: copy.traffic_class,
            pool: copy.pool,
        });
    }

    /// Gives back all cells whose turn comes before a tick. Their order does not matter.
    pub(super) fn release_before(&mut self, tick: Tick) {
        let (admission, mut next) = (&mut self.admission, NEVER);
        self.releases.retain(|release| {
            let stays = release.at >= tick;
            if stays {
                next = next.min(release.at);
            } else {
                let (egress, class) = (usize::from(release.egress), usize::from(release.traffic_class));
                admission.release(egress, class, usize::from(release.reception), release.pool, release.cells.into());
            }
            stays
        });
        self.next_release = next;
    }
}

impl Port {
    /// Sends a copy that was selected, the last of its queue or not; gives when its first bit after the delimiter leaves,
    /// and when its cells come back.
    #[inline(always)]
    pub(super) fn send(
        &mut self,
        clock: &Clock,
        count_gap: bool,
        port: u16,
        now: Tick,
        copy: &Queued,
        last: bool,
    ) -> (Tick, Tick) {
        self.lifetime.popped(now, last);
        match clock {
            Clock::Hardware(cycles) => {
                let until = cycles.sent(now, copy.bytes, count_gap);
                self.sending = Some(Sending { traffic_class: usize::from(copy.traffic_class), until });
                self.free = cycles.next_selection(now, copy.bytes);
                (cycles.first_byte(now), cycles.release(now, copy.bytes, port))
            }
            Clock::Ideal(ideal) => {
                self.free = ideal.next_selection(port, now, copy.bytes);
                (ideal.first_bit(port, now), ideal.end(port, now, copy.bytes))
            }
        }
    }

    /// Whether the candidate of a class is too long for its gate when it is looked at.
    pub(super) fn is_long(&self, clock: &Clock, time: &GateTime, port: u16, look: Look) -> bool {
        let head = self.queues.head(look.traffic_class).filter(|head| head.visible <= look.at);
        self.shaping.as_ref().zip(head).is_some_and(|(shaping, head)| {
            shaping.never_fits(time, look.at, look.traffic_class, clock.wire(port, head.bytes))
        })
    }

    /// Nothing is selected while a class is searched for its next frame.
    pub(super) fn search(&mut self, traffic_class: usize, until: Tick) {
        self.lifetime.search = Some((traffic_class, until));
        self.free = self.free.max(until);
        if let Some(shaping) = &mut self.shaping {
            shaping.given_up(traffic_class, until);
        }
    }

    /// A frame was queued, which holds off a search that goes on.
    pub(super) fn enqueued(&mut self, clock: &Clock, at: Tick, head: bool) {
        if self.lifetime.search.is_some_and(|(_, until)| until <= at) {
            self.lifetime.search = None;
        }
        self.lifetime.enqueued(at, head);
        if let (Clock::Hardware(cycles), Some((traffic_class, _))) = (clock, self.lifetime.search) {
            let rest = self.lifetime.rest(*cycles);
            self.search(traffic_class, rest);
        }
    }

    /// When the port is to select, or to look at a frame that is too old or too long by then.
    pub(super) fn plan(&mut self, clock: &Clock, time: &GateTime, port: u16, now: Tick) -> Option<Tick> {
        let Some(earliest) = self.queues.earliest() else {
            self.due = NEVER;
            self.lifetime.look = None;
            return None;
        };
        let free = self.free.max(now);
        let mut due = match &self.shaping {
            None => earliest.max(free),
            Some(shaping) => shaping.due(clock, time, port, &self.queues, free),
        };
        // A look that has been is judged as it was.
        if self.lifetime.look.is_none_or(|look| look.at >= now) {
            self.lifetime.look = None;
            if earliest.saturating_add(lifetime(clock)) < due {
                self.lifetime.look = next_look(clock, &self.queues, now);
            }
            if let Some(shaping) = self.shaping.as_ref().filter(|shaping| shaping.gates.is_enabled()) {
                let long = next_look_at_long(clock, &self.queues, port, shaping, time, now);
                self.lifetime.look = [self.lifetime.look, long].into_iter().flatten().min_by_key(|look| look.at);
            }
            self.lifetime.look = self.lifetime.look.filter(|look| look.at.saturating_add(1) < due);
        }
        if let Some(look) = self.lifetime.look {
            due = due.min(look.at.saturating_add(LOOK_KNOWN));
        }
        self.due = due;
        (due < NEVER).then_some(due)
    }
}
