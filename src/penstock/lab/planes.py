# SPDX-License-Identifier: Apache-2.0
"""Data planes as bridges of a network: the programs, and what they left."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from penstock.lab import plane_asker
from penstock.lab.layout import interface, ports_of
from penstock.lab.programs import How
from penstock.plane.binary import PROGRAM
from penstock.plane.of_network import config_of
from penstock.scenario.network import Bridge, Network
from penstock.scenario.windows import acting, wire_ns

LATE = "late"  # the reason of a departure beyond the tolerance
TOLERANCE_NS = 20_000  # by which a departure may be late, where windows have the room
_LEAST_TOLERANCE_NS = 1_000
_TRACE = "trace.csv"


def _planes(network: Network) -> list[Bridge]:
    return [bridge for bridge in network.bridges.values() if bridge.nodes == "plane"]


def _name(bridge: Bridge) -> str:
    return f"plane-{bridge.name}"


def _interfaces(network: Network, bridge: Bridge) -> dict[int, str]:
    return {port: interface(network, bridge.name, port) for port in ports_of(network, bridge.name)}


def tolerance_ns(network: Network, bridge: Bridge) -> int:
    """By which departures of a plane may be late.

    So much is kept free of each window: 20 us, but no more than half of what the longest frame of a stream leaves of
    the largest window that its class has, so that all streams can pass.
    """
    least = TOLERANCE_NS
    for port, gates in bridge.gates.items():
        rate_bps = network.link_at[bridge.name, port].rate_bps if (bridge.name, port) in network.link_at else 0
        for stream in network.streams_at.get((bridge.name, port), ()):
            window_ns = acting(gates).largest_window(network.class_at(stream, bridge.name))
            if window_ns is not None and rate_bps:
                least = min(least, (window_ns - wire_ns(stream.max_frame_bytes, rate_bps)) // 2)
    return max(least, _LEAST_TOLERANCE_NS)


def requests(network: Network, talking: Network, how: How) -> list[dict[str, Any]]:
    """The planes of a network for `Executor.do_play`, which ends them when all others have ended.

    `talking` has the streams that talkers send, whose frames carry numbers.
    """
    found = []
    for bridge in _planes(network):
        config = config_of(network, bridge, _interfaces(network, bridge)) | {"tolerance": tolerance_ns(network, bridge)}
        config["streams"] = {name: told for name, told in config["streams"].items() if name in talking.streams}
        if not how.real_time:
            config["realtime"] = {"required": False}
        words = [str(PROGRAM.build()), "--config", "{plan}", "--trace", f"{{out}}/{_TRACE}", "--control", "{out}.sock"]
        found.append({"name": _name(bridge), "host": bridge.name, "command": words, "plan": config, "serves": True})
    return found


def asker(plane: str, asks: Sequence[tuple[int, Mapping[str, Any]]]) -> dict[str, Any]:
    """A program for `Executor.do_play` that asks a plane, each time so many ns after the begin of the traffic."""
    plan = {"asks": [{"at_ns": at_ns, "ask": dict(ask)} for at_ns, ask in asks]}
    words = ["/bin/sh", "-c", 'exec "$@"', "ask", sys.executable, "-I", plane_asker.__file__, "{plan}"]
    words.append(f"{{out}}/../plane-{plane}.sock")
    return {"name": f"ask-{plane}", "host": plane, "command": words, "plan": plan}


def rows(network: Network, folder: Path) -> pl.DataFrame:
    """What planes saw of the streams' frames, as rows of a trace with `time_ns` of TAI.

    The network is that of the talkers, whose streams number their frames.
    """
    parts = [_rows_of(network, bridge, folder / _name(bridge) / _TRACE) for bridge in _planes(network)]
    return pl.concat(parts) if parts else _EMPTY


_SCHEMA = {
    "frame_id": pl.UInt64,
    "stream": pl.String,
    "node": pl.String,
    "port": pl.UInt16,
    "event": pl.String,
    "time_ns": pl.Int64,
    "bytes": pl.UInt32,
    "traffic_class": pl.UInt8,
    "reason": pl.String,
}
_EMPTY = pl.DataFrame(schema=_SCHEMA)
# Of a plane that nothing reached, no column would tell its type.
_OF_PROGRAM = {
    "port": pl.String,
    "stream": pl.String,
    "number": pl.UInt64,
    "time_tai_ns": pl.Int64,
    "bytes": pl.Int64,
    "late_ns": pl.Int64,
}


def _rows_of(network: Network, bridge: Bridge, file: Path) -> pl.DataFrame:
    ids = {name: number for number, name in enumerate(network.streams, start=1)}
    ports = {name: number for number, name in _interfaces(network, bridge).items()}
    rate_bps = {number: network.link_at[bridge.name, number].rate_bps for number in ports.values()}
    seen = pl.read_csv(file, schema_overrides=_OF_PROGRAM)
    seen = seen.filter(pl.col("stream").is_in(list(ids))).with_columns(
        port=pl.col("port").replace_strict(ports, return_dtype=pl.UInt16)
    )
    # A frame was seen when all of it was there; a trace says when its first bit was.
    on_wire_ns = -(-pl.col("bytes") * 8 * 10**9 // pl.col("port").replace_strict(rate_bps, return_dtype=pl.Int64))
    is_late = (pl.col("event") == "sent") & (pl.col("late_ns") > tolerance_ns(network, bridge))
    return seen.select(
        frame_id=pl.col("stream").replace_strict(ids, return_dtype=pl.UInt64) * 2**32 + pl.col("number"),
        stream="stream",
        node=pl.lit(bridge.name),
        port="port",
        event="event",
        time_ns=pl.col("time_tai_ns") - pl.when(pl.col("event") == "received").then(on_wire_ns).otherwise(0),
        bytes="bytes",
        traffic_class="traffic_class",
        reason=pl.when(is_late).then(pl.lit(LATE)).otherwise("reason"),
    ).cast(_SCHEMA)  # type: ignore[arg-type]


def counted(network: Network, folder: Path) -> dict[str, Any]:
    """What each plane counted, and what the kernel granted it."""
    return {bridge.name: json.loads((folder / _name(bridge) / "stdout").read_text()) for bridge in _planes(network)}


def notes(network: Network, counted: Mapping[str, Any]) -> list[str]:
    """What a reader has to know of how punctual planes were."""
    found = []
    for name, told in counted.items():
        tolerance_us = tolerance_ns(network, network.bridges[name]) / 1000
        ports = told["counters"]["ports"].values()
        sent = sum(port["sent"]["frames"] for port in ports)
        late, missed, outside = (
            sum(port["departures"][key] for port in ports) for key in ("late", "missed", "outside")
        )
        if late or missed or outside:
            found.append(
                f"{name}: of {sent} departures {late} were later than {tolerance_us:g} us, {missed} missed "
                f"their window and waited for another, {outside} came when their gate had closed"
            )
        found += [
            f"{name}: {each['what']} refused: {each['refused']}" for each in told["realtime"] if not each["granted"]
        ]
    return found
