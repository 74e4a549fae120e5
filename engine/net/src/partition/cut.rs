// SPDX-License-Identifier: Apache-2.0
//! Which part of a network each core simulates. A pure function of the network.
//!
//! Bridges in the order of a walk over the links are cut into pieces of equal load; then bridges at a border change sides
//! where the part that has most to do has less so. Of walks from several bridges the best one is taken. Stations go with
//! their bridges.
use std::collections::HashMap;

use crate::describe::{Network, SourceKind};
use crate::routes::Graph;
use crate::RunError;
use penstock_shaper::Time;

/// The partition of each bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division {
    pub partitions: u32,
    pub of_bridge: Vec<u32>,
    pub of_station: Vec<u32>,
}

/// A frame that crosses costs each side about so many hops: it is handed over, taken in, and what was promised changes.
const CROSSING: f64 = 4.0;
/// Walks, each from another bridge.
const WALKS: usize = 64;
/// Rounds over all bridges at borders.
const ROUNDS: usize = 8;
/// Of what is not known to be more, in frames a second.
const LITTLE: f64 = 1.0;

/// What is expected of bridges and links, in frames a second.
struct Load {
    of_bridge: Vec<f64>,
    /// Per bridge: its neighbours, and what passes between them in both directions.
    between: Vec<Vec<(usize, f64)>>,
}

impl Division {
    /// Into so many partitions, or into fewer if there are fewer bridges.
    pub fn new(network: &Network, partitions: usize) -> Result<Self, RunError> {
        let load = Load::new(network)?;
        let partitions = partitions.clamp(1, network.bridges.len().max(1));
        let of_bridge = best(&load, partitions);
        let mut of_station = vec![0; network.stations.len()];
        for link in &network.links {
            for (near, far) in [(link.a.0, link.b.0), (link.b.0, link.a.0)] {
                let station = near.checked_sub(network.bridges.len()).and_then(|index| of_station.get_mut(index));
                if let (Some(station), Some(&partition)) = (station, of_bridge.get(far)) {
                    *station = partition;
                }
            }
        }
        Ok(Self { partitions: partitions as u32, of_bridge, of_station })
    }
}

/// Frames a second of a stream's source, roughly.
fn frames_a_second(network: &Network, stream: usize, depth: usize) -> f64 {
    let every = |ps: Time| 1e12 / ps.max(1) as f64;
    match &network.streams[stream].source.kind {
        SourceKind::Periodic { period_ps, .. } => every(*period_ps),
        SourceKind::Poisson { mean_ps, .. } | SourceKind::Normal { mean_ps, .. } => every(*mean_ps),
        SourceKind::Burst { period_ps, size, .. } => *size as f64 * every(*period_ps),
        SourceKind::Pattern { period_ps, sizes, .. } => {
            sizes.iter().map(Vec::len).sum::<usize>() as f64 / sizes.len().max(1) as f64 * every(*period_ps)
        }
        SourceKind::BackToBack { frame_bytes, .. } => {
            let station = network.bridges.len() + network.streams[stream].from;
            let link = network.links.iter().find(|link| link.a.0 == station || link.b.0 == station);
            link.map_or(LITTLE, |link| link.rate_bps as f64 / (8.0 * (f64::from(*frame_bytes) + 20.0)))
        }
        // Answers to answers end somewhere.
        SourceKind::Response { to_stream, .. } if *to_stream < network.streams.len() && depth < 8 => {
            frames_a_second(network, *to_stream, depth + 1)
        }
        SourceKind::Response { .. } | SourceKind::Capture { .. } => LITTLE,
    }
}

impl Load {
    fn new(network: &Network) -> Result<Self, RunError> {
        let bridges = network.bridges.len();
        let graph = Graph::new(network);
        let mut of_bridge = vec![LITTLE; bridges];
        let mut of_port: HashMap<(usize, u16), f64> = HashMap::new();
        // A stream without its stations is refused later.
        for (index, stream) in network.streams.iter().enumerate().filter(|(_, stream)| network.has_stations(stream)) {
            let frames = frames_a_second(network, index, 0);
            for (bridge, port, _) in graph.branches(network, stream)? {
                of_bridge[bridge as usize] += frames;
                *of_port.entry((bridge as usize, port)).or_default() += frames;
            }
            // The talker's own work is about that of a hop.
            if let Some(bridge) = graph.neighbour(bridges + stream.from).filter(|&bridge| bridge < bridges) {
                of_bridge[bridge] += frames;
            }
        }
        let mut between = vec![Vec::new(); bridges];
        for link in network.links.iter().filter(|link| link.a.0 < bridges && link.b.0 < bridges) {
            let passing = [link.a, link.b].map(|end| of_port.get(&end).copied().unwrap_or(0.0));
            let passing = LITTLE + passing.iter().sum::<f64>();
            between[link.a.0].push((link.b.0, passing));
            between[link.b.0].push((link.a.0, passing));
        }
        Ok(Self { of_bridge, between })
    }

