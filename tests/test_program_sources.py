# SPDX-License-Identifier: Apache-2.0
"""Streams whose source is a program: a pattern on the engine, the program itself on Linux."""

from __future__ import annotations

import json
import re
import shutil
from typing import Any

import pytest

from penstock.end.plan import plan_for
from penstock.errors import InputError, RunError
from penstock.lab import background
from penstock.scenario import load
from penstock.scenario.network import Network


def _said(source: dict[str, Any], **stream: Any) -> dict[str, Any]:
    ends = {"from": "a", "to": ["b"]}
    return {
        "name": "case",
        "duration": "10ms",
        "nodes": "model",
        "bridges": {"sw": {"ports": 3, "class_of_untagged": 1}},
        "stations": {name: {"at": f"sw.{port}"} for port, name in enumerate("abc")},
        "streams": {
            "s": {**ends, "source": {"frames": "100B", "every": "1ms"}},
            "p": {**ends, "source": {"program": "iperf3", **source}, **stream},
        },
    }


def _load(**source: Any) -> Network:
    return load(_said(source))


@pytest.fixture
def iperf3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")


@pytest.mark.parametrize(
    ("source", "pattern"),
    [
        ({"protocol": "udp", "rate": "50Mb/s"}, (1516, None, 242_560_000)),
        ({"protocol": "tcp"}, (1518, None, None)),
        ({"protocol": "tcp", "rate": "8Mb/s"}, (1518, 90, 131_072_000_000)),
        ({"protocol": "sctp", "rate": "48Mb/s"}, (1500, 16, 4_000_000_000)),
        ({"protocol": "udp", "rate": "50Mb/s", "frames": "300B", "every": "1ms"}, (300, None, 10**9)),
    ],
)
def test_the_pattern_on_the_engine(source: dict[str, Any], pattern: tuple[int, int | None, int | None]) -> None:
    found = _load(**source).streams["p"].source
    assert (found.frames, found.burst, found.every) == pattern
    assert bool(found.back_to_back) is (found.every is None)


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "another program": ({"program": "netperf"}, "source.program", "not known"),
    "no protocol": ({"rate": "1Mb/s"}, "source.program", "not said"),
    "another protocol": ({"protocol": "quic", "rate": "1Mb/s"}, "source.protocol", "not known"),
    "no rate": ({"protocol": "sctp"}, "source.program", "how much SCTP"),
    "a bare rate": ({"protocol": "udp", "rate": 5}, "source.rate", "no unit"),
    "no rate at all": ({"protocol": "udp", "rate": "0Mb/s"}, "source.rate", "too small"),
    "a count": ({"protocol": "tcp", "count": 5}, "source.count", "frames of its own"),
    "frames without times": ({"protocol": "tcp", "frames": "100B"}, "streams.p.source", "no timings"),
    "a protocol without program": (
        {"program": None, "protocol": "tcp", "frames": "100B", "every": "1ms"}, "source.protocol", "only a program"),
}  # fmt: skip


def test_a_program_may_be_faster_than_its_link() -> None:
    """Its frames wait at the talker, and those without room there are dropped, as those of any other source."""
    assert _load(protocol="udp", rate="2Gb/s").streams["p"].source.every == 6_064_000


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    source, key, what = REFUSED[case]
    with pytest.raises(InputError) as raised:
        _load(**source)
    (error,) = raised.value.errors
    assert (error.key or "").endswith(key), error
    assert re.search(what, error.what), error


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("vlan", 10),
        ("udp", {"source": "192.0.2.1", "destination": "192.0.2.2"}),
        ("destination", "02:00:00:00:00:07"),
        ("to", ["b", "c"]),
    ],
)
def test_a_stream_that_iperf3_cannot_send(key: str, value: Any) -> None:
    with pytest.raises(InputError) as raised:
        load(_said({"protocol": "tcp"}, **{key: value}))
    assert [error.key for error in raised.value.errors] == [f"streams.p.{key}"]


def test_talkers_leave_it_to_the_program() -> None:
    network = _load(protocol="udp", rate="2Mb/s")
    assert [stream["name"] for stream in plan_for(network, "a", "talk", "eth0")["streams"]] == ["s"]
    assert [stream["name"] for stream in plan_for(network, "b", "listen", "eth0")["streams"]] == ["s"]


@pytest.mark.usefixtures("iperf3")
def test_servers_and_clients() -> None:
    network = _load(protocol="sctp", rate="2Mb/s", start="5ms")
    parts = background.parted(network)
    assert (list(parts.network.streams), [stream.name for stream in parts.streams]) == (["s"], ["p"])
    server, client = background.programs(network, parts.streams, lead_ns=3 * 10**9)
    assert (server["host"], server["command"]) == (
        "b", ["/usr/bin/iperf3", "-s", "-1", "-p", "5201", "-B", "198.18.0.2"])  # fmt: skip
    assert (client["host"], client["name"]) == ("a", "iperf3-p")
    assert client["command"][2].startswith("sleep 2.005;")
    options = " ".join(client["command"][4:])
    assert options == "/usr/bin/iperf3 -J -c 198.18.0.2 -p 5201 -t 3 --sctp -b 2000000"
    commands = background.commands(network, parts.streams)
    assert commands["b"].splitlines() == [
        "address replace 198.18.0.2/32 dev eth0",
        "route replace 198.18.0.1/32 dev eth0",
        "neighbour replace 198.18.0.1 lladdr 02:00:00:00:00:01 dev eth0 nud permanent",
    ]


@pytest.mark.usefixtures("iperf3")
def test_what_begins_after_the_run_is_not_started() -> None:
    assert background.parted(_load(protocol="tcp", start="10ms")).streams == ()


def test_which_program_makes_the_stream() -> None:
    assert background.needed_programs(_load(protocol="tcp")) == {"iperf3": "iperf3"}
    assert background.needed_programs(_load(protocol="tcp", start="10ms")) == {}


@pytest.mark.usefixtures("iperf3")
def test_nothing_to_measure() -> None:
    said = _said({"protocol": "tcp"})
    del said["streams"]["s"]
    with pytest.raises(InputError, match="are of programs"):
        background.parted(load(said))


def test_what_came_of_it() -> None:
    stream = _load(protocol="udp", rate="2Mb/s").streams["p"]
    said = json.dumps({"end": {"sum_received": {"bits_per_second": 1.9e6, "bytes": 700}}})
    found = background.told(stream, {"status": 0, "stdout": said, "stderr": ""})
    assert background.in_words("p", found) == "p: iperf3 UDP, 1.9 Mb/s of 2 Mb/s arrived"
    failed = json.dumps({"error": "unable to connect"})
    with pytest.raises(RunError, match="iperf3 of p failed: unable to connect"):
        background.told(stream, {"status": 1, "stdout": failed, "stderr": ""})
    with pytest.raises(RunError, match="its time was up"):
        background.told(stream, {"status": None, "stdout": "", "stderr": ""})
