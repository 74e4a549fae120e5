// SPDX-License-Identifier: Apache-2.0
//! A station as a node: what its sources release goes out of its port, what comes is delivered, answered, and heard by its
//! program.
mod card;
mod deliver;
mod hand_over;
mod program;
mod release;
mod talk;

pub(crate) use card::Carded;
pub(crate) use program::Hosted;

use crate::conservation::Violation;
use crate::error::RunError;
use crate::node::{Due, Node};
use crate::outbox::{Coming, Outbox};
use crate::queue::Kind;
use crate::station::Station;
use crate::trace::{Reason, Trace};
use penstock_shaper::Time;

/// What every frame needs stands first and together.
#[repr(C)]
pub(crate) struct StationNode {
    port: Station,
    /// Among the stations.
    index: u32,
    /// The place of its port among those of all nodes.
    pub first_port: u32,
    /// It is dead until then.
    dead_until: Time,
    hosted: Option<Box<Hosted>>,
    /// None: its port is a model.
    carded: Option<Box<Carded>>,
}

impl StationNode {
    pub fn new(port: Station, index: u32, first_port: u32, hosted: Option<Hosted>) -> Self {
        Self { port, index, first_port, dead_until: 0, hosted: hosted.map(Box::new), carded: None }
    }

    /// Its frames leave by a card.
    pub fn set_card(&mut self, carded: Carded) {
        self.carded = Some(Box::new(carded));
    }

    /// Has what a release needs fetched into the cache.
    #[inline]
    pub fn bring(&self) {
        self.port.bring();
    }

    /// The link of its port is down for some time.
    pub fn cut(&mut self, at: Time, until: Time, out: &mut Outbox<'_>) {
        let wake = self.port.cut(at, until);
        select_at(wake, out);
    }

    /// What waits at its port or on the way there is lost; until it comes back, it releases nothing.
    pub fn die(&mut self, at: Time, until: Time, out: &mut Outbox<'_>) {
        self.dead_until = self.dead_until.max(until);
        for (slot, class) in self.port.lose_all(at) {
            self.drop(slot, at, class, Reason::NODE_DOWN, out);
        }
        for stream in 0..out.around.origins.len() {
            let origin = &mut out.around.origins[stream];
            let waiting = match &mut origin.handover {
                Some(handover) if origin.talker == self.index => std::mem::take(&mut handover.waiting),
                _ => continue,
            };
            for waiting in waiting {
                self.drop(waiting.slot, at, Trace::NO_CLASS, Reason::NODE_DOWN, out);
            }
        }
    }
}

/// The port is to select at a time, if that is new.
#[inline(always)]
fn select_at(wake: Option<Time>, out: &mut Outbox<'_>) {
    if let Some(at) = wake {
        out.wake(at, Due { kind: Kind::Select, index: 0 });
    }
}

impl Node for StationNode {
    fn ports(&self) -> u16 {
        1
    }

    #[inline(always)]
    fn receive(&mut self, at: Time, _port: u16, mut coming: Coming<'_>) -> Result<Time, RunError> {
        if self.carded.is_some() {
            self.receive_by_card(at, &mut coming)?;
        }
        match coming.damaged {
            None => self.deliver(at, coming)?,
            Some(_) => self.refuse(at, coming),
        }
        Ok(at)
    }

    /// A stream releases frames, the port selects, or the program goes on.
    #[inline(always)]
    fn advance(&mut self, now: Time, due: Due, out: &mut Outbox<'_>) -> Result<(), RunError> {
        match due.kind {
            Kind::Release => self.release(now, due.index, out),
            Kind::Select => self.talk(now, out),
            Kind::Advance if self.carded.is_some() => self.advance_card(now, out)?,
            Kind::Advance => self.advance_program(now, out)?,
            Kind::Arrive | Kind::Judge => {}
        }
        Ok(())
    }

    fn audit(&self, node: u32, is_idle: bool) -> Option<Violation> {
        self.carded.as_ref().and_then(|carded| carded.get().audit(node, is_idle))
    }

    fn cycles(&self) -> (u64, u64) {
        (self.carded.as_ref().map_or(0, |carded| carded.get().cycles()), 0)
    }
}
