# SPDX-License-Identifier: Apache-2.0
"""What a scenario says of the egress ports of a node: the same of a bridge's, which has several, and of a station's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from penstock.scenario import model
from penstock.scenario.draft import Draft
from penstock.scenario.network import Selection
from penstock.scenario.positions import KeyPath
from penstock.scenario.priorities import STREAM_RESERVATION

CLASSES = 8

_NUMBER = re.compile("0|[1-9][0-9]{0,5}")

ClassKeys = model.ClassOfTraffic | model.ClassAtStation | model.ClassAtPort


@dataclass(frozen=True)
class PortKeys:
    """The keys of all ports of a node, and of those that say otherwise."""

    path: KeyPath  # of the node
    ports: int
    classes: Mapping[str, model.ClassOfTraffic] | Mapping[str, model.ClassAtStation]
    gates: model.Gates | None
    port: Mapping[str, model.Port] = field(default_factory=dict)
    is_station: bool = False

    def place(self, port: int) -> str:
        """A port, for people."""
        return "the port" if self.is_station else f"port {port}"

    def selection(self, traffic_class: int) -> Selection:
        """How the node serves a class unless a port says otherwise."""
        known = self.classes.get(str(traffic_class))
        if known is not None and known.selection is not None:
            return known.selection
        return "ats" if traffic_class >= 6 and not self.is_station else "strict"

    def is_said(self, traffic_class: int) -> bool:
        """Whether the node says how it serves a class."""
        known = self.classes.get(str(traffic_class))
        return known is not None and known.selection is not None

    def selection_at(self, port: int, traffic_class: int) -> Selection:
        """How a port serves a class."""
        said = (entry.selection for _, entry in self.said_of(port, traffic_class))
        return next((selection for selection in said if selection is not None), self.selection(traffic_class))

    def gates_of(self, port: int) -> tuple[KeyPath, model.Gates | None]:
        """The gates of a port, and where they are said."""
        own = self.port.get(str(port))
        if own is not None and own.gates is not None:
            return (*self.path, "port", str(port), "gates"), own.gates
        return (*self.path, "gates"), self.gates

    @property
    def has_gates(self) -> bool:
        """Whether some port has gates."""
        return self.gates is not None or any(own.gates is not None for own in self.port.values())

    @cached_property
    def named(self) -> list[int]:
        """The classes of which something is said somewhere, the highest first."""
        said = {*self.classes, *(key for own in self.port.values() for key in own.classes)}
        return sorted((int(key) for key in said if is_number(key) and int(key) < CLASSES), reverse=True)

    def said_of(self, port: int, traffic_class: int) -> list[tuple[KeyPath, ClassKeys]]:
        """What is said of a class at a port and where, the port's own first."""
        key = str(traffic_class)
        found: list[tuple[KeyPath, ClassKeys]] = []
        own = self.port.get(str(port))
        if own is not None and key in own.classes:
            found.append(((*self.path, "port", str(port), "classes", key), own.classes[key]))
        if key in self.classes:
            found.append(((*self.path, "classes", key), self.classes[key]))
        return found


def keys_of_bridge(path: KeyPath, settings: model.Bridge) -> PortKeys:
    """What is said of a bridge's ports."""
    return PortKeys(path, settings.ports or 0, settings.classes, settings.gates, settings.port)


def keys_of_station(path: KeyPath, settings: model.Station) -> PortKeys:
    """What is said of a station's port."""
    return PortKeys(path, 1, settings.classes, settings.gates, is_station=True)


def is_number(key: str) -> bool:
    """Whether a key is a number as it is written everywhere else: no other digits than 0 to 9, no leading zero."""
    return _NUMBER.fullmatch(key) is not None


def index(draft: Draft, path: KeyPath, key: str, count: int, what: str) -> int:
    """The number that a key is, below a count."""
    if not is_number(key) or int(key) >= count:
        draft.report.refuse(path, f'there is no {what} "{key}"', f"0 to {count - 1}")
    return int(key)


def check_class_keys(draft: Draft, keys: PortKeys, path: KeyPath, entry: ClassKeys, port: int | None) -> None:
    """Whether the keys of a class go together; `port` is the one that has them."""
    key = str(path[-1])
    selection = keys.selection(index(draft, path, key, CLASSES, "traffic class"))
    if port is not None:
        if entry.selection is not None and selection == "ats":
            what = f"class {key} is ATS, which a bridge is at all of its ports"
            draft.report.refuse((*path, "selection"), what, f'classes.{key} = {{ selection = "strict" }} of the bridge')
        selection = entry.selection or selection
    for name in model.SHAPER_KEYS:
        if getattr(entry, name) is None or selection == "cbs":
            continue
        if selection != "ats":
            what, allowed = f'says nothing about selection = "{selection}"', 'selection = "cbs" or "ats"'
            draft.report.refuse((*path, name), what, allowed)
        if not keys.is_said(int(key)):
            what = f"class {key} is ATS, as nothing else is said"
            draft.report.refuse((*path, name), what, 'selection = "cbs", or selection = "ats" for both')


def check_residence(draft: Draft, keys: PortKeys, path: KeyPath, residence: int | None) -> None:
    """Whether a class that has a residence time is ATS."""
    if residence is not None and keys.selection(int(path[-1])) != "ats":
        draft.report.refuse((*path, "max_residence"), "only ATS has a residence time", 'selection = "ats"')


def classes_of_priority(draft: Draft, path: KeyPath, table: tuple[int, ...]) -> tuple[int, ...]:
    """The traffic class of each priority code point; told once of each place that says too few or too many."""
    if len(table) != CLASSES:
        draft.once((*path, "class_of_priority"), f"has {len(table)} entries", "8: a class per PCP")
    return (*table, *STREAM_RESERVATION[len(table) :])[:CLASSES]
