# SPDX-License-Identifier: Apache-2.0
"""What people get wrong in `linux` tables: each is told with its place and what would be right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.errors import InputError
from penstock.scenario import load
from penstock.scenario.instants import TAI_AHEAD_OF_UTC_S, looks_like_utc, start_ns

GOOD = """\
name = "case"
duration = "10ms"
nodes = "model"

[bridges.sw]
ports = 3
class_of_untagged = 1
class_of_priority = [1, 0, 2, 3, 4, 5, 6, 7]
classes.7 = { selection = "strict" }
[bridges.sw.port.1]
linux = { interface = "swp1" }

[stations.a]
at = "sw.0"
class_of_priority = [1, 0, 2, 3, 4, 5, 6, 7]
classes.7 = { name = "control" }
classes.6 = { selection = "cbs", idle_slope = "10Mb/s" }

[stations.a.gates]
cycle_time = "1ms"
entries = [
  { open = [7], interval = "100us" },
  { open = [0, 1, 2, 3, 4, 5, 6], interval = "900us" },
]

[stations.a.linux]
interface = "enp2s0"
gates = "txtime-assist"
txtime_delay = "500us"
queues = [[0, 1, 2, 3, 4, 5], [6], ["control"]]
etf = { delta = "300us" }

[stations.b]
at = "sw.1"

