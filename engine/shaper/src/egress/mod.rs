// SPDX-License-Identifier: Apache-2.0
//! An egress port: its queues, the transmission selection of each class, gates, credit, and the choice among classes
//! (802.1Q 8.6.8). Bridges, stations, network cards and data planes have one at each port. Twin of `pen_egress_port`.
//!
//! The states of the gates follow from the time, and credit from what has happened since it was last looked at. So neither
//! a gate that opens nor a cycle that passes is an event: only the next instant is, at which a frame may be selected.
//!
//! | file | what it decides |
//! |---|---|
//! | `ats` | which frame of a class comes first: the one that is eligible first; `queues` holds them |
//! | `strict` | which class goes before which |
//! | `round_robin` | which class of those that share a level |
//! | `credit_based` | whether a class has the credit to send |
//! | `gated` | whether a frame ends before its gate closes |
//! | `shaping` | when a class may start as far as both go |
mod ats;
mod credit_based;
mod gated;
mod queues;
mod round_robin;
mod shaping;
mod strict;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::admission::CLASSES;
use crate::credit::Credit;
pub use crate::gates::{GateDelays, GateTime};
use crate::gates::{Gates, List};
use crate::Time;

use credit_based::Waiting;
use gated::Starts;
pub use queues::Queued;
use queues::Queues;
use round_robin::RoundRobin;
use shaping::Shaping;

/// Of the node's own clock: a cycle of the hardware or a picosecond.
pub type Tick = Time;

/// Later than anything.
pub const NEVER: Tick = Tick::MAX;

/// What a port has to know about time: that of its line, and that of its gates.
pub trait LineTime {
    fn gate_time(&self) -> &GateTime;

    /// How long the gate of a frame has to stay open that starts: what it takes on the wire with its gap, or without, in
    /// units of gate time.
    fn wire(&self, bytes: u16) -> Time;

    /// While such a frame waits, credit of its class only rises if the gate stays open for so long, in units of gate time. Zero:
    /// it has to be open, as 802.1Q 8.6.8.2 has it.
    fn credit_guard(&self, _bytes: u16) -> Time {
        0
    }

    /// When another frame may be selected after one that was selected at `selection`.
    fn next_selection(&self, selection: Tick, bytes: u16) -> Tick;

    /// The first tick in which a frame that was selected at `selection` costs no credit any more.
    fn spent(&self, selection: Tick, bytes: u16) -> Tick;
}

/// A frame on the wire.
#[derive(Clone, Copy, Debug, Default)]
struct Sending {
    /// The first tick in which it costs no credit any more.
    until: Tick,
    traffic_class: u8,
}

impl Sending {
    fn new(class: usize, until: Tick) -> Self {
        Self { until, traffic_class: class as u8 }
    }

    fn is_of(self, class: usize, at: Tick) -> bool {
        usize::from(self.traffic_class) == class && at < self.until
    }
}

/// One egress port. What every frame needs stands first and together.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct EgressPort {
    /// When the transmitter can take a frame.
    free: Tick,
    /// None: no class is gated or has credit, and no frame is too long.
    shaping: Option<Box<Shaping>>,
    /// What is on the wire, since a class that gets credit pays for the rest of it.
    sending_until: Tick,
    sending_class: u8,
    turns: RoundRobin,
    queues: Queues,
}

impl EgressPort {
    /// Of a node with so many reception ports, 64 at most.
    pub fn new(receptions: usize) -> Self {
        let (turns, queues) = (RoundRobin::default(), Queues::new(receptions));
        Self { free: 0, shaping: None, sending_until: 0, sending_class: 0, turns, queues }
    }

    /// When another frame may be selected as far as the line goes.
    #[inline(always)]
    pub fn free(&self) -> Tick {
        self.free
    }

    /// The first tick in which the frame that was selected last costs no credit any more.
    pub fn sending_until(&self) -> Tick {
        self.sending_until
    }

    fn sending(&self) -> Sending {
        Sending { until: self.sending_until, traffic_class: self.sending_class }
    }

    /// Copies that are queued.
    pub fn len(&self) -> usize {
        self.queues.len()
    }

    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Some class is or was gated or has or had credit, or a longest frame.
    #[inline(always)]
    pub fn is_shaped(&self) -> bool {
        self.shaping.is_some()
    }

