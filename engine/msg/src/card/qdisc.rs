// SPDX-License-Identifier: Apache-2.0
//! A schedule as a qdisc of Linux and back: taprio, or mqprio where there are no slots. The numbers are of
//! `<linux/pkt_sched.h>`.
use penstock_shaper::slots::{Opening, Schedule, ScheduleError};
use penstock_sys::netlink::{nested, text, Attribute, Attributes, NLA_F_NESTED};

const KIND: u16 = 1; // TCA_*
const OPTIONS: u16 = 2;
const PRIORITY_MAP: u16 = 1; // TCA_TAPRIO_ATTR_*
const ENTRIES: u16 = 2;
const BASE_TIME: u16 = 3;
const CLOCK: u16 = 5;
const WAITING: u16 = 7;
const CYCLE_TIME: u16 = 8;
const FLAGS: u16 = 10;
const ENTRY: u16 = 1;
const ENTRY_COMMAND: u16 = 2; // TCA_TAPRIO_SCHED_ENTRY_*
const ENTRY_GATES: u16 = 3;
const ENTRY_INTERVAL: u16 = 4;
const SET_GATES: u8 = 0;
const CLOCK_TAI: i32 = 11;

const PRIORITIES: usize = 16;
const MAP_BYTES: usize = 84; // struct tc_mqprio_qopt with what aligns what may follow

/// What the kernel has at an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A schedule that acts; whether another one waits for its first cycle.
    Acts { schedule: Schedule, is_waiting: bool },
    /// One that has not begun yet, and none before.
    Begins,
    /// Gates or a map that no schedule has.
    Foreign(String),
    /// Another qdisc.
    Other(String),
}

/// The qdisc of a schedule, whose gate control list is given too.
pub fn attributes(schedule: &Schedule, list: &[Opening]) -> [Attribute; 2] {
    let map = map(schedule.slot_ns.len());
    if list.is_empty() {
        return [text(KIND, "mqprio"), Attribute::new(OPTIONS, map)];
    }
    let entries: Vec<_> = list
        .iter()
        .map(|each| {
            nested(
                ENTRY | NLA_F_NESTED,
                &[
                    Attribute::new(ENTRY_COMMAND, vec![SET_GATES]),
                    Attribute::new(ENTRY_GATES, u32::from(each.queues).to_ne_bytes().to_vec()),
                    Attribute::new(ENTRY_INTERVAL, each.interval_ns.to_ne_bytes().to_vec()),
                ],
            )
        })
        .collect();
    let options = [
        Attribute::new(PRIORITY_MAP, map),
        // Cycles are counted from the begin of TAI: nodes whose clocks agree have them at the same time.
        Attribute::new(BASE_TIME, 0_i64.to_ne_bytes().to_vec()),
        Attribute::new(CLOCK, CLOCK_TAI.to_ne_bytes().to_vec()),
        Attribute::new(CYCLE_TIME, i64::from(schedule.cycle_ns).to_ne_bytes().to_vec()),
        nested(ENTRIES | NLA_F_NESTED, &entries),
    ];
    [text(KIND, "taprio"), nested(OPTIONS | NLA_F_NESTED, &options)]
}

/// What the kernel says of a qdisc.
pub fn found(attributes: Attributes<'_>) -> Found {
    let kind = attributes.text(KIND).unwrap_or_default();
    match kind.as_str() {
        "mqprio" => match queues_of(attributes.get(OPTIONS)) {
            Ok(queues) => schedule(queues, &[], false),
            Err(why) => Found::Foreign(why),
        },
        "taprio" => taprio(attributes.inside(OPTIONS).unwrap_or(Attributes(&[]))),
        _ => Found::Other(kind),
    }
}

fn taprio(options: Attributes<'_>) -> Found {
    if options.number(FLAGS).unwrap_or(0) != 0 {
        return Found::Foreign("taprio leaves its gates to the device, or to launch times".into());
    }
    let queues = match queues_of(options.get(PRIORITY_MAP)) {
        Ok(queues) => queues,
        Err(why) => return Found::Foreign(why),
    };
    let is_waiting = options.get(WAITING).is_some();
    let Some(entries) = options.inside(ENTRIES) else { return Found::Begins };
    let mut list = Vec::new();
    for entry in entries.all(ENTRY).map(Attributes) {
        let gates = entry.number(ENTRY_GATES).and_then(|gates| u16::try_from(gates).ok());
        let command = entry.get(ENTRY_COMMAND).and_then(|bytes| bytes.first().copied());
        let (Some(queues), Some(interval_ns), Some(SET_GATES)) = (gates, entry.number(ENTRY_INTERVAL), command) else {
            return Found::Foreign("an entry of taprio does more than to set gates".into());
        };
        list.push(Opening { queues, interval_ns });
    }
    let cycle_ns =
        options.get(CYCLE_TIME).and_then(|bytes| bytes.first_chunk()).map(|&bytes| i64::from_ne_bytes(bytes));
    let sum_ns: i64 = list.iter().map(|each| i64::from(each.interval_ns)).sum();
    if list.is_empty() || cycle_ns != Some(sum_ns) {
        return Found::Foreign("the entries of taprio do not fill its cycle".into());
    }
    schedule(queues, &list, is_waiting)
}

