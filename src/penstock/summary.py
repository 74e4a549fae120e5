# SPDX-License-Identifier: Apache-2.0
"""What a run says about each stream, against its bound and its deadline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from penstock.bound import Bound, Conformance, applies, bound, conformance, processing_allowed_ps
from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.journeys import View, strays
from penstock.measure import KEYS, Distribution, Measured, distribution, distribution_of, from_engine, from_trace
from penstock.punctuality import UNKNOWN, punctuality
from penstock.scenario.checked_fault import Fault
from penstock.scenario.checked_stream import Stream
from penstock.scenario.network import Network
from penstock.trace import last_time_ps

_PS = 10**12
_TICK_PS = 1000
_MOST_HOPS = 5_000  # of streams; above it the ports alone are told


def summarize(
    view: View,
    simulation: Mapping[str, Any] | None = None,
    *,
    partial: bool = False,
) -> dict[str, Any]:
    """The content of `summary.json`, from a whole trace."""
    network, steps = view.network, view.hops
    told = dict(simulation or {})
    end_ps = max(network.duration_ps, last_time_ps(view.trace), int(told.get("end_ps", 0)))
    measured = from_trace(view, end_ps=end_ps, partial=partial)
    shaped = steps.filter(pl.col("stream").cast(pl.String).is_in([n for n, s in network.streams.items() if s.ats]))
    by_stream = {str(key[0]): rows for key, rows in shaped.partition_by("stream", as_dict=True).items()}
    none = steps.clear()
    conforming = {
        name: _conformance(network, name, by_stream.get(name, none)) for name, s in network.streams.items() if s.ats
    }
    processing = _processing_ps(network, steps)
    waits = steps.group_by(pl.col("stream").cast(pl.String)).agg(
        distribution_of("shaping", (pl.col("eligible") - pl.col("queued")).clip(lower_bound=0))
    )
    shaping = {row["stream"]: distribution(row, "shaping") for row in waits.iter_rows(named=True)}
    per_stream, ports = _tables(steps)
    idle_times: dict[str, dict[str, int]] = {}
    for (at, name), time in processing.items():
        idle_times.setdefault(name, {})[at] = time
    punctual = punctuality(network, view.journeys)
    streams = {}
    for name, figures in measured.items():
        idle = idle_times.get(name, {})
        limit = bound(network, name, idle) if network.streams[name].ats else None
        reason = applies(network, name, conforming) if limit and limit.total_ps is not None else None
        streams[name] = _stream(network, name, figures, limit, reason) | {
            "shaping_ns": _ns(shaping.get(name) if network.streams[name].ats else None),
            **_judged(conforming.get(name)),
            "hops": per_stream.get(name, []) if per_stream is not None else None,
            **punctual[name],
        }
    return _whole(
        network,
        streams,
        told,
        stray=strays(network, view.rows),
        partial=partial,
        source={"from": "trace", "percentile_error": 0.0},
        bridges={
            name: {
                "processing_ns": {stream: time / 1000 for (at, stream), time in processing.items() if at == name},
                "processing_allowed_ns": processing_allowed_ps(bridge) / 1000,
            }
            for name, bridge in network.bridges.items()
        },
        ports=ports,
        warnings=_slow(network, processing),
    )


def summarize_statistics(
    network: Network, result: Mapping[str, Any], simulation: Mapping[str, Any], *, partial: bool = False
) -> dict[str, Any]:
    """The content of `summary.json` without a whole trace, from what the engine counted."""
    measured = from_engine(network, result)
    seen = {name: counted["conformance"] for name, counted in result["statistics"].items()}
    conforming = {name: Conformance.from_engine(found) for name, found in seen.items() if found is not None}
    streams = {}
    for name, figures in measured.items():
        limit = bound(network, name) if network.streams[name].ats else None
        reason = applies(network, name, conforming) if limit and limit.total_ps is not None else None
        streams[name] = _stream(network, name, figures, limit, reason) | {
            "shaping_ns": _ns(None),
            **_judged(conforming.get(name)),
            "hops": None,
            **UNKNOWN,
        }
    found = [f for m in measured.values() for f in (m.latency, m.interval, m.talker_wait) if f is not None]
    source = {"from": "engine", "percentile_error": max((f.percentile_error for f in found), default=0.0)}
    return _whole(
        network,
        streams,
        dict(simulation),
        stray=0,
        partial=partial,
        source=source,
        bridges={
            name: {"processing_ns": {}, "processing_allowed_ns": processing_allowed_ps(bridge) / 1000}
            for name, bridge in network.bridges.items()
        },
        ports=None,
        warnings=[],
    )


def _whole(
    network: Network,
    streams: dict[str, dict[str, Any]],
    simulation: dict[str, Any],
    *,
    stray: int,
    partial: bool,
    source: dict[str, Any],
    bridges: dict[str, Any],
    ports: list[dict[str, Any]] | None,
    warnings: list[str],
) -> dict[str, Any]:
    kinds = {bridge.nodes for bridge in network.bridges.values()}
    lost = sum(s["lost"] for s in streams.values())
    conserved = stray == 0 and lost == 0 and all(s["conserved"] for s in streams.values())
    return {
        "ok": conserved and not partial and all(s["ok"] for s in streams.values()),
        "partial": partial,
        "name": network.name,
        "title": network.title,
        "scenario": network.file.name,
        "nodes": next(iter(kinds)) if len(kinds) == 1 else "mixed",
        "duration_ns": network.duration_ps / 1000,
        "streams": streams,
        "conservation": {
            "ok": conserved,
            "created": sum(s["copies"] for s in streams.values()),
            "delivered": sum(s["delivered"] for s in streams.values()),
            "dropped": sum(sum(s["dropped"].values()) for s in streams.values()),
            "inside": sum(s["inside"] for s in streams.values()),
            "lost": lost,
            "stray": stray,
        },
        "bridges": bridges,
        "ports": ports,
        "faults": [_fault(fault) for fault in network.faults],
        "statistics": source,
        "simulation": simulation,
        "warnings": [*network.warnings, *warnings, *_missed(streams)],
    }


def _fault(fault: Fault) -> dict[str, Any]:
    """What broke, and when."""
    return {
        "kind": fault.kind,
        "name": fault.name,
        "at_ns": fault.at_ps / 1000,
        "until_ns": None if fault.until_ps is None else fault.until_ps / 1000,
        "said": fault.said,
    }


def _missed(streams: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is said of frames whose launch times came before them."""
    return [
        f"{name}: {stream['launch']['missed']:,} of {stream['sent']:,} frames reached the controller after their launch"
        " time and were sent at once"
        for name, stream in streams.items()
        if stream["launch"] and stream["launch"]["missed"]
    ]


