# SPDX-License-Identifier: Apache-2.0
"""Sources that stand for a program: real on Linux hosts, and a pattern like its traffic wherever else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from penstock.scenario.keys import refuse
from penstock.scenario.units import RATE_BPS, parse

if TYPE_CHECKING:
    from penstock.scenario.draft import Draft
    from penstock.scenario.model import Source, Stream
    from penstock.scenario.positions import KeyPath

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
        rate = None if "rate" not in source else parse(source["rate"], RATE_BPS, "a rate", "50Mb/s")
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


def check_program(source: Source) -> None:
    """Raises what is wrong with the keys of a program."""
    if source.program is None:
        for key in ("protocol", "rate"):
            if getattr(source, key) is not None:
                raise refuse("only a program has one", f'program = "iperf3" together with {key}', key)
        return
    if source.protocol is None:
        raise refuse("what iperf3 is to send is not said", 'protocol = "udp", "tcp" or "sctp"', "program")
    if source.rate is None and source.protocol != "tcp":
        raise refuse(f"how much {source.protocol.upper()} iperf3 is to send is not said", 'rate = "50Mb/s"', "program")
    if source.rate == 0:
        raise refuse("nothing is sent at no rate", "a rate above 0", "rate")
    for key in ("count", "launch", "capture", "audio", "video", "response_to"):
        if getattr(source, key) is not None:
            raise refuse("iperf3 makes frames of its own, at its own times", f"no {key} beside program", key)


def check_stream(draft: Draft, path: KeyPath, stream: Stream) -> None:
    """What a stream cannot have whose frames a program makes."""
    if stream.source.program is None:
        return
    for key in ("vlan", "udp", "destination"):
        if getattr(stream, key) is not None:
            what = "iperf3 sends without a tag, to the listener's address, from ports of its own"
            draft.report.add((*path, key), what, f'no "{key}"')
    if len(stream.to) > 1:
        draft.report.add((*path, "to"), "iperf3 has one server", "one listener")
