// SPDX-License-Identifier: Apache-2.0
//! Which streams come to each queue, and by which links: what stays as it is while waits are searched.
//!
//! Large networks have many more hops than fit into a cache. Those of a queue lie beside each other, those that come by one
//! link too, and of each there is no more than is asked again and again.
use std::cmp::Reverse;
use std::ops::Range;

use crate::curve::{Curve, Line};
use crate::describe::{Bucket, Hop, Network, Stream};
use crate::growth::{Growth, Lengths};
use crate::phase::Window;
use crate::{Amount, Time, BYTE, CLASSES};

/// A stream in a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    stream: u32,
    /// Of its shortest frame among those of the queue.
    length: u32,
}

impl Member {
    pub fn stream(&self) -> usize {
        self.stream as usize
    }

    pub fn length(&self) -> usize {
        self.length as usize
    }
}

/// What comes by one link.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub port: usize,
    /// As that link carries it.
    pub longest: Amount,
    /// The most of any of its streams.
    pub growth: Growth,
    pub jitter: Time,
    pub members: Range<usize>,
}

/// A class of a port: who is in it, and how long their frames are on the wire.
#[derive(Clone, Debug, Default)]
pub(crate) struct Class {
    pub members: Range<usize>,
    /// The shortest frames of its streams, each once, the shortest first.
    pub lengths: Vec<Amount>,
    pub longest: Amount,
    /// Of sources that always have a frame, the longest, which goes after all others of the class.
    pub filling: Amount,
    /// Of which no more comes than these let through, and by how much more that is as it leaves.
    pub regulators: Vec<(usize, Growth)>,
    /// Streams of the talker's own, but for those that always have a frame.
    pub own: Range<usize>,
    pub entries: Vec<Entry>,
}

impl Class {
    pub fn shortest(&self) -> Amount {
        self.lengths[0]
    }

    /// It has no frames but of sources that always have one, which hand it over when it can be sent.
    pub fn is_only_filled(&self) -> bool {
        self.regulators.is_empty() && self.own.is_empty() && self.entries.is_empty()
    }
}

/// By what a stream is limited at a hop: by the last scheduler that it passed, or as its source.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    /// Among the lines.
    Line(u32),
    /// Among the sources.
    Source(u32),
    /// Nothing is known.
    None,
}

/// What is asked of a hop again and again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Of what leaves.
    pub limit: Limit,
    /// By how much more it is than what comes.
    pub growth: Growth,
    /// The longest frame, as it leaves.
    pub longest: u32,
    /// The hop before, and its queue.
    before: Option<(u32, u32)>,
    pub is_regulated: bool,
    /// The hop before is the talker's.
    pub is_first: bool,
    pub jitter: Time,
}

impl Step {
    pub fn before(&self) -> Option<(usize, usize)> {
        self.before.map(|(at, queue)| (at as usize, queue as usize))
    }
}

/// The number of a queue among those of all ports.
pub(crate) fn queue(port: usize, traffic_class: usize) -> usize {
    port * CLASSES + traffic_class
}

fn queue_of(hop: &Hop) -> usize {
    queue(hop.port, hop.traffic_class.into())
}

/// The queues of a network.
#[derive(Debug)]
pub(crate) struct Queues {
    pub classes: Vec<[Option<Class>; CLASSES]>,
    /// All hops, those of a queue beside each other.
    pub members: Vec<Member>,
    pub steps: Vec<Step>,
    /// By hop, what lies between the port before and this one.
    pub reach: Vec<Option<Window>>,
    /// The numbers of the hops of each stream, one stream after the other.
    pub numbers: Vec<u32>,
    /// Of schedulers, by their number, as frames come to them; of sources; and of both where frames have grown since.
    pub lines: Vec<Line>,
    /// That are no line.
    pub sources: Vec<Curve>,
    /// By port, those that come after it.
    pub next: Vec<Vec<usize>>,
}

pub(crate) fn line(bucket: &Bucket) -> Line {
    Line { burst: Amount::from(bucket.burst_millibits) * 1_000_000_000, rate: bucket.rate_bps }
}

