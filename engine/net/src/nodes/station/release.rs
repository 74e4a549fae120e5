// SPDX-License-Identifier: Apache-2.0
//! Sources release frames.
use super::StationNode;
use crate::frame::{Beside, Content};
use crate::kernel::ahead;
use crate::node::Due;
use crate::outbox::Outbox;
use crate::program::Created;
use crate::queue::Kind;
use crate::source::{Release, Released};
use crate::trace::{Event, Reason, Trace};
use penstock_shaper::Time;

impl StationNode {
    /// Before the run: the first release of one of its streams.
    pub fn begin(&mut self, index: u32, out: &mut Outbox<'_>) {
        let generator = &out.around.origins[index as usize].generator;
        // Else one frame of it is always in the queue.
        if self.port.makes_frames() && matches!(generator.next_release(), Some(Release::WhenFree(_))) {
            let class = self.port.class_of_pcp[usize::from(generator.pcp() & 7)];
            self.port.add_greedy(index, class);
        }
        self.plan_release(index, out);
    }

    /// Puts the next release of a stream into the queue, if it is in this run.
    pub(super) fn plan_release(&mut self, index: u32, out: &mut Outbox<'_>) {
        let stream = &mut out.around.origins[index as usize];
        let clock = &self.port.clock;
        let time = loop {
            match stream.generator.next_release() {
                None | Some(Release::OnRequest) => return,
                Some(Release::WhenFree(start)) => {
                    let pause = stream.generator.pause();
                    break clock.time_of_schedule(start.saturating_add(pause)).unwrap_or(0);
                }
                Some(Release::At(local)) => match clock.time_of_schedule(local) {
                    Some(time) => break time,
                    // Before the run; nobody saw it.
                    None => _ = stream.generator.take(),
                },
            }
        };
        if time < out.around.duration {
            out.wake(time, Due { kind: Kind::Release, index });
        }
    }

    pub(super) fn release(&mut self, now: Time, index: u32, out: &mut Outbox<'_>) {
        if now < self.dead_until && self.is_silent(now, index, out) {
            return;
        }
        let stream = &mut out.around.origins[index as usize];
        if stream.handover.is_some() {
            return self.hand_over(now, index, out);
        }
        match stream.generator.next_release() {
            None => {}
            Some(Release::WhenFree(_)) if self.port.makes_frames() => {
                let wake = self.port.set_ready(now, index, true);
                super::select_at(wake, out);
            }
            Some(Release::OnRequest) => self.queue_frame(now, index, out),
            Some(Release::WhenFree(_)) => {
                let pauses = stream.generator.has_jitter();
                let count = self.carded.as_mut().map_or(1, |carded| carded.ahead(index, pauses));
                (0..count).for_each(|_| self.queue_frame(now, index, out));
            }
            Some(at @ Release::At(_)) => {
                let (mut slot, mut class) = self.create(now, index, out);
                // What is released at the same instant needs no event of its own.
                while out.around.origins[index as usize].generator.next_release() == Some(at) {
                    self.enqueue(now, slot, class, out);
                    (slot, class) = self.create(now, index, out);
                }
                self.plan_release(index, out);
                if !self.send_at_once(now, slot, class, out) {
                    self.enqueue(now, slot, class, out);
                }
            }
        }
    }

    /// What a dead station would release now; true: it is dead.
    #[cold]
    fn is_silent(&mut self, now: Time, index: u32, out: &mut Outbox<'_>) -> bool {
        let generator = &mut out.around.origins[index as usize].generator;
        match generator.next_release() {
            None => {}
            Some(Release::OnRequest) => _ = generator.take(),
            Some(Release::WhenFree(_)) if self.port.makes_frames() => return false, // its port is held
            Some(Release::WhenFree(_)) if self.dead_until < out.around.duration => {
                out.wake(self.dead_until, Due { kind: Kind::Release, index });
            }
            Some(Release::WhenFree(_)) => {}
            Some(Release::At(_)) => {
                let mut passed = false;
                while let Some(Release::At(local)) = generator.next_release() {
                    if self.port.clock.time_of_schedule(local) != Some(now) {
                        break;
                    }
                    generator.take();
                    passed = true;
                }
                if passed {
                    self.plan_release(index, out);
                }
            }
        }
        true
    }

    fn queue_frame(&mut self, now: Time, index: u32, out: &mut Outbox<'_>) {
        let (slot, class) = self.create(now, index, out);
        self.enqueue(now, slot, class, out);
    }

    /// A frame that a program made comes to its talker's port.
    pub(super) fn queue_created(&mut self, now: Time, index: u32, created: Created, out: &mut Outbox<'_>) {
        let beside = created.host.map_or(Beside::Nothing, Beside::FromHost);
        let content = Content::new(created.bytes, beside);
        let mut released = out.around.origins[index as usize].generator.take();
        released.bytes = content.bytes.len().min(usize::from(u16::MAX)) as u16;
        released.pcp = content.header.tag.map_or(0, |tag| tag.pcp);
        let (slot, class) = self.create_released(now, index, &released, out);
        out.around.frames.get_mut(slot).content = Some(content);
        self.enqueue(now, slot, class, out);
    }

    /// A new frame of a stream, and its class.
    pub(super) fn create(&mut self, now: Time, index: u32, out: &mut Outbox<'_>) -> (u32, u8) {
        let released = out.around.origins[index as usize].generator.take();
        self.create_released(now, index, &released, out)
    }

    #[inline(always)]
    fn create_released(&mut self, now: Time, index: u32, released: &Released, out: &mut Outbox<'_>) -> (u32, u8) {
        let frame = out.around.ledger.create(now, index, released);
        ahead::bring_first(out.around, index);
        let slot = out.around.frames.insert(frame);
        out.tell(slot, Event::Created, now, Trace::NO_CLASS, Reason::NONE);
        (slot, self.port.class_of_pcp[usize::from(released.pcp & 7)])
    }
}
