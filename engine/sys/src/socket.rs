// SPDX-License-Identifier: Apache-2.0
//! Packet and UDP sockets with launch times, time stamps and an error queue.
use std::io;
use std::mem;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libc::{c_int, c_void};

use super::ancillary::{Control, ErrorMessage, Message};
use super::checked;
use penstock_frame::MacAddress;

const PACKET_VNET_HDR: c_int = 15;
const PACKET_QDISC_BYPASS: c_int = 20;
const PACKET_IGNORE_OUTGOING: c_int = 23;
const PACKET_MR_UNICAST: c_int = 3;
const BUFFER_BYTES: c_int = 16 << 20;

/// Of struct virtio_net_hdr.
pub const VIRTUAL_HEADER_BYTES: usize = 10;

/// Flags of SO_TXTIME.
#[derive(Clone, Copy, Debug)]
pub struct TxTimeFlags {
    pub deadline_mode: bool,
    pub report_errors: bool,
}

/// A socket that never blocks.
pub struct Socket(OwnedFd);

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Socket {
    /// For whole frames of an interface. Without `receive` it gets none and only sends.
    pub fn packet(interface: c_int, receive: bool) -> io::Result<Socket> {
        let socket = Socket::new(libc::AF_PACKET, libc::SOCK_RAW)?;
        if receive {
            socket.set(libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)?;
            socket.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, 1)?;
        }
        // SAFETY: all zeros is a valid sockaddr_ll.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = interface;
        address.sll_protocol = if receive { (libc::ETH_P_ALL as u16).to_be() } else { 0 };
        socket.bind(&address)?;
        Ok(socket)
    }

    /// For datagrams; bound to an interface, and to an address where one is given.
    pub fn udp(interface: &str, local: SocketAddrV4) -> io::Result<Socket> {
        let socket = Socket::new(libc::AF_INET, libc::SOCK_DGRAM)?;
        let name = interface.as_bytes();
        socket.set_bytes(libc::SOL_SOCKET, libc::SO_BINDTODEVICE, name)?;
        socket.set(libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
        socket.bind(&internet(*local.ip(), local.port()))?;
        Ok(socket)
    }

    /// Lets a packet socket get all frames that reach its interface. The kernel takes it back when the socket is closed, however
    /// the program ends.
    pub fn join_all(&self, interface: c_int) -> io::Result<()> {
        let kind = libc::PACKET_MR_PROMISC as u16;
        let request = libc::packet_mreq { mr_ifindex: interface, mr_type: kind, mr_alen: 0, mr_address: [0; 8] };
        self.set_value(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
    }

    /// What is sent passes no queueing discipline.
    pub fn bypass_qdisc(&self) -> io::Result<()> {
        self.set(libc::SOL_PACKET, PACKET_QDISC_BYPASS, 1)
    }

    /// Ahead of each received frame stands a header of [`VIRTUAL_HEADER_BYTES`] that says what its sender has left to the
    /// device (struct virtio_net_hdr).
    pub fn tell_offloads(&self) -> io::Result<()> {
        self.set(libc::SOL_PACKET, PACKET_VNET_HDR, 1)
    }

    /// Lets a packet socket get the frames for an address that is not the interface's, until the socket is closed.
    pub fn join(&self, interface: c_int, address: MacAddress) -> io::Result<()> {
        let MacAddress(bytes) = address;
        let group = bytes[0] & 1 != 0;
        let mut request = libc::packet_mreq {
            mr_ifindex: interface,
            mr_type: if group { libc::PACKET_MR_MULTICAST } else { PACKET_MR_UNICAST } as u16,
            mr_alen: bytes.len() as u16,
            mr_address: [0; 8],
        };
        request.mr_address[..bytes.len()].copy_from_slice(&bytes);
        self.set_value(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
    }

    /// Sends go to this address from now on; what became of them is told by the error queue.
    pub fn connect(&self, to: SocketAddrV4) -> io::Result<()> {
        self.set(libc::IPPROTO_IP, libc::IP_RECVERR, 1)?;
        let address = internet(*to.ip(), to.port());
        let length = mem::size_of_val(&address) as u32;
        // SAFETY: the structure lives as long as the call and its length is told.
        checked(unsafe { libc::connect(self.0.as_raw_fd(), (&raw const address).cast(), length) }).map(drop)
    }

    /// SO_PRIORITY.
    pub fn set_priority(&self, priority: u32) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_PRIORITY, priority as c_int)
    }

    /// SO_TXTIME on CLOCK_TAI.
    pub fn use_launch_times(&self, flags: TxTimeFlags) -> io::Result<()> {
        let deadline = if flags.deadline_mode { libc::SOF_TXTIME_DEADLINE_MODE } else { 0 };
        let report = if flags.report_errors { libc::SOF_TXTIME_REPORT_ERRORS } else { 0 };
        let value = libc::sock_txtime { clockid: libc::CLOCK_TAI, flags: deadline | report };
        self.set_value(libc::SOL_SOCKET, libc::SO_TXTIME, &value)
    }

    /// Stamps of sent frames, by hardware and kernel, in the error queue, with the number of the frame.
    pub fn stamp_sent(&self) -> io::Result<()> {
        let flags = libc::SOF_TIMESTAMPING_TX_SOFTWARE
            | libc::SOF_TIMESTAMPING_TX_HARDWARE
            | libc::SOF_TIMESTAMPING_SOFTWARE
            | libc::SOF_TIMESTAMPING_RAW_HARDWARE
            | libc::SOF_TIMESTAMPING_OPT_ID
            | libc::SOF_TIMESTAMPING_OPT_TSONLY
            | libc::SOF_TIMESTAMPING_OPT_TX_SWHW;
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags as c_int)
    }

    /// Stamps of received frames, by hardware and kernel, and the count of frames that found no room.
    pub fn stamp_received(&self) -> io::Result<()> {
        let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE
            | libc::SOF_TIMESTAMPING_RX_HARDWARE
            | libc::SOF_TIMESTAMPING_SOFTWARE
            | libc::SOF_TIMESTAMPING_RAW_HARDWARE;
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags as c_int)?;
        self.set(libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)
    }

    /// Room for what is not yet read or not yet sent, beyond the system's limit where that is allowed.
    pub fn enlarge_buffers(&self) {
        for (force, usual) in [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)] {
            if self.set(libc::SOL_SOCKET, force, BUFFER_BYTES).is_err() {
                // A smaller buffer is no fault; what is lost by it is counted.
                let _ = self.set(libc::SOL_SOCKET, usual, BUFFER_BYTES);
            }
        }
    }

    /// Frames that found no room in a packet socket since the last call.
    pub fn packet_drops(&self) -> io::Result<u32> {
        let mut counts = [0_u32; 2]; // struct tpacket_stats: packets, drops
        let mut length = mem::size_of_val(&counts) as u32;
        let at = counts.as_mut_ptr().cast::<c_void>();
        let (level, name) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
        // SAFETY: the array lives as long as the call and its length is told.
        checked(unsafe { libc::getsockopt(self.0.as_raw_fd(), level, name, at, &mut length) })?;
        Ok(counts[1])
    }

    /// Sends a frame or datagram, at a launch time where one is given.
    pub fn send(&self, bytes: &[u8], launch_tai_ns: Option<u64>) -> io::Result<()> {
        let mut control = Control::new();
        let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        // SAFETY: all zeros is a valid msghdr; all that it points to lives as long as the call and is only read.
        let sent = unsafe {
            let mut message: libc::msghdr = mem::zeroed();
            message.msg_iov = &mut part;
            message.msg_iovlen = 1;
            if let Some(launch) = launch_tai_ns {
                control.put(&mut message, libc::SOL_SOCKET, libc::SCM_TXTIME, launch);
            }
            libc::sendmsg(self.0.as_raw_fd(), &message, libc::MSG_DONTWAIT)
        };
        match usize::try_from(sent) {
            Err(_) => Err(io::Error::last_os_error()),
            Ok(length) if length != bytes.len() => Err(io::Error::from(io::ErrorKind::WriteZero)),
            Ok(_) => Ok(()),
        }
    }

    /// The next frame or datagram; None when there is none now.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<Message>> {
        self.read(buffer, 0, Message::read)
    }

    /// The next message of the error queue; None when there is none now.
    pub fn error_message(&self) -> io::Result<Option<ErrorMessage>> {
        self.read(&mut [0; 256], libc::MSG_ERRQUEUE, |message, _| ErrorMessage::read(message))
    }

    fn read<T>(
        &self,
        buffer: &mut [u8],
        flags: c_int,
        take: impl Fn(&libc::msghdr, usize) -> T,
    ) -> io::Result<Option<T>> {
        let mut control = Control::new();
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        // SAFETY: all zeros is a valid msghdr; all that it points to lives until `take` has read it.
        unsafe {
            let mut message: libc::msghdr = mem::zeroed();
            message.msg_iov = &mut part;
            message.msg_iovlen = 1;
            control.offer(&mut message);
            let length = libc::recvmsg(self.0.as_raw_fd(), &mut message, flags | libc::MSG_DONTWAIT | libc::MSG_TRUNC);
            match usize::try_from(length) {
                Ok(length) => Ok(Some(take(&message, length))),
                Err(_) => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                    error => Err(error),
                },
            }
        }
    }

    pub(super) fn descriptor(&self) -> c_int {
        self.0.as_raw_fd()
    }

    fn new(family: c_int, kind: c_int) -> io::Result<Socket> {
        let kind = kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: a new descriptor, owned by nobody else.
        unsafe { Ok(Socket(OwnedFd::from_raw_fd(checked(libc::socket(family, kind, 0))?))) }
    }

    fn bind<T>(&self, address: &T) -> io::Result<()> {
        let length = mem::size_of_val(address) as u32;
        // SAFETY: the structure lives as long as the call and its length is told.
        checked(unsafe { libc::bind(self.0.as_raw_fd(), std::ptr::from_ref(address).cast(), length) }).map(drop)
    }

    fn set(&self, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
        self.set_value(level, name, &value)
    }

    fn set_value<T>(&self, level: c_int, name: c_int, value: &T) -> io::Result<()> {
        // SAFETY: any value may be seen as bytes by the kernel, which only reads it.
        let bytes = unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast::<u8>(), mem::size_of::<T>()) };
        self.set_bytes(level, name, bytes)
    }

    fn set_bytes(&self, level: c_int, name: c_int, bytes: &[u8]) -> io::Result<()> {
        let (at, length) = (bytes.as_ptr().cast::<c_void>(), bytes.len() as u32);
        // SAFETY: the slice lives as long as the call and its length is told.
        checked(unsafe { libc::setsockopt(self.0.as_raw_fd(), level, name, at, length) }).map(drop)
    }
}

fn internet(address: Ipv4Addr, port: u16) -> libc::sockaddr_in {
    // SAFETY: all zeros is a valid sockaddr_in.
    let mut internet: libc::sockaddr_in = unsafe { mem::zeroed() };
    internet.sin_family = libc::AF_INET as u16;
    internet.sin_port = port.to_be();
    internet.sin_addr.s_addr = u32::from(address).to_be();
    internet
}
