# SPDX-License-Identifier: Apache-2.0
"""The scenarios on real Linux: launch times by etf, gates by taprio, software by that of the host itself.

etf in software lets a frame go its `delta` before the launch time that the frame carries. So a frame carries the
scenario's launch time plus `delta`: it goes at the scenario's launch time, or at once if it is late for that, as by the
paper's controller.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from penstock.lab.programs import How
from penstock.lab.run import Beside
from penstock.reproduce import work
from penstock.reproduce.experiment import Case
from penstock.scenario import load
from penstock.scenario.network import Network

MOST_FRAMES = {False: 1_000, True: 400}  # by whether there are gates
# Longer than other traffic keeps an emulated processor: etf drops a frame that still waits at its own launch time.
DELTA_NS = 2_000_000
# A bridge of an emulated processor takes some 15 us for a frame, more for the first, and the windows of the switches
# are 2 us apart. So where there are gates, all times of the scenario are eight times as long there.
SLOWER = 8
# In the paper they are computers of their own; here they share a processor with the host.
_INTERFERING = frozenset({"generator", "sink"})

_UNITS_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_LEFT_TO_THE_HOST = ("jitter", "software")  # what a source says of software


class InLaboratory:
    """See `penstock.reproduce.laboratory`."""

    def missing(self, cases: Sequence[Case]) -> str | None:
        """Nothing."""
        return None

    def network(self, case: Case, emulated: bool) -> Network:
        """The scenario, with its host's port as an interface."""
        return load(document(case, emulated), "linux")

    def beside(self, case: Case, network: Network, emulated: bool) -> Beside:
        """Nothing."""
        return Beside()

    def how(self, case: Case, emulated: bool) -> How:
        """All stamps are the listening program's."""
        # Of frames with launch times the kernel's prove nothing over veth, and the others are compared with them.
        return How(stamp="user", behind=_INTERFERING)

    def read_first(self, cases: Sequence[Case]) -> Sequence[Sequence[str]]:
        """Nothing."""
        return []

    def note(self, emulated: bool) -> str:
        """How its times differ from the scenario's."""
        return f"through switches all times of the scenarios, and so the period, are {SLOWER} times as long" * emulated


def factor(gated: bool, emulated: bool) -> int:
    """How many times as long the scenario's times are."""
    return SLOWER if gated and emulated else 1


def document(case: Case, emulated: bool) -> dict[str, Any]:
    """The scenario of a case as Linux is to have it."""
    said: dict[str, Any] = copy.deepcopy(work.task(case, "linux").scenario)
    gates = [port["gates"] for bridge in said["bridges"].values() for port in bridge.get("port", {}).values()]
    times = factor(bool(gates), emulated)
    period_ns = _ns(said["streams"]["tsn"]["source"]["every"])
    frames = min(MOST_FRAMES[bool(gates)], _ns(said["duration"]) // period_ns)
    duration_ns = frames * period_ns
    said["duration"] = f"{duration_ns * times}ns"
    said.pop("trace", None)
    for each in gates:
        for table in (each, *each["entries"]):
            _stretch(table, times)
    said["streams"] = {
        name: stream
        for name, stream in said["streams"].items()
        if _ns(stream["source"].get("start", "0s")) < duration_ns
    }
    for stream in said["streams"].values():
        _sent_by_linux(stream["source"], times)
    said["stations"]["host"]["linux"] = _interface(case, said["streams"])
    return said


def _stretch(table: dict[str, Any], times: int) -> None:
    for key in ("cycle_time", "base_time", "interval", "every", "start"):
        if key in table:
            table[key] = f"{_ns(table[key]) * times}ns"


def _sent_by_linux(source: dict[str, Any], times: int) -> None:
    for key in _LEFT_TO_THE_HOST:
        source.pop(key, None)
    _stretch(source, times)
    if "launch" in source:
        source["launch"] = {"offset": f"{_ns(source['launch']['offset']) * times + DELTA_NS}ns"}


def _interface(case: Case, streams: dict[str, Any]) -> dict[str, Any]:
    """mqprio, and etf at the classes of streams with launch times."""
    network = load(case.scenario)
    launched = [network.streams[name] for name, stream in streams.items() if "launch" in stream["source"]]
    found: dict[str, Any] = {"interface": "eth0", "vlans": "none"}
    if launched:
        classes = sorted({network.class_at_talker(stream) for stream in launched})
        found["etf"] = {"delta": f"{DELTA_NS}ns", "classes": classes}
    return found


def _ns(text: str) -> int:
    number = text.rstrip("nums")
    return round(float(number) * _UNITS_NS[text[len(number) :]])
