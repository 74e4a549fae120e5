# SPDX-License-Identifier: Apache-2.0
"""`penstock bench engine` for a moment: what it prints, never how fast."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from penstock import _engine
from penstock.bench import page


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", "bench", "engine", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_rows_hold_speed_and_memory_with_and_without_the_trace() -> None:
    done = bench("overloaded", "--duration-ms", "5", "--json")
    printed: dict[str, Any] = json.loads(done.stdout)
    rows = {row["id"]: row for row in printed["rows"]}
    kinds = [f"overloaded.{what}.{which}" for what in ("statistics", "trace") for which in ("speed", "memory")]
    assert list(rows) == kinds
    assert all(row["measured"] > 0 for row in rows.values())
    assert all(row["ok"] == (row["measured"] >= row["goal"]) for name, row in rows.items() if name.endswith("speed"))
    assert printed["ok"] == all(row["ok"] for row in rows.values())
    assert done.returncode == (0 if printed["ok"] else 1)


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
