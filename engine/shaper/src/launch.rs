// SPDX-License-Identifier: Apache-2.0
//! Launch times: the frames of a queue wait in the order of theirs, and each goes when the clock has come to it. Twin of
//! `pen_launch`, whose cycles stand there.
use crate::egress::{Tick, NEVER};
use crate::ptp_clock::PtpClock;
use crate::Time;

/// Queues of a port at most.
pub const MOST_QUEUES: usize = 16;
/// A frame that goes by so much after its launch time is on time.
const NEAR_NS: Time = 8;
/// The clock is read so long before the tick in which a frame is taken or refused.
const JUDGED_BEFORE: Tick = 2;
/// A frame is late whose time is less than this ahead of what is read then: taken, it would leave three ticks after that
/// reading at the soonest, more than `NEAR_NS` after its time.
const LATE_NS: Time = 16;
/// From the tick in which a frame is taken to that in which it goes, and from one frame of a queue to the next, at the least.
const TAKEN_TO_RELEASED: Tick = 2;
const NEXT_RELEASED: Tick = 4;

/// What became of a frame that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Taken,
    /// Its time has passed, and the queue drops those.
    Dropped,
    /// Its time is beyond the horizon.
    Beyond,
}

/// A frame that goes now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released<T> {
    pub queue: usize,
    pub frame: T,
    /// None: launch times of its queue are off. Whether it leaves at its time, if nothing holds it up from here on.
    pub is_on_time: Option<bool>,
}

#[derive(Clone, Debug)]
struct Queue<T> {
    is_enabled: bool,
    drops: bool,
    /// By time, of equal times by their coming.
    held: Vec<(Time, T)>,
    /// Nothing goes before this tick.
    ready: Tick,
}

/// All queues of a port, of which one frame goes in a tick, of the highest queue first.
#[derive(Clone, Debug)]
pub struct Launch<T> {
    /// What it reads is ahead of the clock, and reaches a launch time by `lead_ns` before it.
    ahead_ns: Time,
    lead_ns: Time,
    horizon_ns: u32,
    queues: [Queue<T>; MOST_QUEUES],
}

impl<T> Launch<T> {
    pub fn new(ahead_ns: Time, lead_ns: Time) -> Self {
        let queues = std::array::from_fn(|_| Queue { is_enabled: false, drops: false, held: Vec::new(), ready: 0 });
        Self { ahead_ns, lead_ns, horizon_ns: u32::MAX, queues }
    }

    /// Queues with launch times, bit k for queue k. One that has none any more gives what it has at once.
    pub fn set_enabled(&mut self, mask: u16) {
        self.queues.iter_mut().enumerate().for_each(|(k, queue)| queue.is_enabled = mask >> k & 1 == 1);
    }

    pub fn is_enabled(&self, queue: usize) -> bool {
        self.queues[queue].is_enabled
    }

    /// Queues that drop late frames, bit k for queue k.
    pub fn set_drops(&mut self, mask: u16) {
        self.queues.iter_mut().enumerate().for_each(|(k, queue)| queue.drops = mask >> k & 1 == 1);
    }

    pub fn set_horizon_ns(&mut self, horizon_ns: u32) {
        self.horizon_ns = horizon_ns;
    }

    /// Frames of a queue that wait.
    pub fn held(&self, queue: usize) -> usize {
        self.queues[queue].held.len()
    }

    fn read(&self, clock: &PtpClock, tick: Tick) -> Time {
        clock.ns_at(tick).saturating_add(self.ahead_ns)
    }

    /// A frame of a launch time comes in a tick.
    pub fn offer(&mut self, clock: &PtpClock, at: Tick, queue: usize, launch_ns: Time, frame: T) -> Verdict {
        let time = launch_ns.saturating_sub(self.lead_ns);
        let now = self.read(clock, at.saturating_sub(JUDGED_BEFORE));
        let queue = &mut self.queues[queue];
        if time.saturating_sub(now) > self.horizon_ns.into() {
            return Verdict::Beyond;
        }
        if queue.drops && now + LATE_NS > time {
            return Verdict::Dropped;
        }
        let place = queue.held.partition_point(|&(held, _)| held <= time);
        queue.held.insert(place, (time, frame));
        if place == 0 {
            queue.ready = at + TAKEN_TO_RELEASED;
        }
        Verdict::Taken
    }

    fn due(&self, clock: &PtpClock, queue: &Queue<T>) -> Tick {
        let Some(&(time, _)) = queue.held.first() else { return NEVER };
        if !queue.is_enabled {
            return queue.ready;
        }
        clock.cycle_of_ns(time.saturating_sub(self.ahead_ns)).saturating_add(1).max(queue.ready)
    }

