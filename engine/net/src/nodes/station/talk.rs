// SPDX-License-Identifier: Apache-2.0
//! What goes out of a station's port.
use super::{select_at, StationNode};
use crate::node::Due;
use crate::outbox::{Leaving, Outbox};
use crate::queue::Kind;
use crate::source::Release;
use crate::station::{Enqueued, Selected, Sent};
use crate::trace::{Event, Reason};
use penstock_shaper::Time;

impl StationNode {
    /// A frame comes to the port.
    #[inline]
    pub(super) fn enqueue(&mut self, now: Time, slot: u32, class: u8, out: &mut Outbox<'_>) {
        if self.carded.is_some() {
            return self.enqueue_at_card(now, slot, class, None, out);
        }
        let (stream, bytes) = {
            let frame = out.around.frames.get(slot);
            (frame.stream, frame.bytes)
        };
        let enqueued = self.port.enqueue(now, slot, stream, class, bytes);
        for (slot, class) in self.port.take_displaced() {
            self.drop(slot, now, class, Reason::DISPLACED, out);
        }
        match enqueued {
            Ok(Enqueued { select, eligible }) => {
                select_at(select, out);
                if let Some(at) = eligible {
                    out.tell(slot, Event::Eligible, at, class, Reason::NONE);
                }
            }
            Err(reason) => self.drop(slot, now, class, reason, out),
        }
    }

    /// A frame that was released finds the port idle, and leaves as it would if it were queued and selected in this
    /// instant; whether it did.
    #[inline]
    pub(super) fn send_at_once(&mut self, now: Time, slot: u32, class: u8, out: &mut Outbox<'_>) -> bool {
        let bytes = out.around.frames.get(slot).bytes;
        if !self.port.is_idle(now, class, bytes) || !out.is_last(now) {
            return false;
        }
        out.acted(now);
        let Sent { traffic_class, first, .. } = self.port.send_at_once(now, slot, class, bytes);
        out.around.ledger.send(out.around.frames.get_mut(slot), first);
        out.send_held(Leaving { slot, port: 0, traffic_class, is_spoiled: false, first });
        true
    }

    /// A frame ends here.
    #[cold]
    pub(super) fn drop(&mut self, slot: u32, at: Time, traffic_class: u8, reason: Reason, out: &mut Outbox<'_>) {
        out.tell(slot, Event::Dropped, at, traffic_class, reason);
        let mut frame = out.around.frames.remove(slot);
        let (open, stream, bytes) = (frame.open, frame.stream, u32::from(frame.bytes));
        out.around.ledger.miss(&mut frame, open, reason);
        out.around.ledger.leave(frame);
        let again = self.port.clock.after(at, self.port.wire.rate.occupancy(bytes));
        self.have_next(stream, again, out);
    }

    /// The port selects what it sends.
    pub(super) fn talk(&mut self, now: Time, out: &mut Outbox<'_>) {
        let sent = match self.port.select(now, now < out.around.duration) {
            Selected::Stale => return,
            Selected::Nothing => return select_at(self.port.next(), out),
            Selected::Sent(sent) => sent,
            Selected::Make(stream) => {
                let (slot, class) = self.create(now, stream, out);
                let bytes = out.around.frames.get(slot).bytes;
                self.port.send(slot, class, bytes)
            }
            Selected::Dropped { frame, traffic_class, reason, at } => {
                self.drop(frame, at, traffic_class, reason, out);
                return select_at(self.port.next(), out);
            }
        };
        let Sent { frame: slot, traffic_class, first } = sent;
        let frame = out.around.frames.get_mut(slot);
        let stream = frame.stream;
        out.around.ledger.send(frame, first);
        if let Some(Release::WhenFree(_)) | None = out.around.origins[stream as usize].generator.next_release() {
            self.have_next(stream, self.port.again(), out);
        }
        select_at(self.port.next(), out);
        out.send_held(Leaving { slot, port: 0, traffic_class, is_spoiled: false, first });
    }

    /// A stream that always has a frame has sent one or lost it, and has the next one at a time, or none.
    pub(super) fn have_next(&mut self, index: u32, at: Time, out: &mut Outbox<'_>) {
        let generator = &mut out.around.origins[index as usize].generator;
        let Some(Release::WhenFree(_)) = generator.next_release() else {
            self.port.set_ready(at, index, false);
            return;
        };
        let pauses = generator.has_jitter();
        if self.port.makes_frames() {
            if !pauses {
                return;
            }
            self.port.set_ready(at, index, false);
        }
        let again = self.port.clock.after(at, if pauses { generator.pause() } else { 0 });
        if again < out.around.duration {
            out.wake(again, Due { kind: Kind::Release, index });
        }
    }
}
