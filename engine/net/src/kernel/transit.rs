// SPDX-License-Identifier: Apache-2.0
//! Wires on which not all that begins comes to its end: transmissions that may be cut, and bits that flip.
use super::Kernel;
use crate::error::{wrong, RunError};
use crate::faults::Faults;
use crate::link::Wire;
use crate::links::Links;
use crate::node::Node;
use crate::nodes::Member;
use crate::outbox::{Broken, Leaving};
use crate::trace::{Event, Reason};
use crate::wires::Transmission;
use penstock_shaper::Time;

/// Per port of all nodes, whether what it sends stays on its wire until it is whole.
pub(super) fn held(members: &[Member], links: &Links, faults: &Faults) -> Result<Vec<bool>, RunError> {
    let mut held = Vec::new();
    for (number, member) in (0..).zip(members) {
        let (ports, cuts) = match member.node() {
            Some(node) => (node.ports(), node.cuts()),
            None => return Ok(Vec::new()), // of a network of models without faults
        };
        for port in 0..ports {
            let reader = links.at(held.len()).and_then(|wire| members.get(wire.node as usize));
            let is_early = reader.and_then(Member::node).is_some_and(Node::reads_early);
            if cuts && is_early {
                return Err(wrong(format!(
                    "node {number} cuts what it sends by port {port}, but the next node reads frames before they are whole"
                )));
            }
            held.push(!is_early && (cuts || faults.cuts((number, port))));
        }
    }
    Ok(held)
}

impl Kernel {
    /// A frame is sent by a port with this place among those of all nodes. Gives which bit of it flips, if one does; none:
    /// it is lost, or stays on its wire for now.
    #[cold]
    pub(super) fn brave(&mut self, from: (u32, u16), place: u32, wire: Wire, leaving: Leaving) -> Option<Option<u64>> {
        let Leaving { slot, traffic_class, is_spoiled, first, .. } = leaving;
        let bytes = self.around.frames.get(slot).bytes;
        let mut on =
            Transmission { slot, from, wire, traffic_class, is_spoiled, first, bytes: u32::from(bytes), handed: 0 };
        let is_held = self.held[place as usize];
        // What is held is lost when that happens, unless it is now.
        let until = if is_held { on.begin() + 1 } else { on.whole() };
        if let Some((at, reason)) = self.faults.outage(from, on.begin(), until) {
            self.lose(on, at, reason);
            return None;
        }
        if !is_held {
            return Some(self.faults.hit(from, first, on.bytes));
        }
        on.handed = on.whole();
        if let Member::Bridge(bridge) = &self.members[wire.node as usize] {
            let arrives = first.saturating_add(wire.delay_ps);
            on.handed = bridge.reads_by(arrives, wire.port, bytes).min(on.handed);
        }
        self.around.wires.put(on, &mut self.around.queue);
        None
    }

    /// A frame that was held is whole, which comes into a port.
    pub(super) fn arrive(&mut self, node: u32, port: u16) -> Result<(), RunError> {
        let first_port = match &self.members[node as usize] {
            Member::Bridge(bridge) => bridge.first_port,
            Member::Station(station) => station.first_port,
            Member::Guest(guest) => guest.first_port,
            Member::Foreign(_) => return Ok(()),
        };
        let back = self.links.at((first_port + u32::from(port)) as usize);
        let Some(on) = back.and_then(|back| self.around.wires.next((back.node, back.port))) else { return Ok(()) };
        self.hand_over(on)
    }

    /// All that is to be handed over by a time.
    pub(super) fn hand_over_until(&mut self, now: Time) -> Result<(), RunError> {
        let Self { around, .. } = self;
        around.wires.take_until(now, &mut around.queue).into_iter().try_for_each(|on| self.hand_over(on))
    }

    fn hand_over(&mut self, on: Transmission) -> Result<(), RunError> {
        // By a fast clock, a bridge reads it before it is whole.
        if let Some((at, reason)) = self.faults.outage(on.from, on.begin(), on.whole()) {
            self.lose(on, at, reason);
            return Ok(());
        }
        let Transmission { slot, from, wire, traffic_class, is_spoiled, first, bytes, .. } = on;
        let spoiled = is_spoiled.then(|| (u64::from(bytes) * 8).saturating_sub(1));
        let damaged = self.faults.hit(from, first, bytes).or(spoiled);
        self.travel(from, slot, wire, (first, traffic_class), damaged)
    }

    /// The link of a port goes down: what is on it is lost.
    pub(super) fn cut_wire(&mut self, from: (u32, u16), at: Time, until: Time, reason: Reason) {
        let is_cut = |on: &Transmission| on.begin() < until && at < on.whole();
        while let Some(on) = self.around.wires.cut(from, &mut self.around.queue, is_cut) {
            self.lose(on, at.max(on.begin()), reason);
        }
    }

    /// A frame is lost on a wire, at the port that sent it.
    fn lose(&mut self, on: Transmission, at: Time, reason: Reason) {
        let Transmission { slot, from, traffic_class, .. } = on;
        self.around.simulation.passed(at);
        self.around.row(slot, from, Event::Dropped, at, traffic_class, reason);
        let mut frame = self.around.frames.remove(slot);
        let is_station = matches!(self.members[from.0 as usize], Member::Station(_));
        let behind = if is_station { frame.open } else { self.around.ledger.behind(&frame, from.1) };
        self.around.ledger.miss(&mut frame, behind, reason);
        self.around.ledger.leave(frame);
    }

    /// The next nodes learn of transmissions that were cut.
    pub(super) fn tell_broken(&mut self) -> Result<(), RunError> {
        while let Some(Broken { wire, at, bytes }) = self.around.broken.pop() {
            if let Member::Guest(guest) = &mut self.members[wire.node as usize] {
                guest.broken_off(at, wire.port, &bytes)?;
                guest.plan(0, &mut crate::outbox::Outbox::new(wire.node, &mut self.around));
            }
        }
        Ok(())
    }
}
