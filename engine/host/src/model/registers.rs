// SPDX-License-Identifier: Apache-2.0
//! The registers of the card's model, at the addresses of `pen_nic`: what is staged, and what a write asks for.
use penstock_shaper::ats::Rate;
use penstock_shaper::gates::Entry;
use penstock_shaper::ptp_clock::Command;
use penstock_shaper::slots::{Schedule, ScheduleError, MOST_SLOTS};

use super::ats::OVERHEAD_BYTES;
use super::steering::{Rule, Steering};
use penstock_shaper::admission::CLASSES;

use crate::card::NoRegister;
use crate::ptp::{self, DATA};

pub const ID: u32 = 0x5045_4E4E;
pub const VERSION: u32 = 1 << 16;

/// What a write asks for beyond being kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    Nothing,
    RoundRobin(u8),
    GateEnable(bool),
    /// The staged list becomes pending.
    GateCommit,
    /// The staged slots become pending; without slots the queues take turns again.
    SlotCommit(Schedule),
    /// idleSlope of a class in 2^-24 bit a cycle; None: none.
    Credit(usize, Option<u32>),
    /// What is set of launch times has changed.
    Launch,
    /// Which queues have ATS has changed, or what counts of a frame.
    Ats,
    /// The rate of a queue's scheduler.
    Rate(usize, Rate),
    /// MaxResidenceTime of a class in ns.
    Residence(usize, u32),
    /// A command of the PTP clock; None: there is none of this number.
    Clock(Option<Command>),
    /// Of which ports all frames get a stamp.
    StampAll(u32),
    /// The oldest stamp of a source is to be read.
    TakeStamp(u32),
}

/// What can be read back as it was written, and what is staged.
#[derive(Clone, Debug)]
pub struct Registers {
    data: [u32; 4],
    index: u32,
    entries: Vec<Entry>,
    admin: [u32; 6],
    gate_enable: u32,
    pub round_robin: u32,
    slot_ns: [u32; CLASSES],
    order: Vec<u8>,
    slots: u32,
    cycle_ns: u32,
    guard_ns: u32,
    pub selected: u32,
    pub steering: Steering,
    /// Queues with launch times, those that drop late frames, and what is too far ahead.
    pub launch: u32,
    pub launch_drop: u32,
    pub launch_horizon_ns: u32,
    /// Queues with ATS, and the bytes that count beside a frame.
    pub ats: u32,
    pub ats_overhead_bytes: u32,
}

/// The slots are those of no gate list: too many entries, or one that is too short.
pub const NO_LIST: u32 = 9;

const INDEX: u16 = 0x210;
const COMMIT: u16 = 0x214;
const ADMIN: u16 = 0x400;
const GATE_COMMIT: u16 = 0x418;
const GATE_ENABLE: u16 = 0x440;
const ROUND_ROBIN: u16 = 0x460;
const FILTER: u16 = 0x480;
const WAYS: u16 = 0x484;
const PAIR_OF_PCP: u16 = 0x488;
const ADDRESS: u16 = 0x48C;
const ADDRESS_HIGH: u16 = 0x490;
const TQCR_US: u16 = 0x500;
const TQCR_NS: u16 = 0x540;
const SLOT_CYCLE: u16 = 0x580;
const SLOT_GUARD: u16 = 0x584;
const SLOT_COUNT: u16 = 0x588;
const SLOT_COMMIT: u16 = 0x58C;
const SCR: u16 = 0x600;
const SCR_END: u16 = SCR + MOST_SLOTS as u16;
const QUEUE_SELECT: u16 = 0x040;
const LAUNCH_ENABLE: u16 = 0x680;
const LAUNCH_DROP: u16 = 0x684;
const LAUNCH_HORIZON: u16 = 0x688;
const ATS_QUEUES: u16 = 0x690;
const ATS_OVERHEAD: u16 = 0x694;

/// Entries of the staging area for gate lists.
const MOST_ENTRIES: usize = 1024;
const TABLE_RATE: u32 = 1;
const TABLE_GROUP: u32 = 2;
const TABLE_GATES: u32 = 6;
const TABLE_CREDIT: u32 = 7;
const TABLE_STEERING: u32 = 9;

