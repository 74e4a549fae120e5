# SPDX-License-Identifier: Apache-2.0
"""The table of a run, as wide as the terminal is, in a pipe, and printed again by `penstock show`."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from penstock import cli
from penstock.bound.analysis import analyse
from penstock.bound.show import show as show_bounds
from penstock.run import run
from penstock.scenario import load
from penstock.summary import stream_rows
from penstock.sweep.plan import Setting
from penstock.sweep.show import table as table_of_sweep
from penstock.sweep.work import Sweep
from penstock.table import show
from stand_in import SMALL, StandIn

FIRST = ["stream", "delivered/sent", "max us", "p99 us", "bound us", "deadline us", "verdict"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a run that lost frames."""
    place = tmp_path_factory.mktemp("table")
    (place / "scenario.toml").write_text(SMALL)
    return run(load(place), place / "results", StandIn(drop_every=50)).folder


@pytest.fixture
def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def printed(summary: dict[str, Any], width: int, *, wide: bool = False, terminal: bool = True) -> list[str]:
    file = io.StringIO()
    show(summary, Console(file=file, width=width, force_terminal=terminal, no_color=True), Path("out"), wide=wide)
    return file.getvalue().replace("\x1b[1m", "").replace("\x1b[3m", "").replace("\x1b[0m", "").splitlines()


def columns(lines: list[str]) -> list[str]:
    """The names of a table's columns, whose last lines are above the rule and right-aligned."""
    rule = next(number for number, line in enumerate(lines) if set(line) == {"─"})
    head, units = lines[rule - 2 : rule]
    above = head.split()
    found = []
    for word in units.split():
        end = units.index(word) + len(word)
        units = units.replace(word, " " * len(word), 1)
        found.append(next((a for a in above if head.find(a) + len(a) == end), "") + " " + word)
        head = head.replace(found[-1].split()[0], " " * len(found[-1].split()[0]), 1)
    return [name.strip().replace(" /", "/") for name in found]


@pytest.mark.parametrize("width", [80, 200])
def test_what_is_asked_first_fits(width: int, summary: dict[str, Any]) -> None:
    lines = printed(summary, width)
    assert columns(lines) == FIRST
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    fast = next(line.split() for line in lines if line.startswith("fast"))
    assert fast[1] == "196/200"
    assert fast[-2:] == ["not", "met"]
    assert "dropped of fast: 4 queue_full" in lines
    assert "deadline of fast not met: 4 frames late or dropped" in lines
    assert "a frame to several listeners counts once for each" in lines


@pytest.mark.parametrize("width", [80, 200])
def test_all_columns(width: int, summary: dict[str, Any]) -> None:
    lines = printed(summary, width, wide=True)
    head = " ".join(lines[1:4])
    for name in ("sent", "inside", "dropped", "min", "mean", "p50", "p99", "max", "jitter", "interval", "deadline"):
        assert name in head
    assert "…" not in "".join(lines)
    assert any("contention" in line for line in lines), "the bound, term by term"


def test_a_long_name_gives_way_to_the_numbers(summary: dict[str, Any]) -> None:
    name = "the-stream-of-the-second-camera-of-the-left-arm-at-the-far-end-of-the-line-behind-the-door"
    summary["streams"] = {name: summary["streams"]["fast"], "größe": summary["streams"]["bulk"]}
    lines = printed(summary, 80)
    rule = next(n for n, line in enumerate(lines) if set(line) == {"─"})
    end = next(n for n, line in enumerate(lines) if line.startswith("größe"))
    assert max(map(len, lines)) <= 80
    assert "".join(line.split()[0] for line in lines[rule + 1 : end]) == name
    assert "196/200" in lines[rule + 1]


def test_numbers_are_whole_where_the_terminal_is_narrower(summary: dict[str, Any]) -> None:
    stream = summary["streams"]["fast"]
    stream.update(delivered=123_456_789_012, copies=123_456_789_012, bound_ns=9e14, deadline_ns=9e14)
    lines = printed(summary, 40)
    assert any("123456789012/123456789012" in line and "900,000,000,000.000" in line for line in lines)


def test_a_pipe_has_one_line_for_each_thing(summary: dict[str, Any]) -> None:
    summary["warnings"] = ["word " * 100]
    lines = printed(summary, 80, terminal=False)
    assert f"warning {summary['warnings'][0]}" in lines


def test_many_streams(summary: dict[str, Any]) -> None:
    fast, bulk = summary["streams"]["fast"], summary["streams"]["bulk"]
    summary["streams"] = {f"s{n}": bulk | {"ok": True} for n in range(500)} | {"bad": fast}
    lines = printed(summary, 80)
    assert any(line.startswith("bad ") for line in lines)
    assert any(line.startswith("40 of 501 streams") for line in lines)
    assert len(lines) < 140


def test_ascii_is_enough(summary: dict[str, Any]) -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    show(summary, Console(file=file, width=80), Path("out"))
    file.flush()
    assert b"196/200" in raw.getvalue()


# ---- the command


