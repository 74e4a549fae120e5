// SPDX-License-Identifier: Apache-2.0
//! A station whose frames leave by a network card that is no model.
use std::collections::HashSet;

use super::StationNode;
use crate::card::{Card, CardDone, CardSent};
use crate::error::RunError;
use crate::nodes::Advances;
use crate::outbox::{Coming, Leaving, Outbox};
use crate::source::Release;
use crate::trace::{Event, Reason, Trace};
use penstock_shaper::Time;

/// Frames that a stream which always has one keeps in its queue, so that the card never waits for the host.
const AHEAD: usize = 8;

pub(crate) struct Carded {
    card: Box<dyn Card>,
    advances: Advances,
    /// Streams that always have a frame, and have begun.
    begun: HashSet<u32>,
    /// Why a frame could not be made; told when the card goes on.
    failed: Option<RunError>,
}

impl Carded {
    /// At the station with this name.
    pub fn new(name: &str, card: Box<dyn Card>) -> Self {
        Self { card, advances: Advances::new(name), begun: HashSet::new(), failed: None }
    }

    pub fn get(&self) -> &dyn Card {
        &*self.card
    }

    fn plan(&mut self, from: Time, out: &mut Outbox<'_>) {
        self.advances.plan(self.card.next().map(|next| next.max(from)), out);
    }

    /// How many frames a stream that always has one gives now.
    pub fn ahead(&mut self, stream: u32, pauses: bool) -> usize {
        if self.begun.insert(stream) && !pauses {
            AHEAD
        } else {
            1
        }
    }
}

impl StationNode {
    /// A frame comes to the card's queue, with its launch time if it has one.
    #[cold]
    pub(super) fn enqueue_at_card(
        &mut self,
        now: Time,
        slot: u32,
        class: u8,
        launch: Option<Time>,
        out: &mut Outbox<'_>,
    ) {
        let Some(carded) = &mut self.carded else { return };
        let bytes = out.around.frames.get(slot).bytes;
        if !self.port.room[usize::from(class & 7)].take(bytes) {
            return self.drop(slot, now, class, Reason::QUEUE_FULL, out);
        }
        match out.around.fill(slot) {
            Ok(()) => carded.card.send(now, slot, class, launch, &out.around.buffer),
            Err(error) => carded.failed = Some(error),
        }
        carded.plan(now, out);
    }

    /// The card goes on, and may send a frame.
    pub(super) fn advance_card(&mut self, now: Time, out: &mut Outbox<'_>) -> Result<(), RunError> {
        let Some(carded) = &mut self.carded else { return Ok(()) };
        carded.advances.take(now)?;
        if let Some(error) = carded.failed.take() {
            return Err(error);
        }
        let done = carded.card.advance(now)?;
        carded.plan(now + 1, out);
        let CardSent { frame: slot, traffic_class, first, missed } = match done {
            None => return Ok(()),
            Some(CardDone::Refused { frame: slot, traffic_class, at }) => {
                let bytes = out.around.frames.get(slot).bytes;
                self.port.room[usize::from(traffic_class & 7)].give(bytes);
                self.drop(slot, at, traffic_class, Reason::RESIDENCE, out);
                return Ok(());
            }
            Some(CardDone::Sent(sent)) => sent,
        };
        let frame = out.around.frames.get_mut(slot);
        let (stream, bytes) = (frame.stream, frame.bytes);
        self.port.room[usize::from(traffic_class & 7)].give(bytes);
        out.around.ledger.send(frame, first);
        out.around.ledger.statistics(stream).launch_missed += u64::from(missed.is_some());
        if let Some(launch) = missed {
            out.tell(slot, Event::Missed, launch, Trace::NO_CLASS, Reason::NONE);
        }
        if let Some(Release::WhenFree(_)) | None = out.around.origins[stream as usize].generator.next_release() {
            self.have_next(stream, now, out);
        }
        out.send_held(Leaving { slot, port: 0, traffic_class, is_spoiled: false, first });
        Ok(())
    }

    /// Its card takes a frame that comes to the station.
    #[cold]
    pub(super) fn receive_by_card(&mut self, at: Time, coming: &mut Coming<'_>) -> Result<(), RunError> {
        let Some(carded) = &mut self.carded else { return Ok(()) };
        let is_damaged = coming.damaged.is_some();
        carded.card.receive(at, coming.bytes()?, is_damaged)?;
        carded.plan(0, &mut Outbox::new(coming.node, coming.around));
        Ok(())
    }

    /// Before the run.
    pub(super) fn begin_card(&mut self, out: &mut Outbox<'_>) {
        self.carded.iter_mut().for_each(|carded| carded.plan(0, out));
    }
}
