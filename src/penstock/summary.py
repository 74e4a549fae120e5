# SPDX-License-Identifier: Apache-2.0
"""What a trace says about each stream, against its bound and its deadline."""

from __future__ import annotations

from typing import Any

import polars as pl

from penstock.bound import Bound, Conformance, applies, bound, conformance, processing_allowed_ps
from penstock.scenario.network import Network
from penstock.trace import journeys, strays

_PS = 10**12
_LIFETIME_PS = 1_100_000_000_000  # a bridge gives up frames after a second
_SETTLE_PS = 20_000_000  # more than any step between two rows takes that no queue is part of


def summarize(network: Network, trace: pl.DataFrame, simulation: dict[str, Any] | None = None) -> dict[str, Any]:
    """The content of `summary.json`."""
    steps = journeys(network, trace)
    end_ps = max(network.duration_ps, _largest(trace["time_ps"]), int((simulation or {}).get("end_ps", 0)))
    per_stream = {name: steps.filter(pl.col("stream") == name) for name in network.streams}
    conforming = {
        name: _conformance(network, name, rows) for name, rows in per_stream.items() if network.streams[name].ats
    }
    streams = {name: _stream(network, name, rows, conforming, end_ps) for name, rows in per_stream.items()}
    stray = strays(network, trace)
    lost = sum(s["lost"] for s in streams.values())
    conserved = stray == 0 and lost == 0 and all(s["conserved"] for s in streams.values())
    processing = {name: _processing_ps(network, rows) for name, rows in per_stream.items()}
    warnings = network.warnings + _slow(network, processing)
    return {
        "ok": conserved and all(s["ok"] for s in streams.values()),
        "name": network.name,
        "title": network.title,
        "scenario": network.file.name,
        "nodes": network.nodes,
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
        "bridges": {
            name: {
                "processing_ns": {n: p / 1000 for n, p in processing.items() if p is not None},
                "processing_allowed_ns": processing_allowed_ps(bridge) / 1000,
            }
            for name, bridge in network.bridges.items()
        },
        "simulation": simulation or {},
        "warnings": warnings,
    }


def _stream(
    network: Network, name: str, rows: pl.DataFrame, conforming: dict[str, Conformance], end_ps: int
) -> dict[str, Any]:
    stream = network.streams[name]
    arrived = rows.filter(pl.col("delivered").is_not_null())
    dropped = rows.filter(pl.col("delivered").is_null() & pl.col("dropped").is_not_null())
    waiting = rows.filter(pl.col("delivered").is_null() & pl.col("dropped").is_null())
    lost = _lost(waiting, end_ps)
    inside = waiting.height - lost
    reasons = {str(r): int(n) for r, n in dropped.group_by("reason").len().sort("reason").iter_rows()}
    latency = arrived["delivered"] - arrived["talker_sent"].fill_null(arrived["created"])
    interval = arrived.sort("delivered").select(pl.col("delivered").diff().over("listener")).to_series().drop_nulls()
    limit: Bound | None = bound(network, name, _processing_ps(network, rows)) if stream.ats else None
    not_applicable = applies(network, name, conforming) if limit and limit.total_ps is not None else None
    bound_ps = limit.total_ps if limit and not not_applicable else None
    worst = latency.max()
    # A frame that keeps to its rate and burst has to arrive: one that was dropped took longer than any bound.
    in_time = worst is None or bound_ps is None or int(worst) <= bound_ps  # type: ignore[arg-type]
    bound_ok = None if bound_ps is None else in_time and dropped.height == 0
    late = 0 if stream.deadline_ps is None else int((latency > stream.deadline_ps).sum())
    missed = late + dropped.height if stream.deadline_ps is not None else 0
    deadline_ok = None if stream.deadline_ps is None else missed == 0
    conserved = rows.height == arrived.height + dropped.height + inside
    wait = (rows["talker_sent"] - rows["created"]).drop_nulls()
    return {
        "ok": conserved and bound_ok is not False and deadline_ok is not False,
        "from": stream.talker,
        "to": list(stream.listeners),
        "traffic_class": stream.traffic_class,
        "shaped": stream.shaped,
        "sent": rows["frame_id"].n_unique(),
        "copies": rows.height,
        "delivered": arrived.height,
        "inside": inside,
        "dropped": reasons,
        "lost": lost,
        "conserved": conserved,
        "latency_ns": _statistics(latency),
        "jitter_ns": None if arrived.height < 2 else (int(latency.max()) - int(latency.min())) / 1000,  # type: ignore[arg-type]
        "interval_ns": _statistics(interval),
        "talker_wait_ns": _statistics(wait),
        "shaping_ns": _statistics(_shaping(network, rows) if stream.ats else pl.Series([], dtype=pl.Int64)),
        "rate_bps": _rate(arrived),
        "bound_ns": None if bound_ps is None else bound_ps / 1000,
        "bound_ok": bound_ok,
        "bound": _describe(limit, not_applicable),
        "conforms": conforming[name].ok if name in conforming else None,
        "conformance": conforming[name].describe() if name in conforming else None,
        "deadline_ns": None if stream.deadline_ps is None else stream.deadline_ps / 1000,
        "deadline_ok": deadline_ok,
        "deadline_missed": missed,
    }