[streams.s]
from = "a"
to = ["b"]
vlan = 10
pcp = 7
source = { frames = "100B", every = "1ms" }
"""

_QUEUES = '[[0, 1, 2, 3, 4, 5], [6], ["control"]]'
_ETF = 'etf = { delta = "300us" }'
_ASSIST = 'gates = "txtime-assist"\ntxtime_delay = "500us"'

# What is replaced, by what, and then: line, key, what is wrong, what is allowed (regular expressions).
REFUSED = {
    "no interface": ('"swp1"', '"two words"', 11, "port.1.linux.interface", "not an interface", "15 letters"),
    "a long name": ('"swp1"', '"a123456789012345"', 11, "linux.interface", "not an interface", "15"),
    "an unknown mode": ('"txtime-assist"', '"hardware"', 28, "linux.gates", "not known", "'?software"),
    "an unknown key": ('txtime_delay', 'txtime_dely', 29, "txtime_dely", "did you mean .txtime_delay", "interface"),
    "a bare number of ns": ('"500us"', "500000", 29, "txtime_delay", "no unit", "us"),
    "clockid with full offload": (
        f"{_ASSIST}\nqueues = {_QUEUES}\n{_ETF}", f'gates = "offload"\nclock = "TAI"\nqueues = {_QUEUES}',
        29, "stations.a.linux.clock", "device's own PTP clock", "no clock"),
    "gates that are not there": (
        '"swp1"', '"swp1", gates = "software"', 11, "linux.gates", "no gates at port 1", "a gate list"),
    "delay not above delta": ('"500us"', '"300us"', 29, "txtime_delay", "not above the delta", "more than 300000ns"),
    "no delay": ('txtime_delay = "500us"\n', "", 26, "stations.a.linux", "is not said", "txtime_delay, above"),
    "no etf": (_ETF, "", 26, "stations.a.linux", "nothing keeps them", "etf = "),
    "no skip_sock_check": (
        '"300us" }', '"300us", skip_sock_check = false }', 31, "etf.skip_sock_check", "drop every frame", "true"),
    "etf at some queues only": (
        '"300us" }', '"300us", classes = [7] }', 31, "etf.classes", "every queue needs etf", "no classes"),
    "etf on another clock": (
        _ETF, f'{_ETF}\nclock = "REALTIME"', 32, "linux.clock", "CLOCK_TAI only", "TAI"),
    "no delta": ('"300us"', '"0ns"', 31, "etf.delta", "is too small", "1ns to 2147483647ns"),
    "etf without classes": (_ASSIST, 'gates = "software"', 30, "stations.a.linux.etf", "is not said", "classes ="),
    "a delay that says nothing": (
        'gates = "txtime-assist"', 'gates = "software"', 29, "txtime_delay", "says nothing", "txtime-assist"),
    "a class that is not there": (
        '["control"]]', '["contol"]]', 30, "queues[2]", 'no traffic class "contol"', "control"),
    "a class in no queue": (
        "[0, 1, 2, 3, 4, 5]", "[0, 1, 2, 3, 5]", 30, "queues", "no queue holds class 4", "each of the classes"),
    "a class twice": ("[6], [", "[6, 5], [", 30, "queues[1]", "class 5 is also in entry 0", "once"),
    "too many queues": (
        "[6], [", "{ classes = [6], count = 16 }, [", 30, "queues", "18 queues", "up to 16"),
    "a shared queue that gates part": (
        _QUEUES, "[[0, 1, 2, 3, 4], [6], [5, 7]]", 30, "queues",
        "classes 5, 7 share a queue, but entry 0 of the gates opens class 7 and not class 5", "a queue for each"),
    "a shared queue with credit": (
        _QUEUES, "[[0, 1, 2, 3, 4], [5, 6], [7]]", 30, "queues", "class 6 is served by credit", "a queue for class 6"),
    "credit over several queues": (
        "[6], [", "{ classes = [6], count = 2 }, [", 30, "queues", "would earn all of it", "one queue"),
    "classes that take turns": (
        "[bridges.sw.port.1]", 'classes.3 = { selection = "round_robin" }\nclasses.2 = { selection = "round_robin" }\n'
        "[bridges.sw.port.1]", 13, "bridges.sw.port.1.linux", "no qdisc of Linux serves class 3, class 2 in turns",
        'selection = "strict"'),
    "credit that is not there": (
        '"swp1"', '"swp1", credit = "offload"', 11, "linux.credit", "served by credit", 'selection = "cbs"'),
    "a window in which no frame fits": (
        'interval = "100us"', 'interval = "479ns"', 28, "linux.gates", "intervals below 480 ns at 1 Gb/s", "480ns"),
    "a cycle longer than the kernel's": (
        'cycle_time = "1ms"', 'cycle_time = "3s"', 28, "linux.gates", "longer than the kernel takes", "2147483647ns"),
    "a VLAN that nothing is sent in": (
        _ETF, f'{_ETF}\nvlans = {{ 11 = "v11" }}', 32, "linux.vlans.11", "nothing in VLAN 11", "10"),
    "a name too long for a VLAN": (
        '"enp2s0"', '"enp0s31f6wired"', 26, "linux", '"enp0s31f6wired.10" is too long', "vlans = { 10"),
    "VLAN interfaces at a bridge": (
        '"swp1"', '"swp1", vlans = "none"', 11, "linux.vlans", "as they are", "no vlans"),
    "a start without time zone": (
        _ETF, f"{_ETF}\nstart = 2026-11-21T12:00:00", 32, "linux.start", "no time zone", "2026-11-21T12:00:00Z"),
    "a start beyond the kernel's": (
        '{ open = [0, 1, 2, 3, 4, 5, 6], interval = "900us" },\n]\n\n[stations.a.linux]',
        f'{{ open = [0, 1, 2, 3, 4, 5, 6], interval = "900us" }},\n]\nbase_time = "1s"\n\n[stations.a.linux]\n'
        f"start = {2**63 - 1}",
        28, "linux.start", "1000000000 ns after the last time", "an earlier start"),
    "a start before all times": (
        _ETF, f"{_ETF}\nstart = -1", 32, "linux.start", "no time that the kernel", "0 to 9223"),
    "one interface for two ports": (
        '"swp1" }', '"swp1" }\n[bridges.sw.port.0]\nlinux = { interface = "swp1" }',
        13, "bridges.sw.port.0.linux.interface", "is also port 1", "one interface"),
    "a port without a cable": (
        "[bridges.sw.port.1]", "[bridges.sw.port.2]", 11, "port.2.linux", "no cable", "a link or a station"),
}  # fmt: skip


def _changed(old: str, new: str, folder: Path) -> Path:
    assert GOOD.count(old) >= 1
    (folder / "scenario.toml").write_text(GOOD.replace(old, new, 1))
    return folder


def test_the_good_one_is_good(tmp_path: Path) -> None:
    network = load(_changed("name", "name", tmp_path))
    assert network.warnings == []
    assert set(network.linux) == {"a", "sw"}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str, tmp_path: Path) -> None:
    old, new, line, key, what, allowed = REFUSED[case]
    with pytest.raises(InputError) as raised:
        load(_changed(old, new, tmp_path))
    found = [e for e in raised.value.errors if re.search(what, e.what)]
    assert len(found) == 1, str(raised.value)
    (error,) = found
    assert (error.key or "").endswith(key), error
    assert error.line == line, error
    assert re.search(re.escape(allowed) if not allowed.startswith("'") else allowed, error.allowed), error


WARNED = {
    "PTP is shut out": (
        "{ open = [0, 1, 2, 3, 4, 5, 6]", "{ open = [0, 2, 3, 4, 5, 6]", "linux.ptp_priority",
        "priority 0 and so in class 1, which never opens"),
    "PTP has no room": (
        '[0, 1, 2, 3, 4, 5, 6], interval = "900us" }',
        '[0, 2, 3, 4, 5, 6], interval = "899.2us" }, { open = [1], interval = "800ns" }',
        "linux.ptp_priority", "open for 800 ns at most"),
    "a clock that PTP does not set": (
        f"{_ASSIST}\nqueues = {_QUEUES}\n{_ETF}", f'clock = "REALTIME"\nqueues = {_QUEUES}',
        "linux.clock", "REALTIME is not what PTP hands out"),
    "a slope between two kilobits": ("10Mb/s", "10000001b/s", "stations.a.linux", "rounded up"),
    "an order that nothing serves": (
        _QUEUES, '[[6], [0, 1, 2, 3, 4, 5], ["control"]]', "linux.queues", "neither rise nor fall"),
    "max_sdu without gates": (
        "[bridges.sw.port.1]", "classes.3 = { max_sdu = \"500B\" }\n[bridges.sw.port.1]",
        "linux", "needs gates on Linux"),
    "credit past the device": (
        f"{_ASSIST}\nqueues = {_QUEUES}\n{_ETF}", f'gates = "offload"\nqueues = {_QUEUES}',
        "stations.a.linux", 'usual is credit = "offload"'),
    "a launch time after its gate": (
        'every = "1ms"', 'every = "1ms", launch = "99.1us"', "streams.s.source.launch", "the launch time 99.1 us"),
    "a launch time at the opening": (
        'every = "1ms"', 'every = "1.5ms", start = "500us", launch = "500us"', "source.launch", "the launch time 1 ms"),
    "ATS": (
        "[streams.s]", '[streams.t]\nfrom = "a"\nto = ["b"]\nvlan = 10\npcp = 6\ndeadline = "1ms"\n'
        'ats = { rate = "1Mb/s", burst = "200B" }\n'
        'source = { frames = "100B", every = "1ms" }\n[streams.s]', "bridges.sw.port.1.linux", "Linux has no ATS"),
}  # fmt: skip


@pytest.mark.parametrize("launch", ["1ns", "50us", "99.04us"])
def test_launch_times_within_their_gate(launch: str, tmp_path: Path) -> None:
    network = load(_changed('every = "1ms"', f'every = "1ms", launch = "{launch}"', tmp_path))
    assert network.warnings == []


@pytest.mark.parametrize("case", WARNED)
def test_warned(case: str, tmp_path: Path) -> None:
    old, new, key, what = WARNED[case]
    source = GOOD.replace("[0, 1, 2, 3, 4, 5], [6]", "[0, 2, 3, 4, 5], [1], [6]") if case.startswith("PTP") else GOOD
    (tmp_path / "scenario.toml").write_text(source.replace(old, new, 1))
    found = [w for w in load(tmp_path).warnings if re.search(re.escape(what), w)]
    assert len(found) == 1, load(tmp_path).warnings
    assert f"{key}: " in found[0]
    assert re.match(r".*scenario.toml:\d+: ", found[0])


def test_utc_is_told_from_tai() -> None:
    utc_now = 1_795_262_400 * 10**9
    tai_now = utc_now + TAI_AHEAD_OF_UTC_S * 10**9
    assert looks_like_utc(utc_now, lambda: utc_now)
    assert looks_like_utc(utc_now + 36 * 10**9, lambda: utc_now)
    assert not looks_like_utc(tai_now, lambda: utc_now)  # now, or later, by TAI
    assert not looks_like_utc(utc_now - 1, lambda: utc_now)  # long past by both
    assert not looks_like_utc(0, lambda: utc_now)
    assert start_ns(5, utc=False) == start_ns(5, utc=True) == 5


def test_a_start_in_utc_is_warned_of(tmp_path: Path) -> None:
    import time

    start = time.time_ns() + 30 * 10**9
    network = load(_changed(_ETF, f"{_ETF}\nstart = {start}", tmp_path))
    assert [w for w in network.warnings if "linux.start: this has passed by TAI, but lies ahead by UTC" in w]