impl Registers {
    pub fn new(pairs: usize) -> Self {
        Self {
            data: [0; 4],
            index: 0,
            entries: vec![Entry { operation: 0, states: 0xFF, interval: 0 }; MOST_ENTRIES],
            admin: [0; 6],
            gate_enable: 0,
            round_robin: (1 << pairs.min(CLASSES)) - 1,
            slot_ns: [0; CLASSES],
            order: vec![0; MOST_SLOTS],
            slots: 0,
            cycle_ns: 0,
            guard_ns: 0,
            selected: 0,
            steering: Steering::default(),
            launch: 0,
            launch_drop: 0,
            launch_horizon_ns: u32::MAX,
            ats: 0,
            ats_overhead_bytes: OVERHEAD_BYTES,
        }
    }

    /// The staged gate list: AdminBaseTime in ns, AdminCycleTime, its extension, and the entries.
    pub fn gate_list(&self) -> Option<(u64, u64, u64, Vec<Entry>)> {
        let [seconds_low, seconds_high, ns, cycle, extension, length] = self.admin.map(u64::from);
        let base = (seconds_high << 32 | seconds_low).checked_mul(1_000_000_000)?.checked_add(ns)?;
        let entries = self.entries.get(..length as usize)?.to_vec();
        Some((base, cycle, extension, entries))
    }

    /// None: there is no such register here.
    pub fn read(&self, address: u16) -> Option<u32> {
        let word = |from: u16| usize::from(address - from) / 4;
        Some(match address {
            QUEUE_SELECT => self.selected,
            DATA..INDEX => self.data[word(DATA)],
            INDEX => self.index,
            COMMIT | GATE_COMMIT | SLOT_COMMIT | ptp::COMMAND => 0,
            LAUNCH_ENABLE => self.launch,
            LAUNCH_DROP => self.launch_drop,
            LAUNCH_HORIZON => self.launch_horizon_ns,
            ATS_QUEUES => self.ats,
            ATS_OVERHEAD => self.ats_overhead_bytes,
            ADMIN..GATE_COMMIT => self.admin[word(ADMIN)],
            GATE_ENABLE => self.gate_enable,
            ROUND_ROBIN => self.round_robin,
            FILTER => self.steering.filter,
            WAYS => self.steering.ways,
            PAIR_OF_PCP => self.steering.pair_of_pcp,
            ADDRESS => self.steering.address[0],
            ADDRESS_HIGH => self.steering.address[1],
            TQCR_US..TQCR_NS => self.slot_ns.get(word(TQCR_US))? / 1000,
            TQCR_NS..SLOT_CYCLE => *self.slot_ns.get(word(TQCR_NS))?,
            SLOT_CYCLE => self.cycle_ns,
            SLOT_GUARD => self.guard_ns,
            SLOT_COUNT => self.slots,
            SCR..SCR_END => {
                let at = 4 * word(SCR);
                u32::from_le_bytes(self.order.get(at..at + 4)?.try_into().ok()?)
            }
            _ => return None,
        })
    }

    /// # Errors
    /// There is no such register here, or it is only read.
    pub fn write(&mut self, address: u16, value: u32) -> Result<Request, NoRegister> {
        let missing = NoRegister { address };
        let word = |from: u16| usize::from(address - from) / 4;
        match address {
            QUEUE_SELECT => self.selected = value,
            ptp::COMMAND => return Ok(Request::Clock(self.clock_command(value))),
            ptp::STAMP_ALL => return Ok(Request::StampAll(value)),
            ptp::STAMP_TAKE => return Ok(Request::TakeStamp(value)),
            LAUNCH_ENABLE..=LAUNCH_HORIZON => {
                match address {
                    LAUNCH_ENABLE => self.launch = value & 0xFFFF,
                    LAUNCH_DROP => self.launch_drop = value & 0xFFFF,
                    _ => self.launch_horizon_ns = value,
                }
                return Ok(Request::Launch);
            }
            ATS_QUEUES | ATS_OVERHEAD => {
                match address {
                    ATS_QUEUES => self.ats = value & 0xFFFF,
                    _ => self.ats_overhead_bytes = value & 0xFF,
                }
                return Ok(Request::Ats);
            }
            DATA..INDEX => self.data[word(DATA)] = value,
            INDEX => self.index = value & 0xFFFF,
            COMMIT => return self.commit(value).ok_or(missing),
            ADMIN..GATE_COMMIT => self.admin[word(ADMIN)] = value,
            GATE_COMMIT => return Ok(Request::GateCommit),
            GATE_ENABLE => {
                self.gate_enable = value & 1;
                return Ok(Request::GateEnable(value & 1 == 1));
            }
            ROUND_ROBIN => {
                self.round_robin = value & 0xFF;
                return Ok(Request::RoundRobin(self.round_robin as u8));
            }
            TQCR_US..TQCR_NS => {
                *self.slot_ns.get_mut(word(TQCR_US)).ok_or(missing)? = value.saturating_mul(1000);
            }
            TQCR_NS..SLOT_CYCLE => *self.slot_ns.get_mut(word(TQCR_NS)).ok_or(missing)? = value,
            FILTER => self.steering.filter = value & 3,
            WAYS => self.steering.ways = value & 3,
            PAIR_OF_PCP => self.steering.pair_of_pcp = value,
            ADDRESS => self.steering.address[0] = value,
            ADDRESS_HIGH => self.steering.address[1] = value & 0xFFFF,
            SLOT_CYCLE => self.cycle_ns = value,
            SLOT_GUARD => self.guard_ns = value,
            SLOT_COUNT => self.slots = value,
            SLOT_COMMIT => return Ok(Request::SlotCommit(self.schedule())),
            SCR..SCR_END => {
                let at = 4 * word(SCR);
                self.order.get_mut(at..at + 4).ok_or(missing)?.copy_from_slice(&value.to_le_bytes());
            }
            _ => return Err(missing),
        }
        Ok(Request::Nothing)
    }

