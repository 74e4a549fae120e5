# SPDX-License-Identifier: Apache-2.0
"""Bridges and programs that are written in Python, in a run."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest

import penstock as ps
from penstock.captures import read_capture

pytestmark = pytest.mark.long(90)

if TYPE_CHECKING:
    from pathlib import Path

    from penstock._engine import Frame

NS_PER_BYTE = 8  # at 1 Gb/s
PREAMBLE_BYTES = 8
GAP_BYTES = 12
DELAY_NS = 50
R_TAG = bytes.fromhex("f1c1")


class Hub(ps.Node):
    """Sends what comes in out of all other ports."""

    def __init__(self, ports: int) -> None:
        self.ports = ports

    def receive(self, frame: Frame, port: int, time_ps: int) -> list[tuple[int, Frame]]:
        return [(other, frame) for other in range(self.ports) if other != port]


class Replicator(ps.Node):
    """802.1CB: gives each frame a sequence number, and sends it two ways."""

    def __init__(self) -> None:
        self.sequence = 0

    def receive(self, frame: Frame, port: int, time_ps: int) -> list[tuple[int, Frame]]:
        whole = bytes(frame)
        tag = R_TAG + bytes(2) + (self.sequence % 2**16).to_bytes(2)
        self.sequence += 1
        tagged = frame.changed(whole[:12] + tag + whole[12:])
        return [(1, tagged), (2, tagged)]


class Eliminator(ps.Node):
    """802.1CB: lets the first frame of each number pass, without its tag."""

    def __init__(self) -> None:
        self.seen: set[int] = set()

    def receive(self, frame: Frame, port: int, time_ps: int) -> list[tuple[int, Frame]]:
        whole = bytes(frame)
        assert whole[12:14] == R_TAG
        number = int.from_bytes(whole[16:18])
        if number in self.seen:
            return []
        self.seen.add(number)
        return [(0, frame.changed(whole[:12] + whole[18:]))]


class Lossy(ps.Node):
    """Loses every third frame."""

    def __init__(self) -> None:
        self.count = 0

    def receive(self, frame: Frame, port: int, time_ps: int) -> list[tuple[int, Frame]]:
        self.count += 1
        return [] if self.count % 3 == 0 else [(1 - port, frame)]


class Echo(ps.Program):
    """Sends back what it hears, after a while."""

    def __init__(self, turnaround_ps: int) -> None:
        self.turnaround_ps = turnaround_ps
        self.waiting: list[tuple[int, bytes]] = []

    def receive(self, frame: Frame, port: int, time_ps: int) -> None:
        whole = bytes(frame)
        self.waiting.append((time_ps + self.turnaround_ps, whole[6:12] + whole[:6] + whole[12:]))

    def next(self) -> int | None:
        return self.waiting[0][0] if self.waiting else None

    def advance(self, time_ps: int) -> Iterable[tuple[str, bytes]]:
        while self.waiting and self.waiting[0][0] <= time_ps:
            yield "reply", self.waiting.pop(0)[1]


def line(bridges: dict[str, Any], links: dict[str, Any], to: dict[str, str], **streams: Any) -> dict[str, Any]:
    return {
        "name": "own",
        "duration": "1ms",
        "links": {"delay": f"{DELAY_NS}ns", **links},
        "bridges": bridges,
        "stations": {name: {"at": at} for name, at in to.items()},
        "streams": {name: {"vlan": 10, "pcp": 0, **stream} for name, stream in streams.items()},
    }


def star(**source: Any) -> dict[str, Any]:
    stream = {"from": "a", "to": ["b", "c"], "source": {"frames": "1000B", "every": "100us", **source}}
    return line({"sw": {"ports": 3}}, {}, {"a": "sw.0", "b": "sw.1", "c": "sw.2"}, s=stream)


def test_a_hub_sends_whole_frames_at_once() -> None:
    run = ps.load(star()).run(nodes={"sw": Hub(3)}, captures=False)
    stream = run.summary["streams"]["s"]
    assert run.ok
    assert (stream["sent"], stream["delivered"], stream["dropped"]) == (10, 20, {})
    # The first bit behind the delimiter waits for the last one to have come, and for a preamble.
    latency_ns = 2 * DELAY_NS + (1000 + PREAMBLE_BYTES) * NS_PER_BYTE
    assert (stream["latency_ns"]["min"], stream["latency_ns"]["max"]) == (latency_ns, latency_ns)
    sent = run.trace.filter((run.trace["node"] == "sw") & (run.trace["event"] == "sent"))
    assert sorted(sent["port"]) == [1] * 10 + [2] * 10


def test_a_port_of_an_own_node_sends_one_frame_after_the_other() -> None:
    run = ps.load(star(burst=3)).run(nodes={"sw": Twice()}, captures=False)
    sent = run.trace.filter((run.trace["node"] == "sw") & (run.trace["port"] == 1) & (run.trace["event"] == "sent"))
    gaps = set(sent.sort("time_ps")["time_ps"].diff().drop_nulls())
    assert min(gaps) == (1000 + PREAMBLE_BYTES + GAP_BYTES) * NS_PER_BYTE * 1000
    stream = run.summary["streams"]["s"]
    # A duplicate that comes to a listener which has the frame is no delivery.
    assert (stream["delivered"], stream["conserved"]) == (2 * stream["sent"], True)


class Twice(ps.Node):
    """Sends each frame twice to every other port."""

    def receive(self, frame: Frame, port: int, time_ps: int) -> list[tuple[int, Frame]]:
        return [(1, frame), (1, frame), (2, frame), (2, frame)]


def redundant() -> dict[str, Any]:
    own = {"ports": 3}
    links = {
        "good": {"between": ["split.1", "join.1"]},
        "bad": {"between": ["split.2", "lossy.0"]},
        "rest": {"between": ["lossy.1", "join.2"]},
    }
    stream = {
        "from": "talker",
        "to": ["listener"],
        "route": ["split", "lossy", "join"],
        "source": {"frames": "200B", "every": "10us"},
    }
    bridges = {"split": own, "join": own, "lossy": {"ports": 2}}
    return line(bridges, links, {"talker": "split.0", "listener": "join.0"}, s=stream)


def test_a_frame_that_goes_two_ways_is_delivered_once_whatever_one_way_loses(tmp_path: Path) -> None:
    nodes = {"split": Replicator(), "join": Eliminator(), "lossy": Lossy()}
    run = ps.load(redundant()).run(nodes=nodes, out=tmp_path / "run")
    stream = run.summary["streams"]["s"]
    assert (stream["sent"], stream["delivered"], stream["dropped"], stream["inside"]) == (100, 100, {}, 0)
    received = read_capture(tmp_path / "run" / "listener.pcapng").frames
    assert {len(frame.data) for frame in received} == {196}
    assert all(frame.data[12:14] != R_TAG for frame in received)


def test_without_the_other_way_what_is_lost_is_missed() -> None:
    class OneWay(Replicator):
        def receive(self, frame: Frame, port: int, time_ps: int) -> list[tuple[int, Frame]]:
            return [sent for sent in super().receive(frame, port, time_ps) if sent[0] == 2]

    run = ps.load(redundant()).run(nodes={"split": OneWay(), "join": Eliminator(), "lossy": Lossy()}, captures=False)
    stream = run.summary["streams"]["s"]
    assert (stream["delivered"], stream["dropped"], stream["conserved"]) == (67, {"swallowed": 33}, True)


def test_a_program_answers_with_what_it_heard(tmp_path: Path) -> None:
    ask = {"from": "a", "to": ["b"], "source": {"frames": "300B", "every": "100us"}}
    reply = {"from": "b", "to": ["a"], "source": {"frames": "300B", "response_to": "ask"}}
    scenario = line({"sw": {"ports": 2}}, {}, {"a": "sw.0", "b": "sw.1"}, ask=ask, reply=reply)
    run = ps.load(scenario).run(nodes={"b": Echo(turnaround_ps=7_000_000)}, out=tmp_path / "run")
    assert [run.summary["streams"][name]["delivered"] for name in ("ask", "reply")] == [10, 10]
    heard, answered = (read_capture(tmp_path / "run" / f"{name}.pcapng").frames for name in ("b", "a"))
    for asked, back in zip(heard, answered, strict=True):
        assert back.data == asked.data[6:12] + asked.data[:6] + asked.data[12:]
    trace = run.trace.filter(run.trace["node"] == "b")
    came = trace.filter(trace["event"] == "delivered")["time_ps"] + 300 * NS_PER_BYTE * 1000
    created = trace.filter(trace["event"] == "created")["time_ps"]
    assert (created - came).unique().to_list() == [7_000_000]


class Fails(ps.Node):
    """Does what the tests below say."""

    def __init__(self, deed: str) -> None:
        self.deed = deed
        self.kept: list[Frame] = []
        self.held_ps: int | None = None

    def receive(self, frame: Frame, port: int, time_ps: int) -> Any:
        match self.deed:
            case "raise":
                raise KeyError("a fault of its own")
            case "port":
                return [(9, frame)]
            case "form":
                return [frame]
            case "endless":
                return itertools.repeat((1, frame))
            case "hold":
                self.held_ps = time_ps
            case "keep":
                self.kept.append(frame)
        return None

    def advance(self, time_ps: int) -> None:
        if self.held_ps is not None:
            self.held_ps = time_ps

    def next(self) -> int | None:
        if self.held_ps is not None:
            return self.held_ps + 1
        return 5 if self.deed == "past" and self.kept is not None else None


@pytest.mark.parametrize(
    ("deed", "error", "said"),
    [
        ("raise", KeyError, "a fault of its own"),
        ("port", ps.RunError, r'node "sw": sends to port 9; 0 to 2 are there'),
        ("form", TypeError, "tuple"),
        ("endless", ps.RunError, r'node "sw": gives more than 100000 frames at once'),
        ("hold", ps.RunError, r'node "sw": is advanced more than 100000 times within a microsecond'),
        ("past", ps.RunError, r"next\(\) gives 5, but it is advanced to 5"),
    ],
)
def test_what_a_node_of_ones_own_does_wrong_is_said(deed: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        ps.load(star()).run(nodes={"sw": Fails(deed)}, captures=False)


class Restless(ps.Program):
    """Wants to be asked again a picosecond later."""

    time_ps = 0

    def receive(self, frame: Frame, port: int, time_ps: int) -> None:
        pass

    def next(self) -> int | None:
        return self.time_ps + 1

    def advance(self, time_ps: int) -> None:
        self.time_ps = time_ps


def test_a_program_that_holds_the_time_ends_the_run() -> None:
    with pytest.raises(ps.RunError, match=r'node "b": is advanced more than 100000 times within a microsecond'):
        ps.load(star() | {"nodes": "model"}).run(nodes={"b": Restless()}, captures=False)


class Many(ps.Node):
    """Sends each frame so many times."""

    def __init__(self, times: int) -> None:
        self.times = times

    def receive(self, frame: Frame, port: int, time_ps: int) -> list[tuple[int, Frame]]:
        return [(1, frame)] * self.times


def test_what_waits_at_a_port_of_an_own_node_is_bounded() -> None:
    scenario = star(every="1ms")
    run = ps.load(scenario).run(nodes={"sw": Many(20_000)}, captures=False)
    dropped = run.trace.filter((run.trace["node"] == "sw") & (run.trace["reason"] == "queue_full"))
    # Frames are taken while 16 MiB or less wait, by their time on the wire.
    assert dropped.height == 20_000 - (2**24 // (1000 + PREAMBLE_BYTES + GAP_BYTES) + 1)
    assert run.summary["streams"]["s"]["conserved"]


def test_frames_that_go_round_end_with_the_run() -> None:
    hubs = {name: {"ports": 3} for name in ("x", "y", "z")}
    stream = {"from": "a", "to": ["b"], "source": {"frames": "64B", "every": "500us"}}
    ends = {"a": "x.0", "b": "y.0", "c": "z.0"}
    ring = {name: {"between": [f"{name}.1", f"{after}.2"]} for name, after in ("xy", "yz", "zx")}
    run = ps.load(line(hubs, ring, ends, s=stream)).run(nodes={name: Hub(3) for name in hubs}, captures=False)
    assert run.summary["streams"]["s"]["conserved"]
    assert run.summary["streams"]["s"]["delivered"] == run.summary["streams"]["s"]["sent"]


def test_what_a_node_keeps_is_inside_and_what_it_lets_go_is_swallowed() -> None:
    kept = ps.load(star()).run(nodes={"sw": Fails("keep")}, captures=False).summary["streams"]["s"]
    assert (kept["delivered"], kept["inside"], kept["dropped"]) == (0, 20, {})
    gone = ps.load(star()).run(nodes={"sw": Fails("none")}, captures=False).summary["streams"]["s"]
    assert (gone["delivered"], gone["inside"], gone["dropped"]) == (0, 0, {"swallowed": 20})


def test_a_node_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ps.InputError, match='no bridge or station "switch"'):
        ps.load(star()).run(nodes={"switch": Hub(3)})


def test_a_bound_does_not_hold_at_a_node_of_ones_own() -> None:
    scenario = star()
    scenario["bridges"]["sw"]["classes"] = {"5": {"selection": "ats", "max_residence": "1ms"}}
    scenario["streams"]["s"] |= {"pcp": 2, "ats": {"rate": "200Mb/s", "burst": "2000B"}}
    assert ps.load(scenario).run(nodes="model", captures=False).summary["streams"]["s"]["bound"]["applies"]
    bound = ps.load(scenario).run(nodes={"sw": Hub(3)}, captures=False).summary["streams"]["s"]["bound"]
    assert "of one's own" in bound["reason"]
