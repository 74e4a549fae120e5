// SPDX-License-Identifier: Apache-2.0
//! A node, as its programs send and receive.
use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::socket::{setsockopt, shutdown, sockopt, Shutdown};

use crate::connection::{self, address_of, Incoming};
use crate::error::Error;
use crate::identity::{Identity, Tile};
use crate::inbox::{held, Inbox};
use crate::LONGEST;

/// How a node talks. All nodes of a network have the same tile, network and port.
#[derive(Clone, Debug)]
pub struct Options {
    pub tile: Tile,
    /// The first two bytes of all addresses.
    pub network: [u8; 2],
    pub port: u16,
    /// Of frames in the kernel, 0 to 6 without CAP_NET_ADMIN: qdiscs and maps of PCP go by it (SO_PRIORITY).
    pub priority: i32,
    /// For connecting, for what a peer does not acknowledge, and for receiving; none: receiving waits as long as the peer lives.
    pub timeout: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self { tile: Tile::default(), network: [10, 0], port: 5080, priority: 0, timeout: None }
    }
}

/// For what a peer has to acknowledge where no time was said.
const PATIENCE: Duration = Duration::from_secs(20);

type Outgoing = Arc<Mutex<Option<TcpStream>>>;

/// One node of the network, in one process.
#[derive(Debug)]
pub struct Endpoint {
    own: Ipv4Addr,
    options: Options,
    outgoing: Mutex<HashMap<Identity, Outgoing>>,
    inbox: Arc<Inbox>,
    listener: TcpListener,
    accepting: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Begins to listen at the node's address, which one of this host's interfaces has.
    ///
    /// # Errors
    /// There is no such node, or its address cannot be had.
    pub fn open(node: Identity, options: Options) -> Result<Self, Error> {
        let own = node.address(options.tile, options.network)?;
        let system = |why| Error::System { what: "listening at the node's address", why };
        let listener = TcpListener::bind((own, options.port)).map_err(system)?;
        // Connections that come have it from here: what acknowledges a message is of this node's class, too.
        setsockopt(&listener, sockopt::Priority, &options.priority).map_err(|why| system(why.into()))?;
        let inbox = Arc::new(Inbox::default());
        let (accepts, hears) = (listener.try_clone().map_err(system)?, Arc::clone(&inbox));
        let (tile, network) = (options.tile, options.network);
        let accepting = std::thread::Builder::new()
            .name("penstock-msg".into())
            .spawn(move || accept(&accepts, &hears, tile, network))
            .map_err(system)?;
        let outgoing = Mutex::default();
        Ok(Self { own, options, outgoing, inbox, listener, accepting: Some(accepting) })
    }

    /// Hands a message to the kernel, which brings it to the other node or tells by a later call that it could not.
    ///
    /// # Errors
    /// There is no such node, it cannot be reached, it was lost; or the message is empty or too long.
    pub fn send(&self, to: Identity, message: &[u8]) -> Result<(), Error> {
        let address = SocketAddrV4::new(to.address(self.options.tile, self.options.network)?, self.options.port);
        check(message.len())?;
        let lane = Arc::clone(held(&self.outgoing).entry(to).or_default());
        let mut lane = held(&lane);
        let mut stream = match lane.take() {
            Some(stream) => stream,
            None => {
                let patience = self.options.timeout.unwrap_or(PATIENCE);
                connection::connect(self.own, address, self.options.priority, patience)
                    .map_err(|why| Error::Unreachable { node: to, why })?
            }
        };
        match connection::send(&mut stream, message) {
            Ok(()) => *lane = Some(stream),
            // The time for sending is over, or that for what the peer acknowledges.
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Err(Error::TimedOut { node: to });
            }
            Err(_) => return Err(Error::Lost { node: to }),
        }
        Ok(())
    }

    /// Waits for the next message from a node, which has to have as many bytes as the buffer.
    ///
    /// # Errors
    /// There is no such node, nothing came in time, the node was lost in the middle of a message; or the message has
    /// other than so many bytes, and stays to be received.
    pub fn receive(&self, from: Identity, buffer: &mut [u8]) -> Result<(), Error> {
        from.address(self.options.tile, self.options.network)?;
        check(buffer.len())?;
        self.inbox.take(from, buffer, self.until())
    }

    /// Waits for the next message from a node, and says how many bytes it has.
    ///
    /// # Errors
    /// As of [`Self::receive`].
    pub fn next_bytes(&self, from: Identity) -> Result<u32, Error> {
        self.next_bytes_until(from, self.until())
    }

    /// As [`Self::next_bytes`], with a time of its own; none: as long as the peer lives.
    ///
    /// # Errors
    /// As of [`Self::receive`].
    pub fn next_bytes_until(&self, from: Identity, until: Option<Instant>) -> Result<u32, Error> {
        from.address(self.options.tile, self.options.network)?;
        self.inbox.next(from, until)
    }

    /// Who waits for messages gets an error, and who asks later.
    pub fn close(&self) {
        self.inbox.close();
    }

    fn until(&self) -> Option<Instant> {
        self.options.timeout.map(|timeout| Instant::now() + timeout)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.close();
        // Wakes who accepts.
        _ = shutdown(self.listener.as_raw_fd(), Shutdown::Both);
        if let Some(accepting) = self.accepting.take() {
            _ = accepting.join();
        }
    }
}

fn check(bytes: usize) -> Result<(), Error> {
    if bytes == 0 || bytes > LONGEST {
        return Err(Error::Length { bytes: bytes as u64 });
    }
    Ok(())
}

/// Until the listener is shut down. Who is at no address of a node is nobody.
fn accept(listener: &TcpListener, inbox: &Inbox, tile: Tile, network: [u8; 2]) {
    loop {
        match listener.accept() {
            Ok((stream, peer)) => {
                let node = address_of(peer).and_then(|address| Identity::of_address(address, tile, network));
                if let (Some(node), Ok(incoming)) = (node, Incoming::new(stream)) {
                    inbox.add(node, incoming);
                }
            }
            Err(error) if error.raw_os_error() == Some(nix::libc::EINVAL) => return,
            // Out of descriptors or memory: those who come are asked to wait.
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}
