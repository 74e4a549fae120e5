// SPDX-License-Identifier: Apache-2.0
//! The end of a run.
use super::Kernel;
use crate::conservation::Violation;
use crate::nodes::Member;

impl Kernel {
    /// Tells the ledger what is left, and holds it against what the nodes say that they hold. `is_idle`: no node of the
    /// network has anything to do any more.
    pub(super) fn settle(&mut self, is_idle: bool) {
        // What waits for what never comes back is not stuck.
        let is_idle = is_idle && !self.faults.last_for_ever();
        let ledger = &mut self.around.ledger;
        self.around.frames.iter().for_each(|frame| ledger.inside(frame));
        for (index, member) in self.members.iter().enumerate() {
            let node = index as u32;
            let violation = match member {
                Member::Foreign(_) => None,
                Member::Model(model) => model.audit(node, is_idle),
                Member::Other(guest) => {
                    let mut holds = 0;
                    guest.node.inside(&mut |frame, copies| {
                        holds += u64::from(copies);
                        ledger.inside(frame);
                    });
                    let (simulated, jumped) = guest.node.cycles();
                    self.around.simulation.cycles_simulated += simulated;
                    self.around.simulation.cycles_jumped += jumped;
                    let given = guest.copies;
                    let lost = (holds != given).then_some(Violation::Count { node, holds, given });
                    guest.node.audit(node, is_idle).or(lost)
                }
            };
            violation.into_iter().for_each(|violation| ledger.violated(violation));
        }
    }
}
