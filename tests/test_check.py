# SPDX-License-Identifier: Apache-2.0
"""What `penstock check` shows of each stream, and what it warns of."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from penstock.check.checked import Checked, check
from penstock.check.show import show
from penstock.errors import InputError
from penstock.scenario import load

HEAD = """
name = "checked"
nodes = "model"
duration = "10ms"
[bridges.s1]
ports = 4
classes.5 = { selection = "cbs", idle_slope = "20Mb/s", name = "video" }
[bridges.s2]
ports = 4
class_of_priority = "identity"
[links.trunk]
between = ["s1.0", "s2.0"]
[stations]
a = { at = "s1.1" }
b = { at = "s2.1" }
c = { at = "s1.2" }
"""


def checked(tmp_path: Path, text: str) -> Checked:
    file = tmp_path / "scenario.toml"
    file.write_text(HEAD + text)
    return check(load(file))


def stream(name: str, pcp: int, source: str, more: str = "", to: str = '"b", "c"') -> str:
    return f'[streams.{name}]\nfrom = "a"\nto = [{to}]\nvlan = 1\npcp = {pcp}\nsource = {{ {source} }}\n{more}\n'


def warned(found: Checked, key: str) -> str:
    (what,) = [each.what for each in found.warnings if each.key == key]
    return what


PERIODIC = 'frames = "100B", every = "1ms"'


def test_each_stream_is_shown_with_class_and_selection_at_each_hop(tmp_path: Path) -> None:
    found = checked(tmp_path, stream("s", 3, PERIODIC))
    told = found.as_json()["streams"]["s"]
    assert (told["pcp"], told["from"], told["contract"]) == (3, "a", None)
    assert [(hop["bridge"], hop["egress"], hop["traffic_class"], hop["selection"])
            for hop in told["listeners"]["b"]["hops"]] == [("s1", 0, 7, "ats"), ("s2", 1, 3, "strict")]  # fmt: skip
    assert [hop["bridge"] for hop in told["listeners"]["c"]["hops"]] == ["s1"]
    assert any(each.key == "streams.s" and "class 7 at a, s1, class 3 at s2" in each for each in found.warnings)


def test_a_priority_taken_for_a_class_is_told(tmp_path: Path) -> None:
    found = checked(tmp_path, stream("film", 5, PERIODIC, to='"c"'))
    what = warned(found, "bridges.s1.classes.5")
    assert "served by credit, and no stream is of it" in what
    assert '"film" has pcp 5, which class_of_priority makes class 3; pcp 7 is class 5' in what
    assert [note for note in found.notes if 'class_of_priority = "stream_reservation"' in note]
    right = checked(tmp_path, stream("film", 7, PERIODIC, to='"c"'))
    assert not [each for each in right.warnings if "classes.5" in each.key]


@pytest.mark.parametrize(
    ("source", "key", "what"),
    [
        (PERIODIC + ', start = "10ms"', "streams.s.source.start", "starts at 10 ms, and the run lasts 10 ms"),
        (PERIODIC + ', start = "9999us"', None, None),
    ],
)
def test_a_source_that_creates_nothing_is_told(tmp_path: Path, source: str, key: str | None, what: str | None) -> None:
    found = checked(tmp_path, stream("s", 3, source, to='"c"'))
    starts = [each for each in found.warnings if each.key.startswith("streams.s.source")]
    assert [each.key for each in starts] == [key] * (key is not None)
    assert all(what in each for each in starts if what)


def test_answers_to_nothing_are_told(tmp_path: Path) -> None:
    asks = stream("ask", 3, PERIODIC + ', start = "20ms"', to='"c"')
    answers = '[streams.answer]\nfrom = "c"\nto = ["a"]\nvlan = 1\nsource = { response_to = "ask", frames = "64B" }\n'
    assert '"ask" sends nothing' in warned(checked(tmp_path, asks + answers), "streams.answer.source.response_to")


def test_a_broken_contract_is_told_with_its_line(tmp_path: Path) -> None:
    burst = 'frames = "100B", burst = 3, every = "1ms"'
    found = checked(tmp_path, stream("s", 3, burst, 'ats = { rate = "10Mb/s", burst = "240B" }', to='"c"'))
    (one,) = [each for each in found.warnings if each.key == "streams.s.ats"]
    assert one.line == HEAD.count("\n") + 7
    assert "frame 3, released at 0 ps, comes too early" in one
    assert 'burst = "358B" or more' in one
    assert found.as_json()["bound_ns"] == {"s": None}
    assert found.as_json()["streams"]["s"]["contract"]["needed_burst_bytes"] == 358


@pytest.mark.parametrize("width", [80, 200])
def test_the_table_can_be_read(tmp_path: Path, width: int) -> None:
    found = checked(tmp_path, stream("control", 3, PERIODIC, 'ats = { rate = "10Mb/s", burst = "240B" }'))
    out = io.StringIO()
    show(found, Console(file=out, width=width, force_terminal=True, color_system=None))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert max(map(len, lines)) <= width
    assert "…" not in out.getvalue()
    assert any(line.split() == ["control", "3", "7", "ats", "a", ">", "s1", "2.630", "kept"] for line in lines)
    assert "checked is well-formed: 1 stream, 3 stations, 2 bridges" in lines


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("stream_reservation", (1, 0, 6, 7, 2, 3, 4, 5)),
        ("default", (1, 0, 2, 3, 4, 5, 6, 7)),
        ("identity", (0, 1, 2, 3, 4, 5, 6, 7)),
    ],
)
def test_maps_of_priorities_have_names(name: str, classes: tuple[int, ...]) -> None:
    station = {"at": "b.0", "class_of_priority": name}
    values: dict[str, Any] = {
        "name": "maps",
        "duration": "1ms",
        "bridges": {"b": {"ports": 2, "class_of_priority": name}},
        "stations": {"a": station, "z": {"at": "b.1"}},
        "streams": {"s": {"from": "a", "to": ["z"], "source": {"frames": "64B", "every": "1ms"}}},
    }
    network = load(values)
    assert network.bridges["b"].class_of_pcp == network.stations["a"].class_of_pcp == classes
    values["bridges"]["b"]["class_of_priority"] = "identiy"
    with pytest.raises(InputError, match=r'no map "identiy" \(did you mean "?identity'):
        load(values)


def test_the_command_prints_one_object(tmp_path: Path) -> None:
    checked(tmp_path, stream("s", 0, PERIODIC, to='"c"'))
    command = [sys.executable, "-m", "penstock", "check", str(tmp_path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "80"})
    told = json.loads(done.stdout)
    assert told["ok"] is True
    assert {each["key"] for each in told["findings"]} == {"bridges.s1.classes.5", "stations.b"}
    assert {each["line"] for each in told["findings"]} == {7, 15}
