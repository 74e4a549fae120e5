// SPDX-License-Identifier: Apache-2.0
//! The frame store: whether there is room for a frame, and when its cells come back.
use penstock_shaper::admission::{cells_of, Admission, Decision, Limits, Pool, CLASSES};
use penstock_shaper::egress::Queued;

use super::change::Change;
use super::config::{BridgeConfig, MAX_PORTS};
use super::{Tick, NEVER};

/// As `pen_registers` divides the store after reset.
const TRANSIT_CELLS: u32 = 36;
const RECEPTION_GUARANTEE: u32 = 24;
const QUEUE_GUARANTEE_MOST: u32 = 12;

/// Guarantee of a queue, guarantee of a reception port, and what is shared.
fn shares(ports: u32, cells: u32) -> (u32, u32, u32) {
    let per_port = TRANSIT_CELLS + RECEPTION_GUARANTEE;
    let room = (3 * cells / 4).saturating_sub(ports * per_port);
    let queue = (room / (ports * CLASSES as u32)).min(QUEUE_GUARANTEE_MOST);
    (queue, RECEPTION_GUARANTEE, cells.saturating_sub(ports * (per_port + CLASSES as u32 * queue)))
}

/// A copy's cells on their way back. Small, as a bridge looks through all of them.
#[derive(Clone, Copy, Debug)]
struct Release {
    at: Tick,
    cells: u16,
    egress: u8,
    reception: u8,
    traffic_class: u8,
    pool: Pool,
}

const _: () = assert!(size_of::<Release>() == 2 * size_of::<Tick>() && MAX_PORTS <= 256);

/// What every frame needs stands first and together.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Store {
    /// The first tick of one of the releases.
    next_release: Tick,
    admission: Admission,
    /// In no order.
    releases: Vec<Release>,
    limits: Limits,
    /// What a release takes on its way to admission.
    way: Tick,
}

