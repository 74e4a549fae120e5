# SPDX-License-Identifier: Apache-2.0
"""The PTP clock of the Verilated switch, as software sees it."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock import _engine
from penstock.hardware.model import build_model
from penstock.hardware.ptp import FRACTION, NS_PER_S, PtpClock, PtpError

PORTS = 4
NOMINAL = 8 * FRACTION


@pytest.fixture(scope="module")
def library() -> Path:
    return build_model(ports=PORTS)


@pytest.fixture
def switch(library: Path) -> _engine.Switch:
    return _engine.Switch(library)


def sync(sequence_id: int, message_type: int = 0, size: int = 68) -> bytes:
    header = bytes([message_type, 2]) + bytes(28) + sequence_id.to_bytes(2)
    body = (bytes.fromhex("011b19000000 020000000001 88f7") + header).ljust(size - 4, b"\0")
    return body + zlib.crc32(body).to_bytes(4, "little")


def test_stamps_are_the_cycles_on_the_wire(switch: _engine.Switch) -> None:
    """Over leaps of seconds, between which all is as if every cycle had been run."""
    clock = PtpClock(switch)
    clock.set(2**62)
    at_zero = set()
    for sequence_id in range(3):
        number = switch.push(sequence_id, switch.cycle + 100, sync(sequence_id))
        switch.run(switch.cycle + 3 * 125_000_000 + 7)
        events = switch.events()
        stamps = clock.stamps()
        assert {stamp.sequence_id for stamp in stamps} == {sequence_id}
        assert {stamp.message_type for stamp in stamps} == {"Sync"}
        assert [(stamp.port, stamp.sent) for stamp in stamps] == [
            (sequence_id, False),
            *((port, True) for port in range(PORTS) if port != sequence_id),
        ]
        for stamp in stamps:
            kind = _engine.KINDS.index("output" if stamp.sent else "input")
            chosen = (events["kind"] == kind) & (events["port"] == stamp.port) & (events["frame"] == number)
            assert stamp.fraction == 0
            at_zero.add(stamp.ns - 8 * int(events["cycle"][chosen][0]))
    assert len(at_zero) == 1
    assert switch.cycles_jumped > 8 * 125_000_000
    assert not clock.lost()
    assert not clock.stamps()


def test_every_frame_is_stamped_where_it_is_asked_for(switch: _engine.Switch) -> None:
    """What one port receives and another one sends; the others have none."""
    clock = PtpClock(switch)
    clock.stamp_all(received=[1], sent=[2, 3])
    body = bytes.fromhex("ffffffffffff 020000000001 88b5").ljust(44, b"\1") + b"\x12\x34" + bytes(18)
    frame = body + zlib.crc32(body).to_bytes(4, "little")
    numbers = {port: switch.push(port, switch.cycle + 100 + 10_000 * port, frame) for port in (0, 1)}
    switch.run(switch.cycle + 30_000)
    events = switch.events()
    stamps = clock.stamps()
    assert {(stamp.message_type, stamp.sequence_id) for stamp in stamps} == {("", 0x1234)}
    assert [(stamp.port, stamp.sent) for stamp in stamps] == [(1, False), (2, True), (2, True), (3, True), (3, True)]
    seen = sorted(stamp.ns for stamp in stamps if stamp.sent and stamp.port == 2)
    sent = (events["kind"] == _engine.KINDS.index("output")) & (events["port"] == 2)
    cycles = [int(events["cycle"][sent & (events["frame"] == number)][0]) for number in numbers.values()]
    assert seen[1] - seen[0] == 8 * (cycles[1] - cycles[0])
    clock.stamp_all()
    switch.push(1, switch.cycle + 100, frame)
    switch.run(switch.cycle + 5_000)
    assert not clock.stamps()


def test_rate_slew_and_step(switch: _engine.Switch) -> None:
    clock = PtpClock(switch)
    clock.set_rate(-1000)
    assert clock.increment == round(NOMINAL * (1 - 1e-6))
    before, fraction, start = *clock.time(), switch.cycle
    switch.run(start + 125_000_000 - 40)
    after, later, end = *clock.time(), switch.cycle
    passed = (after - before) * FRACTION + later - fraction
    assert abs(passed - (end - start) * clock.increment) < 16 * NOMINAL  # reading takes some cycles
    clock.set_rate(0)

    clock.slew(-100_000, 100)
    assert clock.slewing
    clock_start, start = clock.time_ns(), switch.cycle
    switch.run(start + 124_000_000)
    assert clock.slewing
    switch.run(start + 126_000_000)
    assert not clock.slewing
    assert abs(clock.time_ns() - clock_start - 8 * (switch.cycle - start) + 100_000) <= 200

    now, at = clock.time_ns(), switch.cycle
    clock.step(-NS_PER_S // 2 - 1)
    assert abs(clock.time_ns() - now + NS_PER_S // 2 - 8 * (switch.cycle - at)) <= 200


def test_what_is_refused_changes_nothing(switch: _engine.Switch) -> None:
    clock = PtpClock(switch)
    clock.set(5 * NS_PER_S)
    refusals: tuple[Callable[[], object], ...] = (
        lambda: clock.set(2**63),
        lambda: clock.set(-1),
        lambda: clock.step(-6 * NS_PER_S),
        lambda: clock.slew(1, 0),
        lambda: clock.slew(2**31, 10),
        lambda: setattr(clock, "increment", FRACTION - 1),
        lambda: setattr(clock, "increment", 1 << 40),
    )
    for refused in refusals:
        with pytest.raises(PtpError):
            refused()
    assert 5 * NS_PER_S < clock.time_ns() < 5 * NS_PER_S + 10_000
    assert clock.increment == NOMINAL
    assert not clock.slewing
