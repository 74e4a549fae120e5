# SPDX-License-Identifier: Apache-2.0
"""The parameters of cbs in the kernel's units: slopes in kbit/s, credits in bytes.

A frame counts with all that it takes on the wire: header, tag, FCS, preamble, delimiter and gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.linux.qdisc import Cbs

_KILOBIT = 1000
_MOST_CREDIT_BYTES = 2**31 - 1  # struct tc_cbs_qopt has an s32


@dataclass(frozen=True)
class Reservation:
    """A class with credit: what it earns, and its longest frame on the wire."""

    idle_slope_bps: int
    frame_bytes: int


def idle_slope_kbps(idle_slope_bps: int) -> int:
    """Rounded up, so that the class gets no less than was reserved."""
    return -(-idle_slope_bps // _KILOBIT)


def cbs(
    reservation: Reservation,
    higher: Sequence[Reservation],
    port_rate_bps: int,
    interference_bytes: int,
    offload: bool = False,
    overhead_bytes: int | None = None,
) -> Cbs:
    """The parameters of a class, IEEE 802.1Q annex L.

    The longest wait of a class begins with a frame of `interference_bytes` that has just started; then the classes
    above it send until their credit is used up, the deepest that this can be being loCredit of each. So the wait t
    fulfils rate * t = interference + sum over the higher of (idleSlope * t - loCredit). Both credits are rounded up,
    as the kernel's users do it.
    """
    rate = port_rate_bps // _KILOBIT
    idle = idle_slope_kbps(reservation.idle_slope_bps)
    above = [(idle_slope_kbps(each.idle_slope_bps), each.frame_bytes) for each in higher]
    # Where the others reserve it all, the class may wait without end: then its credit has no bound but the kernel's.
    left = max(rate - sum(slope for slope, _ in above), 1)
    # Times rate, so that all stays whole: bytes * kbit/s.
    sent = interference_bytes * rate + sum(frame * (rate - slope) for slope, frame in above)
    return Cbs(
        idle_slope_kbps=idle,
        send_slope_kbps=idle - rate,
        hi_credit_bytes=min(-(-idle * sent // (left * rate)), _MOST_CREDIT_BYTES),
        lo_credit_bytes=-(reservation.frame_bytes * (rate - idle) // rate),
        offload=offload,
        overhead_bytes=overhead_bytes,
    )
