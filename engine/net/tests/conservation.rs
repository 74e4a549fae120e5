// SPDX-License-Identifier: Apache-2.0
//! A bridge that loses, doubles or damages frames does not get away with it.
use penstock_frame::{BitsPerSecond, Picoseconds};
use penstock_net::{run, Arrival, Network, Node, NodeError, NodeEvent, Outcome, RunError, Violation, What};

#[derive(Clone, Copy, PartialEq)]
enum Sin {
    None,
    Loses,
    Doubles,
    Damages,
    ForgetsToCount,
}

/// Sends everything out of port 1.
struct Bridge {
    sin: Sin,
    pending: Vec<(u64, u16, u64)>,
    held: u64,
}

impl Node for Bridge {
    fn ports(&self) -> u16 {
        2
    }
    fn rate(&self) -> BitsPerSecond {
        BitsPerSecond(1_000_000_000)
    }
    fn grid(&self) -> Picoseconds {
        Picoseconds(8_000)
    }
    fn earliest(&self) -> Picoseconds {
        Picoseconds(0)
    }
    fn push(&mut self, arrival: Arrival) -> Result<(), NodeError> {
        self.pending.push((arrival.frame, arrival.port, arrival.time.0));
        self.held += 1;
        Ok(())
    }
    fn run_until(&mut self, _time: Picoseconds, events: &mut Vec<NodeEvent>) -> Result<(), NodeError> {
        for (frame, port, time) in self.pending.drain(..) {
            let mut tell = |time, port, what| {
                events.push(NodeEvent { time: Picoseconds(time), frame, port, what, traffic_class: Some(5) });
            };
            tell(time, port, What::Received);
            tell(time + 1_000_000, 1, What::Queued);
            tell(time + 1_000_000, port, What::Judged);
            if self.sin == Sin::Loses && frame == 3 {
                continue;
            }
            if self.sin == Sin::Damages && frame == 3 {
                tell(time + 2_000_000, 1, What::Damaged);
            }
            tell(time + 2_000_000, 1, What::Sent);
            if self.sin == Sin::Doubles && frame == 3 {
                tell(time + 3_000_000, 1, What::Sent);
            }
            if self.sin != Sin::ForgetsToCount {
                self.held -= 1;
            }
        }
        Ok(())
    }
    fn unfinished(&self) -> u64 {
        self.held
    }
    fn idle(&self) -> bool {
        true
    }
    fn cycles(&self) -> (u64, u64) {
        (0, 0)
    }
}

fn try_with(sin: Sin) -> Result<Outcome, RunError> {
    let network: Network = serde_json::from_str(
        r#"{"duration_ps": 100000000, "bridges": [{"name": "sw", "ports": 2, "model": "fake"}],
        "stations": [{"name": "a", "bridge": 0, "port": 0, "rate_bps": 1000000000, "delay_ps": 50000},
                     {"name": "b", "bridge": 0, "port": 1, "rate_bps": 1000000000, "delay_ps": 50000}],
        "streams": [{"name": "s", "from": "a", "to": ["b"],
            "frame": {"destination_mac": "02:00:00:00:00:02", "source_mac": "02:00:00:00:00:01",
                      "payload": {"kind": "raw"}},
            "source": {"kind": "periodic", "frame_bytes": 64, "period_ps": 10000000}}]}"#,
    )
    .unwrap();
    let mut nodes: Vec<Box<dyn Node>> = vec![Box::new(Bridge { sin, pending: Vec::new(), held: 0 })];
    run(&network, &mut nodes, &mut |_| true)
}

fn violations(sin: Sin) -> Vec<Violation> {
    match try_with(sin) {
        Err(RunError::Conservation(violations)) => violations,
        _ => panic!("not noticed"),
    }
}

#[test]
fn an_honest_bridge_passes() {
    let outcome = try_with(Sin::None).unwrap();
    assert_eq!((outcome.fates[0].created, outcome.fates[0].delivered, outcome.fates[0].inside), (10, 10, 0));
    assert_eq!(outcome.deliveries[0].1.len(), 10);
    assert!(outcome.trace.time_ps.windows(2).all(|w| w[0] <= w[1]));
}

#[test]
fn every_sin_is_noticed() {
    assert_eq!(violations(Sin::Loses), [Violation::Lost { frames: 1 }]);
    assert!(violations(Sin::Doubles).contains(&Violation::Twice { frame: 3, what: "delivered" }));
    assert_eq!(violations(Sin::Damages), [Violation::Damaged { frame: 3, port: 1 }]);
    assert!(violations(Sin::ForgetsToCount).contains(&Violation::Count { trace: 0, nodes: 10 }));
}