    /// Queues a copy; true: it stands at the head of its queue, so that the port may have to select earlier.
    #[inline(always)]
    pub fn enqueue(&mut self, copy: Queued) -> bool {
        self.queues.push(copy)
    }

    /// When the first frame of a class is eligible, if it has any.
    pub fn eligible(&self, class: usize) -> Option<Tick> {
        self.queues.candidate(class)
    }

    /// When the first frame of any class is eligible.
    #[inline]
    pub fn first_eligible(&self) -> Option<Tick> {
        self.queues.earliest()
    }

    /// The class that goes first of those that have frames, eligible or not.
    #[inline(always)]
    pub fn first_waiting(&self) -> Option<usize> {
        self.turns.first(self.queues.waiting())
    }

    /// The frame of a class that goes first.
    pub fn head(&self, class: usize) -> Option<&Queued> {
        self.queues.head(class)
    }

    /// Whether the queue that a copy was taken from is empty.
    pub fn was_last(&self, copy: &Queued) -> bool {
        !self.queues.is_filled(copy)
    }

    /// The first tick from `now` on in which some frame may be selected, if nothing else happens; [`NEVER`]: none.
    #[inline]
    pub fn next_selection(&mut self, line: &impl LineTime, now: Tick) -> Tick {
        let free = self.free.max(now);
        if self.shaping.is_some() {
            return self.next_shaped_selection(line, free);
        }
        self.queues.earliest().map_or(NEVER, |eligible| eligible.max(free))
    }

    #[inline(never)]
    fn next_shaped_selection(&mut self, line: &impl LineTime, free: Tick) -> Tick {
        let (sending, mut next) = (self.sending(), NEVER);
        let Some(shaping) = &mut self.shaping else { return next };
        if free == NEVER {
            return next;
        }
        let mut classes = self.queues.waiting();
        while let Some(class) = strict::first(classes) {
            classes ^= 1 << class;
            let Some(head) = self.queues.head(class) else { continue };
            let from = head.visible.max(free);
            if from < next {
                next = next.min(shaping.start(line, head, from, sending));
            }
        }
        next
    }

    /// As [`Self::next_selection`], which was `due`, now that a copy has come to the head of its queue; or earlier, where it
    /// goes before another one of its class.
    #[inline]
    pub fn next_selection_with(&mut self, line: &impl LineTime, now: Tick, copy: &Queued, due: Tick) -> Tick {
        let from = copy.visible.max(self.free).max(now);
        if from >= due || !self.queues.goes_first(copy) {
            return due;
        }
        let sending = self.sending();
        match &mut self.shaping {
            Some(shaping) => shaping.start(line, copy, from, sending).min(due),
            None => from,
        }
    }

    /// Selects a frame for transmission in this tick: of the first class that has an eligible one, credit, and a gate
    /// that stays open for it, the highest or that whose turn it is.
    #[inline]
    pub fn select(&mut self, line: &impl LineTime, now: Tick) -> Option<Queued> {
        if now < self.free {
            return None;
        }
        let mut classes = self.queues.waiting();
        while let Some(class) = self.turns.first(classes) {
            if self.queues.is_eligible(class, now) && (self.shaping.is_none() || self.is_ready(line, now, class)) {
                let copy = self.queues.take(class)?;
                self.transmit(line, now, &copy);
                return Some(copy);
            }
            classes ^= 1 << class;
        }
        None
    }

    /// Whether the first frame of a class may be selected as far as credit and gate go.
    #[inline(never)]
    fn is_ready(&mut self, line: &impl LineTime, now: Tick, class: usize) -> bool {
        let sending = self.sending();
        let (Some(shaping), Some(head)) = (&mut self.shaping, self.queues.head(class)) else { return true };
        shaping.start(line, head, now, sending) == now
    }

    /// Whether a copy that comes to an empty port would be selected in a tick in which it is eligible and the line free.
    #[inline(always)]
    pub fn would_select(&mut self, line: &impl LineTime, at: Tick, copy: &Queued) -> bool {
        self.queues.is_empty() && (self.shaping.is_none() || self.would_start(line, at, copy))
    }

    #[inline(never)]
    fn would_start(&mut self, line: &impl LineTime, at: Tick, copy: &Queued) -> bool {
        let sending = self.sending();
        let Some(shaping) = &mut self.shaping else { return true };
        !shaping.may_be_too_long && shaping.start(line, copy, at, sending) == at
    }

