// SPDX-License-Identifier: Apache-2.0
//! What breaks while a network runs: links that are cut, nodes that die, bits that flip.
//!
//! All is known before the run. What reads frames before they are whole is told of a cut when the transmission begins, as if
//! it had not begun; all else when it happens.
use std::collections::HashMap;

use rand::SeedableRng;
use rand_distr::{Distribution, Geometric};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::describe::{Fault, Network, Place};
use crate::error::{wrong, RunError};
use crate::trace::{Event, Reason};
use penstock_shaper::Time;

/// Longer than any run.
pub(crate) const FOR_EVER: Time = Time::MAX;

/// A time in which nothing passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outage {
    from: Time,
    until: Time,
    reason: Reason,
}

/// Bits that flip, each with the same probability and whatever becomes of others.
#[derive(Clone, Debug)]
struct BitErrors {
    from: Time,
    until: Time,
    law: Geometric,
    random: Xoshiro256PlusPlus,
    /// Good bits before the next one that flips.
    good: u64,
}

impl BitErrors {
    fn new(from: Time, until: Time, rate: f64, seed: u64) -> Result<Self, RunError> {
        let law = Some(rate).filter(|rate| *rate > 0.0).and_then(|rate| Geometric::new(rate).ok());
        let law = law.ok_or_else(|| wrong(format!("a bit error rate of {rate}; above 0 and up to 1 is allowed")))?;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let good = law.sample(&mut random);
        Ok(Self { from, until, law, random, good })
    }

    /// The first of so many bits that flips. What flips after it is passed by.
    fn hit(&mut self, bits: u64) -> Option<u64> {
        let mut left = bits;
        let mut first = None;
        while self.good < left {
            first.get_or_insert(bits - left + self.good);
            left -= self.good + 1;
            self.good = self.law.sample(&mut self.random);
        }
        self.good -= left;
        first
    }
}

/// Of one direction of a link.
#[derive(Clone, Debug, Default)]
struct Condition {
    /// In order, none overlapping another.
    outages: Vec<Outage>,
    errors: Vec<BitErrors>,
}

impl Condition {
    /// Adds an outage; one that begins within another goes on from there, for the same reason.
    fn add(&mut self, outage: Outage) {
        self.outages.push(outage);
        self.outages.sort_by_key(|outage| outage.from);
        let mut merged: Vec<Outage> = Vec::with_capacity(self.outages.len());
        for &outage in &self.outages {
            match merged.last_mut() {
                Some(last) if outage.from <= last.until => last.until = last.until.max(outage.until),
                _ => merged.push(outage),
            }
        }
        self.outages = merged;
    }
}

/// What happens to a node at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It loses what is inside, and comes back at the end of the outage.
    Dies { node: u32 },
    /// The link of a port is down, for some time.
    Cut { node: u32, port: u16, reason: Reason },
    /// A bridge with detours learns that the link of a port is down, or up again.
    Learnt { node: u32, port: u16, is_up: bool },
    /// A fault begins or is over, which the trace says and nothing else.
    Told(Told),
}

/// What the trace says of a fault at a node; of a link at both its ends, of a node at port 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub node: u32,
    pub port: u16,
    pub event: Event,
    pub reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub at: Time,
    pub until: Time,
    pub change: Change,
}

/// All of a run.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// By the egress port that they lead from.
    wires: HashMap<(u32, u16), Condition>,
    /// The next one last.
    moments: Vec<Moment>,
}

