// SPDX-License-Identifier: Apache-2.0
//! What a run holds memory for. It is used again, so that memory follows what was inside at once, not how long a run was.

/// Places that there are when a run ends, used or free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Of frames.
    pub frames: usize,
    /// Of what copies of one frame share.
    pub accounts: usize,
    /// Of headers that nodes have written, in models of bridges.
    pub headers: usize,
    /// Of events.
    pub events: usize,
}

impl Places {
    /// With those of another part of the network.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.frames += other.frames;
        self.accounts += other.accounts;
        self.headers += other.headers;
        self.events += other.events;
    }
}