    /// Transmits a copy that was not queued, in a tick in which it would be selected.
    #[inline(always)]
    pub fn pass(&mut self, line: &impl LineTime, now: Tick, copy: &Queued) {
        self.transmit(line, now, copy);
    }

    /// Transmits a copy that was not queued, of a frame that is not whole, if the port is idle for it: the line is free, none
    /// of its queue waits or of its class is eligible, and no other frame would be selected before it. `longest`: its gate has to stay open for as many
    /// bytes as it may yet have.
    pub fn pass_if_idle(&mut self, line: &impl LineTime, now: Tick, copy: &Queued, longest: u16) -> bool {
        let class = usize::from(copy.traffic_class);
        let waiting = self.queues.waiting();
        let is_behind = || self.queues.is_filled(copy) || self.queues.is_eligible(class, now);
        if now < self.free || waiting >> class & 1 == 1 && is_behind() {
            return false;
        }
        let mut classes = waiting | 1 << class;
        while let Some(first) = self.turns.first(classes).filter(|&first| first != class) {
            if self.queues.is_eligible(first, now) && (self.shaping.is_none() || self.is_ready(line, now, first)) {
                return false;
            }
            classes ^= 1 << first;
        }
        let sending = self.sending();
        if let Some(shaping) = &mut self.shaping {
            let longest = longest.min(shaping.gated.max_bytes[class]);
            if shaping.start(line, &Queued { bytes: longest, ..*copy }, now, sending) != now {
                return false;
            }
        }
        self.transmit(line, now, copy);
        true
    }

    #[inline(always)]
    fn transmit(&mut self, line: &impl LineTime, now: Tick, copy: &Queued) {
        let classes = 1 << copy.traffic_class | 1 << self.sending_class;
        if self.shaping.as_ref().is_some_and(|shaping| shaping.credit.is_of(classes)) {
            self.pay(line, now, copy);
        }
        (self.sending_until, self.sending_class) = (line.spent(now, copy.bytes), copy.traffic_class);
        self.turns.served(copy.traffic_class);
        self.free = line.next_selection(now, copy.bytes);
    }

    /// Settles what the frame before has cost, and the credit of the class that is selected now.
    #[inline(never)]
    fn pay(&mut self, line: &impl LineTime, now: Tick, copy: &Queued) {
        let before = self.sending();
        let Some(shaping) = &mut self.shaping else { return };
        let Shaping { gated, credit, starts, .. } = &mut **shaping;
        let (time, class) = (line.gate_time(), usize::from(copy.traffic_class));
        if before.traffic_class != copy.traffic_class {
            credit.settle(gated, time, usize::from(before.traffic_class), before.until.min(now), None, before);
        }
        credit.settle(gated, time, class, now, Some(Waiting::new(line, copy)), before);
        credit.selected(class);
        starts[class] = Starts::UNKNOWN;
    }

    /// Nothing is selected before a tick.
    pub fn hold(&mut self, until: Tick) {
        self.free = self.free.max(until);
    }

    /// The link goes down in this tick: what is on the wire costs no credit any more, and nothing is selected before
    /// another tick, [`NEVER`] at the latest.
    pub fn interrupt(&mut self, line: &impl LineTime, at: Tick, until: Tick) {
        self.settle(line, at);
        self.forget();
        self.sending_until = self.sending_until.min(at);
        self.free = until;
    }

    /// Takes out the first frame of a class, which is dropped in this tick.
    pub fn drop_head(&mut self, line: &impl LineTime, at: Tick, class: usize) -> Option<Queued> {
        self.settle(line, at);
        self.forget();
        self.queues.take(class)
    }

    /// All copies of a class that are queued, of each queue in their order.
    pub fn of_class(&self, class: usize) -> impl Iterator<Item = &Queued> {
        self.queues.of_class(class)
    }

    /// After a frame of a class was dropped, its next one is looked for up to a tick; none of the class is selected
    /// meanwhile, and it counts as one that waits. One class is searched at a time: another one takes its place.
    pub fn search(&mut self, class: usize, until: Tick) {
        self.forget();
        self.shaping.get_or_insert_default().credit.search(class, until);
    }

    /// Whether a frame is above the longest of its class, or longer than any window of its gate.
    #[inline]
    pub fn is_too_long(&self, line: &impl LineTime, at: Tick, class: usize, bytes: u16) -> bool {
        self.shaping.as_ref().is_some_and(|shaping| match &shaping.longest {
            Some(longest) => bytes > longest[class],
            None => shaping.is_too_long(line, at, class, bytes),
        })
    }

