# SPDX-License-Identifier: Apache-2.0
"""How late frames that waited for a gate depart, by a plane and by taprio: what is read of a run, and a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from penstock.bench import gate_error
from penstock.bench.gate_error import CYCLE_NS, OPENS_NS, SENT_AT_NS
from penstock.cli import app
from penstock.end.trace import ORIGIN
from penstock.errors import InputError, RunError
from penstock.lab.machine import Machine
from penstock.lab.programs import How
from penstock.lab.run import needed, play
from rights import needs_namespaces

pytestmark = pytest.mark.long(50)


def trace(*rows: tuple[str, str, int]) -> pl.DataFrame:
    """Stream, event and time in ns."""
    stream, event, at = zip(*rows, strict=True)
    return pl.DataFrame({"stream": stream, "event": event, "time_ps": [1000 * ns for ns in at]})


def test_an_error_is_the_time_since_the_last_opening() -> None:
    opening = 123_456
    seen = trace(
        ("waits", "created", opening - 10),
        ("waits", "delivered", opening + 7_000),
        ("bulk", "delivered", opening + 99),
        ("waits", "delivered", opening + 5 * CYCLE_NS + 12_000),
        ("waits", "delivered", opening - 1),  # before its gate: nearly a whole cycle, and no small error
    )
    assert gate_error.errors_ns(seen, opening).tolist() == [7_000, 12_000, CYCLE_NS - 1]
    with pytest.raises(RunError, match="no frame"):
        gate_error.errors_ns(trace(("bulk", "delivered", 5)), opening)


def test_the_plane_is_held_against_taprio() -> None:
    slow, fast = (gate_error.quantiles_us(np.array(values)) for values in ([9_000, 50_000], [5_000, 30_000]))
    for plane, taprio, ok in ((fast, slow, True), (slow, fast, False), (fast, fast, True)):
        rows = list(gate_error.rows({"plane": plane, "linux": taprio}, "here"))
        assert len(rows) == 8
        (judged,) = [row for row in rows if "goal" in row]
        assert judged["id"] == "beside_taprio_plane_p99"
        assert (judged["goal"], judged["ok"]) == (taprio["p99"], ok)
        assert all(row["ok"] for row in rows if row is not judged)


def test_both_have_the_same_frames_and_only_taprio_needs_a_kernel_with_it() -> None:
    plane, linux = (gate_error.network(nodes, 0.1) for nodes in gate_error.KINDS)
    assert (needed(plane), "taprio" in needed(linux)) == ([], True)
    assert plane.bridges["sw"].gates == linux.bridges["sw"].gates
    for name, stream in plane.streams.items():
        assert stream.source == linux.streams[name].source


@needs_namespaces
def test_frames_that_wait_depart_when_the_gate_opens(tmp_path: Path) -> None:
    with Machine() as machine:
        played = play(machine, gate_error.network("plane", 0.1), How(), tmp_path / "ends")
    base_ns = played.summary["laboratory"]["base_tai_ns"] - int(played.metadata[ORIGIN])
    errors = gate_error.errors_ns(played.trace, base_ns + OPENS_NS)
    assert errors.size == 50
    # Had none waited, they would come when they were sent.
    early = (SENT_AT_NS - OPENS_NS) % CYCLE_NS
    assert np.count_nonzero(errors < early - 200_000) == errors.size


@pytest.mark.parametrize("words", [["--taprio"], ["--update-docs"]])
def test_a_soak_is_no_comparison(words: list[str]) -> None:
    with pytest.raises(InputError, match="says nothing of --soak"):
        CliRunner().invoke(app, ["bench", "plane", "--soak", "5", *words], catch_exceptions=False)