def _largest(values: pl.Series) -> int:
    return int(values.max() or 0)  # type: ignore[arg-type]


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


def _statistics(values: pl.Series) -> dict[str, float | None]:
    values = values.drop_nulls()
    keys = ("min", "mean", "p50", "p99", "max")
    if values.len() == 0:
        return dict.fromkeys(keys)
    found = (
        values.min(),
        values.mean(),
        values.quantile(0.5, "nearest"),
        values.quantile(0.99, "nearest"),
        values.max(),
    )
    return {key: round(float(value) / 1000, 3) for key, value in zip(keys, found, strict=True)}  # type: ignore[arg-type]


def _rate(arrived: pl.DataFrame) -> float | None:
    """The rate at which the frames arrived, on the wire."""
    if arrived.height < 2:
        return None
    times = arrived["delivered"]
    span = int(times.max()) - int(times.min())  # type: ignore[arg-type]
    total = int((arrived["bytes"] + 20).cast(pl.Int64).sum()) - int(arrived.sort("delivered")["bytes"][-1]) - 20
    return None if span == 0 else round(total * 8 * _PS / span, 1)


def _lost(waiting: pl.DataFrame, end_ps: int) -> int:
    """Copies that are neither delivered nor dropped and cannot be inside any more: their next step is overdue."""
    if waiting.height == 0:
        return 0
    age = end_ps - pl.max_horizontal("created", "talker_sent", "received", "queued", "eligible", "bridge_sent")
    queued = pl.col("queued").is_not_null() & pl.col("bridge_sent").is_null()
    at_talker = pl.col("talker_sent").is_null() & pl.col("received").is_null()
    overdue = (~queued & ~at_talker & (age > _SETTLE_PS)) | (queued & (age > _LIFETIME_PS))
    return waiting.filter(overdue).height


def _arrival(network: Network, rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """The last bit of each frame at the bridge."""
    rate = network.stations[network.streams[name].talker].link_rate_bps
    return rows.filter(pl.col("received").is_not_null()).with_columns(
        (pl.col("received") + pl.col("bytes").cast(pl.Int64) * 8 * _PS // rate).alias("arrival")
    )


def _conformance(network: Network, name: str, rows: pl.DataFrame) -> Conformance:
    stream = network.streams[name]
    assert stream.ats is not None
    overhead = network.bridges[network.stations[stream.talker].bridge].overhead_bytes
    once = _arrival(network, rows.unique("frame_id", keep="first", maintain_order=True), name).sort("arrival")
    pairs = list(once.select("arrival", "bytes").iter_rows())
    return conformance(pairs, stream.ats.rate_bps, stream.ats.burst_bytes, overhead)


def _shaping(network: Network, rows: pl.DataFrame) -> pl.Series:
    """How long frames waited for their eligibility, beside the idle switch's own time."""
    rows = rows.filter(pl.col("eligible").is_not_null() & pl.col("queued").is_not_null())
    return rows.select((pl.col("eligible") - pl.col("queued")).clip(lower_bound=0)).to_series()


def _slow(network: Network, processing: dict[str, int | None]) -> list[str]:
    found = []
    for name, time in processing.items():
        bridge = network.bridges[network.stations[network.streams[name].talker].bridge]
        allowed = processing_allowed_ps(bridge)
        if time is not None and time > allowed and network.streams[name].shaped:
            found.append(
                f"{bridge.name}: frames of {name} take {time // 1000} ns or more from last bit in to first bit out,"
                f" above the {allowed // 1000} ns of an idle switch; their bound counts what was measured"
            )
    return found


def _processing_ps(network: Network, steps: pl.DataFrame) -> int | None:
    """The least time from last bit in to first bit out: what the idle switch takes."""
    rate = min(s.link_rate_bps for s in network.stations.values())
    time = steps.select(
        (pl.col("bridge_sent") - pl.col("received") - pl.col("bytes").cast(pl.Int64) * 8 * _PS // rate).min()
    ).item()
    return None if time is None else int(time)
