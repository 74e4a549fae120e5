# SPDX-License-Identifier: Apache-2.0
"""What a bridge's ports do beside strict priority and ATS: gate control lists, credit-based shapers, longest units."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.scenario import model
from penstock.scenario.draft import Draft
from penstock.scenario.limits import (
    GATE_ENTRIES,
    LAST_TIME_NS,
    LONGEST_INTERVAL_NS,
    MOST_GATE_ENTRIES,
    SHORTEST_INTERVAL_NS,
    START_TIME_NS,
)
from penstock.scenario.network import (
    SDU_OVERHEAD_BYTES,
    WIRE_OVERHEAD_BYTES,
    CreditShaper,
    GateList,
    Network,
    NodeKind,
    Selection,
    Stream,
)
from penstock.scenario.positions import KeyPath
from penstock.scenario.report import names
from penstock.scenario.units import show_rate, show_time
from penstock.scenario.windows import acting, wire_ns

_CLASSES = 8
_NAME = re.compile(r"(?!(all|none)$)[A-Za-z_][A-Za-z0-9_-]*")
_SDU_BYTES = 46, 1982  # of frames of 64 B to 2000 B


@dataclass
class Shapers:
    """What the ports of a bridge are set to."""

    gates: dict[int, GateList] = field(default_factory=dict)
    credit: dict[tuple[int, int], CreditShaper] = field(default_factory=dict)
    max_sdu_bytes: dict[tuple[int, int], int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _AtPort:
    """A class as a port serves it, and where that is said."""

    path: KeyPath
    idle_slope: int | None
    send_slope: int | None
    scaled: bool


def shapers_of(
    draft: Draft, path: KeyPath, settings: model.Bridge, kind: NodeKind, rates_bps: Mapping[int, int]
) -> Shapers:
    """The shapers of a bridge whose ports with a cable have these rates."""
    found = Shapers(names=_class_names(draft, path, settings))
    most = GATE_ENTRIES if kind == "rtl" else MOST_GATE_ENTRIES
    common = None
    if settings.gates is not None:
        common = _gate_list(draft, (*path, "gates"), settings.gates, found.names, most)
    for port in range(settings.ports or 0):
        own = settings.port.get(str(port))
        gates = common
        if own is not None and own.gates is not None:
            gates = _gate_list(draft, (*path, "port", str(port), "gates"), own.gates, found.names, most)
        if gates is not None:
            found.gates[port] = gates
        _credit(draft, path, settings, port, rates_bps.get(port), found)
    for key, value in settings.classes.items():
        if value.max_sdu is not None and _is_class(key) and _sdu(draft, (*path, "classes", key), value.max_sdu):
            found.max_sdu_bytes |= {(port, int(key)): value.max_sdu for port in range(settings.ports or 0)}
    for number, port_settings in settings.port.items():
        for key, at_port in port_settings.classes.items():
            where = (*path, "port", number, "classes", key)
            if at_port.max_sdu is not None and _is_class(key) and _sdu(draft, where, at_port.max_sdu):
                found.max_sdu_bytes[int(number), int(key)] = at_port.max_sdu
    return found


def _is_class(key: str) -> bool:
    return key.isdecimal() and int(key) < _CLASSES


def _class_names(draft: Draft, path: KeyPath, settings: model.Bridge) -> dict[int, str]:
    found: dict[int, str] = {}
    for key, entry in settings.classes.items():
        if entry.name is None or not _is_class(key):
            continue
        where = (*path, "classes", key, "name")
        if not _NAME.fullmatch(entry.name):
            allowed = "a letter, then letters, digits, _ and -; not all and none"
            draft.report.add(where, f'"{entry.name}" cannot be used as a name', allowed)
        elif entry.name in found.values():
            draft.report.add(where, f'"{entry.name}" is also the name of another class', "each name once")
        else:
            found[int(key)] = entry.name
    return found


def _gate_list(
    draft: Draft, path: KeyPath, gates: model.Gates, class_names: Mapping[int, str], most: int
) -> GateList | None:
    """The list, if nothing is wrong with it; of all bridges of a topology the same."""
    if (path, most) not in draft.gate_lists:
        draft.gate_lists[path, most] = _new_gate_list(draft, path, gates, class_names, most)
    return draft.gate_lists[path, most]


def _new_gate_list(
    draft: Draft, path: KeyPath, gates: model.Gates, class_names: Mapping[int, str], most: int
) -> GateList | None:
    report = draft.report
    seen = len(report.found)
    where = (*path, "entries")
    if not gates.entries:
        report.add(where, "the list has no entries", f"1 to {most} entries")
    if len(gates.entries) > most:
        remedy = ", more in models" if most < MOST_GATE_ENTRIES else ""
        report.add(where, f"the list has {len(gates.entries)} entries", f"1 to {most} entries{remedy}")
    entries = [
        (_states(draft, (*where, n, "open"), entry.open, class_names), _span(draft, (*where, n, "interval"), entry))
        for n, entry in enumerate(gates.entries)
    ]
    total_ps = sum(entry.interval for entry in gates.entries)
    cycle_ps = total_ps if gates.cycle_time is None else gates.cycle_time
    if gates.entries or gates.cycle_time is not None:
        _check_span(draft, (*path, "cycle_time"), cycle_ps, "a cycle")
    if gates.cycle_time_extension % 1000 or gates.cycle_time_extension > LONGEST_INTERVAL_NS * 1000:
        what = f"{show_time(gates.cycle_time_extension)} cannot be set"
        report.add((*path, "cycle_time_extension"), what, f"whole ns up to {LONGEST_INTERVAL_NS} ns")
    base_ns = START_TIME_NS + gates.base_time // 1000
    if gates.base_time % 1000:
        report.add((*path, "base_time"), f"{gates.base_time} ps cannot be set", "whole ns")
    elif base_ns > LAST_TIME_NS:
        allowed = (
            f"up to {LAST_TIME_NS - START_TIME_NS}ns: clocks count to 2^63 ns and show {START_TIME_NS} ns at first"
        )
        report.add((*path, "base_time"), f"{show_time(gates.base_time)} is beyond the clock", allowed)
    initial = _states(draft, (*path, "initial"), gates.initial, class_names)
    if len(report.found) > seen:
        return None
    if total_ps > cycle_ps:
        said = f"the entries take {show_time(total_ps)}, the cycle {show_time(cycle_ps)}: the rest never acts"
        report.warn(where, said)
    elif total_ps < cycle_ps:
        said = f"the entries take {show_time(total_ps)}, the cycle {show_time(cycle_ps)}: the last one lasts longer"
        report.warn(where, said)
    return GateList(tuple(entries), base_ns, cycle_ps // 1000, gates.cycle_time_extension // 1000, initial)


def _states(draft: Draft, path: KeyPath, states: tuple[int | str, ...], class_names: Mapping[int, str]) -> int:
    numbers = {name: k for k, name in class_names.items()}
    mask = 0
    for state in states:
        number = numbers.get(state, -1) if isinstance(state, str) else state
        if not 0 <= number < _CLASSES:
            what = f'there is no traffic class "{state}"' if isinstance(state, str) else f"there is no class {state}"
            known = f"0 to {_CLASSES - 1}" + (f", {names(numbers)}" if numbers else "")
            draft.report.add(path, what, known)
        elif mask >> number & 1:
            draft.report.add(path, f"class {state} is there twice", "each class once")
        else:
            mask |= 1 << number
    return mask


def _span(draft: Draft, path: KeyPath, entry: model.GateEntry) -> int:
    _check_span(draft, path, entry.interval, "an interval")
    return entry.interval // 1000


def _check_span(draft: Draft, path: KeyPath, time_ps: int, what: str) -> None:
    allowed = f"{SHORTEST_INTERVAL_NS}ns to {LONGEST_INTERVAL_NS}ns"
    if time_ps == 0:
        draft.report.add(path, f"{what} of no time", allowed)
    elif time_ps % 1000:
        draft.report.add(path, f"{time_ps} ps cannot be set", "whole ns")
    elif not SHORTEST_INTERVAL_NS <= time_ps // 1000 <= LONGEST_INTERVAL_NS:
        which = "shorter than the shortest" if time_ps // 1000 < SHORTEST_INTERVAL_NS else "longer than the longest"
        draft.report.add(path, f"{show_time(time_ps)} is {which} that gates can do", allowed)


def _sdu(draft: Draft, path: KeyPath, value: int) -> bool:
    low, high = _SDU_BYTES
    if low <= value <= high:
        return True
    draft.report.add((*path, "max_sdu"), f"{value} B is out of range", f"{low}B to {high}B")
    return False


def selection_of(settings: model.Bridge, traffic_class: int) -> Selection:
    """How a bridge serves a class unless a port says otherwise."""
    known = settings.classes.get(str(traffic_class))
    if known is not None and known.selection is not None:
        return known.selection
    return "ats" if traffic_class >= 6 else "strict"


def check_class_keys(draft: Draft, path: KeyPath, settings: model.Bridge, key: str, number: int | None) -> None:
    """Whether the keys of a class go together; `number` is of the port that has them."""
    entry: model.ClassOfTraffic | model.ClassAtPort = settings.classes.get(key, model.ClassOfTraffic())
    selection = selection_of(settings, int(key))
    where = (*path, "classes", key)
    if number is not None:
        entry = settings.port[str(number)].classes[key]
        where = (*path, "port", str(number), "classes", key)
        if entry.selection is not None and selection == "ats":
            what = f"class {key} is ATS, which a bridge is at all of its ports"
            draft.report.refuse(
                (*where, "selection"), what, f'classes.{key} = {{ selection = "strict" }} of the bridge'
            )
        selection = entry.selection or selection
    for name in model.SHAPER_KEYS:
        if getattr(entry, name) is not None and selection != "cbs":
            draft.report.refuse((*where, name), f'says nothing about selection = "{selection}"', 'selection = "cbs"')


def _class_at_port(path: KeyPath, settings: model.Bridge, port: int, number: int) -> _AtPort | None:
    """The class as the port serves it, if that is by credit."""
    common = settings.classes.get(str(number))
    own = settings.port[str(port)].classes.get(str(number)) if str(port) in settings.port else None
    selection = own.selection if own is not None and own.selection is not None else selection_of(settings, number)
    if selection != "cbs":
        return None
    said = [entry for entry in (own, common) if entry is not None]
    where = (*path, "classes", str(number)) if own is None else (*path, "port", str(port), "classes", str(number))
    return _AtPort(
        path=where,
        idle_slope=next((entry.idle_slope for entry in said if entry.idle_slope is not None), None),
        send_slope=next((entry.send_slope for entry in said if entry.send_slope is not None), None),
        scaled=next((entry.scaled for entry in said if entry.scaled is not None), False),
    )


def _credit(
    draft: Draft, path: KeyPath, settings: model.Bridge, port: int, rate_bps: int | None, found: Shapers
) -> None:
    """The credit-based shapers of a port; of a port without a cable nothing can be said."""
    reserved = 0
    for number in reversed(range(_CLASSES)):
        at_port = _class_at_port(path, settings, port, number)
        if at_port is None:
            continue
        where = (*at_port.path, "idle_slope")
        idle = at_port.idle_slope
        if idle is None:
            draft.once(where, "a class with credit has an idle slope", 'idle_slope = "20Mb/s" beside selection = "cbs"')
            continue
        if idle == 0:
            draft.once(where, "is zero: the class would never send again", "a rate above 0")
            continue
        if rate_bps is None:
            continue
        rate, place = show_rate(rate_bps), f"port {port}"
        if idle > rate_bps:
            draft.once(where, f"{show_rate(idle)} is above the {rate} of {place}", f"up to {rate}")
            continue
        if reserved + idle > rate_bps:
            what = f"the idle slopes at {place} sum up to {show_rate(reserved + idle)}, above its {rate}"
            draft.once(where, what, f"up to {show_rate(rate_bps - reserved)}, which others leave")
            continue
        reserved += idle
        gates = found.gates.get(port)
        if at_port.scaled and gates is None and not _has_gates(settings, port):
            draft.once((*at_port.path, "scaled"), f"{place} has no gates to scale to", "gates, or no scaled")
        slope = _scaled(draft, at_port, number, gates, rate_bps, place) if at_port.scaled else idle
        if slope is None:
            continue
        if at_port.send_slope not in (None, slope - rate_bps):
            assert at_port.send_slope is not None
            what = f"{show_rate(at_port.send_slope)} is not the idle slope less the {rate} of {place}, as 802.1Q has it"
            draft.once((*at_port.path, "send_slope"), what, f'"{slope - rate_bps}b/s", or no send_slope')
            continue
        found.credit[port, number] = CreditShaper(slope, idle)


def _has_gates(settings: model.Bridge, port: int) -> bool:
    own = settings.port.get(str(port))
    return settings.gates is not None or (own is not None and own.gates is not None)


def _scaled(
    draft: Draft, at_port: _AtPort, number: int, gates: GateList | None, rate_bps: int, place: str
) -> int | None:
    """The slope of a class that earns its whole share while its gate is open, 802.1Q 8.6.8.2."""
    idle = at_port.idle_slope
    assert idle is not None
    if gates is None:
        return None
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


def check_shapers(draft: Draft, network: Network) -> None:
    """Whether each stream's frames can pass the gates on their way."""
    for stream in network.streams.values():
        for hop in stream.tree:
            for port in hop.egress:
                _check_passes(draft, network, stream, hop.bridge, port)


