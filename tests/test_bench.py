# SPDX-License-Identifier: Apache-2.0
"""`penstock bench engine` for a moment: what it prints, never how fast."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from penstock import _engine
from penstock.bench import engine as engine_bench
from penstock.bench import page


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", "bench", "engine", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


SHORT = ("--duration-ms", "5", "--rounds", "1")


def rows_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    printed: dict[str, Any] = json.loads(done.stdout)
    assert printed["ok"] == all(row["ok"] for row in printed["rows"])
    assert done.returncode == (0 if printed["ok"] else 1)
    rows = {row["id"]: row for row in printed["rows"]}
    assert all(
        row["ok"] == (row["measured"] >= row["goal"])
        for name, row in rows.items()
        if "goal" in row and not name.endswith("memory")
    )
    return rows


def test_rows_hold_speed_and_memory_and_the_trace_against_none() -> None:
    rows = rows_of(bench("overloaded", *SHORT, "--json"))
    wanted = [f"overloaded.{what}.{which}" for what in ("statistics", "trace") for which in ("speed", "memory")]
    assert [name for name in rows if not name.endswith("instructions")] == [*wanted, "overloaded.trace.ratio"]
    assert all(row["measured"] > 0 for row in rows.values())
    assert "goal" not in rows["overloaded.statistics.speed"], "an absolute figure holds on one machine only"
    assert rows["overloaded.trace.ratio"]["goal"] == 0.5


def test_two_cores_are_held_against_one_where_there_are_two() -> None:
    rows = rows_of(bench("tree", *SHORT, "--json"))
    assert ("tree.cores.ratio" in rows) == (engine_bench.usable_cores() > 1)
    if engine_bench.usable_cores() < 2:
        return
    assert rows["tree.cores.ratio"]["goal"] == 1.7
    both = [rows[f"tree.{what}.speed"]["quantity"].partition(": ")[2] for what in ("statistics", "cores")]
    assert both[0] == both[1], "the same is counted"


def test_a_speed_says_what_it_counts(tmp_path: Path) -> None:
    assert bench("line", "--duration-ms", "5", "--describe", str(tmp_path)).returncode == 0
    result = _engine.run((tmp_path / "line.json").read_text(), None)
    hops, streams = result["simulation"]["frame_hops"], result["statistics"].values()
    # Every frame of the line was sent by its talker in the end.
    sends = sum(stream["frames"] for stream in streams)
    quantity = rows_of(bench("line", *SHORT, "--json"))["line.statistics.speed"]["quantity"]
    assert f"{hops:,} hops: {hops - sends:,} at bridges, {sends:,} sends of talkers" in quantity
    assert "percentiles of 0 of 64 streams sketched" in quantity


def test_a_network_is_held_against_its_reference_and_another_build() -> None:
    rows = rows_of(bench("line_learned", *SHORT, "--against", str(_engine.__file__), "--json"))
    assert [name for name in rows if name.endswith(("ratio", "against"))] == [
        "line.statistics.against",
        "line_learned.statistics.ratio",
        "line_learned.statistics.against",
    ]
    assert rows["line.statistics.against"]["goal"] < 1
    assert "goal" not in rows["line_learned.statistics.ratio"]


def test_what_another_build_does_not_know_is_said_and_left_out(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.write_text(
        f"""#!/bin/sh
case "$*" in *describe*) echo 'bridges.b0: there is no key "gates"' >&2; exit 2;; esac
exec {sys.executable} "$@"
"""
    )
    old.chmod(0o755)
    rows = rows_of(bench("line", *SHORT, "--against", str(old), "--json"))
    refused = rows["line.statistics.against"]
    assert refused["measured"] is None
    assert 'there is no key "gates"' in refused["quantity"]


def test_what_is_no_build_is_refused() -> None:
    done = bench("line", "--against", "/bin/false")
    assert done.returncode == 2
    assert "a checkout that ./penstock has prepared" in done.stderr


def test_networks_are_written_for_a_profiler(tmp_path: Path) -> None:
    assert bench("line", "--duration-ms", "1", "--describe", str(tmp_path)).returncode == 0
    result = _engine.run((tmp_path / "line.json").read_text(), None)
    assert result["simulation"]["frame_hops"] > 1_000


def test_an_unknown_network_is_refused_with_those_there_are() -> None:
    done = bench("torus")
    assert done.returncode == 2
    assert "torus" in done.stderr
    assert "overloaded" in done.stderr


def test_the_page_keeps_what_stands_around_its_table(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("above\n<!-- begin x -->\nold\n<!-- end x -->\nbelow\n")
    page.update("x", [{"quantity": "speed", "measured": 1234, "unit": "m/s", "goal": 1000}], file)
    table = "| quantity | measured | goal |\n|---|--:|--:|\n| speed | 1,234 m/s | 1,000 m/s |"
    assert file.read_text() == f"above\n<!-- begin x -->\n{table}\n<!-- end x -->\nbelow\n"
