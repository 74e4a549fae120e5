// SPDX-License-Identifier: Apache-2.0
//! Transmissions that may be cut while they go on, by their node or by a fault. Their frames stay on the wire until nothing can
//! happen to them any more; then the next node gets them, which reads no frame before it is whole.
use std::collections::{BTreeMap, VecDeque};

use crate::link::Wire;
use crate::queue::{Event, Kind, Queue};
use penstock_shaper::Time;

/// A copy on a wire, from the first bit of its preamble at the one end to its last bit at the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    pub slot: u32,
    /// That sends it; with its port.
    pub from: (u32, u16),
    pub wire: Wire,
    pub traffic_class: u8,
    /// The last bit of its FCS tells that it is bad.
    pub is_spoiled: bool,
    /// Of its first bit after the delimiter, at its sender.
    pub first: Time,
    pub bytes: u32,
    /// When the next node gets it.
    pub handed: Time,
}

impl Transmission {
    pub fn begin(&self) -> Time {
        self.first.saturating_sub(self.wire.rate.lead())
    }

    /// The last bit has left the sender.
    pub fn sent(&self) -> Time {
        self.first.saturating_add(self.wire.rate.duration(self.bytes))
    }

    /// The last bit is at the other end.
    pub fn whole(&self) -> Time {
        self.sent().saturating_add(self.wire.delay_ps)
    }

    fn event(&self) -> Event {
        Event::new(self.handed, Kind::Arrive, self.wire.node, u32::from(self.wire.port))
    }
}

/// By the node and the port that send, in their order.
#[derive(Debug, Default)]
pub(crate) struct Wires(BTreeMap<(u32, u16), VecDeque<Transmission>>);

impl Wires {
    pub fn put(&mut self, transmission: Transmission, queue: &mut Queue) {
        queue.push(transmission.event());
        self.0.entry(transmission.from).or_default().push_back(transmission);
    }

    /// The next one of a port is to be handed over.
    pub fn next(&mut self, from: (u32, u16)) -> Option<Transmission> {
        self.0.get_mut(&from)?.pop_front()
    }

    /// Takes the first one of a port off the wire of which this is true.
    pub fn cut(
        &mut self,
        from: (u32, u16),
        queue: &mut Queue,
        is_cut: impl Fn(&Transmission) -> bool,
    ) -> Option<Transmission> {
        let on = self.0.get_mut(&from)?;
        let cut = on.remove(on.iter().position(is_cut)?)?;
        queue.remove(cut.event());
        Some(cut)
    }

    /// Takes off all that are to be handed over by a time, in their order.
    pub fn take_until(&mut self, now: Time, queue: &mut Queue) -> Vec<Transmission> {
        let mut taken = Vec::new();
        for on in self.0.values_mut() {
            while let Some(first) = on.front().copied().filter(|first| first.handed <= now) {
                on.pop_front();
                queue.remove(first.event());
                taken.push(first);
            }
        }
        taken.sort_by_key(|transmission| (transmission.handed, transmission.from));
        taken
    }
}
