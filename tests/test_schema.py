# SPDX-License-Identifier: Apache-2.0
"""The schema for editors: it takes every scenario, refuses what is wrong by itself, and pages name its keys."""

from __future__ import annotations

import datetime
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from penstock.errors import InputError
from penstock.scenario import load
from penstock.scenario.units import DRIFT, FREQUENCY, LENGTH, RATE, TIME, Kind
from penstock.schema.generate import DIALECT, scenario_schema

ROOT = Path(__file__).parents[1]
SCENARIOS = sorted(file for file in (ROOT / "scenarios").rglob("*.toml") if file.name != "run.toml")  # of a recording
SCHEMA = scenario_schema()
VALIDATOR = Draft202012Validator(SCHEMA)

GOOD = """\
name = "good"
nodes = "model"
duration = "1ms"
[bridges.sw]
ports = 2
clock = { sync = "ideal" }
gates = { entries = [{ open = "all", interval = "1ms" }] }
[stations]
a = { at = "sw.0" }
b = { at = "sw.1" }
[streams.s]
from = "a"
to = ["b"]
vlan = 5
pcp = 3
identify = "destination"
source = { frames = "100B", every = "1ms", launch = "2us" }
"""

# What is replaced by what; all of it is wrong by itself, whatever else the scenario says.
WRONG = {
    "an unknown key": ("vlan = 5", "vlam = 5"),
    "a missing key": ('duration = "1ms"\n', ""),
    "no unit": ('duration = "1ms"', "duration = 1"),
    "another quantity": ('duration = "1ms"', 'duration = "1Mb/s"'),
    "another case": ('"100B"', '"100b"'),
    "below zero": ('"2us"', '"-2us"'),
    "too many": ("vlan = 5", "vlan = 4095"),
    "too few": ("ports = 2", "ports = 1"),
    "an unknown word": ('"model"', '"fpga"'),
    "a clock that nobody has": ('"ideal"', '"gps"'),
    "a class above all": ("ports = 2", 'ports = 2\nclasses.8 = { selection = "strict" }'),
    "text in place of a list": ('["b"]', '"b"'),
    "an empty list": ('["b"]', "[]"),
    "text in place of a switch": ("ports = 2", 'ports = 2\ncount_gap = "yes"'),
    "a port without number": ('"sw.0"', '"sw"'),
    "a name that is a path": ('"good"', '"../good"'),
    "a way that is none": ('"destination"', '"mac"'),
    "a table in place of a text": ('launch = "2us"', "launch = { after = 2 }"),
}


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    return value.isoformat() if isinstance(value, datetime.datetime) else value


def _read(text: str) -> Any:
    return _as_json(tomllib.loads(text))


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == DIALECT == Draft202012Validator.META_SCHEMA["$id"]
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_scenario_is_valid(file: Path) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(_read(file.read_text()))] == []


def test_the_good_one_is_valid() -> None:
    VALIDATOR.validate(_read(GOOD))
    assert load(tomllib.loads(GOOD)).name == "good"


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_by_itself_is_not_valid(case: str) -> None:
    old, new = WRONG[case]
    assert GOOD.count(old) == 1
    text = GOOD.replace(old, new)
    assert list(VALIDATOR.iter_errors(_read(text)))
    with pytest.raises(InputError):
        load(tomllib.loads(text))


@pytest.mark.parametrize("kind", [TIME, RATE, LENGTH, FREQUENCY, DRIFT], ids=lambda kind: str(kind.name))
def test_patterns_match_what_is_read(kind: Kind) -> None:
    pattern = re.compile(kind.pattern(signed=True))
    for unit, size in kind.units.items():
        for text in (f"12{unit}", f"-1.5 {unit}", f" 1_000{unit} "):
            assert pattern.search(text), text
            assert size == 1 or kind.read(text)
    for text in ("12", "1e3" + kind.example[-2:], "12 q", "", "1.5.5" + kind.example[-2:]):
        assert not pattern.search(text), text


def _keys(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for table in [schema, *schema["$defs"].values()]:
        yield from table.get("properties", {}).items()


def test_each_key_says_what_it_means() -> None:
    assert [name for name, key in _keys(SCHEMA) if len(key.get("description", "")) < 5] == []


def test_quantities_say_their_limits_and_defaults() -> None:
    links = SCHEMA["$defs"]["Links"]["properties"]
    assert (links["rate"]["title"], links["rate"]["default"]) == ("rate, 10Mb/s to 100Gb/s", "1Gb/s")
    assert (links["delay"]["title"], links["delay"]["default"]) == ("time, 0s to 1ms", "50ns")
    assert SCHEMA["properties"]["duration"]["title"] == "time, 1ps to 3153600000s"
    assert SCHEMA["$defs"]["GateEntry"]["properties"]["interval"]["title"] == "time, whole ns, 0s to 4294967295ns"


def test_the_pages_name_each_key() -> None:
    text = "\n".join((ROOT / "docs" / page).read_text() for page in ("scenario.md", "linux.md"))
    words = set(re.findall(r"[a-z_0-9]+", " ".join(re.findall(r"`[^`\n]+`|^    .*$", text, re.MULTILINE))))
    assert sorted({name for name, _ in _keys(SCHEMA)} - words) == []


def test_the_page_says_all_limits() -> None:
    """Each row of its table, and no limit is missing."""
    rows = re.search(r"### Limits\n.*?\n\n(\|.*?)\n\n", (ROOT / "docs" / "scenario.md").read_text(), re.DOTALL)
    assert rows is not None
    said = set()
    for row in rows[1].splitlines()[2:]:
        keys, limits = row.strip("| ").split(" | ")
        said |= {(key, limits) for key in re.findall(r"`(\w+)`", re.sub(r" of `\w+`| of a `\w+`", "", keys))}
    known = set()
    for name, key in _keys(SCHEMA):
        titles = re.findall(r"'title': '(?:time|rate|length|frequency|drift), ([^']+)'", str(key))
        known |= {(name, title) for title in titles}
    linux_and_follows = {"delta", "txtime_delay", "send_slope"}
    assert said == {(name, limits) for name, limits in known if name not in linux_and_follows}
