# SPDX-License-Identifier: Apache-2.0
"""All that is wrong with a scenario, each with its place; and what is good enough to be looked at further."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from pydantic import ValidationError

from penstock.errors import CollectedInputError, InputError, did_you_mean
from penstock.scenario import model
from penstock.scenario.findings import Finding, dotted
from penstock.scenario.positions import KeyPath, line_of

_MANY = 8  # names in a list of what is allowed
_HINTS = 20  # a hint costs a look at all names

# What stands in for a key at the top that is wrong, so that the rest can be checked.
_STAND_INS = {"name": "scenario", "duration": "1s"}
_TABLES_OF_THINGS = ("topology", "bridges", "stations", "streams")


class AlreadyToldError(Exception):
    """What is asked for is wrong itself, and that has been told."""


class Report:
    """Collects errors and warnings. `lines` gives the line of each key, where there is a file."""

    def __init__(self, file: str, lines: Callable[[], dict[KeyPath, int]] | None = None) -> None:
        self.file = file
        self._read_lines = lines
        self._lines: dict[KeyPath, int] = {}
        self._hints = 0
        self.found: dict[tuple[KeyPath, str], InputError] = {}
        self.warnings: list[Finding] = []

    def line(self, path: KeyPath) -> int | None:
        """The line of a key, of the nearest table around it, or of the file's begin; None without a file."""
        if self._read_lines is None:
            return None
        if not self._lines:
            self._lines = self._read_lines()
        return line_of(self._lines, path) or 1

    def add(self, path: KeyPath, what: str, allowed: str) -> None:
        """Notes an error and goes on."""
        error = InputError(what, allowed=allowed, file=self.file, line=self.line(path), key=dotted(path))
        self.found.setdefault((path, what), error)

    def refuse(self, path: KeyPath, what: str, allowed: str) -> NoReturn:
        """Notes an error and gives up what is being looked at."""
        self.add(path, what, allowed)
        raise AlreadyToldError

    @contextmanager
    def part(self) -> Iterator[None]:
        """What is refused in here does not keep the rest from being looked at."""
        with suppress(AlreadyToldError):
            yield

    def unknown(self, path: KeyPath, kind: str, name: str, known: Iterable[str]) -> NoReturn:
        """Refuses a name that nothing has."""
        self._hints += 1
        hint = did_you_mean(name, known) if self._hints <= _HINTS else ""
        self.refuse(path, f'there is no {kind} "{name}"{hint}', names(known) or f"no {kind} is there")

    def warn(self, path: KeyPath, what: str) -> None:
        """What is probably not meant."""
        self.warnings.append(Finding(what, self.file, self.line(path), dotted(path)))

    def done(self) -> None:
        """Raises what was found."""
        if len(self.found) == 1:
            raise next(iter(self.found.values()))
        if self.found:
            raise CollectedInputError(self.found.values())


def validate(values: dict[str, Any], report: Report) -> tuple[model.Scenario, set[tuple[str, str]]]:
    """The scenario without the parts that are wrong by themselves, which are told; and which parts these are."""
    values = {k: dict(v) if isinstance(v, dict) else v for k, v in values.items()}
    broken: set[tuple[str, str]] = set()
    while True:
        try:
            return model.Scenario.model_validate(values), broken
        except ValidationError as error:
            before = len(report.found)
            for detail in error.errors(include_url=False):
                path = _explain(detail, report)
                section, rest = str(path[0]) if path else "", path[1:]
                if section in (*_TABLES_OF_THINGS, "links") and rest and isinstance(values.get(section), dict):
                    values[section].pop(rest[0], None)
                    broken.add((section, str(rest[0])))
                elif section in _STAND_INS:
                    values[section] = _STAND_INS[section]
                else:
                    values.pop(section, None)
                    broken.add((section, "*"))
            if len(report.found) == before:
                report.done()


def _explain(detail: Any, report: Report) -> KeyPath:
    path: KeyPath = tuple(detail["loc"])
    context = detail.get("ctx", {})
    if "key" in context:
        path = (*path, context["key"])
    kind = detail["type"]
    if kind == "refused":
        what, allowed = context["what"], context["allowed"]
    elif kind == "extra_forbidden":
        known = _table_of(path[:-1]).keys()
        what, allowed = f'unknown key "{path[-1]}"{did_you_mean(str(path[-1]), known)}', ", ".join(known)
    elif kind == "missing":
        what, allowed = missing(path)
    elif kind == "literal_error":
        what, allowed = f"{_toml(detail['input'])} is not known", context["expected"].replace("'", '"')
    elif kind == "too_short":
        least = context.get("min_length", 1)
        what = "is empty" if not detail["input"] else f"has {len(detail['input'])} entries"
        allowed = f"{'one' if least == 1 else least} or more"
    elif kind == "too_long":
        what, allowed = f"has {len(detail['input'])} entries", f"up to {context['max_length']}"
    elif kind == "string_pattern_mismatch":
        what, allowed = f"{_toml(detail['input'])} cannot be used as a name", "letters, digits, _ . and -"
    else:
        what = f"{_toml(detail['input'])} does not fit"
        allowed = detail["msg"].removeprefix("Input should be ")
    report.add(path, what, allowed)
    return path


def missing(path: KeyPath) -> tuple[str, str]:
    """What is said of a key that has to be there."""
    kinds = {"streams": "stream", "bridges": "bridge", "stations": "station", "links": "link", "topology": "topology"}
    kind = kinds.get(str(path[0])) if path[1:] else None
    return "the key is missing", f'every {kind or "scenario"} has "{path[-1]}"'


def _table_of(path: KeyPath) -> type[model.Table]:
    """The table in which a key stands."""
    table: type[model.Table] = model.Scenario
    for part in path:
        field = next((f for n, f in table.model_fields.items() if (f.alias or n) == part), None)
        if field is not None:
            table = next(_tables_in(field.annotation), table)
        elif table is model.Links:
            table = model.Link
    return table


def _tables_in(annotation: Any) -> Iterator[type[model.Table]]:
    if isinstance(annotation, type) and issubclass(annotation, model.Table):
        yield annotation
    for part in typing.get_args(annotation):
        yield from _tables_in(part)


def names(things: Iterable[str]) -> str:
    """Some names, and how many others there are."""
    listed = list(things)
    if len(listed) <= _MANY + 1:
        return ", ".join(listed)
    return f"{', '.join(listed[:_MANY])} and {len(listed) - _MANY} others"


def _toml(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
