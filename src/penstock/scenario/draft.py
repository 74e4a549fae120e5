# SPDX-License-Identifier: Apache-2.0
"""What is known of a scenario while it is checked: what it says, what of that is wrong, and what was found so far.

Each step of `load.py` reads from it what the steps before have found.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

from penstock.scenario import model
from penstock.scenario.egress import GateList
from penstock.scenario.network import Station
from penstock.scenario.positions import KeyPath
from penstock.scenario.report import AlreadyToldError, Report, missing
from penstock.scenario.routing import Routes
from penstock.scenario.tilings import Tilings
from penstock.scenario.validation import validate

Place = tuple[str, int]  # a node and a port


class Draft:
    """A scenario on its way to a Network."""

    def __init__(self, report: Report, file: Path, values: dict[str, Any]) -> None:
        self.report = report
        self.file = file
        self.folder = file.parent
        self.scenario, self.broken = validate(values, report)
        self.nodes: str = self.scenario.nodes  # unless that is overridden
        self.settings: dict[str, model.Bridge] = {}  # of each bridge, in the order of the scenario
        self.origin: dict[str, KeyPath] = {}  # where a bridge is described
        self.taken: dict[Place, str] = {}  # by what
        self._told: set[KeyPath] = set()
        self.gate_lists: dict[tuple[KeyPath, Hashable], GateList | None] = {}  # by place, and by what runs them
        self.memo: dict[Hashable, Any] = {}  # what is worked out once for all bridges that are described in one place
        self.shortest_frame_limit = 0  # of all bridges, once they are known
        self.rate_origin: dict[str, KeyPath] = {}  # of each link: which key says its rate
        self.routes = Routes((), ())  # until the links are known
        self.tilings = Tilings(self.scenario.topology)
        for section in ("stations", "streams"):
            self._check_there(section, values, getattr(self.scenario, section))
        if not values.get("topology"):
            self._check_there("bridges", values, self.scenario.bridges)

    def _check_there(self, section: str, values: Mapping[str, Any], things: Mapping[str, Any]) -> None:
        if not things and (section, "*") not in self.broken and not values.get(section):
            self.report.add((section,), *(("is empty", "one or more") if section in values else missing((section,))))
            self.broken.add((section, "*"))  # what would be in it is not there

    def is_broken(self, section: str, name: str) -> bool:
        """Whether something of this name is there but wrong."""
        if (section, name) in self.broken or (section, "*") in self.broken:
            return True
        return section == "bridges" and any(
            kind == "topology" and (what == "*" or re.fullmatch(re.escape(what) + r"\d+", name))
            for kind, what in self.broken
        )

    @property
    def lacks_links(self) -> bool:
        """Whether a link may be missing only because something of it is wrong."""
        return any(
            kind in ("bridges", "topology") or (kind == "links" and what not in ("rate", "delay"))
            for kind, what in self.broken
        )

    def bridge_named(self, path: KeyPath, name: str) -> model.Bridge:
        """A bridge that a key names."""
        if name not in self.settings:
            if self.is_broken("bridges", name):
                raise AlreadyToldError
            self.report.unknown(path, "bridge", name, self.settings)
        return self.settings[name]

    def station_named(self, path: KeyPath, name: str, stations: Mapping[str, Station]) -> Station:
        """A station that a key names."""
        if name not in stations:
            if self.is_broken("stations", name):
                raise AlreadyToldError
            self.report.unknown(path, "station", name, stations)
        return stations[name]

    def take(self, path: KeyPath, place: Place, what: str) -> None:
        """Puts a cable at a port."""
        if place in self.taken:
            bridge, port = place
            self.report.refuse(
                path, f"port {bridge}.{port} is already taken by {self.taken[place]}", "one cable at a port"
            )
        self.taken[place] = what

    def once(self, path: KeyPath, what: str, allowed: str) -> None:
        """Notes what one key does to many bridges."""
        if path not in self._told:
            self._told.add(path)
            self.report.add(path, what, allowed)
