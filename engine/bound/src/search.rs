// SPDX-License-Identifier: Apache-2.0
//! The worst of all phases of a gate cycle, without a look at each.
//!
//! Neighbouring phases of a stretch are no worse, together, than one that begins with the last of them and in which others
//! may have had all the time since the first. Where that one is no worse than what is known, none of them is; else the last
//! is looked at by itself, and the rest in halves.
use crate::windows::Phase;

struct Node<'a, T, V> {
    phases: &'a [Phase],
    /// No worse than this.
    limit: Option<V>,
    /// What is seen of the phases together.
    seen: Option<T>,
    /// The last one by itself, and the halves of the rest.
    parts: Vec<usize>,
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
        let nodes: Vec<Node<'a, T, V>> =
            stretches.map(|(limit, phases)| Node { phases, limit, seen: None, parts: Vec::new() }).collect();
        let mut roots: Vec<usize> = (0..nodes.len()).collect();
        // None, of which nothing is known, first.
        roots.sort_by(|&a, &b| match (nodes[a].limit, nodes[b].limit) {
            (Some(a), Some(b)) => b.cmp(&a),
            (a, b) => a.is_some().cmp(&b.is_some()),
        });
        Self { nodes, roots, worst: None, see }
    }

    /// The greatest value of any phase, but no less than is known; none, if one of them has none. `value` of what was seen is
    /// no less than is known either. A question may only follow one whose values were no less.
    pub fn greatest(&mut self, known: V, value: impl Fn(&T, V) -> Option<V>) -> Option<V> {
        let mut greatest = known;
        if let Some(worst) = self.worst {
            self.descend(worst, &mut greatest, &value)?;
        }
        for place in 0..self.roots.len() {
            self.descend(self.roots[place], &mut greatest, &value)?;
        }
        Some(greatest)
    }

    fn descend(&mut self, number: usize, greatest: &mut V, value: &impl Fn(&T, V) -> Option<V>) -> Option<()> {
        let node = &mut self.nodes[number];
        if node.limit.is_some_and(|limit| limit <= *greatest) {
            return Some(());
        }
        let seen = node.seen.get_or_insert_with(|| (self.see)(together(node.phases)));
        let found = value(seen, *greatest);
        node.limit = found.or(node.limit);
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
        if node.parts.is_empty() {
            let (rest, last) = node.phases.split_at(node.phases.len() - 1);
            let (first, second) = rest.split_at(rest.len() / 2);
            let from = self.nodes.len();
            for phases in [last, second, first].into_iter().filter(|phases| !phases.is_empty()) {
                self.nodes.push(Node { phases, limit: None, seen: None, parts: Vec::new() });
            }
            self.nodes[number].parts = (from..self.nodes.len()).collect();
        }
        for place in 0..self.nodes[number].parts.len() {
            if found.is_some_and(|found| found <= *greatest) {
                break;
            }
            self.descend(self.nodes[number].parts[place], greatest, value)?;
        }
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
