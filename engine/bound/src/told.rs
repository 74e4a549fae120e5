// SPDX-License-Identifier: Apache-2.0
//! A network in few words: what streams have in common where they pass is told once. The network that is analysed follows
//! from it, hop by hop.
use penstock_frame::{GAP_BYTES, PREAMBLE_BYTES};
use serde::Deserialize;

use crate::describe::{Bucket, Hop, Network, Port, Releases, Stream};
use crate::flow::EARLY;
use crate::{ceil_div, floor_div, Time};

/// Picoseconds of a second.
const PS: i128 = 1_000_000_000_000;
/// Parts per billion of all.
const WHOLE_PPB: i128 = 1_000_000_000;
/// What frames on the wire have beside themselves.
const AROUND_BYTES: i64 = (PREAMBLE_BYTES + GAP_BYTES) as i64;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    pub ports: Vec<Port>,
    pub regulators: Vec<Bucket>,
    pub passages: Vec<Passage>,
    pub streams: Vec<Passing>,
}

/// From a port to the next one, through a bridge.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passage {
    pub port: usize,
    /// The port before.
    pub before: usize,
    /// By priority code point, and of frames without a tag last.
    pub classes: [u8; 9],
    /// By how much it may take longer once than another time, in ps.
    pub jitter_ps: i64,
    /// Of the link between both.
    pub rate_bps: i64,
    pub delay_ps: i64,
    /// By how much the clocks of both nodes are off.
    pub apart_ppb: i64,
    /// Frames are sent on when they are whole, and not before.
    pub stored: bool,
    /// What the bridge takes at least and at most, in ps.
    pub least_ps: i64,
    pub most_ps: i64,
}

/// A stream by the passages that it goes through.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passing {
    /// Of its talker, with the class and the scheduler that it has there.
    pub port: usize,
    #[serde(rename = "class")]
    pub traffic_class: u8,
    pub held_by: Option<usize>,
    /// None: it has no tag.
    pub pcp: Option<u8>,
    /// Each after the one that it comes from.
    pub way: Vec<usize>,
    /// The scheduler before each passage; without any where no passage has one.
    pub regulators: Vec<Option<usize>>,
    /// It is proven that the schedulers of the first bridge hold nothing back, but what is a little early.
    pub conforms: bool,
    pub buckets: Vec<Bucket>,
    /// From destination address to FCS.
    pub min_frame_bytes: i64,
    pub max_frame_bytes: i64,
    /// Of the shortest and the longest frame as the port behind each passage counts them; without any where none has tags
    /// changed.
    #[serde(default)]
    pub lengths: Vec<(i64, i64)>,
    pub fills: bool,
    pub releases: Option<Releases>,
}

impl Told {
    /// Hop by hop.
    pub fn network(self) -> Result<Network, String> {
        let whole = |(number, stream): (usize, Passing)| {
            stream.whole(&self.passages).ok_or_else(|| format!("stream {number}: a passage is out of range"))
        };
        const MOST: i64 = 1 << 40;
        let fits = |passage: &Passage| {
            let times = [passage.jitter_ps, passage.delay_ps, passage.least_ps, passage.most_ps, passage.rate_bps];
            passage.rate_bps > 0
                && times.iter().all(|time| (0..=MOST).contains(time))
                && (0..=1_000_000_000).contains(&passage.apart_ppb)
        };
        if !self.passages.iter().all(fits) {
            return Err("a passage's rate or times are out of range".to_owned());
        }
        let streams = self.streams.into_iter().enumerate().map(whole).collect::<Result<_, _>>()?;
        Ok(Network { ports: self.ports, regulators: self.regulators, streams })
    }
}

