// SPDX-License-Identifier: Apache-2.0
//! The network that is analysed, as plain data. Lengths are on the wire, rates and times those of the network's clock: who
//! describes a node makes good for its clock's drift.
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    pub ports: Vec<Port>,
    pub regulators: Vec<Bucket>,
    pub streams: Vec<Stream>,
}

/// An egress port, of a bridge or of a station.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// b/s, no more than the link has.
    pub slowest_bps: i64,
    /// b/s, no less than the link has.
    pub fastest_bps: i64,
    /// Why nothing is known of what comes here.
    #[serde(default)]
    pub unknown: bool,
    #[serde(default)]
    pub credit: Vec<Credit>,
    /// Bit k: class k takes turns.
    #[serde(default)]
    pub turns: u8,
    #[serde(default)]
    pub gates: Option<Gates>,
    /// For how long a frame may be in a queue beside its wait and its own time on the wire, in ps.
    #[serde(default)]
    pub held_ps: i64,
}

/// The credit-based shaper of a class.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Credit {
    #[serde(rename = "class")]
    pub traffic_class: u8,
    /// b/s, no more than it has.
    pub slowest_bps: i64,
    /// b/s, no less than it has.
    pub fastest_bps: i64,
    /// Of a frame on the wire, what spends no credit.
    pub free_bytes: i64,
    /// Credit above this is lost, in bits.
    pub most_bits: i64,
}

/// A gate control list as it acts: its entries fill the cycle.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq, Hash)]
#[serde(deny_unknown_fields)]
pub struct Gates {
    /// States, bit k for class k, and for how long, in ps.
    pub entries: Vec<(u8, i64)>,
    /// By how much an edge may be early or late, in ps.
    pub edge_ps: i64,
    /// For a while all of them are open, before the list acts.
    #[serde(default)]
    pub late: bool,
    /// When a cycle begins, in the network's time; none: nobody knows.
    #[serde(default)]
    pub begin_ps: Option<i64>,
    /// By how much that may be early or late: synchronization is not perfect.
    #[serde(default)]
    pub begin_error_ps: i64,
    /// Credit does not rise while the first frame of its class no longer fits before the gate closes.
    #[serde(default)]
    pub frozen: bool,
}

/// When a source releases its frames, in the network's time.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Releases {
    /// After which they come again; none: they do not.
    pub period_ps: Option<i64>,
    /// Of each frame, from when to when, both counted.
    pub windows: Vec<(i64, i64)>,
}

/// A token bucket.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// 10^-3 bit
    pub burst_millibits: i64,
    pub rate_bps: i64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// What its source releases; nothing is known without any.
    pub buckets: Vec<Bucket>,
    /// As they are released.
    pub min_bytes: i64,
    pub max_bytes: i64,
    /// Its source always has a frame.
    #[serde(default)]
    pub fills: bool,
    /// Where that is known.
    #[serde(default)]
    pub releases: Option<Releases>,
    /// Each after the one that it comes from.
    pub hops: Vec<Hop>,
}

/// A queue that the stream passes.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    pub port: usize,
    #[serde(rename = "class")]
    pub traffic_class: u8,
    /// The hop before, none at the talker.
    pub from: Option<usize>,
    /// By how much what is between the ports may take longer once than another time, waiting apart, in ps.
    pub jitter_ps: i64,
    /// Of the scheduler that it passes before this queue.
    pub regulator: Option<usize>,
    /// It is proven that the scheduler holds nothing back.
    #[serde(default)]
    pub conforms: bool,
    /// The least and the most from the begin of a frame at the port before until it may begin here, waiting apart, in ps;
    /// none: frames are held in between.
    #[serde(default)]
    pub reach_ps: Option<(i64, i64)>,
    /// How long the shortest and the longest frame are as this port counts them; none: as they are released. Each frame gets
    /// as many bytes, or loses as many and is padded.
    #[serde(default)]
    pub lengths_bytes: Option<(i64, i64)>,
}

impl Stream {
    /// Of the shortest and the longest frame at a hop.
    pub fn lengths(&self, hop: &Hop) -> (i64, i64) {
        hop.lengths_bytes.unwrap_or((self.min_bytes, self.max_bytes))
    }
}
