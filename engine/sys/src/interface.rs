// SPDX-License-Identifier: Apache-2.0
//! What an interface is: index, address, driver, clock; and the request for hardware time stamps.
use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::{c_char, c_int, c_void};

use super::checked;
use penstock_frame::MacAddress;

const ETHTOOL_GDRVINFO: u32 = 0x0000_0003;
const ETHTOOL_GET_TS_INFO: u32 = 0x0000_0041;
const ETHTOOL_GFLAGS: u32 = 0x0000_0025;
const RECEIVE_OFFLOAD_OF_TAGS: u32 = 1 << 8; // ETH_FLAG_RXVLAN
const HWTSTAMP_TX_ON: c_int = 1;
const HWTSTAMP_FILTER_ALL: c_int = 1;

/// struct ethtool_drvinfo of linux/ethtool.h.
#[repr(C)]
struct DriverInfo {
    cmd: u32,
    driver: [u8; 32],
    rest: [u8; 160],
}

/// struct ethtool_ts_info of linux/ethtool.h.
#[repr(C)]
struct StampInfo {
    cmd: u32,
    so_timestamping: u32,
    phc_index: i32,
    rest: [u32; 8],
}

/// The PTP hardware clock of an interface.
pub struct PtpClock {
    pub index: i32,
    file: Option<File>,
}

impl PtpClock {
    /// What it shows, in ns; None when its device cannot be read.
    pub fn now_ns(&self) -> Option<i128> {
        let descriptor = self.file.as_ref()?.as_raw_fd();
        let id = (!descriptor << 3) | 3; // FD_TO_CLOCKID of linux/posix-timers.h
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the structure lives as long as the call.
        checked(unsafe { libc::clock_gettime(id, &mut time) }).ok()?;
        Some(i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec))
    }
}

/// The number of an interface.
pub fn index(name: &str) -> io::Result<c_int> {
    let mut request = request(name)?;
    control(libc::SIOCGIFINDEX as libc::Ioctl, &mut request)?;
    // SAFETY: SIOCGIFINDEX has filled this member.
    Ok(unsafe { request.ifr_ifru.ifru_ifindex })
}

/// Its Ethernet address.
pub fn hardware_address(name: &str) -> io::Result<MacAddress> {
    let mut request = request(name)?;
    control(libc::SIOCGIFHWADDR as libc::Ioctl, &mut request)?;
    // SAFETY: SIOCGIFHWADDR has filled this member.
    let data = unsafe { request.ifr_ifru.ifru_hwaddr.sa_data };
    Ok(MacAddress(std::array::from_fn(|n| data[n] as u8)))
}

/// Whether it is up.
pub fn is_up(name: &str) -> io::Result<bool> {
    let mut request = request(name)?;
    control(libc::SIOCGIFFLAGS as libc::Ioctl, &mut request)?;
    // SAFETY: SIOCGIFFLAGS has filled this member.
    Ok(c_int::from(unsafe { request.ifr_ifru.ifru_flags }) & libc::IFF_UP != 0)
}

/// The name of its driver, as `veth` or `igb`.
pub fn driver(name: &str) -> io::Result<String> {
    let mut info = DriverInfo { cmd: ETHTOOL_GDRVINFO, driver: [0; 32], rest: [0; 160] };
    ethtool(name, &mut info)?;
    let end = info.driver.iter().position(|&b| b == 0).unwrap_or(info.driver.len());
    Ok(String::from_utf8_lossy(&info.driver[..end]).into_owned())
}

/// Whether the device takes VLAN tags out of the frames that it receives.
pub fn takes_tags_off(name: &str) -> io::Result<bool> {
    let mut flags = [ETHTOOL_GFLAGS, 0]; // struct ethtool_value
    ethtool(name, &mut flags)?;
    Ok(flags[1] & RECEIVE_OFFLOAD_OF_TAGS != 0)
}

/// Its PTP hardware clock; None without one.
pub fn ptp_clock(name: &str) -> Option<PtpClock> {
    let mut info = StampInfo { cmd: ETHTOOL_GET_TS_INFO, so_timestamping: 0, phc_index: -1, rest: [0; 8] };
    ethtool(name, &mut info).ok()?;
    let file = (info.phc_index >= 0).then(|| File::open(format!("/dev/ptp{}", info.phc_index)).ok());
    file.map(|file| PtpClock { index: info.phc_index, file })
}

/// Hardware time stamps as they were set before; set so again when this is dropped.
#[derive(Debug)]
pub struct StampSetting {
    name: String,
    before: libc::hwtstamp_config,
}

impl Drop for StampSetting {
    fn drop(&mut self) {
        // An interface that is gone has no setting any more.
        let _ = stamp_setting(&self.name, libc::SIOCSHWTSTAMP as libc::Ioctl, &mut self.before);
    }
}

/// Asks for hardware time stamps of all frames, in both directions, until what it gives is dropped.
pub fn request_hardware_stamps(name: &str) -> io::Result<StampSetting> {
    let mut before = libc::hwtstamp_config { flags: 0, tx_type: 0, rx_filter: 0 };
    stamp_setting(name, libc::SIOCGHWTSTAMP as libc::Ioctl, &mut before)?;
    let mut wanted = libc::hwtstamp_config { flags: 0, tx_type: HWTSTAMP_TX_ON, rx_filter: HWTSTAMP_FILTER_ALL };
    stamp_setting(name, libc::SIOCSHWTSTAMP as libc::Ioctl, &mut wanted)?;
    Ok(StampSetting { name: name.to_owned(), before })
}

fn stamp_setting(name: &str, code: libc::Ioctl, config: &mut libc::hwtstamp_config) -> io::Result<()> {
    let mut request = request(name)?;
    request.ifr_ifru.ifru_data = std::ptr::from_mut(config).cast::<c_char>();
    control(code, &mut request)
}

fn ethtool<T>(name: &str, info: &mut T) -> io::Result<()> {
    let mut request = request(name)?;
    request.ifr_ifru.ifru_data = std::ptr::from_mut(info).cast::<c_char>();
    control(libc::SIOCETHTOOL as libc::Ioctl, &mut request)
}

pub(super) fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all zeros is a valid ifreq.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    if name.len() >= request.ifr_name.len() || name.is_empty() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as c_char;
    }
    Ok(request)
}

fn control(code: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: a new descriptor, owned by nobody else; the request and what it points to live as long as the call.
    unsafe {
        let any = OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0))?);
        checked(libc::ioctl(any.as_raw_fd(), code, std::ptr::from_mut(request).cast::<c_void>())).map(drop)
    }
}
