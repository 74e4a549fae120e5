# SPDX-License-Identifier: Apache-2.0
"""A port around a time: gates, credit, what waited and what was sent; and the way of one frame, hop by hop.

What gates and credit do is asked of the engine's state machines; the frames are those of the trace.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import polars as pl

from penstock.gates import cycle_start_ps
from penstock.journeys import View
from penstock.report.holding import CAUSES, Held, held
from penstock.report.page import pack
from penstock.report.ports import Passage, Passed, Place, places
from penstock.report.style import FONT, LEGEND, OTHER, TICKS, Look
from penstock.scenario.network import Bridge

_CYCLES = 3
_MOST_FRAMES = 250  # of one picture
_MOST_ENTRIES = 400
_FIRST_FRAMES = 60
_AROUND_PS = 2_000_000_000  # at a port without gates
_MOST_PARCEL_BYTES = 1_200_000  # of all moments of a page
_MOST_PLACES = 40
_MOST_LATE = 100  # frames
_LATE = "Late frames"
_OPEN = "#DCE6EE"
CAUSE_COLOR = {
    "talker": "#C3CBD3", "eligibility": "#F0C75E", "gate": "#8795A3", "frame": "#E08A5B", "credit": "#C08BD0",
    "window": "#7FB2D9", "selection": "#D9DEE3",
}  # fmt: skip

Looks = Mapping[str, Look]


@dataclass(frozen=True)
class Asked:
    """A port and a time in ps, or a frame, that somebody wants to look at."""

    node: str = ""
    port: int = 0
    at_ps: int = 0
    frame_id: int | None = None


@dataclass(frozen=True)
class Hop:
    """A frame at a port of its way."""

    place: Place
    frame: Passed
    before: int  # its first bit out of the node before, ps; at its talker its creation
    received: int  # its first bit
    arrived: int  # its last bit
    held: list[Held]


@dataclass(frozen=True)
class Moment:
    """What there is to be seen, and how it is found in the page."""

    id: str
    kind: str
    title: str
    frame_id: int | None = None


@dataclass
class Moments:
    """What a page has of them; `left_out` says what it has not."""

    listed: list[Moment] = field(default_factory=list)
    parcels: dict[str, str] = field(default_factory=dict)
    hops: dict[str, list[Hop]] = field(default_factory=dict)  # of the slowest frame of each stream
    left_out: list[str] = field(default_factory=list)

    @property
    def groups(self) -> list[tuple[str, list[Moment]]]:
        """By kind, what is looked at first to begin with."""
        kinds = dict.fromkeys(moment.kind for moment in self.listed)
        return [(kind, [moment for moment in self.listed if moment.kind == kind]) for kind in kinds]

    def add(self, kind: str, title: str, content: Mapping[str, Any], frame_id: int | None = None) -> bool:
        """False where the page has no room for it."""
        name = f"moment-{len(self.listed)}"
        packed = pack(json.dumps(content, separators=(",", ":")))
        if sum(map(len, self.parcels.values())) + len(packed) > _MOST_PARCEL_BYTES:
            return False
        self.parcels[name] = packed
        self.listed.append(Moment(name, kind, title, frame_id))
        return True


class Ports:
    """The passages of a run's ports, each worked out when it is first asked for."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.places = {(place.node.name, place.port): place for place in places(view.network)}
        self._passages: dict[tuple[str, int], Passage] = {}

    def passage(self, node: str, port: int) -> Passage:
        """Of a port that streams pass."""
        key = (node, port)
        if key not in self._passages:
            self._passages[key] = Passage(self.view, self.places[key])
        return self._passages[key]


def moments(ports: Ports, arrived: pl.DataFrame, looks: Looks, asked: Sequence[Asked] = ()) -> Moments:
    """Those asked for, the slowest frame of each stream, late frames, and each port."""
    found = Moments()
    for one in asked:
        if one.frame_id is not None:
            _add(found, ports, arrived.filter(pl.col("frame_id") == one.frame_id), looks, "Asked for")
        else:
            passage = ports.passage(one.node, one.port)
            title = f"{passage.place.name} at {one.at_ps / 1e9:,.6f} ms"
            found.add("Asked for", title, {"title": title, "said": [], "hops": [_place("", passage, one.at_ps, looks)]})
    shaped = [place for place in ports.places.values() if place.gated or place.credited]
    _add_late(found, ports, arrived, looks)
    _add_ports(found, ports, shaped, looks)
    _add_slowest(found, ports, arrived, looks)
    _add_ports(
        found, ports, [p for p in ports.places.values() if p not in shaped and isinstance(p.node, Bridge)], looks
    )
    return found


