# SPDX-License-Identifier: Apache-2.0
"""What a switch is told and what it is sent, as data: it can be drawn, made smaller, written down and played again."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from penstock.errors import InputError
from penstock.hardware.configure import SwitchConfig
from penstock.hardware.traffic import Frame

FORMAT = 1
START_CYCLE = 200_000  # of the first arrival at 0; by then every configuration has been written


@dataclass(frozen=True)
class Arrival:
    """A frame and when its carrier begins, if the wire is free by then; cycles from the start of the scenario."""

    at: int
    frame: Frame


@dataclass(frozen=True)
class Change:
    """Registers written while frames are on their way, one after the other from a cycle on."""

    at: int
    kind: str
    writes: tuple[tuple[str, int], ...]  # register, value


@dataclass(frozen=True)
class Scenario:
    """One switch from its reset on. Frames are numbered in the order in which they stand here."""

    seed: int
    config: SwitchConfig
    arrivals: tuple[Arrival, ...]
    changes: tuple[Change, ...] = ()

    @property
    def ports(self) -> int:
        return self.config.ports


def _plain(value: Any) -> Any:
    """As JSON has it; what the class says anyway is left out."""
    if dataclasses.is_dataclass(value):
        return {
            field.name: _plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if field.default is dataclasses.MISSING or getattr(value, field.name) != field.default
        }
    if isinstance(value, Mapping):
        return [[_plain(key), _plain(item)] for key, item in value.items()]
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.hex() if isinstance(value, bytes) else value


# A mapping is written as pairs, for its keys may be tuples.
_MAPPINGS = [field.name for field in dataclasses.fields(SwitchConfig) if field.default_factory is dict]
# What older files of this format have not.
_LATER: dict[str, list[Any]] = {
    name: [] for name in ("round_robin", "untagged", "translations", "r_tag_removal_ports", "ptp_correction_ports")
}
_SCENARIO = TypeAdapter(Scenario)


def _frame_field(name: str, value: Any) -> Any:
    return bytes.fromhex(value) if name in ("head", "host") and value is not None else value


def _from_plain(plain: Any) -> Scenario:
    config = {**_LATER, **plain["config"]}
    for name in _MAPPINGS:
        config[name] = {tuple(key) if isinstance(key, list) else key: value for key, value in config[name]}
    arrivals = [
        {**arrival, "frame": {name: _frame_field(name, value) for name, value in arrival["frame"].items()}}
        for arrival in plain["arrivals"]
    ]
    return _SCENARIO.validate_python({**plain, "config": config, "arrivals": arrivals})


def save(scenario: Scenario, path: Path, remark: list[str]) -> None:
    """Writes a scenario as JSON, a line for each frame and change, with a remark for who reads it."""
    plain = _plain(scenario)
    lists = {name: plain.pop(name, []) for name in ("arrivals", "changes")}
    parts = [f'"format": {FORMAT}', f'"remark": {json.dumps(remark, indent=1)}']
    parts += [f'"{name}": {json.dumps(value)}' for name, value in plain.items()]
    for name, items in lists.items():
        parts.append(f'"{name}": [\n' + ",\n".join(f"  {json.dumps(item)}" for item in items) + "\n]")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")


_ALLOWED = "a scenario that `penstock hw diff` wrote"


def load(path: Path) -> Scenario:
    """Reads what `save` has written."""
    try:
        plain = json.loads(path.read_text())
        found = plain.pop("format")
        if found != FORMAT:
            raise InputError(f"is of format {found!r}", allowed=str(FORMAT), file=path, key="format")
        plain.pop("remark", None)
        return _from_plain(plain)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", allowed=_ALLOWED, file=path) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(first["msg"], allowed=_ALLOWED, file=path, key=where) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"is none: {error!r}", allowed=_ALLOWED, file=path) from None
