// SPDX-License-Identifier: Apache-2.0
//! What the plane's thread does between two looks at its sockets. Pure.
use penstock_shaper::egress::Tick;

use crate::line::TICK_NS;

/// So long before something is due the thread is awake: waking it takes long, and now and then much longer.
const AWAKE_BEFORE: Tick = 200_000 / TICK_NS;
/// So long before something is due only the clock is looked at, unless frames are coming: a look at all sockets takes some us, by
/// which a frame would depart late.
const ONLY_CLOCK_BEFORE: Tick = 20_000 / TICK_NS;
/// The thread looks around at least so often: whether it is to stop, and whether an interface is there again.
const LONGEST_SLEEP: Tick = 100_000_000 / TICK_NS;
/// The kernel takes a processor from a real-time thread that never rests, for 50 ms of each second. So it rests by itself for
/// a little, when nothing is due if it can, and as often as it has to.
const MOST_RUNNING: Tick = 2_000_000 / TICK_NS;
const REST: Tick = 120_000 / TICK_NS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Looks at its sockets at once.
    None,
    /// Looks at the clock alone, until this tick.
    UntilTick(Tick),
    /// Sleeps for so many ticks, or until a frame comes.
    Sleep(Tick),
    /// Sleeps for so many ticks, whatever comes.
    Rest(Tick),
}

/// Of a thread that has not slept since `awake`; `next` is when something is due, `any` whether something was sent or came just now.
pub fn pause(now: Tick, next: Tick, awake: Tick, any: bool) -> Pause {
    let running = now - awake;
    if running > MOST_RUNNING && (next > now + REST || running > 2 * MOST_RUNNING) {
        Pause::Rest(REST)
    } else if any || next <= now {
        Pause::None
    } else if next <= now + ONLY_CLOCK_BEFORE {
        Pause::UntilTick(next)
    } else if next <= now + AWAKE_BEFORE {
        Pause::None
    } else {
        Pause::Sleep((next - now - AWAKE_BEFORE).min(LONGEST_SLEEP))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_shaper::egress::NEVER;
    use proptest::prelude::*;

    #[test]
    fn it_sleeps_until_shortly_before_then_looks_at_its_sockets_and_at_last_at_the_clock_alone() {
        let due = 1_000_000;
        assert_eq!(pause(due - AWAKE_BEFORE - 7, due, due - AWAKE_BEFORE - 7, false), Pause::Sleep(7));
        assert_eq!(pause(due - AWAKE_BEFORE, due, due - AWAKE_BEFORE, false), Pause::None);
        assert_eq!(pause(due - ONLY_CLOCK_BEFORE - 1, due, due - AWAKE_BEFORE, false), Pause::None);
        assert_eq!(pause(due - ONLY_CLOCK_BEFORE, due, due - AWAKE_BEFORE, false), Pause::UntilTick(due));
        assert_eq!(pause(due, due, due - AWAKE_BEFORE, false), Pause::None);
        assert_eq!(pause(5, NEVER, 5, false), Pause::Sleep(LONGEST_SLEEP));
    }

    #[test]
    fn while_frames_come_sockets_are_looked_at() {
        assert_eq!(pause(0, 5, 0, true), Pause::None);
        assert_eq!(pause(0, NEVER, 0, true), Pause::None);
    }

    proptest! {
        /// Nothing that is due waits for the thread's own doing, but for a rest that the kernel would enforce otherwise; no frame
        /// that comes meanwhile is left for longer than the last stretch; and the thread rests before the kernel makes it.
        #[test]
        fn nothing_waits_for_longer_than_it_has_to(
            now in 0u64..1 << 40,
            ahead in prop_oneof![0..4 * ONLY_CLOCK_BEFORE, 0..2 * AWAKE_BEFORE, Just(NEVER >> 1)],
            ran in 0..3 * MOST_RUNNING,
            any: bool,
        ) {
            let now = now + 3 * MOST_RUNNING;
            let next = now + ahead;
            match pause(now, next, now - ran, any) {
                Pause::None => prop_assert!(any || ahead <= AWAKE_BEFORE),
                Pause::UntilTick(until) => {
                    prop_assert_eq!(until, next);
                    prop_assert!(!any && ahead <= ONLY_CLOCK_BEFORE);
                }
                Pause::Sleep(ticks) => {
                    prop_assert!(!any && ticks > 0 && ticks <= LONGEST_SLEEP && now + ticks + AWAKE_BEFORE <= next);
                }
                Pause::Rest(ticks) => {
                    prop_assert!(ran > MOST_RUNNING && (ticks < ahead || ran > 2 * MOST_RUNNING));
                }
            }
            if ran > 2 * MOST_RUNNING {
                prop_assert!(matches!(pause(now, next, now - ran, any), Pause::Rest(_)));
            }
        }
    }
}