impl Passing {
    /// None: something of it is out of range.
    fn whole(self, passages: &[Passage]) -> Option<Stream> {
        let released = (self.min_frame_bytes, self.max_frame_bytes);
        let fit = |&(shortest, longest): &(i64, i64)| (1..=longest).contains(&shortest) && longest <= 1 << 20;
        if !fit(&released) || !self.lengths.iter().all(fit) {
            return None;
        }
        let first = Hop {
            port: self.port,
            traffic_class: self.traffic_class,
            from: None,
            jitter_ps: 0,
            regulator: self.held_by,
            conforms: false,
            reach_ps: None,
            lengths_bytes: None,
        };
        let mut hops: Vec<Hop> = Vec::with_capacity(1 + self.way.len());
        hops.push(first);
        let leaving = |place: usize| self.lengths.get(place).copied().unwrap_or(released);
        for (place, &number) in self.way.iter().enumerate() {
            let passage = passages.get(number)?;
            let from = hops.iter().rposition(|hop| hop.port == passage.before)?;
            let regulator = self.regulators.get(place).copied().flatten();
            let conforms = self.conforms && from == 0 && regulator.is_some();
            let came = from.checked_sub(1).map_or(released, leaving);
            let early = if self.conforms && from == 0 { EARLY } else { 0 };
            hops.push(Hop {
                port: passage.port,
                traffic_class: passage.class_of(self.pcp)?,
                from: Some(from),
                jitter_ps: passage.jitter(came.1)? + early,
                regulator,
                conforms,
                reach_ps: if regulator.is_some() { None } else { Some(passage.reach(came)?) },
                lengths_bytes: Some(leaving(place)).filter(|lengths| *lengths != released).map(on_wire),
            });
        }
        let (min_bytes, max_bytes) = on_wire(released);
        Some(Stream { buckets: self.buckets, min_bytes, max_bytes, fills: self.fills, releases: self.releases, hops })
    }
}

fn on_wire((shortest, longest): (i64, i64)) -> (i64, i64) {
    (shortest + AROUND_BYTES, longest + AROUND_BYTES)
}

impl Passage {
    fn class_of(&self, pcp: Option<u8>) -> Option<u8> {
        let [of_pcp @ .., of_untagged] = &self.classes;
        pcp.map_or(Some(*of_untagged), |pcp| of_pcp.get(usize::from(pcp)).copied())
    }

    /// Where frames may be sent on before they are whole, that of a frame of its longest too.
    fn jitter(&self, longest_bytes: i64) -> Option<Time> {
        if self.stored {
            return Some(self.jitter_ps);
        }
        let lasts = ceil_div(i128::from(longest_bytes) * 8 * PS, self.rate_bps.into());
        Time::try_from(i128::from(self.jitter_ps) + lasts).ok()
    }

