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
const AHEAD_BYTES: usize = 1 << 14;
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

/// What a peer does next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
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

/// What comes from a peer. Nothing is lost when time is over before a message has begun to be taken.
#[derive(Debug)]
pub struct Incoming {
    stream: TcpStream,
    /// What the kernel was told last.
    timeout: Option<Duration>,
    is_known: bool,
    /// Read ahead, so that short messages take one call each, or fewer.
    ahead: Box<[u8]>,
    from: usize,
    to: usize,
}

impl Incoming {
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        socket::setsockopt(&stream, sockopt::KeepAlive, &true)?;
        socket::setsockopt(&stream, sockopt::TcpKeepIdle, &KEEP_ALIVE_S)?;
        socket::setsockopt(&stream, sockopt::TcpKeepInterval, &KEEP_ALIVE_S)?;
        socket::setsockopt(&stream, sockopt::TcpKeepCount, &3)?;
        let ahead = vec![0; AHEAD_BYTES].into_boxed_slice();
        Ok(Self { stream, timeout: None, is_known: false, ahead, from: 0, to: 0 })
    }

    /// Waits for the length of the next message, which stays until it is taken.
    pub fn next(&mut self, until: Option<Instant>) -> Result<Next, Broken> {
        loop {
            while self.to - self.from < HEADER_BYTES {
                if self.from > 0 {
                    self.ahead.copy_within(self.from..self.to, 0);
                    (self.from, self.to) = (0, self.to - self.from);
                }
                self.wait(until)?;
                match read(&mut self.stream, &mut self.ahead[self.to..])? {
                    0 if self.to == 0 => return Ok(Next::Ended),
                    0 => return Err(Broken::Lost),
                    read => self.to += read,
                }
            }
            let mut word = [0; HEADER_BYTES];
            word.copy_from_slice(&self.ahead[self.from..self.from + HEADER_BYTES]);
            if self.is_known {
                return Ok(Next::Message(u32::from_le_bytes(word)));
            }
            if word != MAGIC {
                return Err(Broken::Strange);
            }
            self.is_known = true;
            self.from += HEADER_BYTES;
        }
    }

    /// The message that is next; its length is the buffer's.
    pub fn take(&mut self, buffer: &mut [u8], until: Option<Instant>) -> Result<(), Broken> {
        let begin = self.from + HEADER_BYTES;
        let mut done = buffer.len().min(self.to - begin);
        buffer[..done].copy_from_slice(&self.ahead[begin..begin + done]);
        if done == 0 {
            // Of the message itself nothing is here: it stays until something comes.
            self.wait(until)?;
            done = match read(&mut self.stream, buffer)? {
                0 => return Err(Broken::Lost),
                read => read,
            };
            (self.from, self.to) = (0, 0);
        } else {
            self.from = begin + done;
        }
        while done < buffer.len() {
            let came = self.wait(until).and_then(|()| read(&mut self.stream, &mut buffer[done..]));
            match came {
                Ok(0) => return Err(Broken::Lost),
                Ok(read) => done += read,
                Err(Broken::TimedOut) => return Err(Broken::Late),
                Err(broken) => return Err(broken),
            }
        }
        Ok(())
    }

    fn wait(&mut self, until: Option<Instant>) -> Result<(), Broken> {
        // A timeout of zero would be none.
        let left = until.map(|until| until.saturating_duration_since(Instant::now()).max(Duration::from_micros(1)));
        if left != self.timeout {
            self.stream.set_read_timeout(left).map_err(|_| Broken::Lost)?;
            self.timeout = left;
        }
        Ok(())
    }
}

fn read(stream: &mut TcpStream, buffer: &mut [u8]) -> Result<usize, Broken> {
    loop {
        return match stream.read(buffer) {
            Ok(read) => Ok(read),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(Broken::TimedOut),
            // Also ETIMEDOUT, of a peer that is dead.
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
