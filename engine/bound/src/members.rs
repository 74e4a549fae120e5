// SPDX-License-Identifier: Apache-2.0
//! Which streams come to each queue, and by which links: what stays as it is while waits are searched.
use crate::curve::{Curve, Line};
use crate::describe::{Bucket, Network};
use crate::{Amount, Time, BYTE, CLASSES};

/// A stream in a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub stream: usize,
    pub hop: usize,
    /// Among the hops of all streams.
    pub at: usize,
    /// Of its shortest frame among those of the queue.
    pub length: usize,
}

/// What comes by one link.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub port: usize,
    pub longest: Amount,
    pub jitter: Time,
    pub members: Vec<Member>,
}

/// A class of a port: who is in it, and how long their frames are on the wire.
#[derive(Clone, Debug, Default)]
pub(crate) struct Class {
    pub members: Vec<Member>,
    /// The shortest frames of its streams, each once, the shortest first.
    pub lengths: Vec<Amount>,
    pub longest: Amount,
    /// Of sources that always have a frame, the longest, which goes after all others of the class.
    pub filling: Amount,
    /// Of which no more comes than these let through.
    pub regulators: Vec<usize>,
    /// Streams of the talker's own, but for those that always have a frame.
    pub own: Vec<Member>,
    pub entries: Vec<Entry>,
}

impl Class {
    pub fn shortest(&self) -> Amount {
        self.lengths[0]
    }
}

/// By what a stream is limited at a hop: by the last scheduler that it passed, or as its source.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    Line(Line),
    /// That of a stream.
    Source(usize),
    /// Nothing is known.
    None,
}

/// What is asked of a hop again and again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub limit: Limit,
    /// The hop before, and its queue.
    pub before: Option<(usize, usize)>,
    pub is_regulated: bool,
    /// The hop before is the talker's.
    pub is_first: bool,
    pub jitter: Time,
}

/// The number of a queue among those of all ports.
pub(crate) fn queue(port: usize, traffic_class: usize) -> usize {
    port * CLASSES + traffic_class
}

/// The queues of a network.
#[derive(Debug)]
pub(crate) struct Queues {
    pub classes: Vec<[Option<Class>; CLASSES]>,
    /// By hop, those of a queue beside each other.
    pub steps: Vec<Step>,
    /// The numbers of the hops of each stream, one stream after the other.
    pub numbers: Vec<usize>,
    /// By stream; none: nothing is known.
    pub sources: Vec<Option<Curve>>,
    pub regulators: Vec<Curve>,
    /// By port, those that come after it.
    pub next: Vec<Vec<usize>>,
}

pub(crate) fn line(bucket: &Bucket) -> Line {
    Line { burst: Amount::from(bucket.burst_millibits) * 1_000_000_000, rate: bucket.rate_bps }
}

impl Queues {
    pub fn new(network: &Network) -> Self {
        let mut classes: Vec<[Option<Class>; CLASSES]> = vec![const { [const { None }; CLASSES] }; network.ports.len()];
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); network.ports.len()];
        let mut hops = 0;
        for (number, stream) in network.streams.iter().enumerate() {
            let longest = Amount::from(stream.max_bytes) * BYTE;
            for (place, hop) in stream.hops.iter().enumerate() {
                let class = classes[hop.port][usize::from(hop.traffic_class)].get_or_insert_default();
                class.members.push(Member { stream: number, hop: place, at: hops, length: 0 });
                hops += 1;
                class.longest = class.longest.max(longest);
                if stream.fills && hop.from.is_none() {
                    class.filling = class.filling.max(longest);
                }
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
        let mut numbers = vec![0; hops];
        let members = classes.iter_mut().flatten().flatten().flat_map(|class| &mut class.members);
        for (number, member) in members.enumerate() {
            numbers[std::mem::replace(&mut member.at, number)] = number;
        }
        let mut shared = vec![0_u32; network.regulators.len()];
        for class in classes.iter_mut().flatten().flatten() {
            class.sort(network, &mut shared);
        }
        let sources: Vec<Option<Curve>> =
            network.streams.iter().map(|stream| Curve::least(stream.buckets.iter().map(line).collect())).collect();
        let regulators: Vec<Curve> = network.regulators.iter().map(|bucket| Curve::line(line(bucket))).collect();
        let steps = steps(network, &numbers, &sources);
        Self { classes, steps, numbers, sources, regulators, next }
    }
}

fn steps(network: &Network, numbers: &[usize], sources: &[Option<Curve>]) -> Vec<Step> {
    let nothing = Step { limit: Limit::None, before: None, is_regulated: false, is_first: false, jitter: 0 };
    let mut steps = vec![nothing; numbers.len()];
    let mut first = 0;
    for (number, stream) in network.streams.iter().enumerate() {
        let source = match &sources[number] {
            None => Limit::None,
            Some(source) if source.lines().count() == 1 => Limit::Line(source.last()),
            Some(_) => Limit::Source(number),
        };
        for (place, hop) in stream.hops.iter().enumerate() {
            let before = hop.from.map(|from| (numbers[first + from], &stream.hops[from]));
            steps[numbers[first + place]] = Step {
                limit: match (hop.regulator, before) {
                    (Some(regulator), _) => Limit::Line(line(&network.regulators[regulator])),
                    (None, Some((before, _))) => steps[before].limit,
                    (None, None) => source,
                },
                before: before.map(|(at, of)| (at, queue(of.port, of.traffic_class.into()))),
                is_regulated: hop.regulator.is_some(),
                is_first: hop.from == Some(0),
                jitter: hop.jitter_ps,
            };
        }
        first += stream.hops.len();
    }
    steps
}

impl Class {
    /// Sorts members by length and by link. `shared` is zero for each regulator, and left so.
    fn sort(&mut self, network: &Network, shared: &mut [u32]) {
        let shortest = |member: &Member| Amount::from(network.streams[member.stream].min_bytes) * BYTE;
        self.lengths = self.members.iter().map(shortest).collect();
        self.lengths.sort_unstable();
        self.lengths.dedup();
        let regulator = |member: &Member| network.streams[member.stream].hops[member.hop].regulator;
        for member in &mut self.members {
            member.length = self.lengths.partition_point(|&length| length < shortest(member));
            if let Some(regulator) = regulator(member) {
                shared[regulator] += 1;
            }
        }
        for &member in &self.members {
            let stream = &network.streams[member.stream];
            let hop = &stream.hops[member.hop];
            match (hop.regulator, hop.from) {
                (Some(regulator), _) if !hop.conforms || shared[regulator] > 1 => self.regulators.push(regulator),
                (_, None) if stream.fills => {}
                (_, None) => self.own.push(member),
                (_, Some(from)) => {
                    let port = stream.hops[from].port;
                    let at = self.entries.iter().position(|entry| entry.port == port).unwrap_or_else(|| {
                        self.entries.push(Entry { port, longest: 0, jitter: 0, members: Vec::new() });
                        self.entries.len() - 1
                    });
                    let entry = &mut self.entries[at];
                    entry.longest = entry.longest.max(Amount::from(stream.max_bytes) * BYTE);
                    entry.jitter = entry.jitter.max(hop.jitter_ps);
                    entry.members.push(member);
                }
            }
        }
        self.regulators.sort_unstable();
        self.regulators.dedup();
        for regulator in self.members.iter().filter_map(regulator) {
            shared[regulator] = 0;
        }
    }
}
