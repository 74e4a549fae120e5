# SPDX-License-Identifier: Apache-2.0
"""What a run says about each stream, against its bound and its deadline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from penstock import passing, phases
from penstock.bound import Bound, Conformance, applies, bound, conformance, processing_allowed_ps
from penstock.bound.answers import learn_answers
from penstock.bound.losses import loss_of
from penstock.bound.sharing import sharing_at_talker
from penstock.journeys import View, strays
from penstock.measure import KEYS, Distribution, Measured, from_engine, from_trace
from penstock.passing import Passing
from penstock.punctuality import UNKNOWN, punctuality
from penstock.queue_shares import queue_shares
from penstock.scenario.checked_fault import Fault
from penstock.scenario.checked_stream import Stream
from penstock.scenario.network import Network
from penstock.trace import last_time_ps

_TICK_PS = 1000


def summarize(
    view: View,
    simulation: Mapping[str, Any] | None = None,
    *,
    partial: bool = False,
    bounded: bool = True,
) -> dict[str, Any]:
    """The content of `summary.json`, from a whole trace; `bounded`: nodes do what their bounds take for granted."""
    network, steps = view.network, view.hops
    told = dict(simulation or {})
    end_ps = max(network.duration_ps, last_time_ps(view.trace), int(told.get("end_ps", 0)))
    measured = from_trace(view, end_ps=end_ps, partial=partial)
    shaped = steps.filter(pl.col("stream").cast(pl.String).is_in([n for n, s in network.streams.items() if s.ats]))
    by_stream = {str(key[0]): rows for key, rows in shaped.partition_by("stream", as_dict=True).items()}
    none = steps.clear()
    conforming = {name: _conformance(network, name, by_stream, none) for name, s in network.streams.items() if s.ats}
    return _summary(
        network,
        measured,
        conforming,
        passing.from_trace(network, steps, _end_ps(network, told, last_time_ps(view.trace), partial=partial)),
        punctuality(network, view.journeys),
        told,
        stray=strays(network, view.rows),
        partial=partial,
        source="trace",
        bounded=bounded,
    ) | {"phases": phases.phases(view), "cards": queue_shares(view)}


def summarize_statistics(
    network: Network, result: Mapping[str, Any], simulation: Mapping[str, Any], *, partial: bool = False
) -> dict[str, Any]:
    """The content of `summary.json` without a whole trace, from what the engine counted."""
    seen = {name: counted["conformance"] for name, counted in result["statistics"].items()}
    figures = result.get("figures")
    return _summary(
        network,
        from_engine(network, result),
        {name: Conformance.from_engine(found) for name, found in seen.items() if found is not None},
        None
        if figures is None
        else passing.from_engine(network, figures, _end_ps(network, simulation, 0, partial=partial)),
        dict.fromkeys(network.streams, UNKNOWN),
        dict(simulation),
        stray=0,
        partial=partial,
        source="engine",
    )


def _end_ps(network: Network, simulation: Mapping[str, Any], last_ps: int, *, partial: bool) -> int:
    """When the run was over: of one that went to its end, after its sources ended at the earliest."""
    reached = int(simulation.get("end_ps", last_ps))
    return reached if partial else max(reached, network.duration_ps)


def _summary(
    network: Network,
    measured: Mapping[str, Measured],
    conforming: dict[str, Conformance],
    passed: Passing | None,
    punctual: Mapping[str, dict[str, Any]],
    simulation: dict[str, Any],
    *,
    stray: int,
    partial: bool,
    source: str,
    bounded: bool = True,
) -> dict[str, Any]:
    processing = passed.processing if passed else {}
    idle_times: dict[str, dict[str, int]] = {}
    for (at, name), time in processing.items():
        idle_times.setdefault(name, {})[at] = time
    learn_answers(network)
    streams = {}
    for name, figures in measured.items():
        has_ats = network.streams[name].ats is not None
        limit = bound(network, name, idle_times.get(name, {})) if bounded else None
        reason = applies(network, name, conforming) if limit and limit.total_ps is not None else None
        streams[name] = _stream(network, name, figures, limit, reason) | {
            "shaping_ns": _ns(passed.shaping.get(name) if passed and has_ats else None),
            **_judged(conforming.get(name)),
            "hops": None
            if passed is None or passed.hops is None
            else _held_against(passed.hops.get(name, []), limit, reason),
            **punctual[name],
        }
    told = [f for m in measured.values() for f in (m.latency, m.interval, m.talker_wait) if f is not None]
    errors = [f.percentile_error for f in told] + ([passed.percentile_error] if passed else [])
    processing_ns: dict[str, dict[str, float]] = {}
    for (at, name), time in processing.items():
        processing_ns.setdefault(at, {})[name] = time / 1000
    return _whole(
        network,
        streams,
        simulation,
        stray=stray,
        partial=partial,
        source={"from": source, "percentile_error": max(errors, default=0.0)},
        bridges={
            name: {
                "processing_ns": processing_ns.get(name, {}),
                "processing_allowed_ns": processing_allowed_ps(bridge) / 1000,
            }
            for name, bridge in network.bridges.items()
        },
        ports=passed.ports if passed else None,
        warnings=_slow(network, processing),
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
    cards = {"rtl" if s.has_hardware else "model" for s in network.stations.values() if s.card is not None}
    kinds = cards | {bridge.nodes for bridge in network.bridges.values()}
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
        "phases": [],
        "cards": [],
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
    lost = measured.dropped_copies
    bound_ok = _is_bound_kept(stream, measured, bound_ps)
    if bound_ok is None and not_applicable is not None and stream.ats is not None:
        bound_ok = False  # what was promised has no ground any more
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
        "bound": _describe(limit, not_applicable, None if limit is None else loss_of(network, stream)),
        "deadline_ns": None if stream.deadline_ps is None else stream.deadline_ps / 1000,
        "deadline_ok": deadline_ok,
        "deadline_missed": missed,
    }


def _is_bound_kept(stream: Stream, measured: Measured, bound_ps: int | None) -> bool | None:
    """A frame that keeps to its rate and burst has to arrive; of other streams a bound is about those that do."""
    if bound_ps is None:
        return None
    in_time = measured.latency is None or measured.latency.max <= bound_ps
    return in_time and (stream.ats is None or measured.dropped_copies == 0)


def _held_against(hops: list[dict[str, Any]], limit: Bound | None, not_applicable: str | None) -> list[dict[str, Any]]:
    """Each hop with the most that a frame may take to pass it; none where no bound applies."""
    limits: dict[tuple[str, int], float] = {}
    if limit is not None and limit.total_ps is not None and not_applicable is None:
        for way in limit.ways:
            for hop in way.hops:
                limits[hop.bridge, hop.egress] = (hop.passing_ps + way.clock_drift_ps) / 1000
    return [hop | {"bound_ns": limits.get((hop["bridge"], hop["port"]))} for hop in hops]


def _judged(source: Conformance | None) -> dict[str, Any]:
    return {"conforms": source and source.ok, "conformance": source and source.describe()}


def _ns(found: Distribution | None) -> dict[str, float | None]:
    return found.ns() if found else dict.fromkeys(KEYS)


def _describe(limit: Bound | None, not_applicable: str | None, loss: str | None) -> dict[str, Any] | None:
    if limit is None:
        return None
    return {
        "total_ns": None if limit.total_ps is None else limit.total_ps / 1000,
        "applies": limit.total_ps is not None and not_applicable is None,
        "reason": limit.reason or not_applicable,
        "if_nothing_is_lost": loss,
        "equation": limit.contention,
        "terms": [{"name": t.name, "detail": t.detail, "ns": t.ps / 1000} for t in limit.terms],
    }


def _conformance(network: Network, name: str, by_stream: Mapping[str, pl.DataFrame], none: pl.DataFrame) -> Conformance:
    """Judged at the first bridge, where the source's own behaviour is seen, with those that share its scheduler."""
    stream = network.streams[name]
    assert stream.ats is not None
    first = stream.tree[0].bridge

    def arrivals(of: str) -> list[tuple[int, int]]:
        there = by_stream.get(of, none).filter(pl.col("node") == first)
        once = there.unique("frame_id", keep="first", maintain_order=True).sort("arrived")
        return list(once.select("arrived", "bytes").iter_rows())

    ats, overhead = stream.ats.at_node(first), network.bridges[first].overhead_bytes
    others = sorted(pair for other in sharing_at_talker(network, stream) for pair in arrivals(other.name))
    return conformance(arrivals(name), ats.rate_bps, ats.burst_bytes, overhead, others)


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
