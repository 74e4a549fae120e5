# SPDX-License-Identifier: Apache-2.0
"""hiCredit and loCredit as the switch has observed them, computed by hand as in test_credit_times.py."""

from __future__ import annotations

import pytest

from penstock import _engine
from penstock.hardware.configure import SwitchConfig, configure
from penstock.hardware.registers import registers
from penstock.hardware.traffic import library
from shaped import PCP
from switch_bench import frame

PORT, LISTENER = 2, b"\x02\0\0\0\0\x02"
LONG, FRAME = 1522, 980
# From the first byte of a preamble to the cycle in which a frame of no bytes could be selected: 8, and 4 + 2 · 4 + 19.
BEFORE = 8 + 31


def observed(slopes: dict[int, int], count: int) -> dict[int, tuple[int, int, int]]:
    """The highest, the lowest and the last credit of each class, in whole bits.

    A long frame of best effort begins; a cycle later each class has `count` frames of 1000 bytes on the wire.
    """
    config = SwitchConfig(
        ports=4,
        vlans={10: {0, 1, 2, 3}},
        static_addresses=[(int.from_bytes(LISTENER), 10, {PORT})],
        ats_classes={7},
        idle_slope_bps={(PORT, k): slope for k, slope in slopes.items()},
        count_gap=True,
    )
    switch = _engine.Switch(library(ports=4))
    for address, value in configure(config, registers()):
        switch.write(address, value)
    begin = switch.cycle + 2000

    def push(port: int, traffic_class: int, size: int, ready: int) -> None:
        data = frame(LISTENER, bytes([2, 0, 0, 0, 1, port]), size, vlan=10, pcp=PCP[traffic_class])
        switch.push(port, ready - BEFORE - size, data)

    push(1, 1, LONG, begin)
    for port, traffic_class in zip((3, 0), slopes, strict=False):
        for _ in range(count):
            push(port, traffic_class, FRAME, begin + 1)
    switch.run(begin + 100_000)
    assert switch.inside == 0

    def read(name: str, traffic_class: int) -> int:
        value = switch.read(registers().address(f"status_of.port[{PORT}].{name}[{traffic_class}]"))
        return value - (value >> 31 << 32)

    names = ("highest_credit", "lowest_credit", "credit")
    return {k: (read(names[0], k), read(names[1], k), read(names[2], k)) for k in slopes}


@pytest.mark.parametrize(
    ("slope_mbps", "highest", "lowest"), [(125, 1541, -7000), (250, 3082, -6000), (500, 6164, -4000)]
)
def test_one_class(slope_mbps: int, highest: int, lowest: int) -> None:
    """It waits for 1541 cycles of the long frame's 1542. Later frames begin at zero.

    A frame costs 8000 bits less what the slope earns meanwhile. At 500 Mb/s: 6164, 2164, then -1836 after two frames,
    and 0 to -4000 from there on.
    """
    assert observed({5: slope_mbps * 10**6}, 5) == {5: (highest, lowest, 0)}


def test_two_classes() -> None:
    """Class 6 waits for the long frame, 3082 bits; class 5 for that and a frame of class 6, 2541 bits."""
    assert observed({6: 250_000_000, 5: 125_000_000}, 4) == {6: (3082, -6000, 0), 5: (2541, -7000, 0)}
