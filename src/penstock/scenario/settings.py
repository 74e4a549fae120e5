# SPDX-License-Identifier: Apache-2.0
"""What each bridge is set to: those described one by one, and those of topologies."""

from __future__ import annotations

import re

from penstock.scenario.draft import Draft
from penstock.scenario.positions import KeyPath
from penstock.scenario.report import missing
from penstock.scenario.topology import cables, free_ports_from

_NODE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")


def check_names(draft: Draft) -> None:
    """Whether all nodes have names that a file, a key and a trace can hold."""
    scenario = draft.scenario
    for section, things in (
        ("bridges", scenario.bridges),
        ("topology", scenario.topology),
        ("stations", scenario.stations),
    ):
        for name in things:
            if not _NODE_NAME.fullmatch(name):
                draft.report.add((section, name), f'"{name}" cannot be used as a name', "letters, digits, _ and -")


def collect_bridges(draft: Draft) -> None:
    """Settings of all bridges: those described one by one, then those of each topology."""
    scenario, report = draft.scenario, draft.report
    by_topology: dict[str, str] = {}
    for name, topology in scenario.topology.items():
        for number in range(topology.count):
            bridge = f"{name}{number}"
            if bridge in by_topology:
                what = f'its bridge "{bridge}" is also one of "{by_topology[bridge]}"'
                report.add(("topology", name), what, "names that stay apart")
            by_topology.setdefault(bridge, name)
    for name, settings in scenario.bridges.items():
        if name not in by_topology:
            if settings.ports is None:
                report.add(("bridges", name, "ports"), *missing(("bridges", name, "ports")))
                draft.broken.add(("bridges", name))
                continue
            draft.settings[name], draft.origin[name] = settings, ("bridges", name)
    for name, topology in scenario.topology.items():
        ports = free_ports_from(topology)
        path: KeyPath = ("topology", name, "bridge", "ports")
        if ports > 64:
            report.add(("topology", name, "bridges"), f"a bridge would have {ports} links", "up to 64")
            draft.broken.add(("topology", name))
            continue
        common = topology.bridge
        if common.ports is None:
            common = common.model_copy(update={"ports": min(ports + 2, 64)})
        for number in range(topology.count):
            bridge_name = f"{name}{number}"
            own = scenario.bridges.get(bridge_name)
            said = {} if own is None else {key: getattr(own, key) for key in own.model_fields_set}
            draft.settings[bridge_name] = common.model_copy(update=said) if said else common
            draft.origin[bridge_name] = ("bridges", bridge_name) if said else ("topology", name, "bridge")
        for a, b in cables(topology):
            for number, port in (a, b):
                have = draft.settings[f"{name}{number}"].ports or 0
                if port >= have:
                    report.add(
                        path, f'"{name}{number}" has {have} ports, but links take port {port}', f"{ports} or more"
                    )
