# SPDX-License-Identifier: Apache-2.0
"""When a source releases its frames, as far as that is known before a run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from penstock.ethernet import WIRE_OVERHEAD_BYTES
from penstock.scenario.checked_stream import Handover, Jitter, Stream
from penstock.scenario.network import Network

_MOST_FRAMES = 100_000  # that are looked at one by one


class Releases(NamedTuple):
    """The frames of one cycle, in the network's time since its begin; each may be displaced by `early_ps` to `late_ps`.

    Those of a group, as the packets of a picture, are displaced together.
    """

    times_ps: tuple[int, ...]
    frame_bytes: tuple[int, ...]
    groups: tuple[int, ...]
    cycle_ps: int | None  # after which it begins again; None: it does not
    frames: int  # that the run lasts for
    early_ps: int = 0
    late_ps: int = 0

    @property
    def slack_ps(self) -> int:
        """By how much two frames may come closer together."""
        return self.late_ps - self.early_ps

    def unrolled(self, span_ps: int) -> Iterator[tuple[int, int, int]]:
        """Time, bytes and group of each frame, for so long and then for two cycles more."""
        return islice(self._cycles(span_ps), self.frames)

    def _cycles(self, span_ps: int) -> Iterator[tuple[int, int, int]]:
        turns = 1 if self.cycle_ps is None else span_ps // self.cycle_ps + 3
        for turn in range(turns):
            begin = turn * (self.cycle_ps or 0)
            first_group = turn * (self.groups[-1] + 1)
            for time, size, group in zip(self.times_ps, self.frame_bytes, self.groups, strict=True):
                yield begin + time, size, first_group + group

    def time_of(self, frame: int) -> int:
        """When frame n, from 1, is released."""
        turn, place = divmod(frame - 1, len(self.times_ps))
        return turn * (self.cycle_ps or 0) + self.times_ps[place] + self.late_ps


def releases_of(network: Network, stream: Stream) -> Releases | str:
    """What is known of a stream's releases, or why nothing is; of answers, what `answers.py` has learned."""
    known: Releases | str | None = network.memo.get(("releases", stream.name))
    if known is None and stream.source.response_to is not None:
        return f'it answers "{stream.source.response_to}"'
    if known is None:
        known = network.memo["releases", stream.name] = _releases(network, stream)
    return known


def learn(network: Network, stream: Stream, releases: Releases | str) -> None:
    """What follows for a stream from the bounds of others."""
    network.memo["releases", stream.name] = releases


def _releases(network: Network, stream: Stream) -> Releases | str:
    if network.stations[stream.talker].has_hardware:
        return "its talker's card is hardware, and fetches each frame out of its host's memory first"
    nominal = _nominal(network, stream)
    return nominal if isinstance(nominal, str) else _displaced(stream, nominal)


def _nominal(network: Network, stream: Stream) -> Releases | str:
    """As the source would release its frames if it were exact."""
    source = stream.source
    if source.poisson is not None:
        return "the times between its frames are by chance (poisson)"
    if source.normal is not None:
        return "the times between its frames are by chance (normal)"
    cycle_ps: int | None = source.every
    if stream.capture is not None:
        frames = stream.capture.frames[: source.count]
        times = [frame.time_ps - frames[0].time_ps for frame in frames]
        sizes, groups, cycle_ps = stream.capture.lengths()[: len(times)], list(range(len(times))), None
    elif stream.pattern is not None:
        pattern = stream.pattern
        cycle_ps = pattern.period_ps * len(pattern.sizes)
        places = [(n, k) for n, of in enumerate(pattern.sizes) for k in range(len(of))]
        times = [n * pattern.period_ps + k * pattern.spacing_ps for n, k in places]
        sizes = [size for of in pattern.sizes for size in of]
        groups = [n for n, _ in places]
    else:
        assert source.frames is not None
        burst = source.burst or 1
        if burst > _MOST_FRAMES:
            return f"a burst of {burst:,} frames is too long to be looked at before the run"
        times, sizes, groups = [0] * burst, [source.frames] * burst, [0] * burst
        if source.back_to_back:
            rate = network.stations[stream.talker].link_rate_bps
            cycle_ps = (source.frames + WIRE_OVERHEAD_BYTES) * 8 * 10**12 // rate
    if len(times) > _MOST_FRAMES:
        return f"{len(times):,} frames are too many to be looked at before the run"
    drift = network.stations[stream.talker].clock.drift_ppb  # a clock that is fast releases sooner

    def scaled(ps: int) -> int:
        return ps * 10**9 // (10**9 + drift)

    return Releases(
        times_ps=tuple(map(scaled, times)) if drift else tuple(times),
        frame_bytes=tuple(sizes),
        groups=tuple(groups),
        cycle_ps=None if cycle_ps is None else max(1, scaled(cycle_ps)),  # far more than any link carries, either way
        frames=_frames_in_run(network, stream, times, cycle_ps),
    )


def _frames_in_run(network: Network, stream: Stream, times: list[int], cycle_ps: int | None) -> int:
    """How many frames the source releases before the run ends."""
    source = stream.source
    lasts_ps = network.duration_ps - source.start + network.stations[stream.talker].clock.offset_ps
    if cycle_ps is None:
        return sum([time < lasts_ps for time in times])
    if lasts_ps <= 0:
        return 0
    whole, rest = divmod(lasts_ps, cycle_ps)
    in_run = whole * len(times) + sum([time < rest for time in times])
    return in_run if source.count is None else min(in_run, source.count)


def _displaced(stream: Stream, nominal: Releases) -> Releases | str:
    if stream.jitter is None and stream.handover is None:
        return nominal
    early, late = 0, 0
    if stream.jitter is not None:
        limits = limits_of(stream.jitter)
        if limits is None:
            return f"its jitter is by a distribution without a limit ({stream.jitter.kind})"
        # Nothing is released before the run begins.
        early, late = limits[0], max(limits[1], 0)
    if stream.handover is not None:
        handed = _handed(stream.handover, early, late)
        if handed is None:
            return "what software and controller add is by a distribution without a limit"
        early, late = handed
    return nominal._replace(early_ps=early, late_ps=late)


def _handed(handover: Handover, early: int, late: int) -> tuple[int, int] | None:
    """From the release by the program to the port: a frame waits for its launch time, or has missed it."""
    if handover.delay is not None:
        delay = limits_of(handover.delay)
        if delay is None:
            return None
        early, late = early + delay[0], late + delay[1]
    launch = handover.launch
    if launch is not None:
        error = (0, 0) if launch.error is None else limits_of(launch.error)
        if error is None:
            return None
        early, late = max(early, launch.offset_ps + error[0]), max(late, launch.offset_ps + error[1])
    return early, late


def limits_of(jitter: Jitter) -> tuple[int, int] | None:
    """The least and the most that a distribution gives; None where there is no most."""
    if jitter.kind == "values":
        return min(jitter.values_ps), max(jitter.values_ps)
    if jitter.kind == "quantiles":
        return jitter.quantiles_ps[0][1], jitter.quantiles_ps[-1][1]
    if jitter.kind == "uniform" or jitter.ps == 0:
        return 0, jitter.ps
    return None
