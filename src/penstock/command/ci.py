# SPDX-License-Identifier: Apache-2.0
"""How commands speak to services that build and test: workflow commands of GitHub, and JUnit's XML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from penstock.command.answer import Format, said
from penstock.command.console import say

_NOT_OF_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Case:
    """One thing that was looked at, and how it came out."""

    group: str  # such as the scenario, or the experiment
    name: str
    failures: Sequence[Mapping[str, Any]] = ()  # as `penstock.errors.located` makes them
    warnings: Sequence[Mapping[str, Any]] = field(default=())  # of the same form


def print_cases(form: Format, command: str, cases: Sequence[Case]) -> None:
    """Prints what a command found, and nothing else, in one of the two forms."""
    said()
    say(junit(command, cases) if form is Format.JUNIT else github(cases))


def github(cases: Iterable[Case]) -> str:
    """A line for each failure and warning, at its place in a file where it has one; a last one says how it went."""
    lines, failures, known = [], 0, 0
    for case in cases:
        known += 1
        failures += bool(case.failures)
        title = f"{case.group}: {case.name}"
        lines += [_workflow_command("error", title, each) for each in case.failures]
        lines += [_workflow_command("warning", title, each) for each in case.warnings]
    return "\n".join([*lines, f"::notice title=penstock::{known - failures} of {known} met"])


def _workflow_command(kind: str, title: str, found: Mapping[str, Any]) -> str:
    place = {}
    if found["file"] is not None and (found["line"] is not None or Path(found["file"]).exists()):
        place = {"file": found["file"], "line": found["line"]}
    properties = {**place, "title": title}
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items() if value is not None)
    return f"::{kind} {listed}::{_data(_text(found))}"


def _text(found: Mapping[str, Any]) -> str:
    key = f"{found['key']}: " if found["key"] else ""
    allowed = f"; allowed: {found['allowed']}" if found["allowed"] else ""
    return f"{key}{found['what']}{allowed}"


def _data(text: object) -> str:
    return str(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: object) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def junit(command: str, cases: Sequence[Case]) -> str:
    """A test suite with a test case for each thing that was looked at."""
    failed = sum(bool(case.failures) for case in cases)
    counts = {"tests": str(len(cases)), "failures": str(failed), "errors": "0", "skipped": "0"}
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": _xml(f"penstock {command}"), **counts})
    for case in cases:
        known = {"classname": _xml(case.group), "name": _xml(case.name)}
        place = next((each for each in case.failures if each["line"] is not None), None)
        if place is not None:
            known |= {"file": _xml(place["file"]), "line": str(place["line"])}
        test = ElementTree.SubElement(suite, "testcase", known)
        if case.failures:
            texts = [_xml(_placed(each)) for each in case.failures]
            ElementTree.SubElement(test, "failure", {"message": texts[0]}).text = "\n".join(texts)
        if case.warnings:
            notes = "\n".join(f"warning: {_text(each)}" for each in case.warnings)
            ElementTree.SubElement(test, "system-out").text = _xml(notes)
    ElementTree.indent(suites)
    # The declaration says the encoding that the text would have in a file.
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode")


def _placed(found: Mapping[str, Any]) -> str:
    line = "" if found["line"] is None else f":{found['line']}"
    return f"{found['file']}{line}: {_text(found)}" if found["file"] else _text(found)


def _xml(text: str) -> str:
    return _NOT_OF_XML.sub("\N{REPLACEMENT CHARACTER}", text)
