# SPDX-License-Identifier: Apache-2.0
"""Programs at the host ports of bridges of a scenario: models and hardware, frame by frame."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import penstock as ps
from penstock.captures import read_capture
from penstock.errors import InputError, RunError
from penstock.hardware.host import Direct, ReceivedAt

if TYPE_CHECKING:
    from penstock._engine import Frame

LLDP = bytes.fromhex("0180c200000e")
SOURCE = bytes.fromhex("020000000101")
WIRES = frozenset({0, 1})


def neighbour_frame(number: int, name: bytes) -> bytes:
    """As long as its number says, so that none comes at the same place of a turn as the one before."""
    return LLDP + SOURCE + b"\x88\xcc" + number.to_bytes(2) + name + bytes(60 + number % 13)


class Hello(ps.Program):
    """Says hello by every wire each time it hears the beat, and answers each hello by the port where it came."""

    def __init__(self, stream: str, name: bytes) -> None:
        self.stream, self.name = stream, name
        self.heard: list[tuple[int, bytes, int]] = []  # port, name, time
        self._count = 0

    def receive(self, frame: Frame, port: int, time_ps: int) -> Iterable[Any]:
        whole = bytes(frame)
        self._count += 1
        if not whole.startswith(LLDP):
            hello = self.stream, neighbour_frame(self._count, self.name), Direct(WIRES, 7)
            return [hello, hello]
        self.heard.append((port, whole[16:17], time_ps))
        if frame.stream == "hello_a":
            return [(self.stream, neighbour_frame(self._count, self.name), Direct(frozenset({port}), 2))]
        return []


def network(a: str = "model", b: str = "model") -> dict[str, Any]:
    """Two bridges with their processors; a control stream beside what these say."""
    return {
        "name": "neighbours",
        "duration": "1ms",
        "bridges": {
            "a": {"ports": 3, "host": True, "nodes": a},
            "b": {"ports": 3, "host": True, "nodes": b},
        },
        "links": {"between": {"between": ["a.1", "b.1"]}},
        "stations": {"plc": {"at": "a.0"}, "drive": {"at": "b.0"}, "cpu_a": {"at": "a.2"}, "cpu_b": {"at": "b.2"}},
        "streams": {
            "control": {
                "from": "plc",
                "to": ["drive"],
                "vlan": 10,
                "pcp": 0,
                "source": {"frames": "700B", "every": "7us"},
            },
            "beat": {
                "from": "plc",
                "to": ["cpu_a"],
                "vlan": 10,
                "pcp": 1,
                "source": {"frames": "64B", "every": "31us"},
            },
            "hello_a": {
                "from": "cpu_a",
                "to": ["cpu_b"],
                "vlan": 10,
                "pcp": 1,
                "source": {"frames": "96B", "response_to": "beat"},
            },
            "hello_b": {
                "from": "cpu_b",
                "to": ["cpu_a"],
                "vlan": 10,
                "pcp": 1,
                "source": {"frames": "96B", "response_to": "hello_a"},
            },
        },
    }


def played(a: str, b: str, drift: str = "0ppm") -> tuple[list[tuple[Any, ...]], list[list[tuple[int, bytes, int]]]]:
    """Each event of the run, and what both programs heard."""
    programs = {"cpu_a": Hello("hello_a", b"a"), "cpu_b": Hello("hello_b", b"b")}
    described = network(a, b)
    described["bridges"]["a"]["clock"] = {"drift": drift}
    run = ps.load(described).run(nodes=programs, captures=False, trace="full")
    rows = run.trace.filter(pl.col("event") != "received").sort("time_ps", "frame_id", "node", "event", "port")
    return rows.rows(), [program.heard for program in programs.values()]


def test_neighbours_hear_each_other() -> None:
    _, (at_a, at_b) = played("model", "model")
    assert len(at_b) == 2 * 32
    assert {(port, name) for port, name, _ in at_b} == {(1, b"a")}
    assert {(port, name) for port, name, _ in at_a} == {(1, b"b")}
    assert len(at_a) == len(at_b)


@pytest.mark.parametrize(
    ("a", "b", "drift"), [("rtl", "rtl", "0ppm"), ("rtl", "rtl", "-100ppm"), ("model", "rtl", "60ppm")]
)
def test_hardware_and_model_are_equal(a: str, b: str, drift: str) -> None:
    """Also where frames of a processor follow each other closer than its bridge counts."""
    assert played(a, b, drift) == played("model", "model", drift)


class Says(ps.Program):
    """Says the same of each frame that it gives."""

    def __init__(self, way: ReceivedAt | Direct | None, address: bytes) -> None:
        self.way, self.address = way, address

    def receive(self, frame: Frame, port: int, time_ps: int) -> Iterable[Any]:
        given = "hello_a", self.address + SOURCE + b"\x81\x00\x20\x0a\x88\xb5" + bytes(60)
        return [given if self.way is None else (*given, self.way)]


@pytest.mark.parametrize("nodes", ["model", "rtl"])
@pytest.mark.parametrize(
    ("way", "address", "leaves"),
    [
        (Direct(frozenset({0}), 3), LLDP, {0}),
        (Direct(WIRES, 3), LLDP, {0, 1}),
        (Direct(frozenset(), 3), LLDP, set()),
        (ReceivedAt(2), LLDP[:5] + b"\x20", {0, 1}),
        (ReceivedAt(1), LLDP[:5] + b"\x20", {0}),
        (None, LLDP[:5] + b"\x20", {0, 1}),
    ],
)
def test_the_processor_says_how_its_frames_go_on(
    nodes: str, way: ReceivedAt | Direct | None, address: bytes, leaves: set[int]
) -> None:
    described = network(nodes) | {"duration": "31us"}
    programs = {"cpu_a": Says(way, address)}
    run = ps.load(described).run(nodes=programs, captures=False, trace="full")
    of_host = (pl.col("stream") == "hello_a") & (pl.col("node") == "a") & (pl.col("event") == "sent")
    assert set(run.trace.filter(of_host)["port"]) == leaves


class SaysBytes(Says):
    """The same with what stands behind the addresses."""

    def __init__(self, way: ReceivedAt | Direct, tail: bytes) -> None:
        super().__init__(way, bytes.fromhex("030000000009"))
        self.tail = tail

    def receive(self, frame: Frame, port: int, time_ps: int) -> Iterable[Any]:
        assert self.way is not None
        return [("hello_a", self.address + SOURCE + self.tail, self.way)]


TAGGED, NUMBERED = b"\x81\x00\x20\x0a", b"\xf1\xc1\0\0\0\x07"
PLAIN = b"\x88\xb5" + bytes(60)


@pytest.mark.parametrize("nodes", ["model", "rtl"])
@pytest.mark.parametrize(
    ("settings", "more", "way", "given", "leaves"),
    [
        # What goes directly to a port leaves as it came; all else as if it had come by a wire.
        ({"tagging": True, "untagged": [10]}, {}, Direct(WIRES, 3), TAGGED + PLAIN, TAGGED + PLAIN),
        ({"tagging": True, "untagged": [10]}, {}, ReceivedAt(1), TAGGED + PLAIN, PLAIN),
        ({"tagging": True}, {}, Direct(frozenset({0}), 3), PLAIN, PLAIN),
        ({"tagging": True}, {}, ReceivedAt(1), PLAIN, TAGGED[:2] + b"\x00\x0a" + PLAIN),
        ({"r_tag_removal": True}, {}, Direct(frozenset({0}), 3), NUMBERED + PLAIN, NUMBERED + PLAIN),
        ({"r_tag_removal": True}, {}, ReceivedAt(1), NUMBERED + PLAIN, PLAIN),
        ({}, {"numbered": True}, Direct(frozenset({0}), 3), TAGGED + PLAIN, TAGGED + PLAIN),
    ],
    ids=[
        "untag, direct",
        "untag, as at 1",
        "tag, direct",
        "tag, as at 1",
        "no R-TAG, direct",
        "no R-TAG, as at 1",
        "numbered",
    ],
)
def test_what_the_processor_sends_directly_is_not_changed(
    tmp_path: Path, nodes: str, settings: dict[str, Any], more: dict[str, Any], way: ReceivedAt | Direct, given: bytes,
    leaves: bytes,
) -> None:  # fmt: skip
    described = network(nodes) | {"duration": "100us"}
    described["bridges"]["a"]["port"] = {"0": settings, "1": {"vlan": 10}}
    described["streams"]["hello_a"] |= {"to": ["plc"], "destination": "03:00:00:00:00:09"} | more
    del described["streams"]["hello_b"]
    ps.load(described).run(nodes={"cpu_a": SaysBytes(way, given)}, out=tmp_path / "out")
    said = [frame.data for frame in read_capture(tmp_path / "out" / "plc.pcapng").frames]
    assert len(said) > 2
    assert {frame[12:] for frame in said} == {leaves}


class Timed(Says):
    """Is told of its frames by tags, which go to its own port and past the other bridge's host, too."""

    def __init__(self, *, speaks: bool) -> None:
        super().__init__(Direct(WIRES | {2}, 7, tag=77), LLDP)
        self.speaks = speaks
        self.told: list[tuple[str, int, int, int]] = []

    def receive(self, frame: Frame, port: int, time_ps: int) -> Iterable[Any]:
        return super().receive(frame, port, time_ps) if self.speaks and frame.stream == "beat" else []

    def left(self, stream: str, port: int, tag: int, time_ps: int) -> None:
        self.told.append((stream, port, tag, time_ps))


