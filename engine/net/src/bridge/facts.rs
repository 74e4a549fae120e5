// SPDX-License-Identifier: Apache-2.0
//! Frames that are on their way while something changes: what each has read so far.
//!
//! The stages of classification have their cycles (`classify.rs`), and so has what is done with what they say. With T the
//! turn of the frame's record and B the begin of its admission:
//!
//! ```text
//!     T + 2              forwarding database
//!     T + 6              the number that it gets in its stream
//!     T + 6 .. T + 8     overhead, residence time, ProcessingDelayMax
//!     T + 10             rate
//!     T' + 2             of the port's next turn T': forwarding database, which learns
//!     B + 1              queueMaxSDU and the largest windows of the gates
//!     B + 1 .. B + 3     limits: of the queue, of the class, of reception port and store
//! ```
use penstock_shaper::admission::Limits;

use super::arrivals::{Pending, Received};
use super::classify::{read, Classification, Pipeline, Seen, Tagging};
use super::memos::Way;
use super::meters::{Metering, Shape};
use super::timing::{Clock, Cycles, TURN_TO_ADMISSION};
use super::{Bridge, Judgement, Tick};
use crate::header::{Header, Headers};

/// None: not read yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub classification: Classification,
    /// Ports that the address leads to.
    found: Option<u64>,
    overhead_bytes: Option<i32>,
    residence_ns: Option<u32>,
    delay_ns: Option<u32>,
    /// Of a shaped frame.
    pub shape: Option<Shape>,
    is_learnt: bool,
    /// Its sequence number; none within: it gets none.
    number: Option<Option<u16>>,
    /// Of its admission.
    pub begin: Option<Tick>,
    queue_limits: Option<(u32, u32)>,
    too_long: Option<u64>,
    class_limit: Option<u32>,
    store_limits: Option<(u32, u32)>,
    /// What became of it, if that was asked for before its time.
    pub judged: Option<Judgement>,
}

impl Facts {
    /// As far as it is known.
    pub fn way(&self, header: &Header) -> Way {
        Way::new(&self.classification, header, self.found.unwrap_or(u64::MAX))
    }

    /// Whether an ATS scheduler gives the frame its time.
    pub fn is_shaped(&self, seen: &Seen) -> bool {
        let way = self.way(seen.header);
        seen.is_whole() && way.is_shaped && way.is_forwarded()
    }

    /// What egress ports do with its tags.
    pub fn tagging(&self, seen: &Seen) -> Tagging {
        self.classification.tagging(seen).with_number(self.number.flatten())
    }

    /// Egress ports for which it is too long.
    pub fn too_long(&self) -> u64 {
        self.too_long.unwrap_or(0)
    }

    /// What was read before a change counts for it, else what is set now.
    pub fn limits(&self, now: &Limits) -> Limits {
        let mut limits = *now;
        let class = usize::from(self.classification.traffic_class());
        if let Some((queue, guarantee)) = self.queue_limits {
            limits.queue[class] = queue;
            limits.queue_guarantee = guarantee;
        }
        if let Some(cells) = self.class_limit {
            limits.class[class] = cells;
        }
        if let Some((reception, shared)) = self.store_limits {
            limits.reception_guarantee = reception;
            limits.shared = shared;
        }
        limits
    }

    fn metering(&self, now: Metering) -> Metering {
        Metering {
            overhead_bytes: self.overhead_bytes.unwrap_or(now.overhead_bytes),
            residence_ns: self.residence_ns.unwrap_or(now.residence_ns),
            delay_ns: self.delay_ns.unwrap_or(now.delay_ns),
        }
    }
}

impl Bridge {
    /// Whether the hardware takes a rate of this stream in cycle `at`: not while a frame of it is being shaped, or a rate
    /// may be read.
    pub fn takes_rate(&mut self, at: Tick, stream: u16, headers: &Headers) -> bool {
        let Clock::Hardware(cycles) = self.clock else { return true };
        self.settle(at + 1, cycles, headers);
        !self.in_flight(headers).any(|(seen, received, facts)| {
            let of_stream = facts.classification.stream() == Some(stream);
            match at.saturating_sub(received.turn) {
                // Whose rate is read, and whether one is, is not looked at in that tick.
                5 => true,
                6 => of_stream,
                7..=12 => of_stream && facts.is_shaped(&seen),
                // Its state is stored, and there is one place to write.
                13 => of_stream && facts.is_shaped(&seen) || facts.shape.is_some_and(|shape| shape.pass),
                _ => false,
            }
        })
    }

    /// Whether the hardware takes an entry of this set of addresses in cycle `at`: not while a learning is in its way.
    pub fn takes_address(&mut self, at: Tick, set: u32, headers: &Headers) -> bool {
        let Clock::Hardware(cycles) = self.clock else { return true };
        self.settle(at + 1, cycles, headers);
        if self.forwarding.is_swept(at) {
            return false;
        }
        !self.in_flight(headers).any(|(seen, received, facts)| {
            let classification = &facts.classification;
            if classification.learns() != Some(true) {
                return false;
            }
            let allowed = classification.is_heard().unwrap_or(true);
            let is_its_set = self.forwarding.source_set(classification.vlan(), seen.header.source) == set;
            match at.saturating_sub(received.turn + cycles.ports) {
                1 => true,
                2 | 3 => is_its_set,
                4 => allowed && is_its_set,
                5 => allowed,
                _ => false,
            }
        })
    }

