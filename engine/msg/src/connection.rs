// SPDX-License-Identifier: Apache-2.0
//! One connection, which carries messages one way: four bytes that say what it is, then each message with its length before it.
use std::io::{self, IoSlice, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::sys::socket::{self, sockopt, AddressFamily, SockFlag, SockType, SockaddrIn};

/// Begins each connection; the last byte is the version.
const MAGIC: [u8; 4] = *b"pmg1";
const HEADER_BYTES: usize = 4;
/// A peer that says nothing for so long while it is asked is dead.
const KEEP_ALIVE_S: u32 = 2;

/// From one's own address, so that the other side knows who one is.
pub fn connect(own: Ipv4Addr, to: SocketAddrV4, priority: i32, timeout: Duration) -> io::Result<TcpStream> {
    let made = socket::socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    prepare(&made, priority, timeout)?;
    socket::bind(made.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(own, 0)))?;
    // The time for sending is the time for connecting too (socket(7)).
    socket::setsockopt(&made, sockopt::SendTimeout, &time_value(timeout))?;
    socket::connect(made.as_raw_fd(), &SockaddrIn::from(to)).map_err(|error| match error {
        nix::Error::EINPROGRESS | nix::Error::EAGAIN => io::Error::from(io::ErrorKind::TimedOut),
        other => other.into(),
    })?;
    let mut stream = TcpStream::from(made);
    stream.set_nodelay(true)?;
    stream.write_all(&MAGIC)?;
    Ok(stream)
}

fn prepare(made: &OwnedFd, priority: i32, timeout: Duration) -> io::Result<()> {
    let milliseconds = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
    socket::setsockopt(made, sockopt::Priority, &priority)?;
    socket::setsockopt(made, sockopt::TcpUserTimeout, &milliseconds)?;
    Ok(())
}

fn time_value(time: Duration) -> nix::sys::time::TimeVal {
    nix::sys::time::TimeVal::new(time.as_secs() as i64, i64::from(time.subsec_micros()))
}

/// A message, whole.
pub fn send(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    let header = (message.len() as u32).to_le_bytes();
    let mut parts = [IoSlice::new(&header), IoSlice::new(message)];
    let mut left = &mut parts[..];
    while !left.is_empty() {
        match stream.write_vectored(left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut left, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// How far a receiver got.
#[derive(Debug, PartialEq, Eq)]
pub enum Read1 {
    /// A message of so many bytes is next.
    Message(u32),
    /// The other side has closed it between two messages.
    Ended,
}

/// Why nothing came.
#[derive(Debug)]
pub enum Broken {
    /// Nothing is lost.
    TimedOut,
    /// A part of a message was read, which is lost with the connection.
    Late,
    /// In the middle of a message, or by an error of the network.
    Lost,
    Strange,
}

/// What comes from a peer. Nothing is lost when time is over before a message has begun to be read.
#[derive(Debug)]
pub struct Incoming {
    stream: TcpStream,
    is_known: bool,
    held: [u8; HEADER_BYTES],
    count: usize,
}

impl Incoming {
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        socket::setsockopt(&stream, sockopt::KeepAlive, &true)?;
        socket::setsockopt(&stream, sockopt::TcpKeepIdle, &KEEP_ALIVE_S)?;
        socket::setsockopt(&stream, sockopt::TcpKeepInterval, &KEEP_ALIVE_S)?;
        socket::setsockopt(&stream, sockopt::TcpKeepCount, &3)?;
        Ok(Self { stream, is_known: false, held: [0; HEADER_BYTES], count: 0 })
    }

    /// Waits for the length of the next message, which stays until it is taken.
    pub fn next(&mut self, until: Option<Instant>) -> Result<Read1, Broken> {
        loop {
            while self.count < HEADER_BYTES {
                match self.some(self.count, until)? {
                    0 if self.count == 0 => return Ok(Read1::Ended),
                    0 => return Err(Broken::Lost),
                    read => self.count += read,
                }
            }
            if self.is_known {
                return Ok(Read1::Message(u32::from_le_bytes(self.held)));
            }
            if self.held != MAGIC {
                return Err(Broken::Strange);
            }
            (self.is_known, self.count) = (true, 0);
        }
    }

    fn some(&mut self, from: usize, until: Option<Instant>) -> Result<usize, Broken> {
        wait(&self.stream, until)?;
        read(&mut self.stream, &mut self.held[from..])
    }

    /// The message that is next; its length is the buffer's.
    pub fn take(&mut self, buffer: &mut [u8], until: Option<Instant>) -> Result<(), Broken> {
        let mut done = 0;
        while done < buffer.len() {
            wait(&self.stream, until)?;
            match read(&mut self.stream, &mut buffer[done..]) {
                Ok(0) => return Err(Broken::Lost),
                Ok(read) => done += read,
                Err(Broken::TimedOut) if done > 0 => return Err(Broken::Late),
                Err(broken) => return Err(broken),
            }
            self.count = 0;
        }
        Ok(())
    }
}

fn wait(stream: &TcpStream, until: Option<Instant>) -> Result<(), Broken> {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    // A timeout of zero would be none.
    stream.set_read_timeout(left.map(|left| left.max(Duration::from_micros(1)))).map_err(|_| Broken::Lost)
}

fn read(stream: &mut TcpStream, buffer: &mut [u8]) -> Result<usize, Broken> {
    loop {
        return match stream.read(buffer) {
            Ok(read) => Ok(read),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                // ETIMEDOUT of a dead peer is not the end of our patience.
                Err(if error.raw_os_error() == Some(nix::libc::ETIMEDOUT) { Broken::Lost } else { Broken::TimedOut })
            }
            Err(_) => Err(Broken::Lost),
        };
    }
}

/// The address of a peer.
pub fn address_of(peer: SocketAddr) -> Option<Ipv4Addr> {
    match peer {
        SocketAddr::V4(peer) => Some(*peer.ip()),
        SocketAddr::V6(_) => None,
    }
}