def _launch(stream: Stream, measured: Measured) -> dict[str, Any] | None:
    launch = stream.handover.launch if stream.handover else None
    return None if launch is None else {"offset_ns": launch.offset_ps / 1000, "missed": measured.launch_missed}


def _stream(
    network: Network, name: str, measured: Measured, limit: Bound | None, not_applicable: str | None
) -> dict[str, Any]:
    stream = network.streams[name]
    bound_ps = limit.total_ps if limit and not not_applicable else None
    worst = measured.latency.max if measured.latency else None
    lost = measured.dropped_copies
    # A frame that keeps to its rate and burst has to arrive: one that was dropped took longer than any bound.
    in_time = worst is None or bound_ps is None or worst <= bound_ps
    bound_ok = None if bound_ps is None else in_time and lost == 0
    late = measured.late if stream.deadline_ps is not None else 0
    missed = None if late is None else late + lost if stream.deadline_ps is not None else 0
    deadline_ok = None if stream.deadline_ps is None else missed == 0
    return {
        "ok": measured.conserved and bound_ok is not False and deadline_ok is not False,
        "from": stream.talker,
        "to": list(stream.listeners),
        "traffic_class": stream.traffic_class,
        "selection": network.bridges[stream.tree[0].bridge].selection(stream.traffic_class),
        "shaped": stream.shaped,
        "sent": measured.frames,
        "copies": measured.copies,
        "delivered": measured.delivered,
        "inside": measured.inside,
        "dropped": dict(measured.dropped),
        "lost": measured.lost,
        "conserved": measured.conserved,
        "latency_ns": _ns(measured.latency),
        "jitter_ns": None
        if measured.latency is None or measured.delivered < 2
        else (measured.latency.max - measured.latency.min) / 1000,
        "interval_ns": _ns(measured.interval),
        "talker_wait_ns": _ns(measured.talker_wait),
        "launch": _launch(stream, measured),
        "spoiled": measured.spoiled,
        "rate_bps": measured.rate_bps,
        "bound_ns": None if bound_ps is None else bound_ps / 1000,
        "bound_ok": bound_ok,
        "bound": _describe(limit, not_applicable),
        "deadline_ns": None if stream.deadline_ps is None else stream.deadline_ps / 1000,
        "deadline_ok": deadline_ok,
        "deadline_missed": missed,
    }


