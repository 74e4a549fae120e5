// SPDX-License-Identifier: Apache-2.0
//! The next advance of what tells by its `next` when it is to go on: it stands in the queue, and another one takes its place
//! when that time changes. What asks for it again and again would hold the time of the run.
use crate::node::{Due, NodeError};
use crate::outbox::Outbox;
use penstock_shaper::Time;

/// In any microsecond of network time. Hardware under simulation needs some hundred.
const MOST: u32 = 100_000;
const WINDOW_PS: Time = 1_000_000;

#[derive(Debug)]
pub(crate) struct Advances {
    name: String,
    /// The advance that stands in the queue; `u64::MAX`: none.
    due: Time,
    window: Time,
    count: u32,
}

impl Advances {
    /// Of a node with this name.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), due: Time::MAX, window: 0, count: 0 }
    }

    /// It is to be advanced at another time than before, or not at all.
    pub fn plan(&mut self, next: Option<Time>, out: &mut Outbox<'_>) {
        let next = next.unwrap_or(Time::MAX);
        if next == self.due {
            return;
        }
        if self.due != Time::MAX {
            out.cancel(self.due, Due::ALL);
        }
        self.due = next;
        if next != Time::MAX {
            out.wake(next, Due::ALL);
        }
    }

    pub fn is_planned(&self) -> bool {
        self.due != Time::MAX
    }

    /// The advance that was planned has come.
    pub fn take(&mut self, now: Time) -> Result<(), NodeError> {
        self.due = Time::MAX;
        self.count(now)
    }

    /// It is advanced to a time once more.
    fn count(&mut self, now: Time) -> Result<(), NodeError> {
        let window = now / WINDOW_PS;
        if window != self.window {
            (self.window, self.count) = (window, 0);
        }
        self.count += 1;
        if self.count <= MOST {
            return Ok(());
        }
        let what =
            format!("is advanced more than {MOST} times within a microsecond, up to {now} ps; it holds the time");
        Err(NodeError { node: self.name.clone(), what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_holds_the_time_is_refused() {
        let mut advances = Advances::new("x");
        // As often as is allowed, in each of some windows.
        for window in 5..8 {
            (0..MOST).for_each(|n| advances.count(window * WINDOW_PS + u64::from(n)).unwrap());
        }
        let told = advances.count(8 * WINDOW_PS - 1).unwrap_err();
        assert_eq!(told.node, "x");
        assert!(told.what.contains("7999999 ps"), "{told}");
    }
}
