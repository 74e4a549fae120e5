# SPDX-License-Identifier: Apache-2.0
"""What egress ports do beside strict priority and ATS: gate lists, credit, turns of a level, longest units."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.scenario.credit import credit_of
from penstock.scenario.draft import Draft
from penstock.scenario.egress import CreditShaper, GateList, QueueLimit
from penstock.scenario.gate_lists import Able, gate_list
from penstock.scenario.port_keys import CLASSES, PortKeys, is_number

_NAME = re.compile(r"(?!(all|none)$)[A-Za-z_][A-Za-z0-9_-]*")


@dataclass
class Shapers:
    """What the ports of a node are set to."""

    gates: dict[int, GateList] = field(default_factory=dict)
    credit: dict[tuple[int, int], CreditShaper] = field(default_factory=dict)
    max_sdu_bytes: dict[tuple[int, int], int] = field(default_factory=dict)
    round_robin: dict[int, frozenset[int]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    queue_limits: dict[int, QueueLimit] = field(default_factory=dict)


def shapers_of(draft: Draft, keys: PortKeys, limits: Able, rates_bps: Mapping[int, int]) -> Shapers:
    """The shapers of a node whose ports with a cable have these rates."""
    key = ("shapers", keys.path, limits, frozenset(rates_bps.items()))
    known: Shapers | None = draft.memo.get(key)
    if known is None:
        known = draft.memo[key] = _shapers(draft, keys, limits, rates_bps)
    return known


def _shapers(draft: Draft, keys: PortKeys, limits: Able, rates_bps: Mapping[int, int]) -> Shapers:
    found = Shapers(names=_class_names(draft, keys), queue_limits=_queue_limits(keys))
    alike: dict[int | None, int] = {}  # by rate, a port of which nothing is said by itself
    for port in range(keys.ports):
        other = port if str(port) in keys.port else alike.setdefault(rates_bps.get(port), port)
        if other != port:
            _set_alike(found, keys, port, other)
            continue
        where, said = keys.gates_of(port)
        gates = None if said is None else gate_list(draft, where, said, found.names, limits)
        if gates is not None:
            found.gates[port] = gates
        for number, shaper in credit_of(draft, keys, port, rates_bps.get(port), gates).items():
            found.credit[port, number] = shaper
        for number in keys.named:
            longest = _max_sdu(keys, port, number)
            if longest is not None:
                found.max_sdu_bytes[port, number] = longest
        level = frozenset(number for number in keys.named if keys.selection_at(port, number) == "round_robin")
        if level:
            found.round_robin[port] = level
    return found


def _set_alike(found: Shapers, keys: PortKeys, port: int, other: int) -> None:
    if other in found.gates:
        found.gates[port] = found.gates[other]
    if other in found.round_robin:
        found.round_robin[port] = found.round_robin[other]
    for number in keys.named:
        if (other, number) in found.credit:
            found.credit[port, number] = found.credit[other, number]
        if (other, number) in found.max_sdu_bytes:
            found.max_sdu_bytes[port, number] = found.max_sdu_bytes[other, number]


def _max_sdu(keys: PortKeys, port: int, traffic_class: int) -> int | None:
    said = (entry.max_sdu for _, entry in keys.said_of(port, traffic_class))
    return next((longest for longest in said if longest is not None), None)


def _queue_limits(keys: PortKeys) -> dict[int, QueueLimit]:
    said = {k: entry.queue_limit for k, entry in keys.classes.items() if is_number(k) and int(k) < CLASSES}
    return {
        int(k): QueueLimit(limit.frames, limit.bytes, limit.drop == "oldest")
        for k, limit in said.items()
        if limit is not None
    }


def _class_names(draft: Draft, keys: PortKeys) -> dict[int, str]:
    found: dict[int, str] = {}
    for key, entry in keys.classes.items():
        if entry.name is None or not is_number(key) or int(key) >= CLASSES:
            continue
        where = (*keys.path, "classes", key, "name")
        if not _NAME.fullmatch(entry.name):
            allowed = "a letter, then letters, digits, _ and -; not all and none"
            draft.report.add(where, f'"{entry.name}" cannot be used as a name', allowed)
        elif entry.name in found.values():
            draft.report.add(where, f'"{entry.name}" is also the name of another class', "each name once")
        else:
            found[int(key)] = entry.name
    return found