@pytest.mark.parametrize("nodes", ["model", "rtl"])
def test_the_processor_is_told_when_its_frames_left(nodes: str) -> None:
    described = network(nodes, nodes) | {"duration": "100us"}
    described["links"]["delay"] = "2us"  # what hardware does is known that much later than it does it
    programs = {"cpu_a": Timed(speaks=True), "cpu_b": Timed(speaks=False)}
    run = ps.load(described).run(nodes=programs, captures=False, trace="full")
    of_host = (pl.col("stream") == "hello_a") & (pl.col("node") == "a") & (pl.col("event") == "sent")
    left = run.trace.filter(of_host & pl.col("port").is_in(list(WIRES))).sort("time_ps", "port")
    assert left.height == 2 * 3
    assert sorted(programs["cpu_a"].told, key=lambda told: (told[3], told[1])) == [
        ("hello_a", port, 77, time_ps) for port, time_ps in left.select("port", "time_ps").rows()
    ]
    assert not programs["cpu_b"].told


def test_who_is_no_processor_says_nothing() -> None:
    described = network()
    del described["bridges"]["a"]["host"]
    with pytest.raises((InputError, RunError, ps.EngineError), match="is at no host port"):
        ps.load(described).run(nodes={"cpu_a": Hello("hello_a", b"a")}, captures=False)


def test_a_host_port_is_where_it_can_be() -> None:
    described = network()
    described["bridges"]["a"]["processing_delay"] = "1us"
    with pytest.raises(InputError, match="have a host port"):
        ps.load(described)
    described = network()
    described["links"]["between"]["between"] = ["a.2", "b.1"]
    described["stations"]["cpu_a"]["at"] = "a.1"
    with pytest.raises(InputError, match=r'the last port of "a" leads to bridge "b"'):
        ps.load(described)


def test_what_passes_a_host_port_has_no_bound() -> None:
    bounds = ps.load(network()).bounds()
    assert bounds["bound_ns"].null_count() == len(bounds)
    assert all("host port" in reason for reason in bounds["reason"])
