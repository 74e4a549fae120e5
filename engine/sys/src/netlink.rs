// SPDX-License-Identifier: Apache-2.0
//! Requests to the kernel by rtnetlink, and what it tells by itself, in the network namespace of the thread.
use std::io;

use netlink_packet_core::{
    DecodeError, DefaultNla, NetlinkBuffer, NetlinkHeader, NlasIterator, NLMSG_DONE, NLMSG_ERROR, NLM_F_ACK,
    NLM_F_ACK_TLVS, NLM_F_CAPPED, NLM_F_DUMP, NLM_F_REQUEST,
};
pub use netlink_packet_core::{Emitable, Nla, NLA_F_NESTED, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_sys::{protocols::NETLINK_ROUTE, Socket, SocketAddr};

/// As large as the kernel makes the messages of a dump.
const BUFFER_BYTES: usize = 1 << 16;
const ERROR_TEXT: u16 = 1; // NLMSGERR_ATTR_MSG
const HEADER_BYTES: usize = 16; // struct nlmsghdr

/// An attribute by number.
pub type Attribute = DefaultNla;

/// What follows a message's header: a struct of the kernel's, then attributes.
#[derive(Debug, Default)]
pub struct Body(pub Vec<u8>);

impl Body {
    /// Adds attributes behind the struct.
    pub fn with(mut self, attributes: &[Attribute]) -> Self {
        self.0.extend(emitted(attributes));
        self
    }
}

/// An attribute that holds others.
pub fn nested(kind: u16, attributes: &[Attribute]) -> Attribute {
    Attribute::new(kind, emitted(attributes))
}

/// An attribute that holds text.
pub fn text(kind: u16, text: &str) -> Attribute {
    Attribute::new(kind, [text.as_bytes(), &[0]].concat())
}

fn emitted(attributes: &[Attribute]) -> Vec<u8> {
    let mut bytes = vec![0; attributes.buffer_len()];
    attributes.emit(&mut bytes);
    bytes
}

/// The attributes of a message or of another attribute.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a>(pub &'a [u8]);

impl<'a> Attributes<'a> {
    /// All of a number, in their order; what is cut short ends them.
    pub fn all(self, kind: u16) -> impl Iterator<Item = &'a [u8]> {
        let whole = NlasIterator::new(self.0).map_while(|each: Result<_, DecodeError>| each.ok());
        whole.filter(move |each| each.kind() == kind).map(|each| {
            let value: &'a [u8] = each.into_inner().get(4..usize::from(each.length())).unwrap_or_default();
            value
        })
    }

    /// The first of a number.
    pub fn get(self, kind: u16) -> Option<&'a [u8]> {
        self.all(kind).next()
    }

    /// The first of a number, which holds others.
    pub fn inside(self, kind: u16) -> Option<Attributes<'a>> {
        self.get(kind).map(Attributes)
    }

    /// The first of a number, which is text.
    pub fn text(self, kind: u16) -> Option<String> {
        let bytes = self.get(kind)?;
        Some(String::from_utf8_lossy(bytes.strip_suffix(&[0]).unwrap_or(bytes)).into_owned())
    }

    /// The first of a number, which is a whole number of four bytes.
    pub fn number(self, kind: u16) -> Option<u32> {
        Some(u32::from_ne_bytes(self.get(kind)?.first_chunk().copied()?))
    }
}

/// A socket to the kernel.
pub struct Connection {
    socket: Socket,
    sequence: u32,
}

impl Connection {
    /// One of this thread's namespace.
    ///
    /// # Errors
    /// The kernel gives no such socket.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        // Old kernels say less.
        _ = socket.set_ext_ack(true);
        _ = socket.set_cap_ack(true);
        Ok(Self { socket, sequence: 0 })
    }

    /// Has the kernel do something, and waits until it has.
    ///
    /// # Errors
    /// It refused; with its own words where it has some.
    pub fn request(&mut self, kind: u16, flags: u16, body: &Body) -> io::Result<()> {
        self.ask(kind, NLM_F_REQUEST | NLM_F_ACK | flags, body).map(drop)
    }

    /// All that the kernel lists: of each message what follows its header.
    ///
    /// # Errors
    /// It refused.
    pub fn dump(&mut self, kind: u16, body: &Body) -> io::Result<Vec<Vec<u8>>> {
        self.ask(kind, NLM_F_REQUEST | NLM_F_DUMP, body)
    }

    /// The one message that answers a question.
    ///
    /// # Errors
    /// It refused, or had no answer.
    pub fn one(&mut self, kind: u16, body: &Body) -> io::Result<Vec<u8>> {
        let answers = self.ask(kind, NLM_F_REQUEST | NLM_F_ACK, body)?;
        answers.into_iter().next().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn ask(&mut self, kind: u16, flags: u16, body: &Body) -> io::Result<Vec<Vec<u8>>> {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.length = (HEADER_BYTES + body.0.len()) as u32;
        header.message_type = kind;
        header.flags = flags;
        header.sequence_number = self.sequence;
        let mut message = vec![0; HEADER_BYTES];
        header.emit(&mut message);
        message.extend(&body.0);
        self.socket.send(&message, 0)?;
        let mut found = Vec::new();
        loop {
            let mut data = Vec::with_capacity(BUFFER_BYTES);
            self.socket.recv(&mut data, 0)?;
            let mut rest = &data[..];
            while let Ok(message) = NetlinkBuffer::new_checked(rest) {
                if message.sequence_number() == self.sequence {
                    match message.message_type() {
                        NLMSG_ERROR | NLMSG_DONE => return ended(message.payload(), message.flags()).map(|()| found),
                        _ => found.push(message.payload().to_vec()),
                    }
                }
                rest = rest.get((message.length() as usize).next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }
}

/// What the kernel tells by itself of a group, such as links that go down and up.
pub struct Events {
    socket: Socket,
}

impl Events {
    /// From now on; `groups` are the bits of RTMGRP_*.
    ///
    /// # Errors
    /// The kernel gives no such socket.
    pub fn open(groups: u32) -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind(&SocketAddr::new(0, groups))?;
        Ok(Self { socket })
    }

    /// Waits until something was told; what came together is one event, and so is more than was kept.
    ///
    /// # Errors
    /// The socket is broken, or a signal came.
    pub fn wait(&mut self) -> io::Result<()> {
        self.socket.set_non_blocking(false)?;
        match self.next() {
            Err(error) if error.raw_os_error() != Some(libc::ENOBUFS) => return Err(error),
            _ => self.socket.set_non_blocking(true)?,
        }
        loop {
            match self.next() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.raw_os_error() != Some(libc::ENOBUFS) => return Err(error),
                _ => {}
            }
        }
    }

    fn next(&self) -> io::Result<usize> {
        self.socket.recv(&mut Vec::with_capacity(BUFFER_BYTES), 0)
    }
}

fn ended(payload: &[u8], flags: u16) -> io::Result<()> {
    let code = payload.first_chunk().map_or(0, |&bytes| i32::from_ne_bytes(bytes));
    if code >= 0 {
        return Ok(());
    }
    let plain = io::Error::from_raw_os_error(-code);
    // Behind the code is the request, of which NLM_F_CAPPED leaves the header.
    let is_told = flags & NLM_F_ACK_TLVS != 0 && flags & NLM_F_CAPPED != 0;
    let words = payload.get(4 + HEADER_BYTES..).filter(|_| is_told).and_then(|rest| Attributes(rest).text(ERROR_TEXT));
    Err(words.map_or(plain, |words| io::Error::new(io::Error::from_raw_os_error(-code).kind(), words)))
}
