// SPDX-License-Identifier: Apache-2.0
//! Whether a described network is within the ranges for which no sum overflows.
use crate::describe::{Bucket, Network};
use crate::CLASSES;

/// What is out of range, in words.
pub fn check(network: &Network) -> Result<(), String> {
    const MOST: i64 = 1 << 50;
    let fits = |value: i64| (0..=MOST).contains(&value);
    for (number, port) in network.ports.iter().enumerate() {
        let gates_fit = port.gates.as_ref().is_none_or(|gates| {
            let cycle = gates.entries.iter().map(|&(_, interval)| i128::from(interval)).sum::<i128>();
            let all_last = gates.entries.iter().all(|&(_, interval)| interval > 0);
            let begins = gates.begin_ps.is_none_or(|begin| (0..=MOST).contains(&begin)) && fits(gates.begin_error_ps);
            begins
                && all_last
                && (1..=i128::from(MOST)).contains(&cycle)
                && (0..=1_000_000_000).contains(&gates.edge_ps)
        });
        let credit_fits = port.credit.iter().all(|credit| {
            let slopes = [credit.slowest_bps, credit.fastest_bps];
            usize::from(credit.traffic_class) < CLASSES
                && slopes.iter().all(|&slope| slope > 0 && slope <= port.fastest_bps)
                && (0..=20).contains(&credit.free_bytes)
                && fits(credit.most_bits)
        });
        if !(1..=port.fastest_bps).contains(&port.slowest_bps)
            || !fits(port.fastest_bps)
            || !fits(port.held_ps)
            || !gates_fit
            || !credit_fits
        {
            return Err(format!("port {number}: a rate, a slope or an interval is out of range"));
        }
    }
    let bucket_fits = |bucket: &Bucket| (0..=MOST * 1_000).contains(&bucket.burst_millibits) && fits(bucket.rate_bps);
    if !network.regulators.iter().all(bucket_fits) {
        return Err("a regulator's rate or burst is out of range".to_owned());
    }
    let hops: usize = network.streams.iter().map(|stream| stream.hops.len()).sum();
    let most = [hops, network.streams.len() + network.regulators.len(), network.ports.len() * CLASSES];
    if most.iter().any(|&count| u32::try_from(count).is_err()) {
        return Err("there are more hops, streams or ports than 32 bits count".to_owned());
    }
    for (number, stream) in network.streams.iter().enumerate() {
        let hops_fit = stream.hops.iter().enumerate().all(|(place, hop)| {
            let (shortest, longest) = stream.lengths(hop);
            let grown = |before: i64, now: i64| (before / 2..=before * 2).contains(&now);
            hop.port < network.ports.len()
                && shortest > 20
                && shortest <= longest
                && grown(stream.min_bytes, shortest)
                && grown(stream.max_bytes, longest)
                && usize::from(hop.traffic_class) < CLASSES
                && hop.from.is_none_or(|from| from < place)
                && fits(hop.jitter_ps)
                && hop.reach_ps.is_none_or(|(least, most)| least <= most && fits(least) && fits(most))
                && hop.regulator.is_none_or(|regulator| regulator < network.regulators.len())
        });
        let lengths_fit = stream.min_bytes > 20 && stream.min_bytes <= stream.max_bytes && stream.max_bytes <= 1 << 20;
        let released = stream.releases.as_ref().is_none_or(|releases| {
            let ordered = |&(from, to): &(i64, i64)| from <= to && fits(from) && fits(to);
            releases.period_ps.is_none_or(|period| (1..=MOST).contains(&period)) && releases.windows.iter().all(ordered)
        });
        if !hops_fit || !lengths_fit || !released || !stream.buckets.iter().all(bucket_fits) {
            return Err(format!("stream {number}: a hop, a length, a bucket or a release is out of range"));
        }
    }
    Ok(())
}