    /// The least and the most from a frame's begin at the port before until it may begin here.
    fn reach(&self, (shortest, longest): (i64, i64)) -> Option<(Time, Time)> {
        let (rate, apart) = (i128::from(self.rate_bps), i128::from(self.apart_ppb));
        let on_wire = |bytes: i64| (i128::from(bytes) + i128::from(PREAMBLE_BYTES)) * 8 * PS;
        // On the wire, and all of it by clocks that are so far apart.
        let least = on_wire(if self.stored { shortest } else { 0 }) + i128::from(self.least_ps) * rate;
        let most = on_wire(longest) + i128::from(self.most_ps) * rate;
        let after = |time: i128| Time::try_from(time + i128::from(self.delay_ps)).ok();
        if apart == 0 {
            return Some((after(floor_div(least, rate))?, after(ceil_div(most, rate))?));
        }
        let soonest = floor_div(least * (WHOLE_PPB - apart), rate * WHOLE_PPB);
        let latest = ceil_div(most * (WHOLE_PPB + apart), rate * WHOLE_PPB);
        Some((after(soonest)?, after(latest)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 1 Gb/s, 50 ns: a byte takes 8 ns.
    const PASSAGE: Passage = Passage {
        port: 1,
        before: 0,
        classes: [0, 1, 2, 3, 4, 5, 6, 7, 5],
        jitter_ps: 1_002,
        rate_bps: 1_000_000_000,
        delay_ps: 50_000,
        apart_ppb: 0,
        stored: true,
        least_ps: 1_000_000,
        most_ps: 1_004_000,
    };

    fn stream(pcp: Option<u8>, way: Vec<usize>, regulators: Vec<Option<usize>>) -> Passing {
        Passing {
            port: 0,
            traffic_class: 3,
            held_by: Some(7),
            pcp,
            way,
            regulators,
            conforms: true,
            buckets: Vec::new(),
            min_frame_bytes: 64,
            max_frame_bytes: 1_000,
            lengths: Vec::new(),
            fills: false,
            releases: None,
        }
    }

    fn passages() -> Vec<Passage> {
        let after = |port| Passage { port, before: 1, ..PASSAGE };
        let cut = Passage { stored: false, least_ps: 0, ..after(2) };
        vec![PASSAGE, cut, Passage { apart_ppb: 100_000, ..after(3) }]
    }

    #[test]
    fn hops_follow_from_passages() {
        let found = stream(None, vec![0, 1, 2], Vec::new()).whole(&passages()).unwrap();
        assert_eq!((found.min_bytes, found.max_bytes), (84, 1_020));
        let [talker, first, cut, drifting] = &found.hops[..] else { panic!("{} hops", found.hops.len()) };
        assert_eq!((talker.port, talker.traffic_class, talker.from, talker.regulator), (0, 3, None, Some(7)));
        assert_eq!((first.port, first.traffic_class, first.from, first.jitter_ps), (1, 5, Some(0), 1_002 + EARLY));
        // Preamble and 64 B, and preamble and 1000 B.
        assert_eq!(first.reach_ps, Some((50_000 + 576_000 + 1_000_000, 50_000 + 8_064_000 + 1_004_000)));
        // Two ports of one bridge come after the same one; the preamble is there before the first byte is sent on.
        assert_eq!((cut.port, cut.from, cut.jitter_ps), (2, Some(1), 1_002 + 8_000_000));
        assert_eq!(cut.reach_ps, Some((50_000 + 64_000, 50_000 + 8_064_000 + 1_004_000)));
        // 1.576 us less 157.6 ps, and 9.068 us more 906.8 ps.
        assert_eq!((drifting.from, drifting.reach_ps), (Some(1), Some((50_000 + 1_575_842, 50_000 + 9_068_907))));
    }

    #[test]
    fn schedulers_are_those_of_their_passages() {
        let found = stream(Some(6), vec![0, 1], vec![Some(4), Some(5)]).whole(&passages()).unwrap();
        let [_, first, next] = &found.hops[..] else { panic!("{} hops", found.hops.len()) };
        assert_eq!((first.traffic_class, first.regulator, first.reach_ps), (6, Some(4), None));
        // What conforms may be early where it enters the network, and is held by the next scheduler.
        assert_eq!((first.conforms, first.jitter_ps), (true, 1_002 + EARLY));
        assert_eq!((next.regulator, next.conforms, next.jitter_ps), (Some(5), false, 1_002 + 8_000_000));
    }

    /// Two bytes more than a VLAN tag less, and a tag less again behind it.
    #[test]
    fn frames_are_as_long_as_the_port_before_sends_them() {
        let lengths = vec![(66, 1_002), (64, 998), (70, 1_006)];
        let told = Passing { lengths, ..stream(None, vec![0, 1, 2], Vec::new()) };
        let found = told.whole(&passages()).unwrap();
        let [talker, first, cut, last] = &found.hops[..] else { panic!("{} hops", found.hops.len()) };
        let lengths = [talker, first, cut, last].map(|hop| hop.lengths_bytes);
        assert_eq!(lengths, [None, Some((86, 1_022)), Some((84, 1_018)), Some((90, 1_026))]);
        assert_eq!((found.min_bytes, found.max_bytes), (84, 1_020));
        // As the talker sends them, and then two bytes longer.
        assert_eq!(first.reach_ps, Some((50_000 + 576_000 + 1_000_000, 50_000 + 8_064_000 + 1_004_000)));
        assert_eq!((cut.from, cut.jitter_ps), (Some(1), 1_002 + 8_016_000));
        assert_eq!(cut.reach_ps, Some((50_000 + 64_000, 50_000 + 8_080_000 + 1_004_000)));
        assert_eq!((last.from, last.reach_ps), (Some(1), Some((50_000 + 1_591_840, 50_000 + 9_084_909))));
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        let told = |passages, way, pcp| {
            let (ports, regulators) = (Vec::new(), Vec::new());
            Told { ports, regulators, passages, streams: vec![stream(pcp, way, Vec::new())] }.network()
        };
        assert!(told(passages(), vec![0, 1], Some(7)).is_ok());
        assert!(told(passages(), vec![3], Some(7)).is_err());
        assert!(told(passages(), vec![1], Some(7)).is_err(), "nothing leads to its port before");
        assert!(told(passages(), vec![0], Some(8)).is_err());
        assert!(told(vec![Passage { rate_bps: 0, ..PASSAGE }], vec![0], Some(7)).is_err());
        assert!(told(vec![Passage { most_ps: i64::MAX, ..PASSAGE }], vec![0], Some(7)).is_err());
        let long = Passing { max_frame_bytes: i64::MAX, ..stream(None, vec![0], Vec::new()) };
        assert!(long.whole(&passages()).is_none());
    }
}