impl Queues {
    /// Of a network with fewer hops than 32 bits count.
    pub fn new(network: &Network) -> Self {
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); network.ports.len()];
        let mut ends = vec![0; queue(network.ports.len(), 0)];
        for stream in &network.streams {
            for hop in &stream.hops {
                ends[queue_of(hop)] += 1;
                if let Some(from) = hop.from {
                    let after = &mut next[stream.hops[from].port];
                    if after.last() != Some(&hop.port) {
                        after.push(hop.port);
                    }
                }
            }
        }
        for after in &mut next {
            after.sort_unstable();
            after.dedup();
        }
        let mut hops = 0;
        for end in &mut ends {
            hops += *end;
            *end = hops - *end;
        }
        let mut places = vec![Place::default(); hops];
        let mut first = 0;
        for (number, stream) in network.streams.iter().enumerate() {
            for (at, hop) in stream.hops.iter().enumerate() {
                let end = &mut ends[queue_of(hop)];
                places[*end] = Place::new((number, stream), hop, first + at);
                *end += 1;
            }
            first += stream.hops.len();
        }
        let mut shared = vec![0_u32; network.regulators.len()];
        let mut begin = 0;
        let mut of_queue = |end: usize| {
            let members = std::mem::replace(&mut begin, end)..end;
            (!members.is_empty()).then(|| Class::new(members.start, &mut places[members], &mut shared))
        };
        let of_port = |ends: &[usize]| std::array::from_fn(|class| of_queue(ends[class]));
        let classes = ends.chunks_exact(CLASSES).map(of_port).collect();
        let mut numbers = vec![0; hops];
        for (at, place) in places.iter().enumerate() {
            numbers[place.number as usize] = at as u32;
        }
        let members = places.iter().map(|place| place.member).collect();
        let mut lines: Vec<Line> = network.regulators.iter().map(line).collect();
        let (steps, sources) = steps(network, &numbers, &mut lines);
        let mut reach = vec![None; hops];
        for (hop, &at) in network.streams.iter().flat_map(|stream| &stream.hops).zip(&numbers) {
            reach[at as usize] = hop.reach_ps;
        }
        Self { classes, members, steps, reach, numbers, lines, sources, next }
    }
}

fn steps(network: &Network, numbers: &[u32], lines: &mut Vec<Line>) -> (Vec<Step>, Vec<Curve>) {
    let nothing = Step {
        limit: Limit::None,
        growth: Growth::NONE,
        longest: 0,
        before: None,
        is_regulated: false,
        is_first: false,
        jitter: 0,
    };
    let mut steps = vec![nothing; numbers.len()];
    let mut sources = Vec::new();
    let (mut left, mut limits) = (numbers, Vec::new());
    for of in &network.streams {
        let (own, others) = left.split_at(of.hops.len());
        left = others;
        let curve = Curve::least(of.buckets.iter().map(line).collect());
        let source = match &curve {
            None => Limit::None,
            Some(curve) if curve.lines().count() == 1 => {
                lines.push(curve.last());
                Limit::Line(lines.len() as u32 - 1)
            }
            Some(_) => {
                sources.extend(curve);
                Limit::Source(sources.len() as u32 - 1)
            }
        };
        limits.clear();
        for (hop, &at) in of.hops.iter().zip(own) {
            let (came, leaves) = (came(of, hop), lengths(of, hop));
            // And how long frames are where it is counted.
            let (limit, counted) = match (hop.regulator, hop.from) {
                (Some(regulator), _) => (Limit::Line(regulator as u32), came),
                (None, Some(from)) => limits[from],
                (None, None) => (source, came),
            };
            limits.push((limit, counted));
            steps[at as usize] = Step {
                limit: grown(limit, Growth::between(counted, leaves), lines, &mut sources),
                growth: Growth::between(came, leaves),
                longest: leaves.1,
                before: hop.from.map(|from| (own[from], queue_of(&of.hops[from]) as u32)),
                is_regulated: hop.regulator.is_some(),
                is_first: hop.from == Some(0),
                jitter: hop.jitter_ps,
            };
        }
    }
    (steps, sources)
}

/// A limit of frames that have grown since they were counted.
fn grown(limit: Limit, growth: Growth, lines: &mut Vec<Line>, sources: &mut Vec<Curve>) -> Limit {
    match limit {
        _ if growth.is_none() => limit,
        Limit::None => Limit::None,
        Limit::Line(line) => {
            lines.push(growth.line(lines[line as usize]));
            Limit::Line(lines.len() as u32 - 1)
        }
        Limit::Source(source) => {
            sources.push(growth.curve(&sources[source as usize]));
            Limit::Source(sources.len() as u32 - 1)
        }
    }
}

/// Of the shortest and the longest frame as they leave by a hop.
fn lengths(stream: &Stream, hop: &Hop) -> Lengths {
    let (shortest, longest) = stream.lengths(hop);
    (shortest as u32, longest as u32)
}

