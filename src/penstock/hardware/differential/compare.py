# SPDX-License-Identifier: Apache-2.0
"""Holds the records of hardware and model against each other, event by event; there is no tolerance."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock import _engine
from penstock.hardware.differential.play import Record
from penstock.hardware.differential.scenario import START_CYCLE, Scenario
from penstock.hardware.traffic import FAULTY_OUTPUT, refusal_counter, refusals

INPUT, VERDICT, SELECTED, DROPPED, OUTPUT, FAULT, STAMP = map(
    _engine.KINDS.index, ("input", "verdict", "selected", "dropped", "output", "fault", "stamp")
)
MAX_SDU = _engine.REASONS.index("max_sdu")
LAST_MAC_REASON = _engine.REASONS.index("overrun")

Table = NDArray[np.int64]  # a row per event
COLUMNS = (
    "cycle", "kind", "port", "frame", "length", "reason", "destination", "refused", "refused_reasons",
    "traffic_class", "visible", "stream", "flags", "fcs",
)  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same."""

    cycle: int  # of the earlier of the two; from the start of the scenario
    what: str


def table(record: Record) -> Table:
    """All events in one order, with zeros where the hardware's value has no meaning."""
    columns = {name: record.events[name].astype(np.int64) for name in COLUMNS}  # type: ignore[literal-required]
    verdict = columns["kind"] == VERDICT
    dropped = verdict & (columns["reason"] != 0)
    columns["visible"][~(verdict | (columns["kind"] == STAMP)) | dropped] = 0
    columns["stream"][columns["flags"] & _engine.FLAG_STREAM == 0] = 0
    columns["traffic_class"][dropped & (columns["reason"] <= LAST_MAC_REASON)] = 0
    for port in range(8):
        # A sign ends the last byte.
        columns["refused_reasons"][columns["refused"] >> port & 1 == 0] &= ~(127 << 8 * port)
    rows = np.stack([*columns.values()], axis=1)
    return rows[np.lexsort([rows[:, n] for n in reversed(range(rows.shape[1]))])]


def compare(scenario: Scenario, rtl: Record, model: Record) -> list[Difference]:
    """What is not the same, the earliest first; nothing when the two are equal."""
    ours, theirs = table(rtl), table(model)
    found = [*_sound(rtl, ours), *_written(scenario, rtl, model)]
    if not np.array_equal(ours, theirs):
        found += _events(scenario, ours, theirs)
    for name in ("inside", "waiting"):
        if getattr(rtl, name) != getattr(model, name):
            text = f"{name} at the end: {getattr(rtl, name)} in the hardware, {getattr(model, name)} in the model"
            found.append(Difference(rtl.end_cycle - START_CYCLE, text))
    if not found:
        found += _counters(scenario, rtl, theirs)
    return sorted(found, key=lambda difference: difference.cycle)


def _sound(rtl: Record, rows: Table) -> list[Difference]:
    """The hardware never contradicts itself, and nothing leaves it damaged; each copy is accounted for."""
    cycle, kind, flags = rows[:, 0], rows[:, 1], rows[:, COLUMNS.index("flags")]
    wrong = (kind == FAULT) | ((kind == OUTPUT) & (flags & FAULTY_OUTPUT != 0))
    found = [
        Difference(int(row[0]) - START_CYCLE, f"the hardware itself: {dict(zip(COLUMNS, row.tolist(), strict=True))}")
        for row in rows[wrong]
    ]
    queued = sum(int(mask).bit_count() for mask in rows[kind == VERDICT, COLUMNS.index("destination")])
    gone = int(((kind == OUTPUT) | (kind == DROPPED)).sum())
    if rtl.inside == 0 and queued != gone:
        found.append(Difference(int(cycle[-1]) - START_CYCLE, f"the hardware queued {queued} copies, {gone} came out"))
    return found


