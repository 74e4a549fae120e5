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
    Source(usize),
    Regulator(usize),
}

/// The queues of a network.
#[derive(Debug)]
pub(crate) struct Queues {
    pub classes: Vec<[Option<Class>; CLASSES]>,
    /// By hop.
    pub limits: Vec<Limit>,
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
        let mut limits = Vec::new();
        for (number, stream) in network.streams.iter().enumerate() {
            let first = limits.len();
            let longest = Amount::from(stream.max_bytes) * BYTE;
            for (place, hop) in stream.hops.iter().enumerate() {
                limits.push(match (hop.regulator, hop.from) {
                    (Some(regulator), _) => Limit::Regulator(regulator),
                    (None, Some(from)) => limits[first + from],
                    (None, None) => Limit::Source(number),
                });
                let class = classes[hop.port][usize::from(hop.traffic_class)].get_or_insert_default();
                class.members.push(Member { stream: number, hop: place, at: first + place, length: 0 });
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
        let mut shared = vec![0_u32; network.regulators.len()];
        for class in classes.iter_mut().flatten().flatten() {
            class.sort(network, &mut shared);
        }
        let source = |buckets: &[Bucket]| Curve::least(buckets.iter().map(line).collect());
        Self {
            classes,
            limits,
            sources: network.streams.iter().map(|stream| source(&stream.buckets)).collect(),
            regulators: network.regulators.iter().map(|bucket| Curve::line(line(bucket))).collect(),
            next,
        }
    }
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
