# SPDX-License-Identifier: Apache-2.0
"""The configurations on real Linux: the scenarios' talker port as qdiscs, iperf3 beside the audio."""

from __future__ import annotations

import tomllib
from typing import Any

from penstock.lab.programs import How
from penstock.reproduce.experiment import Case
from penstock.reproduce.linux_shapers.packets import STREAMS
from penstock.reproduce.linux_shapers.place import BACKGROUND
from penstock.scenario import load
from penstock.scenario.network import Network

# An emulated processor handles a fourth of the packets in a time, so all times of the scenario are four times as long.
SLOWER = 4
DURATION_MS = 400
# What iperf3 is asked for on an emulated processor, instead of what the scenario says.
_EMULATED_RATES = {"udp": "2Mb/s", "tcp": "8Mb/s", "sctp": "2Mb/s"}


class InLaboratory:
    """See `penstock.reproduce.laboratory`."""

    def network(self, case: Case, emulated: bool) -> Network:
        """The scenario, its talker's port as an interface; audio is released when the model releases it."""
        return load(document(case, slower(emulated)), "linux")

    def how(self, case: Case, emulated: bool) -> How:
        """Packets are aperiodic, as the scenario draws them."""
        return How(as_drawn=True)

    def note(self, emulated: bool) -> str:
        """How much longer times are than the scenario's."""
        return f"periods and gates are {SLOWER} times as long" if emulated else ""


def slower(emulated: bool) -> int:
    """How many times as long the scenario's times are."""
    return SLOWER if emulated else 1


def document(case: Case, factor: int) -> dict[str, Any]:
    """The scenario of a configuration as Linux is to have it, with times so many times as long."""
    said: dict[str, Any] = tomllib.loads(case.scenario.read_text(encoding="utf-8"))
    audio = load(case.scenario).streams
    said |= {"nodes": "linux", "duration": f"{DURATION_MS}ms"}
    # What the kernel takes a veth for, and counts credit by.
    said["links"]["rate"] = "10Gb/s"
    del said["bridges"]["cable"]["switching"]  # it is a bridge of Linux there
    talker = said["stations"]["talker"]
    talker["linux"] = {"interface": "eth0", "vlans": "none"}
    if "gates" in talker:
        gates = talker["gates"]
        gates["cycle_time"] = _times(gates["cycle_time"], factor)
        for entry in gates["entries"]:
            entry["interval"] = _times(entry["interval"], factor)
    for settings in talker["classes"].values():
        if "idle_slope" in settings:
            settings["idle_slope"] = f"{int(settings['idle_slope'].removesuffix('Mb/s')) / factor:g}Mb/s"
    streams = said["streams"]
    said["streams"] = {name: streams[name] for name in (*STREAMS, *(BACKGROUND if case.at["mixed"] else ()))}
    for name in BACKGROUND if factor > 1 else ():
        streams[name]["source"]["rate"] = _EMULATED_RATES[name]
    for name, stream in streams.items():
        if name not in STREAMS:
            continue
        source, pattern, jitter = stream["source"], audio[name].pattern, audio[name].jitter
        assert pattern is not None
        assert jitter is not None
        stream["source"] = {
            "frames": f"{audio[name].max_frame_bytes}B",
            "every": f"{pattern.period_ps * factor // 1000}ns",
            "jitter": {"uniform": f"{jitter.ps * factor // 1000}ns"},
            "start": _times(source["start"], factor),
            "seed": source["seed"],
        }
    return said


def _times(text: str, factor: int) -> str:
    return f"{int(text.removesuffix('us')) * factor}us"