    fn in_flight<'a>(&'a self, headers: &'a Headers) -> impl Iterator<Item = (Seen<'a>, &'a Received, &'a Facts)> {
        self.arrivals.iter().filter_map(move |(port, _, pending)| {
            let received = &pending.received;
            let seen = Seen::new(port, received, headers.get(received.header));
            Some((seen, received, pending.facts.as_deref()?))
        })
    }

    /// Reads all that frames on their way read before `until`, in the order of their turns.
    pub(super) fn settle(&mut self, until: Tick, cycles: Cycles, headers: &Headers) {
        let mut steps: Vec<(Tick, u16, usize, bool)> = Vec::new();
        for (port, index, Pending { received, .. }) in self.arrivals.iter() {
            if received.taken < until {
                steps.push((received.turn, port, index, false));
                steps.push((received.turn + cycles.ports, port, index, true));
            }
        }
        steps.sort_unstable();
        for (_, port, index, learns) in steps {
            let Some(pending) = self.arrivals.get_mut(port, index) else { continue };
            let received = pending.received;
            let mut facts = pending.facts.take().unwrap_or_default();
            let seen = Seen::new(port, &received, headers.get(received.header));
            if learns {
                self.learn_until(&seen, &received, &mut facts, until, cycles);
            } else {
                if received.turn + TURN_TO_ADMISSION <= until && facts.begin.is_none() {
                    facts.begin = Some(self.row.place(received.turn));
                }
                self.read_until(&seen, &received, &mut facts, until, cycles);
            }
            if let Some(pending) = self.arrivals.get_mut(port, index) {
                pending.facts = Some(facts);
            }
        }
    }

    /// Reads all that is left of a frame whose admission begins.
    #[inline(never)]
    pub(super) fn finish(&mut self, port: u16, received: &Received, facts: &mut Facts, begin: Tick, headers: &Headers) {
        let Clock::Hardware(cycles) = self.clock else { return };
        facts.begin = Some(begin);
        let seen = Seen::new(port, received, headers.get(received.header));
        self.read_until(&seen, received, facts, Tick::MAX, cycles);
        self.learn_until(&seen, received, facts, Tick::MAX, cycles);
    }

    /// What is read before `until`, but for the learning of the source address.
    fn read_until(&mut self, seen: &Seen, received: &Received, facts: &mut Facts, until: Tick, cycles: Cycles) {
        let turn = received.turn;
        let pipeline = Pipeline::new(seen.port, received, seen.header, cycles);
        facts.classification.read_until(seen, &self.tables, &pipeline, until);
        if seen.is_whole() && facts.found.is_none() && turn + 2 < until {
            let (vlan, address) = (facts.classification.vlan(), seen.header.destination);
            let place = self.forwarding.place_of(vlan, address);
            facts.found = Some(self.forwarding.find(turn, seen.port, place, vlan, address, |_| 0));
        }
        let is_forwarded = seen.is_whole() && facts.way(seen.header).is_forwarded();
        let stream = facts.classification.numbered_stream(seen).filter(|_| is_forwarded);
        read(&mut facts.number, turn + 6, until, || stream.and_then(|stream| self.tables.take_number(stream)));
        let class = facts.classification.traffic_class();
        let now = self.meters.metering(seen.port, class);
        read(&mut facts.overhead_bytes, turn + 6, until, || now.overhead_bytes);
        read(&mut facts.residence_ns, turn + 7, until, || now.residence_ns);
        read(&mut facts.delay_ns, turn + 8, until, || now.delay_ns);
        if facts.shape.is_none() && turn + 10 < until && facts.is_shaped(seen) {
            let (stream, metering) = (facts.way(seen.header).stream, facts.metering(now));
            let group = (seen.port, class);
            facts.shape = Some(self.meters.shape_in_cycles(
                group,
                stream,
                (received.last, received.bytes),
                &metering,
                self.ports(),
            ));
        }
        if let Some(begin) = facts.begin {
            let limits = self.store.limits();
            let class = usize::from(class);
            let tagging = facts.tagging(seen);
            read(&mut facts.too_long, begin + 1, until, || {
                let bytes = |port| self.sent_as(&tagging, port, received.bytes).1;
                self.ports.too_long_as_sent(&self.clock, begin + 1, u64::MAX, class, bytes)
            });
            read(&mut facts.queue_limits, begin + 1, until, || (limits.queue[class], limits.queue_guarantee));
            read(&mut facts.class_limit, begin + 2, until, || limits.class[class]);
            read(&mut facts.store_limits, begin + 3, until, || (limits.reception_guarantee, limits.shared));
        }
    }

    /// The learning of the source address, once all that it reads is read before `until`.
    fn learn_until(&mut self, seen: &Seen, received: &Received, facts: &mut Facts, until: Tick, cycles: Cycles) {
        let turn = received.turn + cycles.ports;
        let pipeline = Pipeline::new(seen.port, received, seen.header, cycles);
        facts.classification.read_until(seen, &self.tables, &pipeline, until);
        let classification = &facts.classification;
        let learns = classification.learns() == Some(true) && !facts.is_learnt && turn + 2 < until;
        if let Some(allowed) = classification.is_heard().filter(|_| learns) {
            facts.is_learnt = true;
            let (vlan, source) = (classification.vlan(), seen.header.source);
            let set = self.forwarding.source_set(vlan, source);
            self.forwarding.learn(turn, set, vlan, source, seen.received_at(), allowed);
        }
    }
}
