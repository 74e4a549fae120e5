# SPDX-License-Identifier: Apache-2.0
"""Classes that take turns on one level, computed by hand and met to the nanosecond.

A frame of 980 bytes takes 1000 bytes of the wire, 8 us at 1 Gb/s. Behind closed gates all frames wait together; from
BASE on they leave one after the other, in the order that the selections of their classes give.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import penstock as ps
from penstock import report
from shaped import KINDS, Bridge, begins, frames, gates, ready_ns, released_ns, wire_ns

US = 1000
BASE = 500 * US
FRAME, WIRE_NS = 980, 8 * US
ALL = list(range(8))
OPEN_FROM_BASE = gates([(ALL, 1000 * US)], BASE, 'initial = "none"')

Make = Callable[[str], Bridge]


@pytest.fixture
def bridge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.setattr(report, "render", lambda *_, **__: "")  # has tests of its own
    return lambda kind: Bridge(tmp_path, kind)


def turns(*classes: int, where: str = "") -> str:
    return "".join(f'{where}classes.{number}.selection = "round_robin"\n' for number in classes)


def burst(count: int) -> str:
    return f'burst = {count}, every = "1s"'


def waiting(counts: dict[int, int]) -> str:
    """So many frames of each class, all of which wait by BASE."""
    return "".join(frames(f"c{k}", k, FRAME, 0, source=burst(count)) for k, count in counts.items())


def order(found: dict[str, list[int]]) -> list[str]:
    """Whose frames left in which order, without a pause from BASE on."""
    sent = sorted((begin, name) for name, each in found.items() for begin in each)
    assert [begin for begin, _ in sent] == [BASE + n * WIRE_NS for n in range(len(sent))]
    return [name for _, name in sent]


COUNTS = {6: 1, 5: 3, 4: 2, 3: 2, 1: 1}
# Class 6 is above the level, and class 4 below its highest member; then 5, 3 and 1 take turns while they have frames.
IN_TURNS = ["c6", "c5", "c3", "c1", "c5", "c3", "c5", "c4", "c4"]
BY_PRIORITY = ["c6", "c5", "c5", "c5", "c4", "c4", "c3", "c3", "c1"]


@pytest.mark.parametrize("kind", KINDS)
def test_classes_of_one_level_take_turns_at_a_bridge(kind: str, bridge: Make) -> None:
    found = bridge(kind)(turns(5, 3, 1) + OPEN_FROM_BASE, waiting(COUNTS))
    assert order(found) == IN_TURNS


@pytest.mark.parametrize("kind", KINDS)
def test_one_port_may_take_turns_and_another_may_not(kind: str, bridge: Make) -> None:
    """Turns are said of port 2 alone; and where the bridge says them, of all but port 2."""
    own = "".join(turns(k, where="port.2.") for k in (5, 3, 1))
    assert order(bridge(kind)(own + OPEN_FROM_BASE, waiting(COUNTS))) == IN_TURNS
    strict = "".join(f'port.2.classes.{k}.selection = "strict"\n' for k in (5, 3, 1))
    assert order(bridge(kind)(turns(5, 3, 1) + strict + OPEN_FROM_BASE, waiting(COUNTS))) == BY_PRIORITY


@pytest.mark.parametrize("kind", KINDS)
def test_turns_are_of_frames_whatever_their_lengths(kind: str, bridge: Make) -> None:
    """Three frames of 1522 bytes, 12.336 us each, and three of 64, 0.672 us, alternate."""
    streams = frames("long", 3, 1522, 0, source=burst(3)) + frames("short", 1, 64, 0, source=burst(3))
    found = bridge(kind)(turns(3, 1) + OPEN_FROM_BASE, streams)
    pair = wire_ns(1522) + wire_ns(64)
    assert found == {
        "long": [BASE + n * pair for n in range(3)],
        "short": [BASE + n * pair + wire_ns(1522) for n in range(3)],
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_that_finds_its_port_free_has_its_turn_all_the_same(kind: str, bridge: Make) -> None:
    """Class 3 sends alone. 100 us later, behind a frame of class 6, both members wait: the turn is that of class 1."""
    later = ready_ns(100 * US, FRAME)
    streams = frames("first", 3, FRAME, 0) + frames("above", 6, FRAME, 100 * US, talker=1)
    # Ready while the frame of class 6 is on the wire, one a link.
    streams += frames("high", 3, 300, released_ns(later + 4 * US, 300), talker=3)
    streams += frames("low", 1, 300, released_ns(later + 4 * US, 300), talker=0)
    found = bridge(kind)(turns(3, 1), streams)
    free = later + WIRE_NS
    assert found == {"first": [ready_ns(0, FRAME)], "above": [later], "low": [free], "high": [free + wire_ns(300)]}


def test_classes_of_one_level_take_turns_at_a_station(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bursts stand in the station's queues at 0, in one instant: what is selected first is decided by the turns."""
    monkeypatch.setattr(report, "render", lambda *_, **__: "")
    file = tmp_path / "scenario.toml"
    file.write_text(
        'name = "station"\nnodes = "model"\nduration = "1ms"\n[links]\nrate = "1Gb/s"\ndelay = "0ns"\n'
        '[bridges.b]\nports = 2\n[stations.listener]\nat = "b.1"\n[stations.t0]\nat = "b.0"\n'
        + turns(5, 3, 1)
        + waiting(COUNTS)
    )
    found = begins(ps.load(file).run().trace, "t0")
    sent = sorted((begin, name) for name, each in found.items() for begin in each)
    assert sent == [(n * WIRE_NS, name) for n, name in enumerate(IN_TURNS)]
