# SPDX-License-Identifier: Apache-2.0
"""From a scenario and a host to the plan of `penstock-end`: what the host sends, or what it listens to."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable, Iterable
from typing import Any, Literal

from penstock.errors import CollectedInputError, InputError, did_you_mean
from penstock.plan import show_mac
from penstock.scenario.network import Network, Stream

Plan = dict[str, Any]
Role = Literal["talk", "listen"]

VERSION = 1
HEADER_BYTES = 42  # of the payload, docs/end-station.md
_MAC_BYTES, _TAG_BYTES, _IPV4_UDP_BYTES, _FCS_BYTES = 14, 4, 28, 4
_LONGEST_CYCLE_NS = 1_000_000_000


def plan_for(network: Network, host: str, role: Role, interface: str) -> Plan:
    """The plan of a station; ids of streams are their numbers in the scenario, so that both ends agree.

    Raises InputError for a host that is none or has nothing to do, and for all streams that no plan can express.
    """
    if host not in network.stations:
        allowed = f"a station: {', '.join(network.stations)}{did_you_mean(host, network.stations)}"
        raise InputError(f'"{host}" is no station', allowed=allowed, file=network.file)
    numbered = enumerate(network.streams.values(), start=1)
    mine = [(n, s) for n, s in numbered if (s.talker == host if role == "talk" else host in s.listeners)]
    if not mine:
        busy = {s.talker for s in network.streams.values()} if role == "talk" else _listeners(network)
        what = "sends no stream" if role == "talk" else "listens to no stream"
        raise InputError(f'"{host}" {what}', allowed=", ".join(sorted(busy)), file=network.file)
    faults = [fault for _, stream in mine for fault in _faults(network, stream)]
    if faults:
        raise CollectedInputError(faults)
    streams = [_stream(stream, number) for number, stream in mine]
    return {
        "version": VERSION,
        "name": network.name,
        "interface": interface,
        "cycle_ns": _cycle_ns(stream["period_ns"] for stream in streams),
        "duration_ns": network.duration_ps // 1000,
        "streams": streams,
    }


def _listeners(network: Network) -> set[str]:
    return {name for stream in network.streams.values() for name in stream.listeners}


def _cycle_ns(periods: Iterable[int]) -> int:
    """The time after which all streams begin anew, or the longest period where that takes too long."""
    known = list(periods)
    common = math.lcm(*known)
    return common if common <= _LONGEST_CYCLE_NS else max(known)


def _faults(network: Network, stream: Stream) -> list[InputError]:
    found = []
    source = stream.source

    def refuse(what: str, allowed: str) -> None:
        found.append(InputError(what, allowed=allowed, file=network.file, key=f"streams.{stream.name}.source"))

    shape = _shape(stream)
    if shape is None:
        refuse("cannot be sent frame by frame by a Linux host", 'frames with "every" and one length, also in bursts')
    elif shape[0] % 1000 or source.start % 1000 or shape[3] % 1000:
        refuse("has a time below a nanosecond", "whole nanoseconds, as Linux counts them")
    if stream.jitter is not None:
        refuse("has jitter of its own", "none: the host brings its own")
    tag, datagram = _TAG_BYTES * (stream.vlan is not None), _IPV4_UDP_BYTES * (stream.udp is not None)
    around = _MAC_BYTES + tag + datagram + _FCS_BYTES
    if stream.min_frame_bytes < around + HEADER_BYTES:
        refuse(f"has frames of {stream.min_frame_bytes} B", f"at least {around + HEADER_BYTES} B, for the header")
    return found


def _shape(stream: Stream) -> tuple[int, int, int, int] | None:
    """Period in ps, frames in it, their length and the ps between them; None for what is not so regular."""
    source, pattern = stream.source, stream.pattern
    if pattern is not None:
        lengths = {length for frames in pattern.sizes for length in frames}
        counts = {len(frames) for frames in pattern.sizes}
        if len(lengths) != 1 or len(counts) != 1:
            return None
        return pattern.period_ps, counts.pop(), lengths.pop(), pattern.spacing_ps
    if source.frames is None or source.every is None:
        return None
    return source.every, source.burst or 1, source.frames, 0


def _stream(stream: Stream, number: int) -> dict[str, Any]:
    shape = _shape(stream)
    assert shape is not None, "what has no shape has been refused"
    period_ps, frames, length, spacing_ps = shape
    common = {
        "name": stream.name,
        "id": number,
        "bytes": length,
        "vlan": stream.vlan,
        "pcp": stream.pcp,
        "offset_ns": stream.source.start // 1000,
        "period_ns": period_ps // 1000,
        "frames_per_period": frames,
        "spacing_ns": spacing_ps // 1000,
        "count": stream.source.count,
        "deadline_ns": None if stream.deadline_ps is None else stream.deadline_ps // 1000,
    }
    if stream.udp is None:
        addresses = {"destination_mac": show_mac(stream.destination_mac), "source_mac": show_mac(stream.source_mac)}
        return {**common, "mode": "raw", "ethertype": stream.ethertype, **addresses}
    return {
        **common,
        "mode": "udp",
        "destination": str(ipaddress.IPv4Address(stream.udp.destination)),
        "destination_port": stream.udp.destination_port,
        "source_port": stream.udp.source_port,
    }


def set_windows(plan: Plan, settings: Iterable[str], parse_ns: Callable[[str], int]) -> None:
    """Puts windows into a plan from texts as `STREAM=24us`; all that are wrong are told at once."""
    streams = {stream["name"]: stream for stream in plan["streams"]}
    faults = []
    for setting in settings:
        name, _, text = setting.partition("=")
        if name not in streams or not text:
            allowed = f"STREAM=TIME with a stream of the host: {', '.join(streams)}"
            faults.append(InputError(f'"{setting}" is no window', allowed=allowed, file="--window"))
            continue
        try:
            streams[name]["window_ns"] = parse_ns(text)
        except InputError as error:
            faults.append(error)
    if faults:
        raise CollectedInputError(faults)
