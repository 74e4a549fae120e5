# SPDX-License-Identifier: Apache-2.0
"""The counting of test results."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock import testing
from penstock.errors import InputError
from penstock.testing import Count, parse_cargo, parse_junit, parse_rows


def test_cargo() -> None:
    output = """
test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s
test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""
    assert parse_cargo(output) == Count(15, 2)


def test_junit(tmp_path: Path) -> None:
    suite = '<testsuite tests="9" failures="2" errors="1" skipped="3"/>'
    (tmp_path / "r.xml").write_text(f"<testsuites>{suite}</testsuites>")
    assert parse_junit(tmp_path / "r.xml") == Count(3, 3)


def test_rows() -> None:
    assert parse_rows('{"ok": false, "rows": [{"ok": true}, {"ok": false}, {"ok": null}]}') == Count(2, 1)
    assert parse_rows("no JSON") is None


@pytest.mark.parametrize(
    ("count", "status", "settled"),
    [
        (Count(3, 0), 0, Count(3, 0)),
        (Count(3, 1), 1, Count(3, 1)),
        (Count(3, 0), 1, Count(3, 1)),  # it broke after its tests
        (Count(0, 0), 0, Count(0, 1)),  # nothing ran
    ],
)
def test_a_runner_that_breaks_or_runs_nothing_has_failed(count: Count, status: int, settled: Count) -> None:
    assert count.settled(status) == settled


def test_one_line_counts_all(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def one() -> Count:
        """One."""
        return Count(4, 0)

    def two() -> Count:
        """Two."""
        raise FileNotFoundError("cargo")

    monkeypatch.setattr(testing, "RUNNERS", {"one": one, "two": two})
    assert testing.main([]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "4 passed, 1 failed"
    assert sum("passed" in line for line in lines) == 1
    assert testing.main(["one"]) == 0
    with pytest.raises(InputError, match="no such runner; allowed: one, two"):
        testing.main(["three"])