fn schedule(queues: usize, list: &[Opening], is_waiting: bool) -> Found {
    match Schedule::of_gates(queues, list) {
        Ok(schedule) => Found::Acts { schedule, is_waiting },
        Err(why @ ScheduleError::NoSlot { .. } | why) => Found::Foreign(why.to_string()),
    }
}

/// struct tc_mqprio_qopt: priority k in class k, class k in queue k; priorities without a queue of theirs in the lowest.
fn map(queues: usize) -> Vec<u8> {
    let mut bytes = vec![queues as u8];
    bytes.extend((0..PRIORITIES).map(|priority| if priority < queues { priority as u8 } else { 0 }));
    bytes.push(0); // by software
    for first in [None, Some(())] {
        for class in 0..PRIORITIES {
            let number = if class >= queues { 0 } else { first.map_or(1, |()| class as u16) };
            bytes.extend(number.to_ne_bytes());
        }
    }
    bytes.resize(MAP_BYTES, 0);
    bytes
}

/// How many queues a map has that [`map`] made.
fn queues_of(bytes: Option<&[u8]>) -> Result<usize, String> {
    let bytes = bytes.unwrap_or_default();
    let queues = bytes.first().copied().map_or(0, usize::from);
    let is_ours = (1..=PRIORITIES).contains(&queues) && {
        let ours = map(queues);
        // Of classes that are not there the kernel may say anything.
        let used = |from: usize| from..from + 2 * queues;
        let parts = [0..17, used(18), used(18 + 2 * PRIORITIES)];
        parts.into_iter().all(|part| bytes.get(part.clone()) == ours.get(part))
    };
    if is_ours {
        Ok(queues)
    } else {
        Err("priorities do not go into the queues of their number".into())
    }
}

#[cfg(test)]
mod tests {
    use penstock_sys::netlink::{Emitable, Nla};
    use proptest::prelude::*;

    use super::*;

    fn bytes(attributes: &[Attribute]) -> Vec<u8> {
        let mut bytes = vec![0; attributes.buffer_len()];
        attributes.emit(&mut bytes);
        bytes
    }

    fn scheduled(slot_ns: &[u32], order: &[u8], cycle_ns: u32) -> Schedule {
        Schedule { slot_ns: slot_ns.to_vec(), order: order.to_vec(), cycle_ns, guard_ns: 0 }
    }

    #[test]
    fn what_is_set_is_read_back() {
        for schedule in [
            scheduled(&[50_000, 50_000, 900_000], &[2, 1, 0], 1_000_000),
            scheduled(&[0, 0, 5000], &[2], 10_000),
            scheduled(&[0; 16], &[], 0),
            Schedule { guard_ns: 1231, ..scheduled(&[0, 0, 5000], &[2], 10_000) },
        ] {
            let list = schedule.compile(1231).expect("it can be done");
            let told = bytes(&attributes(&schedule, &list));
            assert_eq!(found(Attributes(&told)), Found::Acts { schedule, is_waiting: false });
        }
    }

    #[test]
    fn what_is_no_schedule_is_told() {
        assert_eq!(found(Attributes(&bytes(&[text(KIND, "fq_codel")]))), Found::Other("fq_codel".into()));
        let map = Attribute::new(PRIORITY_MAP, map(3));
        let waiting = nested(WAITING, &[]);
        let begins = bytes(&[text(KIND, "taprio"), nested(OPTIONS, &[map.clone(), waiting])]);
        assert_eq!(found(Attributes(&begins)), Found::Begins);
        let offloaded = Attribute::new(FLAGS, 2_u32.to_ne_bytes().to_vec());
        for options in [vec![], vec![map.clone(), offloaded], vec![map, nested(ENTRIES, &[])]] {
            let told = bytes(&[text(KIND, "taprio"), nested(OPTIONS, &options)]);
            assert!(matches!(found(Attributes(&told)), Found::Foreign(_)), "{options:?}");
        }
        let mut swapped = super::map(3);
        swapped.swap(1, 2);
        let told = bytes(&[text(KIND, "mqprio"), Attribute::new(OPTIONS, swapped)]);
        assert!(matches!(found(Attributes(&told)), Found::Foreign(_)));
    }

    proptest! {
        /// Whatever the kernel says, nothing panics.
        #[test]
        fn strange_answers_are_read(data in proptest::collection::vec(0_u8..20, 0..200), kind in 0..2) {
            let kind = ["taprio", "mqprio"][kind as usize];
            let told = bytes(&[text(KIND, kind), Attribute::new(OPTIONS, data)]);
            _ = found(Attributes(&told));
        }
    }

    #[test]
    fn the_kernels_struct_has_its_length() {
        let attribute = &attributes(&scheduled(&[0, 0], &[], 0), &[])[1];
        assert_eq!(attribute.value_len(), 84);
    }
}
