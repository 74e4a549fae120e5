// SPDX-License-Identifier: Apache-2.0
//! Faults of links and nodes.
use super::Kernel;
use crate::faults::{Change, Fate, Moment, Told};
use crate::link::Wire;
use crate::nodes::Member;
use crate::outbox::Outbox;
use crate::queue::{self, Kind};
use crate::source::Release;
use crate::trace::{Event, Reason, Row, Trace};

impl Kernel {
    /// Nodes do nothing ahead that a fault at `stop` could change.
    pub(super) fn look_no_further(&mut self, stop: u64) {
        for member in &mut self.members {
            if let Member::Model(model) = member {
                model.set_end(stop);
            }
        }
    }

    /// What happens up to a time.
    pub(super) fn break_things(&mut self, now: u64) {
        while let Some(Moment { at, until, change }) = self.faults.take(now) {
            let (node, port) = match change {
                Change::Told(told) => {
                    self.tell_fault(at, told);
                    continue;
                }
                Change::Dies { node } => (node, None),
                Change::Cut { node, port } => (node, Some(port)),
                Change::Learnt { node, port, is_up } => {
                    self.learn_link(at, node, port, is_up);
                    continue;
                }
            };
            self.around.simulation.events += 1;
            let Some(member) = self.members.get_mut(node as usize) else {
                let station = node - self.members.len() as u32;
                match port {
                    None => self.station_dies(station, at),
                    Some(_) => self.station_is_cut(station, at, until),
                }
                continue;
            };
            // Hardware sends into nothing.
            let Member::Model(model) = member else { continue };
            if port.is_none() {
                self.around.queue.cancel(node);
            }
            let mut out = Outbox::new(node, &mut self.around);
            match port {
                None => model.die(at, &mut out),
                Some(port) => model.cut(port, at, until, &mut out),
            }
        }
    }

    fn learn_link(&mut self, at: u64, node: u32, port: u16, is_up: bool) {
        if let Some(Member::Model(model)) = self.members.get_mut(node as usize) {
            model.learn_link(port, is_up, at, &mut Outbox::new(node, &mut self.around));
        }
    }

    /// A row of no frame, unless the network is silent for good by then.
    fn tell_fault(&mut self, time_ps: u64, Told { node, port, event, reason }: Told) {
        if time_ps <= self.duration || self.around.queue.next_time().is_some() {
            let (frame, stream) = (Row::NO_FRAME, self.origins.len() as u32);
            let (bytes, traffic_class) = (0, Trace::NO_CLASS);
            self.keep(Row { frame, stream, node, port, event, time_ps, bytes, traffic_class, reason });
        }
    }

    fn station_is_cut(&mut self, index: u32, at: u64, until: u64) {
        let wake = self.stations[index as usize].cut(at, until);
        self.await_selection(index, wake);
    }

    /// What waits at its port or on the way there is lost.
    fn station_dies(&mut self, index: u32, at: u64) {
        for (slot, class) in self.stations[index as usize].lose_all(at) {
            self.drop_at_talker(index, slot, at, class, Reason::NODE_DOWN);
        }
        for stream in 0..self.origins.len() {
            let origin = &mut self.origins[stream];
            let waiting = match &mut origin.handover {
                Some(handover) if origin.talker == index => std::mem::take(&mut handover.waiting),
                _ => continue,
            };
            for waiting in waiting {
                self.drop_at_talker(index, waiting.slot, at, Trace::NO_CLASS, Reason::NODE_DOWN);
            }
        }
    }

    /// What a dead station would release now; true: it is dead.
    pub(super) fn is_silent(&mut self, now: u64, index: u32) -> bool {
        let talker = self.origins[index as usize].talker;
        let node = self.node_of(talker);
        let Some(until) = self.faults.down_until(node, now) else { return false };
        let station = &mut self.stations[talker as usize];
        let generator = &mut self.origins[index as usize].generator;
        match generator.next_release() {
            None => {}
            Some(Release::OnRequest) => _ = generator.take(),
            Some(Release::WhenFree(_)) if station.makes_frames() => return false, // its port is held
            Some(Release::WhenFree(_)) if until < self.duration => {
                self.around.queue.push(queue::Event::new(until, Kind::Release, node, index));
            }
            Some(Release::WhenFree(_)) => {}
            Some(Release::At(_)) => {
                let mut passed = false;
                while let Some(Release::At(local)) = generator.next_release() {
                    if station.clock.time_of_schedule(local) != Some(now) {
                        break;
                    }
                    generator.take();
                    passed = true;
                }
                if passed {
                    self.plan_release(index);
                }
            }
        }
        true
    }

    /// What becomes of a frame that leaves a port: which bit of it is damaged, if one is; none: it is lost on the wire.
    #[cold]
    pub(super) fn brave(
        &mut self,
        slot: u32,
        from: (u32, u16),
        wire: Wire,
        first: u64,
        traffic_class: u8,
    ) -> Option<Option<u64>> {
        match self.faults.fate(from, wire, first, u32::from(self.around.frames.get(slot).bytes)) {
            Fate::Whole => Some(None),
            Fate::Damaged(bit) => Some(Some(bit)),
            Fate::Lost { at, reason } => {
                self.around.simulation.frame_hops += 1;
                self.around.simulation.passed(at);
                self.row(slot, from, Event::Dropped, at, traffic_class, reason);
                let mut frame = self.around.frames.remove(slot);
                let is_bridge = (from.0 as usize) < self.members.len();
                let behind = if is_bridge { self.around.ledger.behind(&frame, from.1) } else { frame.open };
                self.around.ledger.miss(&mut frame, behind, reason);
                self.around.ledger.leave(frame);
                None
            }
        }
    }

    /// A station sees by the FCS of a frame that it is damaged.
    #[cold]
    pub(super) fn deliver_damaged(&mut self, slot: u32, wire: Wire, time: u64, traffic_class: u8) {
        let mut frame = self.around.frames.remove(slot);
        let at = time + wire.rate.duration(u32::from(frame.bytes));
        self.around.simulation.passed(at);
        self.keep(frame.row((wire.node, 0), Event::Dropped, at, traffic_class, Reason::FCS));
        let station = wire.node - self.members.len() as u32;
        let listeners = u32::from(self.around.ledger.listens(frame.stream, station));
        self.around.ledger.miss(&mut frame, listeners, Reason::FCS);
        self.around.ledger.leave(frame);
    }
}
