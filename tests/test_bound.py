# SPDX-License-Identifier: Apache-2.0
"""Equation (1), with the paper's own numbers, and who it is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.bound import bound, conformance
from penstock.scenario import Network, load

HEAD = """
name = "paper"
duration = "10ms"
bridges.sw.ports = 4
stations = { a = { at = "sw.0" }, b = { at = "sw.1" }, c = { at = "sw.2" }, d = { at = "sw.3" } }
"""
STREAM = """
[streams.{name}]
from = "{talker}"
to = ["d"]
vlan = 1
pcp = {pcp}
source = {{ frames = "1522B", every = "1ms" }}
{more}
"""
ATS = 'ats = { rate = "100Mb/s", burst = "1542B" }'


def network(folder: Path, *streams: tuple[str, str, int, str]) -> Network:
    text = HEAD + "".join(STREAM.format(name=n, talker=t, pcp=p, more=m) for n, t, p, m in streams)
    (folder / "scenario.toml").write_text(text)
    return load(folder)


def contention_ps(network: Network, name: str) -> int:
    return next(t.ps for t in bound(network, name).terms if t.name == "contention")


def test_equation_2_best_effort_beside(tmp_path: Path) -> None:
    # (1542 - 1542 + 1542) B / 1 Gb/s = 12.3 us
    assert contention_ps(network(tmp_path, ("f", "a", 3, ATS), ("be", "b", 7, "")), "f") == 12_336_000


def test_equation_3_same_class_beside(tmp_path: Path) -> None:
    assert contention_ps(network(tmp_path, ("f1", "a", 3, ATS), ("f2", "b", 3, ATS)), "f1") == 12_336_000


def test_equation_4_higher_class_and_best_effort(tmp_path: Path) -> None:
    # (1542 + 1542 - 1542 + 1542) B / (1 Gb/s - 100 Mb/s) = 27.4 us
    streams = (("f1", "a", 3, ATS), ("f2", "b", 2, ATS), ("be", "c", 7, ""))
    both = network(tmp_path, *streams)
    assert contention_ps(both, "f2") == pytest.approx(27_413_334, abs=1)
    assert contention_ps(both, "f1") == 12_336_000


def test_total_is_the_sum_of_its_terms(tmp_path: Path) -> None:
    found = bound(network(tmp_path, ("f", "a", 3, ATS), ("be", "b", 7, "")), "f")
    assert found.total_ps == sum(t.ps for t in found.terms)
    # links, 1522 B on the wire, processing, contention, two clock cycles, and 100 Mb/s of one at 1 Gb/s
    assert found.total_ps == 2 * 50_000 + 12_176_000 + 400_000 + 12_336_000 + 16_000 + 800


def test_no_bound_without_committed_rates(tmp_path: Path) -> None:
    found = bound(network(tmp_path, ("f", "a", 2, ATS), ("wild", "b", 3, "")), "f")
    assert found.total_ps is None
    assert found.reason == '"wild" in the higher class has no committed rate and burst'
    found = bound(network(tmp_path, ("f", "a", 3, ATS), ("wild", "b", 3, "")), "f")
    assert found.reason == '"wild" in the same class has no committed rate and burst'
    assert bound(network(tmp_path, ("f", "a", 3, "")), "f").total_ps is None


def test_conformance() -> None:
    # 125 B on the wire take 10 us at 100 Mb/s.
    def arrivals(*times_us: float) -> list[tuple[int, int]]:
        return [(round(t * 10**6), 105) for t in times_us]

    assert conformance(arrivals(0, 10, 20, 30), 10**8, 125, 20).ok
    assert conformance(arrivals(0, 0, 20, 20), 10**8, 250, 20).ok
    early = conformance(arrivals(0, 10, 19, 30), 10**8, 125, 20)
    assert (early.ok, early.late_frames, early.first_late) == (False, 1, 3)
    assert early.worst_ps == pytest.approx(10**6, abs=100)
    # What is late makes the next one late too.
    assert conformance(arrivals(0, 0, 0, 30), 10**8, 125, 20).late_frames == 2