    /// Where walks may start: from an end first, so that what is cut off first hangs together.
    fn starts(&self) -> Vec<usize> {
        let mut starts: Vec<usize> = (0..self.of_bridge.len()).collect();
        starts.sort_by_key(|&bridge| (self.between[bridge].len(), bridge));
        starts
    }

    /// Bridges in the order of a walk that goes deep first, over the links that most frames pass.
    fn walk<'a>(&self, starts: impl Iterator<Item = &'a usize>) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.of_bridge.len());
        let mut seen = vec![false; self.of_bridge.len()];
        for &start in starts {
            let mut waiting = vec![start];
            while let Some(bridge) = waiting.pop() {
                if std::mem::replace(&mut seen[bridge], true) {
                    continue;
                }
                order.push(bridge);
                let mut next: Vec<_> = self.between[bridge].iter().filter(|(next, _)| !seen[*next]).collect();
                next.sort_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
                waiting.extend(next.into_iter().map(|&(next, _)| next));
            }
        }
        order
    }

    /// What a bridge has to do in a partition: its own load, and what crosses.
    fn of(&self, bridge: usize, partition: u32, of_bridge: &[u32]) -> f64 {
        let crosses = self.between[bridge].iter().filter(|(next, _)| of_bridge[*next] != partition);
        self.of_bridge[bridge] + CROSSING * crosses.map(|(_, frames)| frames).sum::<f64>()
    }
}

/// Of walks from several bridges, the division whose largest part is the least.
fn best(load: &Load, partitions: usize) -> Vec<u32> {
    let starts = load.starts();
    let mut best = (f64::INFINITY, vec![0; starts.len()]);
    for first in (0..starts.len()).step_by(starts.len().div_ceil(WALKS).max(1)) {
        let order = load.walk(starts[first..].iter().chain(&starts[..first]));
        let mut of_bridge = pieces(load, &order, partitions);
        let has = improve(load, partitions, &mut of_bridge);
        let most = has.into_iter().fold(0.0, f64::max);
        if most < best.0 {
            best = (most, of_bridge);
        }
    }
    best.1
}

/// Of equal load, in the order of the walk; each has one bridge at least.
fn pieces(load: &Load, order: &[usize], partitions: usize) -> Vec<u32> {
    let mut of_bridge = vec![0; load.of_bridge.len()];
    let mut left: f64 = load.of_bridge.iter().sum();
    let mut at = 0;
    for partition in 0..partitions {
        let share = left / (partitions - partition) as f64;
        let last = order.len() - (partitions - partition - 1);
        let mut taken = 0.0;
        let first = at;
        while at < last
            && (at == first || partition + 1 == partitions || taken + load.of_bridge[order[at]] / 2.0 <= share)
        {
            taken += load.of_bridge[order[at]];
            of_bridge[order[at]] = partition as u32;
            at += 1;
        }
        left -= taken;
    }
    of_bridge
}

