// SPDX-License-Identifier: Apache-2.0
//! What becomes of every frame: each copy is delivered, dropped with a reason, or inside.
//!
//! A frame whose only copy is on its way carries what is open; copies of one frame share an account.
mod listeners;
mod parted;

use crate::conservation::{Fates, Violation, Violations};
use crate::frame::{Frame, Marks, NONE};
use crate::near::near;
use crate::partition::notes::{Change, Notes};
use crate::routes::{Route, Routes};
use crate::source::Released;
use crate::statistics::StreamStatistics;
use crate::trace::Reason;
pub(crate) use listeners::Listeners;
use penstock_shaper::Time;

/// What a delivery needs stands first and together.
#[repr(C)]
pub(crate) struct StreamLedger {
    pub statistics: StreamStatistics,
    pub fates: Fates,
    pub listeners: Listeners,
    pub route: Route,
}

/// What copies of one frame share.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    copies: u32,
    open: u32,
    /// Of the first 64 listeners, those that were reached.
    reached: u64,
    reason: Reason,
    /// A node made more copies than the way has branches: what one of them misses, another may reach.
    is_redundant: bool,
    /// Other copies are, or were, in other partitions of the network.
    is_parted: bool,
}

pub(crate) struct Ledger {
    streams: Vec<StreamLedger>,
    routes: Routes,
    accounts: Vec<Account>,
    free: Vec<u32>,
    violations: Violations,
    /// Frames.
    created: u64,
    exact_up_to: usize,
    /// Of a partition of the network: what concerns frames that are in others too, and the order of all.
    pub notes: Option<Box<Notes>>,
}

impl Ledger {
    pub fn new(streams: Vec<StreamLedger>, routes: Routes, exact_up_to: usize) -> Self {
        let violations = Violations::default();
        Self {
            streams,
            routes,
            accounts: Vec::new(),
            free: Vec::new(),
            violations,
            created: 0,
            exact_up_to,
            notes: None,
        }
    }

    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    pub fn route(&self, stream: u32) -> &Route {
        &self.streams[stream as usize].route
    }

    #[inline]
    pub fn statistics(&mut self, stream: u32) -> &mut StreamStatistics {
        &mut self.streams[stream as usize].statistics
    }

    #[cold]
    pub fn violated(&mut self, violation: Violation) {
        self.violations.add(violation);
    }

    /// Listeners that miss a copy that is lost where it waits for a port.
    pub fn behind(&self, frame: &Frame, port: u16) -> u32 {
        if frame.hop == NONE {
            self.left_to(frame)
        } else {
            self.routes.behind(frame.hop, port)
        }
    }

    /// Listeners that miss a copy that is lost at its bridge.
    pub fn behind_all(&self, frame: &Frame) -> u32 {
        if frame.hop == NONE {
            self.left_to(frame)
        } else {
            self.routes.behind_all(frame.hop)
        }
    }

    /// Listeners that only this copy may still reach.
    fn left_to(&self, frame: &Frame) -> u32 {
        match self.accounts.get(frame.account as usize) {
            None => frame.open,
            Some(account) if account.copies == 1 => account.open,
            Some(_) => 0,
        }
    }

    /// A new frame of a stream, meant for all its listeners.
    pub fn create(&mut self, now: Time, stream: u32, released: &Released) -> Frame {
        let state = &mut self.streams[stream as usize];
        let listeners = state.listeners.len() as u32;
        state.statistics.frames += 1;
        state.statistics.copies += u64::from(listeners);
        state.fates.created += 1;
        self.created += 1;
        Frame {
            id: self.created - 1,
            number: released.number,
            since: now,
            content: None,
            stream,
            header: released.header,
            hop: state.route.first,
            account: NONE,
            open: listeners,
            bytes: released.bytes,
            reason: Reason::NONE,
            marks: Marks::default(),
        }
    }

    /// The talker's port sends it.
    #[inline]
    pub fn send(&mut self, frame: &mut Frame, first: Time) {
        let wait = first - std::mem::replace(&mut frame.since, first);
        let statistics = &mut self.streams[frame.stream as usize].statistics;
        statistics.talker_wait_ps.add(wait, self.exact_up_to);
    }

    /// Finds its place in the route of its stream, at a bridge.
    #[inline(always)]
    pub fn arrive(&self, frame: &mut Frame, bridge: u32) {
        if self.routes.hop(frame.hop).is_none_or(|hop| hop.bridge != bridge) {
            self.arrive_beside(frame, bridge);
        }
    }

