# SPDX-License-Identifier: Apache-2.0
"""The credit-based shapers of a port: whether what classes may earn fits its rate, and its gates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.scenario.draft import Draft
from penstock.scenario.egress import CreditShaper, GateList
from penstock.scenario.limits import START_TIME_NS
from penstock.scenario.model import SHAPER_KEYS
from penstock.scenario.port_keys import PortKeys
from penstock.scenario.positions import KeyPath
from penstock.scenario.units import show_rate, show_time
from penstock.scenario.windows import acting


@dataclass(frozen=True)
class _AtPort:
    """A class with credit as a port serves it, and where that is said."""

    path: KeyPath
    idle_slope: int | None
    send_slope: int | None
    scaled: bool


def credit_of(
    draft: Draft, keys: PortKeys, port: int, rate_bps: int | None, gates: GateList | None
) -> dict[int, CreditShaper]:
    """By class, the credit-based shapers of a port; of a port without a cable nothing can be said."""
    found: dict[int, CreditShaper] = {}
    for number in keys.named:
        at_port = _class_at_port(keys, port, number)
        if at_port is None:
            continue
        where = (*at_port.path, "idle_slope")
        idle = at_port.idle_slope
        if idle is None:
            draft.once(where, "a class with credit has an idle slope", 'idle_slope = "20Mb/s" beside selection = "cbs"')
            continue
        if rate_bps is None:
            continue
        rate, place = show_rate(rate_bps), keys.place(port)
        if idle > rate_bps:
            draft.once(where, f"{show_rate(idle)} is above the {rate} of {place}", f"up to {rate}")
            continue
        if at_port.scaled and not keys.has_gates:
            node = "station" if keys.is_station else "bridge"
            draft.once((*at_port.path, "scaled"), f"the {node} has no gates to scale to", "gates, or no scaled")
        slope = idle if not at_port.scaled or gates is None else _scaled(draft, at_port, number, gates, rate_bps, place)
        if slope is None:
            continue
        beside = _open_beside(number, found, gates)
        if beside + slope > rate_bps:
            when = "" if gates is None else ", while their gates are open"
            what = f"the idle slopes at {place} sum up to {show_rate(beside + slope)}, above its {rate}{when}"
            left = max(0, rate_bps - beside) * idle // slope
            draft.once(where, what, f"up to {show_rate(left)}, which others leave")
            continue
        if at_port.send_slope not in (None, slope - rate_bps):
            assert at_port.send_slope is not None
            what = f"{show_rate(at_port.send_slope)} is not the idle slope less the {rate} of {place}, as 802.1Q has it"
            draft.once((*at_port.path, "send_slope"), what, f'"{slope - rate_bps}b/s", or no send_slope')
            continue
        found[number] = CreditShaper(slope, idle)
    return found


def _open_beside(number: int, others: Mapping[int, CreditShaper], gates: GateList | None) -> int:
    """The most that other classes earn while a class can."""
    slopes = {k: shaper.idle_slope_bps for k, shaper in others.items()}
    if gates is None:
        return sum(slopes.values())
    states = {states for _, states, _ in acting(gates).entries}
    if gates.base_time_ns > START_TIME_NS:
        states.add(gates.initial_states)
    sums = [sum(slope for k, slope in slopes.items() if mask >> k & 1) for mask in states if mask >> number & 1]
    return max(sums, default=0)


def _class_at_port(keys: PortKeys, port: int, number: int) -> _AtPort | None:
    """The class as the port serves it, if that is by credit, alone or behind ATS schedulers."""
    said = keys.said_of(port, number)
    selection = keys.selection_at(port, number)
    both = selection == "ats" and any(getattr(entry, name) is not None for _, entry in said for name in SHAPER_KEYS)
    if selection != "cbs" and not both:
        return None
    return _AtPort(
        path=said[0][0],
        idle_slope=next((entry.idle_slope for _, entry in said if entry.idle_slope is not None), None),
        send_slope=next((entry.send_slope for _, entry in said if entry.send_slope is not None), None),
        scaled=next((entry.scaled for _, entry in said if entry.scaled is not None), False),
    )


def _scaled(draft: Draft, at_port: _AtPort, number: int, gates: GateList, rate_bps: int, place: str) -> int | None:
    """The slope of a class that earns its whole share while its gate is open, 802.1Q 8.6.8.2."""
    idle = at_port.idle_slope
    assert idle is not None
    open_ns = acting(gates).open_time(number)
    if open_ns == 0:
        draft.once((*at_port.path, "scaled"), f"class {number} never opens at {place}", "an entry that opens it")
        return None
    slope = idle * gates.cycle_time_ns // open_ns
    if slope > rate_bps:
        share = f"{show_time(open_ns * 1000)} of {show_time(gates.cycle_time_ns * 1000)}"
        what = f"{show_rate(idle)} in the {share} that it is open are {show_rate(slope)}, above the link's"
        most = show_rate(rate_bps * open_ns // gates.cycle_time_ns)
        draft.once((*at_port.path, "idle_slope"), what, f"up to {most}")
        return None
    return slope
