# SPDX-License-Identifier: Apache-2.0
"""For how long a packet of audio can be on its way at most, with what the scenarios say.

In a time w each stream hands over 1 + floor((w + spread) / T) packets: T is its period, and by the spread of release
and software two of them may come closer. Each costs its time on the wire or, by credit, its length over the idle slope.
Before the first there may be a frame of another class, or a window in which the gate is closed.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.ethernet import AHEAD_BYTES, WIRE_OVERHEAD_BYTES
from penstock.reproduce.linux_shapers.packets import STREAMS
from penstock.reproduce.linux_shapers.place import BACKGROUND, FOLDER
from penstock.scenario import load
from penstock.scenario.checked_stream import Stream
from penstock.scenario.network import Network
from penstock.scenario.windows import acting, wire_ns

_CUT_THROUGH_BYTES = 64


@dataclass(frozen=True)
class Most:
    """In us."""

    software: float
    software_least: float
    waiting: float  # at the talker's port
    wire: float  # from selection to the listener, with what the bridge in between takes

    @property
    def total(self) -> float:
        """From the program's call to the listener."""
        return self.software + self.waiting + self.wire

    @property
    def jitter(self) -> float:
        """From a packet to the next."""
        return self.software - self.software_least + self.waiting


def most(configuration: str, mixed: bool) -> Most:
    """The bound of a configuration."""
    network = load(FOLDER / f"{configuration}.toml")
    stream = network.streams[STREAMS[0]]
    talker = network.stations[stream.talker]
    number = network.class_at_talker(stream)
    wire_us = wire_ns(stream.max_frame_bytes, talker.link_rate_bps) / 1e3
    shaper, gates = talker.credit.get((0, number)), talker.gates.get(0)
    bits = (stream.max_frame_bytes + WIRE_OVERHEAD_BYTES) * 8
    cost = wire_us if shaper is None else bits * 1e6 / shaper.idle_slope_bps
    least, software, release, period = _times_us(stream)
    spread = release + software - least
    waiting, before = 0.0, -1.0
    while waiting != before:
        before = waiting
        count = len(STREAMS) * (1 + int((waiting + spread) // period))
        waiting = count * cost
        if gates is None:
            waiting += _longest_us(network) if mixed else 0.0
        else:
            # A packet that does not fit any more waits from before the gate closes.
            open_us = acting(gates).open_time(number) / 1e3
            waiting += (gates.cycle_time_ns / 1e3 - open_us + wire_us) * (1 + int(before // open_us))
    delays_us = sum(link.delay_ps for link in network.links) / 1e6
    lead_us = (AHEAD_BYTES + _CUT_THROUGH_BYTES + AHEAD_BYTES) * 8e6 / talker.link_rate_bps
    return Most(software, least, waiting, delays_us + lead_us)


def longest_frame_us(configuration: str) -> float:
    """Of UDP, TCP and SCTP on the wire: what a packet of audio may find there."""
    return _longest_us(load(FOLDER / f"{configuration}.toml"))


def _longest_us(network: Network) -> float:
    streams = [network.streams[name] for name in BACKGROUND]
    return max(wire_ns(s.max_frame_bytes, network.stations[s.talker].link_rate_bps) for s in streams) / 1e3


def _times_us(stream: Stream) -> tuple[float, float, float, float]:
    """The least and most that software takes, by how much releases leave their times, and the period, in us."""
    assert stream.pattern is not None
    assert stream.jitter is not None
    assert stream.handover is not None
    assert stream.handover.delay is not None
    quantiles = stream.handover.delay.quantiles_ps
    times = (quantiles[0][1], quantiles[-1][1], stream.jitter.ps, stream.pattern.period_ps)
    least, most_, release, period = (time / 1e6 for time in times)
    return least, most_, release, period