def _written(scenario: Scenario, rtl: Record, model: Record) -> list[Difference]:
    """A write takes as long."""
    writes = [
        (change, name) for change in sorted(scenario.changes, key=lambda change: change.at) for name, _ in change.writes
    ]
    for (change, name), ours, theirs in zip(writes, rtl.written, model.written, strict=True):
        if ours != theirs:
            text = f"{change.kind}: {name} written by {ours - START_CYCLE} in the hardware, {theirs - START_CYCLE}"
            return [Difference(min(ours, theirs) - START_CYCLE, f"{text} in the model")]
    return []


def _events(scenario: Scenario, ours: Table, theirs: Table) -> list[Difference]:
    sides = (_by_key(ours), _by_key(theirs))
    found = []
    for key in sides[0].keys() | sides[1].keys():
        kind, frame, port = key
        mine, other = (side.get(key, []) for side in sides)
        name = _engine.KINDS[kind]
        arrival = scenario.arrivals[frame].frame if 0 <= frame < len(scenario.arrivals) else None
        who = f"frame {frame}" + (f" (port {arrival.port}, {arrival.size} bytes)" if arrival else "")
        where = f"{name} at port {port}" if kind in (SELECTED, DROPPED, OUTPUT, STAMP) else name
        if len(mine) != len(other) or len(mine) > 1:
            at = min(event["cycle"] for event in (*mine, *other))
            if mine != other:
                found.append(_difference(at, f"{who}: {where}: {len(mine)} in the hardware, {len(other)} in the model"))
            continue
        told = []
        for field in COLUMNS:
            if mine[0][field] != other[0][field]:
                values = [_told(field, event, scenario) for event in (mine[0], other[0])]
                told.append(f"{field} {values[0]} in the hardware, {values[1]} in the model")
        if told:
            found.append(_difference(min(mine[0]["cycle"], other[0]["cycle"]), f"{who}: {where}: {'; '.join(told)}"))
    return found


def _difference(cycle: int, what: str) -> Difference:
    return Difference(cycle - START_CYCLE, f"cycle {cycle - START_CYCLE}: {what}")


def _by_key(rows: Table) -> dict[tuple[int, int, int], list[dict[str, int]]]:
    by_key: dict[tuple[int, int, int], list[dict[str, int]]] = defaultdict(list)
    for row in rows.tolist():
        event = dict(zip(COLUMNS, row, strict=True))
        by_key[event["kind"], event["frame"], event["port"]].append(event)
    return by_key


def _told(field: str, event: dict[str, int], scenario: Scenario) -> Any:
    value = event[field]
    match field:
        case "visible" if event["kind"] == STAMP:
            return f"{value} ns"
        case "cycle" | "visible":
            return value - START_CYCLE if value else "none"
        case "reason":
            return _engine.REASONS[value]
        case "destination" | "refused":
            return [port for port in range(8) if value >> port & 1]
        case "refused_reasons":
            return refusals(event["refused"], value, scenario.ports)
    return value


def _counters(scenario: Scenario, rtl: Record, rows: Table) -> list[Difference]:
    """What the hardware has counted is what happened in the model."""
    expected = [Counter[str]() for _ in range(scenario.ports)]
    for row in rows.tolist():
        event = dict(zip(COLUMNS, row, strict=True))
        port = expected[event["port"]]
        match event["kind"]:
            case kind if kind == VERDICT:
                port["short_gaps"] += bool(event["flags"] & _engine.FLAG_SHORT_GAP)
                if event["reason"]:
                    port[f"dropped[{event['reason']}]"] += 1
                else:
                    port[f"received[{event['traffic_class']}]"] += 1
                    port["received_bytes"] += event["length"]
                for egress, why in refusals(event["refused"], event["refused_reasons"], scenario.ports).items():
                    expected[egress][refusal_counter(why)] += 1
            case kind if kind == OUTPUT:
                port[f"sent[{event['traffic_class']}]"] += 1
                port["sent_bytes"] += event["length"]
            case kind if kind == DROPPED:
                port["refused_sdu" if event["reason"] == MAX_SDU else "dropped_queued"] += 1
    return [
        Difference(
            rtl.end_cycle - START_CYCLE, f"counters of port {n}: {counted} in the hardware, {dict(+events)} expected"
        )
        for n, (counted, events) in enumerate(zip(rtl.counters, expected, strict=True))
        if counted != +events
    ]
