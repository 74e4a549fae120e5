# SPDX-License-Identifier: Apache-2.0
"""The counting of test results."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock import testing
from penstock.errors import InputError
from penstock.testing import Count, parse_junit, parse_rows


def test_junit(tmp_path: Path) -> None:
    cases = """
      <testsuite><testcase name="good"/><testcase classname="a" name="bad"><failure/></testcase></testsuite>
      <testsuite><testcase name="broken"><error/></testcase>
        <testcase classname="b" name="left"><skipped message="no tshark"/></testcase></testsuite>"""
    (tmp_path / "r.xml").write_text(f"<testsuites>{cases}</testsuites>")
    assert parse_junit(tmp_path / "r.xml") == Count(1, 2, ("b::left: no tshark",))


def test_a_skipped_test_is_named_and_fails_a_strict_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def some() -> Count:
        """Some."""
        return Count(4, 0, ("b::left: no tshark",))

    monkeypatch.setattr(testing, "RUNNERS", {"some": some})
    assert testing.main([]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == ["skipped: b::left: no tshark", "4 passed, 0 failed, 1 skipped"]
    assert testing.main([], strict=True) == 1


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
    assert lines[-1] == "4 passed, 1 failed, 0 skipped"
    assert sum("passed" in line for line in lines) == 1
    assert testing.main(["one"]) == 0
    with pytest.raises(InputError, match="no such runner; allowed: one, two"):
        testing.main(["three"])