def _add_late(found: Moments, ports: Ports, arrived: pl.DataFrame, looks: Looks) -> None:
    """The slowest of each stream, then the next of each."""
    rank = pl.col("latency_us").rank("ordinal", descending=True).over("stream")
    late = arrived.filter(pl.col("late")).with_columns(rank.alias("rank"))
    late = late.sort("rank", "latency_us", descending=[False, True])
    shown = _add(found, ports, late.head(_MOST_LATE), looks, _LATE)
    if shown < late.height:
        found.left_out.append(
            f"{shown:,} of {late.height:,} late frames can be looked at hop by hop in this file, the slowest of each "
            "stream first. Any other: penstock report RUN SCENARIO --frame ID"
        )


def _add_slowest(found: Moments, ports: Ports, arrived: pl.DataFrame, looks: Looks) -> None:
    """Of each stream that is drawn and has no late frame."""
    on_time = arrived.filter(pl.col("stream").cast(pl.String).is_in([n for n in looks if n not in found.hops]))
    slowest = on_time.sort("latency_us", descending=True).unique("stream", keep="first", maintain_order=True)
    _add(found, ports, slowest, looks, "The slowest frame of each stream")


def _add(found: Moments, ports: Ports, chosen: pl.DataFrame, looks: Looks, kind: str) -> int:
    """How many of the copies there was room for."""
    ways = _ways(ports, chosen)
    for count, row in enumerate(chosen.iter_rows(named=True)):
        name, took = str(row["stream"]), f"{row['latency_us']:,.3f} us"
        hops = ways[row["frame_id"], str(row["listener"])]
        if row["limit_ns"] is not None:
            took += f", allowed {row['limit_ns'] / 1000:,.3f} us"
        whose = f"rame {row['frame_id']} of {name} to {row['listener']}"
        content = {
            "title": f"F{whose}",
            "said": [f"Sent at {row['sent_ms']:,.6f} ms, took {took}."],
            "hops": [of_hop(ports, hop, looks) for hop in hops],
        }
        if not found.add(kind, f"f{whose}: {took}", content, row["frame_id"]):
            return count
        found.hops.setdefault(name, hops)
    return chosen.height


def _ways(ports: Ports, chosen: pl.DataFrame) -> dict[tuple[int, str], list[Hop]]:
    """The ports that each frame passed on its way to its listener, its talker's first."""
    network = ports.view.network
    passed = ports.view.hops.filter(pl.col("frame_id").is_in(chosen["frame_id"].unique().implode()))
    received = {
        (frame, str(node)): (first, last)
        for frame, node, first, last in passed.select("frame_id", "node", "received", "arrived").iter_rows()
    }
    found = {}
    for row in chosen.iter_rows(named=True):
        stream = network.streams[str(row["stream"])]
        steps = [(step.bridge, step.egress) for step in network.way(stream, str(row["listener"]))]
        hops: list[Hop] = []
        before = row["created"]
        for index, (node, port) in enumerate([(stream.talker, 0), *steps]):
            passage = ports.passage(node, port)
            frame = passage.find(row["frame_id"])
            times = received.get((row["frame_id"], node)) if index else (before, before)
            if frame is None or times is None:
                break
            waits = held(passage, frame)
            if index == 0:
                # What no gate and no other frame explains is its program's, as its delay and launch time.
                waits = [replace(one, cause="talker") if one.cause == "selection" else one for one in waits]
            hops.append(Hop(passage.place, frame, before, *times, waits))
            if frame.sent is None:
                break
            before = frame.sent
        found[row["frame_id"], str(row["listener"])] = hops
    return found