impl Store {
    pub fn new(ports: u16, config: &BridgeConfig, way: Tick) -> Self {
        let (queue, reception, shared) = shares(u32::from(ports), config.cells);
        let limits = Limits {
            queue: config.queue_limit,
            class: config.class_limit,
            queue_guarantee: config.queue_guarantee.unwrap_or(queue),
            reception_guarantee: config.reception_guarantee.unwrap_or(reception),
            shared: config.shared_limit.unwrap_or(shared),
        };
        let ports = usize::from(ports);
        let bounded = if config.host { 1 << (ports - 1) } else { 0 };
        let (admission, releases) = (Admission::new(ports, bounded), Vec::with_capacity(2 * ports));
        Self { next_release: NEVER, admission, releases, limits, way }
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Makes a change, if it is one of the limits.
    pub fn change(&mut self, change: &Change) {
        let limits = &mut self.limits;
        match *change {
            Change::QueueLimit { traffic_class, cells } => limits.queue[usize::from(traffic_class & 7)] = cells,
            Change::ClassLimit { traffic_class, cells } => limits.class[usize::from(traffic_class & 7)] = cells,
            Change::QueueGuarantee(cells) => limits.queue_guarantee = cells,
            Change::ReceptionGuarantee(cells) => limits.reception_guarantee = cells,
            Change::SharedLimit(cells) => limits.shared = cells,
            _ => {}
        }
    }

    /// Which copies of a frame find room, for a decision that begins at `begin`; by the limits as they are set, or others.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)] // as those of admission
    pub fn decide(
        &mut self,
        begin: Tick,
        limits: Option<&Limits>,
        wanted: u64,
        too_long: u64,
        class: usize,
        reception: u16,
        bytes: u16,
    ) -> Decision {
        if self.next_release < begin {
            self.release_before(begin);
        }
        let limits = limits.unwrap_or(&self.limits);
        self.admission.decide(limits, wanted, too_long, class, reception.into(), cells_of(bytes.into()))
    }

    /// Where the only copy of a frame finds room, for a decision that begins at `begin`; or why it finds none.
    #[inline(always)]
    pub fn take(
        &mut self,
        begin: Tick,
        egress: u16,
        class: usize,
        reception: u16,
        bytes: u16,
    ) -> Result<Pool, Decision> {
        if self.next_release < begin {
            self.release_before(begin);
        }
        if self.admission.take_guaranteed(&self.limits, egress.into(), class, cells_of(bytes.into())) {
            return Ok(Pool::Queue);
        }
        self.take_shared(egress, class, reception, bytes)
    }

    #[inline(never)]
    fn take_shared(&mut self, egress: u16, class: usize, reception: u16, bytes: u16) -> Result<Pool, Decision> {
        let cells = cells_of(bytes.into());
        let decision = self.admission.decide(&self.limits, 1 << egress, 0, class, reception.into(), cells);
        if decision.accepted == 0 {
            Err(decision)
        } else {
            Ok(decision.pool_of(egress.into()))
        }
    }

    /// So many cells too many has the queue of a class with a frame more, by what was released before the last decision.
    pub fn lacks(&self, egress: u16, class: usize, bytes: u16) -> u32 {
        let cells = self.admission.of_queue(egress.into(), class) + cells_of(bytes.into());
        cells.saturating_sub(self.limits.queue[class])
    }

    /// Whether a copy would be accepted if its queue were not full.
    pub fn would_accept(&self, class: usize, egress: u16, reception: u16, bytes: u16) -> bool {
        let mut limits = self.limits;
        limits.queue[class] = u32::MAX;
        let cells = cells_of(bytes.into());
        let decision = self.admission.clone().decide(&limits, 1 << egress, 0, class, reception.into(), cells);
        decision.accepted != 0
    }

    /// The cells of a copy come back at a tick.
    #[inline(always)]
    pub fn release(&mut self, egress: u16, at: Tick, copy: &Queued) {
        let at = at + self.way;
        self.next_release = self.next_release.min(at);
        self.releases.push(Release {
            at,
            cells: cells_of(u32::from(copy.stored_bytes())) as u16,
            egress: egress as u8,
            reception: copy.reception as u8,
            traffic_class: copy.traffic_class,
            pool: copy.pool,
        });
    }

    /// The cells of a copy come back at once.
    pub fn give_back(&mut self, egress: u16, copy: &Queued) {
        let (class, reception) = (usize::from(copy.traffic_class), usize::from(copy.reception));
        let cells = cells_of(u32::from(copy.stored_bytes()));
        self.admission.release(egress.into(), class, reception, copy.pool, cells);
    }

    /// When cells of copies for an egress port come back.
    pub fn releases(&self, egress: u16) -> impl Iterator<Item = Tick> + '_ {
        let of_port = self.releases.iter().filter(move |release| u16::from(release.egress) == egress);
        of_port.map(|release| release.at - self.way)
    }

