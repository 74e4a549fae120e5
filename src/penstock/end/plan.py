# SPDX-License-Identifier: Apache-2.0
"""From a scenario and a host to the plan of `penstock-end`: what the host sends, or what it listens to."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable, Iterable
from typing import Any, Literal

from penstock.end.draw import drawn
from penstock.errors import CollectedInputError, InputError, did_you_mean
from penstock.ethernet import FCS_BYTES, IPV4_UDP_BYTES, MAC_HEADER_BYTES, TAG_BYTES
from penstock.plan import show_mac
from penstock.scenario.checked_stream import Stream
from penstock.scenario.network import Network
from penstock.scenario.sources import LOCAL_ETHERTYPE

Plan = dict[str, Any]
Role = Literal["talk", "listen"]

VERSION = 1
HEADER_BYTES = 42  # of the payload, docs/end-station.md
_CYCLE_NS, _LONGEST_CYCLE_NS = 1_000_000, 1_000_000_000


def plan_for(network: Network, host: str, role: Role, interface: str, *, as_drawn: bool = False) -> Plan:
    """The plan of a station; ids of streams are their numbers in the scenario, so that both ends agree.

    Streams of one length and period are sent for as long as one likes. All others (captures, pictures, chance) are sent
    when a run of the scenario's model creates them; with `as_drawn` all are, so that their jitter is there too. Raises
    InputError for a host that is none or has nothing to do, and for all streams that no plan can express.
    """
    if host not in network.stations:
        allowed = f"a station: {', '.join(network.stations)}{did_you_mean(host, network.stations)}"
        raise InputError(f'"{host}" is no station', allowed=allowed, file=network.file)
    numbered = enumerate(network.streams.values(), start=1)
    own = [(n, s) for n, s in numbered if s.source.program is None]  # others are of programs of their own
    mine = [(n, s) for n, s in own if (s.talker == host if role == "talk" else host in s.listeners)]
    if not mine:
        busy = {s.talker for _, s in own} if role == "talk" else {name for _, s in own for name in s.listeners}
        what = "sends no stream" if role == "talk" else "listens to no stream"
        raise InputError(f'"{host}" {what}', allowed=", ".join(sorted(busy)), file=network.file)
    faults = [fault for _, stream in mine for fault in _faults(network, stream)]
    if faults:
        raise CollectedInputError(faults)
    regular = {} if as_drawn else {stream.name: _regular(stream) for _, stream in mine}
    times = {name: found for name, found in regular.items() if found is not None}
    cycle_ns = _cycle_ns(time["period_ns"] for time in times.values())
    if len(times) < len(mine):
        times = drawn(network) | times
    if silent := [s.name for _, s in mine if s.name not in times]:
        what = f"{', '.join(silent)}: create no frame within the duration"
        raise InputError(what, allowed="a longer duration", file=network.file)
    return {
        "version": VERSION,
        "name": network.name,
        "interface": interface,
        "cycle_ns": cycle_ns,
        "duration_ns": network.duration_ps // 1000,
        "streams": [
            _described(stream, number) | _launched(stream, times[stream.name], role) for number, stream in mine
        ],
    }


def _cycle_ns(periods: Iterable[int]) -> int:
    """The time after which all streams begin anew, or the longest period where that takes too long."""
    known = list(periods) or [_CYCLE_NS]
    common = math.lcm(*known)
    return common if common <= _LONGEST_CYCLE_NS else max(known)


def _faults(network: Network, stream: Stream) -> list[InputError]:
    tag, datagram = TAG_BYTES * (stream.vlan is not None), IPV4_UDP_BYTES * _by_udp(stream)
    least = MAC_HEADER_BYTES + tag + datagram + FCS_BYTES + HEADER_BYTES
    if stream.min_frame_bytes >= least:
        return []
    what, key = f"has frames of {stream.min_frame_bytes} B", f"streams.{stream.name}.source"
    return [InputError(what, allowed=f"at least {least} B, for the header", file=network.file, key=key)]


def _regular(stream: Stream) -> dict[str, Any] | None:
    """Times and lengths of a stream that has one of each, in whole ns; None for others.

    Jitter stands for the software of a host, and a real host has its own.
    """
    source, pattern = stream.source, stream.pattern
    if pattern is not None:
        lengths = {length for frames in pattern.sizes for length in frames}
        counts = {len(frames) for frames in pattern.sizes}
        if len(lengths) != 1 or len(counts) != 1:
            return None
        period_ps, frames, length, spacing_ps = pattern.period_ps, counts.pop(), lengths.pop(), pattern.spacing_ps
    elif source.frames is not None and source.every is not None:
        period_ps, frames, length, spacing_ps = source.every, source.burst or 1, source.frames, 0
    else:
        return None
    if period_ps % 1000 or spacing_ps % 1000 or source.start % 1000:
        return None
    return {
        "bytes": length,
        "offset_ns": source.start // 1000,
        "period_ns": period_ps // 1000,
        "frames_per_period": frames,
        "spacing_ns": spacing_ps // 1000,
        "count": source.count,
    }


def _launched(stream: Stream, times: dict[str, Any], role: Role) -> dict[str, Any]:
    """With a launch time, a frame is due at that, and the talker wakes up at the nominal time, an offset before."""
    launch = None if stream.handover is None else stream.handover.launch
    if launch is None:
        return times
    offset_ns = launch.offset_ps // 1000
    due = times | {"offset_ns": times.get("offset_ns", 0) + offset_ns}
    return due | ({"send": "launch_time", "transmit_offset_ns": offset_ns} if role == "talk" else {})


def _described(stream: Stream, number: int) -> dict[str, Any]:
    common = {
        "name": stream.name,
        "id": number,
        "vlan": stream.vlan,
        "pcp": stream.pcp,
        "deadline_ns": None if stream.deadline_ps is None else stream.deadline_ps // 1000,
    }
    if stream.udp is None or not _by_udp(stream):
        addresses = {"destination_mac": show_mac(stream.destination_mac), "source_mac": show_mac(stream.source_mac)}
        return {**common, "mode": "raw", "ethertype": _ethertype(stream), **addresses}
    return {
        **common,
        "mode": "udp",
        "destination": str(ipaddress.IPv4Address(stream.udp.destination)),
        "destination_port": stream.udp.destination_port,
        "source_port": stream.udp.source_port,
    }


def _by_udp(stream: Stream) -> bool:
    """Of a capture only times and lengths are sent, in raw frames that say that they are Penstock's."""
    return stream.udp is not None and stream.capture is None


def _ethertype(stream: Stream) -> int:
    return LOCAL_ETHERTYPE if stream.capture is not None else stream.ethertype


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