impl Faults {
    pub fn new(network: &Network) -> Result<Self, RunError> {
        let mut found = Self::default();
        let nodes = network.bridges.len() + network.stations.len();
        for fault in &network.faults {
            match *fault {
                Fault::LinkDown { link, at_ps, until_ps } => {
                    let link = at(&network.links, link)?;
                    let outage = outage(at_ps, until_ps, Reason::LINK_DOWN)?;
                    found.cut([link.a, link.b], outage);
                    found.tell(&[link.a, link.b], outage);
                }
                Fault::NodeDown { node, at_ps, until_ps } => {
                    if node >= nodes {
                        return Err(wrong(format!("a fault of node {node}; there are {nodes}")));
                    }
                    let outage = outage(at_ps, until_ps, Reason::NODE_DOWN)?;
                    for link in network.links.iter().filter(|link| link.a.0 == node || link.b.0 == node) {
                        found.cut([link.a, link.b], outage);
                    }
                    let (node, until) = (node as u32, outage.until);
                    found.moments.push(Moment { at: at_ps, until, change: Change::Dies { node } });
                    found.tell(&[(node as usize, 0)], outage);
                }
                Fault::BitErrors { link, at_ps, until_ps, rate, seed } => {
                    let link = at(&network.links, link)?;
                    let lasting @ Outage { from, until, .. } = outage(at_ps, until_ps, Reason::BIT_ERRORS)?;
                    found.tell(&[link.a, link.b], lasting);
                    for (direction, (node, port)) in [link.a, link.b].into_iter().enumerate() {
                        let errors = BitErrors::new(from, until, rate, seed.wrapping_add(direction as u64))?;
                        found.wires.entry((node as u32, port)).or_default().errors.push(errors);
                    }
                }
            }
        }
        for (&(node, port), condition) in &found.wires {
            found.moments.extend(condition.outages.iter().map(|outage| Moment {
                at: outage.from,
                until: outage.until,
                change: Change::Cut { node, port, reason: outage.reason },
            }));
        }
        found.learn(network);
        // Of one instant, what is over is told before what begins, and nodes die before their links go down; the rest in
        // the order of nodes and ports.
        found.moments.sort_by_key(|moment| {
            std::cmp::Reverse(match moment.change {
                Change::Told(Told { node, port, event: Event::FaultEnd, .. }) => (moment.at, 0, node, port),
                Change::Told(Told { node, port, .. }) => (moment.at, 1, node, port),
                Change::Dies { node } => (moment.at, 2, node, 0),
                Change::Cut { node, port, .. } => (moment.at, 3, node, port),
                Change::Learnt { node, port, .. } => (moment.at, 4, node, port),
            })
        });
        Ok(found)
    }

    fn cut(&mut self, ends: [Place; 2], outage: Outage) {
        for (node, port) in ends {
            self.wires.entry((node as u32, port)).or_default().add(outage);
        }
    }

    /// When bridges know of their links.
    fn learn(&mut self, network: &Network) {
        for (&(node, port), condition) in &self.wires {
            let Some(bridge) = network.bridges.get(node as usize).filter(|bridge| !bridge.config.detours.is_empty())
            else {
                continue;
            };
            let later = |at: Time| at.saturating_add(Time::from(bridge.config.link_detection_ps));
            for outage in &condition.outages {
                for (at, is_up) in [(later(outage.from), false), (later(outage.until), true)] {
                    let change = Change::Learnt { node, port, is_up };
                    self.moments.push(Moment { at, until: FOR_EVER, change });
                }
            }
        }
    }