def call(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["penstock", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return int(end.value.code or 0)


@pytest.mark.parametrize("width", [80, 200])
def test_show_on_a_terminal(width: int, folder: Path) -> None:
    main, side = pty.openpty()
    environment = os.environ | {"COLUMNS": str(width), "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "penstock", "show", str(folder)]
    process = subprocess.Popen(command, stdout=side, stderr=side, stdin=side, env=environment)
    os.close(side)
    said = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:
            break
        if not part:
            break
        said += part
    os.close(main)
    assert process.wait() == 1
    assert b"196/200" in said
    assert "\u2026".encode() not in said


def test_show_prints_what_run_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scenario.toml").write_text(SMALL)
    monkeypatch.setattr(cli, "_stand_in", lambda: StandIn(drop_every=50))
    out = tmp_path / "out"
    for form in ([], ["--wide"], ["--json"], ["--csv"]):
        assert call(monkeypatch, "run", tmp_path, "--out", out, *form) == 1
        first, _ = capfd.readouterr()
        assert call(monkeypatch, "show", out, *form) == 1
        again, error = capfd.readouterr()
        assert (again, error) == (first, "")


def test_csv_has_a_line_for_each_stream(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    call(monkeypatch, "show", folder, "--csv")
    rows = list(csv.DictReader(io.StringIO(capfd.readouterr().out)))
    assert [row["stream"] for row in rows] == ["fast", "bulk"]
    fast = rows[0]
    assert (fast["to"], fast["delivered"], fast["copies"], fast["ok"]) == ("c d", "196", "200", "false")
    assert fast["dropped_why"] == "4 queue_full"
    assert float(fast["deadline_ns"]) == 20_000
    assert rows[1]["bound_ns"] == ""


def test_an_interrupted_run_is_shown_as_such(
    folder: Path, tmp_path: Path, summary: dict[str, Any], monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    partial = summary | {"partial": True, "ok": False}
    (tmp_path / "summary.json").write_text(json.dumps(partial))
    assert call(monkeypatch, "show", tmp_path) == 1
    assert "interrupted after 5.000 ms of network time" in capfd.readouterr().out


NO_RUNS = {
    "an empty folder": (None, "is no finished run: it has no summary.json"),
    "no text": (b"\xff\xfe", "summary.json: cannot be read: it is not UTF-8"),
    "cut off": (b'{"ok": true,\n "streams": {', "summary.json:2: is not JSON"),
    "of another command": (b'{"ok": true, "paper": "x", "rows": []}', "summary.json: partial: is not the summary"),
    "no object": (b"[]", "summary.json: is not the summary of a run;"),
    "nested without end": (b"[" * 100_000, "summary.json: is not JSON"),
}


@pytest.mark.parametrize("case", NO_RUNS)
def test_what_no_run_left(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    content, message = NO_RUNS[case]
    if content is not None:
        (tmp_path / "summary.json").write_bytes(content)
    assert call(monkeypatch, "show", tmp_path) == 2
    out, error = capfd.readouterr()
    assert out == ""
    assert error.count("\n") == 1
    assert message in error
    assert "allowed: " in error


def test_a_value_of_another_type_is_refused(
    tmp_path: Path, summary: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    summary["streams"]["fast"]["latency_ns"]["max"] = "soon"
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    assert call(monkeypatch, "show", tmp_path) == 2
    assert "streams.fast.latency_ns.max" in capfd.readouterr().err


def test_no_folder(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    for path, what in ((folder / "nothing", "is not there"), (folder / "summary.json", "is a file")):
        assert call(monkeypatch, "show", path) == 2
        assert what in capfd.readouterr().err


def test_one_form_at_a_time(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    assert call(monkeypatch, "show", folder, "--wide", "--csv") == 2
    assert capfd.readouterr().out == ""


# ---- tables of other commands


def terminal(width: int) -> tuple[io.StringIO, Console]:
    file = io.StringIO()
    return file, Console(file=file, width=width, force_terminal=True, no_color=True, highlight=False)


def test_bounds_fit() -> None:
    file, console = terminal(80)
    show_bounds(analyse(load(Path(__file__).parents[1] / "scenarios" / "line5")), console)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue())
    assert max(map(len, plain.splitlines())) <= 80
    assert "…" not in plain
    assert re.search(r"^picture +disk +3 +35.096 +1.008 +103.199 +0.074 +139.377 +500.000 +ok$", plain, re.MULTILINE)


def test_a_sweep_fits(summary: dict[str, Any]) -> None:
    """Keys that do not vary are said once; the others are broken at their dots."""
    settings = (Setting("nodes", ("nodes",), ("model",)), Setting("streams.the_fast_one.ats.rate", (), ("20Mb/s",)))
    rows = [
        {"run": run, "seed": run, "nodes": "model", settings[1].key: f"{run}0Mb/s", "error": None, **row}
        for run in (1, 2)
        for row in stream_rows(summary)
    ]
    found = Sweep(2, rows, finished=2)
    file, console = terminal(80)
    table_of_sweep(found, settings, console, Path("out/sweep.parquet"))
    plain = re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue())
    assert "nodes = model\n" in plain
    assert "the_fast_one." in plain
    assert "196/200" in plain
    assert max(map(len, plain.splitlines())) <= 80
    assert "…" not in plain