/// As they come to it; as they are released where it is their talker's.
fn came(stream: &Stream, hop: &Hop) -> Lengths {
    match hop.from {
        Some(from) => lengths(stream, &stream.hops[from]),
        None => (stream.min_bytes as u32, stream.max_bytes as u32),
    }
}

/// What has to be known of a hop to sort the members of its queue.
#[derive(Clone, Copy)]
struct Place {
    member: Member,
    /// Among the hops of all streams, one stream after the other.
    number: u32,
    /// As they leave.
    min_bytes: u32,
    max_bytes: u32,
    /// As they come.
    longest_came: u32,
    growth: Growth,
    regulator: Option<u32>,
    conforms: bool,
    jitter: Time,
    by: By,
}

/// How a stream comes to a queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    /// Of the talker's own, known or without an end.
    Source,
    Filling,
    /// Together no more than their regulators let through.
    Regulators,
    Port(u32),
}

impl Default for Place {
    fn default() -> Self {
        let member = Member { stream: 0, length: 0 };
        let (number, min_bytes, max_bytes, longest_came, growth) = (0, 0, 0, 0, Growth::NONE);
        let (regulator, conforms, jitter, by) = (None, false, 0, By::Source);
        Self { member, number, min_bytes, max_bytes, longest_came, growth, regulator, conforms, jitter, by }
    }
}

impl Place {
    fn new((number, stream): (usize, &Stream), hop: &Hop, place: usize) -> Self {
        let (came, leaves) = (came(stream, hop), lengths(stream, hop));
        Self {
            member: Member { stream: number as u32, length: 0 },
            number: place as u32,
            min_bytes: leaves.0,
            max_bytes: leaves.1,
            longest_came: came.1,
            growth: Growth::between(came, leaves),
            regulator: hop.regulator.map(|regulator| regulator as u32),
            conforms: hop.conforms,
            jitter: hop.jitter_ps,
            by: match hop.from {
                None if stream.fills => By::Filling,
                None => By::Source,
                Some(from) => By::Port(stream.hops[from].port as u32),
            },
        }
    }

    fn longest(&self) -> Amount {
        Amount::from(self.max_bytes) * BYTE
    }
}

impl Class {
    /// Sorts its members, of which `first` is the number of the first one, by links. `shared` is zero for each regulator, and
    /// left so.
    fn new(first: usize, places: &mut [Place], shared: &mut [u32]) -> Self {
        let mut found = Self { members: first..first + places.len(), ..Self::default() };
        let mut lengths: Vec<u32> = places.iter().map(|place| place.min_bytes).collect();
        lengths.sort_unstable();
        lengths.dedup();
        found.lengths = lengths.iter().map(|&length| Amount::from(length) * BYTE).collect();
        for place in &mut *places {
            place.member.length = lengths.partition_point(|&length| length < place.min_bytes) as u32;
            found.longest = found.longest.max(place.longest());
            if place.by == By::Filling {
                found.filling = found.filling.max(place.longest());
            }
            if let Some(regulator) = place.regulator {
                shared[regulator as usize] += 1;
            }
        }
        for place in &mut *places {
            let Some(regulator) = place.regulator.map(|regulator| regulator as usize) else { continue };
            if !place.conforms || shared[regulator] > 1 {
                place.by = By::Regulators;
                found.regulators.push((regulator, place.growth));
            }
        }
        // Of streams that share one, as if all grew by the most.
        found.regulators.sort_unstable_by_key(|&(regulator, growth)| (regulator, Reverse(growth)));
        found.regulators.dedup_by_key(|&mut (regulator, _)| regulator);
        for regulator in places.iter().filter_map(|place| place.regulator) {
            shared[regulator as usize] = 0;
        }
        places.sort_by_key(|place| place.by);
        let mut at = first;
        for same in places.chunk_by(|one, other| one.by == other.by) {
            let members = at..at + same.len();
            at = members.end;
            match same[0].by {
                By::Source => found.own = members,
                By::Filling | By::Regulators => {}
                By::Port(port) => found.entries.push(Entry {
                    port: port as usize,
                    longest: same.iter().map(|place| Amount::from(place.longest_came)).max().unwrap_or(0) * BYTE,
                    growth: same.iter().map(|place| place.growth).max().unwrap_or(Growth::NONE),
                    jitter: same.iter().map(|place| place.jitter).max().unwrap_or(0),
                    members,
                }),
            }
        }
        found
    }
}
