// SPDX-License-Identifier: Apache-2.0
//! How often a node of which only the trait is known was advanced of late: one that asks for it again and again would hold
//! the time of the run.
use crate::node::NodeError;

/// In any microsecond of network time. Hardware under simulation needs some hundred.
const MOST: u32 = 100_000;
const WINDOW_PS: u64 = 1_000_000;

#[derive(Debug)]
pub(crate) struct Advances {
    name: String,
    window: u64,
    count: u32,
}

impl Advances {
    /// Of a node with this name.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), window: 0, count: 0 }
    }

    /// It is advanced to a time once more.
    pub fn count(&mut self, now: u64) -> Result<(), NodeError> {
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
