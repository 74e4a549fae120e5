// SPDX-License-Identifier: Apache-2.0
//! Nodes that cut what they send, by what they do not know when it begins: the books balance, the next node gets what began
//! and ended as bytes and never as a frame, and the trace says so. And nodes that put off what they wanted to do.
mod rows;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use penstock_net::{run, Coming, Due, Event, Frame, Guests, Network, Node, Outbox, Rate, Reason, Row, RunError};
use proptest::prelude::*;
use rows::Rows;
use serde_json::json;

const BPS: u64 = 1_000_000_000;
const PS_PER_BYTE: u64 = 8_000;
const LEAD: u64 = 8 * PS_PER_BYTE;
const GAP: u64 = 12 * PS_PER_BYTE;
const DELAY_PS: u64 = 300_000;
/// The streams with even numbers are express.
const EXPRESS: u32 = 0;

fn duration(frame: &Frame) -> u64 {
    Rate::new(BPS).duration(u32::from(frame.length()))
}

/// Sends what comes by any port out of port 0. Express frames interrupt others, which begin anew after them, or are dropped.
struct Preempter {
    drops: bool,
    coming: Vec<(u64, Frame)>,
    express: VecDeque<Frame>,
    others: VecDeque<Frame>,
    /// When the last bit of what is being sent leaves, and whether it may be interrupted.
    sending: Option<(u64, bool)>,
    free: u64,
}

impl Preempter {
    fn new(drops: bool) -> Self {
        Self { drops, coming: Vec::new(), express: VecDeque::new(), others: VecDeque::new(), sending: None, free: 0 }
    }

    fn act(&mut self, now: u64, out: &mut Outbox<'_>) -> Result<(), RunError> {
        self.coming.sort_by_key(|(whole, _)| *whole);
        while self.coming.first().is_some_and(|(whole, _)| *whole <= now) {
            let (_, frame) = self.coming.remove(0);
            let class = if frame.stream() % 2 == EXPRESS { &mut self.express } else { &mut self.others };
            class.push_back(frame);
        }
        let may_cut = matches!(self.sending, Some((until, true)) if now < until);
        if may_cut && !self.express.is_empty() {
            let frame = out.cut(0, now)?.expect("it is on the wire");
            assert!(out.cut(0, now)?.is_none(), "once");
            if self.drops && frame.id() % 3 == 0 {
                out.drop(frame, 0, 0, now, Reason::DISPLACED);
            } else {
                self.others.push_front(frame);
            }
            (self.sending, self.free) = (None, now + GAP);
        }
        if now < self.free {
            return Ok(());
        }
        let (class, may_be_cut) = match self.express.is_empty() {
            true => (&mut self.others, true),
            false => (&mut self.express, false),
        };
        let Some(frame) = class.pop_front() else { return Ok(()) };
        let (first, end) = (now + LEAD, now + LEAD + duration(&frame));
        (self.sending, self.free) = (Some((end, may_be_cut)), end + GAP);
        out.send(frame, 0, if may_be_cut { 0 } else { 7 }, first);
        Ok(())
    }
}

impl Node for Preempter {
    fn ports(&self) -> u16 {
        3
    }

    fn receive(&mut self, at: u64, _port: u16, coming: Coming<'_>) -> Result<u64, RunError> {
        let frame = coming.take();
        self.coming.push((at + duration(&frame), frame));
        Ok(at)
    }

    fn next(&self) -> Option<u64> {
        let whole = self.coming.iter().map(|(whole, _)| *whole).min();
        let waits = !self.express.is_empty() || !self.others.is_empty();
        whole.into_iter().chain(waits.then_some(self.free)).min()
    }

    fn advance(&mut self, now: u64, _due: Due, out: &mut Outbox<'_>) -> Result<(), RunError> {
        self.act(now, out)
    }

    fn cuts(&self) -> bool {
        true
    }

    fn inside(&self, show: &mut dyn FnMut(&Frame, u32)) {
        let waiting = self.express.iter().chain(&self.others);
        self.coming.iter().map(|(_, frame)| frame).chain(waiting).for_each(|frame| show(frame, 1));
    }
}

/// Sends on by the other port what comes whole, and remembers what does not.
struct Repeater {
    coming: VecDeque<(u64, Frame)>,
    fragments: Arc<Mutex<Vec<(u64, usize)>>>,
}

impl Node for Repeater {
    fn ports(&self) -> u16 {
        2
    }

    fn receive(&mut self, at: u64, port: u16, mut coming: Coming<'_>) -> Result<u64, RunError> {
        assert_eq!(port, 0);
        let length = coming.bytes()?.len();
        let frame = coming.take();
        assert_eq!(length, usize::from(frame.length()));
        self.coming.push_back((at + duration(&frame), frame));
        Ok(at)
    }

