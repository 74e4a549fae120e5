// SPDX-License-Identifier: Apache-2.0
//! A node that loses, doubles or damages frames does not get away with it; one that says what it does with them does.
use penstock_net::bridge::Judgement;
use penstock_net::{
    run, Clock, Coming, Due, Frame, Guests, Network, Node, Observer, Outbox, Outcome, Reason, Row, RunError, Violation,
};

/// Frame 3 is treated so.
#[derive(Clone, Copy, PartialEq)]
enum Deed {
    None,
    Loses,
    Doubles,
    Damages,
    Holds,
    Forgets,
    Swallows,
    Duplicates,
}

/// Sends everything out of port 1, 200 ns after it came.
struct Bridge {
    deed: Deed,
    pending: Vec<(u64, Frame)>,
    held: Vec<Frame>,
}

const PORT: u16 = 1;
const CLASS: u8 = 5;
const DELAY_PS: u64 = 200_000;

impl Bridge {
    fn act(&mut self, now: u64, mut frame: Frame, out: &mut Outbox<'_>) {
        let deed = if frame.id() == 3 { self.deed } else { Deed::None };
        let clock = Clock::fine(0, 0).unwrap();
        let destination = if deed == Deed::Forgets { 0 } else { 1 << PORT };
        let decided = clock.at_or_before(now);
        let judgement = Judgement { destination, decided, ..Judgement::default() };
        if out.judged(&mut frame, 0, &clock, &judgement) == 0 {
            return out.leave(frame);
        }
        match deed {
            Deed::Loses => return,
            Deed::Holds => return self.held.push(frame),
            Deed::Swallows => return out.swallow(frame, 0, now),
            Deed::Doubles => out.send(frame.copy(), PORT, CLASS, now + 1_000_000),
            Deed::Damages => out.violated(Violation::Damaged { frame: frame.id(), node: out.node(), port: PORT }),
            Deed::Duplicates => {
                let second = out.duplicate(&mut frame);
                out.send(second, PORT, CLASS, now + 1_000_000);
            }
            Deed::None | Deed::Forgets => {}
        }
        out.send(frame, PORT, CLASS, now);
    }
}

impl Node for Bridge {
    fn ports(&self) -> u16 {
        2
    }

    fn receive(&mut self, at: u64, _port: u16, mut coming: Coming<'_>) -> Result<u64, RunError> {
        let length = coming.bytes()?.len();
        let frame = coming.take();
        assert_eq!(length, usize::from(frame.length()));
        self.pending.push((at + DELAY_PS, frame));
        Ok(at)
    }

    fn next(&self) -> Option<u64> {
        self.pending.first().map(|(at, _)| *at)
    }

    fn advance(&mut self, now: u64, _due: Due, out: &mut Outbox<'_>) -> Result<(), RunError> {
        while self.next().is_some_and(|at| at <= now) {
            let (at, frame) = self.pending.remove(0);
            self.act(at, frame, out);
        }
        Ok(())
    }

    fn inside(&self, show: &mut dyn FnMut(&Frame, u32)) {
        self.pending.iter().map(|(_, frame)| frame).chain(&self.held).for_each(|frame| show(frame, 1));
    }

    fn cycles(&self) -> (u64, u64) {
        (7, 5)
    }
}

struct Nobody;

impl Observer for Nobody {
    fn rows(&mut self, rows: &mut Vec<Row>) -> bool {
        assert!(!rows.is_empty());
        true
    }
    fn progress(&mut self, _done: f64) -> bool {
        true
    }
}

fn try_with(deed: Deed) -> Result<Outcome, RunError> {
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
    let nodes: Vec<Box<dyn Node>> = vec![Box::new(Bridge { deed, pending: Vec::new(), held: Vec::new() })];
    run(network, Guests { nodes, ..Guests::default() }, &mut Nobody)
}

fn violations(deed: Deed) -> Vec<Violation> {
    match try_with(deed) {
        Err(RunError::Conservation(violations)) => violations,
        _ => panic!("not noticed"),
    }
}

#[test]
fn an_honest_bridge_passes() {
    let outcome = try_with(Deed::None).unwrap();
    assert_eq!((outcome.fates[0].created, outcome.fates[0].delivered, outcome.fates[0].inside), (10, 10, 0));
    assert_eq!((outcome.simulation.cycles_simulated, outcome.simulation.cycles_jumped), (7, 5));
}

#[test]
fn every_sin_is_noticed() {
    let lost = violations(Deed::Loses);
    assert!(lost.contains(&Violation::Count { node: 0, holds: 0, given: 1 }), "{lost:?}");
    let (created, delivered) = (10, 11);
    let doubled = Violation::Sum { stream: 0, created, delivered, dropped: 0, inside: 0 };
    assert_eq!(violations(Deed::Doubles), [doubled]);
    assert_eq!(violations(Deed::Damages), [Violation::Damaged { frame: 3, node: 0, port: 1 }]);
    // A port to which a listener's copy was not forwarded: dropped, with its reason.
    let outcome = try_with(Deed::Forgets).unwrap();
    assert_eq!(outcome.statistics[0].dropped[10], 1);
}

#[test]
fn what_a_node_says_of_its_frames_is_counted() {
    let held = try_with(Deed::Holds).unwrap();
    assert_eq!((held.fates[0].delivered, held.fates[0].inside, held.statistics[0].inside), (9, 1, 1));
    let swallowed = try_with(Deed::Swallows).unwrap();
    let (fates, statistics) = (&swallowed.fates[0], &swallowed.statistics[0]);
    let reason = Reason::SWALLOWED;
    assert_eq!((fates.delivered, fates.dropped[&reason], statistics.eliminated), (9, 1, 1));
    assert_eq!(statistics.dropped[usize::from(reason.0)], 1);
    let duplicated = try_with(Deed::Duplicates).unwrap();
    let (fates, statistics) = (&duplicated.fates[0], &duplicated.statistics[0]);
    assert_eq!((fates.delivered, statistics.delivered, statistics.duplicated, statistics.repeated), (10, 10, 1, 1));
}
