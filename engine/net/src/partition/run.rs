// SPDX-License-Identifier: Apache-2.0
//! A run on several cores, from the caller's side: the caller's own thread takes what the kernels leave, and tells the
//! observer.
use std::num::NonZeroUsize;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::cut::Division;
use super::exchange::Exchange;
use super::lookahead::{margin, neighbours, Neighbour};
use super::merge::Merge;
use super::notes::Batch;
use super::promise::Promise;
use super::team::Team;
use super::worker::{Common, Worker};
use crate::describe::Network;
use crate::error::RunError;
use crate::kernel::{Closed, Ended, Kernel, Observer};
use crate::ledger::StreamLedger;
use crate::limits;
use crate::links::Links;
use crate::places::Places;
use crate::prepare::{prepare, Part};
use crate::run::{Guests, Names, Outcome};
use crate::simulation::Simulation;
use penstock_shaper::Time;

/// Between two looks at what happened.
const LOOK: Duration = Duration::from_millis(20);
const PROGRESS: Duration = Duration::from_millis(50);

/// In as many partitions as there are cores.
pub fn run(cores: usize, network: Network, observer: &mut dyn Observer) -> Result<Outcome, RunError> {
    limits::check(&network)?;
    let links = Links::new(&network)?;
    let division = Division::new(&network, cores)?;
    let neighbours = neighbours(&network, &links, &division)?;
    run_divided(network, &division, links.first_ports(), neighbours, observer)
}

fn run_divided(
    network: Network,
    division: &Division,
    first_port: Vec<u32>,
    neighbours: Vec<Vec<Neighbour>>,
    observer: &mut dyn Observer,
) -> Result<Outcome, RunError> {
    let (exchange, seen) = Exchange::new(neighbours);
    let exchange = Arc::new(exchange);
    let kernels = kernels(&network, division, &exchange)?;
    let common = Common {
        exchange,
        noted: kernels.iter().map(|_| Promise::default()).collect(),
        first_port,
        margins: network.bridges.iter().map(margin).collect(),
        end: network.duration_ps.saturating_add(network.drain_ps),
    };
    let has_trace = kernels.iter().any(Kernel::has_trace);
    let mut taker = Taker {
        observer,
        merge: Merge::new(kernels.len(), network.streams.len(), has_trace),
        duration: network.duration_ps,
        exact_up_to: network.statistics.exact_up_to,
        told: Instant::now(),
        interrupted: false,
        refused: false,
    };
    let names = Names::new(&network);
    drop(network);
    // More threads than cores would only wait for each other.
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(kernels.len());
    let (batches, taken) = sync_channel(4 * kernels.len());
    let work = |(me, (kernel, seen))| Worker::new(me, kernel, seen, &common, batches.clone());
    let workers = kernels.into_iter().zip(seen).enumerate().map(work).collect();
    let team = Team::new(&common.exchange, workers, threads);
    thread::scope(|scope| {
        let start = |me| {
            let (team, leaves) = (&team, Leaves(batches.clone()));
            scope.spawn(move || {
                let _leaves = leaves;
                team.work(me);
            })
        };
        let members: Vec<_> = (0..threads).map(start).collect();
        taker.take(&common, &taken, threads);
        members.into_iter().for_each(join);
    });
    taker.finish(team.into_workers()?, &common, names)
}

/// Tells that a thread has come to its end, whatever that was.
struct Leaves(SyncSender<Option<Batch>>);

impl Drop for Leaves {
    fn drop(&mut self) {
        _ = self.0.send(None);
    }
}

/// A panic of another thread goes on in this one.
fn join<T>(thread: thread::ScopedJoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// One for each partition, each made by its core.
fn kernels(network: &Network, division: &Division, exchange: &Arc<Exchange>) -> Result<Vec<Kernel>, RunError> {
    let end = network.duration_ps.saturating_add(network.drain_ps);
    let make = |number: usize| -> Result<Kernel, RunError> {
        let part = Part { number, division, exchange: exchange.clone() };
        let mut kernel = prepare(network, Guests::default(), end, Some(&part))?;
        kernel.begin_part();
        Ok(kernel)
    };
    let made = thread::scope(|scope| {
        let workers: Vec<_> =
            (0..division.partitions as usize).map(|number| scope.spawn(move || make(number))).collect();
        workers.into_iter().map(join).collect::<Result<Vec<Kernel>, RunError>>()
    });
    // Of several things that are wrong, the one that one core finds first is told.
    made.or_else(|error| prepare(network, Guests::default(), end, None).and(Err(error)))
}

/// Takes what the partitions leave.
struct Taker<'a> {
    observer: &'a mut dyn Observer,
    merge: Merge,
    duration: Time,
    exact_up_to: usize,
    told: Instant,
    interrupted: bool,
    refused: bool,
}

