// SPDX-License-Identifier: Apache-2.0
//! The worst of all phases of a gate cycle, without a look at each.
//!
//! Neighbouring phases of a stretch are no worse, together, than one that begins with the last of them and in which others
//! may have had all the time since the first. Where that one is no worse than what is known, none of them is; else the last
//! is looked at by itself, and the rest in halves.
use std::ops::Range;

use crate::windows::Phase;

/// As many nodes as most searches have.
const AT_FIRST: usize = 32;

struct Node<'a, T, V> {
    phases: &'a [Phase],
    /// No worse than this.
    limit: Option<V>,
    /// What is seen of the phases together.
    seen: Option<T>,
    /// The last one by itself, and the halves of the rest.
    parts: Range<usize>,
}

/// The phases of some stretches; what is seen of one is kept, and serves for several questions.
pub(crate) struct Search<'a, T, V, F: Fn(Phase) -> T> {
    nodes: Vec<Node<'a, T, V>>,
    roots: Vec<usize>,
    /// Where the last answer came from.
    worst: Option<usize>,
    see: F,
}

impl<'a, T, V: Ord + Copy, F: Fn(Phase) -> T> Search<'a, T, V, F> {
    /// Of stretches of which each is known to be no worse than its limit, if any is known.
    pub fn new(stretches: impl Iterator<Item = (Option<V>, &'a [Phase])>, see: F) -> Self {
        let mut nodes: Vec<Node<'a, T, V>> = Vec::with_capacity(AT_FIRST);
        nodes.extend(stretches.map(|(limit, phases)| Node { phases, limit, seen: None, parts: 0..0 }));
        let mut roots: Vec<usize> = (0..nodes.len()).collect();
        // None, of which nothing is known, first.
        roots.sort_by(|&a, &b| match (nodes[a].limit, nodes[b].limit) {
            (Some(a), Some(b)) => b.cmp(&a),
            (a, b) => a.is_some().cmp(&b.is_some()),
        });
        Self { nodes, roots, worst: None, see }
    }

    /// The greatest value of any phase, but no less than is known; none, if one of them has none. `value` of what was seen is
    /// no less than is known either, and comes with a limit of it for the questions that follow, if there is one, which may be
    /// less. A question may only follow one that left limits if no values of it are more.
    pub fn greatest(&mut self, known: V, value: impl Fn(&T, V) -> Option<(V, Option<V>)>) -> Option<V> {
        let mut greatest = known;
        if let Some(worst) = self.worst {
            self.descend(worst, &mut greatest, &value)?;
        }
        for place in 0..self.roots.len() {
            self.descend(self.roots[place], &mut greatest, &value)?;
        }
        Some(greatest)
    }

    fn descend(
        &mut self,
        number: usize,
        greatest: &mut V,
        value: &impl Fn(&T, V) -> Option<(V, Option<V>)>,
    ) -> Option<()> {
        let node = &mut self.nodes[number];
        if node.limit.is_some_and(|limit| limit <= *greatest) {
            return Some(());
        }
        // What was too much together before is looked at in parts at once.
        if node.parts.is_empty() {
            let seen = node.seen.get_or_insert_with(|| (self.see)(together(node.phases)));
            let (found, limit) = value(seen, *greatest).unzip();
            node.limit = limit.flatten().or(node.limit);
            if node.phases.len() == 1 {
                if found? > *greatest {
                    *greatest = found?;
                    self.worst = Some(number);
                }
                return Some(());
            }
            if found.is_some_and(|found| found <= *greatest) {
                return Some(());
            }
            let (rest, last) = node.phases.split_at(node.phases.len() - 1);
            let (first, second) = rest.split_at(rest.len() / 2);
            let from = self.nodes.len();
            for phases in [last, second, first].into_iter().filter(|phases| !phases.is_empty()) {
                self.nodes.push(Node { phases, limit: None, seen: None, parts: 0..0 });
            }
            self.nodes[number].parts = from..self.nodes.len();
        }
        let parts = self.nodes[number].parts.clone();
        for part in parts.clone() {
            // The first of them may be no less than all together.
            if self.nodes[number].limit.is_some_and(|limit| limit <= *greatest) {
                break;
            }
            self.descend(part, greatest, value)?;
        }
        let limits = parts.map(|part| self.nodes[part].limit);
        let limit = limits.reduce(|one, other| Some(one?.max(other?))).flatten();
        let node = &mut self.nodes[number];
        node.limit = match (node.limit, limit) {
            (Some(together), Some(parts)) => Some(together.min(parts)),
            (together, parts) => together.or(parts),
        };
        Some(())
    }
}

fn together(phases: &[Phase]) -> Phase {
    Phase {
        slack: phases.iter().map(|phase| phase.slack).sum(),
        others: phases.iter().fold(0, |mask, phase| mask | phase.others),
        ..phases[phases.len() - 1]
    }
}
