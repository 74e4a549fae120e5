# SPDX-License-Identifier: Apache-2.0
"""Bounds as JSON and as data frames. Times in ns, rates in b/s, lengths in bytes."""

from __future__ import annotations

from typing import Any

import polars as pl

from penstock.bound.analysis import Analysis, StreamBounds
from penstock.bound.terms import Contention, HopBound, WayBound

_LISTENER: dict[str, Any] = {
    "stream": pl.String,
    "listener": pl.String,
    "traffic_class": pl.UInt8,
    "required": pl.Boolean,
    "hops": pl.UInt32,
    "media_ns": pl.Float64,
    "processing_ns": pl.Float64,
    "contention_ns": pl.Float64,
    "clock_ns": pl.Float64,
    "bound_ns": pl.Float64,
    "deadline_ns": pl.Float64,
    "deadline_ok": pl.Boolean,
    "ok": pl.Boolean,
    "reason": pl.String,
}
_HOP: dict[str, Any] = {
    "stream": pl.String,
    "listener": pl.String,
    "hop": pl.UInt32,
    "bridge": pl.String,
    "entry": pl.UInt16,
    "egress": pl.UInt16,
    "traffic_class": pl.UInt8,
    "cable_ns": pl.Float64,
    "frame_ns": pl.Float64,
    "preamble_ns": pl.Float64,
    "processing_ns": pl.Float64,
    "contention_ns": pl.Float64,
    "clock_grid_ns": pl.Float64,
    "hop_ns": pl.Float64,
    "sum_of_bursts_bytes": pl.UInt64,
    "l_min_bytes": pl.UInt64,
    "l_lp_bytes": pl.UInt64,
    "link_rate_bps": pl.UInt64,
    "higher_rates_bps": pl.UInt64,
    "equation": pl.String,
}


def by_listener(analysis: Analysis) -> pl.DataFrame:
    """A row per stream and listener."""
    rows = [_listener_row(each, way) for each in analysis.streams for way in each.ways]
    return pl.DataFrame(rows, schema=_LISTENER, orient="row")


def by_hop(analysis: Analysis) -> pl.DataFrame:
    """A row per stream, listener and bridge, of those that have a bound."""
    rows = [
        (way.stream, way.listener, number, *_hop_values(hop))
        for each in analysis.streams
        for way in each.ways
        for number, hop in enumerate(way.hops, 1)
    ]
    return pl.DataFrame(rows, schema=_HOP, orient="row")


def _listener_row(each: StreamBounds, way: WayBound) -> dict[str, Any]:
    parts = _parts(way)
    return {
        "stream": way.stream,
        "listener": way.listener,
        "traffic_class": each.stream.traffic_class,
        "required": each.required,
        "hops": len(way.hops) or None,
        **(dict.fromkeys(parts) if way.reason is not None else parts),
        "bound_ns": _ns(way.total_ps),
        "deadline_ns": _ns(each.stream.deadline_ps),
        "deadline_ok": _deadline_ok(each, way),
        "ok": not each.required or each.way_ok(way),
        "reason": reason(way),
    }


def _deadline_ok(each: StreamBounds, way: WayBound) -> bool | None:
    return None if each.stream.deadline_ps is None else each.way_ok(way)


def _hop_values(hop: HopBound) -> tuple[Any, ...]:
    one = hop.contention
    times = (
        hop.cable_ps, hop.frame_ps, hop.preamble_ps, hop.processing_ps, hop.wait_ps, hop.clock_grid_ps, hop.total_ps
    )  # fmt: skip
    numbers: tuple[int | None, ...] = (None,) * 5
    if one is not None:
        numbers = (one.sum_of_bursts_bytes, one.l_min_bytes, one.l_lp_bytes, one.link_rate_bps, one.higher_rates_bps)
    return hop.bridge, hop.entry, hop.egress, hop.traffic_class, *map(_ns, times), *numbers, hop.waits_for


def asked(each: StreamBounds, way: WayBound) -> bool:
    """Whether a way is told of: it has a bound, or should have one."""
    return each.required or way.reason is None


def reason(way: WayBound) -> str | None:
    """Why there is no bound, and where."""
    return way.reason if way.refused_at is None else f'{way.reason} (at "{way.refused_at}")'


def as_json(analysis: Analysis) -> dict[str, Any]:
    """What `penstock bound --json` prints."""
    return {
        "ok": analysis.ok,
        "name": analysis.network.name,
        "rows": [row for each in analysis.streams for way in each.ways if asked(each, way) for row in _rows(each, way)],
        "streams": {each.stream.name: _stream(each) for each in analysis.streams},
        "warnings": list(analysis.warnings),
    }