    fn tell(&mut self, places: &[Place], Outage { from, until, reason }: Outage) {
        for &(node, port) in places {
            for (at, event) in [(from, Event::FaultBegin), (until, Event::FaultEnd)] {
                let change = Change::Told(Told { node: node as u32, port, event, reason });
                self.moments.push(Moment { at, until, change });
            }
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.wires.is_empty()
    }

    /// Whether a node or a link stays as it is, so that what waits for it waits for ever.
    pub fn last_for_ever(&self) -> bool {
        self.wires.values().flat_map(|condition| &condition.outages).any(|outage| outage.until == FOR_EVER)
    }

    /// When something happens next.
    pub fn next(&self) -> Time {
        self.moments.last().map_or(FOR_EVER, |moment| moment.at)
    }

    /// What happens up to a time.
    pub fn take(&mut self, now: Time) -> Option<Moment> {
        self.moments.pop_if(|moment| moment.at <= now)
    }

    /// Whether the wire from a port is cut at times.
    pub fn cuts(&self, from: (u32, u16)) -> bool {
        self.wires.get(&from).is_some_and(|condition| !condition.outages.is_empty())
    }

    /// When and why what is on the wire from a port from `begin` to `end` is lost, if it is.
    pub fn outage(&self, from: (u32, u16), begin: Time, end: Time) -> Option<(Time, Reason)> {
        let outages = &self.wires.get(&from)?.outages;
        let next = outages.get(outages.partition_point(|outage| outage.until <= begin))?;
        (next.from < end).then(|| (next.from.max(begin), next.reason))
    }

    /// The first bit that flips of a frame whose first bit after the delimiter leaves a port at `first`; asked for once of each
    /// frame that is not lost, of those of a port in order.
    pub fn hit(&mut self, from: (u32, u16), first: Time, bytes: u32) -> Option<u64> {
        let errors = &mut self.wires.get_mut(&from)?.errors;
        let mut acting = errors.iter_mut().filter(|errors| (errors.from..errors.until).contains(&first));
        acting.find_map(|errors| errors.hit(u64::from(bytes) * 8))
    }
}

fn at<T>(things: &[T], number: usize) -> Result<&T, RunError> {
    things.get(number).ok_or_else(|| wrong(format!("a fault of link {number}; there are {}", things.len())))
}

fn outage(from: Time, until: Option<Time>, reason: Reason) -> Result<Outage, RunError> {
    let until = until.unwrap_or(FOR_EVER);
    if until <= from {
        return Err(wrong(format!("a fault from {from} ps to {until} ps; it has to last for some time")));
    }
    Ok(Outage { from, until, reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PORT: (u32, u16) = (0, 0);

    fn faults(outages: &[(u64, u64)]) -> Faults {
        let mut condition = Condition::default();
        for &(from, until) in outages {
            condition.add(Outage { from, until, reason: Reason::LINK_DOWN });
        }
        Faults { wires: HashMap::from([(PORT, condition)]), ..Faults::default() }
    }

    #[test]
    fn what_is_on_a_wire_in_an_outage_is_lost_when_it_begins_or_when_the_outage_does() {
        let cut = faults(&[(1_000, 2_000)]);
        let lost = |at| Some((at, Reason::LINK_DOWN));
        assert_eq!(cut.outage(PORT, 100, 1_000), None, "its last bit is there");
        assert_eq!(cut.outage(PORT, 100, 1_001), lost(1_000));
        assert_eq!(cut.outage(PORT, 1_999, 3_000), lost(1_999));
        assert_eq!(cut.outage(PORT, 2_000, 3_000), None);
        assert_eq!(cut.outage((0, 1), 1_000, 2_000), None);
        assert!(cut.cuts(PORT) && !cut.cuts((0, 1)));
    }

    #[test]
    fn outages_that_touch_or_overlap_are_one() {
        let cut = faults(&[(50, 60), (10, 20), (20, 30), (15, 18), (55, FOR_EVER)]);
        let times: Vec<_> = cut.wires[&PORT].outages.iter().map(|outage| (outage.from, outage.until)).collect();
        assert_eq!(times, [(10, 30), (50, FOR_EVER)]);
        assert!(cut.last_for_ever());
    }

    #[test]
    fn every_bit_flips_at_a_rate_of_one_and_none_is_no_rate() {
        let mut errors = BitErrors::new(0, FOR_EVER, 1.0, 7).unwrap();
        assert_eq!([errors.hit(512), errors.hit(12_000)], [Some(0), Some(0)]);
        for rate in [0.0, -0.1, 1.1, f64::NAN] {
            assert!(BitErrors::new(0, FOR_EVER, rate, 7).is_err());
        }
    }

    #[test]
    fn as_many_frames_are_hit_as_bits_flip_by_chance() {
        // 1 - (1 - 10^-5)^8000 of them: 7688.4 of 100,000, with a deviation of 84.2.
        let mut errors = BitErrors::new(0, FOR_EVER, 1e-5, 11).unwrap();
        let hit = (0..100_000).filter(|_| errors.hit(8_000).is_some()).count();
        assert!(hit.abs_diff(7_688) < 5 * 85, "{hit}");
    }

    proptest! {
        /// However a stretch of bits is cut into frames, the same bits flip.
        #[test]
        fn bits_flip_whatever_frames_they_are_in(lengths in prop::collection::vec(1_u64..400, 1..200), seed: u64) {
            let mut one_by_one = BitErrors::new(0, FOR_EVER, 0.01, seed).unwrap();
            let mut framed = one_by_one.clone();
            for bits in lengths {
                let flipped: Vec<_> = (0..bits).filter(|_| one_by_one.hit(1).is_some()).collect();
                prop_assert_eq!(framed.hit(bits), flipped.first().copied());
            }
        }
    }
}
