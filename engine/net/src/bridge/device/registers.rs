// SPDX-License-Identifier: Apache-2.0
//! The registers of the switch by their addresses, as in hw/regs/pen_switch.rdl: what a write changes.
use penstock_shaper::forwarding;
use penstock_shaper::gates::Entry;
use penstock_shaper::identification::FIELDS;
use penstock_shaper::ptp_clock::Command;

use crate::bridge::{Change, GateRegisters, Identify, Tick, Translation};

const ID: u32 = 0x5045_4E53;
const VERSION: u32 = 1 << 16 | 1;
const MAX_FRAME_BYTES: u16 = 2_000;
pub const CELL_MASK: u32 = 0xFFF;

/// What the hardware was built with.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub ports: u16,
    pub streams: u32,
    pub cells: u32,
    pub fdb_sets: u32,
    /// The last port is the host's.
    pub host: bool,
}

/// A table's entry that is to be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Commit {
    Change(Change),
    GateEntry {
        index: u16,
        entry: Entry,
    },
    /// A number that no table has.
    Nothing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    Change(Change),
    Commit(Commit),
    GateCommit {
        port: u16,
        registers: GateRegisters,
    },
    /// Of the PTP clock; none: there is no such command.
    Clock(Option<Command>),
    /// It is written, and nothing follows from it.
    Plain,
    /// No register has this address.
    Missing,
}

/// All words that can be written and read back.
#[derive(Clone, Debug)]
pub struct Registers {
    sizes: Sizes,
    /// 0x100 to 0x47F.
    settings: Vec<u32>,
    data: [u32; 4],
    index: u16,
    ipv4_mask: u128,
    clock_error: u8,
    /// Time since reset, as it was asked for last.
    time_ns: u64,
}

const SETTINGS: u32 = 0x100;
const SETTINGS_END: u32 = 0x480;

fn class_of_pcp(word: u32) -> [u8; 8] {
    std::array::from_fn(|pcp| (word >> (4 * pcp) & 7) as u8)
}

impl Registers {
    pub fn new(sizes: Sizes, processing_delay_max_ns: u32, shares: [u32; 3]) -> Self {
        let mut settings = vec![0; ((SETTINGS_END - SETTINGS) / 4) as usize];
        let mut set = |address: u32, value| settings[((address - SETTINGS) / 4) as usize] = value;
        set(0x100, 0xFF);
        set(0x104, 1522);
        set(0x108, 0x5432_7601);
        set(0x10C, 5);
        set(0x110, 0xC0);
        set(0x114, 20);
        set(0x118, processing_delay_max_ns);
        set(0x11C, 1);
        set(0x120, 100_000);
        for n in 0..8 {
            set(0x140 + 4 * n, 1);
            set(0x180 + 4 * n, 256);
            set(0x1A0 + 4 * n, 640);
        }
        for n in 0..8 {
            set(0x420 + 4 * n, 0xFF);
        }
        for (n, share) in shares.into_iter().enumerate() {
            set(0x1C0 + 4 * n as u32, share);
        }
        Self { sizes, settings, data: [0; 4], index: 0, ipv4_mask: FIELDS, clock_error: 0, time_ns: 0 }
    }

    fn is_setting(address: u32) -> bool {
        matches!(address, 0x100..=0x124 | 0x12C | 0x140..=0x170 | 0x180..=0x1C8 | 0x400..=0x414 | 0x420..=0x444 | 0x460..=0x47C)
    }