    fn schedule(&self) -> Schedule {
        let slots = self.slots as usize;
        // More than there are is refused by the schedule itself.
        let mut order = self.order.clone();
        order.resize(slots.min(MOST_SLOTS + 1), 0);
        Schedule { slot_ns: self.slot_ns.to_vec(), order, cycle_ns: self.cycle_ns, guard_ns: self.guard_ns }
    }

    /// None: there is no such command.
    fn clock_command(&self, number: u32) -> Option<Command> {
        let [first, second, third, _] = self.data;
        let seconds = u64::from(third & 0xFFFF) << 32 | u64::from(second);
        Some(match number & 7 {
            1 => Command::Set { s: seconds, ns: first },
            // Of 48 bits.
            2 => Command::Step { s: (seconds << 16) as i64 >> 16, ns: first },
            3 => Command::Slew { ns: first as i32, rate: second },
            4 => Command::Increment(u64::from(second & 0xFF) << 32 | u64::from(first)),
            _ => return None,
        })
    }

    fn commit(&mut self, table: u32) -> Option<Request> {
        match table & 0xF {
            TABLE_RATE => {
                let [low, middle, high, _] = self.data.map(u64::from);
                let rate = Rate::from_bits(middle << 32 | low, high << 20 | middle >> 12);
                Some(Request::Rate(self.index as usize, rate))
            }
            TABLE_GROUP => Some(Request::Residence(self.index as usize, self.data[0])),
            TABLE_GATES => {
                let entry = self.entries.get_mut(self.index as usize)?;
                let [interval, states_operation, ..] = self.data;
                *entry = Entry {
                    operation: (states_operation >> 8 & 3) as u8,
                    states: states_operation as u8,
                    interval: u64::from(interval),
                };
                Some(Request::Nothing)
            }
            TABLE_CREDIT => {
                let class = (self.index & 7) as usize;
                let slope = (self.data[3] & 1 == 1).then_some(self.data[0] & 0xFFF_FFFF);
                Some(Request::Credit(class, slope))
            }
            TABLE_STEERING => {
                self.steering.set_rule(self.index as usize, Rule::of_words(self.data));
                Some(Request::Nothing)
            }
            _ => Some(Request::Nothing),
        }
    }
}

/// The number by which a register says it.
pub fn code(error: &ScheduleError) -> u32 {
    match error {
        ScheduleError::Queues { .. } => 1,
        ScheduleError::Slots { .. } => 2,
        ScheduleError::UnknownQueue { .. } => 3,
        ScheduleError::NoTime { .. } => 4,
        ScheduleError::NotInOrder { .. } => 5,
        ScheduleError::TooLong { .. } => 6,
        ScheduleError::Cycle { .. } => 7,
        ScheduleError::TooShort { .. } => 8,
        ScheduleError::TwoLengths { .. } | ScheduleError::NoSlot { .. } => 9,
    }
}
