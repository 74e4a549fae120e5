# SPDX-License-Identifier: Apache-2.0
"""`penstock hw bench --against`: what is compared does the same; never how fast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock import _engine
from penstock.errors import InputError
from penstock.hardware import bench, speed
from penstock.hardware.model import build_model
from penstock.hardware.tools import ToolError


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Few cycles, against the same switch by another name."""

    @contextmanager
    def itself(_revision: str, ports: int) -> Iterator[Path]:
        before = tmp_path / "before.so"
        before.symlink_to(build_model(ports=ports))
        yield before

    monkeypatch.setattr(speed, "ROUNDS", 1)
    monkeypatch.setattr(speed, "CYCLES", 20_000)
    monkeypatch.setattr(speed, "_model_of", itself)


@pytest.mark.usefixtures("short")
def test_both_loads_have_a_speed_and_a_ratio() -> None:
    rows = list(speed.against("HEAD"))
    assert [row["id"] for row in rows] == [
        f"{load}.{of}" for load in ("two_flows", "line_rate") for of in ("speed", "ratio")
    ]
    assert all(row["measured"] > 0 and row["ok"] for row in rows)


@pytest.mark.usefixtures("short")
def test_a_switch_that_does_something_else_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def another_each_time(switch: _engine.Switch) -> _engine.Switch:
        calls.append(1)
        return bench.known_switch(switch) if len(calls) % 2 else switch

    monkeypatch.setattr(speed, "known_switch", another_each_time)
    with pytest.raises(ToolError, match="does not do what it did at HEAD"):
        list(speed.against("HEAD"))


@pytest.mark.parametrize("revision", ["no-such-revision", "--output=x", ""])
def test_a_revision_that_is_none_is_bad_input(revision: str) -> None:
    with pytest.raises(InputError, match="allowed: a revision of this repository"):
        list(speed.against(revision))