    /// What a read that starts in a cycle gives; none where nothing can be read.
    pub fn read(&mut self, address: u32, start: Tick) -> Option<u32> {
        let address = address & 0xFFFC;
        Some(match address {
            0x000 => ID,
            0x004 => VERSION,
            0x008 => u32::from(self.sizes.ports),
            0x00C => self.sizes.streams,
            0x010 => self.sizes.cells,
            0x014 => self.sizes.fdb_sets,
            0x018 => 0,
            0x01C => u32::from(self.sizes.host),
            // Of the cycle in which it is asked for; the upper half is that of the same time.
            0x020 => {
                self.time_ns = (start + 1) * 8;
                self.time_ns as u32
            }
            0x024 => (self.time_ns >> 32) as u32,
            0x130..=0x13C => (self.ipv4_mask >> (8 * (address - 0x130))) as u32,
            0x200..=0x20C => self.data[((address - 0x200) / 4) as usize],
            0x210 => u32::from(self.index),
            // Cannot be read, and is no error.
            0x214 | 0x418 => 0,
            0x304 => u32::from(self.clock_error),
            _ if Self::is_setting(address) => self.settings[((address - SETTINGS) / 4) as usize],
            _ => return None,
        })
    }

    /// What a write does; it is remembered for reads at once.
    pub fn write(&mut self, address: u32, value: u32) -> Access {
        let address = address & 0xFFFC;
        let which = (address >> 2 & 7) as u8;
        let mask: u32 = match address {
            0x100 | 0x110 | 0x114 | 0x160 | 0x168 | 0x16C | 0x170 => 0xFF,
            0x104 => 0x7FF,
            0x108 => 0x7777_7777,
            0x10C | 0x124 | 0x164 => 7,
            0x118 | 0x120 => u32::MAX,
            0x11C => 1,
            0x12C => 0xFFFF,
            0x140..=0x15C | 0x180..=0x1C8 => CELL_MASK,
            0x200..=0x20C => {
                self.data[((address - 0x200) / 4) as usize] = value;
                return Access::Plain;
            }
            0x210 => {
                self.index = value as u16;
                return Access::Plain;
            }
            0x214 => return Access::Commit(self.commit(value & 0xF)),
            0x300 => return Access::Clock(self.clock_command(value & 7)),
            0x418 => return Access::GateCommit { port: (value & 7) as u16, registers: self.gate_registers() },
            0x400 | 0x40C | 0x410 => u32::MAX,
            0x404 | 0x414 => 0xFFFF,
            0x408 => 0x3FFF_FFFF,
            0x420..=0x440 | 0x460..=0x47C => 0xFF,
            0x444 => 1,
            0x000..=0x020 | 0x024 | 0x130..=0x13C | 0x1000..=0x17FC => return Access::Plain,
            _ => return Access::Missing,
        };
        let value = value & mask;
        self.settings[((address - SETTINGS) / 4) as usize] = value;
        let all_ports = (1 << self.sizes.ports) - 1;
        Access::Change(match address {
            0x100 => Change::PortEnable(u64::from(value) & all_ports),
            0x104 => Change::MaxFrameBytes((value as u16).min(MAX_FRAME_BYTES)),
            0x108 => Change::ClassOfPcp(class_of_pcp(value)),
            0x10C => Change::ClassOfUntagged(value as u8),
            0x164 => Change::PcpOfUntagged(value as u8),
            0x160 => Change::VlanTagging(u64::from(value) & all_ports),
            0x168 => Change::VlanTranslation(u64::from(value) & all_ports),
            0x16C => Change::RTagRemoval(u64::from(value) & all_ports),
            0x170 => Change::PtpCorrection(u64::from(value) & all_ports),
            0x110 => Change::AtsClasses(value as u8),
            0x114 => Change::OverheadBytes(value as u8),
            0x118 => Change::ProcessingDelayMaxNs(value),
            0x11C => Change::Learning(value == 1),
            0x120 => Change::AgingPeriodMs(value),
            0x124 => {
                Change::Identify(Identify { ipv4: value & 1 != 0, destination: value & 2 != 0, source: value & 4 != 0 })
            }
            0x12C => Change::ReservedToHost(value as u16),
            0x140..=0x15C => Change::PortVlan { port: u16::from(which), vlan: value as u16 },
            0x180..=0x19C => Change::QueueLimit { traffic_class: which, cells: value },
            0x1A0..=0x1BC => Change::ClassLimit { traffic_class: which, cells: value },
            0x1C0 => Change::QueueGuarantee(value),
            0x1C4 => Change::ReceptionGuarantee(value),
            0x1C8 => Change::SharedLimit(value),
            0x420..=0x43C => Change::GateStates { port: u16::from(which), states: value as u8 },
            0x440 => Change::GateEnable(u64::from(value) & all_ports),
            0x444 => Change::CountGap(value == 1),
            0x460..=0x47C => Change::RoundRobin { port: u16::from(which), members: value as u8 },
            _ => return Access::Plain,
        })
    }