    /// The first tick from `from` on in which a frame goes; [`NEVER`]: none.
    pub fn next(&self, clock: &PtpClock, from: Tick) -> Tick {
        let first = self.queues.iter().map(|queue| self.due(clock, queue)).min().unwrap_or(NEVER);
        first.max(from)
    }

    /// The frame that goes in a tick. Each tick in which one does has to be asked for.
    pub fn release(&mut self, clock: &PtpClock, at: Tick) -> Option<Released<T>> {
        let queue = (0..MOST_QUEUES).rev().find(|&k| self.due(clock, &self.queues[k]) <= at)?;
        let read = self.read(clock, at.saturating_sub(1));
        let Queue { is_enabled, held, ready, .. } = &mut self.queues[queue];
        let (time, frame) = held.remove(0);
        *ready = at + NEXT_RELEASED;
        let is_near = read.checked_sub(time).is_some_and(|passed| passed <= NEAR_NS);
        Some(Released { queue, frame, is_on_time: is_enabled.then_some(is_near) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptp_clock::Command;
    use proptest::prelude::*;

    /// As the hardware has them: from a release to the first bit behind the delimiter there are 14 ticks.
    const AHEAD_NS: u64 = 56;
    const LEAD_NS: u64 = 64;
    const TO_WIRE: Tick = 14;

    #[derive(Clone, Copy, Debug)]
    struct Offer {
        at: Tick,
        queue: usize,
        launch_ns: u64,
    }

    fn launch_time() -> impl Strategy<Value = u64> {
        prop_oneof![
            8 => 0..60_000_u64,
            1 => Just(30_000),
            1 => 1_000_000..1_100_000_u64,
            1 => any::<u64>(),
            1 => u64::MAX - 10..=u64::MAX,
        ]
    }

    fn offers() -> impl Strategy<Value = Vec<Offer>> {
        // Any time, or one near the soonest at which the frame can leave.
        let near = prop::option::of(0..300_u64);
        prop::collection::vec((20..400_u64, 0..3_usize, launch_time(), near), 1..40).prop_map(|drawn| {
            let mut at = 100;
            let offer = |(after, queue, launch_ns, near): (_, _, _, Option<_>)| {
                at += after;
                Offer { at, queue, launch_ns: near.map_or(launch_ns, |near| 8 * at + near) }
            };
            drawn.into_iter().map(offer).collect()
        })
    }

    /// All that goes up to a tick, with the tick.
    fn run(launch: &mut Launch<Offer>, clock: &PtpClock, to: Tick, gone: &mut Vec<(Tick, Released<Offer>)>) {
        let mut now = gone.last().map_or(0, |last| last.0 + 1);
        loop {
            now = launch.next(clock, now);
            if now > to {
                return;
            }
            gone.push((now, launch.release(clock, now).unwrap()));
            now += 1;
        }
    }

    proptest! {
        #[test]
        fn none_is_early_each_queue_is_in_order_and_what_is_late_is_said(
            offers in offers(),
            drops in any::<u16>(),
            horizon_ns in prop_oneof![Just(u32::MAX), 1_000..100_000_u32],
            step in prop::option::of((200..8_000_u64, -3_000..30_000_i64)),
        ) {
            let mut clock = PtpClock::new(0, 0);
            let mut launch = Launch::new(AHEAD_NS, LEAD_NS);
            launch.set_enabled(0xFF);
            launch.set_drops(drops);
            launch.set_horizon_ns(horizon_ns);
            let (mut gone, mut taken) = (Vec::new(), [0; 3]);
            let mut step = step;
            let mut before = clock;
            let mut stepped_at = 0;
            for offer in offers {
                if let Some((at, ns)) = step.filter(|step| step.0 < offer.at) {
                    run(&mut launch, &clock, at, &mut gone);
                    before = clock;
                    stepped_at = at;
                    let command = Command::Step { s: ns.div_euclid(1_000_000_000), ns: ns.rem_euclid(1_000_000_000) as u32 };
                    prop_assert!(clock.command(at, command).is_ok() || ns < 0);
                    step = None;
                }
                run(&mut launch, &clock, offer.at, &mut gone);
                // The soonest that it can be on the wire.
                let soonest = clock.ns_at(offer.at + 2 + TO_WIRE);
                let is_past = offer.launch_ns.saturating_add(NEAR_NS) < soonest;
                let is_far = offer.launch_ns > clock.ns_at(offer.at) + u64::from(horizon_ns) + 200;
                match launch.offer(&clock, offer.at, offer.queue, offer.launch_ns, offer) {
                    Verdict::Taken => {
                        prop_assert!(!is_far);
                        prop_assert!(!is_past || drops >> offer.queue & 1 == 0);
                        taken[offer.queue] += 1;
                    }
                    Verdict::Dropped => prop_assert!(drops >> offer.queue & 1 == 1 && offer.launch_ns < soonest),
                    Verdict::Beyond => prop_assert!(offer.launch_ns > clock.ns_at(offer.at) + u64::from(horizon_ns)),
                }
            }
            for (k, taken) in taken.into_iter().enumerate() {
                prop_assert!(launch.is_enabled(k));
                prop_assert_eq!(launch.held(k) + gone.iter().filter(|(_, released)| released.queue == k).count(), taken);
            }
            run(&mut launch, &clock, 1_000_000, &mut gone);
            for (k, taken) in taken.into_iter().enumerate() {
                let of_queue: Vec<_> = gone.iter().filter(|(_, released)| released.queue == k).collect();
                prop_assert_eq!(of_queue.len() + launch.held(k), taken);
                for (at, released) in &of_queue {
                    let clock = if *at <= stepped_at { &before } else { &clock };
                    let (leaves, launch_ns) = (clock.ns_at(at + TO_WIRE), released.frame.launch_ns);
                    prop_assert!(leaves >= launch_ns, "{leaves} {released:?}");
                    prop_assert_eq!(released.is_on_time, Some(leaves - launch_ns <= NEAR_NS), "{} {:?}", leaves, released);
                }
                for pair in of_queue.windows(2) {
                    let (one, other) = (pair[0].1.frame, pair[1].1.frame);
                    let (first, second) = (one.launch_ns.max(LEAD_NS), other.launch_ns.max(LEAD_NS));
                    // A smaller time goes later only if it came when the other one had gone.
                    prop_assert!(first < second || (first == second && one.at < other.at) || other.at + 2 > pair[0].0);
                }
            }
            prop_assert!(gone.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
    }

    /// A frame is judged by the clock of two ticks before and what it is ahead: 8 * 998 + 56 ns in tick 1,000, and a launch
    /// time is reached 64 ns before.
    #[test]
    fn a_frame_is_late_or_beyond_to_the_nanosecond() {
        let clock = PtpClock::new(0, 0);
        let now = 8 * 998 + AHEAD_NS + LEAD_NS;
        let verdict = |launch_ns| {
            let mut launch = Launch::new(AHEAD_NS, LEAD_NS);
            launch.set_enabled(1);
            launch.set_drops(1);
            launch.set_horizon_ns(500);
            assert!(launch.is_enabled(0) && !launch.is_enabled(1));
            launch.offer(&clock, 1_000, 0, launch_ns, ())
        };
        assert_eq!([now + 15, now + 16].map(verdict), [Verdict::Dropped, Verdict::Taken]);
        assert_eq!([now + 500, now + 501].map(verdict), [Verdict::Taken, Verdict::Beyond]);
    }

    /// The first of a queue goes two ticks after it was taken, and each four after the one before.
    #[test]
    fn what_is_due_goes_in_its_tick() {
        let clock = PtpClock::new(0, 0);
        let mut launch = Launch::new(AHEAD_NS, LEAD_NS);
        launch.set_enabled(1);
        for (at, launch_ns) in [(1_000, 100), (1_001, 200), (1_002, 150)] {
            launch.offer(&clock, at, 0, launch_ns, launch_ns);
            assert_eq!(launch.next(&clock, 0), 1_002);
        }
        let mut gone = Vec::new();
        run_all(&mut launch, &clock, &mut gone);
        assert_eq!(gone, [(1_002, 100), (1_006, 150), (1_010, 200)]);
    }

    fn run_all(launch: &mut Launch<u64>, clock: &PtpClock, gone: &mut Vec<(Tick, u64)>) {
        while launch.next(clock, 0) < NEVER {
            let at = launch.next(clock, 0);
            gone.extend(launch.release(clock, at).map(|released| (at, released.frame)));
        }
    }

    #[test]
    fn launch_times_that_are_off_hold_nothing() {
        let clock = PtpClock::new(0, 0);
        let mut launch = Launch::new(AHEAD_NS, LEAD_NS);
        launch.set_enabled(1);
        for launch_ns in [900_000, 500_000] {
            assert_eq!(launch.offer(&clock, 100, 0, launch_ns, launch_ns), Verdict::Taken);
        }
        assert_eq!(launch.next(&clock, 100), 500_000 / 8 - TO_WIRE);
        launch.set_enabled(0);
        let gone: Vec<_> = [102, 106].map(|at| launch.release(&clock, at).map(|released| released.frame)).into();
        assert_eq!(gone, [Some(500_000), Some(900_000)]);
        assert_eq!(launch.next(&clock, 200), NEVER);
    }
}