    /// A bridge decides for which ports it is, whatever its route says: beside that, it takes its listeners with it.
    pub fn lead(&self, frame: &mut Frame, ports: u64) {
        if self.routes.ports(frame.hop) != ports {
            frame.hop = NONE;
        }
    }

    #[cold]
    fn arrive_beside(&self, frame: &mut Frame, bridge: u32) {
        frame.hop = self.routes.at(frame.hop, &self.streams[frame.stream as usize].route, bridge);
    }

    /// One copy becomes several, one for each branch of its way.
    #[inline(never)]
    pub fn fork(&mut self, frame: &mut Frame, copies: u32) {
        let more = copies.saturating_sub(1);
        if more > 0 {
            self.account(frame).copies += more;
        }
    }

    /// A node makes another copy of a frame, beside those of its way.
    pub fn duplicate(&mut self, frame: &mut Frame) -> Frame {
        let account = self.account(frame);
        account.copies += 1;
        account.is_redundant = true;
        self.streams[frame.stream as usize].statistics.duplicated += 1;
        frame.copy()
    }

    fn account(&mut self, frame: &mut Frame) -> &mut Account {
        if frame.account == NONE {
            let (open, reason, is_parted) = (frame.open, frame.reason, frame.marks.is_parted());
            let account = Account { copies: 1, open, reason, is_parted, ..Account::default() };
            frame.account = self.free.pop().unwrap_or(self.accounts.len() as u32);
            match self.accounts.get_mut(frame.account as usize) {
                Some(free) => *free = account,
                None => self.accounts.push(account),
            }
        }
        &mut self.accounts[frame.account as usize]
    }

    /// So many listeners will not get it.
    pub fn miss(&mut self, frame: &mut Frame, listeners: u32, reason: Reason) {
        if listeners == 0 {
            return;
        }
        let (open, first, is_parted) = match self.accounts.get_mut(frame.account as usize) {
            Some(account) if account.is_redundant => {
                // Another copy may reach them.
                account.reason = if account.reason == Reason::NONE { reason } else { account.reason };
                return;
            }
            Some(account) => (&mut account.open, &mut account.reason, account.is_parted),
            None => (&mut frame.open, &mut frame.reason, frame.marks.is_parted()),
        };
        if listeners > *open {
            self.violations.add(Violation::Twice { frame: frame.id, stream: frame.stream, what: "dropped" });
        }
        *open = open.saturating_sub(listeners);
        if *first == Reason::NONE {
            *first = reason;
            if let Some(notes) = self.notes.as_mut().filter(|_| is_parted) {
                notes.changes.push(Change::Missed { frame: frame.id, reason });
            }
        }
        self.dropped(frame.stream, listeners, reason);
    }

    fn dropped(&mut self, stream: u32, listeners: u32, reason: Reason) {
        let dropped = &mut self.streams[stream as usize].statistics.dropped;
        dropped[usize::from(reason.0) % Reason::COUNT] += u64::from(listeners);
    }

    /// Whether a stream is meant for a station.
    pub fn listens(&mut self, stream: u32, station: u32) -> bool {
        self.streams[stream as usize].listeners.find(station).is_some()
    }

    /// It comes to a station at a time; false: which does not listen, or has had it.
    #[inline]
    pub fn deliver(&mut self, frame: &mut Frame, station: u32, time: Time) -> bool {
        let stream = &mut self.streams[frame.stream as usize];
        let Some((place, listener)) = stream.listeners.find(station) else { return false };
        let bit = 1_u64.checked_shl(place as u32).unwrap_or(0);
        let (open, before, may_repeat) = match self.accounts.get_mut(frame.account as usize) {
            None => (&mut frame.open, 0, false),
            Some(account) => {
                let before = account.reached;
                account.reached |= bit;
                (&mut account.open, before, account.is_redundant)
            }
        };
        if before & bit != 0 || *open == 0 {
            if may_repeat {
                stream.statistics.repeated += 1;
                return false;
            }
            self.violations.add(Violation::Twice { frame: frame.id, stream: frame.stream, what: "delivered" });
        } else {
            *open -= 1;
        }
        let statistics = &mut stream.statistics;
        statistics.delivered += 1;
        statistics.delivered_wire_bytes += u64::from(frame.bytes) + 20;
        statistics.latency_ps.add(time - frame.since, self.exact_up_to);
        let last = listener.last_delivered.replace(time);
        if let Some(last) = last {
            statistics.interval_ps.add(time.saturating_sub(last), self.exact_up_to);
        }
        statistics.first_delivered_ps = Some(statistics.first_delivered_ps.map_or(time, |first| first.min(time)));
        statistics.last_delivered_ps = Some(statistics.last_delivered_ps.map_or(time, |last| last.max(time)));
        true
    }

