# SPDX-License-Identifier: Apache-2.0
"""The ports that are interfaces of Linux hosts: what `linux` of a station or of a bridge's port says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.scenario.chain import CLASSES, ONE_EACH, Chain, QueueRange, in_order
from penstock.scenario.checked_stream import Stream
from penstock.scenario.draft import Draft
from penstock.scenario.host_checks import check_host_port
from penstock.scenario.host_port import GateMode, HostPort, LaunchTimes
from penstock.scenario.instants import start_ns
from penstock.scenario.linux_keys import LinuxPort
from penstock.scenario.network import Bridge, Network, Station
from penstock.scenario.port_keys import is_number
from penstock.scenario.positions import KeyPath
from penstock.scenario.report import AlreadyToldError, names
from penstock.scenario.units import show_time

_NAME_CHARACTERS = 15  # of an interface

HostPorts = dict[str, dict[int, HostPort]]


@dataclass(frozen=True)
class _Port:
    """A port of the scenario that is an interface."""

    path: KeyPath
    node: str
    number: int
    keys: LinuxPort
    settings: Bridge | Station
    class_of_untagged: int
    streams: tuple[Stream, ...]
    max_frame_bytes: int


def host_ports(draft: Draft, network: Network) -> HostPorts:
    """The interfaces of each node that has some, by port."""
    found: HostPorts = {}
    interfaces: dict[tuple[str, str], int] = {}
    for port in _ports(draft, network):
        with draft.report.part():
            known = interfaces.setdefault((port.node, port.keys.interface), port.number)
            if known != port.number:
                what = f'"{port.keys.interface}" is also port {known} of "{port.node}"'
                draft.report.refuse((*port.path, "interface"), what, "one interface for each port")
            resolved = _resolve(draft, network, port)
            check_host_port(draft, port.path, resolved, network)
            found.setdefault(port.node, {})[port.number] = resolved
    return found


def _ports(draft: Draft, network: Network) -> Iterator[_Port]:
    for name, station in network.stations.items():
        keys = draft.scenario.stations[name].linux
        if keys is not None:
            streams = tuple(stream for stream in network.streams.values() if stream.talker == name)
            longest = network.bridges[station.bridge].max_frame_bytes
            untagged = station.class_of_pcp[0]
            yield _Port(("stations", name, "linux"), name, 0, keys, station, untagged, streams, longest)
    for name, bridge in network.bridges.items():
        for key, port in draft.settings[name].port.items():
            if port.linux is None or not is_number(key) or int(key) >= bridge.ports:
                continue
            path: KeyPath = (*draft.origin[name], "port", key, "linux")
            leaving = tuple(network.streams_at[name, int(key)]) if (name, int(key)) in network.streams_at else ()
            yield _Port(
                path, name, int(key), port.linux, bridge, bridge.class_of_untagged, leaving, bridge.max_frame_bytes
            )


def _resolve(draft: Draft, network: Network, port: _Port) -> HostPort:
    keys, settings, path = port.keys, port.settings, port.path
    link = network.link_at.get((port.node, port.number))
    if link is None:
        draft.report.refuse(path, f"no cable is at port {port.number}", "a port with a link or a station")
    gates = settings.gates.get(port.number)
    mode = _mode(draft, port, gates is not None)
    clock = None if mode == "offload" else keys.clock or "TAI"
    if mode == "offload" and keys.clock is not None:
        what = "with full offload the device's own PTP clock drives the gates, and the kernel refuses another"
        draft.report.add((*path, "clock"), what, 'no clock beside gates = "offload"')
    numbers = {name: number for number, name in settings.class_names.items()}
    queues = _queues(draft, port, numbers)
    chain = Chain(settings.class_of_pcp, port.class_of_untagged, queues)
    credit = {number: shaper for (at, number), shaper in settings.credit.items() if at == port.number}
    if keys.credit is not None and not credit:
        draft.report.add((*path, "credit"), "no class of the port is served by credit", 'selection = "cbs" of a class')
    return HostPort(
        node=port.node,
        port=port.number,
        interface=keys.interface,
        rate_bps=link.rate_bps,
        chain=chain,
        streams=port.streams,
        max_frame_bytes=port.max_frame_bytes,
        start_ns=start_ns(keys.start, utc=clock not in (None, "TAI")),
        gates=gates,
        mode=mode,
        clock=clock,
        credit=credit,
        credit_offload=keys.credit == "offload",
        max_sdu_bytes={number: size for (at, number), size in settings.max_sdu_bytes.items() if at == port.number},
        launch_times=_launch_times(draft, port, mode, numbers),
        txtime_delay_ns=_txtime_delay(draft, port, mode),
        vlan_interfaces=_vlans(draft, port),
        ptp_priority=keys.ptp_priority,
        class_names=settings.class_names,
    )


def _mode(draft: Draft, port: _Port, has_gates: bool) -> GateMode | None:
    if has_gates:
        return port.keys.gates or "software"
    if port.keys.gates is not None:
        what = f"{port.node} has no gates at port {port.number}" if port.number else f'"{port.node}" has no gates'
        draft.report.add((*port.path, "gates"), what, "a gate list there, or no gates here")
    return None


def _class(draft: Draft, path: KeyPath, said: int | str, numbers: Mapping[str, int]) -> int:
    number = numbers.get(said, -1) if isinstance(said, str) else said
    if not 0 <= number < CLASSES:
        what = f'there is no traffic class "{said}"' if isinstance(said, str) else f"there is no class {said}"
        draft.report.refuse(path, what, f"0 to {CLASSES - 1}" + (f", {names(numbers)}" if numbers else ""))
    return number


def _queues(draft: Draft, port: _Port, numbers: Mapping[str, int]) -> tuple[QueueRange, ...]:
    if port.keys.queues is None:
        return ONE_EACH
    path: KeyPath = (*port.path, "queues")
    groups: list[tuple[Sequence[int], int]] = []
    taken: dict[int, int] = {}
    seen = len(draft.report.found)
    for index, queue in enumerate(port.keys.queues):
        with draft.report.part():
            classes = sorted({_class(draft, (*path, index), said, numbers) for said in queue.classes})
            if not classes:
                draft.report.refuse((*path, index), "holds no class", "one class or more")
            for number in classes:
                if taken.setdefault(number, index) != index:
                    what = f"class {number} is also in entry {taken[number]}"
                    draft.report.refuse((*path, index), what, "each class once")
            groups.append((classes, queue.count))
    total = sum(count for _, count in groups)
    if total > 16:
        draft.report.add(path, f"these are {total} queues", "up to 16, as mqprio and taprio have it")
    missing = [number for number in range(CLASSES) if number not in taken]
    if missing and len(draft.report.found) == seen:
        what = f"no queue holds {'class' if len(missing) == 1 else 'classes'} {', '.join(map(str, missing))}"
        draft.report.add(path, what, "each of the classes 0 to 7 in one entry")
    if len(draft.report.found) > seen:
        raise AlreadyToldError
    return in_order(groups)


def _launch_times(draft: Draft, port: _Port, mode: GateMode | None, numbers: Mapping[str, int]) -> LaunchTimes | None:
    etf, path = port.keys.etf, (*port.path, "etf")
    assist = mode == "txtime-assist"
    if etf is None:
        if assist:
            what = "txtime-assist only writes launch times: without etf nothing keeps them"
            draft.report.add(port.path, what, 'etf = { delta = "300us" }')
        return None
    if port.keys.clock not in (None, "TAI"):
        what = f"etf takes CLOCK_TAI only, not {port.keys.clock}"
        draft.report.add((*port.path, "clock"), what, '"TAI", or no clock')
    classes: tuple[int, ...] = tuple(range(CLASSES))
    if etf.classes is not None:
        classes = tuple(_class(draft, (*path, "classes"), said, numbers) for said in etf.classes)
    elif not assist:
        draft.report.add(path, "which classes have launch times is not said", 'classes = ["control"] in etf')
    if assist and len(set(classes)) < CLASSES:
        what = "txtime-assist gives each frame a launch time: every queue needs etf"
        draft.report.add((*path, "classes"), what, "no classes in etf")
    if assist and etf.skip_sock_check is False:
        what = "launch times come from taprio, not from sockets: etf would drop every frame"
        draft.report.add((*path, "skip_sock_check"), what, "true, or no skip_sock_check")
    skip = assist if etf.skip_sock_check is None else etf.skip_sock_check
    return LaunchTimes(etf.delta // 1000, tuple(sorted(set(classes))), etf.offload, etf.deadline_mode, skip)


def _txtime_delay(draft: Draft, port: _Port, mode: GateMode | None) -> int:
    delay, etf, path = port.keys.txtime_delay, port.keys.etf, (*port.path, "txtime_delay")
    if mode != "txtime-assist":
        if delay is not None:
            draft.report.add(path, "says nothing without txtime-assist", 'gates = "txtime-assist"')
        return 0
    if delay is None:
        what = "how long a frame may take from taprio to the device is not said"
        draft.report.add(port.path, what, 'txtime_delay, above the delta of etf, such as "500us"')
        return 0
    if etf is not None and delay <= etf.delta:
        what = f"{show_time(delay)} is not above the delta of etf, {show_time(etf.delta)}: frames would be late there"
        draft.report.add(path, what, f"more than {etf.delta // 1000}ns")
    return delay // 1000


def _vlans(draft: Draft, port: _Port) -> dict[int, str]:
    keys, path = port.keys, (*port.path, "vlans")
    used = sorted({stream.vlan for stream in port.streams if stream.vlan is not None})
    if isinstance(port.settings, Bridge):
        if keys.vlans is not None:
            draft.report.add(path, "a bridge forwards frames with their tags as they are", "no vlans")
        return {}
    if keys.vlans == "none":
        return {}
    said = keys.vlans or {}
    for key in said:
        if not is_number(key) or int(key) not in used:
            known = f"VLANs of its streams: {', '.join(map(str, used))}" if used else "no vlans"
            draft.report.add((*path, key), f'"{port.node}" sends nothing in VLAN {key}', known)
    found = {vlan: said.get(str(vlan), f"{keys.interface}.{vlan}") for vlan in used}
    for vlan, name in found.items():
        if len(name) > _NAME_CHARACTERS:
            what = f'"{name}" is too long for an interface'
            draft.report.add(port.path, what, f'vlans = {{ {vlan} = "NAME" }} with up to {_NAME_CHARACTERS} characters')
        if name == keys.interface or list(found.values()).count(name) > 1:
            draft.report.add((*path, str(vlan)), f'"{name}" is taken', "a name for each VLAN")
    return found