def _judged(source: Conformance | None) -> dict[str, Any]:
    return {"conforms": source and source.ok, "conformance": source and source.describe()}


def _ns(found: Distribution | None) -> dict[str, float | None]:
    return found.ns() if found else dict.fromkeys(KEYS)


def _describe(limit: Bound | None, not_applicable: str | None) -> dict[str, Any] | None:
    if limit is None:
        return None
    return {
        "total_ns": None if limit.total_ps is None else limit.total_ps / 1000,
        "applies": limit.total_ps is not None and not_applicable is None,
        "reason": limit.reason or not_applicable,
        "equation": limit.contention,
        "terms": [{"name": t.name, "detail": t.detail, "ns": t.ps / 1000} for t in limit.terms],
    }


def _conformance(network: Network, name: str, steps: pl.DataFrame) -> Conformance:
    """Judged at the first bridge, where the source's own behaviour is seen."""
    stream = network.streams[name]
    assert stream.ats is not None
    first = stream.tree[0].bridge
    once = steps.filter(pl.col("node") == first).unique("frame_id", keep="first", maintain_order=True).sort("arrived")
    ats, overhead = stream.ats.at_node(first), network.bridges[first].overhead_bytes
    pairs = list(once.select("arrived", "bytes").iter_rows())
    return conformance(pairs, ats.rate_bps, ats.burst_bytes, overhead)


def _processing_ps(network: Network, steps: pl.DataFrame) -> dict[tuple[str, str], int]:
    """The least time of each bridge and stream from last bit in to first bit out, of frames that find the link idle."""
    # Behind gates a frame that finds its link idle may still wait.
    places = [place for place in network.streams_at if place[1] not in network.bridges[place[0]].gates]
    ports = [(node, port, network.link_at[node, port].rate_bps) for node, port in places]
    rates = pl.DataFrame(ports, schema={"node": pl.String, "port": pl.UInt16, "rate": pl.Int64}, orient="row")
    wire = (pl.col("bytes").cast(pl.Int64) + WIRE_OVERHEAD_BYTES) * 8 * _PS // pl.col("rate")
    least = (
        steps.filter(pl.col("sent").is_not_null())
        .with_columns(pl.col("node", "stream").cast(pl.String))
        .join(rates, on=["node", "port"], how="inner")
        .sort("sent", maintain_order=True)
        .with_columns((pl.col("sent") + wire).shift(1).over("node", "port").alias("free"))
        .filter(pl.col("free").fill_null(0) <= pl.col("arrived"))
        .group_by("node", "stream", maintain_order=True)
        .agg((pl.col("sent") - pl.col("arrived")).min().alias("least"))
        .drop_nulls()
    )
    return {(node, stream): int(time) for node, stream, time in least.iter_rows()}


def _slow(network: Network, processing: dict[tuple[str, str], int]) -> list[str]:
    found = []
    for (at, name), time in processing.items():
        stream = network.streams[name]
        egress = next(hop.egress for hop in stream.tree if hop.bridge == at)
        slowest = min(network.link_at[at, port].rate_bps for port in egress)
        bridge = network.bridges[at]
        allowed = processing_allowed_ps(bridge, slowest)
        allowed += abs(bridge.clock.drift_ppb) * allowed // 10**9 + _TICK_PS  # the bound has a term for drift
        if time > allowed and stream.shaped:
            found.append(
                f"{at}: frames of {name} take {time // 1000} ns or more from last bit in to first bit out,"
                f" above the {allowed // 1000} ns of an idle switch; their bound counts what was measured"
            )
    return found


