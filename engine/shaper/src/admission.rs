// SPDX-License-Identifier: Apache-2.0
//! Whether the copies of a frame may be queued, and on whose account. Twin of `pen_admission`.
//!
//! Lengths are in cells. Frames are decided one after the other; all that was released before a decision is known to it.
//! Accounts are of *queues* (egress port and class), classes, reception ports, and what all share.
//!
//! Each copy is decided by itself, as if it were the only one. The accounts of a class, a reception port and what all share
//! may so go beyond their limits by the other copies of one frame; the store does not, in which the frame is once.

pub const CELL_BYTES: u32 = 128;
pub const CLASSES: usize = 8;

/// Cells that a frame occupies; it always has one.
#[inline]
pub fn cells_of(bytes: u32) -> u32 {
    bytes.div_ceil(CELL_BYTES).max(1)
}

/// What every frame needs stands first and together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Limits {
    /// Per class: of one egress port's queue.
    pub queue: [u32; CLASSES],
    /// Of each egress port and class.
    pub queue_guarantee: u32,
    pub reception_guarantee: u32,
    pub shared: u32,
    /// Per class: of all egress ports together, for what is not guaranteed.
    pub class: [u32; CLASSES],
}

/// The account that a queued copy was charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    Queue,
    Reception,
    Shared,
}

/// Bit e of a mask: the copy for egress port e.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    pub accepted: u64,
    /// Of those accepted: charged to what is guaranteed to their queues.
    pub guaranteed: u64,
    /// What the rest of the accepted is charged to.
    pub pool: Pool,
    /// Refused because they are too long for the queue or its gate.
    pub max_sdu: u64,
    /// Refused because the queue is full.
    pub queue_full: u64,
    /// Refused because the class is full.
    pub class_full: u64,
    /// Refused because the store is full.
    pub store_full: u64,
}

impl Decision {
    const NONE: Self =
        Self { accepted: 0, guaranteed: 0, pool: Pool::Queue, max_sdu: 0, queue_full: 0, class_full: 0, store_full: 0 };