def of_hop(ports: Ports, hop: Hop, looks: Looks) -> dict[str, Any]:
    """What is said and drawn of a frame at a port of its way."""
    passage = ports.passage(hop.place.node.name, hop.place.port)
    frame = hop.frame
    end = next((at for at in (frame.sent, frame.dropped) if at is not None), frame.ready)
    after = hop.place.byte_ps(frame.bytes + 20)
    margin = max((end - frame.ready) // 5, 2 * after)
    begin = max(frame.ready - margin, 0)
    busy = passage.on_the_wire(begin, end)
    if busy.height > _MOST_FRAMES // 2:
        begin = int(busy["begin"][-_MOST_FRAMES // 2])
    picture = at_port(passage, begin, end + after + margin // 2, looks, hop)
    return {"place": hop.place.name, **picture, "said": sentences(passage, hop)}


def sentences(passage: Passage, hop: Hop) -> list[str]:
    """What held the frame here and what waited beside it, in words."""
    frame, place = hop.frame, hop.place
    kind = place.node.class_name(frame.traffic_class)
    sums: Counter[str] = Counter()
    behind: Counter[int] = Counter()
    for one in hop.held:
        sums[one.cause] += one.ps
        if one.frame_id is not None:
            behind[one.frame_id] += one.ps
    waited = sum(one.ps for one in hop.held)
    said = [
        f"Waited {waited / 1e6:,.3f} us in {kind}" + ("." if not waited else ": " + _reasons(place, frame, sums) + ".")
    ]
    if behind:
        named = []
        for number, ps in behind.most_common(3):
            other = passage.find(number)
            assert other is not None
            named.append(
                f"{number} of {other.stream} ({place.node.class_name(other.traffic_class)}, {other.bytes:,} B) "
                f"{ps / 1e6:,.3f} us"
            )
        more = f" and {len(behind) - 3} more" if len(behind) > 3 else ""
        said.append(f"Frames in its way: {'; '.join(named)}{more}.")
    beside = passage.waiting_at(frame.ready).filter(pl.col("frame_id") != frame.frame_id)
    if beside.height:
        streams = beside.group_by("stream").len().sort("len", "stream", descending=[True, False])
        parts = [f"{count:,} of {name}" for name, count in streams.head(4).iter_rows()]
        more = f" and of {streams.height - 4} more streams" if streams.height > 4 else ""
        said.append(f"In the queues when it came: {', '.join(parts)}{more}; {int(beside['bytes'].sum()):,} B.")
    if frame.dropped is not None:
        said.append(f"Dropped: {frame.reason}.")
    return said


def _reasons(place: Place, frame: Passed, sums: Counter[str]) -> str:
    parts = []
    for cause, ps in sums.most_common():
        what = CAUSES[cause]
        if cause == "gate":
            what = f"gate of {place.node.class_name(frame.traffic_class)} closed"
        parts.append(f"{what} {ps / 1e6:,.3f} us")
    return ", ".join(parts)


def _add_ports(found: Moments, ports: Ports, all_places: Sequence[Place], looks: Looks) -> None:
    """Of each port its first cycles or frames, and its fullest queue."""
    shown = 0
    for place in all_places[:_MOST_PLACES]:
        passage = ports.passage(place.node.name, place.port)
        first = passage.frames["begin"].drop_nulls().min()
        if first is None:
            continue
        begin, end = _first(passage, int(first))  # type: ignore[arg-type]
        hops = [{"place": "Its first frames", "said": [], **at_port(passage, begin, end, looks)}]
        deepest = passage.deepest
        if deepest is not None and deepest >= end:
            hops.append(_place("Its fullest queue", passage, deepest, looks))
        if not found.add(_kind_of(place), place.name, {"title": place.name, "said": [], "hops": hops}):
            break
        shown += 1
    if shown < len(all_places):
        found.left_out.append(
            f"{shown} of {len(all_places):,} {_kind_of(all_places[0]).lower()} can be looked at in this file. Any port "
            "at any time: "
            "penstock report RUN SCENARIO --port BRIDGE.PORT --at TIME"
        )


def _kind_of(place: Place) -> str:
    return "Ports with gates or credit" if place.gated or place.credited else "Ports"


def _place(title: str, passage: Passage, at_ps: int, looks: Looks) -> dict[str, Any]:
    return {"place": title, "said": [], **at_port(passage, *_around(passage, at_ps), looks)}


def _first(passage: Passage, at_ps: int) -> tuple[int, int]:
    place = passage.place
    if not place.gated:
        frames = passage.frames["begin"]
        last = frames[min(_FIRST_FRAMES, frames.len()) - 1]
        stop = at_ps + _AROUND_PS
        return at_ps, stop if place.credited or last is None else min(stop, int(last) + place.byte_ps(2000))
    start = cycle_start_ps(place.node, place.port, at_ps)
    return start, start + _CYCLES * place.node.gates[place.port].cycle_time_ns * 1000


def _around(passage: Passage, at_ps: int) -> tuple[int, int]:
    """A time with this one in its middle."""
    place = passage.place
    half = _AROUND_PS // 8
    if place.gated:
        half = _CYCLES * place.node.gates[place.port].cycle_time_ns * 1000 // 2
    return max(at_ps - half, 0), at_ps + half


def at_port(passage: Passage, begin: int, end: int, looks: Looks, hop: Hop | None = None) -> dict[str, Any]:
    """The picture: credit above, gates and frames by class, below them how much waits."""
    place = passage.place
    frames = passage.on_the_wire(begin, end)
    note = ""
    if frames.height > _MOST_FRAMES:
        end = min(end, int(frames["begin"][_MOST_FRAMES]))
        frames = frames.head(_MOST_FRAMES)
        note = f"The first {_MOST_FRAMES} frames of this time. "
    kinds = {int(k) for k in frames["traffic_class"].unique()} | set(place.credited)
    if hop is not None:
        kinds.add(hop.frame.traffic_class)
    numbers = list(range(8)) if place.gated else sorted(kinds)
    lane = {number: index for index, number in enumerate(numbers)}
    lanes = [*_gates(passage, begin, end, lane), *_wire(place, frames, looks, lane)]
    if hop is not None:
        lanes += _marked(hop, lane)
    credit, said = _credit(passage, begin, end, frames, looks)
    if place.gated:
        cycle_us = place.node.gates[place.port].cycle_time_ns / 1000
        note += f"Pale: the gate of the class is open; a cycle takes {cycle_us:g} us. "
    note += "Coloured: frames on the wire, preamble included. Below: what waits. "
    if said:
        note += f"A class may send while its credit is not below zero; here {'; '.join(said)}."
    times, depth = passage.depth(begin, end)
    depths = {
        "type": "scatter", "x": _us(times), "y": [round(d / 1000, 3) for d in depth], "yaxis": "y2", "mode": "lines",
        "line": {"shape": "hv", "color": "#5B6875", "width": 1.5}, "fill": "tozeroy",
        "fillcolor": "rgba(91,104,117,0.15)",
        "name": "waiting", "showlegend": False, "hovertemplate": "%{x:.3f} us: %{y:.2f} kB wait<extra></extra>",
    }  # fmt: skip
    height = 150 + 26 * max(len(numbers), 2) + (170 if credit else 0) + 80
    top = 1 - 170 / height if credit else 1.0
    return {
        "note": note.strip(),
        "data": [*lanes, depths, *credit],
        "layout": _layout(place, numbers, begin, end, height, top),
    }


def _layout(place: Place, numbers: list[int], begin: int, end: int, height: int, top: float) -> dict[str, Any]:
    bottom = 80 / height
    layout = {
        "height": height,
        "margin": {"l": 90, "r": 50, "t": 30, "b": 45},
        "modebar": {"orientation": "v"},
        "legend": LEGEND,
        "font": FONT,
        "hovermode": "closest",
        "barmode": "overlay",
        "plot_bgcolor": "#FFFFFF",
        "xaxis": {**TICKS, "title": {"text": "time / us"}, "range": [begin / 1e6, end / 1e6], "anchor": "y2"},
        "yaxis": {
            **TICKS, "domain": [bottom + 0.05, top - (0.06 if top < 1 else 0)], "tickvals": list(range(len(numbers))),
            "ticktext": [place.label(number) for number in numbers], "range": [-0.6, len(numbers) - 0.4],
            "title": {"text": "class"}, "showgrid": False,
        },
        "yaxis2": {**TICKS, "domain": [0, bottom], "title": {"text": "kB"}, "rangemode": "tozero", "nticks": 3},
    }  # fmt: skip
    if top < 1:
        layout["yaxis3"] = {
            **TICKS,
            "domain": [top, 1],
            "title": {"text": "credit / bits"},
            "zeroline": True,
            "nticks": 5,
        }
    return layout


def _bars(name: str, lane: Sequence[float], begin: Sequence[int], length: Sequence[int], **more: Any) -> dict[str, Any]:
    return {
        "type": "bar", "orientation": "h", "name": name, "y": list(lane), "base": _us(begin), "x": _us(length), **more,
    }  # fmt: skip


def _gates(passage: Passage, begin: int, end: int, lane: Mapping[int, int]) -> list[dict[str, Any]]:
    """One bar for as long as a gate stays open."""
    spans: list[tuple[int, int, int]] = []
    opened: dict[int, int] = {}
    until = begin
    for start, stop, states in islice(passage.gates(begin, end), _MOST_ENTRIES):
        for number in lane:
            is_open = bool(states >> number & 1)
            if is_open and number not in opened:
                opened[number] = start
            elif not is_open and number in opened:
                spans.append((lane[number], opened.pop(number), start))
        until = stop
    spans += [(lane[number], start, until) for number, start in opened.items()]
    if not spans:
        return []
    lanes, starts, stops = zip(*spans, strict=True)
    lengths = [stop - start for start, stop in zip(starts, stops, strict=True)]
    return [
        _bars(
            "gate open", lanes, starts, lengths, width=0.86, marker={"color": _OPEN},
            hovertemplate="open from %{base:.3f} us for %{x:.3f} us<extra></extra>",
        )
    ]  # fmt: skip


def _wire(place: Place, frames: pl.DataFrame, looks: Looks, lane: Mapping[int, int]) -> list[dict[str, Any]]:
    found = []
    for (name,), own in frames.group_by("stream", maintain_order=True):
        color = looks[str(name)].color if str(name) in looks else OTHER
        begins, ends = own["begin"].to_list(), own["end"].to_list()
        found.append(
            _bars(
                str(name),
                [lane[int(number)] for number in own["traffic_class"]],
                begins,
                [end - begin for begin, end in zip(begins, ends, strict=True)],
                width=0.5,
                marker={"color": color, "line": {"width": 0.5, "color": "#FFFFFF"}},
                customdata=list(own.select("frame_id", "bytes").rows()),
                hovertemplate="frame %{customdata[0]} at %{base:.3f} us, %{customdata[1]} B",
            )
        )
    return found


def _marked(hop: Hop, lane: Mapping[int, int]) -> list[dict[str, Any]]:
    """The frame itself outlined, and before it why it waited."""
    frame, found = hop.frame, []
    row = lane[frame.traffic_class]
    for cause in CAUSES:
        parts = [one for one in hop.held if one.cause == cause]
        if parts:
            found.append(
                _bars(
                    f"waits: {CAUSES[cause]}", [row - 0.38] * len(parts), [one.begin_ps for one in parts],
                    [one.ps for one in parts], width=0.14, marker={"color": CAUSE_COLOR[cause]},
                    hovertemplate=f"{CAUSES[cause]}: from %{{base:.3f}} us for %{{x:.3f}} us<extra></extra>",
                )
            )  # fmt: skip
    if frame.sent is not None:
        begin = frame.sent - hop.place.byte_ps(8)
        found.append(
            _bars(
                f"frame {frame.frame_id}", [row], [begin], [hop.place.byte_ps(frame.bytes + 8)], width=0.62,
                marker={"color": "rgba(0,0,0,0)", "line": {"color": "#B3261E", "width": 2.5}}, hoverinfo="skip",
            )
        )  # fmt: skip
    return found


def _credit(
    passage: Passage, begin: int, end: int, frames: pl.DataFrame, looks: Looks
) -> tuple[list[dict[str, Any]], list[str]]:
    """A line for each class that credit shapes, and what is said of it."""
    found, said = [], []
    for number in passage.place.credited:
        points = passage.credit(number, begin, end)
        if points is None:
            why = "it is frozen in guard bands" if passage.place.frozen else "too many frames went before"
            said.append(f"that of class {number} is left out, as {why}")
            continue
        own = frames.filter(pl.col("traffic_class") == number)
        name = str(own["stream"][0]) if own.height else ""
        bits = [round(value, 2) for _, value in points]
        found.append(
            {
                "type": "scatter", "mode": "lines", "yaxis": "y3", "x": _us([at for at, _ in points]), "y": bits,
                "name": f"credit of {passage.place.label(number)}",
                "line": {"color": looks[name].color if name in looks else OTHER, "width": 1.6},
                "hovertemplate": "%{x:.3f} us: %{y:.1f} bits",
            }
        )  # fmt: skip
        said.append(f"{passage.place.node.class_name(number)} from {min(bits):,.0f} to {max(bits):,.0f} bits")
    return found, said


def _us(times: Iterable[int]) -> list[float]:
    return [at / 1e6 for at in times]
