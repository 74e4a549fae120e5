# SPDX-License-Identifier: Apache-2.0
"""Gate control lists: whether a clock and gates can do what a scenario says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock import _engine
from penstock.scenario import model
from penstock.scenario.draft import Draft
from penstock.scenario.egress import GateList, SlotSchedule
from penstock.scenario.limits import (
    GATE_ENTRIES,
    LONGEST_INTERVAL_NS,
    MOST_GATE_ENTRIES,
    SHORTEST_INTERVAL_NS,
    START_TIME_NS,
)
from penstock.scenario.port_keys import CLASSES, index
from penstock.scenario.positions import KeyPath
from penstock.scenario.report import names
from penstock.scenario.units import show_time


@dataclass(frozen=True)
class Able:
    """What runs a gate control list can do."""

    entries: int
    least_interval_ns: int


_ABLE = {
    "rtl": Able(GATE_ENTRIES, SHORTEST_INTERVAL_NS),
    "linux": Able(MOST_GATE_ENTRIES, SHORTEST_INTERVAL_NS),
    "plane": Able(MOST_GATE_ENTRIES, 1000),
    "model": Able(MOST_GATE_ENTRIES, 0),
}


def check_guard_band(
    draft: Draft, path: KeyPath, settings: model.Bridge | model.Station, what_is: str, remedy: str
) -> None:
    """Refuses what only models count otherwise, of hardware and of Linux."""
    if not settings.guard_band_gap:
        what = f"{what_is} lets no frame start whose gap does not end before its gate closes"
        draft.once((*path, "guard_band_gap"), what, f"true, or {remedy}")
    if settings.guard_band_credit == "frozen":
        what = f"{what_is} lets credit rise while the gate is open"
        draft.once((*path, "guard_band_credit"), what, f'"rises", or {remedy}')


def able_of(nodes: str) -> Able:
    """What "rtl", "model", "linux" or "plane" can do."""
    return _ABLE[nodes]


def gate_list(
    draft: Draft, path: KeyPath, gates: model.Gates, class_names: Mapping[int, str], limits: Able
) -> GateList | None:
    """The list, if nothing is wrong with it; of all bridges of a topology the same."""
    if (path, limits) not in draft.gate_lists:
        draft.gate_lists[path, limits] = _new_gate_list(draft, path, gates, class_names, limits)
    return draft.gate_lists[path, limits]


def _new_gate_list(
    draft: Draft, path: KeyPath, gates: model.Gates, class_names: Mapping[int, str], limits: Able
) -> GateList | None:
    report, most = draft.report, limits.entries
    seen = len(report.found)
    slots = None
    if gates.slots is not None:
        slots = _schedule(draft, path, gates.slots)
        gates = _of_slots(draft, path, gates, slots)
        if len(report.found) > seen:
            return None
    where = (*path, "entries")
    if not gates.entries:
        report.add(where, "the list has no entries", f"1 to {most} entries")
    if len(gates.entries) > most:
        remedy = ", more in models" if most < MOST_GATE_ENTRIES else ""
        report.add(where, f"the list has {len(gates.entries)} entries", f"1 to {most} entries{remedy}")
    entries = [
        (_states(draft, (*where, n, "open"), entry.open, class_names), entry.interval // 1000)
        for n, entry in enumerate(gates.entries)
    ]
    total_ps = sum(entry.interval for entry in gates.entries)
    cycle_ps = total_ps if gates.cycle_time is None else gates.cycle_time
    if cycle_ps // 1000 > LONGEST_INTERVAL_NS:
        what = f"a cycle of {show_time(cycle_ps)} is longer than the longest that gates can do"
        report.add((*path, "cycle_time"), what, f"{SHORTEST_INTERVAL_NS}ns to {LONGEST_INTERVAL_NS}ns")
    _check_shortest(draft, path, gates, cycle_ps, limits)
    initial = _states(draft, (*path, "initial"), gates.initial, class_names)
    if len(report.found) > seen or report.is_mended(path):
        return None
    if total_ps > cycle_ps:
        said = f"the entries take {show_time(total_ps)}, the cycle {show_time(cycle_ps)}: the rest never acts"
        report.warn(where, said)
    elif total_ps < cycle_ps:
        said = f"the entries take {show_time(total_ps)}, the cycle {show_time(cycle_ps)}: the last one lasts longer"
        report.warn(where, said)
    base_ns = START_TIME_NS + gates.base_time // 1000
    acting = _without_empty(entries, cycle_ps // 1000)
    return GateList(acting, base_ns, cycle_ps // 1000, gates.cycle_time_extension // 1000, initial, slots)


def _schedule(draft: Draft, path: KeyPath, slots: model.Slots) -> SlotSchedule:
    slot_ns = [0] * CLASSES
    for key, time in slots.times.items():
        slot_ns[index(draft, (*path, "slots", "times", key), key, CLASSES, "traffic class")] = time // 1000
    return SlotSchedule(tuple(slot_ns), tuple(slots.order), slots.guard // 1000)


def _of_slots(draft: Draft, path: KeyPath, gates: model.Gates, slots: SlotSchedule) -> model.Gates:
    """The same with the entries that the slots mean."""
    whole_ps = sum(slots.slot_ns[number] for number in slots.order) * 1000
    cycle_ps = whole_ps if gates.cycle_time is None else gates.cycle_time
    try:
        found = _engine.slots(list(slots.slot_ns), list(slots.order), cycle_ps // 1000, slots.guard_ns)
    except _engine.InputError as error:
        what, _, allowed = str(error).rpartition("; ")
        draft.report.add((*path, "slots"), what, allowed.removesuffix(" are allowed").removesuffix(" is allowed"))
        return gates
    entries = [
        model.GateEntry.model_construct(
            open=tuple(k for k in range(CLASSES) if queues >> k & 1), interval=interval_ns * 1000
        )
        for queues, interval_ns in found
    ]
    return gates.model_copy(update={"entries": entries, "slots": None})


def _check_shortest(draft: Draft, path: KeyPath, gates: model.Gates, cycle_ps: int, limits: Able) -> None:
    """Whether intervals and cycle are as long as what runs the list can do."""
    least = limits.least_interval_ns
    allowed = f"{least}ns to {LONGEST_INTERVAL_NS}ns, or a model" if least else f"1ns to {LONGEST_INTERVAL_NS}ns"
    for n, entry in enumerate(gates.entries):
        if entry.interval < least * 1000:
            what = f"{show_time(entry.interval)} is too small for hardware and for Linux"
            draft.report.add((*path, "entries", n, "interval"), what, allowed)
    if gates.entries and cycle_ps < max(least, 1) * 1000:
        where = (*path, "entries" if gates.cycle_time is None else "cycle_time")
        draft.report.add(where, f"a cycle of {show_time(cycle_ps)} is too small", allowed)


def _without_empty(entries: list[tuple[int, int]], cycle_ns: int) -> tuple[tuple[int, int], ...]:
    """Of entries at one instant only the last one acts; the last of all does if it has what is left of the cycle."""
    found = [entry for entry in entries if entry[1]]
    left = cycle_ns - sum(interval for _, interval in entries)
    states, interval = entries[-1]
    return (*found, (states, left)) if interval == 0 and left > 0 else tuple(found)


def _states(draft: Draft, path: KeyPath, states: tuple[int | str, ...], class_names: Mapping[int, str]) -> int:
    numbers = {name: k for k, name in class_names.items()}
    mask = 0
    for state in states:
        number = numbers.get(state, -1) if isinstance(state, str) else state
        if not 0 <= number < CLASSES:
            what = f'there is no traffic class "{state}"' if isinstance(state, str) else f"there is no class {state}"
            known = f"0 to {CLASSES - 1}" + (f", {names(numbers)}" if numbers else "")
            draft.report.add(path, what, known)
        elif mask >> number & 1:
            draft.report.add(path, f"class {state} is there twice", "each class once")
        else:
            mask |= 1 << number
    return mask
