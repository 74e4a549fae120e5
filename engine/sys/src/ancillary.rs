// SPDX-License-Identifier: Apache-2.0
//! What comes beside a message: time stamps, the tag that the kernel took out, errors of sent frames.
use std::mem;

use libc::c_int;

const SO_EE_ORIGIN_TXTIME: u8 = 6;
const SO_EE_CODE_TXTIME_MISSED: u8 = 2;
const PACKET_TX_TIMESTAMP: c_int = 16;
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;
const WORDS: usize = 64;

/// struct tpacket_auxdata of linux/if_packet.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct AuxiliaryData {
    status: u32,
    len: u32,
    snaplen: u32,
    mac: u16,
    net: u16,
    vlan_tci: u16,
    vlan_tpid: u16,
}

/// What is known of a received frame or datagram.
#[derive(Clone, Copy, Debug, Default)]
pub struct Message {
    /// As it was, even where the buffer was shorter.
    pub length: usize,
    /// The tag control information of a tag that the kernel took out of the frame.
    pub stripped_tci: Option<u16>,
    /// And its EtherType, where the kernel says it.
    pub stripped_tpid: Option<u16>,
    /// The kernel's stamp, CLOCK_REALTIME.
    pub kernel_realtime_ns: Option<u64>,
    /// The interface's stamp, of its own clock.
    pub hardware_ns: Option<u64>,
    /// Frames that found no room in this socket so far.
    pub drops: Option<u32>,
}

/// What the error queue says of a sent frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorMessage {
    /// When frame number `frame` of the socket left.
    Stamp { frame: u32, kernel_realtime_ns: Option<u64>, hardware_ns: Option<u64> },
    /// The frame with this launch time was dropped: too late, or a launch time that makes no sense.
    Launch { missed: bool, launch_tai_ns: u64 },
    /// Something else, as an answer that nobody listens.
    Other { errno: u32 },
}

/// Room for ancillary data, aligned as the kernel wants it.
pub(super) struct Control([u64; WORDS]);

impl Control {
    pub(super) fn new() -> Control {
        Control([0; WORDS])
    }

    /// Lets the kernel write here.
    pub(super) fn offer(&mut self, message: &mut libc::msghdr) {
        message.msg_control = self.0.as_mut_ptr().cast();
        message.msg_controllen = mem::size_of_val(&self.0);
    }

    /// Puts the only piece of data of a message.
    ///
    /// # Safety
    /// `self` has to live as long as the message is used.
    pub(super) unsafe fn put(&mut self, message: &mut libc::msghdr, level: c_int, kind: c_int, value: u64) {
        let size = mem::size_of::<u64>() as u32;
        message.msg_control = self.0.as_mut_ptr().cast();
        // SAFETY: the room is far larger than one header with eight bytes, so the first header is there.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(size) as usize;
            let header = libc::CMSG_FIRSTHDR(message);
            (*header).cmsg_level = level;
            (*header).cmsg_type = kind;
            (*header).cmsg_len = libc::CMSG_LEN(size) as usize;
            libc::CMSG_DATA(header).cast::<u64>().write_unaligned(value);
        }
    }
}

/// Calls `see` with level, type and data of each piece of ancillary data.
fn each(message: &libc::msghdr, mut see: impl FnMut(c_int, c_int, &[u8])) {
    // SAFETY: the kernel has written the headers; the macros keep to the length that it gave.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            let length = (*header).cmsg_len.saturating_sub(libc::CMSG_LEN(0) as usize);
            see((*header).cmsg_level, (*header).cmsg_type, std::slice::from_raw_parts(libc::CMSG_DATA(header), length));
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
}

/// Reads a plain C structure of integers.
fn value<T: Copy>(data: &[u8]) -> Option<T> {
    // SAFETY: there are enough bytes, and `T` is made of integers only, so that any bytes are valid.
    (data.len() >= mem::size_of::<T>()).then(|| unsafe { data.as_ptr().cast::<T>().read_unaligned() })
}

/// The kernel's and the hardware's stamp of struct scm_timestamping.
fn stamps(data: &[u8]) -> (Option<u64>, Option<u64>) {
    let Some(times) = value::<[libc::timespec; 3]>(data) else { return (None, None) };
    let ns = |time: libc::timespec| {
        let ns = i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
        u64::try_from(ns).ok().filter(|&ns| ns != 0)
    };
    (ns(times[0]), ns(times[2]))
}

impl Message {
    /// Of a message that the kernel has filled.
    pub(super) fn read(message: &libc::msghdr, length: usize) -> Message {
        let mut found = Message { length, ..Message::default() };
        each(message, |level, kind, data| match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                (found.kernel_realtime_ns, found.hardware_ns) = stamps(data);
            }
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => found.drops = value(data),
            (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                let auxiliary = value::<AuxiliaryData>(data);
                let tagged = auxiliary.filter(|a| a.status & TP_STATUS_VLAN_VALID != 0);
                found.stripped_tci = tagged.map(|a| a.vlan_tci);
                let told = tagged.filter(|a| a.status & TP_STATUS_VLAN_TPID_VALID != 0);
                found.stripped_tpid = told.map(|a| a.vlan_tpid);
            }
            _ => {}
        });
        found
    }
}

impl ErrorMessage {
    pub(super) fn read(message: &libc::msghdr) -> ErrorMessage {
        let mut times = (None, None);
        let mut error: Option<libc::sock_extended_err> = None;
        each(message, |level, kind, data| match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => times = stamps(data),
            (libc::SOL_PACKET, PACKET_TX_TIMESTAMP) | (libc::SOL_IP, libc::IP_RECVERR) => error = value(data),
            _ => {}
        });
        let Some(error) = error else { return ErrorMessage::Other { errno: 0 } };
        match error.ee_origin {
            libc::SO_EE_ORIGIN_TIMESTAMPING => {
                ErrorMessage::Stamp { frame: error.ee_data, kernel_realtime_ns: times.0, hardware_ns: times.1 }
            }
            SO_EE_ORIGIN_TXTIME => ErrorMessage::Launch {
                missed: error.ee_code == SO_EE_CODE_TXTIME_MISSED,
                // The high half stands in the data, the low one in the information (net/sched/sch_etf.c).
                launch_tai_ns: (u64::from(error.ee_data) << 32) | u64::from(error.ee_info),
            },
            _ => ErrorMessage::Other { errno: error.ee_errno },
        }
    }
}