def _check_passes(draft: Draft, network: Network, stream: Stream, bridge: str, port: int) -> None:
    settings, origin = network.bridges[bridge], draft.origin[bridge]
    number = network.class_at(stream, bridge)
    which, place = settings.class_name(number), f"{bridge}.{port}"
    limit = settings.max_sdu_bytes.get((port, number))
    if limit is not None and stream.max_frame_bytes > limit + SDU_OVERHEAD_BYTES:
        most = limit + SDU_OVERHEAD_BYTES
        what = f"frames of {stream.max_frame_bytes} B are above the max_sdu of {which} at {place}: {limit} B"
        allowed = f"frames up to {most}B there: {SDU_OVERHEAD_BYTES} B are around the data"
        draft.once(("streams", stream.name, "source"), what, allowed)
    gates = settings.gates.get(port)
    if gates is None:
        return
    own = draft.settings[bridge].port.get(str(port))
    where: KeyPath = (*origin, "gates", "entries")
    if own is not None and own.gates is not None:
        where = (*origin, "port", str(port), "gates", "entries")
    window_ns = acting(gates).largest_window(number)
    needed_ns = wire_ns(stream.max_frame_bytes, network.link_at[bridge, port].rate_bps)
    if window_ns == 0:
        what = f'{which} never opens at {place}, but "{stream.name}" needs it'
        draft.report.add(where, what, f"an entry that opens class {number}")
    elif window_ns is not None and needed_ns > window_ns:
        wire = stream.max_frame_bytes + WIRE_OVERHEAD_BYTES
        what = (
            f'{which} is open for {window_ns} ns at most at {place}, but a frame of "{stream.name}" takes '
            f"{needed_ns} ns ({wire} B on the wire)"
        )
        draft.report.add(where, what, f"a window of {needed_ns}ns or more, or shorter frames")
