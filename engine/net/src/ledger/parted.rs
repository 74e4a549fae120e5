// SPDX-License-Identifier: Apache-2.0
//! Frames of which copies are in several partitions of a network.
use super::Ledger;
use crate::frame::{Frame, NONE};
use crate::partition::notes::{Change, Notes};

impl Ledger {
    /// A copy goes to a bridge of another partition, with the listeners behind it. What it shared with copies that stay, it
    /// shares no more.
    pub fn part(&mut self, frame: &mut Frame) {
        let Some(account) = self.accounts.get_mut(frame.account as usize) else { return };
        let behind = self.routes.behind_all(frame.hop);
        account.copies -= 1;
        frame.reason = account.reason;
        if account.copies == 0 {
            frame.open = account.open;
            frame.marks.set_parted(account.is_parted);
            self.free.push(frame.account);
        } else {
            frame.open = behind.min(account.open);
            account.open -= frame.open;
            account.is_parted = true;
            frame.marks.set_parted(true);
            if let Some(notes) = &mut self.notes {
                let (frame, stream, reason) = (frame.id, frame.stream, frame.reason);
                notes.changes.push(Change::Parted { frame, stream, reason });
            }
        }
        frame.account = NONE;
    }

    /// Places of what copies share.
    pub fn accounts(&self) -> usize {
        self.accounts.len()
    }

    /// Begins to write down what other partitions are to know; frames are numbered from the first on.
    pub fn note(&mut self, has_trace: bool, first_frame: u64) {
        self.created = first_frame;
        self.notes = Some(Box::new(Notes::new(has_trace, first_frame)));
    }
}
