// SPDX-License-Identifier: Apache-2.0
//! The socket to the virtual machine: whole messages, with the files that came along.
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{recvmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};

use super::message::{Message, HEADER_BYTES, MOST_FILES};

/// A message and its files.
pub type Received = (Message, Vec<OwnedFd>);

pub struct Connection {
    stream: UnixStream,
    unread: Vec<u8>,
    files: Vec<OwnedFd>,
}

impl Connection {
    pub fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream, unread: Vec::new(), files: Vec::new() })
    }

    /// The next message, if all of it has come.
    ///
    /// # Errors
    /// The other side is gone, or sends what is no message.
    pub fn receive(&mut self) -> io::Result<Option<Received>> {
        loop {
            if let Some(header) = self.unread.first_chunk::<HEADER_BYTES>() {
                let (mut message, bytes) = Message::of_header(header).map_err(io::Error::other)?;
                let end = HEADER_BYTES + bytes;
                if self.unread.len() >= end {
                    message.payload = self.unread[HEADER_BYTES..end].to_vec();
                    self.unread.drain(..end);
                    return Ok(Some((message, std::mem::take(&mut self.files))));
                }
            }
            if !self.read_more()? {
                return Ok(None);
            }
        }
    }

    /// Reads no more than is missing of the message, so that files are those of this one.
    fn read_more(&mut self) -> io::Result<bool> {
        let missing = match self.unread.first_chunk::<HEADER_BYTES>() {
            None => HEADER_BYTES - self.unread.len(),
            Some(header) => {
                let (_, bytes) = Message::of_header(header).map_err(io::Error::other)?;
                HEADER_BYTES + bytes - self.unread.len()
            }
        };
        let mut bytes = vec![0; missing];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let count = match recvmsg(&self.stream, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags) {
            Ok(received) => received.bytes,
            Err(rustix::io::Errno::AGAIN) => return Ok(false),
            Err(rustix::io::Errno::INTR) => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = message {
                self.files.extend(files);
            }
        }
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if self.files.len() > MOST_FILES {
            return Err(io::Error::other("more files than a message can have"));
        }
        self.unread.extend_from_slice(&bytes[..count]);
        Ok(true)
    }

    /// An answer, whole.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        use std::io::Write;
        // It is short, and the other side waits for it.
        self.stream.set_nonblocking(false)?;
        let sent = self.stream.write_all(bytes);
        self.stream.set_nonblocking(true)?;
        sent
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
