# SPDX-License-Identifier: Apache-2.0
"""What the page of a run says: verdict, table, bound, pictures. Everything is read from summary and trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from penstock.command.tables import NOTHING
from penstock.journeys import View
from penstock.report import figures, latency, moments, page, punctuality, style, tiles, way
from penstock.scenario.network import Network
from penstock.scenario.units import show_rate
from penstock.table import busiest_ports, drops, most_urgent, others, us
from penstock.trace import last_time_ps
from penstock.version import __version__

_MOST_ROWS = 40
_MOST_TERMS = 8  # in sight
_MOST_CARDS = 12
_BEGINNING = 0.01  # a part of the trace that begins so early begins with it
_STREAM_HEADS = ("sent", "delivered", "inside", "dropped", "min", "mean", "p50", "p99", "max", "jitter", "interval",
                 "bound", "deadline", "rate")  # fmt: skip
_QUANTILES = ("min", "mean", "p50", "p99", "max")


def part_of(file: Path, rows: int, begin_ps: int = 0) -> pl.DataFrame:
    """So much of a trace that is too long for pictures of all of it, from a time on and in the order of time."""
    part = pl.scan_parquet(file)
    if begin_ps:
        part = part.filter(pl.col("time_ps") >= begin_ps)
    return part.head(rows).collect().sort("time_ps", "frame_id", maintain_order=True)


def render(network: Network, view: View | None, summary: dict[str, Any], asked: Sequence[moments.Asked] = ()) -> str:
    """The report of a run; without a trace, or with its beginning, it says so. `asked` are moments to be looked at."""
    names = figures.shown(summary)
    looks = style.looks(names)
    pictures = [*figures.of_network(network, looks), *tiles.picture(network, summary, looks)]
    found = moments.Moments()
    if view is not None:
        arrived = latency.delivered(view, summary)
        found = moments.moments(moments.Ports(view), arrived, looks, asked)
        pictures += [*figures.of_frames(view, arrived, summary, looks), *way.picture(network, summary, found.hops)]
    ports = _ports(summary)
    bounds = _bounds(summary, names)
    punctual = punctuality.rows(summary)
    sections = {
        "Streams": True,
        "Punctuality": punctual,
        "Bound": bounds,
        "Bridges on the way": ports,
        "A moment": found.listed,
    }
    return page.render(
        "run.html",
        [(f"plot-{each.id}", each.figure) for each in pictures],
        found.parcels,
        title=summary["title"],
        verdict=_verdict(summary),
        summary=summary,
        cards=_cards(summary),
        contents=[*(title for title, there in sections.items() if there), *(each.title for each in pictures)],
        streams=_streams(summary, looks),
        stream_heads=_STREAM_HEADS,
        other_streams=others(summary, min(len(summary["streams"]), _MOST_ROWS)),
        punctuality=punctual,
        punctuality_heads=punctuality.HEADS,
        bounds=bounds,
        most_terms=_MOST_TERMS,
        ports=ports,
        all_ports=len(summary["ports"] or ()),
        hops_of=[(name, summary["streams"][name]["hops"]) for name in names if summary["streams"][name]["hops"]],
        quantiles=_QUANTILES,
        left_out=[*_left_out(None if view is None else view.trace, summary, len(names)), *found.left_out],
        moments=found.groups,
        pictures_shown=pictures,
        looks=looks,
        choose=len(looks) > style.MOST_IN_LEGEND and view is not None,
        warnings=summary["warnings"][:_MOST_ROWS],
        facts=_facts(network, summary),
    )


def _verdict(summary: dict[str, Any]) -> str:
    if summary["partial"]:
        return "Interrupted"
    return "Every requirement met" if summary["ok"] else "A requirement was not met"


def _left_out(trace: pl.DataFrame | None, summary: dict[str, Any], streams: int) -> list[str]:
    """What the pictures do not show."""
    said = []
    rows = summary["simulation"].get("trace_rows", 0)
    if trace is None:
        said.append(
            "There are no pictures of frames: the trace was off or filtered. Statistics were counted during the run."
        )
    elif trace.height < rows:
        first_ms, last_ms = int(trace["time_ps"].min() or 0) / 1e9, last_time_ps(trace) / 1e9  # type: ignore[arg-type]
        part = f"its beginning, the first {last_ms:,.3f} ms"
        if first_ms > _BEGINNING * last_ms:
            part = f"the time from {first_ms:,.3f} to {last_ms:,.3f} ms"
        said.append(f"The trace has {rows:,} rows. The pictures show {part}; statistics are of the whole run.")
    if summary["statistics"]["percentile_error"]:
        error = summary["statistics"]["percentile_error"]
        said.append(f"Percentiles of many values are off by up to {error:.1%}; all else is exact.")
    if streams < len(summary["streams"]):
        said.append(
            f"{streams} of {len(summary['streams']):,} streams are drawn: those nearest to their limits or the slowest."
        )
    return said


def _cards(summary: dict[str, Any]) -> list[dict[str, str]]:
    cards = []
    if summary["partial"]:
        reached = summary["simulation"].get("end_ps", 0) / 1e9
        cards.append(
            page.card("interrupted", f"after {reached:,.3f} ms of network time; all here is of that part", False)
        )
    judged = most_urgent(summary, _MOST_CARDS)
    for name in judged:
        stream = summary["streams"][name]
        worst = us(stream["latency_ns"]["max"])
        beyond = f"{worst} us and {sum(stream['dropped'].values()):,} dropped, allowed"
        count = "some" if stream["deadline_missed"] is None else f"{stream['deadline_missed']:,}"
        missed = f"{count} frames late or dropped, allowed"
        for limit, ok, what, failure in (
            (stream["bound_ns"], stream["bound_ok"], "bound", beyond),
            (stream["deadline_ns"], stream["deadline_ok"], "deadline", missed),
        ):
            if limit is not None:
                cards.append(page.card(f"{name}: {what}", f"{f'{worst} ≤' if ok else failure} {us(limit)} us", ok))
        if stream["bound"] and stream["bound_ns"] is None:
            cards.append(page.card(f"{name}: bound", f"none: {stream['bound']['reason']}", None))
    beside = [stream for name, stream in summary["streams"].items() if name not in judged]
    if beside:
        met = sum(bool(stream["ok"]) for stream in beside)
        cards.append(
            page.card("the other streams", f"{met:,} of {len(beside):,} meet their requirements", met == len(beside))
        )
    kept = summary["conservation"]
    parts = " + ".join(f"{kept[what]:,} {what}" for what in ("delivered", "dropped", "inside"))
    cards.append(page.card("every frame accounted for", f"{kept['created']:,} = {parts}", kept["ok"]))
    return cards


def _streams(summary: dict[str, Any], looks: Mapping[str, style.Look]) -> list[dict[str, Any]]:
    rows = []
    for name in most_urgent(summary, _MOST_ROWS):
        stream = summary["streams"][name]
        latency = stream["latency_ns"]
        shaped = "ATS" if stream["shaped"] else "not shaped"
        how = {"ats": shaped, "cbs": "CBS", "strict": "not shaped", "round_robin": "round robin"}
        kind = f"class {stream['traffic_class']}, {how[stream['selection']]}"
        cells = [
            f"{stream['sent']:,}",
            f"{stream['delivered']:,}",
            f"{stream['inside']:,}",
            drops(stream["dropped"]),
            *(us(latency[key]) for key in _QUANTILES),
            us(stream["jitter_ns"]),
            us(stream["interval_ns"]["mean"]),
            us(stream["bound_ns"]),
            us(stream["deadline_ns"]),
            NOTHING if stream["rate_bps"] is None else show_rate(stream["rate_bps"]),
        ]
        rows.append(
            {
                "name": name,
                "way": f"{stream['from']} → {', '.join(stream['to'])}; {kind}",
                "color": looks[name].color if name in looks else "transparent",
                "cells": cells,
            }
        )
    return rows


def _ports(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Of a network of several bridges."""
    return busiest_ports(summary) if len(summary["bridges"]) > 1 else []


