# SPDX-License-Identifier: Apache-2.0
"""`penstock talk` and `penstock listen`, as a person calls them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from typer.testing import CliRunner

from end_frames import Cable, cable, frame, header
from penstock.cli import app, main
from penstock.errors import InputError
from penstock.trace import read_trace
from rights import needs_namespaces

pytestmark = pytest.mark.long(100)

SCENARIO = """
name = "ends"
nodes = "model"
duration = "100ms"
[bridges.sw]
ports = 2
[stations]
plc = { at = "sw.0" }
drive = { at = "sw.1" }
[streams.control]
from = "plc"
to = ["drive"]
vlan = 10
pcp = 3
source = { frames = "128B", every = "1ms", count = 50 }
"""


def _penstock(wire: Cable, side: int, *words: str | Path) -> list[str]:
    return wire.command(side, sys.executable, "-m", "penstock", *words)


@needs_namespaces
def test_a_scenario_from_talker_to_listener(tmp_path: Path) -> None:
    scenario = tmp_path / "ends.toml"
    scenario.write_text(SCENARIO)
    talked, heard = tmp_path / "talked", tmp_path / "heard"
    with cable(tmp_path) as wire:
        listener: list[str | Path] = [
            scenario,
            "drive",
            "--interface",
            "end0",
            "--out",
            heard,
            "--window",
            "control=1ms",
            "--json",
            "--talker",
            talked,
        ]
        pipe = subprocess.PIPE
        with subprocess.Popen(_penstock(wire, 1, "listen", *listener), stdout=pipe, stderr=pipe, text=True) as process:
            try:
                assert process.stderr is not None
                assert "listening on end0" in process.stderr.readline()
                talker: list[str | Path] = [scenario, "plc", "--interface", "end0", "--out", talked]
                done = subprocess.run(_penstock(wire, 0, "talk", *talker), capture_output=True, text=True, check=False)
                output, _ = process.communicate(timeout=30)
            finally:
                process.kill()
    assert (done.returncode, process.returncode) == (0, 0), done.stderr
    assert "50 sent, 0 skipped" in done.stdout
    summary = json.loads(output)
    assert summary["streams"]["control"]["received"] == 50
    assert summary["streams"]["control"]["window"]["inside"] + summary["streams"]["control"]["window"]["outside"] == 50
    assert json.loads((heard / "summary.json").read_text()) == summary
    trace = read_trace(heard / "trace.parquet")
    counted = trace.group_by("event", "node", "traffic_class").len().sort("event").rows()
    # The listener has taken in what the talker left.
    assert sorted(counted) == [("created", "plc", 7, 50), ("delivered", "drive", 7, 50), ("sent", "plc", 7, 50)]
    sent = read_trace(talked / "trace.parquet").filter(pl.col("event") == "sent")
    assert sent.height == 50
    assert (pq.read_metadata(heard / "trace.parquet").metadata or {})[b"penstock.stamps_of.delivered"] == b"kernel"
    for folder in (heard, talked):
        assert "Plotly.newPlot" in (folder / "report.html").read_text()


@needs_namespaces
def test_ctrl_c_leaves_what_was_heard(tmp_path: Path) -> None:
    with cable(tmp_path) as wire:
        options = ["--interface", "end0", "--to", "02:00:00:00:00:02", "--vlan", "10", "--pcp", "3"]
        command = _penstock(wire, 1, "listen", *options, "--out", tmp_path / "heard", "--json")
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
            try:
                assert process.stderr is not None
                assert "listening" in process.stderr.readline()
                wire.inject([frame(header(n)) for n in range(3)])
                os.killpg(process.pid, signal.SIGINT)  # as a terminal does it, to all of them
                output, said = process.communicate(timeout=30)
            finally:
                process.kill()
    assert process.returncode == 0, said
    assert json.loads(output)["streams"]["stream"]["received"] == 3
    assert read_trace(tmp_path / "heard" / "trace.parquet").height == 6


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ends.toml", "--interface", "x"], "HOST: is missing"),
        (["ends.toml", "plc"], "--interface: is missing"),
        (["ends.toml", "plc", "--interface", "x", "--bytes", "200"], "--bytes: is of one stream"),
        (["ends.toml", "plc", "--interface", "x", "--plan", "p.json"], "--plan: stands beside a scenario"),
        (["ends.toml", "plc", "--interface", "x", "--window", "a=1us"], "no window"),
        (["--interface", "x", "--window", "a=1us"], "--window: names a stream"),
        (["ends.toml", "plx", "--interface", "x"], "no station"),
    ],
)
def test_bad_input_is_told_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ends.toml").write_text(SCENARIO)
    result = CliRunner().invoke(app, ["talk", *words])
    assert isinstance(result.exception, InputError)
    assert said in str(result.exception)
    assert not Path("out").exists()


def test_what_the_program_refuses_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["penstock", "talk", "--interface", "none0", "--to", "02:00:00:00:00:02", "--pcp", "9"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert "streams[0].pcp: is 9; allowed: 0 to 7" in capfd.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []
