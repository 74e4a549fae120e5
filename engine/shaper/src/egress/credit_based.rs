// SPDX-License-Identifier: Apache-2.0
//! The credit-based shaper as transmission selection (802.1Q 8.6.8.2): a class may be served while its credit is not
//! negative. Twin of the credits of `pen_egress_port`.
//!
//! Credit is what has happened since it was last looked at, so that no tick is an event.
use crate::admission::CLASSES;
use crate::credit::Credit;
use crate::gated_credit::GatedCredit;
use crate::Time;

use super::gated::Gated;
use super::queues::Queued;
use super::{GateTime, LineTime, Sending, Tick};

/// The first frame of a class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub visible: Tick,
    /// So long before its gate closes, credit stays as it is while the frame waits.
    pub guard: Time,
}

impl Waiting {
    pub fn new(line: &impl LineTime, copy: &Queued) -> Self {
        Self { visible: copy.visible, guard: line.credit_guard(copy.bytes) }
    }
}

/// Of all classes of a port.
#[derive(Clone, Debug, Default)]
pub(super) struct CreditBased {
    /// Bit k: class k has one.
    classes: u8,
    shapers: [Option<GatedCredit>; CLASSES],
    /// A class is being searched for its next frame until then, and counts as one that waits.
    searched: Option<Sending>,
}

impl CreditBased {
    /// A class gets other settings; its credit becomes zero in this tick.
    pub fn set(&mut self, at: Tick, class: usize, credit: Option<Credit>) {
        self.classes = self.classes & !(1 << class) | u8::from(credit.is_some()) << class;
        self.shapers[class] = credit.map(|credit| GatedCredit::new(class, at, credit));
    }

    /// Whether any of these classes has one, bit k for class k.
    #[inline]
    pub fn is_of(&self, classes: u8) -> bool {
        self.classes & classes != 0
    }

    /// Sum of the idle slopes of all other classes.
    pub fn idle_slopes_beside(&self, class: usize) -> i128 {
        let others = self.shapers.iter().enumerate().filter(|&(other, _)| other != class);
        others.filter_map(|(_, shaper)| shaper.as_ref()).map(|shaper| shaper.credit().idle_slope()).sum()
    }

    /// A frame of a class was dropped; its next one is looked for up to a tick.
    pub fn search(&mut self, class: usize, until: Tick) {
        self.searched = Some(Sending::new(class, until));
    }

    /// Until when a class is searched for its next frame, if it is at a tick.
    #[inline]
    pub fn searched_until(&self, class: usize, at: Tick) -> Option<Tick> {
        self.searched.filter(|searched| searched.is_of(class, at)).map(|searched| searched.until)
    }

    #[inline]
    fn shaper(&mut self, class: usize) -> Option<&mut GatedCredit> {
        (self.classes >> class & 1 == 1).then(|| self.shapers[class].as_mut()).flatten()
    }

    /// Credit of a class up to a tick.
    pub fn settle(
        &mut self,
        gated: &Gated,
        time: &GateTime,
        class: usize,
        to: Tick,
        first: Option<Waiting>,
        sending: Sending,
    ) {
        let searched = self.searched;
        let Some(shaper) = self.shaper(class) else { return };
        while shaper.at() < to {
            let from = shaper.at();
            if sending.is_of(class, from) {
                shaper.transmit(sending.until.min(to));
                continue;
            }
            let searched = searched.filter(|searched| searched.is_of(class, from)).map(|searched| searched.until);
            let waits = first.filter(|first| first.visible <= from);
            let change = searched.or(first.map(|first| first.visible).filter(|&visible| visible > from));
            let guard = waits.map_or(0, |first| first.guard);
            let to = change.map_or(to, |change| change.min(to));
            shaper.pass(&gated.gates, time, to, searched.is_some() || waits.is_some(), guard);
        }
    }

    /// The first tick from `from` on in which credit is not negative, if nothing is sent.
    pub fn from(
        &mut self,
        gated: &Gated,
        time: &GateTime,
        class: usize,
        from: Tick,
        first: Waiting,
        sending: Sending,
    ) -> Tick {
        let Some(shaper) = self.shaper(class) else { return from };
        let sending = sending.is_of(class, shaper.at()).then_some(sending.until);
        if first.guard == 0 {
            return shaper.without_debt_from(&gated.gates, time, sending).max(from);
        }
        let without_debt = shaper.ahead(|shaper| {
            shaper.transmit(sending.unwrap_or(0));
            shaper.pass(&gated.gates, time, first.visible, false, 0);
            shaper.without_debt_behind(&gated.gates, time, first.guard)
        });
        without_debt.max(from)
    }

    /// Gates, their clock, or what is on the wire change after this: what follows from them is not known any more.
    pub fn forget(&mut self) {
        self.shapers.iter_mut().flatten().for_each(GatedCredit::forget);
    }

    /// A class is served, which its settled credit allows.
    #[inline]
    pub fn selected(&mut self, class: usize) {
        if let Some(shaper) = self.shaper(class) {
            shaper.forget();
        }
    }
}