    /// Gives back all cells whose turn comes before a tick. Their order does not matter.
    fn release_before(&mut self, tick: Tick) {
        let (admission, mut next) = (&mut self.admission, NEVER);
        self.releases.retain(|release| {
            let stays = release.at >= tick;
            if stays {
                next = next.min(release.at);
            } else {
                let (egress, class) = (usize::from(release.egress), usize::from(release.traffic_class));
                admission.release(egress, class, usize::from(release.reception), release.pool, release.cells.into());
            }
            stays
        });
        self.next_release = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock_frame::Edit;

    fn store(config: BridgeConfig) -> Store {
        Store::new(2, &config, 0)
    }

    /// Of 64 bytes, for port 1 and of class 3.
    fn copy(decision: &Decision) -> Queued {
        let pool = decision.pool_of(1);
        Queued {
            visible: 0,
            frame: 0,
            bytes: 64,
            reception: 0,
            edit: Edit::NONE,
            traffic_class: 3,
            pool,
            shaped: false,
        }
    }

    fn decide(store: &mut Store, begin: Tick) -> Decision {
        store.decide(begin, None, 0b10, 0, 3, 0, 64)
    }

    #[test]
    fn a_store_is_divided_as_the_hardware_does() {
        // 36 and 24 cells a port; of three quarters of the store what is left is the queues', 12 each at most.
        assert_eq!(shares(4, 1024), (12, 24, 1024 - 4 * (60 + 8 * 12)));
        assert_eq!(shares(8, 1024), ((768 - 480) / 64, 24, 1024 - 8 * (60 + 8 * 4)));
        assert_eq!(shares(8, 5120), (12, 24, 5120 - 8 * (60 + 8 * 12)));
        assert_eq!(shares(2, 100), (0, 24, 0));
    }

    #[test]
    fn cells_come_back_for_decisions_behind_their_turn() {
        let mut store = store(BridgeConfig { queue_limit: [2; CLASSES], ..BridgeConfig::default() });
        come_back(&mut store, 0);
    }

    #[test]
    fn cells_take_their_way_to_admission() {
        let config = BridgeConfig { queue_limit: [2; CLASSES], ..BridgeConfig::default() };
        come_back(&mut Store::new(2, &config, 3), 3);
    }

    fn come_back(store: &mut Store, way: Tick) {
        let first = decide(store, 10);
        assert_eq!((first.accepted, decide(store, 11).accepted), (0b10, 0b10));
        assert_eq!(decide(store, 12).queue_full, 0b10);
        store.release(1, 30, &copy(&first));
        store.release(1, 20, &copy(&first));
        assert_eq!(store.releases(1).collect::<Vec<_>>(), [30, 20]);
        assert_eq!(store.releases(0).count(), 0);
        for (begin, room) in [(30, 1), (31, 2)] {
            let mut late = store.clone();
            let accepted = (0..3).filter(|_| decide(&mut late, begin + way).accepted != 0);
            assert_eq!(accepted.count(), room, "of both that came back, those whose turn is over");
        }
        assert_eq!(decide(store, 20 + way).accepted, 0, "the turn is not over");
        assert_eq!(decide(store, 21 + way).accepted, 0b10);
        assert_eq!(store.releases(1).collect::<Vec<_>>(), [30]);
        assert_eq!(decide(store, 30 + way).accepted, 0);
        assert_eq!(decide(store, 31 + way).accepted, 0b10);
    }

    #[test]
    fn each_limit_can_change_and_others_act_for_one_decision() {
        let of_class = |traffic_class, cells| Change::QueueLimit { traffic_class, cells };
        let mut store = store(BridgeConfig::default());
        let full = |store: &Store, limits: Option<&Limits>| {
            let decision = store.clone().decide(0, limits, 0b10, 0, 3, 0, 64);
            (decision.queue_full, decision.class_full, decision.store_full)
        };
        assert_eq!(full(&store, None), (0, 0, 0));
        store.change(&of_class(2, 0));
        assert_eq!(full(&store, None), (0, 0, 0), "of another class");
        let before = *store.limits();
        store.change(&of_class(3 + 8, 0));
        assert_eq!(full(&store, None), (0b10, 0, 0), "three bits count");
        assert_eq!(full(&store, Some(&before)), (0, 0, 0));
        store.change(&of_class(3, 1));
        for change in [Change::QueueGuarantee(0), Change::ReceptionGuarantee(0)] {
            assert_eq!(full(&store, None), (0, 0, 0));
            store.change(&change);
        }
        store.change(&Change::SharedLimit(0));
        assert_eq!(full(&store, None), (0, 0, 0b10));
        store.change(&Change::SharedLimit(1));
        store.change(&Change::ClassLimit { traffic_class: 3, cells: 0 });
        assert_eq!(full(&store, None), (0, 0b10, 0));
    }
}
