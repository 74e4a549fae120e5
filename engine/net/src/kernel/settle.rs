// SPDX-License-Identifier: Apache-2.0
//! The end of a run.
use super::{BridgeNode, Ended, Kernel};
use crate::conservation::Violation;
use crate::trace::Reason;

impl Kernel {
    /// Holds what is left against what the nodes say that they hold.
    pub fn settle(&mut self, ended: Ended) {
        for frame in self.frames.live() {
            let stream = &mut self.streams[frame.stream as usize];
            stream.statistics.inside += u64::from(frame.open);
            match frame.reason {
                Reason::NONE if frame.open == 0 => stream.fates.delivered += 1, // other copies still flood somewhere
                Reason::NONE => stream.fates.inside += 1,
                reason => *stream.fates.dropped.entry(reason).or_default() += 1,
            }
        }
        let idle = ended == Ended::Done && self.queue.next_time().is_none();
        for (index, bridge) in self.bridges.iter().enumerate() {
            let node = index as u32;
            match bridge {
                BridgeNode::Model { bridge, copies, .. } => {
                    let holds = bridge.inside();
                    if holds != *copies {
                        self.violations.add(Violation::Count { node, holds, given: *copies });
                    } else if idle && holds > 0 {
                        self.violations.add(Violation::Stuck { node, copies: holds });
                    }
                }
                BridgeNode::External { node: external, copies, .. } => {
                    let (given, holds) = external.unfinished();
                    if given != holds {
                        self.violations.add(Violation::Count { node, holds, given });
                    } else if !external.busy() && holds.max(*copies) > 0 {
                        self.violations.add(Violation::Stuck { node, copies: holds.max(*copies) });
                    }
                    let (simulated, jumped) = external.cycles();
                    self.simulation.cycles_simulated += simulated;
                    self.simulation.cycles_jumped += jumped;
                }
            }
        }
        for (index, stream) in self.streams.iter().enumerate() {
            let statistics = &stream.statistics;
            let dropped = statistics.dropped.iter().sum();
            let (created, delivered, inside) = (statistics.copies, statistics.delivered, statistics.inside);
            if created != delivered + dropped + inside {
                let stream = index as u32;
                self.violations.add(Violation::Sum { stream, created, delivered, dropped, inside });
            }
        }
    }
}
