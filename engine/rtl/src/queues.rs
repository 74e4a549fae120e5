// SPDX-License-Identifier: Apache-2.0
//! The registers by which a host sets up the card's virtqueues, and rings their doorbells.
use crate::card::Card;
use crate::library::HardwareError;

const PAIRS: u32 = 0x00C;
const NOTIFY: u32 = 0x030;
const ERRORS: u32 = 0x038;
/// Selects the queue of all that follows.
pub const SELECT: u32 = 0x040;
const DESCRIPTORS: u32 = 0x044;
const DRIVER: u32 = 0x04C;
const DEVICE: u32 = 0x054;
const SIZE: u32 = 0x05C;
const INDEX: u32 = 0x060;
const COMMAND: u32 = 0x064;
/// Next index of the available ring; bit 16: it runs; bits 23:20: why it stands still.
pub const STATE: u32 = 0x068;
const WINDOW_FIRST: u32 = 0x070;
const WINDOW_LAST: u32 = 0x080;
pub const WINDOWS: usize = 4;
pub const PAGE_BITS: u32 = 12;

/// Where a split virtqueue is, and where it begins or goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    pub descriptors: u64,
    pub driver: u64,
    pub device: u64,
    pub size: u16,
    pub next_available: u16,
    pub next_used: u16,
}

impl Card {
    /// Queue pairs of each port.
    pub fn pairs(&mut self) -> Result<usize, HardwareError> {
        Ok(self.read(PAIRS)? as usize)
    }

    fn write_pair(&mut self, address: u32, value: u64) -> Result<(), HardwareError> {
        self.write(address, value as u32)?;
        self.write(address + 4, (value >> 32) as u32)
    }

    /// The memory that the card may touch: first and last page, both included. What is left of [`WINDOWS`] stays shut.
    pub fn set_windows(&mut self, pages: &[(u64, u64)]) -> Result<(), HardwareError> {
        let page = |page: u64| page.min(u32::MAX.into()) as u32;
        for at in 0..WINDOWS {
            let (first, last) = pages.get(at).copied().unwrap_or((1, 0));
            self.write(WINDOW_FIRST + 4 * at as u32, page(first))?;
            self.write(WINDOW_LAST + 4 * at as u32, page(last))?;
        }
        Ok(())
    }

    /// Virtqueue 2k receives for pair k, 2k + 1 sends.
    pub fn start_queue(&mut self, number: u32, queue: &Queue) -> Result<(), HardwareError> {
        self.write(SELECT, number)?;
        self.write_pair(DESCRIPTORS, queue.descriptors)?;
        self.write_pair(DRIVER, queue.driver)?;
        self.write_pair(DEVICE, queue.device)?;
        self.write(SIZE, queue.size.into())?;
        self.write(INDEX, u32::from(queue.next_available) | u32::from(queue.next_used) << 16)?;
        self.write(COMMAND, 1)
    }

    /// Nothing of it is touched afterwards. Gives the index at which it would go on.
    pub fn stop_queue(&mut self, number: u32) -> Result<u16, HardwareError> {
        self.write(SELECT, number)?;
        self.write(COMMAND, 0)?;
        Ok(self.queue_state(number)? as u16)
    }

    pub fn queue_state(&mut self, number: u32) -> Result<u32, HardwareError> {
        self.write(SELECT, number)?;
        self.read(STATE)
    }

    /// Bit v: virtqueue v stands still by an error.
    pub fn queue_errors(&mut self) -> Result<u32, HardwareError> {
        self.read(ERRORS)
    }

    /// The driver has made chains available.
    pub fn notify(&mut self, number: u32) -> Result<(), HardwareError> {
        self.write(NOTIFY, number)
    }
}