    fn word(&self, address: u32) -> u32 {
        self.settings[((address - SETTINGS) / 4) as usize]
    }

    fn gate_registers(&self) -> GateRegisters {
        GateRegisters {
            base_s: u64::from(self.word(0x404)) << 32 | u64::from(self.word(0x400)),
            base_ns: self.word(0x408),
            cycle_time_ns: self.word(0x40C),
            extension_ns: self.word(0x410),
            length: self.word(0x414) as u16,
        }
    }

    fn clock_command(&self, command: u32) -> Option<Command> {
        let [low, middle, high, _] = self.data;
        let s = u64::from(high & 0xFFFF) << 32 | u64::from(middle);
        Some(match command {
            1 => Command::Set { s, ns: low },
            2 => Command::Step { s: (s << 16) as i64 >> 16, ns: low },
            3 => Command::Slew { ns: low as i32, rate: middle },
            4 => Command::Increment(u64::from(middle & 0xFF) << 32 | u64::from(low)),
            _ => return None,
        })
    }

    pub fn set_clock_error(&mut self, error: u8) {
        self.clock_error = error;
    }

    fn commit(&mut self, table: u32) -> Commit {
        let data = self.data.iter().rev().fold(0_u128, |all, &word| all << 32 | u128::from(word));
        let index = self.index;
        let field = |low: u32, bits: u32| (data >> low) as u64 & (u64::MAX >> (64 - bits));
        Commit::Change(match table {
            0 => {
                let entry = (data & ((1 << 109) - 1), field(109, 12) as u16);
                let handles = self.sizes.streams as u16 - 1;
                Change::Stream {
                    table: (index >> 15) as u8,
                    slot: u32::from(index & 0x7FFF),
                    entry: (field(121, 1) == 1).then_some((entry.0, entry.1 & handles)),
                }
            }
            1 => Change::Rate { stream: index, ns_per_byte: field(0, 44), empty_to_full: field(44, 52) },
            2 => Change::Residence { port: index >> 3 & 7, traffic_class: (index & 7) as u8, ns: field(0, 32) as u32 },
            3 => Change::Vlan {
                vlan: index & 0xFFF,
                members: field(0, 8),
                untagged: field(8, 8),
                translation: Translation {
                    vlan: field(16, 12) as u16,
                    pcp: (field(31, 1) == 1).then_some(field(28, 3) as u8),
                },
            },
            4 => Change::Fdb {
                way: (index >> 15) as u8,
                set: u32::from(index & 0x7FFF),
                entry: forwarding::Entry::new(
                    field(71, 1) == 1,
                    field(70, 1) == 1,
                    field(68, 2) as u8,
                    field(60, 8),
                    field(48, 12) as u16,
                    field(0, 48),
                ),
            },
            5 => {
                self.ipv4_mask = data & FIELDS;
                Change::Ipv4Mask(self.ipv4_mask)
            }
            6 => {
                let (operation, states, interval) = (field(40, 2) as u8, field(32, 8) as u8, field(0, 32));
                return Commit::GateEntry { index, entry: Entry { operation, states, interval } };
            }
            7 => Change::Credit {
                port: index >> 3 & 7,
                traffic_class: (index & 7) as u8,
                enable: field(96, 1) == 1,
                idle_slope: field(0, 28),
                gated: self.word(0x440) >> (index >> 3 & 7) & 1 == 1,
            },
            8 => Change::MaxSdu { port: index >> 3 & 7, traffic_class: (index & 7) as u8, bytes: field(0, 11) as u16 },
            10 => Change::Numbering { stream: index, numbered: field(0, 1) == 1 },
            _ => return Commit::Nothing,
        })
    }
}