def _bounds(summary: dict[str, Any], names: list[str]) -> list[dict[str, Any]]:
    streams = {name: summary["streams"][name] for name in names}
    return [
        {
            "name": name,
            "bound": stream["bound"],
            "conformance": stream["conformance"],
            "worst_ns": stream["latency_ns"]["max"],
            "hops": [
                hop
                for hop in stream["hops"] or ()
                if hop["bound_ns"] is not None and hop["passing_ns"]["max"] is not None
            ],
        }
        for name, stream in streams.items()
        if stream["bound"] is not None
    ]


def _facts(network: Network, summary: dict[str, Any]) -> list[str]:
    """Of the program, the scenario and the simulation; clock cycles where hardware was simulated."""
    facts = [f"Penstock {__version__}", f"scenario {network.file.name}"]
    for name, bridge in summary["bridges"].items() if len(summary["bridges"]) == 1 else ():
        for stream, ns in bridge["processing_ns"].items():
            facts.append(f"{name}: last bit in to first bit out in {ns:g} ns at least ({stream})")
    for row in summary.get("cards", ())[:_MOST_ROWS]:
        seen = f"{row['frames']:,} frames, {100 * row['share']:.2f} % of its line"
        is_open = f"its gate is open for {100 * row['open']:.2f} %"
        facts.append(f"{row['station']}: queue {row['queue']} sent {seen}; {is_open}")
    simulation = summary["simulation"]
    nodes = (*network.bridges.values(), *network.stations.values())
    if any(node.has_hardware for node in nodes):
        for key, what in (("cycles_simulated", "clock cycles simulated"), ("cycles_jumped", "idle ones jumped over")):
            if key in simulation:
                facts.append(f"{simulation[key]:,} {what}")
    return facts
