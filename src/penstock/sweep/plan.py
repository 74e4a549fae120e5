# SPDX-License-Identifier: Apache-2.0
"""What a sweep runs: settings of a scenario's keys, all combinations of them, and seeds."""

from __future__ import annotations

import copy
import itertools
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import CollectedInputError, InputError, did_you_mean
from penstock.scenario import Network, load
from penstock.scenario.file import parse_toml, read_text
from penstock.scenario.references import references

MOST_RUNS = 1_000_000
# Columns of the table that a key must not take.
RESERVED = ("run", "seed", "stream")

_WHERE = "--set"
_FORM = "KEY=VALUE,VALUE,..., the key as in the scenario: streams.control.ats.rate=10Mb/s,20Mb/s"


@dataclass(frozen=True)
class Setting:
    """A key of the scenario and the values it takes."""

    key: str
    path: tuple[str, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Task:
    """One run."""

    number: int  # from 0
    values: dict[str, Any]  # by key
    seed: int | None  # None: the scenario's own seeds
    scenario: dict[str, Any]

    def network(self) -> Network:
        """The scenario with its values, checked."""
        return load(self.scenario)

    def __str__(self) -> str:
        said = [f"{key}={show(value)}" for key, value in self.values.items()]
        return f"run {self.number} ({', '.join([*said, *([f'seed {self.seed}'] if self.seed is not None else [])])})"


def parse_setting(text: str) -> Setting:
    """`streams.a.ats.rate=10Mb/s,20Mb/s`; a value is TOML, or else the text as it stands."""
    key, equals, rest = text.partition("=")
    key = key.strip()
    path = _path(key)
    if not equals or path is None:
        raise InputError(f'"{text}" is no setting', allowed=_FORM, file=_WHERE)
    pieces = _split(rest)
    if not all(pieces):
        raise InputError("a value is empty", allowed=_FORM, file=_WHERE, key=key)
    if key in RESERVED:
        raise InputError("is a column of the table", allowed="a key of the scenario", file=_WHERE, key=key)
    values = tuple(_value(piece) for piece in pieces)
    twice = next((show(v) for n, v in enumerate(values) if v in values[:n]), None)
    if twice is not None:
        raise InputError(f"{twice} is there twice", allowed="each value once", file=_WHERE, key=key)
    return Setting(key, path, values)


def setting(key: str, values: tuple[Any, ...]) -> Setting:
    """A dotted key, as in the scenario, with values that are already TOML's."""
    path = _path(key)
    if path is None:
        raise InputError(f'"{key}" is no key', allowed=_FORM, file=_WHERE)
    return Setting(key, path, values)


def _path(key: str) -> tuple[str, ...] | None:
    """The parts of a dotted key, quoted where TOML would have it."""
    try:
        table: Any = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:
        return None
    path = []
    while isinstance(table, dict):
        ((part, table),) = table.items()
        path.append(part)
    return tuple(path)


def _split(text: str) -> list[str]:
    """At commas that are not within quotes or brackets."""
    pieces, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        if letter == "," and depth == 0 and not quote:
            pieces.append("")
        else:
            pieces[-1] += letter
    return [piece.strip() for piece in pieces]


def _value(piece: str) -> Any:
    try:
        table = tomllib.loads(f"value = {piece}")
    except (ValueError, RecursionError):  # not TOML, a number of thousands of digits, lists in lists in lists
        return piece
    return table["value"] if set(table) == {"value"} else piece


def show(value: Any) -> str:
    """As one would write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def combinations(settings: Sequence[Setting]) -> Iterable[dict[str, Any]]:
    """All values of the first with all of the second, and so on; the last changes fastest."""
    for values in itertools.product(*(setting.values for setting in settings)):
        yield dict(zip((setting.key for setting in settings), values, strict=True))


def plan(scenario: Path, settings: Sequence[Setting], seeds: int | None = None) -> list[Task]:
    """All runs. Each combination is checked as a scenario, so that nothing starts when one is wrong."""
    keys = [setting.key for setting in settings]
    twice = next((key for number, key in enumerate(keys) if key in keys[:number]), None)
    if twice is not None:
        raise InputError("is set twice", allowed="one --set for each key, with all its values", file=_WHERE, key=twice)
    if seeds is not None and seeds < 1:
        raise InputError(f"{seeds} is too few", allowed="1 or more", file="--seeds")
    count = seeds or 1
    for setting in settings:
        count *= len(setting.values)
    if count > MOST_RUNS:
        raise InputError(f"{count:,} runs are too many", allowed=f"{MOST_RUNS:,} or fewer", file=_WHERE)
    network = load(scenario)
    file = network.file
    base = _absolute(parse_toml(file, read_text(file))[0], file.resolve().parent)
    for each in settings:
        _check_name(each, {**base.get("topology", {})}, network)
    tasks: list[Task] = []
    wrong: list[InputError] = []
    for values in combinations(settings):
        changed = copy.deepcopy(base)
        for setting in settings:
            _set(changed, setting, values[setting.key])
        try:
            load(changed)
        except InputError as error:
            # What is wrong with many combinations is told of the first.
            told = {(e.key, e.what) for e in wrong}
            wrong += [e for e in _placed(error, file, values) if (e.key, e.what) not in told]
            continue
        numbers = [None] if seeds is None else range(1, seeds + 1)
        tasks += [Task(len(tasks) + n, values, seed, changed) for n, seed in enumerate(numbers)]
    if wrong:
        raise CollectedInputError(wrong)
    return tasks


def _check_name(setting: Setting, topologies: dict[str, Any], network: Network) -> None:
    """A stream, station or bridge that is named is one of the scenario, and none that the setting would make."""
    sections: dict[str, Mapping[str, Any]] = {
        "streams": network.streams, "stations": network.stations, "bridges": network.bridges, "topology": topologies
    }  # fmt: skip
    section, *rest = setting.path
    if section in sections and rest and rest[0] not in sections[section]:
        known = sections[section]
        what = f'there is no "{rest[0]}" in {section}{did_you_mean(rest[0], known)}'
        raise InputError(what, allowed=", ".join(known) or "none", file=_WHERE, key=setting.key)


def _placed(error: InputError, file: Path, values: dict[str, Any]) -> list[InputError]:
    """The errors of a combination, which stand in no line of the file."""
    place = f"{file} with {', '.join(f'{key}={show(value)}' for key, value in values.items())}"
    return [InputError(e.what, allowed=e.allowed, file=place, key=e.key) for e in error.errors]


def _set(table: dict[str, Any], setting: Setting, value: Any) -> None:
    *parents, last = setting.path
    inside: Any = table
    for part in parents:
        inside = inside.setdefault(part, {})
        if not isinstance(inside, dict):
            raise InputError(f'"{part}" is not a table', allowed=_FORM, file=_WHERE, key=setting.key)
    inside[last] = value


def _absolute(scenario: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The scenario with the files that it names found from anywhere."""
    for table, key in references(scenario):
        table[key] = str(folder / table[key])
    return scenario
