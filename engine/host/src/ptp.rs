// SPDX-License-Identifier: Apache-2.0
//! A card's PTP clock and its stamps by their registers, `ptp` of `hw/regs/pen_switch.rdl`.
use penstock_shaper::ptp_clock::Command;

use crate::card::{Card, NoRegister};

pub const DATA: u16 = 0x200;
pub const COMMAND: u16 = 0x300;
pub const STATUS: u16 = 0x304;
pub const NANOSECONDS: u16 = 0x308;
pub const FRACTION: u16 = 0x30C;
pub const SECONDS_LOW: u16 = 0x310;
pub const SECONDS_HIGH: u16 = 0x314;
pub const INCREMENT_FRACTION: u16 = 0x318;
pub const INCREMENT_NS: u16 = 0x31C;
pub const STAMP_WAITING: u16 = 0x380;
pub const STAMP_LOST: u16 = 0x384;
pub const STAMP_TAKE: u16 = 0x388;
pub const STAMP_TAG: u16 = 0x38C;
pub const STAMP_NANOSECONDS: u16 = 0x390;
pub const STAMP_FRACTION: u16 = 0x394;
pub const STAMP_SECONDS_LOW: u16 = 0x398;
pub const STAMP_SECONDS_HIGH: u16 = 0x39C;
/// Ports whose frames all get a stamp: bit p those that port p receives, bit 8 + p those that it sends.
pub const STAMP_ALL: u16 = 0x3A0;

/// Of the sources of stamps what port 0 has sent; those behind it are of the other ports.
pub const SENT: u32 = 8;

/// When a message was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// messageType above 16 bits of sequenceId; bit 20: no event message.
    pub message: u32,
    pub seconds: u64,
    pub ns: u32,
    /// In 2^-8 ns.
    pub fraction: u32,
}

/// The oldest stamp of what a port sent; None: there is none.
///
/// # Errors
/// The card has no stamps.
pub fn take_stamp(card: &mut dyn Card, port: u32) -> Result<Option<Stamp>, NoRegister> {
    card.write(STAMP_TAKE, SENT + port)?;
    let tag = card.read(STAMP_TAG)?;
    if tag >> 31 == 0 {
        return Ok(None);
    }
    Ok(Some(Stamp {
        message: tag & 0x7FFF_FFFF,
        ns: card.read(STAMP_NANOSECONDS)?,
        fraction: card.read(STAMP_FRACTION)? >> 24,
        seconds: u64::from(card.read(STAMP_SECONDS_HIGH)?) << 32 | u64::from(card.read(STAMP_SECONDS_LOW)?),
    }))
}

/// Tells the clock something; gives what is wrong with it, as the register has it, or zero.
///
/// # Errors
/// The card has no clock.
pub fn tell(card: &mut dyn Card, command: Command) -> Result<u32, NoRegister> {
    let (number, words) = match command {
        Command::Set { s, ns } => (1, [ns, s as u32, (s >> 32) as u32]),
        Command::Step { s, ns } => (2, [ns, s as u32, (s >> 32) as u32 & 0xFFFF]),
        Command::Slew { ns, rate } => (3, [ns as u32, rate, 0]),
        Command::Increment(increment) => (4, [increment as u32, (increment >> 32) as u32, 0]),
    };
    for (address, word) in (DATA..).step_by(4).zip(words) {
        card.write(address, word)?;
    }
    card.write(COMMAND, number)?;
    Ok(card.read(STATUS)? & 7)
}
