# SPDX-License-Identifier: Apache-2.0
"""Offloads of an interface by the ioctl of ethtool."""

from __future__ import annotations

import array
import errno
import fcntl
import socket
import struct

_SIOCETHTOOL = 0x8946
_COMMANDS = {"tso": (0x1E, 0x1F), "gso": (0x23, 0x24)}  # ETHTOOL_G*, ETHTOOL_S*
_DRIVER = 0x3  # ETHTOOL_GDRVINFO
_DRIVER_BYTES = 196
_SETTINGS, _SETTINGS_BYTES = 0x1, 44  # ETHTOOL_GSET, struct ethtool_cmd
_UNKNOWN_SPEEDS = 0, 0xFFFF, 0xFFFFFFFF


def is_on(interface: str, feature: str) -> bool | None:
    """Whether the offload is on; None if the interface does not have it. Raises `OSError`."""
    value = array.array("I", [_COMMANDS[feature][0], 0])
    try:
        _ioctl(interface, value)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            return None
        raise
    return bool(value[1])


def turn(interface: str, feature: str, on: bool) -> None:
    """Turns an offload on or off. Raises `OSError`."""
    _ioctl(interface, array.array("I", [_COMMANDS[feature][1], int(on)]))


def driver(interface: str) -> str | None:
    """The name of the driver, such as "igc"."""
    value = array.array("B", struct.pack("=I", _DRIVER).ljust(_DRIVER_BYTES, b"\0"))
    try:
        _ioctl(interface, value)
    except OSError:
        return None
    return value.tobytes()[4:36].split(b"\0")[0].decode(errors="replace")


def speed_mbps(interface: str) -> int | None:
    """What the kernel takes for the rate of the link; None if the driver does not say."""
    value = array.array("B", struct.pack("=I", _SETTINGS).ljust(_SETTINGS_BYTES, b"\0"))
    try:
        _ioctl(interface, value)
    except OSError:
        return None
    low, high = struct.unpack_from("=H", value, 12)[0], struct.unpack_from("=H", value, 28)[0]
    speed = high << 16 | low
    return None if speed in _UNKNOWN_SPEEDS else int(speed)


def _ioctl(interface: str, value: array.array[int]) -> None:
    request = struct.pack("16sP", interface.encode(), value.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        fcntl.ioctl(opened.fileno(), _SIOCETHTOOL, request)
