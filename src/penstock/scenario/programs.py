# SPDX-License-Identifier: Apache-2.0
"""Sources that stand for a program: real on Linux hosts, and a pattern like its traffic wherever else."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from penstock.scenario.limits import TRAFFIC_RATE

Program = Literal["iperf3"]
Protocol = Literal["udp", "tcp", "sctp"]

_PATTERN = ("capture", "audio", "video", "frames", "every", "back_to_back", "burst", "poisson", "normal", "response_to")
_BITS_PS = 8 * 10**12
# With a rate iperf3 writes TCP in blocks of 128 KiB, one whenever it is behind.
_TCP_FRAMES, _TCP_BLOCK_BYTES = 90, 128 * 1024
_SCTP_FRAMES = 16


def with_pattern(source: Any) -> Any:
    """What a source says, with the pattern of its program unless it has one of its own."""
    if not isinstance(source, dict) or source.get("program") != "iperf3" or any(key in source for key in _PATTERN):
        return source
    try:
        rate = None if "rate" not in source else TRAFFIC_RATE.read(source["rate"])
    except (PydanticCustomError, ValidationError):
        return source  # told of the key itself
    return _pattern(source.get("protocol"), rate) | source


def _pattern(protocol: object, rate_bps: int | None) -> dict[str, Any]:
    if protocol == "tcp" and rate_bps is None:  # a window that is never used up
        return {"frames": "1518B", "back_to_back": True}
    if not rate_bps:
        return {}
    if protocol == "udp":
        every = 1516 * _BITS_PS // rate_bps
        return {"frames": "1516B", "every": f"{every}ps", "software": {"delay": {"uniform": "20us"}}}
    if protocol == "tcp":
        return {"frames": "1518B", "burst": _TCP_FRAMES, "every": f"{_TCP_BLOCK_BYTES * _BITS_PS // rate_bps}ps"}
    if protocol == "sctp":
        every = _SCTP_FRAMES * 1500 * _BITS_PS // rate_bps
        return {"frames": "1500B", "burst": _SCTP_FRAMES, "every": f"{every}ps", "jitter": {"uniform": "500us"}}
    return {}
