# SPDX-License-Identifier: Apache-2.0
"""The configurations on real Linux: the scenarios' talker port as qdiscs, iperf3 beside the audio."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Sequence
from typing import Any

from penstock.lab.programs import How
from penstock.lab.run import Beside, lead_of
from penstock.reproduce.experiment import Case
from penstock.reproduce.linux_shapers.packets import STREAMS
from penstock.reproduce.linux_shapers.place import BACKGROUND
from penstock.scenario import load
from penstock.scenario.network import Network

# An emulated processor handles a fourth of the packets in a time, so all times of the scenario are four times as long.
SLOWER = 4
DURATION_MS = 400
_ADDRESSES = {"talker": "192.0.2.1", "listener": "192.0.2.2"}
# Options of iperf3 on a real processor and on an emulated one.
_IPERF3 = {
    "udp": (("-u", "-b", "50M"), ("-u", "-b", "2M")),
    "tcp": (("-b", "200M"), ("-b", "8M")),
    "sctp": (("--sctp", "-b", "48M"), ("--sctp", "-b", "2M")),
}
_FIRST_PORT = 5201
_EARLIER_S = 1.0  # than the audio: its connection, and TCP's slow start, are over by then


class InLaboratory:
    """See `penstock.reproduce.laboratory`."""

    def missing(self, cases: Sequence[Case]) -> str | None:
        """iperf3, if any run has other traffic."""
        if not any(case.at["mixed"] for case in cases) or shutil.which("iperf3"):
            return None
        return "iperf3 is missing, which makes UDP, TCP and SCTP beside the audio; run: sudo apt-get install iperf3"

    def network(self, case: Case, emulated: bool) -> Network:
        """The scenario with audio alone, released when the model releases it, and its talker's port as an interface."""
        return load(document(case, slower(emulated)), "linux")

    def beside(self, case: Case, network: Network, emulated: bool) -> Beside:
        """iperf3 for each kind of traffic: servers at the listener, clients at the talker."""
        if not case.at["mixed"]:
            return Beside()
        programs = []
        iperf3 = str(shutil.which("iperf3"))
        seconds = round(network.duration_ps / 1e12 + 2 * _EARLIER_S + 0.5)
        for number, kind in enumerate(BACKGROUND):
            port = str(_FIRST_PORT + number)
            server = [iperf3, "-s", "-1", "-p", port, "-B", _ADDRESSES["listener"]]
            client = [iperf3, "-J", "-c", _ADDRESSES["listener"], "-p", port, "-t", str(seconds)]
            wait = ["/bin/sh", "-c", f'sleep {lead_of(network) / 1e9 - _EARLIER_S:g}; exec "$@"', "iperf3"]
            command = [*wait, *client, *_IPERF3[kind][emulated]]
            programs += [
                {"name": f"iperf3-{kind}-server", "host": "listener", "command": server},
                {"name": f"iperf3-{kind}", "host": "talker", "command": command},
            ]
        addresses = {host: f"address replace {address}/24 dev eth0\n" for host, address in _ADDRESSES.items()}
        return Beside(programs, addresses)

    def how(self, case: Case, emulated: bool) -> How:
        """Packets are aperiodic, as the scenario draws them."""
        return How(as_drawn=True)

    def read_first(self, cases: Sequence[Case]) -> Sequence[Sequence[str]]:
        """Programs and protocols whose files would else be read while packets are on their way."""
        return [["iperf3", "-v"], ["modprobe", "-q", "sctp"]] if any(case.at["mixed"] for case in cases) else []

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
    said["streams"] = {name: said["streams"][name] for name in STREAMS}
    for name, stream in said["streams"].items():
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