/// Lets bridges change sides while the larger one of two parts has less so; gives what each part has to do.
fn improve(load: &Load, partitions: usize, of_bridge: &mut [u32]) -> Vec<f64> {
    let mut has = vec![0.0; partitions];
    let mut count = vec![0; partitions];
    for (bridge, &partition) in of_bridge.iter().enumerate() {
        has[partition as usize] += load.of(bridge, partition, of_bridge);
        count[partition as usize] += 1;
    }
    for _ in 0..ROUNDS {
        let mut any = false;
        for bridge in 0..of_bridge.len() {
            let from = of_bridge[bridge] as usize;
            if count[from] == 1 {
                continue;
            }
            let passing = |with: usize| -> f64 {
                let neighbours = load.between[bridge].iter();
                neighbours.filter(|(next, _)| of_bridge[*next] as usize == with).map(|(_, frames)| frames).sum()
            };
            let after = |to: usize| {
                // What passes to those it leaves crosses for them from then on, and no longer for those it joins.
                let leaves = has[from] - load.of(bridge, from as u32, of_bridge) + CROSSING * passing(from);
                let joins = has[to] + load.of(bridge, to as u32, of_bridge) - CROSSING * passing(to);
                (leaves, joins)
            };
            let sides = load.between[bridge].iter().map(|&(next, _)| of_bridge[next] as usize);
            let better = sides.filter(|&to| to != from).map(|to| (to, after(to)));
            // Less by more than what comes of rounding.
            let is_less =
                |to: usize, (leaves, joins): (f64, f64)| leaves.max(joins) < has[from].max(has[to]) * (1.0 - 1e-9);
            let Some((to, (leaves, joins))) = better.into_iter().find(|&(to, after)| is_less(to, after)) else {
                continue;
            };
            (has[from], has[to]) = (leaves, joins);
            count[from] -= 1;
            count[to] += 1;
            of_bridge[bridge] = to as u32;
            any = true;
        }
        if !any {
            break;
        }
    }
    has
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// A tree with a station at each bridge, and streams between them.
    fn tree(parents: &[usize], streams: &[(usize, usize, u64)]) -> Network {
        let bridges = parents.len() + 1;
        let mut ports = vec![0; bridges];
        let mut take = |bridge: usize| {
            ports[bridge] += 1;
            json!([bridge, ports[bridge] - 1])
        };
        let link = |a, b| json!({"a": a, "b": b, "rate_bps": 1_000_000_000, "delay_ps": 0});
        let mut links: Vec<_> = (0..parents.len()).map(|n| link(take(n + 1), take(parents[n]))).collect();
        links.extend((0..bridges).map(|n| link(take(n), json!([bridges + n, 0]))));
        let described = |n: usize| {
            json!({"name": format!("s{n}"), "kind": "model", "ports": ports[n], "config": {},
                "timing": {"kind": "ideal", "processing_delay_ps": 0}})
        };
        let stream = |(n, &(from, to, period_ps)): (usize, &(usize, usize, u64))| {
            json!({"name": format!("x{n}"), "from": from, "to": [to],
                "source": {"kind": "periodic", "frame_bytes": 64, "period_ps": period_ps}})
        };
        let streams: Vec<_> = streams.iter().filter(|(from, to, _)| from != to).enumerate().map(stream).collect();
        let stations: Vec<_> = (0..bridges).map(|n| json!({"name": format!("h{n}")})).collect();
        let described: Vec<_> = (0..bridges).map(described).collect();
        let network = json!({"duration_ps": 1, "bridges": described, "stations": stations, "links": links,
            "streams": streams});
        serde_json::from_value(network).unwrap()
    }

    proptest! {
        #[test]
        fn every_bridge_is_in_one_partition_and_none_is_empty(
            (parents, streams) in (1_usize..30).prop_flat_map(|bridges| (
                (1..bridges).map(|n| 0..n).collect::<Vec<_>>(),
                proptest::collection::vec((0..bridges, 0..bridges, 1_000_u64..1_000_000), 0..20),
            )),
            wanted in 1_usize..9,
        ) {
            let network = tree(&parents, &streams);
            let division = Division::new(&network, wanted).unwrap();
            let bridges = network.bridges.len();
            prop_assert_eq!(division.partitions as usize, wanted.min(bridges));
            prop_assert_eq!(division.of_bridge.len(), bridges);
            for partition in 0..division.partitions {
                prop_assert!(division.of_bridge.contains(&partition));
            }
            prop_assert!(division.of_bridge.iter().all(|&partition| partition < division.partitions));
            // Each station stands at the bridge of its number.
            prop_assert_eq!(&division.of_station, &division.of_bridge);
            prop_assert_eq!(&division, &Division::new(&network, wanted).unwrap());
        }
    }

    proptest! {
        /// What the books say after bridges changed sides is what a count from the beginning gives.
        #[test]
        fn the_books_of_parts_are_kept(
            (parents, streams) in (2_usize..30).prop_flat_map(|bridges| (
                (1..bridges).map(|n| 0..n).collect::<Vec<_>>(),
                proptest::collection::vec((0..bridges, 0..bridges, 1_000_u64..1_000_000), 0..20),
            )),
            wanted in 2_usize..5,
        ) {
            let load = Load::new(&tree(&parents, &streams)).unwrap();
            let partitions = wanted.min(parents.len() + 1);
            let start = pieces(&load, &load.walk(load.starts().iter()), partitions);
            let mut of_bridge = start.clone();
            let kept = improve(&load, partitions, &mut of_bridge);
            let count = |of_bridge: &[u32]| {
                let mut has = vec![0.0; partitions];
                for (bridge, &of) in of_bridge.iter().enumerate() {
                    has[of as usize] += load.of(bridge, of, of_bridge);
                }
                has
            };
            for (kept, counted) in kept.iter().zip(count(&of_bridge)) {
                prop_assert!((kept - counted).abs() <= 1e-6 * counted, "{kept} {counted}");
            }
            let most = |has: Vec<f64>| has.into_iter().fold(0.0, f64::max);
            prop_assert!(most(kept) <= most(count(&start)) * (1.0 + 1e-6));
        }
    }

    /// A line of equal bridges is cut in the middle, once.
    #[test]
    fn partitions_have_equal_loads() {
        let parents: Vec<usize> = (0..39).collect();
        let streams: Vec<_> = (0..40).map(|n| (n, (n + 1) % 40, 1_000_000)).collect();
        let network = tree(&parents, &streams[..39]);
        for wanted in [2, 4] {
            let division = Division::new(&network, wanted).unwrap();
            let cut = division.of_bridge.windows(2).filter(|pair| pair[0] != pair[1]).count();
            assert_eq!(cut, wanted - 1, "{:?}", division.of_bridge);
            for partition in 0..wanted as u32 {
                let has = division.of_bridge.iter().filter(|&&of| of == partition).count();
                assert!(has.abs_diff(40 / wanted) <= 1, "{:?}", division.of_bridge);
            }
        }
    }
}
