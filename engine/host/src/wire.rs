// SPDX-License-Identifier: Apache-2.0
//! The other side of the card's cable: an interface of Linux, another card, or nobody; and a capture of what passes.
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use penstock_frame::{append_frame, pcapng_header, FrameToWrite};
use penstock_sys::open_tap;

const MOST_FRAME_BYTES: usize = 9018;

enum Peer {
    Nobody,
    Tap(File),
    /// Each card has a socket of its own, by whose path the other one finds it.
    Card {
        socket: UnixDatagram,
        own: PathBuf,
        peer: PathBuf,
    },
}

pub struct Wire {
    peer: Peer,
    capture: Option<File>,
    block: Vec<u8>,
    /// Frames that the other side did not take, as a cable without one.
    pub lost: u64,
}

impl Drop for Wire {
    fn drop(&mut self) {
        if let Peer::Card { own, .. } = &self.peer {
            // It may be gone already.
            let _ = std::fs::remove_file(own);
        }
    }
}

impl Wire {
    fn to(peer: Peer) -> Self {
        Self { peer, capture: None, block: Vec::new(), lost: 0 }
    }

    pub fn to_nobody() -> Self {
        Self::to(Peer::Nobody)
    }

    /// To an interface that is made.
    pub fn to_tap(name: &str) -> io::Result<Self> {
        Ok(Self::to(Peer::Tap(open_tap(name)?)))
    }

    /// To another card, which is there now or later.
    pub fn to_card(own: &Path, peer: &Path) -> io::Result<Self> {
        // A socket that a card left which was killed.
        let _ = std::fs::remove_file(own);
        let socket = UnixDatagram::bind(own)?;
        socket.set_nonblocking(true)?;
        Ok(Self::to(Peer::Card { socket, own: own.to_owned(), peer: peer.to_owned() }))
    }

    /// All frames in both directions go into a file, with the card's time.
    pub fn capture(&mut self, path: &Path, interface: &str) -> io::Result<()> {
        let mut file = File::create(path)?;
        file.write_all(&pcapng_header(interface, "penstock-host")?)?;
        self.capture = Some(file);
        Ok(())
    }

    fn keep(&mut self, time_ns: u64, frame: &[u8]) -> io::Result<()> {
        let Some(file) = &mut self.capture else { return Ok(()) };
        self.block.clear();
        append_frame(&mut self.block, &FrameToWrite { time_ns, original_bytes: frame.len() as u32, bytes: frame });
        file.write_all(&self.block)
    }

    /// A frame without FCS leaves the card.
    ///
    /// # Errors
    /// The capture cannot be written.
    pub fn send(&mut self, time_ns: u64, frame: &[u8]) -> io::Result<()> {
        let is_taken = match &mut self.peer {
            Peer::Nobody => true,
            Peer::Tap(file) => file.write(frame).is_ok(),
            Peer::Card { socket, peer, .. } => socket.send_to(frame, peer).is_ok(),
        };
        self.lost += u64::from(!is_taken);
        self.keep(time_ns, frame)
    }

    /// The next frame that has come for the card.
    ///
    /// # Errors
    /// The capture cannot be written, or the interface is gone.
    pub fn receive(&mut self, time_ns: u64) -> io::Result<Option<Vec<u8>>> {
        let mut frame = vec![0; MOST_FRAME_BYTES];
        let read = match &mut self.peer {
            Peer::Nobody => return Ok(None),
            Peer::Tap(file) => file.read(&mut frame),
            Peer::Card { socket, .. } => socket.recv(&mut frame),
        };
        match read {
            Ok(bytes) => frame.truncate(bytes),
            // An interface that is down has no frames either.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(5) => {
                return Ok(None);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(None),
            Err(error) => return Err(error),
        }
        self.keep(time_ns, &frame)?;
        Ok(Some(frame))
    }

    pub fn readable(&self) -> Option<BorrowedFd<'_>> {
        match &self.peer {
            Peer::Nobody => None,
            Peer::Tap(file) => Some(file.as_fd()),
            Peer::Card { socket, .. } => Some(socket.as_fd()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cards_on_a_cable() {
        let folder = std::env::temp_dir().join(format!("penstock-wire-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (left, right) = (folder.join("left"), folder.join("right"));
        let mut one = Wire::to_card(&left, &right).unwrap();
        one.send(0, &[1; 60]).unwrap();
        assert_eq!(one.lost, 1, "nobody is there yet");
        let mut other = Wire::to_card(&right, &left).unwrap();
        one.capture(&folder.join("frames.pcapng"), "left").unwrap();
        one.send(5, &[2; 60]).unwrap();
        assert_eq!(other.receive(0).unwrap(), Some(vec![2; 60]));
        assert_eq!(other.receive(0).unwrap(), None);
        other.send(9, &[3; 64]).unwrap();
        assert_eq!(one.receive(9).unwrap(), Some(vec![3; 64]));
        let kept = penstock_frame::read_capture(&folder.join("frames.pcapng")).unwrap();
        assert_eq!(kept.frames.len(), 2);
        drop((one, other));
        assert!(!left.exists() && !right.exists());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
