// SPDX-License-Identifier: Apache-2.0
//! Hardware and models in one run.
use super::{BridgeNode, Ended, Kernel, Observer};
use crate::bridge::Judgement;
use crate::clock::CYCLE_PS;
use crate::conservation::Violation;
use crate::error::RunError;
use crate::node::{Told, LEAD_TICKS};

impl Kernel {
    /// Models and others in turns. What the others select in a slice reaches no node before the slice is over.
    pub(super) fn run_mixed(
        &mut self,
        end: u64,
        externals: &[u32],
        observer: &mut dyn Observer,
    ) -> Result<Ended, RunError> {
        let slice = self.lookahead(externals);
        let mut judgement = Judgement::default();
        let mut now = 0;
        while now < end {
            let busy = externals.iter().any(|&bridge| match &self.bridges[bridge as usize] {
                BridgeNode::External { node, .. } => node.busy(),
                BridgeNode::Model { .. } => false,
            });
            if !busy {
                let Some(next) = self.queue.next_time() else { return Ok(Ended::Done) };
                now = next.max(now);
            }
            let until = now.saturating_add(slice).min(end);
            self.until = until;
            while let Some(event) = self.queue.pop_before(until) {
                self.act(event, &mut judgement)?;
            }
            for &bridge in externals {
                self.run_external(bridge, until)?;
            }
            now = until;
            if self.trace.is_full() {
                self.hand_out(observer)?;
            }
            if !self.look(now, observer) {
                return Ok(Ended::Interrupted);
            }
        }
        self.simulation.end_ps = end;
        Ok(Ended::Done)
    }

    /// From a selection by an external node to the first effect on another node, at the least.
    pub(super) fn lookahead(&self, externals: &[u32]) -> u64 {
        let delays = externals.iter().flat_map(|&bridge| {
            let first = self.bridges[bridge as usize].first_wire();
            let last = self.bridges.get(bridge as usize + 1).map_or(self.wires.len(), BridgeNode::first_wire);
            self.wires[first..last].iter().flatten().map(|wire| wire.delay_ps)
        });
        LEAD_TICKS * CYCLE_PS + delays.min().unwrap_or(0)
    }

    pub(super) fn run_external(&mut self, bridge: u32, until: u64) -> Result<(), RunError> {
        let BridgeNode::External { node, clock, .. } = &mut self.bridges[bridge as usize] else { return Ok(()) };
        if !node.busy() {
            return Ok(());
        }
        let clock = *clock;
        let mut told = std::mem::take(&mut self.told);
        node.run_until(clock.at_or_after(until), &mut told)?;
        for told in told.drain(..) {
            match told {
                Told::Verdict(port, verdict) => {
                    self.count(bridge, i64::from(verdict.destination.count_ones()) - 1);
                    let at = clock.time(verdict.decided);
                    self.passed(at);
                    self.verdict(bridge, port, clock, &verdict);
                }
                Told::Sent { frame, .. } | Told::Expired { frame, .. } if self.frames.get(frame).copies == 0 => {
                    let frame = self.frames.get(frame);
                    self.violations.add(Violation::Twice { frame: frame.id, stream: frame.stream, what: "sent" });
                }
                Told::Sent { frame, port, traffic_class, first } => {
                    self.count(bridge, -1);
                    let wire = self.wires[self.bridges[bridge as usize].first_wire() + usize::from(port)];
                    self.sent((bridge, port), wire, frame, clock.time(first), traffic_class)?;
                }
                Told::Expired { frame, port, traffic_class, reason, at } => {
                    self.count(bridge, -1);
                    let at = clock.time(at);
                    self.passed(at);
                    self.expired(bridge, port, frame, at, traffic_class, reason);
                }
                Told::Damaged { id, port } => {
                    self.violations.add(Violation::Damaged { frame: id, node: bridge, port });
                }
            }
        }
        self.told = told;
        Ok(())
    }

    /// Copies that an external node was given and that have not left it.
    pub(super) fn count(&mut self, bridge: u32, change: i64) {
        if let BridgeNode::External { copies, .. } = &mut self.bridges[bridge as usize] {
            *copies = copies.saturating_add_signed(change);
        }
    }
}