    #[inline]
    pub fn pool_of(&self, egress: usize) -> Pool {
        if self.guaranteed >> egress & 1 == 1 {
            Pool::Queue
        } else {
            self.pool
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Account {
    guaranteed: u32,
    total: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    queues: Vec<[Account; CLASSES]>,
    classes: [u32; CLASSES],
    receptions: Vec<u32>,
    shared: u32,
    /// Egress ports whose queues have what is guaranteed to them, and no more.
    bounded: u64,
}

impl Admission {
    /// Bit e of `bounded`: queues of egress port e have what is guaranteed to them, and no more.
    pub fn new(ports: usize, bounded: u64) -> Self {
        Self {
            queues: vec![[Account::default(); CLASSES]; ports],
            classes: [0; CLASSES],
            receptions: vec![0; ports],
            shared: 0,
            bounded,
        }
    }

    /// Cells that the queue of a class has at an egress port, with those of frames that are being sent.
    pub fn of_queue(&self, egress: usize, traffic_class: usize) -> u32 {
        self.queues[egress][traffic_class].total
    }

    /// Decides about the copies of one frame, of which some may be too long. Bits of `wanted` beyond the ports are not
    /// allowed.
    #[inline(always)]
    pub fn decide(
        &mut self,
        limits: &Limits,
        wanted: u64,
        too_long: u64,
        traffic_class: usize,
        reception: usize,
        cells: u32,
    ) -> Decision {
        if wanted & !too_long == wanted && wanted.is_power_of_two() {
            let egress = wanted.trailing_zeros() as usize;
            if self.take_guaranteed(limits, egress, traffic_class, cells) {
                return Decision { accepted: wanted, ..Decision::NONE };
            }
        }
        self.decide_about_all(limits, wanted, too_long, traffic_class, reception, cells)
    }

    /// Whether a single copy is within what is guaranteed to its queue, of which it then takes a part: that depends on no
    /// other account.
    #[inline(always)]
    pub fn take_guaranteed(&mut self, limits: &Limits, egress: usize, traffic_class: usize, cells: u32) -> bool {
        let account = &mut self.queues[egress][traffic_class];
        let (total, guaranteed) = (account.total + cells, account.guaranteed + cells);
        let fits = total <= limits.queue[traffic_class] && guaranteed <= limits.queue_guarantee;
        if fits {
            *account = Account { guaranteed, total };
            self.classes[traffic_class] += cells;
        }
        fits
    }

    #[inline(never)]
    fn decide_about_all(
        &mut self,
        limits: &Limits,
        wanted: u64,
        too_long: u64,
        traffic_class: usize,
        reception: usize,
        cells: u32,
    ) -> Decision {
        let mut fit = 0;
        let mut guaranteed = 0;
        let mut left = wanted & !too_long;
        while left != 0 {
            let egress = left.trailing_zeros() as usize;
            let bit = left & left.wrapping_neg();
            left ^= bit;
            let account = &self.queues[egress][traffic_class];
            let is_guaranteed = account.guaranteed + cells <= limits.queue_guarantee;
            if account.total + cells <= limits.queue[traffic_class] && (is_guaranteed || self.bounded & bit == 0) {
                fit |= bit;
                if is_guaranteed {
                    guaranteed |= bit;
                }
            }
        }
        let rest = fit & !guaranteed;
        let need = rest.count_ones() * cells;
        // A copy that is not guaranteed is asked for alone; all such copies have the same answer.
        let class_ok = self.classes[traffic_class] + cells <= limits.class[traffic_class];
        let reception_ok = self.receptions[reception] + cells <= limits.reception_guarantee;
        let shared_ok = self.shared + cells <= limits.shared;
        let rest_ok = class_ok && (reception_ok || shared_ok);
        let accepted = if rest_ok { fit } else { guaranteed };
        if rest_ok {
            if reception_ok {
                self.receptions[reception] += need;
            } else {
                self.shared += need;
            }
        }
        self.classes[traffic_class] += accepted.count_ones() * cells;
        left = accepted;
        while left != 0 {
            let egress = left.trailing_zeros() as usize;
            let bit = left & left.wrapping_neg();
            left ^= bit;
            let account = &mut self.queues[egress][traffic_class];
            account.total += cells;
            if guaranteed & bit != 0 {
                account.guaranteed += cells;
            }
        }
        let without_room = rest & !accepted;
        Decision {
            accepted,
            guaranteed,
            pool: if reception_ok { Pool::Reception } else { Pool::Shared },
            max_sdu: wanted & too_long,
            queue_full: wanted & !fit & !too_long,
            class_full: if class_ok { 0 } else { without_room },
            store_full: if class_ok { without_room } else { 0 },
        }
    }

    /// Returns the cells of a copy that was sent or dropped.
    #[inline]
    pub fn release(&mut self, egress: usize, traffic_class: usize, reception: usize, pool: Pool, cells: u32) {
        let account = &mut self.queues[egress][traffic_class];
        account.total -= cells;
        self.classes[traffic_class] -= cells;
        match pool {
            Pool::Queue => account.guaranteed -= cells,
            Pool::Reception => self.receptions[reception] -= cells,
            Pool::Shared => self.shared -= cells,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const PORTS: usize = 4;

    #[derive(Clone, Copy, Debug)]
    struct Held {
        number: usize,
        egress: usize,
        class: usize,
        reception: usize,
        pool: Pool,
        cells: u32,
    }

    fn limits() -> impl Strategy<Value = Limits> {
        let cells = || prop::array::uniform8(1_u32..80);
        (cells(), cells(), 0_u32..20, 0_u32..30, 0_u32..100).prop_map(
            |(queue, class, queue_guarantee, reception_guarantee, shared)| Limits {
                queue,
                class,
                queue_guarantee,
                reception_guarantee,
                shared,
            },
        )
    }

    /// (copies, those that are too long, class, reception port, cells), and which of the copies held is released before, if any.
    fn frames() -> impl Strategy<Value = Vec<(u64, u64, usize, usize, u32, Option<usize>)>> {
        let frame =
            (0_u64..1 << PORTS, 0_u64..1 << PORTS, 0..CLASSES, 0..PORTS, 1_u32..=16, prop::option::of(any::<usize>()));
        prop::collection::vec(frame, 1..200)
    }

    fn release(admission: &mut Admission, held: Held) {
        admission.release(held.egress, held.class, held.reception, held.pool, held.cells);
    }

    fn sum(held: &[Held], counts: impl Fn(&Held) -> bool) -> u32 {
        held.iter().filter(|h| counts(h)).map(|h| h.cells).sum()
    }

    /// Of frames, however many copies of them count.
    fn stored(held: &[Held], counts: impl Fn(&Held) -> bool) -> u32 {
        let frames: BTreeMap<usize, u32> = held.iter().filter(|h| counts(h)).map(|h| (h.number, h.cells)).collect();
        frames.values().sum()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn contract(limits in limits(), bounded in 0_u64..1 << PORTS, frames in frames()) {
            let mut admission = Admission::new(PORTS, bounded);
            let mut held: Vec<Held> = Vec::new();
            for (number, (wanted, long, class, reception, cells, released)) in frames.into_iter().enumerate() {
                let too_long = wanted & long;
                if let Some(index) = released.filter(|_| !held.is_empty()) {
                    let which = held.swap_remove(index % held.len());
                    release(&mut admission, which);
                }
                prop_assert_eq!(admission == Admission::new(PORTS, bounded), held.is_empty());
                let before = held.clone();
                let (mut all, alone) = (admission.clone(), admission.clone());
                let d = admission.decide(&limits, wanted, too_long, class, reception, cells);
                let general = all.decide_about_all(&limits, wanted, too_long, class, reception, cells);
                prop_assert_eq!(&admission, &all);
                prop_assert!((0..PORTS).filter(|e| d.accepted >> e & 1 == 1).all(|e| d.pool_of(e) == general.pool_of(e)));
                prop_assert_eq!(Decision { guaranteed: 0, pool: Pool::Queue, ..d },
                    Decision { guaranteed: 0, pool: Pool::Queue, ..general });
                prop_assert_eq!(d.max_sdu, too_long);
                prop_assert_eq!(d.accepted & (d.max_sdu | d.queue_full | d.class_full | d.store_full), 0);
                prop_assert_eq!(d.accepted | d.max_sdu | d.queue_full | d.class_full | d.store_full, wanted);
                prop_assert_eq!(d.max_sdu & (d.queue_full | d.class_full | d.store_full), 0);
                prop_assert_eq!(d.queue_full & d.class_full | d.class_full & d.store_full, 0);
                // No copy changes the fate of another.
                for egress in (0..PORTS).filter(|e| wanted >> e & 1 == 1) {
                    let bit = 1 << egress;
                    let one = alone.clone().decide(&limits, bit, too_long & bit, class, reception, cells);
                    let of = |d: &Decision| [d.accepted, d.max_sdu, d.queue_full, d.class_full, d.store_full].map(|m| m & bit);
                    prop_assert_eq!(of(&d), of(&one));
                    prop_assert!(d.accepted & bit == 0 || d.pool_of(egress) == one.pool_of(egress));
                }
                let is_pool = |h: &Held, pool| h.pool == pool;
                let of_class = sum(&before, |h| h.class == class);
                let received = sum(&before, |h| h.reception == reception && is_pool(h, Pool::Reception));
                let shared = sum(&before, |h| is_pool(h, Pool::Shared));
                for egress in (0..PORTS).filter(|e| (wanted & !too_long) >> e & 1 == 1) {
                    let of_queue = |h: &Held| h.egress == egress && h.class == class;
                    let guaranteed = sum(&before, |h| of_queue(h) && is_pool(h, Pool::Queue));
                    // What is guaranteed to a queue is there whatever all others hold.
                    let expected = if sum(&before, of_queue) + cells > limits.queue[class] {
                        Err("queue")
                    } else if guaranteed + cells <= limits.queue_guarantee {
                        Ok(Pool::Queue)
                    } else if bounded >> egress & 1 == 1 {
                        Err("queue")
                    } else if of_class + cells > limits.class[class] {
                        Err("class")
                    } else if received + cells <= limits.reception_guarantee {
                        Ok(Pool::Reception)
                    } else if shared + cells <= limits.shared {
                        Ok(Pool::Shared)
                    } else {
                        Err("store")
                    };
                    let told = if d.accepted >> egress & 1 == 1 {
                        Ok(d.pool_of(egress))
                    } else if d.queue_full >> egress & 1 == 1 {
                        Err("queue")
                    } else {
                        Err(if d.class_full >> egress & 1 == 1 { "class" } else { "store" })
                    };
                    prop_assert_eq!(told, expected);
                    // A copy that is asked for alone has what is guaranteed without a look at anything else.
                    let mut after = alone.clone();
                    let is_taken = after.take_guaranteed(&limits, egress, class, cells);
                    prop_assert_eq!(is_taken, told == Ok(Pool::Queue));
                    if is_taken {
                        let mut general = alone.clone();
                        general.decide_about_all(&limits, 1 << egress, 0, class, reception, cells);
                        prop_assert_eq!(&after, &general);
                    } else {
                        prop_assert_eq!(&after, &alone);
                    }
                    if let Ok(pool) = told {
                        held.push(Held { number, egress, class, reception, pool, cells });
                    }
                }
                for class in 0..CLASSES {
                    for egress in 0..PORTS {
                        prop_assert!(sum(&held, |h| h.egress == egress && h.class == class) <= limits.queue[class]);
                        prop_assert!(sum(&held, |h| h.egress == egress && h.class == class && h.pool == Pool::Queue)
                            <= limits.queue_guarantee);
                    }
                }
                // What is stored is within the limits, though the accounts of copies may be beyond.
                for reception in 0..PORTS {
                    prop_assert!(stored(&held, |h| h.reception == reception && h.pool == Pool::Reception)
                        <= limits.reception_guarantee);
                }
                prop_assert!(stored(&held, |h| h.pool == Pool::Shared) <= limits.shared);
                for egress in 0..PORTS {
                    let total = sum(&held, |h| h.egress == egress && h.class == class);
                    prop_assert_eq!(admission.of_queue(egress, class), total);
                }
            }
            for which in held {
                release(&mut admission, which);
            }
            prop_assert_eq!(admission, Admission::new(PORTS, bounded));
        }
    }

    #[test]
    fn a_frame_always_has_a_cell() {
        assert_eq!([0, 1, 128, 129, 2000].map(cells_of), [1, 1, 1, 2, 16]);
    }
}
