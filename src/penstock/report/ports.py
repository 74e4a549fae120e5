# SPDX-License-Identifier: Apache-2.0
"""What passed an egress port and when: each frame in queue and on the wire, gates and credit as the engine has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.ethernet import AHEAD_BYTES, WIRE_OVERHEAD_BYTES
from penstock.gates import CreditOverTime, Occupation, gate_states
from penstock.journeys import View
from penstock.scenario.network import Bridge, Network, Station, hardware_visible_ps

_SELECTED_TO_SENT_PS = 96_000  # of the hardware; 64_000 of it are preamble and delimiter
_BYTE_PS = 8 * 10**12  # at 1 b/s
_MOST_REPLAYED = 20_000  # frames from which the credit of one moment is worked out
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Place:
    """An egress port of a bridge, or of a station, which has port 0."""

    node: Bridge | Station
    port: int
    rate_bps: int

    def byte_ps(self, count: int) -> int:
        """The time of so many bytes, rounded up as a model does."""
        return -(-count * _BYTE_PS // self.rate_bps)

    @property
    def name(self) -> str:
        """For people."""
        return self.node.name if isinstance(self.node, Station) else f"{self.node.name} port {self.port}"

    @property
    def short(self) -> str:
        """As a scenario has it: `sw.2`; a station's name alone."""
        return self.node.name if isinstance(self.node, Station) else f"{self.node.name}.{self.port}"

    @property
    def credited(self) -> list[int]:
        """Classes shaped by credit, the highest first."""
        return sorted((k for port, k in self.node.credit if port == self.port), reverse=True)

    @property
    def frozen(self) -> bool:
        """Whether credit stays as it is in guard bands."""
        return self.gated and self.node.frozen_in_guard_band

    @property
    def gated(self) -> bool:
        """Whether it has a gate control list."""
        return self.port in self.node.gates

    def label(self, traffic_class: int) -> str:
        """Of a class, short."""
        name = self.node.class_names.get(traffic_class)
        return f"{traffic_class}" if name is None else f"{name} {traffic_class}"

    @property
    def ahead_ps(self) -> int:
        """From a frame's selection to the first bit after its delimiter."""
        timed = isinstance(self.node, Bridge) and self.node.hardware_timing
        return _SELECTED_TO_SENT_PS if timed else self.byte_ps(AHEAD_BYTES)


def places(network: Network) -> list[Place]:
    """All egress ports that streams pass, those of talkers first."""
    talkers = [Place(network.stations[name], 0, network.stations[name].link_rate_bps) for name in network.streams_from]
    bridges = [
        Place(network.bridges[bridge], port, network.link_at[bridge, port].rate_bps)
        for bridge, port in network.streams_at
    ]
    return [*talkers, *bridges]


@dataclass(frozen=True)
class Passed:
    """A frame at a port; times of the run in ps, None for what did not happen."""

    frame_id: int
    stream: str
    bytes: int
    traffic_class: int
    ready: int  # could have been selected, if nothing had held it
    eligible: int | None
    selected: int | None
    sent: int | None
    dropped: int | None
    reason: str | None


_PASSED = [each.name for each in fields(Passed)]


