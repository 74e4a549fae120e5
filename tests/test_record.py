# SPDX-License-Identifier: Apache-2.0
"""`penstock run --record`: what a run sent through a port, as `penstock replay` reads it; and the recording we keep."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import cli, run
from penstock.errors import InputError
from penstock.replay import load as read
from penstock.replay.record import record
from penstock.replay.tap import tap_at
from penstock.scenario import load

RECORDING = Path(__file__).parents[1] / "scenarios" / "recording"
KEPT = RECORDING / "three-flows"

PICTURES = {"pictures": "8kHz", "packet": "500B", "i_picture": "700B", "p_picture": "90B", "group": 2}
GATES = {"cycle_time": "1ms", "entries": [{"open": "all", "interval": "1ms"}]}

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Call:
    """A command, as a user calls it: exit status and what it printed."""

    def command(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["penstock", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return int(end.value.code or 0), *capfd.readouterr()

    return command


def network(**changes: Any) -> dict[str, Any]:
    """Two talkers and a listener at a bridge; `changes` go into the bridge."""
    return {
        "name": "two",
        "duration": "3ms",
        "nodes": "model",
        "bridges": {"sw": {"ports": 4, "classes": {"7": {"selection": "ats", "max_residence": "90us"}}, **changes}},
        "stations": {name: {"at": f"sw.{port}"} for port, name in enumerate("abcd")},
        "streams": {
            "shaped": {
                "from": "a", "to": ["d"], "vlan": 10, "pcp": 3, "ats": {"rate": "20Mb/s", "burst": "800B"},
                "source": {"video": PICTURES},
            },
            "other": {
                "from": "b", "to": ["d"], "vlan": 10, "pcp": 0,
                "source": {"poisson": "30us", "frames": "1522B", "seed": 1},
            },
        },
    }  # fmt: skip


def residuals(out: str) -> list[float]:
    """Least and most of all frames that were replayed."""
    found = re.findall(r" (?:unhindered|behind another flow) +\d+ +(\S+) +\S+ +(\S+) +\d+ ", out)
    assert found, out
    return [min(float(least) for least, _ in found), max(float(most) for _, most in found)]


# ---- the recording that everybody has


@pytest.mark.parametrize("nodes", ["model", "rtl"])
def test_the_kept_recording_is_replayed(nodes: str, call: Call) -> None:
    status, out, error = call("replay", KEPT, "--nodes", nodes)
    assert (status, error) == (0, "")
    assert re.search(r" survive of 632 +574 .* same *$", out, re.M)
    assert residuals(out) == [0, 0]


def test_the_kept_recording_is_what_its_command_makes(tmp_path: Path, call: Call) -> None:
    """It was made by the hardware; the model makes the same, to the byte."""
    out, made = tmp_path / "out", tmp_path / "made"
    status, _, said = call("run", RECORDING, "--nodes", "model", "--out", out, "--record", made)
    assert status == 1, "its sources send more than they promise, and lose their bounds"
    assert f"recording of 632 frames for sw.3, of which 574 left: penstock replay {made}" in said
    assert {file.name: file.read_bytes() for file in made.iterdir()} == {
        file.name: file.read_bytes() for file in KEPT.iterdir()
    }


def test_another_rate_is_seen_in_the_kept_recording(tmp_path: Path, call: Call) -> None:
    for file in KEPT.iterdir():
        text = file.read_text().replace("rate_bps = 260000000", "rate_bps = 255000000")
        (tmp_path / file.name).write_text(text)
    assert call("replay", tmp_path)[0] == 1


# ---- any run


@pytest.mark.parametrize(
    "bridge",
    [
        pytest.param({}, id="as the hardware"),
        pytest.param({"processing_delay": "4321ns"}, id="of another maker"),
        pytest.param({"clock": {"drift": "100ppm"}}, id="with a fast clock"),
        pytest.param({"clock": {"drift": "-100ppm"}}, id="with a slow clock"),
    ],
)
def test_a_run_is_recorded_and_replayed(bridge: dict[str, Any], tmp_path: Path, call: Call) -> None:
    net = load(network(**bridge))
    made = record(tap_at(net, None), run.run(net, tmp_path / "out", captures=False).folder / "trace.parquet",
                  tmp_path / "made")  # fmt: skip
    assert made.dropped["residence"] > 5
    assert made.inside == 0
    frames = read(tmp_path / "made").frames
    assert len(frames) == made.sent
    assert {frame.bytes for frame in frames} == {136, 246, 546, 1522}
    status, out, _ = call("replay", tmp_path / "made")
    assert status == 0, out
    # Beside a switch with other constants, a frame just misses or just catches one of another flow.
    if "processing_delay" not in bridge:
        assert max(map(abs, residuals(out))) <= 2


def test_json_stays_one_object(tmp_path: Path, call: Call) -> None:
    out, made = tmp_path / "out", tmp_path / "made"
    _, told, said = call("run", RECORDING, "--nodes", "model", "--out", out, "--record", made, "--json")
    assert "streams" in json.loads(told)
    assert "penstock replay" in said


def test_drops_that_a_replay_does_not_repeat_are_told(tmp_path: Path, call: Call) -> None:
    hello = RECORDING.parent / "hello"
    out, made = tmp_path / "out", tmp_path / "made"
    status, _, said = call("run", hello, "--nodes", "model", "--out", out, "--record", made)
    assert status == 0
    assert "does not repeat drops but those of ATS, and here are 35 queue_full" in said


def test_one_port_of_many(tmp_path: Path, call: Call) -> None:
    line = RECORDING.parent / "line5"
    arguments = ("run", line, "--nodes", "model", "--out", tmp_path / "out", "--record", tmp_path / "made")
    status, _, error = call(*arguments)
    assert status == 2
    assert "frames leave by 6 ports; allowed: --record-at s0.1 or s1.1" in error
    assert not (tmp_path / "out").exists()
    assert call(*arguments, "--record-at", "s3.1")[0] == 0
    status, out, _ = call("replay", tmp_path / "made")
    assert status == 0
    assert residuals(out) == [0, 0]


def test_a_recording_is_replaced_and_nothing_else_is(tmp_path: Path, call: Call) -> None:
    arguments = ("run", RECORDING, "--nodes", "model", "--no-captures", "--out", tmp_path / "out", "--record")
    for _ in range(2):
        assert call(*arguments, tmp_path / "made")[0] == 1  # its sources keep no contract
    real = tmp_path / "real"
    real.mkdir()
    (real / "run.toml").write_text("tick_ns = 8\n")
    status, _, error = call(*arguments, real)
    assert status == 2
    assert "real: is there already and is not a recording's folder" in error
    assert os.listdir(real) == ["run.toml"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--record-at", "sw.3"), "--record-at: nothing is recorded"),
        (("--record", "made", "--trace", "none"), "--record: is made from the whole trace"),
        (("--record", "made", "--record-at", "sw.4"), 'no stream leaves a bridge there .did you mean "sw.3"'),
        (("--record", "out"), "--record out: is where the results go"),
    ],
)
def test_what_is_asked_for_wrongly(
    options: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, error = call("run", RECORDING, "--nodes", "model", "--out", "out", *options)
    assert (status, out) == (2, "")
    assert re.search(message, error), error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n: n["bridges"]["sw"].update(switching="cut_through", processing_delay="1us"), "a switch that cuts"),
        (lambda n: n["bridges"]["sw"].update(gates=GATES), "the port has gates"),
        (
            lambda n: n.update(links={"rate": "100Mb/s"}, streams={"shaped": n["streams"]["shaped"]}),
            "the link of port 3 has 100 Mb/s; allowed: 1 Gb/s",
        ),
        (lambda n: n["streams"]["shaped"]["ats"].update(burst="32MB"), "the burst in bytes of shaped is 32,000,000"),
        (
            lambda n: n["streams"].update(
                elsewhere={**n["streams"]["shaped"], "to": ["c"], "source": {"frames": "90B", "every": "1ms"}}
            ),
            "elsewhere shares a scheduler group with shaped and leaves elsewhere",
        ),
    ],
)
def test_what_a_replay_has_no_words_for(change: Callable[[dict[str, Any]], None], message: str) -> None:
    values = network()
    change(values)
    net = load(values)
    with pytest.raises(InputError, match=message) as refused:
        tap_at(net, "sw.3")
    assert refused.value.key == "--record"


def test_ports_that_a_replay_does_not_have() -> None:
    values = network()
    values["bridges"]["sw"]["ports"] = 12
    values["stations"]["d"]["at"] = "sw.11"
    with pytest.raises(InputError, match="a frame comes or goes by port 11; allowed: ports 0 to 7"):
        tap_at(load(values), None)