def _tables(steps: pl.DataFrame) -> tuple[dict[str, list[dict[str, Any]]] | None, list[dict[str, Any]]]:
    """The time from last bit in to first bit out (below zero where a bridge cuts through).

    Per stream and egress port in the order of the way, and per egress port.
    """
    steps = steps.with_columns((pl.col("sent") - pl.col("arrived")).alias("passing"))
    both = [
        pl.col("sent").count().alias("frames"),
        pl.col("dropped").count().alias("dropped"),
        *distribution_of("passing", pl.col("passing")),
    ]
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
    ports = steps.group_by("node", "port").agg(both).join(deepest, on=["node", "port"], how="left")
    ports = ports.with_columns(pl.col("node").cast(pl.String)).sort("node", "port")
    port_rows = [_hop(row) | {"queued_bytes_max": row["deepest"] or 0} for row in ports.iter_rows(named=True)]
    per_stream = steps.group_by("stream", "node", "port").agg(pl.col("received").min().alias("first"), *both)
    if per_stream.height > _MOST_HOPS:
        return None, port_rows
    found: dict[str, list[dict[str, Any]]] = {}
    for row in per_stream.sort("first", "port").iter_rows(named=True):
        found.setdefault(str(row["stream"]), []).append(_hop(row))
    return found, port_rows


def _hop(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "bridge": str(row["node"]),
        "port": row["port"],
        "frames": row["frames"],
        "dropped": row["dropped"],
        "passing_ns": _ns(distribution(row, "passing")),
    }


_TIMES = ("latency", "interval", "talker_wait", "transmit", "shaping")
_STREAM_COLUMNS: dict[str, Any] = {
    "ok": pl.Boolean,
    "from": pl.String,
    "to": pl.List(pl.String),
    "traffic_class": pl.UInt8,
    "sent": pl.UInt64,
    "copies": pl.UInt64,
    "delivered": pl.UInt64,
    "inside": pl.UInt64,
    "dropped": pl.UInt64,
    "dropped_why": pl.String,
    "lost": pl.UInt64,
    **{f"{what}_{key}_ns": pl.Float64 for what in _TIMES for key in KEYS},
    "jitter_ns": pl.Float64,
    "period_jitter_mean_ns": pl.Float64,
    "period_jitter_peak_to_peak_ns": pl.Float64,
    "launch_missed": pl.UInt64,
    "rate_bps": pl.Float64,
    "bound_ns": pl.Float64,
    "bound_ok": pl.Boolean,
    "deadline_ns": pl.Float64,
    "deadline_ok": pl.Boolean,
    "deadline_missed": pl.UInt64,
}


def stream_rows(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The streams of a summary as flat rows, whose names carry their units."""
    rows = []
    for name, stream in summary["streams"].items():
        times = {f"{what}_{key}_ns": stream[f"{what}_ns"][key] for what in _TIMES for key in KEYS}
        why = ", ".join(f"{count} {reason}" for reason, count in stream["dropped"].items())
        jitter, launch = stream["period_jitter_ns"] or {}, stream["launch"] or {}
        row = {
            **stream,
            **times,
            "dropped": sum(stream["dropped"].values()),
            "dropped_why": why,
            **{f"period_jitter_{key}_ns": jitter.get(key) for key in ("mean", "peak_to_peak")},
            "launch_missed": launch.get("missed"),
        }
        rows.append({"stream": name, **{column: row[column] for column in _STREAM_COLUMNS}})
    return rows


def stream_table(summary: Mapping[str, Any]) -> pl.DataFrame:
    """A row per stream."""
    return pl.DataFrame(stream_rows(summary), schema={"stream": pl.String, **_STREAM_COLUMNS}, orient="row")


def port_table(summary: Mapping[str, Any]) -> pl.DataFrame:
    """A row per bridge and egress port."""
    kinds: dict[str, Any] = {
        "bridge": pl.String,
        "port": pl.UInt16,
        "frames": pl.UInt64,
        "dropped": pl.UInt64,
        **{f"passing_{key}_ns": pl.Float64 for key in KEYS},
        "queued_bytes_max": pl.UInt64,
    }
    rows = [{**row, **{f"passing_{key}_ns": row["passing_ns"][key] for key in KEYS}} for row in summary["ports"] or ()]
    return pl.DataFrame([{column: row[column] for column in kinds} for row in rows], schema=kinds, orient="row")