@dataclass
class Passage:
    """All that passed a port, in the order of sending, what was not sent last."""

    view: View
    place: Place
    _credit: dict[int, _Credit] = field(default_factory=dict)

    @cached_property
    def frames(self) -> pl.DataFrame:
        """Columns: frame_id, stream, bytes, traffic_class, reason, and times: ready, eligible, selected, dropped, sent.

        `begin` and `end` are those on the wire, preamble included, and `free` is when the gap has passed.
        """
        place = self.place
        rows = self._talked() if isinstance(place.node, Station) else self._bridged()
        length = -(-(pl.col("bytes").cast(pl.Int64) + AHEAD_BYTES) * _BYTE_PS // place.rate_bps)
        selected = pl.col("sent") - place.ahead_ps
        return (
            rows.with_columns(
                pl.col("stream", "reason").cast(pl.String),
                (pl.col("sent") - place.byte_ps(AHEAD_BYTES)).alias("begin"),
                selected.alias("selected"),
                pl.min_horizontal("ready", selected).alias("ready"),
            )
            .with_columns((pl.col("begin") + length).alias("end"))
            .with_columns((pl.col("end") + place.byte_ps(WIRE_OVERHEAD_BYTES - AHEAD_BYTES)).alias("free"))
            .sort("begin", "ready", nulls_last=True, maintain_order=True)
        )

    def _bridged(self) -> pl.DataFrame:
        bridge = self.place.node
        assert isinstance(bridge, Bridge)
        visible = hardware_visible_ps(bridge.ports) if bridge.hardware_timing else bridge.processing_delay_ps
        return self.view.hops.filter(
            (pl.col("node") == pl.lit(bridge.name, dtype=pl.Categorical))
            & (pl.col("port") == self.place.port)
            & pl.col("queued").is_not_null()
        ).with_columns((pl.col("arrived") + visible).alias("ready"))

    def _talked(self) -> pl.DataFrame:
        """The frames of a station's streams, with their classes there."""
        network, station = self.view.network, self.place.node
        classes = {stream.name: network.class_at_talker(stream) for stream in network.streams_from[station.name]}
        held = self.view.rows.filter(
            (pl.col("event") == "eligible") & (pl.col("node") == pl.lit(station.name, dtype=pl.Categorical))
        ).select("frame_id", pl.col("time_ps").alias("eligible"))
        rows = (
            self.view.journeys.unique("frame_id")
            .with_columns(pl.col("stream").cast(pl.String))
            .join(held, on="frame_id", how="left")
        )
        lost_here = pl.col("dropped_at").cast(pl.String) == station.name
        return rows.filter(pl.col("stream").is_in(list(classes))).with_columns(
            pl.col("talker_sent").alias("sent"),
            pl.col("created").alias("ready"),
            pl.when(lost_here).then("dropped").alias("dropped"),
            pl.when(lost_here).then("reason").alias("reason"),
            pl.col("stream").replace_strict(classes, default=0, return_dtype=pl.UInt8).alias("traffic_class"),
        )

    @cached_property
    def _arrays(self) -> dict[str, NDArray[np.int64]]:
        columns = ("ready", "begin", "end", "free", "selected", "dropped")
        found = {name: self.frames[name].fill_null(_NEVER).to_numpy() for name in columns}
        found["gone"] = np.minimum(found["selected"], found["dropped"])
        found["bytes"] = self.frames["bytes"].cast(pl.Int64).to_numpy()
        return found

    @cached_property
    def _places_of(self) -> dict[int, int]:
        return {frame: row for row, frame in enumerate(self.frames["frame_id"].to_list())}

    def find(self, frame_id: int) -> Passed | None:
        """A frame that came here."""
        row = self._places_of.get(frame_id)
        return None if row is None else self._passed(row)

    def _passed(self, row: int) -> Passed:
        return Passed(*self.frames.select(_PASSED).row(row))

    def on_the_wire(self, begin_ps: int, end_ps: int) -> pl.DataFrame:
        """The frames that have the wire in a time, gap included, in their order."""
        arrays = self._arrays
        first = int(np.searchsorted(arrays["free"], begin_ps, side="right"))
        last = int(np.searchsorted(arrays["begin"], end_ps, side="left"))
        return self.frames[first:last]

    def waiting_at(self, at_ps: int) -> pl.DataFrame:
        """The frames in the queues of the port at a time."""
        arrays = self._arrays
        return self.frames.filter(pl.Series((arrays["ready"] <= at_ps) & (arrays["gone"] > at_ps)))

    def depth(self, begin_ps: int, end_ps: int) -> tuple[list[int], list[int]]:
        """Times and bytes in the queues from then on."""
        arrays = self._arrays
        there = (arrays["ready"] < end_ps) & (arrays["gone"] > begin_ps)
        ready, gone, size = arrays["ready"][there], arrays["gone"][there], arrays["bytes"][there]
        at = np.concatenate([np.maximum(ready, begin_ps), np.minimum(gone, end_ps)])
        change = np.concatenate([size, -size])
        order = np.lexsort((change, at))
        times, depths = at[order], np.cumsum(change[order])
        last = np.append(times[1:] > times[:-1], True) if times.size else np.zeros(0, bool)
        inside = last & (times < end_ps) if times.size else last
        then = [0, *depths[inside].tolist()]
        return [begin_ps, *times[inside].tolist(), end_ps], [*then, then[-1]]

    @cached_property
    def deepest(self) -> int | None:
        """When most bytes waited."""
        arrays = self._arrays
        if not arrays["ready"].size:
            return None
        at = np.concatenate([arrays["ready"], arrays["gone"]])
        change = np.concatenate([arrays["bytes"], -arrays["bytes"]])
        order = np.lexsort((change, at))
        return int(at[order][int(np.argmax(np.cumsum(change[order])))])

    def gates(self, begin_ps: int, end_ps: int) -> Iterator[tuple[int, int, int]]:
        """Begin, end and states of each entry of the gate control list that acts; none without gates."""
        if self.place.gated and end_ps > begin_ps:
            yield from gate_states(self.place.node, self.place.port, begin_ps, end_ps)

    def credit(self, traffic_class: int, begin_ps: int, end_ps: int) -> list[tuple[int, float]] | None:
        """Time and bits wherever the slope changes; None where it would take too long to work out.

        None too where credit is frozen in guard bands: its slope there depends on the frame that waits.
        """
        if not isinstance(self.place.node, Bridge) or self.place.frozen:
            return None
        known = self._credit.get(traffic_class)
        if known is None:
            own = self.frames.filter(pl.col("traffic_class") == traffic_class).sort("ready")
            known = self._credit[traffic_class] = _Credit(self.place, traffic_class, list(occupations(self.place, own)))
        return known.points(begin_ps, end_ps)


def occupations(place: Place, frames: pl.DataFrame) -> Iterator[Occupation]:
    """From when each frame could have been selected, when it was, and until when it had the wire."""
    spent = WIRE_OVERHEAD_BYTES if place.node.count_gap else AHEAD_BYTES
    for ready, selected, dropped, size in frames.select("ready", "selected", "dropped", "bytes").iter_rows():
        if selected is not None:
            yield Occupation(ready, selected, selected + place.byte_ps(size + spent))
        elif dropped is not None:
            yield Occupation(ready, dropped, dropped)
        else:
            yield Occupation(ready, None, None)


class _Credit:
    """The credit of a class, asked of the engine from the last time before at which it was surely zero."""

    def __init__(self, place: Place, traffic_class: int, frames: list[Occupation]) -> None:
        assert isinstance(place.node, Bridge)
        self._frames = frames
        self._bridge, self._place, self._class = place.node, place, traffic_class
        self._ready = np.array([frame.ready for frame in frames], dtype=np.int64)
        until = np.array([_NEVER if frame.until is None else frame.until for frame in frames], dtype=np.int64)
        self._starts = np.zeros(0, dtype=np.int64)
        if frames:
            rest = _recovery_ps(place, traffic_class, frames)
            before = np.maximum.accumulate(until)[:-1]
            later = np.flatnonzero((self._ready[1:] > before) & (self._ready[1:] - before >= rest)) + 1
            self._starts = np.concatenate([[0], later])

    def points(self, begin_ps: int, end_ps: int) -> list[tuple[int, float]] | None:
        if not self._frames or self._ready[0] >= end_ps:
            return [(begin_ps, 0.0), (end_ps, 0.0)]
        start = self._starts[max(int(np.searchsorted(self._ready[self._starts], begin_ps, side="right")) - 1, 0)]
        stop = int(np.searchsorted(self._ready, end_ps, side="left"))
        if stop - start > _MOST_REPLAYED:
            return None
        first = min(int(self._ready[start]), begin_ps)
        over_time = CreditOverTime(self._bridge, self._place.port, self._class, self._place.rate_bps)
        found = over_time.points(self._frames[start:stop], first, end_ps)
        return clipped(found, begin_ps)


def clipped(points: list[tuple[int, float]], begin_ps: int) -> list[tuple[int, float]]:
    """The points from a time on, the first of them on the line that leads there."""
    for index, (at, value) in enumerate(points):
        if at >= begin_ps:
            if index == 0 or at == begin_ps:
                return points[index:]
            before, low = points[index - 1]
            there = low + (value - low) * (begin_ps - before) / (at - before)
            return [(begin_ps, there), *points[index:]]
    return points[-1:]


def _recovery_ps(place: Place, traffic_class: int, frames: list[Occupation]) -> int:
    """How long a class without frames takes at most until its credit is zero."""
    longest = max((f.until - f.selected for f in frames if f.until is not None and f.selected is not None), default=0)
    idle = place.node.credit[place.port, traffic_class].idle_slope_bps
    open_ps = 2 * longest * max(place.rate_bps - idle, 0) // max(idle, 1) + 10**6
    if not place.gated:
        return open_ps
    cycle_ps = place.node.gates[place.port].cycle_time_ns * 1000
    opened = min(_open_ps(place, traffic_class, at, at + cycle_ps) for at in (frames[0].ready, frames[-1].ready))
    return _NEVER if not opened else (open_ps // opened + 2) * cycle_ps


def _open_ps(place: Place, traffic_class: int, begin_ps: int, end_ps: int) -> int:
    entries = gate_states(place.node, place.port, begin_ps, end_ps)
    return sum(end - begin for begin, end, states in entries if states >> traffic_class & 1)
