// SPDX-License-Identifier: Apache-2.0
//! Networks drawn at random.
use proptest::prelude::*;
use serde_json::{json, Value};

/// A random tree of bridges of all kinds, and what passes through it.
#[derive(Clone, Debug)]
pub struct Plan {
    pub parents: Vec<usize>,
    pub kinds: Vec<u32>,
    pub stations: Vec<(usize, u32)>,
    pub streams: Vec<(usize, Vec<usize>, u8, u32, u64, u32)>,
    pub delay_ps: u64,
    /// All bridges know the way.
    pub is_static: bool,
}

pub fn plans() -> impl Strategy<Value = Plan> {
    let delays = prop_oneof![Just(0), Just(50_000_u64), 0_u64..3_000_000];
    (2_usize..9, 2_usize..8, delays, any::<bool>()).prop_flat_map(|(bridges, stations, delay_ps, is_static)| {
        (
            (1..bridges).map(|n| n.saturating_sub(3)..n).collect::<Vec<_>>(),
            proptest::collection::vec(any::<u32>(), bridges),
            proptest::collection::vec((0..bridges, any::<u32>()), stations),
            proptest::collection::vec(
                (
                    0..stations,
                    proptest::collection::vec(0..stations, 1..5),
                    0_u8..8,
                    64_u32..1522,
                    2_000_000_u64..40_000_000,
                    any::<u32>(),
                ),
                1..9,
            ),
        )
            .prop_map(move |(parents, kinds, stations, streams)| Plan {
                parents,
                kinds,
                stations,
                streams,
                delay_ps,
                is_static,
            })
    })
}

const HOST: u64 = 0x0200_0000_0000;
const GROUP: u64 = 0x0300_0000_0100;

