// SPDX-License-Identifier: Apache-2.0
//! Drop of the oldest: where the queue of a class is full, the frames that are first in it give way to the one that comes.
//!
//! Nothing is dropped in vain: not where the frame would be refused all the same, since what is being sent still fills the
//! queue, or since its class or the store is full.
use penstock_shaper::admission::{cells_of, Decision, Pool};

use super::arrivals::Received;
use super::config::{within, BridgeConfig, BridgeError};
use super::{Bridge, Judgement, Tick, Timing};

/// A copy that gave way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Displaced {
    pub frame: u32,
    pub egress: u16,
    pub traffic_class: u8,
}

/// Bit k: the first frames of class k give way.
pub(super) fn classes_of(config: &BridgeConfig, timing: &Timing) -> Result<u8, BridgeError> {
    let mut classes = 0;
    for &class in &config.drop_oldest {
        classes |= 1 << within("class that drops its oldest", class, 0, 7)?;
    }
    if classes != 0 && matches!(timing, Timing::Hardware) {
        return Err(super::refuse("drop of the oldest in hardware".to_owned(), "it drops the newest"));
    }
    Ok(classes)
}

pub(super) fn pool_of(pools: &[(u16, Pool)], egress: u16) -> Option<Pool> {
    pools.iter().find(|(port, _)| *port == egress).map(|(_, pool)| *pool)
}

impl Bridge {
    /// Makes room for copies of a frame in full queues; gives those that are accepted then, with their accounts.
    #[cold]
    pub(super) fn make_room(
        &mut self,
        begin: Tick,
        reception: u16,
        received: &Received,
        out: &mut Judgement,
    ) -> Vec<(u16, Pool)> {
        let (mut pools, full) = (Vec::new(), out.queue_full);
        for egress in (0..self.ports()).filter(|egress| full >> egress & 1 == 1) {
            let pool = self.displace(begin, usize::from(out.traffic_class), egress, received, reception);
            pools.extend(pool.map(|pool| (egress, pool)));
        }
        let accepted = pools.iter().fold(0, |mask, (egress, _)| mask | 1 << egress);
        out.destination |= accepted;
        out.queue_full &= !accepted;
        pools
    }

    /// Copies that gave way to the frame that was judged last.
    pub fn take_displaced(&mut self) -> Vec<Displaced> {
        std::mem::take(&mut self.displaced)
    }

    /// Frames of a port are other ones than it was to select; true: it is to do so at another tick.
    pub(super) fn replan(&mut self, now: Tick, egress: u16) -> bool {
        let (state, line) = self.ports.at(&self.clock, egress);
        state.plan(&line, now).is_some()
    }

    /// The account of the copy for a port, if it is accepted then.
    fn displace(
        &mut self,
        begin: Tick,
        class: usize,
        egress: u16,
        received: &Received,
        reception: u16,
    ) -> Option<Pool> {
        let needed = self.store.lacks(egress, class, received.bytes);
        if !self.store.would_accept(class, egress, reception, received.bytes) {
            return None;
        }
        let (state, line) = self.ports.at(&self.clock, egress);
        let mut waiting = 0;
        let is_enough = state.egress.of_class(class).any(|copy| {
            waiting += cells_of(u32::from(copy.stored_bytes()));
            waiting >= needed
        });
        if !is_enough {
            return None;
        }
        let (at, mut given) = (begin - 1, 0);
        while given < needed {
            let copy = state.egress.drop_head(&line, at, class)?;
            given += cells_of(u32::from(copy.stored_bytes()));
            self.store.give_back(egress, &copy);
            self.displaced.push(Displaced { frame: copy.frame, egress, traffic_class: copy.traffic_class });
        }
        let Decision { accepted, pool, guaranteed, .. } =
            self.store.decide(begin, None, 1 << egress, 0, class, reception, received.bytes);
        let pool = if guaranteed != 0 { Pool::Queue } else { pool };
        (accepted != 0).then_some(pool)
    }
}
