// SPDX-License-Identifier: Apache-2.0
//! The guest's memory, which is the card's: addresses are the guest's physical ones, and nothing outside of its regions is
//! ever read or written.
use std::fs::File;
use std::sync::atomic::Ordering;

use thiserror::Error;
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemory, GuestMemoryMmap, Permissions};

/// Regions at most; QEMU has 8.
pub const MOST_REGIONS: usize = 32;

/// A piece of the guest's memory, and where the virtual machine's own process has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    pub guest: u64,
    pub bytes: u64,
    pub user: u64,
    /// Where it begins in its file.
    pub offset: u64,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MemoryError {
    #[error("the memory has {regions} regions; 1 to {most} are allowed", most = MOST_REGIONS)]
    Regions { regions: usize },
    #[error("a region of {bytes:#x} bytes at {guest:#x} cannot be mapped: {why}; regions of files, without overlap, are allowed")]
    Map { guest: u64, bytes: u64, why: String },
}

#[derive(Clone, Debug, Default)]
pub struct Memory {
    mapped: GuestMemoryMmap<()>,
    regions: Vec<Region>,
}

impl Memory {
    /// Of files that the virtual machine shares.
    ///
    /// # Errors
    /// A region that cannot be mapped, or overlaps.
    pub fn of_files(regions: Vec<(Region, File)>) -> Result<Self, MemoryError> {
        if regions.is_empty() || regions.len() > MOST_REGIONS {
            return Err(MemoryError::Regions { regions: regions.len() });
        }
        let known: Vec<Region> = regions.iter().map(|(region, _)| *region).collect();
        let refused = |region: Region, why: String| MemoryError::Map { guest: region.guest, bytes: region.bytes, why };
        for region in &known {
            let ends = [region.guest, region.user, region.offset].map(|begin| begin.checked_add(region.bytes));
            if region.bytes == 0 || ends.iter().any(Option::is_none) {
                return Err(refused(*region, "it has no end".into()));
            }
        }
        let ranges = regions.into_iter().map(|(region, file)| {
            (GuestAddress(region.guest), region.bytes as usize, Some(FileOffset::new(file, region.offset)))
        });
        let mapped =
            GuestMemoryMmap::from_ranges_with_files(ranges).map_err(|error| refused(known[0], error.to_string()))?;
        Ok(Self { mapped, regions: known })
    }

    /// Of this process alone, for a card without a virtual machine; user addresses are the guest's.
    ///
    /// # Errors
    /// Regions that overlap, or for which there is no memory.
    pub fn of_own(ranges: &[(u64, u64)]) -> Result<Self, MemoryError> {
        let regions: Vec<_> =
            ranges.iter().map(|&(guest, bytes)| Region { guest, bytes, user: guest, offset: 0 }).collect();
        let ranges: Vec<_> = ranges.iter().map(|&(guest, bytes)| (GuestAddress(guest), bytes as usize)).collect();
        let mapped = GuestMemoryMmap::from_ranges(&ranges).map_err(|error| MemoryError::Map {
            guest: 0,
            bytes: 0,
            why: error.to_string(),
        })?;
        Ok(Self { mapped, regions })
    }

    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    pub fn mapped(&self) -> &GuestMemoryMmap<()> {
        &self.mapped
    }

    /// The guest's address of one of the virtual machine's process.
    pub fn guest_address(&self, user: u64) -> Option<u64> {
        let region = self.regions.iter().find(|region| user >= region.user && user - region.user < region.bytes)?;
        Some(region.guest + (user - region.user))
    }

    /// Whether all these bytes are the guest's.
    pub fn has(&self, address: u64, bytes: u64) -> bool {
        let Ok(bytes) = usize::try_from(bytes) else { return false };
        address.checked_add(bytes as u64).is_some()
            && GuestMemory::check_range(&self.mapped, GuestAddress(address), bytes, Permissions::ReadWrite)
    }

    /// False: not all of them are the guest's, and what was read is worth nothing.
    #[must_use]
    pub fn read(&self, address: u64, into: &mut [u8]) -> bool {
        self.has(address, into.len() as u64) && self.mapped.read_slice(into, GuestAddress(address)).is_ok()
    }

    /// False: not all of them are the guest's, and nothing was written.
    #[must_use]
    pub fn write(&self, address: u64, bytes: &[u8]) -> bool {
        self.has(address, bytes.len() as u64) && self.mapped.write_slice(bytes, GuestAddress(address)).is_ok()
    }

    /// An index or flags that the driver writes while the card reads: nothing that is read later is older.
    #[must_use]
    pub fn load(&self, address: u64) -> Option<u16> {
        self.mapped.load(GuestAddress(address), Ordering::Acquire).ok().map(u16::from_le)
    }

    /// An index that the driver reads while the card writes: all that was written before is there first.
    #[must_use]
    pub fn store(&self, address: u64, value: u16) -> bool {
        self.mapped.store(value.to_le(), GuestAddress(address), Ordering::Release).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_process_are_those_of_the_guest() {
        let mut memory = Memory::of_own(&[(0, 0x1000), (0x10_0000, 0x2000)]).unwrap();
        memory.regions[1].user = 0x7000_0000;
        assert_eq!(memory.guest_address(0x7000_1FFF), Some(0x10_1FFF));
        assert_eq!(memory.guest_address(0x7000_2000), None);
        assert_eq!(memory.guest_address(0x0FFF), Some(0x0FFF));
    }

    #[test]
    fn nothing_outside_is_touched() {
        let memory = Memory::of_own(&[(0x1000, 0x1000)]).unwrap();
        assert!(memory.write(0x1FFC, &[1; 4]));
        for (address, bytes) in [(0x1FFD, 4), (0x0FFF, 4), (u64::MAX - 1, 4), (0x2000, 1)] {
            assert!(!memory.write(address, &vec![7; bytes]), "{address:#x}");
            assert!(!memory.read(address, &mut vec![0; bytes]), "{address:#x}");
        }
        let mut last = [0; 4];
        assert!(memory.read(0x1FFC, &mut last));
        assert_eq!(last, [1; 4], "a write that goes beyond writes nothing at all");
        assert_eq!(memory.load(0x1FFF), None, "an index lies at an even address");
    }

    #[test]
    fn a_region_without_an_end_is_refused() {
        let file = File::open("/dev/zero").unwrap();
        let region = Region { guest: u64::MAX - 10, bytes: 100, user: 0, offset: 0 };
        assert!(matches!(Memory::of_files(vec![(region, file)]), Err(MemoryError::Map { .. })));
        assert_eq!(Memory::of_files(Vec::new()).unwrap_err(), MemoryError::Regions { regions: 0 });
    }
}