fn address(value: u64) -> String {
    value.to_be_bytes()[2..].iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

impl Plan {
    pub fn network(&self) -> Value {
        let bridges = self.kinds.len();
        let mut ports = vec![0_u16; bridges];
        let mut take = |bridge: usize| {
            ports[bridge] += 1;
            json!([bridge, ports[bridge] - 1])
        };
        let mut links = Vec::new();
        for (n, &parent) in self.parents.iter().enumerate() {
            links.push(
                json!({"a": take(n + 1), "b": take(parent), "rate_bps": 1_000_000_000, "delay_ps": self.delay_ps}),
            );
        }
        for (n, &(bridge, _)) in self.stations.iter().enumerate() {
            links.push(json!({"a": take(bridge), "b": [bridges + n, 0], "rate_bps": 1_000_000_000, "delay_ps": 7_000}));
        }
        let described: Vec<_> = (0..bridges)
            .map(|n| {
                let mut bridge = self.bridge(n, ports[n]);
                if self.is_static {
                    bridge["config"]["learning_enable"] = false.into();
                    bridge["config"]["static_addresses"] = self.addresses(n, &links);
                }
                bridge
            })
            .collect();
        let stations = self
            .stations
            .iter()
            .enumerate()
            .map(|(n, &(_, kind))| json!({"name": format!("h{n}"), "clock": {"drift_ppb": drift(kind)}}));
        let stations: Vec<_> = stations.collect();
        json!({"duration_ps": 400_000_000_u64, "drain_ps": 300_000_000_u64, "bridges": described, "stations": stations,
            "links": links, "streams": self.streams(), "statistics": {"exact_up_to": 40}})
    }

    /// Ports of a bridge that lead to the listeners of each destination.
    fn addresses(&self, bridge: usize, links: &[Value]) -> Value {
        let bridges = self.kinds.len();
        let towards = |station: usize| -> u64 {
            let mut came: Vec<Option<u64>> = vec![None; bridges + self.stations.len()];
            let mut waiting = vec![bridge];
            while let Some(node) = waiting.pop() {
                for (from, to) in links.iter().flat_map(|link| [(&link["a"], &link["b"]), (&link["b"], &link["a"])]) {
                    let next = to[0].as_u64().unwrap() as usize;
                    if from[0] == node && next != bridge && came[next].is_none() {
                        came[next] = if node == bridge { from[1].as_u64() } else { came[node] };
                        waiting.push(next);
                    }
                }
            }
            1 << came[bridges + station].unwrap()
        };
        let hosts = (0..self.stations.len()).map(|n| json!([HOST + n as u64, 1, towards(n)]));
        let groups = self.streams.iter().enumerate().map(|(n, stream)| {
            let ports = stream.1.iter().filter(|to| **to != stream.0).fold(0, |ports, &to| ports | towards(to));
            json!([GROUP + n as u64, 1, ports])
        });
        hosts.chain(groups).collect()
    }

    fn bridge(&self, n: usize, ports: u16) -> Value {
        let kind = self.kinds[n];
        let ports = ports.max(2);
        let timing = match kind % 3 {
            0 if ports <= 8 => json!({"kind": "hardware"}),
            1 => json!({"kind": "ideal", "processing_delay_ps": 300_000, "cut_through_bytes": 64}),
            _ => json!({"kind": "ideal", "processing_delay_ps": (kind >> 8) % 2_000_000}),
        };
        let mut config = json!({"learning_enable": kind >> 3 & 1 == 1, "queue_limit": [30, 30, 30, 30, 30, 30, 30, 30],
            "identify": {"destination": true}});
        if kind >> 4 & 3 == 0 {
            let gates = |port: u16| {
                json!({"port": port, "entries": [[0xF0, 20_000], [0x0F, 30_000], [0xFF, 10_000]],
                "cycle_time_ns": 60_000, "base_time_ns": 5_000})
            };
            config["gates"] = (0..ports).map(gates).collect();
        }
        if kind >> 6 & 3 == 0 {
            let credit = |port: u16| json!({"port": port, "class": 5, "idle_slope_bps": 200_000_000});
            config["credit"] = (0..ports).map(credit).collect();
        }
        if kind >> 8 & 1 == 0 {
            // 100 Mb/s and 2000 bytes for the addresses of all stations, from every port.
            let mut streams = Vec::new();
            for port in 0..ports {
                for station in 0..self.stations.len() as u64 {
                    streams.push(json!({"stream": streams.len(), "port": port, "ns_per_byte": 80_u64 << 24,
                        "empty_to_full": 160_000_u64 << 16,
                        "key": {"identify": "destination", "mac": HOST + station, "vlan": 1}}));
                }
            }
            config["streams"] = streams.into();
        }
        json!({"name": format!("s{n}"), "kind": "model", "ports": ports, "timing": timing, "config": config,
            "clock": {"drift_ppb": drift(kind), "offset_ps": i64::from(kind >> 12)}})
    }

    fn streams(&self) -> Value {
        let mut streams: Vec<Value> = Vec::new();
        for (n, (from, to, pcp, bytes, mean, kind)) in self.streams.iter().enumerate() {
            let mut to: Vec<usize> = to.iter().copied().filter(|to| to != from).collect();
            to.sort_unstable();
            to.dedup();
            if to.is_empty() {
                continue;
            }
            let destination = if to.len() == 1 { HOST + to[0] as u64 } else { GROUP + n as u64 };
            let source = match kind % 6 {
                0 => {
                    json!({"kind": "periodic", "frame_bytes": bytes, "period_ps": mean, "jitter": {"uniform_ps": 900_000}})
                }
                1 => json!({"kind": "burst", "frame_bytes": bytes, "period_ps": 4 * mean, "size": 4}),
                2 => json!({"kind": "back_to_back", "frame_bytes": bytes, "count": 60}),
                _ => json!({"kind": "poisson", "frame_bytes": bytes, "mean_ps": mean, "seed": n}),
            };
            let handover = json!({"delay": {"uniform_ps": 3_000_000}, "launch": {"offset_ps": 2_000_000}});
            streams.push(json!({"name": format!("x{n}"), "from": from, "to": to, "source": source,
                "committed": {"rate_bps": 100_000_000, "burst_bytes": 2000, "overhead_bytes": 20},
                "handover": if kind % 6 != 2 && kind >> 3 & 3 == 0 { handover } else { Value::Null },
                "frame": frame(*from, destination, *pcp)}));
            if kind >> 5 & 3 == 0 {
                let asked = streams.len() - 1;
                streams.push(json!({"name": format!("y{n}"), "from": to[0], "to": [from],
                    "source": {"kind": "response", "to_stream": asked, "after_ps": 1_000, "frame_bytes": 100},
                    "frame": frame(to[0], HOST + *from as u64, 7)}));
            }
        }
        streams.into()
    }
}

fn frame(from: usize, destination: u64, pcp: u8) -> Value {
    json!({"destination_mac": address(destination), "source_mac": address(HOST + from as u64), "vlan": 1, "pcp": pcp,
        "payload": {"kind": "raw"}})
}

fn drift(kind: u32) -> i32 {
    match kind >> 16 & 3 {
        0 => (kind >> 18) as i32 % 10_000_000,
        1 => -((kind >> 18) as i32 % 10_000_000),
        _ => 0,
    }
}