def _rows(each: StreamBounds, way: WayBound) -> list[dict[str, Any]]:
    """As every comparing command prints them: each hop, and the whole way against the deadline."""
    where = f"{way.stream}/{way.listener}"
    rows: list[dict[str, Any]] = [
        {
            "id": f"{where}/{hop.bridge}", "quantity": "worst case of the hop", "unit": "ns",
            "bound": _ns(hop.total_ps), "ok": True,
        }
        for hop in way.hops
    ]  # fmt: skip
    whole = {"id": where, "quantity": "worst-case latency", "unit": "ns", "bound": _ns(way.total_ps)}
    if each.stream.deadline_ps is not None:
        whole["goal"] = _ns(each.stream.deadline_ps)
    if way.reason is not None:
        whole["reason"] = reason(way)
    return [*rows, {**whole, "ok": not each.required or each.way_ok(way)}]


def _stream(each: StreamBounds) -> dict[str, Any]:
    stream, worst = each.stream, each.worst
    refused = next((way for way in each.ways if way.reason is not None), None)
    ats = stream.ats
    return {
        "ok": each.ok,
        "required": each.required,
        "from": stream.talker,
        "traffic_class": stream.traffic_class,
        "contract": None if each.contract is None else each.contract.as_json(),
        "committed": None if ats is None else {"rate_bps": ats.rate_bps, "burst_bytes": ats.burst_bytes},
        "bound_ns": None if worst is None else _ns(worst.total_ps),
        "deadline_ns": _ns(stream.deadline_ps),
        "reason": None if refused is None else reason(refused),
        "if_nothing_is_lost": each.loss,
        "listeners": {way.listener: _way(each, way) for way in each.ways},
    }


def _way(each: StreamBounds, way: WayBound) -> dict[str, Any]:
    if way.reason is not None:
        return {"bound_ns": None, "reason": way.reason, "refused_at": way.refused_at, "hops": []}
    return {
        "bound_ns": _ns(way.total_ps),
        "deadline_ok": _deadline_ok(each, way),
        "reason": None,
        "refused_at": None,
        "hops": [_hop(hop) for hop in way.hops],
        "last_cable_ns": _ns(way.last_cable_ps),
        "clock_drift": None if way.drift is None else {"ns": _ns(way.drift.ps), "said": way.drift.detail},
        "parts": _parts(way),
    }


def _parts(way: WayBound) -> dict[str, Any]:
    """The whole way, split as the paper splits a hop, and clocks."""
    return {
        "media_ns": _ns(way.media_ps),
        "processing_ns": _ns(way.processing_ps),
        "contention_ns": _ns(way.contention_ps),
        "clock_ns": _ns(way.clock_ps),
    }


def _hop(hop: HopBound) -> dict[str, Any]:
    return {
        "bridge": hop.bridge,
        "entry": hop.entry,
        "egress": hop.egress,
        "traffic_class": hop.traffic_class,
        "bound_ns": _ns(hop.total_ps),
        "contention": _contention(hop),
        "media": {
            "ns": _ns(hop.media_ps),
            "cable_ns": _ns(hop.cable_ps),
            "frame_ns": _ns(hop.frame_ps),
            "preamble_ns": _ns(hop.preamble_ps),
        },
        "processing": {
            "ns": _ns(hop.processing_ps),
            "processing_delay_max_ns": _ns(hop.processing_delay_max_ps),
            "said": hop.processing_said,
        },
        "clock_grid": {"ns": _ns(hop.clock_grid_ps), "said": hop.clock_grid_said},
    }


def _contention(hop: HopBound) -> dict[str, Any]:
    said = {"ns": _ns(hop.wait_ps), "equation": hop.waits_for}
    return said if hop.contention is None else said | _numbers(hop.contention)


def _numbers(one: Contention) -> dict[str, Any]:
    return {
        "bursts": [
            {
                "stream": each.stream,
                "traffic_class": each.traffic_class,
                "burst_bytes": each.burst_bytes,
                "rate_bps": each.rate_bps,
            }
            for each in one.committed
        ],
        "sum_of_bursts_bytes": one.sum_of_bursts_bytes,
        "l_min_bytes": one.l_min_bytes,
        "l_lp_bytes": one.l_lp_bytes,
        "l_lp_stream": one.l_lp_stream,
        "link_rate_bps": one.link_rate_bps,
        "higher_rates_bps": one.higher_rates_bps,
    }


def _ns(ps: int | None) -> float | None:
    return None if ps is None else ps / 1000
