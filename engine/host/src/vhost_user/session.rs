// SPDX-License-Identifier: Apache-2.0
//! What the messages mean: memory, rings, and when a ring runs. It reads and writes no socket.
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use thiserror::Error;

use super::message::*;
use crate::card::{Card, FEATURE_CTRL_VQ, FEATURE_MQ, FEATURE_MRG_RXBUF, FEATURE_VERSION_1};
use crate::memory::{Memory, MemoryError, Region};
use crate::ring::{Layout, RingError};

/// VHOST_USER_F_PROTOCOL_FEATURES
const FEATURE_PROTOCOL: u64 = 1 << 30;
const FEATURES: u64 = FEATURE_VERSION_1 | FEATURE_MRG_RXBUF | FEATURE_MQ | FEATURE_CTRL_VQ | FEATURE_PROTOCOL;
/// Several queue pairs, and an answer to each request.
const PROTOCOL_FEATURES: u64 = 1 | 1 << 3;
/// No file comes with the message: the ring is polled, or nobody is told.
const NO_FILE: u64 = 1 << 8;
const REGION_BYTES: usize = 32;

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SessionError {
    #[error("request {request} is not known; those of a network device with several queues are allowed")]
    Unknown { request: u32 },
    #[error("request {request} with {bytes} bytes; as many as it takes are allowed")]
    Payload { request: u32, bytes: usize },
    #[error("request {request} with {files} files; as many as it takes are allowed")]
    Files { request: u32, files: usize },
    #[error("ring {ring} of {rings}; 0 to one less are allowed")]
    Ring { ring: u32, rings: usize },
    #[error("features {features:#x}; those of {offered:#x} are allowed", offered = FEATURES)]
    Features { features: u64 },
    #[error("ring {ring}: address {address:#x} is in no region of the memory; addresses in one are allowed")]
    Address { ring: usize, address: u64 },
    #[error("ring {ring}: {error}")]
    Refused { ring: usize, error: RingError },
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

#[derive(Debug, Default)]
struct Vring {
    size: u16,
    base: u16,
    /// Descriptors, available and used ring, by the addresses of the virtual machine's process.
    addresses: Option<[u64; 3]>,
    kick: Option<OwnedFd>,
    call: Option<OwnedFd>,
    error: Option<OwnedFd>,
    is_enabled: bool,
    /// It was told to run: from the first kick's file until its base is asked for.
    is_started: bool,
    /// The card runs it.
    runs: bool,
}

pub struct Session {
    features: u64,
    rings: Vec<Vring>,
    memory: Option<Arc<Memory>>,
}

impl Session {
    pub fn new(pairs: usize) -> Self {
        Self { features: 0, rings: (0..2 * pairs).map(|_| Vring::default()).collect(), memory: None }
    }

    /// The files by which rings are kicked.
    pub fn kicks(&self) -> impl Iterator<Item = (usize, BorrowedFd<'_>)> {
        let of = |(ring, vring)| -> Option<(usize, BorrowedFd<'_>)> {
            let vring: &Vring = vring;
            Some((ring, vring.kick.as_ref()?.as_fd()))
        };
        self.rings.iter().enumerate().filter_map(of)
    }

    /// The file by which the driver of a ring is told that chains were given back.
    pub fn call(&self, ring: usize) -> Option<BorrowedFd<'_>> {
        self.rings.get(ring)?.call.as_ref().map(AsFd::as_fd)
    }

    /// The file by which the driver of a ring is told that it stands still.
    pub fn error(&self, ring: usize) -> Option<BorrowedFd<'_>> {
        self.rings.get(ring)?.error.as_ref().map(AsFd::as_fd)
    }

    /// Does what a message says; gives the answer, if there is one.
    ///
    /// # Errors
    /// It is refused, and nothing has changed.
    pub fn handle(
        &mut self,
        message: &Message,
        files: Vec<OwnedFd>,
        card: &mut dyn Card,
    ) -> Result<Option<Vec<u8>>, SessionError> {
        let payload = |bytes: Option<u64>| bytes.ok_or(wrong_payload(message));
        match message.request {
            GET_FEATURES => return Ok(Some(FEATURES.to_le_bytes().to_vec())),
            GET_PROTOCOL_FEATURES => return Ok(Some(PROTOCOL_FEATURES.to_le_bytes().to_vec())),
            GET_QUEUE_NUM => return Ok(Some((self.rings.len() as u64 / 2).to_le_bytes().to_vec())),
            GET_VRING_BASE => {
                let ring = self.ring_of(message)?;
                let base = self.stop(ring, card);
                let answer = [(ring as u32).to_le_bytes(), u32::from(base).to_le_bytes()];
                return Ok(Some(answer.concat()));
            }
            SET_OWNER => {}
            RESET_OWNER | RESET_DEVICE => self.reset(card),
            SET_FEATURES => {
                let features = payload(message.u64_at(0))?;
                if features & !FEATURES != 0 {
                    return Err(SessionError::Features { features });
                }
                self.features = features;
                card.set_features(features);
                self.run_all(card)?;
            }
            SET_PROTOCOL_FEATURES => {
                let features = payload(message.u64_at(0))?;
                if features & !PROTOCOL_FEATURES != 0 {
                    return Err(SessionError::Features { features });
                }
            }
            SET_MEM_TABLE => self.set_memory(message, files, card)?,
            SET_VRING_NUM => {
                let ring = self.ring_of(message)?;
                let size = message.u32_at(4).ok_or(wrong_payload(message))?;
                self.rings[ring].size = u16::try_from(size).map_err(|_| wrong_payload(message))?;
            }
            SET_VRING_BASE => {
                let ring = self.ring_of(message)?;
                self.rings[ring].base = message.u32_at(4).ok_or(wrong_payload(message))? as u16;
            }
            SET_VRING_ADDR => {
                let ring = self.ring_of(message)?;
                let [descriptors, used, available] = [8, 16, 24].map(|at| message.u64_at(at));
                let addresses = descriptors.zip(available).zip(used).map(|((d, a), u)| [d, a, u]);
                self.rings[ring].addresses = Some(addresses.ok_or(wrong_payload(message))?);
                if self.rings[ring].runs {
                    // The driver's process may map the ring elsewhere while it runs.
                    self.rings[ring].base = self.pause(ring, card);
                    self.run(ring, card)?;
                }
            }
            SET_VRING_KICK | SET_VRING_CALL | SET_VRING_ERR => {
                let word = payload(message.u64_at(0))?;
                let ring = self.checked((word & 0xFF) as u32)?;
                let count = files.len();
                let file = files.into_iter().next();
                if file.is_some() == (word & NO_FILE != 0) || count > 1 {
                    return Err(SessionError::Files { request: message.request, files: count });
                }
                let vring = &mut self.rings[ring];
                match message.request {
                    SET_VRING_KICK => {
                        (vring.kick, vring.is_started) = (file, true);
                        self.run(ring, card)?;
                    }
                    SET_VRING_CALL => vring.call = file,
                    _ => vring.error = file,
                }
            }
            SET_VRING_ENABLE => {
                let ring = self.ring_of(message)?;
                let is_enabled = message.u32_at(4).ok_or(wrong_payload(message))? != 0;
                self.rings[ring].is_enabled = is_enabled;
                if is_enabled {
                    self.run(ring, card)?;
                } else if self.rings[ring].runs {
                    self.rings[ring].base = self.pause(ring, card);
                }
            }
            request => return Err(SessionError::Unknown { request }),
        }
        Ok(None)
    }

    /// The virtual machine is gone.
    pub fn reset(&mut self, card: &mut dyn Card) {
        for ring in 0..self.rings.len() {
            self.stop(ring, card);
            self.rings[ring] = Vring::default();
        }
    }

    fn checked(&self, ring: u32) -> Result<usize, SessionError> {
        let rings = self.rings.len();
        usize::try_from(ring).ok().filter(|&ring| ring < rings).ok_or(SessionError::Ring { ring, rings })
    }

    fn ring_of(&self, message: &Message) -> Result<usize, SessionError> {
        self.checked(message.u32_at(0).ok_or(wrong_payload(message))?)
    }

    fn set_memory(&mut self, message: &Message, files: Vec<OwnedFd>, card: &mut dyn Card) -> Result<(), SessionError> {
        let count = message.u32_at(0).ok_or(wrong_payload(message))? as usize;
        if message.payload.len() != 8 + REGION_BYTES * count {
            return Err(wrong_payload(message));
        }
        if files.len() != count {
            return Err(SessionError::Files { request: message.request, files: files.len() });
        }
        let region = |(number, file): (usize, OwnedFd)| {
            let at = |word: usize| message.u64_at(8 + REGION_BYTES * number + 8 * word).unwrap_or(0);
            (Region { guest: at(0), bytes: at(1), user: at(2), offset: at(3) }, File::from(file))
        };
        let memory = Arc::new(Memory::of_files(files.into_iter().enumerate().map(region).collect())?);
        for ring in 0..self.rings.len() {
            if self.rings[ring].runs {
                self.rings[ring].base = self.pause(ring, card);
            }
        }
        card.set_memory(Arc::clone(&memory));
        self.memory = Some(memory);
        self.run_all(card)
    }

    fn run_all(&mut self, card: &mut dyn Card) -> Result<(), SessionError> {
        (0..self.rings.len()).try_for_each(|ring| self.run(ring, card))
    }

    /// Lets the card run a ring that is started and enabled, and of which all is known. Without protocol features rings are
    /// enabled from the begin on.
    fn run(&mut self, ring: usize, card: &mut dyn Card) -> Result<(), SessionError> {
        let vring = &self.rings[ring];
        let is_enabled = vring.is_enabled || self.features & FEATURE_PROTOCOL == 0;
        if vring.runs || !vring.is_started || !is_enabled || self.features & FEATURE_VERSION_1 == 0 {
            return Ok(());
        }
        let (Some(addresses), Some(memory)) = (vring.addresses, &self.memory) else { return Ok(()) };
        let mut guest = [0; 3];
        for (found, address) in guest.iter_mut().zip(addresses) {
            *found = memory.guest_address(address).ok_or(SessionError::Address { ring, address })?;
        }
        let [descriptors, available, used] = guest;
        let layout = Layout { size: vring.size, descriptors, available, used };
        card.start(ring, layout, vring.base).map_err(|error| SessionError::Refused { ring, error })?;
        card.kick(ring);
        self.rings[ring].runs = true;
        Ok(())
    }

    /// The card stops it; gives where it would go on.
    fn pause(&mut self, ring: usize, card: &mut dyn Card) -> u16 {
        if !std::mem::take(&mut self.rings[ring].runs) {
            return self.rings[ring].base;
        }
        card.stop(ring)
    }

    fn stop(&mut self, ring: usize, card: &mut dyn Card) -> u16 {
        let base = self.pause(ring, card);
        let vring = &mut self.rings[ring];
        (vring.base, vring.is_started, vring.kick, vring.call) = (base, false, None, None);
        base
    }
}

fn wrong_payload(message: &Message) -> SessionError {
    SessionError::Payload { request: message.request, bytes: message.payload.len() }
}

#[cfg(test)]
mod tests;
