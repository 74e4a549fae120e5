# SPDX-License-Identifier: Apache-2.0
"""Time stamps of interfaces and PTP clocks of this machine, read without changing anything."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
from pathlib import Path

_ETHTOOL = 0x8946  # SIOCETHTOOL
_GET_TS_INFO = 0x41  # ETHTOOL_GET_TS_INFO
# struct ethtool_ts_info: cmd, so_timestamping, phc_index, tx_types, 3 reserved, rx_filters, 3 reserved
_INFO = struct.Struct("=IIiI12xI12x")
_HARDWARE = (1 << 0) | (1 << 2)  # SOF_TIMESTAMPING_TX_HARDWARE, SOF_TIMESTAMPING_RX_HARDWARE


def stamping(interface: str) -> tuple[bool, str]:
    """Whether an interface stamps frames in both directions itself, and what it says of it."""
    content = ctypes.create_string_buffer(_INFO.pack(_GET_TS_INFO, 0, -1, 0, 0), _INFO.size)
    request = struct.pack("16sP16x", interface.encode(), ctypes.addressof(content))
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
            fcntl.ioctl(opened.fileno(), _ETHTOOL, request)
    except OSError as error:
        return False, f"does not say ({error.strerror})"
    _, kinds, clock, _, _ = _INFO.unpack(content.raw)
    if kinds & _HARDWARE != _HARDWARE:
        return False, "no hardware time stamps"
    return True, "hardware time stamps" + (f", PTP clock ptp{clock}" if clock >= 0 else "")


def clocks() -> dict[str, str]:
    """PTP clocks and what their drivers call them."""
    found = {}
    for path in sorted(Path("/sys/class/ptp").glob("ptp*")):
        try:
            found[path.name] = (path / "clock_name").read_text().strip()
        except OSError:
            found[path.name] = "its name cannot be read"
    return found