    /// A node keeps a copy for itself. True: it was the last one, and listeners miss the frame by that.
    pub fn swallow(&mut self, mut frame: Frame) -> bool {
        self.streams[frame.stream as usize].statistics.eliminated += 1;
        let open = self.left_to(&frame);
        self.miss(&mut frame, open, Reason::SWALLOWED);
        self.leave(frame);
        open > 0
    }

    /// A copy is nowhere any more.
    #[inline]
    pub fn leave(&mut self, frame: Frame) {
        let mut is_parted = frame.marks.is_parted();
        let (open, reason) = match self.accounts.get_mut(frame.account as usize) {
            None => (frame.open, frame.reason),
            Some(account) => {
                account.copies -= 1;
                if account.copies > 0 {
                    return;
                }
                self.free.push(frame.account);
                let account = *account;
                is_parted = account.is_parted;
                match (account.is_redundant, account.open) {
                    (false, open) => (open, account.reason),
                    (true, 0) => (0, Reason::NONE),
                    (true, open) if account.reason == Reason::NONE => (open, Reason::NONE),
                    (true, open) => {
                        // No other copy has reached them.
                        self.dropped(frame.stream, open, account.reason);
                        (0, account.reason)
                    }
                }
            }
        };
        if let Some(notes) = &mut self.notes {
            if notes.ends(frame.id, is_parted, open) {
                return;
            }
        }
        let fates = &mut self.streams[frame.stream as usize].fates;
        if open > 0 {
            let (frame, stream, copies) = (frame.id, frame.stream, open);
            self.violations.add(Violation::Lost { frame, stream, copies });
        } else if reason == Reason::NONE {
            fates.delivered += 1;
        } else {
            *fates.dropped.entry(reason).or_default() += 1;
        }
    }

    /// At the end of a run: a frame with so many copies is somewhere, and nobody else has any of it but those that share its
    /// account.
    pub fn inside(&mut self, frame: &Frame) {
        if frame.account == NONE {
            self.remains(frame, frame.marks.is_parted(), frame.open, frame.reason);
        } else if let Some(account) = self.accounts.get_mut(frame.account as usize) {
            let Account { open, reason, is_parted, .. } = *account;
            // Counted with the first copy that is found.
            if std::mem::take(&mut account.copies) > 0 {
                self.remains(frame, is_parted, open, reason);
            }
        }
    }

    fn remains(&mut self, frame: &Frame, is_parted: bool, open: u32, reason: Reason) {
        let StreamLedger { statistics, fates, .. } = &mut self.streams[frame.stream as usize];
        statistics.inside += u64::from(open);
        if let Some(notes) = self.notes.as_mut().filter(|_| is_parted) {
            notes.inside.push((frame.id, open));
            return;
        }
        match reason {
            Reason::NONE if open == 0 => fates.delivered += 1, // other copies still flood somewhere
            Reason::NONE => fates.inside += 1,
            reason => *fates.dropped.entry(reason).or_default() += 1,
        }
    }

    /// Frames that were created, in the numbers of this run or partition.
    pub fn created(&self) -> u64 {
        self.created
    }

    /// At the end of a run, when all that is inside was told: what became of each stream, and what is wrong.
    pub fn close(self) -> (Vec<StreamLedger>, Violations) {
        (self.streams, self.violations)
    }

    /// Has what a delivery of a stream needs fetched into the cache, or the places of its next values.
    #[inline]
    pub fn bring(&self, stream: u32) {
        let state = &self.streams[stream as usize];
        near(&state.listeners);
        near(&state.fates);
        state.statistics.bring();
    }

    #[inline]
    pub fn bring_ends(&self, stream: u32) {
        self.streams[stream as usize].statistics.bring_ends();
    }

    /// Has what a release of a stream needs fetched into the cache.
    #[inline]
    pub fn bring_wait(&self, stream: u32) {
        let state = &self.streams[stream as usize];
        near(&state.listeners);
        state.statistics.bring_wait();
    }
}
