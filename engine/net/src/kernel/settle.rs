// SPDX-License-Identifier: Apache-2.0
//! The end of a run.
use super::Kernel;

impl Kernel {
    /// Tells the ledger what is left, and holds it against what the nodes say that they hold. `is_idle`: no node of the
    /// network has anything to do any more.
    pub(super) fn settle(&mut self, is_idle: bool) {
        // What waits for what never comes back is not stuck.
        let is_idle = is_idle && !self.faults.last_for_ever();
        let ledger = &mut self.around.ledger;
        self.around.frames.iter().for_each(|frame| ledger.inside(frame));
        for (index, node) in self.members.iter().enumerate().filter_map(|(n, member)| Some((n, member.node()?))) {
            node.inside(&mut |frame, _| ledger.inside(frame));
            let (simulated, jumped) = node.cycles();
            self.around.simulation.cycles_simulated += simulated;
            self.around.simulation.cycles_jumped += jumped;
            node.audit(index as u32, is_idle).into_iter().for_each(|violation| ledger.violated(violation));
        }
    }
}
