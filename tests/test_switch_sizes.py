# SPDX-License-Identifier: Apache-2.0
"""The smallest and the largest switch: the same promises, with random frames and a frame at a time."""

from __future__ import annotations

import pytest

from penstock.hardware.soak import soak
from penstock.hardware.traffic import station_address
from switch_bench import Bench, arrival_to_visible, frame

SIZES = [2, pytest.param(8, marks=pytest.mark.slow)]


@pytest.mark.parametrize("ports", SIZES)
def test_random_frames(ports: int) -> None:
    board = soak(1_500, seed=ports, ports=ports)
    assert not board.faults
    assert board.delivered > 500


@pytest.mark.parametrize("ports", SIZES)
def test_every_port_to_every_other_and_latency(ports: int) -> None:
    bench = Bench(ports=ports)
    bench.introduce()
    first = len(bench.fates)
    pairs = [(a, b) for a in range(ports) for b in range(ports) if a != b]
    for n, (a, b) in enumerate(pairs):
        data = frame(station_address(b, 0), station_address(a, 0), 64 + 7 * n)
        bench.send(a, data, at=bench.now + 3000 * n + n % 11)
    bench.finish()
    for fate, (_, b) in zip(list(bench.fates.values())[first:], pairs, strict=True):
        assert fate.fate == frozenset({b})
        assert fate.latency(b) == arrival_to_visible(ports) + 12


@pytest.mark.parametrize("ports", SIZES)
def test_line_rate_on_all_ports(ports: int) -> None:
    bench = Bench(ports=ports)
    bench.introduce()
    for n in range(150):
        for port in range(ports):
            data = frame(
                station_address((port + 1) % ports, 0), station_address(port, 0), 64 + n % 70, pcp=n % 8, vlan=1
            )
            bench.send(port, data)
    bench.finish()
    assert all(fate.reason is None and not fate.refused for fate in bench.fates.values())
    for port in range(ports):
        bench.check_selection(port)
