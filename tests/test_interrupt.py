# SPDX-License-Identifier: Apache-2.0
"""Runs that are ended early: by Ctrl-C, and killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from penstock import run as runner
from penstock.folder import remove_left_over
from penstock.scenario import load
from penstock.trace import is_partial
from test_sweep import ENVIRONMENT, line

LONG = "1000s"


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    line(folder, LONG)
    command = [sys.executable, "-m", "penstock", "run", str(folder), "--out", str(folder / "results"), *arguments]
    return subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def hidden(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name.startswith(".results.")]


def wait_for(file: str, process: subprocess.Popen[str], folder: Path) -> None:
    """Until the run is well on its way."""
    for _ in range(1200):
        assert process.poll() is None
        if any(path.stat().st_size > 100_000 for path in folder.glob(f".results.*/{file}")):
            return
        time.sleep(0.05)
    raise AssertionError(f"no {file}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_what_there_was(number: signal.Signals, tmp_path: Path) -> None:
    process = start(tmp_path, "--json")
    wait_for("trace.parquet", process, tmp_path)
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (130, "")
    assert not hidden(tmp_path)
    results = tmp_path / "results"
    assert {path.name for path in results.iterdir()} == {
        "c.pcapng",
        "report.html",
        "scenario",
        "summary.json",
        "trace.parquet",
    }
    summary = json.loads(out)
    assert summary == json.loads((results / "summary.json").read_text())
    assert (summary["partial"], summary["ok"]) == (True, False)
    assert summary["conservation"]["ok"]
    assert is_partial(results / "trace.parquet")
    trace = pl.read_parquet(results / "trace.parquet")
    assert trace.height == summary["simulation"]["trace_rows"]
    created = trace.filter(pl.col("event") == "created")["frame_id"].n_unique()
    assert created == sum(stream["sent"] for stream in summary["streams"].values())
    assert "Interrupted" in (results / "report.html").read_text()


def test_a_killed_run_leaves_nothing_that_lasts(tmp_path: Path) -> None:
    process = start(tmp_path)
    wait_for("trace.parquet", process, tmp_path)
    # One that is at work is left alone by others with the same target.
    remove_left_over(tmp_path / "results")
    assert len(hidden(tmp_path)) == 1
    process.kill()
    process.communicate(timeout=60)
    assert not (tmp_path / "results").exists()
    assert len(hidden(tmp_path)) == 1
    line(tmp_path, "1ms")
    other = tmp_path / ".results.new-x"  # of nobody
    other.mkdir()
    runner.run(load(tmp_path), tmp_path / "results")
    assert (tmp_path / "results" / "summary.json").exists()
    assert hidden(tmp_path) == [other]


def test_results_set_aside_by_a_killed_run_come_back(tmp_path: Path) -> None:
    old = tmp_path / ".results.old-abcdefgh" / "results"
    old.mkdir(parents=True)
    (old / "summary.json").write_text("{}")
    remove_left_over(tmp_path / "results")
    assert (tmp_path / "results" / "summary.json").read_text() == "{}"
    assert not hidden(tmp_path)


def test_an_interrupt_of_a_run_without_trace(tmp_path: Path) -> None:
    process = start(tmp_path, "--json", "--trace", "none")
    wait_for("c.pcapng", process, tmp_path)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert json.loads(out)["partial"]
    assert not (tmp_path / "results" / "trace.parquet").exists()
    assert os.listdir(tmp_path / "results")
