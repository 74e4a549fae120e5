// SPDX-License-Identifier: Apache-2.0
//! A bridge that loses, doubles or damages frames does not get away with it.
use penstock_net::bridge::{Judgement, Tick};
use penstock_net::{run, Columns, Network, Node, NodeError, Observer, Outcome, Push, RunError, Told, Violation};

#[derive(Clone, Copy, PartialEq)]
enum Sin {
    None,
    Loses,
    Doubles,
    Damages,
    Forgets,
    ForgetsToCount,
}

/// Sends everything out of port 1.
struct Bridge {
    sin: Sin,
    pending: Vec<(u64, u32, Tick)>,
    held: u64,
}

impl Node for Bridge {
    fn ports(&self) -> u16 {
        2
    }

    fn push(&mut self, push: Push) -> Result<(), NodeError> {
        self.pending.push((push.id, push.frame, push.first));
        self.held += 1;
        Ok(())
    }

    fn run_until(&mut self, tick: Tick, told: &mut Vec<Told>) -> Result<(), NodeError> {
        let sin = self.sin;
        let mut left = 0;
        self.pending.retain(|&(id, frame, first)| {
            if first + 200 >= tick {
                return true;
            }
            let port = 1;
            let destination = if sin == Sin::Forgets && id == 3 { 0 } else { 1 << port };
            told.push(Told::Verdict(0, Judgement { frame, destination, decided: first + 100, ..Judgement::default() }));
            left += 1;
            if (sin == Sin::Loses || sin == Sin::Forgets) && id == 3 {
                return false;
            }
            if sin == Sin::Damages && id == 3 {
                told.push(Told::Damaged { id, port });
            }
            told.push(Told::Sent { frame, port, traffic_class: 5, first: tick + 4 });
            if sin == Sin::Doubles && id == 3 {
                told.push(Told::Sent { frame, port, traffic_class: 5, first: tick + 1004 });
            }
            false
        });
        if sin != Sin::ForgetsToCount {
            self.held -= left;
        }
        Ok(())
    }

    fn busy(&self) -> bool {
        !self.pending.is_empty()
    }

    fn unfinished(&self) -> (u64, u64) {
        (self.pending.len() as u64, self.held)
    }

    fn cycles(&self) -> (u64, u64) {
        (7, 5)
    }
}

struct Nobody;

impl Observer for Nobody {
    fn rows(&mut self, rows: &mut Columns) -> bool {
        assert!(!rows.is_empty());
        true
    }
    fn progress(&mut self, _done: f64) -> bool {
        true
    }
}

fn try_with(sin: Sin) -> Result<Outcome, RunError> {
    let network: Network = serde_json::from_str(
        r#"{"duration_ps": 100000000, "bridges": [{"name": "sw", "kind": "rtl", "ports": 2, "config": {}}],
        "stations": [{"name": "a"}, {"name": "b"}],
        "links": [{"a": [0, 0], "b": [1, 0], "rate_bps": 1000000000, "delay_ps": 50000},
                  {"a": [0, 1], "b": [2, 0], "rate_bps": 1000000000, "delay_ps": 50000}],
        "streams": [{"name": "s", "from": 0, "to": [1],
            "frame": {"destination_mac": "02:00:00:00:00:02", "source_mac": "02:00:00:00:00:01",
                      "payload": {"kind": "raw"}},
            "source": {"kind": "periodic", "frame_bytes": 64, "period_ps": 10000000}}]}"#,
    )
    .unwrap();
    run(network, vec![Box::new(Bridge { sin, pending: Vec::new(), held: 0 })], &mut Nobody)
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
    assert_eq!((outcome.simulation.cycles_simulated, outcome.simulation.cycles_jumped), (7, 5));
}

#[test]
fn every_sin_is_noticed() {
    assert_eq!(violations(Sin::Loses), [Violation::Stuck { node: 0, copies: 1 }]);
    let doubled = violations(Sin::Doubles);
    assert!(doubled.contains(&Violation::Twice { frame: 3, stream: 0, what: "sent" }), "{doubled:?}");
    assert_eq!(violations(Sin::Damages), [Violation::Damaged { frame: 3, node: 0, port: 1 }]);
    assert_eq!(violations(Sin::ForgetsToCount), [Violation::Count { node: 0, holds: 10, given: 0 }]);
    // A port to which a listener's copy was not forwarded: dropped, with its reason.
    let outcome = try_with(Sin::Forgets).unwrap();
    assert_eq!(outcome.statistics[0].dropped[10], 1);
}
