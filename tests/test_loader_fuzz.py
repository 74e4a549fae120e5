# SPDX-License-Identifier: Apache-2.0
"""Scenarios with something changed by chance: each is a network, or refused in words with a place, and never hangs."""

from __future__ import annotations

import copy
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.errors import InputError
from penstock.scenario import load
from penstock.scenario.network import Network

ROOT = Path(__file__).parents[1] / "scenarios"
# Those of many streams take as long as all others.
FILES = sorted(file for file in ROOT.rglob("*.toml") if file.name != "run.toml" and file.stat().st_size < 6000)
SCENARIOS = {str(file.relative_to(ROOT)): tomllib.loads(file.read_text()) for file in FILES}
_SETTINGS = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

STRANGE: list[Any] = [
    *(-1, 0, 1, 2**31, 2**63, 10**30, 0.5, float("nan"), float("inf"), True, None),
    *([], {}, [[]], [{}], {"": {}}, "", " ", "x" * 300, "a\nb", "\0", "\u00b2", "..", "/dev/zero"),
    *("0s", "1ps", "-1ns", "1e9s", "9999999999999999999s", "1Gb/s", "1b/s", "0B", "1542B", "1GB", "48kHz", "1mHz"),
    *("20ppm", "all", "none", "0xff", "sw.0", "sw.*", "sw.99999", ".", "*", "model", "rtl", "linux", "ats", "cbs"),
    *("ideal", "02:00:00:00:00:01", "01:80:c2:00:00:00", "10.0.0.1", "tcp", "iperf3"),
]

Place = tuple[str | int, ...]


def _places(value: Any, path: Place = ()) -> list[Place]:
    """Of all keys and elements."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in inside for place in ((*path, key), *_places(item, (*path, key)))]


def _at(values: Any, path: Place) -> Any:
    for part in path:
        values = values[part]
    return values


def _change(draw: Callable[[st.SearchStrategy[Any]], Any], values: dict[str, Any]) -> None:
    places = _places(values)
    place = draw(st.sampled_from(places))
    table, key = _at(values, place[:-1]), place[-1]
    match draw(st.sampled_from(["strange", "other", "drop", "rename", "more", "text"])):
        case "strange":
            table[key] = copy.deepcopy(draw(st.sampled_from(STRANGE)))
        case "other":  # what stands elsewhere in the same scenario
            table[key] = copy.deepcopy(_at(values, draw(st.sampled_from(places))))
        case "drop":
            del table[key]
        case "rename" if isinstance(table, dict):
            table[draw(st.sampled_from([f"{key}s", str(key)[:-1], f"{key}".upper(), "7", "0", "a.b", ""]))] = table.pop(
                key
            )
        case "more" if isinstance(table, list):
            table.extend([copy.deepcopy(table[0])] * draw(st.sampled_from([1, 20])))
        case _:
            table[key] = draw(st.text(max_size=8))


def _load(values: dict[str, Any]) -> Network | InputError:
    try:
        return load(values)
    except InputError as error:
        refused = error
    for found in refused.errors:
        text = str(found)
        assert found.file
        assert found.what
        assert found.allowed
        assert "\n" not in text, text
        assert len(text) < 2000, text
    return refused


@settings(_SETTINGS, max_examples=200)
@given(name=st.sampled_from(sorted(SCENARIOS)), data=st.data())
def test_any_change_is_taken_or_refused(name: str, data: st.DataObject) -> None:
    values = copy.deepcopy(SCENARIOS[name])
    for _ in range(data.draw(st.integers(1, 3))):
        _change(data.draw, values)
    _load(values)


@settings(_SETTINGS, max_examples=60)
@given(data=st.data())
def test_any_change_of_the_text_is_taken_or_refused(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Read from a file: lines are found, and what is not TOML, or not text, is said."""
    file = data.draw(st.sampled_from(FILES))
    content = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content) - 1))
        length = data.draw(st.integers(0, 30))
        content[start : start + length] = data.draw(
            st.one_of(st.binary(max_size=3), st.sampled_from([b"\n", b'"', b"[", b"}", b"=", b"\r", b"'''"]))
        )
    folder = tmp_path_factory.mktemp("text")
    (folder / "scenario.toml").write_bytes(content)
    for capture in file.parent.glob("*.pcap*"):
        shutil.copy(capture, folder)
    refused: tuple[InputError, ...] = ()
    try:
        load(folder)
    except InputError as error:
        refused = error.errors
    assert all(found.line is None or 1 <= found.line <= content.count(b"\n") + 1 for found in refused)