impl Taker<'_> {
    /// Until all threads have come to their end.
    fn take(&mut self, common: &Common, batches: &Receiver<Option<Batch>>, mut threads: usize) {
        while threads > 0 {
            let noted = common.noted.iter().map(|noted| noted.get()).min().unwrap_or(Time::MAX);
            let mut take = |batch| match batch {
                Some(batch) => self.merge.add(batch),
                None => threads -= 1,
            };
            batches.try_iter().for_each(&mut take);
            batches.recv_timeout(LOOK).into_iter().for_each(&mut take);
            self.merge_before(noted, common);
            self.tell(noted, common);
        }
    }

    fn merge_before(&mut self, time: Time, common: &Common) {
        while self.merge.merge_before(time) {
            self.hand_out(common);
        }
    }

    fn hand_out(&mut self, common: &Common) {
        if !self.refused && !self.observer.rows(&mut self.merge.rows) {
            self.refused = true;
            common.exchange.stop();
        }
        self.merge.next_chunk();
    }

    fn tell(&mut self, now: Time, common: &Common) {
        if self.interrupted || self.told.elapsed() < PROGRESS {
            return;
        }
        self.told = Instant::now();
        if !self.observer.progress((now as f64 / self.duration.max(1) as f64).min(1.0)) {
            self.interrupted = true;
            common.exchange.stop();
        }
    }

    /// Puts together what is left.
    fn finish(mut self, mut workers: Vec<Worker>, common: &Common, names: Names) -> Result<Outcome, RunError> {
        workers.iter_mut().filter_map(|worker| worker.kernel.batch()).for_each(|batch| self.merge.add(batch));
        self.merge_before(Time::MAX, common);
        if !self.merge.rows.is_empty() {
            self.hand_out(common);
        }
        if self.refused {
            return Err(RunError::Refused);
        }
        for worker in &mut workers {
            worker.take_rest();
            worker.kernel.flush()?;
        }
        let mut kernels: Vec<Kernel> = workers.into_iter().map(|worker| worker.kernel).collect();
        let ended = if self.interrupted { Ended::Interrupted } else { Ended::Done };
        if ended == Ended::Done {
            self.observer.progress(1.0); // nothing is left to interrupt
        }
        let is_over = kernels.iter_mut().all(|kernel| kernel.next_time().is_none());
        let is_idle = is_over && ended == Ended::Done;
        let closed: Vec<Closed> = kernels.into_iter().map(|kernel| kernel.close(is_idle)).collect();
        for (frame, open) in closed.iter().filter_map(|closed| closed.notes.as_ref()).flat_map(|notes| &notes.inside) {
            self.merge.inside(*frame, *open);
        }
        let Merge { fates, mut violations, .. } = self.merge;
        let (mut simulation, mut places) = (Simulation::default(), Places::default());
        let mut streams: Vec<StreamLedger> = Vec::new();
        for closed in closed {
            simulation.absorb(&closed.simulation);
            places.absorb(&closed.places);
            violations.absorb(closed.violations);
            if streams.is_empty() {
                streams = closed.streams;
                continue;
            }
            for (stream, other) in streams.iter_mut().zip(&closed.streams) {
                stream.statistics.absorb(&other.statistics, self.exact_up_to);
                stream.fates.absorb(&other.fates);
            }
        }
        for (stream, fates) in streams.iter_mut().zip(&fates) {
            stream.fates.absorb(fates);
        }
        if ended == Ended::Done && !is_over {
            simulation.end_ps = common.end;
        }
        names.outcome(Closed { streams, violations, simulation, places, notes: None }, ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Row;

    struct Nobody;

    impl Observer for Nobody {
        fn rows(&mut self, _rows: &mut Vec<Row>) -> bool {
            true
        }
        fn progress(&mut self, _done: f64) -> bool {
            true
        }
    }

    /// Two bridges with a station each, which sends the shortest frames to the other. `learning`: the bridges do not know yet
    /// where stations are.
    fn pair(learning: bool) -> Network {
        let bridge = |name, here: u64, there: u64| {
            format!(
                r#"{{"name":"{name}","kind":"model","ports":2,"config":{{"learning_enable":{learning},
                "static_addresses":[[{here},1,2],[{there},1,1]]}},
                "timing":{{"kind":"ideal","processing_delay_ps":300}}}}"#
            )
        };
        let stream = |name, from, to| {
            format!(
                r#"{{"name":"{name}","from":{from},"to":[{to}],"source":{{"kind":"periodic","frame_bytes":64,
                "period_ps":9000000}},"frame":{{"destination_mac":"02:00:00:00:00:0{to}",
                "source_mac":"02:00:00:00:00:0{from}","vlan":1,"payload":{{"kind":"raw"}}}}}}"#
            )
        };
        let link = |a, b| format!(r#"{{"a":{a},"b":{b},"rate_bps":1000000000,"delay_ps":50000}}"#);
        let text = format!(
            r#"{{"duration_ps":1000000000,"bridges":[{},{}],"stations":[{{"name":"a"}},{{"name":"b"}}],
            "links":[{},{},{}],"streams":[{},{}]}}"#,
            bridge("s", 0x0200_0000_0000, 0x0200_0000_0001),
            bridge("t", 0x0200_0000_0001, 0x0200_0000_0000),
            link("[0,0]", "[1,0]"),
            link("[0,1]", "[2,0]"),
            link("[1,1]", "[3,0]"),
            stream("x", 0, 1),
            stream("y", 1, 0),
        );
        serde_json::from_str(&text).unwrap()
    }

    /// The bounds are as long as can be, and what comes before them is noticed.
    #[test]
    fn a_lookahead_that_is_too_long_by_one_is_seen() {
        for (too_long, learning) in [(0, false), (0, true), (1, false), (1, true)] {
            let network = pair(learning);
            let links = Links::new(&network).unwrap();
            let division = Division::new(&network, 2).unwrap();
            let mut neighbours = neighbours(&network, &links, &division).unwrap();
            for neighbour in neighbours.iter_mut().flatten() {
                *neighbour = neighbour.clone().lengthened(too_long);
            }
            let ended = run_divided(network, &division, links.first_ports(), neighbours, &mut Nobody);
            assert_eq!(matches!(ended, Err(RunError::Late { .. })), too_long > 0, "{:?}", ended.err());
        }
    }
}