    fn broken_off(&mut self, at: u64, port: u16, bytes: &[u8]) -> Result<(), RunError> {
        assert_eq!(port, 0);
        self.fragments.lock().unwrap().push((at, bytes.len()));
        Ok(())
    }

    fn next(&self) -> Option<u64> {
        self.coming.front().map(|(whole, _)| *whole)
    }

    fn advance(&mut self, now: u64, _due: Due, out: &mut Outbox<'_>) -> Result<(), RunError> {
        while self.next().is_some_and(|whole| whole <= now) {
            let Some((whole, frame)) = self.coming.pop_front() else { break };
            out.send(frame, 1, 0, whole + LEAD);
        }
        Ok(())
    }

    fn inside(&self, show: &mut dyn FnMut(&Frame, u32)) {
        self.coming.iter().for_each(|(_, frame)| show(frame, 1));
    }
}

/// Station 0 has express streams and station 1 others, both at node 0; node 1 leads to station 2.
fn network(kinds: [&str; 2], streams: &[(u32, u64, u64)]) -> Network {
    let stream = |(n, &(bytes, every, start)): (usize, &(u32, u64, u64))| {
        format!(
            r#"{{"name":"f{n}","from":{},"to":[2],"frame":{{"destination_mac":"02:00:00:00:00:03",
            "source_mac":"02:00:00:00:00:01","vlan":1,"pcp":0,"payload":{{"kind":"raw"}}}},
            "source":{{"kind":"periodic","period_ps":{every},"start_ps":{start},"frame_bytes":{bytes}}}}}"#,
            n % 2
        )
    };
    let streams: Vec<_> = streams.iter().enumerate().map(stream).collect();
    let link = |a: &str, b: &str| format!(r#"{{"a":{a},"b":{b},"rate_bps":{BPS},"delay_ps":{DELAY_PS}}}"#);
    let links = [link("[0,0]", "[1,0]"), link("[2,0]", "[0,1]"), link("[3,0]", "[0,2]"), link("[1,1]", "[4,0]")];
    let bridge = |n: usize, ports: u16| {
        let (kind, timing) = (kinds[n], r#"{"kind":"ideal","processing_delay_ps":400000,"cut_through_bytes":64}"#);
        format!(r#"{{"name":"n{n}","kind":"{kind}","ports":{ports},"timing":{timing},"config":{{}}}}"#)
    };
    let text = format!(
        r#"{{"duration_ps":200000000,"drain_ps":9000000000,"bridges":[{},{}],
        "stations":[{{"name":"a"}},{{"name":"b"}},{{"name":"c"}}],"links":[{}],"streams":[{}]}}"#,
        bridge(0, 3),
        bridge(1, 2),
        links.join(","),
        streams.join(",")
    );
    serde_json::from_str(&text).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_cut_comes_as_bytes_and_is_its_nodes_again(
        drops in any::<bool>(),
        streams in prop::collection::vec((64_u32..1500, 3_000_000_u64..30_000_000, 0_u64..9_000_000), 2..6),
    ) {
        let fragments = Arc::new(Mutex::new(Vec::new()));
        let repeater = Repeater { coming: VecDeque::new(), fragments: Arc::clone(&fragments) };
        let nodes: Vec<Box<dyn Node>> = vec![Box::new(Preempter::new(drops)), Box::new(repeater)];
        let mut rows = Rows::default();
        // The run itself fails unless each frame is delivered, dropped with a reason or inside.
        let outcome = run(network(["own"; 2], &streams), Guests { nodes, ..Guests::default() }, &mut rows).unwrap();
        let of = |event: Event, node: u32, frame: u64| {
            rows.0.iter().filter(move |row| (row.event, row.node, row.frame) == (event, node, frame)).copied()
        };
        let mut wanted = Vec::new();
        for cut in rows.0.iter().filter(|row| row.event == Event::Cut) {
            prop_assert_eq!((cut.node, cut.port, cut.stream % 2), (0, 0, 1), "no express frame is cut");
            let begun = of(Event::Sent, 0, cut.frame).rfind(|sent| sent.time_ps - LEAD <= cut.time_ps).unwrap();
            prop_assert!(cut.time_ps < begun.time_ps + u64::from(begun.bytes) * PS_PER_BYTE);
            let came = cut.time_ps.saturating_sub(begun.time_ps) / PS_PER_BYTE;
            wanted.push((cut.time_ps + DELAY_PS, came as usize));
        }
        prop_assert_eq!(&*fragments.lock().unwrap(), &wanted);
        let created = rows.0.iter().filter(|row| row.event == Event::Created);
        for frame in created.map(|row| row.frame) {
            let (sent, cut) = (of(Event::Sent, 0, frame).count(), of(Event::Cut, 0, frame).count());
            let dropped = of(Event::Dropped, 0, frame).count();
            prop_assert_eq!(sent, cut + 1 - dropped);
            prop_assert_eq!(of(Event::Received, 1, frame).count(), 1 - dropped);
            prop_assert_eq!(of(Event::Delivered, 4, frame).count(), 1 - dropped);
        }
        // Nothing overlaps on the wire.
        let mut on_wire: Vec<(u64, u64)> = rows.0.iter().filter(|row| (row.event, row.node) == (Event::Sent, 0)).map(|sent| {
            let end = sent.time_ps + u64::from(sent.bytes) * PS_PER_BYTE;
            let cut = of(Event::Cut, 0, sent.frame).map(|cut| cut.time_ps).find(|cut| *cut + LEAD >= sent.time_ps);
            (sent.time_ps - LEAD, cut.map_or(end, |cut| cut.min(end)))
        }).collect();
        on_wire.sort_unstable();
        prop_assert!(on_wire.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{on_wire:?}");
        let delivered: u64 = outcome.statistics.iter().map(|of| of.delivered).sum();
        let dropped: u64 = outcome.statistics.iter().map(|of| of.dropped.iter().sum::<u64>()).sum();
        prop_assert_eq!(delivered + dropped, outcome.statistics.iter().map(|of| of.frames).sum::<u64>());
    }
}

#[test]
fn express_frames_interrupt_others() {
    let fragments = Arc::new(Mutex::new(Vec::new()));
    let repeater = Repeater { coming: VecDeque::new(), fragments: Arc::clone(&fragments) };
    let nodes: Vec<Box<dyn Node>> = vec![Box::new(Preempter::new(false)), Box::new(repeater)];
    let mut rows = Rows::default();
    // Both begin at 0: the long frame is whole at 12.364 us, the express one at 8.764 us and 5 us later.
    let streams = [(100, 150_000_000, 7_600_000), (1500, 150_000_000, 0)];
    run(network(["own"; 2], &streams), Guests { nodes, ..Guests::default() }, &mut rows).unwrap();
    // 64 ns preamble, 800 ns and 300 ns on the wire; the other one 64 ns, 12 us and 300 ns.
    let express = 7_600_000 + 64_000 + 800_000 + DELAY_PS;
    let long = 64_000 + 12_000_000 + DELAY_PS;
    assert!(express < long);
    assert!(fragments.lock().unwrap().is_empty(), "the express frame was first");
    // Half a microsecond later than the long one has begun.
    let streams = [(100, 150_000_000, 7_600_000 + (long - express) + 500_000), (1500, 150_000_000, 0)];
    let repeater = Repeater { coming: VecDeque::new(), fragments: Arc::clone(&fragments) };
    let nodes: Vec<Box<dyn Node>> = vec![Box::new(Preempter::new(false)), Box::new(repeater)];
    let mut rows = Rows::default();
    run(network(["own"; 2], &streams), Guests { nodes, ..Guests::default() }, &mut rows).unwrap();
    // 500 ns after its begin 54 of its bytes have left.
    let cut = long + 500_000;
    let first = |row: &&Row| row.frame < 2 && row.node == 0;
    let told: Vec<_> = rows.0.iter().filter(first).map(|row| (row.stream, row.event, row.time_ps)).collect();
    let received = |time| time - if time == long { 12_000_000 } else { 800_000 };
    assert_eq!(
        told,
        [
            (1, Event::Received, received(long)),
            (0, Event::Received, received(cut)),
            (1, Event::Sent, long + LEAD),
            (1, Event::Cut, cut),
            (0, Event::Sent, cut + GAP + LEAD),
            (1, Event::Sent, cut + GAP + LEAD + 800_000 + GAP + LEAD),
        ]
    );
    assert_eq!(fragments.lock().unwrap()[0], (cut + DELAY_PS, 54));
}

#[test]
fn what_reads_frames_before_they_are_whole_is_not_behind_what_cuts_them() {
    let nodes: Vec<Box<dyn Node>> = vec![Box::new(Preempter::new(false))];
    let network = network(["own", "model"], &[(100, 10_000_000, 0)]);
    let Err(refused) = run(network, Guests { nodes, ..Guests::default() }, &mut Rows::default()) else {
        panic!("not refused");
    };
    assert!(refused.to_string().contains("node 0 cuts what it sends by port 0"), "{refused}");
}

/// Sends what comes by port 1 out of port 0, and cuts it when so many of its bytes have left, if it can.
struct Cutter {
    after_bytes: u64,
    coming: Option<(u64, Frame)>,
    cuts: Option<u64>,
    was_cut: Arc<Mutex<Vec<bool>>>,
}

impl Node for Cutter {
    fn ports(&self) -> u16 {
        3
    }

    fn receive(&mut self, at: u64, _port: u16, coming: Coming<'_>) -> Result<u64, RunError> {
        let frame = coming.take();
        self.coming = Some((at + duration(&frame), frame));
        Ok(at)
    }

    fn next(&self) -> Option<u64> {
        self.coming.as_ref().map(|(whole, _)| *whole).or(self.cuts)
    }

    fn advance(&mut self, now: u64, _due: Due, out: &mut Outbox<'_>) -> Result<(), RunError> {
        if let Some((_, frame)) = self.coming.take() {
            out.send(frame, 0, 0, now + LEAD);
            self.cuts = Some(now + LEAD + self.after_bytes * PS_PER_BYTE);
        } else if self.cuts.take().is_some() {
            let cut = out.cut(0, now)?;
            self.was_cut.lock().unwrap().push(cut.is_some());
            cut.into_iter().for_each(|frame| out.drop(frame, 0, 0, now, Reason::DISPLACED));
        }
        Ok(())
    }

    fn cuts(&self) -> bool {
        true
    }

    fn inside(&self, show: &mut dyn FnMut(&Frame, u32)) {
        self.coming.iter().for_each(|(_, frame)| show(frame, 1));
    }
}

/// It reads a byte more than its longest frame has, and what follows is no business of its any more.
#[test]
fn a_bridge_has_a_frame_when_it_has_read_the_last_byte_that_it_reads() {
    let timings = [json!({"kind": "hardware"}), json!({"kind": "ideal", "processing_delay_ps": 400_000})];
    for (longest, after_bytes, is_cut) in [(1522, 10, true), (1522, 999, true), (500, 500, true), (500, 502, false)] {
        for timing in &timings {
            let was_cut = Arc::new(Mutex::new(Vec::new()));
            let cutter = Cutter { after_bytes, coming: None, cuts: None, was_cut: Arc::clone(&was_cut) };
            let mut network = network(["own", "model"], &[(1000, 900_000_000, 0)]);
            network.bridges[1].timing = serde_json::from_value(timing.clone()).unwrap();
            network.bridges[1].config.max_frame_bytes = longest;
            network.links.iter_mut().for_each(|link| link.delay_ps = 0);
            let mut rows = Rows::default();
            run(network, Guests { nodes: vec![Box::new(cutter)], ..Guests::default() }, &mut rows).unwrap();
            assert_eq!(*was_cut.lock().unwrap(), [is_cut], "{after_bytes} bytes of {longest}, {timing}");
            assert_eq!(rows.0.iter().any(|row| (row.node, row.event) == (1, Event::Received)), !is_cut);
        }
    }
}

/// Holds all that comes until nothing has come for so long.
struct Patient {
    held: Vec<Frame>,
    wake: Option<u64>,
    advanced: Arc<Mutex<Vec<u64>>>,
}

const PATIENCE_PS: u64 = 15_000_000;

impl Node for Patient {
    fn ports(&self) -> u16 {
        3
    }

    fn receive(&mut self, at: u64, _port: u16, coming: Coming<'_>) -> Result<u64, RunError> {
        self.held.push(coming.take());
        self.wake = Some(at + PATIENCE_PS);
        Ok(at)
    }

    fn next(&self) -> Option<u64> {
        self.wake
    }

    fn advance(&mut self, now: u64, _due: Due, out: &mut Outbox<'_>) -> Result<(), RunError> {
        self.advanced.lock().unwrap().push(now);
        self.wake = None;
        for (n, frame) in self.held.drain(..).enumerate() {
            out.send(frame, 0, 0, now + (n as u64 + 1) * 2_000_000);
        }
        Ok(())
    }

    fn inside(&self, show: &mut dyn FnMut(&Frame, u32)) {
        self.held.iter().for_each(|frame| show(frame, 1));
    }
}

#[test]
fn what_is_put_off_does_not_come_at_its_old_time() {
    let advanced = Arc::new(Mutex::new(Vec::new()));
    let repeater = Repeater { coming: VecDeque::new(), fragments: Arc::default() };
    let patient = Patient { held: Vec::new(), wake: None, advanced: Arc::clone(&advanced) };
    let nodes: Vec<Box<dyn Node>> = vec![Box::new(patient), Box::new(repeater)];
    // Every 10 us up to 190 us.
    let network = network(["own"; 2], &[(100, 10_000_000, 0)]);
    let outcome = run(network, Guests { nodes, ..Guests::default() }, &mut Rows::default()).unwrap();
    assert_eq!(outcome.statistics[0].delivered, 20);
    assert_eq!(*advanced.lock().unwrap(), [190_000_000 + LEAD + DELAY_PS + PATIENCE_PS]);
}