    /// Whether the first frame of a class is eligible and longer than any window of its gate.
    pub fn never_fits(&self, line: &impl LineTime, at: Tick, class: usize) -> bool {
        let head = self.queues.head(class).filter(|head| head.visible <= at);
        self.shaping
            .as_ref()
            .zip(head)
            .is_some_and(|(shaping, head)| shaping.gated.never_fits(line.gate_time(), at, class, line.wire(head.bytes)))
    }

    /// The first tick from `from` on in which the first frame of a class is eligible and known to be longer than any
    /// window of its gate.
    pub fn never_fits_from(&self, line: &impl LineTime, from: Tick, class: usize) -> Option<Tick> {
        let (shaping, head) = self.shaping.as_ref().zip(self.queues.head(class))?;
        let from = head.visible.max(from);
        shaping.gated.never_fits_from(line.gate_time(), from, class, line.wire(head.bytes))
    }

    /// Brings all credit up to a tick, before something changes that it depends on.
    fn settle(&mut self, line: &impl LineTime, at: Tick) {
        let sending = self.sending();
        let Some(shaping) = &mut self.shaping else { return };
        let Shaping { gated, credit, .. } = &mut **shaping;
        for class in 0..CLASSES {
            let first = self.queues.head(class).map(|head| Waiting::new(line, head));
            credit.settle(gated, line.gate_time(), class, at, first, sending);
        }
    }

    fn forget(&mut self) {
        if let Some(shaping) = &mut self.shaping {
            shaping.forget();
        }
    }

    /// Of a port that has any.
    pub fn gates(&self) -> Option<&Gates> {
        self.shaping.as_ref().map(|shaping| &shaping.gated.gates)
    }

    /// Its gates are enabled.
    pub fn is_gated(&self) -> bool {
        self.gates().is_some_and(Gates::is_enabled)
    }

    /// The list that runs at a gate time.
    pub fn gate_list(&self, time: Time) -> Option<&Arc<List>> {
        self.gates()?.list(time)
    }

    /// The gates, or the clock that they go by, change in this tick.
    pub fn change_gates(&mut self, line: &impl LineTime, at: Tick) -> &mut Gates {
        self.settle(line, at);
        let shaping = self.shaping.get_or_insert_default();
        shaping.forget();
        (shaping.may_be_too_long, shaping.longest) = (true, None);
        &mut shaping.gated.gates
    }

    /// Nothing has been received before this tick. If the list has begun that runs then, frames will be judged by it.
    pub fn begin(&mut self, line: &impl LineTime, at: Tick) {
        if let Some(shaping) = &mut self.shaping {
            let time = line.gate_time().of_windows(at);
            shaping.gated.gates.begin(time);
            shaping.may_be_too_long = !self.queues.is_empty() || shaping.gated.gates.pending(time).is_some();
            shaping.longest = shaping.gated.longest(line);
        }
    }

    /// Whether a frame that is queued may be longer than any window of its gate: gates were changed, or a list is to begin.
    pub fn may_be_too_long(&self) -> bool {
        self.shaping.as_ref().is_some_and(|shaping| shaping.may_be_too_long && shaping.gated.gates.is_enabled())
    }

    /// A class gets other credit, which becomes zero in this tick, or none.
    pub fn set_credit(&mut self, line: &impl LineTime, at: Tick, class: usize, credit: Option<Credit>) {
        self.settle(line, at);
        let shaping = self.shaping.get_or_insert_default();
        shaping.forget();
        shaping.credit.set(at, class, credit);
    }

    /// Sum of the idle slopes of all other classes.
    pub fn idle_slopes_beside(&self, class: usize) -> i128 {
        self.shaping.as_ref().map_or(0, |shaping| shaping.credit.idle_slopes_beside(class))
    }

    /// Classes that take turns on one level, bit k for class k; the others have strict priority. Whose turn it is stays.
    pub fn set_round_robin(&mut self, members: u8) {
        self.turns.set_members(members);
    }

    pub fn round_robin(&self) -> u8 {
        self.turns.members()
    }

    /// queueMaxSDU of a class, as bytes of the frame.
    pub fn set_max_bytes(&mut self, class: usize, bytes: u16) {
        let shaping = self.shaping.get_or_insert_default();
        (shaping.gated.max_bytes[class], shaping.longest) = (bytes, None);
    }
}
