# SPDX-License-Identifier: Apache-2.0
"""Whether each key of a scenario is right by itself: what pydantic finds, in the words of our messages.

What is wrong is left out or mended where it can be, so that the rest is looked at further and nothing follows from one
mistake: an unknown key counts as the one that it is near, a value out of range as the nearest one.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from penstock.errors import did_you_mean, nearest
from penstock.scenario import model
from penstock.scenario.keys import Table, said
from penstock.scenario.positions import KeyPath
from penstock.scenario.report import Report, missing
from penstock.words import count

# What stands in for a key at the top that is wrong, so that the rest can be checked.
_STAND_INS = {"name": "scenario", "duration": "1s"}
_TABLES_OF_THINGS = ("topology", "bridges", "stations", "schedulers", "streams")


def validate(values: dict[str, Any], report: Report) -> tuple[model.Scenario, set[tuple[str, str]]]:
    """The scenario without the parts that are wrong by themselves, which are told; and which parts these are."""
    broken: set[tuple[str, str]] = set()
    own = values
    while True:
        try:
            return model.Scenario.model_validate(own), broken
        except ValidationError as error:
            if own is values:
                own = _copied(values)
            before = len(report.found), len(report.renamed)
            details = [(detail, _path(detail, own)) for detail in error.errors(include_url=False)]
            for detail, path in details:
                if detail["type"] == "extra_forbidden":
                    report.add(path, *_explain(detail, path))
                    _rename(path, own, report)
            for detail, path in details:
                is_there = detail["type"] == "missing" and _at(path, own) is not None  # by a misspelt name
                if detail["type"] == "extra_forbidden" or is_there:
                    continue
                if path in report.renamed:  # then it was not meant
                    (_at(path[:-1], own) or {}).pop(path[-1], None)
                    del report.renamed[path]
                    continue
                report.add(path, *_explain(detail, path))
                if not _mend(detail, path, own, report):
                    _leave_out(path, own, broken)
            if (len(report.found), len(report.renamed)) == before:
                report.done()


def _copied(values: Any) -> Any:
    """A table that stands in several places is one of its own in each."""
    if isinstance(values, dict):
        return {key: _copied(value) for key, value in values.items()}
    return [_copied(value) for value in values] if isinstance(values, list) else values


def _path(detail: Any, values: dict[str, Any]) -> KeyPath:
    """The place of an error in what was written; pydantic names branches of unions and keys that nobody wrote too."""
    path: list[str | int] = []
    here: Any = values
    for part in detail["loc"]:
        if (isinstance(here, dict) and part in here) or (isinstance(here, list) and part in range(len(here))):
            path.append(part)
            here = here[part]
    if detail["type"] == "missing":
        path.append(detail["loc"][-1])
    if "key" in detail.get("ctx", {}):
        path.append(detail["ctx"]["key"])
    return tuple(path)


def _at(path: KeyPath, values: Any) -> Any:
    """What stands there; None if nothing does."""
    for part in path:
        if not _has(values, part):
            return None
        values = values[part]
    return values


def _has(values: Any, part: str | int) -> bool:
    return part in values if isinstance(values, dict) else isinstance(values, list) and part in range(len(values))


def _rename(path: KeyPath, values: dict[str, Any], report: Report) -> None:
    """An unknown key counts as the one that it is near, unless that is there too."""
    table: Any = _at(path[:-1], values)
    value = table.pop(path[-1])
    meant = nearest(str(path[-1]), _table_of(path[:-1]).keys())
    if meant is not None and meant not in table:
        table[meant] = value
        report.renamed[(*path[:-1], meant)] = path


def _mend(detail: Any, path: KeyPath, values: dict[str, Any], report: Report) -> bool:
    """Puts the nearest value in the place of one out of range; whether there is one."""
    mended = detail.get("ctx", {}).get("nearest")
    if mended is None or isinstance(_at(path, values), dict | list | None):
        return False
    _at(path[:-1], values)[path[-1]] = mended
    report.mended.add(path)
    return True


def _leave_out(path: KeyPath, values: dict[str, Any], broken: set[tuple[str, str]]) -> None:
    section, rest = str(path[0]) if path else "", path[1:]
    if section in (*_TABLES_OF_THINGS, "links") and rest and isinstance(values.get(section), dict):
        values[section].pop(rest[0], None)
        broken.add((section, str(rest[0])))
    elif section in _STAND_INS:
        values[section] = _STAND_INS[section]
    else:
        values.pop(section, None)
        broken.add((section, "*"))


def _explain(detail: Any, path: KeyPath) -> tuple[str, str]:
    """What is wrong, and what is allowed."""
    context, kind, value = detail.get("ctx", {}), detail["type"], detail["input"]
    if kind == "refused":
        return context["what"], context["allowed"]
    if kind == "extra_forbidden":
        known = _table_of(path[:-1]).keys()
        return f"unknown key {said(str(path[-1]))}{did_you_mean(str(path[-1]), known)}", ", ".join(known)
    if kind == "missing":
        return missing(path)
    if kind == "literal_error":
        return f"{said(value)} is not known", context["expected"].replace("'", '"').replace("True", "true")
    if kind == "string_too_short":
        return "is empty", "one character or more"
    if kind == "too_short":
        least = context.get("min_length", 1)
        what = "is empty" if not value else f"has {count(len(value), 'entry')}"
        return what, f"{'one' if least == 1 else least} or more"
    if kind == "too_long":
        return f"has {count(len(value), 'entry')}", f"up to {context['max_length']}"
    if kind == "string_pattern_mismatch":
        return f"{said(value)} cannot be used as a name", "letters, digits, _ . and -"
    if kind in ("list_type", "tuple_type"):
        return f"{said(value)} is not a list", "a list" if isinstance(
            value, dict
        ) else f"a list, such as [{said(value)}]"
    if kind == "string_type":
        return f"{said(value)} is not text", "text in quotes"
    if kind == "bool_type":
        return f"{said(value)} is neither true nor false", "true or false"
    if kind == "model_type":
        return f"{said(value)} is not a table", f"a table with {', '.join(_table_of(path).keys())}"
    if kind == "dict_type":
        return f"{said(value)} is not a table", "a table"
    return f"{said(value)} does not fit", detail["msg"].removeprefix("Input should be ")


def _table_of(path: KeyPath) -> type[Table]:
    """The table in which a key stands."""
    table: type[Table] = model.Scenario
    is_name = False
    for part in path:
        if is_name:
            is_name = False
            continue
        field = next((f for n, f in table.model_fields.items() if (f.alias or n) == part), None)
        if field is not None:
            table = next(_tables_in(field.annotation), table)
            is_name = typing.get_origin(field.annotation) is dict
        elif table is model.Links:
            table = model.Link
    return table


def _tables_in(annotation: Any) -> Iterator[type[Table]]:
    if isinstance(annotation, type) and issubclass(annotation, Table):
        yield annotation
    for part in typing.get_args(annotation):
        yield from _tables_in(part)
