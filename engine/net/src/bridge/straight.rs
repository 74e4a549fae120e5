// SPDX-License-Identifier: Apache-2.0
//! The judgement of a frame of which nothing is out of the ordinary: it came whole, and it goes to one port, where
//! there is room. In a network without much loss and flooding that is nearly every frame. It does what `judge` does,
//! with less around it: held equal by the tests of `judge`, which all go by here first.
use penstock_frame::Edit;
use penstock_shaper::admission::Decision;
use penstock_shaper::egress::Queued;

use super::arrivals::Pending;
use super::memos::{Memos, NO_STREAM};
use super::timing::{Clock, ADMISSION_TO_VERDICT};
use super::{Bridge, Judgement, Passed, Tick};
use crate::header::Headers;
use crate::trace::Reason;

/// The one copy of a frame was queued, or sent at once.
#[derive(Clone, Copy, Debug)]
pub struct Straight {
    pub frame: u32,
    pub bytes: u16,
    pub egress: u16,
    pub traffic_class: u8,
    pub shaped: bool,
    /// As of a [`Judgement`].
    pub is_led: bool,
    /// The port is to select at another tick than before.
    pub wakes: bool,
    /// [`NO_STREAM`]: none.
    stream: u32,
    pub visible: Tick,
    pub decided: Tick,
    pub passed: Option<Passed>,
}

/// What a judgement came to.
#[derive(Clone, Copy, Debug)]
pub enum Verdict {
    Straight(Straight),
    Other(Judgement),
}

impl From<Straight> for Judgement {
    fn from(straight: Straight) -> Self {
        let Straight { frame, bytes, egress, traffic_class, shaped, is_led, wakes, stream, visible, decided, passed } =
            straight;
        let (destination, wakes) = (1 << egress, u64::from(wakes) << egress);
        let stream = (stream != NO_STREAM).then_some(stream);
        Self {
            frame,
            bytes,
            destination,
            traffic_class,
            visible,
            stream,
            shaped,
            is_led,
            decided,
            wakes,
            passed,
            ..Self::default()
        }
    }
}

impl From<Verdict> for Judgement {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Straight(straight) => straight.into(),
            Verdict::Other(judgement) => judgement,
        }
    }
}

impl Bridge {
    /// As [`Self::judge`].
    #[inline(always)]
    pub fn verdict(&mut self, now: Tick, port: u16, headers: &Headers, memos: &mut Memos, before: Tick) -> Verdict {
        if self.clock.cuts_through() {
            if let Some(header) = self.judge_header(now, port, headers, memos, before) {
                return Verdict::Other(header);
            }
        }
        let Some(Pending { received, facts }) = self.arrivals.next(&self.clock, port) else {
            return Verdict::Other(Judgement::default());
        };
        if facts.is_some() || received.fault != Reason::NONE || self.tables.edits() || self.clock.cuts_through() {
            let asks = facts.is_none() && received.fault == Reason::NONE;
            let way = asks.then(|| self.way(port, &received, headers, memos));
            return Verdict::Other(self.judge_any(now, port, received, facts, way, headers, before));
        }
        let way = self.way(port, &received, headers, memos);
        if !way.is_single() {
            return Verdict::Other(self.judge_any(now, port, received, None, Some(way), headers, before));
        }
        let (frame, bytes, shaped, is_led) = (received.frame, received.bytes, way.is_shaped, way.is_led);
        let (traffic_class, stream, egress) = (way.traffic_class, way.stream, way.wanted.trailing_zeros() as u16);
        let (begin, mut visible, decided) = match &self.clock {
            Clock::Hardware(cycles) => {
                let begin = self.row.place(received.turn);
                (begin, received.last + cycles.visible(), begin + ADMISSION_TO_VERDICT)
            }
            Clock::Ideal(ideal) => (now + 1, received.last + ideal.processing_delay_ps, now),
        };
        let mut passes = true;
        if shaped {
            let shape = self.shape(port, received.last, bytes, &way, visible);
            (visible, passes) = (shape.visible, shape.pass);
        }
        let known = || {
            let stream = (stream != NO_STREAM).then_some(stream);
            Judgement { frame, bytes, traffic_class, visible, stream, shaped, is_led, decided, ..Judgement::default() }
        };
        if !passes {
            return Verdict::Other(Judgement { reason: Reason::RESIDENCE, ..known() });
        }
        let class = usize::from(traffic_class);
        if self.ports.is_too_long(&self.clock, begin + 1, egress, class, bytes) {
            return Verdict::Other(self.admit_rest(now, begin, port, received, way.wanted, before, known()));
        }
        let pool = match self.store.take(begin, egress, class, port, bytes) {
            Ok(pool) => pool,
            Err(_) if self.drops_oldest >> class & 1 == 1 => {
                return Verdict::Other(self.admit_rest(now, begin, port, received, way.wanted, before, known()));
            }
            Err(Decision { queue_full, class_full, store_full, .. }) => {
                return Verdict::Other(Judgement { queue_full, class_full, store_full, ..known() });
            }
        };
        let copy = Queued { visible, frame, bytes, reception: port, edit: Edit::NONE, traffic_class, pool, shaped };
        let passed = self.pass(now, decided, before, egress, &copy);
        let wakes = passed.is_none() && self.enqueue(now, decided, egress, copy);
        let straight =
            Straight { frame, bytes, egress, traffic_class, shaped, is_led, wakes, stream, visible, decided, passed };
        Verdict::Straight(straight)
    }
}
