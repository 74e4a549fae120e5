# SPDX-License-Identifier: Apache-2.0
"""What passed the egress ports of bridges: per port, per stream and port, and how long ATS held each stream.

It is read from a trace, or was worked out by the engine while it ran. Both give the same; tests hold them equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.measure import KEYS, Distribution, distribution, distribution_of, told
from penstock.scenario.network import Network

_PS = 10**12
_MOST_HOPS = 5_000  # of streams; above it the ports alone are told


@dataclass(frozen=True)
class Passing:
    """Rows as `summary.json` has them, and times in ps."""

    ports: list[dict[str, Any]]
    hops: dict[str, list[dict[str, Any]]] | None  # None: there are too many of them
    shaping: dict[str, Distribution]  # from queued to eligible
    processing: dict[tuple[str, str], int]  # of bridge and stream: the least, of frames that found their port idle
    percentile_error: float = 0.0


def tells_hops(network: Network) -> bool:
    """Whether there are so few that each is told."""
    return sum(len(hop.egress) for stream in network.streams.values() for hop in stream.tree) <= _MOST_HOPS


def asked(network: Network) -> dict[str, Any]:
    """Of the engine."""
    return {"hops": tells_hops(network)}


def from_trace(network: Network, steps: pl.DataFrame, end_ps: int) -> Passing:
    """From the steps of all frames (`penstock.journeys.hops`); the run ended at a time."""
    waits = steps.group_by(pl.col("stream").cast(pl.String)).agg(
        distribution_of("shaping", (pl.col("eligible") - pl.col("queued")).clip(lower_bound=0))
    )
    shaping = {row["stream"]: distribution(row, "shaping") for row in waits.iter_rows(named=True)}
    hops, ports = _tables(network, steps, end_ps)
    return Passing(
        ports=ports,
        hops=hops,
        shaping={name: held for name, held in shaping.items() if held is not None},
        processing=_processing_ps(network, steps),
    )


def from_engine(network: Network, figures: Mapping[str, Any], end_ps: int) -> Passing:
    """From what the engine worked out; the run ended at a time."""
    found: list[Distribution] = []

    def kept(said: Mapping[str, Any]) -> Distribution | None:
        one = told(said)
        if one is not None:
            found.append(one)
        return one

    ports = [
        _hop(row, kept(row["passing_ps"]))
        | _use(network, row["bridge"], row["port"], row["wire_bytes"], end_ps)
        | {"queued_bytes_max": row["queued_bytes_max"]}
        for row in figures["ports"]
    ]
    hops: dict[str, list[dict[str, Any]]] | None = None
    if tells_hops(network):
        hops = {}
        for row in sorted(figures["hops"], key=lambda row: (row["first_received_ps"], row["port"])):
            hops.setdefault(row["stream"], []).append(_hop(row, kept(row["passing_ps"])))
    idle: dict[tuple[str, str], int] = {}
    for row in figures["hops"]:
        place = (row["bridge"], row["stream"])
        if row["idle_ps"] is not None and _is_open(network, row["bridge"], row["port"]):
            idle[place] = min(row["idle_ps"], idle.get(place, row["idle_ps"]))
    shaping = {name: kept(said) for name, said in figures["shaping_ps"].items()}
    return Passing(
        ports=sorted(ports, key=lambda row: (row["bridge"], row["port"])),
        hops=hops,
        shaping={name: held for name, held in shaping.items() if held is not None},
        processing=dict(sorted(idle.items())),
        percentile_error=max((one.percentile_error for one in found), default=0.0),
    )


def _is_open(network: Network, bridge: str, port: int) -> bool:
    """Behind gates a frame that finds its link idle may still wait."""
    return port not in network.bridges[bridge].gates


def _processing_ps(network: Network, steps: pl.DataFrame) -> dict[tuple[str, str], int]:
    """The least time of each bridge and stream from last bit in to first bit out, of frames that find the link idle."""
    places = [place for place in network.streams_at if _is_open(network, *place)]
    ports = [(node, port, network.link_at[node, port].rate_bps) for node, port in places]
    rates = pl.DataFrame(ports, schema={"node": pl.String, "port": pl.UInt16, "rate": pl.Int64}, orient="row")
    wire = -(-(pl.col("bytes").cast(pl.Int64) + WIRE_OVERHEAD_BYTES) * 8 * _PS // pl.col("rate"))
    least = (
        steps.filter(pl.col("sent").is_not_null())
        .with_columns(pl.col("node", "stream").cast(pl.String))
        .join(rates, on=["node", "port"], how="inner")
        .sort("sent", maintain_order=True)
        .with_columns((pl.col("sent") + wire).shift(1).over("node", "port").alias("free"))
        .filter(pl.col("free").fill_null(0) <= pl.col("arrived"))
        .group_by("node", "stream")
        .agg((pl.col("sent") - pl.col("arrived")).min().alias("least"))
        .drop_nulls()
        .sort("node", "stream")
    )
    return {(node, stream): int(time) for node, stream, time in least.iter_rows()}


def _tables(
    network: Network, steps: pl.DataFrame, end_ps: int
) -> tuple[dict[str, list[dict[str, Any]]] | None, list[dict[str, Any]]]:
    """The time from last bit in to first bit out (below zero where a bridge cuts through).

    Per stream and egress port in the order of the way, and per egress port.
    """
    steps = steps.with_columns((pl.col("sent") - pl.col("arrived")).alias("passing"))
    both = [
        pl.col("sent").count().alias("frames"),
        pl.col("dropped").count().alias("dropped"),
        *distribution_of("passing", pl.col("passing")),
    ]
    on_wire = pl.col("bytes").cast(pl.Int64) + WIRE_OVERHEAD_BYTES
    whole = pl.when(pl.col("queued").is_not_null()).then(pl.col("bytes").cast(pl.Int64))
    gone = pl.coalesce("sent", "dropped")
    changes = pl.concat(
        [
            steps.select("node", "port", pl.col("queued").alias("at"), whole.alias("bytes")),
            steps.select("node", "port", gone.alias("at"), (-whole).alias("bytes")),
        ]
    ).drop_nulls()
    deepest = (
        changes.sort("at", "bytes")
        .select("node", "port", pl.col("bytes").cum_sum().over("node", "port"))
        .group_by("node", "port")
        .agg(pl.col("bytes").max().alias("deepest"))
    )
    ports = (
        steps.group_by("node", "port")
        .agg(*both, on_wire.filter(pl.col("sent").is_not_null()).sum().alias("wire_bytes"))
        .join(deepest, on=["node", "port"], how="left")
        .with_columns(pl.col("node").cast(pl.String))
        .sort("node", "port")
        .rename({"node": "bridge"})
    )
    port_rows = [
        _hop(row, distribution(row, "passing"))
        | _use(network, row["bridge"], row["port"], row["wire_bytes"], end_ps)
        | {"queued_bytes_max": row["deepest"] or 0}
        for row in ports.iter_rows(named=True)
    ]
    if not tells_hops(network):
        return None, port_rows
    per_stream = (
        steps.group_by("stream", "node", "port")
        .agg(pl.col("received").min().alias("first"), *both)
        .with_columns(pl.col("node", "stream").cast(pl.String))
        .rename({"node": "bridge"})
    )
    found: dict[str, list[dict[str, Any]]] = {}
    for row in per_stream.sort("first", "port").iter_rows(named=True):
        found.setdefault(row["stream"], []).append(_hop(row, distribution(row, "passing")))
    return found, port_rows


def _use(network: Network, bridge: str, port: int, wire_bytes: int, end_ps: int) -> dict[str, float]:
    """The part of the time in which a port had frames on its wire, with preamble and gap."""
    rate_bps = network.link_at[bridge, port].rate_bps
    return {"utilisation": round(wire_bytes * 8 * _PS / rate_bps / max(end_ps, 1), 6)}


def _hop(row: Mapping[str, Any], passing: Distribution | None) -> dict[str, Any]:
    return {
        "bridge": row["bridge"],
        "port": row["port"],
        "frames": row["frames"],
        "dropped": row["dropped"],
        "passing_ns": passing.ns() if passing else dict.fromkeys(KEYS),
    }


def port_table(summary: Mapping[str, Any]) -> pl.DataFrame:
    """A row per bridge and egress port."""
    kinds: dict[str, Any] = {
        **_HOP_COLUMNS,
        "utilisation": pl.Float64,
        "queued_bytes_max": pl.UInt64,
    }
    return pl.DataFrame([_flat(row, kinds) for row in summary["ports"] or ()], schema=kinds, orient="row")


def hop_table(summary: Mapping[str, Any]) -> pl.DataFrame:
    """A row per stream and egress port on its way, in the order of the way."""
    kinds: dict[str, Any] = {"stream": pl.String, **_HOP_COLUMNS}
    rows = [_flat({"stream": name} | row, kinds) for name, row in _hops(summary)]
    return pl.DataFrame(rows, schema=kinds, orient="row")


_HOP_COLUMNS: dict[str, Any] = {
    "bridge": pl.String,
    "port": pl.UInt16,
    "frames": pl.UInt64,
    "dropped": pl.UInt64,
    **{f"passing_{key}_ns": pl.Float64 for key in KEYS},
}


def _hops(summary: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, stream in summary["streams"].items():
        for row in stream["hops"] or ():
            yield name, row


def _flat(row: Mapping[str, Any], kinds: Mapping[str, Any]) -> dict[str, Any]:
    whole = {**row, **{f"passing_{key}_ns": row["passing_ns"][key] for key in KEYS}}
    return {column: whole[column] for column in kinds}
