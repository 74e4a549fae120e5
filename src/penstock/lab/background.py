# SPDX-License-Identifier: Apache-2.0
"""Streams that a program of others makes, iperf3: what has to be there, its servers and clients, what they said."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from typing import Any

from penstock.errors import InputError, RunError
from penstock.lab.layout import interface, mac
from penstock.scenario.checked_stream import Stream
from penstock.scenario.network import Network
from penstock.scenario.units import show_rate

# Read before the traffic, whose clock an emulated processor's waiting for a file would move.
READ_FIRST = ["sh", "-c", "iperf3 -v; modprobe -q sctp"]

_FIRST_ADDRESS = IPv4Address("198.18.0.1")  # RFC 2544: for measurements
_FIRST_PORT = 5201
_EARLIER_S = 1.0  # than the traffic: the connection, and TCP's slow start, are over by then
_OPTIONS = {"udp": ["-u"], "tcp": [], "sctp": ["--sctp"]}


@dataclass(frozen=True)
class Background:
    """A network without the streams of programs, and these."""

    network: Network
    streams: tuple[Stream, ...]


def parted(network: Network) -> Background:
    """The streams that talkers send, and those of programs, but for those that begin after the run.

    Raises:
        InputError: Nothing is left for talkers.

    """
    streams = {name: stream for name, stream in network.streams.items() if stream.source.program is None}
    of_programs = [stream for stream in network.streams.values() if stream.source.program is not None]
    if of_programs and not streams:
        what = "all of its streams are of programs, whose frames are not measured"
        raise InputError(what, allowed="one stream of another source, or more", file=network.file, key="streams")
    made = tuple(stream for stream in of_programs if stream.source.start < network.duration_ps)
    return Background(replace(network, streams=streams), made)


def needed_programs(network: Network) -> Mapping[str, str]:
    """The programs that make some of the streams, and the Debian package of each."""
    return {"iperf3": "iperf3"} if parted(network).streams else {}


def commands(network: Network, streams: tuple[Stream, ...]) -> Mapping[str, str]:
    """Input of `ip -batch` by station: its address, and the way to the other one. Nobody asks for neighbours."""
    found: dict[str, list[str]] = {}
    for stream in streams:
        for own, other in ((stream.talker, stream.listeners[0]), (stream.listeners[0], stream.talker)):
            port, there = interface(network, own, 0), _address(network, other)
            found.setdefault(own, []).extend(
                [
                    f"address replace {_address(network, own)}/32 dev {port}",
                    f"route replace {there}/32 dev {port}",
                    f"neighbour replace {there} lladdr {mac(network.stations[other].mac)} dev {port} nud permanent",
                ]
            )
    return {host: "".join(f"{line}\n" for line in dict.fromkeys(lines)) for host, lines in found.items()}


def programs(network: Network, streams: tuple[Stream, ...], lead_ns: int) -> list[dict[str, Any]]:
    """A server and a client of each stream, as `Executor.do_play` takes them."""
    found: list[dict[str, Any]] = []
    iperf3 = str(shutil.which("iperf3"))
    for number, stream in enumerate(streams):
        port, source, address = str(_FIRST_PORT + number), stream.source, str(_address(network, stream.listeners[0]))
        begin_s = source.start / 1e12 - _EARLIER_S
        seconds = round(network.duration_ps / 1e12 - begin_s + _EARLIER_S + 0.5)
        server = [iperf3, "-s", "-1", "-p", port, "-B", address]
        client = [iperf3, "-J", "-c", address, "-p", port, "-t", str(seconds), *_OPTIONS[str(source.protocol)]]
        if source.rate is not None:
            client += ["-b", str(source.rate)]
        wait = ["/bin/sh", "-c", f'sleep {max(0.0, lead_ns / 1e9 + begin_s):g}; exec "$@"', "iperf3"]
        found += [
            {"name": f"{name_of(stream)}-server", "host": stream.listeners[0], "command": server},
            {"name": name_of(stream), "host": stream.talker, "command": [*wait, *client]},
        ]
    return found


def name_of(stream: Stream) -> str:
    """Of the program, and of the folder of what it printed."""
    return f"iperf3-{stream.name}"


def told(stream: Stream, played: Mapping[str, Any]) -> dict[str, Any]:
    """What the client says that its server got.

    Raises:
        RunError: It failed.

    """
    try:
        said = json.loads(played["stdout"])
    except ValueError:
        said = {}
    error = said.get("error") or played["stderr"].strip()
    if played["status"] != 0:
        raise RunError(f"iperf3 of {stream.name} failed: {error or 'its time was up'}")
    received = said.get("end", {}).get("sum_received", {})
    return {
        "program": "iperf3",
        "protocol": stream.source.protocol,
        "asked_bps": stream.source.rate,
        "received_bps": received.get("bits_per_second", 0),
        "received_bytes": received.get("bytes", 0),
    }


def in_words(name: str, found: Mapping[str, Any]) -> str:
    """For people."""
    asked = "" if found["asked_bps"] is None else f" of {show_rate(found['asked_bps'])}"
    return f"{name}: iperf3 {found['protocol'].upper()}, {show_rate(found['received_bps'])}{asked} arrived"


def _address(network: Network, station: str) -> IPv4Address:
    return _FIRST_ADDRESS + list(network.stations).index(station)
